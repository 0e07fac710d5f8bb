"""The agent on each machine of a Ray cluster: a small actor that reserves its GPUs and starts workers there.

It is a local driver that is called through Ray. That driver carries out the engine's orders, so pipes, sentinels and
the end of a model's child processes work as on one machine. Messages of the agent and its workers are kept until the
engine's side asks (`hear`), which it always does: an agent no longer asked has no engine, and ends its workers.

Lines go there as bytes, many in one call. A worker's are `{"of": NUMBER, "say": MESSAGE}`, where `died` is added to
what workers say; the machine's own are in `edit_eval.execution.engine.conversation`.

Pictures stay where they are on a machine that sees the run directory. On one that does not, each file is sent once,
and an edit is fetched before its `done` counts (see `Files`).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import queue
import shutil
import struct
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from edit_eval.endpoints.serving import ServerEnvironment
from edit_eval.execution.contract import Gpu, Meter, WorkerSpecification
from edit_eval.execution.drivers.local import LocalDriver
from edit_eval.execution.machine.devices import LocalMachine
from edit_eval.execution.machine.environments import layers_digest
from edit_eval.plugins.preparation.weights import find_weights
from edit_eval.pretrained.host_memory import free_host_memory
from edit_eval.workers.messages import Message, MessageStream, encode

HEAR_SECONDS = 0.5
"""After which an agent answers even with nothing to say, so that silence is a fault, whether Ray notices it or not."""
HEAR_BYTES = 1 << 20
"""Most bytes of one answer."""
GATHER_SECONDS = 0.02
"""For which an answer waits for further messages, unless no worker has a task left: a call of Ray's costs each side as
much as a task does, and a worker has its next task in hand."""
LEASE_SECONDS = 5.0
"""After which an agent that is no longer asked ends."""
FIRST_SECONDS = 60.0
"""After which one ends that nobody has asked yet: where many begin at once, the first call comes late."""
METERS_EVERY = 1.0  # seconds
FRESH = 0.2
"""Seconds that the news of a loaded model may wait for the meters of that moment."""
KEPT_BYTES = 8 << 30
"""Most bytes of pictures kept on a machine without the run directory; beyond it the oldest go."""
LOG_BYTES = 1 << 16
"""Tail of a worker's log that is sent back from such a machine when the worker ends."""
LIBRARIES = ("edit-eval", "ray", "pillow", "numpy", "torch", "diffusers", "transformers", "accelerate", "safetensors")
FOLDER = "edit-eval-node-"
GATEWAY = 0
"""Takes the place of a machine's number in messages between engine and gateway."""
_HEAD = struct.Struct("!II")


def frame_bytes(number: int, data: bytes | bytearray) -> bytes:
    """Returns bytes for or from a machine as a frame, as they pass between engine and gateway."""
    return _HEAD.pack(number, len(data)) + data


class Frames:
    """Cuts the stream between them into frames."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Yields each machine's number and bytes that `data` completes."""
        self._data += data
        while len(self._data) >= _HEAD.size:
            number, size = _HEAD.unpack_from(self._data)
            end = _HEAD.size + size
            if len(self._data) < end:
                return
            frame = bytes(self._data[_HEAD.size : end])
            del self._data[:end]
            yield number, frame


def pictures_of(order: Message) -> Iterator[Message]:
    """Yields every file that an order to run names, as its `path` with `digest` or `pixels`; may be modified."""
    for views in (order.get("pictures", ()), *(request["pictures"] for request in order.get("requests", ()))):
        for view in views:
            for picture in (view, *(step[1] for step in view.get("steps", ()) if step[0] == "like")):
                yield picture.get("blank_like") or picture.get("made_of") or picture


def identify_picture(picture: Message) -> tuple[str, str]:
    """Returns the path of a picture's file, and what identifies its content."""
    return picture["path"], picture.get("pixels") or picture.get("digest", "")


