"""Turns plain values into sections: checks keys, fills in defaults, finds classes, and collects faults."""

from __future__ import annotations

import inspect
import os.path
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from edit_eval.config import components
from edit_eval.config.base_system import MODELS, BaseFile, ModelKind, explain_unknown_key, is_base_class
from edit_eval.config.components import preserve_cwd
from edit_eval.config.faults import Faults, Place, did_you_mean, format_value, nearest_path, validate_values
from edit_eval.config.kinds import Kind
from edit_eval.config.parameters import check_parameters, names_of
from edit_eval.config.placement import (
    PLACEMENT_KEYS,
    SAMPLE_KEYS,
    Devices,
    Placement,
    find_written_name,
    read_placement,
    replace_devices,
)
from edit_eval.config.recorded import EvaluationSection, ProtocolSection, Section, make_name_validator
from edit_eval.config.schema import (
    BenchmarkSection,
    ColumnsSection,
    Configuration,
    ExecutionSection,
    Filters,
    ModelSection,
    NamedClass,
    NamedProtocol,
    OwnClasses,
    PromptsSection,
)
from edit_eval.config.yaml_text import ensure_mapping
from edit_eval.errors import ConfigurationError
from edit_eval.files.addresses import is_address
from edit_eval.json_values import Unchecked
from edit_eval.records import Language
from edit_eval.text import Text
from edit_eval.workers.model_class import PlainParameters, make_parameters

TOP_KEYS = {
    "benchmark": "The benchmark: a registered name, a file of your own, or a mapping with `type` or `class_path`.",
    "diffusion_model": "The edit model, if there is one.",
    "edit_models": "Edit models, by your names for them. Every one of them edits every sample.",
    "reward_model": "The judge, if there is one.",
    "judges": "Judges, by your names for them. Every one of them scores every edit.",
    "prompts": "By category, what replaces the packaged rubric.",
    "protocol": "What judges are asked about an edit, and which scores their replies make.",
    "evaluation": "How often edits are made and judged, and what counts as complete.",
    "execution": "The order of work, and its spread over devices. Nothing here changes a result.",
    "trackers": "Whom the run's figures are told: names, or names with their parameters.",
    "import_from": "Folder that is searched first for classes of your own; by default that of this file.",
    "extends": "Path of a configuration, or its name, from which everything is taken that is not written here.",
}
"""What may stand at a file's top level, and what it is; `top_keys` has those of plug-ins, too. `extends` is merged
before anything else is read."""
CLASS_KEYS = tuple(NamedClass.model_fields)
SHARED_KEYS = ("language", "on_bad_sample")
"""Keys that a benchmark may take itself: then its class declares a parameter of that name."""
BENCHMARK_KEYS = (*CLASS_KEYS, *SHARED_KEYS, *Filters.model_fields)
MODEL_KEYS = (*CLASS_KEYS, "params")
PARAMS = "Where and how it runs, its `seed`, and the class's own parameters."
DEFAULT_BENCHMARK = "five_dimensions"


def top_keys() -> dict[str, str]:
    """Returns what may stand at a file's top level, and what it is, the keys of plug-ins last."""
    return TOP_KEYS | {key.name: key.summary for key in components.list_components("columns")}


_LETTERS = r"A-Za-z0-9_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
NAME = re.compile(f"[{_LETTERS}][{_LETTERS}.-]*")
LONGEST_NAME = 100  # bytes; it becomes a folder's name

S = TypeVar("S", bound=Section)

DEFAULT_PROTOCOL = "rubric"
MEASURING_PROTOCOL = "numbers"
"""Protocol of judges that measure instead of answering questions."""
PROTOCOL_KEYS = tuple(NamedProtocol.model_fields)
"""Keys that are not parameters of the protocol's class."""

Found = tuple[str, str, type[Any] | None]
"""A registered name or "", a class path or "", and the class."""


@dataclass(frozen=True)
class Layer:
    """Some keys of a protocol, and the place they come from."""

    keys: Mapping[str, Any]
    place: Place

    @property
    def protocol_key(self) -> tuple[Any, ...] | None:
        """The protocol it names; None if it names none. A layer that names another protocol discards those before."""
        names = tuple(self.keys.get(key) for key in CLASS_KEYS)
        return names if any(name is not None for name in names) else None


