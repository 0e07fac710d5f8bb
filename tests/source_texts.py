"""Every text of src that a person may read, found in the code: its literals, f-strings and sums, clause by clause."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

import edit_eval
from edit_eval.config.components import built_in, describe
from edit_eval.config.shipped import shipped, summary
from edit_eval.reporting.chinese.catalog import clauses
from edit_eval.reporting.components import PRESET_FACTS

SRC = Path(edit_eval.__file__).parent
APART = yaml.safe_load((Path(__file__).parent / "reporting/chinese/not_for_people.yaml").read_text(encoding="utf-8"))
"""What is no text for a person: `files`, `calls` (whose arguments are none), `keywords`, and single `texts` by
file; `names` are what components say of themselves in names alone; `through` are functions whose first argument gives
a field its name."""
MOST = 16
"""Variants of one expression that are looked at."""
VERBS = r"cli\.py|verbs/.*"


@dataclass(frozen=True)
class Text:
    """A clause of the code, with `{fields}` where values go."""

    words: str
    file: str
    line: int

    @property
    def shape(self) -> str:
        """The same, whatever its fields are called."""
        return shape(self.words)


def shape(words: str) -> str:
    """A text with nameless fields."""
    return re.sub(r"\{\w+\}", "{}", words)


@cache
def texts() -> tuple[Text, ...]:
    """All clauses, each where it stands first."""
    found: dict[str, Text] = {}
    for file in sorted(SRC.rglob("*.py")):
        name = file.relative_to(SRC).as_posix()
        if any(re.fullmatch(pattern, name) for pattern in APART["files"]):
            continue
        apart = {
            shape(words) for pattern, some in APART["texts"].items() if re.fullmatch(pattern, name) for words in some
        }
        for line, words in of_file(file, name):
            for bare in bared_clauses(words):
                if wordy(bare) and shape(bare) not in apart and shape(words.strip()) not in apart:
                    found.setdefault(shape(bare), Text(named(bare), name, line))
    for name, words in of_components():
        if words.endswith(":") or (wordy(words) and words not in APART["names"]):
            found.setdefault(words, Text(words, f"edit-eval {name}", 1))
    return tuple(found.values())


def of_components() -> Iterator[tuple[str, str]]:
    """Where it is shown, and the whole text, of all that built-in components and configurations say of themselves."""
    for path in shipped().values():
        yield "list", whole(summary(path))
    yield from (("describe diffusers", f"{name}:") for name in PRESET_FACTS)
    for kind, names in built_in().items():
        for name in names:
            (one,) = (found for found in describe(name) if found.kind == kind)
            assert not one.problem, one.problem
            said = [one.summary, *one.about.values(), *(f"{fact}:" for fact in one.about)]
            said += [parameter.doc for parameter in one.parameters]
            said += [preset[key] for preset in one.presets for key in ("family", *PRESET_FACTS.values())]
            yield from ((f"describe {name}", whole(words)) for words in said)


def whole(words: str) -> str:
    """A text as the catalog has it where it is looked up whole: without its full stop."""
    return words if words.endswith("..") else words.removesuffix(".")


def bared_clauses(words: str) -> list[str]:
    """The clauses of a text, and of a clause in brackets its own."""
    found = []
    for clause, _ in clauses(words):
        bare = bared(clause)
        opened = clause.strip(" ,;").startswith("(") and not bare.startswith("(")
        found += bared_clauses(bare) if opened else [bare]
    return found


def bared(clause: str) -> str:
    """A clause as the catalog has it: without what only joins it to others, and without its full stop."""
    bare = clause.strip().strip(",;").strip()
    while (end := len(bare) - 1) > 0 and bare[0] == "(" and bare[-1] == ")" and bare.find(")") == end:
        bare = bare[1:-1].strip()
    return bare.removesuffix(".") if not bare.endswith("..") else bare


def wordy(bare: str) -> bool:
    """Whether it has words: two in all, or one beside a field."""
    code = r"`[^`]*`|\{(?:[^{}]|\{[^{}]*\})*\}|--[\w-]+|\b[GMK]i?B\b"
    code_apart = re.sub(code, " \0 ", bare)
    said = re.findall(r"[A-Za-z][a-z]+(?:'[a-z]+)?", code_apart)
    spaced = " " in bare.strip()
    return spaced and bool(said)


def named(bare: str) -> str:
    """Each field with a name of its own."""
    used: dict[str, int] = {}

    def name(found: re.Match[str]) -> str:
        used[found[1]] = used.get(found[1], 0) + 1
        return "{" + found[1] + (f"_{used[found[1]]}" if used[found[1]] > 1 else "") + "}"

    return re.sub(r"\{(\w+)\}", name, bare)


def of_file(file: Path, name: str) -> Iterator[tuple[int, str]]:
    """Line and text, with fields, of whatever may be said in one file."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    above = {below: node for node in ast.walk(tree) for below in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if (
            re.fullmatch(VERBS, name)
            and isinstance(node, ast.FunctionDef)
            and any(map(_makes_a_verb, node.decorator_list))
        ):
            for sentence in re.split(r"(?<=\.)\s+(?=[A-Z])", " ".join((ast.get_docstring(node) or "").split())):
                yield node.lineno, sentence
        if _is_text(node) and not _is_part(node, above) and not _is_apart(node, above):
            for parts in _variants(node):
                yield node.lineno, "".join(parts)
        if (
            isinstance(node, ast.Call)
            and _called(node) == "counted"
            and len(node.args) == 2
            and isinstance(node.args[1], ast.Constant)
        ):
            yield node.lineno, f"{{N}} {node.args[1].value}"
            yield node.lineno, f"{{N}} {node.args[1].value}s"


