"""Runs to be disturbed, and what must be the same afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from edit_eval import evaluate
from edit_eval.reporting.documents import encode_document
from edit_eval.run import Run
from edit_eval.store.journal import Damage, Record, read
from small_benchmark import configuration, sample_id
from small_matrix import matrix_of

COUNT = 9
ANSWERS = {sample_id(n): f"Score: {n % 10}.5" for n in range(60)}
MODELS = Path(__file__).with_name("faulty_models.py")
TWO_QUESTIONS: dict[str, Any] = {
    "protocol": {"class_path": f"{Path(__file__).with_name('two_questions.py')}:TwoQuestions"},
    "judge": {
        "answers": {
            f"{sample_id(n)}#{question}": f"{(n + more) % 10}.5"
            for n in range(60)
            for more, question in enumerate(("followed", "kept"))
        }
    },
}
"""More of a configuration: the judge is asked twice about each edit, the second time with its first reply."""


class Ears:
    """Hears the notes of a run; `on_loaded(replica)` is called when a replica's worker is loaded."""

    def __init__(self, on_loaded: Callable[[Any], None] | None = None) -> None:
        self.notes: list[str] = []
        self._on_loaded = on_loaded

    def note(self, text: str) -> None:
        self.notes.append(text)

    def replica(self, replica: Any, state: str, message: Any) -> None:
        if state == "loaded" and self._on_loaded:
            self._on_loaded(replica)

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **named: None


def settings(folder: Path, **more: Any) -> dict[str, Any]:
    """A configuration on the testing models without a pilot; arguments as for `configuration`."""
    judge = {"answers": ANSWERS, **more.pop("judge", {})}
    return configuration(folder, judge=judge, execution={"pilot": False, **more.pop("execution", {})}, **more)


def faulty(model: str, role: str = "diffusion_model", **params: Any) -> dict[str, Any]:
    """The section of a configuration for a class in `faulty_models.py`."""
    return {role: {"class_path": f"{MODELS}:{model}", "params": {"device_ids": "cpu:1", **params}}}


def run(folder: Path, name: str = "run", *, ears: Ears | None = None, **more: Any) -> Run:
    """Runs in this process; arguments as for `settings`."""
    return evaluate(settings(folder, **more), run_dir=folder / name, report=False, spectator=ears)


def verdicts(made: Run) -> list[tuple[object, ...]]:
    """What must be equal between an undisturbed run and any other: all but times and workers."""
    pixels = {(e.sample_id, e.edit_model, e.edit_seed): (e.pixels, e.flags) for e in made.results.edits}
    matrix, rows = matrix_of(made), []
    for number in range(matrix.cells.judgements):
        j = matrix.judgement(number)
        keys = tuple(matrix.key(cell) for cell in matrix.cells.cells_of(number) if matrix.can_be_asked(cell))
        said = (j.sample_id, j.category, j.edit_model, j.judge, j.repeat, j.status, j.scores, j.answer, j.reason, keys)
        rows.append(said + pixels.get((j.sample_id, j.edit_model, j.edit_seed), ()))
    return rows


PASSED = ("name", "timing", "notes", "device_failures")
"""Of a report's entries those about what has happened to a run, not about what it came to."""


def report_of(made: Run) -> dict[str, Any]:
    """The numbers of the report, without those that are times, and without notes on what has happened to the run."""

    def timeless(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: timeless(v) for k, v in value.items() if "seconds" not in k and k not in PASSED}
        return [timeless(v) for v in value] if isinstance(value, list | tuple) else value

    numbers = timeless(json.loads(encode_document(made.summary)))
    assert isinstance(numbers, dict)
    return numbers


def lines(folder: Path, journal: str) -> list[Record]:
    """The good lines of a journal of the run in `folder`."""
    return list(read(folder / journal, Damage()))


def images(folder: Path) -> dict[str, bytes]:
    """The pictures of the run in `folder`, by name."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted((folder / "images").rglob("*.png"))}


def stray_files(folder: Path) -> list[Path]:
    """Temporary files in the run in `folder`."""
    return list(folder.rglob(".tmp-*"))


def copied(made: Run, folder: Path) -> Path:
    """A copy of a run, to be damaged; its benchmark lies beside it."""
    for name in ("benchmark.json", "cache"):
        source = made.path.parent / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
    shutil.copytree(made.path, folder / "run")
    return folder / "run"


# -- the command --


class Said(NamedTuple):
    """What a command came to."""

    code: int
    text: str
    """On stderr and stdout."""


class Command:
    """`edit-eval run` on a configuration, as somebody types it; it can be waited for and sent signals."""

    def __init__(self, what: dict[str, Any], folder: Path, *flags: str) -> None:
        path = folder / "config.yaml"
        path.write_text(json.dumps(what))
        line = [sys.executable, "-m", "edit_eval", "run", str(path), "--run-dir", str(folder / "run"), *flags]
        self._said = folder / f"said-{time.monotonic_ns()}"
        with self._said.open("wb") as file:
            self.process = subprocess.Popen(line, stdout=file, stderr=file, start_new_session=True)

    @property
    def text(self) -> str:
        """What it has said so far."""
        return self._said.read_text("utf-8")

    def wait(self, seconds: float = 120.0) -> Said:
        """Waits for its end."""
        code = self.process.wait(seconds)
        return Said(code, self.text)

    def __enter__(self) -> Command:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.wait()


# -- processes --


def workers_of(folder: Path, role: str = "") -> list[int]:
    """The processes whose output goes to a log in the run in `folder`: workers (`edit`, `judge`), what they started."""
    workers = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            log = (process / "fd" / "1").readlink()
            if log.parent == folder / "logs" and log.name.startswith(role):
                workers.append(int(process.name))
    return workers


def kill(process: int, number: int = signal.SIGKILL) -> None:
    """Sends a signal to a process that may be gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, number)


def is_alive(process: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition: Callable[[], object], seconds: float = 60.0) -> bool:
    """Waits for a condition; tells whether it came true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


_engines: list[int] = []
"""Processes that were started here and may not have been waited for."""


def start_engine(settings: dict[str, Any], folder: Path, largest_file: int = 0) -> int:
    """Starts a run in a fork of this process; returns the fork's number. `largest_file` (bytes) limits its files."""
    _engines[:] = [engine for engine in _engines if os.waitpid(engine, os.WNOHANG) == (0, 0)]
    said = Path(f"{folder}.said")
    said.unlink(missing_ok=True)
    if engine := os.fork():
        _engines.append(engine)
        return engine
    try:
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        if largest_file:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
        evaluate(settings, run_dir=folder, report=False)
        said.write_text("done")
    except BaseException as error:
        said.write_text(f"{type(error).__name__}: {error}")
    finally:
        os._exit(0)


def said_by_engine(folder: Path) -> str:
    """What became of the last run in `folder`: `done`, an exception, or nothing: it was killed."""
    path = Path(f"{folder}.said")
    return path.read_text() if path.exists() else ""
