"""The verdict says of several judges, and of several models, only what holds of each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from edit_eval.plugins.page.verdict import verdict_content
from edit_eval.records import Status
from edit_eval.reporting.verdict import answer, answer_lines, doubt_lines, verdict_sheet
from edit_eval.statistics.columns import ScoreColumn, columns_of_models
from edit_eval.statistics.comparison import Comparison, compare, compare_models, verdict_on_models
from edit_eval.statistics.fitted_strengths import settle_pairs
from edit_eval.statistics.summary import summarise
from edit_eval.statistics.verdict import Advice, Verdict, add_votes
from edit_eval.statistics.verdict_context import VerdictContext, merge_contexts
from edit_eval.statistics.votes import Vote, count_votes
from made_results import results, sample
from small_columns import column, drawn, failing

SHARED = drawn(2)
NOTHING = [None] * len(SHARED)


def near(by: float, spread: float, seed: int) -> list[float]:
    """Scores that lie `by` above the shared ones, and scatter about that."""
    off = np.random.default_rng(seed).normal(by, spread, len(SHARED))
    return np.clip(np.array(SHARED) + off, 0, 10).tolist()


def found(*columns: ScoreColumn, margin: float | None = None) -> Comparison:
    return compare(columns, margin=margin, known=VerdictContext())


def verdict_of(*columns: ScoreColumn, margin: float | None = None) -> Verdict:
    verdict = found(*columns, margin=margin).verdict
    assert verdict is not None
    assert verdict_sheet(verdict, full=True)
    return verdict


def said(verdict: Verdict) -> str:
    return " ".join(map(str, answer_lines(verdict)))


def judged(judge: str, scores: Mapping[str, Sequence[float | None]]) -> list[ScoreColumn]:
    return [column(name, of, judge=judge) for name, of in scores.items()]


def test_what_is_beaten_is_not_called_equal() -> None:
    verdict = verdict_of(*judged("j", {"a": SHARED, "b": near(0, 0.3, 1), "c": near(-2, 0.5, 2)}), margin=0.5)
    assert verdict.kind == "equal"
    assert "a and b are equal within 0.5 (out of 10); a is better than c." in said(verdict)


def test_a_gate_names_who_does_not_pass() -> None:
    verdict = verdict_of(*judged("j", {"a": SHARED, "b": near(0, 0.3, 1), "c": near(-2, 0.5, 2)}), margin=0.5)
    assert said(verdict).endswith("Not passed: c may not replace a; it is not shown to be less than 0.5 points worse.")
    three = judged("j", {"a": SHARED, "b": near(-2, 0.3, 1), "c": near(-2, 0.5, 2)})
    assert "Not passed: b and c may not replace a; they are not shown" in said(verdict_of(*three, margin=0.5))
    passing = judged("j", {"a": SHARED, "b": near(0, 0.3, 1), "c": near(0, 0.3, 2)})
    assert "Passed: b and c may replace a; they are shown" in said(verdict_of(*passing, margin=0.5))


def test_votes_are_the_answer_where_no_judge_is() -> None:
    ways = ["left"] * 3 + ["right", "tie", "both_bad", "skip"]
    votes = [Vote(str(number), "a", "b", choice, "ann") for number, choice in enumerate(ways)]
    nobody = Verdict("no_answer", "", ("a", "b"), (), (Advice("vote"),), 0)
    assert said(nobody) == "No answer: nothing has been judged."
    voted = add_votes(nobody, count_votes(votes, *settle_pairs(votes, ("a", "b"))))
    assert said(voted) == (
        "Of 6 votes a won 3 and b won 1; 2 were ties; that does not show yet which of the two people prefer; no judge "
        "has scored these edits."
    )
    assert [step.kind for step in voted.next] == ["votes"]


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [(12, 0, "so people prefer a"), (5, 4, "that does not show yet which of the two people prefer")],
)
def test_what_votes_show_is_said_beside_their_number(left: int, right: int, words: str) -> None:
    ways = ["left"] * left + ["right"] * right
    votes = [Vote(str(number), "a", "b", choice, "ann") for number, choice in enumerate(ways)]
    nobody = Verdict("no_answer", "", ("a", "b"), (), (Advice("vote"),), 0)
    counts = count_votes(votes, *settle_pairs(votes, ("a", "b")))
    assert f"; {words}; no judge has scored these edits." in said(add_votes(nobody, counts))


def test_a_judge_that_nobody_knows_comes_before_more_pictures_and_those_before_a_missing_file() -> None:
    ahead = [5.0, 7.0, 6.0, 8.0, 4.0, 9.0] * 2
    scores = {"a": ahead, "b": [ahead[(place * 5 + 1) % 12] - 0.4 for place in range(12)]}
    rows = {(name, "k"): [[score] for score in of] for name, of in scores.items()}
    run = results([sample(index) for index in range(12)], rows)
    known = VerdictContext(sees={"k": "unknown"}, controls=8, unscored={"edit_missing": 2})
    kinds = [step.kind for step in verdict_on_models(compare_models(run), known, columns_of_models(run)).next]
    assert kinds[0] == "controls"
    assert kinds[-1] == "files"
    assert len(kinds) == 3


def test_judges_agree_only_on_what_both_say() -> None:
    """Both have `a` ahead; one shows it better than `c`, the other better than `b`."""
    verdict = verdict_of(
        *judged("j", {"a": SHARED, "b": near(-0.02, 0.9, 1), "c": near(-1.5, 0.5, 2)}),
        *judged("k", {"a": SHARED, "b": near(-1.5, 0.5, 3), "c": near(-0.02, 0.9, 4)}),
    )
    assert (verdict.kind, verdict.first, verdict.is_unanimous) == ("ahead", "a", False)
    assert "agree" not in said(verdict)


def test_judges_that_both_show_equality_do_not_disagree() -> None:
    verdict = verdict_of(
        *judged("j", {"a": SHARED, "b": near(0.02, 0.2, 1)}),
        *judged("k", {"a": SHARED, "b": near(-0.02, 0.2, 2)}),
        margin=1,
    )
    assert {opinion.first for opinion in verdict.opinions} == {"a", "b"}
    assert (verdict.kind, verdict.is_unanimous) == ("equal", True)
    assert "both judges agree. " in said(verdict)


def test_a_lead_in_failures_alone_is_not_worded_as_one_in_score() -> None:
    a, b = column("a", SHARED), failing(column("b", near(0, 0.3, 1)), range(30))
    a = replace(a, failed={name: {0: False} for name in a.scores})
    worse = failing(column("b", near(-1, 0.3, 3), judge="k"), range(30))
    verdict = verdict_of(a, b, replace(a, judge="k"), worse)
    assert [opinion.kind for opinion in verdict.opinions] == ["fails_more", "better"]
    shown = next(opinion for opinion in verdict.opinions if opinion.kind == "better")
    assert verdict.kind == "better"
    assert f"by {shown.contests[0].difference:.2f} (" in said(verdict)
    c = replace(column("c", near(-3, 0.3, 4)), failed=a.failed)
    verdict = verdict_of(a, b, c)
    assert said(verdict) == "a is better than both others; next is b, which fails more: 30 of 90 edits against 0."


@pytest.mark.parametrize(
    ("other", "margin", "kind"),
    [(near(-1, 0.5, 3), None, "better"), (near(0, 0.9, 3), None, "ahead"), (near(0, 0.2, 3), 1, "equal")],
)
def test_a_judge_that_gives_no_score_has_no_say(other: list[float], margin: float | None, kind: str) -> None:
    silent, speaks = judged("j", {"a": NOTHING, "b": NOTHING}), judged("k", {"a": SHARED, "b": other})
    verdict, alone = verdict_of(*silent, *speaks, margin=margin), verdict_of(*speaks, margin=margin)
    assert (verdict.kind, verdict.first) == (alone.kind, alone.first) == (kind, alone.first)
    assert answer(verdict) == answer(alone)
    assert [str(line) for line in doubt_lines(verdict)] == ["j is left out: it has given no score."]


def test_where_no_judge_gives_a_score_none_agrees() -> None:
    silent = [*judged("j", {"a": NOTHING, "b": NOTHING}), *judged("k", {"a": NOTHING, "b": NOTHING})]
    verdict = verdict_of(*silent)
    assert verdict.kind == "no_answer"
    assert (said(verdict), doubt_lines(verdict)) == ("No answer: there is no score by j or k.", [])


def test_one_model_has_its_score_beside_a_judge_that_gives_none() -> None:
    samples = [sample(index) for index in range(12)]
    run = results(
        samples, {("a", "j"): [[Status.UNPARSEABLE]] * 12, ("a", "k"): [[float(index)] for index in range(12)]}
    )
    verdict = verdict_on_models(None, VerdictContext(), columns_of_models(run))
    assert (verdict.kind, verdict.first) == ("alone", "a")
    assert said(verdict).startswith("a scores 5.50 (")


def test_models_are_listed_as_a_judge_with_a_say_ranks_them() -> None:
    rows = {("a", "j"): [[Status.UNPARSEABLE]] * 12, ("b", "j"): [[Status.UNPARSEABLE]] * 12}
    rows |= {
        ("a", "k"): [[2.0 + index % 3] for index in range(12)],
        ("b", "k"): [[8.0 - index % 2] for index in range(12)],
    }
    run = results([sample(index) for index in range(12)], rows)
    listed = verdict_content(run, summarise(run)).standings
    assert [row.edit_model for row in listed.rows] == ["b", "a"]


def test_of_several_runs_the_worst_audit_counts() -> None:
    for first, second in (
        ("limited", "failed"),
        ("failed", "limited"),
        ("passed", "failed"),
        ("not_audited", "failed"),
    ):
        assert merge_contexts(
            [VerdictContext(examined={"j": first}), VerdictContext(examined={"j": second})]
        ).examined == {"j": "failed"}
    both = merge_contexts([VerdictContext(examined={"j": "limited"}), VerdictContext(examined={"j": "not_audited"})])
    assert both.examined == {"j": "not_audited"}


@pytest.mark.parametrize(("times", "repeats"), [(1, ""), (10, "j")])
def test_two_that_say_yes_to_the_same_few_edits_are_two_judges(times: int, repeats: str) -> None:
    scores = {"a": [1, 0, 1, 1, 1, 1] * times, "b": [1, 0, 1, 1, 1, 0] * times}
    verdict = verdict_of(*judged("j", scores), *judged("k", scores))
    assert [opinion.repeats for opinion in verdict.opinions] == ["", repeats]


def test_scores_that_are_not_there_are_not_said_to_be_alike() -> None:
    a = column("a", SHARED)
    a = replace(a, failed={name: {0: False} for name in a.scores})
    verdict = verdict_of(a, failing(column("b", SHARED), range(len(SHARED))))
    assert said(verdict).endswith("b fails more: 90 of 90 edits against 0; no picture is scored for both.")


def test_one_picture_is_one() -> None:
    verdict = verdict_of(*judged("j", {"a": [7], "b": [5]}))
    assert said(verdict).endswith("but 1 picture is too few to tell.")
