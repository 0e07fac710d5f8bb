"""The evening of *Before the night*: its own commands, typed in their order on six stub GPUs.

The cards' driver is a stub, so what the file asks for is looked at as it is, and the two models that would need a card
are then exchanged for ones that take no weights, as a person edits the file. The judge's environment is a real one,
in which our own packages stand for those that would be downloaded.
"""

from __future__ import annotations

import shlex
import sysconfig
import zipfile
from pathlib import Path

import pytest
import yaml

from command_lines import Command, caller
from documented_blocks import DOCS, blocks
from edit_eval.plugins.lookup import environments
from edit_eval.run import Run
from fake_nvml import gpu, install
from small_benchmark import write_benchmark

command = pytest.fixture(caller)
SIX = [0, 1, 2, 3, 4, 5]


def our_packages(folder: Path) -> Path:
    """A wheel of one line, by which another environment has the packages of this one."""
    wheel = folder / "ours-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("ours.pth", sysconfig.get_path("purelib") + "\n")
        archive.writestr("ours-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: ours\nVersion: 1\n")
        archive.writestr("ours-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("ours-1.dist-info/RECORD", "")
    return wheel


@pytest.mark.docs
def test_from_doctor_to_rehearse_to_run(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, *map(gpu, SIX))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.chdir(tmp_path)
    typed, chinese = (
        [
            shlex.split(line, comments=True)[1:]
            for block in blocks(DOCS / page)
            if "test_evening" in block.not_run
            for line in block.text.splitlines()
        ]
        for page in ("before-the-night.md", "zh/before-the-night.md")
    )
    assert chinese == typed
    init, create, fetch, doctor, plan, rehearse, run = typed
    write_benchmark(tmp_path, 24)

    assert command(*init).code == 3, "neither weights nor CUDA are here"
    file = Path("evaluation.yaml")
    asked = yaml.safe_load(file.read_text("utf-8"))
    sections = asked["diffusion_model"], asked["reward_model"]
    assert [section["params"]["device_ids"] for section in sections] == [SIX, SIX]
    ended = command(*doctor)
    assert ended.code == 3
    assert all(section["params"]["model_name"] in ended.out for section in sections)
    assert ended.out.count(" 6 ") == 2, "both are counted, and fit on all six cards"
    assert "weights still to come (119.8 GB)" in " ".join(ended.out.split())

    without, line = (file.read_text("utf-8"), "    # python: envs/judge/bin/python\n")
    assert without.count(line) == 1
    assert "    # conda_env: judge\n" in without
    monkeypatch.setattr(environments, "requirements_for", lambda kind: ["--no-index", str(our_packages(tmp_path))])
    made = command(*create)
    assert (made.code, made.out) == (0, f"python: {tmp_path}/envs/judge/bin/python\n")
    asked = yaml.safe_load(without.replace(line, line.replace("# ", "")))
    sections = asked["diffusion_model"], asked["reward_model"]
    for section in sections:
        elsewhere = {key: section["params"][key] for key in ("device_ids", "python") if key in section["params"]}
        section |= {"type": "testing", "params": elsewhere}
    del asked["protocol"], asked["benchmark"]["categories"]
    asked["evaluation"]["controls"] = 0
    file.write_text(yaml.safe_dump(asked, allow_unicode=True), "utf-8")
    assert command(*fetch).code == 0
    ended = command(*doctor)
    assert ended.code == 0
    assert "envs/judge/bin/python" in ended.out
    assert command(*plan).code == 0
    evening = command(*rehearse, "--json")
    assert (evening.code, evening.document["reasons"]) == (0, [])
    assert {fault["outcome"] for fault in evening.document["faults"]} <= {"made", "no batch"}
    assert {place for model in evening.document["models"] for place in model["devices"]} == {f"cuda:{n}" for n in SIX}
    assert command(*run).code == 0
    [made_run] = Path("runs").iterdir()
    assert Run(made_run).has_required_coverage
