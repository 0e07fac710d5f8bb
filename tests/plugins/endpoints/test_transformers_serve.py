"""A real server over a real model: `transformers serve` over a tiny Qwen3-VL is started, judges a run, and is ended."""

from __future__ import annotations

import os
import sys
from importlib import metadata
from pathlib import Path

import pytest

from edit_eval import evaluate
from edit_eval.endpoints.serving import Serve, ServerEnvironment
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.endpoints.in_worker.server import Server
from edit_eval.records import Status
from edit_eval.store.run_directory import RunDirectory
from faults.faulty_runs import wait_until, workers_of

pytestmark = [
    pytest.mark.real_models,
    pytest.mark.models,
    pytest.mark.skipif(sys.platform != "linux", reason="looks in /proc"),
]

# The library's own processor of this family has a video processor, too, and that needs a torchvision for this torch.
WITHOUT_TORCHVISION = """
import sys
if "transformers.cli.transformers:main" in sys.orig_argv:
    import transformers
    from edit_eval.pretrained.processors import load_processor
    transformers.AutoProcessor.from_pretrained = lambda source, **_: load_processor(source, "Qwen3VLProcessor", {})
"""


LEVELS = f"{Path(__file__).parents[2] / 'level_of_edit.py'}:LevelOfEdit"


def test_it_judges_a_run(tiny_models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("openai", "fastapi", "uvicorn"):
        pytest.importorskip(module)
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "sitecustomize.py").write_text(WITHOUT_TORCHVISION)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "path"))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # nobody is asked the way to one's own server
    params = {"device_ids": "cpu:1", "model": str(tiny_models / "qwen3-vl"), "concurrency": 2, "max_tokens": 32}
    what = {
        "benchmark": {"type": "scenes", "count": 5, "size": 128, "cache_dir": str(tmp_path / "cache")},
        "diffusion_model": {"type": "copy_source", "params": {"device_ids": "cpu:1"}},
        "reward_model": {"type": "chat_endpoint", "params": {**params, "serve": {"engine": "transformers"}}},
        "evaluation": {"controls": 0},
        "execution": {"pilot": False},
    }
    made = evaluate(what, run_dir=tmp_path / "run", report=False)
    assert [judgement.status for judgement in made.results.judgements] == [Status.OK] * 5
    about = RunDirectory.open_existing(made.path).environment()["models"]["judge:chat_endpoint"]
    assert about["engine"] == f"transformers {metadata.version('transformers')}"
    assert about["interpreter"] == sys.executable
    assert about["model"].startswith(params["model"])
    log = (tmp_path / "run" / "logs" / "judge-chat_endpoint-cpu0-server.log").read_text()
    assert log.count("Uvicorn running on http://127.0.0.1:") == 1
    assert log.count("POST /v1/chat/completions") == 6, "five questions and the canary"
    assert wait_until(lambda: not workers_of(tmp_path / "run"))


def test_it_gives_probabilities_in_its_own_words(
    tiny_models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It drops `logprobs` without a word, and tells no mass: both are found out."""
    for module in ("openai", "fastapi", "uvicorn"):
        pytest.importorskip(module)
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "sitecustomize.py").write_text(WITHOUT_TORCHVISION)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'path'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    model, environment = str(tiny_models / "qwen3-vl"), ServerEnvironment(log=str(tmp_path / "server.log"), seconds=300)
    server = Server(Serve("transformers"), "chat", model, 0, environment)
    server.start()
    try:
        params = {"device_ids": "cpu:1", "model": model, "base_url": server.base_url, "concurrency": 2}
        what = {
            "benchmark": {"type": "scenes", "count": 5, "size": 128, "cache_dir": str(tmp_path / "cache")},
            "diffusion_model": {"type": "copy_source", "params": {"device_ids": "cpu:1"}},
            "reward_model": {"type": "chat_endpoint", "params": params},
            "protocol": {"class_path": LEVELS},
            "evaluation": {"controls": 0},
            "execution": {"pilot": False},
        }
        said = r"no probabilities through logprobs \(it ignores the fields\); write"
        with pytest.raises(ConfigurationError, match=said):
            evaluate(what, run_dir=tmp_path / "run", report=False)
        params["probabilities"] = "systemone"
        made = evaluate(what, run_dir=tmp_path / "run", report=False)
    finally:
        server.end()
    assert [judgement.status for judgement in made.results.judgements] == [Status.OK] * 5
    assert [judgement.score for judgement in made.results.judgements] == pytest.approx([1.0] * 5), (
        "it prefers none of A, B and C"
    )
    assert {reading["level"].mass for judgement in made.results.judgements for reading in judgement.readings} == {
        "unknown"
    }
    about = RunDirectory.open_existing(made.path).environment()["models"]["judge:chat_endpoint"]
    assert about["probabilities"] == "systemone of transformers, mass unknown"