def _makes_a_verb(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and _called(decorator) in ("verb", "command", "callback")


def _is_text(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add) and (_is_text(node.left) or _is_text(node.right))
    if isinstance(node, ast.IfExp):
        return _is_text(node.body) and _is_text(node.orelse)
    return isinstance(node, ast.JoinedStr)


def _is_part(node: ast.AST, above: dict[ast.AST, ast.AST]) -> bool:
    """Whether a larger text holds it, or nobody ever sees it: a docstring, a type."""
    parent = above.get(node)
    if isinstance(parent, ast.IfExp):
        return node is not parent.test and _is_text(parent)
    if isinstance(parent, ast.FormattedValue):
        holder = above[parent]
        return not isinstance(holder, ast.JoinedStr) or parent.format_spec is None
    return isinstance(parent, ast.Expr | ast.Subscript | ast.Compare | ast.JoinedStr) or (
        parent is not None and _is_text(parent)
    )


def _is_apart(node: ast.AST, above: dict[ast.AST, ast.AST]) -> bool:
    """Whether it is an argument of what shows nothing."""
    parent = above.get(node)
    while isinstance(parent, ast.Tuple | ast.List | ast.Starred):
        node, parent = parent, above.get(parent)
    if isinstance(parent, ast.keyword):
        return parent.arg in APART["keywords"] or _is_apart(parent, above)
    if isinstance(parent, ast.Call) and node is not parent.func:
        return _called(parent) in APART["calls"]
    if isinstance(parent, ast.Attribute):
        return parent.attr in APART["calls"]
    return False


def _called(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def _variants(node: ast.expr) -> list[list[str]]:
    """What an expression may come to, each as the parts of a text with fields."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [[node.value]]
    if isinstance(node, ast.JoinedStr):
        made: list[list[str]] = [[]]
        for part in node.values:
            some = _variants(part) if isinstance(part, ast.Constant) else _of_field(part)
            made = [a + b for a, b in itertools.product(made, some)][:MOST]
        return made
    if isinstance(node, ast.BinOp) and _is_text(node):
        return [a + b for a, b in itertools.product(_variants(node.left), _variants(node.right))][:MOST]
    if isinstance(node, ast.IfExp) and _is_text(node):
        return [*_variants(node.body), *_variants(node.orelse)]
    return [["{" + _field(node) + "}"]]


def _of_field(part: ast.expr) -> list[list[str]]:
    assert isinstance(part, ast.FormattedValue)
    return [["{" + _field(part.value) + "}"]] if part.format_spec else _variants(part.value)


def _field(node: ast.AST) -> str:
    """A name for what stands in a field."""
    match node:
        case ast.Call(args=[first, *_]) if _called(node) in APART["through"]:
            return _field(first)
        case ast.Call():
            return _field(node.func)
        case ast.Subscript(slice=ast.Constant(value=str() as key)):
            return re.sub(r"\W+", "_", key)
        case ast.Subscript() | ast.Starred():
            return _field(node.value)
        case ast.Attribute(attr=attribute):
            through = attribute in ("name", "value", "path", "id") and isinstance(node.value, ast.Name | ast.Attribute)
            return _field(node.value) if through else attribute.strip("_").lower()
        case ast.Name(id=name):
            return name.strip("_").lower()
        case ast.BinOp(left=ast.Constant(value="s" | "es" as plural), op=ast.Mult()):
            return plural
        case ast.BinOp(left=left):
            return _field(left)
        case ast.UnaryOp(operand=one) | ast.IfExp(body=one) | ast.BoolOp(values=[one, *_]):
            return _field(one)
        case ast.GeneratorExp(elt=one) | ast.ListComp(elt=one) | ast.SetComp(elt=one):
            return _field(one)
    return "value"
