"""The files of a benchmark as distributed by its authors: in a folder, unpacked or still in zip and tar files."""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

from edit_eval.benchmarks.plain_files import MAX_FILE_BYTES, PlainFiles, folder_of, place_of, quote_text
from edit_eval.benchmarks.source_pass import Origin
from edit_eval.errors import ConfigurationError
from edit_eval.text import Text

_PACKED = (".zip", ".tar")
_TO_UNPACK = (".tar.gz", ".tgz", ".7z", ".rar", ".tar.zst", ".tar.xz", ".tar.bz2")
"""Archives that allow no random access, or cannot be read at all."""


@dataclass(frozen=True)
class FoundFile:
    """One file of the tree."""

    name: str
    """Including its folders, as far as the tree knows them."""
    archive: Path | None
    """None if the file is unpacked."""
    path: Path
    """Path of the file, or of its archive."""


class FileTree:
    """The files below `folder` (or in it, if it is an archive). Files in archives count as if unpacked beside them.

    Only names are kept. For links and linked folders see `PlainFiles`.
    """

    def __init__(self, folder: Path, *, allow_links: bool = False) -> None:
        """Raises `ConfigurationError` for an archive that is broken or not a plain file."""
        self.folder = folder.parent if folder.is_file() else folder
        only = [folder] if folder.is_file() else None
        self._files = folder_of(folder) if only else PlainFiles(folder, allow_links)
        self._by_name: dict[str, list[FoundFile]] = {}
        self.archives: list[Path] = []
        self._packed_otherwise: list[str] = []
        self._open: dict[Path, zipfile.ZipFile | tarfile.TarFile] = {}
        packed: set[str] = set()
        for path in only or self._files.walk():
            if path.suffix.lower() in _PACKED:
                if place_of(path) in packed:
                    continue
                packed.add(place_of(path))
                self.archives.append(self._files.check(path))
                for name in self._members(path):
                    self._note(FoundFile(name, path, path))
            elif path.name.lower().endswith(_TO_UNPACK):
                self._packed_otherwise.append(path.name)
            elif only is None:
                self._note(FoundFile(path.relative_to(self.folder).as_posix(), None, path))

    @property
    def names(self) -> list[str]:
        """Names of all files, including their folders."""
        return [file.name for files in self._by_name.values() for file in files]

    def first_named(self, names: Iterable[str]) -> list[FoundFile]:
        """Returns all files with the first of these names that exists, unpacked ones first.

        Packed copies of unpacked files are left out.
        """
        files = next((self._by_name[name] for name in names if name in self._by_name), [])
        unpacked = {file.name for file in files if file.archive is None}
        there = [file for file in files if file.archive is None or not _ends_with_any(file.name, unpacked)]
        return sorted(_once(there), key=lambda file: (file.archive is not None, file.name))

    def find(self, name: str) -> FoundFile:
        """Returns the file with this name, or the only one whose name ends with it. Raises `LookupError` if none."""
        parts = PurePosixPath(name.replace("\\", "/")).parts
        if not parts or "\0" in name or parts[0] == "/" or ".." in parts:
            raise LookupError(Text("{} points outside the benchmark's folder {}", quote_text(name), self.folder))
        wanted = "/".join(parts)
        files = [file for file in self._by_name.get(parts[-1], ()) if _ends_with_any(file.name, (wanted,))]
        exactly = [file for file in files if file.name == wanted]
        unpacked = [file for file in files if file.archive is None]
        for some in (exactly, unpacked, files):
            if len(_once(some)) == 1:
                return _once(some)[0]
        if files:
            raise LookupError(
                Text("{} is the name of several files: {} and {}", quote_text(name), files[0].name, files[1].name)
            )
        packed = Text("; unpack {}", self._packed_otherwise[0]) if self._packed_otherwise else ""
        raise LookupError(Text("there is no file {} in {} or in its archives{}", quote_text(name), self.folder, packed))

    def read(self, file: FoundFile) -> bytes:
        """Returns a file's bytes. Raises `LookupError` with the reason if it cannot be read."""
        if file.archive is None:
            return self._files.read(file.path, file.name)
        archive = self._open_archive(file.archive)
        try:
            if isinstance(archive, tarfile.TarFile):
                extracted = archive.extractfile(file.name)
                return extracted.read(MAX_FILE_BYTES) if extracted else b""
            with archive.open(file.name) as member:
                return member.read(MAX_FILE_BYTES)
        except RuntimeError:  # the member has a password
            raise LookupError(
                Text("{} is password-protected; unpack it and give the folder", file.archive.name)
            ) from None
        except (zipfile.BadZipFile, tarfile.TarError, OSError, EOFError, NotImplementedError, ValueError) as error:
            raise LookupError(Text("{} in {} cannot be read ({})", file.name, file.archive.name, error)) from None

    @staticmethod
    def origin(file: FoundFile) -> tuple[Origin, ...]:
        """Returns what later starts check to see whether an unpacked file has changed."""
        return () if file.archive else (Origin.from_path(file.path),)

    def close(self) -> None:
        """Closes the archives; they are reopened when needed."""
        while self._open:
            self._open.popitem()[1].close()

    def _members(self, path: Path) -> list[str]:
        archive = self._open_archive(path)
        if isinstance(archive, tarfile.TarFile):
            return [member.name for member in archive if member.isfile()]
        return [member.filename for member in archive.infolist() if not member.is_dir()]

    def _open_archive(self, path: Path) -> zipfile.ZipFile | tarfile.TarFile:
        if path not in self._open:
            try:
                kind = zipfile.ZipFile if path.suffix.lower() == ".zip" else partial(tarfile.TarFile, mode="r")
                self._open[path] = kind(path)
            except (zipfile.BadZipFile, tarfile.TarError, OSError) as error:
                raise ConfigurationError(
                    Text("benchmark.data_path: {} is not a complete archive ({})", path, error)
                ) from error
        return self._open[path]

    def _note(self, file: FoundFile) -> None:
        name = PurePosixPath(file.name).name
        if not name.startswith("._") and "__MACOSX" not in file.name:  # macOS adds these to archives
            self._by_name.setdefault(name, []).append(file)


def is_archive(path: Path) -> bool:
    """True if the file is an archive that a tree reads as if unpacked."""
    return path.suffix.lower() in _PACKED and path.is_file()


def _once(files: Sequence[FoundFile]) -> list[FoundFile]:
    """Keeps one of the names of each file, the one with the fewest folders."""
    places: dict[object, FoundFile] = {}
    for file in sorted(files, key=lambda file: (file.name.count("/"), file.name)):
        places.setdefault(file if file.archive else place_of(file.path), file)
    return list(places.values())


def _ends_with_any(name: str, ends: Collection[str]) -> bool:
    return any(name == end or name.endswith(f"/{end}") for end in ends)
