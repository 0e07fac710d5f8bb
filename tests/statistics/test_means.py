"""The means of a summary as rows, and which one is meant where somebody asks for one."""

from __future__ import annotations

from typing import Any

import pytest

from edit_eval.errors import ConfigurationError, Unscored
from edit_eval.statistics.means import MeanScore, chosen, means, the_mean


def block(mean: float | None, scored: int = 3, part: bool = False) -> dict[str, Any]:
    return {
        "scale": {"lowest": 0.0, "highest": 10.0, "higher_is_better": True, "mean_over": "samples"},
        "part": part,
        "mean": mean,
        "ci95": None if mean is None else [mean - 1, mean + 1],
        "no_ci95": "no_scores" if mean is None else None,
        "ruled_out_share": None if mean is None else 0.1,
        "worst_case_mean": 1.0,
        "best_case_mean": 9.0,
        "coverage": {"scored": scored, "total": 4, "by_status": {"ok": scored, "edit_failed": 4 - scored}},
    }


def entry(edit_model: str, judge: str, **scores: Any) -> dict[str, Any]:
    return {"edit_model": edit_model, "judge": judge, "headline": next(iter(scores)), "scores": scores}


def rows(*entries: dict[str, Any]) -> tuple[MeanScore, ...]:
    return means({"results": entries})


def test_a_row_has_all_that_the_summary_says() -> None:
    (one, part) = rows(entry("a", "j", score=block(7.0), light=block(None, 0, part=True)))
    assert (one.edit_model, one.judge, one.score, one.headline, one.part) == ("a", "j", "score", True, False)
    assert (one.value, one.ci95, one.no_ci95, one.worst, one.best) == (7.0, (6.0, 8.0), "", 1.0, 9.0)
    assert (one.scored, one.total, one.coverage, one.by_status["edit_failed"]) == (3, 4, 0.75, 1)
    assert (one.scale.lowest, one.scale.highest) == (0.0, 10.0)
    assert str(one) == "a, judged by j, score: 7 [6, 8], 3 of 4 scored"
    assert (part.headline, part.part, part.value, part.ci95, part.no_ci95) == (False, True, None, None, "no_scores")
    assert str(part) == "a, judged by j, light: no mean, 0 of 4 scored"


def test_where_there_is_one_nothing_has_to_be_named() -> None:
    every = rows(entry("a", "j", score=block(7.0), light=block(3.0)))
    assert the_mean(every, None, None, None) == 7.0
    assert the_mean(every, None, None, "light") == 3.0


FOUR = [entry(a, j, score=block(value)) for a, j, value in (("a", "x", 1), ("a", "y", 2), ("b", "x", 3), ("b", "y", 4))]


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({}, "2 edit models: a, b; name one, `run.mean(edit_model='a')`, or take all: `run.means()`"),
        ({"edit_model": "b"}, "2 judges: x, y; name one, `run.mean(judge='x')`"),
        ({"judge": "y"}, "2 edit models: a, b"),
        ({"edit_model": "c"}, "edit_model='c': the run has none of that name; there are: a, b"),
        ({"score": "scoer"}, "score='scoer': the run has none of that name; did you mean `score`"),
    ],
)
def test_where_it_is_not_clear_the_error_says_what_to_name(named: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        the_mean(rows(*FOUR), named.get("edit_model"), named.get("judge"), named.get("score"))
    assert said in str(raised.value)


def test_names_narrow_it_down() -> None:
    every = rows(*FOUR)
    assert the_mean(every, "b", "y", None) == 4
    assert [one.value for one in chosen(every, None, "x", None)] == [1, 3]
    assert chosen(every, None, None, None) == every


def test_no_score_is_no_number() -> None:
    with pytest.raises(Unscored, match=r"a, judged by j: none of 4 is scored \(4 edit_failed\)"):
        the_mean(rows(entry("a", "j", score=block(None, 0))), None, None, None)
