"""Text from data (ids, answers, reasons, paths) made safe for a terminal, without escape sequences."""

from __future__ import annotations

import re
import unicodedata
from functools import partial
from typing import Any

from rich import text as rich_text
from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.rule import Rule
from rich.table import Column, Table

from edit_eval.reporting.language import current_language, translate
from edit_eval.reporting.languages import SPOKEN

_LONGEST = 10_000
_LONGEST_SHORTENED = 2_000
"""Characters read of a text, whole or to be shortened: more than a terminal shows in either case."""

_ESCAPE_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor, screen
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]{0,2000}(?:\x07|\x1b\\|\x9c)"  # titles, links, clipboard
    r"|\x1b[ -/]*[0-~]"
)

_WORDS = re.compile("[\\s，。；：、（）]+")  # between words: a Chinese sentence has no spaces


def one_line(text: object, cells: int | None = None) -> str:
    """Returns `text` in the spoken language on one line, cut with an ellipsis if wider than `cells` columns.

    Escape sequences and invisible format characters (which can reverse the direction of writing) are removed, lone
    surrogates and unassigned characters become U+FFFD. A CJK character takes two columns.
    """
    longest = _LONGEST if cells is None else _LONGEST_SHORTENED
    line = " ".join(_strip_control_characters(str(translate(text))[:longest]).split())
    if cells is None or cell_len(line) <= cells:
        return line
    return set_cell_size(line, max(0, cells - 1)).rstrip() + "…"


class Name:
    """A name in as many lines as its column needs, broken after `_`, `-`, `.`, `/` or a space if possible."""

    def __init__(self, text: object, style: str = "", *, indent: int = 0) -> None:
        self._name, self._style, self.indent = one_line(text), style, indent

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        widest = max(map(cell_len, _parts(self._name)), default=0) + self.indent
        whole = cell_len(self._name) + self.indent
        return Measurement(min(widest, options.max_width), min(whole, options.max_width))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in break_name(self._name, max(1, options.max_width - self.indent)):
            yield Styled(" " * self.indent + line, self._style, no_wrap=True, overflow="crop")


def break_name(name: str, cells: int) -> list[str]:
    """Breaks `name` into lines of at most `cells` columns; only a part without a break is cut in the middle."""
    lines = [""]
    for part in _parts(name):
        if lines[-1] and cell_len(lines[-1]) + cell_len(part.rstrip()) > cells:
            lines.append("")
        lines[-1] += part
        while cell_len(lines[-1].rstrip()) > cells:
            fits = set_cell_size(lines[-1], cells).rstrip() or lines[-1][:1]
            lines[-1:] = [fits, lines[-1][len(fits) :]]
    return [line.rstrip() for line in lines if line.strip()] or [""]


def _parts(name: str) -> list[str]:
    return re.findall(r"[^_\-./ ]*[_\-./ ]+|[^_\-./ ]+", name)


def lines_of(text: object) -> list[str]:
    """Returns each line of `text` as by `one_line`; empty lines at the ends are left out."""
    return [one_line(line) for line in str(translate(text)).strip().splitlines()]


def pad_text(text: str, cells: int) -> str:
    """Returns `text` in exactly `cells` columns, shortened or padded with spaces."""
    return set_cell_size(one_line(text, cells), cells)


def readable(document: Any) -> Any:
    """Returns a document (dicts, lists, sets, text, numbers) ready for JSON, with text that UTF-8 can encode.

    A sentence that it can encode stays a `Text`, which may be said in another language.
    """
    if isinstance(document, str):
        encoded = document.encode("utf-8", "replace").decode("utf-8")
        return document if encoded == document else encoded
    if isinstance(document, dict):
        return {readable(key): readable(value) for key, value in document.items()}
    if isinstance(document, list | tuple):
        return [readable(value) for value in document]
    return sorted(map(readable, document)) if isinstance(document, frozenset) else document


