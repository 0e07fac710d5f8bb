"""Runs whose judge is a server that edit-eval starts: it, its worker or the engine is killed in the middle."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from edit_eval import evaluate
from edit_eval.errors import Stopped
from edit_eval.records import Status
from edit_eval.run import Run
from edit_eval.store.run_directory import RunDirectory
from faults.faulty_runs import is_alive, lines, settings, start_engine, wait_until, workers_of
from late_imports import needs
from small_benchmark import numbers, write_benchmark

needs("aiohttp")

pytestmark = [pytest.mark.timeout(120), pytest.mark.skipif(sys.platform != "linux", reason="looks in /proc")]

SCRIPTED = str(Path(__file__).parents[1] / "plugins" / "endpoints" / "server_program.py")
COUNT = 9


def served(folder: Path, *words: str, concurrency: int = 1, **params: Any) -> dict[str, Any]:
    """The configuration of a run whose judge is a scripted server, started with these words after its port."""
    write_benchmark(folder, COUNT)
    command = ["{python}", SCRIPTED, "judge", "{port}", *words]
    given = {"device_ids": "cpu:1", "model": "judge", "concurrency": concurrency, "python": sys.executable}
    serve = {"engine": "command", "command": command}
    what = settings(folder)
    what["reward_model"] = {"type": "chat_endpoint", "params": {**given, "serve": serve, "retries": 1, **params}}
    return what


def asked(folder: Path) -> Counter[int]:
    """How often the servers of that folder were asked about each sample."""
    samples = re.findall(r"turn it into (\d+)", (folder / "asked.txt").read_text())
    return Counter(map(int, samples))


def nothing_is_left(folder: Path) -> bool:
    return wait_until(lambda: not workers_of(folder / "run"))


def test_a_whole_run(tmp_path: Path) -> None:
    what = served(tmp_path, "pair", str(tmp_path), concurrency=3, device_ids="cpu:2")
    made = evaluate(what, run_dir=tmp_path / "run", report=False)
    assert numbers(made.summary).mean == 5.0
    assert asked(tmp_path) == Counter(range(COUNT))
    assert nothing_is_left(tmp_path)
    for device in ("cpu0", "cpu1"):
        log = tmp_path / "run" / "logs" / f"judge-chat_endpoint-{device}-server.log"
        assert log.read_text().splitlines()[1] == "its libraries are loaded", "one server a replica"
    about = RunDirectory.open_existing(made.path).environment()["models"]["judge:chat_endpoint"]
    assert about["engine"] == "command"
    assert about["server"].startswith("http://127.0.0.1:")
    again = served(tmp_path, "pair", str(tmp_path), concurrency=2, load_timeout=60, python=f"{sys.prefix}/bin/python")
    again["reward_model"]["params"]["serve"]["memory"] = 0.5
    evaluate(again, run_dir=tmp_path / "run", report=False)
    assert asked(tmp_path) == Counter(range(COUNT)), "neither interpreter nor memory nor port is in a key"


@pytest.mark.parametrize("whom", ["server", "worker"])
def test_it_or_its_worker_is_killed_and_the_run_goes_on(tmp_path: Path, whom: str) -> None:
    what = served(tmp_path, "kills", str(tmp_path), whom, "4")
    made = evaluate(what, run_dir=tmp_path / "run", report=False)
    assert [j.status for j in made.results.judgements] == [Status.OK] * COUNT, "no sample pays"
    times = asked(tmp_path)
    assert set(times) == set(range(COUNT))
    again = times.total() - COUNT
    assert 1 <= again <= 2, "only what was under way, or answered and not yet told, is asked again"
    assert nothing_is_left(tmp_path)
    (log,) = (tmp_path / "run" / "logs").glob("*-server.log")
    assert log.read_text().count("its libraries are loaded") == 2
    if whom == "server":
        said = [e["error"] for e in lines(made.path, "events") if e["event"] == "failed"]
        why = rf"the server \(command\) was killed by SIGKILL.*; more in {re.escape(str(log))}"
        assert said
        assert all(re.search(why, error) for error in said)


def test_an_edit_model_s_server_is_killed_and_the_run_goes_on(tmp_path: Path) -> None:
    what = settings(tmp_path)
    command = [sys.executable, SCRIPTED, "editor", "{port}", "kills", str(tmp_path), "server", "4"]
    given = {"device_ids": "cpu:1", "model": "editor", "concurrency": 2, "retries": 1}
    serve = {"engine": "command", "command": command}
    what["diffusion_model"] = {"type": "image_endpoint", "params": {**given, "serve": serve}}
    made = evaluate(what, run_dir=tmp_path / "run", report=False)
    assert [e.status for e in made.results.edits] == [Status.OK] * COUNT
    assert set(asked(tmp_path)) == set(range(COUNT))
    assert asked(tmp_path).total() <= COUNT + 4, "at most what was under way, or not yet written, is asked for again"
    assert nothing_is_left(tmp_path)


@pytest.mark.usefixtures("cold_workers")  # its server finds the engine by its parents
def test_the_engine_is_killed_and_the_next_start_goes_on(tmp_path: Path) -> None:
    what = served(tmp_path, "kills", str(tmp_path), "engine", "4")
    engine = start_engine(what, tmp_path / "run")
    assert wait_until(lambda: (tmp_path / "asked.txt").exists() and asked(tmp_path).total() == 4)
    assert wait_until(lambda: not is_alive(engine))
    assert nothing_is_left(tmp_path), "neither worker nor server outlives it"
    kept = len(lines(tmp_path / "run", "replies"))
    made = evaluate(what, run_dir=tmp_path / "run", report=False)
    assert numbers(made.summary).n == COUNT
    assert asked(tmp_path).total() == 4 + COUNT - kept, "what was answered and recorded is not asked again"
    assert kept >= 2
    assert nothing_is_left(tmp_path)


def test_one_that_cannot_be_started_stops_the_run_and_the_samples_wait(tmp_path: Path) -> None:
    with pytest.raises(Stopped) as stopped:
        evaluate(served(tmp_path, "no-such-manner", "", "", "", ""), run_dir=tmp_path / "run", report=False)
    said = r"chat_endpoint: the server \(command\) ended with exit code 1: TypeError: main\(\) takes .*"
    assert re.search(said, str(stopped.value))
    assert {j.status for j in Run(tmp_path / "run").results.judgements} == {Status.PENDING}
    assert nothing_is_left(tmp_path)
