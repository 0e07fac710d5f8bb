"""Streams the rows of Parquet and Arrow files, as hubs and `datasets` keep them, with few rows in memory at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from edit_eval.benchmarks.plain_files import PlainFiles, folder_of, place_of
from edit_eval.errors import ConfigurationError
from edit_eval.files.hub import local_path
from edit_eval.json_values import Unchecked
from edit_eval.text import Text

_ROWS = 2  # per batch; each may hold a picture of some megabytes
_BUFFER = 1 << 20  # bytes of a column read at once
_SHARD = re.compile(r"(.*)-(\d{5})-of-(\d{5})(.*)")


def parquet_files(data_path: str, *, allow_links: bool = False) -> list[Path]:
    """Returns the file, or all `*.parquet` of the folder and below, sorted by name; hidden folders are skipped.

    For an address on the hub they are those of its snapshot, downloaded if need be. Raises `ConfigurationError` if
    there are none, if a shard (`-00000-of-00003`) is missing, and for a file that `PlainFiles` refuses; and like
    `hub.local_path`.
    """
    path = local_path(data_path, ("*.parquet",))
    if not path.is_dir():
        return [folder_of(path).check(path)]
    plain = PlainFiles(path, allow_links)
    there = ((file, file.relative_to(path)) for file in plain.walk() if file.name.endswith(".parquet"))
    seen = [file for file, inside in there if not any(part.startswith(".") for part in inside.parts)]
    files = sorted({place_of(file): file for file in reversed(seen)}.values())
    if not files:
        raise ConfigurationError(Text("benchmark.data_path: {} has no .parquet file", path))
    for shard in filter(None, (_SHARD.fullmatch(file.name) for file in files)):
        wanted = {f"{shard[1]}-{number:05d}-of-{shard[3]}{shard[4]}" for number in range(int(shard[3]))}
        if missing := sorted(wanted - {file.name for file in files}):
            raise ConfigurationError(
                Text("benchmark.data_path: {} is incomplete: {} is missing; download it again", path, missing[0])
            )
    return list(map(plain.check, files))


class ParquetRows:
    """Reads the `columns` of `files`, one file after the other.

    pyarrow reads a page at a time, which may be a row group's whole column of pictures, and holds it three times:
    packed, unpacked, as a dictionary. A row group of 100 MB may take 500 MB of memory.
    """

    def __init__(self, files: Sequence[Path], columns: Sequence[str]) -> None:
        self._files = files
        self._columns = list(columns)
        self.share = 0.0
        """Share of all rows read so far, 0 to 1."""

    def rows(self) -> Iterator[Unchecked]:
        """Yields each row as plain values; a picture on the hub is a mapping with `bytes` and `path`.

        Raises `ConfigurationError` if a file is broken or lacks a column, or pyarrow is missing.
        """
        opened = [self._open(path) for path in self._files]
        total = sum(file.metadata.num_rows for file in opened)
        read = 0
        for path, file in zip(self._files, opened, strict=True):
            try:
                for row in self._rows(file):
                    read += 1
                    self.share = read / total
                    yield row
            except _errors() as error:
                raise _broken(path, error) from error

    def _rows(self, file: Any) -> Iterator[Unchecked]:
        labels = {name: names for name, names in _labels(file).items() if name in self._columns}
        for batch in file.iter_batches(batch_size=_ROWS, columns=self._columns):
            for row in batch.to_pylist():
                for name, names in labels.items():
                    row[name] = _label(row[name], names)
                yield row

    def columns(self) -> list[str]:
        """Returns the names of all columns of the first file. Raises like `rows`."""
        return list(self._open(self._files[0]).schema_arrow.names)

    def _open(self, path: Path) -> Any:
        try:
            from pyarrow.parquet import ParquetFile
        except ImportError as error:
            raise ConfigurationError(
                Text("benchmark.data_path: Parquet and Arrow need pyarrow; `pip install 'edit-eval[hub]'` brings it")
            ) from error
        try:
            # No memory map and no read-ahead: they would hold far more than a page of each column.
            made = partial(ParquetFile, memory_map=False, buffer_size=_BUFFER, pre_buffer=False)
            file = _ArrowFile(path) if path.suffix.lower() == ".arrow" else made(path)
        except _errors() as error:
            raise _broken(path, error) from error
        there = file.schema_arrow.names
        if twice := [name for name in self._columns if there.count(name) > 1]:
            raise ConfigurationError(Text("benchmark.data_path: {} has the column `{}` twice", path, twice[0]))
        if lacking := [name for name in self._columns if name not in there]:
            raise ConfigurationError(
                Text("benchmark.data_path: {} has no column `{}`; it has {}", path, lacking[0], there[:12])
            )
        return file


class _ArrowFile:
    """A file of Arrow's batches, in the stream's format (as `datasets` writes it) or the file's: like a `ParquetFile`.

    It is mapped into memory, and nothing is copied before it is asked for.
    """

    def __init__(self, path: Path) -> None:
        import pyarrow

        with pyarrow.memory_map(str(path)) as mapped:
            opened = pyarrow.ipc.open_file if mapped.read(6) == b"ARROW1" else pyarrow.ipc.open_stream
            mapped.seek(0)
            self.metadata = opened(mapped).read_all()
        self.schema_arrow = self.metadata.schema

    def iter_batches(self, batch_size: int, columns: Sequence[str]) -> Iterator[Any]:
        """Yields all rows, some at a time."""
        yield from self.metadata.select(columns).to_batches(max_chunksize=batch_size)


def _errors() -> tuple[type[Exception], ...]:
    from pyarrow import ArrowException

    return (ArrowException, OSError, ValueError)


def _labels(file: Any) -> dict[str, list[str]]:
    """Returns the names behind the numbers of label columns (`ClassLabel`), as noted by `datasets`."""
    try:
        said = json.loads((file.schema_arrow.metadata or {}).get(b"huggingface", b"{}"))
        features = said["info"]["features"].items()
        return {name: list(feature["names"]) for name, feature in features if feature.get("_type") == "ClassLabel"}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def _label(number: Any, names: Sequence[str]) -> Any:
    """Returns the name of a label; "" for -1 (a missing label), and any other value that numbers no name unchanged."""
    if type(number) is not int or number >= len(names):
        return number
    return names[number] if number >= 0 else None


def _broken(path: Path, error: Exception) -> ConfigurationError:
    kind = path.suffix[1:].capitalize()
    return ConfigurationError(
        Text("benchmark.data_path: {} is not a complete {} file ({: })", path, kind, str(error).split())
    )
