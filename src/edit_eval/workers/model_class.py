"""Makes a model from the configuration: finds its class and builds its parameters.

The engine finds a class in the same way to check its parameters, so both find the same one. Standard library only.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from edit_eval.errors import ChangedError, LoadError

_LIBRARY = sysconfig.get_path("stdlib")


class _ExactLoader(SourceFileLoader):
    """Runs exactly the bytes of the file, and knows their SHA-256.

    Python's own loader takes compiled code from its cache if the file's size and its time, in whole seconds, are the
    same: after two changes within a second that may be another program than the file's.
    """

    digest = ""

    def get_code(self, fullname: str) -> CodeType:
        data = self.get_data(self.path)
        self.digest = hashlib.sha256(data).hexdigest()
        return self.source_to_code(data, self.path)


class _ExactFinder:
    """Imports one module with `_ExactLoader`."""

    def __init__(self, module_name: str) -> None:
        self._module_name = module_name

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != self._module_name:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _ExactLoader(name, spec.loader.path)
        return spec


def find_class(class_path: str, path: list[str]) -> type[Any]:
    """Imports `package.module:Class` or `file.py:Class`, with `path` in front of all but the standard library."""
    # The standard library comes first, before a `select.py` of the user's, which its modules do not mean.
    standard = [p for p in sys.path if p.startswith(_LIBRARY) and "-packages" not in p]
    sys.path[:] = [*standard, *path, *(p for p in sys.path if p not in standard and p not in path)]
    file_or_module, _, class_name = class_path.rpartition(":")
    module_name = _module_name(class_path)
    if module_name != file_or_module:
        loader = _ExactLoader(module_name, file_or_module)
        spec = importlib.util.spec_from_file_location(module_name, file_or_module, loader=loader)
        if spec is None:
            raise LoadError(f"cannot import {file_or_module}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[module_name] = module
        loader.exec_module(module)
    else:
        finder = _ExactFinder(module_name)
        sys.meta_path.insert(0, finder)
        try:
            module = importlib.import_module(module_name)
        finally:
            sys.meta_path.remove(finder)
    member = module
    for part in class_name.split("."):
        member = getattr(member, part)
    return member  # type: ignore[return-value]


def _module_name(class_path: str) -> str:
    """Returns the name under which a class's module is imported; a file gets a name of ours."""
    module_name = class_path.rpartition(":")[0]
    if module_name.endswith(".py"):
        return "edit_eval_user_" + os.path.basename(module_name)[:-3]
    return module_name


def sources_digest(file: Path) -> str:
    """Returns the SHA-256 of a source file or, if it imports other files beside or above it, of all together.

    They are found by reading, not importing: every import statement that names a file of the user's own counts.
    """
    roots = [file.absolute().parent, *list(file.absolute().parent.parents)[:DEEPEST]]
    digests: dict[Path, str] = {}
    waiting = [file.absolute()]
    while waiting:
        path = waiting.pop()
        if path in digests or len(digests) > MOST_SOURCES:
            continue
        data = path.read_bytes()
        digests[path] = hashlib.sha256(data).hexdigest()
        waiting += _find_imports(data, path, roots)
    if len(digests) == 1:
        return next(iter(digests.values()))
    named = sorted((os.path.relpath(path, file.absolute().parent), digest) for path, digest in digests.items())
    return hashlib.sha256(repr(named).encode()).hexdigest()


DEEPEST = 2
"""How many folders above a class's own its modules may begin."""
MOST_SOURCES = 500


def _find_imports(data: bytes, path: Path, roots: Sequence[Path]) -> list[Path]:
    """Returns the user's own files that a source file imports."""
    names: list[tuple[Sequence[Path], str]] = []
    for level, name in _read_import_names(data):
        above = [path.parents[level - 1]] if 0 < level <= len(path.parents) else roots
        names.append((above, name))
    own_files = []
    for where, name in names:
        parts = name.split(".")
        if parts[0] == "edit_eval" or (where is roots and parts[0] in sys.stdlib_module_names):
            continue
        for root in where:
            paths = [root.joinpath(*parts[:count]) for count in range(1, len(parts) + 1)]
            files = [file for path in paths for file in (path.with_name(f"{path.name}.py"), path / "__init__.py")]
            own_files += [
                file for file in files if file.is_file() and not {"site-packages", "dist-packages"} & set(file.parts)
            ]
    return own_files


