"""Keys and passwords in a configuration: it must have none, since it is written into the run directory.

They are recognised by the name of their key, their place in a URL, and their own form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from edit_eval.privacy import is_secret_name
from edit_eval.text import Text

SECRET_SHOWN = Text("<from the environment>")

REQUEST_PARTS = ("extra_query", "extra_body", "extra_headers", "default_query", "default_headers", "headers")
"""Keys that hold parts of a request."""

KEYS = "sk-|sk_|rk_|gsk_|hf_|ghp_|github_pat_|glpat-|xai-|nvapi-|pplx-|csk-|r8_|xoxb-|AIza|AKIA|ASIA"
"""Prefixes of the keys of well-known services: OpenAI and Anthropic, Stripe, Groq, Hugging Face, GitHub, GitLab, xAI,
NVIDIA, Perplexity, Cerebras, Replicate, Slack, Google, AWS."""

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:api_?key|secret(?:_?key)?|access_key|private_key|subscription_key|password|passwd|passphrase"
    r"|(?:api|access|write|auth|hf|bearer|refresh|private|session)_token|credentials?)$"
    r"|^(?:x_)?auth(?:_key)?$|^(?:token|authorization|bearer|jwt|cookie)$",
    re.IGNORECASE,
)
_SECRET_IN_REQUEST = re.compile(r"key|sig|signature|pass|pwd|code|authentication", re.IGNORECASE)  # harmless elsewhere
_PASSWORD_IN_URL = re.compile(r"(?<=://)[^/@\s]*:[^/@\s]*@")
_ADDRESS = re.compile(r"https?://[^\s\"'<>]+", re.IGNORECASE)
_A_KEY = re.compile(rf"(?:{KEYS})(?=.*[0-9])[A-Za-z0-9_-]{{16,}}|(?:Bearer|Basic)\s+\S{{8,}}")
_A_KEY_WITHIN = re.compile(rf"(?<![A-Za-z0-9])(?:{KEYS})(?=[A-Za-z0-9_-]*[0-9])[A-Za-z0-9_-]{{16,}}")
_NO_NAME = re.compile(rf"(?:{KEYS})\w{{8,}}|(?:.*_)?(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[A-Za-z0-9]{{20,}}(?:_.*)?")


def is_secret(place: Sequence[str], value: object) -> bool:
    """True if the value at a place is a secret, which no file may have; the last part of the place is its own key."""
    name = place[-1] if place else ""
    if isinstance(value, str):
        if _PASSWORD_IN_URL.search(value) or any(map(_carries_secret, _ADDRESS.findall(value))):
            return True
        if _A_KEY.fullmatch(value.strip()) or (name.endswith("_env") and _NO_NAME.fullmatch(value.strip())):
            return True
    in_request = any(part in REQUEST_PARTS for part in place[:-1])
    return _is_secret_name(name, in_request) and value not in (None, "")


def is_secret_command(place: Sequence[str], value: object) -> bool:
    """True if the value is a server's command line (`serve.command`, `serve.args`) with a key in it.

    Finds `--api-key x`, `--api-key=x`, `HF_TOKEN=x`, and a key by its form, also within a shell script. `$NAME` is
    allowed: the shell fills in the key.
    """
    if tuple(place[-2:]) not in (("serve", "command"), ("serve", "args")) or not isinstance(value, list | tuple):
        return False
    words = [word for argument in value for word in str(argument).split()]
    for word, after in zip(words, [*words[1:], ""], strict=False):
        name, sign, given = word.strip("\"'").partition("=")
        if not sign and name.startswith("-"):
            given = "" if after.startswith("-") else after
        plain = name.lstrip("-")
        named = _is_secret_name(plain, in_request=False) or (plain == name and is_secret_name(plain))
        given = given.strip("\"'")
        if named and given and not re.fullmatch(r"\$(\w+|\{\w+\})", given):
            return True
        if _A_KEY_WITHIN.search(word):
            return True
    return False


def are_prompts(place: Sequence[str], value: object) -> bool:
    """True if the value is a judge's prompts by category, which may mention passwords."""
    here = tuple(place) == ("prompts",) or tuple(place[-2:]) == ("protocol", "prompts")
    return here and isinstance(value, Mapping)


def mask_secrets(value: Any, place: tuple[str, ...] = ()) -> Any:
    """Returns a copy with every secret replaced by `<from the environment>`."""
    if are_prompts(place, value):
        return value
    if place and (is_secret(place, value) or is_secret_command(place, value)):
        return SECRET_SHOWN
    if isinstance(value, Mapping):
        return {key: mask_secrets(inner, (*place, str(key))) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [mask_secrets(inner, (*place, str(index))) for index, inner in enumerate(value)]
    return value


def _is_secret_name(name: str, in_request: bool) -> bool:
    plain = name.replace("-", "_")
    return bool(_SECRET_NAME.search(plain) or (in_request and _SECRET_IN_REQUEST.fullmatch(plain)))


def _carries_secret(address: str) -> bool:
    """True if a URL contains a user, a password or a key."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "@" in address
    pairs = f"{parts.query}&{parts.fragment}".split("&")
    names = [pair.partition("=")[0] for pair in pairs if not pair.endswith("=")]
    return "@" in parts.netloc or any(_is_secret_name(name, in_request=True) for name in names)
