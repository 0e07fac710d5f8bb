"""The language in which this process speaks to people. Records, journals, logs and JSON are always English.

`said` puts a `Text` into that language when it is printed. A language is a row in `languages.py`, a gettext catalogue
beside it, and one in the folder of each plug-in; a sentence that they lack is printed in English as a whole.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from string import Formatter
from typing import Any, overload

from edit_eval.reporting.languages import ENGLISH, SPOKEN
from edit_eval.text import CONTEXT, Text, translate_pieces

VARIABLE = "EDIT_EVAL_LANG"
_LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG")
_ENTRY = re.compile(r'^(msgctxt|msgid|msgstr) ("(?:[^"\\\n]|\\.)*")', re.MULTILINE)

_OWN_LETTERS = 8
"""Letters by which a sentence is known to be ours."""

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


def translate_reason(words: str, language: str = "") -> str:
    """Returns a recorded reason in `language`: as a whole, or as the sentence of ours that it is."""
    return translate(recognise(words), language)


class _Written(str):
    """A field as it was written into a sentence, whatever its format."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return str.__str__(self)

    __repr__ = str.__str__


@lru_cache(4096)
def recognise(words: str) -> str:
    """Returns a recorded sentence of ours, which is English, as the Text that it was; any other words unchanged.

    Records keep no templates: the one with the most words that makes this sentence is taken.
    """
    if isinstance(words, Text):
        return words
    if "{" not in words and sum(map(str.isalpha, words)) >= _OWN_LETTERS and words in _templates():
        return Text(words)
    for template, literals, fields in _recognisable():
        if all(literal in words for literal in literals) and (made := _unfill(template, fields, words)):
            return made
    return words


@cache
def _templates() -> dict[str, None]:
    return dict.fromkeys(key for code in SPOKEN if code != ENGLISH for key in catalogue(code) if CONTEXT not in key)


@cache
def _recognisable() -> list[tuple[str, list[str], list[int]]]:
    """Returns the templates with fields and enough words of their own, each with its literals and fields in order."""
    found = []
    for template in _templates():
        if "{" not in template:
            continue
        try:
            parts = list(Formatter().parse(template))
        except ValueError:  # a description with a brace
            continue
        literals = [literal for literal, *_ in parts if literal]
        named = [name for _, name, *_ in parts if name is not None]
        own = sum(map(str.isalpha, "".join(literals)))
        if own >= _OWN_LETTERS and all(name.isdecimal() or not name for name in named):
            found.append((template, literals, [int(name or place) for place, name in enumerate(named)]))
    return sorted(found, key=lambda one: -sum(map(len, one[1])))


def _unfill(template: str, fields: Sequence[int], words: str) -> Text | None:
    """Returns the Text of a template that makes these words."""
    pattern = "".join(
        re.escape(literal) + ("" if name is None else "(.+?)") for literal, name, *_ in Formatter().parse(template)
    )
    if not (match := re.fullmatch(pattern, words, re.DOTALL)):
        return None
    values = dict(zip(fields, match.groups(), strict=True))
    of = [recognise(values.get(place, "")) for place in range(max(fields, default=-1) + 1)]
    made = Text(template, *(field if isinstance(field, Text) else _Written(field) for field in of))
    return made if str.__str__(made) == words else None


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
