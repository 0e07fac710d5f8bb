"""The curve of best of N: the gain by the judge that reports, beside the gain seen by the judge that chooses."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from edit_eval.plugins.best_of.sheet import name_of, title_of
from edit_eval.plugins.best_of.worth import Worth
from edit_eval.reporting.analyses import ChartStyle
from edit_eval.reporting.chart_parts import CURVE_HEIGHT, AnyChart, chart_title, curves, series_colour
from edit_eval.reporting.formats import format_signed, format_signed_span
from edit_eval.reporting.language import translate
from edit_eval.reporting.table import translate_words
from edit_eval.reporting.terminal_text import one_line
from edit_eval.text import Text

_FACTOR_APART = 1.05
"""Factor between the positions of neighbouring edit models, which keeps their intervals apart."""
_MARKS = 6  # about this many on the axis of gains


def best_of_charts(documents: Sequence[Worth], style: ChartStyle) -> list[AnyChart]:
    """Draws a chart for each document, except where nothing has a mean."""
    made = [(document, _chart(document, style)) for document in documents]
    return [
        chart.properties(title=chart_title(translate_words(title_of(document), style.language)))
        if len(documents) > 1
        else chart
        for document, chart in made
        if chart is not None
    ]


def _chart(document: Worth, style: ChartStyle) -> AnyChart | None:
    language = style.language
    models = list(map(one_line, style.edit_models or [model.edit_model for model in document.models]))
    alike = document.select.scale == document.report.scale
    rows = [
        {
            "series": one_line(model.edit_model),
            "n": size.size,
            "at": size.size * _FACTOR_APART ** (place - (len(document.models) - 1) / 2),
            "gain": 0.0 if size.size == 1 else size.gain,
            "low": (size.gain_ci95 or (None, None))[0],
            "high": (size.gain_ci95 or (None, None))[1],
            "own": (0.0 if size.size == 1 else size.own_gain) if alike else None,
            "label": format_signed(size.gain),
            "span": format_signed_span(size.gain_ci95),
            "seen": format_signed(size.own_gain),
        }
        for place, model in enumerate(document.models)
        for size in model.sizes
        if size.mean is not None and (size.size == 1 or size.gain is not None)
    ]
    if not rows:
        return None
    sizes = sorted({size.size for model in document.models for size in model.sizes})
    x = alt.X(
        "n:Q", scale=alt.Scale(type="log", base=2, nice=False), title=translate(Text("N, edits of a sample"), language)
    )
    x = x.axis(values=sizes, format="d", grid=False)
    choosing, reporting = (translate_words(name_of(who), language) for who in (document.select, document.report))
    title = translate(Text("gain over one edit, by {}", one_line(reporting, 40)), language)
    y = alt.Y("gain:Q", title=title).axis(tickCount=_MARKS)
    base = alt.Chart({"values": rows}, width="container", height=CURVE_HEIGHT).encode(
        x=x,
        tooltip=[
            alt.Tooltip("series:N", title=translate(Text("Model"), language)),
            alt.Tooltip("n:Q", title=translate(Text("N"), language)),
            alt.Tooltip("label:N", title=translate(Text("Gain"), language)),
            alt.Tooltip("span:N", title=translate(Text("95% interval"), language)),
            alt.Tooltip("seen:N", title=translate(Text("Gain seen by {}", choosing), language)),
        ],
    )
    base = base.encode(color=series_colour(models)) if len(models) > 1 else base
    none = alt.Chart({"values": [{"at": 0}]}).mark_rule(strokeWidth=1, strokeDash=[3, 3])
    layers = [
        none.encode(y=alt.Y("at:Q")),
        *([base.mark_line(strokeDash=[5, 4], strokeWidth=1.5).encode(y=alt.Y("own:Q"))] if alike else []),
        *curves(base, models, y),
    ]
    chart: AnyChart = alt.layer(*layers)
    return chart
