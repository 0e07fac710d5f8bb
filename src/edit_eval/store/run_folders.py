"""Choosing a run's folder: which earlier run to continue, and which results to copy from other runs.

Two runs are the same evaluation if all their keys are equal: the same models and parameters, rubrics, samples, seeds
and repeats. Devices, schedule and progress may differ.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from edit_eval.changes import list_changes
from edit_eval.config.faults import did_you_mean
from edit_eval.errors import ConfigurationError, RunDirectoryError, RunInterrupted, Stopped
from edit_eval.experiment import Experiment
from edit_eval.files.durable import write_durably
from edit_eval.files.user_cache import cache_folder
from edit_eval.protocols.derived import DerivedScores
from edit_eval.records import NO_FILE, Edit, Ending, Status
from edit_eval.store.answers import Lookup
from edit_eval.store.derived import read_derived
from edit_eval.store.journal import Damage, Record, segments
from edit_eval.store.matrix import Matrix
from edit_eval.store.recall import ReplyLine, edit_record, is_there, load_run_journals, refuse_to_resume, where_of
from edit_eval.store.run_directory import RunDirectory, Shard, image_name, refuse_copy, what_mends
from edit_eval.text import Text, join_texts, pluralize

RUNS = Path("runs")
"""Parent folder of runs started without a run directory."""
DESCRIBED_BEFORE = 3
"""Differences that a note lists before it says "and N more"."""
LOOKED_AT = 20
"""Earlier runs of a configuration that are searched, newest first."""
CarryVotes = Callable[[Path, Path, Sequence[Edit]], int]
"""Copies people's votes on these edits from one run to another; returns how many were new (`votes.carry_votes`)."""


def failure_statuses(names: Collection[str]) -> frozenset[Status]:
    """Returns the statuses to be tried again. Raises `ConfigurationError` for a name that is no failure's."""
    known = {s.value: s for s in Status if s.ending not in (Ending.NONE, Ending.NO_FILE)}
    for name in names:
        if name in NO_FILE:
            raise ConfigurationError(
                Text("--retry {}: a finished edit needs its file: put it into its folder, then run again", name)
            )
        if name not in known:
            meant = did_you_mean(name, known) or Text("; there are: {}", known)
            raise ConfigurationError(Text("--retry {}: no failure has that status{}", name, meant))
    return frozenset(known[name] for name in names)


def read_experiment(directory: RunDirectory) -> Experiment | None:
    """Reads the experiment of the last start in a run directory; None if none is recorded.

    Raises `RunDirectoryError` if it cannot be read.
    """
    try:
        if not (plain := directory.read_resolved_configuration()):
            return None
        _refuse_an_arena(plain, directory.path)
        derived = cache(lambda: read_derived(directory.path, directory.damage))
        return Experiment.from_record(
            plain, directory.samples(), lambda judge: derived().get(judge) or DerivedScores.unknown(judge)
        )
    except ConfigurationError as error:
        raise RunDirectoryError(Text("{}: its replies cannot be read here: {}", directory.path, error)) from error
    except RunDirectoryError:
        raise
    except Exception as error:  # recorded parameters and texts may be anything
        raise damage_error(directory, error) from error


def _refuse_an_arena(plain: Mapping[str, Any], run: Path) -> None:
    """Raises `RunDirectoryError` for a run some of whose columns and battles are another run's."""
    if plain.get("stored"):
        raise RunDirectoryError(
            Text(
                "{}: edit models joined an earlier run here (`pairs: {{stored: RUN}}`), which edit-eval no "
                "longer reads; name all edit models in one configuration, and run it with `--reuse RUN --reuse {}`",
                run,
                run,
            )
        )


def damage_error(directory: RunDirectory, error: Exception) -> RunDirectoryError:
    """Returns the error for a run whose recorded configuration no start can have written."""
    problem = " ".join([f"{type(error).__name__}:", *str(error).split()])
    return RunDirectoryError(
        Text("{} is damaged ({}); {}", directory.path / "config", problem, what_mends(directory.path))
    )


@dataclass(frozen=True)
class LoadedJournals:
    """The journals of a run, as read when its folder was chosen."""

    matrix: Matrix
    notes: list[str]
    damage: Damage
    files: Mapping[Path, int]
    """Sizes of the journal files, in bytes."""


