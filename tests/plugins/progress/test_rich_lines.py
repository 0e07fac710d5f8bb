"""The bars and lines in a terminal of 80 columns: golden, aligned, and deaf to what text wants of them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console, ConsoleRenderable

from edit_eval.execution.contract import Meter
from edit_eval.plugins.progress import progress as live
from edit_eval.plugins.progress.displays import LINES_AT_ONCE, RichProgress, bars_of, render_line
from edit_eval.plugins.progress.lines import (
    Assignment,
    AssignmentRow,
    BenchmarkProgress,
    CategoryDone,
    EventLine,
    Judged,
    Line,
    omission_line,
)
from edit_eval.records import Scoring
from edit_eval.reporting.live import Count, DeviceView, Snapshot
from reporting.simulated_runs import TEN, SimulatedRun, Watched, a_judgement

GIB = 1 << 30
EVIL = "\x1b[2J\x1b]0;owned\x07[red]x[/red]\r\n\u202e:smile:"


def terminal(file: io.StringIO, colours: bool = False, width: int = 80, height: int = 24) -> Console:
    return Console(
        file=file,
        width=width,
        height=height,
        force_terminal=True,
        color_system="standard" if colours else None,
        markup=False,
        emoji=False,
        highlight=False,
        _environ={},
    )


def drawn(renderable: ConsoleRenderable, colours: bool = False, width: int = 80) -> list[str]:
    file = io.StringIO()
    terminal(file, colours, width).print(renderable)
    return [line.rstrip() for line in file.getvalue().split("\n")]


def judged(score: float, words: str, name: str = "00012_物理_medium") -> Judged:
    return Judged(a_judgement(score, answer=words, sample=name, category="physical"), name)


RUBRIC = Scoring(protocol="rubric", headline="score", scales={"score": TEN})
LINES: list[Line] = [
    Assignment(
        "round_robin",
        (
            AssignmentRow("edit", "qwen_image_edit", ("cuda:0",), 45, (0, 6, 12, 18, 24)),
            AssignmentRow("edit", "qwen_image_edit", ("cuda:1",), 45, (1, 7, 13, 19, 25)),
            AssignmentRow("judge", "qwen3_vl", ("cuda:0", "cuda:1"), 90, questions=165, controls=75, scoring=RUBRIC),
        ),
        17,
    ),
    EventLine("loaded", "qwen_image_edit on cuda:0 in 41 s (1 of 2), 57.7 GiB"),
    EventLine("loaded", "qwen_image_edit on cuda:1 in 3 min 10 s (2 of 2)"),
    judged(7.25, "编辑基本符合指令,光影一致,但边缘略有瑕疵,整体自然,天空的颜色也与日落相符。"),
    judged(10.0, "The pendant hangs naturally, and its shadow follows the light of the window.\nScore: 10", "7"),
    EventLine("failed", "unparseable: I would say 6, perhaps 7, all in all.", "00012_物理_medium"),
    EventLine("failed", "no edit: the image is black: all values are 0", "00031_环境_hard"),
    CategoryDone("physical", 48, 50, 6.4321, 2.0, 9.5, TEN),
    CategoryDone("social · one · strict", 0, 50, None, None, None, TEN),
    EventLine(
        "died", "qwen_image_edit on cuda:1: its process was killed by SIGKILL (the kernel may have run out of memory)"
    ),
    EventLine("note", "cuda:1 is 12 % slower than the others at editing with qwen_image_edit"),
    omission_line(12),
]


def test_lines() -> None:
    file = io.StringIO()
    RichProgress(terminal(file)).write(LINES)
    assert [line.rstrip() for line in file.getvalue().splitlines()] == [
        "",
        "schedule  round_robin  edit i goes to device i mod N",
        "                                    device     count  first samples",
        "          edits by qwen_image_edit  cuda:0        45  0, 6, 12, 18, 24, …",
        "                                    cuda:1        45  1, 7, 13, 19, 25, …",
        "          scores by qwen3_vl        cuda:0, 1     90  75 controls, score of",
        "                                                      rubric, out of 10",
        "",
        "  loaded  qwen_image_edit on cuda:0 in 41 s (1 of 2), 57.7 GiB",
        "  loaded  qwen_image_edit on cuda:1 in 3 min 10 s (2 of 2)",
        "   7.250  00012_物理_medium  编辑基本符合指令,光影一致,但边缘略有瑕疵,整体自然,…",
        "  10.000  7                  The pendant hangs naturally, and its shadow follow…",
        "  failed  00012_物理_medium  unparseable: I would say 6, perhaps 7, all in all.",
        "  failed  00031_环境_hard    no edit: the image is black: all values are 0",
        "physical  mean 6.43, min 2.00, max 9.50, 48/50 scored ──────────────────────────",
        "social · one · strict  no score, 0/50 scored ───────────────────────────────────",
        "    died  qwen_image_edit on cuda:1: its process was killed by SIGKILL (the",
        "          kernel may have run out of memory)",
        "    note  cuda:1 is 12 % slower than the others at editing with qwen_image_edit",
        "          (12 lines skipped)",
    ]


METERS = {
    "cuda:0": Meter(61 * GIB, 80 * GIB, 0.97),
    "cuda:1": Meter(140 * GIB, 141 * GIB, 1.0),
    "cuda:2": Meter(0, 20 * GIB, None),
    "cuda:3": Meter(busy=0.03),
}
DEVICES = (
    DeviceView("cuda:0", "editing", "q", "00012_物理_medium", "32/50", 0.64, meter=METERS["cuda:0"]),
    DeviceView("cuda:1", "judging", "v", "00007_社会_easy, 00008_社会_hard", "31 asked", 0.5, meter=METERS["cuda:1"]),
    DeviceView("cuda:2", "loading", "qwen_image_edit", seconds=12, expected=24.0, meter=METERS["cuda:2"]),
    DeviceView("cuda:3", "loading", "qwen_image_edit", seconds=12, meter=METERS["cuda:3"]),
    DeviceView("cuda:4", "starting", "qwen3_vl"),
    DeviceView("cuda:5", "waiting", "qwen3_vl", "", "12 asked", 0.9),
    DeviceView("cuda:6", "retired", "qwen3_vl"),
    DeviceView("cuda:7", ""),
)
SNAPSHOT = Snapshot(
    DEVICES,
    edits=Count(130, 1, 270, 131, 3.2),
    judgements=Count(20, 1, 270, 21, 12.34),
    seconds=1880.0,
    left=3720,
    left_without=("judge",),
    batch=(20, 45),
)


def test_bars() -> None:
    assert drawn(bars_of(SNAPSHOT)) == [
        "",
        "  cuda:0  ━━━━━━━━━━        32/50      00012_物理_medium       97 %    61/80 GiB",
        "  cuda:1  ━━━━━━━━          31 asked   00007_社会_easy, 000…  100 %  140/141 GiB",
        "  cuda:2  ━━━━━━━━          12 s       loading qwen_image_e…            0/20 GiB",
        "  cuda:3                    12 s       loading qwen_image_e…    3 %",
        "  cuda:4                               starting qwen3_vl",
        "  cuda:5  ━━━━━━━━━━━━━━    12 asked   waiting",
        "  cuda:6                               retired",
        "  cuda:7                               free",
        " overall  ━━━━╸             28 %       1 h 02 min left for the edits     0:31:20",
        "          edits 130/270 (3.2/min), scores 20/270 (12/min), batch 20/45  2 failed",
        "",
    ]


def test_bars_of_workers_on_the_cpu_have_no_meters() -> None:
    devices = (DeviceView("cpu:0", "editing", "q", "00012_物理_medium", "3/4", 0.75), DeviceView("cpu:1", "waiting"))
    snapshot = Snapshot(devices, Count(1, 0, 4, 1), Count(0, 0, 4, 0), seconds=12.0, left=30)
    assert drawn(bars_of(snapshot)) == [
        "",
        "   cpu:0  ━━━━━━━━━━━━      3/4        00012_物理_medium",
        "   cpu:1                               waiting",
        " overall  ━━                12 %       30 s left                         0:00:12",
        "          edits 1/4, scores 0/4",
        "",
    ]


@pytest.mark.parametrize("height", [5, 8, 12, 24])
def test_many_devices_do_not_push_the_whole_out_of_sight(height: int) -> None:
    devices = tuple(DeviceView(f"cuda:{n}", "editing" if n else "loading", "q") for n in range(16))
    lines = drawn(bars_of(Snapshot(devices), 80, height))[:-1]
    shown = [line for line in lines if "cuda:" in line]
    assert len(lines) < max(height, 6)
    assert any(" overall " in line for line in lines)
    rest = 16 - len(shown)
    assert any(f"and {rest} more: " in line for line in lines) == (rest > 0)


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
def test_nothing_is_wider_than_the_terminal(width: int) -> None:
    file = io.StringIO()
    RichProgress(terminal(file, width=width)).write(LINES)
    lines = file.getvalue().splitlines() + drawn(bars_of(SNAPSHOT, width), width=width)
    assert max(map(cell_len, lines)) <= width


def test_colours_are_few() -> None:
    assert drawn(render_line(judged(7.25, "A fine edit indeed."), 17), colours=True)[0] == (
        "\x1b[1m   7.250\x1b[0m  00012_物理_medium  \x1b[2mA fine edit indeed.\x1b[0m"
    )
    assert drawn(render_line(judged(7.25, "Score: 7.250"), 17))[0].split() == ["7.250", "00012_物理_medium"]
    failed = drawn(render_line(EventLine("failed", "refused: ?", "00012_物理_medium"), 17), colours=True)[0]
    assert failed == "\x1b[31m  failed\x1b[0m  00012_物理_medium  refused: ?"


def test_text_of_others_is_text() -> None:
    lines: list[Line] = [
        Assignment("pull", (AssignmentRow("edit", EVIL, ("cpu:0",), 3),), 40),
        judged(5.0, EVIL, EVIL),
        EventLine("failed", EVIL, EVIL),
        CategoryDone(EVIL, 1, 1, 5.0, 5.0, 5.0, TEN),
        EventLine("note", EVIL),
    ]
    file = io.StringIO()
    RichProgress(terminal(file)).write(lines)
    devices = tuple(DeviceView("cpu:0", activity, EVIL, EVIL) for activity in ("editing", "judging", "loading"))
    text = file.getvalue() + "".join(drawn(bars_of(Snapshot(devices))))
    assert text.replace("\n", "").isprintable()
    assert "owned" not in text
    assert text.count("[red]x[/red] :smile:") == 10


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_drawing_only_what_has_changed() -> None:
    file, clock = io.StringIO(), Clock()
    progress = RichProgress(terminal(file), clock)
    progress.draw([], SNAPSHOT)
    before = len(file.getvalue())
    clock.now = 0.5
    progress.draw([], SNAPSHOT)
    assert len(file.getvalue()) == before
    clock.now = 1.0
    progress.draw([], SNAPSHOT)
    assert len(file.getvalue()) > before
    progress.close([], SNAPSHOT)


def test_the_bars_go_and_the_cursor_comes_back() -> None:
    file = io.StringIO()
    progress = RichProgress(terminal(file), Clock())
    progress.draw([EventLine("note", "first")], SNAPSHOT)
    progress.draw([judged(7.25, "A fine edit indeed.")], SNAPSHOT)
    progress.close([EventLine("note", "last")], SNAPSHOT)
    text = file.getvalue()
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1
    visible = screen(text)
    assert [line for line in visible if line] == [
        "    note  first",
        "   7.250  00012_物理_medium  A fine edit indeed.",
        "    note  last",
        "     end  130 of 270 edits, 20 of 270 scores, 2 failed, 388 not done, in 31 min",
        "          20 s",
    ]


def screen(text: str) -> list[str]:
    """What a terminal shows of `text`, as far as rich's own movements go: up, erase a line, return, next line."""
    lines, row, i = [""], 0, 0
    while i < len(text):
        if text[i] == "\x1b":
            end = next(k for k in range(i + 2, len(text)) if text[k].isalpha())
            code, argument = text[end], text[i + 2 : end]
            if code == "A":
                row -= int(argument or 1)
            elif code == "K":
                lines[row] = ""
            i = end + 1
            continue
        if text[i] == "\n":
            row += 1
            lines.extend([""] * (row + 1 - len(lines)))
        elif text[i] == "\r":
            pass  # rich erases the line after every return
        else:
            lines[row] += text[i]
        i += 1
    return [line.rstrip() for line in lines]


