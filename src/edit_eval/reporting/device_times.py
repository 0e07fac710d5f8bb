"""Where a run's time went, and its tables of devices: time, loads, memory, failures."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from edit_eval.records import Activity, DeviceFailures, Results, Status
from edit_eval.reporting import formats
from edit_eval.reporting.language import recognise
from edit_eval.reporting.names import NAMES
from edit_eval.reporting.table import Column, Look, Table
from edit_eval.statistics.summary import Summary
from edit_eval.statistics.timing import SHOWN, DeviceMemory, RunTiming
from edit_eval.text import Text


class _Stage(NamedTuple):
    """A row about the memory of a model on a device; None if unknown."""

    device: str
    kind: str
    model: str
    before: int | None
    loaded: int | None
    peak: int | None
    after: int | None
    start_number: int = 1
    several_starts: bool = False
    total: int | None = None


class _Device(NamedTuple):
    """A row about a device."""

    device: str
    seconds: Mapping[str, float]
    busy: Mapping[str, float]
    """Empty if it reported nothing, as for a CPU."""
    memory: DeviceMemory | None


_DEVICE: Column[Any] = Column(Text("Device"), lambda row: row.device, "name")
_MODEL: Column[Any] = Column(Text("Model"), lambda row: row.model, "name")
_STAGE: Column[Any] = Column(Text("Stage"), lambda row: NAMES["kind"][row.kind], "word", short=Text("Memory"))
_START: Column[Any] = Column(Text("Start"), lambda row: str(row.start_number), when=lambda row: row.several_starts)
_MOMENTS = {"before": Text("Before"), "loaded": Text("Loaded"), "peak": Text("Peak"), "after": Text("After")}


def _duration(kind: str) -> Column[_Device]:
    return Column(
        NAMES["kind"][kind],
        lambda row: formats.duration(row.seconds[kind]),
        brief=lambda row: formats.short_duration(row.seconds[kind]),
    )


def _memory(moment: str) -> Column[_Stage]:
    look: Look = "strong" if moment == "peak" else ""
    return Column(_MOMENTS[moment], lambda row: formats.memory(getattr(row, moment)), look=look)


def time_tables(results: Results, summary: Summary) -> dict[str, Table[Any]]:
    """Returns all such tables of a report, by name; without rows if nothing is known."""
    timing, starts = summary.timing, times(results, summary).starts
    return {
        "devices": device_times_table(timing),
        "utilisation": utilisation_table(timing.gpu_utilisation),
        "memory": memory_table(timing.memory, starts),
        "loads": loads_table(loads(results), starts),
        "device_failures": device_failures_table(summary.device_failures),
    }


def device_times_table(timing: RunTiming) -> Table[_Device]:
    """Returns each device's time by activity, its share at work and its peak of memory; of GPUs also utilisation."""
    rows = [
        _Device(name, seconds, timing.gpu_utilisation.get(name, {}), timing.memory.get(name))
        for name, seconds in timing.devices.items()
    ]
    return Table(
        every=(
            _DEVICE,
            *map(_duration, SHOWN),
            Column(
                Text("At work"),
                lambda row: formats.share(row.seconds["editing"] + row.seconds["judging"], sum(row.seconds.values())),
                look="strong",
            ),
            Column(
                Text("GPU utilisation"),
                lambda row: formats.share(row.busy["mean"], 1) if row.busy else None,
                when=lambda row: row.busy,
                short=Text("GPU"),
            ),
            Column(
                Text("Peak memory"),
                lambda row: formats.peak_memory(row.memory) if row.memory else None,
                brief=lambda row: formats.memory(row.memory.peak) if row.memory else None,
                when=lambda row: row.memory,
                short=Text("Peak"),
            ),
        ),
        rows=rows,
        label=Text("Devices"),
    )


def utilisation_table(busy: Mapping[str, Mapping[str, float]]) -> Table[_Device]:
    """Returns how busy each GPU was during each activity."""

    def column(kind: str) -> Column[_Device]:
        return Column(NAMES["kind"][kind], lambda row: formats.share(row.busy[kind], 1) if kind in row.busy else None)

    whole: Column[_Device] = Column(Text("Whole run"), lambda row: formats.share(row.busy["mean"], 1), look="strong")
    return Table(
        every=(_DEVICE, *(column(kind) for kind in SHOWN if kind != "starting"), whole),
        rows=[_Device(name, {}, of, None) for name, of in busy.items()],
        label=Text("How busy each GPU was at each activity"),
    )


