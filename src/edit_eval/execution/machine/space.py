"""Explains why a disk can no longer be written, and how much space the rest of a run needs."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from edit_eval.records import Status
from edit_eval.store.matrix import Matrix
from edit_eval.text import Text, pluralize

BYTES_A_JUDGEMENT = 2_000  # a journal's line with an answer of some words
SPARE = 1.2  # pictures differ in size
SHORT_OF = {
    errno.EMFILE: "this process may open no more files; `ulimit -n` raises the limit",
    errno.ENFILE: "this machine can open no more files",
    errno.EAGAIN: "no more processes can be started; `ulimit -u` raises the limit, unless a container sets it",
    errno.ENOMEM: "this machine has no memory for another process",
}
"""What the machine lacks when a process cannot be started, and what to do."""


def what_is_short(number: int | None, matrix: Matrix, folder: Path) -> str:
    """Returns one line: what `folder` lacks, or how much space the rest needs. `number` is the failure's `errno`."""
    if number in SHORT_OF:
        return SHORT_OF[number]
    if number == errno.ENOENT:
        return Text("if it was moved, give its new location as `--run-dir`")
    try:
        place = os.statvfs(folder)
    except OSError:
        return space_needed(matrix, folder)
    if number == errno.EROFS or place.f_flag & os.ST_RDONLY:
        return Text("its file system is read-only: mount it for writing, or copy the run to another disk")
    if place.f_files and not place.f_favail:
        return Text("its file system can hold no more files, whatever their size (`df -i`): remove some")
    return space_needed(matrix, folder)


def space_needed(matrix: Matrix, folder: Path) -> str:
    """Returns one line: how many edits and judgements are left, about how much space they need, and what is free.

    An edit is assumed to be as large as the mean of those made, or as its source if none is.
    """
    sizes = [edit.file_bytes for edit in matrix.edits if edit.status is Status.OK]
    left = [number for number, edit in enumerate(matrix.edits) if edit.status is Status.PENDING]
    if sizes:
        pictures = len(left) * sum(sizes) / len(sizes)
    else:
        pictures = float(sum(_size(matrix.sample_of(number).source) for number in left))
    judgements = sum(judgement.status is Status.PENDING for judgement in matrix.judgements())
    needed = SPARE * pictures + BYTES_A_JUDGEMENT * judgements
    free: str
    try:
        free = Text("; {} are free", _format_size(shutil.disk_usage(folder).free))
    except OSError:
        free = ""
    what = Text("{} and {}", pluralize(len(left), "edit"), pluralize(judgements, "judgement"))
    return Text("the remaining {} need about {}{}", what, _format_size(needed), free)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _format_size(size: float) -> str:
    unit, factor = next(((u, f) for u, f in (("kB", 1e3), ("MB", 1e6)) if size < 1000 * f), ("GB", 1e9))
    return f"{size / factor:.1f} {unit}"
