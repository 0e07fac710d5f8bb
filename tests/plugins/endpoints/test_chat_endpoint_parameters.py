"""The parameters of a judge behind a server: which are refused, and which are part of a key."""

from __future__ import annotations

from typing import Any

import pytest

from edit_eval.plugins.endpoints.in_worker.chat_endpoint import ChatEndpoint
from edit_eval.workers.model_class import key_parameters


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"call": {"messages": []}}, "call: messages"),
        ({"call": {"extra_headers": {}}}, "call: extra_headers"),
        ({"base_url": "localhost:8000/v1"}, "base_url: it begins with http://"),
        ({"api_key_env": "sk-123456"}, "api_key_env: it takes the NAME"),
        ({"concurrency": 0}, "concurrency"),
        ({"deadline": float("nan")}, "deadline"),
        ({"attempt_timeout": 0.0}, "attempt_timeout"),
        ({"retries": -1}, "retries"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"thinking_tokens": 0}, "thinking_tokens"),
    ],
)
def test_parameters_that_cannot_be_meant_are_refused(parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ChatEndpoint.Parameters(model="judge", **parameters)


def test_where_the_server_is_and_how_often_it_is_asked_is_no_part_of_a_key() -> None:
    values = vars(ChatEndpoint.Parameters(model="judge", base_url="http://node17:8000/v1"))
    assert set(key_parameters(ChatEndpoint, values)) == {
        *("model", "revision", "max_pixels", "max_tokens", "temperature", "call"),
        *("thinking", "thinking_tokens", "probabilities"),
    }
