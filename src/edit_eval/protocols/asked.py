"""How a judge is asked: its protocol, built from the configuration, and the questions about each sample."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from edit_eval.config.components import NotHere, import_class, preserve_cwd
from edit_eval.config.identity import Identity, canonical_json, digest_of_text, identity
from edit_eval.config.recorded import ProtocolSection
from edit_eval.errors import ConfigurationError
from edit_eval.judges.contract import READABLE
from edit_eval.protocols.contract import Protocol, Question, View, is_earlier, scoring_of
from edit_eval.protocols.replies import advice_on_limits
from edit_eval.records import Judgement, Sample, Scoring
from edit_eval.text import Text
from edit_eval.workers.model_class import make_parameters

if TYPE_CHECKING:  # a dozen classes of pydantic's, for which readers do not wait
    from edit_eval.config.schema import Configuration, ModelSection


@dataclass(frozen=True)
class AskedJudge:
    """A judge with its protocol."""

    model: Identity
    section: ProtocolSection
    texts: Mapping[str, Any]
    """The protocol's wording, if it was read from elsewhere."""
    protocol: Protocol = field(compare=False)
    measures: bool = False
    """True if it measures: it is asked nothing, and has no controls."""
    replays: bool = False
    """True if its replies were given elsewhere: they are found by address, and there are none for controls."""
    reads: tuple[str, ...] = ()
    """What its class reads besides the question (`judges.contract.READABLE`): it is part of the key."""

    @property
    def name(self) -> str:
        """The judge's name in the configuration."""
        return self.model.name

    @property
    def protocol_name(self) -> str:
        """The protocol's registered name, or the user's own class."""
        return self.section.type or Path(self.section.class_path).name

    @property
    def of_two(self) -> bool:
        """True if it compares two edits, and is never asked about one alone."""
        return hasattr(self.protocol, "battles")

    @property
    def before_edits(self) -> bool:
        """True if it is asked about samples before they are edited, and never about an edit."""
        return bool(getattr(self.protocol, "before_edits", False))

    @property
    def of_one(self) -> bool:
        """True if it is asked about one edit at a time."""
        return not (self.of_two or self.before_edits)

    @property
    def sees_controls(self) -> bool:
        """True if it is also asked about controls, which no edit model made."""
        return self.of_one and not (self.measures or self.replays)

    @property
    def scoring(self) -> Scoring:
        """The scores it gives."""
        return scoring_of(self.protocol_name, self.protocol)

    def advice(self, failed: Sequence[Judgement]) -> str:
        """Returns what to change in the configuration after these failures; empty if unknown."""
        return str(getattr(self.protocol, "advice", advice_on_limits)(failed)) if failed else ""

    def question_parameters(self) -> dict[str, object]:
        """Returns the protocol's parameters but those that are part of its texts or the judge."""
        return {k: v for k, v in self.section.parameters.items() if k not in ("prompts", "version", "measures")}


class SampleQuestion(NamedTuple):
    """A question about one sample, without its texts: a benchmark has few such kinds, shared by many samples."""

    question: Question
    digest: str
    """Over everything in the key of its replies but judge, edit and seed, as far as the sample determines it."""
    varies: bool
    """True if anything else told or shown depends on earlier replies, or on an edit that the sample follows."""
    shows_edit: bool
    """True if the edit is shown, or lends its size."""


@preserve_cwd()
def make_protocol(
    section: ProtocolSection, folder: Path, texts: Mapping[str, Any] | None = None
) -> tuple[Protocol, Mapping[str, Any]]:
    """Returns a protocol and its wording, which is read unless `texts` of an earlier reading are given.

    Raises `ConfigurationError` for invalid parameters, and for a class that is not installed here.
    """
    protocol_class: Any = import_class("protocol", section.class_path, folder)
    parameters = make_parameters(protocol_class, section.parameters)
    if not hasattr(protocol_class, "texts"):
        return protocol_class(parameters), {}
    if texts is None:
        texts = json.loads(json.dumps(protocol_class.texts(parameters)))  # in the form in which it will be recorded
    return protocol_class(parameters, texts), texts


def make_judges(
    configuration: Configuration, identified: Callable[[ModelSection, Path, str], Identity] = identity
) -> list[AskedJudge]:
    """Returns the configuration's judges with their protocols; `identified` says who they are."""
    folder = configuration.folder
    return [
        _make_judge(section, folder, identified(section, folder, "judge")) for section in configuration.judges.values()
    ]


