"""The Ray driver: each worker is a process on a machine of a cluster, started there by the actor of that machine.

Ray lists the machines, reserves their GPUs, carries messages between engine and workers, and pictures to machines that
do not see the run directory; it ends whatever this job leaves behind. All of Ray is in a process of its own
(`gateway.py`) at the end of two private pipes, for which the engine never waits; workers on the CPU run here, as
without a cluster.

A machine is doubted like a worker (`engine/conversation.py`): a malformed message, or one about another machine's
worker or a task that was not given to it, ends the use of that machine. An edit is written where its order says, not
its message. This guards against faults; Ray decides who may be a machine of the cluster.

GPUs are numbered through: `cuda:0` to `cuda:7` are the first machine's, by its name. One that joins, or comes back, has
new numbers. Several GPUs of one replica are always on one machine. A lost machine takes its workers with it, and no
task is charged; losing the cluster's head ends the run (`Stopped`).
"""

from __future__ import annotations

import contextlib
import fnmatch
import functools
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from edit_eval.config.schema import Configuration
from edit_eval.errors import ConfigurationError, Stopped
from edit_eval.execution.contract import FLEET, Event, Gpu, Host, Machine, Meter, WorkerSpecification
from edit_eval.execution.drivers.local import LocalDriver, Process, last_line
from edit_eval.execution.engine.conversation import ABOUT, FROM_AFAR, GPU, MACHINE, Conversation, event_of
from edit_eval.execution.machine.devices import LocalMachine
from edit_eval.execution.machine.environments import layers_digest
from edit_eval.files.durable import TEMPORARY_PREFIX
from edit_eval.pictures import MAX_PIXELS
from edit_eval.plugins.ray.agent import GATEWAY, LOG_BYTES, Frames, frame_bytes, identify_picture, pictures_of
from edit_eval.text import Text
from edit_eval.workers.messages import Message, MessageStream, encode


class RayMachine(Machine):
    """The machines of a cluster as one. Costs nothing until it is first queried."""

    def __init__(self, driver: RayDriver, environment: Mapping[str, str]) -> None:
        self._driver, self._here = driver, LocalMachine(environment)

    def gpus(self) -> list[Gpu]:
        """Returns the GPUs of every machine that has answered, as they were then."""
        return [gpu for node in self._driver.nodes() for gpu in node.gpus]

    def limit(self) -> str:
        """Names the cluster as the limit if it has no free GPU."""
        return "" if self._driver.nodes() else "the Ray cluster has no GPU that is free"

    def free_host_memory(self) -> int | None:
        """Returns the free memory of the machine with the least."""
        known = [node.memory for node in self._driver.nodes() if node.memory is not None]
        return min(known) if known else self._here.free_host_memory()

    def hosts(self) -> list[Host]:
        """Returns every machine as it described itself."""
        return [
            Host(node.name, tuple(g.name for g in node.gpus), node.about, node.notes) for node in self._driver.nodes()
        ]

    @contextlib.contextmanager
    def meters(self) -> Iterator[Callable[[str], Meter]]:
        """Gives the machines' last reports, sent once a second and when a model is loaded or has ended."""
        yield self._driver.latest

    def find_warning(self) -> str:
        """Warns if the cluster asks for no token."""
        return "" if self._driver.cluster.guarded else "the Ray cluster has no token authentication"

    def find_missing_weights(self, weights: Sequence[tuple[str, str | None, str]]) -> Mapping[str, Sequence[str]]:
        """Returns what each machine lacks of these weights."""
        return self._driver.ask_for_weights(weights)


ANSWER_SECONDS = 120.0
"""How long a cluster's machines may take to answer; those that have not by then join later."""
RETURN_SECONDS = 15.0
"""How long others wait at the start for a machine that has fallen silent."""
CLOCK_SECONDS = 2.0
"""Clocks that differ more than this from this machine's are reported."""
END_SECONDS = 5.0
LOOK_SECONDS = 30.0
"""For looking for weights on every machine."""
LARGEST_EDIT = 5 * MAX_PIXELS
"""Bytes of a picture with the most pixels whose PNG is no smaller than they are."""
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
"""Variables of the command passed to workers on other machines, as `srun` passes all; the rest is the machine's own."""


