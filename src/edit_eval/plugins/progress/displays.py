"""Displays of the progress: on a terminal, and in plain lines."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console, ConsoleRenderable, Group
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.rule import Rule
from rich.table import Table

from edit_eval.execution.contract import Meter
from edit_eval.plugins.progress.lines import (
    Assignment,
    BenchmarkProgress,
    CategoryDone,
    EventLine,
    Judged,
    Line,
    category_sentence,
    devices,
    first_samples,
    omission_line,
    plan_sentence,
    question_words,
    reading_words,
    steps_of,
    words_of,
    work_of,
)
from edit_eval.reporting.language import code_to_text, translate
from edit_eval.reporting.live import (
    DeviceView,
    Snapshot,
    counts,
    ending_words,
    how_far,
    meter_words,
    more_devices,
    time_left_words,
)
from edit_eval.reporting.terminal_text import Name, Styled, one_line, pad_text
from edit_eval.text import Text, join_texts

BAR = 16
"""Columns of a bar."""
NARROW = 70
"""A terminal with fewer columns gets shorter bars and no meters."""
TAG = 8
"""Columns of the first word of a line."""
LABEL = 0.36
"""Largest share of the terminal's width for a sample's id."""
LINES_AT_ONCE = 200
"""New lines shown at one look; of more, only the last are shown."""

_TAGS = {"loaded": "green", "died": "red", "failed": "red", "refused": "yellow", "note": "yellow"}
_COLOURS = {"editing": "cyan", "judging": "magenta", "waiting": "magenta", "loading": "yellow"}


class RichProgress:
    """Draws on `console`, a terminal."""

    interval = 1 / 8

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._clock = console, clock
        self._live: Live | None = None
        self._drawn: tuple[object, ...] = ()
        self._label = 0
        self._next_reading = 0.0

    def reading(self, so_far: BenchmarkProgress, now: float) -> None:
        """Shows a separate bar."""
        if now < self._next_reading:
            return
        self._next_reading = now + self.interval
        row = Table.grid(padding=(0, 2, 0, 0))
        bar = ProgressBar(1.0, so_far.fraction, width=BAR, complete_style="green") if so_far.size else Styled("")
        row.add_row(Styled(Text("reading the benchmark")), bar, Styled(reading_words(so_far)))
        self._open_live().update(row, refresh=True)

    def has_read(self) -> None:
        """Removes the bar."""
        self._end_live()

    def write(self, lines: Sequence[Line]) -> None:
        """Shows lines."""
        if not lines:
            return
        for line in lines:
            if isinstance(line, Assignment):
                self._label = max(self._label, line.label)
            elif isinstance(line, Judged | EventLine):
                self._label = max(self._label, cell_len(line.about))
        if len(lines) > LINES_AT_ONCE:
            lines = [omission_line(len(lines) - LINES_AT_ONCE), *lines[-LINES_AT_ONCE:]]
        width = min(self._label, int(LABEL * self._console.width))
        self._console.print(Group(*(render_line(line, width) for line in lines)))

    def draw(self, lines: Sequence[Line], snapshot: Snapshot) -> None:
        """Shows lines, and redraws the bars if anything has changed."""
        now, below = self._clock(), self._open_live()
        drawn = (snapshot.devices, snapshot.edits, snapshot.judgements, snapshot.controls, int(now), self._console.size)
        if drawn == self._drawn and not lines:
            return
        self._drawn = drawn
        width, height = self._console.size
        bars = bars_of(snapshot, width, height)
        below.update(bars, refresh=not lines)  # writing lines also draws the bars below them
        self.write(lines)

    def close(self, lines: Sequence[Line], snapshot: Snapshot) -> None:
        """Removes the bars, and shows the last lines and how the run ended."""
        self._end_live()
        self.write(lines)
        self._console.print(tag_texts(Text("end"), "bold", Styled(ending_words(snapshot))))

    def _open_live(self) -> Live:
        """Returns the area below the lines, which is redrawn continually."""
        if self._live is None:
            self._live = Live(console=self._console, auto_refresh=False, transient=True, redirect_stdout=False)
            self._live.start()
        return self._live

    def _end_live(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.stop()


# -- lines --


def render_line(line: Line, label: int) -> ConsoleRenderable:
    """Renders a line; ids take `label` columns."""
    match line:
        case Assignment():
            return plan_table(line)
        case Judged(judgement=judgement):
            words = Styled(one_line(words_of(judgement)), "dim", no_wrap=True, overflow="ellipsis")
            return tag_texts(f"{judgement.score:.3f}", "bold", Styled(pad_text(line.about, label)), words)
        case CategoryDone():
            title = Styled.assemble((one_line(line.label), "bold"), "  ", one_line(category_sentence(line)))
            return Rule(title, align="left", style="dim", characters="─")
        case EventLine():
            names = [Styled(pad_text(line.about, label))] if line.about else []
            what = Styled(one_line(line.words), style="" if line.tag else "dim")
            return tag_texts(line.tag and code_to_text(line.tag), _TAGS.get(line.tag, ""), *names, what)


def tag_texts(tag: str, style: str, *texts: Styled) -> ConsoleRenderable:
    """Puts a word in its column and each text beside it in its own; the last one is wrapped within its column."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=TAG, justify="right", no_wrap=True)
    for _ in texts[1:]:
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(Styled(tag, style=style), *texts)
    return table


