"""The charts that do not depend on the chosen score, and what all charts of the page share.

Activity of each device; curves for analyses.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeAlias

import altair as alt

from edit_eval.json_values import JsonObject
from edit_eval.records import Activity, Results, Scale
from edit_eval.reporting.language import said
from edit_eval.reporting.names import name_of
from edit_eval.reporting.page.html import mark_of
from edit_eval.reporting.terminal_text import one_line
from edit_eval.statistics.summary import Summary
from edit_eval.text import Text

AnyChart: TypeAlias = alt.Chart | alt.LayerChart | alt.FacetChart


def chart_of_rows(rows: Sequence[Mapping[str, object]], field: str, names: Sequence[str], height: int) -> alt.Chart:
    """Returns a chart with a row of `height` pixels for each of the `names` in `field`, in their order."""
    chart = alt.Chart({"values": tuple(rows)}, width="container", height=max(2, len(names)) * height)
    y = alt.Y(f"{field}:N", scale=alt.Scale(domain=list(names)), title=None)
    return chart.encode(y=y.axis(ticks=False, domain=False))


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

    @property
    def bin_width(self) -> float:
        """Width that gives at most `MOST_BINS` bins: half a point from 0 to 10."""
        return step_over(self.high - self.low, MOST_BINS)

    @property
    def bins(self) -> int:
        return math.ceil((self.high - self.low) / self.bin_width - _ROUNDING)

    def bin_of(self, score: float) -> int:
        """Returns the bin of a score, from 0; the highest score is in the last one."""
        return min(self.bins - 1, max(0, math.floor((score - self.low) / self.bin_width + _ROUNDING)))

    def marks(self, steps: int) -> list[float]:
        """Returns round numbers for the axis, in at most `steps` steps."""
        step = step_over(self.high - self.low, steps)
        first, last = math.ceil(self.low / step - _ROUNDING), math.floor(self.high / step + _ROUNDING)
        return [round(number * step, 9) for number in range(first, last + 1)]

    def written(self, steps: int) -> str:
        """Returns the d3 format of the marks: as many digits as their step has."""
        digits = max(0, -math.floor(math.log10(step_over(self.high - self.low, steps)) + _ROUNDING))
        return f".{digits}f" if digits else "d"


def axis_of(scale: Scale, scores: Sequence[float]) -> Axis:
    """Returns the axis for these scores on a scale."""
    if scale.lowest is not None and scale.highest is not None:
        return Axis(scale.lowest, scale.highest)
    ends = [end for end in (scale.lowest, scale.highest) if end is not None]
    low, high = min([*scores, *ends], default=0.0), max([*scores, *ends], default=1.0)
    step = step_over(high - low or abs(high) or 1.0, 10)
    if scale.lowest is None:
        low = round((math.ceil(low / step - _ROUNDING) - 1) * step, 9)
    if scale.highest is None:
        high = round((math.floor(high / step + _ROUNDING) + 1) * step, 9)
    return Axis(low, high)


def step_over(width: float, steps: int) -> float:
    """Returns the smallest of 1, 2, 5, 10, ... (or .5, .2, .1, ...) that covers `width` in at most `steps` steps."""
    least = width / steps * (1 - _ROUNDING)
    power = math.floor(math.log10(least))
    return next(step for factor in (1, 2, 5, 10) if (step := round(factor * 10.0**power, 12 - power)) >= least)


# -- the charts of time: the activity of each device over time, and its share of the wall time --

KINDS = ("starting", "loading", "editing", "judging", "unloading")
"""In drawing order: imports occupy no device, so they are drawn below what happens on it meanwhile."""
COLOURS = {
    "starting": "#dcd9d3",
    "loading": "#a8a29a",
    "editing": "#3f6fd8",
    "judging": "#d98a2b",
    "unloading": "#cbc6be",
    "idle": "#88848026",
}
"""Mid-tones, distinct on both a light and a dark page."""


def timeline(results: Results, language: str) -> list[AnyChart]:
    """Draws a row per device and a bar per activity; several starts of a run follow each other on one axis."""
    if not results.activities:
        return []
    begins = _start_times(results)
    last = max(begins[activity.start_number] + activity.end for activity in results.activities)
    unit, seconds = _unit(last)
    present = {one_line(activity.device) for activity in results.activities}
    devices = [name for name in dict.fromkeys(map(one_line, results.devices)) if name in present]
    devices += sorted(present.difference(devices))
    in_layers = sorted(
        results.activities, key=lambda activity: KINDS.index(activity.kind) if activity.kind in KINDS else len(KINDS)
    )
    rows = [_activity_row(layer, begins[layer.start_number], seconds, language) for layer in in_layers]
    x = alt.X("begin:Q", title=said(unit, language), scale=alt.Scale(domain=[0, last / seconds], nice=False))
    bars = (
        chart_of_rows(rows, "device", devices, 26)
        .mark_bar(size=16, clip=True)
        .encode(
            x=x.axis(grid=False, tickCount=8, format="~r"),
            x2=alt.X2("end:Q"),
            color=_kind_colour(KINDS, language),
            tooltip=[
                alt.Tooltip("kind:N", title=said(Text("Activity"), language)),
                alt.Tooltip("model:N", title=said(Text("Model"), language)),
                alt.Tooltip("what:N", title=said(Text("Samples"), language)),
                alt.Tooltip("seconds:Q", title=said(Text("Seconds"), language), format=".1f"),
            ],
        )
    )
    restarts = [{"begin": begin / seconds} for number, begin in sorted(begins.items()) if number > 1]
    if not restarts:
        return [bars]
    lines = alt.Chart({"values": restarts}).mark_rule(strokeWidth=1).encode(x=alt.X("begin:Q"))
    return [alt.layer(bars, lines)]


def _start_times(results: Results) -> dict[int, float]:
    """Returns when each start begins on an axis that leaves out the pauses between starts."""
    lengths = dict(enumerate(results.wall_seconds, start=1))
    for activity in results.activities:
        # A start that was killed has no wall time: it lasts until its last activity ends.
        lengths[activity.start_number] = max(lengths.get(activity.start_number, 0.0), activity.end)
    numbers = sorted(lengths)
    return dict(zip(numbers, accumulate((lengths[number] for number in numbers), initial=0.0), strict=False))


def _unit(last: float) -> tuple[Text, float]:
    if last < 180:
        return Text("Time since the start, in seconds"), 1.0
    if last < 3 * 3600:
        return Text("Time since the start, in minutes"), 60.0
    return Text("Time since the start, in hours"), 3600.0


def _activity_row(activity: Activity, start: float, unit_seconds: float, language: str) -> JsonObject:
    return {
        "device": one_line(activity.device),
        "kind": said(name_of("kind", one_line(activity.kind)), language),
        "model": one_line(activity.model),
        "what": one_line(activity.what, 80),
        # Enough digits for a screen; the records keep the rest.
        "begin": round((start + activity.begin) / unit_seconds, 5),
        "end": round((start + activity.end) / unit_seconds, 5),
        "seconds": round(activity.end - activity.begin, 2),
    }


def utilisation(summary: Summary, language: str) -> list[AnyChart]:
    """Draws a stacked bar per device: the share of its time for each kind of work, and idle."""
    devices = summary.timing.devices
    order = ("editing", "judging", "loading", "unloading", "starting", "idle")
    rows = []
    for name, kinds in devices.items():
        whole = sum(kinds.values())
        rows += [
            {
                "device": one_line(name),
                "kind": said(name_of("kind", kind), language),
                "order": place,
                "share": kinds[kind] / whole,
                "seconds": kinds[kind],
            }
            for place, kind in enumerate(order)
            if whole > 0
        ]
    if not rows:
        return []
    bars = (
        chart_of_rows(rows, "device", list(map(one_line, devices)), 26)
        .mark_bar(size=16)
        .encode(
            x=alt.X("share:Q", title=said(Text("Share of wall time"), language), scale=alt.Scale(domain=[0, 1])).axis(
                format="%", grid=False, tickCount=5
            ),
            color=_kind_colour(order, language),
            order=alt.Order("order:Q"),
            tooltip=[
                alt.Tooltip("device:N", title=said(Text("Device"), language)),
                alt.Tooltip("kind:N", title=said(Text("Activity"), language)),
                alt.Tooltip("share:Q", title=said(Text("Share of wall time"), language), format=".1%"),
                alt.Tooltip("seconds:Q", title=said(Text("Seconds"), language), format=".0f"),
            ],
        )
    )
    return [bars]


def _kind_colour(kinds: tuple[str, ...], language: str) -> alt.Color:
    return alt.Color(
        "kind:N",
        scale=alt.Scale(
            domain=[said(name_of("kind", kind), language) for kind in kinds], range=[COLOURS[kind] for kind in kinds]
        ),
        legend=alt.Legend(orient="top", direction="horizontal", title=None),
    )


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