def _make_judge(section: ModelSection, folder: Path, model: Identity) -> AskedJudge:
    assert section.protocol is not None  # the configuration gives every judge one
    protocol, texts = make_protocol(section.protocol, folder)
    try:
        judge_class: Any = import_class("judge", section.class_path, folder)
    except NotHere:
        judge_class = None
    return AskedJudge(
        model,
        section.protocol,
        texts,
        protocol,
        measures=hasattr(judge_class, "measures"),
        replays=bool(getattr(judge_class, "replays", False)),
        reads=_reads_of(judge_class, model.name),
    )


def _reads_of(judge_class: Any, name: str) -> tuple[str, ...]:
    reads = tuple(getattr(judge_class, "reads", ()))
    if unknown := [field for field in reads if field not in READABLE]:
        raise ConfigurationError(
            Text("{}: its class `reads` {}, which is none of {}", name, repr(unknown[0]), ", ".join(READABLE))
        )
    return reads


def rounds_of(protocol: Protocol, sample: Sample, edit_models: Sequence[Identity]) -> list[list[tuple[int, int]]]:
    """Returns the pairs of edit models whose edits of a sample are compared, by round: indices, the smaller first.

    A design that is not extended is one round. Empty if it compares none, and for a sample that follows another: its
    edits were made from different pictures. A bad sample has its battles, too, which are all skipped.
    """
    if not hasattr(protocol, "battles") or sample.follows:
        return []
    by_round = getattr(protocol, "rounds", None) if getattr(protocol, "looks", 1) > 1 else None
    rounds = by_round(sample, edit_models) if by_round else [protocol.battles(sample, edit_models)]
    pairs_by_round, before = list[list[tuple[int, int]]](), set[tuple[int, int]]()
    for pairs in rounds:
        new = {(min(pair), max(pair)) for pair in pairs} - before
        before |= new
        pairs_by_round.append(sorted(new))
    return pairs_by_round


Light = dict[object, tuple[Question, tuple[str, ...], str]]
"""Questions without their texts, shared by many samples; each with its pictures and the steps done to them."""


def ask(protocol: Protocol, sample: Sample, light: Light) -> tuple[SampleQuestion, ...]:
    """Returns the questions about a sample; their kinds are kept in `light`."""
    if sample.fault:
        return ()
    pictures = {name: picture.digest for name, picture in sample.pictures.items()}
    pictures |= {"edit": "edit", "other": "other"}
    questions = []
    for question in protocol.questions(sample):
        bare, names, steps = _bare(question, light)
        digest = _digest(question, names, steps, pictures)
        varies = bool(question.after or sample.follows) or any(map(is_earlier, names))
        questions.append(SampleQuestion(bare, digest, varies, "edit" in names))
    return tuple(questions)


def _bare(question: Question, light: Light) -> tuple[Question, tuple[str, ...], str]:
    about = question.name, question.gives, question.shows, question.form, question.after
    kind = *about, question.when, question.again, question.labels, question.schema
    known = light.get(kind)
    if known is None:
        known = light[kind] = replace(question, system="", user=""), *_views(question.shows)
    return known


_system_digest = lru_cache(maxsize=256)(digest_of_text)  # a rubric's text is the same for many samples


def question_digest(question: Question, pictures: Mapping[str, str]) -> str:
    """Returns the digest of what a judge is told and shown, without names and the line added when asking again.

    `pictures` maps each picture's name to what represents it.
    """
    return _digest(question, *_views(question.shows), pictures)


def _digest(question: Question, names: tuple[str, ...], steps: str, pictures: Mapping[str, str]) -> str:
    views = ",".join([pictures.get(name, "") for name in names])
    form = question.form
    if question.labels or question.schema:
        form = canonical_json([form, question.labels, question.schema])
    return digest_of_text(f"{_system_digest(question.system)}{form}\n{steps}\n{views}\n{question.user}")


def _views(shows: tuple[View, ...]) -> tuple[tuple[str, ...], str]:
    """Returns the pictures that are shown or lend their size, and the steps done to them, with their number."""
    names = tuple(name for view in shows for name in view.reads)
    return names, canonical_json([[len(view.reads), view.steps] for view in shows])
