"""Edits that were made elsewhere: pictures in a folder, a column of a table, and what reads as a benchmark reads."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import os
import unicodedata
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from edit_eval.benchmarks.people_choices import MMRB2, EditRewardBench, GenAIBench
from edit_eval.benchmarks.source_cache import file_digest
from edit_eval.benchmarks.table import NAMED, TableBenchmark
from edit_eval.edit_models.contract import EditRequest, OnStep
from edit_eval.errors import ConfigurationError, LoadError, ModelError, Stopped
from edit_eval.pictures import open_picture
from edit_eval.records import Sample
from edit_eval.text import Text

if TYPE_CHECKING:
    from PIL.Image import Image


REGISTERED = {"image_folder": "ImageFolder", "table_column": "TableColumn", "edit_of_pair": "EditOfPair"}


class GivenEdits:
    """Gives each sample's edit as it is. A subclass says where they are."""

    holds_device = False

    def __init__(self, parameters: Any) -> None:
        self._parameters = parameters
        self._edits: Mapping[str, Sample] = {}

    @staticmethod
    @abstractmethod
    def read(parameters: Any) -> Mapping[str, Sample]:
        """For each sample's id its edit, as the source of a sample; one that is missing has a fault.

        Raises `ConfigurationError` for what cannot be read.
        """

    @abstractmethod
    def absent(self, sample_id: str) -> tuple[str, str]:
        """What has no edit of a sample, and why where it has no row of it."""

    def load(self, devices: Sequence[str]) -> None:
        """Reads the rows; needs no device. Raises `LoadError` if there are none."""
        try:
            self._edits = self.read(self._parameters)
        except (ConfigurationError, Stopped) as error:
            raise LoadError(str(error)) from error

    def edit(self, request: EditRequest, on_step: OnStep) -> Image:
        """Returns the sample's picture as it is, RGB.

        Raises `ModelError` if there is none, with its reason, and `UnreadableError` for one that has changed.
        """
        edit = self._edits.get(request.sample_id)
        if edit is None or edit.fault:
            what, why = self.absent(request.sample_id)
            raise ModelError(f"{what}: {edit.fault if edit else why}")
        picture = edit.pictures["source"]
        edited = open_picture(picture.path, digest=picture.digest)
        on_step(1, 1)
        return edited

    @classmethod
    def revision(cls, parameters: Any) -> str:
        """SHA-256 over the ids and the contents of the pictures, so that a changed one is noticed.

        Raises `ConfigurationError` as `read` does.
        """
        digest = hashlib.sha256()
        for name, edit in cls.read(parameters).items():
            digest.update(f"{name}\0{edit.source_digest}\n".encode())
        return digest.hexdigest()


SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")


class ImageFolder:
    """Edits that were made elsewhere: pictures in a folder, each named by its sample's id.

    A sample's edit is `<folder>/<sample id>.png` (or `.jpg`, `.jpeg`, `.webp`, in any case). Of an id that is a
    picture's path, such as `photos/cat.jpg`, it is `<folder>/cat.png`.

    Ids are compared with the names in the folder, in Unicode's composed form (macOS writes the decomposed one); they
    are never made a path, so an id such as `../x` finds nothing. Folders within the folder are not looked at.
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

    def load(self, devices: Sequence[str]) -> None:
        """Reads the folder's listing; needs no device. Raises `LoadError` if there is none."""
        try:
            self._digests = _SEEN.get(self._folder) or _digests(self._folder)
        except OSError as error:
            raise LoadError(f"folder: {self._folder} cannot be read ({error.strerror})") from error
        self._by_id = {}
        for name in self._digests:
            path = self._folder / name
            self._by_id.setdefault(_composed(path.stem), []).append(path)

    def edit(self, request: EditRequest, on_step: OnStep) -> Image:
        """Returns the sample's picture as it is, RGB.

        Raises `ModelError` if there is none or more than one, and `UnreadableError` for one that has changed.
        """
        sample_id = request.sample_id
        paths = self._by_id.get(_composed(sample_id)) or self._by_id.get(_composed(_without_ending(sample_id)), [])
        if not paths:
            raise ModelError(f"no edit of sample {sample_id!r} in {self._folder} ({', '.join(SUFFIXES)})")
        if len(paths) > 1:
            names = ", ".join(path.name for path in paths)
            raise ModelError(f"more than one edit of sample {sample_id!r} in {self._folder}: {names}")
        edited = open_picture(paths[0], digest=self._digests[paths[0].name])
        on_step(1, 1)
        return edited

    def about(self) -> dict[str, str]:
        """How many pictures there are."""
        return {"folder": str(self._folder.absolute()), "pictures": str(sum(map(len, self._by_id.values())))}

    @staticmethod
    def revision(parameters: ImageFolder.Parameters) -> str:
        """SHA-256 over the names and contents of the folder's pictures, so that a changed picture is noticed.

        Reads all of them, and keeps what it saw for `load`: `edit` takes no other picture. Raises `ConfigurationError`
        for a folder that cannot be read or has no picture in it.
        """
        folder = Path(parameters.folder).expanduser()
        try:
            pictures = _SEEN[folder] = _digests(folder)
        except FileNotFoundError:
            near = difflib.get_close_matches(folder.name, _folders_beside(folder), n=1)
            meant = f"; did you mean {folder.parent / near[0]}?" if near else "; it counts from the current folder"
            raise ConfigurationError(Text("folder: there is no folder {}{}", folder, meant)) from None
        except OSError as error:
            raise ConfigurationError(Text("folder: {} cannot be read ({})", folder, error.strerror)) from error
        digest = hashlib.sha256()
        for name, content in pictures.items():
            digest.update(os.fsencode(name) + b"\0" + bytes.fromhex(content))
        if not pictures:
            raise ConfigurationError(Text("folder: {} has no pictures ({})", folder, SUFFIXES))
        return digest.hexdigest()


