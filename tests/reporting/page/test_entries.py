from __future__ import annotations

import pytest

from edit_eval.records import Scale
from edit_eval.reporting.entries import category_names, choices, entries, link, series_names
from reporting.reports import Report, headline


def test_entries_are_those_of_the_summary(several: Report) -> None:
    """The edit models of a judge stand together."""
    parts = entries(several.summary["results"])
    assert [(part.edit_model, part.judge) for part in parts] == [
        ("first", "strict"),
        ("second", "strict"),
        ("first", "kind"),
        ("second", "kind"),
    ]
    blocks = {(one["edit_model"], one["judge"]): headline(one) for one in several.summary["results"]}
    for part in parts:
        block = blocks[part.edit_model, part.judge]
        assert (part.overall, part.coverage, part.categories) == (block, block["coverage"], block["categories"])
        assert (part.leads, part.scale, part.digits) == (True, Scale(lowest=0.0, highest=10.0), 2)


def test_the_headline_leads_and_other_scores_are_chosen_by_name(three_scores: Report) -> None:
    parts = entries(three_scores.summary["results"])
    assert [(part.judge, part.score, part.leads, part.digits) for part in parts if part.edit_model == "first"] == [
        ("three", "quality", True, 2),
        ("three", "drift", False, 3),
        ("three", "psnr", False, 2),
        ("kind", "score", True, 2),
    ]
    found = {choice.score: (choice.names, [part.judge for part in choice.parts]) for choice in choices(parts)}
    assert found == {
        "": (("quality", "score"), ["three", "three", "kind", "kind"]),
        "drift": (("drift",), ["three", "three"]),
        "psnr": (("psnr",), ["three", "three"]),
    }


def test_the_shortest_name_that_tells_them_apart() -> None:
    assert series_names([("a", "j")]) == {("a", "j"): "a"}
    assert series_names([("a", "j"), ("b", "j")]) == {("a", "j"): "a", ("b", "j"): "b"}
    assert series_names([("a", "j"), ("a", "k")]) == {("a", "j"): "j", ("a", "k"): "k"}
    assert series_names([("a", "j"), ("b", "k")]) == {("a", "j"): "a · j", ("b", "k"): "b · k"}


def test_the_five_dimensions_stand_in_their_order(several: Report) -> None:
    [part, *_] = entries(several.summary["results"])
    blocks = {"own": {}, "指代": {}, "causal": {}, "another": {}, "physical": {}}
    other = type(part)(**{**part.__dict__, "categories": blocks})
    assert category_names([other]) == ["physical", "causal", "指代", "own", "another"]


def test_a_summary_of_nothing_has_none() -> None:
    assert entries([]) == []
    assert choices([])[0].parts == ()


def test_a_link_says_what_it_is_given_in_one_order_and_escapes_it() -> None:
    assert link(status="unscored", model="A&B = C #1") == "#model=A%26B+%3D+C+%231&status=unscored"
    assert link(sample="a/b é", left="source", right="edit:B") == "#sample=a%2Fb+%C3%A9&left=source&right=edit%3AB"
    assert link(min=0, max=2.5, tag=None, category="") == "#min=0&max=2.5"


def test_a_link_to_nothing_in_particular_leads_to_all_samples() -> None:
    assert link() == link(model=None) == "#sort=benchmark"


def test_a_key_that_no_page_knows_is_refused() -> None:
    with pytest.raises(TypeError, match="no address has colour"):
        link(colour="red")
