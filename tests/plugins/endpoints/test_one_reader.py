"""No client reads an ending, a refusal, an account's fault or a wait by itself: it compares with no such word."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import edit_eval
from edit_eval.plugins.endpoints.in_worker.vocabulary import STATUSES, read_ending, read_error

SRC = Path(edit_eval.__file__).parent
READERS = "plugins/endpoints/in_worker/vocabulary.py"
CLIENTS = sorted(
    path
    for path in SRC.rglob("*.py")
    if "edit_eval.plugins.endpoints.in_worker.client" in (text := path.read_text(encoding="utf-8"))
    or path.parent.name == "endpoints"
    or "edit_eval.plugins.endpoints.in_worker.vocabulary" in text
    if path.relative_to(SRC).as_posix() != READERS
)
ALLOWED = {
    ("plugins/endpoints/in_worker/client.py", 401),  # the key's variable is named where it is not set
    ("plugins/endpoints/in_worker/client.py", 403),
    ("plugins/endpoints/in_worker/client.py", 429),  # waited for until the deadline, unlike the others that are busy
    ("plugins/closed_models/in_worker/editing.py", 401),  # how stores of pictures say that an address has expired
    ("plugins/closed_models/in_worker/editing.py", 403),
    ("plugins/endpoints/in_worker/client.py", "failed"),  # what became of a canary
    ("plugins/closed_models/in_worker/providers.py", "respect_moderation"),  # a field
}
TOLD = {status for row in STATUSES for status in row.statuses}


def compared(tree: ast.AST) -> Iterator[ast.Constant]:
    """Yields what is compared with, searched for, or looked up in a table."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            parts: list[ast.AST] = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SEARCHES:
            parts = list(node.args)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Dict):
            parts = [key for key in node.value.keys if key is not None and _is_table(node)]
        else:
            continue
        yield from (inner for part in parts for inner in ast.walk(part) if isinstance(inner, ast.Constant))


SEARCHES = ("search", "match", "fullmatch", "findall", "compile", "startswith", "endswith")


def _is_table(node: ast.Assign | ast.AnnAssign) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(isinstance(target, ast.Name) and target.id.strip("_").isupper() for target in targets)


def words_of_servers(path: Path) -> set[tuple[str, object]]:
    name, found = path.relative_to(SRC).as_posix(), set()
    for constant in compared(ast.parse(path.read_text(encoding="utf-8"))):
        said = constant.value
        if isinstance(said, str) and said.strip() and (read_ending(said).known or read_error(429, said).word):
            found.add((name, said))
        if isinstance(said, int) and not isinstance(said, bool) and said in TOLD:
            found.add((name, said))
    return found - ALLOWED


def test_no_client_knows_a_word_of_servers_by_itself() -> None:
    assert {"chat_endpoint.py", "chat_interfaces.py", "image_endpoint.py", "editing.py", "providers.py"} <= {
        path.name for path in CLIENTS
    }
    assert {found for path in CLIENTS for found in words_of_servers(path)} == set()


def test_a_client_that_did_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "SRC", tmp_path)
    own = tmp_path / "own.py"
    own.write_text('if reason == "content_filter" or status in (402, 503) or re.search(r"try again in 5s", x): ...')
    assert words_of_servers(own) == {("own.py", "content_filter"), ("own.py", 402), ("own.py", 503)}
