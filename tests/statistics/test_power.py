"""How often a gate with a margin lets candidates pass: what docs/gate.md says, simulated, and one small seed of it."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

from edit_eval.records import Scale
from edit_eval.statistics import comparison
from edit_eval.statistics.comparison import compare
from edit_eval.statistics.gate import fewest_images, images_to_show
from edit_eval.statistics.intervals import FEWEST_CLUSTERS, Estimate, estimate
from edit_eval.statistics.power import clusters_needed, detectable_difference
from small_columns import column

PAGE = (Path(__file__).parents[2] / "docs" / "gate.md").read_text("utf-8")
MARGIN = 0.3
LOSSES = (0.0, 0.1, 0.3, 0.5)
SIZES = (100, 150, 300, 600)
TEN = Scale(lowest=0, highest=10)


def passes(images: int, loss: float, seed: int, often: int) -> dict[str, float]:
    """The shares that pass the gate, and two rules of thumb. Differences on an image deviate by 1 point."""
    generator = np.random.default_rng((seed, images, round(100 * loss)))
    passed = {"gate": 0, "mean": 0, "fixed": 0}
    for _ in range(often):
        ease = generator.uniform(3, 8, size=images)
        noise = generator.normal(scale=np.sqrt(0.5), size=(2, images))
        a, b = np.clip(ease + noise[0], 0, 10), np.clip(ease - loss + noise[1], 0, 10)
        passed["gate"] += compare([column("a", a), column("b", b)], margin=MARGIN).gate.passed
        passed["mean"] += bool((b - a).mean() > -0.02)
        passed["fixed"] += bool((b - a).mean() > -MARGIN)
    return {rule: count / often for rule, count in passed.items()}


def shown() -> dict[tuple[int, float], float]:
    """Images and loss -> the share that passes, as the page has it."""
    rows = re.findall(r"^\| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", PAGE, re.M)
    return {(int(row[0]), loss): float(share) for row in rows for loss, share in zip(LOSSES, row[1:], strict=True)}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "detectable_difference", lambda *_, **__: None)  # slow, and not looked at here


def test_as_many_images_as_are_said_suffice() -> None:
    needed = images_to_show(MARGIN, TEN, 1.0)
    assert needed is not None
    assert needed >= fewest_images(MARGIN, TEN) == 99
    assert passes(needed, 0.0, 2, 60)["gate"] > 0.65


@pytest.mark.chaos
@pytest.mark.parametrize("images", SIZES)
def test_the_table_of_the_page(images: int) -> None:
    for loss in LOSSES:
        share = passes(images, loss, 3, 500)["gate"]
        assert share == pytest.approx(shown()[images, loss], abs=0.08), (images, loss, share)
        assert loss < MARGIN or share <= 0.05 + 0.03, "at the margin, or beyond it, at most one in twenty"


@pytest.mark.chaos
def test_as_many_as_are_said_pass_four_times_in_five() -> None:
    needed = images_to_show(MARGIN, TEN, 1.0)
    assert needed is not None
    shares = passes(needed, 0.0, 4, 500)
    assert shares["gate"] == pytest.approx(0.8, abs=0.08)


@pytest.mark.chaos
def test_a_fixed_threshold_does_neither() -> None:
    stopped = re.search(r'"the mean may fall by .02" stops an equally good candidate in (\d+) of 100', PAGE)
    let_through = re.search(r"lets one that is .3 worse through in (\d+) of 100", PAGE)
    assert stopped is not None
    assert let_through is not None
    assert 1 - passes(150, 0.0, 6, 500)["mean"] == pytest.approx(int(stopped[1]) / 100, abs=0.08)
    assert passes(150, 0.3, 6, 500)["fixed"] == pytest.approx(int(let_through[1]) / 100, abs=0.08)


def seen(clusters: int, deviation: float = 2.0) -> Estimate:
    """What as many images with one sample each say."""
    chance = math.sqrt(6 * (clusters - 2) / ((clusters + 1) * (clusters + 3)) / clusters)
    free = clusters - 1
    return Estimate(0.0, deviation / math.sqrt(clusters), free, free, clusters, clusters, 0.0, chance, None)


@pytest.mark.parametrize("images", [8, *(pytest.param(n, marks=pytest.mark.chaos) for n in (10, 30))])
def test_a_difference_of_the_reported_size_is_found_four_times_in_five(images):
    """Reported by one run, looked for by the next, whose skewness of its own may ask for more than Student's t."""
    generator = np.random.default_rng(17)
    clusters = np.repeat(np.arange(images), 2)

    def draw():
        return generator.normal(size=images)[clusters] + generator.normal(size=2 * images)

    rejected = []
    for _ in range(400):
        shift = detectable_difference(estimate(draw(), clusters), 10)
        if shift is not None:  # a skewed draw now and then says nothing
            rejected.append(estimate(shift + draw(), clusters).p_value() <= 0.05)
    assert len(rejected) > 370
    assert np.mean(rejected) == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize("difference", [0.05, 0.2, 1.0, 5.0])
def test_the_number_needed_is_the_smallest_that_is_enough(difference):
    needed = clusters_needed(seen(10_000), difference, 10)
    assert detectable_difference(seen(needed), 10) <= difference * 1.02
    fewer = needed - 1
    assert fewer < FEWEST_CLUSTERS or detectable_difference(seen(fewer), 10) > difference * 0.98


def test_as_many_as_were_seen_show_what_they_could():
    for clusters in (10, 24, 90, 270):
        difference = seen(clusters)
        assert clusters_needed(difference, detectable_difference(difference, 10), 10) == clusters


def test_a_sharper_level_needs_more():
    assert clusters_needed(seen(90), 0.3, 10, alpha=0.005) > clusters_needed(seen(90), 0.3, 10)
    assert clusters_needed(seen(90), 10.0, 10, alpha=0.005) >= FEWEST_CLUSTERS


@pytest.mark.parametrize("difference", [0.0, -1.0, math.inf, math.nan])
def test_a_difference_that_cannot_be_detected_is_refused(difference):
    with pytest.raises(ValueError, match="above 0"):
        clusters_needed(seen(90), difference, 10)


def test_where_the_samples_do_not_say_there_is_no_number():
    single = estimate(np.array([1.0, 2.0]), np.array([0, 0]))
    few = seen(4)
    uneven = estimate(np.random.default_rng(1).normal(size=251), np.repeat(np.arange(30), [135] + [4] * 29))
    assert single.doubt == "one_image"
    assert few.freedom == 3
    assert uneven.freedom < 4
    skewed = estimate(np.array([0.0] * 58 + [-4.6, -4.3]), np.arange(60))
    assert skewed.is_skewed
    for mean in (single, few, uneven, skewed):
        assert detectable_difference(mean, 10) is None
        assert clusters_needed(mean, 1.0, 10) is None
    assert detectable_difference(seen(7), 3, alpha=0.001) is None, "beyond the scale"
    assert clusters_needed(seen(90), 11.0, 10) is None, "nor can any difference be that large"
