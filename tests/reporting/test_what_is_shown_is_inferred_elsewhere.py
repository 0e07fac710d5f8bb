"""Displays show estimates, intervals and ranks; they make none. What decides is made by `edit_eval.statistics`.

Every interval, rank, verdict and p comes from there, with its clusters, its family and what it is corrected for. This
reads the source of all displays, and refuses one that would decide by itself:

* what is *written* as an interval or a rank (the functions of `WRITING`, columns with such a title, entries of `MADE`)
  has to be read from something under such a name: never a sum, a product, a call, a pair of numbers;
* nothing is *computed*: no error is added or multiplied, no root drawn, no quantile written, no statistics imported;
* nothing is *decided*: no mean, difference, strength, interval or p is compared with anything.

Of a plug-in that is one file, the parts below such a heading as `# -- words --` are displays, with what they import.
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
    path
    for room in ("reporting", "verbs", "trackers", "plugins/viewer", "plugins/trackers", "plugins/paper")
    for path in sorted((SOURCE / room).rglob("*.py"))
    if path.name != "command_line.py"  # an error there is a mistake
]
DISPLAYS += [SOURCE / name for name in ("run.py", "plugins/serve/live.py")]
PLUGINS = ("sheet.py", "chart.py", "card.py", "verb.py", "options.py", "words.py", "page.py", "trial.py")
DISPLAYS += sorted(path for name in PLUGINS for path in (SOURCE / "plugins").rglob(name))
HEADING = re.compile(r"^# -- (.+) --$", re.MULTILINE)
SHOWS = re.compile(r"words|chart|card")
"""How the heading of a part begins that is a display."""
PARTS = [
    path
    for path in sorted((SOURCE / "plugins").rglob("*.py"))
    if path not in DISPLAYS
    and "in_worker" not in path.parts
    and any(SHOWS.match(heading) for heading in HEADING.findall(path.read_text("utf-8")))
]
TEMPLATES = sorted(path for room in ("reporting", "plugins") for path in (SOURCE / room).rglob("*.j2"))
STATISTICS = sorted((SOURCE / "statistics").rglob("*.py"))

INFERENCE = "edit_eval.statistics.intervals"
MADE = {"rank", "ci95", "p_adjusted", "no_ci95"}
"""Keys of what only statistics make."""
DECIDING = re.compile(r"\bp_adjusted\b|\[.p.\]|\bpair\.p\b|\bALPHA\b|\bCONFIDENCE\b")
MEASURED = re.compile(
    r"\b(ends|interval|bounds)\[\d\]|"
    r"(\.|\[.)((\w+_)?(mean|ci95|difference|strength|spread|std|error|change|gain)|standard_error|elo|retest_sd)\b"
)
"""What decides nothing until a test has looked at it."""
UNCERTAIN = re.compile(r"\b(standard_error|error|std|sd|stdev|deviation|variance|spread|retest_sd|ci95\w*|\w+_ci95)$")
QUANTILES = {1.28, 1.64, 1.645, 1.96, 1.959964, 2.33, 2.576, 0.025, 0.975}
WRITING = {"span", "format_interval", "format_signed_span", "bounds", "ends", "rank"}
"""Functions that write an interval or a rank."""
TOLD = re.compile(r"ci95|rank|bound|worst_case|best_case|^ends$|^known$|interval|^its_?\w*$")
TITLES = {"Rank", "95% interval"}
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
    "sheet.py: Each other kind of pair has to be above one half",  # plugins/audit/findings.py: by their number
    "page.html.j2: Each other kind of pair has to be above one half",
}
MACHINES = "slow_devices.py"
"""Seconds of devices: no edit is judged by them."""
THEIRS = "reanalysis.py"
"""Others' own numbers, some of which are geometric means of two scores."""
DRAWS = {"pages.py", "voting.py", "device_times.py"}
"""They draw whom to ask what, or take medians of seconds, and say nothing of edits."""
ROUNDED = "formats.py"
"""A p is never rounded across the level: the one place where a display looks at both."""


