"""Has a run's report drawn in a process of its own. What draws is imported there alone: charts take a second."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from edit_eval.errors import ExitCode, NotDrawn
from edit_eval.text import Text


def draw_apart(run: Path) -> None:
    """Draws the report of the run in `run` with the program `edit_eval.run`.

    Raises `NotDrawn` if it cannot be written; the run's records stay as they were.
    """
    done = subprocess.run(
        [sys.executable, "-P", "-m", "edit_eval.run", str(run)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    if not done.returncode:
        return
    last = (done.stderr.strip().splitlines() or ["no message"])[-1]
    disk = done.returncode in (ExitCode.UNUSABLE, ExitCode.STOPPED)
    problem = Text("the report could not be drawn ({})", last)
    if disk:
        problem = Text("the report could not be written to {} ({})", run / "report", last)
    kept = Text("{}; all records are kept; once that is fixed, `edit-eval report {}` writes it", problem, run)
    raise NotDrawn(kept, run, done.returncode if disk else ExitCode.BUG)
