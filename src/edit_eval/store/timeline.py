"""The timeline of a run, from the lines of `events/`: each is of a type, and one that is not is damage.

Lines of other kinds (a replica that died, a note) are for people who read the journal, and pass unread.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Annotated, Any, get_args

import msgspec

from edit_eval.records import Activity, DeviceFailures, MemoryUse, RunTelemetry, Spent, Utilisation, WaitingBatch
from edit_eval.store.journal import Record
from edit_eval.store.run_directory import RunDirectory

Number = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Task = Annotated[int, msgspec.Meta(ge=-1, le=2**53)]
"""Number of a task; -1 for one that is tried out."""
Seconds = Annotated[float, msgspec.Meta(ge=-1e9, le=1e9)]
"""Thirty years: more is no time that anything took."""
Dollars = Annotated[float, msgspec.Meta(ge=0, le=1e12)]


class _Event(msgspec.Struct, tag_field="event"):
    start: Number
    """Number of the run's start."""


class _Activity(_Event, tag="activity"):
    device: str
    kind: str
    model: str
    begin: Seconds
    end: Seconds
    what: str
    role: str = ""


class _Devices(_Event, tag="devices"):
    devices: list[str]


class _End(_Event, tag="end"):
    seconds: Seconds


class _Reserved(_Event, tag="reserved"):
    """What a task may cost; until it is `_Charged` it may have."""

    task: Task
    model: str
    usd: Dollars
    identity: str = ""
    """Digest of the model (`Identity.digest`): its name may become another's."""


class _Charged(_Event, tag="charged"):
    task: Task | None
    """None for what it cost to load a model."""
    model: str
    usd: Dollars
    attempts: Number
    told: bool
    identity: str = ""


class _Submitted(_Event, tag="submitted"):
    """What was bought for an edit or a question, or was about to be; until it is `_Fetched` it is still there."""

    key: str
    provider: str
    id: str
    usd: Dollars | None
    model: str = ""
    at: float = 0.0
    token: str = ""
    """Of a question in a batch, as what follows."""
    reserved: _Reservation | None = None


class _Reservation(msgspec.Struct):
    """The `_Reserved` that counts until the answer is there."""

    start: Number
    task: Task
    usd: Dollars


class _Fetched(_Event, tag="fetched"):
    key: str


class _Memory(_Event, tag="memory"):
    stage: Number
    device: str
    model: str
    kind: str
    before: Number | None
    loaded: Number | None
    peak: Number | None
    after: Number | None


class _Attempt(_Event, tag="attempt"):
    place: list[str]
    model: str
    kind: str
    error: str


class _Retired(_Event, tag="retired"):
    place: list[str]
    model: str
    reason: str


class _Utilisation(_Event, tag="utilisation"):
    devices: dict[str, dict[str, tuple[Number, Annotated[float, msgspec.Meta(ge=0, le=1e6)]]]]


_Line = (
    _Activity
    | _Devices
    | _End
    | _Reserved
    | _Charged
    | _Submitted
    | _Fetched
    | _Memory
    | _Attempt
    | _Retired
    | _Utilisation
)
_TAGS = frozenset(kind.__struct_config__.tag for kind in get_args(_Line))


@dataclass(frozen=True)
class Timeline(RunTelemetry):
    """The events of a run, summarised."""

    submitted: Mapping[str, Record] = field(default_factory=dict)
    """What was bought, or was about to be, and is not fetched (`provider`, `id`, `usd`, ...): for an edit by its key,
    for a question by the name of its asking (`Recorder.submitted_before`)."""


