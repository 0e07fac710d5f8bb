"""A key in a configuration is refused wherever it stands, and never repeated; what only looks like one is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from edit_eval.config.loading import load_configuration
from edit_eval.config.secret_values import SECRET_SHOWN, is_secret, is_secret_command, mask_secrets
from edit_eval.errors import ConfigurationError

CANARY = "CANARY4f1b09d2CANARY"


@pytest.mark.parametrize(
    "params",
    [
        {"base_url": f"http://h/v1?api_key={CANARY}"},
        {"base_url": f"http://h/v1?version=2&key={CANARY}"},
        {"base_url": f"https://h/v1?sig={CANARY}"},
        {"base_url": f"https://h/v1#token={CANARY}"},
        {"base_url": f"http://{CANARY}@h/v1"},
        {"base_url": f"http://user:{CANARY}@h/v1"},
        {"base_url": f"HTTPS://{CANARY}@h/v1"},
        {"api_key_env": f"gsk_{CANARY}"},
        {"api_key_env": f"hf_{CANARY}"},
        {"api_key_env": f"my_{CANARY}"},
        {"api_key_env": f"sk-{CANARY}"},
        {"model": f"sk-proj-{CANARY}"},
        {"call": {"extra_body": {"auth": CANARY}}},
        {"call": {"extra_body": {"auth": {"value": CANARY}}}},
        {"call": {"extra_body": {"provider": {"key": CANARY}}}},
        {"call": {"extra_query": {"key": CANARY}}},
        {"call": {"extra_query": {"code": CANARY}}},
        {"call": {"extra_headers": {"X-Api-Key": CANARY}}},
        {"call": {"extra_headers": {"Ocp-Apim-Subscription-Key": CANARY}}},
        {"call": {"extra_headers": {"Cookie": CANARY}}},
        {"call": {"extra_body": {"header": f"Bearer {CANARY}"}}},
    ],
    ids=str,
)
@pytest.mark.parametrize("section", ["reward_model", "diffusion_model"])
def test_a_key_is_refused_in_one_line_that_says_where_it_belongs(section: str, params: dict[str, Any]) -> None:
    """Whatever the class is: a model of one's own has the same rule as ours."""
    testing = {"type": "testing", "params": {"device_ids": "cpu"}}
    raw: dict[str, Any] = {"benchmark": {"type": "scenes", "count": 1}}
    raw |= {"diffusion_model": testing, "reward_model": testing}
    raw[section] = {"type": "chat_endpoint", "params": {"model": "m", **params}}
    with pytest.raises(ConfigurationError, match="do not put secrets in a configuration; keep them in an env") as no:
        load_configuration(raw)
    assert "api_key_env" in str(no.value)
    assert CANARY not in str([no.value, getattr(no.value, "__notes__", [])])


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("base_url", "http://127.0.0.1:8000/v1"),
        ("base_url", "https://h/v1?api-version=2024-02-01"),
        ("base_url", "https://h/v1?key="),
        ("base_url", "https://h/v1#chat"),
        ("api_key_env", "OPENAI_API_KEY"),
        ("api_key_env", "MY_SECOND_GROQ_KEY_2024"),
        ("api_key_env", "hf_token"),
        ("api_key_env", "key_of_the_second_server_in_room_17"),
        ("model", "Qwen/Qwen3-VL-30B-A3B-Instruct-FP8"),
        ("model", "hf_models_of_mine_from_2024/x"),
        ("key", "id"),
        ("call.prompt_cache_key", "edits"),
        ("call.extra_body.stop_token_ids", [1, 2]),
        ("call.extra_body.min_tokens", 3),
        ("call.extra_body.author", "me"),
        ("call.extra_body.top_k", 1),
        ("call.extra_headers.X-Title", "edit-eval"),
        ("max_tokens", 12),
        ("token", ""),
        ("password", None),
        ("name", "ssh://git@h/x"),
        ("text", "write to a@b.c, or see https://h/x"),
    ],
)
def test_what_is_none_is_left_alone(place: str, value: object) -> None:
    assert not is_secret(place.split("."), value)


def test_what_a_class_has_by_default_is_not_written_either() -> None:
    shown: Callable[[Any], Any] = mask_secrets
    assert shown({"call": {"extra_query": {"key": "x"}}, "key": "id"}) == {
        "call": {"extra_query": {"key": SECRET_SHOWN}},
        "key": "id",
    }
    assert shown([["http://u@h"], ("a", 1)]) == [[SECRET_SHOWN], ["a", 1]]


KEY = "sk-proj-0123456789abcdef0123"
IN_COMMANDS = (
    ["serve", "--api-key", "hunter2"],
    ["serve", "--api-key=hunter2"],
    ["serve", "--admin-api-key=hunter2"],
    ["env", "HF_TOKEN=hunter2", "serve"],
    ["env", "DATABASE_PASSWORD=hunter2", "serve"],
    ["serve", KEY],
    ["serve", f"--header=X:{KEY}"],
    ["sh", "-c", "HF_TOKEN='hunter2' serve --port 1"],
    ["sh", "-c", "serve --token hunter2"],
)


@pytest.mark.parametrize("words", IN_COMMANDS)
@pytest.mark.parametrize("key", ["command", "args"])
def test_a_key_in_a_servers_command_line(words: list[str], key: str) -> None:
    assert is_secret_command(("reward_model", "params", "serve", key), words)
    assert "hunter2" not in str(mask_secrets({"serve": {key: words}}))


@pytest.mark.parametrize(
    "words",
    [
        ["serve", "--max-model-len", "16384", "--tokenizer", "org/name", "--ssl-keyfile", "/etc/key.pem"],
        ["sh", "-c", "serve --api-key $VLLM_API_KEY --token=${HF_TOKEN} --port {port}"],
        ["serve", "--api-key", "--port", "{port}", "sk-model"],
        ["serve", "--max-token=7", "--enable-token-ids"],
    ],
)
def test_an_innocent_command_line(words: list[str]) -> None:
    assert not is_secret_command(("serve", "command"), words)
