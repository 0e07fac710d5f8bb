"""The local driver with real processes: what they say arrives, what they are is known, and nothing outlives it."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import PIL
import pytest
from PIL import Image

from edit_eval.execution.contract import WorkerSpecification
from edit_eval.execution.drivers.local import LocalDriver, reason_of
from edit_eval.workers.messages import Message

PATIENCE = 30.0

MODELS = """
import os, signal, subprocess, sys, time


class Model:
    def __init__(self, parameters):
        self.parameters = parameters

    def load(self, devices):
        self.devices = devices
        for command in self.parameters.get("at load", ()):
            exec(command)

    def about(self):
        names = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "HF_HOME")
        return {name: os.environ.get(name, "unset") for name in names} | {"devices": self.devices, "pid": os.getpid(),
            "session": os.getsid(0), "ours": sys.modules["edit_eval"].__file__, "python": sys.executable}

    def judge(self, requests):
        return [request.system for request in requests]

    def edit(self, request, on_step):
        exec(request.instruction)
        return request.pictures["source"]
"""


NOBODY_IS_LEFT_BEHIND = """
for child in open(f"/proc/self/task/{os.getpid()}/children").read().split():
    os.kill(int(child), signal.SIGKILL)
"""


class Spoken:
    """A driver, and all that was heard of its workers."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        (folder / "models.py").write_text(MODELS)
        Image.new("RGB", (40, 30), "green").save(folder / "source.png")
        self.folder = folder
        self.driver = LocalDriver(environment)
        self.driver.poll(0)  # its first use, which opens what it waits with
        self.heard: list[tuple[int, Message]] = []

    def start(
        self, worker: int = 1, devices: tuple[str, ...] = ("cpu:0",), python: str = "", **parameters: Any
    ) -> None:
        class_path = f"{self.folder}/models.py:Model"
        specification = WorkerSpecification(
            f"worker-{worker}", "m", devices, class_path, parameters, python, logs=self.folder / "logs"
        )
        self.driver.start(worker, specification)

    def hear(self, worker: int, event: str) -> Message:
        """The next message of that worker with that event; others stay to be asked for."""
        deadline = time.monotonic() + PATIENCE
        while True:
            for place, (number, message) in enumerate(self.heard):
                if number == worker and message["event"] == event:
                    return self.heard.pop(place)[1]
            assert time.monotonic() < deadline, f"no {event} of worker {worker}; heard: {self.heard}"
            self.heard += [tuple(e) for e in self.driver.poll(0.5)[1]]

    def load(self, worker: int = 1, **more: Any) -> dict[str, str]:
        """Starts and loads a worker; returns what it says of itself."""
        self.start(worker, **more)
        self.hear(worker, "prepared")
        self.driver.submit(worker, {"do": "load"})
        about: dict[str, str] = self.hear(worker, "loaded")["about"]
        return about

    def edit(self, worker: int, command: str, task: int = 1) -> None:
        """Has the model execute a command."""
        picture = str(self.folder / "source.png")
        order = {
            "do": "run",
            "task": task,
            "kind": "edit",
            "pictures": [{"name": "source", "path": picture, "digest": ""}],
            "instruction": command,
            "seed": 0,
        }
        self.driver.submit(worker, {**order, "sample": "s", "output": str(self.folder / "out.png")})


@pytest.fixture
def spoken(tmp_path: Path) -> Iterator[Spoken]:
    made = Spoken(tmp_path)
    yield made
    made.driver.close()


def descriptors() -> set[str]:
    """What this process has open."""
    return {f"{fd.name}: {fd.readlink()}" for fd in Path("/proc/self/fd").iterdir() if fd.is_symlink()}