def read_timeline(directory: RunDirectory, identities: Mapping[str, str] = MappingProxyType({})) -> Timeline:
    """Reads what each device did, the memory it needed, how long each start took, and what was paid for whom.

    Lines of events that cannot be so are damage. `identities`: the digest of each model, by its key; what was paid for
    a model goes by the name that it has now.
    """
    activities: list[Activity] = []
    wall: dict[int, float] = {}
    devices: dict[str, None] = {}
    memory: dict[tuple[int, int], MemoryUse] = {}  # a stage's later line counts
    busy: dict[tuple[int, str, str], list[float]] = {}  # start, device, kind -> samples, their sum
    failed: dict[tuple[str, str], DeviceFailures] = {}  # device, model
    spending: list[_Reserved | _Charged] = []
    submitted: dict[str, Record] = {}
    unfit = 0
    for record in directory.read("events"):
        if record.get("event") not in _TAGS:
            continue
        try:
            line: Any = msgspec.convert(record, _Line)
        except msgspec.ValidationError:
            unfit += 1
            continue
        match line:
            case _Activity(start=start):
                of = {name: getattr(line, name) for name in line.__struct_fields__ if name != "start"}
                activities.append(Activity(start_number=start, **of))
                wall[start] = max(wall.get(start, 0.0), line.end)
            case _Devices(start=start):
                devices.update(dict.fromkeys(line.devices))
                wall.setdefault(start, 0.0)
            case _End(start=start):
                wall[start] = max(wall.get(start, 0.0), line.seconds)
            case _Reserved() | _Charged():
                spending.append(line)
            case _Submitted():
                submitted[line.key] = msgspec.to_builtins(line)
            case _Fetched():
                submitted.pop(line.key, None)
            case _Memory(start=start):
                of = {name: getattr(line, name) for name in line.__struct_fields__ if name not in ("start", "stage")}
                memory[start, line.stage] = MemoryUse(start_number=start, **of)
            case _Attempt() | _Retired():
                name = "+".join(line.place), line.model
                failed[name] = _one_more(failed.get(name), *name, line)
            case _Utilisation(start=start):
                for device, kinds in line.devices.items():
                    for kind, (count, mean) in kinds.items():
                        kept = busy.setdefault((start, device, kind), [0, 0.0])
                        kept[0] += count
                        kept[1] += count * mean
    lines, where = directory.damage.lines, str(directory.path / "events" / "unfit")
    lines.pop(where, None)  # read again, they are counted from zero
    if unfit:
        lines[where] = unfit
    return Timeline(
        activities=tuple(activities),
        wall_seconds=tuple(wall[s] for s in sorted(wall)),
        devices=tuple(devices),
        memory=tuple(memory[stage] for stage in sorted(memory)),
        utilisation=tuple(
            Utilisation(start_number=start, device=device, kind=kind, samples=int(count), busy=total / count)
            for (start, device, kind), (count, total) in busy.items()
            if count
        ),
        device_failures=tuple(sorted(failed.values(), key=lambda failures: -failures.attempts)),
        spent=_spent(spending, identities),
        waiting=_find_waiting(submitted),
        submitted=submitted,
    )


def _find_waiting(submitted: Mapping[str, Record]) -> tuple[WaitingBatch, ...]:
    """Returns the batches in which questions wait."""
    batches: dict[tuple[str, str, str, str], list[float]] = defaultdict(list)
    for of in submitted.values():
        if of["token"]:
            batches[of["model"], of["provider"], of["token"], of["id"]].append(of["at"])
    return tuple(
        WaitingBatch(model=model, provider=provider, batch=batch, questions=len(since), since=min(since))
        for (model, provider, _, batch), since in batches.items()
    )


def _spent(lines: Iterable[_Reserved | _Charged], identities: Mapping[str, str]) -> tuple[Spent, ...]:
    """Adds up what each model has cost; what was reserved alone may have been."""
    names = {identity: key for key, identity in identities.items()}
    usd: dict[str, float] = defaultdict(float)
    attempts: dict[str, int] = defaultdict(int)
    told: dict[str, bool] = {}
    reserved: dict[tuple[int, int | None], tuple[str, float]] = {}
    for line in lines:
        model = line.model
        if line.identity and identities.get(model) != line.identity:
            model = names.get(line.identity, f"{model} (before)" if model in identities else model)
        if isinstance(line, _Reserved):
            reserved[line.start, line.task] = model, line.usd
            told.setdefault(model, True)
        else:
            reserved.pop((line.start, line.task), None)
            usd[model] += line.usd
            attempts[model] += line.attempts
            told[model] = told.get(model, True) and (line.told or not line.attempts)
    feared: dict[str, float] = defaultdict(float)
    for model, most in reserved.values():
        feared[model] += most
    return tuple(
        Spent(
            model=model,
            usd=usd[model],
            feared=feared[model],
            told=told[model] and attempts[model] > 0,
            attempts=attempts[model],
        )
        for model in told
    )


def _one_more(so_far: DeviceFailures | None, device: str, model: str, line: _Attempt | _Retired) -> DeviceFailures:
    """Adds a failed attempt on the device, or the reason why the model is no longer used there."""
    was = so_far or DeviceFailures(device=device, model=model, attempts=0, out_of_memory=0, error="", retired="")
    if isinstance(line, _Retired):
        return replace(was, retired=line.reason)
    short = line.kind == "out_of_memory"
    return replace(was, attempts=was.attempts + 1, out_of_memory=was.out_of_memory + short, error=line.error)
