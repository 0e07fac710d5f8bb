"""The passport of a judge: its audit's findings, in one file for each way in which it is asked.

A judge that is asked differently is another judge: other weights or parameters, another wording, form of answer, order
of pictures or language each have a passport of their own. `edit-eval audit` writes them; runs with the judge read
them. The file's schema is in docs/records.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import structs

from edit_eval.config.identity import digest
from edit_eval.config.recorded import GONE
from edit_eval.errors import ConfigurationError
from edit_eval.files.durable import write_durably
from edit_eval.files.user_files import UnfitFile, read_json
from edit_eval.json_values import JsonObject, Unchecked
from edit_eval.plugins.audit.drift import JudgedTwice
from edit_eval.plugins.audit.measure import Anchor, Finite, Measure
from edit_eval.protocols.asked import AskedJudge
from edit_eval.records import Scale
from edit_eval.reporting.documents import encode_document, plain
from edit_eval.text import Text
from edit_eval.workers.model_class import PlainParameters

EDITED: Literal["edited"] = "edited"
"""Verdict of a passport that was changed by hand: it says nothing about the judge."""
PassportVerdict = Literal["passed", "limited", "failed", "edited"]
SAYS = "model"
"""Key in a subject's `judge` for its server's description of the model."""
IN_LANGUAGE = ("language", "prompts", "measures")
"""Protocol parameters that a passport does not compare: language is a field of its own, prompts are in the wording, and
measures belong to the judge."""


class Examinee(msgspec.Struct, frozen=True, kw_only=True):
    """The judge that was examined, and how it was asked: the subject of a passport."""

    judge: Unchecked
    """`type`, `revision` and `parameters`, as in the keys of its replies; for a server also its address (`serves`) and
    its description of the model, if it gives one (`model`)."""
    protocol: str
    """Registered name, or the user's own class."""
    parameters: PlainParameters
    """Parameters of the protocol except the language; form and pictures are among them if it has such options."""
    wording: str
    """SHA-256 of the protocol's texts."""
    language: str
    """Language of the instructions: `en` or `zh`."""

    @classmethod
    def from_judge(cls, asked: AskedJudge, language: str, says: str = "") -> Examinee:
        """Returns a run's judge as it is asked about instructions in that language. `says`: its server's description
        of the model that answered (`plugins.endpoints`)."""
        model = asked.model
        server = {key: value for key, value in (("serves", model.serves), (SAYS, says)) if value}
        return cls(
            judge={"type": model.type, "revision": model.revision, "parameters": dict(model.parameters), **server},
            protocol=asked.protocol_name,
            parameters={
                **GONE.get(asked.section.type, {}),
                **{k: v for k, v in asked.section.parameters.items() if k not in IN_LANGUAGE},
            },
            wording=digest(dict(asked.texts)),
            language=language,
        )

    @property
    def key(self) -> str:
        """SHA-256 over all fields, by which a passport is found."""
        return digest(structs.asdict(self))

    def is_but_for_its_server_s_model(self, other: Examinee) -> bool:
        """True if it is the same judge as far as is known before its server is asked."""
        mine, theirs = (structs.replace(examinee, judge={**examinee.judge, SAYS: ""}) for examinee in (self, other))
        return mine == theirs

    def is_but_for_language(self, other: Examinee) -> bool:
        """True if it is the same judge asked the same way in another language; wordings cannot be compared."""
        mine, theirs = (digest([examinee.judge, examinee.protocol, examinee.parameters]) for examinee in (self, other))
        return mine == theirs and self.language != other.language


class Try(msgspec.Struct, frozen=True):
    """One audit."""

    seed: int
    """Of the drawn scenes."""
    scenes: int
    """Scenes per category."""
    size: int
    """Width in pixels."""
    verdict: str
    """How it ended."""


class ExaminedScale(msgspec.Struct, frozen=True, kw_only=True):
    """The scale of the score that was examined."""

    lowest: int | float | None
    """None: open."""
    highest: int | float | None
    higher_is_better: bool

    @property
    def span(self) -> float | None:
        """Points from end to end; None if it is open."""
        return None if self.lowest is None or self.highest is None else float(self.highest - self.lowest)


