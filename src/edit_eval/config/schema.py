"""The configuration after reading: typed, complete, frozen. docs/configuration.md is made of the docstrings here."""

from __future__ import annotations

import os.path
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, SerializeAsAny, model_validator

from edit_eval.config.faults import nearest_path
from edit_eval.config.placement import Placement, PositiveInteger
from edit_eval.config.recorded import (
    ClassSection,
    EvaluationSection,
    NotBlank,
    ProtocolSection,
    Retries,
    Section,
    make_name_validator,
)
from edit_eval.config.secret_values import mask_secrets
from edit_eval.endpoints.engines import Route
from edit_eval.endpoints.serving import Serve
from edit_eval.files.addresses import is_address
from edit_eval.json_values import JsonObject, Unchecked
from edit_eval.records import Language, Refinement
from edit_eval.text import Text
from edit_eval.workers.model_class import PlainParameters

OnBadSample = Literal["error", "skip"]


def _words(value: object) -> tuple[object, ...]:
    """Accepts a single word without brackets."""
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _ids(value: object) -> tuple[object, ...]:
    """The same with ids that look like numbers."""
    return tuple(str(word) if type(word) is int else word for word in _words(value))


Words = Annotated[tuple[str, ...], BeforeValidator(_words, json_schema_input_type=tuple[str, ...] | str)]


class Filters(Section):
    """Which samples of the benchmark take part. An empty list filters nothing."""

    categories: Words = ()
    """Only these categories, as in the file (`物理`) or canonical: `physical`, `environmental`, `social`,
    `causal`, `referential`."""
    difficulty: Words = ()
    """Only these difficulties."""
    tags: Words = ()
    """Only samples with one of these tags."""
    sample_ids: Annotated[
        tuple[str, ...], BeforeValidator(_ids, json_schema_input_type=tuple[str | int, ...] | str | int)
    ] = ()
    """Only these samples."""
    limit: PositiveInteger | None = None
    """The first N of each category, after the other filters."""


class BenchmarkSection(ClassSection):
    """The benchmark."""

    filters: Filters = Filters()
    on_bad_sample: OnBadSample = "error"
    """`error`: samples that cannot be used stop the run before anything is loaded, and are all named. `skip`: they are
    left out, named in every report, and counted as not scored."""
    language: Language = "en"
    """Language of instructions, descriptions and rubrics, and of the report: `en` or `zh`."""

    @property
    def source(self) -> str:
        """Its name in messages: its file, or else its type."""
        return str(self.parameters.get("data_path") or self.type or self.class_path)


class NamedClass(Section):
    """The class of a section, by either of the two."""

    type: NotBlank | None = None
    """A registered name; `edit-eval list` shows all."""
    class_path: NotBlank | None = None
    """A class of your own instead of a `type`: `package.module:Class`, or `file.py:Class`."""


def _folder(path: str) -> str:
    if not os.path.isdir(path):
        raise ValueError(Text("no such folder: {}{}", path, nearest_path(path)))
    return path


class OwnClasses(Section):
    """Where classes of the user's own are searched first."""

    import_from: Annotated[NotBlank, AfterValidator(_folder)] | None = None


class PromptsSection(Section):
    """What replaces the packaged rubric in a category."""

    system_prompt: NotBlank | None = None
    """The judge's role; without it, the rubric's."""
    user_prompt_template: NotBlank | None = None
    """The question; without it, the rubric's. `{original_description}` and `{edit_instruction}` are filled in. Another
    word in braces is refused; other braces (`{"score": 7}`) are plain text."""

    @model_validator(mode="after")
    def _replaces_something(self) -> PromptsSection:
        if self.system_prompt is None and self.user_prompt_template is None:
            raise ValueError(Text("empty; give {: or }", type(self).model_fields))
        return self


class NamedProtocol(NamedClass):
    """What a protocol is given besides its class's parameters."""

    retries: Retries | None = None
    """How often a question is asked again after a reply that cannot be read; 2 unless given, 100 at most."""