def plan_table(plan: Assignment) -> ConsoleRenderable:
    """Returns each device with its count and its first samples."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    table.add_column("", overflow="fold")
    table.add_column(translate(Text("device")), overflow="fold")
    table.add_column(translate(Text("count")), justify="right", no_wrap=True)
    table.add_column(translate(Text("first samples")), overflow="fold")
    before = ""
    for row in plan.rows:
        name = work_of(row)
        about = [*([first_samples(row)] if row.first else []), *question_words(row)]
        first = Styled(join_texts(about, ", ") if about else Text("in any order"), style="" if row.first else "dim")
        table.add_row("" if name == before else Name(name), devices(row.devices), str(row.count), first)
        before = name
    schedule = tag_texts(Text("schedule"), "dim", Styled.assemble(plan.schedule, "  ", (plan.explanation, "dim")))
    return Padding(Group(schedule, Padding(table, (0, 0, 0, TAG + 2))), (1, 0))


# -- bars --


def bars_of(snapshot: Snapshot, width: int = 80, height: int = 24) -> ConsoleRenderable:
    """Draws the lower part of the screen: a row per device, as many as fit into `height`, and the total."""
    meters = width >= NARROW and any(view.meter != Meter() for view in snapshot.devices)
    length = BAR if width >= NARROW else BAR // 2
    rows = list(snapshot.devices)
    room = max(1, height - 6)
    rest = rows[room - 1 :] if len(rows) > room else []
    rows = rows[: len(rows) - len(rest)]
    names = max((cell_len(view.device) for view in rows), default=0)
    table = _grid(max(TAG, names), length)
    for _ in range(2 if meters else 0):
        table.add_column(justify="right", no_wrap=True)
    for view in rows:
        table.add_row(view.device, *_device(view, length), *(meter_words(view.meter) if meters else ()))
    if rest:
        table.add_row("", "", "", Styled(more_devices(rest), style="dim"))
    whole = _grid(max(TAG, names), length)
    whole.add_column(justify="right", no_wrap=True, style="dim")
    percent = f"{int(100 * snapshot.fraction)} %"
    bar = ProgressBar(1.0, snapshot.fraction, width=length, complete_style="green", finished_style="green")
    whole.add_row(
        Styled(Text("overall"), style="bold"),
        bar,
        percent,
        translate(time_left_words(snapshot)),
        _clock(snapshot.seconds),
    )
    detail = Table.grid(padding=(0, 2, 0, 0), expand=True)
    detail.add_column(width=max(TAG, names))
    detail.add_column(ratio=1)
    detail.add_column(justify="right", no_wrap=True, style="red")
    failed = Text("{} failed", snapshot.n_failed) if snapshot.n_failed else ""
    detail.add_row("", translate(join_texts(counts(snapshot), ", ")), translate(failed))
    return Group(Styled(""), table, whole, detail)


def _grid(names: int, bar: int) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_column(width=names, justify="right", no_wrap=True)
    table.add_column(width=bar)
    table.add_column(width=9, no_wrap=True)
    table.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    return table


def _device(view: DeviceView, length: int) -> tuple[ConsoleRenderable, str, Styled]:
    """Returns a device's bar, figures, and what it is working on."""
    fraction, figures = view.fraction, translate(view.figures)
    if view.activity == "loading":
        figures = translate(Text("{} s", view.seconds))
        fraction = min(1.0, view.seconds / view.expected) if view.expected else 0.0
    colour = _COLOURS.get(view.activity, "")
    bar: ConsoleRenderable = Styled("")
    if fraction is not None and colour:
        bar = ProgressBar(1.0, fraction, width=length, complete_style=colour, finished_style=colour)
    if view.activity in ("editing", "judging"):
        about = Styled(one_line(view.about))
    elif view.activity in ("starting", "loading", "unloading"):
        about = Styled(one_line(Text("{} {}", code_to_text(view.activity), view.model)), style="dim")
    else:
        about = Styled(code_to_text(view.activity or "free"), style="red" if view.activity == "retired" else "dim")
    return bar, figures, about


