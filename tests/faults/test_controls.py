"""Trouble while controls are judged: no number of the run knows of it, and the same command goes on to finish them."""

from __future__ import annotations

import errno
import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from edit_eval.records import Status
from edit_eval.run import Run
from edit_eval.store.journal import Record, Segment
from edit_eval.store.run_directory import CannotWrite
from faults.faulty_runs import Command, faulty, lines, run, settings, wait_until, workers_of
from small_benchmark import numbers, write_benchmark

pytestmark = pytest.mark.timeout(150)


def judged_by_a_critic(devices: str = "cpu:1", controls: int = 3, **params: Any) -> dict[str, Any]:
    """More of a configuration: a judge that does to controls what `does` says, one at a time."""
    judge = faulty("Critic", "reward_model", device_ids=devices, batch_size=1, **params)
    return {**judge, "edit": {"device_ids": "cpu:1"}, "evaluation": {"controls": controls}}


def refuse_any_harm(made: Run, count: int = 9) -> None:
    """Every edit has its score, and the run is what it would be without controls."""
    assert made.summary.coverage.by_status == {"ok": count}
    assert (made.summary.status, made.has_required_coverage) == ("complete", True)
    made.check_coverage()
    assert (numbers(made.summary).n, numbers(made.summary).mean) == (count, 5.0)


def statuses(made: Run) -> Counter[tuple[str, Status]]:
    return Counter((control.edit_model.removeprefix("control:"), control.status) for control in made.results.controls)


KINDS = ("source", "blank", "shuffled")
ALL_DONE = Counter({(kind, Status.OK): 3 for kind in KINDS})


@pytest.mark.parametrize(("deed", "said"), [("crashes", "SIGKILL"), ("fails", "the pictures do not differ")])
def test_a_judge_that_can_do_nothing_with_grey_pictures(tmp_path: Path, deed: str, said: str) -> None:
    made = run(tmp_path, **judged_by_a_critic("cpu:2", does={"blank": deed}))
    refuse_any_harm(made)
    assert statuses(made) == Counter(
        {("source", Status.OK): 3, ("blank", Status.JUDGE_ERROR): 3, ("shuffled", Status.OK): 3}
    )
    assert all(said in control.reason for control in made.results.controls if control.status is not Status.OK)
    kinds = made.summary.controls.judges["Critic"].kinds
    assert {kind: (kinds[kind].n, kinds[kind].coverage.total) for kind in KINDS} == {
        "source": (3, 3),
        "blank": (0, 3),
        "shuffled": (3, 3),
    }


def test_a_judge_that_dies_over_a_control_is_replaced(tmp_path: Path) -> None:
    made = run(tmp_path, **judged_by_a_critic(does={"source": "crashes"}, folder=str(tmp_path)))
    refuse_any_harm(made)
    assert statuses(made) == ALL_DONE
    assert [r["event"] for r in lines(made.path, "events")].count("died") == 1


def test_that_all_of_many_controls_fail_does_not_stop_the_run(tmp_path: Path) -> None:
    """Of a model of the run, so many failures of one kind would."""
    write_benchmark(tmp_path, 30)
    made = run(tmp_path, **judged_by_a_critic("cpu:2", controls=30, does=dict.fromkeys(KINDS, "fails")))
    refuse_any_harm(made, 30)
    assert statuses(made) == Counter({(kind, Status.JUDGE_ERROR): 30 for kind in KINDS})


def test_a_disk_that_is_full_by_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Segment.append

    def fails(self: Segment, record: Record) -> None:
        if str(record.get("edit_model", "")) == "control:blank":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(self, record)

    what = judged_by_a_critic()
    with monkeypatch.context() as patches:
        patches.setattr(Segment, "append", fails)
        with pytest.raises(CannotWrite, match="No space left on device") as stopped:
            run(tmp_path, **what)
    assert stopped.value.exit_code == 4
    refuse_any_harm(Run(tmp_path / "run"))
    assert statuses(Run(tmp_path / "run"))["blank", Status.PENDING] == 3
    finish_the_controls(tmp_path, what)


def test_ctrl_c_by_then(tmp_path: Path) -> None:
    params = {"does": {"source": "waits"}, "folder": str(tmp_path), "times": 99}
    what = judged_by_a_critic(**params)
    with Command(settings(tmp_path, **what), tmp_path) as command:
        assert wait_until(lambda: (tmp_path / "waits").exists() or command.process.poll() is not None, 100)
        os.killpg(command.process.pid, signal.SIGINT)
        assert wait_until(lambda: "stopping: running tasks finish first" in command.text, 60), command.text
        (tmp_path / "go").touch()
        said = command.wait()
    assert said.code == 130, said.text
    assert wait_until(lambda: not workers_of(tmp_path / "run"))
    refuse_any_harm(Run(tmp_path / "run"))
    assert any(status is Status.PENDING for _, status in statuses(Run(tmp_path / "run")))
    finish_the_controls(tmp_path, what)


def finish_the_controls(tmp_path: Path, what: dict[str, Any]) -> None:
    """The same command asks for what is left of the controls and for nothing else; then there is nothing to do."""
    before = lines(tmp_path / "run", "replies")
    with Command(settings(tmp_path, **what), tmp_path) as command:
        said = command.wait()
    assert said.code == 0, said.text
    made = Run(tmp_path / "run")
    refuse_any_harm(made)
    assert statuses(made) == ALL_DONE
    replies = lines(tmp_path / "run", "replies")
    assert replies[: len(before)] == before
    assert {r["edit_model"].partition(":")[0] for r in replies[len(before) :]} == {"control"}
    assert len(lines(tmp_path / "run", "edits")) == 9
    with Command(settings(tmp_path, **what), tmp_path) as command:
        said = command.wait()
    assert said.code == 0
    assert "Nothing to do: 9 edits and 18 judgements already complete" in said.text
