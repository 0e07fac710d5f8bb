"""What the intervals of agreement hold: the order of edit models, Krippendorff's alpha, a calibration and a bridge.

A few draws in `make test`; `make chaos` draws more and prints the table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from edit_eval.plugins.agreement.bridge import cross_validate_models, find_uncovered_side, predict_mean
from edit_eval.plugins.agreement.calibration import Pairs, calibration, isotonic
from edit_eval.plugins.agreement.rank_agreement import Samples
from edit_eval.plugins.agreement.two_raters import Agreement
from edit_eval.records import Scale
from edit_eval.statistics.intervals import bootstrap_interval
from edit_eval.statistics.ordinal import OrdinalRatings
from edit_eval.statistics.raters import Item, Rater

Record = Callable[[str, object], None]
MODELS = 8
FEW, MANY = 10, 120
RUNS = [FEW, pytest.param(MANY, marks=pytest.mark.chaos)]
IMAGES = [20, 50, 100]


@pytest.fixture
def record(record_property: Record) -> Record:
    """Adds a row to the table at the end of the run."""
    return lambda name, value: record_property("simulated", f"{name:<68} {value}")


def slack(rate: float, runs: int) -> float:
    """Three standard errors of a rate in so many draws."""
    return 3 * math.sqrt(rate * (1 - rate) / runs)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("turned", [0, 3, pytest.param(8, marks=pytest.mark.chaos)])
@pytest.mark.parametrize("spacing", [0.21, *(pytest.param(far, marks=pytest.mark.chaos) for far in (0.043, 0.8))])
@pytest.mark.parametrize("images", [50, pytest.param(179, marks=pytest.mark.chaos)])
def test_the_pairs_of_models_that_are_ordered_alike(images, spacing, turned, runs, record):
    """Models so far apart, in the same true order for both raters, or the first few of them turned round."""
    g = np.random.default_rng(21)
    order = np.r_[np.arange(MODELS)[:turned][::-1], np.arange(turned, MODELS)]
    truth = 1 - math.comb(turned, 2) / math.comb(MODELS, 2)
    held, lows = [], []
    for _ in range(runs):
        shared = g.normal(size=(2, images))
        first, second = (
            {
                Item(f"m{model}", f"s{at:04d}", 0): [float(spacing * place[model] + shared[side, at] + g.normal())]
                for model in range(MODELS)
                for at in range(images)
            }
            for side, place in enumerate((np.arange(MODELS), order))
        )
        both = [Rater(name, "asked", "score", Scale(), of) for name, of in (("a", first), ("b", second))]
        low, high = Agreement(both[0], both[1], Samples([first], resamples=0)).pairs_alike().ci95
        held.append(low - 1e-9 <= truth <= high + 1e-9)
        lows.append(high - low)
    record(
        f"pairs alike, {images} images, {spacing} apart, {turned} turned",
        f"covers {np.mean(held):.3f}, mean width {np.mean(lows):.2f}",
    )
    assert np.mean(held) >= 0.95 - slack(0.05, runs)


def edits(g: np.random.Generator, images: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two judges' whole scores of three edits an image, alike within an image."""
    codes = np.repeat(np.arange(images), 3)
    worth = 5.5 + 1.5 * g.normal(size=images)[codes] + 1.5 * g.normal(size=3 * images)
    first, second = (np.clip(np.round(worth + 1.5 * g.normal(size=3 * images)), 1, 10) for _ in range(2))
    return first, second, codes


@pytest.mark.chaos
@pytest.mark.parametrize("images", IMAGES)
def test_krippendorffs_alpha(images, record):
    first, second, _ = edits(np.random.default_rng(22), 20_000)
    truth = OrdinalRatings(np.stack([first, second], axis=1)).alpha(np.ones(len(first)))
    g = np.random.default_rng(23)
    held = []
    for _ in range(MANY):
        first, second, codes = edits(g, images)
        low, high = bootstrap_interval(OrdinalRatings(np.stack([first, second], axis=1)).alpha, codes, resamples=300)
        held.append(low <= truth <= high)
    record(f"Krippendorff's alpha, {images} images", f"covers {np.mean(held):.3f}")
    assert np.mean(held) >= 0.9 - slack(0.1, MANY)


