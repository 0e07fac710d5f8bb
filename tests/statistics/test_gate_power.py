"""How often a gate with a margin lets candidates pass: what docs/gate.md says, simulated, and one small seed of it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from edit_eval.records import Scale
from edit_eval.statistics import comparison
from edit_eval.statistics.comparison import compare
from edit_eval.statistics.gate import fewest_images, images_to_show
from small_columns import column

PAGE = (Path(__file__).parents[2] / "docs" / "gate.md").read_text("utf-8")
MARGIN = 0.3
LOSSES = (0.0, 0.1, 0.3, 0.5)
SIZES = (100, 150, 300, 600)
TEN = Scale(lowest=0, highest=10)


def passes(images: int, loss: float, seed: int, often: int) -> dict[str, float]:
    """The shares that pass the gate, and two rules of thumb. Differences on an image deviate by 1 point."""
    generator = np.random.default_rng((seed, images, round(100 * loss)))
    found = {"gate": 0, "mean": 0, "fixed": 0}
    for _ in range(often):
        ease = generator.uniform(3, 8, size=images)
        noise = generator.normal(scale=np.sqrt(0.5), size=(2, images))
        a, b = np.clip(ease + noise[0], 0, 10), np.clip(ease - loss + noise[1], 0, 10)
        found["gate"] += compare([column("a", a), column("b", b)], margin=MARGIN).gate.passed
        found["mean"] += bool((b - a).mean() > -0.02)
        found["fixed"] += bool((b - a).mean() > -MARGIN)
    return {rule: count / often for rule, count in found.items()}


def shown() -> dict[tuple[int, float], float]:
    """Images and loss -> the share that passes, as the page has it."""
    rows = re.findall(r"^\| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", PAGE, re.M)
    return {(int(row[0]), loss): float(share) for row in rows for loss, share in zip(LOSSES, row[1:], strict=True)}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "detectable_difference", lambda *_, **__: None)  # slow, and not looked at here


def test_a_few_of_the_page() -> None:
    assert len(shown()) == len(SIZES) * len(LOSSES)
    for images, loss in ((150, 0.0), (150, 0.5)):
        assert passes(images, loss, 1, 40)["gate"] == pytest.approx(shown()[images, loss], abs=0.2)


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
    found = passes(needed, 0.0, 4, 500)
    assert found["gate"] == pytest.approx(0.8, abs=0.08)


@pytest.mark.chaos
def test_a_fixed_threshold_does_neither() -> None:
    stopped = re.search(r'"the mean may fall by .02" stops an equally good candidate in (\d+) of 100', PAGE)
    let_through = re.search(r"lets one that is .3 worse through in (\d+) of 100", PAGE)
    assert stopped is not None
    assert let_through is not None
    assert 1 - passes(150, 0.0, 6, 500)["mean"] == pytest.approx(int(stopped[1]) / 100, abs=0.08)
    assert passes(150, 0.3, 6, 500)["fixed"] == pytest.approx(int(let_through[1]) / 100, abs=0.08)
