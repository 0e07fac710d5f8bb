"""What the values of others' tables come to, whichever reader they come through: text, numbers, lists, or nothing."""

from __future__ import annotations

import ast
import datetime
import decimal
import json
import math
import re
import uuid
from collections.abc import Mapping
from typing import Any

from edit_eval.errors import EditEvalError
from edit_eval.text import Text

_AS_TEXT = (datetime.date, datetime.time, datetime.timedelta, decimal.Decimal, uuid.UUID)
"""Types whose `str` is what people write."""
_STRING = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
_STRINGS = re.compile(rf"\[\s*(?:{_STRING}(?:\s*,\s*|\s+|(?=\])))*\]", re.DOTALL)
_LONGEST = 1 << 24
_NESTED = 64


class NoPlainValue(EditEvalError):
    """A value for which there is neither a text nor a number nor a list of these."""


def plain_value(value: Any, depth: int = 0) -> Any:
    """Returns a value as JSON has it: None for NaN and infinities, the text of dates, decimals and the like.

    Raises `NoPlainValue` for what has none, such as bytes that are no text.
    """
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, _AS_TEXT):
        return str(value)
    if depth < _NESTED:
        if isinstance(value, Mapping):
            return {str(name): plain_value(member, depth + 1) for name, member in value.items()}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [plain_value(member, depth + 1) for member in value]
    if isinstance(value, (bytes, bytearray)):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise NoPlainValue(Text("bytes that are no text")) from None
    if hasattr(value, "item") and not hasattr(value, "__len__"):  # a number of numpy's
        return plain_value(value.item(), _NESTED)
    raise NoPlainValue(Text("a value of the type {}", type(value).__name__))


def text_of_value(value: Any) -> str | None:
    """Returns the text of a plain value: the digits of a whole number, even if it comes as 1.0; None if it has none."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return None if isinstance(value, bool) or not isinstance(value, (int, float)) else str(value)


def parse_list(text: str) -> list[Any] | None:
    """Returns the list that a cell holds as JSON, as Python or as numpy writes one; None if it holds none."""
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]") and len(text) < _LONGEST):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        if not _STRINGS.fullmatch(text):
            return None
        try:
            value = [ast.literal_eval(each) for each in re.findall(_STRING, text, re.DOTALL)]
        except (ValueError, SyntaxError):
            return None
    return value if isinstance(value, list) else None
