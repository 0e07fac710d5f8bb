"""The slices that differ most, with their intervals."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from edit_eval.json_values import JsonObject
from edit_eval.plugins.slices.search import Slices
from edit_eval.plugins.slices.sheet import slice_name
from edit_eval.reporting import formats
from edit_eval.reporting.analyses import ChartStyle
from edit_eval.reporting.chart_parts import AnyChart, chart_of_rows, chart_title
from edit_eval.reporting.formats import format_signed, format_signed_span
from edit_eval.reporting.language import translate
from edit_eval.reporting.terminal_text import one_line
from edit_eval.text import Text

_LINE = 22


def slices_charts(documents: Sequence[Slices], style: ChartStyle) -> list[AnyChart]:
    """Draws a chart for each document that has slices: the worst above, the best below."""
    drawn = [document for document in documents if document.best or document.worst]
    charts = [_chart(document, style.language) for document in drawn]
    titles = [chart_title(translate(Text("judged by {}", document.judge), style.language)) for document in drawn]
    return [
        chart.properties(title=title) if len(drawn) > 1 else chart for chart, title in zip(charts, titles, strict=True)
    ]


def _chart(document: Slices, language: str) -> AnyChart:
    every = [*document.worst, *reversed(document.best)]
    digits = formats.decimals(document.scale, max(abs(slice_.mean) for slice_ in every))
    rows: list[JsonObject] = [
        {
            "slice": one_line(translate(slice_name(slice_), language)),
            "difference": slice_.difference,
            "low": slice_.ci95[0] if slice_.ci95 else None,
            "high": slice_.ci95[1] if slice_.ci95 else None,
            "label": format_signed(slice_.difference, digits),
            "span": format_signed_span(slice_.ci95, digits),
            "samples": slice_.samples,
            "shown": slice_.shown is not None,
        }
        for slice_ in every
    ]
    names = [one_line(translate(slice_name(slice_), language)) for slice_ in every]
    base = chart_of_rows(rows, "slice", names, _LINE).encode(
        opacity=alt.condition("datum.shown", alt.value(1), alt.value(0.45)),
        tooltip=[
            alt.Tooltip("slice:N", title=" "),
            alt.Tooltip("label:N", title=translate(Text("Better by"), language)),
            alt.Tooltip("span:N", title=translate(Text("Interval"), language)),
            alt.Tooltip("samples:Q", title=translate(Text("Samples"), language)),
        ],
    )
    title = translate(Text("better than elsewhere by"), language)
    zero = alt.Chart({"values": [{"at": 0}]}).mark_rule(strokeWidth=1, strokeDash=[3, 3])
    chart: AnyChart = alt.layer(
        zero.encode(x=alt.X("at:Q")),
        base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=title), x2=alt.X2("high:Q")),
        base.mark_point(size=64, filled=True).encode(x=alt.X("difference:Q")),
    )
    return chart
