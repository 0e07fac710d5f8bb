"""From the lines of a run's journals to what a matrix knows; an edit as such a line, and whether its picture is it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import msgspec

from edit_eval.errors import PictureError
from edit_eval.pictures import open_picture, pixel_digest
from edit_eval.records import EDIT_LOST, NO_EDIT, Edit, Reply, Status
from edit_eval.store.journal import Lines, Record, no_garbage
from edit_eval.store.matrix import OK, PENDING, Matrix
from edit_eval.store.run_directory import RunDirectory
from edit_eval.text import Text

T = TypeVar("T")

ADDRESS = ("sample", "edit_model", "edit_seed", "judge", "repeat", "question", "reading", "other")
"""The fields of a reply's line that say to whom it was given; the last of them only where two edits were shown."""


_NO_VALUES: dict[str, float] = {}  # one for all replies without any


class ReplyLine(msgspec.Struct):
    """A reply as the journal has it: its key, to whom it was given, and the reply."""

    key: str
    sample: str
    edit_model: str
    edit_seed: int
    judge: str
    repeat: int
    question: str
    reading: int
    ask: int
    text: str
    seconds: float
    device: str
    ended: Status = OK
    final: bool = False
    values: dict[str, float] = {}
    normalised: bool = False
    length: int = 0
    tokens: tuple[int, int] = (0, 0)
    other: str = ""

    @property
    def to(self) -> tuple[object, ...]:
        """The address (see `Matrix.address`)."""
        about = self.sample, self.edit_model, self.edit_seed
        return *about, self.judge, self.repeat, self.question, self.reading, self.other

    @property
    def reply(self) -> Reply:
        """The reply."""
        return Reply(
            text=self.text,
            values=self.values or _NO_VALUES,
            normalised=self.normalised,
            ended=self.ended,
            final=self.final,
            seconds=self.seconds,
            device=self.device,
            length=self.length,
            tokens=self.tokens,
        )


@no_garbage()
def recall(
    matrix: Matrix,
    edits: Iterable[Record],
    replies: Iterable[Record],
    folder: Path,
    retry: Callable[[Status], bool],
    *,
    verify: bool = False,
) -> list[str]:
    """Takes in what the journals of a run in `folder` say. Returns what was noticed: one line a kind of trouble.

    An edit counts only if its picture is there with the size that was recorded, and with `verify` only if its pixels
    are those that were recorded. `retry` tells which failures are to be forgotten, so that they are tried again.
    """
    fresh = "edits" not in vars(matrix)  # then each is made once: as it was recorded, or anew
    count = matrix.cells.edits
    if fresh:
        pending = [number for number in range(count) if not matrix.samples[number % len(matrix.samples)].fault]
    else:
        pending = [number for number in range(count) if matrix.edits[number].status is PENDING]
    numbers = _Numbers((matrix.edit_keys[number], number) for number in pending)
    last = {edit.key: edit for edit in as_kind(edits, Edit) if edit.key in numbers.first}
    made = {key: edit for key, edit in last.items() if edit.status is OK}
    there = {key: edit for key, edit in made.items() if is_there(edit, folder)}
    altered = altered_pictures(there.values(), folder) if verify else {}
    recalled: dict[int, Edit] = {}
    for key, found in last.items():
        if key in altered or (key not in there and (found.status not in NO_EDIT or retry(found.status))):
            continue
        for number in numbers.of(key):
            model, edit_seed, sample = matrix.edit_parts(number)
            if (found.sample_id, found.edit_model, found.edit_seed) != (sample.id, model.name, edit_seed):
                found = replace(found, sample_id=sample.id, edit_model=model.name, edit_seed=edit_seed)
            recalled[number] = found
    if fresh:
        matrix.edits = [recalled.get(number) or matrix.new_edit(number) for number in range(count)]
    for number, edit in recalled.items():
        matrix.edits[number] = edit
    for number in (n for n, edit in recalled.items() if edit.status in NO_EDIT):
        matrix.fail_followers(number)
    _recall_replies(matrix, replies, retry)
    matrix.tell_all()
    for number in range(matrix.cells.judgements):
        matrix.judgement(number)  # all at once, while nobody looks for garbage among a million objects
    matrix.look()
    noticed: list[str] = []
    if missing := len(made) - len(there):
        noticed.append(Text("{} missing or of the wrong size: made again", _pictures(missing)))
    if altered:
        noticed.append(
            Text("{} not what was recorded ({}): made again", _pictures(len(altered)), min(altered.values()))
        )
    return noticed


def recall_run(
    matrix: Matrix, run: RunDirectory, retry: Callable[[Status], bool] = lambda status: False, *, verify: bool = False
) -> list[str]:
    """Takes in what the journals of a run say, as `recall` does."""
    return recall(matrix, run.read("edits"), run.read("replies"), run.path, retry, verify=verify)


