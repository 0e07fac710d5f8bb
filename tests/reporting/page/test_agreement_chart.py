from dataclasses import replace
from typing import Any

from edit_eval.reporting.page.agreement_chart import MOST_PAIRS, agreement_charts
from reporting.reported_runs import rescored
from reporting.reports import Report


def dots(chart: Any) -> list[dict[str, Any]]:
    return max(chart.to_dict()["datasets"].values(), key=len)


def test_a_dot_is_an_edit_that_both_judges_have_scored(several: Report) -> None:
    [chart] = agreement_charts(several.results, "en")
    scores: dict[tuple[str, str], dict[str, float]] = {}
    for one in several.results.judgements:
        if one.score is not None:
            scores.setdefault((one.edit_model, one.sample_id), {})[one.judge] = one.score
    both = {key: found for key, found in scores.items() if len(found) == 2}
    assert len(dots(chart)) == len(both) < len(several.results.edits)
    for dot in dots(chart):
        assert both[dot["series"], dot["id"]] == {"strict": dot["a"], "kind": dot["b"]}


def test_repeats_count_as_their_mean(several: Report) -> None:
    first = next(one for one in several.results.judgements if one.score is not None)
    again = replace(rescored(first, first.score / 2), repeat=1)
    [chart] = agreement_charts(replace(several.results, judgements=(*several.results.judgements, again)), "en")
    [dot] = [dot for dot in dots(chart) if (dot["series"], dot["id"]) == (first.edit_model, first.sample_id)]
    assert abs(dot["a"] - 0.75 * first.score) < 0.001


def test_one_judge_has_nobody_to_agree_with(complete: Report) -> None:
    assert agreement_charts(complete.results, "en") == []


def test_of_many_judges_only_some_pairs_are_drawn(several: Report) -> None:
    one = [judgement for judgement in several.results.judgements if judgement.judge == "strict"]
    judges = tuple("abcde")
    judgements = tuple(replace(judgement, judge=judge) for judge in judges for judgement in one)
    scoring = dict.fromkeys(judges, several.results.scoring["strict"])
    results = replace(several.results, judges=judges, judgements=judgements, scoring=scoring)
    assert len(agreement_charts(results, "en")) == MOST_PAIRS
