"""Every exception of edit-eval, in one tree.

    EditEvalError                 caught at the command line: one line, and the exit code it carries
    |-- ConfigurationError        2  a wrong key, type, path or combination in the YAML or on the command line
    |-- BenchmarkError            2  bad samples, every one of them named
    |-- RunDirectoryError         2  a directory that is not a run, or that another process is using
    |-- Unscored                  3  finished, but below the coverage that was asked for
    |-- Stopped                   4  ended by its surroundings: no device left, disk full, one failure again and again
    |-- NotDrawn                  1  the report could not be written (4: the disk is full, 2: it must not be written)
    `-- ModelError                1  raised beside a model: the edit or the answer failed, the run goes on
        |-- Refused                  the model, or whoever serves it, declines to make this edit
        |-- PictureError             not a picture, truncated, too large, NaN, black
        |   `-- UnreadableError      its file is not there, or not as it was: no fault of the picture
        |-- ChangedError             what a key speaks of is another one by now: nothing more is made under that key
        `-- LoadError                the model cannot be loaded here

Standard library only: workers in foreign environments import this file.
"""

from __future__ import annotations

import signal
from enum import IntEnum
from pathlib import Path


class ExitCode(IntEnum):
    """How a command ends. What to do about each is in docs/reading-a-report.md.

    A command that somebody interrupts ends as shells have it: 128 and the signal's number (`RunInterrupted.exit_code`).
    """

    DONE = 0
    BUG = 1  # nobody raised it on purpose
    UNUSABLE = 2  # the configuration, a file, a flag or an environment is wrong
    SHORT = 3  # finished, and the result is not what was asked for
    STOPPED = 4  # by its surroundings
    INTERRUPTED = 128 + signal.SIGINT  # a Ctrl-C


class EditEvalError(Exception):
    """Base of all errors raised on purpose. Its message is one line: what is wrong, where, what to do."""

    exit_code: int = ExitCode.BUG


class ConfigurationError(EditEvalError):
    """The configuration cannot be used. Nothing was loaded or written."""

    exit_code = ExitCode.UNUSABLE


class BenchmarkError(EditEvalError):
    """Samples that cannot be used.

    `faults` holds one line a bad sample, with its index (from 0, in the file's order) and its id where it has one.
    """

    exit_code = ExitCode.UNUSABLE

    def __init__(self, message: str, faults: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.faults = faults


class RunDirectoryError(EditEvalError):
    """The run directory cannot be used: not one of ours, or in the hands of another process."""

    exit_code = ExitCode.UNUSABLE


class Unscored(EditEvalError):
    """The run is finished, and its coverage is below `evaluation.min_coverage`."""

    exit_code = ExitCode.SHORT


class Stopped(EditEvalError):
    """The run ended before its end. All that was done is kept in `run_dir`; the same command goes on."""

    exit_code = ExitCode.STOPPED
    run_dir: Path | None = None


class NotDrawn(EditEvalError):
    """The report of the run in `run_dir` could not be written. Its records are whole, and hold all of its numbers."""

    def __init__(self, message: str, run_dir: Path, exit_code: int = ExitCode.BUG) -> None:
        super().__init__(message)
        self.run_dir = run_dir
        self.exit_code = exit_code


class ModelError(EditEvalError):
    """One edit or one answer failed, for a reason that lies in it."""


class Refused(ModelError):
    """The edit model, or whoever serves it, declines to make this edit; the text is its words.

    That is an answer and no failure: the edit is never asked for again, and is counted apart.
    """


class PictureError(ModelError):
    """A picture that cannot be read, or that is not to be counted as an edit."""


class UnreadableError(PictureError):
    """A picture's file is gone, its disk fails, or it is another file by now: the machine's affair, and tried again."""


class ChangedError(ModelError):
    """The code or the pictures of which a key speaks have changed since the run began."""


class LoadError(ModelError):
    """A model cannot be loaded in this environment or on this device, or its server gives no answer.

    `final` where it is the configuration's fault: no other device and no later time will help.
    """

    def __init__(self, message: str, *, final: bool = False) -> None:
        super().__init__(message)
        self.final = final


class RunInterrupted(KeyboardInterrupt):
    """Somebody wanted the end of the run in `run_dir`; `signal` is how. All that was done is kept."""

    def __init__(self, run_dir: Path, signal: int) -> None:
        super().__init__(f"signal {signal}")
        self.run_dir = run_dir
        self.signal = signal

    @property
    def exit_code(self) -> int:
        """As shells have it."""
        return 128 + self.signal
