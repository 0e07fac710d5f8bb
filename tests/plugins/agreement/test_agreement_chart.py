"""Two judges about the same edits, drawn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edit_eval.plugins.agreement.analysis import MOST_PAIRS_OF_JUDGES, agreement_charts
from edit_eval.records import Results
from reporting.reported_runs import build_run, rescored


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Two models and two judges."""
    folder, judges = tmp_path_factory.mktemp("several"), ("strict", "kind")
    return build_run(folder, samples=10, size=(48, 32), edit_models=("first", "second"), judges=judges, failing=0.15)


def dots(chart: Any) -> list[dict[str, Any]]:
    return max(chart.to_dict()["datasets"].values(), key=len)


def test_a_dot_is_an_edit_that_both_judges_have_scored(several: Results) -> None:
    [chart] = agreement_charts(several, "en")
    scores: dict[tuple[str, str], dict[str, float]] = {}
    for judgement in several.judgements:
        if judgement.score is not None:
            scores.setdefault((judgement.edit_model, judgement.sample_id), {})[judgement.judge] = judgement.score
    both = {key: of_judges for key, of_judges in scores.items() if len(of_judges) == 2}
    assert len(dots(chart)) == len(both) < len(several.edits)
    for dot in dots(chart):
        assert both[dot["series"], dot["id"]] == {"strict": dot["a"], "kind": dot["b"]}


def test_repeats_count_as_their_mean(several: Results) -> None:
    first = next(judgement for judgement in several.judgements if judgement.score is not None)
    again = replace(rescored(first, first.score / 2), repeat=1)
    [chart] = agreement_charts(replace(several, judgements=(*several.judgements, again)), "en")
    [dot] = [dot for dot in dots(chart) if (dot["series"], dot["id"]) == (first.edit_model, first.sample_id)]
    assert abs(dot["a"] - 0.75 * first.score) < 0.001


def test_one_judge_has_nobody_to_agree_with(tmp_path: Path) -> None:
    assert agreement_charts(build_run(tmp_path, samples=3, size=(48, 32)), "en") == []


def test_of_many_judges_only_some_pairs_are_drawn(several: Results) -> None:
    strict = [judgement for judgement in several.judgements if judgement.judge == "strict"]
    judges = tuple("abcde")
    judgements = tuple(replace(judgement, judge=judge) for judge in judges for judgement in strict)
    scoring = dict.fromkeys(judges, several.scoring["strict"])
    results = replace(several, judges=judges, judgements=judgements, scoring=scoring)
    assert len(agreement_charts(results, "en")) == MOST_PAIRS_OF_JUDGES
