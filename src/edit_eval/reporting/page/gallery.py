"""The records as plain data for the page's gallery: samples with their edits and judgements.

Pictures are named by their place in the page's list of thumbnails; the page writes the list itself, one picture at a
time.
"""

from __future__ import annotations

import base64
import io
import os
import re
import stat
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NotRequired, Protocol, TypedDict
from urllib.parse import quote

from PIL import Image

from edit_eval.errors import PictureError
from edit_eval.pictures import CopyLimits, keep, open_picture, small_copy, small_copy_name
from edit_eval.records import NO_EDIT, Edit, Judgement, Reading, Results, Sample, Status
from edit_eval.reporting.entries import entries
from edit_eval.reporting.language import said
from edit_eval.reporting.names import name_of, named_score
from edit_eval.reporting.table import in_each
from edit_eval.statistics.battles import Fought, fought, preferred
from edit_eval.statistics.summary import Summary

_DIGEST = re.compile(r"[0-9a-f]{64}")


class PicturePlace(TypedDict):
    """A picture within the page."""

    thumbnail: int
    """Its place in the page's list."""
    file: str
    """Link to the file itself; empty if it must not be linked."""


class PictureAddress(TypedDict):
    """A picture that a server gives."""

    thumbnail: str
    file: str


class NoPicture(TypedDict):
    """Why there is none."""

    missing: Literal["no_edit", "edit_missing", "source_missing", "other_missing"]


ShownPicture = PicturePlace | PictureAddress | NoPicture


class PictureAddresses(Protocol):
    """Gives each picture in a gallery the place or address of its thumbnail, and a link to its file."""

    def of_sample(self, sample: Sample, name: str = "source") -> PicturePlace | PictureAddress | None: ...
    def of_edit(self, edit: Edit) -> PicturePlace | PictureAddress | None: ...


# -- what the page's scripts read (`templates/samples.js`, `gallery.js`, `detail.js`) --


class ReadingEntry(TypedDict):
    """A reading of a reply."""

    status: Status
    reason: str
    text: str
    asked: int
    values: dict[str, float]
    mass: NotRequired[float | Literal["unknown"]]
    applies: NotRequired[Literal[False]]


class JudgementEntry(TypedDict):
    """A judgement of an edit."""

    judge: str
    repeat: int
    status: Status
    reason: str
    scores: dict[str, float]
    spread: NotRequired[dict[str, float]]
    tokens: NotRequired[list[int]]
    missing: dict[str, list[str]]
    """Status and reason of each score that is not there."""
    readings: list[dict[str, ReadingEntry]]


class CritiqueEntry(TypedDict):
    """A critic's words about an edit, and its headline, which is only used to choose edits."""

    judge: str
    status: Status
    words: str
    score: float | None


class BattleAnswer(TypedDict):
    """An answer in a battle."""

    question: str
    number: int
    """Of the reading, from 0."""
    status: Status
    reason: str
    text: str
    first: str
    """The edit model whose edit was shown first."""
    prefers: str | None


class BattleEntry(TypedDict):
    """A battle's outcome by each score, the headline first, and its answers."""

    judge: str
    repeat: int
    edit_seed: int
    status: Status
    reason: str
    models: list[str]
    outcomes: dict[str, Fought]
    answers: list[BattleAnswer]


class EditEntry(TypedDict):
    """An edit with what was said of it."""

    model: str
    edit_seed: int
    seed: int
    status: Status
    reason: str
    width: int
    height: int
    seconds: float
    device: str
    flags: tuple[str, ...]
    made_in: str
    own_size: NotRequired[list[int]]
    picture: ShownPicture
    instruction: NotRequired[str]
    won: dict[str, list[int]]
    """Battles won and lost, by judge."""
    judgements: list[JudgementEntry]
    critique: NotRequired[CritiqueEntry]


class SampleEntry(TypedDict):
    """A sample with its edits and battles."""

    id: str
    index: int
    category: str
    difficulty: str
    tags: tuple[str, ...]
    instruction: str
    instructions: dict[str, str]
    description: str
    rationale: str
    fault: str
    source: ShownPicture
    others: NotRequired[dict[str, ShownPicture]]
    battles: list[BattleEntry]
    edits: list[EditEntry]


class ScoreEntry(TypedDict):
    """What is needed to show a score, and to sort by it."""

    lowest: float | None
    highest: float | None
    higher_is_better: bool
    digits: int
    title: dict[str, str]


class JudgeEntry(TypedDict):
    """A judge's scores, in order."""

    headline: str
    scores: dict[str, ScoreEntry]


class RefinementEntry(TypedDict):
    """How a column of edits got its instructions."""

    before: str
    judge: str
    round: int


