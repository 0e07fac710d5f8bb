"""What it takes to repeat a run, read from its records: commands, seeds, versions, devices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from edit_eval.records import Results

COMMAND = "edit-eval run config.yaml"


def repetition(results: Results) -> dict[str, Any]:
    """Reads the records, which may lack anything: a run may have been recorded by another version.

    `versions` are of Python and its libraries, `devices` `8 × NVIDIA H100 80GB`, or the workers on the CPU; of each
    edit model `seeds` has the seed that the samples' indices are added to. `command` and `folder` are as in
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
    """The command line of the last start, as a shell takes it, and the folder from which relative paths in it count.

    Both are empty where nothing is recorded: by a start from Python.
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
