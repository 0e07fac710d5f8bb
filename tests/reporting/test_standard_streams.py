"""`edit-eval ... | head -1`: a pipe that nobody reads is silence, and the exit code is what it would have been."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from edit_eval.run import Run
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
    assert Run(tmp_path / "run").summary.status == "complete"


def test_an_error_that_nobody_reads_keeps_its_exit_code(closed: int, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "edit_eval", "run", "nowhere.yaml"]
    assert subprocess.run(command, stderr=closed, cwd=tmp_path).returncode == 2


WRITER = """
import sys
from edit_eval.reporting.standard_streams import tolerant_stream
sys.stdout = tolerant_stream(sys.stdout)
print("\\n".join(map(str, range(100_000))))  # far more at a time than a pipe takes
"""


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_pipe_that_does_not_block_gets_every_line(unbuffered: str) -> None:
    """Whoever shares a terminal or a pipe with us may have made it so."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETFL, fcntl.fcntl(writing, fcntl.F_GETFL) | os.O_NONBLOCK)
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    writer = subprocess.Popen([sys.executable, "-c", WRITER], stdout=writing, stderr=subprocess.PIPE, env=environment)
    os.close(writing)
    received = b""
    with open(reading, "rb", buffering=0) as pipe:
        while data := pipe.read(10_000):
            received += data
    _, said = writer.communicate()
    assert (writer.returncode, said) == (0, b"")
    assert received == b"".join(b"%d\n" % number for number in range(100_000))


def test_a_terminal_that_was_closed_is_silence() -> None:
    leader, follower = os.openpty()
    os.close(leader)
    done = subprocess.run(
        [sys.executable, "-m", "edit_eval", "list"], stdout=follower, stderr=subprocess.PIPE, start_new_session=True
    )
    os.close(follower)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_streams_that_were_closed_before_the_start_are_silence(closed: str) -> None:
    command = f'"{sys.executable}" -m edit_eval list --json {closed}'
    done = subprocess.run(["sh", "-c", command], capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert not done.stdout or json.loads(done.stdout)


# -- one document, whatever a class prints --

TALKER = """
import atexit, ctypes, os
from edit_eval.plugins.five_dimensions.benchmark import FiveDimensions
from edit_eval.plugins.rehearse.in_worker.fake_models import FakeEditModel
print("python")
os.write(1, b"descriptor\\n")
os.system("echo child")
ctypes.CDLL(None).printf(b"buffered in C\\n")
atexit.register(print, "at exit")

class TalkersBenchmark(FiveDimensions):
    pass

class Talker(FakeEditModel):
    \"\"\"Talks.\"\"\"
    @classmethod
    def revision(cls, parameters):
        print("revision")
        return "1"
"""
SAID = ("python", "descriptor", "child", "buffered in C", "at exit")


@pytest.mark.parametrize("verb", ["run", "plan", "doctor", "describe"])
def test_json_is_one_document_whatever_a_class_prints(tmp_path: Path, verb: str) -> None:
    (tmp_path / "talker.py").write_text(TALKER)
    what = configuration(tmp_path, judge={"device_ids": "cpu"}, benchmark={"limit": 1})
    if verb == "plan":  # of a class of one's own it does not know how long it takes
        what["benchmark"] = {"class_path": f"{tmp_path}/talker.py:TalkersBenchmark", **what["benchmark"]}
    else:
        what["diffusion_model"] = {"class_path": f"{tmp_path}/talker.py:Talker", "params": {"device_ids": "cpu"}}
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(what, allow_unicode=True))
    words = [verb, f"{tmp_path}/talker.py:Talker" if verb == "describe" else str(path)]
    words += ["--run-dir", str(tmp_path / "run")] if verb == "run" else []
    done = subprocess.run(
        [sys.executable, "-m", "edit_eval", *words, "--json"], capture_output=True, text=True, timeout=60, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert isinstance(json.loads(done.stdout), dict | list)
    for word in SAID if verb != "run" else (*SAID, "revision"):
        assert word in done.stderr
