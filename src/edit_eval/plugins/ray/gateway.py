"""The process between the engine and Ray: it holds everything of Ray that the engine's machine needs.

So Ray's threads, signals, output and habit of ending a program with its cluster never reach the engine; if this process
ends, the cluster is lost. It finds the machines, starts an agent on each (`agent.py`), continuously asks it for
messages, passes on its orders, reports lost machines, and carries pictures through Ray's object store. Lines of agents
and workers pass unread.

Its two private pipes carry frames (`agent.Frames`): a machine's are for its agent, or from it. Those of the number
`GATEWAY` are JSON lines. From the engine, the field `do`: `start` (`gpus`, `variables`), `leave` (`number`: an agent
that is no longer wanted), `take` (`number`, `worker`, `task`, `to`, `size`), `give` (`number`, `picture`). To the
engine, the field `event`: `ready` (`guarded`), `machines` (`machines`: `number`, `name`, `gpus`; and `gpus`, how many
there are in all), `lost` (`number`, `reason`, `returns`: whether the machine may have an agent again), `taken`
(`worker`, `task`, `error`, `disk`), `failed` (`error`).

One thread does all of it and waits only for its pipes; Ray's callbacks, and anything that may block, only post work.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
import os
import queue
import select
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import ray
from ray.experimental import get_object_locations
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from edit_eval.files.durable import write_durably
from edit_eval.json_values import JsonObject, Unchecked
from edit_eval.plugins.ray.agent import GATEWAY, HEAR_BYTES, Agent, Frames, frame_bytes, identify_picture
from edit_eval.workers.messages import Message, MessageStream, encode

LOOK_EVERY = 1.0  # seconds
TICK_SECONDS = 0.25
"""Pause between two checks for silent machines."""
SILENT_SECONDS = 2.4
"""How long an agent may be silent, though it is asked, before its machine counts as lost."""
RETURNS = 5
"""How many agents of a machine may end or fail, one after the other, until it has none any more: each new one waits
twice as long as the one before. One that was heard for a minute begins this count anew."""
STEADY_SECONDS = 60.0
HEAD_SECONDS = 15.0
"""How long the cluster's head may be silent before it counts as lost."""
FETCH_SECONDS = 60.0
END_SECONDS = 2.0
CARRIERS = 8
"""Pictures carried at once."""
PUT = 64
"""Pictures kept in the object store, since other machines may want them as well."""
SLACK_BYTES = 1 << 12
"""How much larger than its file an object of the store may be."""


@dataclass(eq=False)
class Peer:
    """A machine with an agent of ours."""

    number: int
    node: str
    """Ray's name for it."""
    name: str
    gpus: int
    agent: Any
    unsent: bytearray = field(default_factory=bytearray)
    telling: bool = False
    """True while a call with orders is under way: of two at once the second could arrive first."""
    heard: float = float("inf")
    """When it last answered."""
    begun: float = float("inf")
    """When it first did."""


