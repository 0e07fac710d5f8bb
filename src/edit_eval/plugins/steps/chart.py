"""Means from turn to turn, or from round to round: a chart for each judge, a line for each edit model."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from edit_eval.plugins.steps.changes import RoundsOf, TurnsOf
from edit_eval.plugins.steps.sheet import digits_of
from edit_eval.reporting import formats
from edit_eval.reporting.analyses import ChartStyle
from edit_eval.reporting.chart_parts import CURVE_HEIGHT, AnyChart, chart_title, curves, series_colour
from edit_eval.reporting.language import translate
from edit_eval.reporting.terminal_text import one_line
from edit_eval.text import Text

_APART, _WIDE = 0.05, 0.4
"""Distance in steps between neighbouring edit models, which keeps their intervals apart, and at most of them all."""


def steps_charts(every: Sequence[TurnsOf | RoundsOf], style: ChartStyle, step: Text) -> list[AnyChart]:
    """Draws a chart for each judge, whose steps are called `step`; none if nothing has a mean."""
    judges = dict.fromkeys(measured.judge for measured in every)
    of = {judge: [measured for measured in every if measured.judge == judge] for judge in judges}
    charts = [(judge, _chart(some, style, translate(step, style.language))) for judge, some in of.items()]
    return [
        chart.properties(title=chart_title(one_line(judge))) if len(judges) > 1 else chart
        for judge, chart in charts
        if chart is not None
    ]


def _chart(every: Sequence[TurnsOf | RoundsOf], style: ChartStyle, step: str) -> AnyChart | None:
    language = style.language
    models = list(map(one_line, style.edit_models or dict.fromkeys(measured.edit_model for measured in every)))
    apart = min(_APART, _WIDE / len(every))
    rows = [
        {
            "series": one_line(measured.edit_model),
            "turn": number,
            "at": number + apart * (place - (len(every) - 1) / 2),
            "mean": at.mean,
            "low": (at.ci95 or (None, None))[0],
            "high": (at.ci95 or (None, None))[1],
            "label": formats.score(at.mean, digits_of(measured)),
            "span": formats.span(at.ci95, digits_of(measured)),
        }
        for place, measured in enumerate(every)
        for number, at in measured.steps
        if at.mean is not None
    ]
    if not rows:
        return None
    numbers = sorted({number for measured in every for number, at in measured.steps if at.mean is not None})
    x = alt.X("at:Q", title=step).axis(values=numbers, format="d", grid=False)
    x = x.scale(domain=[numbers[0] - 0.4, numbers[-1] + 0.4], nice=False)
    base = alt.Chart({"values": rows}, width="container", height=CURVE_HEIGHT).encode(
        x=x,
        tooltip=[
            alt.Tooltip("series:N", title=translate(Text("Model"), language)),
            alt.Tooltip("turn:Q", title=step),
            alt.Tooltip("label:N", title=translate(Text("Mean"), language)),
            alt.Tooltip("span:N", title=translate(Text("95% interval"), language)),
        ],
    )
    # of a model with rounds, its first column
    shown = list(dict.fromkeys(one_line(measured.edit_model) for measured in every))
    base = base.encode(color=series_colour(models, shown=shown)) if len(models) > 1 else base
    y = alt.Y("mean:Q", title=translate(Text("Mean"), language)).scale(zero=False)
    chart: AnyChart = alt.layer(*curves(base, models, y, shown=shown, opacity=0.5))
    return chart
