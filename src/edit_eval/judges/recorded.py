"""`recorded`: replies given elsewhere, by people or by another judge, read from a file.

Each row is one reply with its address. JSON is a list of objects, JSONL one object per line, CSV and TSV have a header
line:

| column       | what it holds                                                                                    |
|--------------|--------------------------------------------------------------------------------------------------|
| `sample`     | the sample's id                                                                                  |
| `edit_model` | the edit model's name in the configuration                                                       |
| `question`   | the question's name in the protocol: `score` in `rubric`, `SC` and `PQ` in `viescore`             |
| `other`      | if two edits were compared, the second edit model: the later of the two in `edit_models`          |
| `repeat`, `edit_seed`, `reading` | from 0; a missing column is 0                                                |
| `text`       | the reply, unchanged; JSON that is not a string is written as text                                |
| `ended`      | `cut_off` (by a limit on its length) or `refused`; empty if it ended normally                    |

Other columns can be named with `fields`; columns of numbers (what was measured, probabilities) with `values`.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edit_eval.errors import ChangedError, ConfigurationError, LoadError, ModelError
from edit_eval.files.delimited import read_named_rows
from edit_eval.files.matching import match, near, normalise_name, whole
from edit_eval.files.user_files import UnfitFile, number, read_bytes, split_lines
from edit_eval.judges.contract import JudgeRequest
from edit_eval.records import Reply, Status
from edit_eval.text import Text

NAMES = ("sample", "edit_model", "question")
OTHER = "other"
COUNTS = ("repeat", "edit_seed", "reading")
FIELDS = (*NAMES, OTHER, *COUNTS, "text", "ended")
ENDS = {"": Status.OK, "ok": Status.OK, "cut_off": Status.CUT_OFF, "refused": Status.REFUSED}
MOST_BYTES = 1 << 30
SUFFIXES = (".json", ".jsonl", ".csv", ".tsv")

ReplyAddress = tuple[str | int, ...]
RecordedRow = Mapping[str, Any]


class Recorded:
    """Gives the replies that a JSON, JSONL, CSV or TSV file holds, by sample, edit model and question."""

    holds_device = False
    replays = True

    @dataclass
    class Parameters:
        """What decides the replies, besides the file's content."""

        path: str = field(metadata={"in_key": False})
        """The file: .json, .jsonl, .csv or .tsv, in UTF-8."""
        fields: dict[str, str] = field(default_factory=dict)
        """What columns are called where not as here: `{sample: uid, edit_model: editor}`."""
        values: list[str] = field(default_factory=list)
        """Columns of numbers, each a value of the reply by the column's name; an empty cell is no value."""

        def __post_init__(self) -> None:
            if unknown := sorted({*self.fields} - {*FIELDS}):
                raise ValueError(f"fields: there is no `{unknown[0]}`, but {', '.join(FIELDS)}")
            if Path(self.path).suffix.lower() not in SUFFIXES:
                raise ValueError(f"path: {self.path} is none of {', '.join(SUFFIXES)}")

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self._path = Path(parameters.path).expanduser()
        self._replies: dict[ReplyAddress, Reply] = {}

    @staticmethod
    def revision(parameters: Parameters) -> str:
        """Returns the SHA-256 of the file. Raises `ConfigurationError` with the place of what cannot be read."""
        path = Path(parameters.path).expanduser()
        try:
            data = read_bytes(path, MOST_BYTES)
            _replies(data, path, parameters)
        except (UnfitFile, LoadError) as error:
            raise ConfigurationError(Text("path: {}", error)) from error
        digest = _SEEN[path] = hashlib.sha256(data).hexdigest()
        return digest

    @staticmethod
    def describe_unused_replies(parameters: Parameters, ids: Sequence[str], edit_models: Sequence[str]) -> str:
        """Returns a line on replies about samples and edit models that are not there; empty if there are none.

        Raises `ConfigurationError` if no reply is about a sample, or about an edit model.
        """
        path = Path(parameters.path).expanduser()
        addresses = _replies(read_bytes(path, MOST_BYTES), path, parameters)
        left: list[str] = []
        for ours, places in ((ids, (0,)), (edit_models, (1, 3))):
            theirs = dict.fromkeys(str(address[place]) for place in places for address in addresses)
            found = match(whole(ours), whole(name for name in theirs if name))
            if wrong := next(filter(None, map(found.why_not, found.rivals)), ""):
                raise ConfigurationError(Text("path: {}", Text("{}: {}", path, wrong)))
            if ours and not found.pairs:
                what = Text("samples") if ours is ids else Text("edit models")
                none = Text(
                    "{} has no reply about the {} of this run; it has {}", path, what, found.describe_unmatched(ours)
                )
                raise ConfigurationError(Text("path: {}", none))
            left += found.describe_unmatched(ours)
        return Text("{} has replies about what is not asked: {}", path, left) if left else ""

    def load(self, devices: Sequence[str]) -> None:
        """Reads the whole file; needs no device. Raises `LoadError` with the place of an invalid row."""
        try:
            data = read_bytes(self._path, MOST_BYTES)
        except UnfitFile as error:
            raise LoadError(Text("path: {}", error)) from error
        digest = hashlib.sha256(data).hexdigest()
        if _SEEN.get(self._path, digest) != digest:
            raise ChangedError(f"{self._path} has changed since the run began; rerun the same command")
        self._replies = _replies(data, self._path, self.parameters)

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Reply]:
        """Returns the reply to each request. Raises `ModelError` with the address if the file has none."""
        replies = []
        for request in requests:
            address = _address(
                (request.sample_id, request.edit_model, request.question, request.other),
                (request.repeat, request.edit_seed, request.reading),
            )
            if address not in self._replies:
                meant = near(request.sample_id, {str(of[0]) for of in self._replies} - {request.sample_id})
                hint = f"; did you mean sample {meant!r}?" if meant else ""
                raise ModelError(f"{self._path} has no reply for {_words(address)}{hint}")
            replies.append(self._replies[address])
        return replies

    def about(self) -> dict[str, str]:
        """Returns the file, and how many replies it holds."""
        return {"path": os.path.abspath(self._path), "replies": str(len(self._replies))}


