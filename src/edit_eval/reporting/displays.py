"""Displays: what draws a run, while it works (`display.progress`) and from its records (`display.page`).

Each is a plug-in's or a package's, known here by its registered name alone. Where none is installed a run is told in
plain lines, and ends with its answer, its tables and `report.md`.
"""

from __future__ import annotations

from typing import Protocol

from edit_eval.config.components import locate, named
from edit_eval.config.schema import Configuration
from edit_eval.execution.spectator import Spectator
from edit_eval.reporting.language import speak
from edit_eval.reporting.plain_lines import PlainLines
from edit_eval.text import Text


class LiveDisplay(Protocol):
    """`display.progress`: shows a run while it works, and writes its `live.json`."""

    @classmethod
    def of(cls, mode: str) -> Spectator:
        """Returns what is told of the run, for a mode of `execution.progress`. It must not raise."""
        ...


def watch_run(configuration: Configuration) -> Spectator:
    """Returns the display that a configuration asks for, in the language of its run; without one, plain lines."""
    speak(configuration.benchmark.language)
    mode = configuration.execution.progress
    lines = PlainLines(silent=mode == "none")
    if not locate("display", "progress"):
        return lines
    try:
        display: type[LiveDisplay] = named("display", "progress")
        return display.of(mode)
    except Exception as error:  # a package's display must not cost the run
        lines.note(Text("the progress display has failed ({}: {}); the run goes on", type(error).__name__, error))
        return lines
