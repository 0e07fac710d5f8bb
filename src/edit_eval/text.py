"""Sentences for people: English that keeps its template and fields, so that it can be translated.

A `Text` is a `str`, its English. Its template is a literal with a `{}` for each field. The printing edge
(`reporting/language.py`) looks the template up in the catalogue and fills in the fields. A field that is a Text is
translated too; any other value is data (a path, a name, the words of a library, a model or a user) and stays as it is.
A plain `str` is English, which is right for messages of the engine, workers and servers.

A sum of Texts is a Text. An f-string, a slice or `", ".join` of them is a plain `str`: use a field, or `joined`.
Standard library only, Python 3.10: workers in foreign environments import this file.
"""

from __future__ import annotations

import string
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from numbers import Number
from typing import Any

CONTEXT = "\x04"
"""Separates a context from its template, as in gettext."""


class EnglishOnly(PendingDeprecationWarning):
    """A Text was put into an f-string, where it loses its template. An error in tests, and silent elsewhere."""


class Items(tuple[Any, ...]):
    """A list in a template. Its format is the separator of its items: `{:; }`; by default `, `.

    A word stands between the last two alone: `{: and }` is `a, b and c`.
    """

    def __repr__(self) -> str:
        return repr(list(self))

    def __format__(self, between: str) -> str:
        return "".join(
            (self.choose_separator(place, between) or ", " if place else "") + str(_plain(item))
            for place, item in enumerate(self)
        )

    def choose_separator(self, place: int, between: str) -> str:
        """Returns what stands before an item, one of the `separators` of languages; empty for the usual one."""
        return "" if between in (" and ", " or ") and place < len(self) - 1 else between


class Text(str):
    """An English sentence with its template and fields: `Text("{} of {} are scored", 3, 5)`.

    A field may be a number, a Text, a list of them, or anything else, which is shown by `str`. `plural` is the
    template if the first field is not 1. `context` is gettext's, for words with two meanings: it is not shown.
    Raises `IndexError` for a missing field.
    """

    __slots__ = ("context", "fields", "plural", "template")
    template: str
    plural: str
    context: str
    fields: tuple[Any, ...]

    def __new__(cls, template: str, /, *fields: Any, plural: str = "", context: str = "") -> Text:
        kept = tuple(map(_field, fields))
        chosen = plural if plural and kept[0] != 1 else template
        self = str.__new__(cls, chosen.format(*map(_plain, kept)))
        self.template, self.plural, self.context, self.fields = template, plural, context, kept
        return self

    def __str__(self) -> Text:  # so that `str(error)` is still a Text
        return self

    def __format__(self, spec: str) -> str:
        warnings.warn(f"its template is lost: {self.template}", EnglishOnly, stacklevel=2)
        return format(_plain(self), spec)

    def __add__(self, behind: str) -> Text:
        return Text("{}{}", self, behind)

    def __radd__(self, before: str) -> Text:
        return Text("{}{}", before, self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_text, (self.template, self.plural, self.context, self.fields)

    @property
    def key(self) -> str:
        """Key in a catalogue: its template, after its context if it has one."""
        return f"{self.context}{CONTEXT}{self.template}" if self.context else self.template


def pluralize(count: int, noun: str) -> Text:
    """`1 edit`, `3 edits`."""
    return Text(f"{{}} {noun}", count, plural=f"{{}} {noun}s")


def join_texts(parts: Iterable[str], between: str = "; ") -> Text:
    """Joins strings and Texts into one Text, like `between.join(parts)`."""
    return Text(f"{{:{between}}}", list(parts))


def text_to_json(value: Any) -> Any:
    """Returns a Text as plain JSON data that `unpacked` makes a Text again; a list of them likewise.

    Its `text` is the English. Anything else is returned as it is.
    """
    if isinstance(value, Text) and value:
        more = {"plural": value.plural, "context": value.context}
        return {
            "text": _plain(value),
            "template": value.template,
            "fields": [text_to_json(field) for field in value.fields],
            **{name: words for name, words in more.items() if words},
        }
    if isinstance(value, Items | list | tuple):
        return [text_to_json(member) for member in value]
    return _plain(value) if value is None or isinstance(value, str | Number) else str(value)


def text_from_json(value: Any) -> Any:
    """Inverts `packed`; what fits no template becomes its English."""
    if isinstance(value, list):
        return [text_from_json(member) for member in value]
    if not isinstance(value, Mapping):
        return value
    try:
        fields = map(text_from_json, value["fields"])
        return Text(value["template"], *fields, plural=value.get("plural", ""), context=value.get("context", ""))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):  # records can be damaged
        return str(value.get("text", ""))


def map_fields(value: Any, change: Callable[[str], str]) -> Any:
    """Changes the data of a Text, keeping its template; changes any other string as a whole."""
    if isinstance(value, Text):
        fields = (map_fields(field, change) for field in value.fields)
        return Text(value.template, *fields, plural=value.plural, context=value.context)
    if isinstance(value, Items):
        return Items(map_fields(member, change) for member in value)
    return change(value) if isinstance(value, str) else value


def translate_pieces(
    value: Any, catalogue: Mapping[str, str], separators: Mapping[str, str]
) -> Iterator[tuple[str, bool]]:
    """Yields a Text in another language, in pieces: each with True if it is ours, False if it is data to leave alone.

    `catalogue` has the translations of templates, by `Text.key`; a sentence whose template is not there stays English
    as a whole. `separators` are those of lists (`Items`).
    """
    template = catalogue.get(value.key, value.template)
    as_written = template == value.template
    if as_written and _has_words(template):
        yield _plain(value), False
        return
    number = 0
    for literal, name, spec, conversion in _parse_template(template):
        yield separators.get(literal, literal) if as_written and literal else literal, True
        if name is None:
            continue
        field = value.fields[int(name or number)]
        number += 1
        if isinstance(field, Text) and not conversion:
            yield from translate_pieces(field, catalogue, separators)
        elif isinstance(field, Items) and not conversion:
            for at, item in enumerate(field):
                between = field.choose_separator(at, spec or "")
                yield separators.get(between, between or ", ") if at else "", True
                yield from (
                    translate_pieces(item, catalogue, separators) if isinstance(item, Text) else [(str(item), False)]
                )
        else:
            yield format(_FORMATTER.convert_field(_plain(field), conversion), spec or ""), False


_FORMATTER = string.Formatter()


@lru_cache(1024)
def _parse_template(template: str) -> list[tuple[str, str | None, str | None, Any]]:
    return list(_FORMATTER.parse(template))


def _has_words(template: str) -> bool:
    return any(literal.strip(string.punctuation + " ") for literal, *_ in _parse_template(template))


def _rebuild_text(template: str, plural: str, context: str, fields: tuple[Any, ...]) -> Text:
    return Text(template, *fields, plural=plural, context=context)


def _field(value: Any) -> Any:
    if value is None or isinstance(value, str | bytes | Number):
        return value
    if isinstance(value, Iterable):
        return Items(map(_field, value))
    return str(value)


def _plain(value: Any) -> Any:
    return str.__str__(value) if isinstance(value, Text) else value
