"""Workers that die, hang, are stopped, or hold a plug-in without manners: the run goes on, and nobody else pays."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from edit_eval import evaluate
from edit_eval.errors import ConfigurationError, Stopped
from edit_eval.records import Status
from edit_eval.run import Run
from faults.faulty_runs import (
    Ears,
    faulty,
    is_alive,
    kill,
    lines,
    run,
    said_by_engine,
    settings,
    start_engine,
    verdicts,
    wait_until,
    workers_of,
)
from small_benchmark import sample_id, write_benchmark

# Without their defences most of these would wait for ever.
pytestmark = pytest.mark.timeout(90)

MODULE = Path(__file__).with_name("modules_that_fail.py")


def does(**deeds: str) -> dict[str, str]:
    """`s3="prints"`: what the model does about sample 3."""
    return {sample_id(int(name[1:])): deed for name, deed in deeds.items()}


def state(process: int) -> str:
    """As in `ps`: T is stopped."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


def name(process: int) -> str:
    """The program's; empty when it is gone."""
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return ""


def statuses(made: Run) -> list[Status]:
    return [e.status for e in made.results.edits]


@pytest.mark.check
def test_a_plug_in_without_manners(tmp_path: Path) -> None:
    deeds = does(
        s0="prints", s1="reads", s2="closes", s3="exits", s4="quits", s5="interrupts", s6="segfaults", s7="starts"
    ) | does(s8="forges", s9="forks")
    write_benchmark(tmp_path, 10)
    made = run(tmp_path, **faulty("Rude", device_ids="cpu:2", does=deeds, timeout=60))
    failed = {e.sample_id: e.reason for e in made.results.edits if e.status is Status.EDIT_FAILED}
    assert set(failed) == {sample_id(n) for n in (3, 4, 5, 6, 8)}
    for number, word in ((3, "SystemExit: 0"), (4, "exit code 0"), (5, "KeyboardInterrupt"), (6, "SIGSEGV")):
        assert word in failed[sample_id(number)]
    assert "it wrote into the pipe reserved for edit-eval" in failed[sample_id(8)]
    assert all("failed 2 times" in reason for reason in failed.values())
    logs = sum(p.stat().st_size for p in (made.path / "logs").iterdir())
    assert logs > 11_000_000, "what it prints is in its log, and nowhere else"
    assert not wait_until(lambda: workers_of(made.path), 0.2), "what a model started ended with it"


def test_what_a_dying_worker_started_dies_with_it(tmp_path: Path) -> None:
    made = run(tmp_path, **faulty("Rude", does=does(s2="leaves")))
    assert statuses(made).count(Status.EDIT_FAILED) == 1
    assert wait_until(lambda: not workers_of(made.path))


@pytest.mark.parametrize("deed", ["stops", "holds"])
def test_a_process_that_makes_no_step_is_replaced(tmp_path: Path, deed: str) -> None:
    """SIGSTOP, and C code that holds the interpreter: no thread of the worker could report anything."""
    begin = time.monotonic()
    made = run(tmp_path, **faulty("Rude", device_ids="cpu:2", does=does(s4=deed), timeout=2))
    assert time.monotonic() - begin < 120
    (failed,) = [e for e in made.results.edits if e.status is not Status.OK]
    assert failed.sample_id == sample_id(4)
    assert "no step for 2 s" in failed.reason


@pytest.mark.parametrize("kind", ["edit", "judge"])
def test_a_worker_that_is_stopped_before_it_begins_is_replaced_and_its_task_is_not_lost(
    tmp_path: Path, undisturbed: Run, kind: str
) -> None:
    """It never says `started`: no task is running in it, and yet it must not be waited for for ever."""
    stopped: list[int] = []

    def stop(replica: Any) -> None:
        for worker in workers_of(tmp_path / "run", kind)[:1] if replica.model.kind == kind and not stopped else ():
            stopped.append(worker)
            kill(worker, signal.SIGSTOP)

    made = run(tmp_path, **{kind: {"device_ids": "cpu:1", "timeout": 2}}, ears=Ears(stop))
    assert len(stopped) == 1
    assert not is_alive(stopped[0])
    assert verdicts(made) == verdicts(undisturbed)


def test_workers_killed_while_they_are_idle_cost_nobody_anything(tmp_path: Path, undisturbed: Run) -> None:
    """Each is killed when it is loaded, so that its first tasks are handed to a dead process."""
    killed: list[int] = []

    def murder(replica: Any) -> None:
        if len(killed) < 3:
            killed.extend(workers_of(tmp_path / "run"))
            for worker in killed:
                kill(worker)

    made = run(tmp_path, edit={"device_ids": "cpu:1"}, judge={"device_ids": "cpu:1"}, ears=Ears(murder))
    assert len(killed) >= 3
    assert verdicts(made) == verdicts(undisturbed)
    assert {r["status"] for r in lines(made.path, "edits")} == {"ok"}, "no attempt was charged"


