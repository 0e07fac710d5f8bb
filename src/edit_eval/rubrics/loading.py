"""Rubrics: what a judge is told. Ours are packaged; the configuration's `prompts:` replace any.

The prompts of a category have two fields, `{original_description}` and `{edit_instruction}`. A brace that does not
enclose a bare name is text: `{"score": 1}` needs no escaping.

A system prompt of ours ends with the form of the answer (`protocol.answer`), which is written in one place. A system
prompt of the user's own is taken as it is: it already says how to answer, and nothing is appended to it. What comes
back is read by the grammar of the configured form in either case.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any

import yaml

from edit_eval.benchmarks.categories import CATEGORIES, SUBSETS, canonical, title
from edit_eval.errors import ConfigurationError

NAME = "five_dimensions"
GENERAL = "general"
"""The rubric for any edit, and the name under which `prompts:` replace it."""
VERSION = 1
LANGUAGES = ("en", "zh")
FIELDS = ("original_description", "edit_instruction")

_KEYS = ("system_prompt", "user_prompt_template")
_FIELD = re.compile(r"\{([^\W\d]\w*)\}")


@dataclass(frozen=True)
class Rubric:
    """What a judge is told for one category, in one language."""

    category: str
    """The canonical name, or the benchmark's own word."""
    title: str
    """For people to read, in the rubric's language."""
    version: str
    """`five_dimensions.v1`; with `+prompts` where the user's own text replaced a part; `prompts` where it is all."""
    system_prompt: str
    """Without the form of the answer."""
    user_prompt_template: str
    ask_again: Mapping[str, str] = field(compare=False)
    """Form of the answer -> the line that is added when an answer could not be read. It is in no key, and rubrics that
    differ only there are the same: they ask the same question."""
    answer: Mapping[str, str]
    """Form of the answer -> the text that ends the system prompt; empty under a system prompt of the user's own."""
    criteria: tuple[str, ...] = ()
    """The five sub-criteria; none under a system prompt of the user's own."""
    no_description: str = ""
    """What stands in for the description of a sample that has none."""

    def system(self, form: str) -> str:
        """The whole system prompt template for one form of the answer, `score` or `reason_then_score`."""
        asked_for = self.answer.get(form, "")
        return f"{self.system_prompt}\n\n{asked_for}" if asked_for else self.system_prompt


def load_rubrics(overrides: Mapping[str, Mapping[str, str]] | None, language: str) -> dict[str, Rubric]:
    """The rubrics of the five categories and the general one in `language` (`en` or `zh`), with `prompts` in place.

    `overrides` maps a category (`物理` or `physical`, or a word of the user's own benchmark) to a `system_prompt`, a
    `user_prompt_template` or both. A category of the user's own needs at least its `system_prompt`.
    Raises `ConfigurationError` for a language, key, value or field that cannot be meant.
    """
    rubrics = {category: _ours(category, language) for category in (*CATEGORIES, GENERAL)}
    named: dict[str, str] = {}
    for name, override in (overrides or {}).items():
        category = canonical(name)
        if category in named:
            raise ConfigurationError(
                f"prompts: `{named[category]}` and `{name}` are the same category; keep one of them"
            )
        named[category] = name
        check_prompts(name, override, FIELDS)
        rubrics[category] = _replaced(name, category, override, rubrics.get(category), language)
    return rubrics


def refuse_unknown(overrides: Mapping[str, Mapping[str, str]] | None, categories: Iterable[str]) -> None:
    """Raises `ConfigurationError` for `prompts:` of a category that is none of the five and that no sample has.

    `categories` are those of all samples of the benchmark, whatever the filters.
    """
    known = dict.fromkeys((*CATEGORIES, GENERAL, *map(canonical, categories)))
    for name in overrides or {}:
        if canonical(name) not in known:
            written = dict.fromkeys((*known, *SUBSETS.values()))  # as files have them, too
            raise ConfigurationError(f"prompts.{name}: no sample has that category; {_nearest(name, list(written))}")


def fill(template: str, values: Mapping[str, str]) -> str:
    """`template` with its fields replaced by their `values`, in one pass: braces in what is filled in stay text.

    The tags between which our templates put the texts are broken up inside of them (`</` becomes `< /`), so that an
    instruction cannot end its own quotation.
    """
    names = tuple(values)
    pieces = _pieces(template, names)
    if len(pieces) == 1:
        return template
    pieces = pieces.copy()
    for number in range(1, len(pieces), 2):
        pieces[number] = _tag(names).sub("< ", values[pieces[number]])
    return "".join(pieces)


