"""The passport of a judge: its audit's findings, in one file for each way in which it is asked.

A judge that is asked differently is another judge: other weights or parameters, another wording, form of answer, order
of pictures or language each have a passport of their own. `edit-eval audit` writes them; runs with the judge read
them. The file's schema is in docs/records.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from edit_eval.config.identity import digest
from edit_eval.errors import ConfigurationError
from edit_eval.given_files import UnfitFile, finite, read_json
from edit_eval.guests.audit.measure import Anchor, Measure
from edit_eval.json_values import JsonObject, Unchecked
from edit_eval.pictures import write_durably
from edit_eval.protocols.asked import AskedJudge
from edit_eval.records import Scale
from edit_eval.statistics.drift import JudgedTwice
from edit_eval.text import Text

SCHEMA = 1
EDITED: Literal["edited"] = "edited"
"""Verdict of a passport that was changed by hand: it says nothing about the judge."""
ENDS = ("lowest", "highest")
VERDICTS = ("passed", "limited", "failed", EDITED)
PassportVerdict = Literal["passed", "limited", "failed", "edited"]
_LANGUAGES = {"en": "English", "zh": "Chinese"}
SAYS = "model"
"""Key in a subject's `judge` for its server's description of the model."""
IN_LANGUAGE = ("language", "prompts", "measures")
"""Protocol parameters that a passport does not compare: language is a field of its own, prompts are in the wording, and
measures belong to the judge."""


@dataclass(frozen=True, kw_only=True)
class Examinee:
    """The judge that was examined, and how it was asked: the subject of a passport."""

    judge: Mapping[str, Any]
    """`type`, `revision` and `parameters`, as in the keys of its replies; for a server also its address (`serves`) and
    its description of the model, if it gives one (`model`)."""
    protocol: str
    """Registered name, or the user's own class."""
    parameters: Mapping[str, Any]
    """Parameters of the protocol except the language; form and pictures are among them if it has such options."""
    wording: str
    """SHA-256 of the protocol's texts."""
    language: str
    """Language of the instructions: `en` or `zh`."""

    @classmethod
    def of(cls, asked: AskedJudge, language: str, says: str = "") -> Examinee:
        """Returns a run's judge as it is asked about instructions in that language. `says`: its server's description
        of the model that answered (`endpoints.client.described_model`)."""
        model = asked.model
        server = {key: one for key, one in (("serves", model.serves), (SAYS, says)) if one}
        return cls(
            judge={"type": model.type, "revision": model.revision, "parameters": dict(model.parameters), **server},
            protocol=asked.protocol_name,
            parameters={k: v for k, v in asked.section.parameters.items() if k not in IN_LANGUAGE},
            wording=digest(dict(asked.texts)),
            language=language,
        )

    @property
    def key(self) -> str:
        """SHA-256 over all fields, by which a passport is found."""
        return digest(self.as_plain())

    def is_but_for_its_server_s_model(self, other: Examinee) -> bool:
        """True if it is the same judge as far as is known before its server is asked."""
        mine, theirs = ({**one.as_plain(), "judge": {**one.judge, SAYS: ""}} for one in (self, other))
        return mine == theirs

    def is_but_for_language(self, other: Examinee) -> bool:
        """True if it is the same judge asked the same way in another language; wordings cannot be compared."""
        mine, theirs = (digest([one.judge, one.protocol, one.parameters]) for one in (self, other))
        return mine == theirs and self.language != other.language

    def as_plain(self) -> JsonObject:
        return {
            "judge": dict(self.judge),
            "protocol": self.protocol,
            "parameters": dict(self.parameters),
            "wording": self.wording,
            "language": self.language,
        }


class Try(NamedTuple):
    """One audit."""

    seed: int
    scenes: int
    """Scenes per category."""
    size: int
    """Width in pixels."""
    verdict: str