@pytest.mark.chaos
@pytest.mark.parametrize("images", IMAGES)
def test_the_map_of_a_calibration(images, record):
    """At each score."""
    first, second, _ = edits(np.random.default_rng(24), 20_000)
    truth = isotonic(first, second)(np.arange(1.0, 11.0))
    g = np.random.default_rng(25)
    at = []
    for _ in range(MANY):
        first, second, codes = edits(g, images)
        calibrated = calibration(Pairs(first, second, codes, ["m"] * len(first)), resamples=200)
        for knot in calibrated.map:
            low, high = knot.ci95 or (math.nan, math.nan)
            at.append((3 <= knot.score <= 8, low <= truth[int(knot.score) - 1] <= high))
    inner = [held for middle, held in at if middle]
    outer = [held for middle, held in at if not middle]
    record(
        f"calibration, {images} images", f"covers {np.mean(inner):.3f} from 3 to 8, {np.mean(outer):.3f} at the ends"
    )
    assert np.mean(inner) >= 0.9 - slack(0.1, MANY)


def two_judges(
    g: np.random.Generator, models: int, images: int, better: float | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """What an old judge and a new one give each model's edit of each image: each has a curve, noise of a point, and a
    taste for a model of a fifth of a point. The last model may be that much `better` than the best of the others."""
    levels = 5.5 + g.normal(0, 0.8, (models, 1))
    if better is not None:
        levels[-1] = levels[:-1].max() + better
    worth = levels + g.normal(0, 1.2, images) + g.normal(0, 1.0, (models, images))
    old, new = (
        np.clip(np.round(curve + g.normal(0, 0.2, (models, 1)) + g.normal(0, 1.0, worth.shape), 1), 0, 10)
        for curve in (worth, 1.5 + 0.8 * worth)
    )
    return old, new


PAGE = (Path(__file__).parents[3] / "docs" / "bridge.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("models", "images", "runs"),
    [(4, 50, FEW), *(pytest.param(m, n, 200, marks=pytest.mark.chaos) for m in (3, 4, 6, 8) for n in (50, 100, 200))],
)
def test_a_run_told_on_the_scale_of_a_judge_that_never_saw_it(models, images, runs, record):
    """The interval holds what the old judge would have said of one model more; how wide it is, docs/bridge.md says."""
    g = np.random.default_rng((1, models, images))
    held, half = [], []
    for _ in range(runs):
        old, new = two_judges(g, models + 1, images)
        codes = np.arange(images)
        names = [f"m{model}" for model in range(models) for _ in range(images)]
        pairs = Pairs(new[:models].ravel(), old[:models].ravel(), np.tile(codes, models), names)
        _, (low, high) = predict_mean(pairs, new[models], codes, cross_validate_models(pairs))
        held.append(low <= old[models].mean() <= high)
        half.append((high - low) / 2)
    record(f"translated mean, {models} models, {images} images", f"covers {np.mean(held):.3f}")
    assert np.mean(held) >= 0.95 - slack(0.05, runs)
    rows = dict(re.findall(r"^\| (\d+) \| (.*) \|$", PAGE, re.M))
    shown = float(rows[str(models)].split(" | ")[(50, 100, 200).index(images)].strip("±"))
    assert runs == FEW or np.median(half) == pytest.approx(shown, rel=0.15)


@pytest.mark.parametrize(
    ("better", "bias", "warned"), [(-1.0, 0.04, 0.1), (0.0, -0.25, 0.84), (0.5, -0.40, 0.99), (1.0, -0.59, 1.0)]
)
@pytest.mark.parametrize("runs", [pytest.param(200, marks=pytest.mark.chaos), 20])
def test_a_model_that_is_better_than_all_that_a_bridge_has_seen_is_warned_of(better, bias, warned, runs, record):
    """docs/bridge.md has the figures. Its single scores have nearly all been seen."""
    g = np.random.default_rng((2, round(10 * better) + 10))
    off, above, outside = [], [], []
    for _ in range(runs):
        old, new = two_judges(g, 5, 50, better)
        codes = np.arange(50)
        names = [f"m{model}" for model in range(4) for _ in range(50)]
        pairs = Pairs(new[:4].ravel(), old[:4].ravel(), np.tile(codes, 4), names)
        value, _ = predict_mean(pairs, new[4], codes, cross_validate_models(pairs))
        off.append(value - old[4].mean())
        above.append(find_uncovered_side(pairs, new[4], codes) == "above")
        outside.append(((new[4] < pairs.scores.min()) | (new[4] > pairs.scores.max())).mean())
    seen = f"off by {np.mean(off):+.2f}, warned {np.mean(above):.2f}, scores not seen {np.mean(outside):.3f}"
    record(f"bridge of 4 models, 50 images; one {better:+g} against their best", seen)
    assert np.mean(off) == pytest.approx(bias, abs=0.05 + 3 * np.std(off) / math.sqrt(runs))
    assert np.mean(above) == pytest.approx(warned, abs=0.06 + slack(max(0.05, warned * (1 - warned)), runs))