class ModelSection(ClassSection):
    """An edit model or a judge; its parameters are part of every key."""

    name: str
    """Its name in results, and of its folder."""
    placement: Placement = Placement()
    names: dict[str, str] = Field(default={}, exclude=True)
    """Names of the keys of `params` for errors: `device_ids` is `diffusion_model.params.device`, or `--devices`."""
    seed: Annotated[int, Field(ge=0, le=2**62)] = 0
    """A sample's seed is this plus its index in the whole benchmark. The model gets the sum, which is part of the
    key."""
    mask: Literal["auto", "required", "none"] = "auto"
    """Whether an edit model is given a sample's mask, where it may change the picture. `auto`: one that takes masks is,
    as far as samples have one, and others say that they are not. `required`: a model that takes none, and a sample that
    has none, are refused. `none`: it is given none. A mask is part of the key of edits that are made with it."""
    protocol: ProtocolSection | None = None
    """What a judge is asked, complete; None for an edit model."""

    @property
    def own_server(self) -> Serve | None:
        """The server that edit-eval starts for it, if any; then `python`, `conda_env` and `uv` are the server's."""
        serve = self.parameters.get("serve")
        return Serve(**serve) if isinstance(serve, dict) and "engine" in serve else None

    @property
    def server_share(self) -> float | None:
        """Share of each GPU's memory that its server reserves at start; None without a server of ours."""
        return self.own_server.share(self.route) if self.own_server else None

    @property
    def route(self) -> Route:
        """The kind of request its server is sent, if it has one."""
        return "chat" if self.protocol else "images"

    def name_of(self, key: str) -> str:
        """Returns the name of this key of `params` for errors: as written, and where."""
        return self.names.get(key, key)


class ColumnsSection(Section):
    """What is below a key that a plug-in adds (`columns.KEY`): it asks for further columns of edits,
    whose edit models are told a judge's words. The class's docstring says what the key is. Its validators have the
    run's `language` and the names of all `judges` as context."""

    protocol: ClassVar[str] = ""
    """Not empty if judges stand below the key, by the user's names for them: their protocol, where they name none."""

    @classmethod
    def from_judges(cls, names: tuple[str, ...]) -> Self:
        """Returns the section with these judges below it, if it has a `protocol`."""
        raise NotImplementedError

    @property
    def judges(self) -> tuple[str, ...]:
        """Judges that stand below the key."""
        return ()

    @property
    def speakers(self) -> tuple[str, ...]:
        """Judges whose words edit models are told, by their names: edits wait for them."""
        raise NotImplementedError

    def columns(self, column: str, edit_model: str) -> Iterable[tuple[str, Refinement]]:
        """Yields by name the columns that come behind one of an edit model's, and how each is told what to do."""
        raise NotImplementedError


class ExecutionSection(Section):
    """The order of work, and its spread over devices; never part of a key."""

    driver: Annotated[str, AfterValidator(make_name_validator("driver"))] = "local"
    """What starts workers: `local`, this machine, or another registered driver, such as `ray`, a Ray cluster."""
    address: Annotated[str, Field(min_length=1)] | None = None
    """Address of the driver's cluster. For `ray`, `auto` is the one this machine belongs to; None uses that, or starts
    one here."""
    schedule: Literal["pull", "round_robin", "batch_sync"] = "pull"
    """`pull`: a free device takes the next sample. `round_robin`: edit i goes to device i mod N. `batch_sync`: the
    same, and all devices wait for each other after every N edits."""
    order: Literal["by_stage", "by_category"] = "by_stage"
    """`by_stage`: all edits, then all scores. `by_category`: a category's edits, then its scores, then the next one."""
    placement: Literal["auto", "swap", "together"] = "auto"
    """`together`: both models stay on a GPU. `swap`: one at a time. `auto`: together where both fit."""
    start: Literal["asap", "together"] = "asap"
    """`asap`: a device begins when its model is loaded. `together`: all begin when all are loaded."""
    load_concurrency: Literal["auto"] | PositiveInteger = "auto"
    """How many models load at once on each machine; `auto`: as many as host memory allows, one if a size is unknown."""
    pilot: bool = True
    """First, one sample of each category, three at least, goes through edit, judge and parser."""
    max_cost: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """Most US dollars that the run may spend on models behind an interface, over all its starts; None: no limit. The
    run ends with exit code 4 before a request could exceed it; rerun it with a higher limit to resume."""
    progress: Literal["auto", "rich", "plain", "lines", "none"] = "auto"
    """`rich`: bars. `plain`: few lines. `lines`: also one for every score, with the judge's words. `none`: nothing.
    `auto`: bars in a terminal, else few lines."""


