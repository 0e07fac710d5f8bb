"""What docs/trust.md claims of other tests and intervals than those of means: failed edits, anchors, a gate, ranks."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

from clustered_designs import DESIGNS, images_of
from edit_eval.statistics.agreement import drift
from edit_eval.statistics.failures import exchange_p_value, failure_interval
from edit_eval.statistics.instruments import Item
from edit_eval.statistics.intervals import estimate, holm
from edit_eval.statistics.power import ALPHA
from edit_eval.statistics.rank_agreement import Samples, Within, with_interval

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


@pytest.mark.parametrize(("shift", "found"), [(0.0, 0.01), (0.3, 0.44), (0.4, 0.78), (0.5, 0.95)])
def test_a_judge_that_has_drifted(shift: float, found: float, record: Record) -> None:
    """25 anchors, a judge whose scores of one edit have a standard deviation of .4."""
    g = np.random.default_rng(32)
    called = []
    for _ in range(RUNS):
        before, now = 0.4 * g.normal(size=25), shift + 0.4 * g.normal(size=25)
        one = drift(dict(enumerate(before)), dict(enumerate(now)), 0.4)  # type: ignore[arg-type]
        called.append(one is not None and one.drifted)
    record(f"25 anchors, noise .4, shifted by {shift}", f"calls {np.mean(called):.3f}")
    if shift:
        assert np.mean(called) == pytest.approx(found, abs=slack(found))
    else:
        assert np.mean(called) <= found + slack(found)


@pytest.mark.parametrize(("columns", "gate", "table"), [(2, 0.90, 0.90), (4, 0.79, 0.73), (8, 0.69, 0.52)])
def test_what_more_columns_cost(columns: int, gate: float, table: float, record: Record) -> None:
    """The last column loses .67 on 50 images; the gate tests pairs with the first, the table all pairs (Holm)."""
    g = np.random.default_rng(33)
    runs, found = 2_000, []
    for _ in range(runs):
        scores = g.normal(size=(columns, 50))
        scores[-1] -= 0.67
        p = {
            (a, b): estimate(scores[a] - scores[b], np.arange(50)).p_value() for a, b in combinations(range(columns), 2)
        }
        with_first = dict(zip(range(1, columns), holm([p[0, b] for b in range(1, columns)]), strict=True))
        every = dict(zip(p, holm(list(p.values())), strict=True))
        found.append((with_first[columns - 1] <= ALPHA, every[0, columns - 1] <= ALPHA))
    seen = np.mean(found, axis=0)
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
        one, other = {}, {}
        for model in "abc":
            level = np.repeat(g.normal(size=(images, 2)), 3, axis=0)
            a, b = (math.sqrt(0.3) * level + math.sqrt(0.7) * g.normal(size=(3 * images, 2))).T
            b = rho * a + math.sqrt(1 - rho * rho) * b
            one |= {Item(model, name, 0): float(x) for name, x in zip(names, a, strict=True)}
            other |= {Item(model, name, 0): float(x) for name, x in zip(names, b, strict=True)}
        samples = Samples([one], sources, resamples=300)
        low, high = with_interval(Within(one, other, samples), samples)["ci95"]
        held.append(low <= truth <= high)
    record(f"spearman within three models, {images} images with 3, r {rho}", f"covers {np.mean(held):.3f}")
    assert np.mean(held) >= 0.91 - slack(0.09, runs)
