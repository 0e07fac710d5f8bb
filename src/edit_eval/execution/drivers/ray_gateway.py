"""The process between the engine and Ray: everything of Ray that the engine's machine needs is in here.

So Ray's threads, its signals, its printing and its way of ending a program with its cluster never reach the engine;
that this process is gone means that the cluster is. It sees which machines there are, starts an agent on each
(`ray_agent.py`), says which are gone, and carries pictures through the object store. Workers' lines never come here.

Over its two pipes, JSON lines. From the engine, the field `do`: `start` (`port`, `token`, `gpus`, `variables`), `take`
(`id`, `number`, `path`, `to`, `size`), `give` (`number`, `picture`). To the engine, the field `event`: `ready`
(`host`, `address`), `agents` (`numbers`, `gpus`), `lost` (`number`, `reason`), `taken` (`id`, `error`, `disk`),
`failed` (`error`).
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
import os
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from edit_eval.execution.drivers.ray_agent import Agent, known_by
from edit_eval.pictures import write_durably
from edit_eval.workers.messages import Lines, Message, encode, write_all

LOOK_EVERY = 1.0  # seconds
HEAD_SECONDS = 15.0
"""How long the cluster's head may be silent before it counts as gone."""
FETCH_SECONDS = 60.0
CARRIERS = 8
"""Pictures that are under way at once."""
PUT_BYTES = 256 << 20
"""Of pictures in the object store that other machines may want as well."""


