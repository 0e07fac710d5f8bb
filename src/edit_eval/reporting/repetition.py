"""What it takes to repeat a run, read from its records: commands, seeds, versions, devices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edit_eval.records import Results

COMMAND = "edit-eval run config.yaml"


@dataclass(frozen=True)
class RecordedCommand:
    """The command line of the last start that recorded one; all empty where nothing is recorded."""

    line: str = ""
    """As a shell takes it."""
    folder: str = ""
    """Where it was typed: relative paths in it count from there."""


@dataclass(frozen=True)
class Repetition:
    """Everything is empty where nothing is recorded."""

    typed: RecordedCommand
    versions: tuple[tuple[str, str], ...]
    """(Python or a library, its version)"""
    devices: tuple[str, ...]
    """`8 x NVIDIA H100 80GB`, or the workers on the CPU."""
    seeds: tuple[tuple[str, int], ...]
    """(edit model, the seed that the samples' indices are added to)"""
    edit_seeds: int
    repeats: int


def repetition(results: Results) -> Repetition:
    """Reads the records. They may lack anything: a run may have been recorded by another version."""
    environment, evaluation = results.environment, _mapping(results.configuration.get("evaluation"))
    versions = [("python", environment.get("python")), *_mapping(environment.get("libraries")).items()]
    models = results.resolved.get("edit_models")
    return Repetition(
        typed=recorded_command(results),
        versions=tuple((str(name), str(version)) for name, version in versions if version),
        devices=_devices(results),
        seeds=tuple(
            (str(model.get("name")), model["seed"])
            for model in (models if isinstance(models, list) else [])
            if isinstance(model, Mapping) and isinstance(model.get("seed"), int)
        ),
        edit_seeds=_whole(evaluation.get("edit_seeds")),
        repeats=_whole(evaluation.get("repeats")),
    )


def recorded_command(results: Results) -> RecordedCommand:
    """What was typed; a run that was started from Python has recorded nothing."""
    line, folder = (results.environment.get(key) for key in ("command", "folder"))
    return RecordedCommand(line, folder) if isinstance(line, str) and isinstance(folder, str) else RecordedCommand()


def _devices(results: Results) -> tuple[str, ...]:
    described = results.environment.get("gpus")
    titles = {
        gpu.get("name"): str(gpu.get("title") or "")
        for gpu in (described if isinstance(described, list) else [])
        if isinstance(gpu, Mapping)
    }
    counts = Counter(titles.get(name, "") or name.partition(":")[0] for name in results.devices)
    return tuple(f"{count} × {title}" for title, count in counts.items())


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 1
