"""The chart of two judges' scores of the same edits: on the diagonal they say the same."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import altair as alt

from edit_eval.records import Results, Scale
from edit_eval.reporting import formats
from edit_eval.reporting.language import said
from edit_eval.reporting.page.axes import Axis, axis_of
from edit_eval.reporting.page.chart_parts import AnyChart, chart_title, series_colour
from edit_eval.reporting.terminal_text import one_line
from edit_eval.text import Text

MOST_PAIRS = 6
_HEIGHT = 300
_STEPS = 5
_Edit = tuple[str, str, int]


@dataclass(frozen=True)
class _Judge:
    """A judge's headline of each edit, repeats as their mean."""

    name: str
    scale: Scale
    means: Mapping[_Edit, float]

    @cached_property
    def axis(self) -> Axis:
        return axis_of(self.scale, list(self.means.values()))

    @cached_property
    def digits(self) -> int:
        return formats.decimals(self.scale, max(map(abs, self.means.values()), default=0.0))


def agreement(results: Results, language: str) -> list[AnyChart]:
    """One chart for each of the first pairs of judges: a dot an edit that both have scored, repeats as their mean."""
    scores: dict[str, dict[_Edit, list[float]]] = {judge: {} for judge in results.judges}
    for one in results.judgements:
        score = one.scores.get(results.scoring[one.judge].headline)
        if score is not None:
            edit = (one.edit_model, one.sample_id, one.edit_seed)
            scores[one.judge].setdefault(edit, []).append(score)
    means = {
        judge: {edit: math.fsum(some) / len(some) for edit, some in of_judge.items()}
        for judge, of_judge in scores.items()
    }
    judges = {name: _Judge(name, results.scoring[name].scale, found) for name, found in means.items()}
    models = list(map(one_line, results.edit_models))
    pairs = [(judges[a], judges[b]) for a, b in combinations(results.judges, 2)][:MOST_PAIRS]
    return [_pair(a, b, models, language) for a, b in pairs if a.means.keys() & b.means.keys()]


def have_one_scale(results: Results) -> bool:
    """Whether every chart has a diagonal: the judges' scales are the same, and end."""
    scales = {results.scoring[judge].scale for judge in results.judges}
    return len(scales) == 1 and scales.pop().span is not None


def _pair(a: _Judge, b: _Judge, models: list[str], language: str) -> AnyChart:
    rows = [
        {
            "series": one_line(edit[0]),
            "id": one_line(edit[1], 60),
            "a": round(mean, a.digits + 1),
            "b": round(b.means[edit], b.digits + 1),
        }
        for edit, mean in a.means.items()
        if edit in b.means
    ]
    names = one_line(a.name, 40), one_line(b.name, 40)

    def axis(kind: type[alt.X] | type[alt.Y], field: str, judge: _Judge, name: str) -> alt.X | alt.Y:
        encoding = kind(f"{field}:Q", scale=alt.Scale(domain=judge.axis.domain), title=name)
        return encoding.axis(values=judge.axis.marks(_STEPS), format=judge.axis.written(_STEPS), grid=True)

    x, y = axis(alt.X, "a", a, names[0]), axis(alt.Y, "b", b, names[1])
    points = (
        alt.Chart({"values": rows}, width="container", height=_HEIGHT)
        .mark_point(size=26, filled=True, opacity=0.5)
        .encode(
            x=x,
            y=y,
            tooltip=[
                alt.Tooltip("id:N", title=" "),
                alt.Tooltip("series:N", title=said(Text("Model"), language)),
                alt.Tooltip("a:Q", title=names[0], format=f".{a.digits}f"),
                alt.Tooltip("b:Q", title=names[1], format=f".{b.digits}f"),
            ],
        )
    )
    if len(models) > 1:
        points = points.encode(color=series_colour(models))
    title = chart_title(f"{names[0]} · {names[1]}")
    if a.scale != b.scale or a.scale.span is None:
        titled: AnyChart = points.properties(title=title)
        return titled
    ends = [{"a": end, "b": end} for end in a.axis.domain]
    same = alt.Chart({"values": ends}).mark_line(strokeWidth=1, strokeDash=[3, 3])
    chart: AnyChart = alt.layer(same.encode(x=x, y=y), points).properties(title=title)
    return chart
