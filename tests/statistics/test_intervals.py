""""""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from clustered_designs import DESIGNS, clustered, images_of
from edit_eval.errors import ConfigurationError, Unscored
from edit_eval.statistics.intervals import (
    benjamini_hochberg,
    bootstrap_interval,
    cluster_draws,
    estimate,
    holm,
    hull_interval,
    hull_p_value,
    image_wins,
    mean_asymmetry,
    share_ruled_out,
    strict_lower,
    tipping_share,
    wilson_interval,
)
from edit_eval.statistics.means import MeanScore, means, select_means, the_mean


def test_with_one_score_a_cluster_it_is_the_textbook_interval():
    stats = pytest.importorskip("scipy.stats")
    values = np.array([7.0, 3.5, 4.0, 9.0, 5.5, 8.5, 6.0, 6.5])  # as far apart on both sides of their mean
    test = stats.ttest_1samp(values, 4.8)
    mean = estimate(values, np.arange(8))
    assert mean.interval() == pytest.approx([*test.confidence_interval(0.95)])
    assert mean.p_value(4.8) == pytest.approx(test.pvalue)


@pytest.mark.parametrize("asymmetry", [-0.5, -0.3, -1e-7, 0.0, 1e-12, 0.2, 0.5])
def test_the_hull_holds_students_interval_and_halls(asymmetry):
    """Hall's ends by looking for them: where his transformation of t is what t's own end is."""
    stats, optimize = pytest.importorskip("scipy.stats"), pytest.importorskip("scipy.optimize")
    value, error, freedom, a = 0.7, 0.4, 8.5, asymmetry
    reach = stats.t.ppf(0.975, freedom)

    def hall(mean):
        t = (value - mean) / error
        return t + a * (t * t / 3 + 1 / 6) + a**2 * t**3 / 27

    roots = [optimize.brentq(lambda mean, end=end: hall(mean) - end, -99, 99, xtol=1e-14) for end in (reach, -reach)]
    ends = [*roots, value - reach * error, value + reach * error]
    interval = hull_interval(value, error, freedom, a)
    assert interval == pytest.approx((min(ends), max(ends)), rel=1e-9)
    for at in (-1.0, 0.0, 0.5, 0.7, 2.0, *interval):
        p = max(2 * stats.t.sf(abs(t), freedom) for t in ((value - at) / error, hall(at)))
        assert hull_p_value(value, error, freedom, a, at=at) == pytest.approx(p, rel=1e-9)
    assert hull_p_value(value, error, freedom, a, at=interval[0]) == pytest.approx(0.05)
    assert hull_p_value(value, error, freedom, a, at=interval[1]) == pytest.approx(0.05)


def test_the_more_skewed_the_more_is_asked_for_however_skewed():
    """Uncut, Hall's cube asks for a t of 8 at a skewness of -.5, and for one of 4 at -2."""
    reaches = [
        -hull_interval(0.0, 1.0, 30.0, -a)[0] + hull_interval(0.0, 1.0, 30.0, -a)[1] for a in np.arange(0, 3, 0.1)
    ]
    assert (np.diff(reaches) >= 0).all()
    assert hull_p_value(5.0, 1.0, 30.0, -2.0) == hull_p_value(5.0, 1.0, 30.0, -0.5) > 0.05


def test_the_skewness_that_a_mean_keeps():
    stats = pytest.importorskip("scipy.stats")
    values = np.random.default_rng(4).exponential(size=12)
    assert mean_asymmetry(values, np.full(12, 1 / 12)) == pytest.approx(stats.skew(values) / math.sqrt(12))
    shares = np.random.default_rng(5).uniform(1, 9, size=12)
    shares /= shares.sum()
    assert mean_asymmetry(values, shares) == pytest.approx(
        stats.skew(values) * (shares**3).sum() / (shares**2).sum() ** 1.5
    )
    assert mean_asymmetry(np.full(12, 0.1), shares) == 0.0