class Gateway:
    """Serves until its pipe ends."""

    def __init__(self, pipe_in: int, pipe_out: int, address: str) -> None:
        self._in, self._out, self._address = pipe_in, pipe_out, address
        self._frames, self._lines, self._unsent = Frames(), MessageStream(), bytearray()
        self._to_do: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._bell, self._ring = os.pipe()
        self._peers: dict[int, Peer] = {}
        self._known: set[str] = set()  # nodes with an agent, or on which none is wanted any more
        self._ended: Counter[str] = Counter()  # node -> how many of its agents ended one after the other
        self._again: dict[str, float] = {}  # node -> the time before which it gets no further agent
        self._numbers = itertools.count(GATEWAY + 1)
        self._names: dict[str, str] = {}
        self._wanted: int | None = None
        self._variables: Mapping[str, str] = {}
        self._looked, self._answered = time.monotonic(), float("inf")
        self._carriers = ThreadPoolExecutor(CARRIERS)

    def run(self) -> None:
        """Joins the cluster, then follows orders."""
        quiet: JsonObject = {"log_to_driver": False, "configure_logging": False, "logging_level": logging.ERROR}
        os.set_blocking(self._out, False)
        try:
            if self._address:
                ray.init(address=self._address, **quiet)
            else:
                ray.init(include_dashboard=False, **quiet)
        except Exception as error:
            what = " ".join(str(error).split())[:300]
            self._fail(f"cannot reach Ray at {self._address or 'this machine'}: {what}")
        else:  # Ray sets the variable itself if it finds a token
            self._say("ready", guarded=os.environ.get("RAY_AUTH_MODE", "").lower() == "token")
        while True:
            into, out, _ = select.select([self._in, self._bell], [self._out] if self._unsent else [], [], TICK_SECONDS)
            if self._in in into:
                data = os.read(self._in, 1 << 20)
                if not data:
                    return self._end()
                self._receive_orders(data)
            if self._bell in into:
                os.read(self._bell, 1 << 16)
                with contextlib.suppress(queue.Empty):
                    while True:
                        self._to_do.get_nowait()()
            self._check_peers()
            if out or self._unsent:
                with contextlib.suppress(BlockingIOError):
                    while self._unsent:
                        del self._unsent[: os.write(self._out, self._unsent)]

    def _later(self, do: Callable[[], object]) -> None:
        self._to_do.put(do)
        os.write(self._ring, b".")

    def _say(self, event: str, **more: Any) -> None:
        self._unsent += frame_bytes(GATEWAY, encode({"event": event, **more}))

    def _fail(self, error: str) -> None:
        self._answered = float("inf")
        self._say("failed", error=error)

    def _receive_orders(self, data: bytes) -> None:
        for number, some in self._frames.feed(data):
            if number == GATEWAY:
                for order in self._lines.feed(some):
                    getattr(self, f"_{order.pop('do')}")(**order)
            elif number in self._peers:
                self._peers[number].unsent += some

    def _end(self) -> None:
        """Ends the agents when the engine has ended or finished."""
        ends = [peer.agent.end.remote() for peer in self._peers.values()]
        with contextlib.suppress(Exception):
            if ends:
                ray.wait(ends, num_returns=len(ends), timeout=END_SECONDS, fetch_local=False)

    # -- machines joining and leaving --

    def _start(self, gpus: int | None, variables: Mapping[str, str]) -> None:
        self._wanted, self._variables, self._answered = gpus, variables, time.monotonic()
        threading.Thread(target=self._watch_cluster, daemon=True).start()

    def _watch_cluster(self) -> None:
        """Looks for machines again and again, in a thread of its own, since the head may never answer."""
        while True:
            with contextlib.suppress(Exception):  # silence shows that the head is lost
                nodes = [node for node in ray.nodes() if node["Alive"]]
                there = sum(node["Resources"].get("GPU", 0) for node in nodes)
                self._later(partial(self._add_peers, self._begin_agents(nodes), there))
                self._answered = time.monotonic()
            time.sleep(LOOK_EVERY)

    def _begin_agents(self, nodes: list[Unchecked]) -> list[Peer]:
        """Starts an agent on each machine without one, as far as GPUs are wanted."""
        begun: list[Peer] = []
        reserved = sum(peer.gpus for peer in list(self._peers.values()))
        for node in sorted(nodes, key=lambda node: (node["NodeManagerHostname"], node["NodeID"])):
            if node["NodeID"] in self._known or time.monotonic() < self._again.get(node["NodeID"], 0.0):
                continue
            count = free_gpus(node)
            if self._wanted is not None:
                count = min(count, self._wanted - reserved)
            if count <= 0:
                continue
            maker = ray.remote(Agent).options(
                num_cpus=0,
                num_gpus=count,
                max_restarts=0,
                max_task_retries=0,
                max_concurrency=2 * CARRIERS,
                enable_task_events=False,  # only for a dashboard, and each call would cost more
                scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False),
            )
            name = self._name(node)
            agent = maker.remote(name, count, self._variables)
            reserved += count
            self._known.add(node["NodeID"])  # not where a call failed: `_look` tries again
            begun.append(Peer(next(self._numbers), node["NodeID"], name, count, agent))
        return begun

    def _name(self, node: Mapping[str, Any]) -> str:
        """Returns a unique name for a host, always the same: machines that are containers may share one."""
        host, taken = str(node["NodeManagerHostname"]), self._names.values()
        return self._names.setdefault(node["NodeID"], f"{host}-{node['NodeID'][:6]}" if host in taken else host)

    def _add_peers(self, peers: list[Peer], there: float) -> None:
        listed = [{"number": peer.number, "name": peer.name, "gpus": peer.gpus} for peer in peers]
        self._say("machines", machines=listed, gpus=there)
        for peer in peers:
            self._peers[peer.number] = peer
            self._ask(peer)

    def _check_peers(self) -> None:
        """Sends waiting orders, and finds silent machines."""
        now = time.monotonic()
        # If this process or its machine was suspended, the others were not silent all that time.
        stopped, self._looked = max(0.0, now - self._looked - LOOK_EVERY), now
        for peer in list(self._peers.values()):
            peer.heard += stopped
            if now - peer.heard > SILENT_SECONDS:
                self._lose(peer, f"it has not answered for {SILENT_SECONDS:g} s", returns=True)
            elif peer.unsent and not peer.telling:
                orders, peer.telling = bytes(peer.unsent), True
                peer.unsent.clear()
                self._call(peer.agent.tell.remote(orders), partial(self._handle_delivery, peer))
        self._answered += stopped
        if now - self._answered > HEAD_SECONDS:
            self._fail(f"the head of the Ray cluster has not answered for {HEAD_SECONDS:g} s")

    def _call(self, answer: Any, then: Callable[[Any], object]) -> None:
        answer.future().add_done_callback(lambda future: self._later(partial(then, future)))

    def _ask(self, peer: Peer) -> None:
        self._call(peer.agent.hear.remote(), partial(self._handle_answer, peer))

    def _handle_answer(self, peer: Peer, answer: Any) -> None:
        if peer.number not in self._peers:
            return
        if error := answer.exception():
            return self._handle_failure(peer, error)
        said = answer.result()
        if type(said) is not bytes or len(said) > HEAR_BYTES:
            return self._lose(peer, "it answered what no edit-eval agent answers")
        peer.heard = time.monotonic()
        peer.begun = min(peer.begun, peer.heard)
        self._ask(peer)
        if said:
            self._unsent += frame_bytes(peer.number, said)

    def _handle_delivery(self, peer: Peer, answer: Any) -> None:
        peer.telling = False
        if answer.exception():
            self._handle_failure(peer, answer.exception())

    def _leave(self, number: int) -> None:
        if number in self._peers:
            self._lose(self._peers[number], "")

    def _handle_failure(self, peer: Peer, error: BaseException) -> None:
        """Loses a machine whose agent has ended or failed: by itself if nobody could ask it, as on a busy cluster.

        So another one is begun there. One without edit-eval gets none, and no machine gets many.
        """
        if peer.number not in self._peers:
            return
        if peer.heard - peer.begun > STEADY_SECONDS:
            self._ended[peer.node] = 0
        self._ended[peer.node] += 1
        returns = self._ended[peer.node] < RETURNS and "ModuleNotFoundError" not in str(error)
        self._again[peer.node] = time.monotonic() + LOOK_EVERY * 2 ** self._ended[peer.node]
        self._lose(peer, words(error), returns=returns)

    def _lose(self, peer: Peer, reason: str, *, returns: bool = False) -> None:
        if self._peers.pop(peer.number, None) is not None:
            if returns:
                self._known.discard(peer.node)
            self._say("lost", number=peer.number, reason=reason, returns=returns)
            self._carriers.submit(ray.kill, peer.agent)  # it may wait for the head

    # -- pictures --

    def _take(self, number: int, worker: int, task: int, to: str, size: int) -> None:
        peer = self._peers.get(number)
        if peer is not None:  # else it is lost, which was reported
            self._carriers.submit(self._fetch, number, worker, peer.agent.take.remote(worker, task), task, to, size)

    def _fetch(self, number: int, worker: int, picture: Any, task: int, to: str, size: int) -> None:
        error, disk = "", False
        try:
            ray.wait([picture], timeout=FETCH_SECONDS, fetch_local=False)
            stored = get_object_locations([picture])[picture]["object_size"]
            if stored is not None and stored > size + SLACK_BYTES:
                raise ValueError(f"{stored} bytes instead of {size}")
            data = ray.get(picture, timeout=FETCH_SECONDS)
            if type(data) is not bytes or len(data) != size:
                raise ValueError(f"not the {size} bytes of it")
            if number not in self._peers:  # another machine is making that edit by now
                return
            try:
                write_durably(data, Path(to))
            except OSError as full:
                error, disk = f"{to}: {full.strerror or full}", True
        except Exception as fault:
            error = words(fault)
        self._later(partial(self._say, "taken", worker=worker, task=task, error=error, disk=disk))

    def _give(self, number: int, picture: Message) -> None:
        peer = self._peers.get(number)
        if peer is not None:
            self._carriers.submit(self._bring, peer.agent, identify_picture(picture))

    def _bring(self, agent: Any, name: tuple[str, str]) -> None:
        try:
            agent.keep.remote(name, store_picture(*name))
        except OSError:
            agent.keep.remote(name, None)


