"""The live progress can neither stop a run nor hold it up; on a real pseudo-terminal it leaves everything as it was."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from edit_eval.errors import ConfigurationError
from edit_eval.execution.contract import Meter
from edit_eval.plugins.progress import progress as live
from edit_eval.plugins.progress.lines import CategoryDone, Judged
from edit_eval.plugins.progress.progress import Progress, choose
from edit_eval.records import Scale, Status
from edit_eval.reporting.live import MOST_BYTES, Count, DeviceView, MeanSoFar, Snapshot, read_live, write_live
from edit_eval.store.run_directory import LIVE, RunDirectory
from edit_eval.store.table import JudgementTable
from reporting.simulated_runs import Recording, SimulatedRun
from simulated_driver import Fate
from small_benchmark import configuration, write_benchmark


class Stream(io.StringIO):
    """A stream that is a terminal, or is not."""

    def __init__(self, is_terminal: bool = False) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


# -- the choice --


@pytest.mark.parametrize(
    ("mode", "is_terminal", "term", "chosen", "reason"),
    [
        ("auto", True, "xterm", "rich", "stderr is a terminal"),
        ("auto", True, "dumb", "plain", "TERM is dumb"),
        ("auto", False, "xterm", "plain", "stderr is not a terminal"),
        ("rich", True, "xterm", "rich", "stderr is a terminal"),
        ("rich", False, "xterm", "plain", "stderr is not a terminal"),
        ("plain", True, "xterm", "plain", "set in the configuration"),
        ("none", True, "xterm", "none", "set in the configuration"),
    ],
)
def test_choice(mode: str, is_terminal: bool, term: str, chosen: str, reason: str) -> None:
    assert choose(mode, Stream(is_terminal), {"TERM": term}) == (chosen, reason)
    progress = Progress.of(mode, Stream(is_terminal), {"TERM": term})
    assert (progress.mode, progress.reason) == (chosen, reason)


def test_another_mode_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="`loud` is not known; use `auto`, `rich`, `plain`, `lines` or `none`"):
        Progress.of("loud", Stream())


def environment() -> dict[str, str]:
    """That of an ordinary terminal; stderr is buffered, as it is by default."""
    unwanted = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "PYTHONUNBUFFERED")
    return {name: value for name, value in os.environ.items() if name not in unwanted} | {"TERM": "xterm-256color"}


# -- what is shown --


def test_a_run_is_shown_whole(tmp_path: Path) -> None:
    display = Recording()
    progress = Progress(display, "rich", "")
    run = SimulatedRun(tmp_path)
    run.play(progress)
    assert progress.failure is None
    assert display.closed
    assert len(display.of(Judged)) == 12
    assert len(display.said("loaded")) >= 3
    assert len(display.of(CategoryDone)) == 2
    assert display.snapshots[-1].judgements.ok == 12
    assert not threading_names() & {"edit-eval progress"}


def test_notes_outside_of_a_run_are_said_at_once() -> None:
    stream = Stream()
    progress = Progress.of("auto", stream)
    progress.note("nothing to do")
    assert stream.getvalue().endswith(" note: nothing to do\n")


def test_none_says_nothing(tmp_path: Path) -> None:
    stream = Stream(is_terminal=True)
    progress = Progress.of("none", stream)
    progress.note("before")
    SimulatedRun(tmp_path, fates={"00001_物理_hard": Fate(1, "failed", "no")}).play(progress)
    assert stream.getvalue() == ""
    assert progress.failure is None


def test_why_lines_are_plain_is_said(tmp_path: Path) -> None:
    stream = Stream()
    SimulatedRun(tmp_path, count=2).play(Progress.of("auto", stream))
    assert "note: progress: plain lines (stderr is not a terminal; `progress: lines` also shows" in stream.getvalue()
    assert "end: 2 of 2 edits, 2 of 2 scores" in stream.getvalue()


# -- what goes wrong --


class Broken(Recording):
    """A display that fails where it is told to."""

    def __init__(self, where: str, error: BaseException) -> None:
        super().__init__()
        self._where, self._error = where, error

    def _fail(self, where: str) -> None:
        if where == self._where:
            raise self._error

    def write(self, lines: Any) -> None:
        self._fail("write")
        super().write(lines)

    def draw(self, lines: Any, snapshot: Snapshot) -> None:
        self._fail("draw")
        super().draw(lines, snapshot)

    def close(self, lines: Any, snapshot: Snapshot) -> None:
        self._fail("close")
        super().close(lines, snapshot)


@pytest.mark.parametrize("where", ["write", "draw", "close"])
@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), RuntimeError("a fault"), BrokenPipeError()])
def test_a_display_that_fails_stops_no_run(
    tmp_path: Path, where: str, error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    display = Broken(where, error)
    progress = Progress(display, "rich", "")
    progress.note("first")
    run = SimulatedRun(tmp_path)
    run.play(progress)
    progress.note("last")
    assert progress.failure is error
    assert all(judgement.status is Status.OK for judgement in run.matrix.judgements())
    gone, told = isinstance(error, OSError), capsys.readouterr().err
    if gone:
        assert (display.closed, told) == (False, ""), "whom a terminal has left is told nothing"
        return
    note = "the progress display has failed (RuntimeError: a fault); the run goes on"
    assert [*display.said("note"), *told.splitlines()].count(note if where != "write" else f"note: {note}") == 1
    assert display.closed == (where == "write")
    assert ("end: 12 of 12 edits, 12 of 12 scores" in told) == (where != "write"), "by the records"
    assert told.endswith("note: last\n")


@pytest.mark.parametrize(
    "name", ["__init__", "replica", "running", "step", "finished", "edit", "judgement", "snapshot"]
)
def test_a_fault_in_what_is_told_is_said_once_and_stops_no_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any) -> None:
        raise ValueError(name)

    monkeypatch.setattr(f"edit_eval.plugins.progress.state.ProgressState.{name}", fail)
    stream = Stream()
    progress = Progress.of("plain", stream)
    run = SimulatedRun(tmp_path, fates={"00001_物理_hard": Fate(1, "failed", "no")})
    run.play(progress)
    said = f"note: the progress display has failed (ValueError: {name}); the run goes on\n"
    assert stream.getvalue().count(said) == 1
    last = stream.getvalue().splitlines()[-1]
    assert "end: 12 of 12 edits, 11 of 12 scores" in last or "end: 11 of 12 edits, 11 of 12 scores" in last, last
    assert sum(judgement.status is Status.OK for judgement in run.matrix.judgements()) == 11
    live_file = run.directory.path / LIVE
    assert not live_file.exists() or json.loads(live_file.read_text("utf-8"))["ended"], "`status` goes by the journals"


class Hanging(Recording):
    """A terminal that was paused."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = threading.Event()

    def draw(self, lines: Any, snapshot: Snapshot) -> None:
        self.go_on.wait()


