"""kill -9 of engines and workers at random moments: the same end, nothing done twice, nothing left behind."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from edit_eval import evaluate
from edit_eval.records import Status
from edit_eval.run import Run
from edit_eval.store.run_directory import MARK, mark
from faults.faulty_runs import (
    MODELS,
    TWO_QUESTIONS,
    Ears,
    images,
    is_alive,
    kill,
    lines,
    report_of,
    run,
    said_by_engine,
    settings,
    start_engine,
    stray_files,
    verdicts,
    wait_until,
    workers_of,
)
from small_benchmark import sample_id, write_benchmark

SAMPLES, FEW, EQUAL = 24, 12, 6  # the few are edited three times over, or by four edit models; or both, by three
EDIT, JUDGE = {"seconds": 0.03}, {"seconds": 0.01, "batch_size": 2}
SECONDS_TO_LIVE = 0.7  # on average
MOST_DAMAGED = 3  # pictures of a run


ASKED_TWICE = {**TWO_QUESTIONS, "judge": {**JUDGE, **TWO_QUESTIONS["judge"]}}


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("clean")
    write_benchmark(folder, SAMPLES)
    return run(folder, edit=EDIT, judge=JUDGE)


@pytest.mark.parametrize(
    "kills", [4, pytest.param(16, marks=pytest.mark.check), pytest.param(200, marks=pytest.mark.chaos)]
)
@pytest.mark.usefixtures("cold_workers")
def test_killed_anywhere_a_run_comes_to_the_same_end(tmp_path: Path, clean: Run, kills: int) -> None:
    kill_until_it_is_done(tmp_path, settings(tmp_path, edit=EDIT, judge=JUDGE), clean, kills)


@pytest.mark.check
@pytest.mark.parametrize(
    "kills", [2, pytest.param(8, marks=pytest.mark.check), pytest.param(200, marks=pytest.mark.chaos)]
)
def test_so_it_does_when_a_question_is_asked_with_the_reply_to_another(tmp_path: Path, kills: int) -> None:
    write_benchmark(tmp_path, SAMPLES)
    clean = run(tmp_path, "clean", edit=EDIT, **ASKED_TWICE)
    assert {reply["question"] for reply in lines(clean.path, "replies")} == {"followed", "kept"}
    kill_until_it_is_done(tmp_path, settings(tmp_path, edit=EDIT, **ASKED_TWICE), clean, kills)


CRITICISED = {sample_id(n): f"The picture is not {n} enough.\nScore: {n % 10}.5" for n in range(SAMPLES)}
CRITICISED[sample_id(5)] = "hm"


def in_rounds(folder: Path) -> dict[str, Any]:
    """A configuration whose edits wait for what a judge says of others; of one sample it says nothing of use."""
    what = settings(folder, edit=EDIT)
    reports = what.pop("reward_model")
    critic = {
        "type": "testing",
        "params": {"device_ids": "cpu:1", **JUDGE, "answers": CRITICISED},
        "protocol": {"answer": "reason_then_score"},
    }
    judges = {"critic": critic, "testing": {**reports, "params": {**reports["params"], **JUDGE}}}
    return {**what, "judges": judges, "rounds": {"critic": "critic", "max": 3, "from": "last", "stop": 9}}


@pytest.mark.parametrize(
    "kills", [2, pytest.param(8, marks=pytest.mark.check), pytest.param(200, marks=pytest.mark.chaos)]
)
def test_so_it_does_when_an_edit_waits_for_a_critique(tmp_path: Path, kills: int) -> None:
    write_benchmark(tmp_path, FEW)
    clean = evaluate(in_rounds(tmp_path), run_dir=tmp_path / "clean", report=False, spectator=Ears())
    edits = Counter((edit.edit_model, edit.status, bool(edit.made_in)) for edit in clean.results.edits)
    assert edits["testing@3", Status.OK, True] == 1, "one is good enough at once"
    assert edits["testing@2", Status.EDIT_FAILED, False] == edits["testing@3", Status.EDIT_FAILED, False] == 1
    kill_until_it_is_done(tmp_path, in_rounds(tmp_path), clean, kills, FEW)


def fighting(folder: Path) -> dict[str, Any]:
    """A configuration of four edit models that a judge compares, whose second round comes after the first is looked
    at."""
    what = settings(folder)
    about = {"device_ids": "cpu:1", **EDIT}
    models = {  # with seeds of their own, for equal pictures have equal answers
        f"m{number}": {"type": "testing", "params": {**about, "seed": 1_000 * number}} for number in range(4)
    }
    draw, labels = random.Random(1), {}
    for model in models:
        for number in range(SAMPLES):
            for order in ("forward", "backward"):
                labels[f"{model}/{sample_id(number)}#overall.{order}"] = f'{{"better": "{draw.choice("ABC")}"}}'
    arena = {
        "type": "testing",
        "params": {"device_ids": "cpu:2", **JUDGE, "answers": labels},
        "protocol": {"type": "pairwise", "answer": "label", "pairs": "extended", "rounds": 2},
    }
    del what["diffusion_model"], what["reward_model"]
    return {**what, "edit_models": models, "judges": {"arena": arena}}


@pytest.mark.check
@pytest.mark.parametrize(
    "kills", [2, pytest.param(8, marks=pytest.mark.check), pytest.param(200, marks=pytest.mark.chaos)]
)
def test_so_it_does_with_two_edits_in_one_question_and_a_second_round(tmp_path: Path, kills: int) -> None:
    write_benchmark(tmp_path, FEW)
    clean = evaluate(fighting(tmp_path), run_dir=tmp_path / "clean", report=False, spectator=Ears())
    of = clean.summary.battles["arena"].scores["overall"]
    assert of.looks.rounds == 2
    assert of.battles == sum(of.outcomes.values()) > 4 * FEW
    kill_until_it_is_done(tmp_path, fighting(tmp_path), clean, kills, FEW)


def equal_columns(folder: Path) -> dict[str, Any]:
    """A configuration of two edit models that make the same, and one that does not, in rounds that keep some edits; two
    judges are one, another compares."""
    what = settings(folder)
    about = {"device_ids": "cpu:1", **EDIT}
    unlike = {"a": {"seed": 0}, "b": {"seed": 0, "steps": 3}, "c": {"seed": 9}}
    models = {name: {"type": "testing", "params": {**about, **of}} for name, of in unlike.items()}
    looker = {"class_path": f"{MODELS}:Looker", "params": {"device_ids": "cpu:1", **JUDGE}}
    scorer = {**looker, "protocol": {"answer": "reason_then_score", "retries": 1}}
    arena = {**looker, "protocol": {"type": "pairwise", "answer": "label", "pairs": "cycles"}}
    del what["diffusion_model"], what["reward_model"]
    critic = {**scorer, "params": {**looker["params"], "seconds": 0.005}}
    judges = {"critic": critic, "one": scorer, "other": scorer, "arena": arena}
    evaluation = {"controls": 0, "repeats": 2}
    rounds = {"critic": "critic", "max": 3, "from": "last", "stop": 6}
    return {**what, "edit_models": models, "judges": judges, "rounds": rounds, "evaluation": evaluation}


@pytest.mark.check
@pytest.mark.parametrize("kills", [20, pytest.param(200, marks=pytest.mark.chaos)])
def test_so_it_does_when_the_same_is_asked_about_several_columns(tmp_path: Path, kills: int) -> None:
    """Also where pictures are damaged meanwhile."""
    write_benchmark(tmp_path, EQUAL)
    clean = evaluate(equal_columns(tmp_path), run_dir=tmp_path / "clean", report=False, spectator=Ears())
    asked = [(reply["key"], reply["ask"]) for reply in lines(clean.path, "replies")]
    assert len(asked) == len(set(asked))
    assert {edit.made_in for edit in clean.results.edits} >= {"", "a", "a@2", "b", "c"}
    assert sum(judgement.n_asked for judgement in clean.results.answers) == len(asked)
    kill_until_it_is_done(tmp_path, equal_columns(tmp_path), clean, kills, EQUAL, damage=True)


def cut_short(folder: Path, draw: random.Random, but: set[str]) -> None:
    """Damages a picture of a run that none has touched before, as a full disk does."""
    made = [r["image"] for r in lines(folder, "edits") if r["status"] == "ok" and r["image"] not in but]
    if made:
        but.add(image := draw.choice(made))
        damaged = folder / "damaged"
        damaged.write_bytes((folder / image).read_bytes()[:-20])
        damaged.replace(folder / image)


def kill_until_it_is_done(
    tmp_path: Path, what: dict[str, Any], clean: Run, kills: int, samples: int = SAMPLES, damage: bool = False
) -> None:
    """Runs are started and killed until there were so many `kills`; each comes to the end of the `clean` one."""
    draw = random.Random(kills)
    write_benchmark(tmp_path, samples)
    done = finished = 0
    while done < kills:
        folder = tmp_path / f"run{finished}"
        acknowledged: dict[str, str] = {}
        damaged: set[str] = set()
        patience = SECONDS_TO_LIVE
        while True:
            engine = start_engine(what, folder)
            over = time.monotonic() + draw.expovariate(1 / patience)
            wait_until(lambda engine=engine, over=over: not is_alive(engine) or time.monotonic() > over, 60)
            if not is_alive(engine):
                if damage and images(folder) != images(clean.path):  # nobody has looked at it since
                    continue
                break
            if damage and len(damaged) < MOST_DAMAGED:
                cut_short(folder, draw, damaged)
            victim = draw.choice(["engine", "engine", "worker", "all workers"])
            workers = workers_of(folder)
            draw.shuffle(workers)
            for worker in workers if victim == "all workers" else workers[:1] if victim == "worker" else ():
                kill(worker)
                done += 1
            if victim == "engine" or draw.random() < 0.5:
                kill(engine)
                done += 1
                assert wait_until(lambda engine=engine: not is_alive(engine))
            else:
                over = time.monotonic() + draw.uniform(0.0, 1.0)
                wait_until(lambda engine=engine, over=over: not is_alive(engine) or time.monotonic() > over, 60)
                kill(engine)
            assert wait_until(lambda folder=folder: not workers_of(folder)), "no worker outlives its engine"
            ok = {r["key"]: r["pixels"] for r in lines(folder, "edits") if r["status"] == "ok"}
            made_again = sum(r["status"] == "ok" for r in lines(folder, "edits")) - len(ok)
            assert made_again <= len(damaged), "no edit is made twice"
            assert acknowledged.items() <= ok.items(), "what was acknowledged stays"
            # Where a start takes longer than that, the next may live longer, or the run would never come to its end.
            patience = SECONDS_TO_LIVE if len(ok) > len(acknowledged) else 1.5 * patience
            acknowledged = ok
            asked = [(r["key"], r["ask"]) for r in lines(folder, "replies")]
            assert len(asked) == len(set(asked)), "no question is asked twice"
        said = said_by_engine(folder)
        assert said == "done", said
        finished += 1
        made = Run(folder)
        assert verdicts(made) == verdicts(clean)
        assert report_of(made) == report_of(clean)
        assert images(folder) == images(clean.path)
        assert not stray_files(folder)
        assert not (folder / "holder.json").exists()


def test_in_its_very_first_moments(tmp_path: Path, clean: Run) -> None:
    """Between taking the folder and having written what the run is about."""
    draw = random.Random(1)
    write_benchmark(tmp_path, SAMPLES)
    what = settings(tmp_path, edit=EDIT, judge=JUDGE)
    folder = tmp_path / "run"
    for _ in range(10):
        engine = start_engine(what, folder)
        assert wait_until(lambda engine=engine: (folder / "lock").exists() or not is_alive(engine), 60)
        time.sleep(draw.uniform(0.0, 0.02))
        kill(engine)
        assert wait_until(lambda engine=engine: not is_alive(engine) and not workers_of(folder))
        assert "Error" not in said_by_engine(folder)
    assert verdicts(run(tmp_path, edit=EDIT, judge=JUDGE)) == verdicts(clean)


@pytest.mark.parametrize(
    "there", [[], [".tmp-1-ab"], [MARK], [MARK, "config"], [MARK, "samples", "edits", "replies", ".tmp-1-holder.json"]]
)
def test_whatever_was_written_first_the_folder_is_still_ours(
    tmp_path: Path, undisturbed: Run, there: list[str]
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "lock").touch()
    for name in there:
        (folder / name).mkdir() if "." not in name else mark(folder) if name == MARK else (folder / name).write_text(
            "{}"
        )
    assert verdicts(run(tmp_path)) == verdicts(undisturbed)
    assert not stray_files(folder)


def test_a_worker_that_dies_while_it_writes_leaves_nothing_behind(tmp_path: Path, undisturbed: Run) -> None:
    folder = tmp_path / "run"
    (folder / "images" / "testing").mkdir(parents=True)
    (folder / "config").mkdir()
    (folder / "lock").touch()
    mark(folder)
    for name in ("images/testing/.tmp-77-aabb", "config/.tmp-77-ccdd", ".tmp-77-eeff"):
        (folder / name).write_bytes(b"half a picture")
    assert verdicts(run(tmp_path)) == verdicts(undisturbed)
    assert not stray_files(folder)
