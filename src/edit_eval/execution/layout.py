"""Which model runs on which devices of a machine, and what a driver must know to start it there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from edit_eval.config.schema import Configuration
from edit_eval.endpoints.serving import ServerEnvironment
from edit_eval.execution.contract import Gpu, Machine, WorkerSpecification
from edit_eval.execution.engine.contracts import Specifications
from edit_eval.execution.machine.environments import interpreter
from edit_eval.execution.machine.places import Place, model_on, places, places_on
from edit_eval.scheduling.tasks import Model

PATIENCE = 0.9
"""The share of `load_timeout` in which a server must be ready, so that the worker can still say what it waits for."""


@dataclass(frozen=True)
class Layout:
    """All models of a configuration on their devices."""

    models: list[Model] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)
    """Why each model's devices were chosen, by its key."""
    specifications: dict[tuple[str, Place], WorkerSpecification] = field(default_factory=dict)
    host_of: dict[str, str] = field(default_factory=dict)
    """The machine of a cluster that a GPU is in."""

    @property
    def devices(self) -> tuple[str, ...]:
        """All devices of all models, in order."""
        return tuple(dict.fromkeys(device for devices in self.places.values() for device in devices))

    @property
    def places(self) -> dict[str, tuple[str, ...]]:
        """Each model's devices, in order."""
        return {model.key: tuple(d for place in model.places for d in place) for model in self.models}


def grow(
    configuration: Configuration, specifications: Specifications, gpus: Sequence[Gpu]
) -> dict[tuple[str, Place], WorkerSpecification]:
    """How models are started on GPUs that have joined: as elsewhere. Only those that take every GPU are."""
    grown = {}
    for key, section in configuration.models.items():
        known = next(one for (model, _), one in specifications.items() if model == key)
        for place in places_on(section, gpus):
            grown[key, place] = replace(known, name=_log_name(key, place), devices=place)
    return grown


def _log_name(key: str, place: Place) -> str:
    return f"{key.replace(':', '-')}-{'+'.join(place).replace(':', '')}"


def lay_out(configuration: Configuration, machine: Machine) -> Layout:
    """Gives every model its devices. Raises `ConfigurationError` for a device or an environment that is not there."""
    layout = Layout(host_of={gpu.name: gpu.node for gpu in machine.gpus() or ()})
    for key, section in configuration.models.items():
        chosen, layout.reasons[key] = places(section, machine)
        layout.models.append(model_on(chosen, key, section, configuration.folder))
        python, placement, server = interpreter(section), section.placement, None
        if section.served:  # the environment is the server's, and the worker that asks it runs in ours
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
