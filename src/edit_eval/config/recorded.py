"""The sections of a configuration that a run's records have, too: who reads a run waits for no others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from edit_eval.config import components
from edit_eval.config.components import resolve_class_path
from edit_eval.config.faults import did_you_mean, format_value
from edit_eval.config.kinds import KINDS, Kind
from edit_eval.errors import ConfigurationError
from edit_eval.text import Text
from edit_eval.workers.model_class import PlainParameters

NotBlank = Annotated[str, Field(pattern=r"\S")]
Retries = Annotated[int, Field(ge=0, le=100)]


class Section(BaseModel):
    """A part of the configuration: unknown keys are errors, nothing changes after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def make_name_validator(kind: Kind) -> Callable[[str], str]:
    """Returns what refuses a name that is not registered."""

    def check_name(name: str) -> str:
        if name not in (names := components.names(kind)):
            wrong = components.explain_misnamed(kind, str(name)) or did_you_mean(str(name), names)
            meant = wrong or Text("; there are: {}", names)
            raise ValueError(Text("{} is not {}{}", format_value(name), KINDS[kind].word, meant))
        return name

    return check_name


class ClassSection(Section):
    """A section with its class, found, and with the class's parameters, complete."""

    type: str
    """Registered name; empty for a class path."""
    class_path: str
    """`package.module:Class`, or `/folder/file.py:Class`."""
    parameters: PlainParameters = {}


GONE: Mapping[str, Mapping[str, object]] = {
    "rubric": {"orders": []},
    **{name: {"anchor": ""} for name in ("pairwise", "genarena", "geditbench_v2")},
}
"""Parameters that protocols had once, by registered name, with the value that asks for nothing: runs of before have it
recorded, and passports are found by it."""


def drop_removed_parameters(protocol: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a protocol's recorded parameters without those that are gone. Raises `ConfigurationError` for one that
    asks for something."""
    gone = GONE.get(protocol, {})
    for name in gone.keys() & parameters.keys():
        if parameters[name] != gone[name]:
            raise ConfigurationError(
                Text("protocol {} was asked for `{}: {}`, which it no longer does", protocol, name, parameters[name])
            )
    return {name: value for name, value in parameters.items() if name not in gone}


class ProtocolSection(ClassSection):
    """What a judge is asked; among its parameters are language, prompts and measures, filled in."""

    retries: Retries = 2
    """How often a question is asked again after a reply that cannot be read; 100 at most."""

    @classmethod
    def from_recorded(cls, plain: Mapping[str, Any]) -> ProtocolSection:
        """Reads one that a run has recorded: a registered class is where it is today. Raises `ValueError`, and
        `ConfigurationError` as `drop_removed_parameters`."""
        section = cls.model_validate(plain)
        return section.model_copy(
            update={
                "class_path": resolve_class_path("protocol", section.type, section.class_path),
                "parameters": drop_removed_parameters(section.type, section.parameters),
            }
        )


class EvaluationSection(Section):
    """How often edits are made and judged, and what counts as complete."""

    min_coverage: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 1.0
    """Share of its scores that each edit model must have from each judge. With less, the report begins with that, and
    the exit code is 3. Failed and skipped samples count as not scored."""
    edit_seeds: Annotated[int, Field(ge=1, le=1000)] = 1
    """How many edits of each sample are made, each with a seed of its own; 1000 at most."""
    repeats: Annotated[int, Field(ge=1, le=1000)] = 1
    """How often each judge judges each edit; 1000 at most."""
    readings: Annotated[int, Field(ge=1, le=1000)] = 1
    """How often each question is asked within one judgement, each time with another seed; 1000 at most. A score is the
    mean of its readings. For a judge that samples its answers (`temperature: 0.7`)."""
    controls: Literal["auto"] | Annotated[int, Field(ge=0)] = "auto"
    """For how many samples each judge also scores controls: the source unchanged, a grey picture, another sample's
    edit. `auto`: of up to 12 source images, as long as that is at most a
    third of the questions about edits. `0`: none."""
    more_controls: tuple[Annotated[str, AfterValidator(make_name_validator("control"))], ...] = ()
    """Further registered controls, by name, for the same samples; with `auto` each takes from the number of the
    others."""
