"""The words that a terminal and a log file share."""

from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path

import pytest

from edit_eval.execution.contract import Meter
from edit_eval.plugins.progress.displays import PlainProgress, sentences
from edit_eval.plugins.progress.lines import (
    AssignmentRow,
    BenchmarkProgress,
    CategoryDone,
    EventLine,
    Judged,
    category_sentence,
    devices,
    judgement_failure,
    load_words,
    plan_sentence,
)
from edit_eval.records import Scale, Scoring, Status
from edit_eval.reporting.live import (
    Count,
    DeviceView,
    Snapshot,
    counts,
    device_words,
    ending_words,
    more_devices,
    rate,
    time_left_words,
)
from reporting.simulated_runs import TEN, SimulatedRun, Watched, a_judgement
from simulated_driver import Fate


def test_a_failure_has_its_reason_or_else_the_answer() -> None:
    refused = a_judgement(None, status=Status.OUT_OF_RANGE, answer="Score: 12")
    assert judgement_failure(refused) == "score out of range: Score: 12"


def test_which_load_of_a_model_it_is() -> None:
    assert (
        load_words("qwen", "cuda:0", 41.3, 1, 2, int(57.7 * (1 << 30))) == "qwen on cuda:0 in 41 s (1 of 2), 57.7 GiB"
    )
    assert load_words("qwen", "cuda:1", 190.0, 3, 2) == "qwen on cuda:1 in 3 min 10 s (again)"


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["cuda:0"], "cuda:0"),
        (["cuda:0", "cuda:1"], "cuda:0, 1"),
        (["cuda:1", "cuda:2", "cuda:3"], "cuda:1–3"),
        (["cuda:2", "cuda:3", "cuda:0"], "cuda:2, 3, 0"),
        (["cuda:0", "cpu:0"], "cuda:0, cpu:0"),
        ([f"cuda:{n}" for n in range(64)], "cuda:0–63"),
        ([f"cuda:{2 * n}" for n in range(32)], "cuda:0 to cuda:62 (32)"),
    ],
)
def test_devices(names: list[str], shown: str) -> None:
    assert devices(names) == shown


@pytest.mark.parametrize(("per_minute", "shown"), [(0.449, "0.45/min"), (3.21, "3.2/min"), (120.4, "120/min")])
def test_rate(per_minute: float, shown: str) -> None:
    assert rate(per_minute) == shown


@pytest.mark.parametrize(
    ("snapshot", "shown"),
    [
        (Snapshot(), "time left unknown"),
        (Snapshot(left=3720), "1 h 02 min left"),
        (Snapshot(left=60, left_without=("judge",)), "1 min 00 s left for the edits"),
        (Snapshot(left=60, left_without=("edit",)), "1 min 00 s left for the scores"),
        (Snapshot(edits=Count(total=4)), "time left unknown"),
    ],
)
def test_left(snapshot: Snapshot, shown: str) -> None:
    assert time_left_words(snapshot) == shown


# -- scales --


@pytest.mark.parametrize(
    ("scale", "numbers", "shown"),
    [
        (TEN, (6.4321, 2.0, 9.5), "mean 6.43, min 2.00, max 9.50, 48/50 scored"),
        (Scale(lowest=0.0, highest=1.0), (0.81234, 0.5, 1.0), "mean 0.812, min 0.500, max 1.000, 48/50 scored"),
        (
            Scale(lowest=-1.0, highest=1.0, higher_is_better=False),
            (-0.2, -0.5, 0.3),
            "mean -0.200, min -0.500, max 0.300, 48/50 scored, lower is better",
        ),
        (Scale(lowest=0.0), (31.25, 12.0, 48.0), "mean 31.25, min 12.00, max 48.00, 48/50 scored"),
    ],
)
def test_a_category_is_summed_up_on_its_scale(scale: Scale, numbers: tuple[float, float, float], shown: str) -> None:
    assert category_sentence(CategoryDone("social", 48, 50, *numbers, scale)) == shown


