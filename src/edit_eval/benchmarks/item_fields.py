"""The fields of a five-dimension item: their names in a file, their values, and what to say when they are missing."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from edit_eval.benchmarks.json_items import BenchmarkItem
from edit_eval.errors import ConfigurationError
from edit_eval.text import Text

LANGUAGES = ("en", "zh")

STEM_FIELD = "original_image_path"
"""Its stem is an item's id, whether or not there is such a file."""

# Our name of a field -> its names in a file; of several, the first that an item has counts.
_NAMES: dict[str, tuple[str, ...]] = {
    "category": ("subset", "category"),
    "instruction_en": ("edit_instruction_en",),
    "instruction_zh": ("edit_instruction",),
    "description_en": ("original_description_en",),
    "description_zh": ("original_description",),
    "rationale_en": ("rationale_short_en",),
    "rationale_zh": ("rationale_short",),
    "source": ("src_img_b64",),
    "source_path": ("src_img_path", STEM_FIELD),
    "id": ("id",),
    "tags": ("tags",),
    "difficulty": ("difficulty",),
}
_BY_LANGUAGE = ("instruction", "description", "rationale")
_NONE = Text(": there is no ")
_UNUSED = ("seed",)  # known, and of no use here
_NAMED = 8  # fields of an item that a fault names
_NEAR = 0.75  # how alike two names must be for the one to be a slip of the other


class Fields:
    """Finds our fields in items. `mapping` is the user's: our name -> the name in the file, "" for none.

    Our names are `category`, `instruction`, `description`, `rationale` (these three in the run's language, or with
    `_en` and `_zh`), `source`, `source_path`, `id`, `tags` and `difficulty`. Raises `ConfigurationError` for others.
    """

    def __init__(self, mapping: Mapping[str, str], language: str) -> None:
        self.language = language
        self.mapped: dict[str, str] = {}
        """The user's mapping by full names: `instruction` is `instruction_en` where the language is `en`."""
        known = sorted({*_NAMES, *_BY_LANGUAGE})
        for ours, theirs in mapping.items():
            if ours not in known:
                raise ConfigurationError(
                    Text("benchmark.fields: there is no field {}; {}", shown(ours), nearest(ours, known))
                )
            full = f"{ours}_{language}" if ours in _BY_LANGUAGE else ours
            if self.mapped.setdefault(full, theirs) != theirs:
                raise ConfigurationError(
                    Text(
                        "benchmark.fields: {} is given twice: {} and {}", full, shown(self.mapped[full]), shown(theirs)
                    )
                )
        if self.mapped.get(f"instruction_{language}") == "":
            raise ConfigurationError(Text("benchmark.fields: instruction is empty: name the field that has it"))
        self.names = _NAMES | {ours: (theirs,) if theirs else () for ours, theirs in self.mapped.items()}
        self.all_names = frozenset(name for names in self.names.values() for name in names) | {STEM_FIELD}

    def value(self, item: BenchmarkItem, ours: str) -> Any:
        """What an item has for one of our names; None where it has nothing, null or only spaces."""
        for name in self.names[ours]:
            value = item.values.get(name)
            if value is not None and not (isinstance(value, str) and not value.strip()):
                return value
        return None

    def text(self, item: BenchmarkItem, ours: str, faults: list[str], *, required: bool = False) -> str:
        """A field's text. What is wrong with it is added to `faults`: another type, or, if required, none."""
        value = self.value(item, ours)
        if isinstance(value, str):
            return value
        if value is not None:
            faults.append(self.wrong(ours, value, Text("a string")))
        elif required and not any(name in item.too_long for name in self.names[ours]):
            faults.append(self.missing(item, ours))
        return ""

    def word(self, item: BenchmarkItem, ours: str, faults: list[str], *, required: bool = False) -> str:
        """Like `text`, where a whole number will do as well."""
        value = self.value(item, ours)
        return str(value) if type(value) is int else self.text(item, ours, faults, required=required)

    def wrong(self, ours: str, value: object, expected: str) -> str:
        """Says that a field has a value of a wrong type."""
        return Text("{} is {}, not {}", self.names[ours][0], kind(value), expected)

    def missing(self, item: BenchmarkItem, ours: str) -> str:
        """Says that an item lacks a field, and which of its other fields may have been meant."""
        names = self.names[ours]
        plain = ours.removesuffix(f"_{self.language}")
        what = Text("no {}", plain.replace("_", " "))
        for name in names:
            if name in item.names:
                return Text("{}: {} is empty", what, name)
        if not names:
            return what
        what = Text("{}{}{: or }", what, _NONE, names)
        strangers = [name for name in item.names if name not in self.all_names]
        near = [slip for name in names for slip in difflib.get_close_matches(name, strangers, 1, _NEAR)]
        if near:
            return Text("{}; if {} is meant, say so: fields: {{{}: {}}}", what, shown(near[0]), plain, near[0][:80])
        if plain in _BY_LANGUAGE:
            for other in LANGUAGES:
                if self.value(item, f"{plain}_{other}") is not None:
                    return Text("{}, only one for benchmark.language: {}", what, other)
        return what

    def others(self, item: BenchmarkItem, faults: Sequence[str]) -> str:
        """Where a field is missing and nothing near it was found: the names that there are, and how to say which is it.

        Empty where that is no help.
        """
        lost = [fault for fault in faults if _NONE in fault and not any(said in fault for said in (";", ", only"))]
        strangers = [name for name in item.names if name not in self.all_names and name not in _UNUSED]
        if not lost or not strangers:
            return ""
        ours = lost[0].removeprefix("no ").partition(_NONE)[0].replace(" ", "_")
        there = ", ".join(name[:80] for name in strangers[:_NAMED]) + (", ..." if len(strangers) > _NAMED else "")
        return Text(
            "other fields of the item: {} (benchmark.fields says which is which, as in {{{}: NAME}})", there, ours
        )


def nearest(word: str, valid: Sequence[str]) -> str:
    """For the end of an error: the valid word that was probably meant, or all of them."""
    near = difflib.get_close_matches(word, valid, n=1)
    return Text("did you mean {!r}?", near[0]) if near else Text("valid are {}", valid)


def kind(value: object) -> str:
    """What a JSON value is, for people."""
    kinds = {
        str: Text("a string"),
        bool: Text("a boolean"),
        list: Text("a list"),
        dict: Text("an object"),
        type(None): "null",
    }
    return kinds.get(type(value), Text("a number"))


def shown(text: str) -> str:
    """A stranger's text in one short line of ours."""
    return repr(text if len(text) <= 80 else text[:77] + "...")
