"""The chart of two judges' scores of the same edits: on the diagonal they say the same."""

from __future__ import annotations

import math
from itertools import combinations

import altair as alt

from edit_eval.records import Results
from edit_eval.reporting.chart_parts import AnyChart, chart_title, series_colour
from edit_eval.reporting.terminal_text import one_line
from edit_eval.reporting.texts import text

MOST_PAIRS = 6
_HEIGHT = 300
_Edit = tuple[str, str, int]


def agreement(results: Results, language: str) -> list[AnyChart]:
    """One chart for each of the first pairs of judges: a dot an edit that both have scored, repeats as their mean."""
    scores: dict[str, dict[_Edit, list[float]]] = {judge: {} for judge in results.judges}
    for one in results.judgements:
        if one.score is not None:
            edit = (one.edit_model, one.sample_id, one.edit_seed)
            scores[one.judge].setdefault(edit, []).append(one.score)
    means = {
        judge: {edit: math.fsum(some) / len(some) for edit, some in of_judge.items()}
        for judge, of_judge in scores.items()
    }
    models = list(map(one_line, results.edit_models))
    pairs = list(combinations(results.judges, 2))[:MOST_PAIRS]
    return [_pair(a, b, means, models, language) for a, b in pairs if means[a].keys() & means[b].keys()]


def _pair(a: str, b: str, means: dict[str, dict[_Edit, float]], models: list[str], language: str) -> AnyChart:
    rows = [
        {"series": one_line(edit[0]), "id": one_line(edit[1], 60), "a": round(mean, 3), "b": round(means[b][edit], 3)}
        for edit, mean in means[a].items()
        if edit in means[b]
    ]
    names = one_line(a, 40), one_line(b, 40)

    def axis(kind: type[alt.X] | type[alt.Y], field: str, name: str) -> alt.X | alt.Y:
        encoding = kind(f"{field}:Q", scale=alt.Scale(domain=[0, 10]), title=name)
        return encoding.axis(values=list(range(0, 11, 2)), format="d", grid=True)

    x, y = axis(alt.X, "a", names[0]), axis(alt.Y, "b", names[1])
    points = (
        alt.Chart({"values": rows}, width="container", height=_HEIGHT)
        .mark_point(size=26, filled=True, opacity=0.5)
        .encode(
            x=x,
            y=y,
            tooltip=[
                alt.Tooltip("id:N", title=" "),
                alt.Tooltip("series:N", title=text("tooltip.model", language)),
                alt.Tooltip("a:Q", title=names[0], format=".2f"),
                alt.Tooltip("b:Q", title=names[1], format=".2f"),
            ],
        )
    )
    if len(models) > 1:
        points = points.encode(color=series_colour(models))
    same = alt.Chart({"values": [{"a": 0, "b": 0}, {"a": 10, "b": 10}]}).mark_line(strokeWidth=1, strokeDash=[3, 3])
    return alt.layer(same.encode(x=x, y=y), points).properties(title=chart_title(f"{names[0]} · {names[1]}"))