def _recall_replies(matrix: Matrix, replies: Iterable[Record], retry: Callable[[Status], bool]) -> None:
    """Gives each cell the replies that were given to it, and for want of those, those that an equal one was given."""
    cells = matrix.cells
    shown = [edit for edit in range(cells.everything) if matrix.is_there(edit)]
    asked = [cell for edit in shown if not matrix.sample_of(edit).fault for cell in cells.cells_of_edit(edit)]
    dependent = [cell for cell in asked if cells.before(cell)] if _has_dependent_questions(matrix) else []
    waiting = set(dependent)
    numbers = _Numbers((matrix.key(cell), cell) for cell in asked if cell not in waiting)
    given: dict[str, dict[tuple[object, ...], list[Reply]]] = {}
    # Replies about pictures that are not there any more count again when the same pictures are made again.
    waits = bool(waiting) or any(edit.status is PENDING for edit in matrix.edits)
    for line in as_kind(replies, ReplyLine):
        key = line.key
        cell = numbers.first.get(key)
        if cell is not None and key not in numbers.others and line.to == matrix.address(cell):
            so_far = matrix.replies[cell]  # as nearly all are
        elif cell is not None:
            so_far = given.setdefault(key, {}).setdefault(line.to, [])
        elif waits:
            so_far = matrix.aside.setdefault(key, {}).setdefault(line.to, [])
        else:
            continue
        if line.ask == 0:  # asked anew (`--retry`): what was said before is forgotten here as it was then
            so_far.clear()
        elif line.ask > len(so_far):  # what came before it had been given to an equal cell
            equal = {**given.get(key, {}), **matrix.aside.get(key, {})}
            so_far[:] = next((said for to, said in equal.items() if to != line.to), so_far)[: line.ask]
        so_far.append(line.reply)
    for key, by_address in given.items():
        for cell in numbers.of(key):
            if not matrix.replies[cell]:
                matrix.replies[cell].extend(_mine(matrix, cell, by_address))
    for cell in dependent:  # in their order: each comes after those that it depends on
        there = matrix.aside.get(matrix.key(cell)) if matrix.can_be_asked(cell) else None
        if there:
            matrix.replies[cell].extend(_mine(matrix, cell, there))
    for cell in asked:
        status = matrix.reading(cell).status
        if status in (OK, PENDING) or not matrix.replies[cell]:
            continue
        # Without a critique there is no edit: who wants that again wants the critique.
        tells = matrix.told_of(matrix.cells.judgement_of(cell))
        if retry(status) or (tells and retry(EDIT_LOST[0])):
            matrix.forget_replies(cell)


def _has_dependent_questions(matrix: Matrix) -> bool:
    samples = range(len(matrix.samples))
    of_judges = matrix.experiment.asked.values()
    return any(one.question.after for asked in of_judges for sample in samples for one in asked[sample])


def _mine(matrix: Matrix, cell: int, by_address: Mapping[tuple[object, ...], list[Reply]]) -> list[Reply]:
    return by_address.get(matrix.address(cell)) or next(iter(by_address.values()))


class _Numbers:
    """The numbers of edits or cells, by their keys. Equal keys are rare: no list is made for a single number."""

    def __init__(self, keyed: Iterable[tuple[str, int]]) -> None:
        self.first: dict[str, int] = {}
        self.others: dict[str, list[int]] = {}
        for key, number in keyed:
            if self.first.setdefault(key, number) != number:
                self.others.setdefault(key, []).append(number)

    def of(self, key: str) -> list[int]:
        """All numbers with that key, in their order."""
        return [self.first[key], *self.others.get(key, ())]


def as_kind(lines: Iterable[Record], kind: type[T]) -> Iterator[T]:
    """Each line as a `kind`; those of a journal are read as such at once."""
    return lines.of(kind) if isinstance(lines, Lines) else (msgspec.convert(line, kind) for line in lines)


def _pictures(count: int) -> str:
    return Text("1 picture is") if count == 1 else Text("{} pictures are", count)


def is_there(edit: Edit, folder: Path) -> bool:
    """Whether the picture of a recorded edit is in the run in `folder`, with the size that was recorded.

    A record is a stranger's text as soon as run directories are handed around: a path that leads elsewhere counts as
    none.
    """
    if not edit.image.startswith("images/") or "/../" in edit.image:
        return False
    return has_size(f"{folder}/{edit.image}", edit.file_bytes)


def has_size(path: str | Path, size: int) -> bool:
    """Whether the file is there with exactly that many bytes."""
    try:
        return os.stat(path).st_size == size
    except OSError:
        return False


def where_of(address: tuple[object, ...]) -> Record:
    """An address (see `Matrix.address`) as fields of a line of the journal."""
    where = dict(zip(ADDRESS, address, strict=True))
    return where if where["other"] else {name: one for name, one in where.items() if name != "other"}


def edit_record(edit: Edit) -> Record:
    """An edit as a line of the journal."""
    record = {name: getattr(edit, name) for name in Edit.__dataclass_fields__}
    if not edit.instruction:
        del record["instruction"]
    return {**record, "status": edit.status.value, "flags": list(edit.flags)}


def altered_pictures(edits: Iterable[Edit], folder: Path) -> dict[str, str]:
    """The pictures in `folder` that are not what their edits recorded: the edit's key -> what is wrong.

    Takes about 0.1 s a megapixel and core; one picture a core is in memory.
    """

    def fault(edit: Edit) -> tuple[str, str]:
        try:
            found = pixel_digest(open_picture(folder / edit.image))
        except PictureError as error:
            return edit.key, str(error)
        return edit.key, "" if found == edit.pixels else Text("{}: the pixels differ from those recorded", edit.image)

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return {key: wrong for key, wrong in threads.map(fault, edits) if wrong}
