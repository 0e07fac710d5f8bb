"""From what the configuration says to an instance: a model's class is found, and its parameters are made.

The engine finds a class in the same way to check its parameters, so that both come to the same one. Standard library
only.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from edit_eval.errors import LoadError


def find_class(class_path: str, path: list[str]) -> type[Any]:
    """Imports `package.module:Class` or `file.py:Class`, with `path` in front of the import path."""
    sys.path[:0] = [p for p in path if p not in sys.path]
    module_name, _, class_name = class_path.rpartition(":")
    if module_name.endswith(".py"):
        spec = importlib.util.spec_from_file_location(
            "edit_eval_user_" + os.path.basename(module_name)[:-3], module_name
        )
        if spec is None or spec.loader is None:
            raise LoadError(f"cannot import {module_name}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(module_name)
    found = module
    for part in class_name.split("."):
        found = getattr(found, part)
    return found  # type: ignore[return-value]


def make_parameters(model_class: type[Any], values: dict[str, Any]) -> Any:
    """The class's own `Parameters` from plain values; the plain values themselves for a class without."""
    parameters = getattr(model_class, "Parameters", None)
    if parameters is None:
        return values
    if is_dataclass(parameters):
        unknown = sorted(set(values) - {f.name for f in fields(parameters) if f.init})
        if unknown:
            raise LoadError(f"{model_class.__name__} has no parameter `{unknown[0]}`")
        values = _typed_fields(parameters, values)
    return parameters(**values)


def _typed_fields(kind: Any, values: dict[str, Any]) -> dict[str, Any]:
    try:
        hints = get_type_hints(kind)
    except Exception:  # an annotation that only a type checker understands
        return values
    return {name: _typed(hints.get(name), value) for name, value in values.items()}


def _typed(kind: Any, value: Any) -> Any:
    """A plain value as its annotation has it: a dataclass made of a mapping, a tuple of a list; else as it is."""
    if is_dataclass(kind) and isinstance(value, dict):
        return kind(**_typed_fields(kind, value))  # type: ignore[operator]
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        made = (_typed(one, value) for one in inner)
        return next((one for one in made if one is not value), value)
    if origin in (list, tuple) and inner and isinstance(value, list):
        kinds = inner if origin is tuple and inner[-1] is not Ellipsis else inner[:1] * len(value)
        return origin(map(_typed, kinds, value))
    if origin is dict and isinstance(value, dict):
        return {key: _typed(inner[1], one) for key, one in value.items()}
    return value


def key_parameters(model_class: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that decide a result: all but the fields whose metadata say `in_key: False`."""
    parameters = getattr(model_class, "Parameters", None)
    declared = fields(parameters) if parameters is not None and is_dataclass(parameters) else ()
    left_out = {f.name for f in declared if f.metadata.get("in_key") is False}
    return {name: value for name, value in values.items() if name not in left_out}