@dataclass(frozen=True, kw_only=True)
class Passport:
    """Findings of an audit."""

    subject: Examinee
    name: str
    """The judge's name in the configuration."""
    form: tuple[str, ...]
    """Forms of its answers (`protocols.contract.Question.form`)."""
    pictures: tuple[str, ...]
    """Pictures shown to it, in this order."""
    headline: str
    """The score that was examined."""
    scale: Mapping[str, Any]
    """Its `lowest`, `highest` and `higher_is_better`."""
    date: str
    """Day on which the audit ended: `2026-11-21`, in UTC."""
    version: str
    """Version of edit-eval."""
    benchmark: Mapping[str, Any]
    """The `benchmark:` section that draws the audit's edits again."""
    verdict: PassportVerdict
    measures: Mapping[str, Measure]
    """By name, in the order in which they are shown."""
    categories: Mapping[str, Mapping[str, Measure]]
    """Measures of each category."""
    smallest_difference: float | None
    """The smallest difference between two single scores that exceeds the judge's own noise, in points:
    1.96 sqrt(2) times its retest standard deviation; None if unknown."""
    retest_sd: float | None
    """Standard deviation of an edit's scores when the judge is asked again, in points."""
    anchors: tuple[Anchor, ...]
    repeated: tuple[JudgedTwice, ...] = ()
    """Edits that were asked about twice, with both scores in points: the noise that anchors are held against. Empty in
    a passport of an earlier version."""
    tries: tuple[Try, ...] = ()
    """All finished audits of this judge, this one last."""
    people: Mapping[str, Any] = field(default_factory=dict)
    """Data behind the measures of agreement with people (docs/records.md); empty if there are none."""

    @property
    def failed(self) -> tuple[str, ...]:
        """Names of the measures not passed: `words_en`, or `order (causal)` for a measure of a category; reversed
        preferences come first."""
        found = [(name, one) for name, one in self.measures.items()]
        for category, measures in self.categories.items():
            found += [(Text("{} ({})", name, category), one) for name, one in measures.items()]
        return tuple(
            name for name, _ in sorted((it for it in found if it[1].passed is False), key=lambda it: not it[1].reversed)
        )

    @property
    def span(self) -> float | None:
        """Points from end to end of the scale; None if it is open."""
        lowest, highest = self.scale["lowest"], self.scale["highest"]
        return None if lowest is None or highest is None else float(highest - lowest)

    @property
    def compares(self) -> bool:
        """True if it was shown two edits at a time."""
        return bool(self.benchmark.get("battles"))

    @property
    def basis(self) -> str:
        """Its basis in words: `40 scenes a category, 512 pixels, seed 7`, and how earlier tries ended, if any."""
        if not self.tries:
            return ""
        seed, scenes, size, _ = self.tries[-1]
        said = Text("{} scenes a category, {} pixels, seed {}", scenes, size, seed)
        if earlier := self.tries[:-1]:
            said += Text(", try {} after {}", len(self.tries), (one.verdict for one in earlier))
        return said

    def as_plain(self) -> JsonObject:
        """Returns the file's content: everything, and a digest that reveals changes made by hand."""
        content = self._content()
        return {**content, "digest": digest(content)}

    def _content(self) -> JsonObject:
        return {
            "schema": SCHEMA,
            "verdict": self.verdict,
            "date": self.date,
            "version": self.version,
            "name": self.name,
            **self.subject.as_plain(),
            "form": list(self.form),
            "pictures": list(self.pictures),
            "headline": self.headline,
            "scale": dict(self.scale),
            "measures": {name: one.as_plain() for name, one in self.measures.items()},
            "categories": {
                category: {name: one.as_plain() for name, one in measures.items()}
                for category, measures in self.categories.items()
            },
            "smallest_difference": self.smallest_difference,
            "retest_sd": self.retest_sd,
            "benchmark": dict(self.benchmark),
            "anchors": [anchor._asdict() for anchor in self.anchors],
            "repeated": [one._asdict() for one in self.repeated],
            "tries": [one._asdict() for one in self.tries],
            "people": dict(self.people),
        }

    @classmethod
    def of_plain(cls, plain: Mapping[str, Any]) -> Passport:
        """Reads the output of `as_plain`. Raises `KeyError`, `TypeError`, `ValueError` or `AttributeError` for anything
        else."""
        if plain["schema"] != SCHEMA:
            raise ValueError(f"schema {plain['schema']!r}")
        if plain["verdict"] not in VERDICTS:
            raise ValueError(Text("no verdict: {!r}", plain["verdict"]))

        def number(key: str) -> float | None:
            return None if plain[key] is None else finite(plain[key])

        lowest, highest = (None if plain["scale"][end] is None else finite(plain["scale"][end]) for end in ENDS)
        scale = Scale(lowest=lowest, highest=highest)

        def points(given: Any) -> float:
            if not scale.holds(score := finite(given)):
                raise ValueError(f"{score:g} is outside of the scale")
            return score

        if not scale.is_a_range:
            raise ValueError(f"a scale from {scale.lowest} to {scale.highest}")
        found = cls(
            subject=Examinee(
                judge=dict(plain["judge"]),
                protocol=str(plain["protocol"]),
                parameters=dict(plain["parameters"]),
                wording=str(plain["wording"]),
                language=str(plain["language"]),
            ),
            form=tuple(map(str, plain["form"])),
            pictures=tuple(map(str, plain["pictures"])),
            scale=dict(plain["scale"]),
            benchmark=dict(plain["benchmark"]),
            verdict=plain["verdict"],
            measures={name: Measure.read(one) for name, one in plain["measures"].items()},
            categories={
                category: {name: Measure.read(one) for name, one in measures.items()}
                for category, measures in plain["categories"].items()
            },
            anchors=tuple(Anchor(**{**one, "score": points(one["score"])}) for one in plain["anchors"]),
            repeated=tuple(
                JudgedTwice(str(one["sample"]), str(one["rung"]), points(one["before"]), points(one["now"]))
                for one in plain.get("repeated", ())
            ),
            name=str(plain["name"]),
            headline=str(plain["headline"]),
            date=str(plain["date"]),
            version=str(plain["version"]),
            tries=tuple(Try(**one) for one in plain["tries"]),
            people=dict(plain.get("people", {})),
            smallest_difference=number("smallest_difference"),
            retest_sd=number("retest_sd"),
        )
        if plain["digest"] != digest({key: one for key, one in plain.items() if key != "digest"}):
            found = replace(found, verdict=EDITED, measures={}, categories={}, tries=())
            return replace(found, retest_sd=None, anchors=(), repeated=())
        return found


