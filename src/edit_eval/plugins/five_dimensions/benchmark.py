"""The five-dimension benchmark: one JSON with embedded source images and instructions in Chinese and English."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from edit_eval.benchmarks.contract import canonical
from edit_eval.benchmarks.foreign_values import text_of_value
from edit_eval.benchmarks.json_items import PROBLEM, ItemReader, kind
from edit_eval.benchmarks.plain_files import PlainFiles, quote_text
from edit_eval.benchmarks.row_benchmark import Draft, Held, Row, RowBenchmark, decode_base64, nearest
from edit_eval.benchmarks.source_pass import LOOK_AGAIN, Origin
from edit_eval.errors import ConfigurationError, PictureError
from edit_eval.records import LANGUAGES
from edit_eval.text import Text, join_texts

NAMES, GROUP = "(names)", "(group)"
"""Keys in a row for the names of all fields of its item, and the name of the list the item is in."""
_STEM = "original_image_path"
"""Its stem is an item's id, whether or not the file exists."""
_FIELDS: dict[str, tuple[str, ...]] = {
    "category": ("subset", "category"),
    "instruction_en": ("edit_instruction_en",),
    "instruction_zh": ("edit_instruction",),
    "description_en": ("original_description_en",),
    "description_zh": ("original_description",),
    "rationale_en": ("rationale_short_en",),
    "rationale_zh": ("rationale_short",),
    "source": ("src_img_b64",),
    "source_path": ("src_img_path", _STEM),
    "id": ("id",),
    "tags": ("tags",),
    "difficulty": ("difficulty",),
}
"""Our name of a field -> its possible names in a file; the first one present counts."""
_BY_LANGUAGE = ("instruction", "description", "rationale")
_UNUSED = ("seed",)  # known but not used
_NAMED = 8  # how many fields of an item a fault names
_NEAR = 0.75  # how similar a name must be to another to count as a misspelling of it