def test_a_device_on_which_every_idle_worker_is_killed_ends_the_run(tmp_path: Path) -> None:
    """Nobody can be charged with those deaths, and still they must come to an end."""

    def murder(replica: Any) -> None:
        for worker in workers_of(tmp_path / "run", "edit") if replica.model.kind == "edit" else ():
            kill(worker)

    with pytest.raises(Stopped, match="with nothing to do, its process was killed by SIGKILL"):
        run(tmp_path, edit={"device_ids": "cpu:1"}, ears=Ears(murder))


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.chaos) for seed in range(2, 9))])
def test_exactly_the_bad_ones_are_set_aside(tmp_path: Path, seed: int) -> None:
    write_benchmark(tmp_path, 30)
    ids = [sample_id(n) for n in random.Random(seed).sample(range(30), 7)]
    deeds = dict(zip(ids, ["crashes", "crashes", "fails", "fails", "hangs", "flakes", "flakes"], strict=True))
    model = faulty("Mixed", device_ids="cpu:2", does=deeds, timeout=2, seconds=0.01, folder=str(tmp_path))
    made = run(tmp_path, **model)
    assert {e.sample_id for e in made.results.edits if e.status is Status.EDIT_FAILED} == set(ids[:5])
    assert made.summary.coverage.by_status == {"ok": 25, "edit_failed": 5}


def test_what_another_attempt_cannot_change_is_not_tried_again(tmp_path: Path) -> None:
    """A model that refuses what it was asked will refuse it again; one that failed otherwise has a second chance."""
    made = run(tmp_path, **faulty("Mixed", does=does(s1="refuses", s2="fails", s3="mishears")))
    failed = {e.sample_id: e.reason for e in made.results.edits if e.status is Status.EDIT_FAILED}
    attempts = Counter(r["what"] for r in lines(made.path, "events") if r["event"] == "failed")
    assert attempts == {sample_id(1): 1, sample_id(2): 2, sample_id(3): 2}
    assert failed[sample_id(1)] == "ValueError: height and width have to be divisible by 16"
    assert "failed 2 times" in failed[sample_id(2)]
    assert "failed 2 times" in failed[sample_id(3)]


def test_the_same_failure_again_and_again_stops_the_run(tmp_path: Path) -> None:
    write_benchmark(tmp_path, 60)
    with pytest.raises(Stopped, match="of the last 50 tasks failed the same way") as stopped:
        run(tmp_path, edit={"fail": [sample_id(n) for n in range(60)]})
    assert stopped.value.exit_code == 4
    failed = [e for e in Run(tmp_path / "run").results.edits if e.status is Status.EDIT_FAILED]
    assert len(failed) < 30


# -- loads --


@pytest.mark.usefixtures("cold_workers")
@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("model", "patience", "said"),
    [
        ("SegfaultsWhenLoading", 80, "SIGSEGV"),
        ("ExitsWhenMade", 80, "I want a licence"),
        ("HangsWhenLoading", 1, "not loaded after 1 s"),
    ],
)
def test_a_model_that_cannot_be_loaded_stops_the_run_with_the_first_reason(
    tmp_path: Path, model: str, patience: int, said: str
) -> None:
    with pytest.raises((Stopped, ConfigurationError), match=said) as stopped:
        run(tmp_path, **faulty(model, device_ids="cpu:2", load_timeout=patience))
    assert "\n" not in str(stopped.value)
    assert not workers_of(tmp_path / "run")
    assert not [e for e in Run(tmp_path / "run").results.edits if e.status is not Status.PENDING], "nobody is blamed"


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("how", "said"),
    [("segfault", "SIGSEGV"), ("exit", "no licence server"), ("quit", "exit code 0"), ("raise", "libcudart.so.99")],
)
def test_a_module_that_a_worker_cannot_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, said: str
) -> None:
    monkeypatch.setenv("FAIL_AS", how)
    monkeypatch.setenv("PYTHONPATH", str(MODULE.parents[1]))
    section = {"diffusion_model": {"class_path": f"{MODULE}:Model", "params": {"device_ids": "cpu:1"}}}
    with pytest.raises((Stopped, ConfigurationError), match=said):
        run(tmp_path, **section)
    assert not workers_of(tmp_path / "run")