def test_how_a_judge_is_asked() -> None:
    macro = Scoring(protocol="viescore", headline="O", scales={"O": TEN, "SC": TEN})
    row = AssignmentRow("judge", "gpt", ("cpu:0",), 300, questions=675, controls=75, scoring=macro)
    assert plan_sentence(row) == "scores by gpt on cpu:0: 300, 75 controls, 675 questions, O of viescore, out of 10"
    error = Scoring(protocol="numbers", headline="mse", scales={"mse": Scale(lowest=0.0, higher_is_better=False)})
    plain = plan_sentence(AssignmentRow("judge", "pixels", ("cpu:0",), 300, questions=300, scoring=error))
    assert plain.startswith("scores by pixels on cpu:0: 300, mse of numbers, ")
    assert plain.endswith("lower is better")


# -- controls --


def test_controls_are_said_while_they_are_left_and_count_to_the_whole() -> None:
    some = Count(ok=12, failed=3, total=75, settled=15)
    snapshot = Snapshot(edits=Count(4, 0, 4, 4), judgements=Count(4, 0, 4, 4), controls=some)
    assert counts(snapshot) == ["edits 4/4", "scores 4/4", "controls 15/75"]
    assert (snapshot.fraction, snapshot.n_failed) == ((4 + 4 + 15) / (4 + 4 + 75), 0)
    assert ending_words(snapshot) == "4 of 4 edits, 4 of 4 scores, 60 not done, in 0.0 s"
    over = Snapshot(edits=Count(4, 0, 4, 4), judgements=Count(4, 0, 4, 4), controls=Count(72, 3, 75, 75))
    assert counts(over) == ["edits 4/4", "scores 4/4"]
    assert ending_words(over) == "4 of 4 edits, 4 of 4 scores, in 0.0 s"


# -- devices --


BUSY = Meter(61 << 30, 80 << 30, 0.976)


@pytest.mark.parametrize(
    ("view", "shown"),
    [
        (DeviceView("cuda:0", "editing", "q", "s1", "32/50", meter=BUSY), "editing 32/50, s1, 98 %, 61/80 GiB"),
        (DeviceView("cuda:0", "judging", "v", "s1", "31 asked", meter=Meter(busy=0.0)), "judging 31 asked, s1, 0 %"),
        (DeviceView("cuda:0", "loading", "qwen", seconds=12, expected=24.0), "loading 12 s, qwen"),
        (DeviceView("cpu:0", "waiting", "v"), "waiting, v"),
        (DeviceView("cpu:0", ""), "free"),
    ],
)
def test_what_a_device_does(view: DeviceView, shown: str) -> None:
    assert device_words(view) == shown


def test_devices_that_have_no_room_are_counted() -> None:
    views = [DeviceView("a", "editing"), DeviceView("b", ""), DeviceView("c", "editing")]
    assert more_devices(views) == "and 3 more: 2 editing, 1 free"


def log_of(run: SimulatedRun) -> str:
    file = io.StringIO()
    run.play(Watched(run, PlainProgress(file, lambda: f"{run.driver.now:4.0f}")))
    return file.getvalue()


