"""Base of benchmarks whose files are rows of texts and pictures: one pass, faults, notes, unique ids."""

from __future__ import annotations

import base64
import difflib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

from edit_eval.benchmarks.authors_files import AuthorsFile
from edit_eval.benchmarks.file_tree import FileTree, FoundFile
from edit_eval.benchmarks.foreign_values import NoPlainValue, plain_value, text_of_value
from edit_eval.benchmarks.json_items import KEY, LINE, PLACE, PROBLEM, ItemReader, kind
from edit_eval.benchmarks.parquet_rows import ParquetRows, parquet_files
from edit_eval.benchmarks.plain_files import folder_of, quote_text
from edit_eval.benchmarks.source_cache import CachedSource, SourceCache, kind_of
from edit_eval.benchmarks.source_pass import LOOK_AGAIN, MAX_TEXT, CheckedRow, Origin, SourcePass, unique_id
from edit_eval.errors import ConfigurationError, PictureError
from edit_eval.files.hub import local_path
from edit_eval.json_values import Unchecked
from edit_eval.masks import mask_problem
from edit_eval.records import LANGUAGES, Picture, Sample
from edit_eval.text import Text, join_texts

_ALIASES = {"jpeg": "jpg", "jpe": "jpg", "tiff": "tif", "jpeg2000": "jp2", "x-ms-bmp": "bmp"}
_NEAR = 0.75  # how similar a label must be to a known one to count as a misspelling of it


@dataclass
class RowParameters:
    """What the YAML's `benchmark` may say of any of them, filters aside."""

    data_path: str
    """The folder that holds the benchmark's files, unpacked or still in their zip or tar files."""
    on_bad_sample: str = "error"
    """`error`: a bad sample stops the run before anything is loaded; `skip`: it is counted, and left out."""
    cache_dir: str | None = None
    """Where the pictures are laid; None: `edit-eval/sources` in the user's cache."""
    allow_links: bool = False
    """Whether links in `data_path` may lead out of it; those of the hub's own cache always may."""


@dataclass
class ParquetParameters(RowParameters):
    """What may be said of those whose files are Parquet."""

    data_path: str
    """Where the data set is on the hub; or a Parquet file of it, or the folder in which (or below which) they all
    lie."""


@dataclass
class FilesParameters(RowParameters):
    """What may be said of those whose pictures are files."""

    pictures_path: str | None = None
    """The folder with the pictures, where it is not `data_path` or below."""


@dataclass
class Draft:
    """A sample as written in its row."""

    id: str
    instruction: str
    category: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    follows: str = ""
    tags: tuple[str, ...] = ()
    needed: tuple[str, ...] = ("source",)
    """The pictures without which the sample is bad."""
    difficulty: str = ""
    description: str = ""
    rationale: str = ""
    instructions: Mapping[str, str] | None = None
    """By language; None: only that of the benchmark's language."""


@dataclass(frozen=True)
class Held:
    """A picture as found in the benchmark's files."""

    data: bytes
    what: str
    """Its name in faults and notes."""
    declared: str = ""
    """The kind it claims to be."""
    origins: tuple[Origin, ...] = ()
    """The file it is in, and those that were tried."""


class Row:
    """The texts of a row. Errors become faults; corrections become notes."""

    def __init__(self, finding: CheckedRow) -> None:
        self.index = finding.index
        self.values = finding.values
        self.too_long = finding.too_long
        self.faults = [self.values[PROBLEM]] if PROBLEM in self.values else []
        self.faults += [Text("{} is longer than {} characters", name, MAX_TEXT) for name in self.too_long]
        self.notes: list[str] = []

    def text(self, name: str, *, required: bool = False) -> str:
        """Returns a field's text: the digits of a number, empty if missing."""
        value = self.values.get(name)
        if (number := text_of_value(value)) is not None and not isinstance(value, str):
            return number
        if isinstance(value, str) and value.strip():
            return value
        if value is not None and not isinstance(value, str):
            self.faults.append(Text("{} is {}, not a string", name, kind(value)))
        elif required and name not in self.too_long and PROBLEM not in self.values:
            self.faults.append(Text("no {}", name))
        return ""

    def label(self, name: str, known: Sequence[str]) -> str:
        """Returns a field's text, one of the `known`; a misspelling of one is corrected and noted."""
        said = self.text(name, required=True)
        if not said or said in known:
            return said
        bare = "_".join(said.lower().split())
        near = [bare] if bare in known else difflib.get_close_matches(bare, known, 1, _NEAR)
        if near:
            self.notes.append(Text("{} {} is taken as {!r}", name, quote_text(said), near[0]))
            return near[0]
        self.faults.append(Text("{} is {}, not one of {}", name, quote_text(said), known))
        return said