def test_a_display_that_hangs_holds_nothing_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "PATIENCE", 0.05)
    display = Hanging()
    progress = Progress(display, "rich", "")
    run = SimulatedRun(tmp_path)
    began = time.monotonic()
    run.play(progress)
    assert time.monotonic() - began < 60
    assert all(judgement.status is Status.OK for judgement in run.matrix.judgements())
    display.go_on.set()


def test_nobody_reads_any_more(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        progress = Progress.of("plain", stream)
        progress.note("hello")
        run = SimulatedRun(tmp_path)
        run.play(progress)
    assert isinstance(progress.failure, BrokenPipeError)
    assert all(judgement.status is Status.OK for judgement in run.matrix.judgements())


def test_a_terminal_that_vanishes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as stream:
        progress = Progress.of("rich", stream, {"TERM": "xterm"})
        assert progress.mode == "rich"
        os.close(master)
        run = SimulatedRun(tmp_path)
        run.play(progress)
    assert isinstance(progress.failure, OSError)
    assert all(judgement.status is Status.OK for judgement in run.matrix.judgements())
    print("stdout is still there")
    assert capfd.readouterr().out == "stdout is still there\n"


def test_a_broken_pipe_leaves_stdout_alone(capfd: pytest.CaptureFixture[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream, pytest.raises(BrokenPipeError):
        live.terminal(stream).print("hello")
    print("stdout is still there")
    assert capfd.readouterr().out == "stdout is still there\n"


VANISHED = """
from edit_eval.plugins.progress.progress import Progress
progress = Progress.of("plain")
progress.note("hello")
print(type(progress.failure).__name__)
"""


def test_a_reader_that_has_gone_does_not_change_the_exit_code() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-c", VANISHED], stdout=subprocess.PIPE, stderr=writer, env=environment(), text=True
    )
    os.close(writer)
    assert (done.stdout, done.returncode) == ("BrokenPipeError\n", 0)


def test_a_terminal_that_somebody_made_non_blocking(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    os.set_blocking(slave, False)
    taken = bytearray()

    def take() -> None:
        while not taken.endswith(b"end"):
            taken.extend(os.read(master, 999))

    reader = threading.Thread(target=take, daemon=True)
    with os.fdopen(slave, "w") as stream:
        file = live.open_unbuffered(stream)
        reader.start()
        file.write("line\n" * 20_000)
        file.write("end")
        reader.join(60)
    os.close(master)
    assert taken == b"line\r\n" * 20_000 + b"end"


def threading_names() -> set[str]:
    return {thread.name for thread in threading.enumerate()}


# -- a real pseudo-terminal --

PROGRAM = """
import sys, termios
from edit_eval import evaluate, run
from edit_eval.plugins.progress.progress import Progress

class Pausing:
    "A progress whose terminal is paused the moment that the run begins."
    def __init__(self, progress):
        self._progress = progress
    def begin(self, *told):
        termios.tcflow(2, termios.TCOOFF)
        self._progress.begin(*told)
    def __getattr__(self, name):
        return getattr(self._progress, name)

progress = Progress.of("auto")
sys.stderr.write(f"mode: {progress.mode}\\n")
before = sys.stderr
paused = sys.argv[3] == "paused"
run.watch_run = lambda configuration: Pausing(progress) if paused else progress
made = evaluate(sys.argv[1], run_dir=sys.argv[2], report=False)
assert progress.failure is None, repr(progress.failure)
assert paused or sys.stderr is before
print("scored", made.summary.coverage.scored)
"""


class Terminal:
    """A terminal with 80 columns and 24 lines, and a program whose stderr it is."""

    def __init__(self, folder: Path, how: str, **models: Any) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        write_benchmark(folder)
        written = yaml.safe_dump(configuration(folder, **models), allow_unicode=True)
        (folder / "config.yaml").write_text(written, "utf-8")
        self.program = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(folder / "config.yaml"), str(folder / "run"), how],
            stdin=slave,
            stdout=subprocess.PIPE,
            stderr=slave,
            env=environment(),
            text=True,
        )
        os.close(slave)

    def read(self) -> str:
        """All that is shown, until the program is gone."""
        data = b""
        while True:
            try:
                part = os.read(self.master, 1 << 16)
            except OSError:
                part = b""
            if not part:
                return data.decode()
            data += part


@pytest.fixture
def open_terminal() -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def open_one(*arguments: Any, **named: Any) -> Terminal:
        opened.append(Terminal(*arguments, **named))
        return opened[-1]

    yield open_one
    for terminal in opened:
        terminal.program.kill()
        terminal.program.wait()
        os.close(terminal.master)


@pytest.mark.check
def test_on_a_real_terminal(tmp_path: Path, open_terminal: Callable[..., Terminal]) -> None:
    terminal = open_terminal(
        tmp_path,
        "watched",
        edit={"seconds": 0.2, "steps": 4, "fail": ["00002_社会_easy"]},
        judge={"default_answer": "Score: 6.500", "answers": {"00004_环境_easy": "\x1b[2J\x1b]0;owned\x07none"}},
    )
    seen = terminal.read()
    out, _ = terminal.program.communicate(timeout=150)
    assert terminal.program.returncode == 0, seen
    assert out == "scored 7\n"
    assert "mode: rich" in seen
    assert seen.count("\x1b[?25l") == seen.count("\x1b[?25h") >= 1  # two, where the benchmark's reading was seen
    assert seen.index("\x1b[?25l") < seen.rindex("overall") < seen.rindex("\x1b[?25h") < seen.rindex(" end")
    assert "━" in seen
    assert "00002_社会_easy" in seen
    assert seen.count("6.500") >= 7
    assert "\x1b[2J" not in seen
    assert "8 of 9 edits, 7 of 9 scores, 2 failed" in seen
    assert seen.endswith("\r\n")


@pytest.mark.check
def test_a_terminal_that_is_paused_for_good(tmp_path: Path, open_terminal: Callable[..., Terminal]) -> None:
    terminal = open_terminal(tmp_path, "paused", edit={"device_ids": "cpu:1"}, judge={"device_ids": "cpu:1"})
    out, _ = terminal.program.communicate(timeout=150)
    assert terminal.program.returncode == 0
    assert out == "scored 9\n"


SNAPSHOT = Snapshot(
    devices=(DeviceView("cuda:0", "editing", "q", "00012_物理_medium", "32/50", 0.64, 7, None, Meter(5, 9, 0.5)),),
    edits=Count(130, 1, 270, 131, 3.2),
    judgements=Count(20, 1, 270, 21),
    controls=Count(total=75),
    means=(MeanSoFar("q", "j", "psnr", Scale(lowest=0.0, mean_over="categories"), 20, None),),
    seconds=1880.25,
    left=3720,
    left_without=("judge",),
    batch=(20, 45),
)


@pytest.fixture
def directory(tmp_path: Path) -> Any:
    made = RunDirectory(tmp_path / "run")
    made.begin()
    (made.path / "config").mkdir()
    yield made
    made.end()


def test_what_is_written_is_what_is_read(directory: RunDirectory) -> None:
    write_live(directory, SNAPSHOT)
    state = read_live(RunDirectory.open_existing(directory.path))
    assert state is not None
    assert {name: getattr(state, name) for name in vars(SNAPSHOT)} == vars(SNAPSHOT)
    assert (state.schema, state.start, state.ended) == (1, 1, False)
    assert abs(time.time() - state.at) < 600
    assert [path.name for path in directory.path.iterdir() if path.name.startswith(".")] == []


def test_others_read_it_as_plain_json(directory: RunDirectory) -> None:
    write_live(directory, SNAPSHOT, ended=True)
    document = json.loads((directory.path / LIVE).read_text("utf-8"))
    assert (document["start"], document["ended"], document["left"], document["batch"]) == (1, True, 3720, [20, 45])
    assert document["edits"] == {"ok": 130, "failed": 1, "total": 270, "settled": 131, "per_minute": 3.2}
    assert document["devices"][0]["meter"] == {"used": 5, "total": 9, "busy": 0.5}
    assert document["means"][0]["scale"]["mean_over"] == "categories"


def test_only_that_of_the_start_at_work_counts(directory: RunDirectory) -> None:
    write_live(directory, SNAPSHOT, ended=True)
    assert read_live(directory) is None, "it has ended"
    write_live(directory, SNAPSHOT)
    (directory.path / "config" / "0001.yaml").write_text("")
    directory.end()
    assert read_live(directory) is None, "nobody is at work"
    again = RunDirectory(directory.path)
    again.begin()
    assert (again.number, read_live(again)) == (2, None), "a start that was killed has left it"
    write_live(again, SNAPSHOT)
    assert read_live(again) is not None
    again.end()


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"schema": 1}', '{"schema": 1, "start": 1, "at": "x", "ended": false}', "\xff\xfe"]
)
def test_what_cannot_be_read_is_nothing(directory: RunDirectory, content: str) -> None:
    (directory.path / LIVE).write_bytes(content.encode("latin-1"))
    assert read_live(directory) is None


