"""What nobody may read: the secrets among this process's environment variables, taken out of texts.

Libraries put keys into their exceptions, and servers into their answers; neither may come into a run directory or onto
a terminal. A text is cleaned before it is cut: of a key that was cut in two, nobody would know either half.

Standard library only: this file also runs in the environments of models.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote, quote_plus

SHORTEST = 8  # characters; a shorter value would be found in innocent text
_SECRET_NAME = re.compile(r"(?:^|_)(?:(?:API)?KEY|KEY_ID|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.I)


class Secrets:
    """Values that are replaced by `<NAME>`; `values` has them by name. One of fewer than eight characters is none."""

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

    def hidden(self, text: str) -> str:
        """The text without them, in whichever of the usual forms they stand there."""
        for form, name in self._forms:
            text = text.replace(form, name)
        return text

    def hidden_in(self, value: Any) -> Any:
        """The same for all texts of a plain value, at any depth."""
        if isinstance(value, str):
            return self.hidden(value)
        if isinstance(value, dict):
            return {self.hidden_in(key): self.hidden_in(inner) for key, inner in value.items()}
        return [self.hidden_in(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def secrets_of(environment: Mapping[str, str]) -> Secrets:
    """The secrets among environment variables, known by their names."""
    # Asked for with every message of a worker: only the values of secrets are read, and their forms made once.
    return _known(tuple((name, environment[name]) for name in environment if is_secret_name(name)))


def hide_secrets(text: str) -> str:
    """The text without the secrets of this process's environment, as it is now."""
    return secrets_of(os.environ).hidden(text)


@lru_cache(maxsize=1024)
def is_secret_name(name: str) -> bool:
    """Whether an environment variable of that name holds a secret."""
    return _SECRET_NAME.search(name) is not None


@lru_cache(maxsize=4)
def _known(values: tuple[tuple[str, str], ...]) -> Secrets:
    return Secrets(dict(values))


def _forms(value: str) -> Iterator[str]:
    """A secret as it is, inside JSON, in an address, and in base64, whatever stands before it there."""
    for form in (value, *(write(value, safe="", errors="surrogateescape") for write in (quote, quote_plus))):
        for ascii_only in (True, False):
            escaped = form
            for _ in range(3):  # an error's text in JSON in a message in JSON
                yield escaped
                escaped = json.dumps(escaped, ensure_ascii=ascii_only)[1:-1]
    data = value.encode(errors="surrogateescape")
    for before in range(3):  # three bytes become four signs: those shared with a neighbour are not the secret's own
        begin, end = -(-before * 8 // 6), (before + len(data)) * 8 // 6
        encoded = base64.b64encode(bytes(before) + data)[begin:end].decode()
        yield encoded
        yield encoded.replace("+", "-").replace("/", "_")