@dataclass(eq=False)
class Node:
    """A machine of the cluster."""

    number: int
    """The gateway's number for it."""
    name: str
    count: int
    """Number of GPUs reserved there."""
    lines: MessageStream = field(default_factory=MessageStream)
    gpus: tuple[Gpu, ...] = ()
    """With the engine's names; empty until it has described itself."""
    about: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    memory: int | None = None
    own: Mapping[str, str] = field(default_factory=dict)
    """The machine's own names of its devices."""
    workers: set[int] = field(default_factory=set)
    knows_run: bool = False
    sees_run: bool = False
    lacking: Sequence[str] | None = None
    """Faults of the weights there, once reported."""


@dataclass(eq=False)
class Remote:
    """A worker on such a machine."""

    node: Node
    log: Path | None
    conversation: Conversation = field(default_factory=lambda: Conversation(FROM_AFAR))
    tasks: dict[int, Message] = field(default_factory=dict)
    """Unfinished orders to run."""
    waiting: deque[Message] = field(default_factory=deque)
    """Messages held back behind an edit whose picture is still on its way, that edit's first."""


class RayDriver(LocalDriver):
    """Starts workers on the GPUs of a Ray cluster: that at `execution.address`, this machine's, or one begun here."""

    def __init__(
        self, address: str | None = None, gpus: int | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        """`gpus`: the most GPUs wanted; None for all that are free."""
        super().__init__(environment)
        self._address, self._wanted = address, gpus
        self._gateway: Process | None = None
        self._frames, self._said = Frames(), MessageStream()
        self._nodes: dict[int, Node] = {}
        self._on: dict[str, Node] = {}  # device -> its machine
        self._remote: dict[int, Remote] = {}
        self._meters: dict[str, Meter] = {}
        self._failure = ""
        self._away: dict[str, str] = {}  # name of a machine that may come back -> why it is gone
        self._waits_for = float("inf")  # a time; until then, those
        self._ready, self._there = False, -1.0  # GPUs of the cluster; -1 until machines have been looked for
        self._started = False
        self._mark = secrets.token_hex(16)
        self.guarded = True
        """True if the cluster requires one of Ray's tokens."""

    @classmethod
    def from_configuration(cls, configuration: Configuration) -> Self:
        """Returns a cluster with as many GPUs reserved as the models of a configuration can name."""
        address = configuration.execution.address
        wanted = [section.placement.device_ids for section in configuration.models.values()]
        if "auto" in wanted:
            return cls(address)
        numbers = [int(name.partition(":")[2]) for names in wanted for name in names if name.startswith("cuda")]
        return cls(address, max(numbers, default=-1) + 1)

    # -- the cluster --

    @functools.cached_property
    def cluster(self) -> RayDriver:
        """The driver, once the cluster's machines have answered.

        Raises `ConfigurationError` if there is no cluster, or none that can be used; `Stopped` if it only does not
        answer.
        """
        self._log = tempfile.NamedTemporaryFile(prefix="edit-eval-ray-")  # noqa: SIM115 (closed with the driver)
        variables = {**self._environment, "RAY_USAGE_STATS_ENABLED": "0", "PYTHONWARNINGS": "ignore"}
        log = Path(self._log.name)
        self._gateway = Process.begin(FLEET, self._command(), variables, self._log.file, log)
        self.wait_for(self._gateway.out, self._hear)
        names = {name for pattern in PASSED_ON for name in fnmatch.filter(self._environment, pattern)}
        passed_on = {name: self._environment[name] for name in sorted(names) if not name.startswith("RAY_")}
        self._order(do="start", gpus=self._wanted, variables=passed_on)
        deadline = time.monotonic() + ANSWER_SECONDS
        while time.monotonic() < deadline and not (self._ready and self._has_all_answers):
            self._wait(deadline)
        if not self._present() and self._there > 0 and self._wanted != 0:
            silent = self._away | {node.name: "it has not answered" for node in self._nodes.values()}
            self.close()
            if silent:
                why = [f"{name}: {reason}" for name, reason in silent.items()]
                raise Stopped(Text("no machine of the Ray cluster answers ({:; }); run again when one does", why))
            refused = "; ".join(event.message["reason"] for event in self._events)
            problem = refused or "other jobs have reserved all GPUs of the cluster"
            raise ConfigurationError(Text("execution.driver: ray: {}", problem))
        for node in self._present():
            self._number(node)
        return self

    def _command(self) -> list[str]:
        """Returns the gateway's command, to which the numbers of its pipes are added."""
        if find_spec("ray") is None:
            raise ConfigurationError(Text("execution.driver: ray needs Ray here: pip install 'edit-eval[ray]'"))
        return [sys.executable, "-m", "edit_eval.plugins.ray.gateway", self._address or ""]

    @property
    def _has_all_answers(self) -> bool:
        """True if all machines have; GPUs that are all taken may be so only for a moment, by a run that was killed.

        One that has fallen silent is waited for, but not for long where there are others.
        """
        if self._there < 0 or not all(node.gpus for node in self._nodes.values()):
            return False
        if self._away and (not self._nodes or time.monotonic() < self._waits_for):
            return False
        return bool(self._nodes or self._events) or not self._there or self._wanted == 0

    def _present(self) -> list[Node]:
        return [node for _, node in sorted(self._nodes.items()) if node.gpus]

    def _wait(self, deadline: float) -> None:
        self._flush()
        for key, _ in self._selector.select(0.5):
            key.data[1]()
        if self._failure or (time.monotonic() > deadline and not self._ready):
            unreachable = "" if self._ready else self._failure
            self._failure = self._failure or f"Ray has not answered for {ANSWER_SECONDS:g} s"
            self.close()
            if unreachable:
                raise ConfigurationError(Text("execution.driver: ray: {}", unreachable))
            raise Stopped(Text("the Ray cluster does not answer: {}; run again when it does", self._failure))

    def _pass(self, number: int, message: Message) -> None:
        """Queues a message for a machine, or the gateway; the next `_flush` sends many at once."""
        if self._gateway is not None:
            self._gateway.unsent += frame_bytes(number, encode(message))

    def _order(self, **order: Any) -> None:
        self._pass(GATEWAY, order)

    def _tell(self, node: Node, **message: Any) -> None:
        self._pass(node.number, message)

    def _flush(self) -> None:
        if self._gateway is not None and self._gateway.unsent:
            self._send(self._gateway)

    def _hear(self) -> None:
        assert self._gateway is not None
        data = os.read(self._gateway.out, 1 << 20)
        if not data:
            self._selector.unregister(self._gateway.out)
            said = last_line(Path(self._log.name))
            self._failure = self._failure or "its connection to the cluster has ended" + (f" ({said})" if said else "")
        for number, some in self._frames.feed(data):
            if number == GATEWAY:
                for message in self._said.feed(some):
                    self._handle_gateway_message(message)
            elif number in self._nodes:
                self._hear_node(self._nodes[number], some)

    def _handle_gateway_message(self, message: Message) -> None:
        """Handles a message of the gateway, which is ours."""
        event = message["event"]
        if event == "ready":
            self._ready, self.guarded = True, message["guarded"]
        elif event == "failed":
            self._failure = message["error"]
        elif event == "machines":
            self._there = message["gpus"]
            for machine in message["machines"]:
                self._nodes[machine["number"]] = Node(machine["number"], machine["name"], machine["gpus"])
                self._away.pop(machine["name"], None)
        elif event == "lost" and message["number"] in self._nodes:
            node = self._nodes[message["number"]]
            if message["returns"]:
                self._away[node.name] = message["reason"]
                self._waits_for = min(self._waits_for, time.monotonic() + RETURN_SECONDS)
            self._lose(node, message["reason"], returns=message["returns"])
        elif event == "taken":
            self._handle_edit_picture(message)

    def _note(self, text: str) -> None:
        self._events.append(Event(FLEET, {"event": "note", "reason": text}))

    # -- machines joining and leaving --

    def _hear_node(self, node: Node, some: bytes) -> None:
        try:
            for message in node.lines.feed(some):
                if "of" in message:
                    self._handle_worker_message(node, message["of"], message.get("say"))
                else:
                    self._handle_machine_message(node, message)
                if node.number not in self._nodes:
                    return
        except ValueError as error:
            self._lose(node, f"it sent a message that no edit-eval agent sends: {error}")

    def _handle_machine_message(self, node: Node, message: Message) -> None:
        event = event_of(message, MACHINE)
        if (event == "hello") != (not node.gpus):
            raise ValueError(f"`{event}` out of turn")
        if event == "hello":
            self._join(node, message)
        elif event == "meters":
            of = {own: name for name, own in node.own.items()}
            self._meters |= {of[own]: Meter(*figures) for own, figures in message["meters"].items() if own in of}
        elif event == "want":
            offered = {identify_picture(picture): picture for picture in self._list_pictures(node)}
            for name in map(tuple, message["names"]):
                if name in offered:
                    self._order(do="give", number=node.number, picture=offered[name])
        elif event == "lacking":
            node.lacking = message["texts"]
        else:
            node.sees_run = message["shared"]
            if not node.sees_run:
                self._note(f"{node.name} cannot see the run directory: its pictures are sent over the network")

    def _join(self, node: Node, hello: Message) -> None:
        if hello["layers"] != layers_digest():
            version = hello["about"]["libraries"].get("edit-eval")
            self._order(do="leave", number=node.number)
            del self._nodes[node.number]
            return self._note(f"{node.name} is not used: its edit-eval {version} is not this one")
        if len(hello["gpus"]) != node.count:
            raise ValueError(f"{len(hello['gpus'])} GPUs instead of {node.count}")
        node.gpus = tuple(
            Gpu(**{**gpu, "users": (), "capability": gpu["capability"] and tuple(gpu["capability"]), "node": node.name})
            for gpu in ({name: gpu.get(name) for name in GPU} for gpu in hello["gpus"])
        )
        node.about = {name: hello["about"].get(name) for name in ABOUT}
        node.memory = hello["memory"]
        ahead = hello["time"] - time.time()
        if abs(ahead) > CLOCK_SECONDS:
            way = "ahead of" if ahead > 0 else "behind"
            node.notes = (f"the clock of {node.name} is {abs(ahead):.0f} s {way} this machine's",)
        if "cluster" in vars(self):
            self._number(node)
            names = f"{node.gpus[0].name} to {node.gpus[-1].name}" if len(node.gpus) > 1 else node.gpus[0].name
            reason = "; ".join((f"{node.name} has joined with {names}", *node.notes))
            self._events.append(Event(FLEET, {"event": "joined", "gpus": list(node.gpus), "reason": reason}))

    def _number(self, node: Node) -> None:
        """Gives a machine's GPUs the engine's names."""
        own, first = node.gpus, len(self._on)
        node.gpus = tuple(replace(gpu, name=f"cuda:{first + place}") for place, gpu in enumerate(own))
        node.own = {gpu.name: its.name for gpu, its in zip(node.gpus, own, strict=True)}
        self._on |= dict.fromkeys(node.own, node)

    def _list_pictures(self, node: Node) -> Iterator[Message]:
        """Yields the pictures that its workers were told of, and no others."""
        for worker in node.workers:
            for order in self._remote[worker].tasks.values():
                yield from pictures_of(order)

    def _lose(self, node: Node, reason: str, *, returns: bool = False) -> None:
        """Drops a machine: reports first its devices as gone, then its workers as dead."""
        del self._nodes[node.number]
        self._order(do="leave", number=node.number)
        for gpu in node.gpus:
            self._meters.pop(gpu.name, None)
        if not node.own:  # the engine never heard of it: its names belong to another machine there
            return self._note(f"{node.name} {'is not there yet' if returns else 'cannot be used'}: {reason}")
        why = f"{node.name} is gone" + (f" ({reason})" if reason else "")
        devices = [gpu.name for gpu in node.gpus]
        self._events.append(Event(FLEET, {"event": "gone", "devices": devices, "reason": why}))
        for worker in sorted(node.workers):
            self._remote.pop(worker)
            self._events.append(Event(worker, {"event": "died", "reason": why, "lost": True}))

    # -- the driver's interface --

    def machine(self) -> Machine:  # type: ignore[override]  # another than a local driver's
        """Returns all machines of the cluster as one."""
        from edit_eval.plugins.ray.driver import RayMachine  # which needs this class

        return RayMachine(self, self._environment)

    def nodes(self) -> list[Node]:
        """Returns the machines that are there now, in the order of their numbers."""
        return self.cluster._present()

    def latest(self, device: str) -> Meter:
        """Returns the last report on a GPU by its machine."""
        return self._meters.get(device, Meter())

    def ask_for_weights(self, wanted: Sequence[tuple[str, str | None, str]]) -> dict[str, Sequence[str]]:
        """Returns what each machine lacks of these weights (name, revision, dtype): nothing if all are complete."""
        asked = self.nodes()
        for node in asked:
            node.lacking = None
            self._tell(node, weights=list(wanted))
        deadline = time.monotonic() + LOOK_SECONDS
        while time.monotonic() < deadline and any(node.lacking is None for node in asked if node in self._present()):
            self._wait(deadline)
        return {node.name: ["it has not answered"] if node.lacking is None else node.lacking for node in asked}

    def start(self, worker: int, specification: WorkerSpecification) -> None:
        """Starts the process on the machine that has its devices."""
        if not self._started:
            self._started, self._began = True, time.monotonic()
        if specification.devices[0].startswith("cpu"):
            return super().start(worker, specification)
        node = self.cluster._on[specification.devices[0]]
        if node.number not in self._nodes:  # it was lost a moment ago
            why = {"event": "died", "reason": f"{node.name} is gone", "lost": True}
            return self._events.append(Event(worker, why))
        log = specification.logs and specification.logs / f"{specification.name}.log"
        self._remote[worker] = Remote(node, log)
        self._remote[worker].conversation.record_order({"do": "prepare"})  # its own driver sends that
        node.workers.add(worker)
        if specification.logs is not None and not node.knows_run:
            node.knows_run = True
            self._tell(node, run=self._write_marker(specification.logs.absolute().parent))
        fields = asdict(replace(specification, devices=tuple(node.own[name] for name in specification.devices)))
        fields["logs"] = fields["logs"] and str(specification.logs and specification.logs.absolute())
        fields["import_path"] = [os.path.abspath(folder) for folder in specification.import_path]
        self._tell(node, start=worker, specification=fields)

    def _write_marker(self, run: Path) -> tuple[str, str, str]:
        """Leaves a file in the run directory, by which a machine can tell that it is the same."""
        name = f"{TEMPORARY_PREFIX}{self._mark[:12]}"
        if not (run / name).exists():
            (run / name).write_text(self._mark)
        return str(run), name, self._mark

    def submit(self, worker: int, message: Message) -> None:
        """Sends a message, with the next `poll`."""
        remote = self._remote.get(worker)
        if remote is None:
            return super().submit(worker, message)
        remote.conversation.record_order(message)
        if message["do"] == "run":
            remote.tasks[message["task"]] = message
        self._tell(remote.node, to=worker, send=message)

    def poll(self, seconds: float) -> tuple[float, Sequence[Event]]:
        """Waits for messages and deaths. Raises `Stopped` when the cluster itself is lost."""
        if self._failure:
            raise Stopped(
                Text(
                    "the Ray cluster is gone: {}; all finished work is kept; rerun the same command "
                    "to resume as soon as there is a cluster",
                    self._failure,
                )
            )
        self._flush()
        return super().poll(seconds)

    def kill(self, worker: int) -> None:
        """Ends a worker at once, wherever it is."""
        remote = self._remote.get(worker)
        if remote is None:
            return super().kill(worker)
        self._tell(remote.node, kill=worker)

    def close(self) -> None:
        """Ends all workers, which the gateway does when its pipe ends, and leaves the cluster."""
        gateway, self._gateway = self._gateway, None
        self._nodes.clear()
        self._remote.clear()
        if gateway is not None:
            for descriptor in (gateway.into, gateway.out, gateway.sentinel):
                with contextlib.suppress(KeyError):
                    self._selector.unregister(descriptor)
            os.close(gateway.into)
            try:
                gateway.process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                gateway.process.kill()
                gateway.process.wait()
            os.close(gateway.out)
            os.close(gateway.sentinel)
            self._log.close()
        super().close()

    # -- messages of workers --

    def _handle_worker_message(self, node: Node, worker: Any, message: Any) -> None:
        remote = self._remote.get(worker) if type(worker) is int else None
        if remote is None or remote.node is not node:
            raise ValueError(f"of a worker that it does not have: {str(worker)[:20]}")
        if not remote.conversation.accept_message(message):
            return
        if message["event"] == "done" and not node.sees_run and "output" in remote.tasks[message["task"]]:
            size = message["results"][0]["file_bytes"]
            if size > LARGEST_EDIT:
                raise ValueError(f"an edit of {size} bytes")
        if remote.waiting:
            remote.waiting.append(message)
        else:
            self._believe(worker, remote, message)

    def _believe(self, worker: int, remote: Remote, message: Message) -> None:
        """Accepts a valid message; an edit made on a machine without the run directory is fetched first."""
        output = remote.tasks[message["task"]].get("output") if message["event"] == "done" else None
        if output is None or remote.node.sees_run:
            return self._say(worker, remote, message)
        remote.waiting.append(message)
        task, size = message["task"], message["results"][0]["file_bytes"]
        self._order(do="take", number=remote.node.number, worker=worker, task=task, to=output, size=size)

    def _say(self, worker: int, remote: Remote, message: Message) -> None:
        event = message["event"]
        if event in ("done", "failed"):
            del remote.tasks[message["task"]]
        elif event == "died":
            del self._remote[worker]
            remote.node.workers.discard(worker)
            printed = message.pop("log", None)
            if printed and remote.log is not None:
                with contextlib.suppress(OSError):
                    remote.log.parent.mkdir(exist_ok=True)
                    with remote.log.open("a", encoding="utf-8", errors="backslashreplace") as log:
                        log.write(printed[-LOG_BYTES:])
        elif event == "broken":
            message["error"] += f" (on {remote.node.name})"
        self._events.append(Event(worker, message))

    def _handle_edit_picture(self, message: Message) -> None:
        """Handles the picture of an edit that is here, and synced, or cannot be had."""
        worker = message["worker"]
        remote = self._remote.get(worker)
        if remote is None:  # its machine was lost meanwhile, and the task may be another's by now
            return
        if message["error"] and not message["disk"]:
            return self._lose(remote.node, f"an edit cannot be fetched from there: {message['error']}")
        done = remote.waiting.popleft()
        if message["error"]:
            failed = {"event": "failed", "task": done["task"], "error": message["error"], "trace": "", "kind": "disk"}
            done = {**failed, "memory": done["memory"]}
        self._say(worker, remote, done)
        behind, remote.waiting = remote.waiting, deque()
        for report in behind:
            if remote.waiting:
                remote.waiting.append(report)
            else:
                self._believe(worker, remote, report)
