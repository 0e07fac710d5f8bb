"""Whole evaluations with real workers: equal results whatever the schedule, failures that move no number, resuming."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from edit_eval import evaluate
from edit_eval.errors import ConfigurationError
from edit_eval.records import Status
from edit_eval.run import Run
from faults.faulty_runs import Ears, images, lines, verdicts
from small_benchmark import configuration, numbers, sample_id, write_benchmark

ANSWERS = {sample_id(n): f"Score: {n}.5" for n in range(9)}


def run(
    folder: Path, name: str = "run", *, retry: tuple[str, ...] = (), reuse: tuple[Path, ...] = (), **more: Any
) -> Run:
    return evaluate(configuration(folder, **more), run_dir=folder / name, report=False, retry=retry, reuse_from=reuse)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("undisturbed")
    return run(folder, judge={"answers": ANSWERS, "batch_size": 2})


def test_a_whole_evaluation(undisturbed: Run) -> None:
    summary = undisturbed.summary
    assert summary.status == "complete"
    assert summary.coverage.scored == summary.coverage.total == 9
    assert numbers(summary).mean == pytest.approx(4.5)
    assert {name: block.mean for name, block in numbers(summary).categories.items()} == {
        "physical": 3.5,
        "environmental": 4.5,
        "social": 5.5,
    }
    assert undisturbed.has_required_coverage
    assert [s.id for s in undisturbed.results.samples] == [sample_id(n) for n in range(9)]
    assert [e.seed for e in undisturbed.results.edits] == list(range(9))


def test_the_run_directory_is_readable_by_people(undisturbed: Run) -> None:
    first = lines(undisturbed.path, "edits")[0]
    assert (undisturbed.path / first["image"]).stat().st_size == first["file_bytes"]
    assert Path(first["image"]).name == f"{first['sample_id']}-{first['key'][:12]}.png"
    assert {r["sample"]: r["text"] for r in lines(undisturbed.path, "replies")} == ANSWERS
    assert not list(undisturbed.path.rglob(".tmp-*"))
    assert not (undisturbed.path / "holder.json").exists()
    assert "testing" in (undisturbed.path / "config" / "0001.yaml").read_text()


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("devices", "execution"),
    [
        ("cpu:1", {}),
        ("cpu:4", {}),
        ("cpu:2", {"schedule": "round_robin"}),
        ("cpu:3", {"schedule": "batch_sync", "order": "by_category", "start": "together", "load_concurrency": 1}),
        ("cpu:2", {"placement": "together"}),
    ],
)
def test_no_schedule_changes_a_picture_or_an_answer(
    tmp_path: Path, undisturbed: Run, devices: str, execution: dict[str, Any]
) -> None:
    edit = {"device_ids": devices}
    made = run(tmp_path, edit=edit, judge={"answers": ANSWERS, "batch_size": 2, **edit}, execution=execution)
    assert verdicts(made) == verdicts(undisturbed)
    assert images(made.path) == images(undisturbed.path)
    company = {r["sample"]: r["batch"] for r in lines(made.path, "replies")}
    assert company == {r["sample"]: r["batch"] for r in lines(undisturbed.path, "replies")}


def test_a_finished_run_has_nothing_to_do(tmp_path: Path) -> None:
    first = run(tmp_path)
    before = {p: p.stat().st_mtime_ns for p in first.path.rglob("*") if p.is_file()}
    again = run(tmp_path)
    assert verdicts(again) == verdicts(first)
    after = {p: p.stat().st_mtime_ns for p in first.path.rglob("*") if p.is_file()}
    assert {p.name for p in set(after) ^ set(before)} <= {"lock", "holder.json"}
    assert {p.name for p in before if before[p] != after.get(p)} <= {"lock"}


def test_a_folder_that_is_not_there_is_refused_with_the_key_that_names_it(tmp_path: Path) -> None:
    source = configuration(tmp_path)
    gone = str(tmp_path / "gone")
    judges = {"mine": {"type": "qwen3_vl", "params": {"model_name": gone}}}
    for what, key in (
        ({"diffusion_model": {"type": "image_folder", "params": {"folder": gone}}}, "diffusion_model.params.folder"),
        ({"reward_model": None, "judges": judges}, "judges.mine.params.model_name"),
    ):
        written = {name: value for name, value in {**source, **what}.items() if value is not None}
        with pytest.raises(ConfigurationError, match=f"^{key}: .*{gone}"):
            evaluate(written, run_dir=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_failures_are_never_numbers(tmp_path: Path) -> None:
    ids = [sample_id(n) for n in range(9)]
    edit = {"fail": ids[:1], "black": ids[1:2], "nan": ids[2:3], "crash": ids[3:4], "timeout": 3, "hang": ids[4:5]}
    answers = {
        **ANSWERS,
        ids[5]: "Both pictures show 3 dogs.",
        ids[6]: "Score: 11",
        ids[7]: "I'm sorry, I can't do that.",
    }
    made = run(tmp_path, edit=edit, judge={"answers": answers}, execution={"pilot": False})
    status = {j.sample_id: j.status for j in made.results.judgements}
    assert [status[i] for i in ids] == [Status.EDIT_FAILED] * 5 + [
        Status.UNPARSEABLE,
        Status.OUT_OF_RANGE,
        Status.REFUSED,
        Status.OK,
    ]
    reasons = {j.sample_id: j.reason for j in made.results.judgements}
    for number, word in enumerate(["on purpose", "black", "NaN", "SIGKILL", "no step for 3 s"]):
        assert word in reasons[ids[number]]
    assert numbers(made.summary).mean == 8.5
    assert numbers(made.summary).n == 1
    assert numbers(made.summary).worst_case_mean == pytest.approx(8.5 / 9)
    assert numbers(made.summary).best_case_mean == pytest.approx((8.5 + 80) / 9)
    assert not made.has_required_coverage
    asked = [r for r in lines(made.path, "replies") if r["sample"] == ids[5]]
    assert [r["ask"] for r in asked] == [0, 1, 2], "asked once, and again for each of two retries"


def test_another_judge_reuses_all_edits_and_another_seed_none(tmp_path: Path) -> None:
    first = run(tmp_path)
    edits = len(lines(first.path, "edits"))
    other = run(tmp_path, judge={"default_answer": "Score: 7.000"})
    assert len(lines(other.path, "edits")) == edits
    assert numbers(other.summary).mean == 7.0
    assert len(lines(run(tmp_path, edit={"seed": 100}).path, "edits")) == 2 * edits
    back = run(tmp_path)
    assert len(lines(back.path, "edits")) == 2 * edits, "what was made for the first configuration is still there"
    assert back.results.judgements[0].score == 5.0


def test_edits_and_judgements_of_another_run_are_reused(tmp_path: Path, undisturbed: Run) -> None:
    write_benchmark(tmp_path)
    judge = {"answers": ANSWERS, "batch_size": 2}
    made = run(tmp_path, edit={"load_seconds": 0.0}, judge=judge, reuse=(undisturbed.path,))
    assert verdicts(made) == verdicts(undisturbed)
    assert not (made.path / "logs").exists(), "no worker was started"
    assert all("reused_from" in r for r in lines(made.path, "edits") + lines(made.path, "replies"))
    assert images(made.path) == images(undisturbed.path)


# -- what goes wrong before anything starts --


def test_more_judgements_than_anybody_could_hold_are_refused_before_they_are_counted_out(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        run(tmp_path, evaluation={"repeats": 1000, "edit_seeds": 1000})
    assert str(caught.value) == (
        "9 samples with all questions, models, seeds, repeats and readings make 9,000,000 questions to ask; a run has "
        "5,000,000 at most (evaluation.repeats, evaluation.edit_seeds, benchmark.limit)"
    )
    assert not (tmp_path / "run").exists()


# -- what is seen of it --


@pytest.mark.parametrize(
    ("progress", "said", "unsaid"),
    [
        ("plain", ["note: to do: 4 edits, 4 judgements", "end: 4 of 4 edits, 4 of 4 scores"], [" score: "]),
        ("auto", ["progress: plain lines (stderr is not a terminal", "end: 4 of 4 edits"], [" score: "]),
        ("lines", [f"score: {sample_id(3)}: 5.000\n", "end: 4 of 4 edits"], []),
    ],
)
def test_python_sees_what_the_configuration_asks_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], progress: str, said: list[str], unsaid: list[str]
) -> None:
    write_benchmark(tmp_path, 4)
    run(tmp_path, execution={"progress": progress, "pilot": False})
    shown = capsys.readouterr().err
    assert [words for words in said if words not in shown] == []
    assert [words for words in unsaid if words in shown] == []


def test_python_is_told_the_notes_and_a_spectator_hears_what_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_benchmark(tmp_path, 2)
    ears = Ears()
    old = configuration(tmp_path, execution={"progress": "plain"})
    old["diffusion_model"]["params"]["enable_batch_sync"] = False  # a key of the base system's, of which a note tells
    old["execution"]["schedule"] = "pull"
    evaluate(old, run_dir=tmp_path / "run", report=False, spectator=ears)
    assert any("enable_batch_sync" in note for note in ears.notes)
    assert any(note.startswith("to do: 2 edits") for note in ears.notes)
    shown = capsys.readouterr().err
    assert [note for note in ears.notes if f"note: {note}" not in shown] == []
    run(tmp_path, "silent", execution={"progress": "none"})
    assert capsys.readouterr().err == ""
