"""The language in which this process speaks to people. Records, journals, logs and JSON are always English.

`said` puts a `Text` into that language when it is printed. A language is a row in `languages.py`, a gettext catalogue
beside it, and one in the folder of each plug-in; a sentence that they lack is printed in English as a whole.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, overload

from edit_eval.reporting.languages import ENGLISH, SPOKEN
from edit_eval.text import CONTEXT, Text, translate_pieces

VARIABLE = "EDIT_EVAL_LANG"
_LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG")
_ENTRY = re.compile(r'^(msgctxt|msgid|msgstr) ("(?:[^"\\\n]|\\.)*")', re.MULTILINE)

_of_run = ""


def set_language(language: str) -> None:
    """Sets the language of the instructions of the run that is spoken about from now on; empty for no run."""
    global _of_run
    _of_run = language


def current_language(of_run: str = "", environment: Mapping[str, str] | None = None) -> str:
    """Returns the code of the language for texts about a run in `of_run` (by default the one given to `set_language`).

    That is `EDIT_EVAL_LANG`; else that of the run unless it is English; else the first of `LC_ALL`, `LC_MESSAGES` and
    `LANG` that is set. English instructions say nothing about who reads a run's numbers.
    """
    environment = os.environ if environment is None else environment
    of_run = of_run or _of_run
    of_locale = (environment.get(name, "") for name in _LOCALE)
    names = (environment.get(VARIABLE, ""), of_run if of_run != ENGLISH else "", *of_locale)
    name = next(filter(None, names), "").lower()
    return next((code for code in SPOKEN if name.startswith(code)), ENGLISH)


@overload
def translate(value: str, language: str = "") -> str: ...
@overload
def translate(value: Any, language: str = "") -> Any: ...
def translate(value: Any, language: str = "") -> Any:
    """Returns a Text as a plain `str` in `language`, by default the spoken one. Anything else is data and unchanged."""
    if not isinstance(value, Text):
        return value
    language = language or current_language()
    if language == ENGLISH:
        return str.__str__(value)
    typography = SPOKEN[language]
    pieces = [piece for piece in translate_pieces(value, catalogue(language), typography.separators) if piece[0]]
    while pieces and pieces[-1][1] and not value.endswith(" "):  # a template may end with an empty field
        words, _ = pieces.pop()
        if words := words.rstrip(" "):
            pieces.append((words, True))
            break
    ours = [mine for words, mine in pieces for _ in words]
    return typography.remove_gaps("".join(words for words, _ in pieces), ours)


def translate_description(words: str, language: str = "") -> str:
    """Returns a component's or option's own description, looked up as a whole; unchanged if the catalogue lacks it.

    The catalogue has descriptions without their full stop.
    """
    language = language or current_language()
    if language == ENGLISH:
        return words
    bare = words.removesuffix(".") if not words.endswith("..") else words
    translated = catalogue(language).get(bare, bare)
    return words if translated == bare else translated + SPOKEN[language].stop * (bare != words)


def code_to_text(code: str) -> Text:
    """Returns a vocabulary word (a status, an activity, a tag, a kind) as a Text: `edit_failed` as `edit failed`.

    The words are in the catalogue; `VOCABULARIES` in its test lists their sources.
    """
    return Text(code.replace("_", " "))


@cache
def catalogue(language: str) -> dict[str, str]:
    """Returns each English template in a language. A template comes after its context if it has one (`Text.key`)."""
    name = f"{language}.po"
    own = files("edit_eval.reporting").joinpath(name)
    of_plugins = (plugin.joinpath(name) for plugin in files("edit_eval").joinpath("plugins").iterdir())
    parts = (file.read_text(encoding="utf-8") for file in (own, *of_plugins) if file.is_file())
    entries = _ENTRY.findall("\n".join(parts).replace('"\n"', ""))
    quoted = json.loads(f"[{','.join(words for _, words in entries)}]")  # all at once, as that is ten times as fast
    translations: dict[str, str] = {}
    english = context = ""
    for (kind, _), words in zip(entries, quoted, strict=True):
        if kind == "msgctxt":
            context = words + CONTEXT
        elif kind == "msgid":
            english, context = context + words, ""
        elif english and words:
            translations[english] = words
    return translations
