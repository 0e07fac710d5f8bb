"""Documents as JSON: what `--json` prints, and the files of a report."""

from __future__ import annotations

from typing import Any

import msgspec

from edit_eval.reporting.language import said
from edit_eval.reporting.terminal_text import readable


def encoded(document: Any, *, indent: int = 2) -> str:
    """Returns a document, a msgspec Struct or plain data, as JSON: sentences in English, None for a number that JSON
    lacks."""
    try:
        written = msgspec.json.encode(document, enc_hook=_plain_value)
    except UnicodeEncodeError:  # a lone surrogate, as in a file's name or a judge's answer
        plain = msgspec.to_builtins(document, enc_hook=_plain_value, str_keys=True)
        written = msgspec.json.encode(readable(plain), enc_hook=_plain_value)
    return msgspec.json.format(written, indent=indent).decode()


def _plain_value(value: Any) -> Any:
    """Returns a number of NumPy's as Python's, and a Text as its English words."""
    if isinstance(value, str):
        return str(said(value, "en"))  # of a note, too, which is a string with a kind
    if hasattr(value, "item"):
        return value.item()
    raise NotImplementedError(type(value).__name__)
