"""`figure.svg` and `figure.pdf`: each edit model's mean with its interval, and beside it how far it is behind the best.

For the width of a page of text. The letters are Liberation Sans, which vl-convert carries with it, and are embedded;
where Chinese ones are among them, a font of this machine that has both.
"""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import vl_convert
from markupsafe import Markup

from edit_eval.errors import ConfigurationError
from edit_eval.plugins.paper.document import JudgeTable, Mark, Paper, PaperRow
from edit_eval.reporting.chart_parts import AnyChart
from edit_eval.reporting.language import translate
from edit_eval.reporting.names import scale_words
from edit_eval.reporting.terminal_text import one_line
from edit_eval.reporting.verdict_drawing import Ruler
from edit_eval.text import Text

_PANEL, _ROW, _NAME = 110, 17, 150
"""Pixels: width of a panel, height of a row, most of a name."""
_ACCENT, _INK, _QUIET, _RULE = "#0b5cad", "#222222", "#666666", "#cccccc"
_MARKS: dict[Mark, tuple[Text, str, str]] = {
    "best": (Text("the best"), _ACCENT, _ACCENT),
    "level": (Text("not shown to be worse"), _ACCENT, "#ffffff"),
    "worse": (Text("shown to be worse"), _QUIET, _QUIET),
    "": (Text("not ranked"), _QUIET, _QUIET),
}
"""Meaning, line and filling."""
LETTERS = "Liberation Sans, Arimo, Arial, Helvetica, sans-serif"
HAN = f"Noto Sans CJK SC, Source Han Sans SC, {LETTERS}"
_FIRST_HAN = "\u2e80"
_CARRIED = "\u024f"
"""The last of the Latin letters, all of which Liberation Sans has."""
_NO_LETTER = "\ue0ff"
"""A character that no font has."""

Ends = Sequence[float | None]


def figure_svg(paper: Paper) -> str:
    """Returns the drawing, one part for each judge below another.

    Raises `ConfigurationError` if no font here has a letter of it.
    """
    tables = [table for table in paper.tables if any(row.placing.mean is not None for row in table.rows)]
    marks = [mark for mark in _MARKS if any(row.mark == mark for table in tables for row in table.rows)]
    parts = [_part(table, paper.language, marks, titled=len(tables) > 1) for table in tables]
    drawn = alt.vconcat(*parts).to_dict()
    letters = HAN if any(letter >= _FIRST_HAN for letter in str(drawn)) else LETTERS
    text = {"labelFontSize": 8.5, "titleFontSize": 8.5, "labelColor": _QUIET, "titleColor": _QUIET}
    drawn["config"] = {
        "font": letters,
        "view": {"stroke": None},
        "axis": {**text, "titleFontWeight": "normal", "gridColor": _RULE, "tickSize": 0, "domainColor": _QUIET},
        "axisY": {"labelColor": _INK, "labelLimit": _NAME, "domain": False, "grid": False},
        "legend": {**text, "orient": "bottom", "title": None, "symbolSize": 28, "symbolStrokeWidth": 1.3},
        "title": {"anchor": "start", "fontSize": 8.5, "color": _INK},
    }
    svg: str = vl_convert.vegalite_to_svg(drawn)
    _refuse_without_letters(svg)
    return svg


def figure_pdf(svg: str) -> bytes:
    """Returns the drawing as a PDF of the same size, with its fonts."""
    return bytes(vl_convert.svg_to_pdf(svg))


def _part(table: JudgeTable, language: str, marks: Sequence[Mark], *, titled: bool) -> AnyChart:
    rows = [row for row in table.rows if row.placing.mean is not None]
    unit = Text("strength") if table.compares else Text("mean, {}", scale_words(table.scale))
    means = [(row, row.placing.mean, row.placing.ci95) for row in rows]
    behind = [(row, row.contest.difference, row.contest.ci95) for row in rows if row.contest]
    panels = [_panel(means, rows, translate(unit, language), language, marks, 1 if behind else 2)]
    if behind:
        panels.append(_panel(behind, rows, translate(Text("behind the best"), language), language, marks, beside=True))
    part: AnyChart = alt.hconcat(*panels)
    return part.properties(title=one_line(translate(table.judge, language))) if titled else part


def _panel(
    points: Sequence[tuple[PaperRow, float | None, Ends | None]],
    rows: Sequence[PaperRow],
    title: str,
    language: str,
    marks: Sequence[Mark],
    width: int = 1,
    *,
    beside: bool = False,
) -> AnyChart:
    """Draws points and intervals, of which an open end goes to the edge; `beside` the names, with a line at 0."""
    every = [end for _, value, ends in points for end in (value, *(ends or ())) if end is not None]
    ruler = Ruler.from_values([*every, *([0.0] if beside else [])])
    values = []
    for row, value, ends in points:
        low, high = (
            edge if end is None else end for end, edge in zip(ends or (value, value), _edges(ruler), strict=True)
        )
        mark = translate(_MARKS[row.mark][0], language)
        values.append({"name": one_line(row.placing.name), "mark": mark, "value": value, "low": low, "high": high})
    meanings = [translate(_MARKS[mark][0], language) for mark in marks]
    names = alt.Scale(domain=[one_line(row.placing.name) for row in rows])
    scale = alt.Scale(domain=[*_edges(ruler)], nice=False, zero=False)
    legend = alt.Legend() if "best" in marks else None
    line, fill = ([_MARKS[mark][place] for mark in marks] for place in (1, 2))
    base = alt.Chart({"values": values}, width=width * _PANEL, height=_ROW * len(rows)).encode(
        y=alt.Y("name:N", title=None, scale=names, **({"axis": None} if beside else {})),
        stroke=alt.Stroke("mark:N", scale=alt.Scale(domain=meanings, range=line), legend=legend),
    )
    x = alt.X("low:Q", title=title, scale=scale).axis(tickCount=5)
    filled = alt.Fill("mark:N", scale=alt.Scale(domain=meanings, range=fill), legend=legend)
    zero = alt.Chart({"values": [{"low": 0}]}).mark_rule(stroke=_QUIET)
    return alt.layer(
        *([zero.encode(x=x)] if beside else []),
        base.mark_rule(strokeWidth=1.4).encode(x=x, x2="high:Q"),
        base.mark_point(size=28, opacity=1, strokeWidth=1.3).encode(x=alt.X("value:Q", title=title), fill=filled),
    )


def _edges(ruler: Ruler) -> tuple[float, float]:
    return ruler.low, ruler.high


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
