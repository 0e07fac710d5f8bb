"""bench/gpu.py: both rehearsals with tiny models on the CPU, its rows, and what its floors count."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from edit_eval.plugins.rehearse.results import Digest, ModelRehearsed, Rehearsal
from edit_eval.plugins.rehearse.stand_ins import CONFIGURATIONS

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "bench"


@pytest.fixture(scope="module", autouse=True)
def _importable() -> Iterator[None]:
    sys.path.insert(0, str(BENCH))
    yield
    sys.path.remove(str(BENCH))


def module(name: str) -> Any:
    return importlib.import_module(name)


@pytest.mark.real_models
@pytest.mark.models
def test_both_parts_are_rehearsed_and_printed_as_rows(
    tiny_models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every way of editing and every size of batch that the program measures on a GPU, with real classes on the CPU."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("PYTHONPATH", str(BENCH))
    given = ["--device", "cpu:1", "--layers", "2", "--side", "64", "--samples", "5", "--minutes", "60"]
    ways = yaml.safe_load((BENCH / "gpu_edits.yaml").read_text())["edit_models"]
    batches = yaml.safe_load((BENCH / "gpu_judges.yaml").read_text())["judges"]
    small = [
        f"edits:edit_models.{way}.params.{setting}"
        for way in ways
        for setting in ("canvas=4096", "num_inference_steps=2")
    ]
    small += ["edits:edit_models.switches.params.compile=false"]  # a minute of C++
    for name, models in (
        ("qwen-image-edit", [f"edits:edit_models.{way}" for way in ways]),
        ("qwen3-vl-moe", [f"judges:judges.{batch}" for batch in batches]),
    ):
        without = tmp_path / name
        shutil.copytree(tiny_models / name, without, ignore=shutil.ignore_patterns("*.safetensors*"))
        small += [f"{model}.params.model_name={without}" for model in models]
    out = tmp_path / "gpu.json"
    arguments = [*given, *(word for setting in small for word in ("--set", setting)), "--out", str(out)]
    assert module("gpu").main(arguments) == 0
    printed = capsys.readouterr().out
    for name in (*ways, *batches):
        assert f"| {name} |" in printed
    kept = json.loads(out.read_text())
    edits = {
        model["model"].partition(":")[2]: model
        for model in kept["edits"]["models"]
        if model["model"].startswith("edit:")
    }
    assert {model["loads"] for model in edits.values()} == {"stand-in"}, "a class made of ours is one of ours"
    assert all(model["steps"] == 2 and model["unit"] > 0 for model in edits.values())
    assert all(digest["equal"] for digest in kept["edits"]["digests"])
    judges = {
        model["model"].partition(":")[2]: model for model in kept["judges"]["models"] if model["model"][:2] == "ju"
    }
    assert [judges[name]["batch"] for name in batches] == [1, 4, 16, 16]
    assert "speedup_over_diffusers: " in printed
    assert "judge_pairs_per_second: " in printed
    assert "over_floor" not in printed, "cut networks have no floor"


def rehearsed(model: str, **more: Any) -> ModelRehearsed:
    empty: dict[str, Any] = dict.fromkeys(ModelRehearsed.__dataclass_fields__)
    return ModelRehearsed(**{**empty, "model": model, "devices": ("cuda:0",), "misses": (), **more})


def found(*models: ModelRehearsed, **more: Any) -> Rehearsal:
    empty: dict[str, Any] = dict.fromkeys(Rehearsal.__dataclass_fields__)
    nothing = dict.fromkeys(("digests", "findings", "failures", "notes", "samples"), ())
    return Rehearsal(**{**empty, **nothing, "configuration": "gpu_edits", "stopped": "", "models": models, **more})


def test_the_rows_of_a_full_size_measurement() -> None:
    gpu = module("gpu")
    eight = {"steps": 8, "load": 40.0, "predicted": 2**36, "measured": 2**36, "predicted_peak": 2**36, "peak": 2**36}
    ways = found(
        rehearsed("edit:stock", unit=8.0, one_step=1.0, **eight),
        rehearsed("edit:edit-eval", unit=6.0, one_step=1.1, **eight),
        rehearsed("edit:offload_group"),
        digests=(Digest("edit:edit-eval", "000", "cuda:0, a fresh process", "ab", True),),
        layers=None,
    )
    judges = found(rehearsed("judge:batch_16", unit=0.1, batch=16, load=30.0), layers=None, faults=())
    text = gpu.report(ways, judges, gpu.parse([]))
    figures = gpu.figures_of(ways, judges, gpu.gpu_work.edit_floor(50, 790.0))
    assert figures["seconds_per_image_50_steps"] == pytest.approx(6 + 42 * 0.7)
    assert figures["speedup_over_diffusers"] == pytest.approx(50 / 35.4, abs=1e-4)
    assert figures["over_floor"] == pytest.approx(35.4 / 25.06, abs=0.01)
    assert figures["judge_pairs_per_second"] == 10
    assert "| edit-eval | 40.0 | 8 | 6.00 | 1.10 | 35.40 | 1.41 | 1.41 | 64.0 GiB |" in text
    assert "| offload_group |  |  |  |  |  |  |  |" in text
    assert "| batch_16 | 30.0 | 16 | 0.1000 | 0.0410 | 10.00 |" in text


@pytest.mark.check
def test_a_part_that_cannot_be_rehearsed_is_named_and_the_other_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.json"
    assert module("gpu").main(["--set", "edits:canvas=1", "--set", "judges:canvas=1", "--json", "--out", str(out)]) == 1
    told = capsys.readouterr()
    assert told.err.count("error: ") == 2
    assert json.loads(told.out) == {"figures": {}}


@pytest.mark.real_models
@pytest.mark.models
def test_a_judge_with_and_without_inputs_made_ahead(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("transformers")
    monkeypatch.setattr(module("gpu_judge_ahead"), "ROUNDS", 1)
    arguments = ["--compute", "0.1", "--rows", "1", "--side", "64", "--json"]
    assert module("gpu_judge_ahead").main(arguments) == 0
    figures = json.loads(capsys.readouterr().out)["figures"]
    assert figures["ahead"] > 0.1
    assert figures["in_turn"] > 0.1
    assert figures["speedup"] == pytest.approx(figures["in_turn"] / figures["ahead"], abs=0.01)


class TestWork:
    """The counts, against those made by hand for the published configurations."""

    def test_edit(self) -> None:
        work = module("gpu_work")
        parts = {name: part[2] for name, part in CONFIGURATIONS[work.EDIT_MODEL]["parts"].items()}
        assert work.picture_tokens(1024 * 1024) == 8192
        assert work.edit_forward(parts["transformer"], 8192, 1401) == pytest.approx(198.2e12, rel=0.001)
        both = 2 * work.encode_prompt(parts["text_encoder"], 74 * 74, 100)
        assert both == pytest.approx(54e12, rel=0.1)
        assert work.edit_floor(50, 790) == pytest.approx(25.1, abs=0.1)

    def test_judge(self) -> None:
        work = module("gpu_work")
        judge = CONFIGURATIONS[work.JUDGE]["config"]
        assert work.vision_tower(judge["vision_config"], 4096, False) == pytest.approx(5.45e12, rel=0.01)
        assert work.judgement(judge, 1, 4096, 856) == pytest.approx(17.1e12, rel=0.03)
        assert work.judgement(judge, 2, 4096, 1300) == pytest.approx(33.6e12, rel=0.05)
        for rows, gigabytes in ((1, 6.1), (4, 15.6), (16, 39.8), (256, 60.4)):
            assert work.mixture_step_bytes(judge["text_config"], rows) == pytest.approx(gigabytes * 1e9, rel=0.05)
        assert work.pair_floor(16, 790, 4.3) == pytest.approx(0.041, abs=0.001)
