"""What rich draws, in the language that is spoken: headings, cells, lines. Names and a judge's words stay."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from rich.cells import cell_len
from rich.columns import Columns
from rich.console import Console, Group
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from edit_eval.reporting.chinese.spoken import said_word, spoken

_WIDE = r"\u2e80-\u9fff\uff00-\uffef"
_PIECE = re.compile(rf"[（“《\[]*(?:[{_WIDE}]|[^\s{_WIDE}]+)[，。；：、！？）》”…]*\s*|\s+")
"""What stays together on a line."""


class Spoken(Console):
    """A console that prints in the language that is spoken."""

    def print(self, *objects: Any, **named: Any) -> None:
        """As rich's, of what `told` makes of each."""
        shown = [told(one) for one in objects]
        if spoken() == "zh" and not named.get("soft_wrap"):
            shown = [self._in_lines(one) if isinstance(one, Text) and not one.no_wrap else one for one in shown]
        super().print(*shown, **named)

    def _in_lines(self, text: Text) -> Text:
        """Broken where Chinese may be: rich does so at spaces alone."""
        if text.cell_len <= self.width or "\n" in text.plain:
            return text
        return Text("\n").join(wrapped(text, self.width))


def told(thing: Any) -> Any:
    """`thing` as it is to be shown. A table or a group is changed where it is."""
    if spoken() != "zh":
        return thing
    match thing:
        case str():
            return said_word(thing)
        case Text():
            return told_text(thing)
        case Table():
            _tell_table(thing)
        case Group():
            thing.renderables[:] = map(told, thing.renderables)
        case Padding():
            thing.renderable = told(thing.renderable)
        case Rule():
            thing.title = told(thing.title)
        case Columns():
            thing.renderables[:] = map(told, thing.renderables)
    return thing


def wrapped(text: Text, cells: int) -> list[Text]:
    """`text` in lines of `cells` columns at most: broken at spaces or between Chinese characters, not before `，`."""
    ends, width = [], 0
    for piece in _PIECE.finditer(text.plain):
        if width and width + cell_len(piece[0].rstrip()) > cells:
            ends.append(piece.start())
            width = 0
        width += cell_len(piece[0])
    lines = list(text.divide(ends))
    for line in lines:
        line.rstrip()
    return lines


def told_text(text: Text) -> Text:
    """A text with its styles: each stretch of one style is a text of its own."""
    if not text.spans:
        made = text.copy()
        made.plain = said_word(text.plain)
        return made
    whole = said_word(text.plain)
    cuts = sorted({0, len(text), *(end for span in text.spans for end in (span.start, span.end))})
    stretches = text.divide(cuts[1:-1])
    if whole == text.plain and len(stretches) == 1:
        return text
    made = text.blank_copy()
    for stretch in _told_each(stretches):
        made.append_text(stretch)
    return made


def _told_each(stretches: Iterable[Text]) -> Iterable[Text]:
    for stretch in stretches:
        plain = said_word(stretch.plain)
        if plain == stretch.plain:
            yield stretch
            continue
        styles = [span.style for span in stretch.spans]
        made = Text(plain, style=stretch.style)
        for style in styles:
            made.stylize(style)
        yield made


def _tell_table(table: Table) -> None:
    for column in table.columns:
        column.header = told(column.header)
        column._cells[:] = map(told, column._cells)
    if table.title is not None:
        table.title = told(table.title)