def next_seed(subject: Examinee, tries: Sequence[Try]) -> int:
    """Returns the seed of the next audit: a new one after each that has ended, the same while one is unfinished.

    It follows from the subject and the number of its audits, so nothing is gained by deleting a passport and trying
    again: the same scenes come back.
    """
    return int(digest([subject.key, len(tries)])[:8], 16)


def tries_at_its_server(folder: Path, subject: Examinee) -> list[Try]:
    """Returns the tries of all models that its server has had at that address; for any other judge, its own."""
    alike = (one for one in _all(folder) if one.subject.is_but_for_its_server_s_model(subject))
    return [one for passport in alike for one in passport.tries]


def known_tries(folder: Path, subject: Examinee) -> tuple[Try, ...]:
    """Returns the finished audits of the same judge, as listed by its passport in that folder."""
    found = read_file(folder / f"{subject.key}.json")
    return found.tries if found is not None and found.subject.key == subject.key else ()


def ways_of_asking(folder: Path, passport: Passport) -> list[Passport]:
    """Returns the passports of the same judge in that folder, one for each way of asking, this one first."""
    mine = passport.subject
    others = (one for one in _all(folder) if one.subject.key != mine.key and one.verdict != EDITED)
    alike = [other for other in others if other.subject.judge == mine.judge and other.subject.language == mine.language]
    return [one for one in (passport, *alike) if "right_first" in one.measures]


def write(passport: Passport, folder: Path) -> Path:
    """Writes the passport, replacing an earlier one of the same subject; returns its file.

    Raises `ConfigurationError` if the folder cannot be written.
    """
    path = folder / f"{passport.subject.key}.json"
    write_to(passport, path)
    return path


def write_to(passport: Passport, path: Path) -> None:
    """Writes the passport to a file of another name: a run's own copy."""
    text = json.dumps(passport.as_plain(), ensure_ascii=False, indent=1, allow_nan=False)
    try:
        write_durably(text.encode("utf-8"), path)
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
    with suppress(UnfitFile, ValueError, KeyError, TypeError, AttributeError):
        return Passport.of_plain(read_json(path, Unchecked))
    return None


def read(folder: Path, asked: AskedJudge, language: str, says: str = "") -> Passport | None:
    """Reads the passport of a judge as a run asks it (`says`: see `Examinee.of`), or else the newest one of the same
    judge in another language.

    Returns None if it was never examined. `line` says which of these it is.
    """
    subject = Examinee.of(asked, language, says)
    found = read_file(folder / f"{subject.key}.json")
    if found is not None and found.subject.key == subject.key:  # a file may have been renamed
        return found
    alike = [one for one in _all(folder) if one.subject.is_but_for_language(subject)]
    return max(alike, key=lambda one: one.date, default=None)


def _all(folder: Path) -> Iterator[Passport]:
    for path in sorted(folder.glob("*.json")):
        found = read_file(path)
        if found is not None:
            yield found


def line(passport: Passport | None, language: str) -> str:
    """Returns a line for readers about a judge that is asked about instructions in that language.

    `audited 2026-11-21: passed; not audited for Chinese`, or `not audited`.
    """
    if passport is None:
        return "not audited"
    if passport.verdict == EDITED:
        return Text("not audited: its passport was changed by hand")
    said = Text("audited {}: {}", passport.date, passport.verdict)
    if passport.failed:
        said += Text(" ({})", [name.replace("_", " ") for name in passport.failed])
    if passport.basis:
        said += Text("; {}", passport.basis)
    if passport.subject.language != language:
        said += Text("; not audited for {}", _LANGUAGES.get(language, language))
    return said
