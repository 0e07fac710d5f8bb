"""A number must not depend on the interpreter: since Python 3.12 the built-in `sum` makes up for what floats lose.

Ours are added by `math.fsum`, authors' by `add_in_order`; `sum` is for what is counted.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edit_eval.protocols.certificates import add_in_order
from source_trees import list_nodes

SOURCES = Path(__file__).parents[1] / "src" / "edit_eval"
ROOMS = ("protocols", "rubrics", "statistics", "plugins")
APART = ("preparation", "page", "progress")
"""Plug-ins that make no number of a result: they add seconds and bytes of a plan, and heights of drawings."""
COUNTING = ("len", "bool", "int", "isinstance", "comb")
COUNTS = (
    "batch_interfaces: (number for number in _of(of.get('request_counts')).values() if isinstance(number, int))",
    "batches: (batch.size for batch in self._gathered.values())",
    "distances: heights",
    "distances: heights[:number]",
    "same_editor: (pair.both and pair.reference.pixels == pair.candidate.pixels for pair in pairs)",
    "sheet: (counts.get(status.value, 0) for status in statuses)",
    "sheet: (failure.count for failure in document.failures if failure.set_aside and bool(failure.judge) is of_judges)",
    "sending: (path.stat().st_size for path in folder.iterdir())",
    "chat_interfaces: (value for value in values if type(value) is int and value > 0)",
    "writing: (os.path.isfile(Path(folder, source)) for source in self.sources)",
    "attributes: (3 if '㐀' <= letter <= '鿿' else 1 for letter in instruction)",
    "battles: outcomes.values()",
    "results: mark['weights'].values()",
    "results: parts",
    "editor: areas.values()",
    "editor: self._box(thing)[::2]",
    "gateway: (node['Resources'].get('GPU', 0) for node in nodes)",
    "gateway: (peer.gpus for peer in list(self._peers.values()))",
    "judge: (part.width * part.height for part in masks)",
    "judge: map(mul, x, x)",
    "judge: map(mul, x, y)",
    "judge: map(mul, y, y)",
    "judge: x",
    "judge: y",
    "ledger: (path.stat().st_size for path in folder.rglob('*') if path.is_file())",
    "ledger: sizes.values()",
    "live: (every[status.value] for status in JUDGE_FAILED)",
    "opening: os.times()[:2]",
    "overlapping: (values[:, image] @ weights[image] - mean * weights[image].sum(0) "
    "for mean, weights in zip(means, self._weights, strict=True))",
    "picabench: right",
    "pictures: table",
    "preferences: (of[choice] for choice in SHARES)",
    "preferences: same",
    "rank_agreement: ((values[:, [column]] < values).astype(np.float64) for column in columns)",
    "rank_agreement: ((values[:, [column]] == values).astype(np.float64) for column in columns)",
    "rehearsed: (torch.cuda.max_memory_reserved(card) for card in cards)",
    "rehearsed: (torch.cuda.memory_allocated(card) for card in cards)",
    "runs: of",
    "pictures: (os.path.isfile(Path(folder, source)) for source in self.sources)",
    "sending: self.files.values()",
    "stand_ins: stand_in['parts'].values()",
    "service: (replica.capacity for replica in loaded)",
    "stand_in: (count for held in files for _, _, count in held.values())",
    "structeditbench: right",
    "summary: counts",
    "summary: map(_has_retry, judgements)",
    "holdings: (item.bytes for item in items)",
    "holdings: (item.bytes for item in self.items if item.goes)",
    "holdings: (item.bytes for item in self.items)",
    "holdings: map(_remove, files)",
    "timing: (utilisation.samples for utilisation in some)",
    "timing: some",
    "verb: (count for _, _, count, _, goes, _ in rows if goes)",
    "verb: files.values()",
    "verdict: (pair.n_decided for pair, _ in its)",
    "verdict: (pair.first if ours else pair.second for pair, ours in its)",
    "verdict: (pair.second if ours else pair.first for pair, ours in its)",
    "verdict: failed.values()",
    "watch: now.pays",
    "worth: (judgement.n_asked for judgement in asked)",
    "worth: (judgement.tokens[place] for judgement in asked)",
)
"""What is whole, or an array, though how it is written does not show it: by files."""


def sums(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """What each built-in `sum` adds up, where that may be floats."""
    for node in nodes:
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "sum" and not is_whole(node.args[0]):
            yield ast.unparse(node.args[0])


def is_whole(added: ast.expr) -> bool:
    if isinstance(added, ast.GeneratorExp | ast.ListComp):
        return is_count(added.elt)
    return ast.unparse(added).startswith("map(len, ")


def is_count(one: ast.expr) -> bool:
    match one:
        case ast.BinOp(left=left, op=op, right=right):
            return not isinstance(op, ast.Div) and is_count(left) and is_count(right)
        case ast.BoolOp(values=values):
            return all(map(is_count, values))
        case ast.Constant(value=int()) | ast.UnaryOp(op=ast.Not()) | ast.Compare():
            return True
        case ast.Call(func=function):
            return ast.unparse(function).rpartition(".")[2] in (*COUNTING, "startswith", "endswith", "count")
    return False


def test_no_floats_are_added_by_the_built_in_sum() -> None:
    every = [file for room in ROOMS for file in (SOURCES / room).rglob("*.py")]
    files = [file for file in every if file.relative_to(SOURCES).parts[1] not in APART]
    assert len(files) > 100
    adding = [file for file in files if "sum(" in file.read_text("utf-8")]
    found = {f"{file.stem}: {added}" for file in adding for added in sums(list_nodes(file))}
    assert found - {*COUNTS} == set()


@pytest.mark.parametrize(
    "bad",
    [
        "sum(numbers) / 3",
        "sum(w * x for w, x in pairs)",
        "sum(1 / n for n in counts)",
        "sum(row.score for row in rows)",
    ],
)
def test_it_sees_them(bad: str) -> None:
    assert [*sums(ast.walk(ast.parse(bad)))]
    assert not [*sums(ast.walk(ast.parse(f"sum(len(x) for x in y) + sum(x > 1 for x in y) + math.f{bad}")))]


@given(st.lists(st.floats(-1e6, 1e6), max_size=30))
def test_in_order_each_step_is_rounded(numbers: list[float]) -> None:
    total = Fraction(0)
    for number in numbers:
        total = Fraction(float(total + Fraction(number)))
    assert add_in_order(numbers) == float(total)


def test_a_mean_that_falls_to_the_other_side() -> None:
    numbers = [0.1] * 10
    assert (add_in_order(numbers), math.fsum(numbers)) == (0.9999999999999999, 1.0)
