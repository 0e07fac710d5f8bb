"""The language in which this process speaks to people. Records, journals, logs and JSON are English whatever it is."""

from __future__ import annotations

import os
from collections.abc import Mapping

from edit_eval.reporting.chinese.catalog import in_chinese, whole_in_chinese, word_in_chinese

VARIABLE = "EDIT_EVAL_LANG"
_LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG")

_of_run = ""


def speak(language: str) -> None:
    """From now on it is about a run whose instructions are in `language`; with an empty one about none."""
    global _of_run
    _of_run = language


def spoken(of_run: str = "", environment: Mapping[str, str] | None = None) -> str:
    """`zh` or `en`, for what is about a run in `of_run` (else the one that was named to `speak`).

    What `EDIT_EVAL_LANG` says; else Chinese if the run is; else the first of `LC_ALL`, `LC_MESSAGES` and `LANG` that is
    set. A run whose instructions are English says nothing about who reads its numbers.
    """
    environment = os.environ if environment is None else environment
    of_run = of_run or _of_run
    of_locale = (environment.get(name, "") for name in _LOCALE)
    names = (environment.get(VARIABLE, ""), of_run if of_run == "zh" else "", *of_locale)
    return "zh" if next(filter(None, names), "").lower().startswith("zh") else "en"


def said(text: str) -> str:
    """A text of the program, in the language that is spoken."""
    return in_chinese(text) if spoken() == "zh" else text


def said_word(word: str) -> str:
    """A heading, a tag or a cell, in the language that is spoken."""
    return word_in_chinese(word) if spoken() == "zh" else word


def said_whole(text: str) -> str:
    """What a component says of itself, in the language that is spoken; one that is not of ours is left as it is."""
    return whole_in_chinese(text) if spoken() == "zh" else text
