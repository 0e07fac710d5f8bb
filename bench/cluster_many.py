"""Machines of a cluster that answer at once, for `bench/cluster.py`: what many replicas cost the engine alone.

Their connections are those of real agents, with every line that a real one says; behind them is one process that does
no work. As a program it is that process: `cluster_many.py PORT TOKEN MACHINES`.
"""

from __future__ import annotations

import secrets
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from functools import cached_property
from pathlib import Path
from typing import Any

from edit_eval import evaluate, evaluation
from edit_eval.execution.drivers.ray import RayDriver
from edit_eval.execution.machine.environments import layers_digest
from edit_eval.workers.messages import Lines, Message, encode
from overhead import write_benchmark

GPUS = 8  # of each machine
SHORT, LONG = 150, 900


class ImaginedCluster(RayDriver):
    """A Ray driver without Ray."""

    def __init__(self, machines: int) -> None:
        super().__init__()
        self._machines = machines

    @cached_property
    def cluster(self) -> RayDriver:
        self._token = secrets.token_hex(16)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.wait_for(self._listener.fileno(), self._accept)
        port = self._listener.getsockname()[1]
        self._others = subprocess.Popen([sys.executable, __file__, str(port), self._token, str(self._machines)])
        while len(self._nodes) < self._machines:
            self._ready = {"host": "127.0.0.1"}
            self._wait(time.monotonic() + 60)
        for _, node in sorted(self._nodes.items()):
            self._number(node)
        return self

    def close(self) -> None:
        super().close()
        self._others.kill()
        self._others.wait()
        self._listener.close()


def engine_cpu_of(replicas: int) -> float:
    """Milliseconds of the engine's processor time a task, with so many replicas that answer at once."""
    costs = {}
    for count in (SHORT, LONG):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            asked = {
                "benchmark": {"data_path": str(write_benchmark(folder, count, 32)), "cache_dir": str(folder / "cache")},
                "diffusion_model": {"type": "testing"},
                "reward_model": {"type": "testing"},
                "evaluation": {"controls": 0, "repeats": 8},
                "execution": {"pilot": False, "progress": "none", "load_concurrency": 1024},
            }
            before, evaluation.driver_of = evaluation.driver_of, lambda read: ImaginedCluster(replicas // GPUS)
            try:
                begin = time.process_time()
                evaluate(asked, run_dir=folder / "run", report=False)
                costs[count] = time.process_time() - begin
            finally:
                evaluation.driver_of = before
    return 1000 * (costs[LONG] - costs[SHORT]) / ((LONG - SHORT) * 9)


def answer(order: Message) -> list[dict[str, Any]]:
    """What a worker says to an order."""
    if order["do"] == "load":
        return [{"event": "loaded", "capacity": 1, "seconds": 0.0, "about": {}, "memory": {}}]
    if order["do"] == "stop":
        return [{"event": "died", "reason": "ended"}]
    edited = {"pixels": f"{order['task']:064x}", "width": 8, "height": 8, "file_bytes": 99, "flags": []}
    results = [edited] if order["kind"] == "edit" else [{"text": "Score: 5"} for _ in order["requests"]]
    done = {"event": "done", "task": order["task"], "results": results, "seconds": 0.0, "memory": {}}
    return [{"event": "started", "task": order["task"]}, done]


def main(port: int, token: str, machines: int) -> None:
    """Answers until the engine is gone."""
    selector = selectors.DefaultSelector()
    gpu = {"name": "", "title": "", "uuid": "", "memory": None, "free": None, "utilisation": None, "users": []}
    for number in range(1, machines + 1):
        connection = socket.create_connection(("127.0.0.1", port))
        gpus = [{**gpu, "name": f"cuda:{n}", "capability": None, "node": ""} for n in range(GPUS)]
        about = {"python": "", "platform": "", "processors": 1, "libraries": {}}
        hello = {"hello": number, "token": token, "name": f"machine {number}", "gpus": gpus, "about": about}
        connection.sendall(encode({**hello, "layers": layers_digest(), "time": time.time(), "memory": None}))
        selector.register(connection, selectors.EVENT_READ, Lines())
    while True:
        for key, _ in selector.select():
            data = key.fileobj.recv(1 << 20)  # type: ignore[union-attr]
            if not data:
                return
            said = bytearray()
            for message in key.data.feed(data):
                if "start" in message:
                    said += encode({"of": message["start"], "say": {"event": "prepared"}})
                elif "send" in message:
                    for one in answer(message["send"]):
                        said += encode({"of": message["to"], "say": one})
                elif "kill" in message:
                    said += encode({"of": message["kill"], "say": {"event": "died", "reason": "killed"}})
            key.fileobj.sendall(said)  # type: ignore[union-attr]


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
