"""What axe finds in a page: what people who do not see, or do not use a mouse, would stumble over."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import pytest

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
LOOK = """async ([within, rules]) => {
  const found = await axe.run(within, { runOnly: rules, resultTypes: ['violations'] });
  return found.violations.flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.target} ${node.failureSummary}`));
}"""


def stumbling_blocks(tab: Any, within: str = "html") -> list[str]:
    """A line for each in the page, or part of it, that a tab shows now; skips the test where axe is not installed."""
    pytest.importorskip("axe_playwright_python")
    if not tab.evaluate("() => 'axe' in window"):
        tab.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"))
    return [f"{tab.url}: {line}" for line in tab.evaluate(LOOK, [within, RULES])]