def test_a_flood_of_lines_is_cut() -> None:
    file = io.StringIO()
    RichProgress(terminal(file)).write([EventLine("note", str(n)) for n in range(LINES_AT_ONCE + 30)])
    lines = file.getvalue().splitlines()
    assert lines[0].strip() == "(30 lines skipped)"
    assert lines[-1].strip() == f"note  {LINES_AT_ONCE + 29}"


# -- a whole run --


def test_the_reading_of_a_benchmark_has_a_bar_that_goes(tmp_path: Path) -> None:
    file = io.StringIO()
    progress = RichProgress(terminal(file))
    for tick in range(5):  # two of them in one interval are one drawing
        progress.reading(BenchmarkProgress(tick + 1, 100_000_000 * tick, 500_000_000), 100.0 + tick / 10)
    assert file.getvalue().count("reading the benchmark") == 3
    assert "5 samples, 400 of 500 MB" in file.getvalue()
    progress.write([EventLine("note", "said meanwhile")])
    progress.has_read()
    assert [line.strip() for line in screen(file.getvalue()) if line] == ["note  said meanwhile"]
    progress.has_read()


def test_a_run_leaves_its_lines_and_no_bar(tmp_path: Path) -> None:
    file = io.StringIO()
    run = SimulatedRun(tmp_path, count=4, devices=("cuda:0",), answers={"00001_物理_hard": "Score: 2.125"})
    run.play(Watched(run, RichProgress(terminal(file), lambda: run.driver.now)))
    assert [line for line in screen(file.getvalue()) if line] == [
        "schedule  pull  a free device takes the next sample",
        "                                    device  count  first samples",
        "          edits by qwen_image_edit  cuda:0      4  0, 1, 2, 3",
        "          scores by qwen3_vl        cuda:0      4  score of rubric, out of 10",
        "  loaded  edit model qwen_image_edit on cuda:0 in 30 s (1 of 1)",
        "  loaded  judge qwen3_vl on cuda:0 in 1 min 00 s (1 of 1)",
        "   6.500  00000_物理_hard",
        "   2.125  00001_物理_hard",
        "Physical  mean 4.31, min 2.12, max 6.50, 2/2 scored ────────────────────────────",
        "   6.500  00002_环境_hard",
        "   6.500  00003_环境_hard",
        "Environmental  mean 6.50, min 6.50, max 6.50, 2/2 scored ───────────────────────",
        "     end  4 of 4 edits, 4 of 4 scores, in 4 min 27 s",
    ]


def test_lines_are_written_to_the_notebook_and_not_to_the_servers_terminal() -> None:
    class Stream(io.TextIOBase):  # as a kernel's: its descriptor is the terminal
        def fileno(self) -> int:
            raise AssertionError("that is another place")

    stream: Any = Stream()
    assert live.open_unbuffered(stream) is stream
