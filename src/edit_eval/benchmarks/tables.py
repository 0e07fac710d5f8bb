"""Rows of the user's own tables: CSV, TSV, JSON, JSONL, Parquet, Arrow, or pictures with a text each."""

from __future__ import annotations

import io
import itertools
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path, PurePosixPath

from edit_eval.benchmarks.json_items import LINE, PROBLEM, ItemReader
from edit_eval.benchmarks.parquet_rows import ParquetRows, parquet_files
from edit_eval.benchmarks.plain_files import MAX_FILE_BYTES, PlainFiles, folder_of
from edit_eval.errors import ConfigurationError
from edit_eval.files.delimited import MISSING, BadCsv, csv_rows
from edit_eval.files.user_files import read_text, split_lines
from edit_eval.json_values import Unchecked
from edit_eval.text import Text

PICTURES = (
    ".png",
    ".jpg",
    ".jpeg",
    ".jfif",
    ".webp",
    ".bmp",
    ".gif",
    ".tif",
    ".tiff",
    ".avif",
    ".jp2",
    ".heic",
    ".heif",
)
_POINTER = b"version https://git-lfs"
_SAVED, _SAVED_SPLITS = "state.json", "dataset_dict.json"
"""What `datasets` writes beside the rows that it saves, and beside the folders of several splits."""
GROUP = "category"
"""The column for the name of an item's list, if the JSON is an object of lists."""
_NAMES_FROM = 100  # items of a JSON file that are searched for columns
_TABLES = ("metadata", "table", "prompts", "instructions")
"""Stems that mark the table in a folder with several files; the first found counts."""

Progress = Callable[[float], None]
"""Called with the share of rows read so far, 0 to 1."""


class TableFile(ABC):
    """Columns, and rows of plain values; a picture is bytes, a mapping with `bytes`, a path, or base64."""

    def __init__(self, files: Sequence[Path]) -> None:
        self.files = list(files)
        self.folder = self.files[0].parent
        """Relative paths in the table start here."""
        self.marks: Callable[[str], bool] = lambda name: False
        """Tells by its name which column a row must have: so an object of JSON is known as a row."""

    @abstractmethod
    def columns(self) -> list[str]:
        """Returns the column names in order. Raises `ConfigurationError` if the file is not such a table."""

    @abstractmethod
    def rows(self, wanted: Collection[str], progress: Progress) -> Iterator[Unchecked]:
        """Yields each row's `wanted` columns, few rows in memory; a bad row has a `PROBLEM`. Raises like `columns`."""


