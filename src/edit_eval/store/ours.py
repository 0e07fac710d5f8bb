"""What in a run directory is ours: the mark by which it is known, and the names of all that edit-eval writes there.

Nothing is deleted in a folder without the mark, and in one with it nothing that has no such name.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from edit_eval.pictures import TEMPORARY, write_durably
from edit_eval.text import Text

MARK = "edit-eval-run.txt"
_MARKED = b"edit-eval run 6f1d2c0a9b7e4e53\n"
_TEXT = _MARKED + b"This folder was made by edit-eval. `edit-eval gc` deletes only in folders with this file.\n"
_JOURNAL = r"\d+\.jsonl"
_WRITTEN = {
    MARK: None,
    "lock": None,
    "holder.json": None,
    "live.json": None,
    "shards": r"\d+-of-\d+\.(lock|json|entered)|loading-\d+\.lock",
    "config": r"\d+\.(yaml|json)",
    "environment": r"\d+\.json",
    "samples": _JOURNAL,
    "edits": _JOURNAL,
    "replies": _JOURNAL,
    "events": _JOURNAL,
    "votes": rf"(pages/)?{_JOURNAL}",
    "images": r"[^/]+/[^/]+-[0-9a-f]{12}\.[a-z0-9]{2,4}",
    "logs": r"(edit|judge)-[^/]+\.log",
    "report": r"index\.html|audit\.html|summary\.json|passport\.json|scores\.csv|replies\.jsonl|report\.md"
    r"|thumbnails/[0-9a-f]{32}\.webp|(thumbnails/)?\..+\.\d+\.tmp",
    "passports": r"(anchors/)?[^/]+\.json",
    "trackers": r"[^/]+\.json",
    "anchors": r"\d+/\d+/(?P<run>.+)",
}
"""What lies in a run directory -> what is written beneath it; None for a file."""
OURS = frozenset(_WRITTEN)


def mark(run: Path) -> None:
    """Marks a folder that was just made for a run. Raises `OSError`."""
    write_durably(_TEXT, run / MARK)


def is_marked(run: Path) -> bool:
    """Whether edit-eval made this folder, for a run. A link is no mark."""
    try:
        with open(run / MARK, "rb", opener=_no_link) as file:
            return file.read(len(_MARKED)) == _MARKED
    except OSError:
        return False


def _no_link(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(Text("{} is not a file", path))
    return descriptor


def is_written_by_us(name: str) -> bool:
    """Whether a file of this name, relative to a run directory, is one that edit-eval writes."""
    top, _, rest = name.partition("/")
    if top not in _WRITTEN:
        return not rest and bool(TEMPORARY.fullmatch(top))
    pattern = _WRITTEN[top]
    if pattern is None or not rest:
        return pattern is None and not rest
    if TEMPORARY.fullmatch(rest.rpartition("/")[2]):
        return True
    found = re.fullmatch(pattern, rest, re.DOTALL)
    return found is not None and (top != "anchors" or is_written_by_us(found["run"]))


def files_within(run: Path) -> tuple[list[Path], int]:
    """The files of a run that we wrote, the mark last; and how many others are in it. No link is followed."""
    ours, others = [], 0
    for parent, folders, names in os.walk(run):
        linked = [name for name in folders if os.path.islink(os.path.join(parent, name))]
        for name in (*names, *linked):
            path = Path(parent, name)
            if name not in linked and is_written_by_us(path.relative_to(run).as_posix()):
                ours.append(path)
            else:
                others += 1
    return sorted(ours, key=lambda path: (path.name == MARK and path.parent == run, path)), others


def folders_left(run: Path, gone: Sequence[Path]) -> Iterator[Path]:
    """The folders that files which are gone were in, and those that we make; the innermost first, the run last."""
    inner = {folder for path in gone for folder in path.parents if folder.is_relative_to(run)}
    inner |= {run / name for name, beneath in _WRITTEN.items() if beneath is not None} | {run}
    yield from sorted(inner, key=lambda folder: (-len(folder.parts), folder))


def remove_empty(folders: Iterator[Path]) -> None:
    """Removes those of the folders that are empty by now."""
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()
