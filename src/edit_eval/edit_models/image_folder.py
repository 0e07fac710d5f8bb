"""Edits made elsewhere: a folder of pictures, each named by its sample's id."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import os
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, ClassVar

from edit_eval.benchmarks.source_cache import file_digest
from edit_eval.edit_models.contract import EditRequest, OnStep
from edit_eval.errors import ConfigurationError, LoadError, ModelError
from edit_eval.pictures import open_picture
from edit_eval.text import Text

if TYPE_CHECKING:
    from PIL.Image import Image


SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")


class ImageFolder:
    """Edits that were made elsewhere: pictures in a folder, each named by its sample's id.

    A sample's edit is `<folder>/<sample id>.png` (or `.jpg`, `.jpeg`, `.webp`, in any case). If the id is a picture's
    path, such as `photos/cat.jpg`, it is `<folder>/cat.png`.

    Ids are compared with the names in the folder, in Unicode's composed form (macOS writes the decomposed one), and
    never turned into a path, so an id such as `../x` finds nothing. Subfolders are ignored, unless there are pictures
    in them alone: then `subject-add/en/KEY.png` is `subject-add_en_KEY` and `KEY`, as benchmarks' authors lay out a
    model's edits (GEdit-Bench's `fullset/TASK/LANGUAGE/KEY.png`, KRIS-Bench's `TYPE/ID.png`, RISEBench's
    `images/CATEGORY/INDEX.png`).
    """

    holds_device = False

    @dataclass
    class Parameters:
        """The YAML's `params`."""

        __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

        folder: str
        """Where the pictures are."""

    def __init__(self, parameters: Parameters) -> None:
        self._folder = Path(parameters.folder).expanduser()
        self._by_id: dict[str, list[Path]] = {}
        self._digests: dict[str, str] = {}

    @staticmethod
    def duration_anywhere(parameters: Parameters) -> tuple[float, float, str]:
        """Returns what a plan assumes."""
        return 0.3, 0.05, Text("it only writes a picture")

    def load(self, devices: Sequence[str]) -> None:
        """Reads the folder's listing; needs no device. Raises `LoadError` if there is none."""
        try:
            self._digests = _SEEN.get(self._folder) or _digests(self._folder)
        except OSError as error:
            raise LoadError(f"folder: {self._folder} cannot be read ({error.strerror})") from error
        self._by_id = {}
        for name in self._digests:
            for sample_id in _ids(PurePosixPath(name)):
                self._by_id.setdefault(_composed(sample_id), []).append(self._folder / name)

    def edit(self, request: EditRequest, on_step: OnStep) -> Image:
        """Returns the sample's picture unchanged, RGB.

        Raises `ModelError` if there is none or more than one, and `UnreadableError` for one that has changed.
        """
        sample_id = request.sample_id
        paths = self._by_id.get(_composed(sample_id)) or self._by_id.get(_composed(_without_ending(sample_id)), [])
        if not paths:
            raise ModelError(f"no edit of sample {sample_id!r} in {self._folder} ({', '.join(SUFFIXES)})")
        if len(paths) > 1:
            names = ", ".join(path.relative_to(self._folder).as_posix() for path in paths)
            raise ModelError(f"more than one edit of sample {sample_id!r} in {self._folder}: {names}")
        digest = self._digests[paths[0].relative_to(self._folder).as_posix()]
        edited = open_picture(paths[0], digest=digest, keep_file=True)
        on_step(1, 1)
        return edited

    def about(self) -> dict[str, str]:
        """Returns how many pictures there are."""
        return {"folder": str(self._folder.absolute()), "pictures": str(len(self._digests))}

    @staticmethod
    def revision(parameters: ImageFolder.Parameters) -> str:
        """Returns the SHA-256 over the names and contents of the folder's pictures, so that changes are noticed.

        Reads all of them, and keeps the digests for `load`: `edit` accepts no other picture. Raises
        `ConfigurationError` for a folder that cannot be read or has no picture in it.
        """
        folder = Path(parameters.folder).expanduser()
        try:
            pictures = _SEEN[folder] = _digests(folder)
        except FileNotFoundError:
            near = difflib.get_close_matches(folder.name, _folders_beside(folder), n=1)
            meant = Text("; it counts from the current folder")
            if near:
                meant = Text("; did you mean {}?", folder.parent / near[0])
            raise ConfigurationError(Text("folder: {}", Text("there is no folder {}{}", folder, meant))) from None
        except OSError as error:
            raise ConfigurationError(
                Text("folder: {}", Text("{} cannot be read ({})", folder, error.strerror))
            ) from error
        digest = hashlib.sha256()
        for name, content in pictures.items():
            digest.update(os.fsencode(name) + b"\0" + bytes.fromhex(content))
        if not pictures:
            raise ConfigurationError(Text("folder: {}", Text("{} has no pictures ({})", folder, SUFFIXES)))
        return digest.hexdigest()


_SEEN: dict[Path, dict[str, str]] = {}  # folder -> the digests that `revision` last saw in this process


_SOURCES = "_SRCIMG"
"""How the name of a source ends that GEdit-Bench's tree has beside each edit."""
_LANGUAGES = {"cn": "zh", "zh": "zh", "en": "en"}
"""A folder of one language -> our word for it."""


def _digests(folder: Path) -> dict[str, str]:
    """Returns the paths of a folder's pictures in it, sorted, with the SHA-256 of their contents.

    Those of the folders below count if it has none itself; linked folders are not followed.
    """
    paths = sorted(path for path in folder.iterdir() if _is_picture(path))
    if not paths:
        files = (Path(top, name) for top, folders, names in os.walk(folder) for name in names if _seen(top, folders))
        paths = sorted(path for path in files if _is_picture(path) and not path.stem.endswith(_SOURCES))
    return {path.relative_to(folder).as_posix(): file_digest(path) for path in paths}


def _is_picture(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".") and path.is_file()


def _seen(top: str, folders: list[str]) -> bool:
    """Leaves hidden folders out of a walk; always true."""
    folders[:] = [name for name in folders if not name.startswith(".")]
    return True


def _ids(path: PurePosixPath) -> dict[str, None]:
    """Returns the ids that a picture may be the edit of: its name, with the folders above it, one after the other.

    A folder of one language is also left out, as ids of benchmarks with a run for each language do without it.
    """
    folders = path.parts[:-1]
    ids = {path.stem: None}
    for few in (
        [_LANGUAGES.get(folder, folder) for folder in folders],
        [folder for folder in folders if folder not in _LANGUAGES],
    ):
        for first in range(len(few)):
            ids["_".join([*few[first:], path.stem])] = None
    return ids


def _folders_beside(folder: Path) -> list[str]:
    with contextlib.suppress(OSError):
        return [path.name for path in folder.parent.iterdir() if path.is_dir()]
    return []


def _without_ending(sample_id: str) -> str:
    """Returns the name of a picture, if an id is its path."""
    path = PurePosixPath(sample_id)
    return path.stem if path.suffix.lower() in SUFFIXES else sample_id


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)
