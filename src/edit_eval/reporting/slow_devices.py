"""Devices that are slower than the others at the same work: one rule, for a run that goes on and for its records."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from edit_eval.records import Results, Status

SLOWER_BY = 0.10
"""A device whose mean time is longer than that of the others by this share is named."""
SEEN_ENOUGH = 5
"""Edits or answers of a device, and of the others, before that is said."""


@dataclass(frozen=True)
class SlowDevice:
    """One device that took longer than the others for the same model's edits or answers."""

    device: str
    kind: str
    """`editing` or `judging`."""
    model: str
    seconds: float
    """Mean of this device, in seconds."""
    others: float
    """Mean of the others, in seconds."""

    @property
    def slower_by(self) -> float:
        """As a share of the others' time."""
        return self.seconds / self.others - 1


@dataclass
class _Spread:
    """Mean and standard error of what was seen."""

    count: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, value: float) -> None:
        self.count += 1
        self.total += value
        self.squares += value * value

    def without(self, other: _Spread) -> _Spread:
        return _Spread(self.count - other.count, self.total - other.total, self.squares - other.squares)

    @property
    def mean(self) -> float:
        return self.total / self.count

    @property
    def standard_error(self) -> float:
        variance = max(0.0, self.squares / self.count - self.mean**2)
        return math.sqrt(variance / (self.count - 1))


class DeviceTimes:
    """How long edits and answers took on each device. Adding and asking take the same time however many there were."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], dict[str, _Spread]] = defaultdict(lambda: defaultdict(_Spread))
        self._all: dict[tuple[str, str], _Spread] = defaultdict(_Spread)

    def add(self, kind: str, model: str, device: str, seconds: float) -> None:
        """Takes in one edit (`editing`) or answer (`judging`)."""
        self._seen[kind, model][device].add(seconds)
        self._all[kind, model].add(seconds)

    def slow(self, kind: str, model: str, device: str) -> SlowDevice | None:
        """The device, if it is slower by `SLOWER_BY` and by more than three standard errors of the difference."""
        mine = self._seen[kind, model][device]
        others = self._all[kind, model].without(mine)
        if min(mine.count, others.count) < SEEN_ENOUGH:
            return None
        difference = mine.mean - others.mean
        uncertainty = math.hypot(mine.standard_error, others.standard_error)
        if difference < SLOWER_BY * others.mean or difference <= 3 * uncertainty:
            return None
        return SlowDevice(device, kind, model, mine.mean, others.mean)

    def all_slow(self) -> list[SlowDevice]:
        """Every slow device, in the order of kinds, models and devices."""
        known = [(kind, model, device) for (kind, model), devices in self._seen.items() for device in devices]
        return [found for one in sorted(known) if (found := self.slow(*one)) is not None]


def slow_devices(results: Results) -> list[SlowDevice]:
    """Every device that was slower than the others, from the recorded times."""
    times = DeviceTimes()
    for kind, model, device, seconds in _times(results):
        times.add(kind, model, device, seconds)
    return times.all_slow()


def _times(results: Results) -> Iterator[tuple[str, str, str, float]]:
    for edit in results.edits:
        if edit.status is Status.OK and edit.seconds > 0 and edit.device:
            yield "editing", edit.edit_model, edit.device, edit.seconds
    for one in results.judgements:
        # Of several answers only the last one's device is known.
        if one.answers == 1 and one.seconds > 0 and one.device:
            yield "judging", one.judge, one.device, one.seconds
