"""What the product still says otherwise than the oracle: which draws, which readers, and why. To be emptied."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from combinations.drawing import Draw, read
from combinations.reading import Disagreement


class Known(NamedTuple):
    """A disagreement that is known."""

    reason: str
    words: str
    """A small draw that shows it, as `drawing.told` writes one."""
    concerns: Callable[[Draw], object]
    kinds: str
    """A pattern of the kinds of disagreements."""

    def explains(self, draw: Draw, disagreement: Disagreement) -> bool:
        return bool(self.concerns(draw)) and re.fullmatch(self.kinds, disagreement.kind) is not None

    @property
    def draw(self) -> Draw:
        return read(self.words.split())


KNOWN: tuple[Known, ...] = ()


def unknown(draw: Draw, disagreements: Iterable[Disagreement]) -> list[Disagreement]:
    """The disagreements that no entry explains."""
    return [
        disagreement for disagreement in disagreements if not any(entry.explains(draw, disagreement) for entry in KNOWN)
    ]
