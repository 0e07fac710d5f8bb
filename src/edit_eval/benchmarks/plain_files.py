"""What of a benchmark's folder may be opened: plain files that lie in it, wherever a link in it leads."""

from __future__ import annotations

import os
import stat
from collections import deque
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from edit_eval.errors import ConfigurationError
from edit_eval.text import Text

MAX_FILE_BYTES = 512 << 20
"""Of a picture: 50 million pixels of 16 bit RGBA, uncompressed, and some more."""


@dataclass(frozen=True)
class PlainFiles:
    """The files in `folder` and below.

    Whoever packs a folder can put a link to any file of its reader's into it. So links may end in the folder, or in the
    blobs of the hub's cache where the folder is a snapshot in there; elsewhere only where the user says `allow_links`.
    """

    folder: Path
    allow_links: bool = False

    @cached_property
    def _roots(self) -> tuple[Path, ...]:
        real = Path(os.path.realpath(self.folder))
        snapshots = next((one for one in (real, *real.parents) if one.parent.name == "snapshots"), None)
        repository = snapshots.parent.parent if snapshots else None
        if repository and repository.name.startswith(("datasets--", "models--")):
            return (real, repository / "blobs")
        return (real,)

    def walk(self) -> list[Path]:
        """All files of the folder and below, in the order of their names.

        Folders that are links are walked where their files may be opened, each link once, and none that leads back up.
        So a file can have several names; `place_of` is then the same.
        """
        found, followed, starts = list[Path](), set[tuple[str, str]](), deque([self.folder])
        while starts:
            for top, folders, names in os.walk(starts.popleft()):
                found += (Path(top, name) for name in names)
                folders.sort()
                for name in folders:
                    link, above = Path(top, name), os.path.realpath(top)
                    if not link.is_symlink() or (above, name) in followed:
                        continue
                    real = Path(os.path.realpath(link))
                    if self._is_allowed(real) and not Path(above).is_relative_to(real):
                        followed.add((above, name))
                        starts.append(link)
        return sorted(found)

    def _is_allowed(self, real: Path) -> bool:
        return self.allow_links or any(real.is_relative_to(root) for root in self._roots)

    def place(self, name: str) -> str | None:
        """The path of a file by its name in the folder; None for one that points outside of it. Links: see `read`."""
        folder = str(self.folder)
        path = os.path.normpath(os.path.join(folder, name.replace("\\", "/")))
        return path if "\0" not in path and os.path.commonpath((folder, path)) == folder else None

    def refused(self, path: str | os.PathLike[str], name: str) -> str:
        """Why a file of the folder is not opened; empty where it is. `name` is what the answer calls it.

        A file that is not there is not refused.
        """
        real = Path(os.path.realpath(path))
        if not self._is_allowed(real):
            return Text(
                "{} is a link that points outside {}: `allow_links: true` follows such links", name, self.folder
            )
        try:
            mode = os.stat(real).st_mode
        except (OSError, ValueError):
            return ""
        return "" if stat.S_ISREG(mode) else Text("{} is a folder, a pipe or a device, not a plain file", name)

    def check(self, path: Path) -> Path:
        """The path itself. Raises `ConfigurationError` where it is refused."""
        if why := self.refused(path, str(path)):
            raise ConfigurationError(Text("benchmark.data_path: {}", why))
        return path

    def read(self, path: str | os.PathLike[str], name: str) -> bytes:
        """A file's bytes. Raises `LookupError` that says why there are none."""
        if why := self.refused(path, name):
            raise LookupError(why)
        try:
            if os.stat(path).st_size > MAX_FILE_BYTES:
                raise LookupError(Text("{}: a file of more than {} MiB", name, MAX_FILE_BYTES >> 20))
            return Path(path).read_bytes()
        except OSError as error:
            raise LookupError(Text("{} cannot be read ({})", name, error.strerror)) from error


def place_of(path: Path) -> str:
    """Where it lies, whatever links its folders are; if it is a link itself, where that lies."""
    return os.path.join(os.path.realpath(path.parent), path.name)


def given(path: Path) -> PlainFiles:
    """A file that the user names, which may be a link to anywhere."""
    return PlainFiles(path.parent, allow_links=True)


def shown(text: str) -> str:
    """A stranger's text in one short line of ours."""
    return repr(text if len(text) <= 80 else text[:77] + "...")
