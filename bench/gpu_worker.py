"""Drives one real worker process as the engine does: JSON lines over two pipes, with the next task prefetched."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from edit_eval.workers.messages import Message, MessageStream, encode, write_all

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parent / "src"


class WorkerFailed(Exception):
    """A worker that cannot go on, with the end of its log."""


def environment() -> dict[str, str]:
    """Returns the environment of child processes: the source tree, no network, no extra threads on a CPU."""
    paths = [str(SOURCES), str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
    }


class Worker:
    """A worker's process, which begins importing at once.

    Every wait ends at `deadline` (of `time.monotonic`) with `WorkerFailed`. `held` is the GPU memory in bytes that
    torch last reported to hold in it.
    """

    def __init__(self, class_path: str, parameters: Mapping[str, Any], device: str, log: Path, deadline: float) -> None:
        self._log, self.deadline = log, deadline
        self._lines, self._messages = MessageStream(), list[Message]()
        self.held = 0
        child_in, self._into = os.pipe()
        self._out, child_out = os.pipe()
        with log.open("ab") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "edit_eval.workers.process", str(child_in), str(child_out)],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                pass_fds=(child_in, child_out),
                env=environment(),
                start_new_session=True,
            )
        os.close(child_in)
        os.close(child_out)
        order = {"role": "", "class_path": class_path, "parameters": dict(parameters)}
        self.send(do="prepare", **order, path=[str(SOURCES), str(HERE)], revision="", devices=[device])

    def send(self, **message: Any) -> None:
        """Sends the worker a message."""
        try:
            write_all(self._into, encode(message))
        except BrokenPipeError:
            raise WorkerFailed(self._ending("it has ended")) from None

    def wait(self, *events: str) -> Message:
        """Returns the next message that is one of `events`; skips steps and begins in between."""
        while True:
            message = self._next()
            self.held = message.get("memory", {}).get("device", self.held)
            if message["event"] in events:
                return message
            if message["event"] in ("broken", "failed"):
                raise WorkerFailed(self._ending(str(message["error"])))

    def _next(self) -> Message:
        while not self._messages:
            left = self.deadline - time.monotonic()
            ready, _, _ = select.select([self._out], [], [], max(0.0, left))
            if not ready:
                raise WorkerFailed(self._ending("its part's time is over"))
            data = os.read(self._out, 1 << 16)
            if not data:
                raise WorkerFailed(self._ending("it has ended"))
            self._messages.extend(self._lines.feed(data))
        return self._messages.pop(0)

    def load(self) -> Message:
        """Tells it to load, once it has finished importing; returns its `loaded` message."""
        self.wait("prepared")
        self.send(do="load", offload="none")
        return self.wait("loaded")

    def run(self, tasks: Sequence[Mapping[str, Any]]) -> list[Message]:
        """Runs the tasks, keeping one prefetched; returns the worker's message for each."""
        waiting, done = [dict(task) for task in tasks], list[Message]()
        for _ in range(2):
            if waiting:
                self.send(do="run", **waiting.pop(0))
        while len(done) < len(tasks):
            done.append(self.wait("done"))
            if waiting:
                self.send(do="run", **waiting.pop(0))
        return done

    def stop(self) -> float:
        """Ends it as the engine does; returns the seconds until the process ended."""
        begin = time.monotonic()
        self.send(do="stop")
        self.wait("ended")
        self.process.wait(max(1.0, self.deadline - time.monotonic()))
        return time.monotonic() - begin

    def close(self) -> None:
        """Kills it if it is still running."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        for descriptor in (self._into, self._out):
            if descriptor >= 0:
                os.close(descriptor)
        self._into = self._out = -1

    def _ending(self, reason: str) -> str:
        lines = self._log.read_text("utf-8", "replace").strip().splitlines()[-3:]
        return " | ".join([reason, *lines])


@contextmanager
def worker(class_path: str, parameters: Mapping[str, Any], device: str, log: Path, deadline: float) -> Iterator[Worker]:
    """Starts a worker, and ends it in any case."""
    made = Worker(class_path, parameters, device, log, deadline)
    try:
        yield made
    finally:
        made.close()


@contextmanager
def at_fault(made: Worker) -> Iterator[None]:
    """Ends the worker if the block fails: it may hold memory, or still be at work."""
    try:
        yield
    except BaseException:
        made.close()
        raise


def memory_used(device: str) -> float:
    """Returns the bytes used on the GPU by all processes, according to the driver; 0 without a GPU.

    The benchmark itself has no context on the GPU, so it adds nothing. Raises `WorkerFailed` if the driver does not
    tell.
    """
    if not device.startswith("cuda"):
        return 0.0
    index = int(device.partition(":")[2] or 0)
    shown = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    name = shown.split(",")[index] if shown else str(index)
    command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "-i", name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
        return float(done.stdout.split()[0]) * 2**20
    except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
        raise WorkerFailed(f"nvidia-smi does not say how much memory is taken: {error}") from None


def seconds_until_free(device: str, before: float, begin: float, patience: float = 20.0) -> float:
    """Returns the seconds from `begin` until at most `before` bytes (plus a quarter of a GiB) are used on the GPU."""
    while memory_used(device) > before + 2**28:
        if time.monotonic() - begin > patience:
            raise WorkerFailed(f"the GPU's memory was not free again {patience:.0f} s after its worker was stopped")
    return time.monotonic() - begin