@dataclass(frozen=True)
class Place:
    """The folder of a run, and how it was chosen."""

    folder: Path
    found: bool = False
    """True if an earlier run of the same evaluation was found there, rather than the folder being named."""
    others: tuple[RunDirectory, ...] = ()
    """Runs to reuse results from: those named by the user, then the `sources`."""
    sources: tuple[Path, ...] = ()
    """Earlier runs with edits or answers that this one needs."""
    elsewhere: Mapping[Path, Offer] = field(default_factory=dict)
    """For a named folder: what earlier runs have, which is reported but not reused."""
    recalled: LoadedJournals | None = None
    """The folder's journals, if they were read to choose it."""
    new_for: str = ""
    """The configuration a new folder is named after; if another process makes it first, the next free name is used."""

    def begin(self, shard: Shard | None = None) -> RunDirectory:
        """Locks the folder, or one `shard` of it, for this process.

        Raises `RunDirectoryError` if another process is working in it.
        """
        directory = RunDirectory(_make_folder(self.folder, self.new_for) if self.new_for else self.folder)
        try:
            directory.begin(shard)
        except RunDirectoryError as error:
            if self.found:
                error.add_note(Text("it is the newest run of this evaluation; `--run-dir NEW` starts a new one"))
            raise
        return directory

    @contextlib.contextmanager
    def hold_folder(self, shard: Shard | None = None) -> Iterator[RunDirectory]:
        """Holds the folder for the length of the run.

        Adds the folder to a `Stopped`, and turns Ctrl-C into `RunInterrupted`.
        """
        directory = self.begin(shard)
        remember_run(directory.path)
        try:
            yield directory
        except Stopped as stopped:
            stopped.run_dir = directory.path
            raise
        except KeyboardInterrupt as interruption:
            raise RunInterrupted(directory.path, int(getattr(interruption, "signal", 2))) from None
        finally:
            directory.end()

    def load_matrix(
        self,
        directory: RunDirectory,
        now: Experiment,
        retry: Collection[Status],
        carry_votes: CarryVotes,
        *,
        verify: bool = False,
    ) -> tuple[Matrix, list[str]]:
        """Returns the matrix filled from the folder's journals and from other runs, with notes for the user.

        Journals read while choosing the folder are not read again, unless they have changed since.
        """
        known = self.recalled
        if known is None or verify or known.files != _journals(directory.path):
            matrix = Matrix(now)
            notes = load_run_journals(matrix, directory, retry.__contains__, verify=verify)
        else:
            directory.damage = known.damage
            matrix, notes = known.matrix, known.notes
        taken = [reuse(other, directory, matrix, carry_votes) for other in self.others]
        refuse_to_resume(matrix, directory.path)
        return matrix, [*notes, *taken, directory.damage.note]

    def preview_matrix(self, now: Experiment, retry: Collection[Status]) -> Matrix:
        """Returns the matrix as the run will find it, without writing anything."""
        if not self.others and self.recalled:
            return self.recalled.matrix
        matrix = Matrix(now)
        for other in self.others:
            load_run_journals(matrix, other, lambda status: True)
        if self.others and self.recalled:
            load_run_journals(matrix, RunDirectory(self.folder), retry.__contains__)
        return matrix

    def notes(self, directory: RunDirectory, now: Experiment) -> list[str]:
        """Returns notes on the folder for the user: its path, its previous evaluation, runs it could reuse."""
        end = ""
        if self.found:
            end = Text(" (same evaluation as before; `--run-dir NEW` starts from scratch)")
        taken = ""
        if self.sources:
            runs = ", ".join(map(str, self.sources))
            taken = Text("reusing matching results from earlier runs ({}); `--run-dir NEW` starts from scratch", runs)
        there = [
            Text(
                "{} already has {}; `--reuse {}` takes what is equal instead of making and asking it again",
                run,
                offer.words,
                run,
            )
            for run, offer in self.elsewhere.items()
        ]
        said = (
            Text("run directory: {}{}", directory.path, end),
            previous_evaluation_note(directory, now),
            taken,
            *there,
        )
        return [note for note in said if note]


