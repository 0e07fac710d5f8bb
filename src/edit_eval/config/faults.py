"""Collects faults in a configuration (what, where, and the remedy), and raises them as one readable line."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from edit_eval.errors import ConfigurationError
from edit_eval.text import Text, join_texts

if TYPE_CHECKING:  # pydantic, for which `--help` does not wait
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

V = TypeVar("V")
Place = tuple[str, ...]
"""Keys leading from the top of the configuration to a value."""


class Faults:
    """Collects faults while a configuration is read.

    `source` names the file, `files` the files it extends, by the places that came from them. `origins` has places that
    came from a flag of the command line, or from another key: a fault there names the flag or the key.
    """

    def __init__(self, source: str, files: Mapping[Place, str] | None = None) -> None:
        self.source = source
        self._files = files or {}
        self.origins: dict[Place, str] = {}
        self._faults: list[tuple[Place, str]] = []

    def has(self, place: Place) -> bool:
        """True if there is a fault at exactly this place."""
        return any(p == place for p, _ in self._faults)

    def is_faulty(self, place: Place) -> bool:
        """True if there is a fault at this place or below it."""
        return any(p[: len(place)] == place for p, _ in self._faults)

    def add(self, place: Iterable[object], text: str) -> None:
        """Notes a fault at `place`. A place keeps only its first fault."""
        where = tuple(str(p) for p in place)
        if not self.has(where):
            self._faults.append((where, text))

    def raise_if_any(self) -> None:
        """Raises `ConfigurationError` with the first fault, the places of the others, and a note for each of them."""
        if not self._faults:
            return
        first, *others = self._faults
        line = self._line(*first)
        if others:
            shown = [".".join(p) or Text("the file") for p, _ in others[:5]] + ["..."] * (len(others) > 5)
            line += Text(" (and {} more: {})", len(others), shown)
        error = ConfigurationError(line)
        for place, text in others:
            error.add_note(self._line(place, text))
        raise error

    def name(self, place: Place) -> str:
        """Returns the user's name for a place: its dotted keys, or the flag that its value came from."""
        dotted = ".".join(place)
        at = _find_prefix(place, self.origins)
        if not at:
            return dotted
        flag = self.origins[at]
        if flag == "--set":
            return f"--set {dotted}"
        whole = flag.startswith("--") and " " not in flag  # `--tags`, not `--set protocol.prompts`
        return flag if whole else ".".join((flag, *place[len(at) :]))

    def origin(self, place: Place) -> str:
        """Returns the flag or other key that a value came from, or nothing."""
        return find_origin(place, self.origins)

    def file(self, place: Place) -> str:
        """Returns the extended file that a value came from, or nothing."""
        return find_origin(place, self._files)

    def _line(self, place: Place, text: str) -> str:
        name = self.name(place)
        source = "" if name.startswith("--") else self.file(place) or self.source
        return join_texts([part for part in (source, name, text) if part], ": ")


def _find_prefix(place: Place, places: Mapping[Place, str]) -> Place:
    """Returns the nearest of `places` at a place or above it; empty if there is none."""
    return next((place[:n] for n in range(len(place), 0, -1) if place[:n] in places), ())


def find_origin(place: Place, origins: Mapping[Place, str]) -> str:
    """Returns the origin of a place, or of the nearest above it; empty if there is none."""
    return origins.get(_find_prefix(place, origins), "")


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Returns the name that was probably meant, or None."""
    by_lower = {n.lower(): n for n in names}
    word = name.strip().lower().replace("-", "_")
    begun = [n for lower, n in by_lower.items() if len(word) > 2 and lower.startswith(word)]
    if len(begun) == 1:
        return begun[0]
    close = difflib.get_close_matches(word, by_lower, n=1, cutoff=0.6)
    if close:
        return by_lower[close[0]]
    whole = [n for lower, n in by_lower.items() if len(word) > 2 and (n in begun or word in lower.split("_"))]
    return whole[0] if len(whole) == 1 else None


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Returns `; did you mean ...?`, or nothing."""
    meant = nearest(name, names)
    return Text("; did you mean `{}`?", meant) if meant else ""


def nearest_path(path: str | Path) -> str:
    """Returns `; nearest existing: ...` for a missing path, or which of its folders is missing, or nothing."""
    missing = Path(path)
    what: str = ""
    while not os.path.isdir(missing.parent):  # unlike `Path.is_dir`, it never raises
        missing = missing.parent
        what = Text("; the folder {} does not exist", missing)
    try:
        names = sorted(entry.name for entry in missing.parent.iterdir())
    except OSError:
        return what
    close = difflib.get_close_matches(missing.name, names, n=5, cutoff=0.5)
    # Any two YAML files share `.yaml`, so the stems must be alike, too.
    meant = next((name for name in close if difflib.get_close_matches(missing.stem, [Path(name).stem])), None)
    return what + (Text("; nearest existing: {}", missing.parent / meant) if meant else "")


