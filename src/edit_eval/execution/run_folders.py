"""Which folder a run takes when none is named, and what a folder was a run of before.

Two runs are the same evaluation when every key would be the same: models with their parameters, rubrics, samples, and
what is asked how often. Devices, schedule and progress may differ.
"""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from edit_eval.config.schema import Language
from edit_eval.errors import RunDirectoryError
from edit_eval.records import Sample, Status
from edit_eval.rubrics.loading import Rubric
from edit_eval.store.journal import Damage, segments
from edit_eval.store.keys import Identity
from edit_eval.store.matrix import Matrix
from edit_eval.store.run_directory import RunDirectory

RUNS = Path("runs")
"""Where runs lie that are not told where to."""
DESCRIBED_BEFORE = 3
"""Differences that a note names one by one."""
LOOKED_AT = 20
"""Earlier runs of a configuration that are asked what they have, the newest first."""


@dataclass(frozen=True)
class Made:
    """What a run is made of, as far as its keys are."""

    edit_models: tuple[Identity, ...]
    judges: tuple[Identity, ...]
    rubrics: dict[str, Rubric]
    evaluation: dict[str, Any]
    language: Language
    samples: tuple[Sample, ...] = field(default=(), compare=False)
    """As they were given, sources included; `is_as` compares them, `==` does not."""

    @classmethod
    def of(cls, plain: Mapping[str, Any], resolved: Mapping[str, Any], samples: tuple[Sample, ...]) -> Made:
        """Of a resolved configuration (`plain`, as in the YAML) and what it came to.

        Raises `KeyError`, `TypeError` or `ValueError` for what no start has written like this.
        """
        often = {key: plain["evaluation"][key] for key in ("edit_seeds", "repeats")}
        asked = {"answer": plain["protocol"]["answer"], **often}
        what = {**resolved, "evaluation": asked, "language": plain["benchmark"]["language"]}
        return replace(msgspec.convert(json.loads(json.dumps(what)), cls), samples=samples)

    @classmethod
    def recorded(cls, directory: RunDirectory) -> Made | None:
        """What the last start in a run directory was made of; None where none is recorded.

        Raises `RunDirectoryError` where it cannot be read.
        """
        try:
            plain = directory.configuration()
            return cls.of(plain, directory.resolved(), directory.samples()) if plain else None
        except (OSError, KeyError, TypeError, ValueError) as error:
            problem = " ".join(f"{type(error).__name__}: {error}".split())
            raise RunDirectoryError(
                f"{directory.path / 'config'} is damaged ({problem}); `edit-eval run CONFIG` writes it anew"
            ) from error

    def is_as(self, other: Made | None) -> bool:
        """Whether it is the same evaluation."""
        return self == other and other is not None and _same_samples(self.samples, other.samples)


def _same_samples(before: Sequence[Sample], now: Sequence[Sample]) -> bool:
    """Where a source lies is no matter: its digest says which it is."""
    pairs = zip(before, now, strict=False)
    return len(before) == len(now) and all(old == replace(new, source=old.source) for old, new in pairs)


@dataclass(frozen=True)
class Recalled:
    """What the journals of a run said when its folder was chosen."""

    matrix: Matrix
    notes: list[str]
    damage: Damage
    files: Mapping[Path, int]
    """The journals' files, with their sizes in bytes."""


