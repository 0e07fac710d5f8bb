"""What would keep a model from loading is said before anything is loaded or written."""

from __future__ import annotations

import socket
import sys
import time
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for the module beside this one: pytest imports by path

from edit_eval import evaluate
from edit_eval.config.loading import load_configuration
from edit_eval.errors import ConfigurationError
from edit_eval.execution.findings import Finding
from edit_eval.execution.machine.devices import LocalMachine
from edit_eval.plugins.preparation import checks
from edit_eval.plugins.preparation.cards import hub_answers
from edit_eval.plugins.preparation.checks import CheckRow, Context, devices, double_claims, reachable, run_checks
from edit_eval.plugins.preparation.requests import examine, plan
from fake_nvml import gpu, install
from small_benchmark import configuration

OFFLINE = {"HF_ENDPOINT": "http://127.0.0.1:9"}  # nobody listens there


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No GPU, an empty cache, no network; the current directory is the test's own."""
    install(monkeypatch)
    monkeypatch.setattr(LocalMachine, "fault", lambda self: "")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "huggingface"))
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("CUDA_VISIBLE_DEVICES", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_ENDPOINT", OFFLINE["HF_ENDPOINT"])
    monkeypatch.chdir(tmp_path)


def big(tmp_path: Path, **params: Any) -> dict[str, Any]:
    raw = configuration(tmp_path)
    raw["diffusion_model"] = {"type": "qwen_image_edit", "params": params}
    return raw


def problems(raw: dict[str, Any], check: CheckRow, environment: dict[str, str]) -> list[str]:
    """What a check finds wrong with the edit model, on a machine without a GPU."""
    context = Context(load_configuration(raw), LocalMachine({}), environment)
    findings = run_checks(context, [check])
    return [finding.line for finding in findings if finding.stops and finding.who.startswith("edit model")]


GPU, HUB = CheckRow(devices), CheckRow(reachable, each=True)


def refusal(raw: dict[str, Any], **options: Any) -> str:
    with pytest.raises(ConfigurationError) as caught:
        evaluate(raw, **options)
    assert not Path("runs").exists()
    return str(caught.value)


NO_GPU = (
    "diffusion_model.params.device_ids: no GPU is visible to this command, and qwen_image_edit has 53.7 GiB of weights;"
    " to run it on the CPU anyway, write `device: cpu` in its `params`, or give `--devices cpu`"
)


@pytest.mark.check
def test_without_a_gpu_a_large_model_is_refused_by_run_plan_and_doctor(tmp_path: Path) -> None:
    assert refusal(big(tmp_path)) == NO_GPU
    with pytest.raises(ConfigurationError) as caught:
        plan(big(tmp_path))
    assert str(caught.value) == f"{NO_GPU}; `plan --gpus N` simulates GPUs"
    (finding,) = [f for f in examine(big(tmp_path)) if f.area == "devices" and f.stops]
    assert (finding.line, finding.sentence) == (NO_GPU, f"edit model qwen_image_edit: {finding.text}")


def test_who_asks_for_the_cpu_gets_it(tmp_path: Path) -> None:
    """The next obstacle is then the network."""
    assert "cannot be reached" in refusal(big(tmp_path, device="cpu"))
    assert "cannot be reached" in refusal(big(tmp_path), devices="cpu")


def test_an_empty_variable_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, gpu(0, 80))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert "no GPU is visible to this command (CUDA_VISIBLE_DEVICES=), and" in refusal(big(tmp_path))


def test_a_driver_that_does_not_answer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalMachine, "fault", lambda self: "Driver/library version mismatch")
    assert "no GPU is visible to this command (Driver/library version mismatch), and" in refusal(big(tmp_path))


def test_a_model_that_nobody_has_seen_is_as_large_as_that_of_its_class(tmp_path: Path) -> None:
    (problem,) = problems(big(tmp_path, model_name="somebody/fine-tuned"), GPU, {})
    assert "53.7 GiB" in problem


def test_small_models_and_those_without_weights_take_the_cpu(tmp_path: Path) -> None:
    assert problems(configuration(tmp_path), GPU, {}) == []
    (tmp_path / "tiny").mkdir()
    tiny = big(tmp_path, model_name=str(tmp_path / "tiny"))
    assert problems(tiny, GPU, {}) == []
    assert problems(tiny, HUB, OFFLINE) == [], "what is wrong with a folder, loading says"


def test_weights_that_cannot_be_had_are_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, gpu(0, 140))
    begin = time.monotonic()
    cache = tmp_path / "huggingface" / "hub"
    assert refusal(big(tmp_path, revision="v2")) == (
        f"model_name: the weights of Qwen/Qwen-Image-Edit are not in the cache {cache}, and http://127.0.0.1:9 cannot"
        " be reached; on a machine with a network, run `edit-eval fetch CONFIG` or `hf download Qwen/Qwen-Image-Edit "
        "--revision v2`; or "
        "give a folder"
    )
    assert time.monotonic() - begin < 60
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert "HF_HUB_OFFLINE forbids asking the Hub; on a machine" in refusal(big(tmp_path))


