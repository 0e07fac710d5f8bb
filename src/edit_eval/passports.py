"""The passport of a judge: what its audit found, in a file for each way in which it is asked.

A judge that is asked otherwise is another judge: other weights or parameters, another wording, form of answer, order of
pictures or language each have a passport of their own. `edit-eval audit` writes them; whoever uses the judge reads
them. The file's schema is in docs/records.md.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from edit_eval.config.identity import digest
from edit_eval.errors import ConfigurationError
from edit_eval.pictures import write_durably
from edit_eval.protocols.asked import AskedJudge
from edit_eval.statistics.audit.measure import Anchor, Measure
from edit_eval.text import Text
from edit_eval.user_cache import cache_folder

SCHEMA = 1
EDITED: Literal["edited"] = "edited"
"""The verdict of a passport that somebody has changed by hand: it says nothing of the judge."""
VERDICTS = ("passed", "limited", "failed", EDITED)
PassportVerdict = Literal["passed", "limited", "failed", "edited"]
_LANGUAGES = {"en": "English", "zh": "Chinese"}
SAYS = "model"
"""Under which a subject's `judge` has what its server says of the model."""
IN_LANGUAGE = ("language", "prompts", "measures")
"""Parameters of a protocol that a passport does not tell apart: language is a field of its own, prompts are in the
wording, and what a judge measures is the judge's."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Who was examined, and how it was asked: what a passport is about."""

    judge: Mapping[str, Any]
    """`type`, `revision` and `parameters`, as in the keys of its replies; of a server the address (`serves`), too, and
    what it says of its model, where it says anything (`model`)."""
    protocol: str
    """Registered name, or the class of the user's own."""
    parameters: Mapping[str, Any]
    """Of the protocol, the language apart: among them form and pictures, where it lets one choose."""
    wording: str
    """SHA-256 of the protocol's texts."""
    language: str
    """Of the instructions: `en` or `zh`."""

    @classmethod
    def of(cls, asked: AskedJudge, language: str, says: str = "") -> Subject:
        """A run's judge, as it is asked about instructions in that language. `says`: what its server said of the model
        that answered (`endpoints.client.described_model`)."""
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
        """SHA-256 over all of it; by it a passport is found."""
        return digest(self.as_plain())

    def is_but_for_its_server_s_model(self, other: Subject) -> bool:
        """Whether it is the same judge as far as it is known before its server was asked."""
        mine, theirs = ({**one.as_plain(), "judge": {**one.judge, SAYS: ""}} for one in (self, other))
        return mine == theirs

    def is_but_for_language(self, other: Subject) -> bool:
        """Whether it is the same judge, asked the same way in another language: of the wording nobody can tell."""
        mine, theirs = (digest([one.judge, one.protocol, one.parameters]) for one in (self, other))
        return mine == theirs and self.language != other.language

    def as_plain(self) -> dict[str, Any]:
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
    """A category."""
    size: int
    """Width in pixels."""
    verdict: str


