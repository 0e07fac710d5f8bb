"""What to look at first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edit_eval.records import Results, Scale, Scoring, Status
from edit_eval.statistics.summary import extremes


def test_the_worst_of_each_judge_and_never_a_mean_over_judges(make_sample, make_results) -> None:
    samples = [make_sample(number) for number in range(5)]
    strict = [[3.0, 1.0], [2.0, 2.0], [1.0, 4.0], [Status.UNPARSEABLE, 0.5], [9.0, 9.0]]
    kind = [[9.0, 9.0], [2.5, 2.5], [9.0, 9.0], [8.0, 8.0], [9.0, Status.REFUSED]]
    results: Results = make_results(samples, {("m", "strict"): strict, ("m", "kind"): kind})
    found = extremes(results)
    assert [(one["sample_id"], one["score"]) for one in found["worst"]["strict"]] == [
        ("s0003", 0.5),  # the mean of the one repeat that has a score
        ("s0000", 2.0),
        ("s0001", 2.0),
    ]
    apart = [(one["sample_id"], one["scores"], one["difference"]) for one in found["judges_apart"]]
    assert apart == [
        ("s0004", {"strict": 9.0, "kind": 9.0}, pytest.approx(4.3)),  # kind is milder by 4.3, but not here
        ("s0001", {"strict": 2.0, "kind": 2.5}, pytest.approx(3.8)),
        ("s0003", {"strict": 0.5, "kind": 8.0}, pytest.approx(3.2)),
    ]
    shuffled = replace(results, judgements=results.judgements[::-1])
    assert extremes(shuffled) == found


def test_the_worst_is_the_highest_where_lower_is_better_and_unlike_scales_are_not_held_together(
    make_sample, make_results
) -> None:
    samples = [make_sample(number) for number in range(2)]
    results: Results = make_results(samples, {("m", "one"): [[3.0], [5.0]], ("m", "other"): [[0.0], [1.0]]})
    distance = Scoring(
        protocol="d", headline="score", scales={"score": Scale(lowest=0, highest=10, higher_is_better=False)}
    )
    found = extremes(replace(results, scoring={**results.scoring, "one": distance}))
    assert [one["sample_id"] for one in found["worst"]["one"]] == ["s0001", "s0000"]
    assert [one["sample_id"] for one in found["worst"]["other"]] == ["s0000", "s0001"]
    assert found["judges_apart"] == []
