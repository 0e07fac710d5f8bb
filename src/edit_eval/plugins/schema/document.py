"""The JSON schema of a configuration: what an editor completes, shows and marks.

pydantic makes it of the typed sections (`config/schema.py`) and of each registered class's `Parameters`; here it is put
together. What depends on a `type` follows it by `if` and `then`. It is of draft 7, which YAML's language server knows
best. A schema sees one file and no other, so it marks what is wrong and not what is missing: that may be in a file that
this one extends. Of a class by its path the parameters are known if it is given to `configuration_schema`.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, PydanticUserError
from pydantic.json_schema import GenerateJsonSchema

from edit_eval.config import base_system, components
from edit_eval.config.base_system import MODELS
from edit_eval.config.kinds import Kind
from edit_eval.config.loading import as_written
from edit_eval.config.parameters import describe_fields, find_adapter
from edit_eval.config.placement import SAMPLE_KEYS, WrittenPlacement
from edit_eval.config.recorded import EvaluationSection
from edit_eval.config.schema import (
    BenchmarkSection,
    ExecutionSection,
    Filters,
    ModelSection,
    NamedClass,
    NamedProtocol,
    PromptsSection,
)
from edit_eval.config.sections import LONGEST_NAME, NAME, PARAMS, SHARED_KEYS, top_keys
from edit_eval.errors import ConfigurationError
from edit_eval.files.new import refuse_existing, write_atomically

Schema = dict[str, Any]

MARK = "Written by `edit-eval schema`."
"""The schema's `$comment`, by which a file of ours is known."""
FREE: Schema = {"type": ["object", "null"]}
NULL: Schema = {"type": "null"}
OLD_PARAMS = {
    key.rpartition(".")[2]
    for key in (*base_system.PASSED_OVER, *base_system.PASSED_OVER_IN_THE_TEMPLATE, *base_system.REFUSED)
    if ".params." in key
}
"""What the original scripts have in the `params` of the types that replaced theirs."""


class OwnClass(NamedTuple):
    """A class of the user's own, as a configuration names it."""

    kind: Kind
    class_path: str
    """As it is written there."""
    cls: type[Any]


class _Described(GenerateJsonSchema):
    """Also gives each field the docstring below it; null in a section is the same as not given."""

    def dataclass_schema(self, schema: Any) -> Schema:
        """Describes the fields of a dataclass."""
        return _describe(super().dataclass_schema(schema), schema["cls"])

    def model_schema(self, schema: Any) -> Schema:
        """Describes the keys of a section."""
        made = _describe(super().model_schema(schema), schema["cls"])
        return {**made, **FREE, "properties": {key: _or_null(value) for key, value in made["properties"].items()}}

    def tuple_schema(self, schema: Any) -> Schema:
        """Writes the items of a tuple as draft 7 has them."""
        made = super().tuple_schema(schema)
        if (items := made.pop("prefixItems", None)) is not None:
            made |= {"items": items, "additionalItems": False}
        return made


def _describe(made: Schema, cls: type[Any]) -> Schema:
    docs = {field.name: field.doc for field in describe_fields(cls)}
    for name, shown in made.get("properties", {}).items():
        shown.pop("title", None)
        if docs.get(name):
            shown["description"] = docs[name]
    return {key: value for key, value in made.items() if key != "title"}


def configuration_schema(own: Iterable[OwnClass] = ()) -> Schema:
    """Returns the schema with every registered type, those of installed packages included, and the `own` classes.

    A class that cannot be imported here has no parameters in it: any are accepted.
    """
    writer = _Writer(tuple(own))
    properties = {key: {**_or_null(value), "description": top_keys()[key]} for key, value in writer.sections().items()}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$comment": MARK,
        **_close_schema({**properties, **_accept_old_keys(key for key in base_system.PASSED_OVER if "." not in key)}),
        "type": "object",
        "definitions": dict(sorted(writer.definitions.items())),
    }