def test_a_run_with_every_kind_of_trouble(tmp_path: Path) -> None:
    run = SimulatedRun(
        tmp_path,
        count=6,
        devices=("cuda:0",),
        fates={
            "00001_物理_hard": Fate(20, "failed", "RuntimeError: no"),
            "00004_环境_hard": Fate(10, "dies", "its process was killed by SIGKILL"),
        },
        answers={"00002_物理_hard": "no idea"},
    )
    assert log_of(run).splitlines() == [
        "   0 schedule: pull, a free device takes the next sample",
        "   0 edits by qwen_image_edit on cuda:0: 6, first 0, 1, 2, 3, 4, …",
        "   0 scores by qwen3_vl on cuda:0: 6, score of rubric, out of 10",
        "  15 progress: 0 %, edits 0/6, scores 0/6, time left unknown",
        "  35 loaded: edit model qwen_image_edit on cuda:0 in 30 s (1 of 1)",
        "  45 progress: 0 %, edits 0/6, scores 0/6, time left unknown; cuda:0 at step 2/10",
        " 105 progress: 8 %, edits 1/6 (0.86/min), scores 0/6, 3 min 12 s left for the edits",
        " 135 progress: 16 %, edits 2/6 (1.2/min), scores 0/6, 2 min 40 s left for the edits",
        " 175 progress: 25 %, edits 3/6 (1.3/min), scores 0/6, 2 min 00 s left for the edits",
        " 185 died: edit model qwen_image_edit on cuda:0: its process was killed by SIGKILL",
        " 220 loaded: edit model qwen_image_edit on cuda:0 in 30 s (again)",
        " 260 progress: 33 %, edits 4/6 (1.1/min), scores 0/6, 1 min 20 s left for the edits",
        " 280 failed: 00001_物理_hard: no edit: failed 2 times; the last time: RuntimeError: no",
        " 280 progress: 50 %, edits 4/6 (1.2/min), scores 0/6, 1 failed, 40 s left for the edits",
        " 290 failed: 00004_环境_hard: no edit: failed 2 times; the last time: its process was killed by SIGKILL",
        " 290 died: edit model qwen_image_edit on cuda:0: its process was killed by SIGKILL",
        " 295 progress: 66 %, edits 4/6, scores 0/6, 2 failed, time left unknown",
        " 350 loaded: judge qwen3_vl on cuda:0 in 1 min 00 s (1 of 1)",
        " 353 progress: 75 %, edits 4/6, scores 1/6 (20/min), 2 failed, 15 s left",
        " 362 category Environmental: mean 6.50, min 6.50, max 6.50, 2/3 scored",
        " 365 failed: 00002_物理_hard: no score in the answer: the answer is not a score alone: `no idea`",
        " 365 category Physical: mean 6.50, min 6.50, max 6.50, 1/3 scored",
        " 365 end: 4 of 6 edits, 3 of 6 scores, 3 failed, in 6 min 05 s",
    ]


def test_batch_sync_deals_out_and_counts_batches(tmp_path: Path) -> None:
    log = log_of(SimulatedRun(tmp_path, count=7, schedule="batch_sync"))
    assert "edits by qwen_image_edit on cuda:0: 4, first 0, 2, 4, 6" in log
    assert "edits by qwen_image_edit on cuda:1: 3, first 1, 3, 5" in log
    assert [line[5:] for line in log.splitlines() if " batch: " in line] == [
        f"batch: {n}/4 done in 40 s" for n in (1, 2, 3, 4)
    ]
    assert [part for part in log.split(", ") if part.startswith("batch")] == [f"batch {n}/4" for n in (1, 1, 2, 3, 4)]


@pytest.mark.parametrize("fate", [Fate(20, "failed", "RuntimeError: no"), Fate(20, "dies", "segfault")])
def test_a_batch_is_said_to_be_done_once_though_one_of_its_samples_is_tried_again(tmp_path: Path, fate: Fate) -> None:
    fates = {"00001_物理_hard": Fate(20, "failed", "RuntimeError: no"), "00002_物理_hard": fate}
    log = log_of(SimulatedRun(tmp_path, count=12, schedule="batch_sync", fates=fates))
    assert [line[5:].split()[1] for line in log.splitlines() if " batch: " in line] == [f"{n}/6" for n in range(1, 7)]


@pytest.mark.parametrize("edit_seconds", [5.0, pytest.param(150.0, marks=pytest.mark.check)])
def test_lines_of_progress_are_never_close_and_never_far(tmp_path: Path, edit_seconds: float) -> None:
    run = SimulatedRun(tmp_path, count=16, edit_seconds=edit_seconds)
    times = [float(line.split()[0]) for line in log_of(run).splitlines() if " progress: " in line]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert min(gaps) >= 15
    assert max(gaps) <= 302  # and the half second between two looks
    assert len(times) <= 12 + run.driver.now / 300 + 10


