"""The local driver: each worker is a process on this machine, started directly by the interpreter of its environment.

A worker has a private pipe in each direction, and the engine also watches the process itself: a pipe shared by workers
deadlocks when one is killed, and a grandchild may keep a dead worker's pipe open. Nothing here ever waits for one
worker.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, Self

from edit_eval.config.schema import Configuration
from edit_eval.execution.contract import FLEET, Event, WorkerSpecification
from edit_eval.execution.engine.conversation import Conversation
from edit_eval.execution.machine.devices import LocalMachine, environment_for
from edit_eval.execution.machine.environments import worker_command
from edit_eval.execution.machine.space import SHORT_OF
from edit_eval.privacy import hide_secrets
from edit_eval.workers.messages import Message, MessageStream, encode

LAST_BYTES = 1 << 16  # size of a log's tail in which its last line is looked for
CLOSE_SECONDS = 5.0  # how long killed processes may take to end
SIGNS = {os.strerror(number): what for number, what in SHORT_OF.items()}
SIGNS["can't start new thread"] = SHORT_OF[errno.EAGAIN]
"""The same in Python's words, in the last line of a process that could not even begin."""


@dataclass(eq=False)
class Process:
    """One worker's process and its two pipes."""

    number: int
    process: subprocess.Popen[bytes]
    sentinel: int
    """Becomes readable when the process has ended."""
    into: int
    out: int
    log: Path
    lines: MessageStream = field(default_factory=MessageStream)
    conversation: Conversation = field(default_factory=Conversation)
    unsent: bytearray = field(default_factory=bytearray)
    heard: bool = False
    """True if it has said anything: that it is prepared, or why it cannot be."""
    fault: str = ""
    """Why it had to be killed."""

    @classmethod
    def begin(
        cls, number: int, command: Sequence[str], environment: Mapping[str, str], output: IO[bytes], log: Path
    ) -> Process:
        """Starts the process, which prints into `output`. Raises `OSError`, and then leaves nothing behind."""
        with contextlib.ExitStack() as its, contextlib.ExitStack() as ours:
            child_in, into = os.pipe()
            its.callback(os.close, child_in)
            ours.callback(os.close, into)
            out, child_out = os.pipe()
            its.callback(os.close, child_out)
            ours.callback(os.close, out)
            for end in (into, out):
                os.set_blocking(end, False)
            process = subprocess.Popen(
                [*command, str(child_in), str(child_out)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=(child_in, child_out),
                env=environment,
                start_new_session=True,  # a Ctrl-C at the terminal is for the engine
            )
            ours.callback(process.wait)
            ours.callback(kill_group, process.pid)
            sentinel = sentinel_of(process)
            ours.pop_all()
            return cls(number, process, sentinel, into, out, log)


class LocalDriver:
    """Starts workers on this machine.

    With these variables, by default those of this process.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = dict(os.environ if environment is None else environment)
        self._processes: dict[int, Process] = {}
        self._events: list[Event] = []
        self._began = 0.0

    @classmethod
    def from_configuration(cls, configuration: Configuration) -> Self:
        """Returns this machine; the configuration has nothing to say of it."""
        return cls()

    @functools.cached_property
    def _selector(self) -> selectors.BaseSelector:
        """Opened on first use, when the driver's clock starts."""
        self._began = time.monotonic()
        return selectors.DefaultSelector()

    @functools.cached_property
    def _entries(self) -> dict[str, str]:
        """What `CUDA_VISIBLE_DEVICES` calls the GPUs, as they were when the first worker began."""
        return LocalMachine(self._environment).entries()

    def wait_for(self, descriptor: int, do: Callable[[], object]) -> None:
        """Has `poll` also wait for input there, and then call `do`."""
        self._selector.register(descriptor, selectors.EVENT_READ, (FLEET, do))

    def machine(self) -> LocalMachine:
        """Returns this machine, as those variables show it."""
        return LocalMachine(self._environment)

    def start(self, worker: int, specification: WorkerSpecification) -> None:
        """Starts the process and tells it what to prepare."""
        python = specification.python or sys.executable
        variables, devices = environment_for(specification.devices, self._environment, self._entries)
        log = Path(os.devnull)
        if specification.logs is not None:
            specification.logs.mkdir(parents=True, exist_ok=True)
            log = specification.logs / f"{specification.name}.log"
        try:
            output = log.open("ab")
        except OSError as error:
            if error.errno not in SHORT_OF:
                raise
            return self._cannot_start(worker, python, error)
        with output:
            try:
                made = Process.begin(worker, worker_command(python), {**self._environment, **variables}, output, log)
            except OSError as error:
                return self._cannot_start(worker, python, error)
        self._processes[worker] = made
        self._selector.register(made.out, selectors.EVENT_READ, (worker, functools.partial(self._read, made)))
        self._selector.register(
            made.sentinel, selectors.EVENT_READ, (worker, functools.partial(self._handle_exit, made))
        )
        order = {
            "do": "prepare",
            "class_path": specification.class_path,
            "parameters": dict(specification.parameters),
            "path": [os.path.abspath(folder) for folder in specification.import_path],
            "revision": specification.revision,
            "devices": devices,
            "forms": specification.forms,
        }
        if specification.server is not None:
            kept = specification.logs and str((specification.logs / f"{specification.name}-server.log").absolute())
            order["server"] = asdict(replace(specification.server, log=kept or ""))
        self.submit(worker, order)

    def _cannot_start(self, worker: int, python: str, error: OSError) -> None:
        lack = SHORT_OF.get(error.errno or 0)
        reason = f"cannot start {python}: " + (lack or error.strerror or str(error))
        self._say_broken(worker, reason, "machine" if lack else "exception")
        self._events.append(Event(worker, {"event": "died", "reason": reason}))

    def _say_broken(self, worker: int, reason: str, kind: str) -> None:
        """Reports why a worker cannot be prepared, for one that cannot do so itself."""
        self._events.append(Event(worker, {"event": "broken", "error": reason, "trace": "", "kind": kind}))

    def submit(self, worker: int, message: Message) -> None:
        """Sends a message, now or as soon as the worker reads."""
        process = self._processes.get(worker)
        if process is not None:
            process.conversation.record_order(message)
            process.unsent += encode(message)
            self._send(process)

    def _send(self, process: Process) -> None:
        try:
            while process.unsent:
                written = os.write(process.into, process.unsent)
                del process.unsent[:written]
        except BlockingIOError:
            if process.into not in self._selector.get_map():
                send = functools.partial(self._send, process)
                self._selector.register(process.into, selectors.EVENT_WRITE, (process.number, send))
            return
        except OSError:
            process.unsent.clear()  # it is dying, which its sentinel will report
        if process.into in self._selector.get_map():
            self._selector.unregister(process.into)

    def poll(self, seconds: float) -> tuple[float, Sequence[Event]]:
        """Waits for messages and deaths."""
        selector = self._selector
        if not self._events:
            for key, _ in selector.select(seconds):
                worker, do = key.data
                if worker in self._processes or worker == FLEET:
                    do()
        events, self._events = self._events, []
        return time.monotonic() - self._began, events

    def _read(self, process: Process) -> bool:
        """Reads what the worker has said. True if there may be more."""
        try:
            data = os.read(process.out, 1 << 20)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            if process.out in self._selector.get_map():
                self._selector.unregister(process.out)  # the sentinel reports the rest
            return False
        if process.fault:
            return True  # nothing it says is trusted any more
        try:
            for message in process.lines.feed(data):
                if process.conversation.accept_message(message):
                    self._events.append(Event(process.number, message))
                process.heard = True
        except ValueError as error:  # a model that writes into every descriptor, or an endless answer
            process.fault = f"it was killed because it wrote into the pipe reserved for edit-eval ({error})"
            self.kill(process.number)
        return True

    def _handle_exit(self, process: Process) -> None:
        # Processes that the model started die with its worker. Before `wait`: until then its number cannot be reused.
        kill_group(process.process.pid)
        while self._read(process):
            pass
        code = process.process.wait()
        self._forget(process)
        reason = process.fault or reason_of(code)
        if code > 0 and not process.heard:  # its environment did not get as far as reporting why
            said = last_line(process.log)
            if lack := next((what for words, what in SIGNS.items() if words in said), ""):
                reason += f": {lack}"
            elif said:
                reason += f" ({said}; more in {process.log})"
            self._say_broken(process.number, reason, "machine" if lack else "exception")
        self._events.append(Event(process.number, {"event": "died", "reason": reason}))

    def _forget(self, process: Process) -> None:
        for descriptor in (process.out, process.sentinel, process.into):
            if descriptor in self._selector.get_map():
                self._selector.unregister(descriptor)
            os.close(descriptor)
        del self._processes[process.number]

    def kill(self, worker: int) -> None:
        """Sends SIGKILL to the worker and everything it started."""
        process = self._processes.get(worker)
        if process is not None:
            kill_group(process.process.pid)

    def close(self) -> None:
        """Kills all workers and waits until they have ended."""
        for process in self._processes.values():
            kill_group(process.process.pid)
        for process in list(self._processes.values()):
            try:
                process.process.wait(CLOSE_SECONDS)
            except subprocess.TimeoutExpired:
                pass  # in an uninterruptible call of the driver; it will die when that returns
            self._forget(process)
        self._selector.close()


def sentinel_of(process: subprocess.Popen[bytes]) -> int:
    """Returns a descriptor that becomes readable when the process has ended; it must still be waited for."""
    try:
        return os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # a system other than Linux, a kernel before 5.3, a sandbox
        sentinel, other_end = os.pipe()

    def wait() -> None:
        try:
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        except (AttributeError, OSError):
            process.wait()
        os.close(other_end)

    threading.Thread(target=wait, daemon=True).start()
    return sentinel


def kill_group(process_id: int) -> None:
    """Ends a process and its descendants; it leads a session of its own."""
    for end in (os.killpg, os.kill):
        try:
            end(process_id, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


def how_it_ended(code: int) -> str:
    """Explains a process's return code, for people."""
    if code >= 0:
        return f"ended with exit code {code}"
    known = -code in signal.Signals._value2member_map_
    return f"was killed by {signal.Signals(-code).name if known else f'signal {-code}'}"


def reason_of(code: int) -> str:
    """Does the same for a worker's process, with a possible cause."""
    hint = " (the kernel may have run out of memory)" if code == -signal.SIGKILL else ""
    return f"its process {how_it_ended(code)}{hint}"


def last_line(log: Path) -> str:
    """Returns a log's last line, without secrets, at most 300 characters; empty if there is none."""
    try:
        with log.open("rb") as file:
            begin = file.seek(max(0, file.seek(0, os.SEEK_END) - LAST_BYTES))
            text = hide_secrets(file.read().decode(errors="replace"))
    except OSError:
        return ""
    if begin:
        text = text.partition("\n")[2]  # the first line may begin within a secret
    return next((line.strip()[:300] for line in reversed(text.split("\n")) if line.strip()), "")
