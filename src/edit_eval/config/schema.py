"""The configuration after reading: typed, complete, frozen. What each key means is in docs/configuration.md."""

from __future__ import annotations

import os.path
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from edit_eval.config.placement import Placement, PositiveInteger
from edit_eval.config.secrets import without_secrets

NOT_BUILT: dict[tuple[str, ...], tuple[Any, ...]] = {
    ("extends",): (),
    ("trackers",): ([],),
    ("evaluation", "readings"): (1,),
    ("evaluation", "controls"): (0,),
    ("execution", "driver"): ("local",),
    ("execution", "address"): (),
    ("diffusion_model", "protocol"): (),
    ("edit_models", "*", "protocol"): (),
    ("reward_model", "protocol"): (),
    ("judges", "*", "protocol"): (),
}
"""Keys that nothing implements yet, with the values that ask for nothing: any other one is refused in one line. Take a
row out when what it asks for is built."""

Language = Literal["en", "zh"]
OnBadSample = Literal["error", "skip"]


class Section(BaseModel):
    """A part of the configuration: unknown keys are errors, nothing changes after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Filters(Section):
    """Which samples of the benchmark take part. An empty list filters nothing."""

    categories: tuple[str, ...] = ()
    """As in the file, or canonical: `物理` and `physical` are the same."""
    difficulty: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    sample_ids: tuple[str, ...] = ()
    limit: PositiveInteger | None = None
    """The first N of each category, after the other filters."""


class BenchmarkSection(Section):
    """The benchmark."""

    type: str
    """Registered name; empty for a class path."""
    class_path: str
    """`package.module:Class`, or `/folder/file.py:Class`."""
    parameters: dict[str, Any] = {}
    """Plain values of the class's `Parameters`, defaults filled in."""
    filters: Filters = Filters()
    on_bad_sample: OnBadSample = "error"
    language: Language = "en"

    @property
    def source(self) -> str:
        """What its samples are made of, as a message names it: its file, or else its type."""
        return str(self.parameters.get("data_path") or self.type or self.class_path)


class ModelSection(Section):
    """An edit model or a judge."""

    name: str
    """Its name in results, and of its folder."""
    type: str
    """Registered name; empty for a class path."""
    class_path: str
    """`package.module:Class`, or `/folder/file.py:Class`."""
    parameters: dict[str, Any] = {}
    """Plain values of the class's `Parameters`, defaults filled in: part of every key."""
    placement: Placement = Placement()
    names: dict[str, str] = Field({}, exclude=True)
    """How an error names a key of `params`: `device_ids` is `diffusion_model.params.device`, or `--devices`."""
    seed: Annotated[int, Field(ge=0, le=2**62)] = 0

    def named(self, key: str) -> str:
        """How an error names this key of `params`: as it was written, and where."""
        return self.names.get(key, key)


class ProtocolSection(Section):
    """How a judge is asked."""

    type: Literal["rubric"] = "rubric"
    answer: Literal["score", "reason_then_score"] = "score"
    retries: Annotated[int, Field(ge=0, le=100)] = 2


class EvaluationSection(Section):
    """How often it is done, and what counts as done."""

    min_coverage: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 1.0
    edit_seeds: Annotated[int, Field(ge=1, le=1000)] = 1
    repeats: Annotated[int, Field(ge=1, le=1000)] = 1


class ExecutionSection(Section):
    """In which order and on which devices at once; never part of a key."""

    schedule: Literal["pull", "round_robin", "batch_sync"] = "pull"
    order: Literal["by_stage", "by_category"] = "by_stage"
    placement: Literal["auto", "swap", "together"] = "auto"
    start: Literal["asap", "together"] = "asap"
    load_concurrency: Literal["auto"] | PositiveInteger = "auto"
    pilot: bool = True
    progress: Literal["auto", "rich", "plain", "lines", "none"] = "auto"


class Configuration(Section):
    """All of it."""

    name: str
    """The file's stem, or `run`."""
    folder: Path
    """The first on the import path of a class that is given by its path: the YAML's folder, or its `import_from`."""
    benchmark: BenchmarkSection
    edit_models: dict[str, ModelSection]
    judges: dict[str, ModelSection]
    prompts: dict[str, dict[str, str]] = {}
    protocol: ProtocolSection = ProtocolSection()
    evaluation: EvaluationSection = EvaluationSection()
    execution: ExecutionSection = ExecutionSection()
    notes: tuple[str, ...] = ()
    """What the reader of the file should be told, one line each."""

    def as_plain(self) -> dict[str, Any]:
        """The resolved configuration in the YAML's own shape, without secrets.

        Reading it again gives the same, wherever the file lies: `import_from` says where classes of one's own are, and
        the paths of the benchmark are absolute. (Those among a model's parameters are part of keys and stay.)
        """
        b = self.benchmark
        types = (b.type, *(model.type for model in (*self.edit_models.values(), *self.judges.values())))
        plain: dict[str, Any] = {
            **({} if all(types) else {"import_from": str(self.folder)}),
            "benchmark": {
                **_which(b.type, b.class_path),
                **{key: _absolute(key, value) for key, value in b.parameters.items()},
                "language": b.language,
                "on_bad_sample": b.on_bad_sample,
                **b.filters.model_dump(mode="json"),
            },
            "edit_models": {name: _plain_model(model) for name, model in self.edit_models.items()},
            "judges": {name: _plain_model(model) for name, model in self.judges.items()},
            "prompts": {category: dict(texts) for category, texts in self.prompts.items()},
            "protocol": self.protocol.model_dump(mode="json"),
            "evaluation": self.evaluation.model_dump(mode="json"),
            "execution": self.execution.model_dump(mode="json"),
        }
        return {key: value if key == "prompts" else without_secrets(value) for key, value in plain.items()}


def _absolute(key: str, value: Any) -> Any:
    paths = ("data_path", "cache_dir")
    return os.path.abspath(os.path.expanduser(value)) if key in paths and isinstance(value, str) else value


def _which(type_name: str, class_path: str) -> dict[str, str]:
    return {"type": type_name} if type_name else {"class_path": class_path}


def _plain_model(model: ModelSection) -> dict[str, Any]:
    params = {**model.placement.as_plain(), "seed": model.seed, **model.parameters}
    return {**_which(model.type, model.class_path), "params": params}
