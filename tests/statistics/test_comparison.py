from __future__ import annotations

import io
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from rich.console import Console

from clustered_designs import clustered, images_of
from documents import plain
from edit_eval.errors import ConfigurationError
from edit_eval.reporting.comparison import print_comparison
from edit_eval.reporting.documents import encode_document
from edit_eval.statistics.compared import More, Outcome
from edit_eval.statistics.comparison import compare
from small_columns import TEN, column, drawn, failing


def test_the_same_run_twice_is_a_tie():
    scores = drawn(2)
    comparison = compare([column("a", scores), column("b", scores)])
    (pair,) = comparison.pairs
    assert (pair.difference, pair.p, pair.p_adjusted, pair.no_ci95) == (0.0, None, None, "no_spread")
    assert pair.identical
    assert pair.better is None
    assert (pair.wins, pair.ties, pair.losses) == (0, 90, 0)
    assert pair.ci95 is None
    assert pair.detectable is None
    assert pair.largest == []
    assert [summary.rank for summary in comparison.columns] == [1, 1]
    assert comparison.gate.passed


def test_a_clear_difference():
    comparison = compare([column("good", drawn(2, 1.5)), column("bad", drawn(3))])
    (pair,) = comparison.pairs
    assert pair.better == "good"
    assert pair.p <= 0.001
    low, high = pair.ci95
    assert low < pair.difference < high
    assert low > 0.5
    assert pair.difference == pytest.approx(pair.mean_a - pair.mean_b)
    assert pair.wins + pair.ties + pair.losses == pair.n == 90
    assert [summary.rank for summary in comparison.columns] == [1, 2]
    assert not comparison.gate.passed
    assert compare([column("bad", drawn(3)), column("good", drawn(2, 1.5))]).gate.passed


def test_no_difference_says_what_could_have_been_seen():
    (pair,) = compare([column("a", drawn(2)), column("b", drawn(3))]).pairs
    assert pair.better is None
    # Two deviations of 1 each: 2.8 standard errors of sqrt(2 / 90).
    assert pair.detectable == pytest.approx(2.82 * (2 / 90) ** 0.5, rel=0.15)
    assert abs(pair.difference) < pair.detectable


def test_how_many_samples_a_difference_needs():
    columns = [column("a", drawn(2)), column("b", drawn(3))]
    (pair,) = compare(columns).pairs
    assert pair.needed is None
    (at_the_limit,) = compare(columns, detect=pair.detectable).pairs
    assert at_the_limit.needed == {"difference": pair.detectable, "samples": 90, "clusters": 90}
    (half,) = compare(columns, detect=pair.detectable / 2).pairs
    assert half.needed["samples"] == pytest.approx(355, abs=6)


