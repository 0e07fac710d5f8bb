"""The language in which this process speaks to people. Records, journals, logs and JSON are always English.

`said` puts a `Text` into that language when it is printed. The catalogue is a gettext file beside this one, and one in
the folder of each guest; a sentence that it lacks is printed in English as a whole.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, overload

from edit_eval.text import CONTEXT, Text, localized

VARIABLE = "EDIT_EVAL_LANG"
_LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG")
_ENTRY = re.compile(r'^(msgctxt|msgid|msgstr) ("(?:[^"\\\n]|\\.)*")', re.MULTILINE)
_HAN = "\u3000-\u303f\u4e00-\u9fff\uff00-\uffef"
_GAP = re.compile(f"(?<=[{_HAN}]) (?=[{_HAN}])|(?<=[，。；：、！？）]) ")

_SEPARATORS = {
    "": "、",
    ", ": "，",
    "; ": "；",
    ": ": "：",
    " and ": "和",
    " or ": "或",
    "; or ": "；或",
    ". ": "。",
    " · ": " · ",
}
"""Separators of lists, English to Chinese."""

_of_run = ""


def speak(language: str) -> None:
    """Sets the language of the instructions of the run that is spoken about from now on; empty for no run."""
    global _of_run
    _of_run = language


def spoken(of_run: str = "", environment: Mapping[str, str] | None = None) -> str:
    """Returns `zh` or `en`, the language for texts about a run in `of_run` (by default the one given to `speak`).

    That is `EDIT_EVAL_LANG`; else Chinese if the run is; else the first of `LC_ALL`, `LC_MESSAGES` and `LANG` that is
    set. English instructions say nothing about who reads a run's numbers.
    """
    environment = os.environ if environment is None else environment
    of_run = of_run or _of_run
    of_locale = (environment.get(name, "") for name in _LOCALE)
    names = (environment.get(VARIABLE, ""), of_run if of_run == "zh" else "", *of_locale)
    return "zh" if next(filter(None, names), "").lower().startswith("zh") else "en"


@overload
def said(value: str, language: str = "") -> str: ...
@overload
def said(value: Any, language: str = "") -> Any: ...
def said(value: Any, language: str = "") -> Any:
    """Returns a Text as a plain `str` in `language`, by default the spoken one. Anything else is data and unchanged."""
    if not isinstance(value, Text):
        return value
    if (language or spoken()) != "zh":
        return str.__str__(value)
    pieces = [piece for piece in localized(value, catalogue(), _SEPARATORS) if piece[0]]
    while pieces and pieces[-1][1] and not value.endswith(" "):  # a template may end with an empty field
        words, _ = pieces.pop()
        if words := words.rstrip(" "):
            pieces.append((words, True))
            break
    ours = [mine for words, mine in pieces for _ in words]
    return _GAP.sub(lambda gap: gap[0][: not ours[gap.start()]], "".join(words for words, _ in pieces))


def said_own(words: str, language: str = "") -> str:
    """Returns a component's or option's own description, looked up as a whole; unchanged if the catalogue lacks it.

    The catalogue has descriptions without their full stop.
    """
    if (language or spoken()) != "zh":
        return words
    bare = words.removesuffix(".") if not words.endswith("..") else words
    chinese = catalogue().get(bare, bare)
    return words if chinese == bare else chinese + "。" * (bare != words)


def worded(code: str) -> Text:
    """Returns a vocabulary word (a status, an activity, a tag, a kind) as a Text: `edit_failed` as `edit failed`.

    The words are in the catalogue; `VOCABULARIES` in its test lists their sources.
    """
    return Text(code.replace("_", " "))


@cache
def catalogue() -> dict[str, str]:
    """Returns the Chinese of each English template, which is prefixed with its context if it has one (`Text.key`)."""
    own = files("edit_eval.reporting").joinpath("zh.po")
    guests = (guest.joinpath("zh.po") for guest in files("edit_eval").joinpath("guests").iterdir())
    text = "\n".join(file.read_text(encoding="utf-8") for file in (own, *guests) if file.is_file()).replace('"\n"', "")
    kinds, quoted = zip(*_ENTRY.findall(text), strict=True)
    chinese: dict[str, str] = {}
    english = context = ""
    for kind, words in zip(kinds, json.loads(f"[{','.join(quoted)}]"), strict=True):
        if kind == "msgctxt":
            context = words + CONTEXT
        elif kind == "msgid":
            english, context = context + words, ""
        elif english and words:
            chinese[english] = words
    return chinese
