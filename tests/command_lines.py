"""The command line called in this process, and what comes of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from edit_eval import cli, evaluate
from small_benchmark import configuration


class Outcome(NamedTuple):
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document that is all of stdout."""
        return json.loads(self.out)


Command = Callable[..., Outcome]


class Finished(NamedTuple):
    """A run that came to its end."""

    config: Path
    run: Path


def caller(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """What runs a command line in this process: `command("run", path, "--json")`."""

    def run(*arguments: str | Path) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["edit-eval", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return Outcome(int(ended.value.code or 0), *capfd.readouterr())

    return run


def finish(folder: Path) -> Finished:
    """A small evaluation, run to its end."""
    path = yaml_file(folder)
    evaluate(path, run_dir=folder / "run", report=False)
    return Finished(path, folder / "run")


def yaml_file(folder: Path, **more: Any) -> Path:
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(configuration(folder, **more), allow_unicode=True), "utf-8")
    return path


def one_error(outcome: Outcome, code: int, words: str) -> None:
    """The command ended with `code` and one line that says why, on stderr."""
    assert outcome.code == code, outcome
    assert outcome.out == ""
    last = outcome.err.rstrip("\n").splitlines()[-1]
    assert last.startswith("error: "), outcome.err
    assert words in last
    assert "Traceback" not in outcome.err
