"""The ledger of a service: every pair sent to it and every reply, kept as a run whose samples grow.

So `report`, `compare`, `status` and `view` work on a service as on a run. After `MOST_PAIRS` a new run is begun, which
bounds the service's memory and the time to read a run; the oldest runs are deleted when all of them exceed the size
limit.

    <ledger>/0001/   a run directory, its pictures as they came
    <ledger>/0002/
"""

from __future__ import annotations

import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

from edit_eval.benchmarks.known_sources import remember_sources
from edit_eval.config.schema import Configuration
from edit_eval.errors import RunDirectoryError
from edit_eval.execution.engine.recorder import Audience, Recorder
from edit_eval.experiment import UNASKED, Experiment
from edit_eval.json_values import JsonObject
from edit_eval.plugins.serve.canaries import CLIENT, CONTROL_OF, Canaries
from edit_eval.plugins.serve.pictures import Sent
from edit_eval.plugins.serve.submissions import Submission
from edit_eval.protocols.asked import AskedJudge
from edit_eval.protocols.contract import fault
from edit_eval.records import CONTROL, Edit, Picture, Sample, Status
from edit_eval.scheduling.tasks import Task, Work
from edit_eval.store.derived import keep_derived
from edit_eval.store.examined import take_examinations
from edit_eval.store.matrix import Matrix
from edit_eval.store.recall import edit_record
from edit_eval.store.run_directory import CannotWrite, RunDirectory, is_marked
from edit_eval.store.subjects.contract import InputPicture
from edit_eval.store.table import JudgementTable
from edit_eval.text import Text
from edit_eval.workers.messages import PictureFile

MOST_PAIRS = 20_000
_VOLUME = re.compile(r"\d{4,}")


OUR_FACTS = ("door", "form", CONTROL_OF)
"""Facts of a sample that are the service's to state; a client's of these names are left out."""
LONGEST_LABEL = 200


def name_of(number: int, label: str) -> str:
    """Returns the id of a pair: its number, and behind that as much of the client's own id as can be shown.

    So no text that a client sends is ever the name of another pair. `number_of` finds it again.
    """
    shown = "".join(character if character.isprintable() else " " for character in label[:LONGEST_LABEL]).strip()
    return f"{number:06d} {shown}" if shown else f"{number:06d}"


def number_of(sample_id: str) -> int:
    """Returns the number of a pair, which is also its edit's."""
    return int(sample_id.partition(" ")[0])


class _Recorder(Recorder):
    """Records edits that came with requests: they are identified by their files, and cannot be made again."""

    def _picture(self, shown: InputPicture) -> PictureFile:
        if shown.pixels:
            return {"path": os.path.abspath(self._directory.path / shown.path), "digest": shown.pixels}
        return super()._picture(shown)

    def leave(self, task: Task) -> bool:
        self.record_failure(task, "a picture of it can no longer be read", "")  # a service has no later start
        return True

    def _make_again(self, number: int, reason: str, task: Task) -> None:
        edit = self._matrix.edits[number]
        lost = replace(edit, status=Status.EDIT_FAILED, reason=reason, image="", pixels="", width=0, height=0)
        self._keep_edit(number, lost)


