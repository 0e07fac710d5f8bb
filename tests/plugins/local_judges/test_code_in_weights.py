"""Weights that are programs: code beside a model and pickles are not run unless somebody asks for it by name."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path

import pytest

from edit_eval.errors import LoadError
from edit_eval.plugins.local_judges.in_worker.qwen3_vl import Qwen3VL

pytestmark = pytest.mark.real_models


@pytest.fixture
def judge(tiny_models: Path, tmp_path: Path) -> Path:
    """A small judge of one's own, to be tampered with."""
    return Path(shutil.copytree(tiny_models / "qwen3-vl", tmp_path / "judge"))


def test_code_beside_a_model_is_not_run(judge: Path, tmp_path: Path) -> None:
    canary = tmp_path / "was run"
    (judge / "evil.py").write_text(f"open({str(canary)!r}, 'w')\nclass Config: pass\nclass Model: pass\n")
    path = judge / "config.json"
    settings = json.loads(path.read_text())
    settings["auto_map"] = {"AutoConfig": "evil.Config", "AutoModelForImageTextToText": "evil.Model"}
    path.write_text(json.dumps(settings))
    Qwen3VL(Qwen3VL.Parameters(model_name=str(judge), dtype="float32")).load(["cpu"])
    assert not canary.exists(), "the library's own class was taken"
    asked_for = Qwen3VL.Parameters(model_name=str(judge), dtype="float32", load={"trust_remote_code": True})
    with pytest.raises(LoadError):
        Qwen3VL(asked_for).load(["cpu"])
    assert canary.exists(), "by name it is run"


def test_code_beside_a_processor_is_not_run(judge: Path, tmp_path: Path) -> None:
    """Of a model that edit-eval does not know the library chooses the processor, and files may name a class."""
    canary = tmp_path / "was run"
    (judge / "evil.py").write_text(f"open({str(canary)!r}, 'w')\nclass Processor: pass\n")
    auto_map = {"AutoProcessor": "evil.Processor"}
    for name, change in (
        ("config.json", {"model_type": "unheard_of"}),
        ("processor_config.json", {"auto_map": auto_map}),
    ):
        settings = json.loads((judge / name).read_text())
        (judge / name).write_text(json.dumps({**settings, **change}))
    with pytest.raises(LoadError):
        Qwen3VL(Qwen3VL.Parameters(model_name=str(judge), dtype="float32")).load(["cpu"])
    assert not canary.exists()


class Evil:
    """What a pickle may do when it is read."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[object, ...]:
        return open, (str(self.canary), "w")


def test_a_pickle_is_not_run(judge: Path, tmp_path: Path) -> None:
    canary = tmp_path / "was run"
    for weights in judge.glob("*.safetensors*"):
        weights.unlink()
    (judge / "pytorch_model.bin").write_bytes(pickle.dumps({"weight": Evil(canary)}, protocol=2))
    with pytest.raises(LoadError):
        Qwen3VL(Qwen3VL.Parameters(model_name=str(judge), dtype="float32")).load(["cpu"])
    assert not canary.exists()
    pickle.loads((judge / "pytorch_model.bin").read_bytes())["weight"].close()
    assert canary.exists(), "and it would have done something"