def test_no_more_than_so_much_is_read(directory: RunDirectory) -> None:
    write_live(directory, SNAPSHOT)
    whole = (directory.path / LIVE).read_bytes()
    (directory.path / LIVE).write_bytes(whole[:-1] + b" " * MOST_BYTES + b"}")
    assert read_live(directory) is None


def test_a_full_disk_leaves_it_out(directory: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    write_live(directory, SNAPSHOT)
    before = (directory.path / LIVE).read_bytes()

    def full(path: Path, data: bytes) -> None:
        with path.open("wb") as file:
            file.write(data[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    write_live(directory, SNAPSHOT, ended=True)
    assert (directory.path / LIVE).read_bytes() == before
    assert not list(directory.path.glob(".tmp*"))


# -- a whole run --


@pytest.mark.parametrize("mode", ["none", "plain"])
def test_a_run_writes_it_whatever_is_shown(tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "KEEP_EVERY", 0.001)
    run = SimulatedRun(tmp_path, count=6)
    written: list[tuple[int, bool]] = []

    def keep(directory: RunDirectory, snapshot: Snapshot, *, ended: bool = False) -> None:
        write_live(directory, snapshot, ended=ended)
        document = json.loads((tmp_path / LIVE).read_text("utf-8"))
        written.append((document["edits"]["total"], document["ended"]))

    monkeypatch.setattr(live, "write_live", keep)
    with open(os.devnull, "w") as stream:
        progress = Progress.of(mode, stream)
        run.play(progress)
    assert progress.failure is None
    assert written[0] == (6, False)
    assert [ended for _, ended in written].count(True) == 1
    last = json.loads((tmp_path / LIVE).read_text("utf-8"))
    assert (last["ended"], last["edits"]["ok"], last["judgements"]["ok"]) == (True, 6, 6)
    assert last["means"][0]["mean"] == 6.5


def test_a_disk_that_hangs_holds_nothing_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "PATIENCE", 0.05)
    go_on = threading.Event()
    monkeypatch.setattr(live, "write_live", lambda *arguments, **named: go_on.wait())
    run = SimulatedRun(tmp_path, count=6)
    run.play(Progress(None, "none", ""))
    assert all(judgement.score is not None for judgement in run.matrix.judgements())
    go_on.set()


def test_ids_that_no_file_can_hold_are_written_all_the_same(directory: RunDirectory, tmp_path: Path) -> None:
    run = SimulatedRun(tmp_path / "other", count=2)
    progress = Progress(None, "none", "")
    progress.begin(JudgementTable(run.matrix), run.policy, run.work, run.estimates, {}, directory)
    replica = run.policy.replicas[0]
    task = run.work.add("edit:qwen_image_edit", [0])
    progress.replica(replica, "loaded", {"seconds": 1.0})
    progress.running(replica, task, "id \ud800 of a benchmark")
    progress.end()
    assert progress.failure is None
    assert "id ? of a benchmark" in (directory.path / LIVE).read_text("utf-8")
