"""The pages that are made of the code: `docs/components.md`, `docs/configuration.md` and `docs/records.md`.

    python .ci/pages.py [--check]

The first is made of `config/kinds.py` and of the contracts that it names; the other two of their parts in `.ci/pages/`,
where a line in double braces becomes a table of fields with the docstrings below these. With `--check` nothing is
written, and the exit code is 1 if a page is not what it would be.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import json
import re
import sys
import types
import typing
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml
from pydantic import BaseModel

from edit_eval.config import components
from edit_eval.config.kinds import KINDS, ComponentKind, Kind
from edit_eval.config.parameters import Parameter, describe_parameters, read_source_fields
from edit_eval.config.sections import top_keys

ROOT = Path(__file__).parents[1]
PARTS = Path(__file__).parent / "pages"
SOURCE = ROOT / "src/edit_eval"
MODEL_EXTRAS = "edit_models.contract:ModelExtras"
HEAD = """# The door

Every kind of component, with what a class must have, what it may have, and a line on each. `edit-eval list` shows the
components that are installed, [Adding to it](extending.md) says how one is added and where its code goes. An entry
point `KIND.NAME` in the group `edit_eval.components` gives a class its name. No class needs a base, unless its contract
is a class with methods of its own.

This page is made of the contracts by `python .ci/pages.py`; the whole docstrings are there.
"""


def read_class(path: str) -> ast.ClassDef:
    """Returns a class of `module:Class` below `edit_eval` as it is written."""
    module, _, name = path.partition(":")
    tree = ast.parse(SOURCE.joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8"))
    return next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)


def first_sentence(text: str | None) -> str:
    """Returns the first sentence of a docstring, without its full stop."""
    words = " ".join((text or "").split())
    return re.split(r"(?<=[^.]\w\w|..[)`'\"])\.(?:\s+(?=[A-Z`])|$)", words, maxsplit=1)[0]


def list_members(node: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    """Yields the public members of a class: name, how it is written, its first sentence."""
    for at, statement in enumerate(node.body):
        if isinstance(statement, ast.FunctionDef) and not statement.name.startswith("_"):
            arguments = ast.unparse(statement.args).removeprefix("self").removeprefix("cls").removeprefix(", ")
            returns = "" if statement.returns is None else ast.unparse(statement.returns).strip("'")
            decorators = {ast.unparse(each) for each in statement.decorator_list}
            if "property" in decorators:
                written = f"{statement.name}: {returns}"
            else:
                static = "static " if "staticmethod" in decorators else "class " if "classmethod" in decorators else ""
                written = f"{static}{statement.name}({arguments}){'' if returns == 'None' else f' -> {returns}'}"
            yield statement.name, written, first_sentence(ast.get_docstring(statement))
        elif isinstance(statement, ast.AnnAssign | ast.Assign):
            name = ast.unparse(statement.target if isinstance(statement, ast.AnnAssign) else statement.targets[0])
            if not name.startswith("_"):
                yield name, write_attribute(name, statement), first_sentence(read_docstring(node.body[at + 1 : at + 2]))


def write_attribute(name: str, statement: ast.AnnAssign | ast.Assign) -> str:
    """Returns an attribute as it is written, without `ClassVar`."""
    written = name
    if isinstance(statement, ast.AnnAssign):
        annotation = statement.annotation
        if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "ClassVar":
            annotation = annotation.slice
        written += f": {ast.unparse(annotation)}"
    return written if statement.value is None else f"{written} = {ast.unparse(statement.value)}"


def read_docstring(following: list[ast.stmt]) -> str:
    """Returns the text that stands below an attribute; empty if there is none."""
    match following:
        case [ast.Expr(value=ast.Constant(value=str(text)))]:
            return text
    return ""


def write_members(heading: str, members: list[tuple[str, str, str]]) -> Iterator[str]:
    """Yields the lines of a list of members; none without members."""
    if members:
        yield f"\n{heading}:\n"
    for _, written, words in members:
        yield f"* `{written}`" + (f": {words[0].lower()}{words[1:]}." if words else "")


def describe_kind(kind: str, row: ComponentKind) -> Iterator[str]:
    """Yields the lines of one kind."""
    contract = read_class(row.contract)
    yield f"\n## `{kind}`: {row.word}\n"
    yield f"{first_sentence(ast.get_docstring(contract))}. Named in `{row.named_in}`; contract `{row.contract}`."
    members = list(list_members(contract))
    required = [member for member in members if member[0] in row.methods or row.extras]
    yield from write_members("Must have", required)
    own = [path for path in row.extras if path != MODEL_EXTRAS]
    optional = [member for member in members if member not in required]
    optional += [member for path in own for member in list_members(read_class(path))]
    yield from write_members(
        "May have, beside what [any model](#any-model) may" if len(own) < len(row.extras) else "May have", optional
    )


def make_door() -> str:
    """Returns the page of the contracts."""
    lines = [HEAD.rstrip(), *(line for kind, row in KINDS.items() for line in describe_kind(kind, row))]
    model = read_class(MODEL_EXTRAS)
    lines += ["\n## Any model\n", f"{first_sentence(ast.get_docstring(model))}. Contract `{MODEL_EXTRAS}`."]
    return "\n".join([*lines, *write_members("May have", list(list_members(model)))]) + "\n"


# -- pages of fields --

MARK = re.compile(r"^\{\{(.+)\}\}$", re.MULTILINE)
HEADING = re.compile(r"^(#+) (.+)$")
NAMES: dict[str, str] = yaml.safe_load((PARTS / "names.yaml").read_text(encoding="utf-8"))


@functools.cache
def index_classes() -> dict[str, list[Path]]:
    """Returns the files below `edit_eval` that have a class of a name."""
    files: dict[str, list[Path]] = {}
    for path in SOURCE.rglob("*.py"):
        for name in re.findall(r"^class (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            files.setdefault(name, []).append(path)
    return files


def find_class(name: str) -> type[Any]:
    """Returns the one class of this name below `edit_eval` (`records:Edit`: in such a file), or a registered one of
    `kind.name`; of an analysis its document."""
    kind, dot, registered = name.partition(".")
    if dot:
        named: Any = components.import_registered(typing.cast(Kind, kind), registered)
        return typing.cast(type[Any], find_inner(named.__orig_bases__[0]) if kind == "analysis" else named)
    stem, _, name = name.rpartition(":")
    (file,) = (path for path in index_classes()[name] if stem in ("", path.stem))
    module = ".".join(file.relative_to(SOURCE.parent).with_suffix("").parts)
    return typing.cast(type[Any], getattr(importlib.import_module(module), name))


def has_fields(cls: object) -> bool:
    """True for a class whose fields a page can list."""
    return isinstance(cls, type) and (dataclasses.is_dataclass(cls) or issubclass(cls, msgspec.Struct | BaseModel))


def list_fields(cls: type[Any]) -> list[Parameter]:
    """Returns the fields of a class, as files name them, with their types, defaults and docstrings."""
    written = read_source_fields(cls)
    if issubclass(cls, msgspec.Struct):
        docs = [(field, *written.get(field.name, ("", ""))) for field in msgspec.structs.fields(cls)]
        return [Parameter(field.encode_name, kind, "", " ".join(doc.split())) for field, kind, doc in docs]
    if dataclasses.is_dataclass(cls) and "Parameters" not in cls.__qualname__:
        return [
            Parameter(field.name, written[field.name][0], "", " ".join(written[field.name][1].split()))
            for field in dataclasses.fields(cls)
        ]
    return list(describe_parameters(cls))


def find_inner(hint: Any) -> type[Any] | None:
    """Returns the class with fields that a type holds, if it holds one."""
    if has_fields(hint):
        return typing.cast(type[Any], hint)
    return next(filter(None, map(find_inner, typing.get_args(hint))), None)


def inner_classes(cls: type[Any]) -> dict[str, type[Any]]:
    """Returns by field the class that its value, or each of its values, is of."""
    hints = typing.get_type_hints(cls)
    names = (
        {field.name: field.encode_name for field in msgspec.structs.fields(cls)}
        if issubclass(cls, msgspec.Struct)
        else {}
    )
    found = {names.get(name, name): find_inner(hint) for name, hint in hints.items()}
    return {name: inner for name, inner in found.items() if inner is not None}


def write_default(text: str) -> str:
    """Returns a default as YAML has it; empty for null."""
    if not text:
        return "required"
    value = ast.literal_eval(text)
    if value is None:
        return ""
    if isinstance(value, float) and value > 1 and value.is_integer():
        value = int(value)
    if isinstance(value, tuple | list):
        return f"`[{', '.join(map(str, value))}]`"
    return f"`{value}`" if isinstance(value, str) and value else f"`{json.dumps(value)}`"


def write_words(text: str) -> str:
    """Returns a docstring as a cell: JSON and YAML have null, true and false."""
    text = re.sub(r"[;,]? \(?(?:see )?`[a-z_.]+\.[\w.]+`\)|[;,]? \(?see `[\w.]+`\)?", "", text)  # names in the code
    text = re.sub(r"\bNone\b", "null", text.replace("True if", "Whether")).replace("|", "\\|")
    return text and text[0].upper() + text[1:]


class FieldPage:
    """A page of fields, while it is made of its part."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.text = (PARTS / f"{name}.md").read_text(encoding="utf-8")
        self.sections: dict[type[Any], str] = {}
        """The heading under which a class's fields are."""
        heading = ""
        for line in self.text.splitlines():
            if found := HEADING.match(line):
                heading = found[2]
            elif mark := MARK.match(line):
                for path in mark[1].split():
                    if path[0] not in "-+" and mark[1].split()[0] not in ("top", "types"):
                        self.sections[find_class(path)] = heading

    def make(self) -> str:
        """Returns the page."""
        return re.sub(r"\n{3,}", "\n\n", MARK.sub(lambda mark: "\n".join(self.write_mark(mark[1].split())), self.text))

    def write_mark(self, words: list[str]) -> Iterator[str]:
        """Yields the lines that stand for a mark: the fields of its classes, without those behind a `-`."""
        left_out = {word[1:] for word in words if word[0] == "-"}
        if words[0] == "top":
            yield from write_table("| key | what it is |", ((f"`{key}`", what) for key, what in top_keys().items()))
        elif words[0] == "types":
            known = components.list_components(typing.cast(Kind, words[1]))
            yield from write_table(
                "| type | what it is |", ((f"`{each.name}`", write_words(each.summary)) for each in known)
            )
        elif self.name == "records":
            yield from self.write_tree([find_class(word) for word in words if word[0] != "-"], left_out)
        else:
            classes = [find_class(word) for word in words if word[0] != "-"]
            fields = first_of_each((field.name, field) for cls in classes for field in list_fields(cls))
            fields = {name: field for name, field in fields.items() if name not in left_out}
            rows = (
                (f"`{field.name}`", write_default(field.default), write_words(field.doc)) for field in fields.values()
            )
            yield from write_table("| key | default | what it does |", rows)

    def write_tree(self, classes: list[type[Any]], left_out: set[str]) -> Iterator[str]:
        """Yields the fields of some classes as one table, those without words of their own together in one row; then
        the fields of the classes that these hold, each once."""
        waiting: list[type[Any]] = []
        rows: list[tuple[str, str]] = []
        fields = {
            field.name: (field, cls) for cls in classes for field in list_fields(cls) if field.name not in left_out
        }
        for field, cls in fields.values():
            held = inner_classes(cls).get(field.name)
            common = "" if held else NAMES.get(field.name, "")
            what = write_words(field.doc or NAMES.get(f"{cls.__name__}.{field.name}", common))
            words = list_words(typing.get_type_hints(cls).get(field.name))
            if not all(f"`{word}`" in what for word in words):
                what = f"{what} One of {', '.join(f'`{word}`' for word in words)}.".strip()
            if held:
                if held not in self.sections:
                    self.sections[held] = held.__name__
                    waiting.append(held)
                link = f"{say_how_many(field.type)}[{held.__name__}](#{slug(self.sections[held])})"
                what = f"{link}. {what}" if what else link
            if rows and not what and not rows[-1][1]:
                rows[-1] = f"{rows[-1][0]}, `{field.name}`", ""
            else:
                rows.append((f"`{field.name}`", what))
        yield from write_table("| field | what it is |", rows)
        for held in waiting:
            yield f"\n### {held.__name__}\n\n{write_words(first_paragraph(held))}\n"
            yield from self.write_tree([held], set())