def format_value(value: Any) -> str:
    """Returns a value for an error message: short, text in quotes, and YAML's words for the rest."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return Text("a mapping")
    if isinstance(value, list | tuple):
        return Text("a list of {}", len(value)) if len(str(value)) > 60 else str(list(value))
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..." + text[-1]


def one_line(text: str) -> str:
    """Returns text with line ends and control characters escaped as in Python."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def validate_values(
    validate: Callable[..., V], values: Any, **context: object
) -> tuple[V | None, list[tuple[Place, str]]]:
    """Returns what `validate_json` of a model or of an adapter makes of plain values, or None and all faults.

    Strict and through JSON: a list may become a tuple, and text a path, but "50" is not a number, nor true a 1.
    """
    from pydantic import ValidationError

    try:
        return validate(json.dumps(values), strict=True, context=context), []
    except ValidationError as error:
        return None, explain(error, values)


def explain(error: ValidationError, value: Any) -> list[tuple[Place, str]]:
    """Returns pydantic's errors for `value` as (place within it, text), one per place.

    Alternatives of a union (`auto` or a whole number) become one sentence.
    """
    grouped: dict[Place, list[ErrorDetails]] = {}
    for details in error.errors(include_url=False):
        grouped.setdefault(_real_place(details, value), []).append(details)
    # In a union with lists or mappings, the deeper error is the useful one.
    places = [p for p in grouped if not any(q != p and q[: len(p)] == p for q in grouped)]
    return [(place, _sentence(grouped[place])) for place in places]


def _real_place(details: ErrorDetails, value: Any) -> Place:
    """Returns pydantic's place without the names it gives to alternatives of a union."""
    place: list[str] = []
    for key in details["loc"]:
        if isinstance(value, Mapping):
            if key not in value and details["type"] not in ("missing", "missing_argument"):
                continue
            value = value.get(key)
        elif isinstance(value, list) and isinstance(key, int) and key < len(value):
            value = value[key]
        else:
            continue
        place.append(str(key))
    return tuple(place)


_WANTED = {
    "int_type": Text("a whole number"),
    "int_parsing": Text("a whole number"),
    "int_from_float": Text("a whole number"),
    "float_type": Text("a number"),
    "string_type": "text",
    "string_pattern_mismatch": "text",
    "bool_type": Text("true or false"),
    "list_type": Text("a list, such as [a, b]"),
    "tuple_type": Text("a list, such as [a, b]"),
    "dict_type": Text("a mapping (key: value)"),
    "dataclass_type": Text("a mapping (key: value)"),
    "model_type": Text("a mapping (key: value)"),
    "model_attributes_type": Text("a mapping (key: value)"),
    "none_required": Text("nothing (null)"),
    "finite_number": Text("a finite number"),
    "path_type": Text("a path"),
}
_LIMITS = {
    "greater_than": ("gt", Text("more than")),
    "greater_than_equal": ("ge", Text("at least")),
    "less_than": ("lt", Text("less than")),
    "less_than_equal": ("le", Text("at most")),
    "too_short": ("min_length", Text("a list with a length of at least")),
    "too_long": ("max_length", Text("a list with a length of at most")),
    "string_too_short": ("min_length", Text("text with a length of at least")),
}


def _sentence(alternatives: Sequence[ErrorDetails]) -> str:
    first = alternatives[0]
    kind, context, value = first["type"], first.get("ctx", {}), first["input"]
    if len(alternatives) == 1 and kind in ("missing", "missing_argument"):
        return "missing"
    if len(alternatives) == 1 and kind in ("extra_forbidden", "unexpected_keyword_argument"):
        return Text("unknown key")
    if len(alternatives) == 1 and kind == "value_error":
        return str(context.get("error", first["msg"]))
    wanted: list[str] = []
    literals: list[str] = []
    for details in alternatives:
        kind, context = details["type"], details.get("ctx", {})
        if kind in ("literal_error", "enum"):
            literals += str(context["expected"]).replace(" or ", ", ").replace("'", "").split(", ")
        elif kind in _LIMITS:
            key, words = _LIMITS[kind]
            wanted.append(Text("{} {}", words, context[key]))
        elif kind in _WANTED:
            wanted.append(_WANTED[kind])
        else:
            wanted.append(Text("another value ({}{})", details["msg"][:1].lower(), details["msg"][1:]))
    if literals:
        wanted.insert(0, " or ".join(filter(None, (", ".join(f"`{w}`" for w in literals[:-1]), f"`{literals[-1]}`"))))
    text = Text("must be {: or }, not {}", dict.fromkeys(wanted), format_value(value))
    if isinstance(value, str):
        if literals and (meant := nearest(value, literals)):
            text += Text("; did you mean `{}`?", meant)
        elif _is_number(value) and any("number" in w for w in wanted):
            text += Text(" (remove the quotes)")
        elif "true or false" in wanted and value.lower() in ("yes", "no", "on", "off", "y", "n"):
            text += Text("; write {}", "true" if value.lower() in ("yes", "on", "y") else "false")
    elif "text" in wanted and isinstance(value, int | float):
        text += Text(" (put it in quotes)")
    elif wanted == ["text"] and isinstance(value, Mapping):
        text += Text(" (put it in quotes: braces make a mapping)")
    return text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def change_words(what: str, old: object, new: object) -> Text:
    """Returns `edit_seeds 1 -> 3`, of long values their beginning."""

    def shorten(value: object) -> str:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return text if len(text) <= 40 else f"{text[:37]}..."

    return Text("{} {} -> {}", what, shorten(old), shorten(new))
