"""The evening of *Before the night*: its own four commands, typed in their order on six stub GPUs.

The cards' driver is a stub, so what the file asks for is looked at as it is, and the two models that would need a card
are then exchanged for ones that take no weights, as a person edits the file.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import yaml

from command_lines import Command, caller
from documented_blocks import DOCS, blocks
from edit_eval.run import Run
from fake_nvml import gpu, install
from small_benchmark import write_benchmark

command = pytest.fixture(caller)
SIX = [0, 1, 2, 3, 4, 5]


@pytest.mark.docs
def test_from_doctor_to_rehearse_to_run(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, *map(gpu, SIX))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.chdir(tmp_path)
    typed, chinese = (
        next(block.text for block in blocks(DOCS / page) if "test_evening" in block.not_run)
        for page in ("before-the-night.md", "zh/before-the-night.md")
    )
    assert chinese == typed
    init, doctor, rehearse, run = (shlex.split(line)[1:] for line in typed.splitlines())
    write_benchmark(tmp_path, 24)

    assert command(*init).code == 3, "neither weights nor CUDA are here"
    asked = yaml.safe_load(Path("evaluation.yaml").read_text("utf-8"))
    sections = asked["diffusion_model"], asked["reward_model"]
    assert [section["params"]["device_ids"] for section in sections] == [SIX, SIX]
    ended = command(*doctor)
    assert ended.code == 3
    assert all(section["params"]["model_name"] in ended.out for section in sections)
    assert ended.out.count(" 6 ") == 2, "both are counted, and fit on all six cards"

    for section in sections:
        section |= {"type": "testing", "params": {"device_ids": SIX}}
    del asked["protocol"], asked["benchmark"]["categories"]
    asked["evaluation"]["controls"] = 0
    Path("evaluation.yaml").write_text(yaml.safe_dump(asked, allow_unicode=True), "utf-8")
    assert command(*doctor).code == 0
    evening = command(*rehearse, "--json")
    assert (evening.code, evening.document["reasons"]) == (0, [])
    assert {fault["outcome"] for fault in evening.document["faults"]} <= {"made", "no batch"}
    assert {place for model in evening.document["models"] for place in model["devices"]} == {f"cuda:{n}" for n in SIX}
    assert command(*run).code == 0
    [made] = Path("runs").iterdir()
    assert Run(made).reached
