"""The JSON schema of a configuration: what an editor completes, shows and marks.

Nothing is listed here that is listed elsewhere: keys, types, defaults and descriptions are those of the typed sections
(`config/schema.py`), of each registered class's `Parameters` with the docstrings below its fields, and of the tables of
the original scripts' names (`config/base_system.py`). What depends on a `type` follows it by `if` and `then`.

A schema sees one file and no other: with `extends`, what is missing may be in the base, so nothing is required; of a
class by its path the parameters are not known, unless it is given to `configuration_schema`. It is of draft 7, which
YAML's language server knows best.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel, PydanticSchemaGenerationError, PydanticUserError, TypeAdapter
from pydantic.errors import PydanticUndefinedAnnotation
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import to_jsonable_python

from edit_eval.config import base_system, components
from edit_eval.config.components import Kind
from edit_eval.config.faults import Faults
from edit_eval.config.parameters import parameters_of, written_fields
from edit_eval.config.placement import PLACEMENT_KEYS_BEFORE, WrittenPlacement
from edit_eval.config.schema import (
    BenchmarkSection,
    EvaluationSection,
    ExecutionSection,
    Filters,
    ModelSection,
    NamedClass,
    PromptsSection,
    ProtocolSection,
)
from edit_eval.config.sections import (
    CLASS_KEYS,
    DEFAULT_BENCHMARK,
    LONGEST_NAME,
    NAME,
    PARAMS,
    default_layer,
    top_keys,
)
from edit_eval.errors import ConfigurationError

Schema = dict[str, Any]

MARK = "Written by `edit-eval schema`."
"""The schema's `$comment`, by which a file of ours is known."""
SHARED: tuple[Kind, ...] = ("benchmark", "edit_model", "judge", "protocol")
"""The kinds that a section names by `type` or `class_path`."""
WORDS = "\\S"
CLASS_PATH = r"^\s*\S.*[:.]\w+\s*$"
"""Pattern of class paths, of which a schema tells only those without a dot or a colon."""
BASE_CLASS = r"^src\."
"""Pattern of the original scripts' classes, which may stand beside a `type`."""
FREE: Schema = {"type": ["object", "null"]}
NULL: Schema = {"type": "null"}


class OwnClass(NamedTuple):
    """A class of the user's own, as a configuration names it."""

    kind: Kind
    class_path: str
    """As it is written there."""
    cls: type[Any]


class _Described(GenerateJsonSchema):
    """Also gives each field the docstring below it, and the default that its factory makes."""

    def dataclass_schema(self, schema: Any) -> Schema:
        """Describes the fields of a dataclass."""
        made, cls = super().dataclass_schema(schema), schema["cls"]
        docs = written_fields(cls)
        for field in dataclasses.fields(cls):
            if (shown := made.get("properties", {}).get(field.name)) is None:
                continue
            _describe(shown, str(field.metadata.get("doc", docs.get(field.name, ("", ""))[1])))
            if field.default_factory is not dataclasses.MISSING:
                shown["default"] = to_jsonable_python(field.default_factory())
        return made

    def tuple_schema(self, schema: Any) -> Schema:
        """Writes the items of a tuple as draft 7 has them."""
        made = super().tuple_schema(schema)
        if (items := made.pop("prefixItems", None)) is not None:
            made |= {"items": items, "additionalItems": False}
        return made

    def model_schema(self, schema: Any) -> Schema:
        """Describes the fields of a section."""
        made, cls = super().model_schema(schema), schema["cls"]
        docs = written_fields(cls)
        for name, field in cls.model_fields.items():
            _describe(made["properties"].get(field.alias or name, {}), docs.get(name, ("", ""))[1])
        return made


def _describe(shown: Schema, doc: str) -> None:
    shown.pop("title", None)
    if doc:
        shown["description"] = " ".join(doc.split())


