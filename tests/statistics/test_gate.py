from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edit_eval.errors import ConfigurationError
from edit_eval.records import Scale
from edit_eval.statistics.comparison import compare
from small_columns import column, drawn, failing


def reasons(*columns, **how):
    """What keeps each column but the first from passing."""
    gate = compare(columns, **how).gate
    assert gate.passed == all(candidate.passed for candidate in gate.candidates)
    assert all(candidate.passed == (not candidate.reasons) for candidate in gate.candidates)
    return [[reason.kind for reason in candidate.reasons] for candidate in gate.candidates]


def test_only_what_is_worse_than_the_first_fails():
    good, bad = drawn(2, 1.5), drawn(3)
    assert reasons(column("a", good), column("b", bad), column("c", drawn(4, 1.4))) == [["worse"], []]
    assert reasons(column("a", bad), column("b", good)) == [[]]
    assert reasons(column("a", good), column("b", good)) == [[]]
    comparison = compare([column("a", good), column("b", bad)])
    (candidate,) = comparison.gate.candidates
    assert candidate.reasons[0].values == {"difference": -comparison.pairs[0].difference, "p": comparison.pairs[0].p}
    assert (candidate.name, candidate.first, candidate.judge) == ("b", "a", "judge")


def test_nobody_passes_by_failing_edits():
    a = failing(column("a", drawn(2)), [])
    for shift in (0.0, 2.0):
        assert reasons(a, failing(column("b", drawn(3, shift)), range(20))) == [["fails_more"]]
    assert reasons(a, failing(column("b", drawn(3)), range(5))) == [[]], (
        "5 to 0 may be chance, and no score of theirs would show a loss"
    )
    assert reasons(failing(column("a", drawn(2)), range(20)), failing(column("b", drawn(3)), [])) == [[]]


def test_what_cannot_be_tested_does_not_pass():
    assert reasons(column("a", [5, 6, 7]), column("b", [None, None, None])) == [["not_held"]]
    few, enough = ([column(name, drawn(2, count=count)) for name in "ab"] for count in (5, 6))
    assert reasons(*few) == [["too_few"]]
    assert reasons(*few, margin=9.0) == [["too_few"]]
    assert reasons(*enough) == [[]]
    clusters = [0] * 376 + list(range(376, 400))
    uneven = [column(name, drawn(seed, count=400), clusters=clusters) for name, seed in (("a", 2), ("b", 3))]
    assert reasons(*uneven) == [["too_uneven"]]


def test_each_judge_holds_every_column_against_the_first():
    x = [column("a", drawn(2, 1.5)), column("b", drawn(3)), column("c", drawn(4, 1.5))]
    y = [replace(scored, judge="y") for scored in (x[2], x[1], x[0])]
    candidates = compare([*x, *y]).gate.candidates
    assert [(candidate.judge, candidate.first, candidate.name, candidate.passed) for candidate in candidates] == [
        ("judge", "a", "b", False),
        ("judge", "a", "c", True),
        ("y", "c", "b", False),
        ("y", "c", "a", True),
    ]


@pytest.mark.check
def test_its_power_falls_little_with_the_number_of_columns():
    """The first loses a fixed amount to one of seven others: tested among 7 pairs, and not among all 28."""
    generator = np.random.default_rng(7)
    counts = np.zeros((2, 2), dtype=int)
    for which, count in enumerate((2, 8)):
        for _ in range(10):
            items = generator.uniform(3, 7, size=60)
            own = generator.normal(size=(count, 60))
            own[1] -= 0.6
            made = compare([column(str(n), np.clip(items + own[n], 0, 10)) for n in range(count)])
            counts[which] += made.pairs[0].better == "0", not made.gate.candidates[0].passed
    (alone, gate_alone), (among_all, gate_among) = counts / 10
    assert alone == gate_alone >= 0.8
    assert gate_among > among_all
    assert made.gate.candidates[0].p_adjusted <= 7 * made.pairs[0].p + 1e-12


# -- with a margin --