@dataclass(frozen=True)
class JudgeDraft:
    """A judge before its protocol is known."""

    section: ModelSection
    judge_class: type[Any] | None
    """None if only its own environment can import it."""
    place: Place
    own: Layer
    """Its own `protocol` keys."""

    @property
    def measures(self) -> bool:
        """True if it gives numbers, and is asked no questions."""
        return callable(getattr(self.judge_class, "measures", None))


@dataclass
class Sections:
    """Builds a `Configuration` from plain values. Faults are noted, and defaults used until all are known."""

    raw: Unchecked
    faults: Faults
    folder: Path
    devices: Devices | None = None
    data_may_be_missing: bool = False
    notes: list[str] = field(default_factory=list)
    base: BaseFile = field(default_factory=BaseFile)
    asked: dict[str, JudgeDraft] = field(default_factory=dict)
    default: Layer = Layer({"type": DEFAULT_PROTOCOL}, ())
    """The benchmark's protocol."""
    common: Layer = Layer({}, ("protocol",))
    """The configuration's `protocol`."""
    given: dict[str, Any] = field(default_factory=dict)
    """Values for protocols whose classes declare them."""
    used: set[str] = field(default_factory=set)
    """Keys of `given`, and `protocol`, that some judge has used."""

    def configuration(self, name: str) -> Configuration:
        """Builds the configuration. Raises `ConfigurationError` if anything is wrong."""
        self.base.translate(self.raw, self.faults, self.notes)
        self._take_over_protocol()
        self._refuse_unknown((), self.raw, tuple(top_keys()))
        own = self._validate_section(OwnClasses, {"import_from": _with_home(self.raw.get("import_from"))}, ())
        self.folder = Path(own.import_from).resolve() if own.import_from else self.folder
        benchmark = self._benchmark()
        edit_models = self._models("edit_model")
        self._models("judge")
        columns = self._columns(benchmark.language)
        self.given = {"language": benchmark.language, "prompts": self._prompts()}
        self.common = Layer(self._mapping(("protocol",), "protocol"), ("protocol",))
        judges = self._judges()
        evaluation = self._section(EvaluationSection, ("evaluation",))
        execution = self._section(ExecutionSection, ("execution",))
        trackers = self._trackers()
        self.faults.raise_if_any()
        return Configuration(
            name=name,
            folder=self.folder,
            benchmark=benchmark,
            edit_models=edit_models,
            judges=judges,
            evaluation=evaluation,
            columns=columns,
            execution=execution,
            trackers=trackers,
            notes=(*self.base.notes(self.notes), *notes_on_readings(judges, evaluation.readings)),
        )

    def _take_over_protocol(self) -> None:
        """Moves `answer` and `retries` from `evaluation`, where they once were, to `protocol`."""
        evaluation = self.raw.get("evaluation")
        for key in ("answer", "retries"):
            value = evaluation.pop(key, None) if isinstance(evaluation, dict) else None
            if value is None or not isinstance(protocol := ensure_mapping(self.raw, "protocol"), dict):
                continue  # not given, or reported elsewhere
            if protocol.setdefault(key, value) != value:
                self.faults.add(("evaluation", key), Text("`protocol.{}` is also given; keep that one", key))
            elif ("protocol", key) not in self.faults.origins:
                self.faults.origins["protocol", key] = self.faults.name(("evaluation", key))

    def _benchmark(self) -> BenchmarkSection:
        place: Place = ("benchmark",)
        if "benchmark" not in self.raw:
            self.faults.add(place, Text("missing; say where the data is (`benchmark: {{data_path: ...}}`)"))
        written = _with_home(self._mapping(place))
        if self.faults.has(place):
            return BenchmarkSection.model_construct()
        if all(written.get(key) is None for key in CLASS_KEYS):
            written["type"] = DEFAULT_BENCHMARK
        type_name, class_path, cls = self._class("benchmark", place, written)
        values = {key: written.get(key) for key in SHARED_KEYS}
        section = self._validate_section(
            BenchmarkSection, values | {"type": type_name, "class_path": class_path}, place
        )
        parameters: PlainParameters = {}
        if cls is not None:
            self.default = default_layer(cls, self.faults)
            shared = [key for key in SHARED_KEYS if key in list_parameter_names(cls)]
            own = {key: value for key, value in written.items() if key not in BENCHMARK_KEYS}
            own |= {key: getattr(section, key) for key in shared}
            also = tuple(key for key in BENCHMARK_KEYS if key not in shared)
            parameters = check_parameters(cls, own, place, self.faults, also, type_name or class_path)
            self._refuse_missing_data(parameters.get("data_path"), type_name)
        filters = self._part(Filters, written, place)
        return section.model_copy(update={"parameters": parameters, "filters": filters})

    def _refuse_missing_data(self, data_path: object, type_name: str) -> None:
        if self.data_may_be_missing or not isinstance(data_path, str):
            return
        if is_address(data_path) or os.path.exists(data_path):
            return
        meant: str = ""
        # A bare word without an ending is rather a benchmark's name than a file's.
        if type_name == "table" and not (os.path.dirname(data_path) or os.path.splitext(data_path)[1]):
            meant = did_you_mean(data_path, components.names("benchmark"))
            meant = meant or components.explain_misnamed("benchmark", data_path)
        beside = Path(os.path.relpath(self.folder / data_path))
        if os.path.exists(beside):  # unlike `Path.exists`, it accepts too long a name
            meant = Text("; paths count from where you type: write {}, or type `cd {}` first", beside, beside.parent)
        text = Text("no such file: {}{}", data_path, meant or nearest_path(data_path))
        self.faults.add(("benchmark", "data_path"), text)

    # -- models --

    def _models(self, kind: ModelKind) -> dict[str, ModelSection]:
        singular, plural = MODELS[kind]
        one, several = self.raw.get(singular), self.raw.get(plural)
        models: dict[str, ModelSection] = {}
        if one is not None and several is not None:
            self.faults.add((singular,), Text("`{}` is also given; keep one of them", plural))
        elif one is not None or (singular in self.raw and plural not in self.raw):
            if model := self._model(kind, (singular,), None):
                models[model.name] = model
        elif several:
            for name in self._mapping((plural,)):
                if problem := _name_problem(name, models):
                    self.faults.add((plural, name), problem)
                elif model := self._model(kind, (plural, name), name):
                    models[name] = model
        elif kind == "edit_model" or several != {}:
            words = Text("no judge; give `{}` or `{}` (`judges: {{}}`: people look and vote)", singular, plural)
            if kind == "edit_model":
                words = Text("no edit model; give `{}` or `{}`", singular, plural)
            self.faults.add((plural if plural in self.raw else singular,), words)
        return models

    def _model(self, kind: Kind, place: Place, name: str | None) -> ModelSection | None:
        """Reads one model, named after its type if `name` is None. Returns None if its class is not known."""
        written, params_place = self._mapping(place, kind), (*place, "params")
        if not written and self.faults.has(place):
            return None
        known = (*MODEL_KEYS, "protocol") if kind == "judge" else MODEL_KEYS
        also = (*PLACEMENT_KEYS, *SAMPLE_KEYS[kind])
        self._refuse_unknown(place, written, known, misplaced=also)
        params = _with_home(self._mapping(params_place))
        where = {key: value for key, value in params.items() if key in PLACEMENT_KEYS}
        own = {key: value for key, value in params.items() if key not in also}
        placement = read_placement(where, params_place, self.faults, self.notes)
        if kind == "edit_model" and placement.batch_size > 1:
            self.faults.add(
                (*params_place, "batch_size"), Text("an edit model takes one sample at a time; leave it out")
            )
        keys = (*Placement.model_fields, *("mask",) * (kind == "edit_model"), *own)
        names = {key: self.faults.name((*params_place, find_written_name(key, where))) for key in keys}
        if self.devices is not None:
            names["device_ids"] = "--devices"
            try:
                placement = replace_devices(placement, self.devices)
            except ValueError as error:
                self.faults.add(params_place, Text("--devices: {}", error))
        type_name, class_path, cls = self._class(kind, place, written, foreign=placement.foreign)
        if not class_path:
            return None
        if kind == "judge":
            protocol = self._own_layer(cls, own, place)
        if cls is None:
            self.notes.append(Text("{:.}: not checked until the worker of {} starts", params_place, class_path))
        else:
            own = check_parameters(cls, own, params_place, self.faults, also, type_name or class_path)
            if placement.offload != "none" and "offload" not in inspect.signature(cls.load).parameters:
                text = Text("{} cannot offload (its `load` takes no `offload`); leave it out", cls.__name__)
                self.faults.add((*params_place, "offload"), text)
        if name is None:
            name = type_name or str(written.get("type") or class_path.rpartition(":")[2].rpartition(".")[2])
            if problem := _name_problem(name, {}):
                self.faults.add((*place, "type"), problem)
        values = {"name": name, "type": type_name, "class_path": class_path}
        values |= {key: params.get(key) for key in SAMPLE_KEYS[kind]}
        section = self._validate_section(ModelSection, values, params_place)
        section = section.model_copy(update={"parameters": own, "placement": placement, "names": names})
        if kind == "judge":
            self.asked[name] = JudgeDraft(section, cls, place, protocol)
        return section

    def _class(self, kind: Kind, place: Place, written: Mapping[str, Any], *, foreign: bool = False) -> Found:
        """Returns the class named at `place`; None if only a `foreign` environment has it."""
        given = self._part(NamedProtocol if kind == "protocol" else NamedClass, written, place)
        if any(self.faults.has((*place, key)) for key in CLASS_KEYS):
            return "", "", None
        type_name, class_path = given.type or "", given.class_path or ""
        at = "class_path" if class_path else "type"
        try:
            if not type_name and not class_path:
                raise ConfigurationError(Text("missing; `edit-eval list` shows the registered names"))
            registered = components.locate(kind, type_name) or ""
            if not class_path and not registered:
                raise ConfigurationError(components.unknown_type(kind, type_name))
            if registered and class_path:
                raise ConfigurationError(Text("`type: {}` already names a class; leave one of them out", type_name))
            if is_base_class(class_path):
                text = Text(
                    "`{}` belongs to the original scripts and does not run here; `edit-eval list` shows what does",
                    class_path,
                )
                raise ConfigurationError(text)
            path = registered or components.normalise_class_path(class_path, self.folder)
            try:
                cls = components.name_class(kind, path, self.folder)
            except components.NotHere:
                if not foreign or path.startswith("edit_eval."):
                    raise
                cls = None
        except ConfigurationError as error:
            self.faults.add((*place, at), str(error))
            return "", "", None
        return type_name if registered else "", path, cls

    def _prompts(self) -> dict[str, dict[str, str]]:
        places = {category: ("prompts", category) for category in self._mapping(("prompts",))}
        prompts = {key: self._section(PromptsSection, place) for key, place in places.items()}
        if self.faults.is_faulty(("prompts",)):
            return {}
        return {category: section.model_dump(exclude_none=True) for category, section in prompts.items()}

    def _trackers(self) -> dict[str, PlainParameters]:
        """Reads names, each perhaps with its parameters, in a list or a mapping."""
        written = self.raw.get("trackers") or []
        trackers: dict[str, PlainParameters] = {}
        for entry in written if isinstance(written, list) else [written]:
            for name, value in entry.items() if isinstance(entry, dict) else [(entry, None)]:
                try:
                    cls = components.import_registered("tracker", make_name_validator("tracker")(name))
                except ValueError as error:
                    self.faults.add(("trackers",), str(error))
                    continue
                place = ("trackers", name)
                if name in trackers:
                    self.faults.add(place, Text("given twice; keep one of them"))
                given = {key: value for key, value in self._as_mapping(place, value).items() if value is not None}
                for key, value in given.items():
                    if isinstance(value, str) and not value.strip():
                        self.faults.add((*place, key), Text("must be text, not {}", format_value(value)))
                checked = check_parameters(cls, given, place, self.faults, (), name)
                trackers[name] = {key: checked.get(key, value) for key, value in given.items()}
        return trackers

    def _columns(self, language: Language) -> dict[str, ColumnsSection]:
        """Reads what plug-ins' keys ask for, those with judges below them first: another may name these."""
        used = [key for key in components.names("columns") if self.raw.get(key) is not None]
        classes: dict[str, type[ColumnsSection]] = {key: components.import_registered("columns", key) for key in used}
        columns: dict[str, ColumnsSection] = {}
        for key, cls in sorted(classes.items(), key=lambda pair: not pair[1].protocol):
            written = self._mapping((key,))
            if written and cls.protocol:
                names = tuple(name for name in written if self._further_judge((key, name), name, cls.protocol))
                columns[key] = cls.from_judges(names)
            elif written:
                columns[key] = self._section(cls, (key,), language=language, judges=self.asked)
        return columns

    def _further_judge(self, place: Place, name: str, protocol: str) -> bool:
        """Reads a judge that stands below another key than `judges`; True if there is nothing wrong with it."""
        if name in self.asked:
            self.faults.add(place, Text("a judge is called {}, too; give it another name", name))
        elif problem := _name_problem(name, self.asked):
            self.faults.add(place, problem)
        elif self._model("judge", place, name):
            draft = self.asked[name]
            if draft.own.protocol_key is None:
                own = replace(draft.own, keys={**draft.own.keys, "type": protocol})
                self.asked[name] = replace(draft, own=own)
            return True
        return False

    # -- protocols --

    def _own_layer(self, judge_class: type[Any] | None, params: PlainParameters, place: Place) -> Layer:
        """Returns the `protocol` of the judge at `place`, with `images` moved from its `params`.

        That was their place before protocols existed; they stay if the judge's class has a parameter of that name.
        """
        there, before = (*place, "protocol"), (*place, "params", "images")
        written, names = self._mapping(there), list_parameter_names(judge_class)
        keys = dict(written)
        if "images" in params and names and "images" not in names and not hasattr(judge_class, "measures"):
            images = params.pop("images")
            if images is not None and keys.setdefault("images", images) != images:
                self.faults.add(before, Text("`protocol.images` is also given and says otherwise; keep that one"))
            elif images is not None and "images" not in written:
                self.faults.origins[*there, "images"] = self.faults.name(before)
        return Layer(keys, there)

    def _judges(self) -> dict[str, ModelSection]:
        """Gives each judge its protocol with all parameters."""
        judges = {name: self._with_protocol(judge) for name, judge in self.asked.items()}
        protocols = [judge.protocol for judge in judges.values()]
        if all(protocols):
            types = dict.fromkeys(each.type or each.class_path for each in protocols if each)
            if self.given["prompts"] and "prompts" not in self.used:
                self.faults.add(("prompts",), Text("no judge uses it (protocols: {}); leave it out", types))
            changed = {key for key, value in self.common.keys.items() if value is not None} - {"retries"}
            if changed and "protocol" not in self.used:
                self.faults.add(("protocol",), Text("no judge follows it (protocols: {}); leave it out", types))
        return judges

    def _with_protocol(self, judge: JudgeDraft) -> ModelSection:
        """Applies `protocol:` to judges that are asked; to those that measure, only if it is theirs, or all measure."""
        default, concerned = self.default, True
        if judge.measures:
            if not self._is_for_measuring(default):
                default = Layer({"type": MEASURING_PROTOCOL}, judge.own.place)
            concerned = all(each.measures for each in self.asked.values()) or self._is_for_measuring(self.common)
        layers: list[Layer] = []
        named = default.protocol_key
        for layer in (default, *([self.common] if concerned else []), judge.own):
            if layer.protocol_key not in (None, named):
                layers, named = [], layer.protocol_key
            layers.append(layer)
        if self.common in layers:
            self.used.add("protocol")
        return judge.section.model_copy(update={"protocol": self._protocol(judge, layers)})

    def _is_for_measuring(self, layer: Layer) -> bool:
        return layer.protocol_key is not None and "measures" in list_parameter_names(
            self._class("protocol", layer.place, layer.keys)[2]
        )

    def _protocol(self, judge: JudgeDraft, layers: list[Layer]) -> ProtocolSection | None:
        """Builds the judge's protocol; each key comes from the last layer that has it."""
        place = judge.own.place if judge.own.keys else self.common.place
        # `retries` are valid for any protocol, so they are kept.
        below = [Layer({"retries": layer.keys.get("retries")}, layer.place) for layer in (self.default, self.common)]
        chosen = {
            key: (value, layer.place)
            for layer in (*below, *layers)
            for key, value in layer.keys.items()
            if not (value is None and key in PROTOCOL_KEYS)
        }
        for key, (_, where) in chosen.items():
            if where != place:
                self.faults.origins.setdefault((*place, key), self.faults.name((*where, key)))
        keys = {key: value for key, (value, _) in chosen.items()}
        type_name, class_path, cls = self._class("protocol", place, keys)
        if cls is None or (judge.measures and self.faults.is_faulty((*judge.place, "params"))):
            return None
        which, named = (*place, "class_path" if "class_path" in keys else "type"), type_name or class_path
        own = {key: value for key, value in keys.items() if key not in PROTOCOL_KEYS}
        own |= self._derive_parameters(judge, cls, own, which, named)
        own = check_parameters(cls, own, place, self.faults, PROTOCOL_KEYS, named)
        retries = {key: keys[key] for key in ("retries",) if key in keys}
        return ProtocolSection.model_construct(type=type_name, class_path=class_path, parameters=own, **retries)

    def _derive_parameters(
        self, judge: JudgeDraft, cls: type[Any], own: Mapping[str, Any], which: Place, named: str
    ) -> PlainParameters:
        """Returns what the class is given besides its `own` parameters; `which` is the place of its name."""
        names, add, called = list_parameter_names(cls), self.faults.add, judge.section.type or judge.section.class_path
        given = {key: value for key, value in self.given.items() if key in names and key not in own and value}
        self.used |= given.keys()
        if "measures" in own:
            add((*which[:-1], "measures"), Text("is what the judge's class says; leave it out"))
        if "images" in own and names and "images" not in names:
            add((*which[:-1], "images"), Text("`{}` itself decides what a judge is shown; leave it out", named))
        if judge.measures and "measures" not in names:
            text = Text("`{}` measures and is not asked anything; its protocol is `{}`", called, MEASURING_PROTOCOL)
            add(which, text)
        elif judge.measures:
            given["measures"] = self._measures(judge)
        elif "measures" in names and judge.judge_class is None:
            add(which, Text("`{}` cannot be imported here, so what it measures is unknown", called))
        elif "measures" in names:
            text = Text("`{}` is for judges that measure, but `{}` is asked questions; name another", named, called)
            add(which, text)
        return given

    @preserve_cwd()
    def _measures(self, judge: JudgeDraft) -> dict[str, dict[str, object]]:
        cls: Any = judge.judge_class
        try:
            measures = cls.measures(make_parameters(cls, judge.section.parameters))
            return {name: dict(what) for name, what in measures.items()}
        except Exception as error:  # a class of the user's own
            text = Text("{}.measures: {}: {}", cls.__name__, type(error).__name__, error)
            self.faults.add((*judge.place, "params"), text)
            return {}

    # -- values --

    def _section(self, model: type[S], place: Place, **context: object) -> S:
        return self._validate_section(model, self._mapping(place), place, **context)

    def _part(self, model: type[S], written: Mapping[str, Any], place: Place) -> S:
        """Returns as a section those of the keys at `place` that are the model's; others are a class's parameters."""
        return self._validate_section(model, {key: written[key] for key in model.model_fields if key in written}, place)

    def _validate_section(self, model: type[S], values: Mapping[str, Any], place: Place, **context: object) -> S:
        """Returns `values` as a section; null is the same as not given. `context` is for the section's own checks."""
        values = {key: value for key, value in values.items() if value is not None}
        section, faults = validate_values(model.model_validate_json, values, **context)
        if section is not None:
            return section
        names = tuple(field.alias or name for name, field in model.model_fields.items())
        self._refuse_unknown(place, values, names)
        for where, text in faults:
            if not where or where[0] in names:
                self.faults.add((*place, *where), text)
        wrong = {where[0] for where, _ in faults if where}
        return model.model_construct(**{key: value for key, value in values.items() if key not in wrong})

    def _refuse_unknown(
        self, place: Place, written: Mapping[str, Any], names: tuple[str, ...], misplaced: tuple[str, ...] = ()
    ) -> None:
        for key, value in written.items():
            if value is None:
                continue  # the same as not given
            if key in misplaced:
                self.faults.add((*place, key), Text("move it under `params`"))
            elif key not in names:
                hint = Text("the keys here are {}", names)
                self.faults.add((*place, key), explain_unknown_key((*place, key), names, hint))

    def _mapping(self, place: Place, kind: Kind | None = None) -> Unchecked:
        """Returns the mapping at `place`, empty if nothing is there; it names a class of this `kind`, if any."""
        value: Any = self.raw
        for key in place:
            value = value.get(key) if isinstance(value, dict) else None
        return self._as_mapping(place, value, kind)

    def _as_mapping(self, place: Place, value: Any, kind: Kind | None = None) -> Unchecked:
        if isinstance(value, dict):
            return value
        if value is not None:
            meant = _as_a_mapping(kind, value) if kind and isinstance(value, str) else ""
            self.faults.add(place, Text("must be a mapping (key: value), not {}{}", format_value(value), meant))
        return {}