def test_a_device_on_which_loading_fails_is_dropped_with_its_traceback(tmp_path: Path, undisturbed: Run) -> None:
    made = run(tmp_path, **faulty("LoadsSecond", device_ids="cpu:2", folder=str(tmp_path)))
    assert [v[5:7] for v in verdicts(made)] == [v[5:7] for v in verdicts(undisturbed)]
    (retired,) = [r for r in lines(made.path, "events") if r["event"] == "retired"]
    assert "no kernel image" in retired["reason"]
    (broken,) = [r for r in lines(made.path, "events") if r["event"] == "broken"]
    assert "faulty_models.py" in broken["trace"]
    assert len({e.device for e in made.results.edits}) == 1


def test_nobody_waits_for_an_event_that_will_never_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy with a mistake: everybody is idle, and work is left."""
    from edit_eval.execution.contract import WorkerSpecification
    from edit_eval.execution.engine.engine import Engine
    from edit_eval.scheduling.estimates import Estimates
    from edit_eval.scheduling.policies import Policy
    from edit_eval.scheduling.tasks import Model, Work
    from simulated_driver import Fate, SimulatedDriver

    model, work = Model("slow", "edit", (("gpu:0",), ("gpu:1",))), Work()
    policy = Policy([model], work, Estimates())
    work.add(model.key, [0])
    work.add(model.key, [1])
    monkeypatch.setattr(policy, "_next", lambda replica: None)
    monkeypatch.setattr(policy._places, "why_leave", lambda replica: "")
    specifications = {(model.key, place): WorkerSpecification("w", model.key, place, "") for place in model.places}
    driver = SimulatedDriver(load=lambda model, device: 1.0, task=lambda model, message: Fate(1.0))
    engine = Engine(driver, policy, work, Ears(), Ears(), specifications)
    with pytest.raises(Stopped) as stopped:
        engine.run()
    said = str(stopped.value)
    assert "no progress: work is left" in said
    assert "edit model slow on gpu:0, edit model slow on gpu:1 cannot do" in said, "who holds it"
    assert "please report it" in said, "what to do"


@pytest.mark.check
def test_a_prepared_judge_may_wait_for_its_device_as_long_as_it_takes(tmp_path: Path, undisturbed: Run) -> None:
    """With a pilot the judge's process is ready at once, and waits: that is no slow load."""
    write_benchmark(tmp_path, 4)
    what = settings(
        tmp_path, edit={"device_ids": "cpu:1", "seconds": 2.5}, judge={"device_ids": "cpu:1", "load_timeout": 5}
    )
    what["execution"]["pilot"] = True
    made = evaluate(what, run_dir=tmp_path / "run", report=False)
    retired = [r for r in lines(made.path, "events") if r["event"] == "retired"]
    assert not retired
    assert {j.status for j in made.results.judgements} == {Status.OK}


# -- the engine --


@pytest.mark.parametrize("deed", ["holds", "stops", "nests"])
@pytest.mark.usefixtures("cold_workers")
def test_no_worker_outlives_its_engine(tmp_path: Path, deed: str) -> None:
    """Not even one that is stopped, or deaf in C code: it would never notice the end of its pipe.

    Nor does what a worker's model has started, although nobody is left who could end it.
    """
    write_benchmark(tmp_path)
    what = settings(tmp_path, **faulty("Rude", does=does(s0=deed), timeout=600, folder=str(tmp_path)))
    engine = start_engine(what, tmp_path / "run")
    begun = tmp_path / "begun"
    assert wait_until(lambda: begun.exists() and begun.read_text().strip(), 60), said_by_engine(tmp_path / "run")
    (worker,) = set(map(int, begun.read_text().split()))
    if deed == "stops":
        assert wait_until(lambda: state(worker) == "T")
    if deed == "nests":
        assert wait_until(lambda: [p for p in workers_of(tmp_path / "run") if name(p) == "sleep"])
    workers = workers_of(tmp_path / "run")
    assert worker in workers
    kill(engine)
    assert wait_until(lambda: not any(map(is_alive, workers)))


def test_a_disk_that_is_full_elsewhere_is_no_fault_of_the_sample(tmp_path: Path, undisturbed: Run) -> None:
    with pytest.raises(Stopped, match=r"No space left on device.*rerun the same command"):
        run(tmp_path, **faulty("Rude", does=does(s3="fills")))
    made = Run(tmp_path / "run")
    assert Status.EDIT_FAILED not in statuses(made)


@pytest.mark.check
def test_a_signal_handler_that_is_not_ours_stays(tmp_path: Path) -> None:
    """A run within somebody's program gives the handlers back, and runs outside of the main thread, too."""
    before = (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))
    made: list[Run] = []
    thread = threading.Thread(target=lambda: made.append(run(tmp_path)))
    thread.start()
    thread.join()
    assert made[0].summary.status == "complete"
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    assert os.getpid()
