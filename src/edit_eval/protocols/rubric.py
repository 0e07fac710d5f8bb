"""`rubric`: a rubric for each category and one score from 0 to 10, in three forms of the answer with its items.

The score of six items (`rubrics/loading.py`) is 5 plus the sum of the five criteria (each -1 to 1), limited by the
first item: how much of the change was made. By the form of the answer:

`score`, `reason_then_score`   the judge adds up, and writes the score;
`json`                         it writes a letter for the first item and a number for each criterion, and we add up;
`labels`                       it writes a letter for each item: A, B, C are 1, 0, -1;
`probabilities`                nothing is written: the score is 10/9 times the expected digit among 0 to 9. With
                               `asked: one_by_one` each item is a question of its own, and the score is the
                               expectation over their letters, with the items taken as independent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from typing import Any, Literal

from edit_eval.benchmarks.contract import canonical
from edit_eval.errors import ConfigurationError
from edit_eval.judges.answers import FORMS, is_prose, read_answer
from edit_eval.judges.contract import PROBABILITIES
from edit_eval.protocols.contract import Against, Question, Score, Texts, Values, View, earlier
from edit_eval.protocols.replies import (
    WORDS,
    Entry,
    advice_on_limits,
    entries_of,
    number,
    object_schema,
    one_of,
    read_object,
    read_values,
)
from edit_eval.records import Judgement, Reading, Reply, Sample, Scale, Status
from edit_eval.rubrics import loading
from edit_eval.text import Text

SHORT = 64  # characters; bare scores repeat themselves a hundred thousand times
_read_short = lru_cache(maxsize=4096)(read_answer)

BASELINE, HIGHEST, STEP = 5.0, 10.0, 1.0
LEVELS = tuple("0123456789")
"""The digits for `probabilities`, the best last: each is one token in every vocabulary, unlike `10`."""
BY_ITEM = ("json", "labels")
"""The forms in which a judge rates each item, and we add up."""

_IMAGES = ("source", "edited")
_SCALE = Scale(lowest=0.0, highest=HIGHEST)
_STEP = Scale(lowest=-STEP, highest=STEP)
_SCORE = {"score": Score(scale=_SCALE, needs=("score",))}


class Rubric:
    """Asks about an edit by the rubric of the sample's category, for one score from 0 to 10.

    The rubrics of the five dimensions are packaged, with a general one for samples without a category; `prompts:` of
    the configuration replace any, and add one for a benchmark's own category. If items are asked for separately
    (`json`, `labels`, `one_by_one`), each is also a score: the criteria from -1 to 1, the first item as the highest
    score that it allows.
    """

    @dataclass(frozen=True)
    class Parameters:
        rubric: Literal["five_dimensions.v1", "five_dimensions.v2"] = "five_dimensions.v1"
        """Which of the packaged ones."""
        version: str = ""
        """An earlier wording (`v1`), for a run that was judged by it; empty: the newest."""
        answer: Literal["score", "reason_then_score", "json", "labels", "probabilities"] = "score"
        """How the judge answers: with the bare score; with reasons and then the score; with reasons, and a number for
        each criterion (JSON); with one letter for each item (JSON); or with nothing, and its probabilities count."""
        asked: Literal["together", "one_by_one"] = "together"
        """With `probabilities`: one question for the whole, or one for each of the six items (`five_dimensions.v2`)."""
        images: list[Literal["source", "edited"]] = field(default_factory=lambda: ["source", "edited"])
        """What the judge is shown, in this order; `[edited]` shows the edit alone."""
        against: Against = "source"
        """Which picture is the source: the sample's; `first`, that of the first turn; or `last`, the edit of the turn
        or the round before."""
        language: Literal["en", "zh"] = "en"
        """Of the rubrics; by default the benchmark's."""
        prompts: dict[str, dict[str, str]] = field(default_factory=dict)
        """Category -> `system_prompt`, `user_prompt_template` or both; by default `prompts:` of the configuration."""

        general: bool = False
        """Whether the general rubric stands in for a category without one of its own, too."""

        def __post_init__(self) -> None:
            strangers = [name for name in self.images if name not in _IMAGES]
            if strangers or "edited" not in self.images or len({*self.images}) != len(self.images):
                raise ValueError(f"images: {self.images} is neither [edited] nor source and edited in either order")
            if self.against != "source" and "source" not in self.images:
                raise ValueError(f"against: {self.against} is a picture to be shown, and `images` leaves it out")
            if self.asked == "one_by_one" and self.answer != PROBABILITIES:
                raise ValueError(f"asked: one_by_one needs `answer: probabilities`; this is `answer: {self.answer}`")

        @property
        def has_item_scores(self) -> bool:
            """Whether something is said of each item."""
            return self.answer in BY_ITEM or self.asked == "one_by_one"

    headline = "score"
    scores: Mapping[str, Score] = _SCORE

    @staticmethod
    def texts(parameters: Parameters) -> Texts:
        """Returns the rubric of every category. Raises `ConfigurationError` for invalid prompts."""
        rubrics = loading.load_rubrics(parameters.prompts, parameters.language, parameters.rubric, parameters.version)
        for name, rubric in rubrics.items():
            if why := _unfit(parameters, rubric):
                where = f"prompts.{name}" if "prompts" in rubric.version else f"protocol.rubric: {parameters.rubric}"
                raise ConfigurationError(Text("{}: {}", where, why))
        return {name: {**asdict(rubric), "criteria": list(rubric.criteria)} for name, rubric in rubrics.items()}

    def __init__(self, parameters: Parameters, texts: Mapping[str, Any]) -> None:
        self.rubrics = {
            name: loading.RubricText(**{**text, "criteria": tuple(text["criteria"])}) for name, text in texts.items()
        }
        self._parameters = parameters
        self._views = {"source": earlier(parameters.against), "edited": View(picture="edit")}
        self._system: dict[str, str] = {}  # by category
        self._points: dict[str, Mapping[str, float]] = {}
        """Item -> the value of each of its letters."""
        self._limits = {rubric.limit for rubric in self.rubrics.values() if rubric.limit}
        if parameters.has_item_scores:
            for rubric in self.rubrics.values():
                self._points |= {rubric.limit: rubric.highest, **dict.fromkeys(rubric.criteria, loading.STEPS)}
            self.scores = self._item_scores(alone=parameters.asked == "one_by_one")

    def _item_scores(self, *, alone: bool) -> dict[str, Score]:
        """Returns the score, and that of each item; `alone`: each item gives the probabilities of its letters."""
        scores = {"score": Score(scale=_SCALE, of=self._expectation if alone else self._total)}
        for name, points in self._points.items():
            scale = _SCALE if name in self._limits else _STEP
            if alone:
                needs = tuple(_value_name(name, letter) for letter in points)
                scores[name] = Score(scale=scale, needs=needs, of=partial(_mean_of, name, points), part=True)
            else:
                scores[name] = Score(scale=scale, needs=(name,), part=True)
        return scores

    def refuse_unknown(self, categories: Iterable[str]) -> None:
        """Raises `ConfigurationError` for prompts of a category that is neither among the five nor in `categories`.

        `categories` are those of all samples of the benchmark, before filters.
        """
        loading.refuse_unknown(self._parameters.prompts, categories)

    # -- questions --

    def questions(self, sample: Sample) -> Sequence[Question]:
        """Returns one question, or one per item. Raises `LookupError`, with a remedy, for a category without rubric."""
        rubric = self._rubric(sample.category)
        items = (rubric.limit, *rubric.criteria) if self._parameters.asked == "one_by_one" else ("",)
        return [self._question(rubric, sample, item) for item in items]

    def _question(self, rubric: loading.RubricText, sample: Sample, item: str) -> Question:
        """Returns the question, or the one about an `item`."""
        form, images = self._parameters.answer, self._parameters.images
        described = sample.description or rubric.no_description
        values = {"original_description": described, "edit_instruction": sample.instruction}
        if rubric.images:
            said = [rubric.images[name].replace("{number}", str(place)) for place, name in enumerate(images, 1)]
            values[loading.IMAGES] = "\n".join(said)
        user = loading.fill(rubric.user_prompt_template, values)
        name, schema = "score", ""
        gives: tuple[str, ...] = ("score",)
        labels: tuple[str, ...] = ()
        if item:
            user = f"{user}\n\n{rubric.one.replace('{name}', item)}"
            letters = tuple(self._points[item])
            name, gives, labels = item, tuple(_value_name(item, letter) for letter in letters), letters
        elif form == PROBABILITIES:
            labels = LEVELS
        elif form in BY_ITEM:
            gives, schema = (rubric.limit, *rubric.criteria), _schema(rubric, form)
        return Question(
            name=name,
            gives=gives,
            labels=labels,
            schema=schema,
            system=loading.fill(self._system_of(rubric), values),
            user=user,
            shows=tuple([self._views[name] for name in images]),
            form=form,
            again=rubric.ask_again.get(form, ""),
        )

    def _system_of(self, rubric: loading.RubricText) -> str:
        if rubric.category not in self._system:
            form = self._parameters.answer if self._parameters.asked == "together" else "one_by_one"
            self._system[rubric.category] = rubric.system(form, _example_line(rubric, form) if form in BY_ITEM else "")
        return self._system[rubric.category]

    def _rubric(self, category: str) -> loading.RubricText:
        rubric = self.rubrics.get(canonical(category))
        if rubric is not None:
            return rubric
        if not category.strip() or self._parameters.general:
            return self.rubrics[loading.GENERAL]
        raise LookupError(
            f"no rubric for its category `{category}`: add `prompts.{category}.system_prompt`, or write `protocol: "
            "{general: true}` for the general one"
        )

    # -- answers --

    def read(self, question: Question, reply: Reply) -> Reading:
        """Reads by form: a score by the grammar of `judges/answers.py`, an object by its schema, or probabilities."""
        if question.form in FORMS:
            return (_read_short if len(reply.text) <= SHORT else read_answer)(reply.text, question.form)
        if question.form == PROBABILITIES:
            shares = [reply.values[label] for label in question.labels]
            if self._parameters.asked == "one_by_one":
                return Reading(values=dict(zip(question.gives, shares, strict=True)))
            level = math.fsum(place * share for place, share in enumerate(shares))
            return Reading(values={"score": level * HIGHEST / (len(shares) - 1)})

        def points(body: str) -> tuple[Sequence[float], str]:
            answers, words = read_object(body, question.schema)
            said = {
                name: self._points[name][answer] if isinstance(answer, str) else answer
                for name, answer in answers.items()
            }
            return [said[name] for name in question.gives], words

        return read_values(question, reply, points)

    def _total(self, sample: Sample, values: Values) -> float:
        """Returns 5 plus the criteria, limited by the first item."""
        steps = [value for name, value in values.items() if name not in self._limits]
        return min(math.fsum((BASELINE, *steps)), *(value for name, value in values.items() if name in self._limits))

    def _expectation(self, sample: Sample, values: Values) -> float:
        """Returns the expectation of that over all letters by their probabilities, taking the items as independent."""
        rubric = self._rubric(sample.category)
        sums = {BASELINE: 1.0}
        for name in rubric.criteria:
            of_sums: dict[float, float] = {}
            for total, share in sums.items():
                for letter, step in loading.STEPS.items():
                    of_sums[total + step] = of_sums.get(total + step, 0.0) + share * values[_value_name(name, letter)]
            sums = of_sums
        return math.fsum(
            values[_value_name(rubric.limit, letter)] * share * min(total, highest)
            for letter, highest in rubric.highest.items()
            for total, share in sums.items()
        )

    def advice(self, failed: Sequence[Judgement]) -> str:
        """Returns what to change in the configuration if at least half of the failed judgements ask for it."""
        prose = [
            judgement
            for judgement in failed
            if judgement.status in (Status.UNPARSEABLE, Status.CUT_OFF) and is_prose(judgement.answer)
        ]
        if self._parameters.answer == "score" and failed and 2 * len(prose) >= len(failed):
            return f"{prose[-1].judge} answers in words; write `protocol: {{answer: reason_then_score}}`"
        return advice_on_limits(failed)