def first_of_each(pairs: Iterable[tuple[str, Parameter]]) -> dict[str, Parameter]:
    """Returns a mapping in which the first of several with one name counts."""
    found: dict[str, Parameter] = {}
    for name, field in pairs:
        found.setdefault(name, field)
    return found


def list_words(hint: Any) -> list[str]:
    """Returns the words that a type allows; none if it is not made of words."""
    if typing.get_origin(hint) is typing.Literal:
        return [word for word in typing.get_args(hint) if isinstance(word, str) and word]
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return [word for part in typing.get_args(hint) for word in list_words(part)]
    return []


def say_how_many(type_text: str) -> str:
    """Returns what stands before the class that a field holds: whether it holds a list of them, or names them."""
    outer = type_text.partition("[")[0]
    return "list of " if outer in ("list", "tuple", "Sequence") else "by name " if outer in ("dict", "Mapping") else ""


def write_table(head: str, rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Yields the lines of a table."""
    yield head
    yield "|---" * (head.count("|") - 1) + "|"
    for row in rows:
        yield "".join(f"| {cell} " for cell in row).replace("|  ", "| ") + "|"


def first_paragraph(cls: type[Any]) -> str:
    """Returns the first paragraph of a class's docstring."""
    return " ".join((cls.__doc__ or "").split("\n\n")[0].split())


def slug(heading: str) -> str:
    """Returns the anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def make_pages() -> dict[Path, str]:
    """Returns every page by its place."""
    made = {part.stem: FieldPage(part.stem).make() for part in sorted(PARTS.glob("*.md"))} | {"components": make_door()}
    return {ROOT / "docs" / f"{name}.md": page for name, page in made.items()}


if __name__ == "__main__":
    for path, page in make_pages().items():
        if "--check" not in sys.argv[1:]:
            path.write_text(page, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != page:
            sys.exit(f"{path} is not what the code says: python .ci/pages.py")
