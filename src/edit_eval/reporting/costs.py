"""The cost of a run, its tables of devices (time, loads, memory, failures), and what is needed to repeat it."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from edit_eval.records import Activity, Results, Spent, Status
from edit_eval.reporting import formats
from edit_eval.reporting.names import NAMES
from edit_eval.reporting.table import Column, Table
from edit_eval.statistics.timing import SHOWN, tokens
from edit_eval.text import Text, counted

Row = Mapping[str, Any]
_DEVICE: Column[Row] = Column(Text("Device"), lambda row: row["device"], "name")
_MODEL: Column[Row] = Column(Text("Model"), lambda row: row["model"], "name")
_STAGE: Column[Row] = Column(Text("Stage"), lambda row: NAMES["kind"][row["kind"]], "word", short=Text("Memory"))
_START: Column[Row] = Column(
    Text("Start"), lambda row: str(row["start_number"]), when=lambda row: row["several_starts"]
)
_MOMENTS = {"before": Text("Before"), "loaded": Text("Loaded"), "peak": Text("Peak"), "after": Text("After")}


def _duration(kind: str) -> Column[Row]:
    return Column(
        NAMES["kind"][kind],
        lambda row: formats.duration(row["seconds"][kind]),
        brief=lambda row: formats.short_duration(row["seconds"][kind]),
    )


def _memory(moment: str) -> Column[Row]:
    return Column(_MOMENTS[moment], lambda row: formats.memory(row[moment]), look="strong" if moment == "peak" else "")


def time_tables(results: Results, summary: Row) -> dict[str, Table[Row]]:
    """Returns all such tables of a report, by name; without rows if nothing is known."""
    timing, starts = summary.get("timing") or {}, costs(results, summary)["starts"]
    memory = timing.get("memory") or {}
    return {
        "devices": device_times_table(summary),
        "utilisation": utilisation_table(timing.get("gpu_utilisation") or {}),
        "memory": memory_table(memory, starts),
        "loads": loads_table(loads(results), starts),
        "device_failures": device_failures_table(summary.get("device_failures") or ()),
    }


def device_times_table(summary: Row) -> Table[Row]:
    """Returns each device's time by activity, its share at work and its peak of memory; of GPUs also utilisation."""
    timing = summary.get("timing") or {}
    busy, memory = timing.get("gpu_utilisation") or {}, timing.get("memory") or {}
    rows = [
        {"device": name, "seconds": seconds, "busy": busy.get(name), "memory": memory.get(name)}
        for name, seconds in (timing.get("devices") or {}).items()
    ]
    return Table(
        every=(
            _DEVICE,
            *map(_duration, SHOWN),
            Column(
                Text("At work"),
                lambda row: formats.share(
                    row["seconds"]["editing"] + row["seconds"]["judging"], sum(row["seconds"].values())
                ),
                look="strong",
            ),
            Column(
                Text("GPU utilisation"),
                lambda row: formats.share(row["busy"]["mean"], 1) if row["busy"] else None,
                when=lambda row: row["busy"],
                short=Text("GPU"),
            ),
            Column(
                Text("Peak memory"),
                lambda row: formats.peak_memory(row["memory"]) if row["memory"] else None,
                brief=lambda row: formats.memory(row["memory"]["peak"]) if row["memory"] else None,
                when=lambda row: row["memory"],
                short=Text("Peak"),
            ),
        ),
        rows=rows,
        label=Text("Devices"),
    )


def utilisation_table(busy: Mapping[str, Row]) -> Table[Row]:
    """Returns how busy each GPU was during each activity."""

    def column(kind: str) -> Column[Row]:
        return Column(NAMES["kind"][kind], lambda row: formats.share(row[kind], 1) if kind in row else None)

    whole: Column[Row] = Column(Text("Whole run"), lambda row: formats.share(row["mean"], 1), look="strong")
    rows = [{"device": name, **of} for name, of in busy.items()]
    return Table(
        every=(_DEVICE, *(column(kind) for kind in SHOWN if kind != "starting"), whole),
        rows=rows,
        label=Text("How busy each GPU was at each activity"),
    )


def memory_table(memory: Mapping[str, Row], starts: int) -> Table[Row]:
    """Returns the memory before, loaded, at the peak and after each stage of each device."""
    total: Column[Row] = Column(Text("Of the device"), lambda row: formats.memory(row["total"]))
    rows = [
        {**stage, "device": name, "total": found["total"], "several_starts": starts > 1}
        for name, found in memory.items()
        for stage in found["stages"]
    ]
    return Table(
        every=(_START, _STAGE, _MODEL, *map(_memory, _MOMENTS), total),
        rows=rows,
        group=_DEVICE,
        label=Text("Memory before, at the peak and after each stage"),
    )


def highest_memory_table(summary: Row) -> Table[Row]:
    """Returns the same with a row per model: the highest figures of its devices."""
    highest: dict[tuple[str, str], dict[str, int | None]] = {}
    for found in summary["timing"]["memory"].values():
        for stage in found["stages"]:
            row = highest.setdefault((stage["kind"], stage["model"]), dict.fromkeys(_MOMENTS))
            for moment in _MOMENTS:
                known = [value for value in (row[moment], stage[moment]) if value is not None]
                row[moment] = max(known, default=None)
    rows = [{"kind": kind, "model": model, **row} for (kind, model), row in highest.items()]
    return Table(every=(_STAGE, _MODEL, *map(_memory, _MOMENTS)), rows=rows)


