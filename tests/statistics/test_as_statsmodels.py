"""Our figures beside those of statsmodels: in one file, because importing it takes longer than all of these tests."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest

import independently
from edit_eval.plugins.people.differences import correct_difference, peoples_differences
from edit_eval.statistics.comparison import compare
from edit_eval.statistics.intervals import (
    Estimate,
    benjamini_hochberg,
    estimate,
    holm,
    image_wins,
    share_ruled_out,
    skewness_by_chance,
    strict_lower,
    tipping_share,
)
from edit_eval.statistics.power import detectable_difference
from edit_eval.statistics.votes import Rating
from independently import Seen, of_differences, people_corrected
from small_columns import column


@pytest.mark.parametrize(("ours", "theirs"), [(holm, "holm"), (benjamini_hochberg, "fdr_bh")])
def test_corrected_p_values(ours, theirs, monkeypatch):
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    monkeypatch.setattr("gc.collect", lambda: 0)  # every call would look through all that pytest holds
    generator = np.random.default_rng(0)
    for count in [1, 2, 3, 5, 10, 45] * 10:
        # Some small, some tied, some 1.
        p_values = np.minimum(1.0, np.round(generator.uniform(size=count) ** 3 * 1.1, 2)).tolist()
        expected = multitest.multipletests(p_values, method=theirs)[1]
        assert ours(p_values) == pytest.approx(expected.tolist())


def test_with_one_score_an_image_it_is_hc2():
    linear_model = pytest.importorskip("statsmodels.regression.linear_model")
    generator = np.random.default_rng(3)
    values, groups = generator.normal(size=60), generator.choice(3, p=[0.6, 0.3, 0.1], size=60)
    design = (groups[:, None] == np.arange(3)).astype(float)
    fit = linear_model.OLS(values, design).fit(cov_type="HC2")
    contrast = fit.t_test(np.full(3, 1 / 3))
    ours = estimate(values, np.arange(60), groups)
    assert ours.value == pytest.approx(float(contrast.effect[0]))
    assert ours.standard_error == pytest.approx(float(contrast.sd[0][0]))


def test_equal_images_have_the_cluster_robust_interval():
    linear_model = pytest.importorskip("statsmodels.regression.linear_model")
    generator = np.random.default_rng(3)
    clusters = np.repeat(np.arange(23), 4)
    values = 0.6 * generator.normal(size=23)[clusters] + 0.8 * generator.normal(size=len(clusters))
    # Its own correction has (n - 1) / (n - k) = 1 beside G / (G - 1).
    fit = linear_model.OLS(values, np.ones(len(values))).fit(
        cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True
    )
    assert estimate(values, clusters).standard_error == pytest.approx(float(fit.bse[0]))
    (low, high), ours = fit.conf_int()[0].tolist(), estimate(values, clusters)
    assert replace(ours, asymmetry=0.0).interval() == pytest.approx([low, high])
    assert ours.interval()[0] <= low + 1e-9
    assert ours.interval()[1] >= high - 1e-9


def test_the_detectable_difference_is_close_to_that_of_the_t_test():
    """That of the t-test takes the standard deviation for known; the fewer images, the less it is."""
    power = pytest.importorskip("statsmodels.stats.power")
    for clusters, more in ((30, 1.05), (90, 1.015), (270, 1.005)):
        expected = 2.0 * power.TTestPower().solve_power(nobs=clusters, alpha=0.05, power=0.8)
        free, chance = clusters - 1, skewness_by_chance(clusters) / math.sqrt(clusters)
        difference = Estimate(0.0, 2.0 / math.sqrt(clusters), free, free, clusters, clusters, 0.0, chance, None)
        assert detectable_difference(difference, 10) == pytest.approx(more * expected, rel=0.01)


SCALE = 10.0
DRAWS = 20

ONE = {
    "symmetric": lambda g: g.gauss(0.3, 1),
    "heavy tails": lambda g: g.gauss(0, 1) / max(1e-3, g.random()) ** 0.5,
    "mostly ties": lambda g: 0.0 if g.random() < 0.8 else g.choice([-2.0, -1.0, 1.0, 3.0]),
    "scores of 1 to 5": lambda g: float(g.randint(1, 5) - g.randint(1, 5)),
    "tenths": lambda g: g.choice([0.1, 0.3, 0.7]) - g.choice([0.1, 0.2, 0.6]),
    "a few large losses": lambda g: -8.0 if g.random() < 0.12 else 1.0 + g.gauss(0, 0.1),
    "far from 0": lambda g: 7.0 + g.gauss(0, 1e-3),
    "two values": lambda g: g.choice([0.3, 0.1 + 0.2 + 1.0]),
    "from end to end": lambda g: g.choice([-10.0, 10.0, 10.0, 6.5]),
    "all equal": lambda g: 0.1 + 0.2,
}
SIZES = {
    "one each": lambda g: 1,
    "a few": lambda g: g.randint(1, 4),
    "very unequal": lambda g: g.choice([1, 1, 1, 2, 13]),
}


def close(value: float, expected: float, size: float = 1.0) -> bool:
    """To 1e-8, as far as scipy 1.14 goes; what is left where numbers of `size` cancel is no number."""
    return math.isclose(value, expected, rel_tol=1e-8, abs_tol=1e-13 * size)


def flat(images, g):
    """The values and the codes of their images, in an order of their own."""
    rows = [(value, image) for image, values in images.items() for value in values]
    g.shuffle(rows)
    return [value for value, _ in rows], np.array([image for _, image in rows])


def drawn(kind, sizes, *, draws=DRAWS):
    g = random.Random(f"{kind} {sizes}")
    for _ in range(draws):
        count = g.choice([*range(1, 13), 5, 6, 7])
        yield {image: [ONE[kind](g) for _ in range(SIZES[sizes](g))] for image in range(count)}, g


def agrees(images, g) -> str | None:
    """Whether all that is said of these differences is the same; the reason why there is no interval, if any."""
    values, codes = flat(images, g)
    size = max(abs(value) for value in values)
    ours, theirs = estimate(np.array(values), codes), of_differences(images)
    assert close(ours.value, theirs.mean, size)
    assert close(ours.worth, float(independently.worth(images)))
    assert close(share_ruled_out(ours.worth), independently.ruled_out_share(images))
    assert close(tipping_share(ours.value, SCALE), independently.tipping_share(theirs.mean, SCALE), size)
    wins = image_wins(np.array(values), codes, fewest=6)
    assert (wins.wins, wins.losses) == independently.wins_and_losses(images)
    sign = independently.sign_test(images)
    assert wins.p is None if sign is None else close(wins.p, sign)
    if theirs.reasons:
        assert ours.doubt in theirs.reasons
        expected, end = independently.tested(images), independently.strict_end(images, SCALE, 0.05)
        lower = strict_lower(ours, SCALE, alpha=0.05)
        assert ours.interval() is None
        assert ours.p_value() is None if expected is None else close(ours.p_value(), expected)
        assert lower is None if end is None else close(lower, end, SCALE)
        return ours.doubt
    assert ours.doubt is None
    assert close(ours.standard_error, theirs.error, size)
    assert close(ours.freedom, theirs.freedom)
    assert close(ours.p_value(), independently.tested(images))
    for alpha in (0.05, 0.025):
        assert close(strict_lower(ours, SCALE, alpha=alpha), independently.strict_end(images, SCALE, alpha), SCALE)
    for end, expected in zip(ours.interval(), theirs.interval, strict=True):
        assert close(end, expected, size)
    return None


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("kind", ONE)
def test_a_difference_and_how_sure_it_is(kind, sizes):
    reasons = {agrees(images, g) for images, g in drawn(kind, sizes)}
    assert "few_images" in reasons or kind == "all equal"
    assert (None in reasons) == (kind != "all equal")
    assert "too_uneven" in reasons or sizes != "very unequal" or kind == "all equal"


def test_images_that_are_alike_on_the_whole_have_no_spread():
    """What scatters within images says nothing of other images."""
    assert agrees({image: [1.1, -1.1, 0.0][: 2 + image % 2] for image in range(8)}, random.Random(1)) == "no_spread"


def test_exactly_four_images_worth_is_enough():
    sizes = [1, 1, 1, 2, 2, 2, 2, 9]
    assert independently.worth_of(sizes) == 4
    g = random.Random(2)
    assert agrees({image: [g.gauss(0, 1) for _ in range(size)] for image, size in enumerate(sizes)}, g) is None
    images = {image: [g.gauss(0, 1) for _ in range(size)] for image, size in enumerate([1, 1, 1, 2, 2, 2, 2, 10])}
    assert agrees(images, g) == "too_uneven"


def test_what_compare_says_of_two_columns():
    """The same numbers at the end of the way from scores to a pair; the interval ends where the scale does."""
    cut = 0
    for sizes in SIZES:
        for images, g in drawn("from end to end", sizes, draws=10):
            values, codes = flat(images, g)
            scores = {"a": [5 + x / 2 for x in values], "b": [5 - x / 2 for x in values]}
            (pair,) = compare([column(name, of, clusters=codes) for name, of in scores.items()]).pairs
            expected = of_differences(images)
            assert close(pair.difference, expected.mean, 10)
            p = independently.tested(images)
            assert pair.p is None if p is None else close(pair.p, p)
            if expected.reasons:
                assert pair.no_ci95 in expected.reasons
                continue
            low, high = expected.interval
            cut += low < -SCALE or high > SCALE
            if (low <= 0 <= high) != (p > 0.05):
                assert (pair.ci95, pair.no_ci95, pair.exact) == (None, "exact", True)
                continue
            assert close(pair.ci95[0], max(-SCALE, low), 10)
            assert close(pair.ci95[1], min(SCALE, high), 10)
    assert cut


# What people would say

JUDGES = {
    "useful": lambda g, y: 0.5 + 0.8 * y + g.gauss(0, 0.7),
    "useless": lambda g, y: g.gauss(0, 1),
    "contrary": lambda g, y: -y + g.gauss(0, 0.3),
    "steps": lambda g, y: float(round(y + g.gauss(0, 1))),
    "constant": lambda g, y: 0.1 + 0.2,
    "far from 0": lambda g, y: 7.0 + 1e-3 * (y + g.gauss(0, 1)),
    "mostly at the ceiling": lambda g, y: 1e-8 * g.gauss(0, 1) if g.random() < 0.9 else -3 + g.gauss(0, 1),
}
PEOPLE = {
    "ratings": lambda g: g.gauss(0.2, 1),
    "votes": lambda g: float(g.choice([-1, 0, 0, 1])),
    "alike": lambda g: 1.0,
}


def asked(judge, people, *, counts, draws=DRAWS):
    """Samples of which people were asked about some: whole images, parts of them, all but one, all, in all sizes."""
    g = random.Random(f"{judge} {people}")
    for draw in range(draws):
        sizes = list(SIZES.values())[draw % 3]
        partly, rest = g.choice([0, 0, 0.3]), g.choice([0, 1, 2, 5, 9])
        samples = {}
        for image in range((k := g.choice([1, 6, 7, 8, 8, 9, 12, 16])) + rest):
            samples[image] = []
            for number in range(sizes(g)):
                y = PEOPLE[people](g)
                seen = image < k and (number == 0 or g.random() >= partly)
                count = g.choice([1.0, 2.0, 3.5]) if counts and draw % 2 else 1.0
                samples[image].append(Seen(JUDGES[judge](g, y), y if seen else None, count))
        yield samples, g


def people_agree(samples, g) -> str | None:
    values, codes = flat(samples, g)
    people = np.array([math.nan if sample.people is None else sample.people for sample in values])
    ours = correct_difference(
        people, np.array([sample.judge for sample in values]), codes, np.array([sample.counts for sample in values])
    )
    theirs = people_corrected(samples)
    assert close(ours.weight, theirs.weight)
    assert close(ours.value, theirs.mean, 10)
    if theirs.reasons:
        assert ours.doubt in theirs.reasons
        assert ours.interval() is None
        return ours.doubt
    assert ours.doubt is None
    assert close(ours.error.standard_error, theirs.error)
    assert close(ours.error.freedom, theirs.freedom)
    for end, expected in zip(ours.interval(), theirs.interval, strict=True):
        assert close(end, expected, 10)
    return None


@pytest.mark.parametrize("people", PEOPLE)
@pytest.mark.parametrize("judge", JUDGES)
def test_what_people_would_say(judge, people):
    reasons = {people_agree(samples, g) for samples, g in asked(judge, people, counts=True)}
    assert {"few_images", "no_spread" if people == "alike" else None} <= reasons


def test_what_it_says_that_people_would_say():
    """From two people's ratings of both edits: the mean of what they say of a sample, which counts once for each."""
    seen = set()
    for samples, g in asked("useful", "ratings", counts=False, draws=12):
        values, codes = flat(samples, g)
        scores = [5 + sample.judge / 2 for sample in values], [5 - sample.judge / 2 for sample in values]
        columns = [column(name, of, clusters=codes) for name, of in zip("ab", scores, strict=True)]
        answers, rated = [], {image: [] for image in samples}
        for number, (sample, image) in enumerate(zip(values, codes.tolist(), strict=True)):
            said = [] if sample.people is None else [sample.people, sample.people + g.gauss(0, 1)][: g.randint(1, 2)]
            for rater, y in zip(("ann", "bo"), said, strict=False):
                answers += [Rating(f"s{number:04d}", name, at, rater) for name, at in (("a", 4 + y), ("b", 4.0))]
            mean = math.fsum(said) / len(said) if said else None
            rated[image].append(Seen(sample.judge, mean, float(len(said))))
        (pair,) = peoples_differences(columns, answers).pairs
        expected = people_corrected(rated)
        assert close(pair.weight, expected.weight)
        assert close(pair.corrected.difference, expected.mean, 10)
        seen.add(pair.corrected.no_ci95)
        if expected.reasons:
            assert pair.corrected.no_ci95 in expected.reasons
            assert pair.corrected.ci95 is None
            continue
        for end, other in zip(pair.corrected.ci95, expected.interval, strict=True):
            assert close(end, other, 10)
    assert {None, "few_images"} <= seen
