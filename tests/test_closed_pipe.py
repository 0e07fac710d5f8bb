"""`edit-eval ... | head -1`: a pipe that nobody reads is silence, and the exit code is what it would have been."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from edit_eval.evaluation import Run
from small_benchmark import configuration


@pytest.fixture
def closed() -> Iterator[int]:
    """The end of a pipe to write to, of which nobody holds the other end."""
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


def unscored(folder: Path) -> Path:
    """A configuration of three samples with a judge that gives no score."""
    judge = {"default_answer": "no idea", "device_ids": "cpu"}
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(configuration(folder, judge=judge, benchmark={"limit": 1}), allow_unicode=True))
    return path


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_verb_that_only_reads_gives_0_and_says_nothing(closed: int, unbuffered: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "edit_eval", "describe", "qwen3_vl"],
        stdout=closed,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_run_goes_on_to_its_end(closed: int, tmp_path: Path) -> None:
    words = ["run", str(unscored(tmp_path)), "--run-dir", str(tmp_path / "run"), "--progress", "plain"]
    done = subprocess.run([sys.executable, "-m", "edit_eval", *words], stdout=closed, stderr=closed)
    assert done.returncode == 3, "its coverage is not reached"
    assert Run(tmp_path / "run").summary["status"] == "complete"


def test_an_error_that_nobody_reads_keeps_its_exit_code(closed: int, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "edit_eval", "run", "nowhere.yaml"]
    assert subprocess.run(command, stderr=closed, cwd=tmp_path).returncode == 2
