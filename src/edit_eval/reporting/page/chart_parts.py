"""What several charts of the page have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

from edit_eval.reporting.marks import mark_of
from edit_eval.reporting.terminal_text import one_line

AnyChart = alt.Chart | alt.LayerChart | alt.FacetChart


def chart_of_rows(rows: Sequence[Mapping[str, object]], field: str, names: Sequence[str], height: int) -> alt.Chart:
    """A chart with a line of `height` pixels for each of the names that `field` has, in their order."""
    chart = alt.Chart({"values": tuple(rows)}, width="container", height=max(2, len(names)) * height)
    y = alt.Y(f"{field}:N", scale=alt.Scale(domain=list(names)), title=None)
    return chart.encode(y=y.axis(ticks=False, domain=False))


def chart_title(words: str) -> alt.Title:
    """The name of one of several charts that stand together."""
    return alt.Title(one_line(words), anchor="start", frame="group", fontSize=13, limit=360, offset=10)


def _legend(shown: Sequence[str] | None) -> alt.Legend:
    values = alt.Undefined if shown is None else list(shown)
    return alt.Legend(orient="top", direction="horizontal", title=None, values=values)


def series_mark(series: Sequence[str], *, legend: bool = True, shown: Sequence[str] | None = None) -> alt.Shape:
    """The same field as a mark, for points (see `marks`); in the legend those that are `shown`, by default all."""
    scale = alt.Scale(domain=list(series), range=[mark_of(place) for place in range(len(series))])
    return alt.Shape("series:N", scale=scale, legend=_legend(shown) if legend else None)


def series_colour(series: Sequence[str], *, legend: bool = True, shown: Sequence[str] | None = None) -> alt.Color:
    """The field `series` as a colour of the page's palette, in this order for every chart of the page."""
    scale = alt.Scale(domain=list(series))
    return alt.Color("series:N", scale=scale, legend=_legend(shown) if legend else None)
