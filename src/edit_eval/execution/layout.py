"""Which model runs on which devices of a machine, and what a driver must know to start it there."""

from __future__ import annotations

from dataclasses import dataclass, field

from edit_eval.config.schema import Configuration, ModelSection
from edit_eval.endpoints.serving import ServerEnvironment
from edit_eval.execution.drivers.contract import Machine, WorkerSpecification
from edit_eval.execution.machine.environments import interpreter
from edit_eval.execution.machine.places import Place, places
from edit_eval.scheduling.tasks import Model

PATIENCE = 0.9
"""The share of `load_timeout` in which a server must be ready, so that the worker can still say what it waits for."""


@dataclass(frozen=True)
class Layout:
    """All models of a configuration on their devices."""

    models: list[Model] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)
    """Why each model's devices were chosen."""
    sections: dict[str, ModelSection] = field(default_factory=dict)
    """By the model's key."""
    specifications: dict[tuple[str, Place], WorkerSpecification] = field(default_factory=dict)

    @property
    def devices(self) -> tuple[str, ...]:
        """All devices of all models, in order."""
        return tuple(dict.fromkeys(device for devices in self.places.values() for device in devices))

    @property
    def places(self) -> dict[str, tuple[str, ...]]:
        """Each model's devices, in order."""
        return {model.key: tuple(d for place in model.places for d in place) for model in self.models}


def lay_out(configuration: Configuration, machine: Machine) -> Layout:
    """Gives every model its devices. Raises `ConfigurationError` for a device or an environment that is not there."""
    layout = Layout()
    for role, sections in (("edit_model", configuration.edit_models), ("judge", configuration.judges)):
        for section in sections.values():
            chosen, layout.reasons[f"{role} {section.name}"] = places(section, machine)
            model = Model(section.name, "edit" if role == "edit_model" else "judge", chosen)
            layout.models.append(model)
            layout.sections[model.key] = section
            python, server = interpreter(section), None
            if section.served:  # the environment is the server's, and the worker that asks it runs in ours
                python, server = "", ServerEnvironment(python, seconds=PATIENCE * section.placement.load_timeout)
            for place in chosen:
                layout.specifications[model.key, place] = WorkerSpecification(
                    name=f"{model.kind}-{section.name}-{'+'.join(place).replace(':', '')}",
                    model=model.key,
                    role=role,
                    devices=place,
                    class_path=section.class_path,
                    parameters=section.parameters,
                    python=python,
                    server=server,
                    import_path=() if section.type else (str(configuration.folder),),
                )
    return layout
