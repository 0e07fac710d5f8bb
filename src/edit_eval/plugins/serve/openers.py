"""The pool of openers (`opening.py`) as the service sees it: bytes go in, and checked pairs come out."""

from __future__ import annotations

import contextlib
import heapq
import io
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from edit_eval.errors import PictureError
from edit_eval.plugins.serve.doors import BadRequest, Door, Given
from edit_eval.plugins.serve.opening import (
    LONGEST_ANSWER,
    SECONDS,
    Opened,
    Order,
    receive_message,
    restore_bytes,
    send_message,
)

T = TypeVar("T")
MOST_OPENERS = 4
LEAST_SHARE = 1 << 16
"""Bytes: requests of fewer are of one size when turns are taken."""
TRIES = 3
"""How often a request is opened if something other than its own bytes ended the opener."""
OF_THE_REQUEST = frozenset(
    (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE, signal.SIGXCPU, signal.SIGXFSZ)
)
"""Signals by which a process ends of what it reads. All others come from outside: it was killed, perhaps because the
machine is short of memory, or stopped."""
TOO_LONG = "it took more processor time than a request of its size may"
STANDSTILL = 20.0
"""Seconds without any processor time after which an opener that has not answered is given up: on a machine that is busy
it gets some, so it has been stopped, or waits for a disk that does not answer."""
LOOKED_EVERY = 2.0
PICTURE_SECONDS = 60.0
"""Time for one picture, most of which may be spent waiting for others."""
_HEADROOM = 1 << 20
"""What a document may have beside the pairs' texts: digests and sizes are counted with them, so very little."""


class NoOpener(Exception):
    """No opener could be started or kept (out of descriptors, processes or memory), or the service ends."""


class OpeningTimeout(Exception):
    """Not opened before the client's patience was over."""


class OpenerStalled(OSError):
    """An opener has done nothing for `STANDSTILL` seconds."""


