"""The list of samples: which scenario comes where, under which chance."""

from __future__ import annotations

import random

from edit_eval.benchmarks.categories import CATEGORIES
from edit_eval.benchmarks.scenes.scenarios import causal, environmental, physical, referential, social
from edit_eval.benchmarks.scenes.scenarios.stage import Plan, Scenario, Stage

SCENARIOS: dict[str, tuple[Scenario, ...]] = {
    "physical": physical.SCENARIOS,
    "environmental": environmental.SCENARIOS,
    "social": social.SCENARIOS,
    "causal": causal.SCENARIOS,
    "referential": referential.SCENARIOS,
}


def category_of(index: int) -> str:
    """The categories take turns, so that any number of samples is balanced."""
    return CATEGORIES[index % len(CATEGORIES)]


def plan(index: int, seed: int, width: int, height: int) -> Plan:
    """The sample at that place of the benchmark; the same for the same four numbers, whatever the others are."""
    scenarios = SCENARIOS[category_of(index)]
    stage = Stage(random.Random(f"scenes {seed} {index}"), width, height)
    return scenarios[index // len(CATEGORIES) % len(scenarios)](stage)