def by_matrices(values, clusters, groups):
    """CR2 and its degrees of freedom as the papers write them: with projections of n x n, and no short cut."""
    count, kinds = len(values), np.unique(groups)
    design = (groups[:, None] == kinds).astype(float)
    bread = np.linalg.inv(design.T @ design)
    hat = design @ bread @ design.T
    residuals, keep = (np.eye(count) - hat) @ values, np.eye(count) - hat
    contrast = np.full(len(kinds), 1 / len(kinds))
    by_cluster = []
    for cluster in np.unique(clusters):
        here = np.flatnonzero(clusters == cluster)
        scale, vectors = np.linalg.eigh(np.eye(len(here)) - hat[np.ix_(here, here)])
        root = vectors @ np.diag(scale**-0.5) @ vectors.T
        row = np.zeros(count)
        row[here] = contrast @ bread @ design[here].T @ root
        by_cluster.append(row)
    rows = np.array(by_cluster)
    p = rows @ keep @ keep.T @ rows.T
    freedom = np.trace(p) ** 2 / np.trace(p @ p)
    alike = (clusters[:, None] == np.unique(clusters)).astype(float)  # each image's scores are all the same
    true, expected = (contrast @ bread @ design.T @ alike) ** 2, (rows @ keep @ alike) ** 2
    error = math.sqrt(((rows @ residuals) ** 2).sum() * true.sum() / expected.sum())
    if len(kinds) > 1:
        alone = [
            by_matrices(values[groups == kind], clusters[groups == kind], groups[groups == kind]) for kind in kinds
        ]
        seen = [((rows[:, groups == kind] @ residuals[groups == kind]) ** 2).sum() for kind in kinds]
        welch = sum(seen) ** 2 / sum(squares**2 / freely for squares, (_, _, freely) in zip(seen, alone, strict=True))
        freedom = min(freedom, welch)
    return contrast @ bread @ design.T @ values, error, freedom


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("design", ["10 images with 9", "2 with 27, 8 with 3", "one with half", "1 to 5"])
def test_it_is_cr2_as_the_papers_write_it(design, groups):
    generator = np.random.default_rng(4)
    values, clusters = clustered(generator, DESIGNS[design], 0.3)
    codes = generator.choice(groups, p=[1.0] if groups == 1 else [0.6, 0.3, 0.1], size=len(values))
    mean = estimate(values, clusters, codes)
    assert (mean.value, mean.standard_error, mean.freedom) == pytest.approx(by_matrices(values, clusters, codes))


@pytest.mark.parametrize("images", [2, 3])
def test_where_one_category_varies_more_its_own_images_say_how_surely(images):
    """Five categories of two or three images, one four times as variable: taken for alike they cover .89 and .92."""
    generator = np.random.default_rng(3)
    categories = np.repeat(np.arange(5), images)
    spread = np.where(categories == 0, 4.0, 1.0)
    held = 0
    for _ in range(400):
        low, high = estimate(spread * generator.normal(size=5 * images), np.arange(5 * images), categories).interval()
        held += low <= 0 <= high
    assert held / 400 > 0.93


def test_equal_clusters_keep_what_they_had():
    """G - 1 degrees of freedom, and the sandwich with G / (G - 1)."""
    values, clusters = clustered(np.random.default_rng(5), [9] * 30, 0.3)
    sums = np.bincount(clusters, values - values.mean())
    mean = estimate(values, clusters)
    assert mean.freedom == pytest.approx(29)
    assert mean.standard_error == pytest.approx(math.sqrt(30 / 29 * (sums**2).sum()) / 270)


def test_thousands_of_images_take_no_matrix_of_their_square():
    values, clusters = clustered(np.random.default_rng(5), [1, 3, 5] * 10_000, 0.3)
    assert estimate(values, clusters, clusters % 5).freedom == pytest.approx(22_000, rel=0.1)


def test_scores_in_any_order_give_the_same_bits():
    generator = np.random.default_rng(8)
    values, clusters = clustered(generator, DESIGNS["1 to 5"], 0.4)
    groups, order = clusters % 3, generator.permutation(len(values))
    assert estimate(values, clusters, groups) == estimate(values[order], clusters[order], groups[order])


