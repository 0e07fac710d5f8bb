"""What rich draws, in the language that is spoken. A `Text` is put into it here; whatever else is data, and stays."""

from __future__ import annotations

import re
from typing import Any

from rich import text as rich_text
from rich.cells import cell_len
from rich.console import Console
from rich.rule import Rule
from rich.table import Column, Table

from edit_eval.reporting.language import said, spoken

_WIDE = r"\u2e80-\u9fff\uff00-\uffef"
_PIECE = re.compile(rf"[（“《\[]*(?:[{_WIDE}]|[^\s{_WIDE}]+)[，。；：、！？）》”…]*\s*|\s+")
"""What stays together on a line."""


class Styled(rich_text.Text):
    """Rich's text with styles, of pieces that may be `Text`s."""

    def __init__(self, text: str = "", *given: Any, **named: Any) -> None:
        super().__init__(said(text), *given, **named)

    def append(self, text: Any, style: Any = None) -> Styled:
        """Adds a piece."""
        super().append(said(text), style)
        return self

    @classmethod
    def assemble(cls, *parts: Any, **named: Any) -> Styled:
        """From pieces, each alone or with its style."""
        made = cls(**named)
        for part in parts:
            made.append(*part) if isinstance(part, tuple) else made.append(part)
        return made

    def in_lines(self, cells: int) -> list[rich_text.Text]:
        """The text in lines of `cells` columns at most; Chinese is broken between characters, not before `，`."""
        ends, width = [], 0
        for piece in _PIECE.finditer(self.plain):
            if width and width + cell_len(piece[0].rstrip()) > cells:
                ends.append(piece.start())
                width = 0
            width += cell_len(piece[0])
        lines = list(self.divide(ends))
        for line in lines:
            line.rstrip()
        return lines


class Spoken(Console):
    """A console that prints Texts in the language that is spoken."""

    def print(self, *objects: Any, **named: Any) -> None:
        """As rich's."""
        wrap = spoken() == "zh" and not named.get("soft_wrap")
        super().print(*(self._in_lines(drawn(one)) if wrap else drawn(one) for one in objects), **named)

    def _in_lines(self, thing: Any) -> Any:
        """Broken where Chinese may be: rich does so at spaces alone."""
        if not isinstance(thing, Styled) or thing.no_wrap or "\n" in thing.plain or thing.cell_len <= self.width:
            return thing
        return rich_text.Text("\n").join(thing.in_lines(self.width))


def drawn(thing: Any) -> Any:
    """`thing` as rich is to draw it. The Texts of a table or a rule are replaced where they are."""
    if isinstance(thing, Table):
        thing.title = said(thing.title)
        for column in thing.columns:
            _say_cells(column)
    elif isinstance(thing, Rule):
        thing.title = said(thing.title)
    return said(thing)


def _say_cells(column: Column) -> None:
    column.header = said(column.header)
    column._cells[:] = map(said, column._cells)