class Gateway:
    """Serves until its pipe ends."""

    def __init__(self, pipe_in: int, pipe_out: int, address: str) -> None:
        self._in, self._out, self._address = pipe_in, pipe_out, address
        self._lock = threading.Lock()
        self._agents: dict[int, Any] = {}
        self._known: dict[str, int] = {}  # node id -> number
        self._numbers = itertools.count(1)
        self._names: set[str] = set()
        self._host, self._reserved = "", 0
        self._put: dict[tuple[str, str], tuple[Any, int]] = {}
        self._answered = time.monotonic()
        self._carriers = ThreadPoolExecutor(CARRIERS)

    def say(self, event: str, **more: Any) -> None:
        """Tells the engine; without one there is nothing left to do."""
        with self._lock:
            try:
                write_all(self._out, encode({"event": event, **more}))
            except OSError:
                os._exit(1)

    def run(self) -> None:
        """Joins the cluster, then does as it is told."""
        quiet: dict[str, Any] = {"log_to_driver": False, "configure_logging": False, "logging_level": logging.ERROR}
        try:
            if self._address:
                ray.init(address=self._address, **quiet)
            else:
                ray.init(include_dashboard=False, **quiet)
        except Exception as error:
            what = " ".join(str(error).split())[:300]
            return self.say("failed", error=f"cannot reach Ray at {self._address or 'this machine'}: {what}")
        self._host = ray.util.get_node_ip_address()
        self.say("ready", host=self._host, address=ray.get_runtime_context().gcs_address)
        lines = Lines()
        while data := os.read(self._in, 1 << 16):
            for order in lines.feed(data):
                getattr(self, f"_{order.pop('do')}")(**order)

    def _agents_on(self, orders: Message) -> list[int]:
        """Starts an agent on each machine that has none, as far as GPUs are wanted; returns their numbers."""
        numbers = []
        for node in sorted(ray.nodes(), key=lambda one: (one["NodeManagerHostname"], one["NodeID"])):
            if not node["Alive"] or node["NodeID"] in self._known:
                continue
            left = None if orders["gpus"] is None else orders["gpus"] - self._reserved
            free = free_gpus(node)
            count = free if left is None else min(free, left)
            if count <= 0:
                continue
            number = self._known[node["NodeID"]] = next(self._numbers)
            self._reserved += count
            actor = ray.remote(Agent).options(
                num_cpus=0,
                num_gpus=count,
                max_restarts=0,
                max_task_retries=0,
                max_concurrency=CARRIERS,
                scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False),
            )
            name, engine = self._name(node), (self._host, orders["port"])
            agent = self._agents[number] = actor.remote(number, name, count, engine, orders["token"])
            end = agent.run.remote(orders["variables"]).future()
            # Not in the callback itself: that runs in the thread in which Ray does everything.
            later = functools.partial(self._carriers.submit, functools.partial(self._over, number, count))
            end.add_done_callback(later)
            numbers.append(number)
        return numbers

    def _name(self, node: Mapping[str, Any]) -> str:
        """Its host's name, which is another one's as well where machines are containers."""
        name = str(node["NodeManagerHostname"])
        name = f"{name}-{node['NodeID'][:6]}" if name in self._names else name
        self._names.add(name)
        return name

    def _start(self, **orders: Any) -> None:
        there = sum(node["Resources"].get("GPU", 0) for node in ray.nodes() if node["Alive"])
        self.say("agents", numbers=self._agents_on(orders), gpus=there)
        threading.Thread(target=self._look, args=(orders,), daemon=True).start()
        threading.Thread(target=self._watch_head, daemon=True).start()

    def _over(self, number: int, count: int, over: Any) -> None:
        self._reserved -= count
        error = over.exception()
        agent = self._agents.pop(number, None)
        if agent is not None:
            with contextlib.suppress(Exception):
                ray.kill(agent)
        text = " ".join(str(error).split())
        if "ModuleNotFoundError" in text:
            text = "edit-eval is not installed there: `pip install 'edit-eval[ray]'` in the environment of its Ray"
        self.say("lost", number=number, reason="" if error is None else f"{type(error).__name__}: {text}"[-1500:])

    def _look(self, orders: Message) -> None:
        while True:
            time.sleep(LOOK_EVERY)
            try:
                if numbers := self._agents_on(orders):
                    self.say("agents", numbers=numbers, gpus=0)
                self._answered = time.monotonic()
            except Exception:
                continue  # whether the head is gone is seen from its silence

    def _watch_head(self) -> None:
        while time.monotonic() - self._answered < HEAD_SECONDS:
            time.sleep(LOOK_EVERY)
        self.say("failed", error=f"the head of the Ray cluster has not answered for {HEAD_SECONDS:g} s")

    # -- pictures --

    def _take(self, id: int, number: int, path: str, to: str, size: int) -> None:
        self._carriers.submit(self._fetch, id, number, path, to, size)

    def _fetch(self, id: int, number: int, path: str, to: str, size: int) -> None:
        try:
            data = ray.get(self._agents[number].take.remote(path), timeout=FETCH_SECONDS)
            if len(data) != size:
                raise ValueError(f"{path} has {len(data)} bytes instead of {size}")
        except Exception as error:
            return self.say("taken", id=id, error=" ".join(str(error).split())[:300], disk=False)
        try:
            write_durably(data, Path(to))
        except OSError as error:
            return self.say("taken", id=id, error=f"{to}: {error.strerror or error}", disk=True)
        self.say("taken", id=id, error="", disk=False)

    def _give(self, number: int, picture: Message) -> None:
        self._carriers.submit(self._bring, number, known_by(picture))

    def _bring(self, number: int, name: tuple[str, str]) -> None:
        agent = self._agents.get(number)
        if agent is None:
            return
        try:
            reference = self._reference(name)
        except OSError:
            reference = None
        agent.keep.remote(name, reference)

    def _reference(self, name: tuple[str, str]) -> Any:
        """The picture in the object store, from where each machine takes it."""
        with self._lock:
            known = self._put.get(name)
        if known is not None:
            return known[0]
        data = Path(name[0]).read_bytes()
        reference = ray.put(data)
        with self._lock:
            self._put[name] = reference, len(data)
            while sum(size for _, size in self._put.values()) > PUT_BYTES:
                del self._put[next(iter(self._put))]
        return reference


def free_gpus(node: Mapping[str, Any]) -> int:
    """The GPUs of a machine that no other job of the cluster has reserved."""
    there = node["Resources"].get("GPU", 0)
    try:
        from ray._private.state import available_resources_per_node  # Ray has no public way to ask

        return int(available_resources_per_node()[node["NodeID"]].get("GPU", 0))
    except (ImportError, KeyError):
        return int(there)


if __name__ == "__main__":
    Gateway(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]).run()
    os._exit(0)  # Ray's tidying up is the cluster's: it ends what this job has left
