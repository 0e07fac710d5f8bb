"""Ctrl-C and SIGTERM, as wishes that the engine asks for between two events."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any

GRACE_SECONDS = 10.0  # after SIGTERM, as clusters give it


class Interruption:
    """Within its block the first Ctrl-C means *finish what is under way*, the second *stop at once*.

    SIGTERM means the first, and the second after a grace of 10 seconds. Outside of the main thread signals cannot be
    had, and nothing is interrupted.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        """The signal that came first."""
        self._count = 0
        self._since = 0.0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
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
        """`""`, `drain` or `now`."""
        if self.signal is None:
            return ""
        late = self.signal == signal.SIGTERM and time.monotonic() - self._since > GRACE_SECONDS
        return "now" if self._count > 1 or late else "drain"
