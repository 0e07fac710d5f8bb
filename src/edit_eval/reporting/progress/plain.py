"""Progress without a terminal: few plain lines, as a log file or a cluster's output wants them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

from edit_eval.reporting.language import worded
from edit_eval.reporting.progress.view import Assignment, BenchmarkProgress, CategoryDone, Judged, Line, Said, Snapshot
from edit_eval.reporting.progress.words import (
    category_sentence,
    ending,
    how_far,
    plan_sentence,
    reading_words,
    steps_of,
    words_of,
)
from edit_eval.reporting.terminal_text import one_line
from edit_eval.text import Text, joined

CLOSEST = 15.0
"""Seconds between two lines of progress, at least."""
FURTHEST = 300.0
"""Seconds between two lines of progress, at most."""


class PlainProgress:
    """Writes lines to `stream`: what happens, and now and then how far it is; each score only with `scores`.

    The lines of progress come at each tenth of the whole, and in between after 15 s, 30 s, 1 min and so on, at last
    every 5 min; never two within 15 s.
    """

    interval = 0.5

    def __init__(
        self,
        stream: TextIO,
        time_of_day: Callable[[], str] = lambda: time.strftime("%H:%M:%S"),
        *,
        scores: bool = False,
    ) -> None:
        self._stream, self._time_of_day, self._scores = stream, time_of_day, scores
        self._last: float | None = None
        self._settled = -1
        self._next_reading, self._reading_pause = 0.0, 5.0
        self._pause = CLOSEST
        self._tenth = 0

    def reading(self, so_far: BenchmarkProgress, now: float) -> None:
        """Writes a line at once, and again after 5 s, 10 s, 20 s and so on, at last every minute."""
        if now >= self._next_reading:
            self._next_reading = now + self._reading_pause
            self._reading_pause = min(2 * self._reading_pause, 60.0)
            percent = f" ({int(100 * so_far.fraction)} %)" if so_far.size else ""
            self._put(Text("reading the benchmark: {}{}", reading_words(so_far), percent))

    def has_read(self) -> None:
        """Nothing has to be taken away."""

    def write(self, lines: Sequence[Line]) -> None:
        """Writes lines."""
        for line in lines:
            self._put(*sentences(line, scores=self._scores))

    def draw(self, lines: Sequence[Line], snapshot: Snapshot) -> None:
        """Writes lines, and how far it is when it is time for that."""
        self.write(lines)
        if self._last is None:
            self._last, self._tenth = snapshot.seconds, int(10 * snapshot.fraction)
            return
        since, tenth = snapshot.seconds - self._last, int(10 * snapshot.fraction)
        if since >= self._pause or (tenth > self._tenth and since >= CLOSEST):
            if since >= self._pause:
                self._pause = min(2 * self._pause, FURTHEST)
            self._last, self._tenth = snapshot.seconds, tenth
            settled = snapshot.edits.settled + snapshot.judgements.settled + snapshot.controls.settled
            steps = steps_of(snapshot) if settled == self._settled else ""  # something takes long: within it, then
            self._settled = settled
            self._put(Text("{}{}", how_far(snapshot), steps))

    def close(self, lines: Sequence[Line], snapshot: Snapshot) -> None:
        """Writes the last lines and the end."""
        self.write(lines)
        self._put(Text("end: {}", ending(snapshot)))

    def _put(self, *lines: str) -> None:
        for line in lines:
            self._stream.write(f"{self._time_of_day()} {one_line(line)}\n")
        self._stream.flush()


def sentences(line: Line, *, scores: bool = False) -> Iterator[str]:
    """A line of the progress in words; a single score only with `scores`."""
    match line:
        case Assignment():
            if line.rows:
                yield Text("schedule: {}, {}", line.schedule, line.explanation)
            yield from map(plan_sentence, line.rows)
        case CategoryDone():
            yield Text("category {}: {}", line.label, category_sentence(line))
        case Said():
            yield joined(filter(None, (line.tag and worded(line.tag), line.about, line.words)), ": ")
        case Judged(judgement=one) if scores:
            yield joined(filter(None, (Text("score"), line.about, f"{one.score:.3f}", words_of(one))), ": ")
