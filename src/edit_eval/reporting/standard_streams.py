"""The command's own stdout and stderr, tolerant of readers that are gone or slow, or support few characters."""

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
    """A stream's descriptor; if another program has made it non-blocking, writes wait until it is ready."""

    def write(self, data: Any, /) -> int:
        """Writes all data: neither the caller nor Python's own buffer retries with what is left."""
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
    """A descriptor that discards output once its reader has gone (`| head -1`).

    A closed pipe is thus silent, leaves the exit code unchanged, and does not stop a run.
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
        """True if the reader of a pipe has gone, or the terminal was closed."""
        if error.errno == errno.EIO:
            return stat.S_ISCHR(os.fstat(self.fileno()).st_mode)
        return isinstance(error, BrokenPipeError)


def tolerant_stream(stream: Any) -> Any:
    """Returns the stream made tolerant of a reader that has gone, and of characters the terminal does not support."""
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
def reserve_stdout() -> Iterator[IO[str]]:
    """Yields a stream to stdout; all other output to stdout goes to stderr meanwhile, and from then to the exit.

    Used by commands whose stdout is one document while they run code that is not ours, which may call Python's
    `print`, C's `printf` or other programs.
    """
    before = sys.stdout
    before.flush()
    try:
        descriptor = before.fileno()
    except (OSError, ValueError):  # not a stream of the system
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
            atexit.register(_send_to_stderr)  # the last one registered is called first


def _send_to_stderr() -> None:
    sys.stdout = sys.stderr
    with contextlib.suppress(OSError):  # it may be closed
        os.dup2(2, 1)
