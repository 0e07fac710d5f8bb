"""The configuration after reading: typed, complete, frozen. What each key means is in docs/configuration.md."""

from __future__ import annotations

import os.path
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from edit_eval.config.placement import Placement, PositiveInteger

NOT_BUILT: dict[tuple[str, str], tuple[str, ...]] = {
    ("execution", "driver"): ("ray",),
}
"""Values that the schema knows and nothing implements yet: refused in one line. Take one out when its room is built."""

Language = Literal["en", "zh"]
OnBadSample = Literal["error", "skip"]
SECRET_SHOWN = "<from the environment>"


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


class EvaluationSection(Section):
    """What is asked, how often, and what counts as done."""

    answer: Literal["score", "reason_then_score"] = "score"
    min_coverage: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 1.0
    retries: Annotated[int, Field(ge=0)] = 2
    edit_seeds: PositiveInteger = 1
    repeats: PositiveInteger = 1


class ExecutionSection(Section):
    """In which order and on which devices at once; never part of a key."""

    schedule: Literal["pull", "round_robin", "batch_sync"] = "pull"
    order: Literal["by_stage", "by_category"] = "by_stage"
    placement: Literal["auto", "swap", "together"] = "auto"
    start: Literal["asap", "together"] = "asap"
    load_concurrency: Literal["auto"] | PositiveInteger = "auto"
    pilot: bool = True
    progress: Literal["auto", "rich", "plain", "lines", "none"] = "auto"
    driver: Literal["local", "ray"] = "local"


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


_SECRET_KEY = re.compile(
    r"(?:^|_)(?:api_?key|secret(?:_?key)?|access_key|private_key|(?:api|access|auth|hf|bearer|refresh)_token"
    r"|password|passwd|credentials?)$|^token$|^authorization$",
    re.IGNORECASE,
)
_PASSWORD_IN_URL = re.compile(r"(?<=://)[^/@\s]*:[^/@\s]*@")


def is_secret(key: str, value: object) -> bool:
    """Whether a value must not stand in a file: by its key's name, or a URL with a password in it."""
    if isinstance(value, str) and _PASSWORD_IN_URL.search(value):
        return True
    return bool(_SECRET_KEY.search(key.replace("-", "_"))) and value not in (None, "")


def without_secrets(value: Any) -> Any:
    """A copy in which every secret is replaced by `<from the environment>`."""
    if isinstance(value, Mapping):
        return {k: SECRET_SHOWN if is_secret(k, v) else without_secrets(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [SECRET_SHOWN if is_secret("", v) else without_secrets(v) for v in value]
    return value
