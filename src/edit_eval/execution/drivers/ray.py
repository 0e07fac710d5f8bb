"""The Ray driver: each worker is a process on a machine of a cluster, started there by the actor of that machine.

Ray says which machines there are, reserves their GPUs, ends what this job has left, and carries pictures to machines
that do not see the run directory. What the engine and workers say to each other goes over one plain connection to each
machine, in as few pieces as it comes: a call of Ray's would take as much of the processor as the engine itself. What
belongs to Ray runs in a process of its own (`ray_gateway.py`); workers on the CPU run here, as without a cluster.

GPUs are numbered through: `cuda:0` to `cuda:7` are the first machine's, by its name. One that joins, or comes back, has
new numbers. Several GPUs of one replica are always on one machine. A machine that is gone takes its workers with it,
and no task is charged; that the cluster's head is gone ends the run (`Stopped`).
"""

from __future__ import annotations

import contextlib
import fnmatch
import functools
import os
import secrets
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from edit_eval.errors import ConfigurationError, Stopped
from edit_eval.execution.drivers.contract import FLEET, Event, Gpu, Machine, Meter, WorkerSpecification
from edit_eval.execution.drivers.local import LocalDriver, last_line
from edit_eval.execution.drivers.ray_agent import die_early, pictures_of
from edit_eval.execution.machine.environments import layers_digest
from edit_eval.pictures import TEMPORARY_PREFIX
from edit_eval.workers.messages import Lines, Message, encode, write_all

ANSWER_SECONDS = 120.0
"""How long a cluster may take until its machines have answered; those that have not by then join later."""
CLOCK_SECONDS = 2.0
"""A clock that is further from this machine's is said."""
END_SECONDS = 5.0
LOOK_SECONDS = 30.0
"""For looking for weights on every machine."""
PASSED_ON = (
    "*_API_KEY",
    "*_BASE_URL",
    "*_TOKEN",
    "*_proxy",
    "*_PROXY",
    "CUDA_DEVICE_ORDER",
    "DIFFUSERS_*",
    "HF_*",
    "HUGGINGFACE_*",
    "LANG",
    "NCCL_*",
    "OMP_NUM_THREADS",
    "PYTORCH_*",
    "TOKENIZERS_PARALLELISM",
    "TORCH*",
    "TRANSFORMERS_*",
    "VLLM_*",
    "XDG_CACHE_HOME",
)
"""Variables of the command that workers on other machines are given, as `srun` gives them all; the rest is theirs."""


@dataclass(eq=False)
class Node:
    """A machine of the cluster, with the connection to its agent."""

    connection: socket.socket
    lines: Lines = field(default_factory=Lines)
    unsent: bytearray = field(default_factory=bytearray)
    number: int = 0
    """As the gateway counts agents; 0 until it has said who it is."""
    name: str = ""
    gpus: tuple[Gpu, ...] = ()
    """As the engine calls them."""
    about: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    memory: int | None = None
    own: Mapping[str, str] = field(default_factory=dict)
    """What the machine itself calls a device."""
    workers: set[int] = field(default_factory=set)
    knows_run: bool = False


@dataclass(eq=False)
class Remote:
    """A worker on such a machine."""

    node: Node
    log: Path | None
    tasks: dict[int, Message] = field(default_factory=dict)
    """Orders to run that are not over."""
    waiting: deque[Message] = field(default_factory=deque)
    """What it has said; the first of it is an edit whose picture is still on its way."""


