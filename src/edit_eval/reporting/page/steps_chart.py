"""From turn to turn, from round to round: how far each is from the first, a line for each edit model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from edit_eval.reporting.formats import signed, signed_span
from edit_eval.reporting.language import said
from edit_eval.reporting.page.chart_parts import AnyChart, chart_title, series_colour, series_mark
from edit_eval.reporting.terminal_text import one_line
from edit_eval.text import Text

_HEIGHT = 220
_APART = 0.04
"""Of a step: neighbouring edit models stand so far apart that their intervals can be told from each other."""
_MARKS = 6  # on the axis of changes, about


def steps_charts(every: Sequence[Mapping[str, Any]], step: str, language: str) -> list[AnyChart]:
    """One for each judge of what `statistics.turns` or `statistics.rounds` returned; `step`: `turn` or `round`."""
    judges = dict.fromkeys(one["judge"] for one in every)
    made = [(judge, _chart([one for one in every if one["judge"] == judge], step, language)) for judge in judges]
    return [
        chart.properties(title=chart_title(judge)) if len(judges) > 1 else chart
        for judge, chart in made
        if chart is not None
    ]


def _chart(of_judge: Sequence[Mapping[str, Any]], step: str, language: str) -> AnyChart | None:
    models = [one_line(one["edit_model"]) for one in of_judge]
    rows = [
        {
            "series": model,
            "step": row[step],
            "at": row[step] + _APART * (place - (len(models) - 1) / 2),
            "change": row["change"] or 0.0,
            "low": (row["change_ci95"] or [None, None])[0],
            "high": (row["change_ci95"] or [None, None])[1],
            "label": signed(row["change"]),
            "span": signed_span(row["change_ci95"]),
        }
        for place, (model, one) in enumerate(zip(models, of_judge, strict=True))
        for number, row in enumerate(one[f"{step}s"])
        if not number or row["change"] is not None
    ]
    if not any(row["change"] for row in rows):
        return None
    words = Text("Turn") if step == "turn" else Text("Round")
    against = Text("change from the first turn") if step == "turn" else Text("change from the first round")
    steps = sorted({row["step"] for row in rows})
    x = alt.X("at:Q", scale=alt.Scale(nice=False, zero=False, padding=24), title=said(words, language))
    y = alt.Y("change:Q", title=said(against, language)).axis(tickCount=_MARKS)
    base = alt.Chart({"values": rows}, width="container", height=_HEIGHT).encode(
        x=x.axis(values=steps, format="d", grid=False),
        tooltip=[
            alt.Tooltip("series:N", title=said(Text("Model"), language)),
            alt.Tooltip("step:Q", title=said(words, language)),
            alt.Tooltip("label:N", title=said(against, language)),
            alt.Tooltip("span:N", title=said(Text("95% interval"), language)),
        ],
    )
    points = base
    if len(models) > 1:
        base = base.encode(color=series_colour(models))
        points = base.encode(shape=series_mark(models))
    none = alt.Chart({"values": [{"at": 0}]}).mark_rule(strokeWidth=1, strokeDash=[3, 3])
    chart: AnyChart = alt.layer(
        none.encode(y=alt.Y("at:Q")),
        base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        base.mark_line(strokeWidth=2).encode(y=y),
        points.mark_point(size=56, filled=True, opacity=1).encode(y=y),
    )
    return chart
