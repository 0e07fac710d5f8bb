"""The chart of people's answers: for each pair the judge alone, people alone, and corrected."""

from __future__ import annotations

import altair as alt

from edit_eval.json_values import JsonObject
from edit_eval.plugins.people.differences import People, PeoplesDifference
from edit_eval.plugins.people.sheet import ESTIMATES, digits_of, rows_of
from edit_eval.reporting.chart_parts import AnyChart, chart_of_rows, chart_title, series_colour
from edit_eval.reporting.formats import format_signed, format_signed_span
from edit_eval.reporting.language import translate
from edit_eval.reporting.terminal_text import one_line
from edit_eval.text import Text

MOST_PAIRS = 12
"""Pairs drawn for one judge; the table has all."""
_AXES = {"votes": Text("votes won less votes lost"), "ratings": Text("difference of people's ratings")}
_LINE = 16
_GAP = 20
_MARKS_OF_PEOPLE = 8  # about this many on the axis


def people_charts(people: People, language: str) -> list[AnyChart]:
    """Draws a chart for each judge."""
    judges = list(dict.fromkeys(pair.judge for pair in people.pairs))
    made = []
    for judge in judges:
        pairs = [pair for pair in people.pairs if pair.judge == judge][:MOST_PAIRS]
        chart = _judge_chart(people, pairs, language)
        title = chart_title(translate(Text("judged by {}", judge), language))
        made.append(chart.properties(title=title) if len(judges) > 1 else chart)
    return made


def _judge_chart(people: People, pairs: list[PeoplesDifference], language: str) -> AnyChart:
    digits = digits_of(people)
    estimates = [(pair, row) for pair in pairs for row in rows_of(people, pair) if row.estimate.difference is not None]
    rows: list[JsonObject] = [
        {
            "pair": one_line(f"{pair.a} − {pair.b}"),
            "series": translate(ESTIMATES[row.kind], language),
            "difference": row.estimate.difference,
            "low": row.estimate.ci95[0] if row.estimate.ci95 else None,
            "high": row.estimate.ci95[1] if row.estimate.ci95 else None,
            "span": format_signed_span(row.estimate.ci95, digits),
            "label": format_signed(row.estimate.difference, digits),
            "at": row.estimate.ci95[1] if row.estimate.ci95 else row.estimate.difference,
            "images": row.images,
        }
        for pair, row in estimates
    ]
    series = [translate(words, language) for words in ESTIMATES.values()]
    names = list(dict.fromkeys(one_line(f"{pair.a} − {pair.b}") for pair, _ in estimates))
    known = [
        end for _, row in estimates for end in (*(row.estimate.ci95 or ()), row.estimate.difference) if end is not None
    ]
    low, high = min(0.0, *known), max(0.0, *known)
    room = 0.06 * (high - low or 1.0)
    x = alt.Scale(domain=[low - room, high + 3 * room], nice=False, zero=False)
    base = chart_of_rows(rows, "pair", names, _LINE * len(ESTIMATES) + _GAP).encode(
        yOffset=alt.YOffset("series:N", scale=alt.Scale(domain=series)),
        tooltip=[
            alt.Tooltip("pair:N", title=" "),
            alt.Tooltip("series:N", title=translate(Text("Whose answer"), language)),
            alt.Tooltip("label:N", title=translate(Text("Diff."), language)),
            alt.Tooltip("span:N", title=translate(Text("95% interval"), language)),
            alt.Tooltip("images:N", title=translate(Text("Images"), language)),
        ],
    )
    coloured = base.encode(color=series_colour(series))
    title = translate(_AXES[people.kind], language)
    none = alt.Chart({"values": [{"at": 0}]}).mark_rule(strokeWidth=1, strokeDash=[3, 3])
    chart: AnyChart = alt.layer(
        none.encode(x=alt.X("at:Q", scale=x)),
        coloured.mark_rule(strokeWidth=2).encode(
            x=alt.X("low:Q", scale=x, title=title).axis(tickCount=_MARKS_OF_PEOPLE), x2=alt.X2("high:Q")
        ),
        coloured.mark_point(size=64, opacity=1, filled=True).encode(x=alt.X("difference:Q", scale=x)),
        base.mark_text(align="left", dx=9, fontSize=11.5, fontWeight=600).encode(
            x=alt.X("at:Q", scale=x), text=alt.Text("label:N")
        ),
    ).properties(padding={"left": 0, "top": 4, "right": 64, "bottom": 4})
    return chart
