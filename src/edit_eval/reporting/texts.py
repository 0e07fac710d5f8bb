"""The report's words in English and Chinese, and the names of things that the records only have as keys."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import yaml

from edit_eval.benchmarks.categories import SUBSETS, canonical, title
from edit_eval.records import Status

LANGUAGES = ("en", "zh")


@cache
def texts() -> dict[str, dict[str, str]]:
    """All texts: `{key: {"en": ..., "zh": ...}}`."""
    source = files("edit_eval.reporting").joinpath("templates/texts.yaml").read_text(encoding="utf-8")
    loaded: dict[str, dict[str, str]] = yaml.safe_load(source)
    return loaded


def text(key: str, language: str, **values: object) -> str:
    """The text `key` in `language` with its `{fields}` filled in. Raises `KeyError` for a key there is not."""
    words = texts()[key][language]
    for name, value in values.items():
        words = words.replace("{" + name + "}", str(value))
    return words


def judgement_status(status: str) -> str:
    """The text key of a judgement's status. One without an edit has not failed: there was nothing to judge."""
    return "status.no_edit" if status == Status.EDIT_FAILED else f"status.{status}"


def name_of(kind: str, name: str, language: str) -> str:
    """What a person reads for a `category`, `short_category`, `difficulty`, `status`, `kind` or `flag`.

    What has no text is its own.
    """
    if kind == "category":
        return title(name, language)
    if kind == "short_category":
        return short_category(name, language)
    return texts().get(f"{kind}.{name}", {}).get(language, name)


def short_category(category: str, language: str) -> str:
    """One word for a category, where a title has no room."""
    name = canonical(category)
    if name not in SUBSETS:
        return category
    return SUBSETS[name] if language == "zh" else name.capitalize()
