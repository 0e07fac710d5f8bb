"""The charts of time: the activity of each device over time, and its share of the wall time."""

from __future__ import annotations

from itertools import accumulate

import altair as alt

from edit_eval.json_values import JsonObject
from edit_eval.records import Activity, Results
from edit_eval.reporting.chart_parts import AnyChart, LayeredChart, chart_of_rows
from edit_eval.reporting.language import translate
from edit_eval.reporting.names import name_of
from edit_eval.reporting.terminal_text import one_line
from edit_eval.statistics.summary import Summary
from edit_eval.text import Text

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
    if not results.telemetry.activities:
        return []
    begins = _start_times(results)
    last = max(begins[activity.start_number] + activity.end for activity in results.telemetry.activities)
    unit, seconds = _unit(last)
    present = {one_line(activity.device) for activity in results.telemetry.activities}
    devices = [name for name in dict.fromkeys(map(one_line, results.telemetry.devices)) if name in present]
    devices += sorted(present.difference(devices))
    in_layers = sorted(
        results.telemetry.activities,
        key=lambda activity: KINDS.index(activity.kind) if activity.kind in KINDS else len(KINDS),
    )
    rows = [_activity_row(layer, begins[layer.start_number], seconds, language) for layer in in_layers]
    x = alt.X(
        "begin:Q",
        title=translate(unit, language),
        scale=alt.Scale(domain=[0, last / seconds], nice=False),
        axis=alt.Axis(grid=False, tickCount=8, format="~r"),
    )
    bars = (
        chart_of_rows(rows, "device", devices, 26)
        .mark_bar(size=16, clip=True)
        .encode(
            x=x,
            x2=alt.X2("end:Q"),
            color=_kind_colour(KINDS, language),
            tooltip=[
                alt.Tooltip("kind:N", title=translate(Text("Activity"), language)),
                alt.Tooltip("model:N", title=translate(Text("Model"), language)),
                alt.Tooltip("what:N", title=translate(Text("Samples"), language)),
                alt.Tooltip("seconds:Q", title=translate(Text("Seconds"), language), format=".1f"),
            ],
        )
    )
    restarts = [{"begin": begin / seconds} for number, begin in sorted(begins.items()) if number > 1]
    if not restarts:
        return [bars]
    lines = alt.Chart({"values": restarts}).mark_rule(strokeWidth=1).encode(x=alt.X("begin:Q"))
    return [LayeredChart(bars, lines)]


def _start_times(results: Results) -> dict[int, float]:
    """Returns when each start begins on an axis that leaves out the pauses between starts."""
    lengths = dict(enumerate(results.telemetry.wall_seconds, start=1))
    for activity in results.telemetry.activities:
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
        "kind": translate(name_of("kind", one_line(activity.kind)), language),
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
                "kind": translate(name_of("kind", kind), language),
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
            x=alt.X(
                "share:Q",
                title=translate(Text("Share of wall time"), language),
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format="%", grid=False, tickCount=5),
            ),
            color=_kind_colour(order, language),
            order=alt.Order("order:Q"),
            tooltip=[
                alt.Tooltip("device:N", title=translate(Text("Device"), language)),
                alt.Tooltip("kind:N", title=translate(Text("Activity"), language)),
                alt.Tooltip("share:Q", title=translate(Text("Share of wall time"), language), format=".1%"),
                alt.Tooltip("seconds:Q", title=translate(Text("Seconds"), language), format=".0f"),
            ],
        )
    )
    return [bars]


def _kind_colour(kinds: tuple[str, ...], language: str) -> alt.Color:
    return alt.Color(
        "kind:N",
        scale=alt.Scale(
            domain=[translate(name_of("kind", kind), language) for kind in kinds],
            range=[COLOURS[kind] for kind in kinds],
        ),
        legend=alt.Legend(orient="top", direction="horizontal", title=None),
    )