def test_a_few_images_far_to_one_side_bend_the_interval():
    values = np.random.default_rng(8).normal(8, 0.5, size=40)
    assert not estimate(values, np.arange(40)).is_skewed
    values[:3] = 0.0
    mean = estimate(values, np.arange(40))
    assert mean.asymmetry < -0.2
    assert mean.is_skewed
    low, high = mean.interval()
    assert mean.value - low > 1.2 * (high - mean.value)
    assert [mean.p_value(low), mean.p_value(high)] == pytest.approx([0.05, 0.05])


@pytest.mark.parametrize(
    ("sizes", "groups", "why"),
    [
        ([5], None, "one_image"),
        ([2, 2], None, "few_images"),
        ([2, 2, 2, 2, 2], None, "few_images"),
        ([2, 2, 2, 2, 2, 2], None, None),
        ([400, 1, 1, 1, 1, 1, 1], None, "too_uneven"),
        ([100, 100, 100, *[1] * 40], None, "too_uneven"),
        ([100, 100, 100, 100, *[1] * 40], None, None),
        ([2, 2, 2], [0, 0, 0, 0, 1, 1], "one_image"),
    ],
)
def test_why_there_is_no_interval(sizes, groups, why):
    images = images_of(sizes)
    codes = None if groups is None else np.array(groups)
    values = np.random.default_rng(1).normal(size=len(images))
    mean = estimate(values, images, codes)
    assert mean.doubt == why
    assert (mean.interval() is None) == (mean.p_value() is None) == (why is not None)
    assert estimate(np.ones(9), np.arange(9)).doubt == "no_spread"
    with pytest.raises(ValueError, match="nothing"):
        estimate(values[:0], images[:0])


def test_the_same_simulation_finds_an_interval_that_forgets_the_clusters():
    generator = np.random.default_rng(11)
    covered = 0
    for _ in range(500):
        values, _ = clustered(generator, [10] * 27, 0.3)
        low, high = estimate(values, np.arange(len(values))).interval()
        covered += low <= 0.0 <= high
    assert covered / 500 < 0.8


@pytest.mark.parametrize(
    ("values", "clusters"),
    [([5.0], [0]), ([5.0, 6.0], [0, 0]), ([10.0] * 30, range(30)), ([4.0, 6.0, 4.0, 6.0], [0, 0, 1, 1])],
    ids=["one score", "one cluster", "no spread", "no spread between clusters"],
)
def test_where_the_data_do_not_say_there_is_no_interval(values, clusters):
    assert estimate(np.array(values), np.array(clusters)).interval() is None


def test_no_mean_lies_beyond_the_scale():
    low, high = estimate(np.array([9.0, 10, 10, 10, 10, 10]), np.arange(6)).interval(lowest=0.0, highest=10.0)
    assert high == 10.0
    assert low < 9.5


@pytest.mark.parametrize(("successes", "total"), [(30, 30), (0, 30), (1, 7), (135, 270)])
def test_wilson_is_that_of_scipy(successes, total):
    stats = pytest.importorskip("scipy.stats")
    expected = stats.binomtest(successes, total).proportion_ci(method="wilson")
    assert wilson_interval(successes, total) == pytest.approx([expected.low, expected.high], abs=1e-12)


def test_wilson_refuses_impossible_counts():
    assert wilson_interval(0, 0) is None
    with pytest.raises(ValueError, match="3 successes of 2"):
        wilson_interval(3, 2)


def test_the_bootstrap_agrees_with_the_formula_for_a_mean():
    generator = np.random.default_rng(5)
    values, clusters = clustered(generator, [3] * 90, 0.4)
    interval = bootstrap_interval(lambda weights: float((weights * values).sum() / weights.sum()), clusters)
    assert interval == pytest.approx(estimate(values, clusters).interval(), abs=0.03)


def test_the_bootstrap_gives_no_interval_where_it_cannot():
    one_cluster = np.zeros(5, dtype=np.int64)
    assert bootstrap_interval(lambda weights: 1.0, one_cluster) is None
    five = np.arange(5)
    assert bootstrap_interval(lambda weights: 1.0, five) is None
    assert bootstrap_interval(lambda weights: None, five) is None


