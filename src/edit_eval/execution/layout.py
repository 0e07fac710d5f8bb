"""Where all models of a configuration run, and what is recorded of the machine that has them."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import metadata

from edit_eval.config.schema import Configuration
from edit_eval.endpoints.serving import ServerEnvironment
from edit_eval.execution.contract import Gpu, Machine, Specifications, WorkerSpecification
from edit_eval.execution.machine.environments import interpreter
from edit_eval.execution.machine.places import (
    Place,
    build_model,
    describe_lost_gpus,
    find_auto_places,
    find_lost_gpus,
    places,
)
from edit_eval.json_values import JsonObject
from edit_eval.scheduling.tasks import Model

PATIENCE = 0.9
"""Share of `load_timeout` in which a server must be ready, so that the worker can still say what it waits for."""


@dataclass(frozen=True)
class Layout:
    """All models of a configuration on their devices."""

    models: list[Model] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)
    """Why each model's devices were chosen, by its key."""
    specifications: dict[tuple[str, Place], WorkerSpecification] = field(default_factory=dict)
    host_of: dict[str, str] = field(default_factory=dict)
    """The machine of each GPU in a cluster."""
    lost: dict[tuple[str, str], str] = field(default_factory=dict)
    """Of each model, the GPUs that it was to run on and that do not answer: (its key, the device) -> the sentence."""

    @property
    def devices(self) -> tuple[str, ...]:
        """All devices of all models, in order."""
        return tuple(dict.fromkeys(device for devices in self.places.values() for device in devices))

    @property
    def places(self) -> dict[str, tuple[str, ...]]:
        """Each model's devices, in order."""
        return {model.key: tuple(d for place in model.places for d in place) for model in self.models}


def specify_joined_gpus(
    configuration: Configuration, specifications: Specifications, gpus: Sequence[Gpu]
) -> dict[tuple[str, Place], WorkerSpecification]:
    """Returns how to start models on GPUs that have joined: as elsewhere, and only models that take every GPU."""
    grown = {}
    for key, section in configuration.models.items():
        known = next(specification for (model, _), specification in specifications.items() if model == key)
        for place in find_auto_places(section, gpus):
            grown[key, place] = replace(known, name=_log_name(key, place), devices=place)
    return grown


def _log_name(key: str, place: Place) -> str:
    return f"{key.replace(':', '-')}-{'+'.join(place).replace(':', '')}"


def lay_out(configuration: Configuration, machine: Machine) -> Layout:
    """Gives every model its devices. Raises `ConfigurationError` for a missing device or environment."""
    layout = Layout(host_of={gpu.name: gpu.node for gpu in machine.gpus()})
    for key, section in configuration.models.items():
        chosen, layout.reasons[key] = places(section, machine)
        lost = find_lost_gpus(section, machine)
        layout.lost.update(zip(((key, name) for name in lost), describe_lost_gpus(lost), strict=True))
        layout.models.append(build_model(chosen, key, section, configuration.folder))
        python, placement, server = interpreter(section), section.placement, None
        if section.own_server:  # the environment is the server's; the worker that queries it runs in ours
            python, server = "", ServerEnvironment(python, seconds=PATIENCE * placement.load_timeout)
        for place in chosen:
            layout.specifications[key, place] = WorkerSpecification(
                name=_log_name(key, place),
                model=key,
                devices=place,
                class_path=section.class_path,
                parameters=section.parameters,
                python=python,
                server=server,
                import_path=() if section.type else (str(configuration.folder),),
                offload=placement.offload,
                timeout=placement.timeout,
                load_timeout=placement.load_timeout,
            )
    return layout


RECORDED_LIBRARIES = ("edit-eval", "pillow", "numpy", "torch", "diffusers", "transformers", "accelerate", "safetensors")


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    """Returns the versions of the recorded libraries; cached, as each look-up takes milliseconds and a process does it
    twice a run."""
    versions = []
    for name in RECORDED_LIBRARIES:
        try:
            versions.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            continue
    return tuple(versions)


def environment_record(layout: Layout, machine: Machine) -> JsonObject:
    """Returns what results depend on besides their keys: versions and devices. Recorded, not hashed; no variables."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "host": platform.node(),
        "processors": os.cpu_count(),
        "libraries": dict(_versions()),
        "devices": list(layout.devices),
        "places": {model: list(devices) for model, devices in layout.places.items()},
        "layout": layout.reasons,
        **machines_record(machine),
    }


def machines_record(machine: Machine) -> JsonObject:
    """Returns the GPUs and, of a cluster, its machines."""
    seen = machine.gpus()
    gpus = [{"name": g.name, "title": g.title, "uuid": g.uuid, "memory": g.memory} for g in seen]
    hosts = [{"name": h.name, "devices": list(h.devices), **h.about, "notes": list(h.notes)} for h in machine.hosts()]
    return {"gpus": gpus, **({"machines": hosts} if hosts else {})}
