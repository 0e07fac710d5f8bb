"""Edits made elsewhere: a folder of pictures, each named by its sample's id."""

from __future__ import annotations

import contextlib
import difflib
import os
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from edit_eval.benchmarks.source_cache import file_digest
from edit_eval.benchmarks.tables import PICTURES
from edit_eval.edit_models.contract import Finished, SampleNames
from edit_eval.edit_models.existing_edits import ExistingEdits, lacking_edits
from edit_eval.errors import ConfigurationError
from edit_eval.files.matching import Names, match, names_of_path, normalise_name
from edit_eval.text import Text

SUFFIXES = (".png", ".jpg", ".jpeg", ".jfif", ".webp")


class ImageFolder(ExistingEdits):
    """Edits that were made elsewhere: pictures in a folder, each named by its sample's id.

    A sample's edit is `<folder>/<sample id>.png` (or `.jpg`, `.jpeg`, `.jfif`, `.webp`, in any case). If the id is a
    path, such as `photos/cat.jpg`, it is `<folder>/photos/cat.png`, or `<folder>/cat.png` if no other sample and no
    other picture is called `cat`. A picture that two samples could claim is no sample's, and the other way round.

    Ids are compared with the names in the folder, in Unicode's composed form (macOS writes the decomposed one), and
    never turned into a path, so an id such as `../x` finds nothing. If there are pictures in subfolders alone,
    `subject-add/en/KEY.png` is also `subject-add_en_KEY` and `KEY`, as benchmarks' authors lay out a model's edits
    (GEdit-Bench's `fullset/TASK/LANGUAGE/KEY.png`, KRIS-Bench's `TYPE/ID.png`, RISEBench's
    `images/CATEGORY/INDEX.png`); beside others, one in a subfolder has its whole path for a name.
    """

    @dataclass
    class Parameters:
        """The YAML's `params`."""

        folder: str
        """Where the pictures are."""
        files: dict[str, str] = field(default_factory=dict)
        """Edits whose names do not say whose they are: by the sample's id, which picture in the folder."""

    @staticmethod
    def duration_anywhere(parameters: Parameters) -> tuple[float, float, str]:
        """Returns what a plan assumes."""
        return 0.3, 0.05, Text("it only writes a picture")

    def about(self) -> dict[str, str]:
        """Returns where the pictures are."""
        return {"folder": str(Path(self._parameters.folder).expanduser().absolute())}

    @staticmethod
    def match_edits(parameters: ImageFolder.Parameters, asked: SampleNames) -> Finished:
        """Returns the samples' pictures in the folder.

        Raises `ConfigurationError` for a folder that cannot be read or has no picture in it, and for `files` that are
        not there.
        """
        folder = Path(parameters.folder).expanduser()
        try:
            pictures = {path.relative_to(folder).as_posix(): path for path in sorted(_pictures(folder))}
        except FileNotFoundError:
            beside = difflib.get_close_matches(folder.name, _list_sibling_folders(folder), n=1)
            meant = Text("; it counts from the current folder")
            if beside:
                meant = Text("; did you mean {}?", folder.parent / beside[0])
            raise ConfigurationError(Text("folder: {}", Text("there is no folder {}{}", folder, meant))) from None
        except OSError as error:
            raise ConfigurationError(
                Text("folder: {}", Text("{} cannot be read ({})", folder, error.strerror))
            ) from error
        if not pictures:
            raise ConfigurationError(Text("folder: {}", Text("{} has no pictures ({})", folder, SUFFIXES)))
        nested = not any("/" not in name for name in pictures)
        told = _check_files(parameters, asked, pictures)
        ids = {of: names_of_path(of, PICTURES) for of in asked.ids if of not in told}
        taken = set(told.values())
        found = match(ids, {name: _names(name, nested=nested) for name in pictures if name not in taken})
        found = replace(found, pairs={**found.pairs, **told})
        where = Text("{} ({})", folder, SUFFIXES)
        lacking, likely = lacking_edits([*ids], found, {name: name for name in pictures}, where)
        try:
            files = {
                sample_id: (str(pictures[name].absolute()), file_digest(pictures[name]))
                for sample_id, name in found.pairs.items()
            }
        except OSError as error:
            raise ConfigurationError(
                Text("folder: {}", Text("{} cannot be read ({})", error.filename, error.strerror))
            ) from error
        return Finished(files, lacking, found.left, likely)


def _check_files(parameters: ImageFolder.Parameters, asked: SampleNames, pictures: Collection[str]) -> dict[str, str]:
    """Returns `files`. Raises `ConfigurationError` for an unknown sample or picture, and one that is named twice."""
    samples, twice = set(asked.ids), Counter(parameters.files.values())
    for sample_id, name in parameters.files.items():
        if sample_id not in samples:
            raise ConfigurationError(Text("files: no sample is called {}", sample_id))
        if name not in pictures:
            raise ConfigurationError(Text("files: there is no picture {} in {}", name, parameters.folder))
        if twice[name] > 1:
            raise ConfigurationError(Text("files: {} is the edit of two samples", name))
    return dict(parameters.files)


_SOURCES = "_SRCIMG"
"""How the name of a source ends that GEdit-Bench's tree has beside each edit."""
_LANGUAGES = {"cn": "zh", "zh": "zh", "en": "en"}
"""A folder of one language -> our word for it."""


def _pictures(folder: Path) -> Iterator[Path]:
    """Yields the folder's pictures and those of the folders below; linked and hidden folders are not followed."""
    for path in folder.iterdir():  # raises where `walk` is silent
        if _is_picture(path):
            yield path
    for top, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for path in (Path(top, name) for name in names if Path(top) != folder):
            if _is_picture(path) and not path.stem.endswith(_SOURCES):
                yield path


def _is_picture(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".") and path.is_file()


def _names(name: str, *, nested: bool) -> Names:
    """Returns the ids that a picture may be the edit of: its path, and, if all are `nested`, its name with the folders
    above it, one after the other.

    A folder of one language is also left out, as ids of benchmarks with a run for each language do without it.
    """
    path = PurePosixPath(normalise_name(name))
    names = {str(path): 0, str(path.with_suffix("")): 1}
    if not nested:
        return names
    names = {**names_of_path(name, SUFFIXES)}
    folders = path.parts[:-1]
    for few in (
        [_LANGUAGES.get(folder, folder) for folder in folders],
        [folder for folder in folders if folder not in _LANGUAGES],
    ):
        for first in range(len(few)):
            names.setdefault("_".join([*few[first:], path.stem]), 2 * (len(folders) - len(few) + first) + 2)
    return names


def _list_sibling_folders(folder: Path) -> list[str]:
    with contextlib.suppress(OSError):
        return [path.name for path in folder.parent.iterdir() if path.is_dir()]
    return []