def _unfit(parameters: Rubric.Parameters, rubric: loading.RubricText) -> str:
    """Returns why a rubric cannot be asked with these parameters; empty if it can."""
    written = f"`answer: {parameters.answer}`" if parameters.answer in BY_ITEM else f"`asked: {parameters.asked}`"
    if parameters.has_item_scores and not rubric.criteria:
        return f"{written} is about the built-in criteria, which this system_prompt replaces; leave out one of them"
    if parameters.asked == "one_by_one" and not rubric.one:
        return f"{written} takes `rubric: {loading.RUBRICS[-1]}`"
    return ""


def _schema(rubric: loading.RubricText, form: str) -> str:
    return object_schema(_entries(rubric, form))


def _entries(rubric: loading.RubricText, form: str) -> dict[str, Entry]:
    """Returns what a judge writes: reasons if it gives numbers, a letter for the first item, then the criteria."""
    step = number(-STEP, STEP) if form == "json" else one_of(*loading.STEPS)
    reasons = {rubric.form["reasons"]: WORDS} if form == "json" else {}
    return {**reasons, rubric.limit: one_of(*rubric.highest), **dict.fromkeys(rubric.criteria, step)}


def _example_line(rubric: loading.RubricText, form: str) -> str:
    """Returns the line that shows a judge the object: `{"reasons": "...", "Fulfilment": "LETTER", ...}`."""
    parts = []
    for name, entry in entries_of(_schema(rubric, form)).items():
        slot = '"..."' if entry == WORDS else f'"{rubric.form["letter"]}"' if "enum" in entry else rubric.form["number"]
        parts.append(f'"{name}": {slot}')
    return f"{{{', '.join(parts)}}}"


def _value_name(item: str, letter: str) -> str:
    """Returns the name of a value: the probability of a letter for an item."""
    return f"{item}: {letter}"


def _mean_of(item: str, points: Mapping[str, float], sample: Sample, values: Values) -> float:
    return math.fsum(number * values[_value_name(item, letter)] for letter, number in points.items())
