"""Clocks that jump: what time it is decides nothing but what is written beside a record."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import pytest

from edit_eval.run import Run
from faults.faulty_runs import lines, run, verdicts


@pytest.mark.parametrize("step", [-86_400.0, -0.01, 1e8])
def test_a_clock_that_jumps_changes_nothing(
    tmp_path: Path, undisturbed: Run, monkeypatch: pytest.MonkeyPatch, step: float
) -> None:
    count = itertools.count()
    real = time.time
    monkeypatch.setattr(time, "time", lambda: max(0.0, real() + step * next(count)))
    made = run(tmp_path, edit={"timeout": 30}, judge={"timeout": 30})
    assert verdicts(made) == verdicts(undisturbed)
    for activity in made.results.telemetry.activities:
        assert 0 <= activity.begin <= activity.end < 60
    assert all(0 <= seconds < 60 for seconds in made.results.telemetry.wall_seconds)
    assert len({r["at"] for r in lines(made.path, "edits")}) > 1, "the clock did jump"


def test_what_was_recorded_later_counts_whatever_the_clock_said(
    tmp_path: Path, undisturbed: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second start believes that it is ten years earlier."""
    run(tmp_path, edit={"fail": [undisturbed.results.samples[3].id]})
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() - 3e8)
    from edit_eval import evaluate
    from faults.faulty_runs import settings

    # The same edit model: `fail` is part of the key, so the record is what is looked at, not the model.
    what = settings(tmp_path, edit={"fail": [undisturbed.results.samples[3].id]})
    evaluate(what, run_dir=tmp_path / "run", report=False, retry=["edit_failed"])
    records = [r for r in lines(tmp_path / "run", "edits") if r["sample_id"] == undisturbed.results.samples[3].id]
    assert [r["status"] for r in records] == ["pending", "edit_failed"] * 2
    assert records[2]["at"] < records[0]["at"]
