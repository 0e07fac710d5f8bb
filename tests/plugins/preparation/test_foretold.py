"""What is foretold of a run, against the run: the real engine, recorder, store and pilot, in simulated time."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from edit_eval import evaluation
from edit_eval.execution import session
from edit_eval.plugins.preparation.planning import ImaginedMachine
from edit_eval.plugins.preparation.requests import plan
from edit_eval.run import evaluate
from edit_eval.workers.messages import Message
from reporting.simulated_runs import AnsweringDriver
from simulated_driver import Fate
from small_benchmark import configuration, write_benchmark

EDIT, JUDGE, DEVICES = 5.0, 2.0, 4
START, LOAD, UNLOAD = {"edit": 8.0, "judge": 9.0}, {"edit": 20.0, "judge": 25.0}, 3.0


class Driver(AnsweringDriver):
    """Its edits are files, so that they are found when the run is read."""

    def submit(self, worker: int, message: Message) -> None:
        if message.get("kind") == "edit":
            Path(message["output"]).write_bytes(b"9 bytes..")
        super().submit(worker, message)


def driver() -> Driver:
    """Workers that take their time on GPUs that there are not."""

    def task(model: str, message: Message) -> Fate:
        return Fate(EDIT if model.startswith("edit:") else JUDGE * len(message["requests"]))

    return Driver(
        {},
        load=lambda model, device: LOAD[model.partition(":")[0]],
        task=task,
        prepare=lambda model, device: START[model.partition(":")[0]],
        unload=lambda model: UNLOAD,
        machine=ImaginedMachine(DEVICES, 80 << 30),
    )


WAYS = [
    *itertools.product(("pull", "round_robin", "batch_sync"), (10,), ({}, {"load_concurrency": 1})),
    ("pull", 0, {}),
    ("pull", 10, {"order": "by_category"}),
    ("pull", 10, {"pilot": False}),
    ("batch_sync", 10, {"placement": "together"}),
    ("pull", 10, {"start": "together", "load_concurrency": 2}),
]


@pytest.mark.parametrize(("schedule", "controls", "more"), WAYS)
def test_a_run_takes_what_was_foretold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, schedule: str, controls: int, more: dict[str, Any]
) -> None:
    """Within a tenth, whatever it takes: by `plan --from`, and by what the pilot says of the rest."""
    write_benchmark(tmp_path, 40)
    source = configuration(
        tmp_path,
        edit={"device_ids": "auto"},
        judge={"device_ids": "auto", "batch_size": 2},
        evaluation={"controls": controls},
        execution={"schedule": schedule, "placement": "swap", **more},
    )
    drivers: list[Driver] = []
    foretold: list[tuple[float, float]] = []

    def its_driver(configuration: object) -> Driver:
        drivers.append(driver())
        return drivers[-1]

    def said(seconds: float) -> str:
        foretold.append((drivers[0].now, seconds))
        return "some time"

    monkeypatch.setattr(evaluation, "driver_of", its_driver)
    monkeypatch.setattr(session, "roughly", said)
    made = evaluate(source, run_dir=tmp_path / "run", report=False)
    assert made.has_required_coverage
    assert len(made.results.controls) == 3 * controls
    (took,) = made.results.telemetry.wall_seconds
    planned = plan(source, from_run=made.path, gpus=DEVICES)
    assert planned.combinations[planned.chosen].prediction.makespan == pytest.approx(took, rel=0.1)
    for when, left in foretold:
        assert left == pytest.approx(took - when, rel=0.1)
    assert bool(foretold) == (more.get("pilot", True))
