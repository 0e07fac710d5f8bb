"""The list of samples: which scenario comes where, under which chance."""

from __future__ import annotations

import random
from inspect import isfunction
from types import ModuleType

from edit_eval.benchmarks.contract import CATEGORIES
from edit_eval.scenes.scenarios import causal, environmental, physical, referential, social
from edit_eval.scenes.scenarios.stage import Plan, Scenario, Stage


def _scenarios(module: ModuleType) -> tuple[Scenario, ...]:
    """The module's own public functions, as they stand there one after the other: the order of the benchmark."""
    own = (it for it in vars(module).values() if isfunction(it) and it.__module__ == module.__name__)
    return tuple(it for it in own if not it.__name__.startswith("_"))


SCENARIOS = {
    "physical": _scenarios(physical),
    "environmental": _scenarios(environmental),
    "social": _scenarios(social),
    "causal": _scenarios(causal),
    "referential": _scenarios(referential),
}


def category_of(index: int) -> str:
    """The categories take turns, so that any number of samples is balanced."""
    return CATEGORIES[index % len(CATEGORIES)]


def plan(index: int, seed: int, width: int, height: int) -> Plan:
    """The sample at that place of the benchmark; the same for the same four numbers, whatever the others are."""
    scenarios = SCENARIOS[category_of(index)]
    stage = Stage(random.Random(f"scenes {seed} {index}"), width, height)
    return scenarios[index // len(CATEGORIES) % len(scenarios)](stage)
