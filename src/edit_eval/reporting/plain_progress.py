"""Progress without a terminal: few plain lines, as a log file or a cluster's output wants them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

from edit_eval.records import Status
from edit_eval.reporting.formats import duration, score
from edit_eval.reporting.progress_view import (
    CategoryDone,
    Died,
    EditFailed,
    Judged,
    Line,
    Loaded,
    Note,
    Plan,
    PlanRow,
    Skipped,
    Snapshot,
)
from edit_eval.reporting.terminal_text import one_line

CLOSEST = 15.0
"""Seconds between two lines of progress, at least."""
FURTHEST = 300.0
"""Seconds between two lines of progress, at most."""
DEVICES_NAMED = 8
"""Devices of a row that are named one by one."""


class PlainProgress:
    """Writes lines to `stream`: what happens, without the single scores, and now and then how far it is.

    The lines of progress come at each tenth of the whole, and in between after 15 s, 30 s, 1 min and so on, at last
    every 5 min; never two within 15 s.
    """

    interval = 0.5

    def __init__(self, stream: TextIO, time_of_day: Callable[[], str] = lambda: time.strftime("%H:%M:%S")) -> None:
        self._stream, self._time_of_day = stream, time_of_day
        self._last: float | None = None
        self._pause = CLOSEST
        self._tenth = 0

    def write(self, lines: Sequence[Line]) -> None:
        """Writes lines."""
        for line in lines:
            self._put(*sentences(line))

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
            self._put(how_far(snapshot))

    def close(self, lines: Sequence[Line], snapshot: Snapshot) -> None:
        """Writes the last lines and the end."""
        self.write(lines)
        self._put(ending(snapshot))

    def _put(self, *lines: str) -> None:
        for line in lines:
            self._stream.write(f"{self._time_of_day()} {one_line(line)}\n")
        self._stream.flush()


def sentences(line: Line) -> Iterator[str]:
    """A line of the progress in words; nothing for a single score."""
    match line:
        case Plan():
            if line.rows:
                yield f"schedule: {line.schedule}, {line.explanation}"
            for row in line.rows:
                yield plan_sentence(row)
        case Loaded():
            yield f"loaded: {loaded_sentence(line)}"
        case Died():
            yield f"died: {died_sentence(line)}"
        case EditFailed():
            yield f"failed: {line.label}: no edit: {line.edit.reason}"
        case Judged(judgement=judgement) if judgement.status is not Status.OK:
            yield f"failed: {line.label}: {unscored_sentence(line)}"
        case CategoryDone():
            yield f"category {line.label}: {category_sentence(line)}"
        case Note():
            yield f"note: {line.text}"
        case Skipped():
            yield f"({line.count} lines were left out)"


def plan_sentence(row: PlanRow) -> str:
    """`edits by qwen_image_edit on cuda:0: 45, first 0, 6, 12, 18, 24, …`."""
    what = "edits" if row.kind == "edit" else "scores"
    first = f", first {first_samples(row)}" if row.first else ""
    return f"{what} by {row.model} on {devices(row.devices)}: {row.units}{first}"


def first_samples(row: PlanRow) -> str:
    """`0, 6, 12, 18, 24, …`"""
    return ", ".join([*map(str, row.first), *(["…"] if row.units > len(row.first) else [])])


def devices(names: Sequence[str]) -> str:
    """`cuda:0–7`, `cuda:2, 3, 0`; of very many that do not follow each other the first and the last."""
    kinds = {name.partition(":")[0] for name in names}
    numbers = [name.partition(":")[2] for name in names]
    if len(kinds) == 1 and len(names) > 2 and all(number.isdecimal() for number in numbers):
        first = int(numbers[0])
        if list(map(int, numbers)) == list(range(first, first + len(names))):
            return f"{names[0]}–{numbers[-1]}"
    if len(names) > DEVICES_NAMED:
        return f"{names[0]} to {names[-1]} ({len(names)})"
    return ", ".join([names[0], *numbers[1:]] if len(kinds) == 1 else names)


def loaded_sentence(line: Loaded) -> str:
    """`qwen_image_edit on cuda:0 in 41 s (3 of 8), 57.7 GiB`."""
    order = f"{line.order} of {line.replicas}" if line.order <= line.replicas else "once more"
    memory = f", {line.memory / 2**30:.1f} GiB" if line.memory else ""
    return f"{line.model} on {line.place} in {duration(line.seconds)} ({order}){memory}"


def died_sentence(line: Died) -> str:
    """`qwen_image_edit on cuda:0: its process was killed by SIGKILL`."""
    return f"{line.model} on {line.place}: {line.reason or 'its process is gone'}"


def unscored_sentence(line: Judged) -> str:
    """`unparseable: two different scores in the answer`."""
    return f"{line.judgement.status.value.replace('_', ' ')}: {line.judgement.reason or line.judgement.answer}"


def category_sentence(line: CategoryDone) -> str:
    """`mean 6.43, min 2.00, max 9.50, 48/50 scored`."""
    if line.mean is None:
        return f"no score, {line.scored}/{line.total} scored"
    return f"mean {score(line.mean)}, min {score(line.low)}, max {score(line.high)}, {line.scored}/{line.total} scored"


def counts(snapshot: Snapshot) -> list[str]:
    """`edits 130/270 (3.2/min)`, `scores 20/270 (12/min)`, `batch 20/45`: what has something to do in this run."""
    parts = []
    for name, count in (("edits", snapshot.edits), ("scores", snapshot.judgements)):
        if count.total:
            pace = f" ({rate(count.per_minute)})" if count.per_minute else ""
            parts.append(f"{name} {count.ok}/{count.total}{pace}")
    if snapshot.batch:
        parts.append("batch {}/{}".format(*snapshot.batch))
    return parts


def rate(per_minute: float) -> str:
    """`12/min`, `3.2/min`, `0.45/min`."""
    digits = 0 if per_minute >= 9.95 else 1 if per_minute >= 0.95 else 2
    return f"{per_minute:.{digits}f}/min"


def left(snapshot: Snapshot) -> str:
    """`12 min 05 s left`, as far as that is known."""
    if snapshot.left is None:
        return "time left not known yet"
    words = f"{duration(float(snapshot.left))} left"
    if snapshot.left_without:
        words += " for the edits" if "judge" in snapshot.left_without else " for the scores"
    return words


def how_far(snapshot: Snapshot) -> str:
    """A line of progress."""
    failed = f", {snapshot.failed} failed" if snapshot.failed else ""
    percent = f"{int(100 * snapshot.fraction)} %"
    return f"progress: {percent}, {', '.join(counts(snapshot))}{failed}, {left(snapshot)}"


def ending(snapshot: Snapshot) -> str:
    """The last line."""
    edits, scores = snapshot.edits, snapshot.judgements
    failed = f", {snapshot.failed} failed" if snapshot.failed else ""
    open_ = edits.total - edits.settled + scores.total - scores.settled
    rest = f", {open_} not done" if open_ else ""
    return (
        f"end: {edits.ok} of {edits.total} edits, {scores.ok} of {scores.total} scores{failed}{rest}, "
        f"in {duration(snapshot.seconds)}"
    )
