"""GPUs whose memory others hold: workers are real processes, the driver's management library is a stand-in."""

from __future__ import annotations

import html
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from edit_eval import evaluate
from edit_eval.records import Status
from edit_eval.run import Run
from fake_nvml import GIB, gpu, install
from faults.faulty_runs import MODELS, Ears, settings
from small_benchmark import sample_id, write_benchmark

ANOTHER = os.getppid()
"""A process that no engine here has started."""
COMMAND = Path(f"/proc/{ANOTHER}/comm").read_text().strip()
HELD = 70.25
GPUS = ["cuda:0", "cuda:1"]
CUDA_SAYS = "CUDA out of memory. Tried to allocate 2.00 GiB"


def run(folder: Path, role: str, ears: Ears | None = None, **params: Any) -> Run:
    """On two GPUs; of the second another process holds nearly all."""
    model = {"device_ids": [0, 1], "folder": str(folder), **({"batch_size": 1} if role == "reward_model" else {})}
    section = {role: {"class_path": f"{MODELS}:ShortOfMemory", "params": {**model, **params}}}
    execution = {"start": "together", "placement": "swap"}
    what = settings(folder, execution=execution, **section)
    return evaluate(what, run_dir=folder / "run", report=True, spectator=ears)


@pytest.fixture
def occupied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two GPUs of 80 GiB, the second in somebody's hands."""
    install(monkeypatch, gpu(0), gpu(1, free=9.75, users=[(ANOTHER, int(HELD * GIB))]))


def says_who(text: str) -> bool:
    """Whether a text names the process, its command, and what it holds."""
    return all(part in text for part in (str(ANOTHER), COMMAND, f"{HELD:.1f} GiB"))


def rows(markdown: str, *cells: str) -> list[list[str]]:
    """The rows of a table that begin with these cells."""
    table = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in markdown.splitlines()]
    return [row for row in table if row[: len(cells)] == list(cells)]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("role", ["diffusion_model", "reward_model"])
@pytest.mark.usefixtures("occupied")
def test_a_gpu_that_others_have_filled_costs_no_sample_and_every_report_names_it(tmp_path: Path, role: str) -> None:
    write_benchmark(tmp_path, 30)
    made = run(tmp_path, role, ears := Ears(), short=["1"])
    assert {edit.status for edit in made.results.edits} == {Status.OK}
    assert {judgement.status for judgement in made.results.judgements} == {Status.OK}

    tries = (tmp_path / "out").read_text().split()
    summary = json.loads(made.page.with_name("summary.json").read_text("utf-8"))
    (failure,) = summary["device_failures"]
    assert (failure["device"], failure["out_of_memory"]) == ("cuda:1", failure["attempts"])
    assert 5 <= failure["attempts"] <= len(tries)
    assert CUDA_SAYS in failure["error"]
    assert says_who(failure["retired"]), "why it is not used any more"
    assert any("cuda:1" in note and "memory" in note for note in ears.notes), "at once, not only in the end"
    assert any("cuda:1" in note and says_who(note) for note in ears.notes)

    (row,) = rows(
        made.page.with_name("report.md").read_text("utf-8"),
        "cuda:1",
        failure["model"].partition(":")[2],
        str(failure["attempts"]),
    )
    assert row[3] == str(failure["attempts"])
    assert CUDA_SAYS in row[4]
    assert says_who(row[5].replace("\\", ""))
    assert says_who(html.unescape(made.page.read_text("utf-8")))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("role", ["diffusion_model", "reward_model"])
@pytest.mark.usefixtures("occupied")
def test_what_finds_no_memory_anywhere_says_who_else_is_there(tmp_path: Path, role: str) -> None:
    write_benchmark(tmp_path, 12)
    made = run(tmp_path, role, does={sample_id(4): "out"})
    records = made.results.edits if role == "diffusion_model" else made.results.judgements
    (failed,) = [record for record in records if record.status is not Status.OK]
    assert failed.sample_id == sample_id(4)
    assert failed.status in (Status.EDIT_FAILED, Status.JUDGE_ERROR)
    assert CUDA_SAYS in failed.reason
    assert says_who(failed.reason)
    assert "cuda:1" in failed.reason, "on which of them"
    by_device = {failure.device: failure for failure in made.results.telemetry.device_failures}
    assert sorted(by_device) == GPUS, "it was tried on both"
    assert not any(failure.retired for failure in by_device.values()), "and speaks against neither"
