"""Fills a matrix from a run's journals; converts edits to journal lines, and checks that their pictures are intact."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

from edit_eval.errors import PictureError, RunDirectoryError
from edit_eval.records import LONGEST, NO_EDIT, Edit, Reply, Status, no_garbage
from edit_eval.store.answers import Answers, Lookup
from edit_eval.store.journal import Lines, Record
from edit_eval.store.matrix import OK, PENDING, Matrix
from edit_eval.store.run_directory import RunDirectory
from edit_eval.text import Text

T = TypeVar("T")
Tokens = Annotated[int, msgspec.Meta(ge=0, le=2**53)]

ADDRESS = ("sample", "edit_model", "edit_seed", "judge", "repeat", "question", "reading", "other")
"""Fields of a reply's line that form its address; the last one only if two edits were shown."""


_NO_VALUES: dict[str, float] = {}  # shared by all replies without values


class ReplyLine(msgspec.Struct):
    """A reply's line in the journal: its key, its address, and the reply."""

    key: str
    """SHA-256 of everything that decides the reply: judge, texts and pictures of the question, seed. It has no name in
    it."""
    sample: str
    """With the next fields for what it was asked first; it counts for all that have its key."""
    edit_model: str
    """`control:NAME` for a control, and `control:rewrite` if there was no edit yet."""
    edit_seed: int
    judge: str
    repeat: int
    """Number of the repeat, from 0."""
    question: str
    """Name of the question."""
    reading: int
    """Number of the reading, from 0."""
    ask: int
    """How often the question was asked before: 0, then 1, ... After `--retry` it is 0 again, and earlier replies no
    longer count."""
    text: str
    """The words as they came; if the judge failed, why."""
    seconds: Annotated[float, msgspec.Meta(ge=0, le=LONGEST)]
    """Time of the batch divided by its members."""
    device: str
    """Where it ran."""
    ended: Status = OK
    """`ok`, `cut_off`, `refused`, or `judge_error`."""
    final: bool = False
    """True if the question will not be asked again."""
    values: dict[str, float] = {}
    """Numbers, measured, or probabilities by label."""
    normalised: bool = False
    """True if a server divided the probabilities by their sum, so their mass is unknown."""
    length: int = 0
    """Characters of the whole reply if `text` is only its beginning, else 0."""
    tokens: tuple[Tokens, Tokens] = (0, 0)
    """Tokens read and written, as the judge's server counted them; zeros if it does not say."""
    other: str = ""
    """The second edit model, if two edits were shown."""

    @property
    def address(self) -> tuple[object, ...]:
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
def load_journals(
    matrix: Matrix,
    edits: Iterable[Record],
    replies: Iterable[Record],
    folder: Path,
    retry: Callable[[Status], bool],
    *,
    verify: bool = False,
) -> list[str]:
    """Fills the matrix from the journals of a run in `folder`. Returns notes, one line per kind of problem.

    An edit counts only if its picture has the recorded size, and with `verify` only if it has the recorded pixels.
    Failures for whose status `retry` is true are forgotten, so that they are tried again.
    """
    fresh = "edits" not in vars(matrix)  # then each edit is built only once: as recorded, or new
    count = matrix.cells.edits
    if fresh:
        pending = [number for number in range(count) if matrix.find_obstacle(number) is None]
    else:
        pending = [number for number in range(count) if matrix.edits[number].status is PENDING]
    numbers = _Numbers((matrix.edit_keys[number], number) for number in pending)
    last = {edit.key: edit for edit in as_kind(edits, Edit) if edit.key in numbers.first}
    made = {key: edit for key, edit in last.items() if edit.status is OK}
    there = {key: edit for key, edit in made.items() if is_there(edit, folder)}
    altered = find_altered_pictures(there.values(), folder) if verify else {}
    recalled: dict[int, Edit] = {}
    for key, edit in last.items():
        if key in altered or (key not in there and (edit.status not in NO_EDIT or retry(edit.status))):
            continue
        for number in numbers.numbers_of(key):
            model, edit_seed, sample = matrix.edit_parts(number)
            if (edit.sample_id, edit.edit_model, edit.edit_seed) != (sample.id, model.name, edit_seed):
                edit = replace(edit, sample_id=sample.id, edit_model=model.name, edit_seed=edit_seed)
            recalled[number] = edit
    if fresh:
        matrix.edits = [recalled.get(number) or matrix.new_edit(number) for number in range(count)]
    for number, edit in recalled.items():
        matrix.edits[number] = edit
    for number in (n for n, edit in enumerate(matrix.edits) if edit.status in NO_EDIT):
        matrix.origins.fail_dependents(number)
    matrix.retry = retry
    _load_replies(matrix, replies)
    matrix.critiques.apply_critiques()
    if matrix.critiques.any:
        matrix.forget_failures(range(len(matrix.cells)))  # what is said of kept edits is known only now
    matrix.unfold_more()
    for number in range(matrix.cells.judgements):
        matrix.judgement(number)  # here, while garbage collection is off: these are a million objects
    noticed: list[str] = []
    if missing := len(made) - len(there):
        noticed.append(Text("{} missing or of the wrong size: made again", _pictures(missing)))
    if altered:
        noticed.append(
            Text("{} not what was recorded ({}): made again", _pictures(len(altered)), min(altered.values()))
        )
    return noticed


