"""Drawn scenes with planted noise of known size, through the distances of the gate: how often it calls equal engines
equal, and others not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from edit_eval.plugins.gate.distances import measure_pixels
from edit_eval.plugins.gate.sameness import compare_with_noise
from edit_eval.plugins.scenes.in_worker.benchmark import picture_of
from edit_eval.plugins.scenes.in_worker.edits import apply
from edit_eval.plugins.scenes.in_worker.scenarios import plan

PICTURES = 100
DECIDE = ("delta_e", "mean")
Engine = Callable[[int, np.ndarray, np.random.Generator], np.ndarray]
"""Of a scene's number and its right edit, what an engine makes of it."""


@pytest.fixture(scope="module")
def scenes() -> list[np.ndarray]:
    drawn = []
    for number in range(PICTURES):
        planned = plan(number, 0, 64, 48)
        drawn.append(np.asarray(picture_of(apply(planned.scene, planned.edit)).convert("RGB")).astype(float))
    return drawn


def noisy(deviation: float, spread: float = 0.0, share: float = 1.0) -> Engine:
    """Normal noise in every pixel: of that deviation (levels), in each picture by a factor of its own, in a share."""

    def draw(number: int, edit: np.ndarray, chance: np.random.Generator) -> np.ndarray:
        own = np.random.default_rng(number)
        if own.random() >= share or (share < 1 and chance.random() < 0.5):
            return edit
        return edit + chance.normal(0, deviation * np.exp(spread * own.normal()), edit.shape)

    return draw


def moved(engine: Engine, share: float) -> Engine:
    """The same with a patch that is another, in a share of the pictures."""

    def draw(number: int, edit: np.ndarray, chance: np.random.Generator) -> np.ndarray:
        made = engine(number, edit, chance).copy()
        if number % PICTURES < share * PICTURES:
            made[10:20, 10:20] = 255 - made[10:20, 10:20]
        return made

    return draw


def share_of_same(scenes: list[np.ndarray], reference: Engine, candidate: Engine, gates: int) -> float:
    chance = np.random.default_rng(5)
    same = 0
    for _ in range(gates):
        apart: dict[str, list[list[float]]] = {name: [[], []] for name in DECIDE}
        for number, edit in enumerate(scenes):
            first, again, other = (
                np.clip(np.round(engine(number, edit, chance)), 0, 255).astype(np.uint8)
                for engine in (reference, reference, candidate)
            )
            for place, picture in enumerate((other, again)):
                distances = measure_pixels(first, picture)
                for name in DECIDE:
                    apart[name][place].append(distances[name])
        same += all(test.passes for each in apart.values() for test in compare_with_noise(*np.array(each)))
    return same / gates


EQUAL = {"even": noisy(2.0), "by picture": noisy(2.0, spread=1.0), "in one of three": noisy(4.0, share=0.33)}
OTHER = {
    "half as much again": (noisy(2.0), noisy(3.0)),
    "half as much again, by picture": (noisy(2.0, spread=1.0), noisy(3.0, spread=1.0)),
    "another patch in a quarter": (noisy(2.0), moved(noisy(2.0), 0.25)),
    "noise where the reference has none": (noisy(4.0, share=0.33), noisy(4.0, share=0.9)),
}


@pytest.mark.check
@pytest.mark.parametrize("name", EQUAL)
def test_equal_engines_with_noise_are_the_same(scenes: list[np.ndarray], name: str) -> None:
    assert share_of_same(scenes, EQUAL[name], EQUAL[name], 30) >= 0.9


@pytest.mark.chaos
@pytest.mark.parametrize("name", EQUAL)
def test_equal_engines_are_the_same_in_many_gates(scenes: list[np.ndarray], name: str) -> None:
    assert share_of_same(scenes, EQUAL[name], EQUAL[name], 300) >= 0.94


@pytest.mark.check
@pytest.mark.parametrize("name", OTHER)
def test_engines_with_more_are_not(scenes: list[np.ndarray], name: str) -> None:
    assert share_of_same(scenes, *OTHER[name], 20) <= 0.1
