"""Computes where each device's time and memory went; the times add up to the wall time.

Also the tokens used by each judge whose server counts them, and the words for these and for what was charged.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from edit_eval.config.yaml_text import models_written
from edit_eval.records import Activity, MemoryUse, Results, Spent, Utilisation
from edit_eval.text import Text, pluralize

KINDS = ("editing", "judging", "loading", "unloading", "starting")
"""Priority of activities that overlap: a load behind an edit costs nothing, nor do imports."""
SHOWN = ("starting", "loading", "editing", "judging", "unloading", "idle")
"""Order in which they are shown."""


class MemoryStage(msgspec.Struct, frozen=True, kw_only=True):
    """One load of one model on a device, in bytes as in `records.MemoryUse`; None if unknown."""

    start_number: int
    """Number of the start, from 1."""
    model: str
    """Name of the edit model or judge."""
    kind: str
    """`editing` or `judging`."""
    before: int | None
    """In use before the model was loaded."""
    loaded: int | None
    """In use once it was loaded."""
    peak: int | None
    """The most seen until the process ended."""
    after: int | None
    """In use after its process had ended."""


class DeviceMemory(msgspec.Struct, frozen=True, kw_only=True):
    """The memory of a device, in bytes."""

    total: int | None
    """Of the GPU; None for a worker on the CPU."""
    peak: int | None
    """The most seen in any stage."""
    stages: list[MemoryStage]
    """In the order of the loads."""

    @property
    def has_gpu_memory(self) -> bool:
        """True if memory before or after a model is known; for workers on the CPU it never is."""
        return any(moment is not None for stage in self.stages for moment in (stage.before, stage.after))


class RunTiming(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where the time of a run went."""

    wall_seconds: float
    """Over all starts."""
    devices: dict[str, dict[str, float]]
    """Seconds of each device by what it did (`SHOWN`); `starting` is that of processes and their imports."""
    gpu_utilisation: dict[str, dict[str, float]] = {}
    """Of GPUs that reported it, 0 to 1: its `mean` over the whole run, and over the time of each kind of activity."""
    memory: dict[str, DeviceMemory] = {}
    """Where it was measured, in the run's order of devices."""


def compute_timing(results: Results) -> RunTiming:
    """Adds up what each device did.

    The wall time is the sum over all starts of the run. A device counts in the starts in which it did
    anything, so its six numbers add up to the wall time of those. If activities of one device overlap
    (two models on it, a next batch handed over early) each moment is counted once, for the first of editing,
    judging, loading, unloading, starting. A start whose wall time was not recorded (killed, or still going on) lasts
    until its last activity ends.
    """
    activities_of: dict[tuple[int, str], list[Activity]] = defaultdict(list)
    for activity in results.telemetry.activities:
        if activity.device:
            activities_of[(activity.start_number, activity.device)].append(activity)
    walls = _walls(results.telemetry.wall_seconds, results.telemetry.activities)
    devices = {}
    for name in _sort_devices({device for _, device in activities_of}, results):
        parts = [
            _shares(activities_of[(number, name)], walls[number])
            for number in sorted(walls)
            if (number, name) in activities_of
        ]
        devices[name] = {kind: math.fsum(part[kind] for part in parts) for kind in SHOWN}
    return RunTiming(
        wall_seconds=math.fsum(walls.values()),
        devices=devices,
        gpu_utilisation=_gpu_utilisation(results.telemetry.utilisation),
        memory=memory(results),
    )


def memory(results: Results) -> dict[str, DeviceMemory]:
    """Returns the memory of each device on which any was measured, in the run's order of devices."""
    described = results.provenance.environment.get("gpus")
    totals = {
        gpu.get("name"): gpu["memory"]
        for gpu in (described if isinstance(described, list) else [])
        if isinstance(gpu, Mapping) and isinstance(gpu.get("memory"), int)
    }
    uses_of: dict[str, list[MemoryUse]] = defaultdict(list)
    for use in results.telemetry.memory:
        uses_of[use.device].append(use)
    return {
        name: DeviceMemory(
            total=totals.get(name),
            peak=max((use.peak for use in uses_of[name] if use.peak is not None), default=None),
            stages=[
                MemoryStage(**{key: getattr(use, key) for key in MemoryStage.__struct_fields__})
                for use in sorted(uses_of[name], key=lambda use: use.start_number)
            ],
        )
        for name in _sort_devices(uses_of, results)
    }


