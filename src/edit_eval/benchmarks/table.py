"""`table`: your own pictures and instructions, in a CSV, TSV, JSON, JSONL, Parquet or Arrow file, or in a folder."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

from edit_eval.benchmarks.file_tree import FileTree, is_archive
from edit_eval.benchmarks.foreign_values import NoPlainValue, parse_list, plain_value, text_of_value
from edit_eval.benchmarks.json_items import LINE, PROBLEM, kind
from edit_eval.benchmarks.plain_files import PlainFiles, quote_text
from edit_eval.benchmarks.row_benchmark import (
    Draft,
    Held,
    Row,
    RowBenchmark,
    RowParameters,
    decode_base64,
    nearest,
    picture_from_file,
)
from edit_eval.benchmarks.source_pass import CheckedRow, Origin
from edit_eval.benchmarks.tables import PICTURES, TEXT_TABLES, TableFile, find_table, table_names
from edit_eval.errors import ConfigurationError
from edit_eval.json_values import Unchecked
from edit_eval.records import Sample
from edit_eval.text import Text, pluralize

_NAMES = """
id: id sample_id image_id uid key idx index 编号
source: source source_image source_img source_path src src_img src_image input input_image input_img input_path image \
 img image_path img_path image_file image_name file_name filename original original_image orig_image before picture \
 photo images source_images input_images src_img_b64 image_base64 file path 原图 图片
reference: reference reference_image ref ref_image target target_image target_img gt gt_image ground_truth after 参考图
mask: mask mask_image mask_img mask_path
category: category edit_type task_type task type subset class 类别 类型
tags: tags tag keywords 标签
difficulty: difficulty level 难度
description: description source_description original_description original_caption source_caption input_caption \
 caption 描述
rationale: rationale rationale_short explanation
follows: follows
target_text: target_text wanted_text text_to_render
target_caption: target_caption
"""
_GUESSES = {line.partition(":")[0]: line.partition(":")[2].split() for line in _NAMES.strip().splitlines()}
"""Our name -> names that its column may have, the likeliest first."""
_INSTRUCTIONS = (
    "instruction edit_instruction edit_prompt editing_instruction prompt edit edit_text command request text"
)
_IN_LANGUAGE = {"en": ["{}_en", "en_{}"], "zh": ["{}_zh", "{}_cn", "zh_{}", "cn_{}", "chinese_{}"]}
_FACTS = ("target_text", "target_caption")
"""What measures may need to know about a correct edit."""
_PICTURES = ("source", "reference", "mask")
EDIT_COLUMNS = ("edit", "edited", "edited_image", "edit_image", "output", "output_image", "result")
"""Names that a column of finished edits may have, the likeliest first. It is not part of a sample."""
NAMED = "named"
"""The column whose pictures give samples their ids, if it is not the source's."""
_BASE64 = ("iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR")
"""How PNG, JPEG, GIF and WebP begin in base64, however short it is."""
_SHORT, _PATH = 200, 4096  # characters: longer text without a dot is base64, not a path; beyond the second limit always


class NoColumn(ConfigurationError):
    """A table lacks a column it needs: `ours` is our name of it, `there` are the table's columns."""

    def __init__(self, message: str, ours: str, there: Sequence[str]) -> None:
        super().__init__(message)
        self.ours = ours
        self.there = tuple(there)