def test_weights_that_are_there_ask_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = tmp_path / "huggingface" / "hub" / "models--Qwen--Qwen-Image-Edit" / "snapshots" / "main"
    snapshot.mkdir(parents=True)
    (snapshot / "model_index.json").write_text("{}")
    monkeypatch.setattr(checks, "hub_answers", None)
    assert problems(big(tmp_path), HUB, {"HF_HOME": str(tmp_path / "huggingface")}) == []


def test_half_a_download_needs_the_hub_too(tmp_path: Path) -> None:
    snapshot = tmp_path / "huggingface" / "hub" / "models--Qwen--Qwen-Image-Edit" / "snapshots" / "main"
    snapshot.mkdir(parents=True)
    (snapshot / "model_index.json").write_text('{"vae": ["diffusers", "AutoencoderKLQwenImage"]}')
    (problem,) = problems(big(tmp_path), HUB, {"HF_HOME": str(tmp_path / "huggingface"), **OFFLINE})
    assert f"are incomplete in the cache ({snapshot / 'vae'} is missing), and http" in problem


def test_an_address_that_lets_us_in() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        assert hub_answers({"HF_ENDPOINT": f"http://{address}"})
        assert hub_answers({"HF_ENDPOINT": "https://nowhere.invalid", "HTTPS_PROXY": f"http://{address}"})
    assert not hub_answers({"HF_ENDPOINT": f"http://{address}"})
    assert not hub_answers({"HF_ENDPOINT": "http://127.0.0.1:port"})


def test_only_models_that_have_something_to_do_are_asked_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = configuration(tmp_path)
    first = evaluate(raw, run_dir="run", report=False)

    def none(context: Context) -> list[Finding]:
        return [
            Finding("devices", "problem", f"no GPU for {wanted.section.parameters}", "buy one")
            for wanted in context.models
        ]

    monkeypatch.setattr(checks, "CHECKS", (CheckRow(none, refuses=True),))
    assert evaluate(raw, run_dir="run", report=False).has_required_coverage
    assert evaluate(raw, run_dir="other", reuse_from=[first.path], report=False).has_required_coverage
    raw["reward_model"]["params"]["default_answer"] = "Score: 6.000"
    for options in ({"run_dir": "run"}, {"run_dir": "new", "reuse_from": [first.path]}):
        with pytest.raises(ConfigurationError, match=r"no GPU for .*Score: 6\.000.*; buy one"):
            evaluate(raw, report=False, **options)
    assert not Path("new").exists(), "what is refused leaves nothing behind"


def test_a_key_that_is_not_there_is_said_before_anything_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    raw = configuration(tmp_path)
    raw["reward_model"] = {"type": "chat_endpoint", "params": {"model": "m"}}
    assert refusal(raw) == (
        "chat_endpoint: the variable OPENAI_API_KEY (api_key_env) is not set; export OPENAI_API_KEY=..."
    )


def test_every_check_is_made_by_doctor_and_some_by_run_and_plan(tmp_path: Path) -> None:
    assert [check.find.__name__ for check in checks.CHECKS if check.refuses] == [
        "double_claims",
        "devices",
        "cards",
        "reachable",
        "weights",
        "keys",
    ]
    assert [check.find.__name__ for check in checks.CHECKS if check.room] == ["loads_at_once", "fits"]


def test_a_server_that_would_take_a_gpu_on_which_another_model_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, gpu(0, 80), gpu(1, 80))
    raw = configuration(tmp_path, edit={"device_ids": [0]}, execution={"placement": "together"})
    params: dict[str, Any] = {"device_ids": [0], "model": str(tmp_path), "serve": {"engine": "vllm"}}
    raw["reward_model"] = {"type": "chat_endpoint", "params": params}

    def obstacle() -> list[Finding]:
        return [*double_claims(Context(load_configuration(raw), LocalMachine({})))]

    assert refusal(raw) == (
        "reward_model.params.serve: the server of chat_endpoint takes 92% of cuda:0 at its start, where testing is to "
        "stay loaded (placement: together); give it less (`serve: {memory: 0.4}`), or write "
        "`execution: {placement: swap}`"
    )
    params["serve"]["memory"] = 0.4
    assert obstacle() == [], "somebody has said how much"
    params["serve"] = {"engine": "vllm", "args": ["--gpu-memory-utilization=0.4"]}
    assert obstacle() == []
    params |= {"serve": {"engine": "vllm"}, "device_ids": [1]}
    assert obstacle() == [], "it has a GPU of its own"
    params |= {"serve": {"engine": "transformers"}, "device_ids": [0]}
    assert obstacle() == [], "it takes what it needs"
