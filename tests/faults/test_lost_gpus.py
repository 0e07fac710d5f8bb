"""GPUs that have fallen off the bus: the others do the work, and every report names them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))  # for `combinations`, which is found from there

from combinations.in_place import InPlace, without_processes
from edit_eval import evaluate
from edit_eval.errors import ConfigurationError
from edit_eval.execution.machine.devices import LocalMachine
from edit_eval.records import Status
from edit_eval.run import Run
from fake_nvml import gpu, install
from faults.faulty_runs import Ears, settings
from small_benchmark import write_benchmark

NAMED = "cuda:1 does not answer (GPU is lost)"


def run(folder: Path, ears: Ears, asked: object) -> Run:
    """Both models on the GPUs that are `asked` for."""
    testing = {"type": "testing", "params": {"device_ids": asked}}
    what = settings(folder, diffusion_model=testing, reward_model=testing)
    with without_processes(page=True, driver=InPlace(machine=LocalMachine())):
        return evaluate(what, run_dir=folder / "run", report=True, spectator=ears)


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    write_benchmark(tmp_path, 6)
    return tmp_path


@pytest.mark.one_in(2)
@pytest.mark.parametrize("asked", ["auto", [1, 0, 2]])
def test_a_gpu_that_is_lost_is_left_out_and_every_report_names_it(
    monkeypatch: pytest.MonkeyPatch, benchmark: Path, asked: object
) -> None:
    """Asked for by name, too: a run that had it goes on without it."""
    install(monkeypatch, gpu(0), gpu(1), gpu(2))
    whole = run(benchmark, Ears(), asked)
    for record in (benchmark / "run/replies").iterdir():
        record.unlink()
    install(monkeypatch, gpu(0), gpu(1, lost="MemoryInfo"), gpu(2))
    made = run(benchmark, ears := Ears(), asked)
    assert {judgement.status for judgement in made.results.judgements} == {Status.OK}
    assert {judgement.device for judgement in made.results.judgements} <= {"cuda:0", "cuda:2"}
    assert [edit.pixels for edit in made.results.edits] == [edit.pixels for edit in whole.results.edits]
    assert [note for note in ears.notes if NAMED in note] == [NAMED]
    summary: dict[str, Any] = json.loads(made.page.with_name("summary.json").read_text("utf-8"))
    assert {(failure["device"], failure["retired"]) for failure in summary["device_failures"]} == {("cuda:1", NAMED)}
    assert NAMED in made.page.with_name("report.md").read_text("utf-8").replace("\\", "")


def test_where_all_are_lost_the_cpu_is_never_taken_in_silence(monkeypatch: pytest.MonkeyPatch, benchmark: Path) -> None:
    install(monkeypatch, gpu(0, lost="UUID"), gpu(1, lost="HandleByIndex"))
    made = run(benchmark, ears := Ears(), "auto")
    assert {edit.device for edit in made.results.edits} == {"cpu:0"}
    (said, _) = [note for note in ears.notes if "one CPU worker" in note]
    assert "GPU is lost" in said


def test_none_that_is_left_of_those_asked_for_is_refused(monkeypatch: pytest.MonkeyPatch, benchmark: Path) -> None:
    install(monkeypatch, gpu(0), gpu(1, lost="HandleByIndex"))
    with pytest.raises(ConfigurationError, match="none of its GPUs can be used: cuda:1 does not answer"):
        run(benchmark, Ears(), [1])
    assert not (benchmark / "run/edits").exists()