class Gallery(TypedDict):
    """All samples of a run."""

    run: str
    edit_models: list[str]
    refinements: dict[str, RefinementEntry]
    judges: list[str]
    battle_judges: list[str]
    scoring: dict[str, JudgeEntry]
    names: Mapping[str, Mapping[str, Mapping[str, str]]]
    """`{kind: {key: {"en": ..., "zh": ...}}}`."""
    no_edit: list[str]
    samples: list[SampleEntry]


@dataclass
class PageFiles:
    """The files shown on the page, each once (see `PictureAddresses`)."""

    folder: Path
    """The page's folder, absolute. Links into the run directory are relative to it: the two move together."""
    run_directory: Path
    """Absolute. Files elsewhere, such as sources in a cache, are linked by their full path."""
    paths: list[Path] = field(default_factory=list)
    kept: dict[Path, Path] = field(default_factory=dict)
    """For a picture with a known digest, the file that keeps its small copy between drawings."""
    _places: dict[Path, int] = field(default_factory=dict)

    def of_sample(self, sample: Sample, name: str = "source") -> PicturePlace | None:
        """Returns the addresses of one of a sample's pictures, by its name in the records."""
        picture = sample.pictures.get(name)
        return self.add(Path(os.path.abspath(picture.path)), picture.digest) if picture and picture.path else None

    def of_edit(self, edit: Edit) -> PicturePlace | None:
        """Returns the addresses of an edit, or None for a path outside the run directory: a record may say anything."""
        path = os.path.normpath(os.path.join(self.run_directory, edit.image))
        return self.add(Path(path), edit.pixels) if path.startswith(f"{self.run_directory}{os.sep}") else None

    def add(self, path: Path, digest: str = "") -> PicturePlace | None:
        """Returns the place of the picture's thumbnail and a link to its file; None if the file does not exist."""
        if not path.is_file():
            return None
        if path not in self._places:
            self._places[path] = len(self.paths)
            self.paths.append(path)
            if _DIGEST.fullmatch(digest):  # a record may say anything
                self.kept[path] = self.folder / "thumbnails" / small_copy_name(digest)
        return {"thumbnail": self._places[path], "file": self._link(path)}

    def _link(self, path: Path) -> str:
        """Returns the address of the file itself; empty if it must not be linked."""
        if not str(path).startswith(f"{self.run_directory}{os.sep}"):
            return path.as_uri()
        # "./" keeps a name from being taken for a URL scheme.
        return "./" + quote(os.path.relpath(path, self.folder).replace(os.sep, "/"))


def gallery(results: Results, summary: Summary, pictures: PictureAddresses) -> Gallery:
    """Returns the samples with all that is known of them; registers all pictures."""
    edits: dict[str, list[Edit]] = defaultdict(list)
    for edit in results.edits:
        edits[edit.sample_id].append(edit)
    judgements: dict[tuple[str, str, int], list[Judgement]] = defaultdict(list)
    for judgement in results.judgements:
        judgements[(judgement.sample_id, judgement.edit_model, judgement.edit_seed)].append(judgement)
    battles: dict[str, list[Judgement]] = defaultdict(list)
    for battle in results.battles:
        battles[battle.sample_id].append(battle)
    critiques: dict[str, list[Judgement]] = defaultdict(list)
    for critique in (
        critique for critique in results.critiques if not critique.made_in
    ):  # a kept edit has it where it was made
        critiques[critique.sample_id].append(critique)
    return {
        "run": Path(results.directory).name,
        "edit_models": list(results.edit_models),
        "refinements": {
            name: {"before": refinement.before, "judge": refinement.judge, "round": refinement.round}
            for name, refinement in results.refinements.items()
        },
        "judges": list(results.judges),
        "battle_judges": list(results.battle_judges),
        "scoring": _scoring(results, summary),
        "names": _names(results),
        "no_edit": [status.value for status in NO_EDIT],
        "samples": [
            sample_entry(
                sample,
                [(edit, judgements[sample.id, edit.edit_model, edit.edit_seed]) for edit in edits[sample.id]],
                battles[sample.id],
                critiques[sample.id],
                pictures,
            )
            for sample in results.samples
        ],
    }


