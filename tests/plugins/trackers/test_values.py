"""The numbers that a tracker is sent at the end."""

from __future__ import annotations

from edit_eval.plugins.trackers.process import final_values


def test_a_run_of_battles_alone_has_its_strengths() -> None:
    strengths = [
        {"edit_model": "a", "strength": 0.5, "ci95": [0.1, 0.9]},
        {"edit_model": "b", "strength": -0.5, "ci95": None},
        {"edit_model": "c", "strength": None, "ci95": None},
    ]
    battles = {"arena": {"coverage": {"scored": 3, "total": 4}, "scores": {"overall": {"strengths": strengths}}}}
    values = final_values({"coverage": {"scored": 3, "total": 4}, "results": [], "battles": battles})
    assert values == {
        "coverage": 0.75,
        "arena/coverage": 0.75,
        "a/arena/overall_strength": 0.5,
        "a/arena/overall_strength_low": 0.1,
        "a/arena/overall_strength_high": 0.9,
        "b/arena/overall_strength": -0.5,
    }
