"""Every exception of edit-eval, in one tree.

    EditEvalError                 caught at the command line: one line, and the exit code it carries
    |-- ConfigurationError        2  a wrong key, type, path or combination in the YAML or on the command line
    |-- BenchmarkError            2  bad samples, every one of them named
    |-- RunDirectoryError         2  a directory that is not a run, or that another process is using
    |-- Unscored                  3  finished, but below the coverage that was asked for
    |-- Stopped                   4  ended from outside: no device left, disk full, one failure again and again
    |-- NotDrawn                  1  the report could not be written (4: the disk is full, 2: it must not be written)
    `-- ModelError                1  raised beside a model: the edit or the answer failed, the run goes on
        |-- Refused                  the model, or its server, declines to make this edit
        |-- PictureError             not a picture, truncated, too large, NaN, black
        |   `-- UnreadableError      its file is missing or has changed: no fault of the picture
        |-- RequestError             a request to a server came to nothing: what is known, for whoever decides on it
        |-- ChangedError             the code or pictures behind a key have changed: nothing more is made under it
        `-- LoadError                the model cannot be loaded here

Standard library only: workers in foreign environments import this file.
"""

from __future__ import annotations

import signal
from enum import IntEnum
from pathlib import Path
from typing import Any, Literal


class ExitCode(IntEnum):
    """How a command ends. What to do about each is in docs/reading-a-report.md.

    An interrupted command ends with 128 and the signal's number, as in shells (`RunInterrupted.exit_code`).
    """

    DONE = 0
    BUG = 1  # not raised on purpose
    UNUSABLE = 2  # the configuration, a file, a flag or an environment is wrong
    SHORT = 3  # finished, but the result is not what was asked for
    STOPPED = 4  # from outside
    INTERRUPTED = 128 + signal.SIGINT  # a Ctrl-C


class EditEvalError(Exception):
    """Base of all errors raised on purpose. Its message is one line: what is wrong, where, what to do."""

    exit_code: int = ExitCode.BUG


class ConfigurationError(EditEvalError):
    """The configuration cannot be used. Nothing was loaded or written."""

    exit_code = ExitCode.UNUSABLE


class BenchmarkError(EditEvalError):
    """Samples that cannot be used.

    `faults` holds one line for each bad sample, with its index (from 0, in the file's order) and its id if it has one.
    """

    exit_code = ExitCode.UNUSABLE

    def __init__(self, message: str, faults: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.faults = faults


class RunDirectoryError(EditEvalError):
    """The run directory cannot be used: not one of ours, or in use by another process."""

    exit_code = ExitCode.UNUSABLE


class Unscored(EditEvalError):
    """The run is finished, but its coverage is below `evaluation.min_coverage`."""

    exit_code = ExitCode.SHORT


class Stopped(EditEvalError):
    """The run ended early. Everything done so far is kept in `run_dir`; the same command resumes it."""

    exit_code = ExitCode.STOPPED
    run_dir: Path | None = None


class NotDrawn(EditEvalError):
    """The report of the run in `run_dir` could not be written. Its records are complete, with all of its numbers."""

    def __init__(self, message: str, run_dir: Path, exit_code: int = ExitCode.BUG) -> None:
        super().__init__(message)
        self.run_dir = run_dir
        self.exit_code = exit_code


class ModelError(EditEvalError):
    """One edit or one answer failed, for a reason of its own."""


class Refused(ModelError):
    """The edit model, or its server, declines to make this edit; the message is in its words.

    This is an answer, not a failure: the edit is never asked for again, and is counted apart.
    """


CanaryFound = Literal["answered", "known", "up", "denied", "failed", "not made"]
"""What a small request shows that must succeed: it was `answered`; the server at least `known` the key, or is `up`; it
was `denied` the right, or `failed`; or it was `not made`."""


class RequestError(ModelError):
    """A request to a server has failed for good. Says what is known, and leaves it to the engine whose fault that is.

    `says`: what the server says that it is about (`vocabulary.Says` of the plug-in `endpoints`); `status` of its last
    answer, 0 if none came; `seconds` for which it was tried; `ours`: edit-eval has started the server.

    Of a question in a batch `says` may also be `batch` (nothing is known but of all that is in it), `crowded` (it was
    not taken beside other batches), `unasked` (the batch has ended without having come to it) or `unanswered` (what
    came is no answer). `bought`: the answer may still be fetched.
    """

    def __init__(
        self,
        message: str,
        *,
        says: str = "other",
        status: int = 0,
        canary: CanaryFound = "not made",
        seconds: float = 0.0,
        ours: bool = False,
        bought: bool = False,
    ) -> None:
        super().__init__(message)
        self.says, self.status, self.canary, self.seconds, self.ours = says, status, canary, seconds, ours
        self.bought = bought

    @property
    def facts(self) -> dict[str, Any]:
        """All of it, for a message."""
        return {name: getattr(self, name) for name in ("says", "status", "canary", "seconds", "ours", "bought")}


class PictureError(ModelError):
    """A picture cannot be read, or does not count as an edit."""


class UnreadableError(PictureError):
    """A picture's file is missing, changed, or on a failing disk: the machine's fault, so it is tried again."""


class ChangedError(ModelError):
    """The code or the pictures behind a key have changed since the run began."""


class LoadError(ModelError):
    """A model cannot be loaded in this environment or on this device, or its server gives no answer.

    `final` if the configuration is at fault: no other device and no later time will help.
    """

    def __init__(self, message: str, *, final: bool = False) -> None:
        super().__init__(message)
        self.final = final


class RunInterrupted(KeyboardInterrupt):
    """The run in `run_dir` was interrupted by `signal`. Everything done so far is kept."""

    def __init__(self, run_dir: Path, signal: int) -> None:
        super().__init__(f"signal {signal}")
        self.run_dir = run_dir
        self.signal = signal

    @property
    def exit_code(self) -> int:
        """128 and the signal's number, as in shells."""
        return 128 + self.signal
