"""Means from turn to turn, or from round to round: a chart for each judge, a line for each edit model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from edit_eval.records import Scale
from edit_eval.reporting import formats
from edit_eval.reporting.language import said
from edit_eval.reporting.page.chart_parts import AnyChart, chart_title, series_colour, series_mark
from edit_eval.reporting.terminal_text import one_line
from edit_eval.text import Text

_HEIGHT = 240
_APART, _WIDE = 0.05, 0.4
"""Turns by which neighbouring edit models stand apart, so that their intervals can be told, and all of them at most."""


def turns_charts(
    every: Sequence[Mapping[str, Any]], edit_models: Sequence[str], language: str, step: str = "turn"
) -> list[AnyChart]:
    """One for each judge of what `statistics.turns.turns` returned; none where nothing has a mean. With the step
    `round` of what `statistics.rounds.rounds` did."""
    names = list(map(one_line, edit_models))
    judges = dict.fromkeys(one["judge"] for one in every)
    of = {judge: [one for one in every if one["judge"] == judge] for judge in judges}
    charts = [(judge, _chart(some, names, language, step)) for judge, some in of.items()]
    return [
        chart.properties(title=chart_title(one_line(judge))) if len(judges) > 1 else chart
        for judge, chart in charts
        if chart is not None
    ]


def _chart(every: Sequence[Mapping[str, Any]], models: Sequence[str], language: str, step: str) -> AnyChart | None:
    words = Text("Turn") if step == "turn" else Text("Round")
    apart = min(_APART, _WIDE / len(every))
    rows = [
        {
            "series": one_line(one["edit_model"]),
            "turn": turn[step],
            "at": turn[step] + apart * (place - (len(every) - 1) / 2),
            "mean": turn["mean"],
            "low": (turn["ci95"] or [None, None])[0],
            "high": (turn["ci95"] or [None, None])[1],
            "label": formats.score(turn["mean"], _digits(one, step)),
            "span": formats.span(turn["ci95"], _digits(one, step)),
        }
        for place, one in enumerate(every)
        for turn in one[f"{step}s"]
        if turn["mean"] is not None
    ]
    if not rows:
        return None
    turns = sorted({row["turn"] for row in rows})
    x = alt.X("at:Q", title=said(words, language)).axis(values=turns, format="d", grid=False)
    x = x.scale(domain=[turns[0] - 0.4, turns[-1] + 0.4], nice=False)
    base = alt.Chart({"values": rows}, width="container", height=_HEIGHT).encode(
        x=x,
        tooltip=[
            alt.Tooltip("series:N", title=said(Text("Model"), language)),
            alt.Tooltip("turn:Q", title=said(words, language)),
            alt.Tooltip("label:N", title=said(Text("Mean"), language)),
            alt.Tooltip("span:N", title=said(Text("95% interval"), language)),
        ],
    )
    shown = list(dict.fromkeys(row["series"] for row in rows))  # of a model with rounds the first column alone
    base = base.encode(color=series_colour(models, shown=shown)) if len(models) > 1 else base
    points = base.encode(shape=series_mark(models, shown=shown)) if len(models) > 1 else base
    y = alt.Y("mean:Q", title=said(Text("Mean"), language)).scale(zero=False)
    layers = [
        base.mark_rule(strokeWidth=2, opacity=0.5).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        base.mark_line(strokeWidth=2).encode(y=y),
        points.mark_point(size=56, filled=True, opacity=1).encode(y=y),
    ]
    chart: AnyChart = alt.layer(*layers)
    return chart


def _digits(one: Mapping[str, Any], step: str) -> int:
    means = [abs(turn["mean"]) for turn in one[f"{step}s"] if turn["mean"] is not None]
    return formats.decimals(Scale(**one["scale"]), max(means, default=0.0))
