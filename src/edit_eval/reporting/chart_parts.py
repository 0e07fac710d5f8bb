"""What the charts of the page and of analyses have in common: rows, titles, colours and marks, axes, curves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import altair as alt

from edit_eval.json_values import JsonObject
from edit_eval.records import Scale
from edit_eval.reporting.marks import mark_of
from edit_eval.reporting.terminal_text import one_line


class LayeredChart:
    """Charts of the same rows, drawn over each other. `alt.layer` comes to the same document, but copies everything in
    them several times: half of what drawing a page took."""

    def __init__(self, *layers: alt.Chart, **properties: object) -> None:
        self._layers, self._properties = layers, properties

    def properties(self, **properties: object) -> LayeredChart:
        """Returns the same with other properties (`width`, `title`, ...)."""
        return LayeredChart(*self._layers, **{**self._properties, **properties})

    def to_dict(self, *, validate: bool = True) -> JsonObject:
        """Returns it as a Vega-Lite document; what all layers have alike stands above them.

        `validate` is Altair's, and of what stands above: layers are held against the schema only as they are built."""
        sized = next((layer for layer in self._layers if layer.height is not alt.Undefined), self._layers[0])
        data = self._layers[0].data if len({id(layer.data) for layer in self._layers}) == 1 else alt.Undefined
        size = {"width": sized.width, "height": sized.height}
        frame = alt.LayerChart(layer=[], data=data, **{**size, **self._properties})
        whole: JsonObject = frame.to_dict(validate=validate)
        context: JsonObject = {"top_level": False, "datasets": whole.pop("datasets", {})}
        if data is not alt.Undefined:
            context["data"] = data
        layers = [self._draw_layer(layer, data, context) for layer in self._layers]
        return {**whole, "layer": layers, "datasets": context["datasets"]}

    def _draw_layer(self, layer: alt.Chart, data: object, context: JsonObject) -> JsonObject:
        bare = layer.copy(deep=False)
        bare.width = bare.height = alt.Undefined
        if data is not alt.Undefined:
            bare.data = alt.Undefined
        drawn: JsonObject = bare.to_dict(validate=False, context=context)
        return drawn


AnyChart: TypeAlias = alt.Chart | alt.LayerChart | alt.FacetChart | LayeredChart


def chart_of_rows(rows: Sequence[Mapping[str, object]], field: str, names: Sequence[str], height: int) -> alt.Chart:
    """Returns a chart with a row of `height` pixels for each of the `names` in `field`, in their order."""
    chart = alt.Chart({"values": tuple(rows)}, width="container", height=max(2, len(names)) * height)
    # As an argument: `.axis(...)` reads its own documentation whenever it is called.
    y = alt.Y(f"{field}:N", scale=alt.Scale(domain=list(names)), title=None, axis=alt.Axis(ticks=False, domain=False))
    return chart.encode(y=y)


def chart_title(words: str) -> alt.Title:
    """Returns the title of one of several charts shown together."""
    return alt.Title(one_line(words), anchor="start", frame="group", fontSize=13, limit=360, offset=10)


def _legend(shown: Sequence[str] | None) -> alt.Legend:
    values = alt.Undefined if shown is None else list(shown)
    return alt.Legend(orient="top", direction="horizontal", title=None, values=values)


def series_mark(series: Sequence[str], *, legend: bool = True, shown: Sequence[str] | None = None) -> alt.Shape:
    """Encodes `series` as a mark, for points (see `html.MARKS`); the legend has those `shown`, by default all."""
    scale = alt.Scale(domain=list(series), range=[mark_of(place) for place in range(len(series))])
    return alt.Shape("series:N", scale=scale, legend=_legend(shown) if legend else None)


def series_colour(series: Sequence[str], *, legend: bool = True, shown: Sequence[str] | None = None) -> alt.Color:
    """Encodes the field `series` as a colour of the page's palette, in the same order in every chart."""
    scale = alt.Scale(domain=list(series))
    return alt.Color("series:N", scale=scale, legend=_legend(shown) if legend else None)


# -- the axis of a score: the whole scale; on an open end, as far as the scores reach --

MOST_BINS = 20
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Axis:
    """A stretch of a scale, with `low` below `high`."""

    low: float
    high: float

    @property
    def domain(self) -> list[float]:
        return [self.low, self.high]

    @cached_property
    def bin_width(self) -> float:
        """Width that gives at most `MOST_BINS` bins: half a point from 0 to 10."""
        return axis_step(self.high - self.low, MOST_BINS)

    @cached_property
    def bins(self) -> int:
        return math.ceil((self.high - self.low) / self.bin_width - _ROUNDING)

    def bin_of(self, score: float) -> int:
        """Returns the bin of a score, from 0; the highest score is in the last one."""
        return min(self.bins - 1, max(0, math.floor((score - self.low) / self.bin_width + _ROUNDING)))

    def marks(self, steps: int) -> list[float]:
        """Returns round numbers for the axis, in at most `steps` steps."""
        step = axis_step(self.high - self.low, steps)
        first, last = math.ceil(self.low / step - _ROUNDING), math.floor(self.high / step + _ROUNDING)
        return [round(number * step, 9) for number in range(first, last + 1)]

    def mark_format(self, steps: int) -> str:
        """Returns the d3 format of the marks: as many digits as their step has."""
        digits = max(0, -math.floor(math.log10(axis_step(self.high - self.low, steps)) + _ROUNDING))
        return f".{digits}f" if digits else "d"


def axis_of(scale: Scale, scores: Sequence[float]) -> Axis:
    """Returns the axis for these scores on a scale."""
    if scale.lowest is not None and scale.highest is not None:
        return Axis(scale.lowest, scale.highest)
    ends = [end for end in (scale.lowest, scale.highest) if end is not None]
    low, high = min([*scores, *ends], default=0.0), max([*scores, *ends], default=1.0)
    step = axis_step(high - low or abs(high) or 1.0, 10)
    if scale.lowest is None:
        low = round((math.ceil(low / step - _ROUNDING) - 1) * step, 9)
    if scale.highest is None:
        high = round((math.floor(high / step + _ROUNDING) + 1) * step, 9)
    return Axis(low, high)


def axis_step(width: float, steps: int) -> float:
    """Returns the smallest of 1, 2, 5, 10, ... (or .5, .2, .1, ...) that covers `width` in at most `steps` steps."""
    least = width / steps * (1 - _ROUNDING)
    power = math.floor(math.log10(least))
    return next(step for factor in (1, 2, 5, 10) if (step := round(factor * 10.0**power, 12 - power)) >= least)


# -- curves over steps: best of N, turns, rounds, and those of a stranger's analysis --

CURVE_HEIGHT = 240


def curves(
    base: alt.Chart, models: Sequence[str], y: alt.Y, *, shown: Sequence[str] | None = None, opacity: float = 1.0
) -> list[alt.Chart]:
    """Draws an interval and a point at each step of each edit model, and a line through them."""
    points = base.encode(shape=series_mark(models, shown=shown)) if len(models) > 1 else base
    return [
        base.mark_rule(strokeWidth=2, opacity=opacity).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        base.mark_line(strokeWidth=2).encode(y=y),
        points.mark_point(size=56, filled=True, opacity=1).encode(y=y),
    ]
