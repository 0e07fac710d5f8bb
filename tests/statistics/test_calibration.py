import math

import numpy as np
import pytest

from edit_eval.statistics.calibration import Pairs, beyond, bridge, calibration, cross_fitted, isotonic, turned
from edit_eval.statistics.intervals import hull_interval
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


def drawn(images: int, each: int, noise: float, seed: int = 1, models: int = 4) -> Pairs:
    """Targets that are a bent map of the scores, with noise that belongs to the image."""
    generator = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(images), each)
    scores = generator.uniform(0, 10, images * each).round()
    targets = scores**2 / 10 + noise * generator.normal(size=images)[clusters]
    return Pairs(scores, targets, clusters, [f"m{n % models}" for n in range(images * each)])


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
    found = calibration(pairs, resamples=20)
    assert found["explained"] < 0.02
    assert found["rmse"] == pytest.approx(float(np.sqrt(((unseen - pairs.targets) ** 2).mean())))
    assert (found["n"], found["clusters"], found["folds"]) == (180, 60, 10)


def test_the_map_and_its_intervals_find_a_bent_truth():
    found = calibration(drawn(80, 6, 0.5), resamples=200)
    assert found["explained"] > 0.95
    inside = [knot["ci95"][0] - 0.1 <= knot["score"] ** 2 / 10 <= knot["ci95"][1] + 0.1 for knot in found["map"]]
    assert sum(inside) >= 10
    assert calibration(drawn(7, 6, 0.5), resamples=20) is None, "seven source images are too few"
    flat = drawn(20, 3, 0.0)
    assert calibration(Pairs(flat.scores, np.zeros(60), flat.clusters, flat.edit_models), resamples=20) is None


def test_many_levels_are_given_as_21():
    pairs = drawn(40, 5, 0.1)
    fine = Pairs(
        pairs.scores + np.random.default_rng(0).uniform(0, 0.9, 200), pairs.targets, pairs.clusters, pairs.edit_models
    )
    assert len(calibration(fine, resamples=20)["map"]) == 21


def test_a_bridge_continues_a_table():
    """The old judge alone has scored the edits of a fifth model, partly on images that the new one never saw."""
    pairs = drawn(60, 4, 0.3)
    generator = np.random.default_rng(9)
    scores = generator.uniform(4, 8, 200).round()
    found = bridge(
        pairs, {"old": (scores, np.arange(200) % 100), "none": (np.zeros(0), np.zeros(0, int))}, resamples=300
    )
    row = found["edit_models"]["old"]
    truth = float((scores**2 / 10).mean())
    assert list(found["edit_models"]) == ["old"]
    assert row["n"] == 200
    assert row["before"] == pytest.approx(float(scores.mean()))
    assert row["ci95"][0] < truth < row["ci95"][1]
    assert row["bridged"] == pytest.approx(truth, abs=0.2)
    assert found["off_by"] < 0.1
    assert set(found["held_out"]) == {"m0", "m1", "m2", "m3"}


def test_the_interval_of_a_bridged_mean_is_a_jackknife_over_images():
    """Of 20 images both judges know 12, unevenly; the model has edits on 18."""
    g = np.random.default_rng(10)
    codes = np.r_[np.repeat(np.arange(20), 3), np.arange(6)]
    scores = g.uniform(0, 10, len(codes)).round()
    targets = scores**2 / 10 + g.normal(size=20)[codes]
    both = codes < 12
    pairs = Pairs(scores[both], targets[both], codes[both], ["m"] * int(both.sum()))
    own, on = scores[codes > 1], codes[codes > 1]
    row = bridge(pairs, {"m": (own, on)}, resamples=0)["edit_models"]["m"]

    def theta(without):
        keep = pairs.clusters != without
        return isotonic(pairs.scores[keep], pairs.targets[keep])(own[on != without]).mean()

    known, others = (np.array([theta(image) for image in images]) for images in (range(12), range(12, 20)))
    v1, v2 = ((len(one) - 1) * one.var() for one in (known, others))
    sizes = np.bincount(pairs.clusters)
    freedom = (v1 + v2) ** 2 / (v1**2 / (sizes.sum() ** 2 / (sizes**2).sum() - 1) + v2**2 / 7)
    e = known.mean() - known
    asymmetry = (e**3).sum() / (e**2).sum() ** 1.5 * (v1 / (v1 + v2)) ** 1.5
    assert row["ci95"] == pytest.approx(hull_interval(theta(-1), math.sqrt(v1 + v2), freedom, asymmetry))


