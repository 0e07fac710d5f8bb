"""Sits between the engine and the records: turns tasks into orders for workers, and their results into records.

The engine knows tasks, the matrix edits and judgements; nothing is acknowledged before it is in the journal.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple, Protocol

from edit_eval.edit_models.contract import FINISHED
from edit_eval.execution.engine.workload import edit_needs, find_required_edits, is_left, work_number
from edit_eval.protocols.contract import View
from edit_eval.records import NO_EDIT, Edit, Judgement, Reply, Status
from edit_eval.scheduling.estimates import Estimates
from edit_eval.scheduling.tasks import PILOT, Task, Work
from edit_eval.small_copies import size_of_run
from edit_eval.store.answers import Lookup
from edit_eval.store.journal import Record
from edit_eval.store.matrix import Matrix
from edit_eval.store.recall import edit_record, find_altered_pictures, where_of
from edit_eval.store.run_directory import RunDirectory, image_name
from edit_eval.store.subjects.contract import InputPicture
from edit_eval.workers.messages import AnswerResult, EditResult, Message, PictureFile, PictureView

ASK_STRIDE = 1000
"""Distance of the seeds of repeated askings, so that a judge that samples its answers draws another one. Larger than
any number of readings; a hundred askings stay below the next repeat's seeds (see `store.cells`)."""


class Audience(Protocol):
    """Hears about what was recorded (the live progress)."""

    def edit(self, edit: Edit) -> None: ...
    def judgement(self, judgement: Judgement) -> None: ...


class Put(NamedTuple):
    """A question as it was put."""

    cell: int
    key: str
    lookup: Lookup
    ask: int
    """Number of replies before it."""
    counts: bool
    """False if it only kept the rest of its batch company."""


class Ordered(NamedTuple):
    """What the worker of a task was asked."""

    put: list[Put]
    damaged: frozenset[int]
    """Edits known to be damaged by then."""


