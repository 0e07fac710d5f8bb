"""What the product still says otherwise than the oracle: which draws, which readers, and why. To be emptied."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from combinations.drawing import Draw, read
from combinations.oracle import Expected
from combinations.reading import Disagreement


class Known(NamedTuple):
    """A disagreement that is known."""

    reason: str
    words: str
    """A small draw that shows it, as `drawing.told` writes one."""
    concerns: Callable[[Draw], object]
    kinds: str
    """A pattern of the kinds of disagreements."""

    def explains(self, draw: Draw, one: Disagreement) -> bool:
        return bool(self.concerns(draw)) and re.fullmatch(self.kinds, one.kind) is not None

    @property
    def draw(self) -> Draw:
        return read(self.words.split())


def _not_asked_for(draw: Draw) -> bool:
    want = Expected(draw)
    return want.made != want.samples


KNOWN: tuple[Known, ...] = (
    Known(
        "what a sample follows is made although a filter leaves it out, and counts",
        "salt=1 rows=5 turns=1 tags=0 categories=2 only=1",
        _not_asked_for,
        ".*",
    ),
    Known(
        "a critic is asked for every repeat, of which one is told",
        "salt=5 rows=5 rounds=2 repeats=2 edit_seeds=2",
        lambda draw: draw["rounds"] > 1 and draw["repeats"] > 1,
        "asked: answers|rounds: best .*|best-of: mean|summary: .*",
    ),
)


def unknown(draw: Draw, found: Iterable[Disagreement]) -> list[Disagreement]:
    """The disagreements that no entry explains."""
    return [one for one in found if not any(entry.explains(draw, one) for entry in KNOWN)]