def test_samples_needed_come_with_their_source_images():
    clusters = [index // 3 for index in range(90)]
    columns = [column("a", drawn(2), clusters=clusters), column("b", drawn(3), clusters=clusters)]
    (pair,) = compare(columns, detect=0.2).pairs
    assert pair.clusters == 30
    assert pair.needed["samples"] == 3 * pair.needed["clusters"]


def test_failures_are_left_out_of_the_pairs_and_bound_the_difference():
    a = column("a", [8, None, 4, 6, None])
    b = column("b", [5, 5, None, 6, None])
    (pair,) = compare([a, b]).pairs
    assert (pair.total, pair.n) == (5, 2)
    assert pair.difference == 1.5
    assert (pair.wins, pair.ties, pair.losses) == (1, 1, 0)
    assert pair.worst_case_difference == pytest.approx((3 - 5 - 6 + 0 - 10) / 5)
    assert pair.best_case_difference == pytest.approx((3 + 5 + 4 + 0 + 10) / 5)


def test_what_a_sample_lacks_in_part_bounds_the_difference_in_part():
    """Three of four answers about a sample: its score is their mean, and the fourth may have been anything."""
    a = column("a", [8, 6], unscored={"s0000": 0.25, "s0001": 0.0})
    b = column("b", [5, None], unscored={"s0000": 0.0, "s0001": 1.0})
    (pair,) = compare([a, b]).pairs
    assert pair.difference == 3.0
    assert pair.worst_case_difference == pytest.approx(((0.75 * 8 - 5) + (6 - 10)) / 2)
    assert pair.best_case_difference == pytest.approx(((0.75 * 8 + 2.5 - 5) + 6) / 2)


def test_whether_missing_scores_could_turn_the_verdict():
    good, bad = drawn(2, 1.5), drawn(3)
    (whole,) = compare([column("a", bad), column("b", good)]).pairs
    assert (whole.better, whole.outcome.holds) == ("b", True)
    assert whole.worst_case_difference == whole.best_case_difference == whole.difference
    holes = [None if index % 4 == 0 else score for index, score in enumerate(good)]
    (holed,) = compare([column("a", bad), column("b", holes)]).pairs
    assert (holed.better, holed.outcome.holds) == ("b", False)
    assert holed.worst_case_difference < holed.difference < 0 < holed.best_case_difference
    (tie,) = compare([column("a", drawn(2)), column("b", drawn(3))]).pairs
    assert tie.outcome.holds is None


def test_a_sample_that_only_one_ran_is_not_a_failure():
    (pair,) = compare([column("a", [1, 2, 3, 4]), column("b", [1, 2])]).pairs
    assert (pair.total, pair.n) == (2, 2)
    assert pair.worst_case_difference == 0.0


def test_nothing_in_common_is_no_number():
    comparison = compare([column("a", [None, 4]), column("b", [4, None])])
    (pair,) = comparison.pairs
    assert pair.n == 0
    assert pair.difference is pair.p is pair.p_adjusted is pair.ci95 is pair.detectable is pair.better is None
    encode_document(comparison.document())


def test_one_source_image_shows_nothing_however_many_samples():
    clusters = [0] * 40
    (pair,) = compare([column("a", [9] * 40, clusters=clusters), column("b", [1] * 40, clusters=clusters)]).pairs
    assert (pair.p, pair.no_ci95) == (None, "one_image")
    assert pair.better is None
    assert pair.detectable is None


def test_five_source_images_can_show_no_difference_and_say_so():
    comparison = compare([column("a", [9, 8, 9, 7, 9]), column("b", [1, 2, 1, 1, 3])])
    (pair,) = comparison.pairs
    assert pair.p is pair.p_adjusted is None
    assert comparison.document().tests == 0
    assert pair.better is None
    assert (pair.ci95, pair.no_ci95) == (None, "few_images")
    assert pair.detectable is None


@pytest.mark.parametrize("count", [6, 8, 23, 24])
def test_with_few_images_a_clear_difference_is_one_for_images_like_these(count):
    a, b = drawn(2, 2.0, count=count), drawn(3, count=count)
    (pair,) = compare([column("a", a), column("b", b)]).pairs
    low, high = pair.ci95
    assert low < pair.difference < high
    assert (pair.better == "a") == (low > 0) == (pair.p <= 0.05)
    assert count < 10 or pair.better == "a"
    assert pair.detectable < 5


def test_a_few_large_losses_that_decide_are_named_and_allowed_for():
    """b is a little better on most and far worse on two of forty."""
    noise = np.random.default_rng(3).normal(0, 0.1, size=40)
    a = 7 + noise
    b = a + 0.5
    b[[4, 20]] -= 8
    (pair,) = compare([column("a", a), column("b", b)]).pairs
    assert (pair.outliers.loser, sorted(pair.outliers.samples)) == ("b", ["s0004", "s0020"])
    assert pair.better is None
    assert pair.detectable is None
    low, high = pair.ci95
    assert low < 0 < high
    assert high - pair.difference > 1.3 * (pair.difference - low)
    assert pair.more == More("unknown", because="outliers", samples=tuple(pair.outliers.samples))
    assert compare([column("a", b), column("b", a)]).pairs[0].outliers.loser == "a"
    (even,) = compare([column("a", a), column("b", a + noise[::-1])]).pairs
    assert even.outliers is None


def test_a_smaller_win_is_no_loss():
    """On one picture of nine a wins by less: it is unlike the others, and nobody loses there."""
    a, b = [8.1, 7.9, 8.4, 7.7, 8.2, 8.0, 7.8, 8.3, 1.5], [0.3, 0.5, 0.4, 0.2, 0.6, 0.1, 0.4, 0.5, 1.0]
    (pair,) = compare([column("a", a), column("b", b)]).pairs
    assert (pair.outliers.loser, pair.outliers.samples) == (None, ["s0008"])
    assert (pair.better, pair.exact, pair.no_ci95, pair.p) == ("a", True, "exact", 2.0**-8)


def test_the_test_and_the_interval_say_the_same():
    """Three images hold half of the samples: by its old test 1 in 3 intervals contradicted it."""
    sizes = [40] * 3 + [4] * 29
    clusters = images_of(sizes).tolist()
    generator, excluded, intervals = np.random.default_rng(4), 0, 0
    for _ in range(60):
        differences, _ = clustered(generator, sizes, 0.3)
        a, b = (column(name, x, clusters=clusters) for name, x in (("a", 5 + differences), ("b", [5.0] * 236)))
        (pair,) = compare([a, b]).pairs
        assert (pair.ci95[0] > 0 or pair.ci95[1] < 0) == (pair.p < 0.05)
        excluded += pair.p < 0.05
        intervals += pair.ci95 is not None
    assert intervals == 60
    assert excluded <= 8


def test_the_difference_of_the_means_of_categories():
    categories = ["physical"] * 60 + ["social"] * 30
    good = [score + 1 if index >= 60 else score for index, score in enumerate(drawn(2))]
    (pair,) = compare([column("a", good, categories=categories), column("b", drawn(3), categories=categories)]).pairs
    mean, parts = pair.category_mean, pair.categories
    assert mean.difference == pytest.approx((parts["physical"].difference + parts["social"].difference) / 2)
    assert mean.ci95[0] < mean.difference < mean.ci95[1]
    assert mean.difference > pair.difference + 0.1, "the smaller category counts as much"
    holes = [None if name == "social" else 5.0 for name in categories]
    (pair,) = compare([column("a", good, categories=categories), column("b", holes, categories=categories)]).pairs
    assert (pair.category_mean.difference, pair.category_mean.no_ci95) == (None, "no_scores")


def test_all_pairs_are_one_family_and_what_no_test_separates_shares_a_rank():
    columns = [column("a", drawn(2, 2.0)), column("b", drawn(3, 1.9)), column("c", drawn(4))]
    comparison = compare(columns)
    assert [(pair.a, pair.b) for pair in comparison.pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [summary.rank for summary in comparison.columns] == [1, 1, 3]
    for pair in comparison.pairs:
        assert pair.p_adjusted >= pair.p
    (alone,) = compare([columns[0], columns[1]]).pairs
    assert comparison.pairs[0].detectable > alone.detectable


@pytest.mark.check
def test_a_difference_within_the_noise_of_many_pairs_is_not_called():
    """Ten families of six equal columns: raw p-values below .05 abound; none survives Holm."""
    families = [
        compare([column(str(seed), drawn(seed)) for seed in range(start, start + 6)]) for start in range(0, 1_000, 100)
    ]
    assert sum(min(pair.p for pair in family.pairs) < 0.05 for family in families) >= 3
    for family in families:
        assert all(pair.better is None for pair in family.pairs)
        assert {summary.rank for summary in family.columns} == {1}


def test_all_judges_are_one_family_and_each_ranks_for_itself():
    first = [column("a", drawn(2, 0.3)), column("b", drawn(3))]
    other = [column("a", drawn(4), judge="other"), column("b", drawn(5, 2.0), judge="other")]
    comparison = compare([*first, *other])
    assert [(pair.judge, pair.a, pair.b) for pair in comparison.pairs] == [("judge", "a", "b"), ("other", "a", "b")]
    assert comparison.judges == ("judge", "other")
    assert [(summary.judge, summary.rank) for summary in comparison.columns] == [
        ("judge", 1),
        ("judge", 2),
        ("other", 2),
        ("other", 1),
    ]
    (alone,) = compare(first).pairs
    assert 0.001 < alone.p == comparison.pairs[0].p < 0.05
    assert comparison.pairs[0].p_adjusted == pytest.approx(alone.p)  # the larger of two keeps its own
    assert comparison.pairs[1].p_adjusted == pytest.approx(2 * comparison.pairs[1].p)
    assert comparison.pairs[0].detectable > alone.detectable
    assert [(candidate.judge, candidate.passed) for candidate in comparison.gate.candidates] == [
        ("judge", False),
        ("other", True),
    ]
    assert comparison.document().tests == 2


def test_categories_are_exploratory_and_corrected_together():
    categories = ["physical"] * 45 + ["social"] * 45
    good = [score + 2 if index < 45 else score for index, score in enumerate(drawn(2))]
    comparison = compare([column("a", good, categories=categories), column("b", drawn(3), categories=categories)])
    by_category = comparison.pairs[0].categories
    assert list(by_category) == ["physical", "social"]
    assert by_category["physical"].p_adjusted < 0.01
    assert by_category["social"].p_adjusted > 0.05
    assert by_category["physical"].p_adjusted == pytest.approx(2 * by_category["physical"].p)
    assert all(category.exploratory and category.n == 45 for category in by_category.values())


def test_the_samples_that_differ_most():
    a, b = [5.0] * 30, [5.0] * 30
    b[7], b[21], b[3] = 0.0, 9.0, 6.0
    (pair,) = compare([column("a", a), column("b", b)]).pairs
    assert [(sample.sample_id, sample.a, sample.b, sample.difference) for sample in pair.largest] == [
        ("s0007", 5.0, 0.0, 5.0),
        ("s0021", 5.0, 9.0, -4.0),
        ("s0003", 5.0, 6.0, -1.0),
    ]


def test_the_judges_words_stand_beside_the_samples_that_differ():
    a = column("a", [9.0, 5.0], words={"s0000": "All is right."})
    b = column("b", [2.0, 5.0], words={"s0000": "Nothing happened."})
    (sample,) = compare([a, b]).pairs[0].largest
    assert (sample.words_a, sample.words_b) == ("All is right.", "Nothing happened.")


def test_the_order_of_the_columns_only_turns_the_sign():
    a, b = column("a", drawn(2, 0.3)), column("b", drawn(3))
    (forth,), (back,) = compare([a, b]).pairs, compare([b, a]).pairs
    assert forth.p == back.p
    assert forth.difference == -back.difference
    assert forth.ci95 == pytest.approx([-back.ci95[1], -back.ci95[0]])


def test_the_document_is_plain_and_repeatable():
    columns = [column("a", drawn(2, 0.4)), column("b", drawn(3)), column("c", drawn(4))]
    document = compare(columns, detect=0.5).document()
    assert plain(msgspec.json.decode(encode_document(document), type=type(document))) == plain(document)
    assert compare(columns, detect=0.5).document() == document
    assert {"a", "b", "n", "clusters", "difference", "ci95", "p", "p_adjusted", "detectable"} <= set(
        plain(document)["pairs"][0]
    )


@pytest.mark.parametrize("detect", [0.0, -1.0, float("nan"), float("inf")])
def test_a_difference_to_detect_is_above_0(detect):
    with pytest.raises(ConfigurationError, match="a number above 0"):
        compare([column("a", [1, 2]), column("b", [1, 2])], detect=detect)


def test_notes_are_passed_on():
    columns = [column("a", [1, 2]), replace(column("b", [1, 2]), differs=("steps: 4, not 8",))]
    document = compare(columns, notes=["b is not finished"]).document()
    assert document.notes == ("b is not finished",)
    assert document.columns[1].differs == ("steps: 4, not 8",)


def test_a_mean_over_categories_is_what_is_tested_where_the_scale_says_so():
    over = replace(TEN, mean_over="categories")
    categories = ["physical"] * 75 + ["social"] * 15
    good = [score + (2 if index >= 75 else -0.1) for index, score in enumerate(drawn(2))]
    columns = [column(name, of, categories=categories) for name, of in (("a", good), ("b", drawn(3)))]
    (plain,) = compare(columns).pairs
    comparison = compare([replace(scored, scale=over) for scored in columns], margin=0.3)
    (pair,) = comparison.pairs
    assert pair.category_mean == plain.category_mean
    assert pair.sample_mean == plain.sample_mean
    assert (plain.difference, plain.ci95) == (plain.sample_mean.difference, plain.sample_mean.ci95)
    assert (pair.difference, pair.ci95) == (pair.category_mean.difference, pair.category_mean.ci95)
    assert pair.mean_a - pair.mean_b == pytest.approx(pair.difference)
    assert pair.worst_case_difference == pytest.approx(pair.difference)
    assert pair.p < plain.p
    assert (plain.better, pair.better) == (None, "a")
    assert [summary.mean for summary in comparison.columns] == pytest.approx([pair.mean_a, pair.mean_b])
    assert comparison.gate.candidates[0].difference == pytest.approx(-pair.difference)


def test_a_category_that_none_has_scored_leaves_no_mean_over_categories():
    over = replace(TEN, mean_over="categories")
    categories = ["physical"] * 60 + ["social"] * 30
    holes = [None if index >= 60 else score for index, score in enumerate(drawn(3))]
    columns = [column("a", drawn(2), categories=categories), column("b", holes, categories=categories)]
    comparison = compare([replace(scored, scale=over) for scored in columns], margin=5.0)
    (pair,) = comparison.pairs
    assert (pair.n, pair.clusters) == (60, 60)
    assert pair.difference is pair.mean_a is pair.mean_b is pair.ci95 is pair.p is pair.better is None
    assert pair.no_ci95 == "no_scores"
    assert pair.sample_mean.difference is not None
    assert pair.worst_case_difference < 0 < pair.best_case_difference
    assert [summary.mean is None for summary in comparison.columns] == [False, True]
    assert comparison.columns[1].no_ci95 == "no_scores"
    (candidate,) = comparison.gate.candidates
    assert [reason.kind for reason in candidate.reasons] == ["category_not_held"]
    assert comparison.document().tests == 0
    encode_document(comparison.document())


def test_the_one_that_loses_on_a_few_images_is_named_whichever_way_the_scale_runs():
    noise = np.random.default_rng(3).normal(0, 0.1, size=40)
    a = 3 + noise
    b = a - 0.5
    b[[4, 20]] += 6
    error = replace(TEN, higher_is_better=False)
    (pair,) = compare([column("a", a, scale=error), column("b", b, scale=error)]).pairs
    assert (pair.outliers.loser, sorted(pair.outliers.samples)) == ("b", ["s0004", "s0020"])
    assert (pair.wins, pair.losses) == (2, 38)


A = column("a", drawn(2))
ALIKE = column("b", [score + 0.01 * (n % 3 - 1) for n, score in enumerate(drawn(2))])
CASES = {
    "better": (column("b", drawn(3, 2.0)), {}, Outcome("better", "b", holds=True), "B better", "b is better than a"),
    "fails more": (
        failing(column("b", drawn(3)), range(20)),
        {},
        Outcome("fails_more", "a", failures="tie"),
        "B fails more",
        "a is better than b, because b fails more",
    ),
    "trade": (
        failing(column("b", drawn(3, 2.0)), range(20)),
        {},
        Outcome("trade", failures="trade"),
        "trade",
        "b scores better than a, by 1.92",
    ),
    "tie": (column("b", drawn(3)), {}, Outcome("cannot_be_told"), "undecided", "No winner"),
    "equal": (
        ALIKE,
        {"margin": 0.5},
        Outcome("equal", holds=True, margin=0.5),
        "equal ±0.5",
        "a and b are equal within 0.5",
    ),
    "not within so small a margin": (ALIKE, {"margin": 0.001}, Outcome("cannot_be_told"), "undecided", "No winner"),
    "identical": (
        column("b", drawn(2)),
        {"margin": 0.5},
        Outcome("cannot_be_told", why="identical"),
        "same on 90",
        "have the same score on each of 90",
    ),
    "few images": (
        column("b", [1, 2, 1]),
        {"margin": 9.0},
        Outcome("cannot_be_told", why="few_images"),
        "too few: 3",
        "No winner",
    ),
    "few images with the same difference": (
        column("b", [score - 1 for score in drawn(2)[:3]]),
        {},
        Outcome("cannot_be_told", why="few_images"),
        "too few: 3",
        "No winner",
    ),
    "nothing in common": (
        column("b", [None] * 90),
        {},
        Outcome("not_comparable"),
        "no test",
        "no picture is scored for both a and b",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_outcome_and_its_words(name):
    other, how, expected, word, sentence = CASES[name]
    comparison = compare([failing(A, []) if other.failed else A, other], **how)
    assert comparison.pairs[0].outcome == expected
    file = io.StringIO()
    print_comparison(comparison, Console(file=file, width=500, color_system=None), full=True)
    row = next(line for line in file.getvalue().splitlines() if line.startswith("A - B"))
    assert row.rstrip().endswith(f" {word}")
    assert sentence in file.getvalue()


def test_equality_is_as_strict_as_the_gate_and_says_whether_missing_scores_could_undo_it():
    """Two one-sided tests; few images cannot show that none lose everything."""
    holes = column("b", [None if n == 0 else score for n, score in enumerate(ALIKE.scores.values())])
    (pair,) = compare([A, holes], margin=0.5).pairs
    assert (pair.outcome.kind, pair.outcome.holds) == ("equal", True)
    many = column("b", [None if n < 30 else score for n, score in enumerate(ALIKE.scores.values())])
    (pair,) = compare([A, many], margin=0.6).pairs
    assert (pair.outcome.kind, pair.outcome.holds) == ("equal", False)
    few = [column(whole.name, list(whole.scores.values())[:10]) for whole in (A, ALIKE)]
    (pair,) = compare(few, margin=0.5).pairs
    assert pair.ci95 is not None
    assert max(map(abs, pair.ci95)) < 0.5
    assert pair.outcome.kind == "cannot_be_told", "ten images rule out no kind of image below a quarter of all"


def test_losing_samples_lifts_no_rank():
    whole = [column("best", drawn(2, 2.0)), column("middle", drawn(3, 1.0)), column("last", drawn(4))]
    assert [summary.rank for summary in compare(whole).columns] == [1, 2, 3]
    for left in (60, 12, 8):
        hidden = failing(whole[2], range(left, 90))
        hidden = replace(hidden, failed={})  # lost by its judge
        ranks = [summary.rank for summary in compare([*whole[:2], hidden]).columns]
        assert ranks[:2] == [1, 2]
        assert ranks[2] is None or ranks[2] >= 2, "it is behind both on what is left of it"


def test_what_shares_fewer_than_six_images_has_no_rank_and_takes_none_from_others():
    whole = [column("best", drawn(2, 2.0)), column("last", drawn(4))]
    hidden = replace(failing(column("hidden", drawn(3, 1.0)), range(5, 90)), failed={})
    assert [summary.rank for summary in compare([hidden, *whole]).columns] == [None, 1, 2]
    few = [column(name, drawn(seed)[:5]) for seed, name in enumerate("abc")]
    assert [summary.rank for summary in compare(few).columns] == [None] * 3