def choose_run_folder(
    named: str | Path | None,
    name: str,
    now: Experiment,
    retry: Collection[Status],
    reuse_from: Sequence[str | Path] = (),
) -> Place:
    """Chooses a run's folder: the one named, or one that avoids repeating finished work.

    The latter is the newest run of the configuration `name` with the same evaluation, finished or not; failing that, a
    new folder that reuses edits of earlier runs. For a named folder, such runs are only reported, and not even that if
    `reuse_from` is given. Results whose status is in `retry` count as not done. Writes nothing. Raises
    `RunDirectoryError` if an entry of `reuse_from` is not a run directory.
    """
    others = tuple(RunDirectory.open_existing(Path(folder)) for folder in reuse_from)
    for other in others:
        refuse_copy(other.path)
    if named is not None:
        folder = Path(named)
        recalled = None
        with contextlib.suppress(OSError, RunDirectoryError):  # `begin` reports the reason
            recalled = _load_folder(folder, Matrix(now), retry)
        elsewhere: Mapping[Path, Offer] = {}
        if not others:
            earlier = [run for run in runs_of(name)[:LOOKED_AT] if run.resolve() != folder.resolve()]
            elsewhere = _sources(earlier, recalled.matrix if recalled else Matrix(now))
        return Place(folder, others=others, recalled=recalled, elsewhere=elsewhere)
    earlier = runs_of(name)[:LOOKED_AT]
    for folder in earlier:
        before = None
        with contextlib.suppress(RunDirectoryError):  # a damaged one is left alone
            before = read_experiment(RunDirectory.open_existing(folder))
        if now.is_same_evaluation(before):
            return Place(folder, others=others, found=True, recalled=_load_folder(folder, Matrix(now), retry))
    sources = tuple(_sources(earlier, Matrix(now)))
    others += tuple(map(RunDirectory.open_existing, sources))
    return Place(new_folder(name), others=others, sources=sources, new_for=name)


def refuse_an_unfit_python() -> None:
    """Raises `ConfigurationError` if this Python cannot write every file name, or drops docstrings."""
    if sys.flags.optimize > 1:
        raise ConfigurationError(
            Text("this Python leaves out docstrings, which the charts need: unset PYTHONOPTIMIZE, or leave out -OO")
        )
    if sys.getfilesystemencoding() != "utf-8":
        raise ConfigurationError(
            Text(
                "this Python writes file names in {}, but sample ids may be any text; start it with PYTHONUTF8=1",
                sys.getfilesystemencoding(),
            )
        )


def _load_folder(folder: Path, matrix: Matrix, retry: Collection[Status]) -> LoadedJournals:
    directory, files = RunDirectory.open_existing(folder), _journals(folder)
    notes = load_run_journals(matrix, directory, retry.__contains__)
    return LoadedJournals(matrix, notes, directory.damage, files)


def _journals(folder: Path) -> dict[Path, int]:
    return {file: file.stat().st_size for name in ("edits", "replies") for file in segments(folder / name)}


def runs_of(name: str) -> list[Path]:
    """Returns every `runs/<name>-<date>-<time>` in which a run has begun, newest first."""
    pattern = re.compile(re.escape(_stem(name)) + r"-(\d{8}-\d{6})(?:-(\d+))?")
    runs = []
    for path in RUNS.glob("*"):
        match = pattern.fullmatch(path.name)
        if match and any((path / "config").glob("[0-9]*.yaml")):
            runs.append((match[1], int(match[2] or 1), path))
    return [path for _, _, path in sorted(runs, reverse=True)]


def new_folder(name: str) -> Path:
    """Returns a path that does not exist yet: `runs/<name>-<date>-<time>`."""
    stem = f"{_stem(name)}{time.strftime('-%Y%m%d-%H%M%S')}"
    folder, count = RUNS / stem, 1
    while folder.exists():
        count += 1
        folder = RUNS / f"{stem}-{count}"
    return folder


def _make_folder(folder: Path, name: str) -> Path:
    """Makes the folder, or the next free one: jobs of an array start in the same second."""
    for _ in range(1000):
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            folder = new_folder(name)
        except OSError:
            break  # `begin` reports the reason
        else:
            break
    return folder


def _stem(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name)


_EDIT, _REPLY = ("edit_model", "sample_id", "edit_seed"), ("edit_model", "sample", "edit_seed")
"""What an edit's record calls its address, and a reply's record."""


