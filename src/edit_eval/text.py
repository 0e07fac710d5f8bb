"""Sentences for people: English that remembers how it was made, so that it can be said in another language.

A `Text` is a `str`, its English. Its template is a literal with a `{}` for each field. The printing edge
(`reporting/language.py`) looks the template up in the catalogue and puts the fields in. A field that is a Text is
translated too; any other value is data (a path, a name, the words of a library, a model or a user) and stays as it is.
A plain `str` is English, which is right for whatever the engine, workers and servers say.

A sum of Texts is a Text. An f-string, a slice or `", ".join` of them is a plain `str`: use a field, or `joined`.
Standard library only, Python 3.10: workers in foreign environments import this file.
"""

from __future__ import annotations

import string
import warnings
from collections.abc import Callable, Iterable, Mapping
from numbers import Number
from typing import Any


class EnglishOnly(PendingDeprecationWarning):
    """A Text was put into an f-string, where it loses its template. An error in tests, and silent elsewhere."""


class Items(tuple[Any, ...]):
    """A list in a template. Its format is what stands between its items: `{:; }`; of names it is `, `.

    `separators` has what a language puts in place of each.
    """

    separators: Mapping[str, str] = {"": ", "}

    def __repr__(self) -> str:
        return repr(list(self))

    def __format__(self, between: str) -> str:
        return self.separators.get(between, between).join(map(str, map(_plain, self)))


class Text(str):
    """An English sentence with its template and fields: `Text("{} of {} are scored", 3, 5)`.

    A field may be a number, a Text, a list of them, or anything else, which is shown as `str` has it. `plural` is the
    template where the first field is not 1. Raises `IndexError` where a field is missing.
    """

    __slots__ = ("fields", "plural", "template")
    template: str
    plural: str
    fields: tuple[Any, ...]

    def __new__(cls, template: str, /, *fields: Any, plural: str = "") -> Text:
        kept = tuple(map(_field, fields))
        chosen = plural if plural and kept[0] != 1 else template
        self = str.__new__(cls, chosen.format(*map(_plain, kept)))
        self.template, self.plural, self.fields = template, plural, kept
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
        return _made, (self.template, self.plural, self.fields)


def counted(count: int, noun: str) -> Text:
    """`1 edit`, `3 edits`."""
    return Text(f"{{}} {noun}", count, plural=f"{{}} {noun}s")


def joined(parts: Iterable[str], between: str = "; ") -> Text:
    """What `between.join(parts)` is of strings: one Text of several."""
    return Text(f"{{:{between}}}", list(parts))


def changed(value: Any, change: Callable[[str], str]) -> Any:
    """A Text with its data changed, and its template as it is; of any other string what `change` makes of it."""
    if isinstance(value, Text):
        return Text(value.template, *(changed(field, change) for field in value.fields), plural=value.plural)
    if isinstance(value, Items):
        return Items(changed(one, change) for one in value)
    return change(value) if isinstance(value, str) else value


def localized(value: Any, catalogue: Mapping[str, str], separators: Mapping[str, str]) -> Any:
    """A Text in another language, as far as there is a translation; whatever else it is given stays as it is.

    `catalogue` has the translations of templates; a sentence whose template is not there is English, all of it.
    `separators` are those of lists (`Items`).
    """
    if isinstance(value, Items):
        items = Items(localized(one, catalogue, separators) for one in value)
        items.separators = separators
        return items
    if not isinstance(value, Text):
        return value
    template = catalogue.get(value.template)
    if template is None:
        literals = (literal for literal, *_ in string.Formatter().parse(value.template))
        if any(literal.strip(string.punctuation + " ") for literal in literals):
            return _plain(value)
        template = value.template
    return template.format(*(localized(field, catalogue, separators) for field in value.fields))


def _made(template: str, plural: str, fields: tuple[Any, ...]) -> Text:
    return Text(template, *fields, plural=plural)


def _field(value: Any) -> Any:
    if value is None or isinstance(value, str | bytes | Number):
        return value
    if isinstance(value, Iterable):
        return Items(map(_field, value))
    return str(value)


def _plain(value: Any) -> Any:
    return str.__str__(value) if isinstance(value, Text) else value
