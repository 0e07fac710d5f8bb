"""`viescore`: VIEScore (Ku et al., ACL 2024, arXiv 2312.14867) as GEdit-Bench asks it.

Facts: TIGER-AI-Lab/VIEScore@2cbea4e (viescore/), stepfun-ai/Step1X-Edit@570eba6 (GEdit-Bench/).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

from edit_eval.benchmarks.authors_files import AUTHORS_FILES, AuthorsFile
from edit_eval.errors import ConfigurationError
from edit_eval.protocols.contract import Missing, Question, Score, Values, View, parts
from edit_eval.protocols.replies import list_schema, number, read_list, read_number, read_values
from edit_eval.records import Judgement, Reading, Reply, Sample, Scale, Status
from edit_eval.rubrics import loading
from edit_eval.rubrics.loading import authors_texts, own_prompts
from edit_eval.text import Text

REGISTERED = {"viescore": "VIEScore"}

LOWEST, HIGHEST = 0, 10
GIVES = {"SC": ("success", "restraint"), "PQ": ("naturalness", "no_artifacts")}
FIELDS = ("edit_instruction",)
_OFFICIAL_PARTS = {
    "SC": ("_context_no_delimit", "_prompts_0shot_two_image_edit_rule", "_prompts_0shot_tie_rule_SC"),
    "PQ": ("_context_no_delimit", "_prompts_0shot_rule_PQ"),
}

_SCALE = Scale(lowest=LOWEST, highest=HIGHEST, mean_over="categories")


def _least(sample: Sample, values: Values) -> float:
    return min(values.values())


def _overall(sample: Sample, values: Values) -> float:
    return math.sqrt(math.prod(min(values[name] for name in gives) for gives in GIVES.values()))


class VIEScore:
    """Asks two questions an edit: was the instruction followed (SC), and is the picture well made (PQ).

    SC shows source and edit, and gives two numbers from 0 to 10: success, and restraint. PQ shows the edit alone, and
    gives naturalness and freedom from artifacts. SC and PQ are the lesser of their two, O is the square root of SC
    times PQ; means are over the categories (GEdit's task types), and O is the headline.

    `published` has GEdit-Bench's own G_SC, G_PQ and G_O: as `calculate_statistics.py` has them, edits that failed left
    out, and for a reply that cannot be read a whole number from 0 to 10 that is guessed. Without `guess_seed` there is
    no such number where one had to be guessed. The authors' own reader also takes numbers outside of 0 to 10 and lists
    of any length; here these count as not readable.
    """

    @dataclass(frozen=True)
    class Parameters:
        __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

        language: Literal["en", "zh"] = "en"
        """Of our wording; by default the benchmark's."""
        prompts: str | dict[str, dict[str, str]] = "ours"
        """`ours`; `official`, the authors' words, which `edit-eval fetch` downloads, or from `prompts_path`; the path
        of a YAML file with prompts, or the prompts themselves: `SC` and `PQ`, each with `system_prompt`,
        `user_prompt_template` or both."""
        prompts_path: str | None = None
        """For `official`: the authors' `vie_prompts.py`, or the folder that it lies in. It is read, never run."""
        edit_size: Literal["source", "own"] = "source"
        """The size at which the edit is shown: the source's, as GEdit-Bench does (proportions are not kept), or its
        own, as VIEScore does."""
        guess_seed: int | None = None
        """For the published numbers: the seed of the guesses for replies that cannot be read."""

        def __post_init__(self) -> None:
            if self.prompts_path and self.prompts != "official":
                raise ValueError("prompts_path is for prompts: official")

    official_file: ClassVar[AuthorsFile] = AUTHORS_FILES["viescore"]
    """Where the authors have their prompts; GEdit-Bench/viescore/ of Step1X-Edit has the same, byte for byte."""
    headline = "O"
    scores: ClassVar[Mapping[str, Score]] = {
        "SC": Score(scale=_SCALE, needs=GIVES["SC"], of=_least),
        "PQ": Score(scale=_SCALE, needs=GIVES["PQ"], of=_least),
        "O": Score(scale=_SCALE, needs=GIVES["SC"] + GIVES["PQ"], of=_overall),
        **parts(GIVES["SC"] + GIVES["PQ"], _SCALE),
    }

    @staticmethod
    def texts(parameters: Parameters) -> dict[str, Any]:
        """The wording of both questions. Raises `ConfigurationError` for prompts that cannot be read or meant."""
        ours = loading.packaged("viescore.v1", parameters.language)
        texts = {
            name: {
                **ours[name],
                "ask_again": ours["ask_again"],
                "schema": list_schema("score", number(LOWEST, HIGHEST), len(gives), "reasoning"),
            }
            for name, gives in GIVES.items()
        }
        prompts = parameters.prompts
        if prompts == "official":
            prompts = _official(parameters.prompts_path)
        elif prompts == "ours":
            prompts = {}
        elif isinstance(prompts, str):
            prompts = own_prompts(prompts, GIVES)
        for name, replaced in prompts.items():
            if name not in texts:
                raise ConfigurationError(
                    Text("prompts.{}: viescore has no such question; there are {: and }", name, texts)
                )
            loading.check_prompts(name, replaced, FIELDS)
            # A wording that is not ours lays down a form of its own.
            texts[name].update(replaced, **({"schema": ""} if "system_prompt" in replaced else {}))
        return texts

    def __init__(self, parameters: Parameters, texts: Mapping[str, Any]) -> None:
        self._texts = texts
        steps = (("like", "source"),) if parameters.edit_size == "source" else ()
        edit = View(picture="edit", steps=steps)
        self._shows = {"SC": (View(picture="source"), edit), "PQ": (edit,)}
        self.published: Mapping[str, Callable[[Sequence[Judgement]], float]] = {
            f"G_{name}": partial(_published, name, parameters.guess_seed) for name in (*GIVES, self.headline)
        }

    def questions(self, sample: Sample) -> Sequence[Question]:
        """SC, and PQ, which is blind to the source and to the instruction."""
        return [self._question(name, sample) for name in GIVES]

    def _question(self, name: str, sample: Sample) -> Question:
        text, values = self._texts[name], {"edit_instruction": sample.instruction}
        return Question(
            name=name,
            gives=GIVES[name],
            system=loading.fill(text["system_prompt"], values),
            user=loading.fill(text["user_prompt_template"], values),
            shows=self._shows[name],
            form="json",
            schema=text.get("schema", ""),
            again=text["ask_again"],
        )

    def read(self, question: Question, reply: Reply) -> Reading:
        """The two numbers of `{"reasoning": ..., "score": [a, b]}`, or of a bare `[a, b]`."""

        def numbers(body: str) -> tuple[Sequence[float], str]:
            entries, words = read_list(body, "score", len(question.gives))
            return [read_number(entry, LOWEST, HIGHEST) for entry in entries], words

        return read_values(question, reply, numbers)


def _published(name: str, seed: int | None, judgements: Sequence[Judgement]) -> float:
    """The mean over the categories of the means over their edits, as `calculate_statistics.py` has it.

    Raises `Missing` where a number would have to be guessed and there is no seed, where judgements are still to come,
    and where a category has none: the authors' mean is no number there.
    """
    categories: dict[str, list[float]] = {}
    for one in judgements:
        numbers = categories.setdefault(one.category, [])
        if one.status is Status.PENDING:
            raise Missing(Status.PENDING, "not every edit has been judged yet")
        if one.readings:  # else there was nothing to judge: the authors pass it over
            sides = {side: _side(one, side, seed) for side in GIVES}
            numbers.append(math.sqrt(sides["SC"] * sides["PQ"]) if name == "O" else sides[name])
    if not categories or not all(categories.values()):
        empty = min((category for category, numbers in categories.items() if not numbers), default="")
        raise Missing(Status.UNDEFINED, f"no edit of `{empty}` was judged" if empty else "no edit was judged")
    means = [math.fsum(numbers) / len(numbers) for numbers in categories.values()]
    return math.fsum(means) / len(means)


def _side(judgement: Judgement, side: str, seed: int | None) -> float:
    reading = judgement.readings[0][side]
    if reading.status is Status.OK:
        return min(reading.values.values())
    if seed is None:
        raise Missing(
            reading.status,
            f"the reply about {side} of `{judgement.sample_id}` cannot be read, where the authors guess a number; "
            "set `protocol.guess_seed` for theirs",
        )
    place = f"{seed} {judgement.sample_id} {judgement.edit_seed} {judgement.repeat} {side}"
    return random.Random(place).randint(LOWEST, HIGHEST)


def _official(path: str | None) -> dict[str, dict[str, str]]:
    """The authors' prompts, put together as their `VIEScore(task="tie")` does; all of it stands in the user's turn."""
    parts = authors_texts(path, VIEScore.official_file, [name for names in _OFFICIAL_PARTS.values() for name in names])
    texts = {question: "\n".join(parts[name] for name in names) for question, names in _OFFICIAL_PARTS.items()}
    return {
        question: {"system_prompt": "", "user_prompt_template": text.replace("<instruction>", "{edit_instruction}")}
        for question, text in texts.items()
    }
