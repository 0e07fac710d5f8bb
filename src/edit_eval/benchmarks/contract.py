"""What a benchmark is, and what its categories are called. A class of yours needs no base class, only this shape."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from edit_eval.records import Sample

AUDIT = "audit"
"""Under which `Sample.facts` say what an audit's sample is: `scene`, `rung`, `axis`, `view`, `disputed`, and the `seed`
of all scenes."""
CATEGORIES = ("physical", "environmental", "social", "causal", "referential")
"""The five dimensions: canonical names, in the order in which reports show them."""

_TITLES = {
    "physical": {"en": "Physical and geometric consistency", "zh": "物理与几何一致性"},
    "environmental": {"en": "Atmosphere and environment", "zh": "环境与氛围"},
    "social": {"en": "Social and cultural appropriateness", "zh": "社会与文化得体性"},
    "causal": {"en": "Cause and effect", "zh": "因果关系"},
    "referential": {"en": "Referential accuracy", "zh": "指代准确性"},
    "general": {"en": "Edit quality overall", "zh": "编辑总体质量"},
}

SUBSETS = {
    "physical": "物理",
    "environmental": "环境",
    "social": "社会",
    "causal": "因果",
    "referential": "指代",
}
"""Canonical name -> the word in a benchmark's `subset`."""

_CANONICAL = {word: category for category, word in SUBSETS.items()}


class Benchmark(Protocol):
    """Yields samples. Filters (`categories`, `limit`, ...) are applied by edit-eval, after it.

    Parameters are a nested standard-library dataclass `Parameters` with `__pydantic_config__ = {"extra": "forbid"}`.

    A class may say of itself what a reader should know: `about: ClassVar[dict[str, str]]`, a literal, with `source` and
    `licence` of its data first, perhaps `samples`, `formula`, `defects`. `list`, `describe` and every report show it.

    A class whose samples are judged by a protocol of their own has an attribute `protocol`: its registered name, or
    a mapping with `type` (or `class_path`) and parameters. Without it: `rubric`. What the configuration says prevails.
    """

    def __init__(self, parameters: Any) -> None: ...

    def samples(self) -> Iterable[Sample]:
        """All samples in the benchmark's order, bad ones included: those carry a `fault`.

        Each picture of a sample is a file that exists and was decoded once, whole. Only one picture is in memory at
        a time. Raises `ConfigurationError` for a file that is no benchmark at all.

        `notes`, an attribute that is there when this has come to its end, are lines on what is odd and no fault, each
        with what was done about it (`index 4 ('a'): ...`). What `benchmarks/selection.py` sees by itself needs none.

        A benchmark that keeps its sources somewhere may have a method `verify() -> str`, called before this one where
        somebody asked for it (`run --verify`): it reads what is kept, and says in one line what was not as recorded.

        A benchmark that reads a large file may also have an attribute `position`, the bytes that it has read so far and
        those that there are: with it a person is told how far the reading is, where that takes more than a second.
        """


def canonical(name: str) -> str:
    """The canonical name of a category: `物理`, `Physical` and `physical` are `physical`.

    A name that is none of the five comes back as it is: a benchmark may have categories of its own.
    """
    word = name.strip()
    if word in _CANONICAL:
        return _CANONICAL[word]
    return word.lower() if word.lower() in CATEGORIES else name


def title(category: str, language: str = "en") -> str:
    """What a person reads for a category, in `en` or `zh`. A category that is none of the five is its own title."""
    titles = _TITLES.get(canonical(category), {})
    return titles.get(language, titles.get("en", category))