@functools.lru_cache(PUT)
def store_picture(path: str, digest: str) -> Any:
    """Puts the picture into the object store, from which each machine takes it. Raises `OSError`."""
    return ray.put(Path(path).read_bytes())


def words(error: BaseException) -> str:
    """Returns the end of what Ray says of a failure, in one line."""
    text = " ".join(str(error).split())
    if isinstance(error, ray.exceptions.ActorUnavailableError):
        return "its connection to Ray has ended"
    if "ModuleNotFoundError" in text:
        return "edit-eval is not installed there: `pip install 'edit-eval[ray]'` in the environment of its Ray"
    return f"{type(error).__name__}: {text}"[-600:]


def free_gpus(node: Mapping[str, Any]) -> int:
    """Returns the number of a machine's GPUs that no other job of the cluster has reserved."""
    there = node["Resources"].get("GPU", 0)
    try:
        from ray._private.state import available_resources_per_node  # Ray has no public way to ask

        return int(available_resources_per_node()[node["NodeID"]].get("GPU", 0))
    except (ImportError, KeyError):
        return int(there)


if __name__ == "__main__":
    with contextlib.suppress(OSError):  # no engine is left to write to
        Gateway(int(sys.argv[2]), int(sys.argv[3]), sys.argv[1]).run()
    os._exit(0)  # Ray's own clean-up is the cluster's: it ends what this job has left
