"""Mistakes that people make at the command line: each is one line with what is wrong, where, and what to type."""

from __future__ import annotations

import io
import shlex
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from command_lines import Command, Finished, caller, finish, one_error
from edit_eval import evaluate
from photographs import draw, name

command = pytest.fixture(caller)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    return finish(tmp_path_factory.mktemp("finished"))


# -- forty mistakes, in the words in which they are answered --

CONFIGURATION = """\
benchmark: {type: table, data_path: photos/instructions.csv, limit: 2}
diffusion_model: {type: image_folder, params: {folder: edits_a, device_ids: "cpu:1"}}
reward_model: {type: testing, params: {device_ids: "cpu:1"}}
evaluation: {controls: 0}
"""
FILES = {
    "good.yaml": CONFIGURATION,
    "e2.yaml": CONFIGURATION,
    "tabs.yaml": "benchmark:\n\tdata_path: x\n",
    "cut_off.json": '{"benchmark": {"type": "scenes"},',
    "twice.yaml": f"{CONFIGURATION}evaluation: {{}}\n",
    "empty.yaml": "# nothing yet\n",
    "nocol.csv": "image,wish\nphotos/IMG_0000.jpg,x\n",
    "bild.csv": "bild,instruction\nphotos/IMG_0000.jpg,x\n",
    "header.csv": "image,instruction\n",
    "nothing.csv": "",
    "gone.csv": "image,instruction\nnowhere.jpg,Make it blue\n",
    "blank.csv": "image,instruction\nphotos/IMG_0000.jpg,\n",
    "commas.csv": "image,instruction\nphotos/IMG_0000.jpg,Make it, please, blue\n",
    "notes.txt": "no picture\n",
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with photographs, edits, configurations good and bad, and a finished run. Nothing may change in it."""
    folder = tmp_path_factory.mktemp("world")
    draw(folder, 4)
    rows = "".join(f"{name(number)},{name(number)}.jpg,Make it blue\n" for number in range(4))
    (folder / "photos" / "instructions.csv").write_text(f"id,image,instruction\n{rows}")
    for file, text in FILES.items():
        (folder / file).write_text(text, "utf-8")
    with pytest.MonkeyPatch.context() as patches:
        patches.chdir(folder)
        patches.setenv("XDG_CACHE_HOME", str(folder / ".cache"))
        evaluate("good.yaml", run_dir="done", report=False)
    shutil.copytree(folder / "done", folder / "torn")
    shutil.rmtree(folder / "torn" / "config")
    return folder


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that somebody else has."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


LINES = Path(__file__).with_name("mistakes.txt").read_text("utf-8").splitlines()
MISTAKES = {line.removeprefix("$ edit-eval "): LINES[n + 1] for n, line in enumerate(LINES) if line.startswith("$")}


@pytest.mark.parametrize("typed", MISTAKES)
def test_a_mistake_is_one_line(
    command: Command, world: Path, taken: int, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    monkeypatch.chdir(world)
    monkeypatch.setenv("XDG_CACHE_HOME", str(world / ".cache"))
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    before = sorted(path for path in world.rglob("*") if ".cache" not in path.parts)
    found = command(*shlex.split(typed.replace("PORT", str(taken))))
    one_error(found, 2, MISTAKES[typed].replace("WORLD", str(world)).replace("PORT", str(taken)))
    assert sum("error: " in line for line in found.err.splitlines()) == 1
    assert sorted(path for path in world.rglob("*") if ".cache" not in path.parts) == before


def test_there_are_forty_mistakes_and_more() -> None:
    assert len(MISTAKES) > 40


# -- the same of each flag --


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "NOWHERE"], "no such file"),
        (["run", "CONFIG", "--set", "benchmark.limt=3"], "limit"),
        (["run", "CONFIG", "--set", "nonsense"], "nonsense"),
        (["run", "CONFIG", "--progress", "loud"], "error: --progress: must be `auto`, `rich`, `plain`, `lines` or"),
        (["run", "CONFIG", "--limit", "0"], "error: --limit: must be at least 1"),
        (["run", "CONFIG", "--devices", "gpu"], "--devices gpu"),
        (["run", "CONFIG", "--devices", "97,98"], "error: --devices: cuda:97 and cuda:98 are not there"),
        (["run", "CONFIG", "--categories", "zebra"], "benchmark.json has `zebra`; there are: "),
        (["run", "CONFIG", "--sample-ids", "zebra"], "benchmark.json has `zebra`"),
        (["run", "CONFIG", "--reuse", "NOWHERE"], "does not exist"),
        (["run", "CONFIG", "--run-dir", "CONFIG"], "cannot be used"),
        (["plan", "CONFIG", "--gpus", "0"], "--gpus 0"),
        (["plan", "CONFIG", "--gpu-memory", "80"], "error: --gpu-memory 80: of how many GPUs? Give `--gpus`, too"),
        (["plan", "CONFIG", "--gpus", "2", "--gpu-memory", "0"], "error: --gpu-memory 0: it takes the GiB"),
        (["plan", "CONFIG", "--gpus", "2", "--gpu-memory", "x"], "error: --gpu-memory must be a number"),
        (["plan", "CONFIG", "--samples", "0"], "--samples 0"),
        (["plan", "CONFIG", "--from", "NOWHERE"], "does not exist"),
        (["status", "NOWHERE"], "does not exist"),
        (["status", "RUN", "zebra"], "`zebra` is not a sample"),
        (["compare", "RUN", "NOWHERE"], "does not exist"),
        (["agreement", "NOWHERE"], "does not exist"),
        (["describe", "zebra"], "`zebra` is no name of a component"),
        (["env", "create", "NOWHERE", "--for", "zebra"], "--for zebra"),
        (["run", "CONFIG", "--run-dir", "RUN", "--retry", "zebra"], "--retry zebra"),
        (["run", "CONFIG", "--run-dir", "RUN", "--retry", "edit_faild"], "did you mean `edit_failed`?"),
        (["run", "CONFIG", "--set", "prompts={物里: {system_prompt: Judge.}}"], "did you mean `物理`?"),
        (["report", "NOWHERE"], "NOWHERE does not exist; `edit-eval run CONFIG` makes one"),
    ],
)
def test_what_was_asked_wrongly_is_two_and_nothing_is_written(
    command: Command,
    finished: Finished,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    place = {"CONFIG": str(finished.config), "RUN": str(finished.run), "NOWHERE": "NOWHERE"}
    one_error(command(*(place.get(word, word) for word in arguments)), 2, words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["run"], "missing argument CONFIG; `edit-eval run --help` shows the options"),
        (["status"], "missing argument RUN; `edit-eval status --help` shows the options"),
        (["env", "create", "x"], "missing option --for; `edit-eval env create --help` shows the options"),
        (["run", "x.yaml", "--nonsense"], "no such option: --nonsense; `edit-eval run --help` shows the options"),
        (["run", "x.yaml", "--run-dri", "x"], "no such option: --run-dri; did you mean --run-dir?"),
        (["rnu", "x.yaml"], "no such command rnu; did you mean `run`?"),
        (["env", "creat"], "no such command creat; did you mean `create`?"),
        (["run", "x.yaml", "--limit", "few"], "--limit must be a whole number; `edit-eval run --help`"),
        (["compare", "x", "--detect", "few"], "--detect must be a number; `edit-eval compare --help`"),
        (["run", "x.yaml", "--limit"], "--limit needs a value; `edit-eval"),
    ],
)
def test_a_command_that_is_none_is_one_line_as_all_errors(command: Command, arguments: list[str], line: str) -> None:
    found = command(*arguments)
    assert found.err.startswith(f"error: {line}")
    assert found.err.count("\n") == 1
    one_error(found, 2, line)