class _Writer:
    """Writes the sections; what is used in several places is one of its definitions."""

    def __init__(self, own: Sequence[OwnClass]) -> None:
        self.definitions: Schema = {}
        self._own = own

    def sections(self) -> Schema:
        """Returns the schema of each key of a file."""
        evaluation = _keys(EvaluationSection) | _accept_old_keys(
            [*(key[11:] for key in base_system.PASSED_OVER if key.startswith("evaluation.")), "answer", "retries"]
        )
        execution = _schema_of(ExecutionSection)
        execution["properties"]["driver"] |= _names("driver")
        shared = {key: _keys(BenchmarkSection)[key] for key in SHARED_KEYS}
        benchmark = self._section("benchmark", _keys(NamedClass) | shared | _keys(Filters))
        protocol = self._section("protocol", _keys(NamedProtocol))
        model = {**_keys(NamedClass), "params": {**FREE, "description": PARAMS}}
        edit_model = self._section("edit_model", model, "params")
        judged = {**protocol, "description": "What this judge is asked, if not what the others are."}
        judge = self._section("judge", {**model, "protocol": judged}, "params")
        sections: Schema = {
            "benchmark": {"anyOf": [benchmark, _names("benchmark"), {"type": "string"}]},
            "diffusion_model": edit_model,
            "edit_models": _schema_by_name(edit_model),
            "reward_model": judge,
            "judges": _schema_by_name(judge),
            "prompts": {**FREE, "additionalProperties": {**_schema_of(PromptsSection), "minProperties": 1}},
            "protocol": protocol,
            "evaluation": _close_schema(evaluation),
            "execution": execution,
            "trackers": self._trackers(),
            "import_from": {"type": "string"},
            "extends": {"type": "string"},
        }
        for key in components.names("columns"):
            further = components.import_registered("columns", key)
            sections[key] = _schema_by_name(judge) if further.protocol else _schema_of(further)
        return sections

    def _section(self, kind: Kind, keys: Schema, within: str = "") -> Schema:
        """Returns a section that names a class, whose parameters stand beside the `keys`, or below the one `within`."""
        beside = self._define_shared(kind, _placement(kind) if within else keys)
        rules: list[Schema] = []
        every: dict[str, list[Schema]] = {}
        for key, name, cls in self._classes(kind):
            place = f"{kind}.{name}".replace("/", "_")
            parameters = self._parameters(place, cls)
            for parameter, schema in (parameters or {}).items():
                every.setdefault(parameter, []).append(schema)
            old = {*(OLD_PARAMS if name in base_system.OURS else ()), *(("images",) if kind == "judge" else ())}
            known = {**(_accept_old_keys(old) if within else {}), **(parameters or {}), **beside}
            written = _close_schema(known) if parameters is not None else {**FREE, "properties": known}
            self.definitions[place] = {**written, "description": _summary(cls)}
            names = [name, *(before for before, ours in base_system.TYPES.items() if ours == name)]
            then = {"properties": {within: _ref(place)}} if within else _ref(place)
            rules.append({"if": {"required": [key], "properties": {key: _word(names)}}, "then": then})
        other = {"type": {"anyOf": [_names(kind), _word(base_system.TYPES), NULL]}}
        if kind == "protocol":  # it is the benchmark's own, or the rubrics
            other |= {key: _any_of(schemas) for key, schemas in every.items()}
        of_ones_own = {"required": ["class_path"], "properties": {"class_path": {"type": "string"}}}
        rules.append({"if": of_ones_own, "else": {"properties": other}})
        section = _close_schema(keys) if within else {**FREE, "properties": beside}
        self.definitions[kind] = {**section, "allOf": rules}
        return _ref(kind)

    def _classes(self, kind: Kind) -> list[tuple[str, str, type[Any] | None]]:
        """Returns the key that names each class, `type` or `class_path`, its name, and the class if it is here."""
        classes: list[tuple[str, str, type[Any] | None]] = []
        for name in components.names(kind):
            try:
                classes.append(("type", name, components.import_registered(kind, name)))
            except ConfigurationError:  # it is said by `list`, and where the name is used
                classes.append(("type", name, None))
        return [*classes, *(("class_path", mine.class_path, mine.cls) for mine in self._own if mine.kind == kind)]

    def _parameters(self, place: str, cls: Any) -> Schema | None:
        """Returns the schema of each of a class's parameters; their nested dataclasses become definitions."""
        try:
            if cls is None or (adapter := find_adapter(cls)) is None:
                return None
            template = f"#/definitions/{place}.{{model}}"
            made = adapter.json_schema(schema_generator=_Described, ref_template=template)
        except (TypeError, PydanticUserError):  # `check_parameters` reports it, or it can be checked and has no schema
            return None
        self.definitions |= {f"{place}.{inner}": schema for inner, schema in made.pop("$defs", {}).items()}
        return {key: schema for key, schema in made.get("properties", {}).items() if key != "measures"}

    def _define_shared(self, kind: Kind, keys: Schema) -> Schema:
        """Returns keys that many types share, each as a definition."""
        self.definitions |= {f"{kind}s.{key}": value for key, value in keys.items()}
        return {key: _ref(f"{kind}s.{key}") for key in keys}

    def _trackers(self) -> Schema:
        each: Schema = {}
        for _, name, cls in self._classes("tracker"):
            keys = self._parameters(f"tracker.{name}", cls) or {}
            each[name] = {**_close_schema({key: _or_null(keys[key]) for key in keys}), "description": _summary(cls)}
        one_of = [_names("tracker"), {**_close_schema(each), "type": "object"}]
        return {"anyOf": [{"type": "array", "items": {"anyOf": one_of}}, *one_of]}


