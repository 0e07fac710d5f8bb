"""A Ray cluster whose machines are all this one."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
MARK = f"EDIT_EVAL_TESTS={os.getpid()}"
"""In the environment of all processes of these tests."""
STORE = 100_000_000  # bytes; Ray takes no less than 75 MB
PATIENCE = 180.0

WAITS = """
import os, time
from dataclasses import dataclass
from edit_eval.plugins.rehearse.in_worker.fake_models import FakeEditModel


class Waits(FakeEditModel):
    @dataclass
    class Parameters(FakeEditModel.Parameters):
        until: str = ""

    def edit(self, request, on_step):
        while self._done and not os.path.exists(self.parameters.until):  # one each is made at once
            time.sleep(0.05)
        return super().edit(request, on_step)
"""
"""An edit model of which each process makes one edit, and no more until a file is there."""


class Machines:
    """A head without GPUs, and machines with two fake GPUs each that come and go."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        name, _, value = MARK.partition("=")
        os.environ[name] = value
        head = {"num_cpus": 1, "num_gpus": 0, "object_store_memory": STORE, "include_dashboard": False}
        self._cluster = Cluster(initialize_head=True, head_node_args=head)
        self._nodes: list[Any] = []
        self._apart: list[subprocess.Popen[bytes]] = []
        self._stopped: list[int] = []

    @property
    def address(self) -> str:
        return str(self._cluster.address)

    def add(self, count: int = 1, gpus: int = 2) -> None:
        """So many machines more."""
        for _ in range(count):
            self._nodes.append(self._cluster.add_node(num_cpus=1, num_gpus=gpus, object_store_memory=STORE))

    def kill(self) -> None:
        """The power of the first one fails."""
        self._cluster.remove_node(self._nodes.pop(0), allow_graceful=False)

    def stop(self) -> None:
        """What runs on the first one is not dead, and answers no more."""
        stopped = [self._nodes[0].all_processes["raylet"][0].process.pid]
        stopped += [child for child in processes("ray::Agent") if parent_of(child) == stopped[0]]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        self._stopped += stopped

    def add_without(self, folder: Path) -> None:
        """One more, which has an empty folder of its own in place of `folder`."""
        ray = Path(sys.executable).with_name("ray")
        start = f"{ray} start --address={self.address} --num-cpus=1 --num-gpus=2 --object-store-memory={STORE} --block"
        script = f"mount -t tmpfs none {folder} && exec {start}"
        command, there = ["unshare", "--mount", "sh", "-c", script], self.gpus()
        self._apart.append(
            subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        )
        assert soon(lambda: self.gpus() == there + 2)

    def gpus(self) -> int:
        """How many GPUs the machines have that are there."""
        return int(
            sum(node["Resources"].get("GPU", 0) for node in self._cluster.global_state.node_table() if node["Alive"])
        )

    def stop_head(self) -> None:
        """Kills what the head's machine is there for."""
        for kind in ("gcs_server", "raylet"):
            for process in self._cluster.head_node.all_processes[kind]:
                process.process.kill()

    def remove_all(self) -> None:
        """All machines but the head go."""
        while self._nodes:
            self._cluster.remove_node(self._nodes.pop(), allow_graceful=True)
        self._end_those_apart()
        assert soon(lambda: self.gpus() == 0)

    def _end_those_apart(self) -> None:
        for process in self._apart:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(30)
        self._apart.clear()

    def close(self) -> None:
        """The cluster is gone, and nothing of it stays."""
        self._end_those_apart()
        for pid in self._stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self._cluster.shutdown()


def soon(condition: Callable[[], bool], seconds: float = PATIENCE) -> bool:
    """Whether it comes true within a time that no machine needs."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def parent_of(process: int) -> int:
    """The process that started it."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def processes(words: str) -> list[int]:
    """The processes of these tests of which the command line has these words, this one apart."""
    pids = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            ours = MARK.encode() in (folder / "environ").read_bytes()
            if words in line and ours and state != "Z" and int(folder.name) != os.getpid():
                pids.append(int(folder.name))
    return pids