class Files:
    """The pictures on this machine: maps the engine's paths to those here.

    Nothing is assumed: a file of the run directory is used in place only if the engine's token was seen there, any
    other only if it has the right digest.
    """

    def __init__(self) -> None:
        _sweep()
        self.folder = Path(tempfile.mkdtemp(prefix=f"{FOLDER}{os.getpid()}-"))
        self.shared = True
        self._run = ""
        self._here: dict[tuple[str, str], tuple[str, int]] = {}  # the engine's -> ours and its bytes; the oldest first
        self._bytes = 0

    def check_run_directory(self, run: str, token: str, text: str) -> bool:
        """True if the engine's run directory is here at the same path, and can be written."""
        self._run = os.path.join(run, "")
        try:
            seen = Path(run, token).read_text() == text
        except OSError:
            seen = False
        self.shared = seen and os.access(run, os.W_OK)
        return self.shared

    def find(self, name: tuple[str, str]) -> str:
        """Returns where a picture is here; empty if its file is still to come."""
        if name in self._here:
            self._here[name] = file = self._here.pop(name)
            return file[0]
        path, digest = name
        if self._run and path.startswith(self._run):
            return path if self.shared else ""
        there = _digest_of(path) == digest if digest else self.shared and os.path.isfile(path)
        if there:
            self._here[name] = path, 0
        return path if there else ""

    def keep(self, name: tuple[str, str], data: bytes) -> None:
        """Stores a file that has come."""
        path = self.folder / hashlib.sha256("\0".join(name).encode("utf-8", "surrogatepass")).hexdigest()
        path.write_bytes(data)
        self.add_file(name, path, len(data))

    def add_file(self, name: tuple[str, str], path: Path, size: int) -> None:
        """Adds a file that is ours to remove."""
        self._here[name] = str(path), size
        self._bytes += size
        while self._bytes > KEPT_BYTES:
            oldest = next((key for key, (_, bytes_) in self._here.items() if bytes_), name)
            gone, size = self._here.pop(oldest)
            self._bytes -= size
            Path(gone).unlink(missing_ok=True)

    def mark_unavailable(self, name: tuple[str, str]) -> None:
        """Notes that the engine cannot read it either: the worker will report that."""
        self._here[name] = name[0], 0