class Offer(NamedTuple):
    """What an earlier run has that this one needs."""

    edits: int
    answers: int
    """Of the same judges, about pictures that are there or among these edits; where edits are finished ones that nobody
    has looked at yet, also about others."""

    @property
    def words(self) -> str:
        """What it is, for people."""
        answers = pluralize(self.answers, "answer")
        edits = Text("{} of these edits", self.edits)
        return Text("{} and {}", edits, answers) if self.edits and self.answers else edits if self.edits else answers


def _sources(runs: Sequence[Path], matrix: Matrix) -> dict[Path, Offer]:
    """Counts what each run has that is pending; an edit or answer found in several runs counts for the newest."""
    wanted = {edit.key for edit in matrix.edits if edit.status is Status.PENDING}
    cells = matrix.cells
    asked = {matrix.key(n) for n in range(len(cells)) if matrix.can_be_asked(n) and not matrix.replies(n)}
    sources, counted = {}, set[str]()
    for run in runs if wanted or asked else ():
        try:
            refuse_copy(run)
            directory = RunDirectory.open_existing(run)
            made = [r for r in directory.read("edits") if r["status"] == Status.OK.value and r["key"] in wanted]
            there, about = {r["key"] for r in made}, {tuple(map(r.get, _EDIT)) for r in made}
            replies = (r for r in directory.read("replies") if r.get("status") == Status.OK.value)
            said = {r["key"]: (r["judge"], tuple(map(r.get, _REPLY))) for r in replies}
            alike = _same_judges(directory, matrix) if wanted and (there or matrix.experiment.finished) else ()
        except (OSError, RunDirectoryError):  # unreadable or damaged: no reason not to begin
            continue
        answers = {
            key
            for key, (judge, of) in said.items()
            if key in asked or (judge in alike and (matrix.experiment.finished or of in about))
        } - counted
        counted |= answers
        if there or answers:
            sources[run] = Offer(len(there), len(answers))
            wanted -= there
            asked -= answers
    return sources


def _same_judges(directory: RunDirectory, matrix: Matrix) -> set[str]:
    """Returns the judges of a run that are judges of this evaluation, by their names there."""
    ours, theirs = {judge.model.digest for judge in matrix.judges}, read_experiment(directory)
    return {judge.name for judge in theirs.judges if judge.model.digest in ours} if theirs else set()


def previous_evaluation_note(directory: RunDirectory, now: Experiment) -> str:
    """Returns a note if the run directory held another evaluation; empty if it held this one, or is new."""
    try:
        before = read_experiment(RunDirectory(directory.path))  # a new object: damage is counted by the caller's
    except RunDirectoryError as error:
        return Text("what this run directory held until now is unknown: {}", error)
    if before is None or now.is_same_evaluation(before):
        return ""
    differences = list_changes(before, now)
    more = Text(" and {} more", len(differences) - DESCRIBED_BEFORE) if len(differences) > DESCRIBED_BEFORE else ""
    said = join_texts(differences[:DESCRIBED_BEFORE]) if differences else Text("other samples")
    return Text(
        "until now this run directory held another evaluation ({}{}); results that no longer belong "
        "stay in the records and are not shown",
        said,
        more,
    )


def reuse(source: RunDirectory, directory: RunDirectory, matrix: Matrix, carry_votes: CarryVotes) -> str:
    """Copies successful edits and replies with equal keys from `source` into this run.

    People's votes on these edits come with them. Returns a one-line count.
    Pictures are hard-linked if the file system allows it, otherwise copied.
    """
    edits = {edit.key: edit for edit in source.read("edits").decode_lines(Edit)}
    taken = 0
    for number, mine in enumerate(matrix.edits):
        theirs = edits.get(mine.key)
        if mine.status is not Status.PENDING or theirs is None or theirs.status is not Status.OK:
            continue
        if not is_there(theirs, source.path):
            continue
        image = image_name(mine.edit_model, mine.sample_id, mine.key)
        directory.take_picture(source.path / theirs.image, directory.path / image)
        edit = replace(
            theirs, sample_id=mine.sample_id, edit_model=mine.edit_model, edit_seed=mine.edit_seed, image=image
        )
        directory.append("edits", {**edit_record(edit), "reused_from": str(source.path)})
        matrix.set_edit(number, edit)
        taken += 1
    judged, waiting = _reuse_replies(source, directory, matrix)
    matrix.critiques.apply_critiques()
    directory.sync()
    counts = [pluralize(taken, "edit"), pluralize(judged, "judgement")]
    if votes := carry_votes(source.path, directory.path, matrix.edits):
        counts.append(pluralize(votes, "vote"))
    taken_over = Text("{}: {: and } are reused", source.path, counts)
    if waiting:
        return Text("{}; and of {}, each as soon as an edit has its pixels", taken_over, pluralize(waiting, "answer"))
    return taken_over


