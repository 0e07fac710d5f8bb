"""The map between two judges, and what it comes to for a model that only one of them has scored."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from agreements import LOSS, UP, drawn, two_judges
from documents import plain
from edit_eval.plugins.agreement.calibration import Pairs, isotonic
from edit_eval.plugins.agreement.two import Agreement, samples_of
from edit_eval.plugins.bridge.bridge import over
from edit_eval.plugins.bridge.mapping import beyond, bridge, turned
from edit_eval.records import Results
from edit_eval.statistics.intervals import hull_interval
from edit_eval.statistics.raters import judges_of


def bridge_over(run: Results, *, resamples: int) -> Any:
    """From `old` to `new`."""
    judges = judges_of(run)
    return plain(over(Agreement(judges["old"], judges["new"], samples_of(run, [judges["old"]], resamples=resamples))))


def test_a_bridge_over_the_models_that_both_have_scored(make_sample, make_results):
    run = two_judges(make_sample, make_results, missing=("d",))
    document = bridge_over(run, resamples=200)
    assert (document["n"], document["clusters"]) == (180, 60)
    gone = document["edit_models"]["d"]
    assert (gone["mean"], gone["scored"], gone["n"]) == (None, 0, 60)
    assert gone["ci95"][0] < gone["before"] + 1.5 < gone["ci95"][1]
    known = document["edit_models"]["a"]
    assert known["scored"] == 60
    assert known["bridged"] == pytest.approx(known["mean"], abs=0.2)


def test_a_bridge_from_a_loss_to_a_score_falls(make_sample, make_results):
    generator = np.random.default_rng(1)
    truth = generator.uniform(0, 10, 80)
    rows = {
        ("m", "old"): [[{"loss": float(10 - value)}] for value in truth],
        ("m", "new"): [[{"score": float(np.clip(value + generator.normal(0, 0.3), 0, 10))}] for value in truth],
    }
    run = make_results([make_sample(n) for n in range(80)], rows, scoring={"old": LOSS, "new": UP})
    document = bridge_over(run, resamples=50)
    scores = [knot["score"] for knot in document["map"]]
    values = [knot["value"] for knot in document["map"]]
    assert scores == sorted(scores)
    assert min(scores) >= 0
    assert values == sorted(values, reverse=True)
    row = document["edit_models"]["m"]
    assert row["before"] == pytest.approx(float(np.mean(10 - truth)))
    assert row["bridged"] == pytest.approx(row["mean"], abs=0.05)


def test_few_images_make_no_bridge(make_sample, make_results):
    assert bridge_over(two_judges(make_sample, make_results, samples=7), resamples=0) is None


def test_a_bridge_continues_a_table():
    """The old judge alone has scored the edits of a fifth model, partly on images that the new one never saw."""
    pairs = drawn(60, 4, 0.3)
    generator = np.random.default_rng(9)
    scores = generator.uniform(4, 8, 200).round()
    score_map = bridge(
        pairs, {"old": (scores, np.arange(200) % 100), "none": (np.zeros(0), np.zeros(0, int))}, resamples=300
    )
    row = score_map.edit_models["old"]
    truth = float((scores**2 / 10).mean())
    assert list(score_map.edit_models) == ["old"]
    assert row.n == 200
    assert row.before == pytest.approx(float(scores.mean()))
    assert row.ci95[0] < truth < row.ci95[1]
    assert row.bridged == pytest.approx(truth, abs=0.2)
    assert score_map.off_by < 0.1
    assert set(score_map.held_out) == {"m0", "m1", "m2", "m3"}


def test_the_interval_of_a_bridged_mean_is_a_jackknife_over_images():
    """Of 20 images both judges know 12, unevenly; the model has edits on 18."""
    g = np.random.default_rng(10)
    codes = np.r_[np.repeat(np.arange(20), 3), np.arange(6)]
    scores = g.uniform(0, 10, len(codes)).round()
    targets = scores**2 / 10 + g.normal(size=20)[codes]
    both = codes < 12
    pairs = Pairs(scores[both], targets[both], codes[both], ["m"] * int(both.sum()))
    own, on = scores[codes > 1], codes[codes > 1]
    row = bridge(pairs, {"m": (own, on)}, resamples=0).edit_models["m"]

    def theta(without):
        keep = pairs.clusters != without
        return isotonic(pairs.scores[keep], pairs.targets[keep])(own[on != without]).mean()

    known, others = (np.array([theta(image) for image in images]) for images in (range(12), range(12, 20)))
    v1, v2 = ((len(means) - 1) * means.var() for means in (known, others))
    sizes = np.bincount(pairs.clusters)
    freedom = (v1 + v2) ** 2 / (v1**2 / (sizes.sum() ** 2 / (sizes**2).sum() - 1) + v2**2 / 7)
    e = known.mean() - known
    asymmetry = (e**3).sum() / (e**2).sum() ** 1.5 * (v1 / (v1 + v2)) ** 1.5
    assert row.ci95 == pytest.approx(hull_interval(theta(-1), math.sqrt(v1 + v2), freedom, asymmetry))


def test_few_images_that_decide_leave_a_bridged_mean_without_an_interval():
    pairs = drawn(60, 4, 1.0)
    uneven = np.r_[np.zeros(40, int), np.arange(1, 10)]
    for codes in (np.arange(7), uneven):
        scores = np.linspace(0, 10, len(codes))
        assert bridge(pairs, {"m": (scores, codes)}, resamples=0).edit_models["m"].ci95 is None
    certain = drawn(60, 4, 0.0)
    scores = np.tile([2.0, 8.0], 30)
    assert bridge(certain, {"m": (np.full(60, 4.0), np.arange(60))}, resamples=0).edit_models["m"].ci95 is None
    assert bridge(certain, {"m": (scores, np.arange(60))}, resamples=0).edit_models["m"].ci95 is not None


def test_intervals_of_bridged_means_hold_the_truth():
    """Sixty images make the map, the same ones the table: 95 of 100 intervals are to hold the new judge's true mean."""
    held, runs = 0, 60
    for seed in range(runs):
        pairs = drawn(60, 2, 1.0, seed=seed)
        score_map = bridge(pairs, {"m": (pairs.scores, pairs.clusters)}, resamples=0)
        low, high = score_map.edit_models["m"].ci95
        levels = np.arange(11)
        mass = np.array([0.05, *[0.1] * 9, 0.05])
        held += low <= float((levels**2 / 10 * mass).sum()) <= high
    assert held / runs >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / runs)


def test_a_model_that_the_judges_see_differently_shows_in_what_is_held_out():
    """The new judge loves one model's style by two points: a bridge fitted to the others cannot know."""
    pairs = drawn(60, 4, 0.1)
    loved = np.array([name == "m0" for name in pairs.edit_models])
    score_map = bridge(
        Pairs(pairs.scores, pairs.targets + 2.0 * loved, pairs.clusters, pairs.edit_models), {}, resamples=20
    )
    miss = {model: row.bridged - row.mean for model, row in score_map.held_out.items()}
    assert miss["m0"] == pytest.approx(-2.0, abs=0.3)
    assert score_map.off_by > 0.9
    one_model = Pairs(pairs.scores, pairs.targets, pairs.clusters, ["m"] * len(pairs))
    assert bridge(one_model, {}, resamples=20).off_by is None


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
