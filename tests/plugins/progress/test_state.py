"""What the live progress knows of a run, compared with what the run's own records say."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from edit_eval.execution.contract import Meter
from edit_eval.plugins.progress.lines import Assignment, CategoryDone, EventLine, Judged, omission_line
from edit_eval.plugins.progress.state import LINES_KEPT, ProgressState
from edit_eval.records import Edit, Status
from edit_eval.reporting.live import Snapshot
from edit_eval.store.recall import load_journals
from edit_eval.store.table import JudgementTable
from edit_eval.store.timeline import read_timeline
from reporting.simulated_runs import TEN, Recording, SimulatedRun, Watched, a_judgement
from simulated_driver import Fate

GIB = 1 << 30
DEVICES = ("cuda:0", "cuda:1", "cuda:2")


def watch(run: SimulatedRun, only_the_end: bool = False) -> Recording:
    display = Recording()
    run.play(Watched(run, display, only_the_end))
    return display


@pytest.mark.parametrize("schedule", ["pull", "round_robin", "batch_sync"])
@pytest.mark.parametrize("by_category", [False, True])
def test_the_end_agrees_with_the_records(tmp_path: Path, schedule: str, by_category: bool) -> None:
    run = SimulatedRun(
        tmp_path,
        schedule=schedule,
        by_category=by_category,
        edit_models=("one", "two"),
        judges=("strict", "mild"),
        repeats=2,
        fates={"00002_物理_hard": Fate(3, "failed", "no"), "00007_环境_hard": Fate(3, "dies", "killed")},
        answers={"00004_物理_hard": "I'd rather not", "00005_物理_hard": "Score: 99"},
    )
    display = watch(run, only_the_end=True)
    judgements = list(run.matrix.judgements())
    last = display.snapshots[-1]

    assert last.edits.ok == sum(e.status is Status.OK for e in run.matrix.edits) == 20
    assert last.edits.failed == sum(e.status is Status.EDIT_FAILED for e in run.matrix.edits) == 4
    assert last.judgements.ok == sum(j.status is Status.OK for j in judgements)
    failed = [j for j in judgements if j.status not in (Status.OK, Status.EDIT_FAILED)]
    assert last.judgements.failed == len(failed) == 16
    assert last.n_failed == 20
    assert last.fraction == 1.0
    assert last.left == 0
    assert {d.activity for d in last.devices} == {""}

    assert len(display.of(Judged)) == last.judgements.ok
    unscored = [line.about for line in display.of(EventLine) if line.tag == "failed" and "no edit" not in line.words]
    assert len(unscored) == 16
    lost = {line.about.partition(" ")[0] for line in display.of(EventLine) if line.words.startswith("no edit: ")}
    assert lost == {"00002_物理_hard", "00007_环境_hard"}
    assert not [words for words in display.said("note") if "given up" in words]


def test_each_category_is_summed_up_once_when_its_last_score_has_come(tmp_path: Path) -> None:
    run = SimulatedRun(
        tmp_path,
        count=8,
        devices=("cuda:0",),
        fates={"00001_物理_hard": Fate(3, "failed", "no")},
        answers={"00000_物理_hard": "Score: 2.000", "00002_物理_hard": "Score: 9.250", "00003_物理_hard": "?"},
    )
    display = watch(run, only_the_end=True)
    by_label = {line.label: line for line in display.of(CategoryDone)}
    assert by_label["Physical"] == CategoryDone("Physical", 2, 4, 5.625, 2.0, 9.25, TEN)
    assert by_label["Environmental"] == CategoryDone("Environmental", 4, 4, 6.5, 6.5, 6.5, TEN)
    assert len(display.of(CategoryDone)) == 2
    for category, line in by_label.items():
        after = display.lines[display.lines.index(line) :]
        assert not [
            later for later in after if isinstance(later, Judged) and later.judgement.category.capitalize() == category
        ]


def test_a_category_whose_edits_all_fail_is_summed_up_too(tmp_path: Path) -> None:
    fates = {f"0000{n}_物理_hard": Fate(1, "failed", "no") for n in range(3)}
    display = watch(SimulatedRun(tmp_path, count=6, fates=fates), only_the_end=True)
    assert CategoryDone("Physical", 0, 3, None, None, None, TEN) in display.of(CategoryDone)


def test_labels_name_what_there_are_several_of(tmp_path: Path) -> None:
    run = SimulatedRun(tmp_path, count=2, edit_models=("one", "two"), judges=("a", "b"), edit_seeds=2, repeats=2)
    labels = {line.about for line in watch(run, only_the_end=True).of(Judged)}
    assert "00000_物理_hard · one · a · edit 1 · repeat 0" in labels
    assert len(labels) == 2 * 2 * 2 * 2 * 2
    (plan,) = (
        line
        for line in watch(SimulatedRun(tmp_path / "other", count=2), only_the_end=True).lines
        if isinstance(line, Assignment)
    )
    assert plan.label == len("00000_物理_hard") + 2


@pytest.mark.parametrize(
    ("schedule", "rows"),
    [
        ("pull", [(("cuda:0", "cuda:1", "cuda:2"), 12, (0, 1, 2, 3, 4))]),
        (
            "round_robin",
            [(("cuda:0",), 4, (0, 3, 6, 9)), (("cuda:1",), 4, (1, 4, 7, 10)), (("cuda:2",), 4, (2, 5, 8, 11))],
        ),
        (
            "batch_sync",
            [(("cuda:0",), 4, (0, 3, 6, 9)), (("cuda:1",), 4, (1, 4, 7, 10)), (("cuda:2",), 4, (2, 5, 8, 11))],
        ),
    ],
)
def test_the_plan_is_what_then_happens(
    tmp_path: Path, schedule: str, rows: list[tuple[tuple[str, ...], int, tuple[int, ...]]]
) -> None:
    run = SimulatedRun(tmp_path, count=12, devices=("cuda:0", "cuda:1", "cuda:2"), schedule=schedule)
    (plan,) = watch(run, only_the_end=True).of(Assignment)
    assert plan.schedule == schedule
    assert plan.explanation
    assert [(row.devices, row.count, row.first) for row in plan.rows if row.kind == "edit"] == rows
    if schedule != "pull":
        for devices, _, first in rows:
            for index in first:
                assert run.matrix.edits[index].device == devices[0]


@pytest.mark.parametrize("schedule", ["round_robin", "batch_sync"])
@pytest.mark.parametrize("more", [{}, {"by_category": True}, {"edit_seeds": 2}, {"edit_models": ("one", "two")}])
@pytest.mark.parametrize("pilot", [True, False])
def test_what_is_dealt_stays_dealt(tmp_path: Path, schedule: str, pilot: bool, more: dict[str, Any]) -> None:
    """The table of the start says of each device what it then does, and in which order.

    After a pilot all share what the device that did it has missed; what each begins with is as it was dealt.
    """
    run = SimulatedRun(tmp_path, count=23, devices=DEVICES, schedule=schedule, pilot=pilot, judge_seconds=30.0, **more)
    display = watch(run, only_the_end=True)
    (plan,) = display.of(Assignment)
    done = defaultdict(list)
    for activity in sorted(read_timeline(run.directory).activities, key=lambda activity: activity.begin):
        if activity.kind == "editing":
            done[activity.model, activity.device].append(int(activity.what[:5]))
    table = {(row.model, *row.devices): row for row in plan.rows if row.kind == "edit"}
    counts = {key: len(indices) for key, indices in done.items()}
    if pilot:
        assert sum(row.count for row in table.values()) == sum(counts.values())
    else:
        assert {key: row.count for key, row in table.items()} == counts
    first = {key: tuple(some[:5]) for key, some in done.items()}
    assert not pilot or all(row.first[:1] == first[key][:1] for key, row in table.items())
    assert pilot or {key: row.first for key, row in table.items()} == first
    assert all(edit.status is Status.OK for edit in run.matrix.edits)


def test_the_table_of_a_run_that_goes_on_names_the_judges_devices_together(tmp_path: Path) -> None:
    """Its judge has work that can start, and two devices, none of which owns any of it."""
    run = SimulatedRun(tmp_path, count=6, schedule="round_robin")
    for number, edit in enumerate(run.matrix.edits[:4]):
        run.matrix.edits[number] = replace(edit, status=Status.OK, pixels="x", image="x")
    (plan,) = watch(run, only_the_end=True).of(Assignment)
    assert [(row.kind, row.devices, row.count) for row in plan.rows] == [
        ("edit", ("cuda:0",), 1),
        ("edit", ("cuda:1",), 1),
        ("judge", ("cuda:0", "cuda:1"), 6),
    ]


def test_loads_come_in_their_order_with_their_duration(tmp_path: Path) -> None:
    loads = [
        words
        for words in watch(SimulatedRun(tmp_path), only_the_end=True).said("loaded")
        if words.startswith("edit model")
    ]
    assert [words.partition(" in ")[2] for words in loads] == ["30 s (1 of 2)", "30 s (2 of 2)"]
    assert {words.partition(" in ")[0] for words in loads} == {
        f"edit model qwen_image_edit on cuda:{number}" for number in (0, 1)
    }


def test_what_devices_do(tmp_path: Path) -> None:
    display = watch(SimulatedRun(tmp_path, devices=("cuda:0",), count=4))
    shown = (snapshot.devices[0].activity for snapshot in display.snapshots)
    seen = [activity for activity, _ in groupby(activity for activity in shown if activity != "waiting")]
    assert seen == ["", "starting", "loading", "editing", "unloading", "loading", "judging", "unloading", ""]
    editing = [s.devices[0] for s in display.snapshots if s.devices[0].activity == "editing"]
    assert {view.figures for view in editing} >= {"1/10", "9/10"}
    assert all(view.about.endswith("_hard") and 0 <= (view.fraction or 0) <= 1 for view in editing)
    judging = [s.devices[0] for s in display.snapshots if s.devices[0].activity == "judging"]
    assert [view.fraction for view in judging] == sorted(view.fraction or 0 for view in judging)


def test_a_load_has_an_expectation_after_the_first(tmp_path: Path) -> None:
    def load(model: str, device: str) -> float:
        return 10.0 if device == "cuda:0" else 40.0

    display = watch(SimulatedRun(tmp_path, load=load))
    waiting = [s.devices[1] for s in display.snapshots if s.devices[1].activity == "loading"]
    assert waiting[0].expected is None
    assert 10.0 in [view.expected for view in waiting]


@pytest.mark.check
def test_the_time_left_is_about_right(tmp_path: Path) -> None:
    run = SimulatedRun(tmp_path, count=30)
    display = watch(run)
    end = display.snapshots[-1].seconds
    judged = [s for s in display.snapshots if s.left is not None and not s.left_without and s.judgements.ok > 3]
    assert judged
    for snapshot in judged:
        assert snapshot.left == pytest.approx(end - snapshot.seconds, abs=12)
    edited = [s for s in display.snapshots if s.left is not None and s.left_without == ("judge",)]
    edits_end = max(s.seconds for s in display.snapshots if s.edits.settled < s.edits.total)
    for snapshot in edited:
        assert snapshot.left == pytest.approx(edits_end - snapshot.seconds, abs=45)


def test_a_batch_under_way(tmp_path: Path) -> None:
    display = watch(SimulatedRun(tmp_path, count=7, schedule="batch_sync"))
    batches = list(dict.fromkeys(s.batch for s in display.snapshots))
    assert batches == [(1, 4), (2, 4), (3, 4), (4, 4), None]
    assert display.said("batch") == [f"{n}/4 done in 40 s" for n in (1, 2, 3, 4)]
    assert {s.batch for s in watch(SimulatedRun(tmp_path / "pull", count=7)).snapshots} == {None}


def test_a_death_is_told_and_one_that_was_wanted_is_told_once(tmp_path: Path) -> None:
    run = SimulatedRun(
        tmp_path,
        count=6,
        fates={"00001_物理_hard": Fate(3, "dies", "killed by SIGKILL"), "00004_环境_hard": Fate(9e9, "hangs")},
    )
    display = watch(run, only_the_end=True)
    died, notes = display.said("died"), display.said("note")
    assert sum(words.endswith(": killed by SIGKILL") for words in died) == 2
    assert sum("no step for 500 s" in text for text in [*died, *notes]) == 2


def state_of(run: SimulatedRun) -> ProgressState:
    return ProgressState(JudgementTable(run.matrix), run.policy, run.work, run.estimates, lambda: 0.0)


def edited(run: SimulatedRun, number: int, device: str, seconds: float) -> Edit:
    return replace(run.matrix.edits[number], status=Status.OK, image="a.png", device=device, seconds=seconds)


def test_a_slower_device_is_named_once(tmp_path: Path) -> None:
    run = SimulatedRun(tmp_path, count=60)
    state = state_of(run)
    for number in range(60):
        device = f"cuda:{number % 3}"
        seconds = (47.0 if device == "cuda:1" else 40.0) + 0.3 * (number % 4)
        state.edit(edited(run, number, device, seconds))
    (note,) = (line for line in state.take_lines() if isinstance(line, EventLine))
    assert note.words.startswith("cuda:1 is 17 % slower than the others at editing with qwen_image_edit")


@pytest.mark.parametrize(
    "seconds", [(40.0, 43.5, 40.0), (40.0, 36.0, 40.0)], ids=["less than 10 % slower", "faster than the others"]
)
def test_no_other_device_is_named(tmp_path: Path, seconds: tuple[float, ...]) -> None:
    run = SimulatedRun(tmp_path, count=60)
    state = state_of(run)
    for number in range(60):
        state.edit(edited(run, number, f"cuda:{number % 3}", seconds[number % 3]))
    assert not [line for line in state.take_lines() if isinstance(line, EventLine)]


def test_chance_names_no_device(tmp_path: Path) -> None:
    run = SimulatedRun(tmp_path, count=12)
    state = state_of(run)
    for number, seconds in enumerate([1, 3, 9, 9, 2, 2, 8, 9, 1, 3, 9, 9]):  # means of 5 and 5.8, far apart each
        state.edit(edited(run, number, f"cuda:{number % 2}", float(seconds)))
    assert not [line for line in state.take_lines() if isinstance(line, EventLine)]


def test_being_told_twice_changes_nothing(tmp_path: Path) -> None:
    run = SimulatedRun(tmp_path, count=4)
    state = state_of(run)
    failed = replace(run.matrix.edits[0], status=Status.EDIT_FAILED, reason="no")
    run.matrix.set_edit(0, failed)
    (lost,) = (judgement for judgement in run.matrix.judgements() if judgement.status is Status.EDIT_FAILED)

    def tell() -> Snapshot:
        state.edit(failed)
        state.judgement(lost)
        return state.snapshot()

    first = tell()
    assert tell() == first
    assert (first.edits.failed, first.judgements.settled) == (1, 1)


def test_a_display_that_is_too_slow_loses_the_oldest_lines(tmp_path: Path) -> None:
    state = state_of(SimulatedRun(tmp_path))
    for number in range(LINES_KEPT + 49):
        state.note(str(number))
    lines = state.take_lines()
    assert lines[0] == omission_line(50)  # the plan was the first line
    assert lines[1] == EventLine("note", "49")
    assert len(lines) == 1 + LINES_KEPT
    assert state.take_lines() == []


def test_scores_of_a_run_that_goes_on_count_from_the_start(tmp_path: Path) -> None:
    watch(SimulatedRun(tmp_path, count=6), only_the_end=True)
    run = SimulatedRun(tmp_path, count=6)
    for edit in run.directory.read("edits"):
        picture = tmp_path / edit["image"]
        picture.parent.mkdir(parents=True, exist_ok=True)
        picture.write_bytes(b"9 bytes..")
    notes = load_journals(run.matrix, run.directory.read("edits"), [], tmp_path, lambda status: False)
    assert notes == []
    first = watch(run, only_the_end=True).snapshots[0]
    assert (first.edits.ok, first.judgements.ok) == (6, 0)
    assert first.fraction == 0.5


def test_a_judgement_of_an_unknown_sample_is_an_error_here_and_harmless_above(tmp_path: Path) -> None:
    state = state_of(SimulatedRun(tmp_path))
    with pytest.raises(KeyError):
        state.judgement(a_judgement(5.0, sample="nobody"))


# -- several questions, several scales, controls --

VIEWS = {"#SC": '{"reasoning": "", "score": [9, 4]}', "#PQ": '{"reasoning": "", "score": [9, 9]}'}


def test_a_judgement_counts_once_when_its_last_question_is_answered(tmp_path: Path) -> None:
    answers = {**VIEWS, "00001_物理_hard#PQ": "I would rather not"}
    run = SimulatedRun(tmp_path, count=6, judges=("gpt",), protocols={"gpt": "viescore"}, answers=answers)
    display = watch(run)
    (row,) = (row for row in display.of(Assignment)[0].rows if row.kind == "judge")
    assert (row.count, row.questions, row.controls) == (6, 12, 0)
    assert row.scoring is not None
    assert (row.scoring.headline, row.scoring.scale.mean_over) == ("O", "categories")
    assert {snapshot.judgements.total for snapshot in display.snapshots} == {6}
    assert [line.judgement.score for line in display.of(Judged)].count(6.0) == 5
    assert len(display.said("failed")) == 1
    last = display.snapshots[-1]
    assert (last.judgements.ok, last.judgements.failed, last.judgements.settled) == (5, 1, 6)
    (mean,) = last.means
    assert (mean.edit_model, mean.judge, mean.score, mean.scored) == ("qwen_image_edit", "gpt", "O", 5)
    assert mean.mean == pytest.approx(6.0)


def test_judges_of_two_protocols_have_their_own_scales(tmp_path: Path) -> None:
    run = SimulatedRun(
        tmp_path,
        count=6,
        judges=("gpt", "qwen3_vl"),
        protocols={"gpt": "viescore"},
        answers={**VIEWS, "00000_物理_hard#SC": '{"reasoning": "", "score": [1, 1]}'},
    )
    means = {mean.judge: mean for mean in watch(run, only_the_end=True).snapshots[-1].means}
    assert means["gpt"].mean == pytest.approx(((3 + 6 + 6) / 3 + 6) / 2), "the mean of the categories' means"
    assert means["qwen3_vl"].mean == 6.5
    assert [means[name].scale.mean_over for name in ("gpt", "qwen3_vl")] == ["categories", "samples"]


def test_a_mean_over_categories_waits_for_all_of_them(tmp_path: Path) -> None:
    run = SimulatedRun(
        tmp_path, by_category=True, count=6, judges=("gpt",), protocols={"gpt": "viescore"}, answers=VIEWS
    )
    seen = {(snapshot.means[0].scored, snapshot.means[0].mean) for snapshot in watch(run).snapshots}
    assert {mean for scored, mean in seen if scored <= 3} == {None}
    assert {mean for scored, mean in seen if scored > 3} == {6.0}


def test_controls_have_a_count_of_their_own(tmp_path: Path) -> None:
    answers = {"00000_物理_hard": "Score: 1.000"}
    run = SimulatedRun(tmp_path, count=6, controls=2, edit_models=("one", "two"), answers=answers)
    display = watch(run)
    controls = len(list(run.matrix.rows("control")))
    assert controls == 6, "of two samples the source, a blank, and another's edit"
    (row,) = (row for row in display.of(Assignment)[0].rows if row.kind == "judge")
    assert (row.count, row.questions, row.controls) == (12, 18, 6)
    assert {s.judgements.total for s in display.snapshots} == {12}
    assert {s.controls.total for s in display.snapshots} == {controls}
    assert {s.controls.settled for s in display.snapshots} >= {0, controls}
    assert len(display.of(Judged)) == 12, "no line of a control"
    assert [mean.edit_model for mean in display.snapshots[-1].means] == ["one", "two"]
    assert all(mean.scored == 6 for mean in display.snapshots[-1].means)


def test_a_control_whose_edit_fails_has_come_to_its_end(tmp_path: Path) -> None:
    fates = {f"{n:05d}_物理_hard": Fate(1, "failed", "no") for n in range(3)}
    run = SimulatedRun(tmp_path, count=6, controls=6, fates=fates)
    last = watch(run, only_the_end=True).snapshots[-1]
    lost = sum(control.status is Status.EDIT_FAILED for control in run.matrix.rows("control"))
    assert lost == 3, "those that were to show such an edit"
    assert (last.controls.settled, last.controls.total, last.controls.ok) == (18, 18, 15)
    assert last.controls.failed == 0


def test_a_picture_that_is_judged_anew_counts_with_its_new_score(tmp_path: Path) -> None:
    run = SimulatedRun(tmp_path, count=2)
    state = state_of(run)
    for score, mean in ((2.0, 2.0), (9.0, 9.0), (None, None)):
        status = Status.UNPARSEABLE if score is None else Status.OK
        judgement = a_judgement(score, status=status, sample="00000_物理_hard", category="physical")
        state.judgement(replace(judgement, edit_model="qwen_image_edit", judge="qwen3_vl"))
        (average,) = state.snapshot().means
        assert (average.mean, average.scored) == (mean, int(score is not None))


def test_what_gpus_do_is_in_the_snapshot(tmp_path: Path) -> None:
    run = SimulatedRun(tmp_path, count=2)
    run.meters["cuda:1"] = Meter(GIB, 2 * GIB, 0.5)
    shown = {view.device: view.meter for view in watch(run, only_the_end=True).snapshots[-1].devices}
    assert shown == {"cuda:0": Meter(), "cuda:1": Meter(GIB, 2 * GIB, 0.5)}