def load_run_journals(
    matrix: Matrix, run: RunDirectory, retry: Callable[[Status], bool] = lambda status: False, *, verify: bool = False
) -> list[str]:
    """Calls `recall` with the journals of a run."""
    return load_journals(matrix, run.read("edits"), run.read("replies"), run.path, retry, verify=verify)


def _load_replies(matrix: Matrix, replies: Iterable[Record]) -> None:
    """Takes in all replies but the failing ones that are to be retried."""
    try:
        for segment in _segments(replies):
            seen = set[Hashable]()  # in one start nothing is asked twice
            for line in segment:
                lookup = lookup_of(line, matrix)
                asked = (lookup, line.ask) if line.ask else lookup
                if asked in seen and not _is_repeated(line, matrix.answers.replies_of(lookup)):
                    raise _AskedTwice
                seen.add(asked)
                matrix.record_reply(lookup, line.ask, line.reply)
    except _AskedTwice:
        matrix.replace_answers(_AnswersByAddress(matrix))
        if isinstance(replies, Lines):
            replies.rewind()
        for line in chain.from_iterable(_segments(replies)):
            matrix.record_reply(lookup_of(line, matrix), line.ask, line.reply)
    matrix.forget_failures(range(len(matrix.cells)))


def lookup_of(line: ReplyLine, matrix: Matrix) -> Lookup:
    """Returns where a line's reply is put (`Matrix.lookup`)."""
    return (line.key, line.address) if isinstance(matrix.answers, _AnswersByAddress) else line.key


def _segments(replies: Iterable[Record]) -> Iterable[Iterable[ReplyLine]]:
    return replies.read_segments(ReplyLine) if isinstance(replies, Lines) else [as_kind(replies, ReplyLine)]


def _is_repeated(line: ReplyLine, replies: Sequence[Reply]) -> bool:
    was = replies[line.ask : line.ask + 1]
    return bool(was) and (was[0].text, was[0].values, was[0].ended) == (line.text, line.values, line.ended)


class _AskedTwice(Exception):
    """One start has asked the same about several cells, each for itself, and the answers differ."""