def _sort_devices(devices: Collection[str], results: Results) -> list[str]:
    """Sorts these devices in the run's order; unknown ones come last."""
    known = [name for name in results.telemetry.devices if name in devices]
    return known + sorted({*devices} - {*known})


def _gpu_utilisation(seen: Sequence[Utilisation]) -> dict[str, dict[str, float]]:
    """Returns means by device and kind, every sample counting the same."""
    of_device: dict[str, dict[str, list[Utilisation]]] = defaultdict(lambda: defaultdict(list))
    for utilisation in seen:
        of_device[utilisation.device]["mean"].append(utilisation)
        of_device[utilisation.device][utilisation.kind].append(utilisation)
    return {
        device: {
            kind: math.fsum(utilisation.samples * utilisation.busy for utilisation in some)
            / sum(utilisation.samples for utilisation in some)
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
    """Returns seconds per kind of one device in one start of `wall` seconds; the rest is idle."""
    known = [activity for activity in activities if activity.kind in KINDS]
    seconds = dict.fromkeys(KINDS, 0.0)
    if known:
        import numpy as np  # a fifth of a second, which only a run's times are worth

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


@dataclass(frozen=True)
class TokenUse:
    """Tokens counted by a judge's server, including controls and battles."""

    judge: str
    judgements: int
    """Number of judgements with a token count."""
    read: int
    written: int
    cost: float | None
    """Cost at the price in the judge's parameters, in its currency; None without one."""


def tokens(results: Results) -> list[TokenUse]:
    """Adds up the tokens of each judge whose server counts them."""
    uses = []
    every = results.answers
    for judge in dict.fromkeys((*results.every_judge, *(answer.judge for answer in every))):
        counted = [answer.tokens for answer in every if answer.judge == judge and any(answer.tokens)]
        read, written = (sum(some) for some in zip(*counted, strict=True)) if counted else (0, 0)
        if counted:
            cost = cost_of(price_of(results.provenance.configuration, judge), read, written)
            uses.append(TokenUse(judge, len(counted), read, written, cost))
    return uses


def price_of(configuration: Mapping[str, Any], judge: str) -> Sequence[float] | None:
    """Returns the price of a million tokens read and written, if the configuration has it, and it is that of all."""
    written = (of for key, name, of in models_written(configuration) if key != "edit_models" and name == judge)
    params: Mapping[str, Any] = next((of["params"] for of in written), {})
    price = params.get("price")
    known = isinstance(price, list) and len(price) == 2 and not params.get("batch_interface")
    return price if known else None


def cost_of(price: Sequence[float] | None, read: float, written: float) -> float | None:
    """Returns the cost in the currency of the price; None without one."""
    return None if price is None else (read * price[0] + written * price[1]) / 1e6


def token_words(judge: str, read: float, written: float, cost: float | None) -> str:
    """`judge: 1,234,000 read, 5,600 written, at its price 0.25`."""
    price = "" if cost is None else Text(", at its price {:,.2f}", cost)
    return Text("{}: {:,.0f} read, {:,.0f} written{}", judge, read, written, price)


def spent_words(spent: Sequence[Spent]) -> Iterator[str]:
    """Yields what a run has spent, in all and by model: `nano: 1.34 USD for 10 requests, computed`."""
    if len(spent) > 1:
        yield Text("{:,.2f} USD in all", math.fsum(cost.usd for cost in spent))
    for cost in spent:
        how = Text("as told by its provider") if cost.told else Text("computed from its price")
        more = Text("; at most {:,.2f} more were under way when a start was killed", cost.feared) if cost.feared else ""
        name = cost.model.partition(":")[2]
        requests = pluralize(cost.attempts, "request")
        yield Text("{}: {:,.4f} USD for {}, {}{}", name, cost.usd, requests, how, more)
