"""What judges have answered, by the key of the question: one mapping with one writer, the only notion of what is asked.

A reply's place under its key is its `ask`: what stood there or behind it no longer counts. So the order of a journal
decides, and whoever asks once more from the beginning (`--retry`) begins with none. Replies are never moved or copied:
each cell that has the key has them, and its own judge's protocol says what they amount to. They cost its first cell.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Hashable, Sequence

from edit_eval.records import Reply

Lookup = str | tuple[str, Hashable]
"""A key; in a run in which each cell was asked for itself (`recall`), the key and the cell's address."""


class Answers:
    """The replies under each key, and the cells that are known to have it."""

    def __init__(self) -> None:
        self._replies: dict[Lookup, list[Reply]] = {}
        self._first: dict[Lookup, int] = {}
        self._others: dict[Lookup, list[int]] = {}  # equal keys are rare
        self.free: set[int] = set()
        """Cells whose replies are another one's cost."""

    def lookup(self, key: str, cell: int) -> Lookup:
        """Returns where a cell finds its replies."""
        return key

    def replies_of(self, lookup: Lookup) -> Sequence[Reply]:
        """Returns the replies so far."""
        return self._replies.get(lookup, ())

    def record_reply(self, lookup: Lookup, ask: int, reply: Reply) -> None:
        """Takes in a reply; `ask` says how often the question was asked before."""
        self._replies.setdefault(lookup, [])[ask:] = [reply]

    def forget(self, lookup: Lookup) -> None:
        """Forgets the replies, so that the question is asked as if it never was."""
        self._replies.pop(lookup, None)

    # -- cells --

    def cells(self, lookup: Lookup) -> list[int]:
        """Returns the cells known to have it, in order."""
        first = self._first.get(lookup)
        return [] if first is None else [first, *self._others.get(lookup, ())]

    def add(self, lookup: Lookup, cell: int) -> list[int]:
        """Adds a cell; returns those whose costs have changed."""
        first = self._first.setdefault(lookup, cell)
        if first == cell:
            return []
        self._first[lookup] = min(first, cell)
        insort(self._others.setdefault(lookup, []), max(first, cell))
        self.free.add(max(first, cell))
        return [first] if cell < first else []

    def remove(self, lookup: Lookup, cell: int) -> list[int]:
        """Removes a cell; returns those whose costs have changed."""
        others = self._others.get(lookup)
        if self._first[lookup] != cell:
            self._others[lookup].remove(cell)
            self.free.discard(cell)
        elif others:
            self._first[lookup] = others.pop(0)
            self.free.discard(self._first[lookup])
            return [self._first[lookup]]
        else:
            del self._first[lookup]
        return []