@cache
def _pieces(template: str, names: tuple[str, ...]) -> list[str]:
    """The template cut at its fields: text, field, text, ..., text. A benchmark has few templates and many samples."""
    return re.split(r"\{(" + "|".join(names) + r")\}", template)


@cache
def _tag(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"<(?=\s*/?\s*(?:{'|'.join(names)})\b)", re.IGNORECASE)


@cache
def packaged(name: str, language: str) -> Any:
    """What our file `name` says in `language`. Raises `ConfigurationError` for a language that it is not written in."""
    if language not in LANGUAGES:
        raise ConfigurationError(f"no rubrics in the language `{language}`; there are {' and '.join(LANGUAGES)}")
    file = resources.files("edit_eval.rubrics") / f"{name}.v{VERSION}.{language}.yaml"
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def _ours(category: str, language: str) -> Rubric:
    name = GENERAL if category == GENERAL else NAME
    data = packaged(name, language)
    rubric = data["categories"][category]
    return Rubric(
        category=category,
        title=title(category, language),
        version=f"{name}.v{VERSION}",
        system_prompt="\n\n".join((data["opening"], rubric["system_prompt"], data["scale"])),
        user_prompt_template=data["user_prompt_template"],
        ask_again=data["ask_again"],
        answer=data["answer"],
        criteria=tuple(rubric["criteria"]),
        no_description=data.get("no_description", ""),
    )


def _replaced(name: str, category: str, override: Mapping[str, str], ours: Rubric | None, language: str) -> Rubric:
    system = override.get("system_prompt")
    if ours is None:
        if system is None:
            raise ConfigurationError(
                f"prompts.{name}.system_prompt is missing: add it, for `{name}` is none of our categories and has no "
                f"rubric to fall back on; {_nearest(name, CATEGORIES)}"
            )
        # What the five have in common: the user prompt and the line for asking again.
        ours = replace(_ours(CATEGORIES[0], language), category=category, title=title(category, language))
    version = "prompts" if set(override) == set(_KEYS) else f"{ours.version}+prompts"
    user = override.get("user_prompt_template", ours.user_prompt_template)
    if system is None:
        return replace(ours, version=version, user_prompt_template=user)
    return replace(ours, version=version, system_prompt=system, user_prompt_template=user, answer={}, criteria=())


def check_prompts(name: str, override: object, fields: Sequence[str]) -> None:
    """Raises `ConfigurationError` for a key, value or field of `prompts.NAME` that cannot be meant."""
    if not isinstance(override, Mapping):
        raise ConfigurationError(f"prompts.{name} must be a mapping with {' and/or '.join(_KEYS)}")
    if not override:
        raise ConfigurationError(f"prompts.{name} is empty; give it {' and/or '.join(_KEYS)}, or leave it out")
    for key, text in override.items():
        if key not in _KEYS:
            raise ConfigurationError(f"prompts.{name}.{key}: no such key; {_nearest(key, _KEYS)}")
        if not isinstance(text, str):
            raise ConfigurationError(f"prompts.{name}.{key} must be a text, not {type(text).__name__}")
        if key == "user_prompt_template" and not text.strip():
            raise ConfigurationError(f"prompts.{name}.{key} is empty; write it, or leave it out for ours")
        for word in _FIELD.findall(text):
            if word not in fields:
                nearest = _nearest(word, [f"{{{known}}}" for known in fields])
                raise ConfigurationError(f"prompts.{name}.{key}: no such field `{{{word}}}`; {nearest}")


def _nearest(word: object, names: Sequence[str]) -> str:
    """The end of a message: the name that was probably meant, or all there are."""
    if not names:
        return "there are none"
    written = str(word).lower()

    def likeness(name: str) -> float:
        bare = name.strip("{}")
        return 1.0 if bare.startswith(written) else difflib.SequenceMatcher(None, written, bare).ratio()

    best = max(names, key=likeness)
    return f"did you mean `{best}`?" if likeness(best) >= 0.5 else f"there are {', '.join(names)}"