def memory_table(memory: Mapping[str, DeviceMemory], starts: int) -> Table[_Stage]:
    """Returns the memory before, loaded, at the peak and after each stage of each device."""
    total: Column[_Stage] = Column(Text("Of the device"), lambda row: formats.memory(row.total))
    rows = [
        _Stage(name, total=device.total, several_starts=starts > 1, **msgspec.structs.asdict(stage))
        for name, device in memory.items()
        for stage in device.stages
    ]
    return Table(
        every=(_START, _STAGE, _MODEL, *map(_memory, _MOMENTS), total),
        rows=rows,
        group=_DEVICE,
        label=Text("Memory before, at the peak and after each stage"),
    )


def highest_memory_table(memory: Mapping[str, DeviceMemory]) -> Table[_Stage]:
    """Returns the same with a row per model: the highest figures of its devices."""
    highest: dict[tuple[str, str], dict[str, int | None]] = {}
    for stage in (stage for device in memory.values() for stage in device.stages):
        row = highest.setdefault((stage.kind, stage.model), dict.fromkeys(_MOMENTS))
        for moment in _MOMENTS:
            known = [value for value in (row[moment], getattr(stage, moment)) if value is not None]
            row[moment] = max(known, default=None)
    rows = [
        _Stage("", kind, model, row["before"], row["loaded"], row["peak"], row["after"])
        for (kind, model), row in highest.items()
    ]
    return Table(every=(_STAGE, _MODEL, *map(_memory, _MOMENTS)), rows=rows)


class _Load(NamedTuple):
    """A row about a load."""

    device: str
    model: str
    start_number: int
    several_starts: bool
    begin: float
    """Seconds from the beginning of its start."""
    took: float
    failed: str


def loads_table(loads: Sequence[Activity], starts: int) -> Table[_Load]:
    """Returns the loads in their order."""
    rows = [
        _Load(load.device, load.model, load.start_number, starts > 1, load.begin, load.end - load.begin, load.what)
        for load in loads
    ]
    began: Column[_Load] = Column(Text("Began after"), lambda row: formats.duration(row.begin))
    took: Column[_Load] = Column(
        Text("Took"), lambda row: formats.duration(row.took), aside=lambda row: Text("failed") if row.failed else ""
    )
    return Table(every=(_START, _DEVICE, _MODEL, began, took), rows=rows, label=Text("Loads, in their order"))


def device_failures_table(failures: Sequence[DeviceFailures]) -> Table[DeviceFailures]:
    """Returns the failures on each device, and whether it is still used."""
    return Table(
        every=(
            _DEVICE,
            Column(Text("Model"), lambda row: row.model.partition(":")[2], "name"),
            Column(Text("Failed attempts"), lambda row: str(row.attempts)),
            Column(Text("Out of memory"), lambda row: str(row.out_of_memory)),
            Column(Text("Last error"), lambda row: recognise(row.error) or None, "name"),
            Column(Text("Not used any more"), lambda row: row.retired or None, "name"),
        ),
        rows=failures,
        label=Text("Failures by device"),
    )


# -- sums --


def loads(results: Results) -> list[Activity]:
    """Returns every load of a model onto a device, in the order of their beginning."""
    loadings = [activity for activity in results.telemetry.activities if activity.kind == "loading"]
    return sorted(loadings, key=lambda load: (load.start_number, load.begin, load.device))


class Times(NamedTuple):
    """The seconds of a run; None if nothing was measured."""

    wall_seconds: float | None
    starts: int
    device_seconds: float
    """For which the run held its devices, summed over devices and including idle time."""
    working_seconds: float
    """The part of it spent editing or judging."""
    on_gpus: bool
    edits: int
    """Those that were made."""
    seconds_per_edit: float | None
    """Their median."""
    answers: int
    """Judgements for which a judge was asked."""
    seconds_per_answer: float | None
    """Their median."""


def times(results: Results, summary: Summary) -> Times:
    """Adds up the summary's timing and the records' seconds."""
    devices = summary.timing.devices
    edit_seconds = [edit.seconds for edit in results.edits if edit.status is Status.OK and edit.seconds > 0]
    answer_seconds = [judgement.seconds for judgement in results.coverage_judgements if judgement.seconds > 0]
    return Times(
        wall_seconds=summary.timing.wall_seconds,
        starts=max(
            len(results.telemetry.wall_seconds),
            max((activity.start_number for activity in results.telemetry.activities), default=0),
        ),
        device_seconds=sum(sum(kinds.values()) for kinds in devices.values()),
        working_seconds=sum(kinds["editing"] + kinds["judging"] for kinds in devices.values()),
        on_gpus=bool(devices) and not any(name.startswith("cpu") for name in devices),
        edits=len(edit_seconds),
        seconds_per_edit=statistics.median(edit_seconds) if edit_seconds else None,
        answers=len(answer_seconds),
        seconds_per_answer=statistics.median(answer_seconds) if answer_seconds else None,
    )