class TableBenchmark(RowBenchmark):
    """Your own pictures and instructions: CSV, TSV, JSON, JSONL, Parquet, Arrow, or pictures with a text each.

    `benchmark: my.csv` is short for it. Columns are found by common names, as a note reports; `fields` overrides them.
    Instruction and source are required. A source is a path below the table's folder, a picture's bytes, or base64;
    several are `source_2` (or `image2`), or a list. A sample's id is its `id`, else its picture's file name without the
    ending if no other row has that name, else its row (`00003`).
    """

    @dataclass
    class Parameters(RowParameters):
        data_path: str
        """The table: a file, a folder of Parquet files or as `datasets` saves one, or one of pictures with a text each;
        a zip or tar of a table and its pictures; or `hub:OWNER/NAME`."""
        language: str = "en"
        """`en` or `zh`: of the instructions and of the rubrics."""
        fields: dict[str, str] = field(default_factory=dict)
        """Our name of a column -> its name in the table, "" for one that it does not have: `id`, `instruction`,
        `source`, `source_2` ..., `reference`, `mask`, `category`, `tags`, `difficulty`, `description`, `rationale`,
        `follows`, `target_text` (the writing that the edit is to have), `target_caption`."""
        pictures_path: str | None = None
        """The folder from which the paths in the table count; None: the table's own."""

    protocol: ClassVar[dict[str, object]] = {"type": "rubric", "general": True}
    needed: ClassVar[tuple[str, ...]] = ("instruction", "source")
    """The columns that every table must have."""

    def __init__(self, parameters: Parameters) -> None:
        """Raises `ConfigurationError` for a wrong parameter."""
        super().__init__(parameters)
        self._ids: Sequence[str] = ()
        self._sources: Sequence[str] = ()

    def files(self) -> list[Path]:
        """Returns the table's files, or the archive that holds it and its pictures."""
        self._tree = FileTree(self.path) if is_archive(self.path) else None
        links = self.parameters.allow_links
        self._table = (
            find_table(self.path, allow_links=links) if self._tree is None else self._extract_table(self._tree)
        )
        self._folder = os.path.abspath(os.path.expanduser(self.parameters.pictures_path or str(self._table.folder)))
        self._files = PlainFiles(Path(self._folder), links)
        named = {
            theirs for ours, theirs in self.parameters.fields.items() if ours.startswith(("instruction", "source"))
        }
        self._table.marks = lambda name: name in named or _marks_a_row(_plain(name))
        self._columns = self.find_columns(self._table.columns())
        return self._table.files if self._tree is None else [self.path]

    def inspect_table(self) -> tuple[TableFile, dict[str, str]]:
        """Returns the table and our names -> its columns; opens no picture. Raises `ConfigurationError`."""
        self.files()
        return self._table, self._columns

    def _extract_table(self, tree: FileTree) -> TableFile:
        """Copies the table out of an archive into the cache; its pictures, perhaps a thousand times as large, stay."""
        names = table_names(tree.names)
        if len(names) != 1:
            many = Text("several tables: {}", names[:5]) if names else Text("no {} in it", TEXT_TABLES)
            raise ConfigurationError(
                Text("benchmark.data_path: {} has {}; unpack it, and give the table", self.path, many)
            )
        try:
            data = tree.read(tree.find(names[0]))
        except LookupError as error:
            raise ConfigurationError(Text("benchmark.data_path: {}", error.args[0])) from None
        self._inside = PurePosixPath(names[0]).parent
        return find_table(self._cache.lay_text(data, PurePosixPath(names[0]).name))

    def cache_key(self) -> str:
        """Returns the columns and where the pictures are; for a folder of pictures, their names."""
        there = [] if self.path.is_file() else sorted(os.listdir(self._table.folder))
        pictures = [name for name in there if name.lower().endswith(PICTURES)]
        return json.dumps([self._columns, self._folder, pictures], ensure_ascii=False)

    def find_columns(self, there: Sequence[str]) -> dict[str, str]:
        """Returns our names -> the table's columns, by `fields` and by guessing. Raises `ConfigurationError`."""
        fields, columns, where = self.parameters.fields, {}, self._table.files[0]
        for ours, theirs in fields.items():
            valid = (*_GUESSES, "instruction")
            if ours not in valid and not re.fullmatch(r"source_([2-9]|[1-9]\d+)", ours):
                raise ConfigurationError(
                    Text("benchmark.fields: there is no field {}; {}", quote_text(ours), nearest(ours, valid))
                )
            if theirs and theirs not in there:
                raise ConfigurationError(
                    Text(
                        "benchmark.fields.{}: {} has no column {}; {}",
                        ours,
                        where,
                        quote_text(theirs),
                        nearest(theirs, there),
                    )
                )
            columns[ours] = theirs
        left = {_plain(name): name for name in reversed(there) if name not in columns.values()}
        plain = _INSTRUCTIONS.split()
        own = [form.format(name) for name in plain for form in _IN_LANGUAGE[self.parameters.language]]
        for ours, names in {"instruction": [*own, *plain, "指令"], **_GUESSES}.items():
            name = next((name for name in names if name in left), None)
            if ours not in columns and name is not None:
                columns[ours] = left.pop(name)
        for name, theirs in sorted(left.items()):
            if (number := _number_of_source(name)) > 0:
                ours = "source" if number == 1 else f"source_{number}"
                if ours not in columns:
                    columns[ours] = left.pop(name) and theirs
        for ours in self.needed:
            if not columns.get(ours):
                raise NoColumn(
                    Text(
                        "benchmark.data_path: {} has no column for the {}; it has {}; say which it "
                        "is: `--set benchmark.fields.{}=NAME`",
                        where,
                        ours,
                        there[:12],
                        ours,
                    ),
                    ours,
                    there,
                )
        self._unused = [name for name in there if name not in columns.values() and name.lower() not in EDIT_COLUMNS]
        return {ours: theirs for ours, theirs in columns.items() if theirs}

    def findings(self) -> Iterable[CheckedRow]:
        """Returns all rows' findings; without a column of ids, all are read before the first is yielded."""
        findings = super().findings()  # only texts, no pictures
        if "id" in self._columns:
            return findings
        rows = list(findings)
        self._sources = [str(row.values.get(NAMED, row.values.get("source", ""))) for row in rows]
        self._ids = ids_of(self._sources)
        return rows

    def samples(self) -> Iterator[Sample]:
        """Yields all samples in the table's order; bad ones have a `fault`.

        Raises `ConfigurationError` if it is not a table, lacks a column or is broken, or the cache cannot be written;
        `Stopped` if the disk is full.
        """
        yield from super().samples()
        taken = ", ".join(f"{ours} = {theirs}" for ours, theirs in self._columns.items())
        unused = Text("; in no sample: {}", self._unused[:12]) if self._unused else ""
        numbered = row_number_note(self._sources, self._ids)
        self.notes = (
            Text(
                "columns of {}: {}{}; to take others, write `fields` below `benchmark`",
                self._table.files[0].name,
                taken,
                unused,
            ),
            *([numbered] if numbered else []),
            *self.notes,
        )

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yields each row by our names; pictures in base64 become bytes."""
        for row in self._table.rows(frozenset(self._columns.values()), self._progress):
            ours = {name: row[theirs] for name, theirs in self._columns.items() if theirs in row}
            pictures = {name: ours.pop(name, None) for name in [*ours] if name.startswith(_PICTURES)}
            ours = {name: _text_of(value) for name, value in ours.items()}
            about = {name: row[name] for name in (LINE, PROBLEM) if name in row}
            sources, problem = _several(pictures)
            yield {**about, **ours, **sources, **({PROBLEM: problem} if problem and PROBLEM not in about else {})}

    def _progress(self, share: float) -> None:
        self.share = share

    def pictures(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns the row's sources, reference and mask, as far as it has them."""
        return {name: value for name, value in row.items() if name.startswith(_PICTURES) and value not in (None, "")}

    def picture(self, name: str, held: Any) -> Held:
        """Returns a picture; for a path the file, which must be in the table's folder or below."""
        if not isinstance(held, str):
            return super().picture(name, held)
        if re.match(r"https?://", held):
            raise LookupError(Text("{} is an address: download it, and give the file", quote_text(held)))
        if self._tree is not None and not self.parameters.pictures_path:
            file = self._tree.find(str(self._inside / held.strip().replace("\\", "/").removeprefix("./")))
            return picture_from_file(self._tree.read(file), name, held)
        path = self._files.place(os.path.expanduser(held.strip()))
        if path is None:
            raise LookupError(
                Text(
                    "{} points outside {}: `pictures_path` names the folder that holds the pictures",
                    quote_text(held),
                    self._folder,
                )
            )
        if not os.path.lexists(path):
            tops = [top for top in self._subfolders if os.path.isfile(os.path.join(self._folder, top, held.strip()))]
            hint = Text("; there is one in {: and }: `pictures_path` names the right folder", tops) if tops else ""
            raise LookupError(Text("there is no file {} in {}{}", quote_text(held), self._folder, hint))
        origin = Origin.from_path(path)
        data = self._files.read(path, quote_text(held))
        return picture_from_file(data, name, held, (origin.read(data),))

    @cached_property
    def _subfolders(self) -> list[str]:
        return sorted(entry.name for entry in os.scandir(self._folder) if entry.is_dir())

    def draft(self, row: Row) -> Draft | None:
        """Returns the sample of a row."""
        follows = row.text("follows").strip()
        return Draft(
            id=row.text("id").strip() or (self._ids[row.index] if self._ids else _number(row.index)),
            instruction=row.text("instruction", required="instruction" in self.needed).strip(),
            category=row.text("category"),
            follows=follows,
            tags=_tags(row),
            needed=() if follows else ("source",),
            difficulty=row.text("difficulty"),
            description=row.text("description"),
            rationale=row.text("rationale"),
            facts={name: text for name in _FACTS if (text := row.text(name))},
        )


