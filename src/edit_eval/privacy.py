"""Removes secrets from texts: the values of this process's secret environment variables; and folders of this machine.

Libraries put keys into their exceptions, and servers into their answers; neither may get into a run directory or onto
a terminal. A text is cleaned before it is cut: half a key would not be recognised.

Standard library only: this file also runs in the environments of models.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote, quote_plus

SHORTEST = 8  # characters; a shorter value would be found in innocent text
_SECRET_NAME = re.compile(r"(?:^|_)(?:(?:API)?KEY|KEY_ID|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.I)

_FOLDERS = re.compile(r"(?:file://|(?<![\w./:~…-]))/(?:[^\s/'\"`:,;()]+/)+")


class Secrets:
    """Values to be replaced by `<NAME>`; `values` has them by name. Fewer than eight characters are no secret."""

    def __init__(self, values: Mapping[str, str]) -> None:
        forms = {
            form: f"<{name}>"
            for name, value in values.items()
            if len(value) >= SHORTEST
            for form in _forms(value)
            if len(form) >= SHORTEST
        }
        # The longest first: a key may be part of another one, or of its own longer form.
        self._forms = sorted(forms.items(), key=lambda form: -len(form[0]))

    def hide_in_text(self, text: str) -> str:
        """Returns the text without the secrets, in any of their usual forms."""
        for form, name in self._forms:
            text = text.replace(form, name)
        return text

    def hide_in_value(self, value: Any) -> Any:
        """Returns a plain value with all texts in it cleaned, at any depth."""
        return map_texts(self.hide_in_text, value)


def map_texts(change: Callable[[str], str], value: Any) -> Any:
    """Returns a plain value with all texts in it changed, at any depth."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {map_texts(change, key): map_texts(change, inner) for key, inner in value.items()}
    return [map_texts(change, inner) for inner in value] if isinstance(value, (list, tuple)) else value


def hide_folders(text: str) -> str:
    """Returns the text with `…/` for the folders of each absolute path: whoever gets it does not have them."""
    return _FOLDERS.sub("…/", text) if _FOLDERS.search(text) else text


def secrets_of(environment: Mapping[str, str]) -> Secrets:
    """Returns the secrets among environment variables, recognised by their names."""
    # Called for every message of a worker: only the values of secrets are read, and their forms made once.
    return _make_secrets(tuple((name, environment[name]) for name in environment if is_secret_name(name)))


def hide_secrets(text: str) -> str:
    """Returns the text without the secrets in this process's current environment."""
    return secrets_of(os.environ).hide_in_text(text)


@lru_cache(maxsize=1024)
def is_secret_name(name: str) -> bool:
    """True if an environment variable of that name holds a secret."""
    return _SECRET_NAME.search(name) is not None


@lru_cache(maxsize=4)
def _make_secrets(values: tuple[tuple[str, str], ...]) -> Secrets:
    return Secrets(dict(values))


def _forms(value: str) -> Iterator[str]:
    """Yields a secret as it is, inside JSON, in a URL, and in base64 at any offset."""
    for form in (value, *(write(value, safe="", errors="surrogateescape") for write in (quote, quote_plus))):
        for ascii_only in (True, False):
            escaped = form
            for _ in range(3):  # an error message in JSON in a message in JSON
                yield escaped
                escaped = json.dumps(escaped, ensure_ascii=ascii_only)[1:-1]
    data = value.encode(errors="surrogateescape")
    for before in range(3):  # three bytes become four characters: those shared with a neighbour are not the secret's
        begin, end = -(-before * 8 // 6), (before + len(data)) * 8 // 6
        encoded = base64.b64encode(bytes(before) + data)[begin:end].decode()
        yield encoded
        yield encoded.replace("+", "-").replace("/", "_")