class RayDriver(LocalDriver):
    """Starts workers on the GPUs of a cluster: of the one at `address`, or of this machine's, or one begun here."""

    def __init__(
        self, address: str | None = None, gpus: int | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        """`gpus`: how many are wanted at most; None for all that are free."""
        super().__init__(environment)
        self._address, self._wanted = address, gpus
        self._gateway: subprocess.Popen[bytes] | None = None
        self._said = Lines()
        self._nodes: dict[int, Node] = {}
        self._on: dict[str, Node] = {}  # the device -> where it is
        self._remote: dict[int, Remote] = {}
        self._expected: set[int] | None = None  # agents that have not answered yet; None until they are started
        self._takes: dict[int, int] = {}  # number of a picture that is under way -> the worker whose it is
        self._meters: dict[str, Meter] = {}
        self._failure, self._there = "", 0
        self._started = False
        self._ready: Message = {}

    # -- the cluster --

    @functools.cached_property
    def cluster(self) -> RayDriver:
        """Itself, when the cluster's machines have answered. Raises `ConfigurationError` where there is no cluster."""
        if find_spec("ray") is None:
            raise ConfigurationError("execution.driver: ray needs Ray here: pip install 'edit-eval[ray]'")
        self._token = secrets.token_hex(16)
        self._log = tempfile.NamedTemporaryFile(prefix="edit-eval-ray-")  # noqa: SIM115 (closed with the driver)
        with contextlib.ExitStack() as theirs:
            ends = [os.pipe(), os.pipe()]
            (child_in, self._into), (self._out, child_out) = ends
            for end in (child_in, child_out):
                theirs.callback(os.close, end)
            command = [sys.executable, "-m", "edit_eval.execution.drivers.ray_gateway", str(child_in), str(child_out)]
            self._gateway = subprocess.Popen(
                [*command, self._address or ""],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                pass_fds=(child_in, child_out),
                env={**self._environment, "RAY_USAGE_STATS_ENABLED": "0", "PYTHONWARNINGS": "ignore"},
                start_new_session=True,
            )
        os.set_blocking(self._out, False)
        self.wait_for(self._out, self._hear_gateway)
        deadline = time.monotonic() + ANSWER_SECONDS
        while not self._ready:
            self._wait(deadline)
        self._listener = socket.create_server((self._ready["host"], 0), backlog=1024)
        self.wait_for(self._listener.fileno(), self._accept)
        names = {name for pattern in PASSED_ON for name in fnmatch.filter(self._environment, pattern)}
        self._order(
            do="start",
            port=self._listener.getsockname()[1],
            token=self._token,
            gpus=self._wanted,
            variables={name: self._environment[name] for name in sorted(names)},
        )
        while time.monotonic() < deadline and (self._expected is None or self._expected or self._all_taken):
            self._wait(deadline)
        if self._all_taken:
            self.close()
            raise ConfigurationError("execution.driver: ray: other jobs have reserved all GPUs of the cluster")
        for _, node in sorted(self._nodes.items()):
            self._number(node)
        return self

    @property
    def _all_taken(self) -> bool:
        """Whether there are GPUs and none for us, for the moment: a run that was killed has its own for a while."""
        return self._there > 0 and self._wanted != 0 and not self._nodes

    def _wait(self, deadline: float) -> None:
        for key, _ in self._selector.select(0.5):
            key.data[1]()
        if self._failure or (time.monotonic() > deadline and not self._ready):
            problem = self._failure or f"Ray has not answered for {ANSWER_SECONDS:g} s"
            self._failure = problem
            self.close()
            raise ConfigurationError(f"execution.driver: ray: {problem}")

    def _order(self, **order: Any) -> None:
        with contextlib.suppress(OSError):  # it is gone, which is said where it is read from
            write_all(self._into, encode(order))

    def _hear_gateway(self) -> None:
        data = os.read(self._out, 1 << 20)
        if not data:
            self._selector.unregister(self._out)
            said = last_line(Path(self._log.name))
            self._failure = self._failure or "its connection to the cluster has ended" + (f" ({said})" if said else "")
        for message in self._said.feed(data):
            event = message["event"]
            if event == "ready":
                self._ready = message
            elif event == "failed":
                self._failure = message["error"]
            elif event == "agents":
                self._there = self._there or message["gpus"]
                self._expected = (self._expected or set()) | (set(message["numbers"]) - self._nodes.keys())
            elif event == "lost":
                self._expected = (self._expected or set()) - {message["number"]}
                if message["number"] in self._nodes:
                    self._lose(self._nodes[message["number"]], message["reason"])
                elif message["reason"]:
                    self._note(f"a machine of the cluster cannot be used: {message['reason']}")
            elif event == "taken":
                self._taken(message)

    def _note(self, text: str) -> None:
        self._events.append(Event(FLEET, {"event": "note", "reason": text}))

    # -- machines come and go --

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        die_early(connection)
        connection.setblocking(False)
        node = Node(connection)
        self._selector.register(connection, selectors.EVENT_READ, (FLEET, functools.partial(self._read_node, node)))

    def _read_node(self, node: Node) -> None:
        try:
            data = node.connection.recv(1 << 20)
        except BlockingIOError:
            return self._send_node(node)
        except OSError as error:
            return self._lose(node, error.strerror or str(error))
        if not data:
            return self._lose(node, "its agent has ended")
        try:
            for message in node.lines.feed(data):
                if "of" in message:
                    self._heard(message["of"], message["say"])
                elif node.number:
                    self._take_in(node, message)
                elif message.get("token") == self._token:
                    self._join(node, message)
                else:
                    raise ValueError("a stranger")
        except (ValueError, KeyError, TypeError) as error:
            self._lose(node, f"it sent a message that no edit-eval agent sends ({error})")
        if node.unsent:
            self._send_node(node)

    def _join(self, node: Node, hello: Message) -> None:
        node.name = hello["name"]
        if hello["layers"] != layers_digest():
            versions = hello["about"]["libraries"]
            self._lose(node, "")
            return self._note(f"{node.name} is not used: its edit-eval {versions.get('edit-eval')} is not this one")
        node.gpus = tuple(
            Gpu(**{**gpu, "users": (), "capability": _pair(gpu["capability"]), "node": node.name})
            for gpu in hello["gpus"]
        )
        node.about, node.memory, node.number = hello["about"], hello["memory"], hello["hello"]
        ahead = hello["time"] - time.time()
        if abs(ahead) > CLOCK_SECONDS:
            way = "ahead of" if ahead > 0 else "behind"
            node.notes = (f"the clock of {node.name} is {abs(ahead):.0f} s {way} this machine's",)
        self._nodes[node.number] = node
        self._expected = (self._expected or set()) - {node.number}
        if "cluster" in vars(self):
            self._number(node)
            names = f"{node.gpus[0].name} to {node.gpus[-1].name}" if len(node.gpus) > 1 else node.gpus[0].name
            reason = "; ".join((f"{node.name} has joined with {names}", *node.notes))
            self._events.append(Event(FLEET, {"event": "joined", "gpus": list(node.gpus), "reason": reason}))

    def _number(self, node: Node) -> None:
        """Gives its GPUs the names by which the engine knows them."""
        own, first = node.gpus, len(self._on)
        node.gpus = tuple(replace(gpu, name=f"cuda:{first + place}") for place, gpu in enumerate(own))
        node.own = {gpu.name: its.name for gpu, its in zip(node.gpus, own, strict=True)}
        self._on |= dict.fromkeys(node.own, node)

    def _take_in(self, node: Node, message: Message) -> None:
        if "meters" in message:
            of = {own: name for name, own in node.own.items()}
            self._meters |= {of[own]: Meter(*figures) for own, figures in message["meters"].items() if own in of}
        elif "want" in message:
            offered = {tuple(known): one for known, one in self._offered(node)}
            for name in map(tuple, message["want"]):
                if name in offered:
                    self._order(do="give", number=node.number, picture=offered[name])
        elif "lacking" in message:
            self._lacking[node.name] = message["lacking"]
        elif message.get("shared") is False:
            self._note(f"{node.name} cannot see the run directory: its pictures are sent over the network")

    def _offered(self, node: Node) -> Iterator[tuple[tuple[str, str], Message]]:
        """The pictures that its workers were told of, and no others."""
        for worker in node.workers:
            for order in self._remote[worker].tasks.values():
                for one in pictures_of(order):
                    yield (one["path"], one.get("pixels") or one.get("digest", "")), one

    def _lose(self, node: Node, reason: str) -> None:
        """It is gone: first its devices are, then its workers."""
        if node.connection.fileno() >= 0:
            self._selector.unregister(node.connection)
            node.connection.close()
        if self._nodes.pop(node.number, None) is None:
            return
        for gpu in node.gpus:
            self._meters.pop(gpu.name, None)
        why = f"{node.name} is gone" + (f" ({reason})" if reason else "")
        devices = [gpu.name for gpu in node.gpus]
        self._events.append(Event(FLEET, {"event": "gone", "devices": devices, "reason": why}))
        for worker in sorted(node.workers):
            self._remote.pop(worker)
            self._events.append(Event(worker, {"event": "died", "reason": why, "lost": True}))

    # -- the five calls --

    def machine(self) -> Machine:  # type: ignore[override]  # another than a local driver's
        """All machines of the cluster as one."""
        from edit_eval.execution.drivers.ray_machine import RayMachine  # which needs this class

        return RayMachine(self, self._environment)

    def nodes(self) -> list[Node]:
        """The machines that are there now, in the order of their numbers."""
        return [node for _, node in sorted(self.cluster._nodes.items())]

    def latest(self, device: str) -> Meter:
        """What a GPU's machine has told of it last."""
        return self._meters.get(device, Meter())

    def ask_for_weights(self, wanted: Sequence[tuple[str, str | None, str]]) -> dict[str, list[str]]:
        """What each machine lacks of these weights (name, revision, dtype): nothing where all are there and whole."""
        self._lacking: dict[str, list[str]] = {}
        asked = self.nodes()
        for node in asked:
            self._tell(node, weights=list(wanted))
        deadline = time.monotonic() + LOOK_SECONDS
        while time.monotonic() < deadline and any(node.name not in self._lacking for node in self._nodes.values()):
            self._wait(deadline)
        return {node.name: self._lacking.get(node.name, ["it has not answered"]) for node in asked}

    def start(self, worker: int, specification: WorkerSpecification) -> None:
        """Starts the process on the machine that has its devices."""
        if not self._started:
            self._started, self._began = True, time.monotonic()
        if specification.devices[0].startswith("cpu"):
            return super().start(worker, specification)
        node = self.cluster._on[specification.devices[0]]
        log = specification.logs and specification.logs / f"{specification.name}.log"
        self._remote[worker] = Remote(node, log)
        if node.number not in self._nodes:  # it went a moment ago
            why = {"event": "died", "reason": f"{node.name} is gone", "lost": True}
            del self._remote[worker]
            return self._events.append(Event(worker, why))
        node.workers.add(worker)
        if specification.logs is not None and not node.knows_run:
            node.knows_run = True
            self._tell(node, run=self._token_in(specification.logs.absolute().parent))
        told = asdict(replace(specification, devices=tuple(node.own[name] for name in specification.devices)))
        told["logs"] = told["logs"] and str(specification.logs and specification.logs.absolute())
        told["import_path"] = [os.path.abspath(folder) for folder in specification.import_path]
        self._tell(node, start=worker, specification=told)

    def _token_in(self, run: Path) -> tuple[str, str, str]:
        """Leaves a token in the run directory, by which a machine sees that it is the same."""
        name = f"{TEMPORARY_PREFIX}{self._token[:12]}"
        if not (run / name).exists():
            (run / name).write_text(self._token[12:])
        return str(run), name, self._token[12:]

    def submit(self, worker: int, message: Message) -> None:
        """Sends a message, now or as soon as the connection takes it."""
        remote = self._remote.get(worker)
        if remote is None:
            return super().submit(worker, message)
        if message["do"] == "run":
            remote.tasks[message["task"]] = message
        self._tell(remote.node, to=worker, send=message)

    def _tell(self, node: Node, **message: Any) -> None:
        node.unsent += encode(message)
        self._send_node(node)

    def _send_node(self, node: Node) -> None:
        connection = node.connection
        if connection.fileno() < 0:
            return
        try:
            while node.unsent:
                del node.unsent[: connection.send(node.unsent)]
        except BlockingIOError:
            pass
        except OSError:
            node.unsent.clear()  # it is dying, which reading from it will tell
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if node.unsent else 0)
        key = self._selector.get_key(connection)
        if key.events != wanted:
            self._selector.modify(connection, wanted, key.data)

    def poll(self, seconds: float) -> tuple[float, Sequence[Event]]:
        """Waits for messages and deaths. Raises `Stopped` when the cluster itself is gone."""
        if self._failure:
            raise Stopped(
                f"the Ray cluster is gone: {self._failure}; all finished work is kept; rerun the same command "
                "to resume "
                "as soon as there is a cluster"
            )
        return super().poll(seconds)

    def kill(self, worker: int) -> None:
        """Ends a worker at once, wherever it is."""
        remote = self._remote.get(worker)
        if remote is None:
            return super().kill(worker)
        self._tell(remote.node, kill=worker)

    def close(self) -> None:
        """Ends all workers, which is what the end of its connection means to an agent, and leaves the cluster."""
        for node in self._nodes.values():
            with contextlib.suppress(KeyError):
                self._selector.unregister(node.connection)
            node.connection.close()
        self._nodes.clear()
        self._remote.clear()
        if self._gateway is not None:
            os.close(self._into)
            try:
                self._gateway.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                self._gateway.kill()
                self._gateway.wait()
            with contextlib.suppress(KeyError):
                self._selector.unregister(self._out)
            os.close(self._out)
            self._log.close()
            self._gateway = None
            if self._ready:
                with contextlib.suppress(KeyError, AttributeError):
                    self._selector.unregister(self._listener)
                    self._listener.close()
        super().close()

    # -- what workers say --

    def _heard(self, worker: int, message: Message) -> None:
        remote = self._remote.get(worker)
        if remote is None:
            return
        if remote.waiting:
            remote.waiting.append(message)
        elif "made" in message:
            remote.waiting.append(message)
            path, to = message.pop("made")
            self._takes[message["task"]] = worker
            size = message["results"][0]["file_bytes"]
            self._order(do="take", id=message["task"], number=remote.node.number, path=path, to=to, size=size)
        else:
            self._say(worker, remote, message)

    def _say(self, worker: int, remote: Remote, message: Message) -> None:
        event = message["event"]
        if event in ("done", "failed"):
            remote.tasks.pop(message["task"], None)
        elif event == "died":
            del self._remote[worker]
            remote.node.workers.discard(worker)
            printed = message.pop("log", "")
            if printed and remote.log is not None:
                with contextlib.suppress(OSError):
                    remote.log.parent.mkdir(exist_ok=True)
                    with remote.log.open("a") as log:
                        log.write(printed)
        elif event == "broken":
            message["error"] += f" (on {remote.node.name})"
        self._events.append(Event(worker, message))

    def _taken(self, message: Message) -> None:
        """The picture of an edit is here, and synced; or cannot be had."""
        worker = self._takes.pop(message["id"])
        remote = self._remote.get(worker)
        if remote is None:
            return
        if message["error"] and not message["disk"]:
            return self._lose(remote.node, f"an edit cannot be fetched from there: {message['error']}")
        done = remote.waiting.popleft()
        if message["error"]:
            failed = {"event": "failed", "task": done["task"], "error": message["error"], "trace": "", "kind": "disk"}
            done = {**failed, "memory": done["memory"]}
        self._say(worker, remote, done)
        behind, remote.waiting = remote.waiting, deque()
        for one in behind:
            self._heard(worker, one)


def _pair(value: Any) -> tuple[int, int] | None:
    return None if value is None else (int(value[0]), int(value[1]))