def stdout_console() -> Console:
    """Returns the console of reading verbs: the terminal's width (80 without one), colours only on a terminal."""
    return LocalizedConsole(markup=False, emoji=False, highlight=False)


def print_with_head(console: Console, head: Styled | str, body: Styled) -> None:
    """Prints `body` beside `head`, wrapped within the columns that are left, without trailing spaces.

    A word that does not fit, such as a path, is left for the terminal to wrap, so that it can be copied whole.
    """
    start = Styled(head) if isinstance(head, str) else head
    room = max(1, console.width - start.cell_len)
    too_long = any(cell_len(word) > room and ("/" in word or word.isascii()) for word in _WORDS.split(body.plain))
    wrap = body.fold_lines if _breaks_between_characters() else partial(body.wrap, console)
    for line in [body] if too_long else wrap(room):
        line = start + line
        line.rstrip()
        console.print(line, soft_wrap=True)
        start = Styled(" " * start.cell_len)


def _breaks_between_characters() -> bool:
    return bool(SPOKEN[current_language()].unspaced)


def _strip_control_characters(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(map(_character, _ESCAPE_SEQUENCE.sub("", text)))


def _character(character: str) -> str:
    if character.isprintable() or character.isspace():
        return character
    return "" if unicodedata.category(character) in ("Cc", "Cf") else "\ufffd"


_WIDE = r"\u2e80-\u9fff\uff00-\uffef"
_PIECE = rf"[（“《\[]*(?:[{_WIDE}]|[^\s{_WIDE}]+)[，。；：、！？）》”…]*\s*|\s+"
"""Pieces that stay together on a line; compiled by the first line that is folded, as that takes milliseconds."""


class Styled(rich_text.Text):
    """Rich's styled text, whose pieces may be `Text`s."""

    def __init__(self, text: str = "", *given: Any, **named: Any) -> None:
        super().__init__(translate(text), *given, **named)

    def append(self, text: Any, style: Any = None) -> Styled:
        """Adds a piece."""
        super().append(translate(text), style)
        return self

    @classmethod
    def assemble(cls, *parts: Any, **named: Any) -> Styled:
        """Joins pieces, each alone or with its style."""
        made = cls(**named)
        for part in parts:
            made.append(*part) if isinstance(part, tuple) else made.append(part)
        return made

    def fold_lines(self, cells: int) -> list[rich_text.Text]:
        """Returns lines of at most `cells` columns; Chinese is broken between characters, not before `，`."""
        ends, width = [], 0
        for piece in re.finditer(_PIECE, self.plain):
            if width and width + cell_len(piece[0].rstrip()) > cells:
                ends.append(piece.start())
                width = 0
            width += cell_len(piece[0])
        lines = list(self.divide(ends))
        for line in lines:
            line.rstrip()
        return lines


class LocalizedConsole(Console):
    """A console that prints Texts in the spoken language."""

    def print(self, *objects: Any, **named: Any) -> None:
        """Prints like rich's method."""
        wrap = _breaks_between_characters() and not named.get("soft_wrap")
        super().print(
            *(
                self._break_lines(translate_renderable(renderable)) if wrap else translate_renderable(renderable)
                for renderable in objects
            ),
            **named,
        )

    def _break_lines(self, thing: Any) -> Any:
        """Breaks Chinese lines between characters; rich breaks at spaces only."""
        if not isinstance(thing, Styled) or thing.no_wrap or "\n" in thing.plain or thing.cell_len <= self.width:
            return thing
        return rich_text.Text("\n").join(thing.fold_lines(self.width))


def translate_renderable(thing: Any) -> Any:
    """Returns `thing` for rich to draw. Texts inside a table or a rule are replaced in place."""
    if isinstance(thing, Table):
        thing.title = translate(thing.title)
        for column in thing.columns:
            _say_cells(column)
    elif isinstance(thing, Rule):
        thing.title = translate(thing.title)
    return translate(thing)


def _say_cells(column: Column) -> None:
    column.header = translate(column.header)
    column._cells[:] = map(translate, column._cells)