class CsvTable(TableFile):
    """UTF-8 text with commas, semicolons or tabs between cells, as in the first line."""

    def columns(self) -> list[str]:
        """Returns the column names in order, as the first row has them."""
        header = [name.strip() for _, row in itertools.islice(self._cells(lambda share: None), 1) for name in row]
        twice = next((name for name in header if name and header.count(name) > 1), "")
        if twice or not any(header):
            problem = Text("has the column `{}` twice", twice) if twice else Text("is empty")
            raise ConfigurationError(Text("benchmark.data_path: {} {}", self.files[0], problem))
        return header

    def rows(self, wanted: Collection[str], progress: Progress) -> Iterator[Unchecked]:
        header, cells = self.columns(), self._cells(progress)
        next(cells)
        for line, row in cells:
            if len(row) > len(header) and any(row[len(header) :]):
                text = Text(
                    "the row has {} cells for {} columns: put quotes around text with commas", len(row), len(header)
                )
                yield {LINE: line, PROBLEM: text}
            elif any(cell.strip() for cell in row):
                named = zip(header, row, strict=False)
                yield {LINE: line} | {name: None if cell in MISSING else cell for name, cell in named if name in wanted}

    def _cells(self, progress: Progress) -> Iterator[tuple[int, list[str]]]:
        """Yields each row with the number of its first line."""
        path = self.files[0]
        try:
            size = path.stat().st_size
            with open(path, "rb") as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as file:
                for line, row in csv_rows(file, longest=MAX_FILE_BYTES * 4 // 3):  # a picture in base64
                    progress(min(1.0, raw.tell() / max(size, 1)))
                    yield line, row
        except UnicodeDecodeError as error:
            raise ConfigurationError(
                Text("benchmark.data_path: {} is not UTF-8 text (byte {}): save it as CSV in UTF-8", path, error.start)
            ) from error
        except BadCsv as error:
            raise ConfigurationError(Text("benchmark.data_path: {} is not valid CSV: {}", path, error)) from error
        except OSError as error:
            raise ConfigurationError(Text("benchmark.data_path: {}: {}", path, error.strerror or error)) from error


class JsonTable(TableFile):
    """A list of objects, an object of lists by category, or JSONL."""

    def columns(self) -> list[str]:
        names: dict[str, None] = {}
        reader = ItemReader(self.files[0], frozenset(), marks=self.marks)
        for number, item in enumerate(reader.items()):
            names |= dict.fromkeys([*item.names, *([GROUP] if item.group else [])])
            if number == _NAMES_FROM:
                break
        return list(names)

    def rows(self, wanted: Collection[str], progress: Progress) -> Iterator[Unchecked]:
        reader = ItemReader(self.files[0], frozenset(wanted), marks=self.marks)
        size = max(self.files[0].stat().st_size, 1)
        for item in reader.items():
            progress(reader.position / size)
            group = {GROUP: item.group} if item.group and GROUP in wanted else {}
            yield {**group, **item.values, **({PROBLEM: item.problem} if item.problem else {})}


class ParquetTable(TableFile):
    """One file, or shards; pictures are bytes, or the hub's mappings."""

    def columns(self) -> list[str]:
        return ParquetRows(self.files, ()).columns()

    def rows(self, wanted: Collection[str], progress: Progress) -> Iterator[Unchecked]:
        rows = ParquetRows(self.files, list(wanted))
        for row in rows.rows():
            progress(rows.share)
            yield row


class PictureFolder(TableFile):
    """Pictures, each with a `.txt` of the same name, or all with one `.txt` of lines `cat.png: Make it blue`."""

    def __init__(self, folder: Path, pictures: Sequence[Path], texts: Sequence[Path]) -> None:
        super().__init__(texts)
        self.folder = folder
        self._pictures = pictures

    def columns(self) -> list[str]:
        return ["id", "image", "instruction"]

    def rows(self, wanted: Collection[str], progress: Progress) -> Iterator[Unchecked]:
        own = {path.stem: path for path in self.files}
        lines = [] if any(picture.stem in own for picture in self._pictures) else self._lines()
        for number, picture in enumerate(self._pictures, 1):
            progress(number / len(self._pictures))
            row = {"id": picture.stem, "image": picture.name}
            if lines:
                texts = [match[1] for line in lines if (match := self._line_pattern(picture).match(line.strip()))]
                problem = Text("{} has no line for {}", self.files[0].name, picture.name) if not texts else ""
                problem = (
                    Text("{} has {} lines for {}", self.files[0].name, len(texts), picture.name)
                    if texts[1:]
                    else problem
                )
            else:
                texts = [self._text(own[picture.stem]).strip()] if picture.stem in own else []
                problem = "" if texts else Text("there is no {}.txt", picture.stem)
            row |= {"instruction": texts[0]} if texts else {}
            yield row | ({PROBLEM: problem} if problem else {})

    def _lines(self) -> list[str]:
        """Returns the lines of the one text that names pictures: a licence may lie beside it."""
        texts = {path: split_lines(self._text(path)) for path in self.files}
        names = tuple(picture.name for picture in self._pictures)
        naming = [path for path, lines in texts.items() if any(line.strip().startswith(names) for line in lines)]
        if len(naming) > 1:
            raise ConfigurationError(
                Text("benchmark.data_path: {} and {} both name pictures; remove one", naming[0], naming[1])
            )
        self.files = naming or self.files[:1]
        return texts[self.files[0]]

    @staticmethod
    def _line_pattern(picture: Path) -> re.Pattern[str]:
        return re.compile(rf"{re.escape(picture.name)}\s*[:,\t ]\s*(.+)")

    @staticmethod
    def _text(path: Path) -> str:
        try:
            return path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(Text("benchmark.data_path: {} is not UTF-8 text ({})", path, error)) from error


_KINDS: dict[str, type[TableFile]] = {
    ".csv": CsvTable,
    ".tsv": CsvTable,
    ".json": JsonTable,
    ".jsonl": JsonTable,
    ".ndjson": JsonTable,
    ".parquet": ParquetTable,
    ".arrow": ParquetTable,
}


TEXT_TABLES = tuple(suffix for suffix, kind in _KINDS.items() if kind is not ParquetTable)
"""Endings of tables whose pictures may be files beside them."""


def table_names(names: Sequence[str]) -> list[str]:
    """Filters file names for tables; a single one if a name marks it as the table."""
    tables = [name for name in sorted(names) if PurePosixPath(name).suffix.lower() in TEXT_TABLES]
    named = [name for stem in _TABLES for name in tables if PurePosixPath(name).stem == stem]
    return named[:1] or tables


def find_table(path: Path, *, allow_links: bool = False) -> TableFile:
    """Returns the table in a file or folder.

    In a folder this is its only table, or the one named `metadata`; else the Parquet files below; else its pictures
    with their texts. Raises `ConfigurationError` if there is none, and for files in the folder that `PlainFiles`
    refuses.
    """
    if not path.is_dir() and path.exists():
        folder_of(path).check(path)
        kind = _KINDS.get(path.suffix.lower())
        if kind is None:
            remedy = next((words for endings, words in _REMEDIES.items() if path.name.lower().endswith(endings)), "")
            raise ConfigurationError(
                Text("benchmark.data_path: {} is not a folder, and not one of {}{}", path, _KINDS, remedy)
            )
        with open(path, "rb") as file:
            if file.read(len(_POINTER)) == _POINTER:
                raise ConfigurationError(
                    Text("benchmark.data_path: {} is a pointer of Git LFS: `git lfs pull` downloads the file", path)
                )
        return kind([path])
    if not path.is_dir():
        raise ConfigurationError(Text("benchmark.data_path: {} does not exist", path))
    if (path / _SAVED).is_file():
        return ParquetTable(_list_saved_files(path))
    if splits := _splits(path):
        if len(splits) > 1:
            raise ConfigurationError(Text("benchmark.data_path: {} has several splits; give one of {}", path, splits))
        return find_table(splits[0], allow_links=allow_links)
    there = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
    tables = table_names([file.name for file in there])
    if len(tables) > 1:
        raise ConfigurationError(Text("benchmark.data_path: {} has several tables: {}; give one", path, tables[:5]))
    files = PlainFiles(path, allow_links)
    if tables:
        return find_table(files.check(path / tables[0]))
    pictures = [file for file in there if file.suffix.lower() in PICTURES]
    texts = [file for file in there if file.suffix.lower() == ".txt"]
    if pictures and texts:
        return PictureFolder(path, pictures, list(map(files.check, texts)))
    if any(file.name.endswith(".parquet") for file in files.walk()):
        return ParquetTable(parquet_files(str(path), allow_links=allow_links))
    remedy = Text("; `edit-eval init --pictures {}` makes a table to fill in", path) if pictures else ""
    raise ConfigurationError(
        Text("benchmark.data_path: {} has no table, nor pictures with a .txt file each{}", path, remedy)
    )


_REMEDIES = {
    (".xlsx", ".xls", ".ods", ".numbers"): Text("; save it as CSV in UTF-8"),
    (".gz", ".tgz", ".7z", ".rar", ".zst", ".xz", ".bz2"): Text("; unpack it, and give the folder"),
}


def _list_saved_files(folder: Path) -> list[Path]:
    """Returns the files of rows that `datasets` has saved in a folder, in order."""
    try:
        files = [folder / str(file["filename"]) for file in json.loads(read_text(folder / _SAVED))["_data_files"]]
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(Text("benchmark.data_path: {} cannot be read ({})", folder / _SAVED, error)) from error
    if not files or not all(file.parent == folder and file.is_file() for file in files):
        raise ConfigurationError(Text("benchmark.data_path: {} lacks files that {} names", folder, _SAVED))
    return files


def _splits(folder: Path) -> list[Path]:
    """Returns the folders of a data set that has one for each split, with its own table; none if it is no such."""
    inside = sorted(part for part in folder.iterdir() if part.is_dir() and not part.name.startswith("."))
    if (folder / _SAVED_SPLITS).is_file():
        return [part for part in inside if (part / _SAVED).is_file()]
    if any(file.suffix.lower() in (*_KINDS, *PICTURES) for file in folder.iterdir() if file.is_file()):
        return []
    return [part for part in inside if any((part / f"metadata{suffix}").is_file() for suffix in TEXT_TABLES)]
