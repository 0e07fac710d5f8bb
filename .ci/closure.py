"""What a module is closed over: every file of edit_eval that it imports, directly or not, and their lines.

    python .ci/closure.py [MODULE] [--list]

Imports inside functions count; those for a type checker alone do not. `edit_eval.evaluation` by default: what somebody
must hold in mind who follows `evaluate` wherever it leads. Packages' own empty files are left out.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
LEAVES = (ast.Name, ast.Constant)
"""Two nodes of three, which have none beneath them."""


def statements(node: ast.AST, types: bool = False) -> Iterator[ast.AST]:
    """Yields all nodes beneath one, outer before inner; those under `if TYPE_CHECKING` only with `types`."""
    left = [node]
    while left:
        at = left.pop()
        only_for_types = not types and type(at) is ast.If and "TYPE_CHECKING" in ast.unparse(at.test)
        for name in ("orelse",) if only_for_types else at._fields:
            below = getattr(at, name, None)
            for child in below if type(below) is list else (below,):
                if isinstance(child, ast.AST) and not isinstance(child, ast.expr_context):
                    yield child
                    if not isinstance(child, LEAVES):
                        left.append(child)


def file_of(module: str) -> Path | None:
    """Returns the file of a module of ours; None for a package, a name in a module, and others' modules."""
    path = SOURCE / f"{module.replace('.', '/')}.py"
    return path if path.is_file() else None


def imported(path: Path, types: bool = False) -> set[str]:
    """Returns the modules of ours that a file imports; with `types`, for a type checker alone, too."""
    modules = set[str]()
    for node in statements(ast.parse(path.read_text("utf-8")), types):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name for name in modules if name.startswith("edit_eval") and file_of(name)}


def closure(module: str) -> list[Path]:
    """Returns the files that a module is closed over, its own among them."""
    seen, left = set[str](), [module]
    while left:
        name = left.pop()
        if name not in seen:
            seen.add(name)
            path = file_of(name)
            left += imported(path) if path else ()
    return sorted(path for name in seen if (path := file_of(name)))


def main() -> None:
    """Prints how many files and lines there are."""
    names = [name for name in sys.argv[1:] if not name.startswith("--")] or ["edit_eval.evaluation"]
    for module in names:
        files = closure(module)
        lines = sum(path.read_text("utf-8").count("\n") for path in files)
        print(f"{module}: {len(files)} files, {lines:,} lines")
        if "--list" in sys.argv:
            print("\n".join(f"  {path.relative_to(SOURCE)}" for path in files))


if __name__ == "__main__":
    main()
