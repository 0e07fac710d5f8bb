"""Progress in a notebook: one output that is drawn again and again, and keeps what is worth keeping.

Rich's own display in a notebook needs ipywidgets; this one needs IPython alone, which every kernel has.
"""

from __future__ import annotations

import io
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rich.console import ConsoleRenderable, Group

from edit_eval.reporting.progress.rich_lines import LABEL, TAG, bars_of, rendered, tagged
from edit_eval.reporting.progress.view import BenchmarkProgress, Judged, Line, Said, Snapshot
from edit_eval.reporting.progress.words import ending, reading_words
from edit_eval.reporting.styled import Spoken, Styled
from edit_eval.text import Text

WIDTH = 100
"""Columns."""
KEPT = 200
"""Of what happens so many lines stay, but for scores."""
LATEST = 5
"""So many scores stand above the bars while the run is at work."""
HTML = '<pre style="white-space: pre; overflow-x: auto; line-height: 1.25">{code}</pre>'


def in_notebook() -> bool:
    """Whether this process is a notebook's kernel. A terminal's IPython is none."""
    ipython = sys.modules.get("IPython")  # where nobody has imported it there is no kernel
    shell = getattr(ipython, "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


class NotebookProgress:
    """Draws into the output of the cell that is at work."""

    interval = 0.5

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._output: Any = None
        self._kept: deque[Line] = deque(maxlen=KEPT)
        self._latest: deque[Line] = deque(maxlen=LATEST)
        self._drawn: tuple[object, ...] = ()
        self._next_reading = 0.0

    def reading(self, so_far: BenchmarkProgress, now: float) -> None:
        """Shows how far a benchmark is read."""
        if now >= self._next_reading:
            self._next_reading = now + self.interval
            self._put(Styled(Text("reading the benchmark: {}", reading_words(so_far))))

    def has_read(self) -> None:
        """Takes that away."""
        if self._output is not None:
            self._put()

    def write(self, lines: Sequence[Line]) -> None:
        """Shows lines."""
        self._take(lines)
        self._put()

    def draw(self, lines: Sequence[Line], snapshot: Snapshot) -> None:
        """Shows lines and bars, if anything has changed."""
        drawn = (snapshot.devices, snapshot.edits, snapshot.judgements, snapshot.controls, int(self._clock()))
        if lines or drawn != self._drawn:
            self._drawn = drawn
            self._take(lines)
            self._put(bars_of(snapshot, WIDTH))

    def close(self, lines: Sequence[Line], snapshot: Snapshot) -> None:
        """Takes bars and scores away; the rest stays, and how it ended."""
        self._take(lines)
        self._latest.clear()
        self._put(tagged(Text("end"), "bold", Styled(ending(snapshot))))
        self._output = None  # another run has an output of its own
        self._kept.clear()

    def _take(self, lines: Iterable[Line]) -> None:
        for line in lines:
            (self._latest if isinstance(line, Judged) else self._kept).append(line)

    def _put(self, *below: ConsoleRenderable) -> None:
        from IPython.display import display

        every = [*self._kept, *self._latest]
        label = max((len(line.about) for line in every if isinstance(line, Judged | Said)), default=0)
        label = min(label, int(LABEL * (WIDTH - TAG)))
        shown = in_both_forms(Group(*(rendered(line, label) for line in every), *below))
        if self._output is None:
            self._output = display(shown, raw=True, display_id=True)
        else:
            self._output.update(shown, raw=True)


def in_both_forms(what: ConsoleRenderable) -> dict[str, str]:
    """As HTML, in which nothing that a text says is an element, and as plain text."""
    console = Spoken(
        file=io.StringIO(),
        width=WIDTH,
        record=True,
        force_terminal=True,
        force_jupyter=False,
        color_system="truecolor",
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
        _environ={},
    )
    console.print(what)
    text = console.export_text(clear=False)
    return {"text/html": console.export_html(inline_styles=True, code_format=HTML), "text/plain": text}
