"""What is reserved before it is ordered, what is charged after, and that the limit holds whatever happens."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from edit_eval.execution.contract import Price
from edit_eval.execution.engine.cost_budget import CostBudget
from edit_eval.records import Spent
from edit_eval.scheduling.tasks import Task
from edit_eval.store.journal import Damage
from edit_eval.store.timeline import read_timeline

EDIT = {"kind": "edit"}
QUESTION = {"kind": "judge", "requests": [{"system": "", "user": "x" * 800, "pictures": [1, 2]}]}


def spent_in(events: Sequence[dict[str, Any]]) -> tuple[Spent, ...]:
    """What the events of a run come to; none of them is damage."""
    directory = directory_of(events)
    spent = read_timeline(directory).spent
    assert not directory.damage.total
    return spent


def directory_of(events: Sequence[dict[str, Any]]) -> Any:
    """A run directory as far as its events are read."""
    return SimpleNamespace(path=Path("run"), damage=Damage(), read={"events": events}.__getitem__)


def task(number: int, model: str = "edit:api") -> Task:
    return Task(number, model, (number,))


def purse(events: list[dict[str, Any]], limit: float | None, *prices: Price, start: int = 1) -> CostBudget:
    def record(name: str, **fields: Any) -> None:
        events.append({"event": name, "start": start, **fields})

    named = {"edit:api": prices[0], **({"judge:asked": prices[1]} if len(prices) > 1 else {})}
    return CostBudget(named, limit, spent_in(events), record)


A, B = "identity of a", "identity of b"


@pytest.mark.parametrize(
    ("now", "bills"),
    [
        ({"edit:a": A, "edit:b": B}, {"edit:a": 1.0, "edit:b": 2.0}),
        ({"edit:a": B, "edit:b": A}, {"edit:b": 1.0, "edit:a": 2.0}),
        ({"edit:c": A}, {"edit:c": 1.0, "edit:b": 2.0}),
        ({"edit:a": B}, {"edit:a (before)": 1.0, "edit:a": 2.0}),
        ({}, {"edit:a": 1.0, "edit:b": 2.0}),
    ],
)
def test_what_was_paid_stays_with_the_model_and_not_with_its_name(now: dict[str, str], bills: dict[str, float]) -> None:
    events = [
        {
            "event": "charged",
            "start": 1,
            "task": 1,
            "model": name,
            "identity": whose,
            "usd": usd,
            "attempts": 1,
            "told": True,
        }
        for name, whose, usd in (("edit:a", A, 1.0), ("edit:b", B, 2.0))
    ]
    assert {bill.model: bill.usd for bill in read_timeline(directory_of(events), now).spent} == bills


@pytest.mark.parametrize("seed", range(20))
def test_the_limit_holds_under_concurrency_and_kills(seed: int) -> None:
    """Many starts, each killed at a random moment, with what was really charged beside it."""
    draw = random.Random(seed)
    events: list[dict[str, Any]] = []
    really, limit, price = 0.0, 2.0, Price(usual=0.04, most=0.12)
    for start in range(1, 8):
        mine, under_way = purse(events, limit, price, start=start), dict[int, Task]()
        for number in range(draw.randrange(30)):
            work = task(number)
            if mine.reserve_cost(work, EDIT):
                under_way[number] = work
            if len(under_way) > 4 or not mine.reserve_cost(task(-1), EDIT):
                for done in list(under_way.values())[: draw.randrange(1, 4)]:
                    cost = draw.choice((0.0, 0.04, 0.08, 0.12))
                    really += cost
                    mine.settle(done, {"charged": {"usd": cost, "told": True, "attempts": 1}})
                    del under_way[done.number]
            else:
                mine.release_cost(task(-1))
        really += sum(draw.choice((0.0, 0.04, 0.12)) for _ in under_way)  # killed: some were charged
        assert really <= limit + 1e-9
    (spent,) = spent_in(events)
    assert spent.usd + spent.feared >= really - 1e-9


def test_what_does_not_fit_waits_for_what_is_under_way() -> None:
    events: list[dict[str, Any]] = []
    mine = purse(events, 0.2, Price(usual=0.05, most=0.1))
    assert mine.reserve_cost(task(1), EDIT)
    assert mine.reserve_cost(task(2), EDIT)
    assert not mine.reserve_cost(task(3), EDIT)
    assert mine.has_reservations
    mine.settle(task(1), {"charged": {"usd": 0.05, "told": False, "attempts": 1}})
    assert not mine.reserve_cost(task(3), EDIT)
    mine.settle(task(2), {"charged": {"usd": 0.05, "told": False, "attempts": 1}})
    assert mine.reserve_cost(task(3), EDIT)
    assert spent_in(events)[0].usd == pytest.approx(0.1)
    assert spent_in(events)[0].feared == pytest.approx(0.1)


def test_an_edit_that_was_dearer_than_its_price_raises_what_the_next_reserves() -> None:
    mine = purse([], 1.0, Price(usual=0.1, most=0.1))
    mine.reserve_cost(task(1), EDIT)
    mine.settle(task(1), {"charged": {"usd": 0.7, "told": True, "attempts": 1}})
    assert not mine.reserve_cost(task(2), EDIT)


def test_a_judge_is_charged_its_tokens_and_what_came_to_nothing() -> None:
    price = Price(read=2.0, written=10.0, longest=512, attempts=6, load=0.01)
    most = (800 + 10_000 + 200) * 2e-6 + 512 * 1e-5
    assert price.most_of(QUESTION) == pytest.approx(6 * most)
    answered = price.cost_of(QUESTION, {"results": [{"text": "7", "tokens": [2000, 3]}], "charged": {"lost": 1}})
    assert answered == (pytest.approx(most + 2000 * 2e-6 + 3 * 1e-5), False, 2)
    uncounted = price.cost_of(QUESTION, {"results": [{"text": "7"}], "charged": {"lost": 0}})
    assert uncounted == (pytest.approx(most), False, 1)
    events: list[dict[str, Any]] = []
    mine = purse(events, 0.02, Price(), price)
    assert mine.charge_load("judge:asked")
    assert mine.charge_load("judge:asked")
    assert not mine.charge_load("judge:asked")
    assert spent_in(events)[0].usd == pytest.approx(0.02)


def test_models_without_a_price_cost_nothing() -> None:
    events: list[dict[str, Any]] = []
    mine = purse(events, 0.0, Price())
    assert mine.reserve_cost(task(1, "edit:local"), EDIT)
    assert mine.charge_load("edit:local")
    assert not events


def test_what_a_provider_tells_counts_without_a_known_price() -> None:
    """A proxy may know what our table does not; one of our own servers says nothing, and costs nothing."""
    events: list[dict[str, Any]] = []
    mine = purse(events, 1.0, Price(usual=0.05, most=0.1))
    unknown = task(1, "edit:proxy")
    assert mine.reserve_cost(unknown, EDIT)
    mine.settle(unknown, {"charged": {"usd": 0.0, "told": False, "attempts": 1}})
    assert not spent_in(events)
    mine.settle(unknown, {"charged": {"usd": 0.039, "told": True, "attempts": 1}})
    (spent,) = spent_in(events)
    assert (spent.model, spent.usd, spent.told) == ("edit:proxy", 0.039, True)
    assert mine.spent == pytest.approx(0.039)