def is_there(process: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def soon(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 10
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


# -- what a worker is given --


@pytest.mark.parametrize(
    ("visible", "devices", "variable", "order", "named"),
    [
        ("GPU-aa,GPU-bb,GPU-cc", ("cuda:2",), "GPU-cc", "PCI_BUS_ID", ["cuda:0"]),
        ("3,1", ("cuda:1", "cuda:0"), "1,3", "PCI_BUS_ID", ["cuda:0", "cuda:1"]),
        (None, ("cuda:5",), "5", "PCI_BUS_ID", ["cuda:0"]),
        ("0,1", ("cpu:3",), "", "FASTEST_FIRST", ["cpu"]),
    ],
)
def test_a_worker_sees_its_own_devices_and_no_others(
    tmp_path: Path, visible: str | None, devices: tuple[str, ...], variable: str, order: str, named: list[str]
) -> None:
    environment = {**os.environ, "CUDA_DEVICE_ORDER": "FASTEST_FIRST", "HF_HOME": "/weights"}
    environment.pop("CUDA_VISIBLE_DEVICES", None)
    if visible is not None:
        environment["CUDA_VISIBLE_DEVICES"] = visible
    spoken = Spoken(tmp_path, environment)
    try:
        about = spoken.load(devices=devices)
    finally:
        spoken.driver.close()
    assert about["CUDA_VISIBLE_DEVICES"] == variable
    assert about["CUDA_DEVICE_ORDER"] == order
    assert about["devices"] == str(named)
    assert about["HF_HOME"] == "/weights", "the rest is as the command has it"


def test_it_runs_in_the_interpreter_of_its_environment_with_nothing_of_ours_installed(
    spoken: Spoken, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    packages = next((environment / "lib").glob("python3*")) / "site-packages"
    for folder in Path(PIL.__file__).parents[1].glob("[Pp]illow*"):
        (packages / folder.name).symlink_to(folder)
    (packages / "PIL").symlink_to(Path(PIL.__file__).parent)
    python = str(environment / "bin" / "python")
    about = spoken.load(python=python)
    assert about["python"] == python
    assert ".zip/edit_eval" in about["ours"]
    spoken.edit(1, "on_step(1, 1)")
    assert spoken.hear(1, "done")["results"][0]["flags"] == ["identical_to_source"]


def test_it_leads_a_session_of_its_own(spoken: Spoken) -> None:
    """So that a Ctrl-C at the terminal is the engine's affair."""
    about = spoken.load()
    assert about["session"] == about["pid"] != str(os.getpid())


def test_its_log_is_added_to(spoken: Spoken) -> None:
    for _ in range(2):
        spoken.load(**{"at load": ["print('loading', self.devices)"]})
        spoken.driver.submit(1, {"do": "stop"})
        spoken.hear(1, "died")
    assert (spoken.folder / "logs" / "worker-1.log").read_text() == "loading ['cpu']\nloading ['cpu']\n"


# -- what cannot be started --


@pytest.mark.parametrize("what", ["is not there", "may not be run", "is no program"])
def test_an_interpreter_that_cannot_be_started_is_broken_and_dead(spoken: Spoken, what: str) -> None:
    program = spoken.folder / "python"
    if what != "is not there":
        program.write_text("no program")
        program.chmod(0o755 if what == "is no program" else 0o644)
    before = descriptors()
    spoken.start(python=str(program))
    broken, died = spoken.hear(1, "broken"), spoken.hear(1, "died")
    assert broken["error"] == died["reason"]
    assert broken["error"].startswith(f"cannot start {program}: ")
    assert descriptors() == before
    spoken.driver.submit(1, {"do": "load"})  # to nobody: no error


def test_an_interpreter_that_is_none_dies_with_its_exit_code(spoken: Spoken) -> None:
    program = spoken.folder / "python"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    spoken.start(python=str(program))
    assert spoken.hear(1, "broken")["error"] == "its process ended with exit code 3"
    assert spoken.hear(1, "died")["reason"] == "its process ended with exit code 3"


def test_an_interpreter_that_is_none_has_the_last_word(tmp_path: Path) -> None:
    program, log = tmp_path / "python", tmp_path / "logs" / "worker-1.log"
    program.write_text("#!/bin/sh\necho no licence >&2\nexit 3\n")
    program.chmod(0o755)
    spoken = Spoken(tmp_path)
    spoken.start(python=str(program))
    assert spoken.hear(1, "broken")["error"] == f"its process ended with exit code 3 (no licence; more in {log})"
    spoken.driver.close()


@pytest.mark.parametrize("said", ["can't start new thread", "[Errno 11] Resource temporarily unavailable"])
def test_an_interpreter_that_gets_no_thread_is_the_machine_s_affair(spoken: Spoken, said: str) -> None:
    """As with `ulimit -u` in reach: Python starts, and no more than that."""
    program = spoken.folder / "python"
    program.write_text(f'#!/bin/sh\necho "RuntimeError: {said}" >&2\nexit 1\n')
    program.chmod(0o755)
    spoken.start(python=str(program))
    broken = spoken.hear(1, "broken")
    assert broken["kind"] == "machine"
    assert "`ulimit -u` raises the limit" in broken["error"]


def test_a_log_that_cannot_be_written_is_the_disk_s_fault_and_no_interpreter_s(spoken: Spoken) -> None:
    (spoken.folder / "logs").mkdir()
    (spoken.folder / "logs" / "worker-1.log").mkdir()
    before = descriptors()
    with pytest.raises(IsADirectoryError):
        spoken.start()
    assert descriptors() == before


# -- messages --


def test_a_megabyte_in_each_direction_holds_nobody_up(spoken: Spoken, tmp_path: Path) -> None:
    """Even to a worker that does not read at all for now."""
    process = int(spoken.load()["pid"])
    spoken.edit(1, "pass", task=0)
    picture = spoken.hear(1, "done")["results"][0]
    prompts = [f"{task}" + "好" * 350_000 for task in range(3)]
    source = str(tmp_path / "out.png")
    os.kill(process, signal.SIGSTOP)
    began = time.monotonic()
    for task, prompt in enumerate(prompts):
        edit = {"name": "edit", "steps": [], "path": source, "pixels": picture["pixels"]}
        request = {"system": prompt, "user": "", "form": "score", "question": "score", "seed": 0, "pictures": [edit]}
        who = {"sample": "s", "edit_model": "m", "instruction": "", "category": ""}
        often = {"edit_seed": 0, "repeat": 0, "reading": 0}
        spoken.driver.submit(1, {"do": "run", "task": task, "kind": "judge", "requests": [request | who | often]})
    assert spoken.driver.poll(0.0)[1] == []
    assert time.monotonic() - began < 5
    os.kill(process, signal.SIGCONT)
    for task, prompt in enumerate(prompts):
        done = spoken.hear(1, "done")
        assert (done["task"], done["results"]) == (task, [{"text": prompt}])


def test_nothing_to_hear_takes_as_long_as_was_said(spoken: Spoken) -> None:
    first, events = spoken.driver.poll(0.0)
    assert events == []
    second, events = spoken.driver.poll(0.05)
    assert events == []
    assert second - first >= 0.05


# -- deaths --


@pytest.fixture(params=["pidfd", "an old kernel", "another system"])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three ways in which the death of a process can be watched for."""

    def missing(*arguments: object) -> int:
        raise OSError(errno.ENOSYS, "Function not implemented")

    if request.param != "pidfd":
        monkeypatch.setattr(os, "pidfd_open", missing)
    if request.param == "another system":
        monkeypatch.delattr(os, "waitid")


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "killed by SIGKILL (the kernel may have run out of memory)"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "killed by SIGSEGV"),
        ("os._exit(7)", "ended with exit code 7"),
    ],
)
def test_how_a_worker_died_is_told_after_all_that_it_said(spoken: Spoken, command: str, reason: str) -> None:
    process = int(spoken.load()["pid"])
    spoken.edit(1, f"on_step(1, 2); {command}")
    assert reason in spoken.hear(1, "died")["reason"]
    assert [message["event"] for _, message in spoken.heard] == ["started", "step"]
    assert not is_there(process)
    spoken.driver.submit(1, {"do": "stop"})
    spoken.driver.kill(1)
    assert spoken.driver.poll(0.0)[1] == []


@pytest.mark.parametrize("at_load", ["pass", NOBODY_IS_LEFT_BEHIND], ids=["watched", "unwatched"])
def test_a_child_that_keeps_the_pipe_open_neither_hides_a_death_nor_outlives_it(spoken: Spoken, at_load: str) -> None:
    """Also where no second process waits for the worker's end: then it is the driver's affair alone."""
    spoken.load(**{"at load": [at_load]})
    note = spoken.folder / "child"
    spoken.edit(
        1,
        "child = os.fork()\n"
        "while not child: time.sleep(600)\n"
        f"open({str(note)!r}, 'w').write(str(child))\n"
        "os.kill(os.getpid(), signal.SIGKILL)",
    )
    assert "SIGKILL" in spoken.hear(1, "died")["reason"]
    child = int(note.read_text())
    assert soon(lambda: not is_there(child))


def test_a_worker_that_does_not_stop_can_be_killed(spoken: Spoken, kernel: None) -> None:
    process = int(spoken.load()["pid"])
    spoken.edit(1, "on_step(1, 2); time.sleep(1e6)")
    spoken.hear(1, "step")
    spoken.driver.submit(1, {"do": "stop"})
    assert spoken.driver.poll(0.1)[1] == []
    assert is_there(process)
    spoken.driver.kill(1)
    assert "SIGKILL" in spoken.hear(1, "died")["reason"]
    assert not is_there(process)


@pytest.mark.parametrize(
    "output",
    [
        *("Loading: 100%", '{"level": "info"}', "[]", "[" * 60_000, '{"event": "started", "task": 99}'),
        *('{"event": "done", "task": 1}', '{"event": "died", "reason": "x"}', '{"event": "prepared"}'),
    ],
    ids=range(8),
)
def test_output_in_our_own_pipe_is_named_as_such(spoken: Spoken, output: str) -> None:
    """By a model that writes into every descriptor it finds."""
    spoken.load()
    spoken.edit(1, rf"os.write(int(sys.argv[-1]), b'{output}\n'); time.sleep(1e6)")
    assert "it wrote into the pipe" in spoken.hear(1, "died")["reason"]


@pytest.mark.usefixtures("cold_workers")
def test_closing_ends_everybody_and_gives_everything_back(tmp_path: Path, kernel: None) -> None:
    before = descriptors()
    spoken = Spoken(tmp_path)
    processes = [int(spoken.load(worker)["pid"]) for worker in (1, 2)]
    spoken.edit(1, "time.sleep(1e6)")
    spoken.start(3)
    os.kill(processes[1], signal.SIGSTOP)  # deaf: it would never notice the end of its pipe
    spoken.driver.close()
    assert not any(map(is_there, processes))
    assert soon(lambda: descriptors() == before), descriptors() - before


def test_how_a_process_ended() -> None:
    assert reason_of(0) == "its process ended with exit code 0"
    assert reason_of(-signal.SIGBUS) == "its process was killed by SIGBUS"
    assert reason_of(-63) == "its process was killed by signal 63"


def test_a_worker_for_which_no_descriptor_is_left_is_the_machine_s_affair(spoken: Spoken) -> None:
    """Wherever on its way the limit is met: the log, either pipe, the process, what tells of its end."""
    before, limits = descriptors(), resource.getrlimit(resource.RLIMIT_NOFILE)
    for left in range(20):
        held: list[int] = []
        resource.setrlimit(resource.RLIMIT_NOFILE, (300, limits[1]))
        with contextlib.suppress(OSError):
            while True:
                held.append(os.open(os.devnull, os.O_RDONLY))
        for descriptor in held[:left]:
            os.close(descriptor)
        spoken.start(left)
        for descriptor in held[left:]:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        if spoken.driver._processes:
            break
        broken, died = spoken.hear(left, "broken"), spoken.hear(left, "died")
        assert broken["kind"] == "machine"
        assert "`ulimit -n` raises the limit" in broken["error"]
        assert broken["error"] == died["reason"]
        assert descriptors() == before
    assert 5 < left < 19
