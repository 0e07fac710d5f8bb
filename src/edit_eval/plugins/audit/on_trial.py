"""`on_trial`: how an audit asks a judge: as another protocol does, and sometimes in a variation, to see its effect.

A sample of the benchmark `ladder` says in `facts` how it varies: asked again, with the two pictures in the other order,
in the other language. Everything else is the examined protocol's: its questions, its reading, its scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from edit_eval.benchmarks.contract import AUDIT
from edit_eval.config.identity import Identity
from edit_eval.config.recorded import ProtocolSection
from edit_eval.errors import ConfigurationError
from edit_eval.protocols.asked import make_protocol
from edit_eval.protocols.contract import Protocol, Question, Score, Texts
from edit_eval.protocols.replies import advice_on_limits
from edit_eval.records import LANGUAGES, Judgement, Reading, Reply, Sample

RECIPES = ("source_2", "source_3")
"""Pictures that edits are made from, which no judge is shown."""
EXCHANGED = {
    "en": "This time the pictures are shown in the opposite order: the edited one comes first, and the source last.",
    "zh": "这一次图片的顺序相反：编辑后的图像在最前面，原图在最后。",
}
"""What a judge is told if the pictures come in the other order."""


class OnTrial:
    """Asks as another protocol does, and shows the same edits in other ways, too; for `edit-eval audit`."""

    @dataclass(frozen=True)
    class Parameters:
        asks: dict[str, Any] = field(default_factory=dict)
        """The section of the protocol that is examined: `type`, `class_path`, `parameters`."""
        folder: str = "."
        """Where a class of the user's own is looked for."""

    @staticmethod
    def texts(parameters: Parameters) -> Texts:
        """Returns the examined protocol's wording in each of its languages."""
        texts: Texts = {}
        for language in LANGUAGES:
            section = _section(parameters, language)
            if section is not None:
                with suppress(*(() if language == _language(parameters) else (ConfigurationError,))):
                    texts[language] = make_protocol(section, Path(parameters.folder))[1]
        return texts

    def __init__(self, parameters: Parameters, texts: Mapping[str, Any]) -> None:
        self._parameters, self._texts = parameters, texts

    @cached_property
    def _inner(self) -> dict[str, Protocol]:
        """By language; a protocol without languages is the same in all."""
        protocols = {}
        for language in LANGUAGES:
            section = _section(self._parameters, language)
            if section is not None and language in self._texts:
                protocols[language] = make_protocol(section, Path(self._parameters.folder), self._texts[language])[0]
        return protocols

    @property
    def _own(self) -> Protocol:
        return self._inner[_language(self._parameters)]

    @property
    def headline(self) -> str:
        """The examined protocol's."""
        return self._own.headline

    @property
    def scores(self) -> Mapping[str, Score]:
        """The examined protocol's."""
        return self._own.scores

    def refuse_unknown(self, categories: Iterable[str]) -> None:
        """Accepts prompts for any category: the user's own are not a mistake, though the ladder lacks them."""

    def questions(self, sample: Sample) -> Sequence[Question]:
        """Returns the examined protocol's questions, shown as the sample says. Raises `LookupError` as that does."""
        view = sample.facts.get(AUDIT, {}).get("view", "")
        facts = {name: fact for name, fact in sample.facts.items() if name != AUDIT}
        pictures = {name: picture for name, picture in sample.pictures.items() if name not in RECIPES}
        plain = replace(sample, facts=facts, pictures=pictures)
        protocol = self._inner.get(sample.language, self._own) if view == "language" else self._own
        questions = protocol.questions(plain)
        if view == "again":  # an equal question would be asked only once
            return [replace(question, user=f"{question.user}\n") for question in questions]
        if view == "alone":
            return [_the_very_same(question) for question in questions]
        if view == "exchanged":
            return [_swap_pictures(question, sample.language) for question in questions]
        return questions

    def read(self, question: Question, reply: Reply) -> Reading:
        """Reads like the examined protocol."""
        return self._own.read(question, reply)

    def advice(self, failed: Sequence[Judgement]) -> str:
        """Returns the examined protocol's advice."""
        return str(getattr(self._own, "advice", advice_on_limits)(failed))


class OnTrialOfTwo(OnTrial):
    """The same for a protocol that shows two edits: the better one and the worse one of each sample."""

    def battles(self, sample: Sample, models: Sequence[Identity]) -> Sequence[tuple[int, int]]:
        """Returns the only pair."""
        return [(0, 1)]


def _language(parameters: OnTrial.Parameters) -> str:
    return str(parameters.asks["parameters"].get("language", LANGUAGES[0]))


def _section(parameters: OnTrial.Parameters, language: str) -> ProtocolSection | None:
    """Returns the examined protocol in a language; None for another one than its own, if it has no choice."""
    section = ProtocolSection.from_recorded(parameters.asks)
    if "language" not in section.parameters:
        return section if language == _language(parameters) else None
    return section.model_copy(update={"parameters": {**section.parameters, "language": language}})


def _the_very_same(question: Question) -> Question:
    """Returns the question under another key: same words, seed and pixels, the first picture scaled to its own size."""
    first, *others = question.shows
    anew = first._replace(steps=(("like", first.picture), *first.steps))
    return replace(question, shows=(anew, *others))


def _swap_pictures(question: Question, language: str) -> Question:
    """Returns the question with its pictures swapped, and a note on it; unchanged if it has a single picture."""
    if len(question.shows) < 2:
        return question
    return replace(question, shows=question.shows[::-1], user=f"{question.user}\n\n{EXCHANGED[language]}")
