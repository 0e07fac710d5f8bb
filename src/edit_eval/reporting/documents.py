"""Documents as JSON: what `--json` prints, and the files of a report."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from edit_eval.reporting.language import translate
from edit_eval.reporting.terminal_text import readable


def encode_document(document: Any, *, indent: int = 2) -> str:
    """Returns a document, a msgspec Struct or plain data, as JSON, with sentences in English.

    Raises `ValueError` for a number that JSON lacks: what is not known is None, with its reason, and never NaN.
    """
    compact = json.dumps(plain(document), ensure_ascii=False, allow_nan=False)
    return msgspec.json.format(compact, indent=indent)  # twice as fast as `indent` of `json`, which is Python


def plain(document: Any) -> Any:
    """Returns a document as what JSON has: dictionaries, lists, numbers, texts in English."""
    return readable(msgspec.to_builtins(document, enc_hook=_plain_value, str_keys=True))


def _plain_value(value: Any) -> Any:
    """Returns a number of NumPy's as Python's, and a Text as its English words."""
    if isinstance(value, str):
        return str(translate(value, "en"))  # of a note, too, which is a string with a kind
    if hasattr(value, "item"):
        return value.item()
    raise NotImplementedError(type(value).__name__)