def test_few_images_that_decide_leave_a_bridged_mean_without_an_interval():
    pairs = drawn(60, 4, 1.0)
    uneven = np.r_[np.zeros(40, int), np.arange(1, 10)]
    for codes in (np.arange(7), uneven):
        scores = np.linspace(0, 10, len(codes))
        assert bridge(pairs, {"m": (scores, codes)}, resamples=0)["edit_models"]["m"]["ci95"] is None
    certain = drawn(60, 4, 0.0)
    scores = np.tile([2.0, 8.0], 30)
    assert bridge(certain, {"m": (np.full(60, 4.0), np.arange(60))}, resamples=0)["edit_models"]["m"]["ci95"] is None
    assert bridge(certain, {"m": (scores, np.arange(60))}, resamples=0)["edit_models"]["m"]["ci95"] is not None


def test_intervals_of_bridged_means_hold_the_truth():
    """Sixty images make the map, the same ones the table: 95 of 100 intervals are to hold the new judge's true mean."""
    held, runs = 0, 60
    for seed in range(runs):
        pairs = drawn(60, 2, 1.0, seed=seed)
        found = bridge(pairs, {"m": (pairs.scores, pairs.clusters)}, resamples=0)
        low, high = found["edit_models"]["m"]["ci95"]
        levels = np.arange(11)
        mass = np.array([0.05, *[0.1] * 9, 0.05])
        held += low <= float((levels**2 / 10 * mass).sum()) <= high
    assert held / runs >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / runs)


def test_a_model_that_the_judges_see_differently_shows_in_what_is_held_out():
    """The new judge loves one model's style by two points: a bridge fitted to the others cannot know."""
    pairs = drawn(60, 4, 0.1)
    loved = np.array([name == "m0" for name in pairs.edit_models])
    found = bridge(
        Pairs(pairs.scores, pairs.targets + 2.0 * loved, pairs.clusters, pairs.edit_models), {}, resamples=20
    )
    miss = {model: row["bridged"] - row["mean"] for model, row in found["held_out"].items()}
    assert miss["m0"] == pytest.approx(-2.0, abs=0.3)
    assert found["off_by"] > 0.9
    one = Pairs(pairs.scores, pairs.targets, pairs.clusters, ["m"] * len(pairs))
    assert bridge(one, {}, resamples=20)["off_by"] is None


def test_a_model_that_is_not_shown_to_lie_among_those_of_a_bridge_is_beyond_it():
    g = np.random.default_rng(4)
    images = 40
    codes = np.arange(images)
    scores = [g.normal(level, 1.0, images) for level in (4.0, 5.0, 6.0)]
    pairs = Pairs(np.concatenate(scores), np.concatenate(scores), np.tile(codes, 3), np.repeat(["a", "b", "c"], images))
    new = codes + images
    assert beyond(pairs, g.normal(5.0, 1.0, images), new) is None
    assert beyond(pairs, g.normal(6.5, 1.0, images), new) == "above"
    assert beyond(pairs, g.normal(3.5, 1.0, images), new) == "below"
    assert beyond(pairs, scores[2] - 0.1, new) == "above", "the other images could have made that difference"
    assert beyond(pairs, scores[2] - 0.1 + 0.01 * g.normal(size=images), codes) is None, "the same images could not"
    assert [turned("above", sign) for sign in (1, -1)] == ["above", "below"]
    assert turned(None, -1) is None