class RowBenchmark(ABC):
    """Yields one sample per row. Subclasses say where the rows are, which pictures they have, and what a sample is."""

    Parameters: ClassVar[Any] = RowParameters
    pictures_share = 1.0
    """Rough share of the files that is pictures."""
    embedded: frozenset[str] = frozenset()
    """Names of fields that hold pictures as text."""
    sizes: tuple[int, ...] = ()
    """Row counts of the sets that the authors published; any other count is noted."""
    wanted: ClassVar[tuple[str, ...]] = ("*",)
    """Patterns of the files to download from a hub's data set."""

    def __init__(self, parameters: Any) -> None:
        """Opens no file and contacts no hub (`samples` and `verify` do). Raises `ConfigurationError`."""
        for key, valid in (("language", LANGUAGES), ("on_bad_sample", ("error", "skip"))):
            if (value := getattr(parameters, key, valid[0])) not in valid:
                raise ConfigurationError(
                    Text("benchmark.{}: {} is not valid; {}", key, quote_text(value), nearest(value, valid))
                )
        self.parameters = parameters
        self.language: str = getattr(parameters, "language", LANGUAGES[0])
        """Language of the instructions."""
        self.notes: tuple[str, ...] = ()
        """Remarks that are not faults, one line each; set once `samples` is exhausted."""
        self.lines: dict[int, int] = {}
        """For bad samples of a file of lines, the line by index, both as they are counted there: lines from 1."""
        self.source_names: dict[str, str] = {}
        """What the files call the source of a sample, by its id, where it has a name."""
        self.position = (0, 0)
        """Bytes of the files read by the pass, roughly, and their size."""
        self._cache = SourceCache(parameters.cache_dir)

    @cached_property
    def path(self) -> Path:
        """The file or folder of `data_path`, downloaded if it is on the hub. Raises like `hub.local_path`."""
        return local_path(self.parameters.data_path, self.wanted)

    @cached_property
    def _pass(self) -> SourcePass:
        links = " allow_links" if self.parameters.allow_links else ""
        files = self.files()
        name = f"{type(self).__name__}{links} {self.cache_key()}"
        return SourcePass(files, self._cache, name, self.pictures_share)

    @abstractmethod
    def files(self) -> list[Path]:
        """Returns the files that hold the rows. Raises `ConfigurationError` if there are none."""

    @abstractmethod
    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yields the rows of all files as plain values, one in memory at a time; sets `share`."""

    @abstractmethod
    def pictures(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns what holds each picture of a row (see `picture`), by the sample's names; nothing if it has none."""

    @abstractmethod
    def draft(self, row: Row) -> Draft | None:
        """Returns the sample of a row; None if it is not wanted. The row has only texts."""

    def picture(self, name: str, held: Any) -> Held:
        """Returns the picture that a sample calls `name`.

        Raises `LookupError` with the reason and the places tried if there is none, `PictureError` if it is not a
        picture.
        """
        data = held.get("bytes") if isinstance(held, Mapping) else held
        if not isinstance(data, bytes) or not data:
            raise LookupError(Text("its column holds no bytes"))
        named = str(held.get("path") or "") if isinstance(held, Mapping) else ""
        return Held(data, name, PurePosixPath(named).suffix[1:])

    def cache_key(self) -> str:
        """Returns what, besides the files, determines the findings of a pass."""
        return ""

    share = 0.0
    """Share of all rows read so far, 0 to 1."""

    def samples(self) -> Iterator[Sample]:
        """Yields all samples in the files' order; bad ones have a `fault`.

        Raises `ConfigurationError` if files are missing, broken or lack a column, or the cache cannot be written;
        `Stopped` if the disk is full; and like `path`.
        """
        notes: list[str] = []
        ids: dict[str, int] = {}
        count = 0
        for finding in self.findings():
            count += 1
            row = Row(finding)
            draft = self.draft(row)
            if draft is None:
                continue
            sample = self._sample(finding, row, draft, ids)
            if isinstance(named := row.values.get("source"), str):
                self.source_names[sample.id] = named
            if sample.fault and LINE in row.values:
                self.lines[sample.index] = row.values[LINE]
            said = filter(None, (finding.note, *row.notes))
            notes += [Text("sample {}: {}", quote_text(sample.id), note) for note in said]
            yield sample
        if self.sizes and count not in self.sizes:
            expected = join_texts([f"{size:,}" for size in self.sizes], " or ")
            notes.insert(0, Text("{} has {:,} rows; the authors' sets have {}", self.path, count, expected))
        self.notes = (*notes, *self._pass.said)

    def findings(self) -> Iterable[CheckedRow]:
        """Returns what the pass found in each row, in the files' order."""
        return self._pass.findings(self._read)

    def verify(self) -> str:
        """Re-reads every picture in the cache; those that do not match their record are extracted again."""
        return self._pass.verify()

    def _read(self) -> Iterator[CheckedRow]:
        size = self._pass.bytes
        for index, row in enumerate(self.rows()):
            self.position = (round(self.share * size), size)
            yield self._find(index, row)

    def _find(self, index: int, row: Mapping[str, Any]) -> CheckedRow:
        held = {} if PROBLEM in row else self.pictures(row)
        texts = {name: value for name, value in row.items() if not (_is_picture(value) or name in self.embedded)}
        too_long = tuple(name for name, value in texts.items() if isinstance(value, str) and len(value) > MAX_TEXT)
        texts = {name: value for name, value in texts.items() if name not in too_long}
        laid: dict[str, CachedSource] = {}
        faults: list[str] = []
        for name, value in [*texts.items()]:
            try:
                texts[name] = value if name == PROBLEM else plain_value(value)
            except NoPlainValue as error:
                faults.append(Text("{} is {}", name, error))
                del texts[name]
        notes: list[str] = []
        origins: list[Origin] = []
        for name, value in held.items():
            try:
                picture = self.picture(name, value)
                origins += picture.origins
                laid[name] = self._cache.lay(picture.data, picture.what)
                if name == "mask":
                    laid[name] = replace(laid[name], oddity="")
                    if problem := mask_problem(picture.data):
                        notes.append(Text("{}: {}", picture.what, problem))
                notes += remarks(picture.what, picture.declared, laid[name])
            except PictureError as error:
                faults.append(str(error))
            except LookupError as error:
                why, *looked = error.args
                faults.append(Text("no {}: {}", name, why) if why else Text("no {}", name))
                origins += looked or ([LOOK_AGAIN] if isinstance(value, str) else [])
        return CheckedRow(index, texts, too_long, laid, join_texts(faults), join_texts(notes), tuple(origins))

    def _sample(self, finding: CheckedRow, row: Row, draft: Draft, ids: dict[str, int]) -> Sample:
        faults = [*([finding.fault] if finding.fault else []), *row.faults]
        if not faults:
            faults += [Text("no {}", name) for name in draft.needed if name not in finding.pictures]
        if draft.id in ids:
            faults.append(Text("index {} has the same id", ids[draft.id]))
            if hasattr(self.parameters, "fields"):
                faults[-1] = Text("{} (fields: {{id: NAME}} takes ids from another field)", faults[-1])
        pictures = {
            name: Picture(path=picture.path, digest=picture.digest) for name, picture in finding.pictures.items()
        }
        if draft.follows:
            pictures.pop("source", None)
        in_languages = {self.language: draft.instruction} if draft.instruction else {}
        in_languages = in_languages if draft.instructions is None else dict(draft.instructions)
        return Sample(
            id=unique_id(draft.id, finding.index, ids),
            index=finding.index,
            category=draft.category,
            pictures={} if faults else pictures,
            instruction=draft.instruction,
            facts=draft.facts,
            follows=draft.follows,
            tags=draft.tags,
            language=self.language,
            instructions=in_languages,
            difficulty=draft.difficulty,
            description=draft.description,
            rationale=draft.rationale,
            fault=join_texts(dict.fromkeys(faults)) if faults else "",
        )


