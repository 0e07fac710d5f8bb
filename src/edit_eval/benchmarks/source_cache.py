"""The cache of source images taken out of benchmarks' files.

    <folder>/3f/3f0c...e1.png       the exact bytes, named by their SHA-256; a file is here only if it decoded whole
    <folder>/indexes/9a...77.json   what one pass over one benchmark's files found

Any number of processes and benchmarks may share a folder: each file is renamed into place, and two writers of one name
write the same bytes. All of it can be deleted at any time while no run uses it.
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

from edit_eval.errors import ConfigurationError
from edit_eval.files.durable import sweep_temporary, write_durably
from edit_eval.files.user_cache import cache_folder
from edit_eval.json_values import JsonObject, Unchecked
from edit_eval.pictures import HEIC, decode_picture, oddity
from edit_eval.text import Text

FULL = (errno.ENOSPC, errno.EDQUOT)
"""The `errno` of a full disk and of an exhausted quota."""

_SUFFIXES = {"JPEG": "jpg", "TIFF": "tif", "JPEG2000": "jp2"}
SHELF = re.compile(r"[0-9a-f]{2}|texts|indexes|elsewhere")
"""Names of the folders in a cache of sources."""
_ABANDONED = 24 * 3600.0  # seconds after which an unfinished file no longer has a writer


@dataclass(frozen=True)
class CachedSource:
    """One picture in the cache."""

    path: str
    digest: str
    """SHA-256 of the file's bytes, hexadecimal."""
    bytes: int
    kind: str
    """The suffix that fits its content: `png`, `jpg`, ..."""
    changed: int
    """The file system's time of the last change of any kind (nanoseconds), which no program can set. While it and the
    size stay the same, the bytes are trusted to match the digest."""
    oddity: str = ""
    """How it differs from a plain 8 bit picture, and how that is handled (`pictures.oddity`)."""


class SourceCache:
    """A folder of pictures by digest; by default `sources` in the user's cache."""

    def __init__(self, folder: str | None = None) -> None:
        self.folder = cache_folder() / "sources" if folder is None else Path(folder).expanduser().absolute()

    def lay(self, data: bytes, name: str) -> CachedSource:
        """Decodes a picture once and puts its bytes into the cache unchanged; does nothing if they are there.

        `name` is what an error calls it. Raises `PictureError` if it is not a complete picture, `OSError` (`FULL`) if
        the disk is full, and `ConfigurationError` if the folder cannot be written.
        """
        digest = hashlib.sha256(data).hexdigest()
        shelf = self.folder / digest[:2]
        for path in shelf.glob(f"{digest}.*"):
            if path.stat().st_size == len(data) and path.read_bytes() == data:
                return CachedSource(
                    str(path), digest, len(data), path.suffix[1:], path.stat().st_ctime_ns, oddity(data)
                )
        picture, format_name, oddness = decode_picture(data, name)
        if format_name == HEIC:
            as_png = io.BytesIO()
            picture.save(as_png, "PNG")
            return replace(self.lay(as_png.getvalue(), name), oddity=Text("is HEIC: read once, and kept as PNG"))
        kind = kind_of(format_name)
        path = shelf / f"{digest}.{kind}"
        self._write(data, path)
        return CachedSource(str(path), digest, len(data), kind, path.stat().st_ctime_ns, oddness)

    def verify_source(self, source: CachedSource) -> CachedSource | None:
        """Returns an indexed picture as it is now; None if it is missing or has changed.

        Its bytes are read only if the file was touched.
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
        """Reads a picture and deletes it if it does not match its digest; returns True if it did.

        A picture that an index places elsewhere than `lay` would is left alone.
        """
        laid = self.folder / source.digest[:2] / f"{source.digest}{Path(source.path).suffix}"
        with contextlib.suppress(OSError):
            if str(laid) == source.path and file_digest(source.path) != source.digest:
                os.unlink(source.path)
                return True
        return False

    def sweep(self) -> None:
        """Removes unfinished files of writers killed more than a day ago."""
        for shelf in self.folder.glob("*"):
            if SHELF.fullmatch(shelf.name) and not shelf.is_symlink():
                sweep_temporary(shelf, older_than=_ABANDONED)

    def lay_text(self, data: bytes, name: str) -> Path:
        """Puts a text into the cache unchanged and returns its path, which ends in `name`. Raises like `lay`."""
        path = self.folder / "texts" / hashlib.sha256(data).hexdigest()[:32] / name
        self._write(data, path)
        return path

    def read_index(self, name: str) -> Unchecked | None:
        """Returns what was kept under `name`; None if it is missing or unreadable."""
        try:
            index = json.loads(self._index_path(name).read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        return index if isinstance(index, dict) else None

    def write_index(self, name: str, index: JsonObject) -> None:
        """Keeps the findings of a pass. Raises like `lay`."""
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
            Text(
                "the cache of source images {} cannot be written ({}): set benchmark.cache_dir to a writable folder",
                self.folder,
                error.strerror,
            )
        )


def file_digest(path: str | os.PathLike[str]) -> str:
    """Returns the SHA-256 of a file's bytes, hexadecimal. Raises `OSError`, also if it is not a regular file."""
    if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would block, and a device might never end
        raise OSError(errno.EINVAL, Text("not a file"), os.fspath(path))
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def kind_of(format_name: str) -> str:
    """Returns the suffix for Pillow's name of a format: `jpg` for `JPEG`, `png` for `PNG`."""
    return _SUFFIXES.get(format_name, format_name.lower())
