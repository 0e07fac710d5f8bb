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


def _compared_alone(draw: Draw) -> bool:
    return bool(draw["arena"]) and not Expected(draw).reporting


KNOWN = (
    Known(
        "what a sample follows is made although a filter leaves it out, and counts",
        "salt=1 rows=5 turns=1 tags=0 categories=2 only=1",
        _not_asked_for,
        ".*",
    ),
    Known(
        "an edit that is kept is missing, or one more, instead of a reference to where it was made",
        "salt=5 rows=5 models=2 rounds=3 stop=5.5 arena=all drift=1",
        lambda draw: draw["rounds"] > 1,
        ".*",
    ),
    Known(
        "one model told different words is one model on a leaderboard",
        "salt=9 rows=6 models=2 rewrite=1 arena=all",
        lambda draw: draw["arena"] and draw["rewrite"],
        "leaderboard: (battles|strengths).*",
    ),
    Known(
        "the message on coverage leaves out judges that compare",
        "salt=3 rows=6 models=2 arena=all garbled=0.2 unparseable=0.25",
        lambda draw: bool(draw["arena"]),
        "run: message.*",
    ),
    Known(
        "with judges that compare alone there is no message, but a fault",
        "salt=4 rows=6 models=2 scorer=0 arena=all garbled=0.2",
        _compared_alone,
        "run: how it ends",
    ),
    Known(
        "a sample that was skipped has no battles",
        "salt=7 rows=6 broken=1 models=2 arena=all",
        lambda draw: draw["arena"] and draw["broken"],
        "battles.*|leaderboard: battles|status: battles|summary: (coverage|reached)|run: exit code",
    ),
)


def unknown(draw: Draw, found: Iterable[Disagreement]) -> list[Disagreement]:
    """The disagreements that no entry explains."""
    return [one for one in found if not any(entry.explains(draw, one) for entry in KNOWN)]