class ParquetBenchmark(RowBenchmark):
    """Rows in Parquet files, pictures included. Subclasses name the columns to read."""

    Parameters: ClassVar[Any] = ParquetParameters
    wanted: ClassVar[tuple[str, ...]] = ("*.parquet",)

    def files(self) -> list[Path]:
        """Returns the Parquet files."""
        return parquet_files(str(self.path), allow_links=self.parameters.allow_links)

    @abstractmethod
    def columns(self) -> Sequence[str]:
        """Returns the names of the columns to read."""

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yields each row of the files, or the rows it unfolds to."""
        read = ParquetRows(self.files(), self.columns())
        for row in read.rows():
            self.share = read.share
            yield from self.unfold(row)

    def unfold(self, row: Unchecked) -> Iterable[Mapping[str, Any]]:
        """Returns the rows that a row of a file contains; by default only itself."""
        return [row]


class FilesBenchmark(RowBenchmark):
    """Rows in JSON files with pictures in files beside them; both may still be in zip or tar files."""

    Parameters: ClassVar[Any] = FilesParameters
    names: tuple[str, ...]
    """Names of the authors' JSON file, which may be in several folders; the first name found counts. `data_path` may be
    that file, too."""
    rows_file: AuthorsFile | None = None
    """The rows, if they are published apart from the pictures: `fetch` downloads them."""

    def files(self) -> list[Path]:
        """Returns the JSON files and all archives."""
        if not self.path.exists():
            raise ConfigurationError(Text("benchmark.data_path: {} does not exist", self.path))
        pictures = Path(self.parameters.pictures_path or self.path).expanduser().absolute()
        if not pictures.exists():
            raise ConfigurationError(Text("benchmark.pictures_path: {} does not exist", pictures))
        is_json = self.path.is_file() and self.path.suffix.lower() in (".json", ".jsonl")
        links = self.parameters.allow_links
        self._tree = FileTree(self.path.parent if is_json else self.path, allow_links=links)
        self._pictures = FileTree(pictures, allow_links=links) if self.parameters.pictures_path else self._tree
        there = self.find_row_files(self._tree)
        self._named = self.path if is_json else None
        if not there and self.rows_file:
            self._named = self.rows_file.path_in_cache()
        if self._named:
            there = [FoundFile(self._named.name, None, self._named)]
        if not there:
            raise ConfigurationError(Text("benchmark.data_path: {} has no {: or } in it", self.path, self.names))
        self._rows_in = there
        unpacked = [file.path for file in self._rows_in if file.archive is None]
        return [*unpacked, *dict.fromkeys((*self._tree.archives, *self._pictures.archives))]

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yields each row, with its `KEY` in the file."""
        for number, file in enumerate(self._rows_in):
            try:
                own = file.path == self._named  # the user named it
                data = folder_of(file.path).read(file.path, file.name) if own else self._tree.read(file)
            except LookupError as error:
                raise ConfigurationError(Text("benchmark.data_path: {}", error.args[0])) from None
            rows = [unfolded for row in self.parse_rows(data, file) for unfolded in self.unfold(row, file)]
            for place, row in enumerate(rows, 1):
                self.share = (number + place / len(rows)) / len(self._rows_in)
                yield row
        self._tree.close()
        self._pictures.close()

    def find_row_files(self, tree: FileTree) -> list[FoundFile]:
        """Returns the files with the rows."""
        return tree.first_named(self.names)

    def parse_rows(self, data: bytes, file: FoundFile) -> Iterator[Unchecked]:
        """Yields the rows of a file. Raises `ConfigurationError` if it has none."""
        number = -1
        for number, item in enumerate(ItemReader(file.path, data=data).items()):
            place = {PLACE: item.place} if item.group else {}
            problem = {PROBLEM: item.problem} if item.problem else {}
            yield {KEY: item.key or item.group or str(number), **place, **item.values, **problem}
        if number < 0:
            raise ConfigurationError(Text("benchmark.data_path: {} has no rows", file.path))

    def unfold(self, row: Unchecked, file: FoundFile) -> Sequence[Unchecked]:
        """Returns the rows that a row of a file contains; by default only itself."""
        return [row]

    def picture(self, name: str, held: Any) -> Held:
        """Returns a file by its name in the tree."""
        if not isinstance(held, str):
            raise LookupError(Text("its name is {}, not a string", kind(held)))
        file = self._pictures.find(held)
        origins, data = self._pictures.origin(file), self._pictures.read(file)
        return picture_from_file(data, name, held, tuple(origin.read(data) for origin in origins))