@lru_cache(maxsize=64)
def _read_import_names(source: bytes) -> tuple[tuple[int, str], ...]:
    """Returns what a source imports, and how many folders above itself it looks for that; 0: from the roots.

    A configuration names a file several times, and to parse it takes milliseconds.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return ()
    names: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [(0, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [(node.level, f"{node.module or ''}.{alias.name}".strip(".")) for alias in node.names]
    return tuple(names)


def refuse_changed(revision: str, class_path: str, model_class: type[Any], parameters: Any) -> None:
    """Checks that the class is the one that keys name; `revision` is from the keys, empty if they have none.

    It is the SHA-256 of its sources, or the result of its own `revision(parameters)`. Raises `ChangedError`.
    """
    module = sys.modules[_module_name(class_path)]
    loader, file = module.__spec__ and module.__spec__.loader, getattr(module, "__file__", None) or class_path
    if not revision or revision == getattr(loader, "digest", ""):
        return
    if not hasattr(model_class, "revision") and os.path.isfile(file) and revision == sources_digest(Path(file)):
        return
    if not hasattr(model_class, "revision"):
        raise ChangedError(f"{file} has changed since the run began; rerun the same command")
    try:
        current_revision = str(model_class.revision(parameters))
    except Exception as error:
        raise ChangedError(f"its revision can no longer be determined ({error}); rerun the same command") from error
    if current_revision != revision:
        raise ChangedError(
            "what determines its results has changed since the run began "
            f"(revision {revision[:16]!r}, now {current_revision[:16]!r}); rerun the same command"
        )


PlainParameters = dict[str, Any]
"""Plain values of a class's `Parameters`, as a configuration and the records have them; only the class knows what each
of them is."""


def make_parameters(model_class: type[Any], values: PlainParameters) -> Any:
    """Builds the class's `Parameters` from plain values; returns the values for a class without."""
    parameters = getattr(model_class, "Parameters", None)
    if parameters is None:
        return values
    if is_dataclass(parameters):
        unknown = sorted(set(values) - {f.name for f in fields(parameters) if f.init})
        if unknown:
            raise LoadError(f"{model_class.__name__} has no parameter `{unknown[0]}`")
        values = _convert_fields(parameters, values)
    return parameters(**values)


def _convert_fields(kind: Any, values: PlainParameters) -> PlainParameters:
    hints = _field_types(kind)
    return {name: _convert_value(hints.get(name), value) for name, value in values.items()}


def _field_types(kind: Any) -> Mapping[str, Any]:
    try:
        return get_type_hints(kind)
    except Exception:  # an annotation that only a type checker understands
        return {}


def _convert_value(kind: Any, value: Any) -> Any:
    """Converts a plain value to its annotation: a mapping to a dataclass, a list to a tuple; else returns it as is."""
    if is_dataclass(kind) and isinstance(value, dict):
        return kind(**_convert_fields(kind, value))  # type: ignore[operator]
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        made = (_convert_value(member, value) for member in inner)
        return next((typed for typed in made if typed is not value), value)
    if origin in (list, tuple) and inner and isinstance(value, list):
        kinds = inner if origin is tuple and inner[-1] is not Ellipsis else inner[:1] * len(value)
        return origin(map(_convert_value, kinds, value))
    if origin is dict and isinstance(value, dict):
        return {key: _convert_value(inner[1], part) for key, part in value.items()}
    return value


def key_parameters(model_class: type[Any], values: Mapping[str, Any]) -> PlainParameters:
    """Returns the parameters that decide a result: all but fields with `in_key: False` in their metadata.

    A field added after results were made has `in_key: "if given"`: while it is None, keys stay as before.
    """
    parameters = getattr(model_class, "Parameters", None)
    return _select_key_fields(parameters, values) if is_dataclass(parameters) else dict(values)


def _select_key_fields(kind: Any, values: Mapping[str, Any]) -> PlainParameters:
    said = {f.name: f.metadata.get("in_key") for f in fields(kind)}
    kinds = _field_types(kind)
    return {
        name: _select_key_fields(inner, value)
        if isinstance(value, dict) and (inner := _find_dataclass(kinds.get(name)))
        else value
        for name, value in values.items()
        if said.get(name) is not False and not (said.get(name) == "if given" and value is None)
    }


def _find_dataclass(kind: Any) -> Any:
    """Returns the dataclass that an annotation is, or contains."""
    return next(
        (
            annotation
            for annotation in (kind, *get_args(kind))
            if isinstance(annotation, type) and is_dataclass(annotation)
        ),
        None,
    )