class _AnswersByAddress(Answers):
    """The answers of a run that was made when each cell was asked for itself: those to its address, or else any."""

    def __init__(self, matrix: Matrix) -> None:
        super().__init__()
        self._matrix = matrix
        self._any: dict[Hashable, Lookup] = {}

    def lookup(self, key: str, cell: int) -> Lookup:
        return key, self._matrix.address(cell)

    def record_reply(self, lookup: Lookup, ask: int, reply: Reply) -> None:
        super().record_reply(lookup, ask, reply)
        self._any.setdefault(lookup[0], lookup)

    def replies_of(self, lookup: Lookup) -> Sequence[Reply]:
        return super().replies_of(lookup) or super().replies_of(self._any.get(lookup[0], ""))


def refuse_to_resume(matrix: Matrix, folder: Path) -> None:
    """Raises `RunDirectoryError` if there is work left in a run whose equal questions have several answers each."""
    if isinstance(matrix.answers, _AnswersByAddress) and matrix.pending:
        raise RunDirectoryError(
            Text(
                "{}: an earlier edit-eval asked some of its questions several times, and got different answers; it can "
                "be read, but not be gone on with: give --run-dir another folder, and --reuse {}",
                folder,
                folder,
            )
        )


class _Numbers:
    """Numbers of edits or cells by key. Equal keys are rare, so a single number gets no list."""

    def __init__(self, keyed: Iterable[tuple[str, int]]) -> None:
        self.first: dict[str, int] = {}
        self.others: dict[str, list[int]] = {}
        for key, number in keyed:
            if self.first.setdefault(key, number) != number:
                self.others.setdefault(key, []).append(number)

    def numbers_of(self, key: str) -> list[int]:
        """Returns all numbers with that key, in order."""
        return [self.first[key], *self.others.get(key, ())]


def as_kind(lines: Iterable[Record], kind: type[T]) -> Iterator[T]:
    """Yields each line as a `kind`; lines of a journal are decoded to it directly."""
    return lines.decode_lines(kind) if isinstance(lines, Lines) else (msgspec.convert(line, kind) for line in lines)


def _pictures(count: int) -> str:
    return Text("1 picture is") if count == 1 else Text("{} pictures are", count)


def is_there(edit: Edit, folder: Path) -> bool:
    """True if the picture of a recorded edit is in the run in `folder`, with the recorded size.

    Records are not trusted, since run directories are shared: a path that leads outside counts as missing.
    """
    if not edit.image.startswith("images/") or "/../" in edit.image:
        return False
    return has_size(f"{folder}/{edit.image}", edit.file_bytes)


def has_size(path: str | Path, size: int) -> bool:
    """True if the file exists with exactly that many bytes."""
    try:
        return os.stat(path).st_size == size
    except OSError:
        return False


def where_of(address: tuple[object, ...]) -> Record:
    """Returns an address (see `Matrix.address`) as fields of a journal line."""
    where = dict(zip(ADDRESS, address, strict=True))
    return where if where["other"] else {name: value for name, value in where.items() if name != "other"}


def edit_record(edit: Edit) -> Record:
    """Returns an edit as a line of the journal."""
    record = {name: getattr(edit, name) for name in Edit.__dataclass_fields__ if name != "made_in"}
    for name in ("instruction", "own_size"):
        if not any(record[name]):
            del record[name]
    return {**record, "status": edit.status.value, "flags": list(edit.flags)}


def find_altered_pictures(edits: Iterable[Edit], folder: Path) -> dict[str, str]:
    """Finds pictures in `folder` that differ from what was recorded; returns what is wrong, by the edit's key.

    Takes about 0.1 s per megapixel and core, and holds one picture per core in memory.
    """
    from concurrent.futures import ThreadPoolExecutor

    from edit_eval.pictures import open_picture, pixel_digest

    def fault(edit: Edit) -> tuple[str, str]:
        try:
            pixels = pixel_digest(open_picture(folder / edit.image))
        except PictureError as error:
            return edit.key, str(error)
        return edit.key, "" if pixels == edit.pixels else Text("{}: the pixels differ from those recorded", edit.image)

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return {key: wrong for key, wrong in threads.map(fault, edits) if wrong}
