"""The map between two judges, and what it comes to for a model that only one of them has scored."""

from __future__ import annotations

import math

import numpy as np
import pytest

from agreements import drawn
from edit_eval.plugins.agreement.bridge import (
    _translated,
    beyond,
    held_out_models,
    image_error,
    off_by,
    predicted_mean,
)
from edit_eval.plugins.agreement.calibration import Pairs, isotonic
from edit_eval.records import Scale
from edit_eval.statistics.intervals import hull_interval


def interval_over_images(pairs: Pairs, scores: np.ndarray, clusters: np.ndarray) -> tuple[float, float] | None:
    """Of the mean of a model that is like those of the pairs."""
    whole = isotonic(pairs.scores, pairs.targets)
    error = image_error(pairs, scores, clusters, whole)
    return None if error is None else tuple(error.interval(float(whole(scores).mean())))


def test_a_bridge_continues_a_table() -> None:
    """The old judge alone has scored the edits of a fifth model, partly on images that the new one never saw."""
    pairs = drawn(60, 4, 0.3)
    scores = np.random.default_rng(9).uniform(4, 8, 200).round()
    truth, out = float((scores**2 / 10).mean()), held_out_models(pairs)
    value, ci95 = predicted_mean(pairs, scores, np.arange(200) % 100, out)
    assert value == pytest.approx(truth, abs=0.2)
    assert ci95[0] < truth < ci95[1]
    assert off_by(out) < 0.1
    assert set(out) == {"m0", "m1", "m2", "m3"}
    fewer = Pairs(pairs.scores, pairs.targets, pairs.clusters, [f"m{name[-1] > '1'}" for name in pairs.edit_models])
    assert predicted_mean(fewer, scores, np.arange(200) % 100, held_out_models(fewer))[1] is None, "two models"


def test_a_loss_is_translated_to_a_score() -> None:
    """Which falls where it rises: the map is fitted to losses that are turned."""
    g = np.random.default_rng(1)
    truth, models = g.uniform(2, 8, (4, 40)), ["a", "b", "c", "d"]
    codes = np.tile(np.arange(40), 4)
    pairs = Pairs(-(10 - truth.ravel()), truth.ravel(), codes, [model for model in models for _ in range(40)])
    better = np.full(40, 1.0) + g.normal(0, 0.2, 40)  # a loss below all, which is better than all
    row = _translated(pairs, -1.0, better, np.arange(40), held_out_models(pairs), Scale(lowest=0.0, highest=10.0), 41)
    assert (row.n, row.total, row.beyond) == (40, 41, "below")
    assert row.before == pytest.approx(1.0, abs=0.1)
    assert row.value == pytest.approx(8.0, abs=0.2)
    assert row.ci95[0] < row.value < row.ci95[1] <= 10
    assert row.outside == 1.0


def test_the_interval_is_a_jackknife_over_images_with_the_error_for_a_model() -> None:
    """Of 20 images both judges know 12, unevenly; the model has edits on 18."""
    g = np.random.default_rng(10)
    codes = np.r_[np.repeat(np.arange(20), 3), np.arange(6)]
    scores = g.uniform(0, 10, len(codes)).round()
    targets = scores**2 / 10 + g.normal(size=20)[codes]
    both = codes < 12
    names = [f"m{n % 4}" for n in range(int(both.sum()))]
    pairs = Pairs(scores[both], targets[both], codes[both], names)
    own, on = scores[codes > 1], codes[codes > 1]

    def theta(without: int) -> float:
        keep = pairs.clusters != without
        return float(isotonic(pairs.scores[keep], pairs.targets[keep])(own[on != without]).mean())

    known, others = (np.array([theta(image) for image in images]) for images in (range(12), range(12, 20)))
    v1, v2 = ((len(means) - 1) * means.var() for means in (known, others))
    sizes = np.bincount(pairs.clusters)
    freedom = (v1 + v2) ** 2 / (v1**2 / (sizes.sum() ** 2 / (sizes**2).sum() - 1) + v2**2 / 7)
    e = known.mean() - known
    asymmetry = (e**3).sum() / (e**2).sum() ** 1.5 * (v1 / (v1 + v2)) ** 1.5
    expected = hull_interval(theta(-1), math.sqrt(v1 + v2), freedom, asymmetry)
    assert interval_over_images(pairs, own, on) == pytest.approx(expected)
    out = held_out_models(pairs)
    value, ci95 = predicted_mean(pairs, own, on, out)
    square = v1 + v2 + off_by(out) ** 2
    more = square**2 / ((v1 + v2) ** 2 / freedom + off_by(out) ** 4 / 4)
    wider = hull_interval(value, math.sqrt(square), more, asymmetry * ((v1 + v2) / square) ** 1.5)
    assert ci95 == pytest.approx(wider)


def test_few_images_that_decide_leave_no_interval() -> None:
    pairs, certain = drawn(60, 4, 1.0), drawn(60, 4, 0.0)
    for codes in (np.arange(7), np.r_[np.zeros(40, int), np.arange(1, 10)]):
        assert interval_over_images(pairs, np.linspace(0, 10, len(codes)), codes) is None
    assert interval_over_images(certain, np.full(60, 4.0), np.arange(60)) is None
    assert interval_over_images(certain, np.tile([2.0, 8.0], 30), np.arange(60)) is not None


def test_intervals_over_images_hold_the_truth() -> None:
    """Sixty images make the map, the same ones the table: 95 of 100 intervals are to hold the new judge's true mean."""
    held, runs = 0, 60
    for seed in range(runs):
        pairs = drawn(60, 2, 1.0, seed=seed)
        low, high = interval_over_images(pairs, pairs.scores, pairs.clusters) or (0.0, 0.0)
        mass = np.array([0.05, *[0.1] * 9, 0.05])
        held += low <= float((np.arange(11) ** 2 / 10 * mass).sum()) <= high
    assert held / runs >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / runs)


def test_a_model_that_the_judges_see_differently_shows_in_what_is_held_out() -> None:
    """The new judge loves one model's style by two points: a bridge fitted to the others cannot know."""
    pairs = drawn(60, 4, 0.1)
    loved = np.array([name == "m0" for name in pairs.edit_models])
    out = held_out_models(Pairs(pairs.scores, pairs.targets + 2.0 * loved, pairs.clusters, pairs.edit_models))
    assert out["m0"].bridged - out["m0"].mean == pytest.approx(-2.0, abs=0.3)
    assert (off_by(out) or 0.0) > 0.9
    assert off_by(held_out_models(Pairs(pairs.scores, pairs.targets, pairs.clusters, ["m"] * len(pairs)))) is None


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
