"""Between the engine and the records: what a worker is told about a task, and what is kept of its answer.

The engine knows tasks, the matrix knows edits and judgements; nothing is acknowledged before it is in the journal.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import Any, Protocol

from edit_eval.records import Answer, Edit, Judgement, Sample, Status
from edit_eval.scheduling.tasks import Task, Work
from edit_eval.store.matrix import Matrix, edit_record
from edit_eval.store.run_directory import RunDirectory


class Audience(Protocol):
    """Who is told what was recorded (the live progress)."""

    def edit(self, edit: Edit) -> None: ...
    def judgement(self, judgement: Judgement) -> None: ...


class Recorder:
    """Turns tasks into orders and results into records."""

    def __init__(
        self, matrix: Matrix, directory: RunDirectory, work: Work, audience: Audience, parser_version: int
    ) -> None:
        self._matrix, self._directory, self._work, self._audience = matrix, directory, work, audience
        self._parser_version = parser_version
        self._damaged: set[int] = set()
        self._left: set[int] = set()  # edits that are left for another start
        self._asked: dict[int, list[int]] = {}  # task -> the judgements that its worker was asked for
        work.in_vain = self.in_vain

    def in_vain(self, task: Task) -> bool:
        """Whether a batch has no judgement that is still to come, or one whose edit does not come in this start.

        The others of such a batch wait with it: a batch is asked whole.
        """
        if is_edit(task):
            return False
        if any(self._matrix.place(unit).edit in self._left for unit in task.units):
            return True
        return all(self._matrix.judgement(unit).status is not Status.PENDING for unit in task.units)

    def _judgeable(self, task: Task) -> list[int]:
        edits = self._matrix.edits
        return [unit for unit in task.units if edits[self._matrix.place(unit).edit].status is Status.OK]

    def _is_made_again(self, unit: int) -> bool:
        """Whether the picture that a judgement is about was found damaged: then all waits for another one."""
        return self._matrix.edits[self._matrix.place(unit).edit].status is Status.PENDING

    def about(self, task: Task) -> str:
        """The sample ids of a task, for people."""
        if is_edit(task):
            return self._matrix.edits[task.units[0]].sample_id
        return ", ".join(self._matrix.address(unit)[0] for unit in task.units)

    # -- orders --

    def order(self, task: Task) -> dict[str, Any]:
        """The message that tells a worker to do the task (see `edit_eval.workers.process`)."""
        if is_edit(task):
            number = task.units[0]
            edit, sample = self._matrix.edits[number], self._matrix.sample_of(number)
            output = self._directory.image_path(edit.edit_model, edit.sample_id, edit.key)
            output.parent.mkdir(parents=True, exist_ok=True)
            return {
                "do": "run",
                "task": task.number,
                "kind": "edit",
                "source": os.path.abspath(sample.source),
                "digest": digest_of(sample),
                "instruction": sample.instruction,
                "seed": edit.seed,
                "sample": sample.id,
                "output": os.path.abspath(output),
            }
        for unit in filter(self._is_made_again, task.units):
            self._judge_later(unit, task)
        asked = self._asked[task.number] = self._judgeable(task)
        requests = [self._request(unit) for unit in asked]
        return {"do": "run", "task": task.number, "kind": "judge", "requests": requests}

    def _request(self, unit: int) -> dict[str, Any]:
        place = self._matrix.place(unit)
        edit, sample = self._matrix.edits[place.edit], self._matrix.sample_of(place.edit)
        prompt = self._matrix.prompt(place.edit)
        if self._matrix.judgement(unit).status is Status.PENDING and self._matrix.answers[unit]:
            prompt = self._matrix.protocol.ask_again(prompt)
        return {
            "system": prompt.system,
            "user": prompt.user,
            "source": os.path.abspath(sample.source),
            "digest": digest_of(sample),
            "edited": os.path.abspath(self._directory.path / edit.image),
            "pixels": edit.pixels,
            "sample": sample.id,
            "edit_model": edit.edit_model,
            "instruction": sample.instruction,
            "category": sample.category,
            "form": self._matrix.protocol.form,
        }

    # -- results --

    def done(self, task: Task, message: dict[str, Any], device: str) -> None:
        """Keeps what a worker has made of a task; adds the tasks that follow from it."""
        results, seconds = message["results"], float(message["seconds"])
        if is_edit(task):
            self._edited(task.units[0], results[0], seconds, device)
            return
        judged = self._asked.pop(task.number)
        for unit, result in zip(judged, results, strict=True):
            if "damaged" in result:
                self._damage(unit, result["damaged"], task)
            else:
                ended, length = Status(result.get("ended") or "ok"), int(result.get("length") or 0)
                answer = Answer(result["text"], "", seconds / len(judged), device, ended=ended, length=length)
                self._answered(unit, task, answer, result)

    def failed(self, task: Task, reason: str, device: str) -> None:
        """Keeps that a task is given up for good: its edit failed, or its judge gave no answer."""
        for unit in task.units:
            if is_edit(task):
                self._keep_edit(unit, replace(self._matrix.edits[unit], status=Status.EDIT_FAILED, reason=reason))
            elif self._matrix.judgement(unit).status is Status.PENDING:
                self._answered(unit, task, Answer("", reason, 0.0, device, final=True), {})

    def attempt(self, task: Task, reason: str) -> None:
        """Keeps that an attempt failed and that another one follows."""
        if is_edit(task):
            edit = replace(self._matrix.edits[task.units[0]], reason=reason)
            self._directory.append("edits", {**edit_record(edit), "at": time.time()})

    def leave(self, task: Task) -> None:
        """The task is not done in this start, and stays pending, with all that waits for it."""
        if is_edit(task):
            self._left.update(task.units)
            for unit in task.units:
                self._work.settle(unit)

    def _edited(self, number: int, result: dict[str, Any], seconds: float, device: str) -> None:
        edit = self._matrix.edits[number]
        path = self._directory.image_path(edit.edit_model, edit.sample_id, edit.key)
        made = replace(
            edit,
            status=Status.OK,
            reason="",
            image=os.path.relpath(path, self._directory.path),
            pixels=result["pixels"],
            width=result["width"],
            height=result["height"],
            file_bytes=result["file_bytes"],
            flags=tuple(result["flags"]),
            seconds=round(seconds, 4),
            device=device,
        )
        self._keep_edit(number, made)

    def _keep_edit(self, number: int, edit: Edit) -> None:
        self._directory.append("edits", {**edit_record(edit), "at": time.time()})
        judged = self._matrix.set_edit(number, edit)
        self._audience.edit(edit)
        for judgement in judged:
            self._audience.judgement(judgement)
        self._work.settle(number)

    def _answered(self, unit: int, task: Task, answer: Answer, result: dict[str, Any]) -> None:
        if self._matrix.judgement(unit).status is not Status.PENDING:
            return  # it only kept the others of its batch company
        if self._is_made_again(unit):
            return self._judge_later(unit, task)
        ask = len(self._matrix.answers[unit])
        judgement = self._matrix.add_answer(unit, answer)
        sample, edit_model, edit_seed, judge, repeat = self._matrix.address(unit)
        record: dict[str, Any] = {
            "key": judgement.key,
            "sample": sample,
            "edit_model": edit_model,
            "edit_seed": edit_seed,
            "judge": judge,
            "repeat": repeat,
            "ask": ask,
            "text": answer.text,
            "ended": answer.ended.value,
            "length": answer.length,
            "error": answer.error,
            "final": answer.final,
            "seconds": round(answer.seconds, 4),
            "device": answer.device,
            "batch": len(task.units),
            "parser": self._parser_version,
            "status": judgement.status.value,
            "score": judgement.score,
            "at": time.time(),
        }
        if "halved_to" in result:
            record["halved_to"] = result["halved_to"]
        self._directory.append("judgements", record)
        if judgement.status is Status.PENDING:
            self._work.add(task.model, [unit], phase=task.phase)
        else:
            self._audience.judgement(judgement)

    def _damage(self, unit: int, reason: str, task: Task) -> None:
        """A picture is no longer what it was: it is made again, once, and judged again."""
        number = self._matrix.place(unit).edit
        if self._matrix.edits[number].status is Status.OK:  # no other judgement has found it before
            self._make_again(number, reason, task)
        if self._is_made_again(unit):
            self._judge_later(unit, task)

    def _make_again(self, number: int, reason: str, task: Task) -> None:
        edit = self._matrix.edits[number]
        empty = replace(
            edit, status=Status.PENDING, reason=reason, image="", pixels="", width=0, height=0, file_bytes=0, flags=()
        )
        if number in self._damaged:
            self._keep_edit(number, replace(empty, status=Status.EDIT_FAILED, reason=f"damaged twice: {reason}"))
            return
        self._damaged.add(number)
        self._directory.append("edits", {**edit_record(empty), "at": time.time()})
        answered = [unit for unit in self._matrix.judgements_of(number) if self._matrix.answers[unit]]
        self._matrix.set_edit(number, empty)
        self._work.add(f"edit:{edit.edit_model}", [number], phase=task.phase)
        for unit in answered:  # needed if the new picture is another one
            self._judge_later(unit, task)

    def _judge_later(self, unit: int, task: Task) -> None:
        """Has a judgement made as soon as its edit has been made again."""
        place = self._matrix.place(unit)
        if place.edit in self._left:
            return
        judge = f"judge:{self._matrix.judges[place.judge].name}"
        self._work.add(judge, [unit], after=[place.edit], phase=task.phase)

    def activity(self, device: str, kind: str, model: str, begin: float, end: float, what: str) -> None:
        """Keeps a stretch of a device's time, in seconds since this start began; `model` is the model's key."""
        role, _, name = model.partition(":")
        span = {"begin": round(begin, 4), "end": round(end, 4)}
        self.event("activity", device=device, kind=kind, model=name, **span, what=what, role=role)

    def event(self, name: str, **fields: Any) -> None:
        """Keeps anything else that belongs on the timeline."""
        self._directory.append("events", {"event": name, "start": self._directory.number, **fields})

    def sync(self) -> None:
        """Has the disk keep all of it."""
        self._directory.sync()


def digest_of(sample: Sample) -> str:
    """What a worker is to find a source's file to be; empty where a benchmark of the user's own has no such thing."""
    return sample.source_digest if len(sample.source_digest) == 64 else ""


def is_edit(task: Task) -> bool:
    """Whether the task is an edit; otherwise it is a batch of judgements."""
    return task.model.startswith("edit:")
