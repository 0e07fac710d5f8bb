"""Turns Ctrl-C and SIGTERM into requests that the engine checks between events."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

from edit_eval.errors import Stopped

GRACE_SECONDS = 10.0  # after SIGTERM, as clusters give it
ANNOUNCED = (signal.SIGTERM, signal.SIGUSR1)
"""Signals that announce that the process will be killed soon."""


ENDED = "SIGUSR1: all finished work is kept; rerun the same command to resume"


@contextlib.contextmanager
def stop_on_signal() -> Iterator[None]:
    """Raises `Stopped` on SIGUSR1 within its block, for when nothing is under way, so nothing has to be drained."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def came(number: int, frame: FrameType | None) -> None:
        raise Stopped(ENDED)

    before = signal.signal(signal.SIGUSR1, came)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, signal.SIG_DFL if before is None else before)


class Interruption:
    """Within its block the first Ctrl-C means *finish what is under way*, the second *stop at once*.

    SIGTERM, and SIGUSR1 (with which Slurm announces the end of a job's time), mean the first, and after `grace` seconds
    the second. Outside the main thread signals cannot be caught, and nothing is interrupted.
    """

    def __init__(self, grace: float = GRACE_SECONDS) -> None:
        self._grace = grace
        self.signal: int | None = None
        """The first signal received."""
        self._count = 0
        self._since = 0.0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, *ANNOUNCED):
                self._before[number] = signal.signal(number, self._came)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)  # None: it was not Python's

    def _came(self, number: int, frame: FrameType | None) -> None:
        if self.signal is None:
            self.signal, self._since = number, time.monotonic()
        self._count += 1

    def __call__(self) -> str:
        """Returns `""`, `drain` or `now`."""
        if self.signal is None:
            return ""
        late = self.signal in ANNOUNCED and time.monotonic() - self._since > self._grace
        return "now" if self._count > 1 or late else "drain"
