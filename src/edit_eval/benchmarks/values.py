"""What a value of a benchmark's file is called, and which word was probably meant, for errors and notes."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from edit_eval.text import Text


def nearest(word: str, valid: Sequence[str]) -> str:
    """For the end of an error: the valid word that was probably meant, or all of them."""
    near = difflib.get_close_matches(word, valid, n=1)
    return Text("did you mean {!r}?", near[0]) if near else Text("valid are {}", valid)


def kind(value: object) -> str:
    """What a JSON value is, for people."""
    kinds = {
        str: Text("a string"),
        bool: Text("a boolean"),
        list: Text("a list"),
        dict: Text("an object"),
        type(None): "null",
    }
    return kinds.get(type(value), Text("a number"))


def shown(text: str) -> str:
    """A stranger's text in one short line of ours."""
    return repr(text if len(text) <= 80 else text[:77] + "...")