def test_a_margin_has_to_be_shown():
    a, b = column("a", drawn(2)), column("b", drawn(3, 0.1))
    (candidate,) = compare([a, b], margin=0.6).gate.candidates
    assert candidate.passed
    assert -0.6 < candidate.lower < candidate.difference
    (candidate,) = compare([a, b], margin=-candidate.lower - 0.001).gate.candidates
    assert [reason.kind for reason in candidate.reasons] == ["margin"]
    assert compare([a, b], margin=-candidate.lower + 0.001).gate.passed


def test_a_loss_within_the_margin_passes_though_it_is_proven():
    a, b = column("a", drawn(2)), column("b", [max(0.0, score - 0.1 - n % 2 / 20) for n, score in enumerate(drawn(2))])
    assert reasons(a, b) == [["worse"]]
    assert reasons(a, b, margin=0.2) == [["margin"]], "90 images rule out no share of losses that would make it more"
    assert reasons(a, b, margin=0.5) == [[]]


def test_how_many_samples_would_show_it():
    clusters = [n // 3 for n in range(90)]
    a, b = column("a", drawn(2), clusters=clusters), column("b", drawn(3), clusters=clusters)
    (candidate,) = compare([a, b], margin=0.2).gate.candidates
    values = candidate.reasons[0].values
    assert values["samples"] == 3 * values["images"] > 90
    assert values["assumed"] == pytest.approx(min(0.0, candidate.difference))
    many = [column(name, drawn(seed) * 9, clusters=[n // 3 for n in range(810)]) for name, seed in (("a", 2), ("b", 3))]
    assert values["samples"] < 810
    assert compare(many, margin=0.2).gate.passed, "nine times as many like these"
    assert reasons(column("a", drawn(2, 1.0)), column("b", drawn(3)), margin=0.2) == [["beyond_margin"]]


def test_where_a_few_losses_decide_nobody_can_say_how_many_would_show_it():
    a = column("a", drawn(2))
    skewed = column("c", [score - (n < 4) * min(score, 4.0) for n, score in enumerate(drawn(2))])
    (pair,) = compare([a, skewed], detect=0.2).pairs
    assert (pair.outliers.loser, pair.detectable, pair.needed) == ("c", None, None)


def test_more_columns_take_a_wider_interval():
    columns = [column(str(n), drawn(n + 2)) for n in range(5)]
    alone, among = (compare(of, margin=1.0).gate.candidates[0].lower for of in (columns[:2], columns))
    assert among < alone


def test_without_an_interval_a_margin_is_not_shown():
    scores = [round(4 * score) / 4 for score in drawn(2)]
    exact = column("a", scores), column("b", [score - 0.25 for score in scores])
    uneven = [column(of.name, [*of.scores.values()], clusters=[0] * 60 + [*range(1, 31)]) for of in exact]
    assert reasons(*exact, margin=1.0) == [[]], "so many losses of a quarter show that it is no more"
    assert reasons(*exact) == [["worse"]]
    assert reasons(*uneven, margin=1.0) == [["no_interval"]]
    assert reasons(*uneven) == [["no_spread"]]
    assert reasons(exact[0], replace(exact[0], name="b"), margin=0.01) == [[]], "the same scores on 90 images"


def silent(whole, numbers):
    """The column without the judge's score of these samples, whose edits are there."""
    names = [f"s{number:04d}" for number in numbers]
    scores = {sample: None if sample in names else score for sample, score in whole.scores.items()}
    return replace(whole, scores=scores, unscored={sample: float(sample in names) for sample in scores})


def without(whole, numbers):
    """The column of a run that was never asked about these samples."""
    names = [f"s{number:04d}" for number in numbers]
    return replace(whole, scores={sample: score for sample, score in whole.scores.items() if sample not in names})


@pytest.mark.parametrize("hidden", [silent, without, failing])
@pytest.mark.parametrize("margin", [None, 1.0])
def test_nobody_passes_by_silence_or_absence(hidden, margin):
    """b is 2 points worse on a quarter of the samples, and alike elsewhere; what is hidden is that quarter."""
    hard = range(0, 90, 4)
    a = column("a", drawn(2))
    b = column("b", [score - 2.0 * (n in hard) + 0.1 * (n % 3) for n, score in enumerate(drawn(2))])
    if margin is None:
        assert reasons(a, b) == [["worse"]]
    assert reasons(a, hidden(b, hard), margin=margin)[0][0] == "open"
    (candidate,) = compare([a, hidden(b, hard)], margin=margin).gate.candidates
    assert (candidate.missing, candidate.total) == (23, 90)
    assert candidate.reasons[0].values["missing"] == 23


def test_a_few_missing_scores_pass_where_no_value_of_theirs_could_decide():
    a, b = column("a", drawn(2)), column("b", drawn(3, 1.0))
    assert reasons(a, silent(b, [3])) == [[]]
    assert reasons(silent(a, [3]), b, margin=1.0) == [[]]
    (whole,), (holed,) = (compare([a, second], margin=1.0).gate.candidates for second in (b, silent(b, [3])))
    assert holed.lower < whole.lower


def test_the_worst_that_may_be_missing_need_not_be_the_worst_score():
    """Far below the others it would widen the interval; a little below, it makes a loss of what was none."""
    values = [-0.1 + 0.4 * (-1) ** n for n in range(40)]
    a = column("a", [5.0] * 44)
    b = silent(column("b", [5 + value for value in values] + [0.0] * 4), range(40, 44))
    assert not [pair for pair in compare([a, b]).pairs if pair.p <= 0.05]
    everything_lost = column("b", [5 + value for value in values] + [0.0] * 4)
    assert compare([a, everything_lost]).pairs[0].p > 0.01
    assert reasons(a, b) == [["open"]]


def test_what_may_be_left_out_is_said():
    a, b = column("a", drawn(2)), silent(column("b", drawn(2)), range(4))
    (strict,), (loose,) = (compare([a, b], allow_unscored=share).gate.candidates for share in (0.04, 0.05))
    assert ([reason.kind for reason in strict.reasons], strict.left_out) == (["open"], 0)
    assert (loose.passed, loose.left_out) == (True, 4)
    failed = failing(column("b", drawn(2)), range(4))
    assert reasons(a, failed, allow_unscored=0.5) == [["open"]], "a failed edit is never left out"
    with pytest.raises(ConfigurationError, match="from 0 to 1"):
        compare([a, b], allow_unscored=2.0)


def test_a_bad_sample_that_both_skipped_is_no_gap():
    skipped = frozenset({"s0003"})
    a, b = (replace(silent(column(name, drawn(2)), [3]), skipped=skipped) for name in "ab")
    assert reasons(a, b) == [[]]
    assert reasons(a, b, margin=0.5) == [[]]
    assert reasons(replace(a, skipped=frozenset()), b, margin=0.2) == [["open"]]


def test_what_the_first_failed_counts_as_its_worst_score():
    first = failing(column("a", drawn(2)), [7, 8, 9])
    assert reasons(first, failing(column("b", drawn(3, 0.2)), []), margin=0.5) == [[]]
    assert reasons(failing(column("a", drawn(2)), []), failing(column("b", drawn(3, 0.2)), [7, 8, 9]), margin=0.3) == [
        ["open"]
    ]


def test_on_an_open_scale_a_failed_edit_of_the_first_says_nothing_against_another():
    loss = Scale(lowest=0, highest=None, higher_is_better=False)
    a, b = (column(name, drawn(seed), scale=loss) for name, seed in (("a", 2), ("b", 3)))
    assert reasons(failing(a, [7, 8, 9]), failing(b, []), margin=1.0) == [[]]
    assert reasons(failing(a, []), failing(b, [7, 8, 9]), margin=1.0) == [["open"]]
    above = Scale(lowest=0, highest=None)
    a, b = (column(name, drawn(2, shift), scale=above) for name, shift in (("a", 0), ("b", 1)))
    assert reasons(a, silent(b, [3])) == [[]], "its worst score is known, and its best one would only help"


@pytest.mark.parametrize("margin", [0.0, -0.1, float("nan"), float("inf")])
def test_a_margin_is_a_number_above_0(margin):
    with pytest.raises(ConfigurationError, match="a margin is a number above 0, not"):
        compare([column("a", drawn(2)), column("b", drawn(3))], margin=margin)
