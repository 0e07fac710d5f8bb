"""The chart of two judges' scores of the same edits: on the diagonal they agree."""

from __future__ import annotations

from itertools import combinations

import altair as alt

from edit_eval.records import Results
from edit_eval.reporting import formats
from edit_eval.reporting.chart_parts import AnyChart, Axis, axis_of, chart_title, series_colour, series_mark
from edit_eval.reporting.language import translate
from edit_eval.reporting.terminal_text import one_line
from edit_eval.statistics.raters import Rater, judges_of
from edit_eval.text import Text

MOST_PAIRS_OF_JUDGES = 6
_SQUARE = 300
_WIDEST = 440
_STEPS_OF_A_SCORE = 5


def agreement_charts(results: Results, language: str) -> list[AnyChart]:
    """Draws a chart for each of the first pairs of judges: a dot per edit scored by both, repeats as their mean."""
    models = list(map(one_line, results.edit_models))
    pairs = list(combinations(judges_of(results).values(), 2))[:MOST_PAIRS_OF_JUDGES]
    return [_two_judges(a, b, models, language) for a, b in pairs if a.answers.keys() & b.answers.keys()]


def _two_judges(a: Rater, b: Rater, models: list[str], language: str) -> AnyChart:
    digits = [formats.decimals(of.scale, max(map(abs, of.values.values()), default=0.0)) for of in (a, b)]
    axes = [axis_of(of.scale, list(of.values.values())) for of in (a, b)]
    rows = [
        {
            "series": one_line(item.edit_model),
            "id": one_line(item.sample_id, 60),
            "a": round(value, digits[0] + 1),
            "b": round(b.values[item], digits[1] + 1),
        }
        for item, value in a.values.items()
        if item in b.values
    ]
    names = one_line(a.name, 40), one_line(b.name, 40)

    def axis(kind: type[alt.X] | type[alt.Y], field: str, of: Axis, name: str) -> alt.X | alt.Y:
        encoding = kind(f"{field}:Q", scale=alt.Scale(domain=of.domain), title=name)
        return encoding.axis(values=of.marks(_STEPS_OF_A_SCORE), format=of.mark_format(_STEPS_OF_A_SCORE), grid=True)

    x, y = axis(alt.X, "a", axes[0], names[0]), axis(alt.Y, "b", axes[1], names[1])
    points = (
        alt.Chart({"values": tuple(rows)}, width="container", height=_SQUARE)
        .mark_point(size=26, filled=True, opacity=0.5)
        .encode(
            x=x,
            y=y,
            tooltip=[
                alt.Tooltip("id:N", title=" "),
                alt.Tooltip("series:N", title=translate(Text("Model"), language)),
                alt.Tooltip("a:Q", title=names[0], format=f".{digits[0]}f"),
                alt.Tooltip("b:Q", title=names[1], format=f".{digits[1]}f"),
            ],
        )
    )
    if len(models) > 1:
        points = points.encode(color=series_colour(models), shape=series_mark(models))
    properties = {"title": chart_title(f"{names[0]} · {names[1]}"), "usermeta": {"widest": _WIDEST}}
    if a.scale != b.scale or a.scale.span is None:
        titled: AnyChart = points.properties(**properties)
        return titled
    ends = [{"a": end, "b": end} for end in axes[0].domain]
    same = alt.Chart({"values": ends}).mark_line(strokeWidth=1, strokeDash=[3, 3])
    chart: AnyChart = alt.layer(same.encode(x=x, y=y), points).properties(**properties)
    return chart