def test_a_draw_has_as_many_clusters_as_there_are():
    drawn = cluster_draws(np.array([0, 0, 1, 2]), 50)
    assert drawn.shape == (50, 3)
    assert set(drawn.sum(axis=1)) == {3.0}


def test_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert benjamini_hochberg([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.04, 0.04])


def test_a_test_that_was_not_made_counts_for_nothing():
    assert holm([None, 0.02, None, 0.5]) == pytest.approx([None, 0.04, None, 0.5])
    assert benjamini_hochberg([]) == []


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan")])
def test_what_is_no_p_value_is_refused(p):
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([0.5, p])


def gains(count, gain, noise=0.3, seed=1):
    return estimate(gain + noise * np.random.default_rng(seed).normal(size=count), np.arange(count))


@pytest.mark.parametrize("skewed", [False, True])
def test_the_interval_holds_exactly_what_the_test_does_not_reject(skewed):
    generator = np.random.default_rng(6)
    for _ in range(30):
        differences = generator.normal(size=50)
        if skewed:
            differences[:3] -= 8
        mean = estimate(differences, np.arange(50))
        assert mean.is_skewed == skewed
        for end in mean.interval(lowest=-10, highest=10):
            assert mean.p_value(end) == pytest.approx(0.05)


def test_the_share_of_total_losses_that_would_undo_a_difference():
    assert tipping_share(1.0, 10.0) == tipping_share(-1.0, 10.0) == pytest.approx(1 / 11)
    share = tipping_share(2.35, 10.0)
    assert (1 - share) * 2.35 + share * -10.0 == pytest.approx(0.0)
    assert tipping_share(0.0, 10.0) == 0.0
    assert tipping_share(1.0, math.inf) is None


def test_the_share_that_so_many_images_rule_out():
    assert [round(share_ruled_out(n), 3) for n in (10, 20, 50, 270)] == [0.259, 0.139, 0.058, 0.011]
    assert (1 - share_ruled_out(17.5)) ** 17.5 == pytest.approx(0.05)
    uneven = estimate(
        np.random.default_rng(1).normal(size=60), np.repeat(np.arange(9), [20, 10, 10, 10, 2, 2, 2, 2, 2])
    )
    assert uneven.worth == pytest.approx(60**2 / (400 + 300 + 20))


@pytest.mark.parametrize("count", [6, 20, 270])
def test_the_strict_end_also_asks_for_what_was_not_seen(count):
    """A share of total losses that n images show none of with a probability of .05 brings the difference down to it."""
    narrow = gains(count, 1.0, noise=1e-6)
    low = strict_lower(narrow, 10.0, alpha=0.05)
    share = share_ruled_out(count)
    assert (1 - share) * narrow.value - share * 10.0 == pytest.approx(low)
    wide = gains(count, 1.0, noise=30.0)
    assert strict_lower(wide, math.inf, alpha=0.025) == pytest.approx(wide.interval()[0])
    assert strict_lower(gains(5, 1.0), 10.0, alpha=0.05) is None


def test_wins_are_counted_by_image_and_tested_exactly():
    stats = pytest.importorskip("scipy.stats")
    images = np.repeat(np.arange(20), 2)
    gain = np.where(images < 14, 0.5, np.where(images < 17, -0.5, 0.0))
    gain[::2] += 0.3
    gain[1::2] -= 0.3  # of one image one sample gains, the other loses: their mean decides
    wins = image_wins(gain, images, fewest=6)
    assert (wins.wins, wins.ties, wins.losses) == (14, 3, 3)
    assert wins.p == pytest.approx(stats.binomtest(14, 17).pvalue)
    assert image_wins(-gain, images, fewest=6).p == wins.p
    assert image_wins(np.ones(5), np.arange(5), fewest=6).p is None
    assert image_wins(np.ones(6), np.arange(6), fewest=6).p == pytest.approx(2 / 64)
    assert image_wins(np.zeros(9), np.arange(9), fewest=6).p is None


