"""Secrets are taken out of texts, in each form in which programs repeat them."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus

import pytest

from edit_eval.privacy import Secrets, hide_secrets, secrets_of

KEY = "sk+C/N A=RY-'4f1\"b09\\d2"


@pytest.mark.parametrize(
    "form",
    [
        KEY,
        json.dumps(KEY)[1:-1],
        json.dumps(json.dumps(KEY)),
        quote(KEY, safe=""),
        quote_plus(KEY),
        *(base64.b64encode(f"{user}:{KEY}".encode()).decode() for user in ("", "a", "ab", "user")),
        *(base64.urlsafe_b64encode(f"{before}{KEY}!".encode()).decode() for before in ("", "a", "ab")),
    ],
)
def test_in_each_form(form: str) -> None:
    hidden = Secrets({"MY_KEY": KEY}).hidden(f"before {form} after")
    assert "<MY_KEY>" in hidden
    assert hidden.startswith("before ")
    assert hidden.endswith(" after")
    assert not any(form[i : i + 8] in hidden for i in range(len(form) - 8) if " " not in form[i : i + 8])


def test_the_longer_of_two_goes_first() -> None:
    secrets = Secrets({"SHORT_KEY": "12345678", "LONG_KEY": "1234567890"})
    assert secrets.hidden("1234567890 12345678") == "<LONG_KEY> <SHORT_KEY>"


def test_at_any_depth_and_nothing_else_is_touched() -> None:
    message = {"a": ["12345678", 3, None, {"12345678": True}], "b": ("x12345678",), "c": 1.5}
    hidden = Secrets({"K": "12345678"}).hidden_in(message)
    assert hidden == {"a": ["<K>", 3, None, {"<K>": True}], "b": ["x<K>"], "c": 1.5}


def test_of_the_environment_as_it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SERVERS_TOKEN", "later-than-the-start")
    assert hide_secrets("it is later-than-the-start") == "it is <A_SERVERS_TOKEN>"


def test_odd_values_are_no_fault() -> None:
    odd = {"A_KEY": "\udcff\udcfe12345678", "B_KEY": "ключ-от-всего", "C_KEY": "", "D_KEY": "short"}
    assert secrets_of(odd).hidden("ключ-от-всего short") == "<B_KEY> short"
    assert secrets_of(odd).hidden(json.dumps("ключ-от-всего")) == '"<B_KEY>"'
