"""`figure.svg` and `figure.pdf`: each edit model's mean with its interval, and beside it how far it is behind the best.

Drawn in points for the width of a page of text. The letters are Liberation Sans, which vl-convert carries with it, and
are embedded; a Chinese name takes a font of this machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import vl_convert
from markupsafe import Markup

from edit_eval.errors import ConfigurationError
from edit_eval.plugins.paper.document import JudgeTable, Mark, Paper
from edit_eval.reporting.language import said
from edit_eval.reporting.names import scale_words
from edit_eval.reporting.terminal_text import one_line
from edit_eval.reporting.verdict_drawing import Ruler
from edit_eval.text import Text

WIDTH = 397
"""5.5 inches, in points."""
_ROW, _HEAD, _FOOT, _LEGEND = 17, 16, 32, 18
_SIZE = 8.5
_MOST_NAME = 150.0
_EDGE, _GAP = 4.0, 22.0
_TICKS = 7
_ACCENT, _INK, _QUIET, _RULE = "#0b5cad", "#222222", "#666666", "#cccccc"
LETTERS = "Liberation Sans, Arimo, Arial, Helvetica, sans-serif"
HAN = f"Noto Sans CJK SC, Source Han Sans SC, {LETTERS}"
_WIDTHS = {
    "ijl'|": 0.222,
    " !,./:;I[]\\ft": 0.278,
    "()-`r{}": 0.333,
    '"*': 0.37,
    "ckJsvxyz": 0.5,
    "ABEKPSVXY&": 0.667,
    "CDHNRUw": 0.722,
    "GOQ": 0.778,
    "Mm": 0.833,
    "%@W": 0.95,
}
"""Of letters, in ems; all others are like digits."""
_OF_LETTER = {letter: width for letters, width in _WIDTHS.items() for letter in letters}
_CARRIED = "\u024f"
"""The last of the Latin letters, all of which Liberation Sans has."""
_NO_LETTER = "\ue0ff"
"""A character that no font has."""


@dataclass(frozen=True)
class _Panel:
    left: float
    width: float
    ruler: Ruler

    def at(self, value: float) -> float:
        return self.left + self.width * self.ruler.share(value)

    @property
    def right(self) -> float:
        return self.left + self.width


def figure_svg(paper: Paper) -> str:
    """Returns the drawing, one part for each judge below another.

    Raises `ConfigurationError` if no font here has a letter of it.
    """
    tables = [table for table in paper.tables if any(row.placing.mean is not None for row in table.rows)]
    parts: list[Markup] = []
    top = 0.0
    for table in tables:
        drawn, height = _part(table, top, paper.language, titled=len(tables) > 1)
        parts += drawn
        top += height
    legend = [*_legend({row.mark for table in tables for row in table.rows}, top, paper.language)]
    height = top + (_LEGEND if legend else 0)
    svg = Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1:.0f}" viewBox="0 0 {0} {1:.0f}" '
        'font-family="{2}" font-size="{3}" fill="{4}">\n{5}\n</svg>\n'
    ).format(WIDTH, height, LETTERS, _SIZE, _INK, Markup("\n").join(parts + legend))
    _refuse_without_letters(svg)
    return str(svg)


def figure_pdf(svg: str) -> bytes:
    """Returns the drawing as a PDF of the same size, with its fonts."""
    return bytes(vl_convert.svg_to_pdf(svg))


def _part(table: JudgeTable, top: float, language: str, *, titled: bool) -> tuple[list[Markup], float]:
    rows = [row for row in table.rows if row.placing.mean is not None]
    head = top + (_HEAD if titled else 4)
    bottom = head + _ROW * len(rows)
    names = _EDGE + min(_MOST_NAME, max(_long(row.placing.name) for row in rows))
    left = names + 10
    compared = any(row.contest for row in rows)
    width = (WIDTH - left - _GAP - _EDGE) / 2 if compared else WIDTH - left - _EDGE
    means = _Panel(left, width, _ruler([end for row in rows for end in (row.placing.mean, *(row.placing.ci95 or ()))]))
    parts = [_words(said(table.judge, language), _EDGE, top + 11, weight="bold")] if titled else []
    unit = Text("strength") if table.compares else Text("mean, {}", scale_words(table.scale))
    parts += _axis(means, head, bottom, said(unit, language))
    panels = [means]
    if compared:
        its = [row.contest for row in rows if row.contest]
        ends = [end for contest in its for end in (0.0, contest.difference, *(contest.ci95 or ()))]
        behind = _Panel(means.right + _GAP, width, _ruler(ends))
        parts += _axis(behind, head, bottom, said(Text("behind the best"), language))
        parts.append(_line(behind.at(0), head, behind.at(0), bottom, _QUIET, 1.0))
        panels.append(behind)
    for place, row in enumerate(rows):
        y = head + _ROW * (place + 0.5)
        parts.append(_words(_cut(row.placing.name), names, y + 3, anchor="end"))
        parts += _drawn(means, y, row.placing.mean, row.placing.ci95, row.mark)
        if row.contest:
            parts += _drawn(panels[1], y, row.contest.difference, row.contest.ci95, row.mark)
    return parts, bottom + _FOOT - top


def _ruler(values: Sequence[float | None]) -> Ruler:
    return Ruler.of([value for value in values if value is not None])


def _drawn(
    panel: _Panel, y: float, value: float | None, interval: Sequence[float | None] | None, mark: Mark
) -> Iterator[Markup]:
    """Yields interval and point; an open end goes to the edge."""
    colour = _colour(mark)
    if interval is not None:
        low, high = (edge if end is None else end for end, edge in zip(interval, _edges(panel), strict=True))
        yield _line(panel.at(low), y, panel.at(high), y, colour, 1.4)
    if value is not None:
        yield _point(panel.at(value), y, colour, hollow=mark == "level")


def _colour(mark: Mark) -> str:
    return _ACCENT if mark in ("best", "level") else _QUIET


def _edges(panel: _Panel) -> tuple[float, float]:
    return panel.ruler.low, panel.ruler.high


def _point(x: float, y: float, colour: str, *, hollow: bool) -> Markup:
    fill = "#ffffff" if hollow else colour
    return Markup('<circle cx="{:.2f}" cy="{:.2f}" r="3" fill="{}" stroke="{}" stroke-width="1.3"/>').format(
        x, y, fill, colour
    )


def _axis(panel: _Panel, top: float, bottom: float, title: str) -> Iterator[Markup]:
    for tick in panel.ruler.ticks(_TICKS):
        x = panel.at(tick)
        yield _line(x, top, x, bottom, _RULE, 0.5)
        yield _words(f"{tick:g}".replace("-", "−"), x, bottom + 11, anchor="middle", fill=_QUIET)
    yield _line(panel.left, bottom, panel.right, bottom, _QUIET, 0.7)
    yield _words(title, panel.left + panel.width / 2, bottom + 23, anchor="middle", fill=_QUIET)


def _legend(marks: set[Mark], top: float, language: str) -> Iterator[Markup]:
    meanings: Sequence[tuple[Mark, Text]] = (
        ("best", Text("the best")),
        ("level", Text("not shown to be worse")),
        ("worse", Text("shown to be worse")),
        ("", Text("not ranked")),
    )
    if "best" not in marks:
        return
    x = _EDGE + 4
    for mark, meaning in meanings:
        if mark in marks:
            words = said(meaning, language)
            yield _point(x, top + 7, _colour(mark), hollow=mark == "level")
            yield _words(words, x + 7, top + 10, fill=_QUIET)
            x += _long(words) + 24


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float) -> Markup:
    return Markup('<line x1="{:.2f}" y1="{:.2f}" x2="{:.2f}" y2="{:.2f}" stroke="{}" stroke-width="{}"/>').format(
        x1, y1, x2, y2, colour, width
    )


def _words(text: str, x: float, y: float, *, anchor: str = "start", fill: str = _INK, weight: str = "") -> Markup:
    """Draws words on one line; where Chinese ones are among them, all in the letters that have both."""
    line = one_line(text)
    more = Markup(' font-weight="{}"').format(weight) if weight else Markup("")
    more += Markup(' font-family="{}"').format(HAN) if any(map(_is_wide, line)) else Markup("")
    return Markup('<text x="{:.2f}" y="{:.2f}" text-anchor="{}" fill="{}"{}>{}</text>').format(
        x, y, anchor, fill, more, line
    )


def _is_wide(letter: str) -> bool:
    return letter >= "\u2e80"


def _long(text: str) -> float:
    """Returns about how long text is, in points."""
    return _SIZE * math.fsum(1.0 if _is_wide(letter) else _OF_LETTER.get(letter, 0.556) for letter in text)


def _cut(name: str) -> str:
    if _long(name) <= _MOST_NAME:
        return name
    kept = name
    while kept and _long(f"{kept}…") > _MOST_NAME:
        kept = kept[:-1]
    return f"{kept}…"


def _refuse_without_letters(drawing: str) -> None:
    """Raises `ConfigurationError` for a letter that would be drawn as an empty box."""
    unusual = sorted({letter for letter in drawing if letter > _CARRIED and letter not in "−…"})
    box = _picture(_NO_LETTER) if unusual else b""
    if missing := [letter for letter in unusual if _picture(letter) == box]:
        raise ConfigurationError(
            Text(
                "no font on this machine has {: }, so the figure would have empty boxes: install one (Debian: `apt-get "
                "install fonts-noto-cjk`), or do without: other names of edit models, `--language en`",
                missing,
            )
        )


def _picture(letter: str) -> bytes:
    text = Markup('<text x="4" y="24" font-family="{}">{}</text>').format(HAN, letter)
    svg = Markup('<svg xmlns="http://www.w3.org/2000/svg" width="40" height="32" font-size="20">{}</svg>').format(text)
    return bytes(vl_convert.svg_to_png(str(svg)))
