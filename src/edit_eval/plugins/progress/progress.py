"""The live progress: what a person sees while a run works. It can neither stop a run nor slow it down.

The engine's thread only takes notes (`ProgressState`). A separate thread reads and shows them a few times a second, so
that a paused or closed terminal costs the run nothing.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import io
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, Literal, ParamSpec, TextIO, cast

from rich.console import Console

from edit_eval.errors import ConfigurationError
from edit_eval.execution.contract import Meter
from edit_eval.execution.spectator import Spectator
from edit_eval.plugins.progress.displays import PlainProgress, RichProgress
from edit_eval.plugins.progress.lines import BenchmarkProgress, Display, EventLine
from edit_eval.plugins.progress.state import ProgressState
from edit_eval.reporting.language import translate
from edit_eval.reporting.live import Snapshot, count_work, ending_words, write_live
from edit_eval.reporting.standard_streams import Descriptor
from edit_eval.reporting.terminal_text import LocalizedConsole
from edit_eval.scheduling.estimates import Estimates
from edit_eval.scheduling.policies import Policy
from edit_eval.scheduling.tasks import Work
from edit_eval.store.run_directory import RunDirectory
from edit_eval.store.table import JudgementTable
from edit_eval.text import Text

Mode = Literal["rich", "plain", "lines", "none"]
CONFIGURED = Text("set in the configuration")
KEEP_EVERY = 1.0
"""Seconds between two writes of `live.json`."""
PATIENCE = 2.0
"""Seconds to wait at the end for a display or a disk that hangs."""


def choose(mode: str, stream: TextIO, environment: Mapping[str, str]) -> tuple[Mode, str]:
    """Returns the fitting progress, and why it fits. Bars need a terminal, even if asked for."""
    if mode in ("plain", "lines", "none"):
        return cast(Mode, mode), CONFIGURED
    if mode not in ("auto", "rich"):
        raise ConfigurationError(
            Text("progress: `{}` is not known; use `auto`, `rich`, `plain`, `lines` or `none`", mode)
        )
    if not stream.isatty():
        return "plain", Text("stderr is not a terminal")
    if environment.get("TERM") in ("dumb", "unknown"):
        return "plain", Text("TERM is {}", environment["TERM"])
    return "rich", Text("stderr is a terminal")


P = ParamSpec("P")


def _catch_errors(method: Callable[Concatenate[Progress, P], None]) -> Callable[Concatenate[Progress, P], None]:
    """Keeps exceptions of the progress from the run: the first one ends it (`Progress._end_display`)."""

    @functools.wraps(method)
    def call(self: Progress, /, *arguments: P.args, **named: P.kwargs) -> None:
        try:
            method(self, *arguments, **named)
        except Exception as error:
            self._end_display(error)
            self._state = None  # it may be half told: `live.json` ends, and `status` goes by the journals
            self._over.set()

    return call


def _forward_method(name: str) -> Callable[..., None]:
    """Returns a method that passes its arguments on to that method of `ProgressState` during a run."""

    @_catch_errors
    def forward(self: Progress, /, *news: Any) -> None:
        if self._state:
            getattr(self._state, name)(*news)

    return forward


class Progress(Spectator):
    """The drawn progress of a run, and its `live.json`: bars on a terminal, otherwise lines."""

    @classmethod
    def of(cls, mode: str, stream: TextIO | None = None, environment: Mapping[str, str] | None = None) -> Progress:
        """Returns the progress for a `mode` of `execution.progress`, on stderr.

        Its `mode` and `reason` say what was chosen, and why. Raises `ConfigurationError` for an unknown mode.
        """
        stream = sys.stderr if stream is None else stream
        chosen, reason = choose(mode, stream, os.environ if environment is None else environment)
        if chosen == "rich":
            return cls(RichProgress(terminal(stream)), chosen, reason)
        if chosen != "none":
            return cls(PlainProgress(open_unbuffered(stream), scores=chosen == "lines"), chosen, reason)
        return cls(None, chosen, reason)

    def __init__(
        self, display: Display | None, mode: Mode, reason: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.mode, self.reason = mode, reason
        self.failure: Exception | None = None
        """The error that ended it."""
        self._display, self._clock = display, clock
        self._state: ProgressState | None = None
        self._failed_display: Display | None = None
        self._table: JudgementTable | None = None
        self._snapshot = Snapshot()
        self._taken = self._began = 0.0
        self._threads: list[threading.Thread] = []
        self._over = threading.Event()

    # -- events of a run --

    @_catch_errors
    def reading(self, items: int, read: int, size: int) -> None:
        """Part of a benchmark has been read: `items` samples, `read` of `size` bytes (0 if unknown)."""
        if self._display is not None:
            self._display.reading(BenchmarkProgress(items, read, size), self._clock())

    @_catch_errors
    def has_read(self) -> None:
        """The benchmark has been read, or reading failed."""
        if self._display is not None:
            self._display.has_read()

    @_catch_errors
    def begin(
        self,
        table: JudgementTable,
        policy: Policy,
        work: Work,
        estimates: Estimates,
        meters: Mapping[str, Meter],
        directory: RunDirectory,
    ) -> None:
        """The run starts in `directory`. The caller keeps `table` and `meters` up to date."""
        self._table, self._began = table, self._clock()
        if self.mode == "plain" and self._display is not None and self.reason != CONFIGURED:
            more = Text("; `progress: lines` also shows every score")
            self._display.write([EventLine("note", Text("progress: plain lines ({}{})", self.reason, more))])
        self._state = ProgressState(table, policy, work, estimates, self._clock, meters)
        self._take_snapshot()
        self._over.clear()
        self._begin_thread("edit-eval live.json", self._keep, directory)
        if self._display is not None:
            self._begin_thread("edit-eval progress", self._show, self._display, self._state)
        atexit.register(self.end)  # always shows a hidden cursor again

    @_catch_errors
    def end(self) -> None:
        """The run is over, successful or not."""
        atexit.unregister(self.end)
        threads, self._threads = self._threads, []
        if threads:
            with contextlib.suppress(Exception):  # the previous snapshot is then the last
                self._take_snapshot()
            self._over.set()
            for thread in threads:
                thread.join(PATIENCE)
            self._state = None
        if self._failed_display is not None and not any(thread.is_alive() for thread in threads):
            self._say_how_it_ended(self._failed_display)
        self._table = self._failed_display = None

    @_catch_errors
    def note(self, text: str) -> None:
        """Shows a note to the person watching."""
        if self._display is None and not isinstance(self.failure, OSError | None):
            _print(Text("note: {}", text))
        elif self._state:
            self._state.note(text)
        elif self._display is not None:
            self._display.write([EventLine("note", text)])

    def time_left(self) -> float | None:
        """Returns the seconds until the run ends, as they are foretold now."""
        try:
            return self._state.foretell(self._clock()).seconds if self._state else None
        except Exception as error:
            self._end_display(error)
            return None

    @_catch_errors
    def tick(self, now: float) -> None:
        """The engine has finished one iteration of its loop."""
        if self._clock() - self._taken >= (KEEP_EVERY if self._display is None else self._display.interval):
            self._take_snapshot()

    replica, running, step, finished, edit, judgement = map(
        _forward_method, ("replica", "running", "step", "finished", "edit", "judgement")
    )

    def _take_snapshot(self) -> None:
        if self._state:
            self._taken = self._clock()
            self._snapshot = self._state.snapshot()

    # -- display threads --

    def _begin_thread(self, name: str, target: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, name=name, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _keep(self, directory: RunDirectory) -> None:
        try:
            while not self._over.is_set():
                write_live(directory, self._snapshot)
                self._over.wait(KEEP_EVERY)
            write_live(directory, self._snapshot, ended=True)
        except Exception as error:
            self._end_display(error)

    def _show(self, display: Display, state: ProgressState) -> None:
        try:
            display.draw(state.take_lines(), self._snapshot)
            while not self._over.wait(display.interval):
                display.draw(state.take_lines(), self._snapshot)
            if self.failure is None:
                display.close(state.take_lines(), self._snapshot)
            else:
                display.has_read()
        except Exception as error:
            self._end_display(error)

    def _end_display(self, error: Exception) -> None:
        """Ends the display with the reason: what it would show from now on is not true."""
        if self.failure is not None:
            return
        self.failure, display, self._display = error, self._display, None
        why = Text("the progress display has failed ({}: {}); the run goes on", type(error).__name__, error)
        if isinstance(error, OSError):  # there is nobody left to read it, or perhaps there is
            with contextlib.suppress(Exception):
                if display is not None:
                    display.has_read()
                    display.write([EventLine("note", why)])
            return
        self._failed_display = display
        try:
            if display is None:
                raise error
            display.has_read()
            display.write([EventLine("note", why)])
        except Exception:  # a display that cannot even say so
            _print(Text("note: {}", why))

    def _say_how_it_ended(self, display: Display) -> None:
        """Says how the run ended, counted in its records: what the display has seen is not all of it."""
        if self._table is not None:
            edits, judgements, controls = count_work(self._table)
            seconds = self._clock() - self._began
            snapshot = Snapshot(edits=edits, judgements=judgements, controls=controls, seconds=seconds)
            try:
                display.close((), snapshot)
            except Exception:  # what has failed may fail again
                _print(Text("end: {}", ending_words(snapshot)))


def _print(words: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # the latter for a stream that is closed
        print(translate(words), file=sys.stderr)


# -- terminals --


class Terminal(LocalizedConsole):
    """A console that does not end the program when its reader has gone."""

    def on_broken_pipe(self) -> None:
        """Raises an error instead of closing stdout and exiting, as rich does."""
        raise BrokenPipeError("nobody reads stderr")


def terminal(stream: TextIO) -> Console:
    """Returns a console on `stream`; no text is taken for markup."""
    return Terminal(file=open_unbuffered(stream), force_terminal=True, markup=False, emoji=False, highlight=False)


def open_unbuffered(stream: TextIO) -> TextIO:
    """Returns the stream's descriptor without Python's buffer, or the stream itself if it has none.

    Output for a vanished terminal would stay in the buffer of `sys.stderr` until the program ends, fail once more, and
    turn the exit code into 120; a thread that hangs in a write would hold a lock that makes Python abort at exit. A
    notebook's stream is no file: its descriptor is the terminal in which the server was started.
    """
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    try:
        descriptor = Descriptor(stream.fileno(), "w", closefd=False)
    except (OSError, ValueError):
        return stream
    return io.TextIOWrapper(cast(Any, descriptor), stream.encoding or "utf-8", errors="replace", write_through=True)
