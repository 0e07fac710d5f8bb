"""Where each device's time went: loading, editing, judging, unloading, idle. Adds up to the wall time."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from edit_eval.records import Activity, Results, Utilisation

KINDS = ("editing", "judging", "loading", "unloading")
"""In the order in which they own a moment that they share: a load behind an edit costs nothing."""


def timing(results: Results) -> dict[str, Any]:
    """`{"wall_seconds", "devices": {NAME: {"loading", "editing", "judging", "unloading", "idle"}}}`, seconds.

    Where GPUs told how busy they were there is `"gpu_utilisation": {NAME: {"mean", KIND: ...}}` as well: means over
    the whole run and over the time of each kind of activity, 0 to 1.

    The wall time is the sum over all starts of the run. A device counts in the starts in which it did
    anything, so its five numbers add up to the wall time of those. Where activities of one device overlap
    (two models on it, a next batch handed over early) each moment is counted once, for the first of editing,
    judging, loading, unloading. A start whose wall time was not recorded (killed, or still going on) lasts
    until its last activity ends.
    """
    activities_of: dict[tuple[int, str], list[Activity]] = defaultdict(list)
    for activity in results.activities:
        if activity.device:
            activities_of[(activity.start_number, activity.device)].append(activity)
    walls = _walls(results.wall_seconds, results.activities)
    present = {device for _, device in activities_of}
    names = [name for name in results.devices if name in present]
    names += sorted(present - set(names))
    devices = {}
    for name in names:
        parts = [
            _shares(activities_of[(number, name)], walls[number])
            for number in sorted(walls)
            if (number, name) in activities_of
        ]
        devices[name] = {
            kind: math.fsum(part[kind] for part in parts)
            for kind in ("loading", "editing", "judging", "unloading", "idle")
        }
    found: dict[str, Any] = {"wall_seconds": math.fsum(walls.values()), "devices": devices}
    if results.utilisation:
        found["gpu_utilisation"] = _gpu_utilisation(results.utilisation)
    return found


def _gpu_utilisation(seen: Sequence[Utilisation]) -> dict[str, dict[str, float]]:
    """Means by device and kind, every sample counting the same."""
    of_device: dict[str, dict[str, list[Utilisation]]] = defaultdict(lambda: defaultdict(list))
    for one in seen:
        of_device[one.device]["mean"].append(one)
        of_device[one.device][one.kind].append(one)
    return {
        device: {
            kind: math.fsum(one.samples * one.busy for one in some) / sum(one.samples for one in some)
            for kind, some in kinds.items()
        }
        for device, kinds in of_device.items()
    }


def _walls(recorded: Sequence[float], activities: Sequence[Activity]) -> dict[int, float]:
    walls = {number: float(seconds) for number, seconds in enumerate(recorded, start=1)}
    last: dict[int, float] = defaultdict(float)
    for activity in activities:
        last[activity.start_number] = max(last[activity.start_number], activity.end)
    return {number: walls.get(number, last[number]) for number in sorted({*walls, *last})}


def _shares(activities: Sequence[Activity], wall: float) -> Mapping[str, float]:
    """Seconds a kind of one device in one start of `wall` seconds; what remains is idle."""
    known = [activity for activity in activities if activity.kind in KINDS]
    seconds = dict.fromkeys(KINDS, 0.0)
    if known:
        kinds = np.array([KINDS.index(activity.kind) for activity in known])
        begins = np.clip([activity.begin for activity in known], 0.0, wall)
        ends = np.maximum(begins, np.clip([activity.end for activity in known], 0.0, wall))
        moments = np.concatenate([begins, ends])
        order = np.argsort(moments, kind="stable")
        lengths = np.diff(moments[order])
        free = np.ones(len(lengths), dtype=bool)
        for number, kind in enumerate(KINDS):
            steps = np.concatenate([kinds == number, -1 * (kinds == number)])[order]
            running = (np.cumsum(steps)[:-1] > 0) & free
            seconds[kind] = math.fsum(lengths[running])
            free &= ~running
    return {**seconds, "idle": max(0.0, wall - math.fsum(seconds.values()))}