def number_pictures(name: str, held: Iterable[Any]) -> Unchecked:
    """Names several pictures of a kind: `source`, `source_2`, ..."""
    return {f"{name}_{number}" if number > 1 else name: picture for number, picture in enumerate(held, 1)}


def picture_from_file(data: bytes, name: str, path: str, origins: tuple[Origin, ...] = ()) -> Held:
    """Returns a picture read from the file at the row's `path`."""
    return Held(data, f"{name} {quote_text(path)}", PurePosixPath(path).suffix[1:], origins)


def decode_base64(text: str) -> tuple[bytes, str]:
    """Decodes base64, and returns the kind given by a `data:` address, too. Raises `ValueError` if it is not base64."""
    head, _, rest = text.partition(",") if text.startswith("data:") else ("", "", text)
    data = base64.b64decode("".join(rest.split()), validate=True)
    return data, head.removeprefix("data:").partition(";")[0].partition("/")[2]


def remarks(what: str, declared: str, picture: CachedSource) -> list[str]:
    """Returns oddities of a picture that are not faults: it is not the kind it `declared`, or has an unusual form."""
    claimed = _ALIASES.get(declared.lower()) or kind_of(declared)
    wrong = claimed and claimed != picture.kind and claimed not in ("heic", "heif")
    called = Text("{} is declared as {} but is {}: used as such", what, quote_text(declared), picture.kind)
    return [*([called] if wrong else []), *([Text("{} {}", what, picture.oddity)] if picture.oddity else [])]


def _is_picture(value: Any) -> bool:
    return isinstance(value, bytes) or (isinstance(value, Mapping) and isinstance(value.get("bytes"), bytes))


def nearest(word: str, valid: Sequence[str]) -> str:
    """Returns the end of an error message: the valid word probably meant, or all of them."""
    near = difflib.get_close_matches(word, valid, n=1)
    return Text("did you mean {!r}?", near[0]) if near else Text("valid are {}", valid)