def _as_a_mapping(kind: Kind, value: str) -> str:
    """Suggests what to write in place of a bare name."""
    if components.locate(kind, value):
        return Text("; write {{type: {}}}", value)
    key, _, rest = value.partition(" ")
    if rest and key in ("type", "class_path", "params"):
        return Text("; no colon behind `{}`: write {{{}: {}}}", key, key, rest)
    if kind == "protocol":
        return did_you_mean(value, components.names(kind))
    library = "diffusers" if kind == "edit_model" else "transformers"
    return Text("; write {{type: {}, params: {{model_name: {}}}}}", library, value)


def _name_problem(name: str, others: Mapping[str, object]) -> str:
    if not NAME.fullmatch(name):
        made_of = Text("letters (Latin, Chinese, Japanese, Korean), digits, `.`, `_` and `-`, the first no `.` or `-`")
        return Text("not a valid model name; use {}", made_of)
    if len(name.encode()) > LONGEST_NAME:
        return Text("longer than {} bytes, too long for a model name", LONGEST_NAME)
    same = next((other for other in others if other.lower() == name.lower()), None)
    return Text("differs from `{}` only in case, which some file systems do not distinguish", same) if same else ""


def _with_home(value: Any) -> Any:
    """Returns a copy with the home directory in place of a leading `~/`."""
    if isinstance(value, dict):
        return {key: _with_home(v) for key, v in value.items()}
    if isinstance(value, list):
        return [_with_home(v) for v in value]
    return os.path.expanduser(value) if isinstance(value, str) and value.startswith("~/") else value


