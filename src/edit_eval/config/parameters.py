"""A class's own parameters, its nested dataclass `Parameters`: checks their values, and describes them to users."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import linecache
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, PydanticUserError, TypeAdapter
from pydantic.errors import PydanticUndefinedAnnotation

from edit_eval.config.faults import Faults, Place, validate_values
from edit_eval.text import Text
from edit_eval.workers.model_class import PlainParameters


@dataclass(frozen=True)
class Parameter:
    """One parameter of a class, as `edit-eval describe` shows it."""

    name: str
    type: str
    """As in the source: `int`, `str | None`."""
    default: str
    """As Python's `repr`; empty for a parameter without default."""
    doc: str

    @property
    def is_required(self) -> bool:
        """True if the file must give it."""
        return not self.default


def parameters_of(cls: type[Any]) -> type[Any] | None:
    """Returns the nested dataclass, or None for a class without one (it gets the file's values unchanged).

    Raises `TypeError` with a readable text if `Parameters` is not a dataclass.
    """
    nested = getattr(cls, "Parameters", None)
    if nested is None:
        return None
    if not (isinstance(nested, type) and dataclasses.is_dataclass(nested)):
        raise TypeError(f"{cls.__name__}.Parameters must be a dataclass (`@dataclass` above it)")
    return nested


def names_of(cls: type[Any]) -> tuple[str, ...]:
    """Returns the names of the class's parameters, in order."""
    nested = parameters_of(cls)
    return tuple(f.name for f in dataclasses.fields(nested) if f.init) if nested else ()


def check_parameters(
    cls: Any, values: Mapping[str, Any], place: Place, faults: Faults, also: tuple[str, ...], described_as: str
) -> PlainParameters:
    """Returns plain values of all parameters of `cls`, with defaults; faults are noted at `place`.

    `also` are other keys allowed beside them in the file, considered when suggesting a name. `described_as` is the
    class's name on the command line.
    """
    try:
        names = names_of(cls)
        if kept := sorted(set(names) & set(also)):
            words = "{}.Parameters has a field `{}`, a name that edit-eval keeps for itself; rename it"
            raise TypeError(words.format(cls.__name__, kept[0]))
        adapter = find_adapter(cls)
    except TypeError as error:
        faults.add(place, str(error))
        return dict(values)
    if adapter is None:
        return dict(values)
    for key, value in values.items():
        if key not in names and value is not None:
            from edit_eval.config.base_system import explain_unknown_key  # it reads YAML, for which help does not wait

            hint = Text("`edit-eval describe {}` lists them all", described_as)
            faults.add((*place, key), explain_unknown_key((*place, key), (*names, *also), hint))
    known = {key: value for key, value in values.items() if key in names}
    checked, wrongs = validate_values(adapter.validate_json, known)
    if wrongs:
        docs = {p.name: p.doc for p in describe_parameters(cls)}
        for where, wrong in wrongs:
            if not where and (said := re.match(r"(\w+):? (.+)", wrong)) and said[1] in names:
                where, wrong = (said[1],), said[2]  # a class's own check: `steps: 0 is too few`
            if wrong == "missing" and docs.get(where[-1]):
                wrong += Text(" ({})", docs[where[-1]].rstrip("."))
            faults.add((*place, *where), wrong)
        return dict(values)
    plain = adapter.dump_python(checked, mode="json")
    assert isinstance(plain, dict)
    return plain


@lru_cache(maxsize=256)
def find_adapter(cls: Any) -> TypeAdapter[Any] | None:
    """Returns the model of a class's parameters, which checks them and gives their schema; None if any are accepted.

    Kept, since making one takes ten times as long as a check. Raises `TypeError` with a readable text.
    """
    if (nested := parameters_of(cls)) is None:
        return None
    if not hasattr(nested, "__pydantic_config__"):  # no class has to say that there are no others
        nested.__pydantic_config__ = {"extra": "forbid"}
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(nested)
        adapter.rebuild(raise_errors=True)  # raises now if a type is undefined
    except (PydanticUserError, PydanticUndefinedAnnotation) as error:
        raise TypeError(Text("{}.Parameters: {}", cls.__name__, error.message)) from None
    return adapter