class ComparedWithPeople(msgspec.Struct, frozen=True, kw_only=True):
    """Data behind the measures of agreement with people."""

    scores: str
    """SHA-256 of their scores."""
    run: str
    """The run in which the judge scored what they scored."""
    judge: str
    """Its name there."""
    recorded: bool
    """True if its replies were recorded elsewhere."""


class Passport(msgspec.Struct, frozen=True, kw_only=True):
    """Findings of an audit: the file (docs/records.md), all numbers of which are finite."""

    schema: Literal[1] = 1
    verdict: PassportVerdict
    """`passed`; `limited`: it sees what it scores, but has a fault that a reader must know; `failed`: its scores mean
    nothing."""
    date: str
    """Day on which the audit ended: `2026-11-21`, in UTC."""
    version: str
    """Version of edit-eval."""
    name: str
    """The judge's name in the configuration."""
    judge: Unchecked
    """This and the next four say who was examined: `type`, `revision` and `parameters` as in keys; for a server also
    `serves`, its address or a digest of how edit-eval starts it, and `model`, its lasting description of its model, [if
    it gives one](audit.md#passports-and-anchors)."""
    protocol: str
    """Its name."""
    parameters: PlainParameters
    """Of the protocol, except the language."""
    wording: str
    """SHA-256 of the protocol's texts."""
    language: str
    """Of the instructions: `en` or `zh`."""
    form: tuple[str, ...]
    """Forms of its answers."""
    pictures: tuple[str, ...]
    """Pictures shown to it, in this order."""
    headline: str
    """The score that was examined."""
    scale: ExaminedScale
    measures: dict[str, Measure]
    """Each [measure](audit.md#what-is-measured) by name."""
    categories: dict[str, dict[str, Measure]]
    """Measures of each category; and for a kind of change (`hue`, `place`, `size`, `count`, `light`) any wrong
    preference there."""
    smallest_difference: Finite | None
    """The smallest difference between two single scores that exceeds the judge's own noise, in points:
    1.96 sqrt(2) times its retest standard deviation; None if unknown."""
    retest_sd: Finite | None
    """Standard deviation of an edit's scores when the judge is asked again, in points."""
    benchmark: Unchecked
    """The `benchmark:` section that draws the audit's edits again."""
    anchors: tuple[Anchor, ...]
    """25 edits, to ask the same judge again later."""
    repeated: tuple[JudgedTwice, ...] = ()
    """Edits that were asked about twice, with both scores in points: the noise that anchors are held against. Empty in
    a passport of an earlier version."""
    tries: tuple[Try, ...] = ()
    """All finished audits of this judge, this one last."""
    people: ComparedWithPeople | None = None
    """With `audit --people`; else None."""

    def __post_init__(self) -> None:
        scale = Scale(lowest=self.scale.lowest, highest=self.scale.highest)
        if not scale.is_a_range:
            raise ValueError(f"a scale from {scale.lowest} to {scale.highest}")
        scores = [anchor.score for anchor in self.anchors]
        scores += [score for edit in self.repeated for score in (edit.before, edit.now)]
        if outside := [score for score in scores if not scale.holds(score)]:
            raise ValueError(f"{outside[0]:g} is outside of the scale")

    @property
    def subject(self) -> Examinee:
        """The judge that was examined."""
        return Examinee(**{name: getattr(self, name) for name in Examinee.__struct_fields__})

    @property
    def failures(self) -> tuple[str, ...]:
        """Names of the measures not passed: `words_en`, or `order (causal)` for a measure of a category; reversed
        preferences come first."""
        named_measures = [(name, measure) for name, measure in self.measures.items()]
        for category, measures in self.categories.items():
            named_measures += [(Text("{} ({})", name, category), measure) for name, measure in measures.items()]
        return tuple(
            name
            for name, _ in sorted(
                (it for it in named_measures if it[1].passed is False), key=lambda it: not it[1].is_reversed
            )
        )

    @property
    def compares(self) -> bool:
        """True if it was shown two edits at a time."""
        return bool(self.benchmark.get("battles"))