def configuration_schema(own: Iterable[OwnClass] = ()) -> Schema:
    """Returns the schema with every registered type, those of installed packages included, and the `own` classes.

    A class that cannot be imported here has no parameters in it: any are accepted.
    """
    return _Writer(tuple(own)).schema()


@dataclasses.dataclass
class _Known:
    """A class that a section may name."""

    key: str
    """`type` or `class_path`."""
    name: str
    summary: str
    cls: type[Any] | None
    parameters: Schema | None
    """Of its `Parameters`; None for a class without any, or one that cannot be imported here."""


class _Writer:
    """Writes one schema; what is used in several places is one of its definitions."""

    def __init__(self, own: Sequence[OwnClass]) -> None:
        self.definitions: Schema = {}
        self.known = {kind: self._known(kind, own) for kind in (*SHARED, "tracker")}

    def schema(self) -> Schema:
        """Returns the whole document."""
        definitions = self.definitions
        for kind in ("edit_model", "judge"):
            definitions[kind] = self._model(kind)
            definitions[f"{kind}.complete"] = self._complete(kind, "params")
        definitions["protocol"] = self._protocol()
        definitions["benchmark.section"] = self._benchmark()
        definitions["benchmark.complete"] = self._complete("benchmark", "")
        definitions["prompts"] = _mapping(
            {
                **_closed({key: {**text, "pattern": WORDS} for key, text in _texts(PromptsSection).items()}),
                "minProperties": 1,
            }
        )
        sections: Schema = {
            "benchmark": {"anyOf": [_ref("benchmark.section"), _names(self.known["benchmark"]), {"type": "string"}]},
            "diffusion_model": _ref("edit_model"),
            "edit_models": _named(_ref("edit_model")),
            "reward_model": _ref("judge"),
            "judges": _named(_ref("judge")),
            "prompts": _ref("prompts"),
            "protocol": _ref("protocol"),
            "evaluation": self._evaluation(),
            "execution": self._execution(),
            "trackers": self._trackers(),
            "import_from": {"type": "string"},
            "extends": {"type": "string"},
        }
        for key in components.names("columns"):
            further = components.named("columns", key)
            sections[key] = _named(_ref("judge")) if further.protocol else _of(further)
        shown = {key: {**_or_null(sections[key]), "description": about} for key, about in top_keys().items()}
        before = [key for key in base_system.PASSED_OVER if "." not in key]
        return {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "$comment": MARK,
            "type": "object",
            "properties": {**shown, **_passed_over(before)},
            "additionalProperties": False,
            "if": {"required": ["extends"]},
            "else": self._whole(),
            "definitions": dict(sorted(definitions.items())),
        }

    # -- classes --

    def _known(self, kind: Kind, own: Sequence[OwnClass]) -> list[_Known]:
        known = []
        for component in components.known(kind):
            try:
                cls = components.named(kind, component.name)
            except ConfigurationError:  # it is said by `list`, and where the name is used
                cls = None
            known.append(
                _Known("type", component.name, component.summary, cls, self._parameters(kind, component.name, cls))
            )
        for mine in own:
            if mine.kind == kind:
                parameters = self._parameters(kind, mine.class_path, mine.cls)
                known.append(_Known("class_path", mine.class_path, "", mine.cls, parameters))
        return known

    def _parameters(self, kind: Kind, name: str, cls: type[Any] | None) -> Schema | None:
        """Returns the schema of a class's parameters; their nested dataclasses become definitions."""
        place = f"{kind}.{name}".replace("/", "_")
        try:
            nested = parameters_of(cls) if cls else None
            if nested is None:
                return None
            template = f"#/definitions/{place}.{{model}}"
            made = TypeAdapter(nested).json_schema(schema_generator=_Described, ref_template=template)
        except (TypeError, PydanticUserError, PydanticUndefinedAnnotation, PydanticSchemaGenerationError):
            return None  # `check_parameters` reports it
        for inner, definition in made.pop("$defs", {}).items():
            self.definitions[f"{place}.{inner}"] = definition
        return {"properties": made.get("properties", {}), "required": made.get("required", [])}

    def _by_class(self, kind: Kind, then: Mapping[str, Schema]) -> list[Schema]:
        """Returns a condition for each class that `then` has something for, and one that refuses unknown names."""
        rules = [
            {
                "if": _is(known_class.key, [known_class.name, *_before(kind, known_class.name)]),
                "then": then[known_class.name],
            }
            for known_class in self.known[kind]
            if known_class.name in then
        ]
        names = [known_class.name for known_class in self.known[kind] if known_class.key == "type"]
        alone = {"properties": {"class_path": {"anyOf": [{"type": "string", "pattern": BASE_CLASS}, NULL]}}}
        rules.append({"if": _is("type", names), "then": alone})
        return [*rules, {"if": _has_class_path(), "else": {"properties": {"type": self._type(kind)}}}]

    def _type(self, kind: Kind) -> Schema:
        """Returns the schema of `type` where there is no `class_path`."""
        before = [name for known_class in self.known[kind] for name in _before(kind, known_class.name)]
        names = _names([known_class for known_class in self.known[kind] if known_class.key == "type"])
        return {"anyOf": [names, *([{"pattern": _any_word(before)}] if before else []), NULL]}

    def _complete(self, kind: Kind, within: str) -> Schema:
        """Returns what a section of a kind must have, where nothing is taken over: a class, and what that requires."""
        rules = []
        for known_class in self.known[kind]:
            if known_class.parameters and (required := known_class.parameters["required"]):
                then: Schema = {"required": required}
                if within:
                    then = {"required": [within], "properties": {within: then}}
                rules.append(
                    {"if": _is(known_class.key, [known_class.name, *_before(kind, known_class.name)]), "then": then}
                )
        either = [{"required": [key]} for key in CLASS_KEYS]
        return {"allOf": rules, **({"anyOf": either} if within else {})}

    # -- sections --

    def _shared(self, place: str, keys: Schema) -> Schema:
        """Returns keys that many types share, each as a definition."""
        self.definitions |= {f"{place}.{key}": value for key, value in keys.items()}
        return {key: _ref(f"{place}.{key}") for key in keys}

    def _model(self, kind: Kind) -> Schema:
        """Returns the section of an edit model, or of a judge."""
        then: Schema = {}
        place = self._shared(f"{kind}s", _placement(kind))
        for known_class in self.known[kind]:
            beside = dict(place)
            if known_class.cls is not None and "offload" not in inspect.signature(known_class.cls.load).parameters:
                beside["offload"] = {"enum": ["none", None], "description": "This class cannot.", "doNotSuggest": True}
            definition = {**FREE, "properties": beside}
            if known_class.parameters is not None:
                definition = _closed(
                    {**known_class.parameters["properties"], **beside, **self._params_before(kind, known_class)}
                )
            self.definitions[f"{kind}.{known_class.name}"] = {**definition, "description": known_class.summary}
            then[known_class.name] = {"properties": {"params": _ref(f"{kind}.{known_class.name}")}}
        keys = {**_class_keys(), "params": {**FREE, "description": PARAMS}}
        if kind == "judge":
            keys["protocol"] = {
                **_ref("protocol"),
                "description": "What this judge is asked, if not what the others are.",
            }
        return {**_closed(keys), "allOf": self._by_class(kind, then)}

    def _params_before(self, kind: Kind, known_class: _Known) -> Schema:
        """Returns what the original scripts have in the `params` of a type, and what ours once had there."""
        old: list[str] = []
        if known_class.name in base_system.OURS:
            old = [key.rpartition(".")[2] for key in base_system.PASSED_OVER if key.startswith("*.params.")]
            old += base_system.WRITTEN_OTHERWISE.get(known_class.name, {})
        if known_class.name in ("copy_source", "testing"):  # placeholders of their template
            old += [key.rpartition(".")[2] for key in base_system.PASSED_OVER_IN_THE_TEMPLATE if "params" in key]
        if kind == "judge" and not callable(getattr(known_class.cls, "measures", None)):
            old.append("images")  # `protocol` has it
        own = known_class.parameters["properties"] if known_class.parameters else {}
        return _passed_over(key for key in old if key not in own)

    def _protocol(self) -> Schema:
        """Returns the section of what judges are asked. Without a class, its keys are those of any registered one."""
        shared = _class_keys()
        shared["retries"] = _or_null(_of(ProtocolSection)["properties"]["retries"])
        then: Schema = {}
        union: dict[str, list[Schema]] = {}
        for known_class in self.known["protocol"]:
            if known_class.parameters is None:
                continue
            keys = {key: value for key, value in known_class.parameters["properties"].items() if key != "measures"}
            self.definitions[f"protocol.{known_class.name}"] = {
                **_closed({**keys, **shared}),
                "description": known_class.summary,
            }
            then[known_class.name] = _ref(f"protocol.{known_class.name}")
            for key, value in keys.items():
                union.setdefault(key, []).append(value)
        unnamed = {key: _any_of(schemas) for key, schemas in union.items()}
        self.definitions["protocol.unnamed"] = _closed({**unnamed, **shared})
        named = {"anyOf": [_has_class_path(), {"required": ["type"], "properties": {"type": {"type": "string"}}}]}
        rules = [*self._by_class("protocol", then), {"if": named, "else": {"properties": unnamed}}]
        return {"type": ["object", "null"], "properties": shared, "allOf": rules}

    def _benchmark(self) -> Schema:
        shared = _class_keys()
        section, filters = _of(BenchmarkSection)["properties"], _of(Filters)["properties"]
        shared |= {key: _or_null(section[key]) for key in ("language", "on_bad_sample")}
        shared |= {key: _or_null(_filter(key, value)) for key, value in filters.items()}
        shared = self._shared("benchmarks", shared)
        then: Schema = {}
        for known_class in self.known["benchmark"]:
            if known_class.parameters is not None:
                keys = {**shared, **known_class.parameters["properties"]}
                self.definitions[f"benchmark.{known_class.name}"] = {
                    **_closed(keys),
                    "description": known_class.summary,
                }
                then[known_class.name] = _ref(f"benchmark.{known_class.name}")
        return {"type": "object", "properties": shared, "allOf": self._by_class("benchmark", then)}

    def _evaluation(self) -> Schema:
        section = _of(EvaluationSection)
        section["properties"]["more_controls"]["items"] = _one_of(components.names("control"))
        for key in ("answer", "retries"):  # once here
            section["properties"][key] = {
                "$ref": f"#/definitions/protocol.unnamed/properties/{key}",
                "doNotSuggest": True,
            }
        before = [key for key in base_system.PASSED_OVER if key.startswith("evaluation.")]
        section["properties"] |= _passed_over(key.partition(".")[2] for key in before)
        return section

    def _execution(self) -> Schema:
        section = _of(ExecutionSection)
        drivers = [
            _Known("type", component.name, component.summary, None, None) for component in components.known("driver")
        ]
        section["properties"]["driver"] = {**section["properties"]["driver"], **_names(drivers)}
        return section

    def _trackers(self) -> Schema:
        known = self.known["tracker"]
        each: Schema = {}
        for known_class in known:
            keys = known_class.parameters["properties"] if known_class.parameters else {}
            each[known_class.name] = {**_closed({key: _or_null(value) for key, value in keys.items()})}
            each[known_class.name]["description"] = known_class.summary
        self.definitions["trackers"] = {"type": "object", "properties": each, "additionalProperties": False}
        one_of = {"anyOf": [_names(known), _ref("trackers")]}
        return {"anyOf": [{"type": "array", "items": one_of}, *one_of["anyOf"]]}

    def _whole(self) -> Schema:
        """Returns what a file that extends no other must have besides."""
        default = next(known_class for known_class in self.known["benchmark"] if known_class.name == DEFAULT_BENCHMARK)
        required = default.parameters["required"] if default.parameters else []
        none = {"properties": dict.fromkeys(CLASS_KEYS, NULL), "type": "object"}
        bare = {"allOf": [_ref(f"benchmark.{DEFAULT_BENCHMARK}"), {"required": required}]}
        benchmark = {"if": none, "then": bare, "else": _ref("benchmark.complete")}
        models: Schema = {}
        pairs = base_system.MODELS.values()
        for kind, (singular, plural) in base_system.MODELS.items():
            complete = _ref(f"{kind}.complete")
            models[singular], models[plural] = complete, {"additionalProperties": complete}
        # A protocol of one's own, the benchmark's or the file's, may have any keys; so no key is unknown beside it.
        where: tuple[Kind, ...] = ("benchmark", "protocol")
        foreign = {"anyOf": [{"required": [key], "properties": {key: self._of_ones_own(key)}} for key in where]}
        unnamed = {"if": none, "then": _ref("protocol.unnamed")}
        judge = {"properties": {"protocol": unnamed}}
        keys = {"protocol": unnamed, "reward_model": judge, "judges": {"additionalProperties": judge}}
        return {
            "required": ["benchmark"],
            "properties": {"benchmark": benchmark, **models},
            "allOf": [
                *({"anyOf": [{"required": [plural]}, {"required": [singular]}]} for singular, plural in pairs),
                {"if": foreign, "else": {"properties": keys}},
                *(
                    {"if": _there(singular), "then": {"properties": {plural: _instead(singular)}}}
                    for singular, plural in pairs
                ),
            ],
        }

    def _of_ones_own(self, key: Kind) -> Schema:
        """Returns the condition that a section brings a protocol whose keys are not known."""
        mine = [known_class.name for known_class in self.known[key] if known_class.key == "class_path"]
        other = _has_class_path()
        other["properties"]["class_path"]["not"] = _one_of(mine)
        if key == "protocol":
            return other
        layers = [
            (known_class, default_layer(known_class.cls, Faults("")).named)
            for known_class in self.known["benchmark"]
            if known_class.cls
        ]
        known = {known_class.name for known_class in self.known["protocol"]}
        theirs = [known_class for known_class, named in layers if named and named[0] not in known]
        return {"anyOf": [other, *(_is(known_class.key, [known_class.name]) for known_class in theirs)]}


