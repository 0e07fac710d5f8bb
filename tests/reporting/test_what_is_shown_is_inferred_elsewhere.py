"""Displays show estimates, intervals and ranks; they make none. What decides is made by `edit_eval.statistics`.

Every interval, rank, verdict and p comes from there, with its clusters, its family and what it is corrected for. This
reads the source of all displays, and refuses one that would decide by itself.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import edit_eval

SOURCE = Path(edit_eval.__file__).parent
DISPLAYS = [
    path for room in ("reporting", "viewer", "verbs", "trackers") for path in sorted((SOURCE / room).rglob("*.py"))
]
GUESTS = ("sheet.py", "chart.py", "card.py", "verb.py")
DISPLAYS += sorted(path for name in GUESTS for path in (SOURCE / "guests").rglob(name))
TEMPLATES = sorted(path for room in ("reporting", "viewer") for path in (SOURCE / room).rglob("*.j2"))
STATISTICS = sorted((SOURCE / "statistics").rglob("*.py"))

INFERENCE = "edit_eval.statistics.intervals"
MADE = {"rank", "ci95", "p_adjusted", "no_ci95"}
"""Keys of what only statistics make."""
DECIDING = re.compile(r"ci95\[|\bp_adjusted\b|\[.p_adjusted.\]|\[.p.\]|\bpair\.p\b|\bALPHA\b|\bCONFIDENCE\b")
CORRECTED = re.compile(r"(?<!not )corrected for|\bHolm\b|Bonferroni|told apart by")
COMPUTING = {
    "quantile",
    "percentile",
    "nanquantile",
    "std",
    "var",
    "ndtr",
    "ndtri",
    "stdtr",
    "stdtrit",
    "cov",
    "corrcoef",
}
WORDS_OF_ITS_OWN = {
    "audit.py: Each other kind of pair has to be above one half",  # statistics/audit/findings.py: by their number
    "audit.html.j2: Each other kind of pair has to be above one half",
}
ROUNDED = "formats.py"
"""A p is never rounded across the level: the one place where a display looks at both."""


def docstrings(tree: ast.AST) -> set[int]:
    return {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def refused(path: Path, text: str) -> Iterator[str]:
    """Says what a display does that it should not."""
    tree = ast.parse(text)
    prose = docstrings(tree)
    for node in ast.walk(tree):
        where = f"{path.name}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            names = [alias.name for alias in node.names]
            if any(one.partition(".")[0] == "scipy" for one in (module, *names)):
                yield f"{where}: computes with scipy"
            if module == INFERENCE and (functions := [one for one in names if one.islower()]):
                yield f"{where}: makes intervals or p-values by itself: {functions}"
            if module == "edit_eval.statistics.families" and set(names) - {"Correction"}:
                yield f"{where}: makes a family or ranks by itself"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in COMPUTING:
            yield f"{where}: computes {ast.unparse(node.func)}"
        elif isinstance(node, ast.Compare) and path.name != ROUNDED:
            only_asks = all(isinstance(each, ast.Is | ast.IsNot | ast.In | ast.NotIn) for each in node.ops)
            if not only_asks and DECIDING.search(ast.unparse(node)):
                yield f"{where}: decides by itself: {ast.unparse(node)}"
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                worded = isinstance(value, ast.Dict | ast.Set | ast.Tuple)
                if (
                    isinstance(key, ast.Constant)
                    and key.value in MADE
                    and not worded
                    and not _passed_on(key.value, value)
                ):
                    yield f"{where}: makes {key.value!r} by itself: {ast.unparse(value)}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield from claimed(path, node.value, where)


def _passed_on(key: object, value: ast.expr) -> bool:
    """True if the value is what something else has under the same name."""
    return f"{key}" in re.findall(r"\w+", ast.unparse(value)) and not any(
        isinstance(each, ast.Call | ast.BinOp) for each in ast.walk(value)
    )


def claimed(path: Path, text: str, where: str) -> Iterator[str]:
    """Says where a text claims a correction that whoever corrected should word (`Correction`)."""
    allowed = any(f"{path.name}: " in one and one.partition(": ")[2] in text for one in WORDS_OF_ITS_OWN)
    if (found := CORRECTED.search(text)) and not allowed:
        yield f"{where}: claims {found.group()!r}, which only the code that corrects may say"


@pytest.mark.parametrize("path", DISPLAYS, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_display_infers(path: Path) -> None:
    assert not [*refused(path, path.read_text("utf-8"))]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_template_claims_what_it_has_not_done(path: Path) -> None:
    assert not [*claimed(path, path.read_text("utf-8"), path.name)]


@pytest.mark.parametrize(
    "planted",
    [
        "from edit_eval.statistics.intervals import wilson_interval",
        "from edit_eval.statistics.intervals import holm",
        "from edit_eval.statistics.families import ranks",
        "from scipy.stats import norm",
        "def f():\n    from scipy import special",
        "low = numpy.quantile(values, 0.025)",
        "if one.ci95[0] > 0: pass",
        "strong = pair['p'] <= 0.05",
        "surely = (one.p_adjusted or 1) <= ALPHA",
        "row = {'rank': 1 + sum(better)}",
        "row = {'ci95': [value - reach, value + reach]}",
        "Text('A rank is 1 + how many are better, corrected for all pairs.')",
        "Text('p adj.: Holm over {}', 3)",
    ],
)
def test_one_that_would_is_refused(planted: str) -> None:
    assert [*refused(Path("display.py"), planted)]


@pytest.mark.parametrize(
    "display",
    [
        "from edit_eval.statistics.intervals import FEW_RULE_OUT",
        "from edit_eval.statistics.families import Correction",
        "span = '' if failed.ci95 is None else bounds(failed.ci95)",
        "row = {'ci95': one.ci95, 'rank': one['rank']}",
        "Line(Correction.of(found['family']).words())",
    ],
)
def test_one_that_only_shows_is_not(display: str) -> None:
    assert not [*refused(Path("display.py"), display)]


def test_ranks_and_what_corrects_them_are_made_in_one_place() -> None:
    """The function that makes ranks is called for means and for strengths, and nobody else counts who is better."""
    calls = {
        path.name
        for path in STATISTICS
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "ranks"
    }
    assert calls == {"comparison.py", "preferences.py"}
    elsewhere = [path for path in SOURCE.rglob("*.py") if path not in STATISTICS]
    makes = re.compile(r"[\"\']rank[\"\']\s*:\s*(?!one|row|column|of)|\brank\s*=\s*1\s*\+")
    assert not [path for path in elsewhere if path.parent.name != "scenes" and makes.search(path.read_text("utf-8"))]