def _schema_of(section: type[BaseModel]) -> Schema:
    made = section.model_json_schema(by_alias=True, schema_generator=_Described)
    return {key: value for key, value in made.items() if key != "$defs"}


def _keys(section: type[BaseModel]) -> Schema:
    keys: Schema = _schema_of(section)["properties"]
    return keys


def _placement(kind: Kind) -> Schema:
    """Returns the keys of `params` that say where a model runs, and its seed."""
    offered = components.list_extra_keys(kind)
    keys = {**_keys(WrittenPlacement), **{key: _keys(ModelSection)[key] for key in SAMPLE_KEYS[kind]}}
    return {key: {**schema, **({} if key in offered else {"doNotSuggest": True})} for key, schema in keys.items()}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/definitions/{name}"}


def _close_schema(properties: Schema) -> Schema:
    return {**FREE, "properties": properties, "additionalProperties": False}


def _schema_by_name(of: Schema) -> Schema:
    names = {"pattern": f"^{NAME.pattern}$", "maxLength": LONGEST_NAME}
    return {**FREE, "additionalProperties": of, "propertyNames": names}


def _names(kind: Kind) -> Schema:
    known = components.list_components(kind)
    return {"enum": [each.name for each in known], "enumDescriptions": [each.summary for each in known]}


def _word(names: Iterable[str]) -> Schema:
    """Returns the schema of one of some names; in no `enum`, since editors would list it as a choice."""
    escaped = (re.sub(r"[^A-Za-z0-9_-]", lambda match: f"[{match[0]}]", name) for name in names)
    return {"type": "string", "pattern": f"^({'|'.join(escaped)})$"}  # as JavaScript and Python both know it


def _summary(cls: type[Any] | None) -> str:
    return (cls.__doc__ or "").strip().partition("\n")[0] if cls else ""


def _accept_old_keys(keys: Iterable[str]) -> Schema:
    """Returns keys of older files: accepted, never suggested."""
    said = {"description": "Of older files; a run of one says what became of it.", "doNotSuggest": True}
    return dict.fromkeys(sorted(keys), said)


