"""Charts laid over each other are the document that `alt.layer` makes of them."""

from __future__ import annotations

from typing import Any

import altair as alt
import pytest

from edit_eval.reporting.chart_parts import CURVE_HEIGHT, LayeredChart, chart_of_rows, chart_title, curves

ROWS = ({"group": "a", "n": 1, "low": 1.0, "high": 3.0, "mean": 2.0}, {"group": "b", "n": 2, "low": 0.0, "high": None})


def of_rows() -> list[alt.Chart]:
    """All of the same rows, one of them filtered."""
    base = chart_of_rows(ROWS, "group", ["a", "b"], 30).encode(href=alt.Href("group:N"))
    return [
        base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title="mean"), x2=alt.X2("high:Q")),
        base.mark_point(filled=True).encode(x=alt.X("mean:Q")).transform_filter("datum.n > 1"),
    ]


def beside_a_line() -> list[alt.Chart]:
    """A line that has rows of its own comes first, and no size."""
    base = alt.Chart({"values": ROWS}, width="container", height=CURVE_HEIGHT).encode(x=alt.X("n:Q"))
    none = alt.Chart({"values": [{"at": 0}]}).mark_rule(strokeWidth=1).encode(y=alt.Y("at:Q"))
    return [none, *curves(base, ["a", "b"], alt.Y("mean:Q"))]


PROPERTIES: list[dict[str, Any]] = [
    {},
    {"title": chart_title("x"), "padding": {"right": 64}, "usermeta": {"widest": 9}},
]


@pytest.mark.parametrize("layers", [of_rows, beside_a_line])
@pytest.mark.parametrize("properties", PROPERTIES)
def test_the_same_document(layers: Any, properties: dict[str, Any]) -> None:
    was = alt.layer(*layers(), **properties).to_dict(validate=False)
    assert LayeredChart(*layers(), **properties).to_dict(validate=False) == was
    assert LayeredChart(*layers()).properties(**properties).to_dict() == was


def test_it_may_be_wider() -> None:
    wider = LayeredChart(*of_rows()).properties(width=520).to_dict()
    assert wider["width"] == 520
    assert wider["height"] == 60
