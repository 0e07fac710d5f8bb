"""How long a run will still take, of what is left to do and how long things took so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from edit_eval.scheduling.estimates import Estimates, Mean, known
from edit_eval.scheduling.policies import Policy
from edit_eval.scheduling.replicas import ReplicaState
from edit_eval.scheduling.simulation import Elapsed, Timing, rest_of
from edit_eval.scheduling.tasks import Model, Work

MOST_SIMULATED = 5_000
"""Tasks: a simulation of so many takes a quarter of a second."""
NOTHING = Elapsed()

MODELS_LOOKED_AT = 6
"""Every set of at most so many models is looked at; with more models, only all of them and each alone."""


@dataclass(frozen=True)
class Demand:
    """What is left for one model."""

    kind: str
    """`edit` or `judge`."""
    devices: frozenset[str]
    """Where the model may run."""
    units: float
    """Edits or judgements left; those under way count by the part that is left of them."""
    seconds: float | None
    """Seconds that one of them takes of one device; None before the first."""
    load: float = 0.0
    """Seconds that a device will still need to load the model, as far as is known."""
    longest: float = 0.0
    """Seconds that the edit or judgement needs of which most is left: no number of devices makes it shorter."""


@dataclass(frozen=True)
class TimeLeft:
    """A prediction."""

    seconds: float | None
    """None while nothing is known."""
    missing: tuple[str, ...] = ()
    """The kinds (`edit`, `judge`) of which something is left and nothing known: they come on top."""


def time_left(demands: Sequence[Demand]) -> TimeLeft:
    """The time that the busiest set of devices needs if it shares its work evenly, or one thing alone if longer.

    For every set of models: their device seconds over the number of devices on which any of them may run. The largest
    of these is the length of the best schedule of work that can be divided at will (McNaughton's bound, for models
    that are bound to devices), which pulling comes close to while much is left.
    """
    open_demands = [d for d in demands if d.units > 0 and d.devices]
    known = [d for d in open_demands if d.seconds is not None]
    missing = tuple(dict.fromkeys(d.kind for d in open_demands if d.seconds is None))
    if not known:
        return TimeLeft(None if missing else 0.0, missing)
    sizes = range(1, len(known) + 1) if len(known) <= MODELS_LOOKED_AT else (1, len(known))
    shared = max(_seconds(some) for size in sizes for some in combinations(known, size))
    return TimeLeft(max(shared, *(d.longest for d in known)), missing)


def rest_of_a_run(work: Work, estimates: Estimates, policy: Policy, elapsed: Elapsed = NOTHING) -> TimeLeft:
    """The time for all that is left, controls included, from the mean times seen so far.

    The scheduler itself is run on, in simulated time: with shares that are dealt out, loads in turn, and those that a
    device will need. Of more than `MOST_SIMULATED` tasks it would take long; there the bound is near enough.
    """
    if work.tasks_left > MOST_SIMULATED:
        return _bound(work, estimates, policy)
    unit = known(estimates.unit)
    models = {replica.model for replica in policy.replicas if replica.state is not ReplicaState.RETIRED}
    left = [model for model in models if work.units_left(model.key)]
    missing = tuple(sorted({model.kind for model in left if model.key not in unit}))
    if left and not any(model.key in unit for model in left):
        return TimeLeft(None, missing)
    capacity: dict[str, int] = {}
    for replica in policy.replicas:
        capacity[replica.key] = max(replica.capacity, capacity.get(replica.key, 1))
    timing = Timing(
        task=lambda task: unit.get(task.model, 0.0) * len(task.units),
        load=known(estimates.load),
        prepare=_like_the_others(estimates.start, models),
        unload=_like_the_others(estimates.unload, models),
        capacity=capacity,
    )
    return TimeLeft(rest_of(policy, work, timing, elapsed) if left else 0.0, missing)


def _like_the_others(means: Mapping[str, Mean], models: Iterable[Model]) -> dict[str, float]:
    """Seconds by model; of one that has not been seen as of those that have."""
    seen = known(means)
    usual = sum(seen.values()) / len(seen) if seen else 0.0
    return {model.key: seen.get(model.key, usual) for model in models}


def _bound(work: Work, estimates: Estimates, policy: Policy) -> TimeLeft:
    """The same by `time_left`; what is under way counts whole."""
    demands = []
    for model in dict.fromkeys(replica.model for replica in policy.replicas):
        alive = [replica for replica in policy.of(model.key) if replica.state is not ReplicaState.RETIRED]
        unit, load = estimates.unit[model.key].value, estimates.load[model.key].value
        per_replica = max((len(replica.place) / replica.capacity for replica in alive), default=1.0)
        there = any(replica.state is ReplicaState.LOADED for replica in alive)
        demands.append(
            Demand(
                kind=model.kind,
                devices=frozenset(device for replica in alive for device in replica.held),
                units=work.units_left(model.key),
                seconds=None if unit is None else unit * per_replica,
                load=0.0 if there or load is None else load,
                longest=unit or 0.0,
            )
        )
    return time_left(demands)


def _seconds(demands: Sequence[Demand]) -> float:
    devices = frozenset[str]().union(*(d.devices for d in demands))
    return sum(d.units * (d.seconds or 0.0) + d.load * len(d.devices) for d in demands) / len(devices)
