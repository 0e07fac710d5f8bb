"""What docs/trust.md claims of other tests and intervals than those of means: failed edits, anchors, a gate, ranks."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

from clustered_designs import DESIGNS, images_of
from edit_eval.plugins.agreement.rank_agreement import EditRanking, Samples, with_interval
from edit_eval.plugins.audit.drift import DRIFT_LEVEL, JudgedTwice, chance_of
from edit_eval.statistics.failure_rates import exchange_p_value, failure_interval
from edit_eval.statistics.intervals import estimate, holm
from edit_eval.statistics.levels import ALPHA
from edit_eval.statistics.raters import Item

Record = Callable[[str, object], None]
RUNS = 1_000
FEW_HOLD_MOST = ("one with half", "two with 80 %")

pytestmark = pytest.mark.chaos


@pytest.fixture
def record(record_property: Record) -> Record:
    """Adds a row to the table at the end of the run."""
    return lambda name, value: record_property("simulated", f"{name:<68} {value}")


def slack(rate: float, runs: int = RUNS) -> float:
    """Three standard errors of a rate in so many draws."""
    return 3 * math.sqrt(rate * (1 - rate) / runs)


def failing(g: np.random.Generator, rates: np.ndarray, images: np.ndarray) -> np.ndarray:
    """1 where the edit failed; each image has its own rate."""
    return (g.random(len(images)) < rates[images]).astype(np.int64)


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.4])
@pytest.mark.parametrize("design", DESIGNS)
def test_failed_edits(design: str, rate: float, record: Record) -> None:
    """Rates that differ between images by a beta distribution with an intraclass correlation of .2."""
    g = np.random.default_rng(31)
    sizes = DESIGNS[design]
    images = images_of(sizes)
    held, called = [], []
    for _ in range(RUNS):
        rates = g.beta(4 * rate, 4 * (1 - rate), len(sizes))
        a, b = failing(g, rates, images), failing(g, rates, images)
        low, high = failure_interval(a.astype(float), images) or (0.0, 1.0)
        held.append(low <= rate <= high)
        called.append(exchange_p_value(a - b, images) <= ALPHA)
    record(f"failed edits, {design}, rate {rate}", f"covers {np.mean(held):.3f}, test calls {np.mean(called):.3f}")
    least = 0.9 if design in FEW_HOLD_MOST else 0.94
    assert np.mean(held) >= least - slack(1 - least)
    assert np.mean(called) <= ALPHA + slack(ALPHA)


WORTH = {"right": 9.2, "copy": 0.6, "dose_50": 5.0, "extra": 6.0}
NOISES: dict[str, Callable[[np.random.Generator, np.ndarray], np.ndarray]] = {
    "normal, .4": lambda g, worth: 0.4 * g.normal(size=(len(worth), 2)),
    ".8 in the middle of the scale, .1 at its ends": lambda g, worth: (
        np.where((worth > 2) & (worth < 8), 0.8, 0.1)[:, None] * g.normal(size=(len(worth), 2))
    ),
    "heavy tails: .3 t with 3 degrees": lambda g, worth: 0.3 * g.standard_t(3, size=(len(worth), 2)),
    "none, 2 in 100 answers jump by 3": lambda g, worth: (
        3.0 * (g.random((len(worth), 2)) < 0.02) * g.choice([-1, 1], (len(worth), 2))
    ),
    ".2, 2 in 100 answers jump by 5": lambda g, worth: (
        0.2 * g.normal(size=(len(worth), 2))
        + 5.0 * (g.random((len(worth), 2)) < 0.02) * g.choice([-1, 1], (len(worth), 2))
    ),
    ".05, 1 in 10 answers a point lower": lambda g, worth: (
        0.05 * g.normal(size=(len(worth), 2)) - (g.random((len(worth), 2)) < 0.1)
    ),
}
DRIFTS = {  # whole numbers or not; a shift of half a point, and scatter of one point, as found
    ("normal, .4", False): (0.89, 0.95),
    ("normal, .4", True): (0.64, 0.66),
    (".8 in the middle of the scale, .1 at its ends", False): (1.00, 1.00),
    (".8 in the middle of the scale, .1 at its ends", True): (0.87, 0.88),
    ("heavy tails: .3 t with 3 degrees", False): (0.87, 0.77),
    ("heavy tails: .3 t with 3 degrees", True): (0.65, 0.43),
    ("none, 2 in 100 answers jump by 3", False): (1.00, 1.00),
    ("none, 2 in 100 answers jump by 3", True): (1.00, 1.00),
    (".2, 2 in 100 answers jump by 5", False): (1.00, 0.97),
    (".2, 2 in 100 answers jump by 5", True): (0.89, 0.65),
    (".05, 1 in 10 answers a point lower", False): (1.00, 1.00),
    (".05, 1 in 10 answers a point lower", True): (0.92, 0.97),
}


def asked_twice(
    g: np.random.Generator, noise: str, whole: bool, of: dict[str, int], shift: float = 0.0, scatter: float = 0.0
) -> list[JudgedTwice]:
    rungs = [rung for rung, count in of.items() for _ in range(count)]
    worth = np.array([WORTH[rung] for rung in rungs])
    scores = (worth + 0.5 * g.normal(size=len(rungs)))[:, None] + NOISES[noise](g, worth)
    scores[:, 1] += shift + scatter * g.normal(size=len(rungs))
    if whole:
        scores = np.clip(np.round(scores), 0, 10)
    return [
        JudgedTwice(str(n), rung, *map(float, both)) for n, (rung, both) in enumerate(zip(rungs, scores, strict=True))
    ]


@pytest.mark.parametrize(("noise", "whole"), DRIFTS)
def test_a_judge_that_has_drifted(noise: str, whole: bool, record: Record) -> None:
    """25 anchors and 150 repeated edits, as an audit of 40 scenes a category has them."""
    g = np.random.default_rng(32)
    anchors, repeated = (
        {"right": 10, "copy": 5, "extra": 2, "dose_50": 8},
        {"right": 50, "copy": 50, "extra": 22, "dose_50": 28},
    )
    seen = []
    for changed, runs in (({}, 2 * RUNS), ({"shift": 0.5}, 300), ({"scatter": 1.0}, 300)):
        called = [
            chance_of(asked_twice(g, noise, whole, anchors, **changed), asked_twice(g, noise, whole, repeated), 1_999)
            < DRIFT_LEVEL
            for _ in range(runs)
        ]
        seen.append(float(np.mean(called)))
    kind = f"anchors, {noise}{', whole numbers' if whole else ''}"
    record(kind, "unchanged {:.3f}, shifted by .5 {:.2f}, scattered by 1 {:.2f}".format(*seen))
    assert seen[0] <= 0.01 + slack(0.01, 2 * RUNS)
    assert seen[1:] == pytest.approx(DRIFTS[noise, whole], abs=0.02 + slack(0.3, 300))


@pytest.mark.parametrize(("columns", "gate", "table"), [(2, 0.90, 0.90), (4, 0.79, 0.73), (8, 0.69, 0.52)])
def test_what_more_columns_cost(columns: int, gate: float, table: float, record: Record) -> None:
    """The last column loses .67 on 50 images; the gate tests pairs with the first, the table all pairs (Holm)."""
    g = np.random.default_rng(33)
    runs, called = 2_000, []
    for _ in range(runs):
        scores = g.normal(size=(columns, 50))
        scores[-1] -= 0.67
        p = {
            (a, b): estimate(scores[a] - scores[b], np.arange(50)).p_value() for a, b in combinations(range(columns), 2)
        }
        with_first = dict(zip(range(1, columns), holm([p[0, b] for b in range(1, columns)]), strict=True))
        every = dict(zip(p, holm(list(p.values())), strict=True))
        called.append((with_first[columns - 1] <= ALPHA, every[0, columns - 1] <= ALPHA))
    seen = np.mean(called, axis=0)
    record(f"a loss of .67 of one of {columns} columns, 50 images", f"gate {seen[0]:.3f}, table {seen[1]:.3f}")
    assert seen == pytest.approx([gate, table], abs=0.01 + slack(0.3, runs))


@pytest.mark.parametrize("images", [20, 50, 100])
@pytest.mark.parametrize("rho", [0.2, 0.5])
def test_spearman_within_models(rho: float, images: int, record: Record) -> None:
    """Three models, three edits an image that are alike within an image; the truth is that of the whole population."""
    g = np.random.default_rng(34)
    truth, runs = 6 / math.pi * math.asin(rho / 2), 300
    names = [f"s{at:04d}" for at in range(3 * images)]
    sources = {name: f"i{at // 3}" for at, name in enumerate(names)}
    held = []
    for _ in range(runs):
        of_a, of_b = {}, {}
        for model in "abc":
            level = np.repeat(g.normal(size=(images, 2)), 3, axis=0)
            a, b = (math.sqrt(0.3) * level + math.sqrt(0.7) * g.normal(size=(3 * images, 2))).T
            b = rho * a + math.sqrt(1 - rho * rho) * b
            of_a |= {Item(model, name, 0): float(x) for name, x in zip(names, a, strict=True)}
            of_b |= {Item(model, name, 0): float(x) for name, x in zip(names, b, strict=True)}
        samples = Samples([of_a], sources, resamples=300)
        low, high = with_interval(EditRanking(of_a, of_b, samples), samples).ci95
        held.append(low <= truth <= high)
    record(f"spearman within three models, {images} images with 3, r {rho}", f"covers {np.mean(held):.3f}")
    assert np.mean(held) >= 0.91 - slack(0.09, runs)