@dataclass(frozen=True)
class Place:
    """The folder of a run, and how it came to be that one."""

    folder: Path
    found: bool = False
    """Whether nobody named it, and the same evaluation is in it."""
    sources: tuple[Path, ...] = ()
    """Earlier runs that have edits which this one wants."""
    recalled: Recalled | None = None
    """What is in it, where it was read already."""
    new_for: str = ""
    """The configuration for which the folder was thought of; another one is taken where somebody was faster."""

    def begin(self) -> RunDirectory:
        """Makes the folder this process's own. Raises `RunDirectoryError` while another process works in it."""
        directory = RunDirectory(_made_now(self.folder, self.new_for) if self.new_for else self.folder)
        try:
            directory.begin()
        except RunDirectoryError as error:
            if self.found:
                error.add_note("it is the newest run of this evaluation; `--run-dir NEW` begins another one")
            raise
        return directory

    def recall(
        self, directory: RunDirectory, matrix: Matrix, retry: Callable[[Status], bool], *, verify: bool = False
    ) -> tuple[Matrix, list[str]]:
        """The matrix with what the folder's journals say, and notes on that (see `Matrix.recall`).

        They are not read again where that was done to choose the folder, and nobody has written to them since.
        """
        known = self.recalled
        if known is None or verify or known.files != _journals(directory.path):
            notes = matrix.recall(
                directory.read("edits"), directory.read("judgements"), directory.path, retry, verify=verify
            )
            return matrix, notes
        directory.damage = known.damage
        return known.matrix, known.notes

    def notes(self, directory: RunDirectory, now: Made) -> list[str]:
        """What whoever starts the run should know of the folder: where it is, what it was, what it could reuse."""
        end = ""
        if self.found:
            end = " (same evaluation as before; `--run-dir NEW` starts from scratch)"
        taken = ""
        if self.sources:
            runs = ", ".join(map(str, self.sources))
            taken = f"reusing matching results from earlier runs ({runs}); `--run-dir NEW` starts from scratch"
        said = (f"run directory: {directory.path}{end}", was_another(directory, now), taken)
        return [note for note in said if note]


def choose_place(name: str, now: Made, new_matrix: Callable[[], Matrix], retry: Callable[[Status], bool]) -> Place:
    """Where a run goes that was not told where to: what was made once is not made again.

    The newest run of that configuration that is the same evaluation is taken, finished or not. Otherwise a new folder
    is named, with the earlier runs that have edits which it wants. Nothing is written.
    """
    earlier = runs_of(name)[:LOOKED_AT]
    for folder in earlier:
        before = None
        with contextlib.suppress(RunDirectoryError):  # a damaged one is left alone
            before = Made.recorded(RunDirectory.existing(folder))
        if now.is_as(before):
            return Place(folder, found=True, recalled=_recall(folder, new_matrix(), retry))
    return Place(new_folder(name), sources=_sources(earlier, new_matrix()), new_for=name)


def named_place(folder: Path, new_matrix: Callable[[], Matrix], retry: Callable[[Status], bool]) -> Place:
    """The folder that somebody named, and what is in it already."""
    try:
        return Place(folder, recalled=_recall(folder, new_matrix(), retry))
    except (OSError, RunDirectoryError):  # whoever begins the run says why
        return Place(folder)


def _recall(folder: Path, matrix: Matrix, retry: Callable[[Status], bool]) -> Recalled:
    directory, files = RunDirectory.existing(folder), _journals(folder)
    notes = matrix.recall(directory.read("edits"), directory.read("judgements"), folder, retry)
    return Recalled(matrix, notes, directory.damage, files)


def _journals(folder: Path) -> dict[Path, int]:
    return {file: file.stat().st_size for name in ("edits", "judgements") for file in segments(folder / name)}


def runs_of(name: str) -> list[Path]:
    """Every `runs/<name>-<date>-<time>` in which a run has begun, the newest first."""
    pattern = re.compile(re.escape(_stem(name)) + r"-(\d{8}-\d{6})(?:-(\d+))?")
    found = []
    for path in RUNS.glob("*"):
        match = pattern.fullmatch(path.name)
        if match and any((path / "config").glob("[0-9]*.yaml")):
            found.append((match[1], int(match[2] or 1), path))
    return [path for _, _, path in sorted(found, reverse=True)]


def new_folder(name: str) -> Path:
    """A folder that does not exist yet: `runs/<name>-<date>-<time>`."""
    stem = f"{_stem(name)}{time.strftime('-%Y%m%d-%H%M%S')}"
    folder, count = RUNS / stem, 1
    while folder.exists():
        count += 1
        folder = RUNS / f"{stem}-{count}"
    return folder


