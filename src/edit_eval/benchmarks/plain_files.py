"""Which files of a benchmark's folder may be opened: plain files inside it, even if a link leads elsewhere."""

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
"""Limit for a picture: 50 million pixels of 16 bit RGBA, uncompressed, with some room."""


@dataclass(frozen=True)
class PlainFiles:
    """The files in `folder` and below.

    A packed folder may contain a link to any file of its reader's. So links must end in the folder, or in the blobs of
    the hub's cache if the folder is a snapshot there; links elsewhere need the user's `allow_links`.
    """

    folder: Path
    allow_links: bool = False

    @cached_property
    def _roots(self) -> tuple[Path, ...]:
        real = Path(os.path.realpath(self.folder))
        snapshots = next((path for path in (real, *real.parents) if path.parent.name == "snapshots"), None)
        repository = snapshots.parent.parent if snapshots else None
        if repository and repository.name.startswith(("datasets--", "models--")):
            return (real, repository / "blobs")
        return (real,)

    def walk(self) -> list[Path]:
        """Returns all files of the folder and below, sorted by name.

        Linked folders are followed if their files may be opened, each link once, and never back up. So a file may have
        several names; `place_of` is then the same.
        """
        files, followed, starts = list[Path](), set[tuple[str, str]](), deque([self.folder])
        while starts:
            for top, folders, names in os.walk(starts.popleft()):
                files += (Path(top, name) for name in names)
                folders.sort()
                for name in folders:
                    link, above = Path(top, name), os.path.realpath(top)
                    if not link.is_symlink() or (above, name) in followed:
                        continue
                    real = Path(os.path.realpath(link))
                    if self._is_allowed(real) and not Path(above).is_relative_to(real):
                        followed.add((above, name))
                        starts.append(link)
        return sorted(files)

    def _is_allowed(self, real: Path) -> bool:
        return self.allow_links or any(real.is_relative_to(root) for root in self._roots)

    def place(self, name: str) -> str | None:
        """Returns the path of a file by its name in the folder; None if it points outside. For links see `read`."""
        folder = str(self.folder)
        path = os.path.normpath(os.path.join(folder, name.replace("\\", "/")))
        return path if "\0" not in path and os.path.commonpath((folder, path)) == folder else None

    def refusal_reason(self, path: str | os.PathLike[str], name: str) -> str:
        """Returns why a file of the folder may not be opened; empty if it may. `name` is what the answer calls it.

        A missing file is not refused.
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
        """Returns the path. Raises `ConfigurationError` if it is refused."""
        if why := self.refusal_reason(path, str(path)):
            raise ConfigurationError(Text("benchmark.data_path: {}", why))
        return path

    def read(self, path: str | os.PathLike[str], name: str) -> bytes:
        """Returns a file's bytes. Raises `LookupError` with the reason if it cannot be read."""
        if why := self.refusal_reason(path, name):
            raise LookupError(why)
        try:
            if os.stat(path).st_size > MAX_FILE_BYTES:
                raise LookupError(Text("{}: a file of more than {} MiB", name, MAX_FILE_BYTES >> 20))
            return Path(path).read_bytes()
        except OSError as error:
            raise LookupError(Text("{} cannot be read ({})", name, error.strerror)) from error


def place_of(path: Path) -> str:
    """Returns the path with its folder's links resolved, but not a link in the last part."""
    return os.path.join(os.path.realpath(path.parent), path.name)


def folder_of(path: Path) -> PlainFiles:
    """Returns the folder of a file that the user names, which may be a link to anywhere."""
    return PlainFiles(path.parent, allow_links=True)


def quote_text(text: str) -> str:
    """Quotes untrusted text, shortened to fit a line of ours."""
    return repr(text if len(text) <= 80 else text[:77] + "...")
