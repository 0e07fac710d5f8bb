"""Whole evaluations with real workers: equal results whatever the schedule, failures that move no number, resuming."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from documents import plain
from edit_eval import evaluate
from edit_eval.errors import BenchmarkError, ConfigurationError, RunDirectoryError, Stopped
from edit_eval.pictures import open_picture
from edit_eval.records import Status
from edit_eval.run import Run
from faults.faulty_runs import Ears, images, lines, verdicts, workers_of
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
    assert undisturbed.reached
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
    assert not made.reached
    asked = [r for r in lines(made.path, "replies") if r["sample"] == ids[5]]
    assert [r["ask"] for r in asked] == [0, 1, 2], "asked once, and again for each of two retries"


def test_failures_are_final_until_they_are_to_be_retried(tmp_path: Path) -> None:
    first = run(tmp_path, edit={"flaky": [sample_id(0)], "device_ids": "cpu:1"}, judge={"fail": [sample_id(1)]})
    status = {j.sample_id: j.status for j in first.results.judgements}
    assert status[sample_id(0)] is Status.OK, "what fails once is tried again"
    assert status[sample_id(1)] is Status.JUDGE_ERROR
    attempts = len(lines(first.path, "replies"))
    same = run(tmp_path, judge={"fail": [sample_id(1)]}, edit={"flaky": [sample_id(0)]})
    assert len(lines(same.path, "replies")) == attempts
    again = run(tmp_path, edit={"flaky": [sample_id(0)]}, judge={"fail": [sample_id(1)]}, retry=("judge_error",))
    assert len(lines(again.path, "replies")) == attempts + 1


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


def test_a_changed_picture_is_noticed_by_the_judge_and_made_again(tmp_path: Path) -> None:
    first = run(tmp_path)
    victim = first.path / first.results.edits[2].image
    data = bytearray(victim.read_bytes())
    picture = open_picture(victim)
    picture.putpixel((3, 3), (1, 2, 3))
    picture.save(victim, compress_level=0)
    grown = victim.read_bytes()
    victim.write_bytes(grown[: len(data)] if len(grown) > len(data) else grown + b"\0" * (len(data) - len(grown)))
    made = run(tmp_path, judge={"default_answer": "Score: 6.000"})
    assert made.reached
    assert bytes(data) == victim.read_bytes()
    assert made.results.judgements[2].score == 6.0


def test_a_missing_picture_is_made_again(tmp_path: Path) -> None:
    first = run(tmp_path)
    before = verdicts(first)
    (first.path / first.results.edits[4].image).unlink()
    again = run(tmp_path)
    assert verdicts(again) == before
    assert again.reached


def test_samples_with_repeats_and_seeds_and_two_models(tmp_path: Path) -> None:
    settings = configuration(
        tmp_path, judge={"answers": {f"second/{sample_id(0)}": "Score: 9"}}, evaluation={"edit_seeds": 2, "repeats": 2}
    )
    first = settings.pop("diffusion_model")
    settings["edit_models"] = {"first": first, "second": {**first, "params": {**first["params"], "steps": 1}}}
    made = evaluate(settings, run_dir=tmp_path / "run", report=False)
    assert len(made.results.edits) == 9 * 2 * 2
    assert len(made.results.judgements) == 9 * 2 * 2 * 2
    means = {r.edit_model: r.scores["score"].mean for r in made.summary.results}
    assert means == {"first": 5.0, "second": pytest.approx((35 * 5 + 4 * 9 - 3 * 5 + 5 * 1 - 5 - 0) / 36, abs=0.5)}
    assert {e.seed for e in made.results.edits} == {*range(9), *range(1_000_000, 1_000_009)}
    assert verdicts(evaluate(settings, run_dir=tmp_path / "run", report=False)) == verdicts(made)


# -- what goes wrong before anything starts --


def test_a_bad_sample_is_named_before_anything_is_loaded_or_skipped_and_counted(tmp_path: Path) -> None:
    path = write_benchmark(tmp_path)
    items = json.loads(path.read_text())
    items[4]["src_img_b64"] = items[4]["src_img_b64"][:80]
    path.write_text(json.dumps(items))
    with pytest.raises(BenchmarkError, match=r"sample 4 \(00004_环境_easy\)"):
        run(tmp_path)
    assert not (tmp_path / "run").exists()
    made = run(tmp_path, benchmark={"on_bad_sample": "skip"})
    assert made.summary.coverage.by_status == {"ok": 8, "skipped": 1}
    assert made.summary.coverage.total == 9
    assert not made.reached


def test_more_judgements_than_anybody_could_hold_are_refused_before_they_are_counted_out(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        run(tmp_path, evaluation={"repeats": 1000, "edit_seeds": 1000})
    assert str(caught.value) == (
        "9 samples with all questions, models, seeds, repeats and readings make 9,000,000 questions to ask; a run has "
        "5,000,000 at most (evaluation.repeats, evaluation.edit_seeds, benchmark.limit)"
    )
    assert not (tmp_path / "run").exists()


def test_a_filter_that_nothing_passes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"no sample of .*benchmark\.json has `zebra`"):
        run(tmp_path, benchmark={"tags": ["zebra"]})
    with pytest.raises(ConfigurationError, match=r"no sample of .*benchmark\.json passes"):
        run(tmp_path, benchmark={"sample_ids": [sample_id(0)], "tags": ["odd"]})
    assert not (tmp_path / "run").exists()


def test_a_folder_that_is_no_run_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").write_text("precious")
    with pytest.raises(RunDirectoryError, match=r"thesis\.tex"):
        run(tmp_path)
    assert [p.name for p in (tmp_path / "run").iterdir()] == ["thesis.tex"]


def test_a_model_that_cannot_be_loaded_stops_the_run_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(Stopped, match="testing: no weights in /nowhere") as stopped:
        run(tmp_path, edit={"fail_to_load": "no weights in /nowhere"})
    assert "\n" not in str(stopped.value)


# -- kill -9 --

START = """
import json, sys
from edit_eval import evaluate
evaluate(json.loads(sys.argv[1]), run_dir=sys.argv[2], report=False)
"""


def start(settings: dict[str, Any], folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", START, json.dumps(settings), str(folder)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def test_a_second_engine_is_refused_and_told_who_has_the_run(tmp_path: Path) -> None:
    settings = configuration(tmp_path, edit={"seconds": 5})
    engine = start(settings, tmp_path / "run")
    try:
        deadline = time.monotonic() + 60
        while not (tmp_path / "run" / "holder.json").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        with pytest.raises(RunDirectoryError, match=f"process {engine.pid} on "):
            evaluate(settings, run_dir=tmp_path / "run", report=False)
    finally:
        engine.kill()
        engine.wait()


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("number", "times", "code"), [(signal.SIGINT, 1, 130), (signal.SIGINT, 2, 130), (signal.SIGTERM, 1, 143)]
)
def test_an_interrupted_run_keeps_what_is_done_and_goes_on(tmp_path: Path, number: int, times: int, code: int) -> None:
    settings = configuration(tmp_path, edit={"seconds": 0.4 if times == 1 else 60, "steps": 1})
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(settings))
    command = [sys.executable, "-m", "edit_eval", "run", str(path), "--run-dir", str(tmp_path / "run")]
    engine = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not workers_of(tmp_path / "run") and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(1.0)
    began = time.monotonic()
    for _ in range(times):
        engine.send_signal(number)
        time.sleep(0.3)
    _, errors = engine.communicate(timeout=60)
    ends = {code, -number} if times == 2 else {code}  # the second may come when all is done but the exit
    assert engine.returncode in ends, errors
    assert time.monotonic() - began < 50, "an edit takes 60 s where the second signal must end it"
    assert f"all finished work is kept in {tmp_path / 'run'}; to resume:" in errors
    assert not workers_of(tmp_path / "run")
    edits = lines(tmp_path / "run", "edits") if (tmp_path / "run" / "edits").exists() else []
    assert all(r["status"] == "ok" for r in edits), "what was under way was finished, or has left no line"
    finished = evaluate(
        configuration(tmp_path, edit={"seconds": 0, "steps": 1}), run_dir=tmp_path / "other", report=False
    )
    assert finished.reached


def test_scores_are_a_table_with_a_row_for_every_judgement(tmp_path: Path) -> None:
    made = evaluate(configuration(tmp_path, judge={"answers": ANSWERS}), run_dir=tmp_path / "run")
    with (made.path / "report" / "scores.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(r["sample_id"], r["status"], float(r["score"])) for r in rows] == [
        (sample_id(n), "ok", n + 0.5) for n in range(9)
    ]
    assert json.loads((made.path / "report" / "summary.json").read_text()) == plain(made.summary)
    assert made.page.stat().st_size > 1000


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