def test_equal_differences_have_no_interval_and_an_exact_test():
    same = estimate(np.full(30, 2.0), np.arange(30))
    assert (same.doubt, same.interval(), same.p_value()) == ("no_spread", None, 2.0**-29)
    assert estimate(np.zeros(30), np.arange(30)).p_value() is None, "nothing differs, which leaves nothing to test"
    assert estimate(np.full(5, 2.0), np.arange(5)).p_value() is None, "five images show nothing"


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([10.0] * 11 + [-10.0], 26 / 4096),  # yes and no: McNemar's test
        ([4.0] * 4 + [0.0] * 36, 0.125),
        ([7.3, 8.1, 7.9, 7.6, 8.4, 7.7, 8.2, 7.8, 0.5], 2.0**-8),  # one unlike the others, and no loss
    ],
)
def test_signs_decide_where_an_interval_cannot(differences, p):
    mean = estimate(np.array(differences), np.arange(len(differences)))
    assert mean.is_decided_by_signs
    assert mean.p_value() == pytest.approx(p)
    assert estimate(-np.array(differences), np.arange(len(differences))).p_value() == pytest.approx(p)


def test_an_interval_that_finds_more_than_the_signs_decides():
    mean = estimate(1 + 0.01 * np.random.default_rng(1).normal(size=12), np.arange(12))
    assert not mean.is_decided_by_signs
    assert mean.p_value() < 2.0**-11


def test_one_image_with_nearly_all_samples_shows_nothing():
    images = np.repeat(np.arange(31), [600] + [1] * 30)
    mean = estimate(3 + 0.1 * np.random.default_rng(2).normal(size=630), images)
    assert (mean.doubt, mean.p_value()) == ("too_uneven", None)
    assert math.isfinite(mean.freedom)


# The means of a summary as rows, and which one is meant where somebody asks for one.


def block(mean: float | None, scored: int = 3, part: bool = False) -> Any:
    read = {
        "scale": SimpleNamespace(lowest=0.0, highest=10.0, higher_is_better=True, mean_over="samples"),
        "part": part,
        "mean": mean,
        "ci95": None if mean is None else [mean - 1, mean + 1],
        "no_ci95": "no_scores" if mean is None else None,
        "ruled_out_share": None if mean is None else 0.1,
        "worst_case_mean": 1.0,
        "best_case_mean": 9.0,
    }
    by_status = {"ok": scored, "edit_failed": 4 - scored}
    return SimpleNamespace(**read, coverage=SimpleNamespace(scored=scored, total=4, by_status=by_status))


def entry(edit_model: str, judge: str, **scores: Any) -> Any:
    return SimpleNamespace(edit_model=edit_model, judge=judge, headline=next(iter(scores)), scores=scores)


def rows(*entries: Any) -> tuple[MeanScore, ...]:
    summary: Any = SimpleNamespace(results=entries)
    return means(summary)


def test_a_row_has_all_that_the_summary_says() -> None:
    (row, part) = rows(entry("a", "j", score=block(7.0), light=block(None, 0, part=True)))
    assert (row.edit_model, row.judge, row.score, row.headline, row.part) == ("a", "j", "score", True, False)
    assert (row.value, row.ci95, row.no_ci95, row.worst, row.best) == (7.0, (6.0, 8.0), "", 1.0, 9.0)
    assert (row.scored, row.total, row.coverage, row.by_status["edit_failed"]) == (3, 4, 0.75, 1)
    assert (row.scale.lowest, row.scale.highest) == (0.0, 10.0)
    assert str(row) == "a, judged by j, score: 7 [6, 8], 3 of 4 scored"
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
    assert [row.value for row in select_means(every, None, "x", None)] == [1, 3]
    assert select_means(every, None, None, None) == every


def test_no_score_is_no_number() -> None:
    with pytest.raises(Unscored, match=r"a, judged by j: none of 4 is scored \(4 edit_failed\)"):
        the_mean(rows(entry("a", "j", score=block(None, 0))), None, None, None)
