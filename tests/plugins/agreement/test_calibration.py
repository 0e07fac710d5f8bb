import numpy as np
import pytest

from agreements import drawn
from edit_eval.plugins.agreement.two_raters import Pairs, calibration, cross_fitted, isotonic
from late_imports import Late

optimize = Late("scipy.optimize")


def test_the_map_is_that_of_scipy_with_equal_scores_as_one():
    generator = np.random.default_rng(0)
    scores, targets = generator.integers(0, 11, 200).astype(float), generator.normal(size=200)
    weights = generator.integers(0, 3, 200).astype(float)
    order = np.lexsort((np.arange(200), scores))
    made = isotonic(scores, targets, weights)
    means = [np.average(targets[scores == s], weights=weights[scores == s]) for s in made.at]
    masses = [weights[scores == s].sum() for s in made.at]
    assert made(made.at) == pytest.approx(optimize.isotonic_regression(means, weights=masses).x)
    assert np.all(np.diff(made(scores[order])) >= 0)
    assert made(np.array([-5.0, 20.0])) == pytest.approx([made.value[0], made.value[-1]])
    with pytest.raises(ValueError, match="nothing to fit"):
        isotonic(scores, targets, np.zeros(200))


def test_an_image_is_foretold_by_a_map_that_has_not_seen_it():
    """Scores that tell the image and nothing else: a map that had seen it would know its target."""
    generator = np.random.default_rng(2)
    clusters = np.repeat(np.arange(60), 3)
    pairs = Pairs(
        generator.permutation(60)[clusters].astype(float), generator.normal(size=60)[clusters], clusters, ["m"] * 180
    )
    seen = isotonic(pairs.scores, pairs.targets)(pairs.scores)
    unseen = cross_fitted(pairs)
    assert np.corrcoef(seen, pairs.targets)[0, 1] > 0.1
    calibrated = calibration(pairs, resamples=20)
    assert calibrated.explained < 0.02
    assert calibrated.rmse == pytest.approx(float(np.sqrt(((unseen - pairs.targets) ** 2).mean())))
    assert (calibrated.n, calibrated.clusters, calibrated.folds) == (180, 60, 10)


def test_the_map_and_its_intervals_find_a_bent_truth():
    calibrated = calibration(drawn(80, 6, 0.5), resamples=200)
    assert calibrated.explained > 0.95
    inside = [knot.ci95[0] - 0.1 <= knot.score**2 / 10 <= knot.ci95[1] + 0.1 for knot in calibrated.map]
    assert sum(inside) >= 10
    assert calibration(drawn(7, 6, 0.5), resamples=20) is None, "seven source images are too few"
    flat = drawn(20, 3, 0.0)
    assert calibration(Pairs(flat.scores, np.zeros(60), flat.clusters, flat.edit_models), resamples=20) is None


def test_many_levels_are_given_as_21():
    pairs = drawn(40, 5, 0.1)
    fine = Pairs(
        pairs.scores + np.random.default_rng(0).uniform(0, 0.9, 200), pairs.targets, pairs.clusters, pairs.edit_models
    )
    assert len(calibration(fine, resamples=20).map) == 21
