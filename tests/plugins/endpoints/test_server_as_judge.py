"""`edit-eval run` with a file whose judge is a server, as a user starts it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from edit_eval import evaluate
from edit_eval.errors import Stopped
from edit_eval.statistics.summary import Summary
from judge_server import JudgeServer
from late_imports import needs
from small_benchmark import numbers

needs("aiohttp")

CONFIGURATION = """
benchmark: {type: scenes, count: 5, size: 128, cache_dir: cache}
diffusion_model: {type: copy_source, params: {device_ids: "cpu:1"}}
reward_model:
  type: chat_endpoint
  params: {device_ids: "cpu:1", model: my-judge, base_url: URL, concurrency: 2, max_tokens: 32}
evaluation: {controls: 0}
prompts: {social: {system_prompt: You are strict.}}
"""


def test_a_whole_run_and_the_same_once_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with JudgeServer("Score: 7.500") as server:
        (tmp_path / "config.yaml").write_text(CONFIGURATION.replace("URL", server.base_url))
        command = [sys.executable, "-m", "edit_eval", "run", "config.yaml", "--run-dir", "run", "--json"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        summary = msgspec.json.decode(done.stdout, type=Summary)
        assert (numbers(summary).mean, summary.coverage.scored) == (7.5, 5)
        told = [asked for asked in server.asked if not asked.is_canary]
        assert len(told) == 5
        assert {(asked.body["model"], asked.body["max_tokens"]) for asked in told} == {("my-judge", 32)}
        assert sum("You are strict." in asked.text for asked in told) == 1
        assert all(len(asked.images) == 2 for asked in told)
        count = len(server.asked)
        assert numbers(evaluate("config.yaml", run_dir="run", report=False).summary).mean == 7.5
        assert len(server.asked) == count, "a finished run asks nobody"


def test_a_server_that_is_gone_stops_the_run_and_at_another_address_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it is asked is part of no key: without `--run-dir`, too, the run is known as the same."""
    monkeypatch.chdir(tmp_path)
    with JudgeServer("Score: 7.500") as server:
        url = server.base_url
    text = CONFIGURATION.replace("URL", url).replace("concurrency: 2", "concurrency: 2, retries: 0, deadline: 3")
    (tmp_path / "config.yaml").write_text(text)
    with pytest.raises(Stopped, match="the judge's server cannot be reached"):
        evaluate("config.yaml", report=False)
    with JudgeServer("Score: 6.000") as server:
        (tmp_path / "config.yaml").write_text(text.replace(url, server.base_url))
        made = evaluate("config.yaml", report=False)
    assert numbers(made.summary).mean == 6.0
    assert [folder.name for folder in Path("runs").iterdir()] == [made.path.name]
    assert len((made.path / "edits" / "0001.jsonl").read_text().splitlines()) == 5
