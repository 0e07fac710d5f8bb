"""Pairwise protocols of others: their questions in our wording, or in theirs, which `edit-eval fetch` downloads.

Sound where theirs are not: both orders, no letter out of a word, no answer is no tie. The numbers that they would give
for the same answers stand beside ours (`statistics/published_ratings.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from edit_eval.benchmarks.authors_files import AuthorsFile
from edit_eval.judges.answers import NoAnswer, excerpt, json_decoder, json_objects
from edit_eval.protocols.battles import Meetings
from edit_eval.protocols.contract import Question
from edit_eval.protocols.pairwise import RUBRIC, Aspect, Comparing
from edit_eval.records import Sample
from edit_eval.rubrics import loading

_DECODER = json_decoder(strict=False)


@dataclass(frozen=True)
class PublishedParameters(Meetings):
    """Which edits meet, and how it is asked."""

    prompts: Literal["ours", "official"] = "ours"
    """`ours`; `official`, the authors' words, which `edit-eval fetch` downloads, or from `prompts_path`."""
    prompts_path: str | None = None
    """For `official`: the folder of a copy of the authors' repository. Nothing in it is run."""
    language: Literal["en", "zh"] = "en"
    """Of our wording; by default the benchmark's."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prompts_path and self.prompts != "official":
            raise ValueError("prompts_path is for prompts: official")


class PublishedPairs(Comparing):
    """What these protocols have in common. A subclass says what is asked, and where and how the authors ask it."""

    Parameters: ClassVar[Any] = PublishedParameters
    aspects: ClassVar[Mapping[str, Aspect]]
    """For each score what our wording asks; the headline first."""
    ties: ClassVar[bool]
    """Whether a tie is an answer."""
    official_files: ClassVar[Sequence[AuthorsFile]]
    """Where the authors have their prompts."""
    key: ClassVar[str]
    """The entry of their JSON object with the answer."""
    shares: ClassVar[Mapping[str, float]]
    """Each of their answers -> what the picture shown first gets."""
    called: ClassVar[tuple[str, str, str]]
    """What their words call the source, the first edit and the second."""

    @classmethod
    def texts(cls, parameters: PublishedParameters) -> dict[str, Any]:
        """Our wording, and the authors' where it is wanted. Raises `ConfigurationError` where that is not there."""
        found = dict(loading.packaged(RUBRIC, parameters.language))
        return found | ({"official": cls.official(parameters.prompts_path)} if parameters.prompts == "official" else {})

    @classmethod
    def official(cls, path: str | None) -> dict[str, list[str]]:
        """For each score the authors' system prompt and user prompt, with `{edit_instruction}`."""
        raise NotImplementedError

    def __init__(self, parameters: PublishedParameters, texts: Mapping[str, Any]) -> None:
        super().__init__(parameters, texts, self.aspects, ties=self.ties)
        self._official: Mapping[str, Sequence[str]] = texts.get("official", {})

    def _question(self, score: str, sample: Sample) -> Question:
        if not self._official:
            return super()._question(score, sample)
        system, user = self._official[score]
        shows = self._shows(score, sample)
        # Their pictures stand between their words; here all of them come first.
        source, first, second = self.called
        which = [f"the last but one is {first}, the last is {second}"]
        which = [f"those before are: {source}", *which] if len(shows) > 2 else which
        return Question(
            name=score,
            system=system,
            user=loading.fill(user, {"edit_instruction": sample.instruction})
            + f"\n\nOf the images above, {'; '.join(which)}.",
            shows=shows,
            form="json",
        )

    def _said(self, question: Question, body: str) -> tuple[float, str]:
        if not self._official:
            return super()._said(question, body)
        said, others, _ = json_objects(body, self.key, _DECODER)
        labels = {one.strip() if isinstance(one, str) else "" for one in said}
        if len(labels) != 1 or not labels <= {*self.shares}:
            raise NoAnswer(f"`{self.key}` is not one of {', '.join(self.shares)}: {excerpt(body)}")
        return self.shares[labels.pop()], "\n".join(text for one in others for _, text in one if isinstance(text, str))
