"""The curve of best of N: what choosing is worth to who reports, beside what who chooses sees itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from edit_eval.reporting.best_of import name_of, title_of
from edit_eval.reporting.formats import signed, signed_span
from edit_eval.reporting.language import said
from edit_eval.reporting.page.chart_parts import AnyChart, chart_title, series_colour, series_mark
from edit_eval.reporting.table import in_language
from edit_eval.reporting.terminal_text import one_line
from edit_eval.text import Text

_HEIGHT = 240
_WIDTH = 520
_APART = 1.05
"""The factor by which neighbouring edit models stand apart, so that their intervals can be told from each other."""
_MARKS = 6  # on the axis of gains, about


def best_of_charts(every: Sequence[Mapping[str, Any]], edit_models: Sequence[str], language: str) -> list[AnyChart]:
    """One for each document of `statistics.best_of.best_of`; none where nothing has a mean."""
    made = [(one, _chart(one, list(map(one_line, edit_models)), language)) for one in every]
    return [
        chart.properties(title=chart_title(in_language(title_of(one), language))) if len(every) > 1 else chart
        for one, chart in made
        if chart is not None
    ]


def best_of_svg(document: Mapping[str, Any], language: str) -> str:
    """The same curve as a picture for a paper: a white ground, no interaction."""
    import vl_convert

    models = [one_line(model["edit_model"]) for model in document["models"]]
    chart = _chart(document, models, language) or alt.Chart({"values": []}).mark_point()
    specification = chart.properties(width=_WIDTH).to_dict(validate=False)
    configuration = {"background": "white", "view": {"stroke": None}, "line": {"strokeWidth": 1.5}}
    drawn: str = vl_convert.vegalite_to_svg({**specification, "config": configuration})
    return drawn


def _chart(document: Mapping[str, Any], models: Sequence[str], language: str) -> AnyChart | None:
    alike = document["select"]["scale"] == document["report"]["scale"]
    rows = [
        {
            "series": one_line(model["edit_model"]),
            "n": size["size"],
            "at": size["size"] * _APART ** (place - (len(document["models"]) - 1) / 2),
            "gain": 0.0 if size["size"] == 1 else size["gain"],
            "low": (size["gain_ci95"] or [None, None])[0],
            "high": (size["gain_ci95"] or [None, None])[1],
            "own": (0.0 if size["size"] == 1 else size["own_gain"]) if alike else None,
            "label": signed(size["gain"]),
            "span": signed_span(size["gain_ci95"]),
            "seen": signed(size["own_gain"]),
        }
        for place, model in enumerate(document["models"])
        for size in model["sizes"]
        if size["mean"] is not None and (size["size"] == 1 or size["gain"] is not None)
    ]
    if not rows:
        return None
    sizes = sorted({row["n"] for row in rows})
    x = alt.X(
        "n:Q", scale=alt.Scale(type="log", base=2, nice=False), title=said(Text("N, edits of a sample"), language)
    )
    x = x.axis(values=sizes, format="d", grid=False)
    reporting = one_line(in_language(name_of(document["report"]), language), 40)
    y = alt.Y("gain:Q", title=said(Text("gain over one edit, by {}", reporting), language)).axis(tickCount=_MARKS)
    base = alt.Chart({"values": rows}, width="container", height=_HEIGHT).encode(
        x=x,
        tooltip=[
            alt.Tooltip("series:N", title=said(Text("Model"), language)),
            alt.Tooltip("n:Q", title=said(Text("N"), language)),
            alt.Tooltip("label:N", title=said(Text("Gain"), language)),
            alt.Tooltip("span:N", title=said(Text("95% interval"), language)),
            alt.Tooltip(
                "seen:N",
                title=said(Text("Gain seen by {}", in_language(name_of(document["select"]), language)), language),
            ),
        ],
    )
    if len(models) > 1:
        base = base.encode(color=series_colour(models))
    none = alt.Chart({"values": [{"at": 0}]}).mark_rule(strokeWidth=1, strokeDash=[3, 3])
    points = base.encode(shape=series_mark(models)) if len(models) > 1 else base
    layers = [
        none.encode(y=alt.Y("at:Q")),
        *([base.mark_line(strokeDash=[5, 4], strokeWidth=1.5).encode(y=alt.Y("own:Q"))] if alike else []),
        base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        base.mark_line(strokeWidth=2).encode(y=y),
        points.mark_point(size=56, filled=True, opacity=1).encode(y=y),
    ]
    chart: AnyChart = alt.layer(*layers)
    return chart
