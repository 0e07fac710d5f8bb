"""The report is drawn in a process of its own, so that its pictures never weigh on the one that runs."""

from __future__ import annotations

import errno
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from edit_eval.benchmarks.known_sources import with_known_sources
from edit_eval.errors import ExitCode, NotDrawn
from edit_eval.records import Results
from edit_eval.reporting.page.files import write_report
from edit_eval.text import Text


def draw_apart(run: Path) -> None:
    """Has `edit_eval.run`, as a program, draw the report of the run in `run`.

    Raises `NotDrawn` when it cannot be written; the run's records are as they were.
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


def draw(results: Results, summary: Mapping[str, Any], run: Path, *, language: str) -> int:
    """What that program does; returns its exit code. Sources are opened only where this user's cache knows them."""
    results = replace(results, samples=with_known_sources(results.samples))
    try:
        write_report(results, summary, run / "report", language=language)
    except OSError as error:
        print(error.strerror or error, file=sys.stderr)
        forbidden = error.errno in (errno.EROFS, errno.EACCES, errno.EPERM)
        return ExitCode.UNUSABLE if forbidden else ExitCode.STOPPED  # else the disk is full, or fails
    return ExitCode.DONE
