"""The pilot: what would fail all night is found out before the bulk; single failures are results like any other."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edit_eval import evaluate
from edit_eval.errors import ConfigurationError, Stopped
from edit_eval.execution.engine.pilot import Pilot, PilotCells, choose_pilot
from edit_eval.records import Reply, Status
from edit_eval.run import Run
from edit_eval.store.matrix import Matrix
from small_benchmark import configuration, sample_id, write_benchmark
from small_matrix import CATEGORIES, give_reply, small_matrix, small_samples

COUNT = 24


class Ears:
    """Hears the notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **named: None


class UnderWay(Ears):
    """Hears what was begun and is not finished."""

    def __init__(self) -> None:
        super().__init__()
        self.tasks = set[int]()

    def running(self, replica: Any, task: Any, about: Any) -> None:
        self.tasks.add(task.number)

    def finished(self, replica: Any, task: Any) -> None:
        self.tasks.remove(task.number)


QUICK = {"seconds": 0.0}
"""Where no run ends before its time: nothing is seen by waiting."""


def run(folder: Path, edit: dict[str, Any], judge: dict[str, Any], ears: Ears | None = None, **more: Any) -> Run:
    write_benchmark(folder, COUNT)
    more = {"evaluation": {"controls": 0}, **more}
    settings = configuration(folder, edit={"seconds": 0.4, **edit}, judge=judge, **more)
    return evaluate(settings, run_dir=folder / "run", report=False, spectator=ears or Ears())


def records(folder: Path, journal: str) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    for path in sorted((folder / "run" / journal).glob("*.jsonl")):
        lines += map(json.loads, path.read_text("utf-8").splitlines())
    return lines


PILOT = [sample_id(n) for n in range(3)]


def test_the_first_sample_of_each_category_comes_first_and_the_rest_is_predicted(tmp_path: Path) -> None:
    ears = Ears()
    made = run(tmp_path, {}, {"batch_size": 4}, ears)
    assert made.has_required_coverage
    editing = sorted((a for a in made.results.telemetry.activities if a.kind == "editing"), key=lambda a: a.begin)
    # One device may begin with the bulk before the other begins with the last of the pilot, which it has in hand.
    assert {activity.what for activity in editing[:4]} >= set(PILOT)
    assert {r["sample"] for r in records(tmp_path, "replies")[:3]} == set(PILOT)
    assert any("pilot: every edit model and judge works; about" in note for note in ears.notes)
    first_answer = records(tmp_path, "replies")[0]["at"]
    assert sum(r["at"] < first_answer for r in records(tmp_path, "edits")) < COUNT, "the bulk was not done yet"


def test_a_judge_that_never_answers_with_a_score_stops_the_run_early(tmp_path: Path) -> None:
    ears = UnderWay()
    with pytest.raises(
        Stopped, match=r"pilot: none of the first \d+ answers by testing is a score: unparseable .*--retry unparseable"
    ):
        run(tmp_path, {}, {"default_answer": "What a lovely picture!", "device_ids": "cpu:1"}, ears)
    assert len(records(tmp_path, "edits")) < COUNT
    assert not ears.tasks, "what was under way is finished: it may have been paid for"
    mended = run(tmp_path, {}, {})
    assert mended.has_required_coverage
    keys = [r["key"] for r in records(tmp_path, "edits")]
    assert len(keys) == len(set(keys)) == COUNT, "what was edited before the stop is kept"


@pytest.mark.parametrize(
    ("judge", "way"),
    [
        (
            {"default_answer": "The light is right, and the shadow fits.\nScore: 8.50"},
            r"testing answers in words; write `protocol: \{answer: reason_then_score\}`, then run again",
        ),
        (
            {"default_answer": "Score: 1", "cut_off": [sample_id(n) for n in range(COUNT)]},
            r"cut_off \(.*\); answers of testing are cut off; raise its limit \(`max_.*`\), then run again",
        ),
        ({"default_answer": "8,5"}, r"; fix that, then run again"),
    ],
)
def test_a_judge_that_never_answers_with_a_score_is_told_the_way_out(
    tmp_path: Path, judge: dict[str, Any], way: str
) -> None:
    with pytest.raises(Stopped, match=way):
        run(tmp_path, QUICK, judge)


def test_answers_that_were_cut_off_in_the_pilot_are_told(tmp_path: Path) -> None:
    ears = Ears()
    made = run(tmp_path, QUICK, {"cut_off": PILOT[1:2]}, ears)
    assert made.summary.coverage.by_status == {"ok": COUNT - 1, "cut_off": 1}
    (note,) = [note for note in ears.notes if "cut off" in note]
    assert note == (
        "pilot: testing was cut off in 1 of its first 3 answers: raise its limit (max_new_tokens or max_tokens)"
    )


