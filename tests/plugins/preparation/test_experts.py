"""Memory of a mixture of experts, by the version of transformers in the judge's own environment."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from edit_eval.config.loading import load_configuration
from edit_eval.config.schema import ModelSection
from edit_eval.execution.machine.memory import GIB
from edit_eval.plugins.preparation.checks import Context, rooms
from edit_eval.plugins.preparation.fitting import PlacedModel, fit_findings, need_of
from edit_eval.plugins.preparation.planning import ImaginedMachine
from edit_eval.plugins.preparation.weights import Weights, expert_bytes, transformers_version
from edit_eval.scheduling.tasks import Model
from small_benchmark import configuration

JUDGE = "Qwen/Qwen3-VL-30B-A3B-Instruct"
LOADED = round(31.07e9 * 2)


def environment(folder: Path, version: str | None) -> str:
    """An interpreter, and beside it a transformers of that version, as a virtual environment has them."""
    folder.joinpath("bin").mkdir(parents=True)
    python = folder / "bin" / "python"
    os.symlink(sys.executable, python)
    packages = folder / "lib" / "python3.10" / "site-packages"
    packages.mkdir(parents=True)
    if version is not None:
        (packages / f"transformers-{version}.dist-info").mkdir()
    return str(python)


def judge(folder: Path, python: str | None = None, **params: Any) -> ModelSection:
    source = configuration(folder)
    source["reward_model"] = {"type": "qwen3_vl", "params": {"model_name": JUDGE, "python": python, **params}}
    return load_configuration(source).judges["qwen3_vl"]


def weights(folder: Path | None = None, name: str = JUDGE) -> Weights:
    return Weights(name, folder, {"model": LOADED})


@pytest.mark.parametrize(("version", "major", "each"), [("4.57.6", 4, 1_966_080), ("5.23.0", 5, 0), (None, None, 0)])
def test_transformers_4_computes_all_experts(tmp_path: Path, version: str | None, major: int | None, each: int) -> None:
    """1.966 MB a token of a layer, as counted in 4.57.6 on meta tensors at full width."""
    section = judge(tmp_path, environment(tmp_path / "env", version))
    assert transformers_version(section) == major
    assert expert_bytes(section, weights()) == each


def test_the_shape_is_that_of_the_weights_and_others_have_no_experts(tmp_path: Path) -> None:
    section = judge(tmp_path, environment(tmp_path / "env", "4.57.6"))
    shape = {"num_experts": 8, "hidden_size": 32, "moe_intermediate_size": 16}
    (tmp_path / "config.json").write_text(json.dumps({"text_config": shape}))
    assert expert_bytes(section, weights(tmp_path)) == 2 * 8 * (3 * 32 + 2 * 16)
    for dense in ({"text_config": {"hidden_size": 32}}, {"text_config": None}, []):
        (tmp_path / "config.json").write_text(json.dumps(dense))
        assert expert_bytes(section, weights(tmp_path)) == 0
    assert expert_bytes(section, weights(name="Qwen/Qwen3-VL-8B-Instruct")) == 0


def findings(section: ModelSection, version_of: Sequence[int], free: float) -> list[tuple[str, str, str]]:
    places = (("cuda:0",),)
    model = PlacedModel(Model.from_key("judge:qwen3_vl", places), section, weights(), expert_bytes=version_of[0])
    gpus = ImaginedMachine(1, round(free * GIB)).gpus()
    return [(finding.level, finding.text, finding.advice) for finding in fit_findings(model, gpus, None)]


def test_what_doctor_says_of_a_card_of_80_gib(tmp_path: Path) -> None:
    """Batches of four: 85 GiB with transformers 4, 64.4 with 5."""
    section = judge(tmp_path, batch_size=4)
    model = Model.from_key("judge:qwen3_vl", (("cuda:0",),))
    needs = [need_of(PlacedModel(model, section, weights(), expert_bytes=each)) for each in (0, 1_966_080)]
    assert [round(need.total / GIB, 1) for need in needs if need] == [64.4, 84.7]
    [(level, text, advice)] = findings(section, [1_966_080], 79.6)
    assert level == "warning"
    assert "transformers 4 computes all experts" in text
    assert advice.startswith("transformers 5 in its environment; or a smaller batch_size")
    [(level, _, _)] = findings(section, [0], 79.6)
    assert level == "ok"


def test_a_run_decides_by_it_too(tmp_path: Path) -> None:
    """`placement: auto` asks whether a model fits by itself; what may not fit is not known to."""
    for version, answer in (("4.57.6", "unknown"), ("5.23.0", "enough")):
        source = configuration(tmp_path, edit={"device_ids": "auto"})
        python = environment(tmp_path / version, version)
        params = {"model_name": JUDGE, "python": python, "batch_size": 4, "device_ids": "auto"}
        source["reward_model"] = {"type": "qwen3_vl", "params": params}
        configured = load_configuration(source)
        models = [Model.from_key(key, (("cuda:0",),)) for key in configured.models]
        context = Context(configured, ImaginedMachine(1, round(79.6 * GIB)), laid_out=models)
        assert rooms(context)["swap"].answer == answer
