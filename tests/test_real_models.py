"""The main job through the real model classes with tiny weights: the shipped configuration, the base system's."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from edit_eval import evaluate
from edit_eval.run import Run

ROOT = Path(__file__).parents[1]
JUDGE = ROOT / ".venv" / "environments" / "judge" / "bin" / "python"
REAL = ROOT.parent / "shared" / "data" / "five_dimensions_mini"

pytestmark = [pytest.mark.real_models, pytest.mark.skipif(not REAL.exists(), reason="needs the five real items")]

BASE_SYSTEM = """
benchmark:
  data_path: "{data}"
  categories: ["物理", "环境", "社会", "因果", "指代"]
diffusion_model:
  type: "multi_gpu_qwen_image_edit"
  class_path: "src.models.diffusion.implementations.multi_gpu_qwen_edit.MultiGPUQwenImageEditModel"
  params:
    model_name: "{models}/qwen-image-edit"
    device_ids: ["cpu:0"]
    dtype: "bfloat16"
    num_inference_steps: 8
    true_cfg_scale: 4.0
    negative_prompt: " "
    seed: 0
    canvas: 4096
    disable_progress_bar: true
    enable_batch_sync: true
reward_model:
  type: "qwen3_vl_multi_gpu_subprocess"
  class_path: "src.models.reward.implementations.qwen3_vl_multi_gpu_subprocess.Qwen3VLMultiGPUSubprocessRewardModel"
  params:
    model_name: "{models}/qwen3-vl-moe"
    device_ids: ["cpu:0"]
    dtype: "bfloat16"
    max_new_tokens: 128
    images: [source, edited]
    use_batch_inference: true
    batch_size: 2
    conda_env: "judge_env"
    timeout: 600
"""


def verdicts(run: Run) -> list[tuple[object, ...]]:
    pixels = {edit.sample_id: edit.pixels for edit in run.results.edits}
    return [(j.sample_id, pixels[j.sample_id], j.status, j.score, j.answer) for j in run.results.judgements]


@pytest.fixture(scope="module")
def shipped(tiny_models: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The shipped configuration for six GPUs, with only paths, canvas, steps and devices changed, on two workers."""
    overrides = [
        f"benchmark.data_path={REAL / 'benchmark.json'}",
        f"diffusion_model.params.model_name={tiny_models / 'qwen-image-edit'}",
        "diffusion_model.params.canvas=4096",
        "diffusion_model.params.num_inference_steps=8",
        f"reward_model.params.model_name={tiny_models / 'qwen3-vl-moe'}",
    ]
    folder = tmp_path_factory.mktemp("shipped")
    return evaluate(
        ROOT / "configs" / "full_multi_gpu.yaml",
        overrides=[*overrides, f"benchmark.cache_dir={folder / 'cache'}"],
        devices="cpu:2",
        run_dir=folder / "run",
        report=False,
    )


@pytest.mark.models
def test_the_shipped_configuration_for_six_gpus_runs_on_two_workers(shipped: Run) -> None:
    assert shipped.summary.coverage.by_status == {"ok": 5}
    assert shipped.has_required_coverage
    assert len({edit.pixels for edit in shipped.results.edits}) == 5
    models = shipped.results.provenance.environment["models"]
    assert isinstance(models, dict)
    assert models["edit:qwen_image_edit"]["pipeline"] == "QwenImageEditPipeline"
    assert models["edit:qwen_image_edit"]["attention"].startswith("native;")
    assert {edit.device for edit in shipped.results.edits} <= {"cpu:0", "cpu:1"}


@pytest.mark.models
def test_the_base_systems_own_file_runs_as_it_is_with_its_judge_in_a_conda_environment(
    shipped: Run, tiny_models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in for conda names this interpreter's environment; one worker gives the same pixels, answers, numbers."""
    environment = tmp_path / "envs" / "judge_env" / "bin"
    environment.mkdir(parents=True)
    (environment / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    conda = tmp_path / "bin" / "conda"
    conda.parent.mkdir()
    conda.write_text(f"#!/bin/sh\necho '{json.dumps({'envs': [str(environment.parent)]})}'\n")
    for program in (conda, environment / "python"):
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{conda.parent}{os.pathsep}{os.environ['PATH']}")
    text = BASE_SYSTEM.format(data=REAL / "benchmark.json", models=tiny_models)
    settings = yaml.safe_load(text)
    settings["benchmark"]["cache_dir"] = str(tmp_path / "cache")
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(settings, allow_unicode=True), "utf-8")
    run = evaluate(path, run_dir=tmp_path / "run", report=False)
    assert verdicts(run) == verdicts(shipped)
    assert run.summary.results == shipped.summary.results
    log = (tmp_path / "run" / "events" / "0001.jsonl").read_text()
    assert "judge:qwen3_vl" in log


@pytest.mark.models
@pytest.mark.skipif(not JUDGE.exists(), reason="`make test` makes this environment")
def test_a_judge_in_an_environment_without_anything_of_ours_gives_the_same_answers(
    shipped: Run, tiny_models: Path, tmp_path: Path
) -> None:
    """The set-up's second environment has a judge's libraries, and not edit-eval."""
    with pytest.raises(subprocess.CalledProcessError):
        subprocess.run([str(JUDGE), "-c", "import edit_eval"], check=True, capture_output=True, cwd=tmp_path)
    configuration = yaml.safe_load((shipped.path / "config" / "0001.yaml").read_text("utf-8"))
    configuration["judges"]["qwen3_vl"]["params"] |= {"python": str(JUDGE), "device_ids": "cpu:1"}
    run = evaluate(configuration, run_dir=tmp_path / "run", reuse_from=[shipped.path], report=False)
    assert verdicts(run) == verdicts(shipped), "an environment is no part of a key"
    for journal in (tmp_path / "run" / "replies").iterdir():
        journal.unlink()
    again = evaluate(configuration, run_dir=tmp_path / "run", report=False)
    assert verdicts(again) == verdicts(shipped)
    told = again.results.provenance.environment["models"]
    assert isinstance(told, dict)
    assert "judge:qwen3_vl" in told


def test_a_real_models_edits_in_a_folder_are_judged_likewise(tiny_models: Path, tmp_path: Path) -> None:
    settings = {
        "benchmark": {"data_path": str(REAL / "benchmark.json"), "cache_dir": str(tmp_path / "cache")},
        "diffusion_model": {
            "type": "image_folder",
            "params": {"folder": str(REAL / "edits_en"), "device_ids": "cpu:1"},
        },
        "reward_model": {
            "type": "qwen3_vl",
            "params": {"model_name": str(tiny_models / "qwen2.5-vl"), "dtype": "float32", "device_ids": "cpu:1"},
        },
    }
    run = evaluate(settings, run_dir=tmp_path / "run", report=False)
    assert run.summary.coverage.by_status == {"ok": 5}
    assert all(edit.width > 100 for edit in run.results.edits)