# -- parts --


def _of(model: type[BaseModel]) -> Schema:
    """Returns a section's schema with every key as it is written; null is the same as not given."""
    made = model.model_json_schema(by_alias=True, schema_generator=_Described)
    made["properties"] = {key: _or_null(value) for key, value in made["properties"].items()}
    made["type"] = ["object", "null"]
    return {key: value for key, value in made.items() if key not in ("title", "$defs")}


def _placement(kind: Kind) -> Schema:
    """Returns the keys of `params` that say where a model runs, and its seed."""
    made = _of(WrittenPlacement)["properties"]
    shown = {key: made[key] for key in made if key not in PLACEMENT_KEYS_BEFORE}
    if kind == "edit_model":  # it takes one sample at a time
        shown["batch_size"] = {
            "enum": [1, None],
            "description": shown["batch_size"]["description"],
            "doNotSuggest": True,
        }
    seed = _or_null(_of(ModelSection)["properties"]["seed"])
    return {**shown, "seed": seed, **{key: {**made[key], "doNotSuggest": True} for key in PLACEMENT_KEYS_BEFORE}}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/definitions/{name}"}


def _closed(properties: Schema) -> Schema:
    return {**FREE, "properties": properties, "additionalProperties": False}


def _mapping(of: Schema) -> Schema:
    return {**FREE, "additionalProperties": of}


