"""Documents as JSON."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import numpy as np
import pytest

from edit_eval.reporting.documents import encode_document
from edit_eval.text import Text


class Said(msgspec.Struct):
    value: Any


@pytest.mark.parametrize("number", [float("nan"), float("inf"), np.float64("nan")])
def test_a_number_that_json_lacks_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        encode_document(Said({"mean": [number]}))


def test_sentences_are_english_and_a_name_that_is_no_unicode_is_readable() -> None:
    document = json.loads(encode_document(Said([Text("{} of {}", 3, 5), np.int64(2), "a\udc80"])))
    assert document["value"][:2] == ["3 of 5", 2]
    assert document["value"][2].isprintable()