def loads_table(loads: Sequence[Activity], starts: int) -> Table[Row]:
    """Returns the loads in their order."""
    rows: list[Row] = [
        {"device": one.device, "model": one.model, "start_number": one.start_number, "several_starts": starts > 1}
        | {"begin": one.begin, "took": one.end - one.begin, "failed": one.what}
        for one in loads
    ]
    began: Column[Row] = Column(Text("Began after"), lambda row: formats.duration(row["begin"]))
    took: Column[Row] = Column(
        Text("Took"),
        lambda row: formats.duration(row["took"]),
        aside=lambda row: Text("failed") if row["failed"] else "",
    )
    return Table(every=(_START, _DEVICE, _MODEL, began, took), rows=rows, label=Text("Loads, in their order"))


def device_failures_table(failures: Sequence[Row]) -> Table[Row]:
    """Returns the failures on each device, and whether it is still used."""
    return Table(
        every=(
            _DEVICE,
            Column(Text("Model"), lambda row: row["model"].partition(":")[2], "name"),
            Column(Text("Failed attempts"), lambda row: str(row["attempts"])),
            Column(Text("Out of memory"), lambda row: str(row["out_of_memory"])),
            Column(Text("Last error"), lambda row: row["error"] or None, "name"),
            Column(Text("Not used any more"), lambda row: row["retired"] or None, "name"),
        ),
        rows=failures,
        label=Text("Failures by device"),
    )


def spent_words(spent: Sequence[Spent]) -> Iterator[str]:
    """Yields what a run has spent, in all and by model: `nano: 1.34 USD for 10 requests, computed`."""
    if len(spent) > 1:
        yield Text("{:,.2f} USD in all", sum(one.usd for one in spent))
    for one in spent:
        how = Text("as told by its provider") if one.told else Text("computed from its price")
        more = Text("; at most {:,.2f} more were under way when a start was killed", one.feared) if one.feared else ""
        name = one.model.partition(":")[2]
        requests = counted(one.attempts, "request")
        yield Text("{}: {:,.4f} USD for {}, {}{}", name, one.usd, requests, how, more)


# -- sums --


def loads(results: Results) -> list[Activity]:
    """Returns every load of a model onto a device, in the order of their beginning."""
    found = [one for one in results.activities if one.kind == "loading"]
    return sorted(found, key=lambda one: (one.start_number, one.begin, one.device))


def costs(results: Results, summary: Mapping[str, Any]) -> dict[str, Any]:
    """Adds up the summary's timing and the records' seconds; None if nothing was measured.

    `device_seconds` is the time for which the run held its devices, summed over devices and including idle time;
    `working_seconds` is the part of it spent editing or judging. `seconds_per_edit` and `seconds_per_answer` are
    medians over the `edits` that were made, and over the `answers`: judgements for which a judge was asked. `tokens`
    has an entry for each judge whose server counts them (`statistics.timing.TokenUse`).
    """
    timing = summary.get("timing") or {}
    devices = timing.get("devices") or {}
    edit_seconds = [edit.seconds for edit in results.edits if edit.status is Status.OK and edit.seconds > 0]
    answer_seconds = [one.seconds for one in results.counted if one.seconds > 0]
    return {
        "wall_seconds": timing.get("wall_seconds") or 0.0,
        "starts": max(len(results.wall_seconds), max((one.start_number for one in results.activities), default=0)),
        "device_seconds": sum(sum(kinds.values()) for kinds in devices.values()),
        "working_seconds": sum(kinds["editing"] + kinds["judging"] for kinds in devices.values()),
        "on_gpus": bool(devices) and not any(name.startswith("cpu") for name in devices),
        "edits": len(edit_seconds),
        "seconds_per_edit": statistics.median(edit_seconds) if edit_seconds else None,
        "answers": len(answer_seconds),
        "seconds_per_answer": statistics.median(answer_seconds) if answer_seconds else None,
        "tokens": [asdict(one) for one in tokens(results)],
        "spent": [asdict(one) for one in results.spent],
        "spent_words": list(spent_words(results.spent)),
    }


# -- what is needed to repeat a run --

COMMAND = "edit-eval run config.yaml"


def repetition(results: Results) -> dict[str, Any]:
    """Reads from the records what is needed to repeat the run; anything may be missing in those of another version.

    `versions` are those of Python and its libraries, `devices` is `8 × NVIDIA H100 80GB` or the workers on the CPU,
    `seeds` has the seed of each edit model, to which the samples' indices are added. `command` and `folder` are as in
    `recorded_command`.
    """
    environment, evaluation = results.environment, _mapping(results.configuration.get("evaluation"))
    versions = {"python": environment.get("python"), **_mapping(environment.get("libraries"))}
    models = results.resolved.get("edit_models")
    command, folder = recorded_command(results)
    return {
        "command": command,
        "folder": folder,
        "versions": {str(name): str(version) for name, version in versions.items() if version},
        "devices": _devices(results),
        "seeds": {
            str(model.get("name")): model["seed"]
            for model in (models if isinstance(models, list) else [])
            if isinstance(model, Mapping) and isinstance(model.get("seed"), int)
        },
        "edit_seeds": _whole(evaluation.get("edit_seeds")),
        "repeats": _whole(evaluation.get("repeats")),
    }


def recorded_command(results: Results) -> tuple[str, str]:
    """Returns the last start's command line, quoted for a shell, and the folder its relative paths count from.

    Both are empty if the run was started from Python, which records none.
    """
    line, folder = (results.environment.get(key) for key in ("command", "folder"))
    return (line, folder) if isinstance(line, str) and isinstance(folder, str) else ("", "")


def _devices(results: Results) -> list[str]:
    described = results.environment.get("gpus")
    titles = {
        gpu.get("name"): str(gpu.get("title") or "")
        for gpu in (described if isinstance(described, list) else [])
        if isinstance(gpu, Mapping)
    }
    counts = Counter(titles.get(name, "") or name.partition(":")[0] for name in results.devices)
    return [f"{count} × {title}" for title, count in counts.items()]


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 1
