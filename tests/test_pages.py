"""The made pages are what the code says, and that of the door has all that the code asks a class for."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path

from edit_eval.config.kinds import KINDS
from source_trees import list_nodes

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/components.md"
ASKED_OF = {
    *("model_class", "judge_class", "benchmark_class", "protocol_class"),
    *("benchmark", "protocol", "judge.protocol", "self._model"),
}
"""What a class, or a component, is called where the code asks it for something that it need not have."""
NOT_FOR_STRANGERS = {
    "refuse_unknown",
    "requires",
    "unlinted",
    "is_official",
    "unlike_theirs",
    "find_model",
    "__name__",
    "Parameters",
}
"""Asked of our own classes alone."""


def test_the_pages_are_what_the_code_says() -> None:
    pages = runpy.run_path(str(ROOT / ".ci/pages.py"))["make_pages"]()
    assert len(pages) == 3
    wrong = [path.name for path, page in pages.items() if path.read_text("utf-8") != page]
    assert not wrong, "type `python .ci/pages.py`"


def test_every_kind_has_a_section_and_every_method_that_is_demanded_a_line() -> None:
    sections = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    by_kind = {section.partition("`: ")[0].strip("`"): section for section in sections}
    for kind, row in KINDS.items():
        for method in row.methods:
            assert re.search(rf"^\* `(?:class |static )?{method}\b", by_kind[kind], re.MULTILINE), (kind, method)


def test_what_the_code_asks_a_class_for_is_on_the_page() -> None:
    named = set(re.findall(r"^\* `(?:class |static )?(\w+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    asked = {}
    for path in sorted((ROOT / "src/edit_eval").rglob("*.py")):
        if "metrics" in path.parts or "attr(" not in path.read_text("utf-8"):  # `self._model` of a library
            continue
        for node in list_nodes(path):
            match node:
                case ast.Call(func=ast.Name(id="getattr" | "hasattr"), args=[of, ast.Constant(value=str(name)), *_]):
                    if ast.unparse(of) in ASKED_OF:
                        asked[name] = f"{path.relative_to(ROOT)}:{node.lineno}"
    assert len(asked) > 20
    assert not {name: where for name, where in asked.items() if name not in named | NOT_FOR_STRANGERS}