class Openers:
    """As many openers as processors, from two to four; those that end are replaced when they are needed."""

    def __init__(self, count: int = 0) -> None:
        self._count = count or min(MOST_OPENERS, max(2, os.cpu_count() or 2))
        self._queue = FairQueue(self._count)
        self._free: queue.LifoQueue[_Opener | None] = queue.LifoQueue()
        """One for each thread; None where it has not been started, or has ended."""
        for _ in range(self._count):
            self._free.put(None)
        self._all: set[_Opener] = set()
        self._changing = threading.Lock()
        self._closed = False
        self.ended = 0
        """Openers that have ended over a request."""

    def start(self) -> None:
        """Starts all of them before the first request, which would wait for their imports."""
        for opener in [self._free.get() for _ in range(self._count)]:
            with contextlib.suppress(NoOpener):  # it is tried again when it is needed
                opener = opener or self._start()
            self._free.put(opener)

    def read(
        self, body: bytearray, doors: Sequence[Door], root: Path | None, until: float, client: str = ""
    ) -> Future[tuple[str, Given]]:
        """Has a request's body opened: the name of its door, and its pairs; `body` is emptied.

        `client` is whose it is, for its turn. `until` is by `time.monotonic`. Its errors: `BadRequest` with the reason,
        `Late`, `NoOpener`.
        """
        order = Order(len(body), SECONDS, [door.name for door in doors], str(root or ""))

        def pairs() -> tuple[str, Given]:
            opened, data = self._ask(order, body, until)
            every = dict(zip((digest for digest, _ in opened.pictures), data, strict=True))
            return opened.door, opened.given._replace(pairs=[restore_bytes(pair, every) for pair in opened.given.pairs])

        return self._queue.take(client, len(body), pairs)

    def decode_small(self, picture: bytes, side: int, draft: int = 0) -> bytes:
        """Has a picture decoded, as `pictures.small_rgb` or, without `draft`, `thumbnail`. Raises `PictureError`."""
        until = time.monotonic() + PICTURE_SECONDS
        try:
            order = Order(len(picture), SECONDS, side=side, draft=draft)
            turn = self._queue.take("", len(picture), lambda: self._ask(order, bytearray(picture), until))
            return turn.result()[1][0]
        except (BadRequest, OpeningTimeout, NoOpener) as error:
            raise PictureError(str(error)) from error

    def close(self) -> None:
        """Ends all openers; what they were opening is `NoOpener`."""
        with self._changing:
            self._closed = True
            for opener in self._all:
                opener.kill()
        self._queue.close()
        for opener in self._all:
            opener.end()

    def _ask(self, order: Order, body: bytearray, until: float) -> tuple[Opened, list[bytes]]:
        """Asks an opener, which is replaced if it does not answer.

        One that was ended by something else than the request does not count against it: another is asked. Where that
        goes on, it is `NoOpener`: the client may try again. One that crashes is asked once more.
        """
        opener = self._free.get()
        crashed = False
        try:
            for _ in range(TRIES):
                if time.monotonic() > until:
                    raise OpeningTimeout
                opener = opener or self._start()
                ending, opener = opener, None
                try:
                    opened, data = ending.ask(order, body, until)
                except (OSError, ValueError, EOFError) as error:
                    late, stood = isinstance(error, TimeoutError), isinstance(error, OpenerStalled)
                    if late or stood:
                        ending.kill()
                    over = self._forget(ending)
                    if self._closed:
                        raise NoOpener from None
                    if late:
                        raise OpeningTimeout from None
                    if stood or (over < 0 and -over not in OF_THE_REQUEST):
                        continue
                    if crashed or over == -signal.SIGXCPU:
                        self.ended += 1
                        raise BadRequest(f"refused: the process that opened it has ended ({_words(over)})") from error
                    crashed = True
                except BaseException:  # it would take what is said next for the rest of this
                    ending.kill()
                    self._forget(ending)
                    raise
                else:
                    opener = ending
                    if opened.refused:
                        raise BadRequest(opened.refused)
                    return opened, data
            raise NoOpener("the processes that open requests are ended or stopped from outside")
        finally:
            self._free.put(opener)

    def _start(self) -> _Opener:
        with self._changing:
            if self._closed:
                raise NoOpener
            try:
                opener = _Opener()
            except OSError as error:
                raise NoOpener(error.strerror) from error
            self._all.add(opener)
        return opener

    def _forget(self, opener: _Opener) -> int:
        """Ends an opener; returns its exit code, negative for a signal."""
        with self._changing:
            self._all.discard(opener)
        return opener.end()


def _words(over: int) -> str:
    if over == -signal.SIGXCPU:
        return TOO_LONG
    return signal.Signals(-over).name if over < 0 else f"exit code {over}"


