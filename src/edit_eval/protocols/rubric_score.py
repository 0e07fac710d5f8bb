"""How a rubric benchmark asks a judge, makes a judgement of its answers, and a headline of its judgements."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from edit_eval.benchmarks.categories import canonical
from edit_eval.errors import ConfigurationError
from edit_eval.judges.answers import FORMS, is_prose, read_answer
from edit_eval.records import Answer, Judgement, Sample, Status
from edit_eval.rubrics.loading import Rubric, fill

SHORT = 64  # characters; bare scores repeat themselves a hundred thousand times
_read_short = lru_cache(maxsize=4096)(read_answer)


@dataclass(frozen=True)
class Prompt:
    """What a judge is told about one sample. All of it decides the answer, and is part of the judgement's key."""

    system: str
    user: str


@dataclass(frozen=True)
class Outcome:
    """What the answers given so far amount to. `score` is a number exactly when `status` is `ok`."""

    status: Status
    """`pending` while the judge is to be asked again."""
    score: float | None
    reason: str
    """Why there is no score; for a score, the judge's words where it gave any."""
    answer: str
    """The raw answer that decided, or the last one."""
    settled: bool
    """Whether asking again is over."""


def way_out(form: str, failed: Sequence[Judgement]) -> str:
    """What to write into the configuration where a judge's answers, or at least half of those that failed, ask for it.

    Empty where nothing in the configuration is known to help.
    """
    prose = [one for one in failed if one.status in (Status.UNPARSEABLE, Status.CUT_OFF) and is_prose(one.answer)]
    if form == "score" and failed and 2 * len(prose) >= len(failed):
        return f"{prose[-1].judge} answers in words; write `protocol: {{answer: reason_then_score}}`"
    cut = [one for one in failed if one.status is Status.CUT_OFF]
    if failed and 2 * len(cut) >= len(failed):
        return f"answers of {cut[-1].judge} are cut off; raise its limit (`max_new_tokens` or `max_tokens`)"
    return ""


class RubricScore:
    """One rubric a category, one score from 0 to 10 an edit, the mean as the headline.

    `form` is how the judge is told to answer, `score` or `reason_then_score`; `retries` is how often it is asked again
    when an answer cannot be read. Raises `ConfigurationError` for a form or a number that does not exist.
    """

    lowest = 0.0
    highest = 10.0

    def __init__(self, rubrics: Mapping[str, Rubric], language: str, form: str, retries: int) -> None:
        if form not in FORMS:
            raise ConfigurationError(f"protocol.answer: `{form}` is no form of an answer; use {' or '.join(FORMS)}")
        if retries < 0:
            raise ConfigurationError(f"protocol.retries: {retries} is below 0")
        self.rubrics = rubrics
        self.language = language
        self.form = form
        self.retries = retries
        self._templates: dict[str, tuple[str, str]] = {}  # category -> system, user

    def fault(self, sample: Sample) -> str:
        """Why no judge can be asked about `sample`, with the key of `prompts:` to add; empty where one can."""
        category = sample.category
        if canonical(category) in self.rubrics:
            return ""
        if not category.strip():
            return "it has no category, and so no rubric"
        return f"no rubric for its category `{category}`: add `prompts.{category}.system_prompt`"

    def prompt(self, sample: Sample) -> Prompt:
        """What the judge is told about `sample`. Raises `ConfigurationError` where it has a `fault`."""
        templates = self._templates.get(sample.category)
        if templates is None:
            if fault := self.fault(sample):
                raise ConfigurationError(f"sample {sample.index} ({sample.id}): {fault}")
            rubric = self.rubrics[canonical(sample.category)]
            templates = self._templates[sample.category] = (rubric.system(self.form), rubric.user_prompt_template)
        system, user = (fill(template, sample.description, sample.instruction) for template in templates)
        return Prompt(system, user)

    def ask_again(self, prompt: Prompt) -> Prompt:
        """The same prompt with one line added that names the form of the answer; never with two."""
        line = self._ask_again_line
        if prompt.user.endswith(line):
            return prompt
        return Prompt(system=prompt.system, user=f"{prompt.user}\n\n{line}")

    @property
    def _ask_again_line(self) -> str:
        # The line belongs to the language and the form, so any rubric has it.
        return next(iter(self.rubrics.values())).ask_again[self.form]

    def judgement(self, answers: Sequence[Answer]) -> Outcome:
        """What all answers so far amount to, in the order they came: the first readable one decides.

        Without one it is `pending` until the judge was asked 1 + `retries` times, then what the last answer is:
        `judge_error`, `refused`, `unparseable`, `out_of_range` or `cut_off`. One that was cut off is asked again, too:
        with the line that names the form, for the same words would be cut off at the same place. One that the judge's
        server withheld is not: its policy stays the same.
        """
        last = Outcome(Status.PENDING, None, "not asked yet", "", settled=False)
        for answer in answers:
            last = self._outcome(answer)
            if last.status is Status.OK:
                return last
        if len(answers) <= self.retries and not (answers and answers[-1].ended is Status.REFUSED):
            return Outcome(Status.PENDING, None, last.reason, last.answer, settled=False)
        return last

    def _outcome(self, answer: Answer) -> Outcome:
        if answer.error:
            return Outcome(Status.JUDGE_ERROR, None, answer.error, answer.text, settled=True)
        read = _read_short if len(answer.text) <= SHORT else read_answer
        reading = read(answer.text, self.form, self.lowest, self.highest, answer.ended)
        reason = reading.reason
        if answer.length and reading.status is Status.CUT_OFF:
            reason = f"the judge did not stop: {answer.length:,} characters, of which the beginning is kept"
        return Outcome(reading.status, reading.score, reason, answer.text, settled=True)

    def headline(self, judgements: Iterable[Judgement]) -> float | None:
        """The mean of the scores, 0 to 10; None without any. What has no score is not counted as any number."""
        scores = [
            judgement.score for judgement in judgements if judgement.status is Status.OK and judgement.score is not None
        ]
        return math.fsum(scores) / len(scores) if scores else None
