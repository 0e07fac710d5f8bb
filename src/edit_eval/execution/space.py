"""How much room on the disk the rest of a run needs, for the one moment when somebody must know it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from edit_eval.records import Status, counted
from edit_eval.store.matrix import Matrix

BYTES_A_JUDGEMENT = 2_000  # of a journal's line with an answer of some words
SPARE = 1.2  # pictures differ in size


def space_needed(matrix: Matrix, folder: Path) -> str:
    """One line: how many edits and judgements are left, about how much they need in `folder`, and what is free.

    An edit is taken to be as large as those that are there, or as its source where there is none.
    """
    sizes = [edit.file_bytes for edit in matrix.edits if edit.status is Status.OK]
    left = [number for number, edit in enumerate(matrix.edits) if edit.status is Status.PENDING]
    if sizes:
        pictures = len(left) * sum(sizes) / len(sizes)
    else:
        pictures = float(sum(_size(matrix.sample_of(number).source) for number in left))
    judgements = sum(judgement.status is Status.PENDING for judgement in matrix.judgements())
    needed = SPARE * pictures + BYTES_A_JUDGEMENT * judgements
    try:
        free = f"; {_shown(shutil.disk_usage(folder).free)} are free"
    except OSError:
        free = ""
    what = f"{counted(len(left), 'edit')} and {counted(judgements, 'judgement')}"
    return f"the {what} that are left need about {_shown(needed)}{free}"


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _shown(size: float) -> str:
    unit, factor = next(((u, f) for u, f in (("kB", 1e3), ("MB", 1e6)) if size < 1000 * f), ("GB", 1e9))
    return f"{size / factor:.1f} {unit}"