def describe_parameters(cls: type[Any]) -> tuple[Parameter, ...]:
    """Returns every parameter of a class; of a section of the configuration its keys."""
    nested: Any = cls if issubclass(cls, BaseModel) else parameters_of(cls)
    return describe_fields(nested) if nested else ()


def describe_fields(cls: Any) -> tuple[Parameter, ...]:
    """Returns every field of a dataclass or section: type, default, and the docstring below it (or `metadata["doc"]`).

    A field without a docstring inherits that of the same field in a base class.
    """
    fields: dict[str, tuple[str, str, Mapping[str, Any]]]  # -> its name in files, default, metadata
    if issubclass(cls, BaseModel):
        named = {name: field for name, field in cls.model_fields.items() if not field.exclude}
        fields = {n: (f.alias or n, "" if f.is_required() else repr(f.default), {}) for n, f in named.items()}
    else:
        fields = {f.name: (f.name, _default_text(f), f.metadata) for f in dataclasses.fields(cls) if f.init}
    written = read_source_fields(cls)
    described = []
    for name, (called, default, more) in fields.items():
        type_text, doc = written.get(name, ("", ""))
        type_text = re.sub(r"Annotated\[(\w+(?:\[[^\[\]]*\])?), [^\[\]]*\]", r"\1", type_text)
        described.append(Parameter(called, type_text, default, " ".join(str(more.get("doc", doc)).split())))
    return tuple(described)


@lru_cache(maxsize=512)
def read_source_fields(cls: Any) -> Mapping[str, tuple[str, str]]:
    """Returns field -> its type as in the source, and the docstring below it, for a class with those it inherits.

    Kept, with the classes of each file: Python's own way to a class's source parses the whole file each time.
    """
    written: dict[str, tuple[str, str]] = {}
    for base in reversed(cls.__mro__):
        for name, type_text, doc in _parse_source_fields(base):
            written[name] = type_text, doc or written.get(name, ("", ""))[1]
    return written


def _parse_source_fields(cls: type[Any]) -> Iterator[tuple[str, str, str]]:
    """Yields (name, type, docstring) of each annotated name in the class's source, if that is available."""
    if cls in (object, BaseModel):
        return
    try:
        classes = _parse_source_classes(inspect.getsourcefile(cls) or "", cls.__module__)
    except (OSError, TypeError, SyntaxError):
        return
    if cls.__qualname__ not in classes:
        return
    body = classes[cls.__qualname__].body
    for statement, below in zip(body, [*body[1:], None], strict=True):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            has_doc = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
            doc = below.value.value if has_doc else ""  # type: ignore[union-attr]
            yield statement.target.id, ast.unparse(statement.annotation), doc if isinstance(doc, str) else ""


@lru_cache(maxsize=64)
def _parse_source_classes(path: str, module: str) -> Mapping[str, ast.ClassDef]:
    """Returns the classes of a module's file by their qualified names, from one parse for all of them."""
    lines = linecache.getlines(path, getattr(sys.modules.get(module), "__dict__", None))
    found: dict[str, ast.ClassDef] = {}

    def collect(node: ast.AST, outer: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                found[outer + child.name] = child
                collect(child, f"{outer}{child.name}.")
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                collect(child, f"{outer}{child.name}.<locals>.")
            elif isinstance(child, ast.stmt | ast.ExceptHandler):
                collect(child, outer)

    collect(ast.parse("".join(lines)), "")
    return found


def _default_text(field: dataclasses.Field[Any]) -> str:
    if field.default is not dataclasses.MISSING:
        return repr(field.default)
    if field.default_factory is not dataclasses.MISSING:
        return repr(field.default_factory())
    return ""
