"""Has a run's report drawn in a process of its own. What draws is imported there alone: charts take a second.

Where it can be, that process is a copy of this one, which has imported the rest of the package and, mostly, read the
run already: half of the work.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from edit_eval.config.components import get_named_code, locate
from edit_eval.errors import ExitCode, NotDrawn
from edit_eval.text import Text

_COLLECTED_EVERY = 100_000
"""Objects between two searches for garbage: a page makes millions, all of which are needed until it is written."""


def page_of(run: Path) -> Path:
    """Returns where the page of the run in a folder is; without a display, `report.md`, which has the same numbers."""
    return run / "report" / ("index.html" if locate("display", "page") else "report.md")


def report_files(run: Path) -> tuple[Path, ...]:
    """Returns the files of a run's report to send elsewhere: the page, which needs no other up to 2,000 pictures, and
    the numbers."""
    return page_of(run), run / "report" / "summary.json"


def render_report(run: Path, draw: Callable[[], int]) -> str:
    """Draws the report of the run in `run`; returns a note, or nothing.

    By `draw`, which returns an exit code, in a copy of this process; where there can be none, by the program
    `edit_eval.verbs.drawing`, which reads the run again. Raises `NotDrawn` if the report cannot be written; the run's
    records stay as they were.
    """
    code, written = _run_fork(draw) if _can_fork() else _run_interpreter(run)
    if not code:
        return "" if locate("display", "page") else Text("no page is drawn: no display that draws one is installed")
    last = (written.strip().splitlines() or ["no message"])[-1]
    disk = code in (ExitCode.UNUSABLE, ExitCode.STOPPED)
    problem = Text("the report could not be drawn ({})", last)
    if disk:
        problem = Text("the report could not be written to {} ({})", run / "report", last)
    kept = Text("{}; all records are kept; once that is fixed, `edit-eval report {}` writes it", problem, run)
    raise NotDrawn(kept, run, code if disk else ExitCode.BUG)


def _run_interpreter(run: Path) -> tuple[int, str]:
    """Returns its exit code, negative if a signal ended it, and what it printed as errors."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "edit_eval.verbs.drawing", str(run), json.dumps(get_named_code())],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    return done.returncode, done.stderr


def _can_fork() -> bool:
    """True if no other thread could hold a lock, and no GPU's driver is loaded, neither of which survives a copy."""
    return sys.platform == "linux" and threading.active_count() == 1 and "torch" not in sys.modules


def _run_fork(draw: Callable[[], int]) -> tuple[int, str]:
    """Does the same with a fork of this process."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads that libraries keep for themselves, all idle
        copy = os.fork()
    if not copy:
        _render_and_exit(draw, writing)
    os.close(writing)
    try:
        with open(reading, encoding="utf-8", errors="replace") as written:
            said = written.read()
        ended = os.waitpid(copy, 0)[1]
    except BaseException:  # a Ctrl-C
        os.kill(copy, signal.SIGKILL)
        os.waitpid(copy, 0)
        raise
    return os.waitstatus_to_exitcode(ended), said


def _render_and_exit(draw: Callable[[], int], errors: int) -> NoReturn:
    """Draws, in the copy, and ends it; `errors` is where its errors go."""
    code = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor, place in ((nothing, 0), (nothing, 1), (errors, 2)):
            os.dup2(descriptor, place)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # the run's lock above all: it is the other process's
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", errors="backslashreplace")  # noqa: SIM115
        gc.freeze()  # of what the copied process has, nothing is looked at again
        gc.set_threshold(_COLLECTED_EVERY)
        if sys.path[:1] in ([""], [os.getcwd()]):  # as with -P
            del sys.path[0]
        code = draw()
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(code)