@dataclass(frozen=True, kw_only=True)
class Passport:
    """What an audit found."""

    subject: Subject
    name: str
    """What the configuration called the judge."""
    form: tuple[str, ...]
    """The forms in which it was to answer (`protocols.contract.Question.form`)."""
    pictures: tuple[str, ...]
    """What it was shown, in this order."""
    headline: str
    """The score that was examined."""
    scale: Mapping[str, Any]
    """Its `lowest`, `highest` and `higher_is_better`."""
    date: str
    """The day on which the audit ended: `2026-11-21`, by UTC."""
    version: str
    """Of edit-eval."""
    benchmark: Mapping[str, Any]
    """The `benchmark:` section that draws the audit's edits again."""
    verdict: PassportVerdict
    measures: Mapping[str, Measure]
    """By name, in the order in which they are shown."""
    categories: Mapping[str, Mapping[str, Measure]]
    """For each category its measures."""
    smallest_difference: float | None
    """The smallest difference between two single scores that is more than the judge's own noise, in points:
    1.96 sqrt(2) times its retest standard deviation; None where nobody could tell."""
    retest_sd: float | None
    """The standard deviation of one edit's scores when it is asked again, in points."""
    anchors: tuple[Anchor, ...]
    tries: tuple[Try, ...] = ()
    """All audits of this judge that ended, this one last."""
    people: Mapping[str, Any] = field(default_factory=dict)
    """What the measures beside people are made of (docs/records.md); empty where there are none."""

    @property
    def failed(self) -> tuple[str, ...]:
        """What it did not pass, by name: `words_en`, or `order (causal)` for a measure of a category; what it prefers
        wrongly comes first."""
        found = [(name, one) for name, one in self.measures.items()]
        for category, measures in self.categories.items():
            found += [(Text("{} ({})", name, category), one) for name, one in measures.items()]
        return tuple(
            name for name, _ in sorted((it for it in found if it[1].passed is False), key=lambda it: not it[1].reversed)
        )

    @property
    def compares(self) -> bool:
        """Whether it was shown two edits at a time."""
        return bool(self.benchmark.get("battles"))

    @property
    def basis(self) -> str:
        """What it rests on: `40 scenes a category, 512 pixels, seed 7`, and how earlier tries ended, if any."""
        if not self.tries:
            return ""
        seed, scenes, size, _ = self.tries[-1]
        said = Text("{} scenes a category, {} pixels, seed {}", scenes, size, seed)
        if earlier := self.tries[:-1]:
            said += Text(", try {} after {}", len(self.tries), (one.verdict for one in earlier))
        return said

    def as_plain(self) -> dict[str, Any]:
        """The file's content: all of it, and a digest by which it is seen that somebody has changed it by hand."""
        content = self._content()
        return {**content, "digest": digest(content)}

    def _content(self) -> dict[str, Any]:
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
            "anchors": [one._asdict() for one in self.anchors],
            "tries": [one._asdict() for one in self.tries],
            "people": dict(self.people),
        }

    @classmethod
    def of_plain(cls, plain: Mapping[str, Any]) -> Passport:
        """What `as_plain` has written. Raises `KeyError`, `TypeError`, `ValueError` or `AttributeError` for anything
        else."""
        if plain["schema"] != SCHEMA:
            raise ValueError(f"schema {plain['schema']!r}")
        if plain["verdict"] not in VERDICTS:
            raise ValueError(Text("no verdict: {!r}", plain["verdict"]))

        def number(key: str) -> float | None:
            return None if plain[key] is None else float(plain[key])

        found = cls(
            subject=Subject(
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
            anchors=tuple(Anchor(**{**one, "score": float(one["score"])}) for one in plain["anchors"]),
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
            return replace(found, verdict=EDITED, measures={}, categories={}, tries=(), anchors=(), retest_sd=None)
        return found


def next_seed(subject: Subject, tries: Sequence[Try]) -> int:
    """The seed of the next audit: another one after each that has ended, and the same while one goes on.

    It follows from who is examined and how often that was done, so nothing is gained by deleting a passport and trying
    again: the same scenes come back.
    """
    return int(digest([subject.key, len(tries)])[:8], 16)


def tries_at_its_server(folder: Path, subject: Subject) -> list[Try]:
    """The same of all models that its server has had at that address; of any other judge, its own."""
    alike = (one for one in _all(folder) if one.subject.is_but_for_its_server_s_model(subject))
    return [one for passport in alike for one in passport.tries]


def known_tries(folder: Path, subject: Subject) -> tuple[Try, ...]:
    """The audits of the same judge that have ended, as its passport in that folder lists them."""
    found = read_file(folder / f"{subject.key}.json")
    return found.tries if found is not None and found.subject.key == subject.key else ()


def ways_of_asking(folder: Path, passport: Passport) -> list[Passport]:
    """The passports of the same judge in that folder, this one first: it was asked in as many ways."""
    mine = passport.subject
    others = (one for one in _all(folder) if one.subject.key != mine.key and one.verdict != EDITED)
    alike = [one for one in others if one.subject.judge == mine.judge and one.subject.language == mine.language]
    return [one for one in (passport, *alike) if "right_first" in one.measures]


def passport_folder() -> Path:
    """Where passports lie where nobody says otherwise: `passports` in the user's cache."""
    return cache_folder() / "passports"


def write(passport: Passport, folder: Path) -> Path:
    """Writes the passport, in the place of an earlier one of the same subject; returns its file.

    Raises `ConfigurationError` where the folder cannot be written.
    """
    path = folder / f"{passport.subject.key}.json"
    write_to(passport, path)
    return path


def write_to(passport: Passport, path: Path) -> None:
    """The same into a file of another name: a run's own copy."""
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


MOST_BYTES = 64 << 20
"""Of a passport."""


def read_file(path: Path) -> Passport | None:
    """The passport in a file; None where there is none that this version can read."""
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Passport.of_plain(json.loads(_text_of(path)))
    return None


def _text_of(path: Path) -> str:
    """The text of a plain file: a pipe would block, and a device never end."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(Text("{} is not a file", path))
        return file.read(MOST_BYTES).decode("utf-8")


def read(folder: Path, asked: AskedJudge, language: str, says: str = "") -> Passport | None:
    """The passport of a judge as a run asks it (`says`: as for `Subject.of`); failing that, the newest of the same
    judge in another language.

    None where it was never examined. `line` says which of these it is.
    """
    subject = Subject.of(asked, language, says)
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
    """What a reader is told of a judge that is asked about instructions in that language.

    `examined 2026-11-21: passed; unexamined for Chinese`, or `unexamined`.
    """
    if passport is None:
        return "unexamined"
    if passport.verdict == EDITED:
        return Text("unexamined: its passport was changed by hand")
    said = Text("examined {}: {}", passport.date, passport.verdict)
    if passport.failed:
        said += Text(" ({})", [name.replace("_", " ") for name in passport.failed])
    if passport.basis:
        said += Text("; {}", passport.basis)
    if passport.subject.language != language:
        said += Text("; unexamined for {}", _LANGUAGES.get(language, language))
    return said
