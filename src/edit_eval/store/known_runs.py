"""Which runs this user has made, wherever they lie, so that nothing that they need is cleared away.

<cache>/runs/3f0c...e1     the path of a run directory, the disk on which it was, and where that was mounted

A run that is not there may lie on a disk that is not mounted now, and so need what it needs. It is gone only where its
disk is there without it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from edit_eval.pictures import write_durably
from edit_eval.user_cache import cache_folder


@dataclass(frozen=True)
class KnownRun:
    """A run directory that this user has made."""

    path: Path
    mount: str
    """Where its disk was mounted."""
    disk: int
    """The file system's own id."""

    @property
    def is_gone(self) -> bool:
        """Whether it was deleted or moved, on a disk that can be reached."""
        try:
            os.lstat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            with contextlib.suppress(OSError):
                return os.path.ismount(self.mount) and os.statvfs(self.mount).f_fsid == self.disk
        except OSError:
            pass  # it cannot be looked at, which says nothing of it
        return False


def remember_run(run: Path) -> None:
    """Keeps where a run lies. Where the cache cannot be written, nothing is kept."""
    with contextlib.suppress(OSError, RuntimeError):
        path = mount = os.path.realpath(run)
        while not os.path.ismount(mount):
            mount = os.path.dirname(mount)
        file = cache_folder() / "runs" / hashlib.sha256(os.fsencode(path)).hexdigest()[:32]
        line = b"\0".join((os.fsencode(path), os.fsencode(mount), b"%d" % os.statvfs(mount).f_fsid))
        if not file.exists() or file.read_bytes() != line:
            write_durably(line, file)


def known_runs() -> dict[Path, KnownRun]:
    """The lines' files -> the runs, some of which may be gone. A file that is none of ours is left alone."""
    found: dict[Path, KnownRun] = {}
    with contextlib.suppress(OSError, RuntimeError):
        for file in sorted((cache_folder() / "runs").iterdir()):
            with contextlib.suppress(OSError, ValueError):
                path, mount, disk = file.read_bytes().split(b"\0")
                if hashlib.sha256(path).hexdigest()[:32] == file.name:
                    found[file] = KnownRun(Path(os.fsdecode(path)), os.fsdecode(mount), int(disk))
    return found
