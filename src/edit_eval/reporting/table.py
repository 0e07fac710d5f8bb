"""A table is data until it is printed: rows as the records have them, and columns that say what they show of a row.

Reports and verbs make sheets, which are lines and tables one after the other; `writers/` draws them on a terminal, on
the page, as Markdown, in a notebook and on the card of a data set. A column is added to its list, and is in them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Generic, Literal, TypeVar

from edit_eval.records import LANGUAGES
from edit_eval.reporting.formats import NOTHING
from edit_eval.reporting.language import said, spoken

Row = TypeVar("Row")
Said = TypeVar("Said")
Words = str | Mapping[str, str]
"""A Text; data, which is any other `str`; or what has its own words in each language: `{"en": ..., "zh": ...}`."""
Look = Literal["", "strong", "quiet", "problem", "wrong", "right"]


@dataclass(frozen=True)
class Strip:
    """An interval to be looked at: shares of an axis, from 0 to 1."""

    low: float
    mean: float
    high: float
    place: int = 0
    """Which of the page's colours it has, from 0."""
    asked: float | None = None
    """What is asked for: a mark across it."""


@dataclass(frozen=True)
class Column(Generic[Row]):
    """What a table shows of each row."""

    title: Words
    shows: Callable[[Row], Words | None]
    """The words for a row; None, what is not known, becomes a dash."""
    kind: Literal["number", "name", "word"] = "number"
    """Numbers are on the right. A name may take several lines; the others are never broken."""
    look: Look | Callable[[Row], Look] = ""
    aside: Callable[[Row], Words] = lambda _: ""
    """More about it, in small letters or parentheses behind it; a terminal has no room for that."""
    to: Callable[[Row], str] = lambda _: ""
    """Where it leads on the page."""
    when: Callable[[Row], Any] = lambda _: True
    """The column is there if this holds for any row."""
    short: Words = ""
    """The title on a terminal."""
    brief: Callable[[Row], Words | None] | None = None
    """The words on a terminal."""
    roomy: bool = False
    """Whether a terminal has no room for it."""
    spare: bool = False
    """Whether a terminal has room for it only where no name is broken for its sake."""
    over: Words = ""
    """On the page: what is above its title, once for all neighbours that share it."""
    mark: Callable[[Row], int] | None = None
    """On the page: which colour and mark are before the words, from 0 (see `reporting.marks`)."""
    head_mark: int | None = None
    """On the page: which are there instead of the title."""
    strip: Callable[[Row], Strip | None] | None = None
    """On the page: what is drawn instead of the words, which those hear who cannot see it."""

    def cell(self, row: Row, *, brief: bool = False) -> Words:
        """The words for a row."""
        words = (self.brief or self.shows if brief else self.shows)(row)
        return NOTHING if words is None else words

    def of(self, find: Callable[[Any], Row | None], **changed: Any) -> Column[Any]:
        """The same column over other rows: `find` gives what it shows of each, None where there is no such thing."""

        def shows(row: Any) -> Words | None:
            return None if (found := find(row)) is None else self.shows(found)

        def to(row: Any) -> str:
            return "" if (found := find(row)) is None else self.to(found)

        def look(row: Any) -> Look:
            return "" if (found := find(row)) is None else self.look_of(found)

        return replace(self, **{"shows": shows, "to": to, "look": look, "aside": lambda _: "", **changed})

    def look_of(self, row: Row) -> Look:
        """How they look."""
        return self.look(row) if callable(self.look) else self.look


@dataclass(frozen=True)
class Table(Generic[Row]):
    """Rows, and what is shown of them."""

    every: Sequence[Column[Row]]
    """The columns, wanted or not."""
    rows: Sequence[Row]
    label: Words = ""
    """What it is, for those who cannot see it."""
    group: Column[Row] | None = None
    """Neighbours that are the same in this are together: a terminal heads them with it, a page spans them."""
    look: Callable[[Row], Look] = lambda _: ""
    """Of whole rows: `quiet` ones are set apart above the others, `strong` ones stand out."""
    style: str = ""
    """A class of the page's style sheet."""
    gap: int = 1
    """Columns of a terminal between two of these, beside one that is always there."""
    rule: bool = True
    """Whether a terminal has a line below the titles."""

    @property
    def columns(self) -> list[Column[Row]]:
        """Those that any row has."""
        return [column for column in self.every if any(map(column.when, self.rows))]

    @property
    def flat(self) -> list[Column[Row]]:
        """The same behind that of the groups, for who repeats its words in each row."""
        return [*([self.group] if self.group else []), *self.columns]

    def groups(self) -> list[list[Row]]:
        """The rows that are together."""
        group = self.group
        return [list(rows) for _, rows in groupby(self.rows, key=lambda row: group.cell(row) if group else "")]


@dataclass(frozen=True)
class Line:
    """A sentence of a sheet, perhaps behind a word; without words a gap."""

    words: Words = ""
    look: Look = ""
    head: Words = ""
    head_look: Look = ""


Sheet = Sequence[Line | Table[Any]]


def in_language(words: Words, language: str = "") -> str:
    """Words in a language, or in the one that is spoken; data stays as it is."""
    return words[language or spoken()] if isinstance(words, Mapping) else str.__str__(said(words, language))


def both(words_in: Callable[[str], Said]) -> dict[str, Said]:
    """What is told in each language in its own way."""
    return {one: words_in(one) for one in LANGUAGES}