class Recorder:
    """Turns tasks into orders and results into records."""

    def __init__(
        self,
        matrix: Matrix,
        directory: RunDirectory,
        work: Work,
        audience: Audience,
        estimates: Estimates | None = None,
        deferring: Collection[str] = (),
    ) -> None:
        """`estimates` is given the times that processes take to start and to end; `deferring`: keys of the models
        that are asked in batches."""
        self._deferring = deferring
        self._matrix, self._directory, self._work, self._audience = matrix, directory, work, audience
        self._estimates = estimates or Estimates()
        self._damaged: dict[int, Edit] = {}  # as they were reported
        self._file_digests: dict[str, str] = {}  # by its pixels, of each edit's file that this start has made
        self._left: set[int] = set()  # what is left for another start, in the numbers of `Work`
        self._ordered: dict[int, Ordered] = {}
        self._under_way: dict[Lookup, tuple[int, int]] = {}  # what is being asked: the number of the task, and the cell
        self.submitted_before: dict[str, Record] = {}
        """By an edit's key, or a question's (`name_asking`), what was bought and is not fetched, in any start
        (`Timeline.submitted`)."""
        work.in_vain = self.is_obsolete
        folder, size = os.path.abspath(directory.thumbnails), size_of_run(matrix.samples, matrix.edits)
        self._small_copies = {"folder": folder, **asdict(size)}

    def is_obsolete(self, task: Task) -> bool:
        """True if a task that could start has nothing to work on.

        Either none of it is still to come, or it needs something that this start will not make: then all of it is left,
        since a batch is asked whole.
        """
        left: list[int] = []
        if is_edit(task):
            (number,) = task.units
            pending = self._matrix.edits[number].status is Status.PENDING
            needs = edit_needs(self._matrix, number)
        else:
            left = [cell for cell in task.units if is_left(self._matrix, cell)]
            pending = bool(left)
            needs = [need for cell in task.units for need in self._needs(cell)]
        if pending and not self._left.isdisjoint(needs):
            self.leave(task)
            return True
        return not pending or self._follows(task, left)

    def _follows(self, task: Task, left: Sequence[int]) -> bool:
        """True if all cells that are left of it are being asked elsewhere: then it is entered again, behind that."""
        ahead = [*map(self._ahead, left)]
        after = {work_number(cell) for cell in ahead if cell is not None}
        if not ahead or None in ahead:
            return False
        self._work.add_again(task, after=after)
        return True

    def _ahead(self, cell: int) -> int | None:
        """Returns the cell for which a cell's question is being asked; None if it is not."""
        if not self._matrix.can_be_asked(cell) or self._matrix.lookup(cell) not in self._under_way:
            return None
        return self._under_way[self._matrix.lookup(cell)][1]

    def free(self, task: Task) -> None:
        """Notes that a task has left its worker, however it ended: what it asked is no longer being asked."""
        for put in self._ordered[task.number].put if task.number in self._ordered else ():
            if put.lookup in self._under_way and self._under_way[put.lookup][0] == task.number:
                del self._under_way[put.lookup]

    def _needs(self, cell: int) -> list[int]:
        """Returns what a cell waits for, in the numbers of `Work`: edits, the cells its question comes after, and the
        one that asks the same of the edit which its own is."""
        made, before = self._matrix.original_cell_of(cell), self._matrix.cells.prerequisites_of(cell).values()
        asked = [*before] if made is None else [*before, made]
        return [*find_required_edits(self._matrix, cell), *map(work_number, asked)]

    def about(self, task: Task) -> str:
        """Returns the sample ids of a task, for people."""
        if is_edit(task):
            return self._matrix.edits[task.units[0]].sample_id
        about = map(self._matrix.cells.about, task.units)
        return ", ".join(dict.fromkeys(self._matrix.sample_of(subject).id for subject in about))

    # -- orders --

    def order(self, task: Task) -> Message | None:
        """Returns the message that orders a worker to do the task (see `edit_eval.workers.requests`).

        None if all that it is to ask was answered since it became ready, or is being asked about other cells.
        """
        if is_edit(task):
            number = task.units[0]
            edit, sample = self._matrix.edits[number], self._matrix.sample_of(number)
            output = self._directory.image_path(edit.edit_model, edit.sample_id, edit.key)
            output.parent.mkdir(parents=True, exist_ok=True)
            return {
                "do": "run",
                "task": task.number,
                "kind": "edit",
                "pictures": [
                    *(
                        {"name": name, **self._picture(shown), **({"mask": True} if name == "mask" else {})}
                        for name, shown in self._sources(number).items()
                    ),
                    *self._find_existing_edit(edit),
                ],
                "instruction": edit.instruction or sample.instruction,
                "seed": edit.seed,
                "sample": sample.id,
                "output": os.path.abspath(output),
                "small_copies": self._small_copies,
                **({"submitted": bought} if (bought := self.submitted_before.get(edit.key, {})).get("id") else {}),
            }
        matrix = self._matrix
        asked = [n for n in task.units if matrix.can_be_asked(n) and matrix.original_cell_of(n) is None]
        for cell in (cell for cell in task.units if cell not in asked):  # a picture of theirs is being made again, or
            self._ask_later(cell, task.phase)  # is that of an edit that is asked about where it was made
        left = [cell for cell in asked if is_left(self._matrix, cell)]
        if not left or self._follows(task, left):
            return None
        put = [self._claim_question(cell, task, left=cell in left) for cell in asked]
        for one in put:
            if one.cell in left and not one.counts:
                after = [work_number(self._under_way[one.lookup][1])]
                self._work.add(task.model, [one.cell], after=after, phase=task.phase)
        self._ordered[task.number] = Ordered(put, frozenset(self._damaged))
        requests = [self._request(cell) for cell in asked]
        order = {"do": "run", "task": task.number, "kind": "judge", "requests": requests}
        earlier = self.submitted_before.get(name_asking(put[0].key, put[0].ask)) if len(put) == 1 else None
        at_once = task.phase == PILOT or bool(self._work.kept)
        if earlier or (task.model in self._deferring and len(put) == 1 and not at_once):
            order |= {"deferred": True, **({"submitted": earlier} if earlier else {})}
        return order

    def _find_existing_edit(self, edit: Edit) -> list[PictureView]:
        """Returns the edit of a model that has it already; none of other models."""
        experiment = self._matrix.experiment
        digest = experiment.finished.get(experiment.base_model_of(edit.edit_model), {}).get(edit.sample_id)
        return [{"name": FINISHED, "path": experiment.files.get(digest, ""), "digest": digest}] if digest else []

    def _claim_question(self, cell: int, task: Task, *, left: bool) -> Put:
        """Notes that a cell's question is being asked, if it is `left` and asked nowhere else."""
        lookup = self._matrix.lookup(cell)
        counts = left and lookup not in self._under_way
        if counts:
            self._under_way[lookup] = task.number, cell
        return Put(cell, self._matrix.key(cell), lookup, len(self._matrix.replies(cell)), counts)

    def _sources(self, number: int) -> Mapping[str, InputPicture]:
        """Returns an edit model's sources. A source being made again is given as it was: the worker waits for it."""
        before, sources = self._matrix.origins.source_edit_of(number), self._matrix.sources(number)
        if before in self._damaged and self._matrix.edits[before].status is Status.PENDING:
            was = self._damaged[before]
            return {**sources, "source": InputPicture(was.image, pixels=was.pixels)}
        return sources

    def _request(self, cell: int) -> Message:
        matrix = self._matrix
        number, judge = self._matrix.cells.about(cell), matrix.judge_of(cell)
        replies = matrix.replies(cell)
        again = bool(replies) and matrix.reading(cell).status is Status.PENDING
        question, pictures = matrix.question(cell, again=again), matrix.pictures(number)
        views = () if judge.replays else question.shows
        return {
            "system": question.system,
            "user": question.user,
            "form": question.form,
            **({"labels": question.labels} if question.labels else {}),
            **({"schema": question.schema} if question.schema else {}),
            "seed": matrix.seed(cell) + ASK_STRIDE * (len(replies) if again else 0),
            "key": matrix.key(cell),
            **matrix.extra_inputs_of(cell),
            "pictures": [self._view(view, pictures) for view in views],
        }

    def _view(self, view: View, pictures: Mapping[str, InputPicture]) -> PictureView:
        """Describes a picture to show; a step that takes another picture's size has that picture in it."""
        steps = [["like", self._picture(pictures[str(s[1])])] if s[0] == "like" else list(s) for s in view.steps]
        is_mask: PictureFile = {"mask": True} if view.picture == "mask" else {}
        return {"name": view.name, "steps": steps, **self._picture(pictures[view.picture]), **is_mask}

    def _picture(self, shown: InputPicture) -> PictureFile:
        """Returns where a picture is, and what identifies its file."""
        if shown.pixels:
            digest = self._file_digests.get(shown.pixels, "")
            path = os.path.abspath(self._directory.path / shown.path)
            return {"path": path, "pixels": shown.pixels, **({"digest": digest} if digest else {})}
        # A user's own benchmark may have no digest of a file's bytes.
        file: PictureFile = {
            "path": os.path.abspath(shown.path),
            "digest": shown.digest if len(shown.digest) == 64 else "",
        }
        if shown.maker:
            return {"made_of": file, "maker": shown.maker}
        return {"blank_like": file} if shown.blank else file

    # -- results --

    def record_results(self, task: Task, message: Message, device: str) -> None:
        """Records a worker's results for a task, and adds the tasks that follow from them."""
        results, seconds = message["results"], float(message["seconds"])
        if is_edit(task):
            self._record_edit(task.units[0], results[0], seconds, device)
            return
        asked, damaged = self._ordered.pop(task.number)
        for put, result in zip(asked, results, strict=True):
            if "damaged" in result:
                self._damage(put.cell, result["damaged"], task, known=damaged)
            else:
                reply = Reply(
                    text=result["text"],
                    values=result.get("values") or {},
                    normalised=result.get("normalised", False),
                    ended=Status(result.get("ended") or "ok"),
                    final=bool(result.get("final")),
                    seconds=round(seconds / len(asked), 4),
                    device=device,
                    length=int(result.get("length") or 0),
                    tokens=(*(result.get("tokens") or (0, 0)),),
                )
                self._record_answer(put, task, reply, result)
            self._clear_submission(name_asking(put.key, put.ask))

    def record_failure(self, task: Task, reason: str, device: str) -> None:
        """Records that a task is given up for good: its edit failed, or its judge gave no answer."""
        if is_edit(task):
            (number,) = task.units
            self._keep_edit(number, replace(self._matrix.edits[number], status=Status.EDIT_FAILED, reason=reason))
            return
        error = Reply(text=reason, ended=Status.JUDGE_ERROR, device=device, final=True)
        for put in self._ordered.pop(task.number).put:
            self._record_answer(put, task, error, {})

    def record_refusal(self, task: Task, reason: str) -> None:
        """Records that the model declined to make an edit."""
        (number,) = task.units
        self._keep_edit(number, replace(self._matrix.edits[number], status=Status.EDIT_REFUSED, reason=reason))

    def record_submission(self, task: Task, message: Message) -> None:
        """Records what was bought for an edit, or is about to be, and is to be fetched."""
        bought = {name: message.get(name) for name in ("provider", "id", "usd")}
        if is_edit(task):
            key = self._matrix.edits[task.units[0]].key
        else:
            (put,) = self._ordered[task.number].put
            key = name_asking(put.key, put.ask)
            reserved = message.get("reserved")
            if reserved is not None and reserved["start"] is None:
                reserved = {**reserved, "start": self._directory.number}
            bought |= {"token": message.get("token") or "", "reserved": reserved}
        self.submitted_before[key] = bought
        self.event("submitted", model=task.model, key=key, at=time.time(), **bought)

    def clear_submission(self, task: Task) -> None:
        """Records that nothing is to be fetched any more for a question."""
        for put in self._ordered[task.number].put if task.number in self._ordered else ():
            self._clear_submission(name_asking(put.key, put.ask))

    def _clear_submission(self, key: str) -> None:
        if self.submitted_before.pop(key, None) is not None:
            self.event("fetched", key=key)

    def attempt(self, task: Task, reason: str) -> None:
        """Records an attempt that failed and is followed by another."""
        self._ordered.pop(task.number, None)
        if is_edit(task):
            edit = replace(self._matrix.edits[task.units[0]], reason=reason)
            if not self.submitted_before.get(edit.key, {}).get(
                "id"
            ):  # its worker lives, and has said what became of it
                self._clear_submission(edit.key)
            self._directory.append("edits", {**edit_record(edit), "at": time.time()})

    def leave(self, task: Task) -> bool:
        """Leaves the task and all that waits for it pending until another start.

        Returns False if it is not left, since the edit of ours that it follows is made again: no other task may ever
        look at its picture.
        """
        if not is_edit(task):
            self._leave([work_number(cell) for cell in task.units if is_left(self._matrix, cell)])
            return True
        (number,) = task.units
        before = self._matrix.origins.source_edit_of(number)
        if before is not None and self._is_altered(before):
            self._make_again(before, "its picture differs from what was reported", task)
        if before is None or self._matrix.edits[before].status is Status.OK or before in self._left:
            self._leave(task.units)
            return True
        if self._matrix.edits[number].status is Status.PENDING:
            self._work.add(task.model, task.units, after=[before], phase=task.phase)
        return False

    def _is_altered(self, number: int) -> bool:
        edit = self._matrix.edits[number]
        return edit.status is Status.OK and bool(find_altered_pictures([edit], self._directory.path))

    def _leave(self, what: Sequence[int]) -> None:
        self._left.update(what)
        for number in what:
            self._work.settle(number)

    def _record_edit(self, number: int, result: EditResult, seconds: float, device: str) -> None:
        edit = self._matrix.edits[number]
        made = replace(
            edit,
            status=Status.OK,
            reason="",
            image=image_name(edit.edit_model, edit.sample_id, edit.key),
            pixels=result["pixels"],
            width=result["width"],
            height=result["height"],
            file_bytes=result["file_bytes"],
            flags=tuple(result["flags"]),
            own_size=(*(result.get("own_size") or (0, 0)),),
            seconds=round(seconds, 4),
            device=device,
        )
        if digest := result.get("file_digest"):
            self._file_digests[made.pixels] = digest
        self._keep_edit(number, made)

    def _keep_edit(self, number: int, edit: Edit) -> None:
        self._directory.append("edits", {**edit_record(edit), "at": time.time()})
        self._clear_submission(edit.key)
        judged, ended = self._matrix.set_edit(number, edit), [number]
        for told in (
            self._matrix.critiques.dependents_of(number) if edit.status is Status.OK else ()
        ):  # earlier answers about it count
            self._tell(told, self._work.phase)
        if edit.status in NO_EDIT:
            ended += self._matrix.origins.fail_dependents(number)
            judged = self._judgements_of(ended)
        self._tell_ended(ended, judged)

    def _judgements_of(self, edits: Iterable[int]) -> list[Judgement]:
        about = dict.fromkeys(shown for edit in edits for shown in self._matrix.subjects_showing(edit))
        return [self._matrix.judgement(n) for subject in about for n in self._matrix.cells.judgements_of(subject)]

    def _tell_ended(self, ended: Sequence[int], judged: Sequence[Judgement]) -> None:
        for edit in ended:
            self._audience.edit(self._matrix.edits[edit])
        for judgement in judged:
            if judgement.status not in (Status.PENDING, Status.SKIPPED):  # what nobody asks for never ends
                self._audience.judgement(judgement)
        for edit in ended:
            self._work.settle(edit)
            for cell in self._about(edit):
                if not is_left(self._matrix, cell):  # some tasks may wait for its answer
                    self._work.settle(work_number(cell))

    def _about(self, number: int) -> list[int]:
        shown = self._matrix.subjects_showing(number)
        return [cell for subject in shown for cell in self._matrix.cells.cells_of_subject(subject)]

    def _record_answer(self, put: Put, task: Task, reply: Reply, result: AnswerResult) -> None:
        """Records an answer. It counts for its key, and so for all cells that have it, even if the picture that was
        shown has been made again since."""
        matrix, cell = self._matrix, put.cell
        if not put.counts or len(matrix.answers.replies_of(put.lookup)) != put.ask:
            return
        has = matrix.can_be_asked(cell) and matrix.lookup(cell) == put.lookup
        cells = matrix.record_reply(put.lookup, put.ask, reply)
        reading = matrix.reading(cell) if has else matrix.read(cell, matrix.answers.replies_of(put.lookup))
        record: Record = {
            "key": put.key,
            **where_of(matrix.address(cell)),
            "ask": put.ask,
            "text": reply.text,
            "values": dict(reply.values),
            "ended": reply.ended.value,
            "length": reply.length,
            "tokens": reply.tokens,
            "final": reply.final,
            "seconds": reply.seconds,
            "device": reply.device,
            "batch": len(task.units),
            "status": reading.status.value,
            "read": dict(reading.values),
            "at": time.time(),
        }
        if reply.normalised:
            record["normalised"] = True
        if "halved_to" in result:
            record["halved_to"] = result["halved_to"]
        self._directory.append("replies", record)
        if not has:
            self._ask_later(cell, task.phase)
        elif reading.status is Status.PENDING:
            self._work.add(task.model, [cell], phase=task.phase)
        for judgement in dict.fromkeys(map(matrix.cells.judgement_of, cells)):
            for told in matrix.critiques.edits_told(judgement):
                self._tell(told, task.phase)
        for ended in dict.fromkeys(later for cell in cells for later in (cell, *matrix.cells.dependents_of(cell))):
            if not is_left(matrix, ended):  # if it gave no answer, those that needed it get none
                self._work.settle(work_number(ended))
        for number in dict.fromkeys(map(matrix.cells.judgement_of, cells)):
            if (said := matrix.judgement(number)).status is not Status.PENDING:
                self._audience.judgement(said)

    def _tell(self, number: int, phase: int) -> None:
        """Applies a judge's answer to the edit that it instructs, or ends that edit if none is to be made."""
        before = self._matrix.edits[number].status
        edits, cells = self._find_affected(number)
        ended = self._matrix.critiques.apply_critique(number)
        if ended:
            self._tell_ended(ended, self._judgements_of(ended))
        elif before is not Status.PENDING and self._matrix.edits[number].status is Status.PENDING:
            self._add_edits(edits, cells if before is Status.OK else [], phase)

    def _find_affected(self, number: int) -> tuple[list[int], list[int]]:
        """Returns an edit and all that are kept because of it, and what is to be asked once more when they are others:
        what is answered."""
        edits = [number, *self._matrix.origins.copies_of(number)]
        every = (cell for edit in edits for cell in self._about(edit))
        return edits, [cell for cell in every if self._matrix.replies(cell) or not is_left(self._matrix, cell)]

    def _add_edits(self, edits: Sequence[int], cells: Sequence[int], phase: int) -> None:
        """Adds tasks for edits that are to be made once more, or kept, and for the questions about them."""
        for edit in edits:
            model = self._matrix.experiment.base_model_of(self._matrix.edits[edit].edit_model)
            self._work.add(f"edit:{model}", [edit], after=self._pending(edit_needs(self._matrix, edit)), phase=phase)
        for cell in cells:  # needed if the new picture differs
            self._ask_later(cell, phase)

    def _damage(self, cell: int, reason: str, task: Task, known: frozenset[int]) -> None:
        """Orders a changed picture to be made again, once, and all questions about it to be asked again.

        `known` has the edits found damaged before the task was ordered; one found since is no second damage.
        """
        matrix = self._matrix
        shown = {n: matrix.edits[n] for n in matrix.visible_edits_of(matrix.cells.about(cell))}
        was = {n: edit if edit.image else self._damaged.get(n, edit) for n, edit in shown.items()}
        edits = {matrix.critiques.edit_in_column(edit.made_in, n): edit.image for n, edit in was.items()}
        for number in [number for number, image in edits.items() if image in reason] or edits:
            is_there = matrix.edits[number].status is Status.OK
            if is_there and (number in known or number not in self._damaged):
                self._make_again(number, reason, task)
        if is_left(self._matrix, cell):
            self._ask_later(cell, task.phase)

    def _make_again(self, number: int, reason: str, task: Task) -> None:
        edit = self._matrix.edits[number]
        empty = replace(
            edit, status=Status.PENDING, reason=reason, image="", pixels="", width=0, height=0, file_bytes=0, flags=()
        )
        if number in self._damaged and not self._damaged[number].made_in:
            self._keep_edit(number, replace(empty, status=Status.EDIT_FAILED, reason=f"damaged twice: {reason}"))
            return
        edits, cells = self._find_affected(number)
        self._damaged |= {edit: self._matrix.edits[edit] for edit in edits}
        self._directory.append("edits", {**edit_record(empty), "at": time.time()})
        self._matrix.set_edit(number, empty)
        self._add_edits(edits, cells, task.phase)

    def _ask_later(self, cell: int, phase: int) -> None:
        """Adds a task for an unfinished question, to start once everything it needs has been made again."""
        if is_left(self._matrix, cell):
            model = f"judge:{self._matrix.judge_of(cell).name}"
            self._work.add(model, [cell], after=self._pending(self._needs(cell)), phase=phase)

    def _pending(self, needs: Iterable[int | None]) -> list[int]:
        """Returns those of these edits and cells that are still to come in this start."""
        matrix, first = self._matrix, work_number(0)
        return [
            need
            for need in needs
            if need is not None
            and need not in self._left
            and (is_left(matrix, need - first) if need >= first else matrix.edits[need].status is Status.PENDING)
        ]

    def tell(self, subjects: Iterable[int]) -> None:
        """Tells what is known of subjects that were not to be judged before: they may show what others have shown."""
        cells = self._matrix.cells
        for judgement in (self._matrix.judgement(n) for subject in subjects for n in cells.judgements_of(subject)):
            if judgement.status is not Status.PENDING:
                self._audience.judgement(judgement)

    def activity(self, device: str, kind: str, model: str, begin: float, end: float, what: str) -> None:
        """Records a stretch of a device's time, in seconds since this start began; `model` is the model's key."""
        if not what:
            self._estimates.add_span(kind, model, end - begin)
        role, _, name = model.partition(":")
        span = {"begin": round(begin, 4), "end": round(end, 4)}
        self.event("activity", device=device, kind=kind, model=name, **span, what=what, role=role)

    def event(self, name: str, **fields: Any) -> None:
        """Records any other event of the timeline."""
        self._directory.append("events", {"event": name, "start": self._directory.number, **fields})

    def sync(self) -> None:
        """Flushes everything to disk."""
        self._directory.sync()


def name_asking(key: str, ask: int) -> str:
    """Returns the name of an asking of a question: of its replies' key, after so many replies."""
    return f"{key} {ask}"


def is_edit(task: Task) -> bool:
    """True if the task is an edit, False if it is a batch of judgements."""
    return task.model.startswith("edit:")
