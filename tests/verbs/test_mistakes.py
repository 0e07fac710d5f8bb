"""Mistakes that people make at the command line: each is one line with what is wrong, where, and what to type."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_lines import Command, Finished, caller, finish, one_error

command = pytest.fixture(caller)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    return finish(tmp_path_factory.mktemp("finished"))


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
        (["plan", "CONFIG", "--gpus", "2", "--gpu-memory", "x"], "error: --gpu-memory: "),
        (["plan", "CONFIG", "--samples", "0"], "--samples 0"),
        (["plan", "CONFIG", "--from", "NOWHERE"], "does not exist"),
        (["status", "NOWHERE"], "does not exist"),
        (["status", "RUN", "zebra"], "`zebra` is not a sample"),
        (["compare", "RUN", "NOWHERE"], "does not exist"),
        (["agreement", "NOWHERE"], "does not exist"),
        (["describe", "zebra"], "`zebra` is not a benchmark, edit model, judge or protocol"),
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
        (["rnu", "x.yaml"], "no such command rnu; did you mean run?"),
        (["env", "creat"], "no such command creat; did you mean create?"),
        (["run", "x.yaml", "--limit", "few"], "--limit: must be a whole number; `edit-eval run --help`"),
        (["compare", "x", "--detect", "few"], "--detect: must be a number; `edit-eval compare --help`"),
        (["run", "x.yaml", "--limit"], "option --limit requires an argument; `edit-eval"),
    ],
)
def test_a_command_that_is_none_is_one_line_as_all_errors(command: Command, arguments: list[str], line: str) -> None:
    found = command(*arguments)
    assert found.err.startswith(f"error: {line}")
    assert found.err.count("\n") == 1
    one_error(found, 2, line)
