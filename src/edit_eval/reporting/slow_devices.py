"""Devices that are slower than the others at the same work: one rule, for a run in progress and for its records."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from edit_eval.records import Edit, Judgement, Results, Status

SLOWER_BY = 0.10
"""A device is named if its mean time exceeds that of the others by this share."""
SEEN_ENOUGH = 10
"""Edits or answers of a device, and of the others, before it is named."""
SURE = 4.0
"""Standard errors by which the difference must exceed `SLOWER_BY`. During a run the test is repeated after each of
hundreds of results, and other load on the machine makes successive results alike: both need far more than the two of a
single test. Nor does a single slow stretch count: see `DeviceTimes.has_become_slow`."""


@dataclass(frozen=True)
class SlowDevice:
    """One device that took longer than the others for the same model's edits or answers."""

    device: str
    kind: str
    """`editing` or `judging`."""
    model: str
    seconds: float
    """Mean time of this device, in seconds."""
    others: float
    """Mean time of the others, in seconds."""

    @property
    def slowdown(self) -> float:
        """Difference as a share of the others' time."""
        return self.seconds / self.others - 1


@dataclass
class _Spread:
    """Running mean and standard error."""

    count: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, value: float) -> None:
        self.count += 1
        self.total += value
        self.squares += value * value

    def subtract(self, other: _Spread) -> _Spread:
        return _Spread(self.count - other.count, self.total - other.total, self.squares - other.squares)

    @property
    def mean(self) -> float:
        return self.total / self.count

    @property
    def standard_error(self) -> float:
        variance = max(0.0, self.squares / self.count - self.mean**2)
        return math.sqrt(variance / (self.count - 1))


class DeviceTimes:
    """Times of edits and answers on each device. Adding and asking take constant time."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], dict[str, _Spread]] = defaultdict(lambda: defaultdict(_Spread))
        self._all: dict[tuple[str, str], _Spread] = defaultdict(_Spread)
        self._slow_for: Counter[tuple[str, str, str]] = Counter()

    def add(self, kind: str, model: str, device: str, seconds: float) -> None:
        """Adds one edit (`editing`) or answer (`judging`)."""
        self._seen[kind, model][device].add(seconds)
        self._all[kind, model].add(seconds)

    def add_all(self, records: Iterable[Edit | Judgement]) -> None:
        """Adds the times in records."""
        for time in filter(None, map(time_of, records)):
            self.add(*time)

    def slow(self, kind: str, model: str, device: str) -> SlowDevice | None:
        """Returns the device if it is slower by `SLOWER_BY` plus `SURE` standard errors."""
        mine = self._seen[kind, model][device]
        others = self._all[kind, model].subtract(mine)
        if min(mine.count, others.count) < SEEN_ENOUGH:
            return None
        bound = 1 + SLOWER_BY
        uncertainty = math.hypot(mine.standard_error, bound * others.standard_error)
        if mine.mean - bound * others.mean <= SURE * uncertainty:
            return None
        return SlowDevice(device, kind, model, mine.mean, others.mean)

    def has_become_slow(self, kind: str, model: str, device: str, seconds: float) -> SlowDevice | None:
        """Adds a result; returns, once, a device that was slow after each of its last `SEEN_ENOUGH` results."""
        self.add(kind, model, device, seconds)
        key, slow = (kind, model, device), self.slow(kind, model, device)
        noted = self._slow_for[key] >= SEEN_ENOUGH
        if not noted:
            self._slow_for[key] = 0 if slow is None else self._slow_for[key] + 1
        return slow if not noted and self._slow_for[key] == SEEN_ENOUGH else None

    def all_slow(self) -> list[SlowDevice]:
        """Returns every slow device, in the order of kinds, models and devices."""
        known = [(kind, model, device) for (kind, model), devices in self._seen.items() for device in devices]
        return [slow for key in sorted(known) if (slow := self.slow(*key)) is not None]


def slow_devices(results: Results) -> list[SlowDevice]:
    """Returns every device that was slower than the others, by the recorded times."""
    times = DeviceTimes()
    times.add_all(results.edits)
    times.add_all(results.judgements)
    return times.all_slow()


def time_of(record: Edit | Judgement) -> tuple[str, str, str, float] | None:
    """Returns kind, model, device and seconds of a record; None if it has no work that can be timed."""
    if not (record.seconds > 0 and record.device):
        return None
    if isinstance(record, Edit):
        return ("editing", record.edit_model, record.device, record.seconds) if record.status is Status.OK else None
    # With several answers, only the device of the last one is known.
    return ("judging", record.judge, record.device, record.seconds) if record.answers == 1 else None