def _named(of: Schema) -> Schema:
    """Returns the schema of sections by names of the user's."""
    return {**_mapping(of), "propertyNames": {"pattern": f"^{NAME.pattern}$", "maxLength": LONGEST_NAME}}


def _texts(section: type[BaseModel]) -> Schema:
    """Returns the keys of a section that has nothing but texts."""
    shown = _of(section)["properties"]
    return {key: {"type": ["string", "null"], "description": shown[key]["description"]} for key in shown}


def _class_keys() -> Schema:
    keys = _texts(NamedClass)
    keys["class_path"]["pattern"] = CLASS_PATH
    return keys


def _names(known: Sequence[_Known]) -> Schema:
    names = [known_class for known_class in known if known_class.key == "type"]
    return {"enum": [name.name for name in names], "enumDescriptions": [name.summary for name in names]}


def _one_of(names: Sequence[str]) -> Schema:
    """Returns the schema of one of some names; of none, that of nothing: an empty `enum` is no valid schema."""
    return {"enum": list(names)} if names else {"not": {}}


def _is(key: str, names: Sequence[str]) -> Schema:
    """Returns the condition that a key is one of some names; in no `enum`, since editors would list it as a choice."""
    if len(names) == 1:
        return {"type": "object", "required": [key], "properties": {key: {"const": names[0]}}}
    return {"type": "object", "required": [key], "properties": {key: {"type": "string", "pattern": _any_word(names)}}}