def ids_of(sources: Sequence[str]) -> list[str]:
    """Returns ids for samples without any, from their pictures' paths: the file's name without folder and ending.

    Rows without a path get their number, and so do those whose names are alike: some file system treats them as one,
    since they differ only in case, or in how they are composed. If a name is another row's number, all get theirs.
    """
    names = [_stem(source) for source in sources]
    times = Counter(map(_alike, names))
    ids = [name if name and times[_alike(name)] == 1 else _number(index) for index, name in enumerate(names)]
    return ids if len(set(map(_alike, ids))) == len(ids) else [_number(index) for index in range(len(ids))]


def row_number_note(sources: Sequence[str], ids: Sequence[str]) -> str:
    """Returns a line on rows whose pictures have a name and whose ids, by `ids_of`, are numbers; empty if none are."""
    named = zip(map(_stem, sources), ids, strict=True)
    numbered = [(own, name) for name, own in named if name not in ("", own)]
    if not numbered:
        return ""
    names = list(dict.fromkeys(name for _, name in numbered))
    shared = [name for name in names if sum(_alike(name) == _alike(other) for _, other in numbered) > 1]
    return Text(
        "{} have ids by their row ({}), as their pictures' names are not theirs alone ({}): name their edits by these "
        "ids, or give the table a column `id`",
        pluralize(len(numbered), "sample"),
        [own for own, _ in numbered[:3]] + ["..."] * (len(numbered) > 3),
        [quote_text(name) for name in (shared or names)[:3]] + ["..."] * (len(shared or names) > 3),
    )


