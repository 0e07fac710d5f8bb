"""Edit models of six families in one run: pipelines of diffusers, a server of ours, a folder, a class of one's own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from edit_eval import evaluate
from edit_models.tiny_presets import SETTINGS

ROOT = Path(__file__).parents[1]
JUDGE = ROOT / ".venv" / "environments" / "judge" / "bin" / "python"
REAL = ROOT.parent / "shared" / "data" / "five_dimensions_mini"
SERVER = str(ROOT / "tests" / "endpoints" / "server_program.py")
PIPELINES = ("ChronoEditPipeline", "LongCatImageEditPipeline", "QwenImage21Pipeline")

OWN = '''
from dataclasses import dataclass

class Negative:
    """The colours turned round: a class of one's own, in an environment that knows nothing of edit-eval."""

    @dataclass
    class Parameters:
        __pydantic_config__ = {"extra": "forbid"}

    def __init__(self, parameters):
        pass

    def load(self, devices):
        pass

    def edit(self, request, on_step):
        from PIL import ImageOps
        on_step(1, 1)
        return ImageOps.invert(request.source)
'''

pytestmark = [
    pytest.mark.real_models,
    pytest.mark.models,
    pytest.mark.skipif(not (REAL.exists() and JUDGE.exists()), reason="needs the five real items"),
]


def test_six_families_make_one_report_and_a_killed_server_loses_nothing(tmp_path: Path) -> None:
    pytest.importorskip("diffusers")
    import tiny_pipelines

    tiny = tiny_pipelines.build(tmp_path / "tiny", PIPELINES)
    (tmp_path / "own.py").write_text(OWN)
    serve = {
        "engine": "command",
        "command": [sys.executable, SERVER, "editor", "{port}", "kills", str(tmp_path), "server", "4"],
    }
    small = {"dtype": "float32", "num_inference_steps": 2}
    models = {
        name: {"type": "diffusers", "params": {"model_name": str(tiny[name]), **small, **SETTINGS[name]}}
        for name in PIPELINES
    }
    models |= {
        "served": {"type": "image_endpoint", "params": {"model": "editor", "serve": serve, "retries": 1}},
        "folder": {"type": "image_folder", "params": {"folder": str(REAL / "edits_en")}},
        "own": {"class_path": f"{tmp_path / 'own.py'}:Negative", "params": {"python": str(JUDGE)}},
    }
    for setting in models.values():
        setting["params"]["device_ids"] = "cpu:2"
    settings = {
        "benchmark": {"data_path": str(REAL / "benchmark.json"), "cache_dir": str(tmp_path / "cache")},
        "edit_models": models,
        "reward_model": {"type": "picture_metrics", "params": {"device_ids": "cpu:2"}},
    }
    run = evaluate(settings, run_dir=tmp_path / "run")
    assert run.summary.coverage.by_status == {"ok": 5 * len(models)}
    assert [result.edit_model for result in run.summary.results] == list(models)
    assert (tmp_path / "asked.txt").read_text().count("\n") >= 5
    page = (run.path / "report" / "index.html").read_text("utf-8")
    assert all(name in page for name in models)