class FairQueue:
    """Work done by a few threads, each client's in fair turns: start-time fair queueing (Goyal, Vin and Cheng, 1996).

    What a client sends waits behind its own, and beside that of others, however much they send. Large and small work of
    one client are two, so that what is small need not wait for what is large: many clients may come from one address.
    """

    def __init__(self, count: int) -> None:
        self._changed = threading.Condition()
        self._waiting: list[tuple[float, int, Future[Any], Callable[[], Any]]] = []
        self._last: dict[tuple[str, int], float] = {}  # when the last work of each would be done
        self._now = 0.0  # the beginning of the work taken last, in bytes
        self._number = 0
        self._closed = False
        self._threads = [threading.Thread(target=self._work, name=f"opener-{n}", daemon=True) for n in range(count)]
        for thread in self._threads:
            thread.start()

    def take(self, client: str, size: int, do: Callable[[], T]) -> Future[T]:
        """Has something done in its turn. Raises `NoOpener` once closed."""
        future: Future[T] = Future()
        flow = client, max(size, LEAST_SHARE).bit_length()
        with self._changed:
            if self._closed:
                raise NoOpener
            begin = max(self._now, self._last.get(flow, 0.0))
            self._last[flow] = begin + max(size, LEAST_SHARE)
            self._number += 1
            heapq.heappush(self._waiting, (begin, self._number, future, do))
            self._changed.notify()
        return future

    def close(self) -> None:
        """Ends the threads; what waits is `NoOpener`."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        for _, _, future, _ in self._waiting:
            if future.set_running_or_notify_cancel():
                future.set_exception(NoOpener())

    def _work(self) -> None:
        while True:
            with self._changed:
                while not (self._waiting or self._closed):
                    self._changed.wait()
                if self._closed:
                    return
                begin, _, future, do = heapq.heappop(self._waiting)
                self._now = max(self._now, begin)
                self._last = {flow: last for flow, last in self._last.items() if last > self._now}
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(do())
            except BaseException as error:
                future.set_exception(error)
            del future, do


class _Opener:
    """One process."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self.process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "edit_eval.plugins.serve.opening", str(theirs.fileno())],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,  # Ctrl-C is for the service, which answers what it has admitted
                    env={name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"},
                )
            except BaseException:
                ours.close()
                raise
        self._socket = _Watched(ours, self.process.pid)
        self._file: io.BufferedRWPair = io.BufferedRWPair(self._socket, self._socket, 1 << 16)

    def ask(self, order: Order, body: bytearray, until: float) -> tuple[Opened, list[bytes]]:
        """Sends an order; returns the answer, and then empties `body`. Raises `OSError`, `EOFError`, `ValueError`."""
        self._socket.begin(until)
        send_message(self._file, msgspec.msgpack.encode(order), [body])
        opened: Opened | None = receive_message(self._file, Opened, LONGEST_ANSWER + _HEADROOM)
        if opened is None:
            raise EOFError
        data = [self._file.read(size) for _, size in opened.pictures]
        if [len(picture) for picture in data] != [size for _, size in opened.pictures]:
            raise EOFError
        body.clear()
        return opened, data

    def kill(self) -> None:
        """Ends it at once; may be called from any thread."""
        self.process.kill()

    def end(self) -> int:
        """Ends it, if it has not ended; returns its exit code, negative for a signal."""
        try:
            over = self.process.wait(1)  # the end of its socket is seen a moment before its own
        except subprocess.TimeoutExpired:
            self.process.kill()
            over = self.process.wait()
        for stream in (self._file, self._socket):
            with contextlib.suppress(OSError):
                stream.close()
        return over


class _Watched(io.RawIOBase):
    """The socket of an opener: it is waited for as long as the opener does something, and time is left."""

    def __init__(self, ours: socket.socket, process: int) -> None:
        super().__init__()
        self._socket, self._process = ours, process
        self.begin(0.0)

    def begin(self, until: float) -> None:
        """Starts to wait, at most `until` (by `time.monotonic`)."""
        self._until, self._since, self._used = until, time.monotonic(), -1

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Raises `TimeoutError` when time is over, `OpenerStalled`, and other `OSError`."""
        return self._retry_until_deadline(self._socket.recv_into, buffer)

    def write(self, data: Any) -> int:
        """Raises what `readinto` does."""
        return self._retry_until_deadline(self._socket.send, data)

    def close(self) -> None:
        if not self.closed:
            self._socket.close()
        super().close()

    def _retry_until_deadline(self, do: Callable[[Any], int], data: Any) -> int:
        while True:
            self._socket.settimeout(min(LOOKED_EVERY, max(0.1, self._until - time.monotonic())))
            try:
                return do(data)
            except TimeoutError:
                now = time.monotonic()
                if now > self._until:
                    raise
                if (used := _processor_time(self._process)) is None or used != self._used:
                    self._used, self._since = used or 0, now
                elif now - self._since > STANDSTILL:
                    raise OpenerStalled from None


def _processor_time(process: int) -> int | None:
    """Returns the nanoseconds of processor time that a process has had; None where that cannot be known."""
    try:
        return int(Path(f"/proc/{process}/schedstat").read_text().split()[0])
    except (OSError, ValueError, IndexError):  # elsewhere than on Linux
        return None