def _clock(seconds: float) -> str:
    """Returns `0:31:20`."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


# -- without a terminal --

CLOSEST = 15.0
"""Fewest seconds between two lines of progress."""
FURTHEST = 300.0
"""Most seconds between two lines of progress."""


class PlainProgress:
    """Writes lines to `stream`: events and, now and then, how far the run is; single scores only with `scores`.

    Lines of progress come at each tenth of the whole, and in between after 15 s, 30 s, 1 min and so on, finally every
    5 min; never two within 15 s.
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
        """Writes a line at once, and again after 5 s, 10 s, 20 s and so on, finally every minute."""
        if now >= self._next_reading:
            self._next_reading = now + self._reading_pause
            self._reading_pause = min(2 * self._reading_pause, 60.0)
            percent = f" ({int(100 * so_far.fraction)} %)" if so_far.size else ""
            self._print_lines(Text("reading the benchmark: {}{}", reading_words(so_far), percent))

    def has_read(self) -> None:
        """Does nothing: there is no bar to remove."""

    def write(self, lines: Sequence[Line]) -> None:
        """Writes lines."""
        for line in lines:
            self._print_lines(*sentences(line, scores=self._scores))

    def draw(self, lines: Sequence[Line], snapshot: Snapshot) -> None:
        """Writes lines and, if due, how far the run is."""
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
            steps = steps_of(snapshot) if settled == self._settled else ""  # one edit takes long: show its steps
            self._settled = settled
            self._print_lines(Text("{}{}", how_far(snapshot), steps))

    def close(self, lines: Sequence[Line], snapshot: Snapshot) -> None:
        """Writes the last lines and how the run ended."""
        self.write(lines)
        self._print_lines(Text("end: {}", ending_words(snapshot)))

    def _print_lines(self, *lines: str) -> None:
        for line in lines:
            self._stream.write(f"{self._time_of_day()} {one_line(line)}\n")
        self._stream.flush()


def sentences(line: Line, *, scores: bool = False) -> Iterator[str]:
    """Puts a line of the progress into words; a single score only with `scores`."""
    match line:
        case Assignment():
            if line.rows:
                yield Text("schedule: {}, {}", line.schedule, line.explanation)
            yield from map(plan_sentence, line.rows)
        case CategoryDone():
            of = [Text("scores"), line.label] if line.nameless else [Text("category {}", line.label)]
            yield join_texts(filter(None, (*of, category_sentence(line))), ": ")
        case EventLine():
            yield join_texts(filter(None, (line.tag and code_to_text(line.tag), line.about, line.words)), ": ")
        case Judged(judgement=judgement) if scores:
            yield join_texts(
                filter(None, (Text("score"), line.about, f"{judgement.score:.3f}", words_of(judgement))), ": "
            )
