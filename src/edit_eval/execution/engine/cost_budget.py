"""What a run spends on models that somebody else runs: counted as it goes, and never more than `max_cost`.

Before a task is ordered, the most that it can cost is written down as `reserved`; what it did cost follows as
`charged`. A task that does not fit beside all that is reserved waits until others have cost less than was feared; when
nothing is reserved any more and it still does not fit, the run ends. What is still reserved when a start is killed may
have been charged, and counts in full.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from edit_eval.execution.contract import Price
from edit_eval.records import Spent
from edit_eval.scheduling.tasks import Task
from edit_eval.text import Text

ROUNDING = 1e-9
"""Dollars below which two sums are the same."""


class CostBudget:
    """Counts in US dollars."""

    def __init__(
        self,
        prices: Mapping[str, Price],
        limit: float | None,
        before: Iterable[Spent],
        record: Callable[..., None],
        note: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`prices` by the model's key; `before`: what earlier starts have spent; `record` writes an event, `note` tells
        people."""
        self._note = note
        self._prices, self._limit, self._record = prices, limit, record
        self._reserved: dict[int, float] = {}
        self._orders: dict[int, Mapping[str, Any]] = {}
        self._bought: dict[int, Mapping[str, Any]] = {}  # by task: the reservation of what stays bought, in any start
        self._dearest: dict[str, float] = {}
        self.spent = sum(spent.usd + spent.feared for spent in before)
        """Dollars so far, without what is reserved."""
        self._told = self.spent

    @property
    def has_reservations(self) -> bool:
        """True while something under way may turn out cheaper than was feared."""
        return bool(self._reserved)

    def reserve_cost(self, task: Task, order: Mapping[str, Any]) -> bool:
        """Reserves what the task can cost at most; False, and nothing is reserved, if that could pass the limit."""
        price = self._prices.get(task.model)
        if price is None or task.number in self._bought:
            return True
        if earlier := (order.get("submitted") or {}).get("reserved"):  # feared since then
            self.spent -= earlier["usd"]
            self._reserved[task.number], self._orders[task.number] = earlier["usd"], order
            self._bought[task.number] = earlier
            return True
        most = max(price.most_of(order), self._dearest.get(task.model, 0.0))
        if not self._fits(most):
            return False
        self._reserved[task.number], self._orders[task.number] = most, order
        self._record("reserved", task=task.number, model=task.model, usd=most)
        return True

    def keep_reserved(self, task: Task) -> Mapping[str, Any] | None:
        """Keeps what is reserved for a task, whatever becomes of its worker: it is bought; returns what is to be
        written down beside that."""
        if task.number in self._reserved and task.model.startswith("judge:"):
            usd = self._reserved[task.number]
            self._bought.setdefault(task.number, {"start": None, "task": task.number, "usd": usd})
        return self._bought.get(task.number)

    def leave_reserved(self, task: Task) -> None:
        """What was bought for a task is left for another start: until then it counts in full."""
        if task.number in self._reserved:
            self.spent += self._reserved.pop(task.number)
            del self._orders[task.number], self._bought[task.number]

    def charge_load(self, model: str) -> bool:
        """Counts what it costs to try out a judge's server; False if that could pass the limit."""
        price = self._prices.get(model)
        if price is None or not price.load:
            return True
        if not self._fits(price.load):
            return False
        self._charge(None, model, price.load, told=False, attempts=1)
        return True

    def settle(self, task: Task, message: Mapping[str, Any]) -> None:
        """Counts what a task that has ended did cost."""
        reserved = self._reserved.pop(task.number, None)
        if reserved is None:
            self._charge_reported(task, message.get("charged") or {})
            return
        price, order = self._prices[task.model], self._orders.pop(task.number)
        usd, told, attempts = price.cost_of(order, message)
        self._dearest[task.model] = max(self._dearest.get(task.model, 0.0), usd)
        self._charge(task.number, task.model, usd, told=told, attempts=attempts)

    def _charge_reported(self, task: Task, charged: Mapping[str, Any]) -> None:
        """Counts what a model without a known price says that its provider told."""
        if charged.get("told") and charged.get("usd"):
            self._charge(task.number, task.model, charged["usd"], told=True, attempts=charged["attempts"])

    def charge_maximum(self, task: Task) -> None:
        """Counts a task whose worker has died in the middle as dear as it could be."""
        if (reserved := self._reserved.pop(task.number, None)) is not None:
            del self._orders[task.number]
            self._charge(task.number, task.model, reserved, told=False, attempts=1)

    def release_cost(self, task: Task) -> None:
        """A task has not begun, and costs nothing, unless it is bought already."""
        if task.number not in self._bought and self._reserved.pop(task.number, None) is not None:
            del self._orders[task.number]
            self._charge(task.number, task.model, 0.0, told=False, attempts=0)

    @property
    def words(self) -> str:
        """Says why the run ends."""
        return Text(
            "max_cost: the next request could exceed {:,.2f} USD, of which {:,.4f} are spent; all finished work "
            "is kept: raise max_cost and rerun the same command to resume",
            self._limit or 0.0,
            self.spent,
        )

    def _fits(self, usd: float) -> bool:
        return self._limit is None or self.spent + sum(self._reserved.values()) + usd <= self._limit + ROUNDING

    def _charge(self, task: int | None, model: str, usd: float, *, told: bool, attempts: int) -> None:
        self.spent += usd
        step = self._limit / 10 if self._limit else max(1.0, self._told)
        if self.spent >= self._told + step - ROUNDING:
            self._told = self.spent
            of = Text(" of {:,.2f}", self._limit) if self._limit else ""
            self._note(Text("spent: {:,.2f}{} USD", self.spent, of))
        earlier = self._bought.pop(task, {}) if task is not None else {}
        when = {"start": earlier["start"]} if earlier.get("start") is not None else {}  # when it was reserved
        number = earlier.get("task", task)
        self._record("charged", task=number, model=model, usd=usd, told=told, attempts=attempts, **when)
