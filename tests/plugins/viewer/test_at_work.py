"""A real run that is looked at while it works, killed, and gone on with; and a viewer that is killed meanwhile."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from PIL import Image

from edit_eval.run import Run
from plugins.viewer.served import Viewer


@pytest.fixture
def at_work(tmp_path: Path, cache: Path) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Starts the run in `runs/it`, or goes on with it."""
    (tmp_path / "pictures").mkdir()
    rows = ["id,source,instruction"]
    for number in range(12):
        Image.new("RGB", (48, 32), (number * 20, 90, 200)).save(tmp_path / "pictures" / f"{number}.png")
        rows.append(f"s{number},pictures/{number}.png,make it warmer")
    (tmp_path / "rows.csv").write_text("\n".join(rows))
    what = {
        "benchmark": {"type": "table", "data_path": str(tmp_path / "rows.csv")},
        "diffusion_model": {"type": "testing", "params": {"device_ids": "cpu:1", "seconds": 0.25}},
        "reward_model": {"type": "testing", "params": {"device_ids": "cpu:1", "seconds": 0.02}},
        "execution": {"pilot": False, "progress": "none"},
    }
    (tmp_path / "it.yaml").write_text(yaml.safe_dump(what))
    (tmp_path / "runs").mkdir()
    started = []

    def start() -> subprocess.Popen[bytes]:
        words = [sys.executable, "-m", "edit_eval", "run", str(tmp_path / "it.yaml")]
        words[1:3] = ["-c", "from edit_eval.cli import main; main()"]
        words += ["--run-dir", str(tmp_path / "runs" / "it")]
        started.append(subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def wait_for(condition: Callable[[], Any], seconds: float = 90.0) -> Any:
    until = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < until, "it did not come"
        time.sleep(0.05)
    return value


def edits_in(run: Path) -> int:
    return sum(path.read_bytes().count(b'"status":"ok"') for path in (run / "edits").glob("*.jsonl"))


@pytest.mark.check
def test_a_run_at_work_is_told_of_killed_and_gone_on_with(
    at_work: Callable[[], subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    run = tmp_path / "runs" / "it"
    with Viewer([tmp_path / "runs"]) as viewer:
        process = at_work()

        def found() -> Any:
            viewer.runs.find()
            return viewer.runs.cards

        wait_for(found)
        it = viewer.id_of("it")
        events = viewer.events(it)
        kinds, samples = [], {}

        def listen(until: Callable[[], bool]) -> None:
            for name, data in events:
                told = json.loads(data)
                if name == "state":
                    kinds.append(told["kind"])
                elif name == "samples":
                    samples.update({sample["id"]: sample for sample in told})
                if until():
                    return

        def scored() -> int:
            return sum(bool(j["scores"]) for s in samples.values() for e in s["edits"] for j in e["judgements"])

        listen(lambda: edits_in(run) >= 2 and sum(s["edits"][0]["status"] == "ok" for s in samples.values()) >= 2)
        assert kinds[-1] == "working"
        made = next(s for s in samples.values() if s["edits"][0]["status"] == "ok")
        assert viewer.ask("GET", made["edits"][0]["picture"]["file"]).body.startswith(b"\x89PNG")
        assert viewer.ask("GET", made["edits"][0]["picture"]["thumbnail"]).body.startswith(b"\xff\xd8")
        assert viewer.ask("GET", made["source"]["file"]).status == 200

        process.kill()
        process.wait()
        listen(lambda: kinds[-1] == "stopped")
        assert b"make it warmer" in viewer.ask("GET", f"/run/{it}").body

        assert at_work().wait(120) == 0
        listen(lambda: kinds[-1] == "complete" and scored() == 12)
    judged = {j.sample_id: j.score for j in Run(run).results.judgements}
    assert {s["id"]: s["edits"][0]["judgements"][0]["scores"]["score"] for s in samples.values()} == judged


def serve(places: Path, port: int = 0) -> tuple[subprocess.Popen[str], str]:
    words = ["-c", "from edit_eval.cli import main; main()", "view", str(places), "--port", str(port)]
    process = subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(8))
def test_kills_at_random_moments(
    seed: int, at_work: Callable[[], subprocess.Popen[bytes]], tmp_path: Path, open_tab: Callable[..., Any]
) -> None:
    """Run and viewer die at any moment: the page says so and goes on, and shows in the end what is recorded."""
    chance = random.Random(seed)
    process = at_work()
    run = tmp_path / "runs" / "it"
    wait_for(lambda: (run / "config" / "0001.yaml").exists())
    viewer, address = serve(tmp_path / "runs")
    port = int(address.rsplit(":", 1)[1].split("/")[0])
    tab = open_tab(address)
    for _ in range(3):
        time.sleep(chance.uniform(0.1, 2.5))
        if chance.random() < 0.6:
            viewer.send_signal(signal.SIGKILL)
            viewer.wait()
            tab.locator(".lost").wait_for()
            viewer, _ = serve(tmp_path / "runs", port)
            tab.locator(".lost").wait_for(state="detached")
        if chance.random() < 0.6:
            process.send_signal(signal.SIGKILL)
            process.wait()
            tab.locator("#live .dot.stopped, #live .dot.complete").first.wait_for(state="attached")
            process = at_work()
    assert process.wait(120) == 0
    tab.wait_for_function("() => document.querySelectorAll('.card .score').length === 12", timeout=60_000)
    viewer.kill()
    viewer.wait()
    assert len(Run(run).results.judgements) == 12
