"""bench/hostile.py: what is printed where all models are alike; many draws behind `chaos`, a few of each row here."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from documents import plain

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture
def hostile(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("hostile")


SHORT = (
    "scores, 3 models, 30 images, whole numbers",
    "battles, 4 models, 20 images, all",
    "votes, 3 models, 150 by one person",
)


@pytest.mark.parametrize("name", SHORT)
def test_equal_models_are_seldom_told_apart(hostile: Any, name: str) -> None:
    """Of 20 at .05, more than 5 come three times in ten thousand."""
    (row,) = (row for row in hostile.ROWS if row.name == name)
    share, count = hostile.measured(row, 20)
    assert count == 20
    assert share <= 5 / 20


@pytest.mark.chaos
def test_every_row_is_as_wanted(hostile: Any, record_property: Callable[[str, object], None]) -> None:
    measured = [(row, *hostile.measured(row, 80)) for row in hostile.ROWS]
    record_property("simulated", hostile.table_of(measured))
    above = {row.name: share for row, share, count in measured if share > 0.05 + 3.5 * math.sqrt(0.05 * 0.95 / count)}
    assert not above


def test_the_bench_sees_one_that_is_better(hostile: Any) -> None:
    """Were it blind, every row would be 0."""
    design = hostile.Battles(4, (1,) * 60)
    samples, names = hostile.samples_of(design.sizes), ["a", "b", "c", "d"]
    chance = np.random.default_rng(1)
    quality = np.array([1.5, 0.0, 0.0, 0.0])
    battles = [
        design._battle(chance, sample, names, a, b, quality) for sample in samples for a in range(4) for b in range(a)
    ]
    assert hostile.someone_is_better(hostile.run_of(samples, names, battles=battles))


@pytest.mark.parametrize(
    ("side", "ties", "says"),
    [
        (99.0, 0.0, "It answers A whatever is shown: 120 of 120 battles are contradictions."),
        (-99.0, 0.0, "It answers B whatever is shown: 120 of 120 battles are contradictions."),
        (0.0, 1.1, "It finds every two edits equally good: 120 of 120 battles are ties."),
    ],
)
def test_nothing_known_is_not_certainty(hostile: Any, side: float, ties: float, says: str) -> None:
    """A judge that never prefers an edit: no strength, interval, rank or leader, and what it does is said."""
    results = hostile.Battles(3, (1,) * 40, side=side, ties=ties).draw(np.random.default_rng(1))
    document, lines = hostile.printed(results)
    overall = plain(document)["battles"]["arena"]["scores"]["overall"]
    for row in overall["strengths"]:
        assert (row["strength"], row["ci95"], row["rank"], row["no_ci95"]) == (None, None, None, "no_preference")
    assert all((row["ci95"], row["p"], row["better"]) == (None, None, None) for row in overall["differences"])
    assert lines[0] == says
    assert not any("leads" in line or "won" in line or "A rank is" in line for line in lines)
    low, high = overall["contradictions"]["ci95"]
    assert (low > 0.9, high < 0.1) == (not ties, bool(ties))


def test_contradictions_of_one_image_are_not_those_of_many(hostile: Any) -> None:
    """The interval of 240 battles on 24 images is wider than that of as many independent ones."""
    results = hostile.Battles(5, (1,) * 24, own=2.5, side=1.0).draw(np.random.default_rng(2))
    document, _ = hostile.printed(results)
    told = plain(document)["battles"]["arena"]["scores"]["overall"]["contradictions"]
    independent = 2 * 1.96 * math.sqrt(told["share"] * (1 - told["share"]) / 240)
    assert told["ci95"][1] - told["ci95"][0] > 1.1 * independent
    of_one_image = replace(results, battles=tuple(battle for battle in results.battles if battle.sample_id == "s0000"))
    document, _ = hostile.printed(of_one_image)
    assert plain(document)["battles"]["arena"]["scores"]["overall"]["contradictions"]["ci95"] is None, "one image"