class FiveDimensions(RowBenchmark):
    """A JSON or JSONL file of source images and instructions in Chinese and English, with a category each.

    The file is a list of items, an object of category -> list, or JSONL.

    A sample's source is the embedded picture (`src_img_b64`), or, without one, the file named by `src_img_path` or
    `original_image_path`, which must be in the folder of the JSON or below. Its id is the stem of
    `original_image_path`; without that the field `id`; without that index and category, as in `00003_物理`. With
    `fields: {id: NAME}` it is that field, unchanged. The item's own `seed` is not used: it made the source.

    A sample's `fault` lists everything wrong with it. If several samples have one id, all but the first are faulty, and
    get their index appended, so that ids are unique. A picture's content determines its format: a JPEG under a name
    with `.png` is used, with a remark in `notes`.
    """

    @dataclass
    class Parameters:
        """What the YAML's `benchmark` may say, filters aside."""

        data_path: str
        """The JSON file."""
        language: str = "en"
        """`en` or `zh`: which instruction and description are used."""
        fields: dict[str, str] = field(default_factory=dict)
        """Our name of a field -> its name in the file, "" for one that the file does not have."""
        on_bad_sample: str = "error"
        """`error`: a bad sample stops the run before anything is loaded; `skip`: it is counted, and left out."""
        cache_dir: str | None = None
        """Where the source images are stored; None: `edit-eval/sources` in the user's cache."""
        allow_links: bool = False
        """Whether links to pictures may lead out of the folder of the JSON."""

    pictures_share = 3 / 4  # base64 has 4 characters for 3 bytes

    def __init__(self, parameters: Parameters) -> None:
        """Raises `ConfigurationError` for an unknown language, policy or field."""
        super().__init__(parameters)
        self._mapped = self._mapping(parameters.fields)
        self._names = _FIELDS | {ours: (theirs,) if theirs else () for ours, theirs in self._mapped.items()}
        self._known = frozenset(name for names in self._names.values() for name in names) | {_STEM}
        self.embedded = frozenset(self._names["source"])

    def _mapping(self, fields: Mapping[str, str]) -> dict[str, str]:
        """Returns the user's `fields` by full name: `instruction` becomes `instruction_en` if the language is `en`."""
        known, mapped = sorted({*_FIELDS, *_BY_LANGUAGE}), dict[str, str]()
        for ours, theirs in fields.items():
            if ours not in known:
                raise ConfigurationError(
                    Text("benchmark.fields: there is no field {}; {}", quote_text(ours), nearest(ours, known))
                )
            full = f"{ours}_{self.language}" if ours in _BY_LANGUAGE else ours
            if mapped.setdefault(full, theirs) != theirs:
                raise ConfigurationError(
                    Text(
                        "benchmark.fields: {} is given twice: {} and {}",
                        full,
                        quote_text(mapped[full]),
                        quote_text(theirs),
                    )
                )
        if mapped.get(f"instruction_{self.language}") == "":
            raise ConfigurationError(Text("benchmark.fields: instruction is empty: name the field that has it"))
        return mapped

    @cached_property
    def _files(self) -> PlainFiles:
        return PlainFiles(self.path.parent, self.parameters.allow_links)

    def files(self) -> list[Path]:
        """Returns the JSON file."""
        return [self.path]

    def cache_key(self) -> str:
        """Returns the mapping of names in the file, as JSON."""
        return json.dumps(self._names, ensure_ascii=False, sort_keys=True)

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yields the items, each with its `NAMES` and `GROUP`. Raises `ConfigurationError` if the file has none."""
        reader, size, item = ItemReader(self.path, self._known), max(self._pass.bytes, 1), None
        for item in reader.items():
            self.share = reader.position / size
            problem = {PROBLEM: item.problem} if item.problem else {}
            yield {NAMES: [*item.names], GROUP: item.group, **item.values, **problem}
        if item is None:
            raise ConfigurationError(Text("benchmark.data_path: {} has no samples", self.path))
        self._pass.said = [Text("{} is not a list of items: ignored", quote_text(name)) for name in reader.ignored]

    def pictures(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns the source, which the row embeds or names."""
        return {"source": row}

    def picture(self, name: str, held: Any) -> Held:
        """Returns the embedded picture, or, if there is none, the file at one of the paths."""
        for field_name in self._names["source"]:
            if text := held.get(field_name):
                return self._decode_picture(field_name, text)
        origins: list[Origin] = []
        # An ordinary item has a path that was never a file here: what it lacks is the embedded picture.
        problems = [self._describe_missing_field(held, "source")]
        for field_name in self._names["source_path"]:
            value = held.get(field_name)
            if not value:
                continue
            if not isinstance(value, str):
                problems.append(Text("{} is {}, not a string", field_name, kind(value)))
                continue
            what, path = f"{field_name} {quote_text(value)}", self._files.place(value)
            if path is None:
                problems.append(
                    Text(
                        "{} {} points outside the benchmark's folder {}: copy the pictures into it",
                        field_name,
                        quote_text(value),
                        self._files.folder,
                    )
                )
                continue
            origins.append(Origin.from_path(path))
            if os.path.lexists(path):
                try:
                    data = self._files.read(path, what)
                    origins[-1] = origins[-1].read(data)
                    return Held(data, what, Path(path).suffix[1:], tuple(origins))
                except LookupError as error:
                    raise LookupError(error.args[0], LOOK_AGAIN) from None
            problems.append(Text("there is no file {} {}", field_name, quote_text(value)))
        raise LookupError(join_texts(list(filter(None, problems)), "; "), *origins)

    def _decode_picture(self, name: str, text: object) -> Held:
        if not isinstance(text, str):
            raise PictureError(self._wrong("source", text, Text("a string of base64")))
        try:
            data, declared = decode_base64(text)
        except ValueError as error:
            raise PictureError(Text("{} is not base64 ({})", name, str(error)[:80])) from None
        return Held(data, name, declared)

    def draft(self, row: Row) -> Draft:
        """Returns the sample of an item."""
        whole, lost = PROBLEM not in row.values, ["source"] if self._has_no_source(row.values) else []
        group = str(row.values[GROUP]).strip()
        category = self._text(row, "category", required=whole and not group, lost=lost) or group
        texts = {language: self._texts(row, language, lost) for language in LANGUAGES}
        instruction, description, rationale = texts[self.language]
        difficulty, tags = self._word(row, "difficulty"), self._tags(row)
        named = self._id(row, category, lost)
        self._tell_others(row, lost)
        return Draft(
            named,
            instruction,
            canonical(category),
            tags=tags,
            difficulty=difficulty,
            description=description,
            rationale=rationale,
            instructions={language: text[0] for language, text in texts.items() if text[0]},
        )

    def _texts(self, row: Row, language: str, lost: list[str]) -> tuple[str, str, str]:
        """Returns instruction, description and rationale. For the run's language all but the rationale are required."""
        needed, faults = language == self.language and PROBLEM not in row.values, [*row.faults]
        # Descriptions can only be left out explicitly: a judge's prompt with a gap would go unnoticed.
        described = needed and bool(self._names[f"description_{language}"])
        instruction = self._text(row, f"instruction_{language}", required=needed, lost=lost)
        description = self._text(row, f"description_{language}", required=described, lost=lost)
        rationale = self._text(row, f"rationale_{language}")
        if not needed:  # mistakes in the other language do no harm
            row.faults = faults
        return instruction, description, rationale

    def _tags(self, row: Row) -> tuple[str, ...]:
        value = self._value(row.values, "tags")
        if value is None:
            return ()
        if not isinstance(value, list):
            row.faults.append(self._wrong("tags", value, Text("a list of strings")))
        elif not all(isinstance(tag, str) for tag in value):
            row.faults.append(Text("{} has entries that are not strings", self._names["tags"][0]))
        else:
            return tuple(value)
        return ()

    def _id(self, row: Row, category: str, lost: list[str]) -> str:
        path = row.values.get(_STEM)
        if "id" not in self._mapped and isinstance(path, str):
            name = path.replace("\\", "/").rstrip("/").rpartition("/")[2]
            stem = name.rpartition(".")[0] or name
            if stem.strip():
                return stem
        chosen = bool(self._mapped.get("id")) and PROBLEM not in row.values
        return self._word(row, "id", required=chosen, lost=lost) or f"{row.index:05d}_{category}".rstrip("_")

    def _value(self, values: Mapping[str, Any], ours: str) -> Any:
        """Returns an item's value for one of our names; None if it is missing, null or blank."""
        for name in self._names[ours]:
            value = values.get(name)
            if value is not None and not (isinstance(value, str) and not value.strip()):
                return value
        return None

    def _text(self, row: Row, ours: str, *, required: bool = False, lost: list[str] | None = None) -> str:
        """Returns a field's text. A wrong type is a fault, and so is no text if it is required.

        Appends our name of a missing field to `lost` if no other field looks like the one meant.
        """
        value = self._value(row.values, ours)
        if isinstance(value, str):
            return value
        if value is not None:
            row.faults.append(self._wrong(ours, value, Text("a string")))
        elif required and not any(name in row.too_long for name in self._names[ours]):
            plain, why = self._plain(ours), self._describe_missing_field(row.values, ours)
            row.faults.append(Text("no {}: {}", plain.replace("_", " "), why))
            if lost is not None and self._is_lost(row.values, ours):
                lost.append(plain)
        return ""

    def _word(self, row: Row, ours: str, *, required: bool = False, lost: list[str] | None = None) -> str:
        """Like `_text`, but accepts a number, too."""
        value = self._value(row.values, ours)
        number = None if isinstance(value, str) else text_of_value(value)
        return number if number is not None else self._text(row, ours, required=required, lost=lost)

    def _wrong(self, ours: str, value: object, expected: str) -> str:
        return Text("{} is {}, not {}", self._names[ours][0], kind(value), expected)

    def _plain(self, ours: str) -> str:
        return ours.removesuffix(f"_{self.language}")

    def _describe_missing_field(self, values: Mapping[str, Any], ours: str) -> str:
        """Describes which field an item lacks, and which of its other fields may be meant; empty if it needs none."""
        names, plain = self._names[ours], self._plain(ours)
        if empty := next((name for name in names if name in values[NAMES]), ""):
            return Text("{} is empty", empty)
        what = Text("there is no {: or }", names) if names else ""
        if near := self._near(values, names):
            return Text("{}; if {} is meant, say so: fields: {{{}: {}}}", what, quote_text(near), plain, near[:80])
        if other := self._find_other_language(values, plain):
            return Text("{}, only one for benchmark.language: {}", what, other)
        return what

    def _strangers(self, values: Mapping[str, Any]) -> list[str]:
        return [name for name in values[NAMES] if name not in self._known]

    def _near(self, values: Mapping[str, Any], names: Sequence[str]) -> str:
        strangers = self._strangers(values)
        near = (slip for name in names for slip in difflib.get_close_matches(name, strangers, 1, _NEAR))
        return next(near, "")

    def _find_other_language(self, values: Mapping[str, Any], plain: str) -> str:
        there = (language for language in LANGUAGES if self._value(values, f"{plain}_{language}") is not None)
        return next(there, "") if plain in _BY_LANGUAGE else ""

    def _is_lost(self, values: Mapping[str, Any], ours: str) -> bool:
        """True if an item lacks a field and has none that looks like the one meant."""
        names = self._names[ours]
        there = any(name in values[NAMES] for name in names)
        return bool(names) and not (
            there or self._near(values, names) or self._find_other_language(values, self._plain(ours))
        )

    def _has_no_source(self, values: Mapping[str, Any]) -> bool:
        paths = any(values.get(name) for name in self._names["source_path"])
        return PROBLEM not in values and not paths and self._is_lost(values, "source")

    def _tell_others(self, row: Row, lost: Sequence[str]) -> None:
        """If a field is lost, adds a fault that names the item's fields and says how to map one."""
        strangers = [name for name in self._strangers(row.values) if name not in _UNUSED]
        if not lost or not strangers:
            return
        there = ", ".join(name[:80] for name in strangers[:_NAMED]) + (", ..." if len(strangers) > _NAMED else "")
        row.faults.append(
            Text(
                "other fields of the item: {} (benchmark.fields says which is which, as in {{{}: NAME}})",
                there,
                lost[0],
            )
        )
