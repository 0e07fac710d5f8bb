"""No worker outlives its engine, and nothing that a model started outlives its worker, however either ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from edit_eval.workers.messages import Message
from workers.started_worker import ODD_MODELS, StartedWorker

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for it, and looks in /proc")


def group_of(worker: StartedWorker) -> list[int]:
    """The processes of a worker's group that are no zombies: itself, who waits for its end, what its model started."""
    processes = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            state, _, group = (process / "stat").read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(group) == worker.process.pid and state != "Z":
            processes.append(int(process.name))
    return processes


def soon(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def step(worker: StartedWorker) -> Message:
    while (message := worker.next()) is not None and message["event"] != "step":
        pass
    assert message
    return message


@pytest.mark.parametrize("child", ["a program", "a fork", "a fork of a program"])
@pytest.mark.parametrize("end", ["is killed", "hears the end of its pipe", "is deaf and its engine dies"])
@pytest.mark.usefixtures("cold_workers")
def test_what_a_model_started_ends_with_its_worker(source: Path, tmp_path: Path, end: str, child: str) -> None:
    with StartedWorker(tmp_path) as worker:
        worker.load(f"{ODD_MODELS}:Parent")
        others = len(group_of(worker))
        worker.edit(1, source, tmp_path / "1.png", instruction=f"start {child}")
        step(worker)
        assert soon(lambda: len(group_of(worker)) > others)
        if end == "is killed":
            worker.process.kill()
        elif end == "hears the end of its pipe":
            worker.hang_up()
        else:  # as the kernel does it for the engine
            os.kill(worker.process.pid, signal.SIGSTOP)
            os.kill(worker.process.pid, signal.SIGKILL)
        worker.process.wait(60)
        assert soon(lambda: not group_of(worker))


def test_a_worker_that_ends_well_leaves_nobody_behind(tmp_path: Path) -> None:
    with StartedWorker(tmp_path) as worker:
        worker.load(f"{ODD_MODELS}:Painter")
        (other,) = set(group_of(worker)) - {worker.process.pid}
        assert not list(Path(f"/proc/{other}/fd").iterdir()), "whoever waits for its end keeps no pipe and no log open"
        worker.tell("stop")
        worker.hear("ended")
        assert worker.next() is None
        assert worker.process.wait(60) == 0
        assert soon(lambda: not group_of(worker))


def test_a_model_is_closed_before_its_worker_ends(tmp_path: Path) -> None:
    """And is told where a server of its own would run."""
    with StartedWorker(tmp_path) as worker:
        worker.load(f"{ODD_MODELS}:Closing")
        worker.tell("stop")
        worker.hear("ended")
        assert worker.process.wait(60) == 0
        said = worker.log.read_text().splitlines()
    assert [line.partition("(")[2] for line in said] == ["python='', log='', seconds=3600.0)", ""]
    assert said[1] == "closing"


def test_a_model_s_children_are_not_waited_for_and_can_be_ended(source: Path, tmp_path: Path) -> None:
    """SIGTERM is nothing to the worker, and what it always was to a program or a fork that its model ends."""
    with StartedWorker(tmp_path) as worker:
        worker.load(f"{ODD_MODELS}:Parent")
        os.killpg(worker.process.pid, signal.SIGTERM)
        os.killpg(worker.process.pid, signal.SIGINT)
        for task, child in enumerate(("a program", "a fork")):
            worker.edit(task, source, tmp_path / f"{task}.png", instruction=f"terminate {child}")
            assert worker.hear("done", "failed")["event"] == "done"


def test_where_the_group_is_somebody_else_s_nobody_waits_to_kill_it() -> None:
    """A worker that was started by hand, in the group of a shell."""
    code = "import os; from edit_eval.workers.process import bind_to_engine; bind_to_engine(); "
    code += "print(open(f'/proc/self/task/{os.getpid()}/children').read().split())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "[]\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, process_group=0)
    assert len(done.stdout.split()) == 1
    assert done.stdout != "[]\n"