def test_an_edit_model_that_always_fails_stops_the_run_early(tmp_path: Path) -> None:
    with pytest.raises(
        Stopped, match=r"pilot: all of the first \d+ edits by testing failed .*on purpose.*--retry edit_failed"
    ):
        run(tmp_path, {"fail": [sample_id(n) for n in range(COUNT)]}, {})


def test_a_judge_that_cannot_be_loaded_stops_the_run_early(tmp_path: Path) -> None:
    with pytest.raises(Stopped, match="testing: no weights here"):
        run(tmp_path, {}, {"fail_to_load": "no weights here"})
    assert len(records(tmp_path, "edits")) < COUNT


def test_an_environment_without_the_judges_library_is_a_wrong_configuration(tmp_path: Path) -> None:
    (tmp_path / "needy.py").write_text(
        "class Judge:\n"
        "    def __init__(self, parameters): pass\n"
        "    def prepare(self): import no_such_library_anywhere\n"
        "    def load(self, devices): pass\n"
        "    def judge(self, requests): return ['5'] * len(requests)\n"
    )
    settings = configuration(tmp_path)
    write_benchmark(tmp_path, COUNT)
    settings["diffusion_model"]["params"]["seconds"] = 0.2
    settings["reward_model"] = {"class_path": f"{tmp_path}/needy.py:Judge", "params": {"device_ids": "cpu:2"}}
    with pytest.raises(ConfigurationError, match=r"no_such_library_anywhere.*doctor"):
        evaluate(settings, run_dir=tmp_path / "run", report=False)
    assert len(records(tmp_path, "edits")) < COUNT


def test_single_failures_are_results_like_any_other(tmp_path: Path) -> None:
    made = run(tmp_path, {"fail": PILOT[:1], **QUICK}, {"answers": {PILOT[1]: "hm"}})
    assert made.summary.coverage.by_status == {"ok": COUNT - 2, "edit_failed": 1, "unparseable": 1}


def test_the_pilot_is_skipped_when_the_records_show_both_at_work(tmp_path: Path) -> None:
    ears = Ears()
    run(tmp_path, QUICK, {}, benchmark={"limit": 3})
    run(tmp_path, QUICK, {}, ears)
    assert not any(note.startswith("pilot") for note in ears.notes)


def test_without_a_pilot_the_same_records_come_out(tmp_path: Path) -> None:
    for name in ("with", "without"):
        (tmp_path / name).mkdir()
        run(tmp_path / name, QUICK, {"batch_size": 4}, execution={"pilot": name == "with"})
    with_, without = Run(tmp_path / "with" / "run"), Run(tmp_path / "without" / "run")
    assert [e.pixels for e in with_.results.edits] == [e.pixels for e in without.results.edits]
    company = [{r["sample"]: r["batch"] for r in records(tmp_path / name, "replies")} for name in ("with", "without")]
    assert company[0] == company[1]


class Recorded:
    """Records what becomes of a matrix, and tells a pilot."""

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix
        self.over: list[bool] = []
        self.pilot = Pilot(matrix, choose_pilot(matrix), Ears(), self.over.append, self.stop)

    def stop(self, why: str) -> None:
        raise Stopped(why)

    def edits(self, *numbers: int, reason: str = "") -> None:
        for n in numbers:
            status = Status.EDIT_FAILED if reason else Status.OK
            made = {"reason": reason} if reason else {"image": f"{n}.png", "pixels": str(n)}
            edit = replace(self.matrix.edits[n], status=status, **made)
            self.matrix.set_edit(n, edit)
            self.pilot.edit(edit)

    def answers(self, *units: int, text: str = "Score: 7") -> None:
        for n in units:
            error = Reply(text="no server", ended=Status.JUDGE_ERROR, final=True)
            give_reply(self.matrix, n, Reply(text=text) if text else error)
            self.pilot.judgement(self.matrix.judgement(n))


def test_a_judge_of_which_any_score_is_there_goes_on() -> None:
    run = Recorded(small_matrix(9))
    run.edits(0, 1, 2, 3)
    run.answers(3)
    run.answers(0, 1, 2, text="")
    assert run.over == [True]


def test_an_edit_model_of_which_any_edit_is_there_goes_on() -> None:
    run = Recorded(small_matrix(9))
    run.edits(5)
    run.edits(0, 1, 2, reason="black")
    assert run.over == [False], "there was nothing for a judge to show"


def test_what_failed_beside_the_pilot_is_counted_with_it() -> None:
    run = Recorded(small_matrix(9))
    run.edits(0, 1, 5, 7, reason="black")
    with pytest.raises(Stopped, match=r"all of the first 5 edits by painter failed \(blank\)"):
        run.edits(2, reason="blank")
    run = Recorded(small_matrix(9))
    run.edits(*range(9))
    run.answers(0, 4, 2, text="")
    with pytest.raises(Stopped, match=r"none of the first 4 answers by critic is a score: judge_error \(no server\)"):
        run.answers(1, text="")
    assert not run.over


