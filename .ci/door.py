"""The page of the door, `docs/components.md`: every kind of component with what one must and may have.

    python .ci/door.py [--check]

Made of `config/kinds.py` and of the classes that it names, as they are written. With `--check` nothing is written, and
the exit code is 1 if the page is not what it would be.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from edit_eval.config.kinds import KINDS, ComponentKind

SOURCE = Path(__file__).parents[1] / "src/edit_eval"
MODEL_EXTRAS = "edit_models.contract:ModelExtras"
PAGE = Path(__file__).parents[1] / "docs/components.md"
HEAD = """# The door

Every kind of component, with what a class must have, what it may have, and a line on each. `edit-eval list` shows the
components that are installed, [Adding to it](extending.md) says how one is added and where its code goes. An entry
point `KIND.NAME` in the group `edit_eval.components` gives a class its name. No class needs a base, unless its contract
is a class with methods of its own.

This page is made of the contracts by `python .ci/door.py`; the whole docstrings are there.
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


def make_page() -> str:
    """Returns the page."""
    lines = [HEAD.rstrip(), *(line for kind, row in KINDS.items() for line in describe_kind(kind, row))]
    model = read_class(MODEL_EXTRAS)
    lines += ["\n## Any model\n", f"{first_sentence(ast.get_docstring(model))}. Contract `{MODEL_EXTRAS}`."]
    return "\n".join([*lines, *write_members("May have", list(list_members(model)))]) + "\n"


if __name__ == "__main__":
    page = make_page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(page, encoding="utf-8")
    elif not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != page:
        sys.exit(f"{PAGE} is not what the contracts say: python .ci/door.py")