def docstrings(tree: ast.AST) -> set[int]:
    return {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def last_name(node: ast.AST) -> str:
    """`ci95` of `row.found["ci95"]`, `pair.ci95` and `ci95`; empty for what is no name, attribute or entry."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=str(key))):
            return key
        case ast.Subscript(value=value):
            return last_name(value)
    return ""


def told(node: ast.AST) -> bool:
    """True if the value is what something else has under such a name, and nothing was done to it."""
    match node:
        case ast.Constant(value=None) | ast.Constant(value=""):
            return True
        case ast.IfExp(body=body, orelse=other):
            return told(body) and told(other)
        case ast.BoolOp(values=values):
            return all(map(told, values))
        case ast.List(elts=each) | ast.Tuple(elts=each):
            return all(map(told, each))
        case ast.Starred(value=value):
            return told(value)
        case ast.Call(func=function, args=[first, *_]) if last_name(function) == "flip_interval":
            return told(first)
        case ast.Name() | ast.Attribute() | ast.Subscript():
            parts = [last_name(each) for each in ast.walk(node) if last_name(each)]
            return any(TOLD.search(part) for part in parts)
    return False


def reads_only(node: ast.AST, functions: dict[str, ast.FunctionDef]) -> bool:
    """True if a column's reader computes nothing by itself."""
    if isinstance(node, ast.Name) and node.id in functions:
        node = functions[node.id]
    if not isinstance(node, ast.Lambda | ast.FunctionDef):
        return True
    made = {"sum", "len", "sorted", "enumerate", "min", "max", "round", "abs", "zip", "map"}
    return not any(
        (isinstance(each, ast.BinOp) and not isinstance(each.op, ast.Mod))
        or (isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id in made)
        or (isinstance(each, ast.Compare) and not all(isinstance(op, ast.Is | ast.IsNot | ast.In) for op in each.ops))
        for each in ast.walk(node)
    )


def written(node: ast.Call, functions: dict[str, ast.FunctionDef]) -> Iterator[str]:
    """Says what is written as an interval or a rank that was made on the spot."""
    name = last_name(node.func)
    if name in WRITING and len(node.args) and not told(node.args[0]):
        yield f"writes as an interval or a rank what it made by itself: {ast.unparse(node)}"
    if name == "Column" and len(node.args) > 1:
        title = node.args[0].args[0] if isinstance(node.args[0], ast.Call) and node.args[0].args else None
        named = isinstance(title, ast.Constant) and title.value in TITLES
        if (named or last_name(node.args[0]) == "_INTERVAL") and not reads_only(node.args[1], functions):
            yield f"makes what its column shows: {ast.unparse(node)[:80]}"
    for keyword in node.keywords:
        if keyword.arg in MADE and name != "dict" and not told(keyword.value):
            yield f"makes {keyword.arg!r} by itself: {ast.unparse(keyword.value)}"
    if ast.unparse(node.func) in {"math.sqrt", "math.hypot", "math.erf", "math.erfc"}:
        yield f"computes {ast.unparse(node)}"


def computed(node: ast.AST) -> Iterator[str]:
    """Says what is computed of what is uncertain."""
    if isinstance(node, ast.BinOp):
        percent = isinstance(node.op, ast.Mult) and isinstance(node.left, ast.Constant) and node.left.value == 100
        if not percent and any(UNCERTAIN.search(last_name(each)) for each in ast.walk(node)):
            yield f"computes with what is uncertain: {ast.unparse(node)}"
        if isinstance(node.op, ast.Pow) and isinstance(node.right, ast.Constant) and node.right.value == 0.5:
            yield f"draws a root: {ast.unparse(node)}"
    loop = node.target if isinstance(node, ast.For | ast.comprehension) else None
    if loop and any(last_name(each) == "rank" for each in ast.walk(loop)):
        yield f"counts ranks: {ast.unparse(loop)}"
    if (
        isinstance(node, ast.Assign)
        and any(last_name(target) == "rank" for target in node.targets)
        and not told(node.value)
    ):
        yield f"makes a rank: {ast.unparse(node)}"
    if isinstance(node, ast.Constant) and isinstance(node.value, float) and node.value in QUANTILES:
        yield f"has a level or a quantile of its own: {node.value}"


def refused(path: Path, text: str) -> Iterator[str]:
    """Says what a display does that it should not."""
    tree = ast.parse(text)
    prose = docstrings(tree)
    functions = {each.name: each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}
    for node in ast.walk(tree):
        where = f"{path.name}:{getattr(node, 'lineno', 0)}"
        if path.name not in (MACHINES, ROUNDED):
            yield from (f"{where}: {what}" for what in computed(node))
            if isinstance(node, ast.Call) and path.name != THEIRS:
                yield from (f"{where}: {what}" for what in written(node, functions))
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            names = [alias.name for alias in node.names]
            if any(name.partition(".")[0] == "scipy" for name in (module, *names)):
                yield f"{where}: computes with scipy"
            if path.name not in DRAWS and {"statistics", "numpy", "random"} & {module, *names}:
                yield f"{where}: computes: {names}"
            if module == INFERENCE and (made := [name for name in names if not name.isupper()]):
                yield f"{where}: makes intervals or p-values by itself: {made}"
            if module == "edit_eval.statistics.families" and set(names) - {"Correction"}:
                yield f"{where}: makes a family or ranks by itself"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in COMPUTING:
            yield f"{where}: computes {ast.unparse(node.func)}"
        elif isinstance(node, ast.Compare) and path.name not in (ROUNDED, MACHINES):
            only_asks = all(isinstance(each, ast.Is | ast.IsNot | ast.In | ast.NotIn) for each in node.ops)
            ordered = any(isinstance(each, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for each in node.ops)
            words = ast.unparse(node)
            if (not only_asks and DECIDING.search(words)) or (ordered and MEASURED.search(words)):
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
    allowed = any(
        f"{path.name}: " in exemption and exemption.partition(": ")[2] in text for exemption in WORDS_OF_ITS_OWN
    )
    if (match := CORRECTED.search(text)) and not allowed:
        yield f"{where}: claims {match.group()!r}, which only the code that corrects may say"


def shown_part(text: str) -> str:
    """Returns a file's parts that are displays, and the imports of what they name; other lines are empty."""
    shows, shown = False, set()
    for number, line in enumerate(text.split("\n"), 1):
        if heading := HEADING.match(line):
            shows = bool(SHOWS.match(heading[1]))
        elif shows:
            shown.add(number)
    tree = ast.parse(text)
    named = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name) and each.lineno in shown}
    kept = [line if number in shown else "" for number, line in enumerate(text.split("\n"), 1)]
    for each in tree.body:
        if isinstance(each, ast.Import | ast.ImportFrom):
            each.names = [alias for alias in each.names if (alias.asname or alias.name) in named]
            if each.names:
                kept[each.lineno - 1] = ast.unparse(each)
    return "\n".join(kept)


