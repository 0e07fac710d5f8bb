"""Servers that are started and ended: real processes, real ports."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import scripted_server
from edit_eval.endpoints.engines import ENGINES
from edit_eval.endpoints.serving import Serve, ServerEnvironment
from edit_eval.errors import LoadError
from edit_eval.plugins.endpoints.in_worker import server as serving
from edit_eval.plugins.endpoints.in_worker.server import RUN, Server, members, telling_line
from judge_server import JudgeServer

SCRIPTED = str(Path(__file__).with_name("server_program.py"))
linux = pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")


def living(pid: int) -> list[int]:
    """What is left of a server's processes."""
    return list(members(pid, ""))


def is_living(process: Path) -> bool:
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def soon(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Makes a server of the scripted program, or of other words; what is left of it is ended."""
    made = []

    def make(*words: str, model: str = "judge", seconds: float = 60.0) -> Server:
        command = list(words) if words and words[0] == "env" else [sys.executable, SCRIPTED, "judge", "{port}", *words]
        environment = ServerEnvironment(log=str(tmp_path / "server.log"), seconds=seconds)
        made.append(Server(Serve("command", command=command), "chat", model, 0, environment))
        return made[-1]

    yield make
    for program in made:
        program.end()


def pid(server: Server) -> int:
    assert server._process is not None
    return server._process.pid


class TestLife:
    @linux
    def test_it_is_ready_when_it_has_started_and_all_of_it_is_gone_when_it_has_ended(
        self, server: Callable[..., Server]
    ) -> None:
        program = server("parent")
        program.start()
        leader, port = pid(program), program.port
        assert os.getpgid(leader) == leader != os.getpgrp()
        others = living(leader)
        assert len(others) == 3, "the server, its guard, and a child that went to a session of its own"
        assert program.base_url == f"http://127.0.0.1:{port}/v1"
        assert program.explain_end() == ""
        assert not is_free(port)
        program.end()
        assert not living(leader)
        assert not any(Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
                       for child in others if Path(f"/proc/{child}").exists())  # fmt: skip
        assert is_free(port)
        program.end()

    @linux
    def test_it_ends_with_the_process_that_started_it(self, tmp_path: Path) -> None:
        program = f"""
import signal, sys, time
from edit_eval.plugins.endpoints.in_worker.server import *
signal.signal(signal.SIGINT, signal.SIG_IGN)
serve = Serve("command", command=[sys.executable, {SCRIPTED!r}, "judge", "{{port}}"])
server = Server(serve, "chat", "judge", 0, ServerEnvironment())
server.start()
print(server._process.pid, server.port, flush=True)
time.sleep(1e6)
"""
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as owner:
            assert owner.stdout is not None
            leader, port = map(int, owner.stdout.readline().split())
            status = Path(f"/proc/{leader}/status").read_text().split("SigIgn:")[1].split()[0]
            assert not int(status, 16) & (1 << (signal.SIGINT - 1)), "it can be interrupted, though its worker cannot"
            owner.kill()
            owner.wait()
        assert soon(lambda: not living(leader))
        assert is_free(port)

    @linux
    def test_a_daemon_is_known_by_its_mark_and_ends_like_any_other(self, server: Callable[..., Server]) -> None:
        program = server("daemon")
        program.start()
        daemons = [each for each in members(pid(program), program._mark) if os.getpgid(each) != pid(program)]
        assert daemons
        assert not is_free(program.port)
        assert program.explain_end() == ""
        program.end()
        assert is_free(program.port)
        assert not set(daemons) & {int(each.name) for each in Path("/proc").glob("[0-9]*") if is_living(each)}

    def test_a_daemon_that_is_started_while_processes_are_read_is_found(self, monkeypatch: pytest.MonkeyPatch) -> None:
        looks = iter([[], [], [os.getpid()]])  # twice one has ended, and what it has started was not there yet
        monkeypatch.setattr(serving, "members", lambda leader, mark: next(looks))
        monkeypatch.setattr(serving, "_is_marked", lambda pid, mark: True)
        assert serving.is_daemon(1, "mark")

    @linux
    def test_a_daemon_ends_with_the_process_that_started_it(self, tmp_path: Path) -> None:
        program = f"""
import sys, time
from edit_eval.plugins.endpoints.in_worker.server import *
serve = Serve("command", command=[sys.executable, {SCRIPTED!r}, "judge", "{{port}}", "daemon"])
server = Server(serve, "chat", "judge", 0, ServerEnvironment())
server.start()
print(server._process.pid, server._mark, server.port, flush=True)
time.sleep(1e6)
"""
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as owner:
            assert owner.stdout is not None
            leader, mark, port = owner.stdout.readline().split()
            assert list(members(int(leader), mark))
            owner.kill()
            owner.wait()
        assert soon(lambda: not list(members(int(leader), mark)))
        assert is_free(int(port))

    def test_it_gets_the_variables_that_it_needs_and_no_secret(
        self, server: Callable[..., Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("AWS_SECRET_ACCESS_KEY", "WANDB_API_KEY", "HF_TOKEN", "VLLM_API_KEY", "MY_FOLDER", "MY_TOKEN"):
            monkeypatch.setenv(name, f"canary-{name}")
        for name in ("HF_HOME", "CUDA_VISIBLE_DEVICES", "https_proxy", "LD_LIBRARY_PATH", "LC_ALL"):
            monkeypatch.setenv(name, "/given")
        program = server("tells")
        program._serve.pass_env = ["MY_FOLDER", "MY_TOKEN"]
        program.start()
        program.end()
        printed = (tmp_path / "server.log").read_text()
        got = next(json.loads(line) for line in printed.splitlines() if line.startswith("{"))
        given = ("HF_HOME", "CUDA_VISIBLE_DEVICES", "https_proxy", "LD_LIBRARY_PATH", "LC_ALL")
        assert [got.get(name) for name in given] == ["/given"] * 5
        assert not {"AWS_SECRET_ACCESS_KEY", "WANDB_API_KEY", "HF_TOKEN", "VLLM_API_KEY"} & got.keys()
        assert got["MY_FOLDER"] == "canary-MY_FOLDER"
        assert got["MY_TOKEN"] == "<MY_TOKEN>", "it was given, and is hidden where it is printed"
        assert "canary-MY_TOKEN" not in printed

    def test_a_variable_that_is_not_set_is_named(self, server: Callable[..., Server]) -> None:
        program = server()
        program._serve.pass_env = ["EDIT_EVAL_NEVER_SET"]
        with pytest.raises(LoadError, match="EDIT_EVAL_NEVER_SET"):
            program.start()

    def test_a_list_of_models_that_is_nested_absurdly_is_no_list(
        self, server: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(serving, "_get", lambda port, path: (200, b"[" * 200_000))
        assert "RecursionError" not in server()._missing()

    def test_one_that_dies_says_why(self, server: Callable[..., Server], tmp_path: Path) -> None:
        program = server()
        program.start()
        os.kill(pid(program), signal.SIGKILL)
        assert soon(lambda: bool(program.explain_end()))
        words = "the server (command) was killed by SIGKILL (the kernel may have run out of memory): "
        assert program.explain_end() == f"{words}its libraries are loaded; more in {tmp_path / 'server.log'}"


class TestStart:
    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (
                ("env", sys.executable, "-c", "import json; print('loading {port}'); json.loads('{')"),
                r"ended with exit code 1: json\.decoder\.JSONDecodeError: Expecting property name",
            ),
            (("env", "no/such-program", "{port}"), "ended with exit code 127: .*no/such-program"),
        ],
    )
    def test_one_that_dies_at_once_says_why(
        self, server: Callable[..., Server], words: tuple[str, ...], said: str
    ) -> None:
        program = server(*words)
        with pytest.raises(LoadError, match=said):
            program.start()
        assert program._process is None

    def test_a_program_that_is_not_there(self) -> None:
        program = Server(
            Serve("command", command=["no/such-program", "{port}"]), "chat", "judge", 0, ServerEnvironment()
        )
        with pytest.raises(
            LoadError, match=r"^the server \(command\) ended .* 1: error: no/such-program: No such file"
        ):
            program.start()

    @linux
    def test_one_that_is_never_ready(
        self, server: Callable[..., Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        program, log = server("late", seconds=600.0), tmp_path / "server.log"

        def late() -> float:
            """The time; the limit is over as soon as the server has spoken."""
            spoken = log.exists() and "libraries are loaded" in log.read_text()
            return time.monotonic() + 600.0 * spoken

        monkeypatch.setattr(serving, "time", SimpleNamespace(monotonic=late, sleep=time.sleep))
        said = r"not ready after 600 s \(`load_timeout`\): /health does not answer: its libraries are loaded; more in"
        with pytest.raises(LoadError, match=said):
            program.start()

    def test_one_that_serves_another_model(self, server: Callable[..., Server]) -> None:
        with pytest.raises(LoadError, match=r"serves judge, and not Qwen/Qwen3-VL-8B-Instruct"):
            server(model="Qwen/Qwen3-VL-8B-Instruct").start()

    def test_the_log_begins_with_the_command(self, server: Callable[..., Server], tmp_path: Path) -> None:
        program = server()
        program.start()
        first, second = (tmp_path / "server.log").read_text().splitlines()[:2]
        assert first == f"$ {shlex.join([sys.executable, str(SCRIPTED)])} judge {program.port}"
        assert second == "its libraries are loaded"


@linux
class TestPort:
    """Another process, which serves a model of that name, takes the port before the server has bound it."""

    @pytest.mark.parametrize("manner", ["well", "waits", "shares"])
    def test_a_port_that_another_process_has_is_left_to_it(
        self, server: Callable[..., Server], monkeypatch: pytest.MonkeyPatch, manner: str
    ) -> None:
        monkeypatch.setattr(scripted_server._Listener, "allow_reuse_port", manner == "shares", raising=False)
        with JudgeServer() as other:
            free, given = serving.free_port(), []
            monkeypatch.setattr(serving, "free_port", lambda: given.append(0) or (other.port, free)[len(given) > 1])
            program = server(manner)
            program.start()
            assert (program.port, len(given)) == (free, 2)
            assert not other.asked

    def test_not_for_ever(self, server: Callable[..., Server], monkeypatch: pytest.MonkeyPatch) -> None:
        with JudgeServer() as other:
            monkeypatch.setattr(serving, "free_port", lambda: other.port)
            with pytest.raises(LoadError, match=r"no port for the server \(command\): 5 were taken by other processes"):
                server("late").start()


def line(engine: str, route: str = "chat", *args: Any, devices: int = 1, memory: float | None = None) -> str:
    serve = Serve(engine, list(args), memory=memory)
    launch = Server(serve, route, "Org/Model", devices, ServerEnvironment("/envs/e/bin/python"))
    launch.port = 4567
    python, option, program, entry, *words = launch.command()
    assert (python, option, program) == ("/envs/e/bin/python", "-c", RUN)
    return f"{entry} {' '.join(words)}"


class TestCommandLines:
    """As the parsers of the versions that `engines.py` names take them."""

    WHERE = "--host 127.0.0.1 --port 4567"

    def test_each_engine(self) -> None:
        vllm, sglang = (
            "vllm.entrypoints.cli.main:main serve Org/Model",
            "sglang.cli.main:main serve --model-path Org/Model",
        )
        assert line("vllm") == f"{vllm} {self.WHERE}"
        assert line("vllm", devices=2) == f"{vllm} {self.WHERE} --tensor-parallel-size 2"
        assert line("vllm", memory=0.4) == f"{vllm} {self.WHERE} --gpu-memory-utilization 0.4"
        assert line("sglang", devices=2, memory=0.4) == f"{sglang} {self.WHERE} --tp-size 2 --mem-fraction-static 0.4"
        assert line("sglang", "images", devices=2) == f"{sglang} {self.WHERE} --num-gpus 2"
        omni = "vllm_omni.entrypoints.cli.main:main serve Org/Model --omni"
        assert line("vllm-omni", "images", devices=2) == f"{omni} {self.WHERE} --tensor-parallel-size 2"
        transformers = "transformers.cli.transformers:main serve Org/Model"
        assert line("transformers", devices=2) == f"{transformers} {self.WHERE}"

    @pytest.mark.parametrize("own", [("--tensor-parallel-size", 1), ("-tp=1",), ("--tensor_parallel_size=1",)])
    def test_a_user_s_own_arguments_win(self, own: tuple[Any, ...]) -> None:
        words = line("vllm", "chat", *own, "--gpu-memory-utilization", 0.3, devices=4, memory=0.4).split(self.WHERE)[1]
        assert words.split() == [*map(str, own), "--gpu-memory-utilization", "0.3"]

    def test_batch_invariance_is_asked_for_as_the_engine_has_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("VLLM_BATCH_INVARIANT", raising=False)
        for wanted in (True, False):
            vllm, sglang = (
                Server(Serve(engine, batch_invariant=wanted), "chat", "m", 1, ServerEnvironment())
                for engine in ("vllm", "sglang")
            )
            assert ("--enable-deterministic-inference" in sglang.command()) == wanted
            assert vllm._variables().get("VLLM_BATCH_INVARIANT") == ("1" if wanted else None)
            for program in (vllm, sglang):
                assert ("batch_invariant" in program.about()) == wanted
        monkeypatch.setenv("VLLM_BATCH_INVARIANT", "1")
        assert "batch_invariant" in vllm.about(), "as the user's environment has it"
        for serve in (Serve("transformers", batch_invariant=True), Serve("command", [], ["x", "{port}"], None, True)):
            with pytest.raises(ValueError, match="batch_invariant"):
                serve.find_engine("chat")

    def test_a_command_of_one_s_own(self) -> None:
        serve = Serve("command", command=["{python}", "-m", "x", "--json={a: {port}}", "{model}", "{devices}"])
        launch = Server(serve, "images", "{port}", 2, ServerEnvironment("/p"))
        launch.port = 4567
        assert launch.command() == ["/p", "-m", "x", "--json={a: 4567}", "{port}", "2"]

    def test_the_installed_transformers_still_has_that_entry_and_these_options(self) -> None:
        """The others pin another torch, and are checked by hand when a row changes."""
        pytest.importorskip("transformers")
        from importlib import metadata

        (entry,) = (e.value for e in metadata.entry_points(group="console_scripts", name="transformers"))
        row = ENGINES["transformers", "chat"]
        assert entry == row.entry
        assert metadata.version("transformers").startswith("5.")

    def test_a_module_in_the_current_folder_is_not_taken_for_a_library(self, tmp_path: Path) -> None:
        (tmp_path / "platform.py").write_text("raise SystemExit('the one beside the configuration')")
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "engine.py").write_text("import platform, sys\ndef main(): print(sys.argv)")
        done = subprocess.run(
            [sys.executable, "-c", RUN, "engine:main", "serve"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path / "elsewhere")},
            capture_output=True,
            text=True,
        )
        assert (done.stdout, done.stderr) == ("['engine', 'serve']\n", "")


@pytest.mark.parametrize(
    ("engine", "share"),
    [
        ({"engine": "vllm"}, 0.92),
        ({"engine": "vllm", "memory": 0.5}, 0.5),
        ({"engine": "vllm", "memory": 0.5, "args": ["--gpu_memory_utilization=0.3"]}, 0.3),
        ({"engine": "vllm", "args": ["--gpu-memory-utilization", "much"]}, None),
        ({"engine": "transformers"}, None),
        ({"engine": "command", "command": ["x", "{port}"]}, None),
    ],
)
def test_the_share_of_a_gpu_that_it_takes(engine: dict[str, Any], share: float | None) -> None:
    assert Serve(**engine).share("chat") == share


LOG = """
INFO 11-21 12:00:00 [api_server.py:100] vLLM API server version 0.33.0
(EngineCore pid=71) ERROR 11-21 12:00:09 [core.py:700] Traceback (most recent call last):
(EngineCore pid=71) ERROR 11-21 12:00:09 [core.py:700]   File "utils.py", line 766, in request_memory
(EngineCore pid=71) ERROR 11-21 12:00:09 [core.py:700] ValueError: Free memory on device cuda:0 (3.1/79.2 GiB)
Traceback (most recent call last):
  File "main.py", line 9, in <module>
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
INFO shutting down
"""


@pytest.mark.parametrize(
    ("log", "line"),
    [
        (LOG, "ValueError: Free memory on device cuda:0 (3.1/79.2 GiB)"),
        (
            "usage: vllm serve\nvllm: error: unrecognized arguments: --max-len\n",
            "error: unrecognized arguments: --max-len",
        ),
        (
            "torch.OutOfMemoryError: CUDA out of memory.\n[rank0] goodbye\n",
            "torch.OutOfMemoryError: CUDA out of memory.",
        ),
        ("first\nlast\n\n", "last"),
        ("", ""),
    ],
)
def test_the_line_of_a_log_that_tells_why(log: str, line: str) -> None:
    assert telling_line(log) == line