def _made_now(folder: Path, name: str) -> Path:
    """Makes the folder, or the next one: the jobs of an array begin in the same second."""
    for _ in range(1000):
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            folder = new_folder(name)
        except OSError:
            break  # whoever begins the run says why
        else:
            break
    return folder


def _stem(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name)


def _sources(runs: Sequence[Path], matrix: Matrix) -> tuple[Path, ...]:
    """The runs that have edits which are wanted; of several with the same ones, the newest."""
    wanted = {edit.key for edit in matrix.edits if edit.status is Status.PENDING}
    sources = []
    for run in runs:
        try:
            recorded = RunDirectory.existing(run).read("edits")
            there = {r["key"] for r in recorded if r["status"] == Status.OK.value} & wanted
        except (OSError, RunDirectoryError):  # somebody else's, or damaged: no reason not to begin
            continue
        if there:
            sources.append(run)
            wanted -= there
    return tuple(sources)


def was_another(directory: RunDirectory, now: Made) -> str:
    """One line for whoever makes another evaluation of a run directory; empty where it is the same, or new."""
    try:
        before = Made.recorded(RunDirectory(directory.path))  # whoever reads it for good counts the damage
    except RunDirectoryError as error:
        return f"what this run directory was until now is not known: {error}"
    if before is None or now.is_as(before):
        return ""
    found = _differences(before, now)
    more = f" and {len(found) - DESCRIBED_BEFORE} more" if len(found) > DESCRIBED_BEFORE else ""
    said = "; ".join(found[:DESCRIBED_BEFORE]) or "other samples"
    return (
        f"until now this run directory was another evaluation ({said}{more}); results that no longer belong to it stay "
        "in the records and are not shown"
    )


def _differences(before: Made, now: Made) -> list[str]:
    """`edit model qwen_image_edit: num_inference_steps 50 -> 15`, one entry a thing."""
    found = []
    for role, were, are in (
        ("edit model", before.edit_models, now.edit_models),
        ("judge", before.judges, now.judges),
    ):
        old, new = ({model.name: model for model in models} for models in (were, are))
        if old.keys() != new.keys():
            found.append(f"{role} {', '.join(old)} -> {', '.join(new)}")
        for name in old.keys() & new.keys():
            found += [f"{role} {name}: {change}" for change in _of_model(old[name], new[name])]
    if changed := [name for name in now.rubrics if before.rubrics.get(name) != now.rubrics[name]]:
        found.append(f"the rubrics of {', '.join(changed)}")
    found += [_change(key, before.evaluation[key], now.evaluation[key]) for key in _unequal(before, now)]
    if before.language != now.language:
        found.append(_change("language", before.language, now.language))
    elif len(before.samples) != len(now.samples):
        found.append(_change("samples", len(before.samples), len(now.samples)))
    elif not _same_samples(before.samples, now.samples):
        found.append("other samples")
    return found


def _unequal(before: Made, now: Made) -> list[str]:
    return [key for key in now.evaluation if before.evaluation[key] != now.evaluation[key]]


def _of_model(old: Identity, new: Identity) -> list[str]:
    found = []
    if old.type != new.type:
        found.append(_change("type", old.type, new.type))
    elif old.revision != new.revision:
        found.append("its weights or its code have changed")
    if old.seed != new.seed:
        found.append(_change("seed", old.seed, new.seed))
    for key in dict.fromkeys((*old.parameters, *new.parameters)):
        values = old.parameters.get(key), new.parameters.get(key)
        if values[0] != values[1]:
            found.append(_change(key, *values))
    return found


def _change(what: str, old: object, new: object) -> str:
    def shown(value: object) -> str:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return text if len(text) <= 40 else f"{text[:37]}..."

    return f"{what} {shown(old)} -> {shown(new)}"
