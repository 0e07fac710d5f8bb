"""A recorder at work without an engine: the tasks that can start, done by hand in whatever order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from edit_eval.execution.engine.pilot import PilotCells
from edit_eval.execution.engine.recorder import Recorder, is_edit
from edit_eval.execution.engine.workload import fill_work
from edit_eval.records import Edit, Judgement, Status
from edit_eval.scheduling.tasks import Task, Work
from edit_eval.store.matrix import Matrix
from edit_eval.store.run_directory import RunDirectory
from small_matrix import made_edit

GOOD = "Score: 8.0"


class Desk:
    """A recorder, the work that can start, and the audience."""

    def __init__(self, folder: Path, matrix: Matrix) -> None:
        self.matrix = matrix
        self.directory = RunDirectory(folder / "run")
        self.directory.begin()
        (folder / "run" / "config").mkdir(exist_ok=True)  # by which a folder is read as a run
        self.ready: list[Task] = []
        self.work = Work()
        self.work.on_ready = self.ready.append
        self.edits: list[Edit] = []
        self.judgements: list[Judgement] = []
        self.recorder = Recorder(matrix, self.directory, self.work, self)

    def edit(self, edit: Edit) -> None:
        self.edits.append(edit)

    def judgement(self, judgement: Judgement) -> None:
        self.judgements.append(judgement)

    def fill(self, size: int = 1, pilot: PilotCells = PilotCells(), **more: Any) -> None:  # noqa: B008 (it cannot change)
        """All that is left, in batches of `size` neighbours in the benchmark."""
        of_sample = [n // size for n in range(1 + max(sample.index for sample in self.matrix.samples))]
        batches = {judge.name: of_sample for judge in self.matrix.judges}
        fill_work(self.work, self.matrix, batches, pilot=pilot, **more)

    def take(self, *, editing: bool) -> Task:
        """The next task of that kind that can start."""
        task = next(task for task in self.ready if is_edit(task) is editing)
        self.ready.remove(task)
        return task

    def make(self, shade: int | None = None) -> int:
        """Does the next edit; returns its number."""
        task = self.take(editing=True)
        self.order = self.recorder.order(task)
        return self.made(task, shade)

    def made(self, task: Task, shade: int | None = None) -> int:
        edit = made_edit(self.matrix, task.units[0], self.directory, shade)
        result = {name: getattr(edit, name) for name in ("pixels", "width", "height", "file_bytes")}
        self.recorder.free(task)
        self.recorder.record_results(
            task, {"results": [{**result, "flags": ["other_aspect_ratio"]}], "seconds": 2.0}, "cpu:0"
        )
        self.work.finish(task)
        return task.units[0]

    def fail(self, reason: str = "black image", *, editing: bool = True) -> Task:
        """Has the next task fail for good."""
        task = self.take(editing=editing)
        self.recorder.order(task)
        self.recorder.free(task)
        self.recorder.record_failure(task, reason, "cpu:0")
        self.work.finish(task)
        return task

    def leave(self, *, editing: bool = True) -> Task:
        """Leaves the next task for another start."""
        task = self.take(editing=editing)
        self.recorder.order(task)
        self.recorder.free(task)
        self.recorder.leave(task)
        self.work.finish(task)
        return task

    def answer(self, *results: str | dict[str, Any]) -> Task:
        """Does the next batch: a text is an answer."""
        return self.finish(self.begin(), *results)

    def begin(self) -> Task:
        task = self.take(editing=False)
        order = self.recorder.order(task)
        self.requests = [] if order is None else order["requests"]
        return task

    def finish(self, task: Task, *results: str | dict[str, Any]) -> Task:
        given = [{"text": r} if isinstance(r, str) else r for r in results]
        if given:  # else it was not ordered
            self.recorder.free(task)
            self.recorder.record_results(task, {"results": given, "seconds": 0.6}, "cpu:1")
        self.work.finish(task)
        return task

    def finish_all(self, said: Callable[[dict[str, Any]], str] = lambda request: GOOD) -> None:
        """Does whatever is left, well."""
        while self.ready:
            if any(map(is_edit, self.ready)):
                self.make()
            else:
                task = self.begin()
                self.finish(task, *map(said, self.requests))
        assert self.work.is_finished

    def lines(self, journal: str) -> list[dict[str, Any]]:
        return list(RunDirectory.open_existing(self.directory.path).read(journal))

    def statuses(self) -> list[Status]:
        return [judgement.status for judgement in self.matrix.judgements()]

    def said(self) -> list[str]:
        """Of each judgement its status."""
        return [status.value for status in self.statuses()]


def damaged(why: str = "cut off") -> dict[str, Any]:
    """What a worker says of a picture that is not what was reported."""
    return {"damaged": why}