def test_each_edit_model_and_each_judge_has_to_show_itself() -> None:
    run = Recorded(small_matrix(6, models=("a", "b"), judges=("x", "y")))
    run.edits(0, 1, 2, 6, 7)
    judgement = run.matrix.cells.judgement
    run.answers(*(judgement(n, 0, 0) for n in range(3)))
    run.answers(judgement(0, 1, 0), judgement(1, 1, 0), text="")
    assert run.over == []
    with pytest.raises(Stopped, match="none of the first 3 answers by y"):
        run.answers(judgement(2, 1, 0), text="")
    run = Recorded(small_matrix(6, models=("a", "b")))
    run.edits(0, 1, 2, 3, 4, 5)
    run.edits(6, 7, reason="black")
    with pytest.raises(Stopped, match="all of the first 3 edits by b failed"):
        run.edits(8, reason="black")


def test_edits_that_fail_leave_the_judge_fewer_to_show_itself() -> None:
    run = Recorded(small_matrix(9))
    run.edits(1, 2)
    run.answers(1, 2)
    assert run.over == []
    run.edits(0, reason="black")
    assert run.over == [True]


def test_one_sample_that_fails_stops_no_run_of_a_single_category(tmp_path: Path) -> None:
    """Its edit, or what the judge says about it: the pilot goes on to the next ones of the category."""
    single = {"benchmark": {"categories": ["physical"]}}
    physical = [sample_id(n) for n in range(0, COUNT, 3)]
    for name, edit, judge in (
        ("edit", {"fail": physical[:1]}, {}),
        ("judge", {}, {"answers": {physical[0]: "hm"}}),
        ("both", {"fail": physical[:2]}, {"answers": {physical[2]: "hm"}, "batch_size": 4}),
    ):
        (tmp_path / name).mkdir()
        ears = Ears()
        made = run(tmp_path / name, {"seconds": 0.1, **edit}, judge, ears, **single)
        failed = 3 if name == "both" else 1
        assert made.summary.coverage.by_status["ok"] == len(physical) - failed
        assert any(note.startswith("pilot: every edit model and judge works") for note in ears.notes)


@pytest.mark.parametrize(("categories", "count"), [(1, 3), (2, 3), (3, 3)])
def test_three_samples_at_least_are_in_a_pilot(categories: int, count: int) -> None:
    samples = [replace(s, category=CATEGORIES[s.index % categories]) for s in small_samples(7)]
    cells = choose_pilot(small_matrix(samples))
    assert sorted(cells.edits) == sorted(cells.judgements) == list(range(count))
    assert choose_pilot(small_matrix(samples[:count])) == PilotCells(), "it would be all there is"


def test_where_too_few_could_be_tried_the_next_ones_decide() -> None:
    run = Recorded(small_matrix(9))
    run.edits(0, 1, reason="black")
    run.edits(2, 3, 4, 5)
    run.answers(2, text="")
    assert run.over == [False], "the pilot is over, but one answer says nothing about the judge"
    run.answers(3, text="")
    with pytest.raises(Stopped, match="none of the first 3 answers by critic is a score"):
        run.answers(4, text="")
    run = Recorded(small_matrix(9))
    run.edits(0, 1, reason="black")
    run.edits(2, 3, 4, 5)
    run.answers(2, 3, text="")
    run.answers(4)
    run.answers(5, text="")
    assert run.over == [False]


def test_what_failed_before_is_not_held_against_what_was_mended() -> None:
    matrix = small_matrix(18)
    before = Recorded(matrix)
    before.edits(0, 1, 2)
    with pytest.raises(Stopped, match="none of the first 3 answers"):
        before.answers(0, 1, 2, text="")
    again = Recorded(matrix)
    again.edits(3)
    again.edits(4, 5, reason="black")
    again.answers(3, text="")
    assert again.over == [False]


def test_an_edit_of_the_pilot_that_fails_once_is_tried_again_before_the_bulk(tmp_path: Path) -> None:
    made = run(tmp_path, {"flaky": PILOT[:1], "device_ids": "cpu:1", "seconds": 0.05}, {"device_ids": "cpu:1"})
    assert made.has_required_coverage
    edited = [r["sample_id"] for r in records(tmp_path, "edits") if r["status"] == "ok"]
    assert edited[:3] == [PILOT[1], PILOT[2], PILOT[0]]


@pytest.mark.parametrize("text", ["Score: 7", ""])
def test_what_a_judge_says_of_controls_is_no_matter(text: str) -> None:
    run = Recorded(small_matrix(9, controls=9))
    run.edits(0, 1, 2)
    behind = run.matrix.cells.edits
    run.answers(*(unit for n in range(behind, behind + 6) for unit in run.matrix.cells.judgements_of(n)), text=text)
    run.answers(0, 1, text="")
    assert run.over == []
    with pytest.raises(Stopped, match="none of the first 3 answers by critic is a score"):
        run.answers(2, text="")
