"""What judges have answered, by the key of the question: one mapping with one writer, the only notion of what is asked.

A reply's place under its key is its `ask`: what stood there or behind it no longer counts. So the order of a journal
decides, and whoever asks once more from the beginning (`--retry`) begins with none. Replies are never moved or copied:
each cell that has the key has them, and its own judge's protocol says what they amount to. They cost its first cell.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Hashable, Sequence

from edit_eval.records import Reply

Place = str | tuple[str, Hashable]
"""A key; in a run whose cells do not share, the key and what is a cell's own."""


class Answers:
    """The replies under each key, and the cells that are known to have it."""

    def __init__(self, own: Callable[[int], Hashable] | None = None) -> None:
        """`own` says of a cell what keeps it apart from others with its key. None: nothing does."""
        self.own = own
        self._replies: dict[Place, list[Reply]] = {}
        self._first: dict[Place, int] = {}
        self._others: dict[Place, list[int]] = {}  # equal keys are rare
        self.free: set[int] = set()
        """Cells whose replies are another one's cost."""

    def place(self, key: str, cell: int) -> Place:
        """Returns where a cell finds its replies."""
        return key if self.own is None else (key, self.own(cell))

    def of(self, place: Place) -> Sequence[Reply]:
        """Returns the replies so far."""
        return self._replies.get(place, ())

    def put(self, place: Place, ask: int, reply: Reply) -> None:
        """Takes in a reply; `ask` says how often the question was asked before."""
        self._replies.setdefault(place, [])[ask:] = [reply]

    def forget(self, place: Place) -> None:
        """Forgets the replies, so that the question is asked as if it never was."""
        self._replies.pop(place, None)

    # -- cells --

    def cells(self, place: Place) -> list[int]:
        """Returns the cells known to have it, in order."""
        first = self._first.get(place)
        return [] if first is None else [first, *self._others.get(place, ())]

    def add(self, place: Place, cell: int) -> list[int]:
        """Adds a cell; returns those whose costs have changed."""
        first = self._first.setdefault(place, cell)
        if first == cell:
            return []
        self._first[place] = min(first, cell)
        insort(self._others.setdefault(place, []), max(first, cell))
        self.free.add(max(first, cell))
        return [first] if cell < first else []

    def remove(self, place: Place, cell: int) -> list[int]:
        """Removes a cell; returns those whose costs have changed."""
        others = self._others.get(place)
        if self._first[place] != cell:
            self._others[place].remove(cell)
            self.free.discard(cell)
        elif others:
            self._first[place] = others.pop(0)
            self.free.discard(self._first[place])
            return [self._first[place]]
        else:
            del self._first[place]
        return []
