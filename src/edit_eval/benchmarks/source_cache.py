"""Where the source images of benchmarks lie, once they were taken out of their JSON.

    <folder>/3f/3f0c...e1.png       the very bytes, named by their SHA-256; a file is here only if it was decoded whole
    <folder>/indexes/9a...77.json   what one pass over one benchmark's file found

Any number of processes and benchmarks may share a folder: a file is put in its place by one rename, and two writers of
one name write the same bytes. All of it can be deleted at any time while no run is using it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import json
import os
import re
import stat
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from edit_eval.errors import ConfigurationError
from edit_eval.pictures import HEIC, oddity, read_picture, sweep_temporary, write_durably
from edit_eval.user_cache import cache_folder

FULL = (errno.ENOSPC, errno.EDQUOT)
"""The `errno` of a full disk and of a quota that is used up."""

_SUFFIXES = {"JPEG": "jpg", "TIFF": "tif", "JPEG2000": "jp2"}
SHELF = re.compile(r"[0-9a-f]{2}|texts|indexes|elsewhere")
"""The folders within a cache of sources."""
_ABANDONED = 24 * 3600.0  # seconds after which an unfinished file has no writer any more


@dataclass(frozen=True)
class CachedSource:
    """One picture in the cache."""

    path: str
    digest: str
    """SHA-256 of the file's bytes, hexadecimal."""
    bytes: int
    kind: str
    """The suffix that its content deserves: `png`, `jpg`, ..."""
    changed: int
    """When the file was last changed in any way (nanoseconds), as the file system knows it: nobody can set that time.
    As long as it and the size stay, the bytes are taken to be those of the digest."""
    oddity: str = ""
    """What of it is no plain 8 bit picture, and what becomes of that (`pictures.oddity`)."""


class SourceCache:
    """A folder of pictures by digest. `folder` None: `sources` in the user's cache."""

    def __init__(self, folder: str | None = None) -> None:
        self.folder = cache_folder() / "sources" if folder is None else Path(folder).expanduser().absolute()

    def lay(self, data: bytes, name: str) -> CachedSource:
        """Puts a picture's file into the cache as it is, after decoding it once; these very bytes are kept if there.

        `name` is what an error calls it. Raises `PictureError` for what is no whole picture, `OSError` (`FULL`) for a
        full disk, and `ConfigurationError` for a folder that cannot be written.
        """
        digest = hashlib.sha256(data).hexdigest()
        shelf = self.folder / digest[:2]
        for path in shelf.glob(f"{digest}.*"):
            if path.stat().st_size == len(data) and path.read_bytes() == data:
                return CachedSource(
                    str(path), digest, len(data), path.suffix[1:], path.stat().st_ctime_ns, oddity(data)
                )
        picture, format_name = read_picture(io.BytesIO(data), name)
        if format_name == HEIC:
            as_png = io.BytesIO()
            picture.save(as_png, "PNG")
            return replace(self.lay(as_png.getvalue(), name), oddity="is HEIC: read once, and kept as PNG")
        kind = kind_of(format_name)
        path = shelf / f"{digest}.{kind}"
        self._write(data, path)
        return CachedSource(str(path), digest, len(data), kind, path.stat().st_ctime_ns, oddity(data))

    def held(self, source: CachedSource) -> CachedSource | None:
        """A picture of an index, as it is now; None where it is gone or another one.

        Its bytes are read only where the file was touched since.
        """
        try:
            state = os.stat(source.path)
            if state.st_size != source.bytes:
                return None
            if state.st_ctime_ns == source.changed:
                return source
            same = file_digest(source.path) == source.digest
        except OSError:
            return None
        return replace(source, changed=state.st_ctime_ns) if same else None

    def drop_if_altered(self, source: CachedSource) -> bool:
        """Reads a picture's bytes, and removes it where they are not those of its digest; returns whether it did.

        One that an index names elsewhere than where `lay` puts it is left alone.
        """
        laid = self.folder / source.digest[:2] / f"{source.digest}{Path(source.path).suffix}"
        with contextlib.suppress(OSError):
            if str(laid) == source.path and file_digest(source.path) != source.digest:
                os.unlink(source.path)
                return True
        return False

    def sweep(self) -> None:
        """Removes what writers that were killed more than a day ago left behind."""
        for shelf in self.folder.glob("*"):
            if SHELF.fullmatch(shelf.name) and not shelf.is_symlink():
                sweep_temporary(shelf, older_than=_ABANDONED)

    def lay_text(self, data: bytes, name: str) -> Path:
        """Puts a text into the cache as it is; returns where it lies, its own name last. Raises like `lay`."""
        path = self.folder / "texts" / hashlib.sha256(data).hexdigest()[:32] / name
        self._write(data, path)
        return path

    def read_index(self, name: str) -> dict[str, Any] | None:
        """What was kept under `name`; None where there is nothing, or nothing readable."""
        try:
            index = json.loads(self._index_path(name).read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        return index if isinstance(index, dict) else None

    def write_index(self, name: str, index: dict[str, Any]) -> None:
        """Keeps what a pass found. Raises like `lay`."""
        self._write(json.dumps(index, ensure_ascii=False).encode(errors="surrogatepass"), self._index_path(name))

    def _index_path(self, name: str) -> Path:
        return self.folder / "indexes" / f"{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:32]}.json"

    def _write(self, data: bytes, path: Path) -> None:
        try:
            write_durably(data, path)
        except OSError as error:
            if error.errno in FULL:
                raise
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> ConfigurationError:
        return ConfigurationError(
            f"the cache of source images {self.folder} cannot be written ({error.strerror}): "
            "set benchmark.cache_dir to a writable folder"
        )


def file_digest(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file's bytes, hexadecimal. Raises `OSError`, and for what is no file at all."""
    if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would block, and a device never end
        raise OSError(errno.EINVAL, "not a file", os.fspath(path))
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def kind_of(format_name: str) -> str:
    """The suffix of a file of Pillow's format: `JPEG` is `jpg`, `PNG` is `png`."""
    return _SUFFIXES.get(format_name, format_name.lower())