def test_the_reading_of_a_benchmark_is_said_ever_more_seldom() -> None:
    file = io.StringIO()
    progress = PlainProgress(file, lambda: "now")
    for second in range(1, 80):
        progress.reading(BenchmarkProgress(2 * second, 10_000_000 * second, 1_280_000_000), float(second))
    progress.has_read()
    assert file.getvalue().splitlines() == [
        "now reading the benchmark: 2 samples, 10 of 1,280 MB (0 %)",
        "now reading the benchmark: 12 samples, 60 of 1,280 MB (4 %)",
        "now reading the benchmark: 32 samples, 160 of 1,280 MB (12 %)",
        "now reading the benchmark: 72 samples, 360 of 1,280 MB (28 %)",
        "now reading the benchmark: 152 samples, 760 of 1,280 MB (59 %)",
    ]
    once = io.StringIO()
    PlainProgress(once, lambda: "now").reading(BenchmarkProgress(1), 1.0)
    assert once.getvalue() == "now reading the benchmark: 1 sample\n"


def test_text_is_text() -> None:
    file = io.StringIO()
    evil = "\x1b[2J\x1b]0;owned\x07 line\nfailed: all of it"
    PlainProgress(file, lambda: "now").write(
        [EventLine("note", evil), EventLine("failed", evil, evil), CategoryDone(evil, 1, 2, 3.0, 2.0, 4.0, TEN)]
    )
    assert file.getvalue().count("\n") == 3
    assert file.getvalue().replace("\n", "").isprintable()
    assert "owned" not in file.getvalue()


def test_single_scores_are_said_where_they_are_asked_for() -> None:
    judged = Judged(a_judgement(5.0, reason="Too dark.", answer="5"), "s · m")
    assert list(sentences(judged)) == []
    assert list(sentences(judged, scores=True)) == ["score: s · m: 5.000: Too dark."]


@pytest.mark.parametrize("answer", ["5", "5.000", "Score: 5.000", "评分：5.000", '{"score": 5}'])
def test_a_bare_score_is_said_once(answer: str) -> None:
    judged = Judged(a_judgement(5.0, answer=answer), "s · m")
    assert list(sentences(judged, scores=True)) == ["score: s · m: 5.000"]


def test_what_a_judge_says_beside_its_score_is_shown() -> None:
    answer = "5.000\nThe shadow of the lamp points the wrong way."
    judged = Judged(a_judgement(5.0, answer=answer), "s · m")
    assert list(sentences(judged, scores=True)) == [f"score: s · m: 5.000: {answer}"]


def test_a_log_file_gets_every_score_as_it_comes(tmp_path: Path) -> None:
    run = SimulatedRun(tmp_path, count=9, answers={"00002_物理_hard": "no idea"})
    file = io.StringIO()
    run.play(Watched(run, PlainProgress(file, lambda: f"{run.driver.now:4.0f}", scores=True)))
    lines = file.getvalue().splitlines()
    scored = [judgement.sample_id for judgement in run.matrix.judgements() if judgement.status is Status.OK]
    said = [line.split(": ")[1:] for line in lines if " score: " in line]
    assert sorted(said) == sorted([name, "6.500"] for name in scored)
    assert len(scored) == 8
    assert sum("failed: 00002_物理_hard: no score in the answer" in line for line in lines) == 1


def test_of_an_edit_that_takes_long_the_steps_are_said(tmp_path: Path) -> None:
    lines = log_of(SimulatedRun(tmp_path, count=3, edit_seconds=600.0)).splitlines()
    told = [line.partition("; ")[2] for line in lines if " progress: " in line]
    assert "cuda:0 at step 7/10, cuda:1 at step 7/10" in told
    assert len(told) < 40, "and they stay few"


def test_a_category_without_any_score_has_no_numbers() -> None:
    (sentence,) = sentences(CategoryDone("social", 0, 50, None, None, None, TEN))
    assert sentence == "category social: no score, 0/50 scored"
