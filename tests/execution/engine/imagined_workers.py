"""Workers that are imagined: they do what a recorder orders, in any order, and what happens to them is drawn.

What an edit looks like, whether it fails, and what a judge says to which question for the how-manieth time depends on
keys alone: a run comes to the same whatever else happens. That a picture is damaged, a task is charged with a failure
that was none of its own, or a picture cannot be read for a while, is chance.
"""

from __future__ import annotations

import io
import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from edit_eval.errors import PictureError
from edit_eval.execution.engine.pilot import PilotCells, choose_pilot
from edit_eval.execution.engine.recorder import Recorder, is_edit
from edit_eval.execution.engine.workload import fill_work
from edit_eval.pictures import pixel_digest
from edit_eval.records import Status
from edit_eval.scheduling.tasks import Task, Work
from edit_eval.store.matrix import Matrix
from edit_eval.store.recall import load_journals
from edit_eval.store.run_directory import RunDirectory
from small_matrix import digest_of

AT_ONCE = 3
MOST_STEPS = 20_000

Line = tuple[str, dict[str, Any]]


class Journals(RunDirectory):
    """The journals as one list, in the order in which their lines were written."""

    def __init__(self, path: Path, lines: Sequence[Line] = ()) -> None:
        super().__init__(path)
        self.lines = list(lines)
        self.damaged: set[str] = set()
        """Keys of the edits whose pictures have been: one that is damaged twice is a failed edit."""

    def append(self, journal: str, record: dict[str, Any]) -> None:
        self.lines.append((journal, json.loads(json.dumps(record))))

    def recall(self, matrix: Matrix) -> Matrix:
        of = {name: [record for journal, record in self.lines if journal == name] for name in ("edits", "replies")}
        load_journals(matrix, of["edits"], of["replies"], self.path, lambda status: False)
        return matrix


class Silence:
    def edit(self, edit: object) -> None: ...
    def judgement(self, judgement: object) -> None: ...


def picture_of(key: str) -> tuple[bytes, str]:
    """A picture's bytes, and the digest of its pixels."""
    image = Image.new("RGB", (4, 3), tuple(bytes.fromhex(digest_of(key)[:6])))
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue(), pixel_digest(image)


def chance(key: str, what: str) -> float:
    """From 0 to 1, the same for the same."""
    return int(digest_of(key + what)[:8], 16) / 2**32


class Start:
    """One start of a run: what is left becomes tasks, and imagined workers do them."""

    def __init__(
        self,
        matrix: Matrix,
        journals: Journals,
        seed: int,
        *,
        size: int = 1,
        by_category: bool = False,
        luck: float = 1.0,
    ) -> None:
        """`luck` is how often nothing happens besides."""
        self.matrix, self.journals, self.random, self.luck = matrix, journals, random.Random(seed), luck
        self.work, self.ready, self.waiting = Work(), list[Task](), list[int]()
        self.work.on_ready = self.ready.append
        self.recorder = Recorder(matrix, journals, self.work, Silence())
        self.tried: Counter[tuple[int, ...]] = Counter()
        of_sample = [n // size for n in range(1 + max(sample.index for sample in matrix.samples))]
        batches = {judge.name: of_sample for judge in matrix.judges}
        pilot = choose_pilot(matrix) if self.random.random() < 0.5 else PilotCells()
        fill_work(self.work, matrix, batches, by_category=by_category, pilot=pilot)

    def run(self) -> Start:
        """Does all of it."""
        hands: list[tuple[Task, dict[str, Any]]] = []
        for _ in range(MOST_STEPS):
            if self.work.is_finished:
                return self
            if self.ready and len(hands) < AT_ONCE and self.random.random() < 0.7:
                task = self.ready.pop(self.random.randrange(len(self.ready)))
                order = self.recorder.order(task)
                if order is None:
                    self.work.finish(task)
                else:
                    hands.append((task, order))
            elif hands:
                task, order = hands.pop(self.random.randrange(len(hands)))
                self.recorder.free(task)
                self._do(task, order)
                self.work.finish(task)
            elif not self.ready and self.waiting:
                self.work.settle(self.waiting.pop())
            else:
                assert self.ready, "work is left, and nobody can do it"
        raise AssertionError("there is no end to it")

    def _happens(self, what: float = 1.0) -> bool:
        return self.random.random() > self.luck ** (1 / what)

    def _do(self, task: Task, order: dict[str, Any]) -> None:
        if self._happens():
            return self._charge(task)
        if is_edit(task):
            self._edit(task, order)
        else:
            self._judge(task, order)
        if self._happens():
            self._damage()

    def _charge(self, task: Task) -> None:
        """A worker died with it: it is tried again, each member of a batch by itself."""
        self.recorder.attempt(task, "killed by SIGKILL")
        for unit in task.units:
            self.work.add(task.model, [unit], phase=task.phase, alone=True)

    def _unreadable(self, task: Task) -> None:
        """As the engine: tried again a few times, then left for another start."""
        self.tried[task.units] += 1
        if self.tried[task.units] > 2:
            return self.recorder.leave(task)
        ticket = -1 - sum(self.tried.values())
        self.waiting.append(ticket)
        self.work.add(task.model, task.units, after=[ticket], phase=task.phase)

    def _damage(self) -> None:
        """A picture is not what it was any more, once each."""
        made = [
            edit for edit in self.matrix.edits if edit.status is Status.OK and edit.key not in self.journals.damaged
        ]
        if made:
            edit = self.random.choice(made)
            self.journals.damaged.add(edit.key)
            file = self.journals.path / edit.image
            file.write_bytes(bytes(file.stat().st_size))

    @staticmethod
    def _is_whole(picture: dict[str, Any]) -> bool:
        if "pixels" not in picture:
            return True
        assert picture["path"].endswith(".png"), picture
        try:
            with Image.open(picture["path"]) as image:
                return pixel_digest(image.convert("RGB")) == picture["pixels"]
        except (OSError, PictureError):
            return False

    def _edit(self, task: Task, order: dict[str, Any]) -> None:
        (number,) = task.units
        if not all(map(self._is_whole, order["pictures"])) or self._happens(0.3):
            return self._unreadable(task)
        key = self.matrix.edit_keys[number]
        if chance(key, "fails") < 0.15:
            return self.recorder.record_failure(task, "it is black", "cpu:0")
        data, pixels = picture_of(key)
        Path(order["output"]).write_bytes(data)
        made = {"pixels": pixels, "width": 4, "height": 3, "file_bytes": len(data), "flags": []}
        self.recorder.record_results(task, {"results": [made], "seconds": 1.0}, "cpu:0")

    def _judge(self, task: Task, order: dict[str, Any]) -> None:
        if self._happens(0.3):
            return self._unreadable(task)
        results = [self._answer(request, task) for request in order["requests"]]
        self.recorder.record_results(task, {"results": results, "seconds": 1.0}, "cpu:1")

    def _answer(self, request: dict[str, Any], task: Task) -> dict[str, Any]:
        for view in request["pictures"]:
            for picture in (view, *(step[1] for step in view["steps"] if step[0] == "like")):
                if not self._is_whole(picture):
                    return {"damaged": f"{picture['path']}: cut off"}
        shown = [view.get("pixels") or view.get("digest") for view in request["pictures"]]
        known = json.dumps([request["user"], shown, request["seed"], task.model])
        drawn = chance(known, "says")
        if drawn < 0.15:
            return {"text": "hm"}
        if drawn < 0.2:
            return {"text": "7", "ended": "cut_off"}
        if drawn < 0.25:
            return {"text": "no", "ended": "refused"}
        return {"text": str(round(10 * chance(known, "score"), 3))}
