"""What is needed to repeat a run, as its records have it."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from edit_eval.records import Results

COMMAND = "edit-eval run config.yaml"


class Repetition(NamedTuple):
    """What is needed to repeat a run; anything may be missing in records of another version."""

    command: str
    """As in `last_command`, like `folder`."""
    folder: str
    versions: dict[str, str]
    """Of Python and its libraries."""
    devices: list[str]
    """`8 × NVIDIA H100 80GB`, or the workers on the CPU."""
    seeds: dict[str, int]
    """Of each edit model; the samples' indices are added."""
    edit_seeds: int
    repeats: int


def repetition(results: Results) -> Repetition:
    """Reads it from the records."""
    environment, evaluation = (
        results.provenance.environment,
        _mapping(results.provenance.configuration.get("evaluation")),
    )
    versions = {"python": environment.get("python"), **_mapping(environment.get("libraries"))}
    models = results.provenance.resolved.get("edit_models")
    command, folder = last_command(results)
    return Repetition(
        command=command,
        folder=folder,
        versions={str(name): str(version) for name, version in versions.items() if version},
        devices=_devices(results),
        seeds={
            str(model.get("name")): model["seed"]
            for model in (models if isinstance(models, list) else [])
            if isinstance(model, Mapping) and isinstance(model.get("seed"), int)
        },
        edit_seeds=_whole(evaluation.get("edit_seeds")),
        repeats=_whole(evaluation.get("repeats")),
    )


def last_command(results: Results) -> tuple[str, str]:
    """Returns the last start's command line, quoted for a shell, and the folder its relative paths count from.

    Both are empty if the run was started from Python, which records none.
    """
    line, folder = (results.provenance.environment.get(key) for key in ("command", "folder"))
    return (line, folder) if isinstance(line, str) and isinstance(folder, str) else ("", "")


def shell_command(folder: object, words: Sequence[str]) -> str:
    """Returns a shell command that first changes to `folder`, if it exists and is another one than the current; paths
    are relative to it where that is shorter."""
    if not isinstance(folder, str) or not Path(folder).is_dir():
        return shlex.join(words)
    near = [os.path.relpath(word, folder) if os.path.isabs(word) else word for word in words]
    line = shlex.join(min(both, key=len) for both in zip(near, words, strict=True))
    return line if os.path.samefile(folder, os.curdir) else f"cd {shlex.quote(folder)} && {line}"


def _devices(results: Results) -> list[str]:
    described = results.provenance.environment.get("gpus")
    titles = {
        gpu.get("name"): str(gpu.get("title") or "")
        for gpu in (described if isinstance(described, list) else [])
        if isinstance(gpu, Mapping)
    }
    counts = Counter(titles.get(name, "") or name.partition(":")[0] for name in results.telemetry.devices)
    return [f"{count} × {title}" for title, count in counts.items()]


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 1
