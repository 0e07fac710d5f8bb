"""A library that a model lacks: exit code 2, and the line that installs it, whichever environment it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from small_benchmark import configuration

JUDGE = """
class Judge:
    def __init__(self, parameters):
        pass

    def load(self, devices):
        {load}

    def judge(self, requests):
        return ["Score: 5.000"] * len(requests)
"""


def started(folder: Path, judge: dict[str, Any], **environment: str) -> subprocess.CompletedProcess[str]:
    """`edit-eval run` as a user starts it, with that judge."""
    what = configuration(folder)
    what["reward_model"] = {**judge, "params": {"device_ids": "cpu:1", **judge.get("params", {})}}
    (folder / "config.yaml").write_text(json.dumps(what))
    command = [sys.executable, "-m", "edit_eval", "run", "config.yaml", "--run-dir", "run"]
    variables = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), **environment}
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=variables, timeout=240)


def test_without_a_client_a_server_as_judge_says_what_to_install(tmp_path: Path) -> None:
    library = "aiohttp"
    (tmp_path / "absent").mkdir()
    absent = f"raise ModuleNotFoundError(\"No module named '{library}'\", name='{library}')"
    (tmp_path / "absent" / f"{library}.py").write_text(absent)
    judge = {"type": "chat_endpoint", "params": {"model": "m", "base_url": "http://127.0.0.1:9/v1"}}
    done = started(tmp_path, judge, PYTHONPATH=str(tmp_path / "absent"))
    assert done.returncode == 2, done.stderr
    assert f"{sys.executable} has no {library}; install it: " in done.stderr
    assert "'edit-eval[openai]'" in done.stderr


@pytest.mark.parametrize("load", ["import no_such_library", "from wrapping import everything"])
def test_one_that_is_missed_while_loading_is_no_other_case(tmp_path: Path, load: str) -> None:
    (tmp_path / "judges_of_mine.py").write_text(JUDGE.format(load=load))
    (tmp_path / "wrapping.py").write_text(
        "try:\n    import no_such_library\nexcept ImportError as e:\n    raise RuntimeError('it failed') from e\n"
    )
    done = started(tmp_path, {"class_path": "judges_of_mine:Judge"})
    assert done.returncode == 2, done.stderr
    assert f"{sys.executable} has no no_such_library; install it: " in done.stderr
    assert "install" in done.stderr.partition("install it: ")[2]
    assert " no-such-library" in done.stderr


def test_a_foreign_python_without_pillow(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    python = str(tmp_path / "bare" / "bin" / "python")
    (tmp_path / "judges_of_mine.py").write_text(JUDGE.format(load="pass"))
    done = started(tmp_path, {"class_path": "judges_of_mine:Judge", "params": {"python": python}})
    assert done.returncode == 2, done.stderr
    assert f"{python} has no PIL; install it: uv pip install --python {python} 'pillow>=" in done.stderr
