"""The package's source as trees, each file parsed once for all tests of a process that look at it."""

from __future__ import annotations

import ast
import functools
from pathlib import Path


@functools.cache
def parse(path: Path) -> ast.Module:
    """Returns a file's tree, which is not changed."""
    return ast.parse(path.read_text("utf-8"))


@functools.cache
def list_nodes(path: Path) -> list[ast.AST]:
    """Returns all that is in it, outer before inner."""
    return [*ast.walk(parse(path))]
