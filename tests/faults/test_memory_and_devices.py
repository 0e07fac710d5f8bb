"""Out of memory, and devices in an undefined state: mended where it can be, and told where it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from edit_eval.records import Status
from faults.faulty_runs import faulty, lines, run, verdicts
from small_benchmark import numbers, sample_id, write_benchmark


def attempts(folder: Path, name: str) -> list[str]:
    """The processes in which the misdeed was tried, in order."""
    return (folder / name).read_text().split()


def edit_model(folder: Path, times: int, **deeds: str) -> dict[str, object]:
    does = {sample_id(int(name[1:])): deed for name, deed in deeds.items()}
    return faulty("Memory", folder=str(folder), times=times, does=does)


def test_out_of_memory_once_is_tried_again_by_the_same_process(tmp_path: Path) -> None:
    made = run(tmp_path, **edit_model(tmp_path, 1, s2="out"))
    assert {e.status for e in made.results.edits} == {Status.OK}
    assert len(set(attempts(tmp_path, "out"))) == 1
    assert len(attempts(tmp_path, "out")) == 2
    assert len(lines(made.path, "edits")) == 9, "nothing was charged"


def test_out_of_memory_for_good_is_said_with_what_would_help(tmp_path: Path) -> None:
    made = run(tmp_path, **edit_model(tmp_path, 99, s2="out"))
    (failed,) = [e for e in made.results.edits if e.status is Status.EDIT_FAILED]
    assert failed.reason.startswith("OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB")
    assert "offload: model" in failed.reason
    assert numbers(made.summary).n == 8


def test_a_batch_that_does_not_fit_is_halved_and_recorded_so(tmp_path: Path) -> None:
    write_benchmark(tmp_path, 15)
    made = run(tmp_path, **faulty("NarrowJudge", "reward_model", batch_size=4))
    # In each category the first is alone and the other four are a batch: that does not fit, and is halved.
    assert [j.score for j in made.results.judgements] == [*[1] * 3, *[2] * 12]
    batches = {r["sample"]: (r["batch"], r.get("halved_to")) for r in lines(made.path, "replies")}
    assert batches == {sample_id(n): (1, None) if n < 3 else (4, 2) for n in range(15)}


@pytest.mark.parametrize(("times", "status"), [(1, Status.OK), (2, Status.JUDGE_ERROR)])
def test_a_request_alone_that_does_not_fit_is_tried_again_once(tmp_path: Path, times: int, status: Status) -> None:
    """There is nothing to halve, but perhaps something to free."""
    judge = faulty("ForgetfulJudge", "reward_model", batch_size=1, folder=str(tmp_path), times=times)
    made = run(tmp_path, **judge)
    others = [j for j in made.results.judgements if j.status is Status.OK]
    assert len(attempts(tmp_path, "out")) == times + (9 if times == 1 else 8)
    assert len(others) == (9 if status is Status.OK else 8)
    for failed in (j for j in made.results.judgements if j not in others):
        assert failed.status is status
        assert "CUDA out of memory" in failed.reason
        assert "a smaller batch_size" in failed.reason


def test_after_a_device_side_assert_the_process_is_another(tmp_path: Path, undisturbed: object) -> None:
    made = run(tmp_path, **edit_model(tmp_path, 1, s2="assert"))
    first, second = attempts(tmp_path, "assert")
    assert first != second
    assert {e.status for e in made.results.edits} == {Status.OK}
    charged = [r for r in lines(made.path, "edits") if r["status"] == "pending"]
    assert [r["sample_id"] for r in charged] == [sample_id(2)], "nobody else pays"
    assert [v[5:7] for v in verdicts(made)] == [v[5:7] for v in verdicts(undisturbed)]


def test_a_sample_that_always_breaks_the_device_is_set_aside(tmp_path: Path) -> None:
    made = run(tmp_path, **edit_model(tmp_path, 99, s2="assert"))
    (failed,) = [e for e in made.results.edits if e.status is Status.EDIT_FAILED]
    assert failed.sample_id == sample_id(2)
    assert "device-side assert" in failed.reason
    assert len(set(attempts(tmp_path, "assert"))) == 2
