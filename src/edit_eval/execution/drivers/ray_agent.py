"""What runs on each machine of a Ray cluster: one small actor that reserves its GPUs and starts the very workers there.

It is a local driver beside a socket to the engine's machine. What the engine orders is done by that driver, so pipes,
sentinels and the end of whatever a model has started are as on one machine; what workers say goes back in lines, as
many in one piece as there are. When the socket ends, every worker is ended: the engine is gone.

Pictures stay where they are where a machine sees the run directory. Where it does not, a file comes once, and an edit
is fetched before its `done` counts (see `Files`).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import queue
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

from edit_eval.endpoints.serving import ServerEnvironment
from edit_eval.execution.drivers.contract import Gpu, Meter, WorkerSpecification
from edit_eval.execution.drivers.local import LocalDriver
from edit_eval.execution.machine.devices import LocalMachine, free_host_memory
from edit_eval.execution.machine.environments import layers_digest
from edit_eval.execution.machine.weights import find_weights
from edit_eval.workers.messages import Lines, Message, encode

SILENCE = 4
"""Seconds after which a machine that does not answer any more, not even its kernel, counts as gone."""
METERS_EVERY = 1.0  # seconds
FRESH = 0.2
"""Seconds that word of a model that is loaded may wait for the meters of that moment."""
KEPT_BYTES = 8 << 30
"""Of pictures that are kept on a machine without the run directory; then the oldest go."""
LOG_BYTES = 1 << 16
"""Of a worker's log that comes back from such a machine at its end, from the last line."""
LIBRARIES = ("edit-eval", "ray", "pillow", "numpy", "torch", "diffusers", "transformers", "accelerate", "safetensors")
FOLDER = "edit-eval-node-"


def die_early(connection: socket.socket) -> None:
    """Has the kernel end a connection soon after the other machine is gone; a stopped process at its end is not."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", 1),
        ("TCP_KEEPINTVL", 1),
        ("TCP_KEEPCNT", SILENCE - 1),
        ("TCP_USER_TIMEOUT", 1000 * SILENCE),
    ):
        if hasattr(socket, name):  # Linux has them all
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def pictures_of(order: Message) -> Iterator[Message]:
    """Every file that an order to run names, as its `path` with `digest` or `pixels`; to be changed in place."""
    for views in (order.get("pictures", ()), *(one["pictures"] for one in order.get("requests", ()))):
        for view in views:
            for picture in (view, *(step[1] for step in view.get("steps", ()) if step[0] == "like")):
                yield picture.get("blank_like", picture)


def known_by(picture: Message) -> tuple[str, str]:
    """Which file a picture is, and what is in it."""
    return picture["path"], picture.get("pixels") or picture.get("digest", "")


class Files:
    """The pictures on this machine: the engine's paths, and where they are here.

    Nothing is assumed: a file of the run directory is taken in place only where a token of the engine's was seen in it,
    any other only where it has the digest that it should have.
    """

    def __init__(self) -> None:
        _sweep()
        self.folder = Path(tempfile.mkdtemp(prefix=f"{FOLDER}{os.getpid()}-"))
        self.shared = True
        self._run = ""
        self._here: dict[tuple[str, str], tuple[str, int]] = {}  # the engine's -> ours and its bytes; the oldest first
        self._bytes = 0

    def look(self, run: str, token: str, text: str) -> bool:
        """Whether the run directory of the engine is here at the same place, and may be written."""
        self._run = os.path.join(run, "")
        try:
            seen = Path(run, token).read_text() == text
        except OSError:
            seen = False
        self.shared = seen and os.access(run, os.W_OK)
        return self.shared

    def find(self, name: tuple[str, str]) -> str:
        """Where a picture is here; empty where its file is still to come."""
        if name in self._here:
            self._here[name] = found = self._here.pop(name)
            return found[0]
        path, digest = name
        if self._run and path.startswith(self._run):
            return path if self.shared else ""
        there = _digest_of(path) == digest if digest else self.shared and os.path.isfile(path)
        if there:
            self._here[name] = path, 0
        return path if there else ""

    def keep(self, name: tuple[str, str], data: bytes) -> None:
        """A file has come."""
        path = self.folder / hashlib.sha256("\0".join(name).encode("utf-8", "surrogatepass")).hexdigest()
        path.write_bytes(data)
        self.made(name, path, len(data))

    def made(self, name: tuple[str, str], path: Path, size: int) -> None:
        """A file is here, which is ours to remove."""
        self._here[name] = str(path), size
        self._bytes += size
        while self._bytes > KEPT_BYTES:
            oldest = next((one for one, (_, bytes_) in self._here.items() if bytes_), name)
            gone, size = self._here.pop(oldest)
            self._bytes -= size
            Path(gone).unlink(missing_ok=True)

    def not_to_be_had(self, name: tuple[str, str]) -> None:
        """The engine cannot read it either: the worker will say so."""
        self._here[name] = name[0], 0


def _digest_of(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _sweep() -> None:
    """Removes what agents left here that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER}*"):
        process = folder.name.removeprefix(FOLDER).partition("-")[0]
        if process.isdigit() and not os.path.exists(f"/proc/{process}"):
            shutil.rmtree(folder, ignore_errors=True)


