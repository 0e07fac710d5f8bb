"""Faults that people meet on their first day: each one is said where it is, at once, in words that help."""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from PIL import Image

from drawn_pages import read_page
from edit_eval import cli, evaluate
from edit_eval.__main__ import NEEDED
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
    assert made.summary.coverage.by_status == {"ok": 8, "skipped": 1}
    assert not made.has_required_coverage


def test_a_table_without_categories_has_none_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["id,source,instruction,other"]
    for number in range(6):
        Image.new("RGB", (32, 24), (40 * number, 90, 0)).save(tmp_path / f"{number}.png")
        rows.append(f"{number},{number}.png,make it red,{number}.png")
    (tmp_path / "mine.csv").write_text("\n".join(rows))
    settings = configuration(tmp_path, benchmark={"type": "table", "data_path": str(tmp_path / "mine.csv")})
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(settings))
    run = tmp_path / "run"
    begun = ["run", str(tmp_path / "c.yaml"), "--run-dir", str(run), "--progress", "plain"]
    for line in (begun, ["status", str(run)]):
        assert called(monkeypatch, *line) == 0
        told = "".join(capsys.readouterr()).replace(str(tmp_path), "")
        assert "ategor" not in told
        assert line[0] == "status" or "scores: mean " in told
        assert "in no sample: other" in " ".join(told.split()), "whether edits are made of it, it cannot know"
    for file in ("report.md", "index.html"):
        text = read_page(run / "report" / file)
        assert "Mean of categories" not in text
        assert "Mean score by category" not in text
        assert "0 categories" not in text


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
    gone, nobody_waits_for = (os.spawnv(os.P_NOWAIT, "/bin/true", ["true"]) for _ in range(2))
    os.waitpid(gone, 0)
    os.waitid(os.P_PID, nobody_waits_for, os.WEXITED | os.WNOWAIT)
    for process, at_work in ((gone, False), (nobody_waits_for, False), (os.getpid(), True)):
        holder = {"host": socket.gethostname(), "process": process, "since": "today"}
        (folder / "holder.json").write_text(json.dumps(holder))
        capsys.readouterr()
        assert called(monkeypatch, "status", str(folder)) == 0
        assert ("at work" in capsys.readouterr().out) is at_work
    os.waitpid(nobody_waits_for, 0)


@pytest.mark.parametrize(("role", "said"), [("diffusion_model", "a smaller canvas"), ("reward_model", "batch_size")])
def test_the_advice_for_want_of_memory_names_settings_that_there_are(tmp_path: Path, role: str, said: str) -> None:
    write_benchmark(tmp_path, 9)
    settings = configuration(tmp_path, execution={"pilot": False}, benchmark={"limit": 1})
    settings[role]["params"]["out_of_memory"] = [sample_id(n) for n in range(9)]
    results = evaluate(settings, run_dir=tmp_path / "run", report=False).results
    reasons = [j.reason for j in results.judgements]
    assert any(said in reason for reason in reasons), reasons


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["run", "x.yaml", "--resume"], "no such option: --resume; leave it out: rerun the same command to"),
        (["--config", "x.yaml"], "no such option: --config; leave it out: `edit-eval run CONFIG`"),
        (["run", "x.yaml", "--dry-run"], "no such option: --dry-run; `edit-eval doctor CONFIG` checks whether it"),
        (
            ["run", "x.yaml", "--categories", "A", "B"],
            "got unexpected extra argument(s) (B); separate the items of a list with commas: `--categories A,B`",
        ),
    ],
)
def test_flags_of_the_base_system_are_answered_with_ours(
    arguments: list[str], line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert called(monkeypatch, *arguments) == 2
    assert capsys.readouterr().err.startswith(f"error: {line}")


def test_help_is_short_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["-h"], ["run", "-h"], ["env", "create", "-h"]):
        monkeypatch.setattr(sys, "argv", ["edit-eval", *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert not end.value.code
        assert "Usage: " in capsys.readouterr().out


COMMAND = Path(sys.executable).with_name("edit-eval")


@pytest.mark.check
def test_neither_names_of_files_nor_an_ascii_locale_keep_anybody_from_a_run(tmp_path: Path) -> None:
    """Files in the current directory are called as modules of Python are, beside a class of one's own and its worker;
    names are Chinese."""
    for name in ("select", "random", "queue", "statistics", "shlex", "uuid"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('this is no module of Python')")
    (tmp_path / "mine.py").write_text(
        "import random\n\n\nclass Editor:\n    def __init__(self, parameters): ...\n    def load(self, devices): ...\n"
        "    def edit(self, request, on_step): return request.source.rotate(random.Random(1).choice([180]))\n"
    )
    raw = configuration(tmp_path, benchmark={"limit": 1})
    raw["diffusion_model"] = {"class_path": "mine:Editor", "params": {"device": "cpu"}}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(raw))
    ascii_only = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for name in ("PYTHONIOENCODING", "LANG", "LC_CTYPE"):
        ascii_only.pop(name, None)
    run = tmp_path / "物理"
    command = [COMMAND, "run", "config.yaml", "--run-dir", run, "--progress", "plain"]
    done = subprocess.run(command, cwd=tmp_path, env=ascii_only, capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert sorted(path.stem[:8] for path in run.glob("images/*/*.png"))[0] == "00000_物理"
    python = "from edit_eval import evaluate; evaluate('x.yaml')"
    done = subprocess.run([sys.executable, "-c", python], env=ascii_only, capture_output=True, timeout=600)
    assert b"start it with PYTHONUTF8=1" in done.stderr


def test_a_python_without_docstrings_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    config = written(tmp_path, benchmark={"limit": 1})
    done = subprocess.run(
        [COMMAND, "run", config],
        cwd=tmp_path,
        env={**os.environ, "PYTHONOPTIMIZE": "2"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "unset PYTHONOPTIMIZE" in done.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(12, "Cannot allocate memory"),
        RuntimeError("can't start new thread"),
        ImportError("libx.so: failed to map segment from shared object"),
    ],
)
def test_too_little_memory_is_said_to_be_that(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr("edit_eval.plugins.preparation.requests.plan", fail)
    assert called(monkeypatch, "plan", "config.yaml") == 4
    assert "`ulimit -v`" in capsys.readouterr().err


@pytest.mark.parametrize("kilobytes", [24_000, 30_000, 60_000, 150_000, 200_000, 250_000, 400_000])
def test_with_too_little_memory_the_limit_is_named_whatever_is_asked(kilobytes: int) -> None:
    """Before numpy is imported, whose OpenBLAS ends the process with exit code 1 (150,000) or never (250,000)."""
    words = f"ulimit -v {kilobytes}; exec {shlex.quote(sys.executable)} -m edit_eval plan nowhere.yaml"
    done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, timeout=300)
    assert done.returncode == 4, done.stderr
    assert "`ulimit -v`" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.check
def test_little_memory_that_is_enough_is_enough(tmp_path: Path) -> None:
    plan = shlex.join([sys.executable, "-m", "edit_eval", "plan", str(written(tmp_path))])
    words = f"ulimit -v {(NEEDED >> 10) + 1024}; exec {plan}"
    done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
