"""Devices that are slower than the others at the same work, from the recorded times."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
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


def slow_devices(results: Results) -> list[SlowDevice]:
    """Every device that is slower by `SLOWER_BY` and by more than three standard errors of the difference."""
    times: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for kind, model, device, seconds in _times(results):
        times[(kind, model)][device].append(seconds)
    found = []
    for (kind, model), of_model in times.items():
        for device, mine in of_model.items():
            others = [one for name, theirs in of_model.items() if name != device for one in theirs]
            if _is_slower(mine, others):
                means = statistics.fmean(mine), statistics.fmean(others)
                found.append(SlowDevice(device, kind, model, *means))
    return sorted(found, key=lambda one: (one.kind, one.model, one.device))


def _times(results: Results) -> Iterator[tuple[str, str, str, float]]:
    for edit in results.edits:
        if edit.status is Status.OK and edit.seconds > 0 and edit.device:
            yield "editing", edit.edit_model, edit.device, edit.seconds
    for one in results.judgements:
        # Of several answers only the last one's device is known.
        if one.answers == 1 and one.seconds > 0 and one.device:
            yield "judging", one.judge, one.device, one.seconds


def _is_slower(mine: Sequence[float], others: Sequence[float]) -> bool:
    if min(len(mine), len(others)) < SEEN_ENOUGH:
        return False
    difference = statistics.fmean(mine) - statistics.fmean(others)
    uncertainty = math.hypot(*(statistics.stdev(times) / math.sqrt(len(times)) for times in (mine, others)))
    return difference >= SLOWER_BY * statistics.fmean(others) and difference > 3 * uncertainty