def sign_passport(passport: Passport) -> JsonObject:
    """Returns what is in the file: the passport, and a digest that reveals changes made by hand."""
    content = plain(passport)
    return {**content, "digest": digest(content)}


def read_signed(content: Mapping[str, Any]) -> Passport:
    """Reads a passport, and whether it was changed by hand. Raises `ValueError` or `msgspec.ValidationError`."""
    given = {**content, "people": content.get("people") or None}  # once an empty object, where nobody was asked
    passport, whose = msgspec.convert(given, Passport), {key: content[key] for key in content if key != "digest"}
    if content.get("digest") == digest(whose):
        return passport
    return structs.replace(
        passport, verdict=EDITED, retest_sd=None, measures={}, categories={}, tries=(), anchors=(), repeated=()
    )


def next_seed(subject: Examinee, tries: Sequence[Try]) -> int:
    """Returns the seed of the next audit: a new one after each that has ended, the same while one is unfinished.

    It follows from the subject and the number of its audits, so nothing is gained by deleting a passport and trying
    again: the same scenes come back.
    """
    return int(digest([subject.key, len(tries)])[:8], 16)


def tries_at_its_server(folder: Path, subject: Examinee) -> list[Try]:
    """Returns the tries of all models that its server has had at that address; for any other judge, its own."""
    alike = (passport for passport in _all(folder) if passport.subject.is_but_for_its_server_s_model(subject))
    return [attempt for passport in alike for attempt in passport.tries]


def read_tries(folder: Path, subject: Examinee) -> tuple[Try, ...]:
    """Returns the finished audits of the same judge, as listed by its passport in that folder."""
    passport = read_file(folder / f"{subject.key}.json")
    return passport.tries if passport is not None and passport.subject.key == subject.key else ()


def ways_of_asking(folder: Path, passport: Passport) -> list[Passport]:
    """Returns the passports of the same judge in that folder, one for each way of asking, this one first."""
    mine = passport.subject
    others = (other for other in _all(folder) if other.subject.key != mine.key and other.verdict != EDITED)
    alike = [other for other in others if other.subject.judge == mine.judge and other.subject.language == mine.language]
    return [way for way in (passport, *alike) if "right_first" in way.measures]


def write(passport: Passport, folder: Path) -> Path:
    """Writes the passport, replacing an earlier one of the same subject; returns its file.

    Raises `ConfigurationError` if the folder cannot be written.
    """
    path = folder / f"{passport.subject.key}.json"
    write_file(passport, path)
    return path


def write_file(passport: Passport, path: Path) -> None:
    """Writes the passport to a file of another name: a run's own copy."""
    try:
        write_durably(encode_document(sign_passport(passport), indent=1).encode(), path)
    except OSError as error:
        raise ConfigurationError(
            Text(
                "the passport cannot be written to {} ({}); give `--passports DIR`",
                path.parent,
                error.strerror or error,
            )
        ) from error


def read_file(path: Path) -> Passport | None:
    """Reads the passport in a file; returns None if there is none that this version can read."""
    with suppress(UnfitFile, ValueError, msgspec.ValidationError):
        return read_signed(read_json(path, Unchecked))
    return None


def read(folder: Path, asked: AskedJudge, language: str, says: str = "") -> Passport | None:
    """Reads the passport of a judge as a run asks it, or else the newest one of the same judge in another language.

    `says`: see `Examinee.from_judge`. Returns None if it was never examined.
    """
    subject = Examinee.from_judge(asked, language, says)
    passport = read_file(folder / f"{subject.key}.json")
    if passport is not None and passport.subject.key == subject.key:  # a file may have been renamed
        return passport
    alike = [other for other in _all(folder) if other.subject.is_but_for_language(subject)]
    return max(alike, key=lambda other: other.date, default=None)


def _all(folder: Path) -> Iterator[Passport]:
    for path in sorted(folder.glob("*.json")):
        passport = read_file(path)
        if passport is not None:
            yield passport