@pytest.mark.parametrize("path", DISPLAYS, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_display_infers(path: Path) -> None:
    assert not [*refused(path, path.read_text("utf-8"))]


@pytest.mark.parametrize("path", PARTS, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_part_that_is_a_display_infers(path: Path) -> None:
    assert not [*refused(path, shown_part(path.read_text("utf-8")))]


def test_a_part_is_read_with_what_it_imports() -> None:
    text = "import numpy as np\nfrom a import b\n# -- sums --\nx = np.var\n# -- words --\ny = b\n"
    assert shown_part(text).split("\n") == ["", "from a import b", "", "", "", "y = b", ""]
    assert [*refused(Path("analysis.py"), shown_part(text.replace("y = b", "y = np")))]
    assert len(PARTS) > 5


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
        "low = row.mean - 1.96 * row.std / math.sqrt(row.n)",
        "Column(Text('95% interval'), lambda row: f'{row.low - row.reach:.2f}–{row.low + row.reach:.2f}')",
        "words = f'{value - 2 * row.standard_error:.2f}'",
        "formats.format_interval((mean - reach, mean + reach), 2)",
        "formats.span([low, high])",
        "format_signed_span(interval_of(values))",
        "Column(Text('Rank'), lambda row: 1 + sum(other.worth > row.worth for other in rows))",
        "def place(row):\n    return str(sorted(rows).index(row) + 1)\nColumn(Text('Rank'), place)",
        "for rank, row in enumerate(sorted(rows), 1): pass",
        "Row(name, rank=place + 1)",
        "formats.rank(place + 1)",
        "from statistics import stdev",
        "import numpy as np",
        "from edit_eval.statistics.intervals import Estimate",
        "best = a if a.mean > b.mean else b",
        "ahead = found['difference'] > 0.5",
        "drifted = abs(drift.mean) > 2 * drift.spread",
        "low, high = sorted(means)[25], sorted(means)[974]\nText('[{}, {}]', formats.format_interval((low, high)))",
        "if ends is not None and (ends[0] > 0 or ends[1] < 0): pass",
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
        "Column(Text('95% interval'), lambda row: format_signed_span(row.found.ci95, row.digits))",
        "Column(Text('Rank'), lambda row: formats.rank(row.column.rank))",
        "formats.format_interval(formats.flip_interval(pair.ci95, sign), digits)",
        "shown = '' if found['ci95'] is None else signed(found['difference'])",
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
    assert calls == {"comparison.py", "fitted_strengths.py"}
    elsewhere = [path for path in SOURCE.rglob("*.py") if path not in STATISTICS]
    makes = re.compile(r"[\"\']rank[\"\']\s*:\s*(?!one|row|column|of)|\brank\s*=\s*1\s*\+")
    assert not [path for path in elsewhere if "scenes" not in path.parts and makes.search(path.read_text("utf-8"))]
