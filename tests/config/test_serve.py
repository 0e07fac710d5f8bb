"""`serve`: what is refused before anything is loaded, and what of it is in a key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from edit_eval.config.identity import identity
from edit_eval.config.loading import load_configuration
from edit_eval.errors import ConfigurationError
from small_benchmark import configuration

VLLM = {"engine": "vllm", "args": ["--max-model-len", 16384]}


def written(folder: Path, kind: str = "judge", **params: Any) -> dict[str, Any]:
    raw = configuration(folder)
    section, name = ("reward_model", "chat_endpoint") if kind == "judge" else ("diffusion_model", "image_endpoint")
    raw[section] = {"type": name, "params": {"model": "Org/Model", **params}}
    return raw


def key_of(folder: Path, **params: Any) -> tuple[str, dict[str, Any]]:
    loaded = load_configuration(written(folder, **params))
    judge = identity(loaded.judges["chat_endpoint"], folder, "judge")
    return judge.digest, dict(judge.parameters)


@pytest.mark.parametrize(
    ("kind", "serve", "line"),
    [
        ("judge", {"engine": "vlm"}, ".engine: must be `vllm`, .*; did you mean `vllm`?"),
        ("judge", {"args": []}, r"\.engine: missing"),
        ("judge", {"engine": "vllm", "arg": []}, r"\.arg: unknown key"),
        ("judge", {"engine": "vllm", "args": ["--port=3"]}, ": args: --port is set by edit-eval; leave it out"),
        ("judge", {"engine": "sglang", "args": ["--served_model_name", "x"]}, ": args: --served-model-name is set"),
        ("judge", {"engine": "vllm", "memory": 1.5}, ": memory: 1.5 is not a share of a GPU's memory"),
        ("judge", {"engine": "vllm", "command": ["x"]}, ": command: is for the engine `command`, not vllm"),
        ("judge", {"engine": "command"}, ": command: say which, as a list"),
        ("judge", {"engine": "command", "command": ["x"]}, ": command: it must contain {port}"),
        (
            "judge",
            {"engine": "command", "command": ["{port}"], "args": ["x"]},
            ": args: with the engine `command`, put",
        ),
        ("judge", {"engine": "transformers", "memory": 0.5}, ": transformers takes the memory it needs"),
        ("judge", {"engine": "vllm-omni"}, ": vllm-omni has no /v1/chat/completions; vllm, sglang, transformers and"),
        ("edit", {"engine": "vllm"}, ": vllm has no /v1/images/edits; sglang, vllm-omni and `command` have"),
    ],
)
def test_what_cannot_be_is_refused_at_its_place(tmp_path: Path, kind: str, serve: dict[str, Any], line: str) -> None:
    section = "reward_model" if kind == "judge" else "diffusion_model"
    with pytest.raises(ConfigurationError, match=rf"{section}\.params\.serve{line}"):
        load_configuration(written(tmp_path, kind, serve=serve))


def test_an_address_beside_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"reward_model\.params\.base_url: edit-eval starts the server itself"):
        load_configuration(written(tmp_path, serve=VLLM, base_url="http://localhost:8000/v1"))


def test_engine_and_arguments_are_in_the_key_and_what_says_where_and_how_is_not(tmp_path: Path) -> None:
    first, parameters = key_of(tmp_path, serve=VLLM)
    assert parameters["serve"] == {"engine": "vllm", "args": ["--max-model-len", "16384"], "command": []}
    same = {"python": "python3", "load_timeout": 60, "devices_per_replica": 2, "device_ids": [0, 1], "concurrency": 2}
    assert key_of(tmp_path, serve={**VLLM, "memory": 0.5}, **same)[0] == first
    others = [{"engine": "sglang", "args": VLLM["args"]}, {"engine": "vllm"}, None]
    assert len({first, *(key_of(tmp_path, serve=other)[0] for other in others)}) == 4
    assert "serve" not in key_of(tmp_path)[1], "keys of servers that others run are as before there was `serve`"


@pytest.mark.parametrize("kind", ["judge", "edit"])
def test_a_folder_of_weights_that_our_server_loads_is_in_the_key(tmp_path: Path, kind: str) -> None:
    (tmp_path / "weights").mkdir()
    engine = {"engine": "sglang"}

    def key(text: str, **params: Any) -> str:
        (tmp_path / "weights" / "model.safetensors").write_text(text)
        loaded = load_configuration(written(tmp_path, kind, **{**params, "model": str(tmp_path / "weights")}))
        section = loaded.judges["chat_endpoint"] if kind == "judge" else loaded.edit_models["image_endpoint"]
        return identity(section, tmp_path, "judge" if kind == "judge" else "edit_model").digest

    assert key("before", serve=engine) == key("before", serve=engine) != key("trained on", serve=engine)
    assert key("before") == key("trained on"), "another's server may know anything by that name"


def test_the_resolved_configuration_says_it_again(tmp_path: Path) -> None:
    loaded = load_configuration(written(tmp_path, serve={**VLLM, "memory": 0.5}, python="python3"))
    again = load_configuration(loaded.as_plain())
    first, second = loaded.judges["chat_endpoint"], again.judges["chat_endpoint"]
    assert (first.parameters, first.placement) == (second.parameters, second.placement)
    assert second.server_share == 0.5
