"""How many controls a run asks about, and how many can show anything."""

from __future__ import annotations

import math

from edit_eval.statistics.levels import ALPHA

FEWEST_WITH_CONTROLS = 8
"""As many source images as may show something of a judge that is good, and not perfect."""
CHEAP = 3
"""`controls: auto` asks at most a third of the questions about edits, and about no more than `MOST` images of each
kind: so many show a judge that puts edits four points of ten above controls in 99 of 100 runs (`bench/notes.md`)."""
MOST = 12


def fewest(edit_models: int) -> int:
    """Returns the least number of source images that can show a kind of control below edits, at .05."""
    return math.ceil(math.log2(max(1, edit_models) / ALPHA) - 1e-9)


def count_cheap_controls(images: int, edits: int, kinds: int) -> int:
    """Returns about how many source images `controls: auto` asks of each kind of control.

    `images` are those that could have controls, `edits` how many judgements of edits a judge gives.
    """
    return min(images, MOST, edits // (CHEAP * max(1, kinds)))