def sample_entry(
    sample: Sample,
    edits: Iterable[tuple[Edit, Iterable[Judgement]]],
    battles: Iterable[Judgement],
    critiques: Iterable[Judgement],
    pictures: PictureAddresses,
) -> SampleEntry:
    """Returns a sample for the gallery: its edits, each with its judgements and critique, and its battles."""
    fought_out = [_battle(battle) for battle in battles]
    said = {
        (critique.edit_model, critique.edit_seed): _critique(critique) for critique in critiques if not critique.repeat
    }
    others = {
        address_of_picture(name): pictures.of_sample(sample, name) or NoPicture(missing="other_missing")
        for name in sample.pictures
        if name != "source"
    }
    document: SampleEntry = {
        "id": sample.id,
        "index": sample.index,
        "category": sample.category,
        "difficulty": sample.difficulty,
        "tags": sample.tags,
        "instruction": sample.instruction,
        "instructions": dict(sample.instructions) or {sample.language: sample.instruction},
        "description": sample.description,
        "rationale": sample.rationale,
        "fault": sample.fault,
        "source": pictures.of_sample(sample) or {"missing": "source_missing"},
        "battles": fought_out,
        "edits": [
            _edit(edit, fought_out, of_it, said.get((edit.edit_model, edit.edit_seed)), pictures)
            for edit, of_it in edits
        ],
    }
    if others:
        document["others"] = others
    return document


def _scoring(results: Results, summary: Summary) -> dict[str, JudgeEntry]:
    """Returns each judge's headline and, in order, what is needed to show and sort each of its scores."""
    every = [part for parts in (False, True) for part in entries(summary.results, parts=parts)]
    digits = {(part.judge, part.score): part.digits for part in every}
    return {
        judge: {
            "headline": scoring.headline,
            "scores": {
                name: {
                    "lowest": scale.lowest,
                    "highest": scale.highest,
                    "higher_is_better": scale.higher_is_better,
                    "digits": digits[judge, name],
                    "title": in_each(partial(said, named_score(name, scale))),
                }
                for name, scale in scoring.scales.items()
                if (judge, name) in digits
            },
        }
        for judge, scoring in results.scoring.items()
    }


def _names(results: Results) -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    """Returns readable names for keys of the records: `{kind: {key: {"en": ..., "zh": ...}}}`."""
    categories = dict.fromkeys(sample.category for sample in results.samples)
    difficulties = dict.fromkeys(sample.difficulty for sample in results.samples if sample.difficulty)

    def named(kind: str, keys: Iterable[str]) -> dict[str, dict[str, str]]:
        return {key: in_each(partial(said, name_of(kind, key))) for key in keys}

    return {
        "category": named("short_category", categories),
        "category_title": named("category", categories),
        "difficulty": named("difficulty", difficulties),
        "status": named("status", [status.value for status in Status]),
    }


def address_of_picture(name: str) -> str:
    """Returns the name of a sample's picture in an address: `source:2` for `source_2`."""
    return name.replace("_", ":", 1) if name.startswith("source_") else name


def _edit(
    edit: Edit,
    battles: Sequence[BattleEntry],
    judgements: Iterable[Judgement],
    critique: CritiqueEntry | None,
    pictures: PictureAddresses,
) -> EditEntry:
    picture = pictures.of_edit(edit) or NoPicture(missing="edit_missing") if edit.image else None
    document: EditEntry = {
        "model": edit.edit_model,
        "edit_seed": edit.edit_seed,
        "seed": edit.seed,
        "status": edit.status,
        "reason": edit.reason,
        "width": edit.width,
        "height": edit.height,
        "seconds": edit.seconds,
        "device": edit.device,
        "flags": edit.flags,
        "made_in": edit.made_in,
        "picture": picture or {"missing": "no_edit"},
        "won": _won(edit, battles),
        "judgements": list(map(_judgement, judgements)),
    }
    if any(edit.own_size):
        document["own_size"] = list(edit.own_size)
    if edit.instruction:
        document["instruction"] = edit.instruction
    if critique:
        document["critique"] = critique
    return document


def _judgement(judgement: Judgement) -> JudgementEntry:
    document: JudgementEntry = {
        "judge": judgement.judge,
        "repeat": judgement.repeat,
        "status": judgement.status,
        "reason": judgement.reason,
        "scores": dict(judgement.scores),
        "missing": {name: [status.value, reason] for name, (status, reason) in judgement.missing.items()},
        "readings": [
            {question: _reading(answer) for question, answer in reading.items()} for reading in judgement.readings
        ],
    }
    if judgement.spread:
        document["spread"] = dict(judgement.spread)
    if any(judgement.tokens):
        document["tokens"] = list(judgement.tokens)
    return document


def _critique(critique: Judgement) -> CritiqueEntry:
    words = critique.reason if critique.status is Status.OK else ""
    return {
        "judge": critique.judge,
        "status": critique.status,
        "words": words or critique.answer,
        "score": critique.score,
    }


