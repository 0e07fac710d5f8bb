"""Files written so that a crash leaves all of them or nothing, under names that every file system takes.

Standard library only: workers in foreign environments import this file, and so does who reads a run, without Pillow.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import time
import unicodedata
from pathlib import Path

TEMPORARY_PREFIX = ".tmp-"
"""Prefix of the name of a file that is still being written."""
TEMPORARY = re.compile(r"\.tmp-(\d+-.+|[0-9a-f]{12})", re.DOTALL)
"""Full names of such files, which go on with a process id or a token: only files with such a name are ever swept."""


def write_durably(data: bytes | memoryview, path: str | os.PathLike[str]) -> None:
    """Writes a file by temporary name, sync, rename and sync of its folder, which is created if needed.

    After a crash the file has all of `data`, or is as it was before. Raises `OSError`.
    """
    target = Path(path)
    folder = target.parent
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        sync_folder(folder.parent)
    temporary = folder / f"{TEMPORARY_PREFIX}{os.getpid()}-{secrets.token_hex(6)}"
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Makes new names in a folder durable. Some network file systems cannot, and that is accepted."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return
    try:
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sweep_temporary(folder: str | os.PathLike[str], *, older_than: float = 0.0) -> int:
    """Removes files left by killed writers in a folder and its subfolders; returns their number.

    `older_than` (seconds since the last change) spares the files of writers that are still at work. A folder that does
    not exist counts as empty.
    """
    removed = 0
    latest = time.time() - older_than
    for parent, _, names in os.walk(folder):
        for name in names:
            if not TEMPORARY.fullmatch(name):
                continue
            path = os.path.join(parent, name)
            with contextlib.suppress(FileNotFoundError):  # its writer may just have renamed it
                if older_than <= 0 or os.lstat(path).st_mtime < latest:
                    os.unlink(path)
                    removed += 1
    return removed


def slug(text: str, limit: int = 60) -> str:
    """Returns a file name in which a person recognises `text`: letters, marks and digits of any script, `.`, `_`, `-`.

    At most `limit` characters and 120 bytes of UTF-8; never empty, never hidden, never `.` or `..`. Different texts may
    have the same slug: append a digest to tell them apart.
    """
    kept = (
        character if character in "._-" or unicodedata.category(character)[0] in "LMN" else "_"
        for character in unicodedata.normalize("NFC", text[: 4 * limit])
    )
    short = re.sub(r"_+", "_", "".join(kept)).strip("._-")[:limit]
    short = short.encode()[:120].decode(errors="ignore").strip("._-")
    return short or "unnamed"