def _digest_of(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _sweep() -> None:
    """Removes the leftovers of agents that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER}*"):
        process = folder.name.removeprefix(FOLDER).partition("-")[0]
        if process.isdigit() and not os.path.exists(f"/proc/{process}"):
            shutil.rmtree(folder, ignore_errors=True)


def find_weight_faults(name: str, revision: str | None, dtype: str, environment: Mapping[str, str]) -> list[str]:
    """Returns the faults of the weights of that name here; none if they are complete."""
    weights = find_weights(name, revision, dtype, environment)
    return [f"{name} does not exist"] if weights.folder is None else [f"{name}: {fault}" for fault in weights.faults]


class Meters:
    """Reads this machine's meters once a second, or on request, in a thread of its own: a driver may hang."""

    def __init__(self, machine: LocalMachine) -> None:
        self._machine = machine
        self._asked = threading.Event()
        self._fresh = threading.Event()
        self.latest: dict[str, Meter] = {}
        threading.Thread(target=self._run, name="meters", daemon=True).start()

    def _run(self) -> None:
        with contextlib.suppress(Exception), self._machine.meters() as read:
            names = [gpu.name for gpu in self._machine.gpus()]
            while names:
                self.latest = {name: read(name) for name in names}
                self._fresh.set()
                self._asked.wait(METERS_EVERY)
                self._asked.clear()

    def refresh(self) -> None:
        """Waits a moment for a fresh reading."""
        if self.latest:
            self._fresh.clear()
            self._asked.set()
            self._fresh.wait(FRESH)


class Agent:
    """The actor. Calls through Ray only post work: all of it is done in one thread, the local driver's."""

    def __init__(self, name: str, gpus: int, variables: Mapping[str, str]) -> None:
        """`variables` are those of the command's environment that models need."""
        import ray  # it started this process; no other part needs it

        # Ray's own variables are not for models; it also sets the number of threads to one.
        ours = {k: v for k, v in os.environ.items() if not k.startswith("RAY_") and k != "OMP_NUM_THREADS"}
        reserved = ray.get_runtime_context().get_accelerator_ids()["GPU"]
        self._variables = {**ours, **variables, "CUDA_VISIBLE_DEVICES": ",".join(reserved)}
        self._name, self._gpus = name, gpus
        self._held: dict[int, deque[Message]] = {}  # orders of a worker that wait for pictures, and those behind them
        self._in_hand: set[tuple[int, int]] = set()  # worker and task of unfinished orders to run
        self._wanted: set[tuple[str, str]] = set()
        self._outputs: dict[tuple[int, int], tuple[str, Path]] = {}  # worker, task -> the engine's path, and ours
        self._logs: dict[int, Path] = {}
        self._to_do: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._bell, self._ring = os.pipe()
        self._lines, self._over = MessageStream(), False
        self._said, self._urgent, self._some = bytearray(), False, threading.Condition()
        self._asked, self._failure = time.monotonic() + FIRST_SECONDS - LEASE_SECONDS, ""
        self._files, self._driver = Files(), LocalDriver(self._variables)
        # Workers die with the thread that started them, so it must live as long as this process.
        self._thread = threading.Thread(target=self._run, name="driver", daemon=True)
        self._thread.start()
        threading.Thread(target=self._end_with_lease, name="lease", daemon=True).start()

    # -- called through Ray, each in a thread of Ray's --

    def hear(self) -> bytes:
        """Returns the messages since the last call; empty if there is none for a while."""
        self._asked = time.monotonic()
        with self._some:
            if self._some.wait_for(lambda: self._urgent, HEAR_SECONDS):
                self._some.wait_for(lambda: not self._in_hand, GATHER_SECONDS)
            said = bytes(self._said[:HEAR_BYTES])
            del self._said[:HEAR_BYTES]
            self._urgent = bool(self._said)
        if not said and self._failure:
            raise RuntimeError(self._failure)
        self._asked = time.monotonic()
        return said

    def tell(self, orders: bytes) -> None:
        """Takes lines from the engine."""
        self._do(partial(self._listen, orders))

    def take(self, worker: int, task: int) -> bytes:
        """Returns the bytes of an edit that was made here."""
        return self._outputs.pop((worker, task))[1].read_bytes()

    def keep(self, name: tuple[str, str], data: bytes | None) -> None:
        """Takes a picture that was wanted; None if the engine cannot read it either."""
        self._do(partial(self._receive_picture, name, data))

    def end(self) -> None:
        """Ends all workers and cleans up."""
        self._do(self._end)
        self._thread.join()

    def _do(self, what: Callable[[], object]) -> None:
        self._to_do.put(what)
        os.write(self._ring, b".")

    def _end_with_lease(self) -> None:
        while time.monotonic() - self._asked < LEASE_SECONDS:
            time.sleep(LEASE_SECONDS / 20)
        self._do(self._end)
        self._thread.join(LEASE_SECONDS)  # it may hang on a disk
        os._exit(1)

    # -- between the engine and the workers --

    def _run(self) -> None:
        try:
            machine = self._driver.machine()
            sent: dict[str, Meter] = {}
            self._meters = Meters(machine)
            self._tell(event="hello", **self._describe(machine))
            self._driver.wait_for(self._bell, self._work_off)
            while not self._over:
                _, events = self._driver.poll(METERS_EVERY)
                for worker, message in events:
                    self._forward_message(worker, message)
                if self._meters.latest is not sent:
                    sent = self._meters.latest
                    self._tell(event="meters", meters={name: [m.used, m.total, m.busy] for name, m in sent.items()})
        except Exception as error:
            self._failure = f"{type(error).__name__}: {error}"
        finally:
            self._driver.close()
            shutil.rmtree(self._files.folder, ignore_errors=True)

    def _end(self) -> None:
        self._over = True

    def _work_off(self) -> None:
        os.read(self._bell, 1 << 10)
        with contextlib.suppress(queue.Empty):
            while True:
                self._to_do.get_nowait()()

    def _tell(self, **message: Any) -> None:
        with self._some:
            self._said += encode(message)
            # A step can wait for the next message: there are many, and nothing depends on them.
            if message.get("say", message)["event"] != "step":
                if not (self._urgent and self._in_hand):  # else the reader knows, and more is to come
                    self._some.notify()
                self._urgent = True

    def _describe(self, machine: LocalMachine) -> Message:
        seen = machine.gpus()
        if len(seen) != self._gpus:  # devices that only Ray knows of
            seen = [Gpu(f"cuda:{n}", "", f"{self._name}-{n}", None, None) for n in range(self._gpus)]
        versions = {}
        for library in LIBRARIES:
            with contextlib.suppress(metadata.PackageNotFoundError):
                versions[library] = metadata.version(library)
        return {
            "gpus": [asdict(gpu) for gpu in seen],
            "layers": layers_digest(),
            "time": time.time(),
            "memory": free_host_memory(),
            "about": {
                "python": platform.python_version(),
                "platform": platform.platform(),
                "processors": os.cpu_count(),
                "libraries": versions,
            },
        }

    def _listen(self, orders: bytes) -> None:
        for message in self._lines.feed(orders):
            if "start" in message:
                self._start(message["start"], message["specification"])
            elif "send" in message:
                self._order(message["to"], message["send"])
            elif "kill" in message:
                self._driver.kill(message["kill"])
            elif "weights" in message:
                asked = [
                    find_weight_faults(name, revision, dtype, self._variables)
                    for name, revision, dtype in message["weights"]
                ]
                self._tell(event="lacking", texts=[text for each in asked for text in each])
            elif "run" in message:
                self._tell(event="shared", shared=self._files.check_run_directory(*message["run"]))

    def _start(self, worker: int, wanted: Message) -> None:
        if wanted["logs"] is not None:
            wanted["logs"] = Path(wanted["logs"]) if self._files.shared else self._files.folder / "logs"
            if not self._files.shared:
                self._logs[worker] = wanted["logs"] / f"{wanted['name']}.log"
        server = wanted.pop("server")
        specification = WorkerSpecification(**wanted, server=server and ServerEnvironment(**server))
        try:
            self._driver.start(worker, specification)
        except OSError as error:
            reason = f"cannot start {specification.python or sys.executable}: {error}"
            broken = {"event": "broken", "error": reason, "trace": "", "kind": "machine"}
            self._tell(of=worker, say=broken)
            self._tell(of=worker, say={"event": "died", "reason": reason})

    def _order(self, worker: int, order: Message) -> None:
        if order["do"] == "run":
            self._in_hand.add((worker, order["task"]))
        behind = self._held.get(worker)
        if behind is not None:
            behind.append(order)
        elif not self._send(worker, order):
            self._held[worker] = deque([order])

    def _send(self, worker: int, order: Message) -> bool:
        """Sends an order; False if pictures of it are still to come."""
        if order["do"] == "run":
            pictures = list(pictures_of(order))
            paths = [self._files.find(identify_picture(picture)) for picture in pictures]
            if not all(paths):
                missing = {identify_picture(picture) for picture, path in zip(pictures, paths, strict=True) if not path}
                if asked := sorted(missing - self._wanted):
                    self._wanted.update(asked)
                    self._tell(event="want", names=asked)
                return False
            for picture, path in zip(pictures, paths, strict=True):
                picture["path"] = path
            if not self._files.shared and "output" in order:
                ours = self._files.folder / f"{worker}-{order['task']}.png"
                self._outputs[worker, order["task"]] = order["output"], ours
                order["output"] = str(ours)
                order.pop("small_copies", None)  # a folder on the engine's machine; the report makes missing copies
        self._driver.submit(worker, order)
        return True

    def _receive_picture(self, name: tuple[str, str], data: bytes | None) -> None:
        self._wanted.discard(name)
        if data is None:
            self._files.mark_unavailable(name)
        else:
            self._files.keep(name, data)
        for worker, orders in list(self._held.items()):
            while orders and self._send(worker, orders[0]):
                orders.popleft()
            if not orders:
                del self._held[worker]

    def _forward_message(self, worker: int, message: Message) -> None:
        event = message["event"]
        if event in ("loaded", "died"):
            self._meters.refresh()
        if event == "died":
            self._in_hand = {key for key in self._in_hand if key[0] != worker}
            if self._held.pop(worker, None) is not None:
                self._wanted.clear()  # what it asked for may not come: others ask anew
            log = self._logs.pop(worker, None)
            if log is not None:
                with contextlib.suppress(OSError):
                    message["log"] = log.read_bytes()[-LOG_BYTES:].decode("utf-8", "replace")
                    log.unlink()
        elif event in ("done", "failed"):
            key = worker, message["task"]
            self._in_hand.discard(key)
            if event == "failed":
                self._outputs.pop(key, None)
            elif key in self._outputs:
                (made,) = message["results"]
                to, path = self._outputs[key]
                self._files.add_file((to, made["pixels"]), path, made["file_bytes"])
        self._tell(of=worker, say=message)