class Configuration(Section):
    """A whole configuration."""

    name: str
    """The file's stem, or `run`."""
    folder: Path
    """Searched first for classes given by path: the YAML file's folder, or its `import_from`."""
    benchmark: BenchmarkSection
    edit_models: dict[str, ModelSection]
    judges: dict[str, ModelSection]
    evaluation: EvaluationSection = EvaluationSection()
    columns: dict[str, SerializeAsAny[ColumnsSection]] = Field(default={})
    """What asks for further columns, by its key."""
    execution: ExecutionSection = ExecutionSection()
    trackers: dict[str, PlainParameters] = Field(default={})
    """Parameters of the trackers, by name; in no key."""
    notes: tuple[str, ...] = ()
    """Notes for the user, one line each."""

    @property
    def models(self) -> dict[str, ModelSection]:
        """All edit models, then all judges, by their names in tasks: `edit:NAME`, `judge:NAME`. Judges that edits wait
        for come first, so that a device loads the others only when nothing else is left."""
        edit_models = {f"edit:{name}": section for name, section in self.edit_models.items()}
        first = {name for section in self.columns.values() for name in section.speakers}
        judges = sorted(self.judges, key=lambda name: name not in first)
        return edit_models | {f"judge:{name}": self.judges[name] for name in judges}

    def as_plain(self) -> Unchecked:
        """Returns the full configuration in the YAML's shape, without secrets.

        It reads back as the same from any folder: `import_from` says where the user's own classes are, and the paths of
        the benchmark are absolute. (Paths in a model's parameters are part of keys, and stay unchanged.)
        """
        b = self.benchmark
        models = self.models.values()
        named: list[ClassSection] = [b, *models, *(model.protocol for model in models if model.protocol)]
        elsewhere = {name for section in self.columns.values() for name in section.judges}
        plain: Unchecked = {
            **({} if all(section.type for section in named) else {"import_from": str(self.folder)}),
            "benchmark": {
                **_which(b),
                **{key: _absolute(key, value) for key, value in b.parameters.items()},
                "language": b.language,
                "on_bad_sample": b.on_bad_sample,
                **b.filters.model_dump(mode="json"),
            },
            "edit_models": {name: _plain_model(model, b.language) for name, model in self.edit_models.items()},
            "judges": {
                name: _plain_model(self.judges[name], b.language) for name in self.judges if name not in elsewhere
            },
            "evaluation": {
                key: value
                for key, value in self.evaluation.model_dump(mode="json").items()
                if value or key != "more_controls"
            },
            **{
                key: {name: _plain_model(self.judges[name], b.language) for name in section.judges}
                or section.model_dump(mode="json", by_alias=True)
                for key, section in self.columns.items()
            },
            "execution": self.execution.model_dump(mode="json"),
            **({"trackers": [{name: given} for name, given in self.trackers.items()]} if self.trackers else {}),
        }
        written = mask_secrets(plain)
        assert isinstance(written, dict)
        return written


def _absolute(key: str, value: Any) -> Any:
    if key not in ("data_path", "cache_dir") or not isinstance(value, str) or is_address(value):
        return value
    return os.path.abspath(os.path.expanduser(value))


def _which(section: ClassSection) -> dict[str, str]:
    return {"type": section.type} if section.type else {"class_path": section.class_path}


def _plain_model(model: ModelSection, language: str) -> JsonObject:
    params = {**model.placement.as_plain(), "seed": model.seed, **model.parameters}
    params |= {"mask": model.mask} if model.mask != "auto" else {}
    plain: JsonObject = {**_which(model), "params": params}
    if protocol := model.protocol:
        # Left out if filled in from elsewhere, since reading fills it in again.
        filled_in = {"measures": protocol.parameters.get("measures"), "language": language}
        own = {k: v for k, v in protocol.parameters.items() if k not in filled_in or v != filled_in[k]}
        plain["protocol"] = {**_which(protocol), **own, "retries": protocol.retries}
    return plain