def _any_word(names: Sequence[str]) -> str:
    """Returns the pattern of one of some names, escaped as JavaScript and Python both know it."""
    return f"^({'|'.join(re.sub(r'[^A-Za-z0-9_-]', lambda match: f'[{match[0]}]', name) for name in names)})$"


def _has_class_path() -> Schema:
    return {"type": "object", "required": ["class_path"], "properties": {"class_path": {"type": "string"}}}


def _there(key: str) -> Schema:
    return {"required": [key], "properties": {key: {"type": "object"}}}


def _instead(of: str) -> Schema:
    return {**NULL, "errorMessage": f"`{of}` is also given; keep one of them"}


def _before(kind: Kind, name: str) -> list[str]:
    """Returns the names that the original scripts have for a type."""
    if kind not in ("edit_model", "judge"):
        return []
    return [old for old, ours in base_system.TYPES.items() if ours == name]


def _passed_over(keys: Iterable[str]) -> Schema:
    """Returns keys of older files: accepted, never suggested."""
    return {
        key: {"description": "Of older files; a run of one says what became of it.", "doNotSuggest": True}
        for key in keys
    }


def _any_of(schemas: Sequence[Schema]) -> Schema:
    """Returns what any of some schemas accepts, described as the first."""
    bare = [
        {key: value for key, value in schema.items() if key not in ("description", "default")} for schema in schemas
    ]
    different = [schema for n, schema in enumerate(bare) if schema not in bare[:n]]
    described = {key: value for key, value in schemas[0].items() if key == "description"}
    return {**described, **(different[0] if len(different) == 1 else {"anyOf": different})}


def _filter(key: str, filter_: Schema) -> Schema:
    """Returns a filter as it may be written: one word without brackets, and ids that look like numbers."""
    if "items" not in filter_:
        return filter_
    items: Schema = {"type": ["string", "integer"]} if key == "sample_ids" else filter_["items"]
    return {"anyOf": [{"type": "array", "items": items}, items], "description": filter_["description"], "default": []}


def _or_null(schema: Schema) -> Schema:
    """Returns a schema that also accepts null."""
    kinds = schema.get("type", [])
    made = dict(schema)
    if "anyOf" in schema:
        made["anyOf"] = [*schema["anyOf"], *([] if NULL in schema["anyOf"] else [NULL])]
    elif "$ref" in schema or "const" in schema:
        return {"anyOf": [schema, NULL]}
    elif isinstance(kinds, str):
        made["type"] = [kinds, "null"]
    if "enum" in schema and None not in schema["enum"]:
        made["enum"] = [*schema["enum"], None]
    return made