_SEEN: dict[Path, str] = {}  # file -> the digest that `revision` last saw in this process


def _replies(data: bytes, path: Path, parameters: Recorded.Parameters) -> dict[ReplyAddress, Reply]:
    """Returns the replies of a file. Raises `LoadError` with the place of an invalid row."""
    places: dict[ReplyAddress, str] = {}
    replies: dict[ReplyAddress, Reply] = {}
    for place, row in _rows(data, path, parameters):
        try:
            address, reply = _read(row, parameters)
        except ValueError as error:
            raise LoadError(f"{path}, {place}: {error}") from None
        if address in places:
            raise LoadError(f"{path}, {place}: a second reply for {_words(address)}; {places[address]} has one")
        places[address], replies[address] = place, reply
    if not replies:
        raise LoadError(f"{path} has no replies")
    return replies


def _columns(parameters: Recorded.Parameters) -> dict[str, str]:
    return {name: parameters.fields.get(name, name) for name in FIELDS}


def _read(row: RecordedRow, parameters: Recorded.Parameters) -> tuple[ReplyAddress, Reply]:
    """Raises `ValueError` for an invalid row."""
    columns = _columns(parameters)
    for name in NAMES:
        if not _text(row.get(columns[name])):
            raise ValueError(f"there is no `{columns[name]}`{_hint(name, columns[name])}")
    address = _address(
        [*(_text(row[columns[name]]) for name in NAMES), _text(row.get(columns[OTHER]))],
        [_count(columns[name], row.get(columns[name])) for name in COUNTS],
    )
    values = {name: _number(name, row[name]) for name in parameters.values if _text(row.get(name))}
    if not values and row.get(columns["text"]) is None:
        raise ValueError(f"there is no `{columns['text']}`{_hint('text', columns['text'])}, nor a value")
    ended = _text(row.get(columns["ended"])).strip().lower()
    if ended not in ENDS:
        raise ValueError(f"`{columns['ended']}` is `{ended}`, not cut_off, refused or ok")
    text = _text(row.get(columns["text"]))
    return address, Reply(text=text, values=values, ended=ENDS[ended], final=True)  # asked again it says the same


def _rows(data: bytes, path: Path, parameters: Recorded.Parameters) -> Iterator[tuple[str, RecordedRow]]:
    """Yields each row with its place, so that people can find it."""
    suffix = path.suffix.lower()
    try:
        text = data.decode("utf-8-sig")
        if suffix == ".json":
            rows = json.loads(text)
            if not isinstance(rows, list):
                raise LoadError(f"{path} must be a list of objects, not {type(rows).__name__}")
            yield from ((f"row {number}", _object(row, path, number)) for number, row in enumerate(rows, 1))
        elif suffix == ".jsonl":
            lines = ((number, line) for number, line in enumerate(split_lines(text), 1) if line.strip())
            yield from ((f"line {number}", _object(json.loads(line), path, number)) for number, line in lines)
        else:
            said, named = _columns(parameters)["text"], [*_columns(parameters).values(), *parameters.values]
            for line, cells in read_named_rows(io.StringIO(text, newline=""), str(path), (), named, kept=(said,)):
                yield f"line {line}", {name: cell for name, cell in cells.items() if cell or name == said}
    except ConfigurationError as error:
        raise LoadError(str(error)) from error
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise LoadError(f"{path} is no {suffix[1:].upper()} in UTF-8 ({error})") from error


def _object(row: Any, path: Path, number: int) -> RecordedRow:
    if not isinstance(row, dict):
        raise LoadError(f"{path}, {number}: a reply must be an object, not {type(row).__name__}")
    return row


def _address(names: Sequence[str], counts: Sequence[int]) -> ReplyAddress:
    return (*map(normalise_name, names), *counts)


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def _count(name: str, value: Any) -> int:
    try:
        return int(_text(value) or 0)
    except ValueError:
        raise ValueError(f"`{name}` is `{value}`, not a whole number") from None


def _number(name: str, value: Any) -> float:
    try:
        return number(_text(value))
    except ValueError:
        raise ValueError(f"`{name}` is `{value}`, not a finite number") from None


def _hint(name: str, column: str) -> str:
    return f" (name the column: `fields: {{{name}: ...}}`)" if name == column else ""


def _words(address: ReplyAddress) -> str:
    return ", ".join(
        f"{name.replace('_', ' ')} {part!r}"
        for name, part in zip((*NAMES, OTHER, *COUNTS), address, strict=True)
        if name != OTHER or part
    )
