"""The five dimensions: their canonical names, the names they have in files, and the names that people read.

Standard library only: the benchmarks, the configuration, the rubrics and the reports all take the names from here.
"""

from __future__ import annotations

CATEGORIES = ("physical", "environmental", "social", "causal", "referential")
"""Canonical names, in the order in which reports show them."""

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
