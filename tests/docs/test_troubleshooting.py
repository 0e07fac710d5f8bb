"""Every message that docs/troubleshooting.md quotes is one that the program has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from documented_blocks import DOCS

SOURCE = DOCS.parent / "src" / "edit_eval"
PAGE = (DOCS / "troubleshooting.md").read_text("utf-8")
QUOTED = re.findall(r"^### `(.+?)`?$", PAGE, re.M)
OF_OTHERS = {"CUDA out of memory", "No space left on device"}
"""Messages of torch and of the system."""


@cache
def messages() -> str:
    """All texts of the program, a line each; `…` where something is filled in."""
    return "\n".join([*_in_code(), *(path.read_text("utf-8") for path in SOURCE.rglob("*.yaml"))])


def _in_code() -> Iterator[str]:
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr):
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" not in node.value:
                yield node.value


@pytest.mark.check
@pytest.mark.parametrize("message", QUOTED)
def test_the_program_says_so(message: str) -> None:
    if message in OF_OTHERS:
        return
    parts = [re.escape(part.strip()) for part in re.split("…", message) if part.strip()]
    assert re.search("[^\n]*?".join(parts), messages()), f"{message}: no text of the program reads so"


def test_there_is_something_to_find() -> None:
    assert len(QUOTED) >= 25