def _stem(source: str) -> str:
    return PurePosixPath(source.strip().replace("\\", "/")).stem


def _alike(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _number(index: int) -> str:
    return f"{index:05d}"


def _plain(name: str) -> str:
    """Normalises a column's name as in the guesses: `Edit Prompt` becomes `edit_prompt`."""
    return re.sub(r"[\W_]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()).strip("_")


def _marks_a_row(name: str) -> bool:
    """True if only a row has a column of this name, as normalised: its instruction, or its source."""
    plain = re.sub(r"^(en|zh|cn|chinese)_|_(en|zh|cn)$", "", name)
    return plain in _INSTRUCTIONS.split() or plain in ("指令", *_GUESSES["source"]) or _number_of_source(name) > 0


def _number_of_source(name: str) -> int:
    """Returns the number of a source by its column's name, normalised: `image1`, `image_12`; 0 if it is none."""
    numbered = re.fullmatch(r"(.+?)_?([1-9]\d{0,3})", name)
    return int(numbered[2]) if numbered and numbered[1] in _GUESSES["source"] else 0


def _tags(row: Row) -> tuple[str, ...]:
    """Returns tags from a list of texts, or a text: a list as programs write it, or separated by commas, semicolons or
    bars."""
    said = row.values.get("tags")
    if isinstance(said, str):
        listed = parse_list(said)
        said = [tag for tag in re.split(r"[,;|，；]", row.text("tags")) if tag.strip()] if listed is None else listed
    if isinstance(said, list):
        tags = [text_of_value(tag) for tag in said if tag is not None]
        if None not in tags:
            return tuple(filter(None, tags))
        row.faults.append(Text("tags has entries that are not strings"))
        return ()
    return tuple(filter(None, [row.text("tags")]))


def _several(pictures: Mapping[str, Any]) -> tuple[Unchecked, str]:
    """Returns a row's pictures in order, and what is wrong with their number; lists are split under names of their own,
    and base64 is decoded."""
    by_name: dict[tuple[str, int], Any] = {}
    for name, value in pictures.items():
        base, _, number = name.partition("_")
        if isinstance(value, str):
            value = value if (listed := parse_list(value)) is None else listed  # a file's name may look like base64
        if isinstance(value, list) and value and all(type(part) is int for part in value):
            value = _bytes(value)
        values = value if isinstance(value, list) else [value]
        for place, picture in enumerate(values, int(number or 1)):
            decoded_picture = _decode_cell(picture)
            if by_name.get((base, place)) in (None, ""):
                by_name[base, place] = decoded_picture
            elif decoded_picture not in (None, ""):
                return {}, Text("two pictures are `{}`: one of a list, and one of a column", f"{base}_{place}")
    there = sorted(of for of, picture in by_name.items() if picture not in (None, ""))
    for base, place in there:
        if place > 1 and (base, place - 1) not in there and base == "source":
            before = base if place == 2 else f"{base}_{place - 1}"
            return {}, Text("a gap in the sources: there is `{}`, but no `{}`", f"{base}_{place}", before)
    order = sorted(by_name, key=lambda of: (of[0] != "source", *of))
    return {base if place == 1 else f"{base}_{place}": by_name[base, place] for base, place in order}, ""


def _text_of(value: Any) -> Any:
    """Returns a text that a file has as bytes; bytes that are none have no place in a column of texts."""
    if not isinstance(value, bytes):
        return value
    try:
        return plain_value(value)
    except NoPlainValue:
        return [kind(value)]  # is not a text either, so it is reported


def _bytes(values: list[int]) -> Unchecked:
    """Returns a picture that comes as a list of its bytes."""
    try:
        return {"bytes": bytes(values)}
    except ValueError:
        return {"bytes": b"no bytes"}  # is not a picture either, so it is reported


def _decode_cell(value: Any) -> Any:
    if isinstance(value, Mapping) and not value.get("bytes"):
        return value.get("path")
    if not isinstance(value, str):
        return value if value is None or isinstance(value, bytes | Mapping) else {"bytes": kind(value).encode()}
    small = value.startswith(_BASE64) and "." not in value
    if not (small or value.startswith("data:")) and (len(value) <= _SHORT or ("." in value and len(value) <= _PATH)):
        return value
    try:
        data, suffix = decode_base64(value)
    except ValueError:
        data, suffix = b"no base64", ""  # is not a picture either, so it is reported
    return {"bytes": data, "path": f"x.{suffix}" if suffix else ""}
