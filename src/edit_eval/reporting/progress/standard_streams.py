"""The command's own stdout and stderr: a reader that is gone, or slow, or knows few characters is no fault."""

from __future__ import annotations

import atexit
import contextlib
import errno
import io
import os
import select
import stat
import sys
from collections.abc import Iterator
from typing import IO, Any


class Descriptor(io.FileIO):
    """A stream's descriptor; where another program has made it non-blocking, it is waited for."""

    def write(self, data: Any, /) -> int:
        """Writes all of it: neither who wrote it nor Python's own buffer tries again with what is left."""
        left = memoryview(data).cast("B")
        while left:
            written = self._write(left)
            if written is None:
                select.select([], [self], [])
            else:
                left = left[written:]
        return memoryview(data).nbytes

    def _write(self, data: memoryview) -> int | None:
        return super().write(data)


class Outlet(Descriptor):
    """A descriptor that, once nobody reads what is written there any more (`| head -1`), goes nowhere.

    So a closed pipe is silence, the exit code is what it would have been, and a run goes on to its end.
    """

    def _write(self, data: memoryview) -> int | None:
        try:
            return super()._write(data)
        except OSError as error:
            if not self._is_gone(error):
                raise
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)
        return 0

    def _is_gone(self, error: OSError) -> bool:
        """Whether there is no reader any more: of a pipe, or of a terminal that was closed."""
        if error.errno == errno.EIO:
            return stat.S_ISCHR(os.fstat(self.fileno()).st_mode)
        return isinstance(error, BrokenPipeError)


def forgiving(stream: Any) -> Any:
    """The stream, to which a reader that is gone or a character that the terminal does not know is no fault."""
    if stream is None:  # closed before we began (`>&-`)
        return open(os.devnull, "w", encoding="utf-8")
    if stream in (sys.__stdout__, sys.__stderr__) and isinstance(stream, io.TextIOWrapper):
        stream.flush()
        outlet = Outlet(stream.fileno(), "w", closefd=False)
        stream = io.TextIOWrapper(
            outlet if stream.write_through else io.BufferedWriter(outlet),
            stream.encoding,
            line_buffering=stream.line_buffering,
            write_through=stream.write_through,
        )
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return stream


@contextlib.contextmanager
def set_apart() -> Iterator[IO[str]]:
    """A stream to what stdout is; what anybody else prints goes to stderr meanwhile, and at the process's end.

    That is for a command whose stdout is one document, while it runs code that is not ours: Python's `print`, C's
    `printf`, and programs that are started.
    """
    before = sys.stdout
    before.flush()
    try:
        descriptor = before.fileno()
    except (OSError, ValueError):  # no stream of the system's
        descriptor = -1
    if descriptor != 1:
        sys.stdout = sys.stderr
        try:
            yield before
        finally:
            sys.stdout = before
        return
    kept = os.dup(1)
    with io.TextIOWrapper(
        io.BufferedWriter(Outlet(kept, "w")), encoding=before.encoding, errors="backslashreplace"
    ) as document:
        sys.stdout = sys.stderr
        _send_to_stderr()
        try:
            yield document
        finally:
            sys.stderr.flush()
            document.flush()
            os.dup2(kept, 1)
            sys.stdout = before
            atexit.register(_send_to_stderr)  # the last to be registered is the first to be called


def _send_to_stderr() -> None:
    sys.stdout = sys.stderr
    with contextlib.suppress(OSError):  # it may be closed
        os.dup2(2, 1)
