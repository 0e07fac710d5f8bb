"""A run in plain lines on stderr: its notes, how far it is, and how it ended. What is shown where no display is.

`live.json` has then counts alone, as trackers and `status` read it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TextIO

from edit_eval.execution.contract import Meter
from edit_eval.execution.spectator import Spectator
from edit_eval.records import Edit, Judgement
from edit_eval.reporting.language import translate
from edit_eval.reporting.live import Snapshot, count_work, counts, ending_words, write_live
from edit_eval.reporting.terminal_text import one_line
from edit_eval.scheduling.estimates import Estimates
from edit_eval.scheduling.policies import Policy
from edit_eval.scheduling.tasks import Work
from edit_eval.store.run_directory import RunDirectory
from edit_eval.store.table import JudgementTable
from edit_eval.text import Text

EVERY = 30.0
"""Seconds between two lines on how far a run is, if there is news."""


class PlainLines(Spectator):
    """How far a run is, in plain lines.

    They go to `stream`, by default stderr; `silent`, notes alone.
    """

    @classmethod
    def of(cls, mode: str) -> PlainLines:
        """Returns it for a mode of `execution.progress`: with `none`, of notes alone."""
        return cls(silent=mode == "none")

    def __init__(self, stream: TextIO | None = None, *, silent: bool = False) -> None:
        self._stream, self._silent = stream, silent
        self._table: JudgementTable | None = None
        self._directory: RunDirectory | None = None
        self._began = self._said_at = 0.0
        self._news = False

    def note(self, text: str) -> None:
        """Writes a note."""
        self._write(Text("note: {}", text))

    def begin(
        self,
        table: JudgementTable,
        policy: Policy,
        work: Work,
        estimates: Estimates,
        meters: Mapping[str, Meter],
        directory: RunDirectory,
    ) -> None:
        """Takes the table, which the caller keeps up to date."""
        self._table, self._directory = table, directory
        self._began = self._said_at = time.monotonic()

    def edit(self, edit: Edit) -> None:
        """There is something to say."""
        self._news = True

    def judgement(self, judgement: Judgement) -> None:
        """There is something to say."""
        self._news = True

    def tick(self, now: float) -> None:
        """Says how far the run is, if that is due."""
        if self._news and time.monotonic() - self._said_at >= EVERY:
            self._tell(lambda snapshot: Text("progress: {:, }", counts(snapshot)), ended=False)

    def end(self) -> None:
        """Says how the run ended."""
        self._tell(lambda snapshot: Text("end: {}", ending_words(snapshot)), ended=True)
        self._table = self._directory = None

    def _tell(self, words: Callable[[Snapshot], str], *, ended: bool) -> None:
        if self._table is None or self._directory is None:
            return
        edits, judgements, controls = count_work(self._table)
        self._said_at, self._news = time.monotonic(), False
        snapshot = Snapshot(edits=edits, judgements=judgements, controls=controls, seconds=self._said_at - self._began)
        write_live(self._directory, snapshot, ended=ended)
        if not self._silent:
            self._write(words(snapshot))

    def _write(self, words: str) -> None:
        stream = sys.stderr if self._stream is None else self._stream
        with suppress(OSError, ValueError):  # a reader that has gone must not end a run
            stream.write(f"{one_line(translate(words))}\n")
            stream.flush()