_SEEN: dict[Path, dict[str, str]] = {}  # folder -> what `revision` last saw there in this process


def _digests(folder: Path) -> dict[str, str]:
    """The names of a folder's pictures, in order, and the SHA-256 of their contents."""
    pictures = sorted(
        path
        for path in folder.iterdir()
        if path.suffix.lower() in SUFFIXES and not path.name.startswith(".") and path.is_file()
    )
    return {path.name: file_digest(path) for path in pictures}


def _folders_beside(folder: Path) -> list[str]:
    with contextlib.suppress(OSError):
        return [path.name for path in folder.parent.iterdir() if path.is_dir()]
    return []


def _without_ending(sample_id: str) -> str:
    """The name of a picture, where an id is its path."""
    path = PurePosixPath(sample_id)
    return path.stem if path.suffix.lower() in SUFFIXES else sample_id


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


class _Sources(TableBenchmark):
    """The table as the benchmark has it; it needs no instructions."""

    needed = ("source",)


class _Edits(_Sources):
    """The table, its edits being what it has for sources; where it has no ids they are called as the `sources` are."""

    sources = ""

    def find_columns(self, there: Sequence[str]) -> dict[str, str]:
        found = {ours: theirs for ours, theirs in super().find_columns(there).items() if ours in ("id", "source")}
        if "id" not in found:
            fields = {"source": self.sources} if self.sources else {}
            with suppress(ConfigurationError):  # a table of edits alone: its samples are called as they are
                found[NAMED] = _Sources(replace(self.parameters, fields=fields)).looked_at()[1]["source"]
        return found


class TableColumn(GivenEdits):
    """Edits that were made elsewhere: a column of pictures in a table, a row each.

    The table may be the benchmark's own or another one; a row's edit is that of the sample with its id: its `id`, else
    its source's file name, else its row, as the benchmark `table` has it. Several models are several columns.
    """

    @dataclass
    class Parameters:
        """The YAML's `params`."""

        __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

        table: str
        """A file or folder as the benchmark `table` takes it."""
        column: str
        """Which column has the edits: paths below the table's folder, or the pictures themselves."""
        id: str = ""
        """Which column has the ids, where its name does not say so."""
        source: str = ""
        """Which column has the source pictures, where its name does not say so and no column has ids."""
        pictures_path: str | None = None
        """The folder from which the paths in the table count; None: the table's own."""

    @staticmethod
    def read(parameters: TableColumn.Parameters) -> Mapping[str, Sample]:
        """Each row's edit. Raises `ConfigurationError` for a table that cannot be read, or has no such column."""
        return _edits(parameters)

    def absent(self, sample_id: str) -> tuple[str, str]:
        given = self._parameters
        return (
            f"no edit of sample {sample_id!r} in the column {given.column}",
            f"{given.table} has no row of that id",
        )

    def about(self) -> dict[str, str]:
        """How many edits there are."""
        there = sum(not edit.fault for edit in self._edits.values())
        return {"table": self._parameters.table, "column": self._parameters.column, "edits": str(there)}


def _edits(parameters: TableColumn.Parameters) -> dict[str, Sample]:
    """Each row's edit, as the source of a sample; those that are missing have a fault."""
    try:
        fields = {"source": parameters.column} | ({"id": parameters.id} if parameters.id else {})
        table = _Edits(
            TableBenchmark.Parameters(parameters.table, fields=fields, pictures_path=parameters.pictures_path)
        )
        table.sources = parameters.source
        return {edit.id: edit for edit in table.samples()}
    except ConfigurationError as error:
        text = (
            str(error)
            .replace("benchmark.data_path", "table")
            .replace("benchmark.fields.source", "column")
            .replace("benchmark.fields.", "")
        )
        raise ConfigurationError(text) from error


_DATA: Mapping[str, Any] = {"mmrb2": MMRB2, "genai_bench": GenAIBench, "editreward_bench": EditRewardBench}
"""A row a data set: what registers benchmarks does not go along into an environment of its own."""


class EditOfPair(GivenEdits):
    """One side of the pairs of a data set of people's choices: `A` is the first edit of each, `B` the second."""

    @dataclass
    class Parameters:
        """The YAML's `params`."""

        __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

        data: Literal["mmrb2", "genai_bench", "editreward_bench"]
        """Which data set: the benchmark's type."""
        data_path: str
        """As the benchmark has it."""
        side: Literal["A", "B"]
        """Which edit of each pair."""

    @staticmethod
    def read(parameters: EditOfPair.Parameters) -> Mapping[str, Sample]:
        """Each pair's edit on that side. Raises `ConfigurationError` like the benchmark."""
        data = _DATA[parameters.data]
        rows = data(data.Parameters(data_path=parameters.data_path, edits=parameters.side))
        return {edit.id: edit for edit in rows.samples()}

    def absent(self, sample_id: str) -> tuple[str, str]:
        given = self._parameters
        return f"no edit {given.side} of {sample_id!r}", f"{given.data_path} has no pair of that id"