def default_layer(benchmark_class: type[Any] | None, faults: Faults) -> Layer:
    """Returns the benchmark's protocol: its class's `protocol` (a name or a mapping), else the rubrics."""
    said = getattr(benchmark_class, "protocol", DEFAULT_PROTOCOL)
    where = f"{getattr(benchmark_class, '__name__', '')}.protocol"
    keys = {"type": said} if isinstance(said, str) else said
    if not isinstance(keys, Mapping):
        faults.add(("benchmark",), Text("{} must be a protocol's name, or a mapping with `type`", where))
        keys = {"type": DEFAULT_PROTOCOL}
    return Layer(keys, (where,))


def notes_on_readings(judges: Mapping[str, ModelSection], readings: int) -> list[str]:
    """Returns a note for each judge whose readings would all be equal."""
    notes: list[str] = []
    for name, judge in judges.items():
        asked = judge.protocol.parameters if judge.protocol else {}
        certain = asked.get("answer") == "probabilities"  # nothing is drawn there
        drawn = judge.parameters.get("temperature") != 0 or (judge.parameters.get("call") or {}).get("do_sample")
        if readings > 1 and (certain or not drawn):
            why, remedy = "temperature: 0", Text("set its temperature above 0, or leave readings out")
            if certain:
                why, remedy = Text("probabilities are not sampled"), Text("leave readings out")
            notes.append(
                Text("{}: `readings: {}` are {} equal answers ({}); {}", name, readings, readings, why, remedy)
            )
    return notes


def list_parameter_names(cls: type[Any] | None) -> tuple[str, ...]:
    """Returns the names of a class's parameters; none if `Parameters` is invalid, as `check_parameters` reports."""
    try:
        return names_of(cls) if cls is not None else ()
    except TypeError:
        return ()
