from edit_eval.reporting.entries import category_names, entries, series_names
from reporting.reports import Report


def test_entries_are_those_of_the_summary(several: Report) -> None:
    parts = entries(several.summary)
    assert [(part.edit_model, part.judge) for part in parts] == [
        ("first", "strict"),
        ("first", "kind"),
        ("second", "strict"),
        ("second", "kind"),
    ]
    for part, entry in zip(parts, several.summary["results"], strict=True):
        assert (part.overall, part.coverage, part.categories) == (
            entry["overall"],
            entry["coverage"],
            entry["categories"],
        )


def test_the_shortest_name_that_tells_them_apart() -> None:
    assert series_names([("a", "j")]) == {("a", "j"): "a"}
    assert series_names([("a", "j"), ("b", "j")]) == {("a", "j"): "a", ("b", "j"): "b"}
    assert series_names([("a", "j"), ("a", "k")]) == {("a", "j"): "j", ("a", "k"): "k"}
    assert series_names([("a", "j"), ("b", "k")]) == {("a", "j"): "a · j", ("b", "k"): "b · k"}


def test_the_five_dimensions_stand_in_their_order(several: Report) -> None:
    [part, *_] = entries(several.summary)
    blocks = {"own": {}, "指代": {}, "causal": {}, "another": {}, "physical": {}}
    other = type(part)(**{**part.__dict__, "categories": blocks})
    assert category_names([other]) == ["physical", "causal", "指代", "own", "another"]


def test_a_summary_of_nothing_has_none() -> None:
    assert entries({}) == []
