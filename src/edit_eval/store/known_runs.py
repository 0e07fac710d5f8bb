"""Which runs this user has made, wherever they lie, so that nothing that they need is cleared away.

<cache>/runs/3f0c...e1     the path of a run directory
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from edit_eval.pictures import write_durably
from edit_eval.user_cache import cache_folder


def remember_run(run: Path) -> None:
    """Keeps where a run lies. Where the cache cannot be written, nothing is kept."""
    with contextlib.suppress(OSError, RuntimeError):
        path = os.path.abspath(run)
        file = cache_folder() / "runs" / hashlib.sha256(os.fsencode(path)).hexdigest()[:32]
        if not file.exists():
            write_durably(os.fsencode(path), file)


def known_runs() -> dict[Path, Path]:
    """The lines' files -> the run directories, some of which may be gone."""
    found: dict[Path, Path] = {}
    with contextlib.suppress(OSError, RuntimeError):
        for file in sorted((cache_folder() / "runs").iterdir()):
            with contextlib.suppress(OSError):
                found[file] = Path(os.fsdecode(file.read_bytes()))
    return found