def _any_of(schemas: Sequence[Schema]) -> Schema:
    """Returns what any of some schemas accepts, described as the first."""
    bare = [{key: value for key, value in schema.items() if key != "description"} for schema in schemas]
    different = [schema for n, schema in enumerate(bare) if schema not in bare[:n]]
    return {"anyOf": different, "description": schemas[0].get("description", "")}


def _or_null(schema: Schema) -> Schema:
    if "anyOf" in schema:
        return schema if NULL in schema["anyOf"] else {**schema, "anyOf": [*schema["anyOf"], NULL]}
    if "type" not in schema or "const" in schema:
        return {"anyOf": [schema, NULL]}
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    made = {**schema, "type": [*kinds, *(() if "null" in kinds else ["null"])]}
    return {**made, "enum": [*schema["enum"], None]} if "enum" in schema else made


# -- files beside configurations, and the line by which an editor finds them --


BESIDE = ".edit-eval.schema.json"
"""Name of the schema beside a configuration: it goes where the folder goes, and no listing of pictures finds it."""
LINE = "# yaml-language-server: $schema="


def own_classes(configs: Iterable[str | Path]) -> list[OwnClass]:
    """Returns the classes that configurations name by their paths, and that can be imported here.

    Raises `ConfigurationError` if one cannot be read.
    """
    kinds: dict[str, Kind] = dict.fromkeys(components.names("columns"), "judge")
    kinds |= {key: kind for kind, keys in MODELS.items() for key in keys}
    kinds |= {"benchmark": "benchmark", "protocol": "protocol"}
    classes: dict[tuple[Kind, str], OwnClass] = {}
    for config in configs:
        values, _ = as_written(config)
        folder = Path(str(values.get("import_from") or Path(config).resolve().parent))
        named = [each for key, kind in kinds.items() for each in _class_paths(values.get(key), kind)]
        for kind, path in dict.fromkeys(named):
            with contextlib.suppress(ConfigurationError):  # of an environment of its own: any parameters are accepted
                cls = components.name_class(kind, components.normalise_class_path(path, folder), folder)
                classes.setdefault((kind, path), OwnClass(kind, path, cls))
    return list(classes.values())


def _class_paths(section: object, kind: Kind) -> Iterator[tuple[Kind, str]]:
    """Yields the class paths in a section, or in several by name, each with its kind."""
    for key, value in section.items() if isinstance(section, dict) else ():
        if key == "class_path" and isinstance(value, str):
            yield kind, value
        elif key != "params":
            yield from _class_paths(value, "protocol" if key == "protocol" else kind)


def write_schema(schema: Schema, file: Path, *, force: bool = False) -> None:
    """Writes a schema. One that was written by us is replaced; raises `ConfigurationError` for any other file."""
    refuse_existing(file, force=force or MARK in _read_head(file))
    with write_atomically(file) as temporary:
        temporary.write_text(json.dumps(schema, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _read_head(file: Path) -> str:
    try:
        with file.open(encoding="utf-8") as opened:
            return opened.read(400)
    except (OSError, UnicodeDecodeError):
        return ""


def write_config_schema(config: Path) -> Path:
    """Writes the schema beside a configuration, and at its head the line that names it; returns the schema's file.

    It has the classes of the others in the folder that name it, too.
    """
    file = config.with_name(BESIDE)
    own = {each[:2]: each for each in own_classes([config])}
    for other in sorted(config.parent.glob("*.y*ml")):
        if other != config and _read_head(other).partition("\n")[0].rstrip() == f"{LINE}{BESIDE}":
            with contextlib.suppress(ConfigurationError):  # it may be half written
                own = {**{each[:2]: each for each in own_classes([other])}, **own}
    write_schema(configuration_schema(own.values()), file)
    text = config.read_text(encoding="utf-8")
    if LINE not in text:
        with write_atomically(config) as temporary:
            temporary.write_text(f"{LINE}{BESIDE}\n{text}", encoding="utf-8")
    return file