def _battle(battle: Judgement) -> BattleEntry:
    names = [battle.headline, *(name for name in (*battle.scores, *battle.missing) if name != battle.headline)]
    return {
        "judge": battle.judge,
        "repeat": battle.repeat,
        "edit_seed": battle.edit_seed,
        "status": battle.status,
        "reason": battle.reason,
        "models": [battle.edit_model, battle.other],
        "outcomes": {name: fought(battle, name) for name in names},
        "answers": [
            _answer(battle, name, number, answer)
            for number, reading in enumerate(battle.readings)
            for name, answer in reading.items()
        ],
    }


def _won(edit: Edit, battles: Iterable[BattleEntry]) -> dict[str, list[int]]:
    """Counts the battles that the edit won and lost by the headline of each judge that compares."""
    won: dict[str, list[int]] = {}
    for battle in battles:
        if edit.edit_model in battle["models"] and edit.edit_seed == battle["edit_seed"]:
            came = next(iter(battle["outcomes"].values()))
            ours = Fought.SECOND if battle["models"].index(edit.edit_model) else Fought.FIRST
            counts = won.setdefault(battle["judge"], [0, 0])
            if came in (Fought.FIRST, Fought.SECOND):
                counts[came is not ours] += 1
    return won


def _answer(battle: Judgement, question: str, number: int, reading: Reading) -> BattleAnswer:
    first, prefers = preferred(battle, question, reading)
    return {
        "question": question,
        "number": number,
        "status": reading.status,
        "reason": reading.reason,
        "text": reading.text,
        "first": first,
        "prefers": prefers,
    }


def _reading(reading: Reading) -> ReadingEntry:
    document: ReadingEntry = {
        "status": reading.status,
        "reason": reading.reason,
        "text": reading.text,
        "asked": reading.asked,
        "values": dict(reading.values),
    }
    if reading.mass is not None:
        document["mass"] = reading.mass
    if not reading.applies:
        document["applies"] = False
    return document


# -- thumbnails --

NOTHING_KEPT: Mapping[Path, Path] = MappingProxyType({})

_THREADS = 8  # Pillow releases Python's lock; more threads would only hold more pictures in memory
_MUCH_SMALLER = 0.75
"""Share of the wanted side or bytes below which a kept copy was made for a page with more pictures."""


def thumbnail(path: Path, size: CopyLimits, kept: Path | None = None) -> bytes | None:
    """Returns the picture at `path` as a small WebP; None if it cannot be read.

    With `kept`, a copy there that is newer than the picture and large enough is used, or scaled down; otherwise one is
    made and kept there.
    """
    try:
        if kept is None:
            return small_copy(open_picture(path), size)
        with suppress(OSError, ValueError):
            if (data := _taken(path, size, kept)) is not None:
                return data
        data = small_copy(open_picture(path), size)
        with suppress(OSError):  # the report does not need it
            keep(data, kept)
        return data
    except (PictureError, OSError, ValueError):  # one bad picture must not cost the report
        return None


def _taken(path: Path, size: CopyLimits, kept: Path) -> bytes | None:
    """Returns a thumbnail made from the copy at `kept`; None if no copy there will do."""
    file_status = kept.lstat()
    if not stat.S_ISREG(file_status.st_mode) or file_status.st_mtime < path.stat().st_mtime:
        return None
    data = kept.read_bytes()
    with Image.open(io.BytesIO(data), formats=["WEBP"]) as copy:  # reads no pixels
        if max(copy.size) > size.side or len(data) > size.file_bytes:
            return small_copy(copy.convert("RGB"), size)
        if max(copy.size) < _MUCH_SMALLER * size.side and len(data) < _MUCH_SMALLER * size.file_bytes:
            with Image.open(path) as picture:
                if max(copy.size) < max(picture.size):
                    return None
    return data


def thumbnails(
    paths: Sequence[Path], size: CopyLimits, kept: Mapping[Path, Path] = NOTHING_KEPT
) -> Iterator[str | None]:
    """Yields each picture's thumbnail as base64, in order; None if it cannot be read. `kept`: see `thumbnail`.

    Only a few are made ahead, so memory use does not grow with their number.
    """
    threads = min(_THREADS, os.cpu_count() or 1)
    with ThreadPoolExecutor(threads) as pool:
        for made in _ahead(pool, paths, size, kept, 2 * threads):
            yield None if made is None else base64.b64encode(made).decode("ascii")


def _ahead(
    pool: ThreadPoolExecutor, paths: Iterable[Path], size: CopyLimits, kept: Mapping[Path, Path], ahead: int
) -> Iterator[bytes | None]:
    under_way: deque[Future[bytes | None]] = deque()
    for path in paths:
        under_way.append(pool.submit(thumbnail, path, size, *([kept[path]] if path in kept else [])))
        if len(under_way) >= ahead:
            yield under_way.popleft().result()
    while under_way:
        yield under_way.popleft().result()
