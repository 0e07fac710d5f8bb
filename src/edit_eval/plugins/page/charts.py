"""The charts of scores, as Vega-Lite documents: means with their intervals, distributions, failures.

A colour stands for an edit model (with only one, for a judge) in every chart of the page. Scores of different judges
share no chart, because only those of one judge can be compared.

Every chart is made in one language from the summary and the records. The page sets the colours that follow its theme
(`templates/charts.js`); a score's axis is always the whole scale (`drawings.axis_of`). A chart of scores says in
`usermeta` to which choice of scores it belongs; the page shows those of one choice. `widest` there is its greatest
width, in pixels. Vega-Lite writes names into expressions, which the page only interprets; names are cut to one line
first (`one_line`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypedDict

import altair as alt
from altair.utils.schemapi import debug_mode

from edit_eval.json_values import JsonObject
from edit_eval.plugins.page.gallery import link_to_failures
from edit_eval.records import Activity, Results, Status
from edit_eval.reporting import formats
from edit_eval.reporting.analyses import ChartStyle, sections
from edit_eval.reporting.chart_parts import (
    AnyChart,
    Axis,
    LayeredChart,
    axis_of,
    chart_of_rows,
    chart_title,
    series_colour,
    series_mark,
)
from edit_eval.reporting.entries import Entry, ScoreChoice, category_names, choices, entries, link, link_to_part
from edit_eval.reporting.language import recognise, translate
from edit_eval.reporting.names import name_of, score_title, short_category
from edit_eval.reporting.terminal_text import one_line
from edit_eval.statistics.aggregates import Aggregate
from edit_eval.statistics.failures import FailureGroup, failures, missing_scores
from edit_eval.statistics.summary import Summary
from edit_eval.text import Text

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


Specification = JsonObject
Group = tuple[str, Aggregate, Entry, str, Mapping[str, str]]
"""(label, statistics, whose they are, colour, further filters of the link to its samples)"""

_Scores = dict[tuple[str, str, str], list[float]]
"""All scores by (edit model, judge, score)."""

MOST_TAGS = 16
MOST_REASONS = 10
_LABEL_LENGTH = 60
_STEPS, _WIDE_STEPS = 10, 5  # steps on a score's axis


TITLES = {
    "overall": Text("Mean score by model"),
    "categories": Text("Mean score by category"),
    "histogram": Text("Distribution of scores"),
    "difficulties": Text("By difficulty"),
    "tags": Text("By tag"),
    "failures": Text("Without a score"),
    "timeline": Text("What each device did"),
    "utilisation": Text("Share of wall time"),
}


@dataclass(frozen=True)
class _Panel:
    """The entries that share a chart, and what its colours stand for."""

    title: str
    parts: tuple[Entry, ...]
    colours: tuple[str, ...]
    """One for each entry."""
    axis: Axis
    axis_title: str

    @property
    def pairs(self) -> list[tuple[Entry, str]]:
        return list(zip(self.parts, self.colours, strict=True))


def charts(results: Results, summary: Summary, language: str) -> dict[str, list[Specification]]:
    """Returns all charts by name; a name may have several (one for each judge), or none if nothing is known."""
    style = ChartStyle(results.edit_models, language, results)
    with alt.data_transformers.enable("default", max_rows=None):
        # What an analysis says wrongly of its encodings is found as it says it: it may be a stranger's.
        of_analyses = {section.name: _write(section.charts(style)) for section in sections(summary)}
        # Ours are not held against Vega-Lite's schema: that takes as long as all the rest, and tests compile each.
        with debug_mode(False):
            return of_analyses | _draw_own_charts(results, summary, language)


def _write(made: Iterable[AnyChart]) -> list[Specification]:
    return [chart.to_dict(validate=False) for chart in made]


def _draw_own_charts(results: Results, summary: Summary, language: str) -> dict[str, list[Specification]]:
    of_choices = choices(entries(summary.results))
    scores = _scores(results)
    leading = _panels(of_choices[0], scores, language)
    drawn = {
        "failures": _write(_failures(results, leading, language)),
        "timeline": _write(timeline(results, language)),
        "utilisation": _write(utilisation(summary, language)),
    }
    for choice in of_choices:
        for name, of_name in _charts_of_scores(choice, scores, language).items():
            of_choice = ({**written, "usermeta": {"score": choice.score}} for written in _write(of_name))
            drawn.setdefault(name, []).extend(of_choice)
    return drawn


def _charts_of_scores(choice: ScoreChoice, scores: _Scores, language: str) -> dict[str, list[AnyChart]]:
    panels = _panels(choice, scores, language)
    tags = _frequent_tags(choice.parts)

    def each(groups: Callable[[_Panel], list[Group]], *, one_each: bool = False) -> list[AnyChart]:
        made = (_intervals(groups(panel), panel, language, one_each=one_each) for panel in panels)
        return [chart for chart in made if chart is not None]

    return {
        "overall": each(_overall, one_each=True) if len(choice.parts) > 1 else [],
        "categories": each(lambda panel: _categories(panel, language)),
        "histogram": _histograms(scores, panels, language),
        "difficulties": each(lambda panel: _difficulties(panel, language)),
        "tags": each(lambda panel: _tags(panel, tags)),
    }


def _scores(results: Results) -> _Scores:
    scores: _Scores = defaultdict(list)
    for judgement in results.judgements:
        for name, score in judgement.scores.items():
            scores[judgement.edit_model, judgement.judge, name].append(score)
    return scores


def _panels(choice: ScoreChoice, scores: _Scores, language: str) -> list[_Panel]:
    """Returns a panel for each judge; with only one edit model, one panel if all have the same score and scale."""
    parts = choice.parts
    judges = list(dict.fromkeys(part.judge for part in parts))
    alike = len({(part.score, part.scale) for part in parts}) < 2
    one_judge = all(part.series == part.edit_model for part in parts)  # in the run
    if one_judge or (len(parts) == len(judges) and alike):
        return [_panel("", parts, [part.series for part in parts], scores, language)] if parts else []
    of_judges = {judge: tuple(part for part in parts if part.judge == judge) for judge in judges}
    return [
        _panel(
            translate(Text("judged by {}", judge), language), some, [part.edit_model for part in some], scores, language
        )
        for judge, some in of_judges.items()
    ]


def _panel(title: str, parts: Sequence[Entry], colours: Sequence[str], scores: _Scores, language: str) -> _Panel:
    every = [score for part in parts for score in scores[part.edit_model, part.judge, part.score]]
    return _Panel(
        title=title,
        parts=tuple(parts),
        colours=tuple(map(one_line, colours)),
        axis=axis_of(parts[0].scale, every),
        axis_title=one_line(translate(score_title(parts[0].score, parts[0].scale), language)),
    )


def histogram_hint(choice: ScoreChoice) -> Text | None:
    """Says how wide a bar is; None if widths differ."""
    widths = {axis_of(part.scale, []).bin_width for part in choice.parts if part.scale.span is not None}
    if len(widths) != 1 or any(part.scale.span is None for part in choice.parts):
        return None
    width = widths.pop()
    return Text("Scores per half point.") if width == 0.5 else Text("Scores per step of {}.", f"{width:g}")


def _overall(panel: _Panel) -> list[Group]:
    return [(colour, part.overall, part, colour, {}) for part, colour in panel.pairs]


def _categories(panel: _Panel, language: str) -> list[Group]:
    return [
        (translate(short_category(name), language), part.categories[name], part, colour, {"category": name})
        for name in category_names(panel.parts)
        for part, colour in panel.pairs
        if name in part.categories
    ]


def _difficulties(panel: _Panel, language: str) -> list[Group]:
    return [
        (translate(name_of("difficulty", name), language), block, part, colour, {"difficulty": name})
        for part, colour in panel.pairs
        for name, block in sorted(part.difficulties.items(), key=_difficulty_order)
    ]


def _difficulty_order(item: tuple[str, object]) -> tuple[int, str]:
    known = ("easy", "medium", "hard")
    return (known.index(item[0]) if item[0] in known else len(known), item[0])


def most_tags(parts: Sequence[Entry]) -> int:
    """Returns how many tags the chart has room for."""
    return MOST_TAGS if len(parts) < 3 else MOST_TAGS // 2


def _tags(panel: _Panel, sizes: Mapping[str, int]) -> list[Group]:
    return [
        (f"{name} ({size})", part.tags[name], part, colour, {"tag": name})
        for name, size in sizes.items()
        for part, colour in panel.pairs
        if name in part.tags
    ]


def _frequent_tags(parts: Sequence[Entry]) -> dict[str, int]:
    """Returns the most frequent tags that the chart has room for, each with its number of samples."""
    sizes: Counter[str] = Counter()
    for part in parts:
        for name, block in part.tags.items():
            sizes[name] = max(sizes[name], block.coverage.total)
    return dict(sorted(sizes.items(), key=lambda item: (-item[1], item[0]))[: most_tags(parts)])


def _intervals(groups: Sequence[Group], panel: _Panel, language: str, *, one_each: bool) -> AnyChart | None:
    """Draws a row per group: the mean as a dot, its 95% interval as a line, worst to best case dotted if incomplete.

    With `one_each` every group has its own colour, and needs no legend.
    """
    rows = [_interval_row(*group, panel.axis) for group in groups if group[1].coverage.total]
    if not rows:
        return None
    names = list(dict.fromkeys(one_line(group[0]) for group in groups if group[1].coverage.total))
    colours = list(panel.colours)
    several = len(colours) > 1
    row_height = (15 * len(colours) + 18) if several and not one_each else 30
    base = chart_of_rows(rows, "group", names, row_height).encode(
        tooltip=_interval_tooltips(language, several, panel.parts[0].digits), href=alt.Href("samples:N")
    )
    if several and not one_each:
        base = base.encode(yOffset=alt.YOffset("series:N", scale=alt.Scale(domain=colours)))
    # Labels keep the text colour: a series' colour is for marks, and may be too light to read.
    words = base
    if several:
        base = base.encode(color=series_colour(colours, legend=not one_each))
    dots = base.encode(shape=series_mark(colours, legend=not one_each)) if several else base
    scale = alt.X(
        "low:Q",
        scale=alt.Scale(domain=panel.axis.domain, nice=False, zero=False),
        title=panel.axis_title,
        axis=alt.Axis(values=panel.axis.marks(_STEPS), format=panel.axis.mark_format(_STEPS)),
    )
    return LayeredChart(
        base.mark_rule(strokeDash=[1, 3], strokeWidth=1.5)
        .encode(x=alt.X("least:Q"), x2=alt.X2("most:Q"))
        .transform_filter("!datum.complete"),
        base.mark_rule(strokeWidth=2).encode(x=scale, x2=alt.X2("high:Q")),
        dots.mark_point(size=64, strokeWidth=1.8, opacity=1)
        .encode(x=alt.X("mean:Q"))
        .transform_filter("!datum.complete"),
        dots.mark_point(size=64, opacity=1, filled=True).encode(x=alt.X("mean:Q")).transform_filter("datum.complete"),
        words.mark_text(align="left", dx=9, fontSize=11.5, fontWeight=600).encode(
            x=alt.X("label_at:Q"), text=alt.Text("label:N")
        ),
        **({"title": chart_title(panel.title)} if panel.title else {}),
        padding={"left": 0, "top": 4, "right": 64, "bottom": 4},
    )


def _interval_row(
    label: str, block: Aggregate, part: Entry, series: str, more: Mapping[str, str], axis: Axis
) -> JsonObject:
    """Returns the data of a row; on an open end of the scale the worst or best case is drawn at the end of the axis."""
    coverage = block.coverage
    complete = coverage.complete
    low, high = block.ci95 or (None, None)
    worst, best = block.worst_case_mean, block.best_case_mean
    ends = axis.domain if part.scale.higher_is_better else axis.domain[::-1]
    bounds = sorted(end if case is None else case for case, end in zip((worst, best), ends, strict=True))
    right = [end for end in (block.mean, high, None if complete else bounds[1]) if end is not None]
    written = part.number(block.mean)
    return {
        "group": one_line(label),
        "series": one_line(series),
        "mean": block.mean,
        "low": low,
        "high": high,
        "worst": worst,
        "best": best,
        "least": bounds[0],
        "most": bounds[1],
        "complete": complete,
        "scored": formats.coverage(coverage),
        "label": written if complete else f"{written}  ({formats.coverage(coverage)})",
        "label_at": max(right, default=axis.low),
        "samples": link_to_part(part, **more),
    }


def _interval_tooltips(language: str, several: bool, digits: int) -> list[alt.Tooltip]:
    numbers = {"mean": Text("Mean score"), "low": Text("Interval from"), "high": Text("Interval to")}
    bounds = {"worst": Text("Worst case"), "best": Text("Best case")}
    return [
        alt.Tooltip("group:N", title=" "),
        *([alt.Tooltip("series:N", title=translate(Text("Model"), language))] if several else []),
        *[
            alt.Tooltip(f"{field}:Q", format=f".{digits}f", title=translate(title, language))
            for field, title in {**numbers, **bounds}.items()
        ],
        alt.Tooltip("scored:N", title=translate(Text("Scored"), language)),
    ]


def _whole_numbers(highest: int) -> list[int]:
    """Returns a few round marks from 0 to `highest` for an axis of counts."""
    steps = (factor * 10**power for power in range(9) for factor in (1, 2, 5))
    step = next(step for step in steps if highest <= 5 * step)
    return list(range(0, highest + 1, step))


def _histograms(scores: _Scores, panels: Sequence[_Panel], language: str) -> list[AnyChart]:
    """Draws one chart per entry, all on the same vertical scale."""
    counts: dict[tuple[str, str], list[int]] = {}
    for panel in panels:
        for part in panel.parts:
            places = Counter(map(panel.axis.bin_of, scores[part.edit_model, part.judge, part.score]))
            counts[part.edit_model, part.judge] = [places[place] for place in range(panel.axis.bins)]
    highest = max((count for bins in counts.values() for count in bins), default=0)
    if not highest:
        return []
    return [
        _histogram(part, colour, counts[(part.edit_model, part.judge)], highest, panel, language)
        for panel in panels
        for part, colour in panel.pairs
    ]


def _histogram(part: Entry, colour: str, counts: Sequence[int], highest: int, panel: _Panel, language: str) -> AnyChart:
    axis = panel.axis
    edges = [round(axis.low + place * axis.bin_width, 9) for place in range(axis.bins + 1)]
    rows = [
        {
            **{"from": edges[place], "to": edges[place + 1], "count": count, "series": colour},
            "samples": link_to_part(part, min=edges[place], max=edges[place + 1]),
        }
        for place, count in enumerate(counts)
    ]
    chart: alt.Chart = (
        alt.Chart({"values": tuple(rows)}, width="container", height=150)
        .mark_bar(binSpacing=1.5)
        .encode(
            x=alt.X(
                "from:Q",
                bin="binned",
                scale=alt.Scale(domain=axis.domain),
                title=panel.axis_title,
                axis=alt.Axis(grid=False, values=axis.marks(_WIDE_STEPS), format=axis.mark_format(_WIDE_STEPS)),
            ),
            x2=alt.X2("to:Q"),
            y=alt.Y(
                "count:Q",
                scale=alt.Scale(domain=[0, highest]),
                title=None,
                axis=alt.Axis(values=_whole_numbers(highest), format="d"),
            ),
            href=alt.Href("samples:N"),
            tooltip=[
                alt.Tooltip("from:Q", title=translate(Text("Score from"), language)),
                alt.Tooltip("to:Q", title=translate(Text("to"), language)),
                alt.Tooltip("count:Q", title=translate(Text("Edits", context="number"), language)),
            ],
        )
    )
    if len(panel.parts) == 1 and not panel.title:
        return chart
    colours = alt.Color("series:N", scale=alt.Scale(domain=list(panel.colours)), legend=None)
    return chart.encode(color=colours).properties(title=chart_title(one_line(part.series)))


def _failures(results: Results, panels: Sequence[_Panel], language: str) -> list[AnyChart]:
    """Draws bars of failures by status and reason; the rare reasons of all statuses share one bar."""
    colour_of = {(part.edit_model, part.judge): colour for panel in panels for part, colour in panel.pairs}
    series = list(dict.fromkeys(colour_of.values()))
    # A failed edit has no judge, a skipped sample no model: a bar that belongs to no colour is grey.
    colour_of |= {(name, ""): name for name in map(one_line, results.edit_models) if name in series}

    def series_of(failure: FailureGroup) -> str:
        return colour_of.get((failure.edit_model, failure.judge), "")

    reasons: dict[tuple[str, Status, str], list[FailureGroup]] = {}
    for failure in [*failures(results), *missing_scores(results)]:
        reasons.setdefault((failure.score, failure.status, failure.reason), []).append(failure)
    ordered = sorted(reasons.items(), key=lambda item: -sum(failure.count for failure in item[1]))
    others = translate(Text("{} further reasons", len(ordered) - MOST_REASONS), language)
    rows: list[_FailureRow] = [
        {
            **_failure_row(_status(score, status, language), reason, series_of(failure), failure.count, language),
            "samples": link_to_failures(failure, results.battle_judges),
        }
        for (score, status, reason), some in ordered[:MOST_REASONS]
        for failure in some
    ]
    rest: Counter[str] = Counter()
    for _, some in ordered[MOST_REASONS:]:
        for failure in some:
            rest[series_of(failure)] += failure.count
    unscored = link(show="failed")
    rows += [{**_failure_row(others, "", name, count, language), "samples": unscored} for name, count in rest.items()]
    if not rows:
        return []
    labels = list(dict.fromkeys(row["label"] for row in rows))
    longest = max(sum(row["count"] for row in rows if row["label"] == label) for label in labels)
    chart: alt.Chart = (
        chart_of_rows(rows, "label", labels, 28)
        .mark_bar(size=12)
        .encode(
            x=alt.X(
                "sum(count):Q",
                title=translate(Text("Count"), language),
                scale=alt.Scale(nice=False),
                axis=alt.Axis(values=_whole_numbers(longest), format="d"),
            ),
            href=alt.Href("samples:N"),
            tooltip=[
                alt.Tooltip("status:N", title=translate(Text("Status"), language)),
                alt.Tooltip("reason:N", title=translate(Text("Reason"), language)),
                *([alt.Tooltip("series:N", title=translate(Text("Model"), language))] if len(series) > 1 else []),
                alt.Tooltip("count:Q", title=translate(Text("Count"), language)),
            ],
        )
    )
    if len(series) > 1:
        belongs_to_none = alt.condition("datum.series === ''", alt.value(COLOURS["loading"]), series_colour(series))
        chart = chart.encode(color=belongs_to_none)
    return [chart]


def _status(score: str, status: Status, language: str) -> str:
    words = translate(status.words, language)
    return translate(Text("{}: {}", score, words), language) if score else words


class _FailureRow(TypedDict, total=False):
    """A row of the chart of failures."""

    label: str
    status: str
    reason: str
    series: str
    count: int
    samples: str
    """Address of them in the page."""


def _failure_row(status: str, reason: str, series: str, count: int, language: str) -> _FailureRow:
    reason = str(translate(recognise(reason), language))
    label = translate(Text("{}: {}", status, reason), language) if reason else status
    return {
        "label": one_line(label, _LABEL_LENGTH),
        "status": status,
        "reason": one_line(reason, 300),
        "series": series,
        "count": count,
    }