class Ledger:
    """The runs of a service, the last of which is being written. Implements the engine's `Records`."""

    def __init__(
        self,
        folder: Path,
        configuration: Configuration,
        judges: Sequence[AskedJudge],
        work: Work,
        audience: Audience,
        *,
        most_bytes: int,
        note: Callable[[str], None],
        is_wanted: Callable[[int], bool],
        most_pairs: int = MOST_PAIRS,
    ) -> None:
        """`is_wanted` is true of a cell that a client waits for; a task without such a cell is dropped unasked."""
        self.folder, self._configuration, self._judges = folder, configuration, judges
        self._work, self._audience, self._note, self._is_wanted = work, audience, note, is_wanted
        self._most_bytes, self.most_pairs = most_bytes, most_pairs
        self.environment: JsonObject = {}
        self._unsynced, self._syncing = threading.Event(), threading.Lock()
        self._syncs: threading.Thread | None = None
        self._refused: CannotWrite | None = None  # the error of the last sync
        self._closed = False
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunDirectoryError(Text("{}: cannot be written ({})", folder, error.strerror or error)) from error
        if strange := [path.name for path in self.volumes() if not is_marked(path)]:
            raise RunDirectoryError(Text("{} is no folder of a service ({}); name another one", folder, strange[0]))
        self._begin()

    def volumes(self) -> list[Path]:
        """Returns the runs' folders, oldest first."""
        return sorted(path for path in self.folder.iterdir() if _VOLUME.fullmatch(path.name) and path.is_dir())

    # -- beginning and ending runs --

    def _begin(self) -> None:
        taken = [int(path.name) for path in self.volumes()]
        self.directory = RunDirectory(self.folder / f"{max(taken, default=0) + 1:04d}")
        self.directory.begin()
        self.directory.append_samples()
        experiment = Experiment(
            samples=cast("tuple[Sample, ...]", []),
            edit_models=(CLIENT,),
            # What is sent twice is asked twice: the watch sees a judge drift so, and a client may want two answers.
            judges=tuple(replace(j, reads=tuple(dict.fromkeys((*j.reads, "sample_id")))) for j in self._judges),
            language=self._configuration.benchmark.language,
            readings=self._configuration.evaluation.readings,
        )
        self.matrix = Matrix(experiment)
        plain = self._configuration.as_plain()
        plain["edit_models"] = {CLIENT.name: {"type": CLIENT.type, "params": {}}}
        record = experiment.to_record(self._configuration.folder)
        resolved = {**record, "kinds": [Canaries.name], "grows": True}  # the latter for who follows or joins it
        self.directory.write_configuration(plain, resolved)
        if self.environment:
            self.directory.write_environment(self.environment)
        take_examinations(experiment, self.directory.path)
        self.recorder = _Recorder(self.matrix, self.directory, self._work, self._audience)
        in_vain = self.recorder.is_obsolete
        self._work.in_vain = lambda task: not any(map(self._is_wanted, task.units)) or in_vain(task)
        self._laid: dict[str, str] = {}

    @property
    def is_full(self) -> bool:
        """True if the next pair goes into a new run; it must wait until no task of this one is under way."""
        return len(self.matrix.samples) >= self.most_pairs

    def rotate_runs(self) -> None:
        """Begins a new run, and deletes the oldest while all of them exceed the size limit."""
        with self._syncing:
            self._rotate_runs()

    def _rotate_runs(self) -> None:
        self._end()
        sizes = {path: _folder_size(path) for path in self.volumes()}
        while sum(sizes.values()) > self._most_bytes and len(sizes) > 1:
            oldest = next(iter(sizes))
            self._note(Text("{} is deleted: the ledger takes more than --ledger-size", oldest))
            shutil.rmtree(oldest, ignore_errors=True)
            del sizes[oldest]
        self._begin()

    def close(self) -> None:
        """Completes the last run and syncs it to disk. Raises `CannotWrite`."""
        self._closed = True
        self._unsynced.set()
        if self._syncs is not None:
            self._syncs.join()
        self._end()

    def _end(self) -> None:
        try:
            keep_derived(self.directory, JudgementTable(self.matrix), self._configuration.folder)
        finally:
            self.directory.end()

    def write_environment(self, environment: JsonObject) -> None:
        """Saves versions, devices and the models' self-descriptions, for this run and those that follow."""
        self.environment = environment
        self.directory.write_environment(environment)

    # -- adding pairs --

    def add(self, pair: Submission) -> int:
        """Adds a pair; returns the number of its edit. A pair that cannot be judged is `skipped`, with the reason.

        Raises `CannotWrite` if the disk is full.
        """
        index = len(self.matrix.samples)
        sample_id = name_of(index, pair.id)
        new = not all(picture.digest in self._laid for picture in pair.pictures.values())
        pictures = {name: self._write_picture("source", name, picture) for name, picture in pair.pictures.items()}
        here = self.directory.path.absolute()
        facts = {name: value for name, value in pair.facts.items() if name not in OUR_FACTS}
        said = {name: value for name, value in (("door", pair.door), (CONTROL_OF, pair.of)) if value}
        sample = Sample(
            id=sample_id,
            index=index,
            category=pair.category,
            pictures={
                name: Picture(path=f"{here}/{path}", digest=pair.pictures[name].digest)
                for name, path in pictures.items()
            },
            instruction=pair.instruction,
            facts={**facts, **said, "form": pair.edit.form},
            language=self.matrix.experiment.language,
            tags=(
                *([f"{CONTROL}{pair.canary}"] if pair.canary else []),
                *(f"{UNASKED}{judge}" for judge in pair.unasked),
            ),
        )
        if wrong := next(filter(None, (fault(judge.protocol, sample) for judge in self._judges)), ""):
            sample = replace(sample, fault=wrong)
        pictures_of = {name: asdict(picture) for name, picture in sample.pictures.items()}
        plain = {name: getattr(sample, name) for name in Sample.__dataclass_fields__}  # `asdict` would copy deeply
        self.directory.append("samples", {**plain, "pictures": pictures_of})
        if new:
            remember_sources([sample])  # for `view`, which shows the run while it is written
        number = self.matrix.append(sample)
        if not sample.fault:
            edit = replace(
                self.matrix.edits[number],
                status=Status.OK,
                image=self._write_picture(CLIENT.name, pair.id, pair.edit),
                pixels=pair.edit.digest,
                width=pair.edit.width,
                height=pair.edit.height,
                file_bytes=len(pair.edit.data),
            )
            self.matrix.edits[number] = edit
            self.directory.append("edits", {**edit_record(edit), "at": time.time()})
        return number

    def _write_picture(self, kind: str, name: str, picture: Sent) -> str:
        """Writes a picture's file, once; returns its path in the run."""
        if picture.digest not in self._laid:
            name = name_of(len(self._laid), name)  # the digest's beginning in the name may be another picture's, too
            path = self.directory.image_path(kind, name, picture.digest).with_suffix(f".{picture.suffix}")
            self.directory.lay_picture(picture.data, path)
            self._laid[picture.digest] = path.relative_to(self.directory.path).as_posix()
        return self._laid[picture.digest]

    def edit(self, number: int) -> Edit:
        """Returns the current state of an edit."""
        return self.matrix.edits[number]

    # -- `Records` of the engine --

    def __getattr__(self, name: str) -> Any:
        """Returns what else the engine asks of its records: all of it goes to the run that is being written."""
        return getattr(vars(self)["recorder"], name)

    def event(self, name: str, **fields: Any) -> None:
        """Records an event in the run that is being written by then."""
        self.recorder.event(name, **fields)

    def sync(self) -> None:
        """Starts a sync in another thread: it takes as long as a judge's batch, which would have to wait.

        Raises `CannotWrite` if an earlier sync failed.
        """
        if self._refused is not None:
            raise self._refused
        if self._syncs is None:
            self._syncs = threading.Thread(target=self._sync, name="ledger", daemon=True)
            self._syncs.start()
        self._unsynced.set()

    def _sync(self) -> None:
        while not self._closed and self._refused is None:
            self._unsynced.wait()
            self._unsynced.clear()
            with self._syncing:
                try:
                    self.directory.sync()
                except CannotWrite as error:
                    self._refused = error


def _folder_size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
