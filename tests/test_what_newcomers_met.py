"""Faults that people meet on their first day: each one is said where it is, at once, in words that help."""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from edit_eval import cli, evaluate
from edit_eval.errors import ConfigurationError
from edit_eval.records import Status
from small_benchmark import configuration, sample_id, write_benchmark


def called(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["edit-eval", *arguments])
    with pytest.raises(SystemExit) as end:
        cli.main()
    return int(end.value.code or 0)


def written(tmp_path: Path, **more: Any) -> str:
    write_benchmark(tmp_path, 9)
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(configuration(tmp_path, **more)))
    return str(path)


def test_an_environment_that_cannot_even_begin_is_named_with_the_last_that_it_said(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho \"ModuleNotFoundError: No module named 'PIL'\" >&2\nexit 1\n")
    python.chmod(0o755)
    write_benchmark(tmp_path, 9)
    settings = configuration(tmp_path)
    settings["reward_model"]["params"] |= {"python": str(python), "device_ids": "cpu:1"}
    with pytest.raises(ConfigurationError, match=r"No module named 'PIL'; more in .*judge.*\.log.*doctor"):
        evaluate(settings, run_dir=tmp_path / "run", report=False)


def test_a_sample_without_a_category_can_be_skipped(tmp_path: Path) -> None:
    file = write_benchmark(tmp_path, 9)
    items = json.loads(file.read_text())
    del items[0]["subset"]
    file.write_text(json.dumps(items))
    settings = configuration(tmp_path, benchmark={"on_bad_sample": "skip"})
    made = evaluate(settings, run_dir=tmp_path / "run", report=False)
    assert made.summary["coverage"]["by_status"] == {"ok": 8, "skipped": 1}
    assert not made.reached


def test_a_run_that_was_stopped_prints_its_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = written(tmp_path)
    broken = "diffusion_model.params.fail_to_load=no weights here"
    assert called(monkeypatch, "run", config, "--run-dir", str(tmp_path / "run"), "--set", broken, "--json") == 4
    document = json.loads(capsys.readouterr().out)
    assert document["status"] == "incomplete"
    assert document["coverage"]["by_status"] == {Status.PENDING.value: 9}


def test_a_killed_run_is_not_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config, folder = written(tmp_path), tmp_path / "run"
    assert called(monkeypatch, "run", config, "--run-dir", str(folder)) == 0
    gone = os.spawnv(os.P_NOWAIT, "/bin/true", ["true"])
    os.waitpid(gone, 0)
    for process, at_work in ((gone, False), (os.getpid(), True)):
        holder = {"host": socket.gethostname(), "process": process, "since": "today"}
        (folder / "holder.json").write_text(json.dumps(holder))
        capsys.readouterr()
        assert called(monkeypatch, "status", str(folder)) == 0
        assert ("at work" in capsys.readouterr().out) is at_work


@pytest.mark.parametrize(("role", "said"), [("diffusion_model", "a smaller canvas"), ("reward_model", "batch_size")])
def test_the_advice_for_want_of_memory_names_settings_that_there_are(tmp_path: Path, role: str, said: str) -> None:
    write_benchmark(tmp_path, 9)
    settings = configuration(tmp_path, execution={"pilot": False}, benchmark={"limit": 1})
    settings[role]["params"]["out_of_memory"] = [sample_id(n) for n in range(9)]
    results = evaluate(settings, run_dir=tmp_path / "run", report=False).results
    reasons = [j.reason for j in results.judgements]
    assert any(said in reason for reason in reasons), reasons