def _reuse_replies(source: RunDirectory, directory: RunDirectory, matrix: Matrix) -> tuple[int, int]:
    """Takes replies about pictures that are there. Where finished edits are still to be read, takes also those about
    others: a judge's reply counts as soon as an edit has the pixels that it is about.

    Returns how many judgements are there now, and how many answers wait.
    """
    given: dict[str, list[Record]] = {}
    for record in source.read("replies"):
        try:
            line = msgspec.convert(record, ReplyLine)
        except msgspec.ValidationError:  # not a reply of ours
            continue
        given.setdefault(line.key, [])[line.ask :] = [record]  # as `Answers.record_reply`
    before = matrix.pending

    def take(lookup: Lookup, records: Sequence[Record], where: Record) -> None:
        for ask, record in enumerate(records):
            directory.append("replies", {**record, **where, "ask": ask, "reused_from": str(source.path)})
            matrix.record_reply(lookup, ask, msgspec.convert(record, ReplyLine).reply)

    for cell in range(len(matrix.cells)):
        if not matrix.can_be_asked(cell) or matrix.replies(cell) or not (records := given.get(matrix.key(cell))):
            continue
        if matrix.read(cell, [msgspec.convert(record, ReplyLine).reply for record in records]).status is Status.OK:
            take(matrix.lookup(cell), records, where_of(matrix.address(cell)))
    taken, waiting = before - matrix.pending, 0
    if matrix.experiment.finished and any(edit.status is Status.PENDING for edit in matrix.edits):
        judges = _same_judges(source, matrix)
        for key, records in given.items():
            last = records[-1]
            if not matrix.answers.replies_of(key) and last["judge"] in judges and last.get("status") == Status.OK.value:
                take(key, records, {})
                waiting += 1
    matrix.unfold_more()
    return taken, waiting


# -- registry of all runs this user has made, so that `gc` keeps what they need --
#
# <cache>/runs/3f0c...e1     the path of a run directory, its mount point, and the id of its file system
#
# A missing run may be on a disk that is not mounted at the moment. It counts as deleted only if its disk is mounted
# and the run is not on it.


@dataclass(frozen=True)
class RegisteredRun:
    """A run directory made by this user."""

    path: Path
    mount: str
    """Mount point of its disk when the run was made."""
    disk: int
    """The file system's id."""

    @property
    def is_gone(self) -> bool:
        """True if its disk is mounted and the run is no longer there."""
        try:
            os.lstat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            with contextlib.suppress(OSError):
                return os.path.ismount(self.mount) and os.statvfs(self.mount).f_fsid == self.disk
        except OSError:
            pass  # not readable: this proves nothing
        return False


def remember_run(run: Path) -> None:
    """Registers a run's path in the cache; does nothing if the cache cannot be written."""
    with contextlib.suppress(OSError, RuntimeError):
        path = mount = os.path.realpath(run)
        while not os.path.ismount(mount):
            mount = os.path.dirname(mount)
        file = cache_folder() / "runs" / hashlib.sha256(os.fsencode(path)).hexdigest()[:32]
        line = b"\0".join((os.fsencode(path), os.fsencode(mount), b"%d" % os.statvfs(mount).f_fsid))
        if not file.exists() or file.read_bytes() != line:
            write_durably(line, file)


def list_registered_runs() -> dict[Path, RegisteredRun]:
    """Returns the registered runs by their registry file; some may be deleted. Skips files that are not ours."""
    runs: dict[Path, RegisteredRun] = {}
    with contextlib.suppress(OSError, RuntimeError):
        for file in sorted((cache_folder() / "runs").iterdir()):
            with contextlib.suppress(OSError, ValueError):
                path, mount, disk = file.read_bytes().split(b"\0")
                if hashlib.sha256(path).hexdigest()[:32] == file.name:
                    runs[file] = RegisteredRun(Path(os.fsdecode(path)), os.fsdecode(mount), int(disk))
    return runs