def lacking(name: str, revision: str | None, dtype: str, environment: Mapping[str, str]) -> list[str]:
    """What is wrong with the weights of that name here; nothing where they are whole."""
    weights = find_weights(name, revision, dtype, environment)
    return [f"{name} does not exist"] if weights.folder is None else [f"{name}: {fault}" for fault in weights.faults]


class Meters:
    """Reads this machine's meters once a second, or when asked to, in a thread of its own: a driver may hang."""

    def __init__(self, machine: LocalMachine) -> None:
        self._machine = machine
        self._asked = threading.Event()
        self._fresh = threading.Event()
        self.latest: dict[str, Meter] = {}
        threading.Thread(target=self._run, name="meters", daemon=True).start()

    def _run(self) -> None:
        with contextlib.suppress(Exception), self._machine.meters() as read:
            names = [gpu.name for gpu in self._machine.gpus() or ()]
            while names:
                self.latest = {name: read(name) for name in names}
                self._fresh.set()
                self._asked.wait(METERS_EVERY)
                self._asked.clear()

    def now(self) -> None:
        """Waits a moment for what they show now."""
        if self.latest:
            self._fresh.clear()
            self._asked.set()
            self._fresh.wait(FRESH)


class Agent:
    """The actor. `run` returns when the engine is gone; `take` and `keep` carry files meanwhile."""

    def __init__(self, number: int, name: str, gpus: int, engine: tuple[str, int], token: str) -> None:
        self._number, self._name, self._gpus, self._engine, self._token = number, name, gpus, engine, token
        self._held: dict[int, deque[Message]] = {}  # orders of a worker that wait for pictures, and those behind them
        self._wanted: set[tuple[str, str]] = set()
        self._outputs: dict[tuple[int, int], tuple[str, Path]] = {}  # worker, task -> the engine's path, and ours
        self._logs: dict[int, Path] = {}
        self._arrived: queue.SimpleQueue[tuple[tuple[str, str], bytes | None]] = queue.SimpleQueue()
        self._bell, self._ring = os.pipe()
        self._lines, self._unsent, self._over = Lines(), bytearray(), False

    # -- called through Ray --

    def take(self, path: str) -> bytes:
        """The bytes of an edit that was made here."""
        return Path(path).read_bytes()

    def keep(self, name: tuple[str, str], data: bytes | None) -> None:
        """A picture that was wanted; None where the engine cannot read it either."""
        self._arrived.put((tuple(name), data))  # type: ignore[arg-type]
        os.write(self._ring, b".")

    def run(self, variables: Mapping[str, str]) -> None:
        """Serves the engine until it is gone. `variables` are those of its environment that models need."""
        # Ray's own are none of a model's business; it also sets the number of threads to one.
        ours = {k: v for k, v in os.environ.items() if not k.startswith("RAY_") and k != "OMP_NUM_THREADS"}
        import ray  # what runs here was started by it; nobody else needs it

        reserved = ray.get_runtime_context().get_accelerator_ids()["GPU"]
        environment = {**ours, **variables, "CUDA_VISIBLE_DEVICES": ",".join(reserved)}
        self._variables = environment
        self._files, self._driver = Files(), LocalDriver(environment)
        self._connection = socket.create_connection(self._engine, timeout=30)
        self._connection.settimeout(None)
        die_early(self._connection)
        try:
            self._serve(self._driver.machine())
        except (OSError, ValueError):
            pass  # the engine is gone, or is none
        finally:
            self._driver.close()
            self._connection.close()
            shutil.rmtree(self._files.folder, ignore_errors=True)

    # -- between the engine and the workers --

    def _serve(self, machine: LocalMachine) -> None:
        self._meters = Meters(machine)
        self._tell(hello=self._number, token=self._token, **self._describe(machine))
        self._driver.wait_for(self._connection.fileno(), self._listen)
        self._driver.wait_for(self._bell, self._take_in)
        told: dict[str, Meter] = {}
        while not self._over:
            _, events = self._driver.poll(METERS_EVERY)
            for worker, message in events:
                self._pass_on(worker, message)
            if self._meters.latest is not told:
                told = self._meters.latest
                self._tell(meters={name: [m.used, m.total, m.busy] for name, m in told.items()})
            self._connection.sendall(self._unsent)
            self._unsent.clear()

    def _tell(self, **message: Any) -> None:
        self._unsent += encode(message)

    def _describe(self, machine: LocalMachine) -> Message:
        seen = machine.gpus()
        if seen is None or len(seen) != self._gpus:  # devices that only Ray knows of
            seen = [Gpu(f"cuda:{n}", "", f"{self._name}-{n}", None, None) for n in range(self._gpus)]
        versions = {}
        for library in LIBRARIES:
            with contextlib.suppress(metadata.PackageNotFoundError):
                versions[library] = metadata.version(library)
        return {
            "name": self._name,
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

    def _listen(self) -> None:
        data = self._connection.recv(1 << 20)
        if not data:
            self._over = True
        for message in self._lines.feed(data):
            if "start" in message:
                self._start(message["start"], message["specification"])
            elif "send" in message:
                self._order(message["to"], message["send"])
            elif "kill" in message:
                self._driver.kill(message["kill"])
            elif "weights" in message:
                asked = [
                    lacking(name, revision, dtype, self._variables) for name, revision, dtype in message["weights"]
                ]
                self._tell(lacking=[text for each in asked for text in each])
            elif "run" in message:
                self._tell(shared=self._files.look(*message["run"]))

    def _start(self, worker: int, told: Message) -> None:
        if told["logs"] is not None:
            told["logs"] = Path(told["logs"]) if self._files.shared else self._files.folder / "logs"
            if not self._files.shared:
                self._logs[worker] = told["logs"] / f"{told['name']}.log"
        server = told.pop("server")
        specification = WorkerSpecification(**told, server=server and ServerEnvironment(**server))
        try:
            self._driver.start(worker, specification)
        except OSError as error:
            reason = f"cannot start {specification.python or sys.executable}: {error}"
            broken = {"event": "broken", "error": reason, "trace": "", "kind": "machine"}
            self._tell(of=worker, say=broken)
            self._tell(of=worker, say={"event": "died", "reason": reason})

    def _order(self, worker: int, order: Message) -> None:
        behind = self._held.get(worker)
        if behind is not None:
            behind.append(order)
        elif not self._send(worker, order):
            self._held[worker] = deque([order])

    def _send(self, worker: int, order: Message) -> bool:
        """Sends an order; False where pictures of it are still to come."""
        if order["do"] == "run":
            pictures = list(pictures_of(order))
            found = [self._files.find(known_by(one)) for one in pictures]
            if not all(found):
                missing = {known_by(one) for one, path in zip(pictures, found, strict=True) if not path}
                if asked := sorted(missing - self._wanted):
                    self._wanted.update(asked)
                    self._tell(want=asked)
                return False
            for one, path in zip(pictures, found, strict=True):
                one["path"] = path
            if not self._files.shared and "output" in order:
                ours = self._files.folder / f"{worker}-{order['task']}.png"
                self._outputs[worker, order["task"]] = order["output"], ours
                order["output"] = str(ours)
                order.pop("small_copies", None)  # a folder of the engine's machine; the report makes what is missing
        self._driver.submit(worker, order)
        return True

    def _take_in(self) -> None:
        os.read(self._bell, 1 << 10)
        with contextlib.suppress(queue.Empty):
            while True:
                name, data = self._arrived.get_nowait()
                self._wanted.discard(name)
                if data is None:
                    self._files.not_to_be_had(name)
                else:
                    self._files.keep(name, data)
        for worker, orders in list(self._held.items()):
            while orders and self._send(worker, orders[0]):
                orders.popleft()
            if not orders:
                del self._held[worker]

    def _pass_on(self, worker: int, message: Message) -> None:
        event = message["event"]
        if event in ("loaded", "died"):
            self._meters.now()
        if event == "died":
            if self._held.pop(worker, None) is not None:
                self._wanted.clear()  # what was asked for on its behalf may not come: others ask anew
            log = self._logs.pop(worker, None)
            if log is not None:
                with contextlib.suppress(OSError):
                    message["log"] = log.read_bytes()[-LOG_BYTES:].decode("utf-8", "replace")
                    log.unlink()
        elif event in ("done", "failed"):
            output = self._outputs.pop((worker, message["task"]), None)
            if output is not None and event == "done":
                (made,) = message["results"]
                self._files.made((output[0], made["pixels"]), output[1], made["file_bytes"])
                message["made"] = [str(output[1]), output[0]]
        self._tell(of=worker, say=message)
