"""The values of one large column of a Parquet file, one in memory at a time.

Who writes pictures for the hub puts a hundred rows into a row group, and so a hundred pictures into one page: pyarrow
has that page in memory three times (as it lies in the file, unpacked, and as a dictionary), which is 400 MB. Here a
page is unpacked as it is read; a dictionary goes to a nameless file on the disk.

Formats: github apache/parquet-format (README.md, Encodings.md, parquet.thrift), google/snappy (format_description.txt),
apache/thrift (thrift-compact-protocol.md).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from edit_eval.text import Text

_READ = 1 << 20
_WINDOW = 1 << 16  # bytes behind which a copy in Snappy never reaches: compressors cut their input so
_LARGE = 8 << 20  # bytes of a chunk below which pyarrow's copies cost nothing
_CODECS = ("UNCOMPRESSED", "SNAPPY", "GZIP", "BROTLI", "ZSTD")
_PLAIN, _BY_DICTIONARY = 0, (2, 8)
_ENCODINGS = {"PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY"}
_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3

Read = Callable[[int], bytes]
"""So many of the next bytes, all of them. Raises `ValueError` where there are fewer."""


def large_columns(file: Any) -> dict[str, int]:
    """Path (`image.bytes`) -> number of the columns of a `ParquetFile` that `column_values` is to read, not pyarrow.

    These are byte strings, alone or as a member of a struct, not lists of them.
    """
    found = {}
    groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    for number in range(len(file.schema)):
        column = file.schema.column(number)
        chunks = [group.column(number) for group in groups]
        if (
            column.physical_type == "BYTE_ARRAY"
            and column.max_repetition_level == 0
            and column.path.count(".") <= 1
            and any(chunk.total_uncompressed_size > _LARGE for chunk in chunks)
            and all(chunk.compression in _CODECS and {*chunk.encodings} <= _ENCODINGS for chunk in chunks)
        ):
            found[column.path] = number
    return found


def column_values(file: Any, path: Path, number: int, scratch: Path | None) -> Iterator[bytes | str | None]:
    """The values of the column in all row groups of a `ParquetFile`, which lies at `path`.

    A dictionary lies in a file without a name in the folder `scratch` (None: the system's) meanwhile. Raises
    `ValueError` for a file that is broken, and `OSError`.
    """
    column = file.schema.column(number)
    is_text, levels = column.logical_type.type == "STRING", column.max_definition_level
    with open(path, "rb", buffering=_READ) as raw:
        for group in range(file.metadata.num_row_groups):
            try:
                for value in _Chunk(raw, file.metadata.row_group(group).column(number), levels, scratch).values():
                    yield value.decode() if is_text and value is not None else value
            except (IndexError, KeyError, TypeError, RecursionError) as error:
                raise ValueError(Text("a page of {} is not as its header says", column.path)) from error


class _Chunk:
    """A column in one row group."""

    def __init__(self, raw: IO[bytes], chunk: Any, levels: int, scratch: Path | None) -> None:
        self._raw, self._levels, self._scratch = raw, levels, scratch
        self._codec, self._count = chunk.compression, chunk.num_values
        # Some writers give 0 where there is no dictionary.
        self._begin = min(filter(None, (chunk.dictionary_page_offset, chunk.data_page_offset)))

    def values(self) -> Iterator[bytes | None]:
        with tempfile.TemporaryFile(dir=self._scratch) as words:
            at, left, offsets = self._begin, self._count, [0]
            while left > 0:
                self._raw.seek(at)
                header = _read_struct(self._bytes)
                at = self._raw.tell() + header[3]
                if min(header[2], header[3]) < 0:
                    raise ValueError(Text("a page is less than nothing"))
                if header[1] == _DICTIONARY:
                    read = self._unpacked(header[3], header[2], self._codec)
                    for _ in range(header[7][1]):
                        offsets.append(offsets[-1] + words.write(_plain(read)))
                elif header[1] in (_DATA, _DATA_2):
                    about = header[5] if header[1] == _DATA else header[8]
                    if not 0 <= about[1] <= left:
                        raise ValueError(Text("a page has more values than its column"))
                    left -= about[1]
                    yield from self._page(header, about, words, offsets)

    def _page(
        self, header: dict[int, Any], about: dict[int, Any], words: IO[bytes], offsets: list[int]
    ) -> Iterator[bytes | None]:
        packed, unpacked, count = header[3], header[2], about[1]
        there = [self._levels] * count
        if header[1] == _DATA_2:
            levels = self._bytes(about[6] + about[5])[about[6] :]
            codec = self._codec if about.get(7, True) else "UNCOMPRESSED"
            read = self._unpacked(packed - about[5] - about[6], unpacked - about[5] - about[6], codec)
            encoding = about[4]
        else:
            read = self._unpacked(packed, unpacked, self._codec)
            levels = read(int.from_bytes(read(4), "little")) if self._levels else b""
            encoding = about[2]
        if self._levels:
            there = _runs(levels, self._levels.bit_length(), count)
        held = sum(level == self._levels for level in there)
        if encoding == _PLAIN:
            for level in there:
                yield _plain(read) if level == self._levels else None
        elif encoding in _BY_DICTIONARY:
            width = read(1)[0] if held else 0
            numbers = iter(_runs(read(-1), width, held))
            for level in there:
                yield _word(words, offsets, next(numbers)) if level == self._levels else None
        else:
            raise ValueError(Text("a page has the encoding {}", encoding))

    def _bytes(self, count: int) -> bytes:
        data = self._raw.read(count)
        if len(data) < count:
            raise ValueError(Text("the file ends in a page"))
        return data

    def _unpacked(self, packed: int, unpacked: int, codec: str) -> Read:
        """Reads what the next `packed` bytes of the file are without their compression."""
        if codec == "SNAPPY":
            return _in_pieces(_from_snappy(self._bytes, unpacked), unpacked)
        if codec != "UNCOMPRESSED":
            return _in_pieces(self._from_codec(packed, codec), unpacked)
        return _in_pieces((self._bytes(min(_READ, packed - at)) for at in range(0, packed, _READ)), unpacked)

    def _from_codec(self, packed: int, codec: str) -> Iterator[bytes]:
        from pyarrow import CompressedInputStream, OSFile

        with OSFile(self._raw.name) as file:
            stream = CompressedInputStream(file.get_stream(self._raw.tell(), packed), codec.lower())
            while piece := stream.read(_READ):
                yield piece


def _in_pieces(pieces: Iterator[bytes], size: int) -> Read:
    """Reads across the pieces, of which there are `size` bytes in all."""
    buffer = bytearray()
    left = size

    def read(count: int) -> bytes:
        nonlocal left
        count = left if count < 0 else count
        if count > left:
            raise ValueError(Text("a value goes beyond its page"))
        while len(buffer) < count:
            piece = next(pieces, b"")
            if not piece:
                raise ValueError(Text("a page is shorter than its header says"))
            buffer.extend(piece)
        left -= count
        data = bytes(buffer[:count])
        del buffer[:count]
        return data

    return read


def _plain(read: Read) -> bytes:
    return read(int.from_bytes(read(4), "little"))


def _word(words: IO[bytes], offsets: list[int], number: int) -> bytes:
    begin, end = offsets[number], offsets[number + 1]
    words.seek(begin)
    return words.read(end - begin)


def _from_snappy(read: Read, size: int) -> Iterator[bytes]:
    """The `size` bytes that a block of Snappy stands for, in pieces: literals, and copies of what came before."""
    left, given, out = _varint(read), 0, bytearray()
    if left != size:
        raise ValueError(Text("a page is of another size than its header says"))
    while left > 0:
        tag = read(1)[0]
        kind, length = tag & 3, (tag >> 2) + 1
        if kind == 0:
            if length > 60:
                length = int.from_bytes(read(length - 60), "little") + 1
            if length > left:
                raise ValueError(Text("a page is longer than its header says"))
            out += read(length)
        else:
            if kind == 1:
                length, offset = (tag >> 2 & 7) + 4, tag >> 5 << 8 | read(1)[0]
            else:
                offset = int.from_bytes(read(2 if kind == 2 else 4), "little")
            begin = len(out) - offset
            if not 0 <= begin < len(out):
                raise ValueError(Text("a copy in a page reaches behind what there is"))
            # Where it reaches into itself, what lies between is repeated.
            out += out[begin : begin + length] if offset >= length else (out[begin:] * (length // offset + 1))[:length]
        left -= length
        if len(out) > _READ:
            yield bytes(out[given:])
            del out[:-_WINDOW]
            given = len(out)
    yield bytes(out[given:])


def _runs(data: bytes, width: int, count: int) -> list[int]:
    """The first `count` numbers of a run-length and bit-packed hybrid; of `width` 0 all are 0."""
    if not width:
        return [0] * count
    found: list[int] = []
    read = _in_pieces(iter([data]), len(data))
    while len(found) < count:
        header = _varint(read)
        if header & 1:
            packed = int.from_bytes(read((header >> 1) * width), "little")
            many = min((header >> 1) * 8, count - len(found))
            found += [packed >> place * width & (1 << width) - 1 for place in range(many)]
        else:
            number = int.from_bytes(read((width + 7) // 8), "little")
            found += [number] * min(header >> 1, count - len(found))
    return found


def _varint(read: Read) -> int:
    number = shift = 0
    while True:
        byte = read(1)[0]
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number
        if shift > 63:
            raise ValueError(Text("a number does not end"))


def _read_struct(read: Read) -> dict[int, Any]:
    """A struct of Thrift's compact protocol: number of a field -> its value."""
    fields: dict[int, Any] = {}
    number = 0
    while head := read(1)[0]:
        number = number + (head >> 4) if head >> 4 else _zigzag(read)
        fields[number] = _thrift_value(read, head & 0x0F)
    return fields


def _thrift_value(read: Read, kind: int) -> Any:
    match kind:
        case 1 | 2:
            return kind == 1
        case 3:
            return read(1)[0]
        case 4 | 5 | 6:
            return _zigzag(read)
        case 7:
            return read(8)
        case 8:
            return read(_varint(read))
        case 9 | 10:
            head = read(1)[0]
            many = head >> 4 if head >> 4 < 15 else _varint(read)
            return [_thrift_value(read, head & 0x0F) for _ in range(many)]
        case 12:
            return _read_struct(read)
    raise ValueError(Text("a page has no header"))


def _zigzag(read: Read) -> int:
    number = _varint(read)
    return number >> 1 ^ -(number & 1)
