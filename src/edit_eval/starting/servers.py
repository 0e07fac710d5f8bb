"""Which models a server has: asked once, at its `/models`, as every server of the OpenAI protocol has it."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from typing import Any

from edit_eval.errors import ConfigurationError
from edit_eval.text import Text

SECONDS = 10.0
LARGEST = 4 << 20
KEY = "OPENAI_API_KEY"


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments: Any) -> None:
        return None


def only_model(flag: str, address: str) -> str:
    """The model of a server that has one. Raises `ConfigurationError` where it has others, or does not answer."""
    request = urllib.request.Request(f"{address.rstrip('/')}/models")
    if key := os.environ.get(KEY):
        request.add_header("Authorization", f"Bearer {key}")
    more = Text("name its model: `{} MODEL@{}`", flag, address)
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=SECONDS) as answer:
            document = json.loads(answer.read(LARGEST))
        names = [str(model["id"]) for model in document["data"]]
    except urllib.error.HTTPError as error:
        hint = Text("; does the address end with /v1?") if error.code == 404 else ""
        raise ConfigurationError(
            Text("{} {}: it does not say which models it has ({}){}; {}", flag, address, error.code, hint, more)
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        words = getattr(reason, "strerror", None) or str(reason)
        raise ConfigurationError(
            Text("{} {}: no answer ({}); start the server, or {}", flag, address, words, more)
        ) from None
    except (KeyError, TypeError):
        raise ConfigurationError(Text("{} {}: its list of models is unreadable; {}", flag, address, more)) from None
    if len(names) == 1:
        return names[0]
    there = Text("it has {}", names[:8]) if names else Text("it names no model")
    raise ConfigurationError(Text("{} {}: {}; say which: `{} MODEL@{}`", flag, address, there, flag, address))
