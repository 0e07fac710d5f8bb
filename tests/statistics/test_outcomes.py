"""What came of a pair, decided once: terminal and sentence only word it."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from edit_eval.reporting.comparison import print_comparison
from edit_eval.statistics.comparison import compare
from edit_eval.statistics.outcomes import Outcome
from small_columns import column, drawn, failing

A = column("a", drawn(2))
ALIKE = column("b", [score + 0.01 * (n % 3 - 1) for n, score in enumerate(drawn(2))])
CASES = {
    "better": (column("b", drawn(3, 2.0)), {}, Outcome("better", "b", holds=True), "B better", "b is better than a"),
    "fails more": (
        failing(column("b", drawn(3)), range(20)),
        {},
        Outcome("fails_more", "a", failures="tie"),
        "B fails more",
        "a is better than b, with fewer failed edits",
    ),
    "trade": (
        failing(column("b", drawn(3, 2.0)), range(20)),
        {},
        Outcome("trade", failures="trade"),
        "trade",
        "are a trade",
    ),
    "tie": (column("b", drawn(3)), {}, Outcome("cannot_be_told"), "tie", "No winner"),
    "equal": (
        ALIKE,
        {"margin": 0.5},
        Outcome("equal", holds=True, margin=0.5),
        "equal ±0.5",
        "are equal within the margin",
    ),
    "not within so small a margin": (ALIKE, {"margin": 0.001}, Outcome("cannot_be_told"), "tie", "No winner"),
    "identical": (
        column("b", drawn(2)),
        {"margin": 0.5},
        Outcome("cannot_be_told", why="identical"),
        "same on 90",
        "have the same scores",
    ),
    "few images": (
        column("b", [1, 2, 1]),
        {"margin": 9.0},
        Outcome("cannot_be_told", why="few_images"),
        "too few: 3",
        "No winner",
    ),
    "few images with the same difference": (
        column("b", [score - 1 for score in drawn(2)[:3]]),
        {},
        Outcome("cannot_be_told", why="few_images"),
        "too few: 3",
        "No winner",
    ),
    "nothing in common": (
        column("b", [None] * 90),
        {},
        Outcome("not_comparable"),
        "no test",
        "have no scored sample in common",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_outcome_and_its_words(name):
    other, how, expected, word, sentence = CASES[name]
    comparison = compare([failing(A, []) if other.failed else A, other], **how)
    assert comparison.pairs[0].outcome == expected
    file = io.StringIO()
    print_comparison(comparison, Console(file=file, width=500, color_system=None))
    row = next(line for line in file.getvalue().splitlines() if line.startswith("A - B"))
    assert row.rstrip().endswith(f" {word}")
    assert sentence in file.getvalue()


def test_equality_is_as_strict_as_the_gate_and_says_whether_missing_scores_could_undo_it():
    """Two one-sided tests; few images cannot show that none lose everything."""
    holes = column("b", [None if n == 0 else score for n, score in enumerate(ALIKE.scores.values())])
    (pair,) = compare([A, holes], margin=0.5).pairs
    assert (pair.outcome.kind, pair.outcome.holds) == ("equal", True)
    many = column("b", [None if n < 30 else score for n, score in enumerate(ALIKE.scores.values())])
    (pair,) = compare([A, many], margin=0.6).pairs
    assert (pair.outcome.kind, pair.outcome.holds) == ("equal", False)
    few = [column(one.name, list(one.scores.values())[:10]) for one in (A, ALIKE)]
    (pair,) = compare(few, margin=0.5).pairs
    assert pair.ci95 is not None
    assert max(map(abs, pair.ci95)) < 0.5
    assert pair.outcome.kind == "cannot_be_told", "ten images rule out no kind of image below a quarter of all"
