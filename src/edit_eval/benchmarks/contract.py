"""The interface of a benchmark, and the names of the categories. Your class needs no base class, only these methods."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from edit_eval.records import Language, Sample

AUDIT = "audit"
"""Key in `Sample.facts` for the facts of an audit's sample: `scene`, `rung`, `axis`, `view`, `disputed`, and the `seed`
of all scenes."""
CATEGORIES = ("physical", "environmental", "social", "causal", "referential")
"""The five dimensions: canonical names, in the order that reports use."""

_CHINESE = "[\u4e00-\u9fff]"
_TITLES = {
    "physical": {"en": "Physical and geometric consistency", "zh": "物理与几何一致性"},
    "environmental": {"en": "Atmosphere and environment", "zh": "环境与氛围"},
    "social": {"en": "Social and cultural appropriateness", "zh": "社会与文化得体性"},
    "causal": {"en": "Cause and effect", "zh": "因果关系"},
    "referential": {"en": "Referential accuracy", "zh": "指代准确性"},
    "general": {"en": "Edit quality overall", "zh": "编辑总体质量"},
}

SUBSETS = {"physical": "物理", "environmental": "环境", "social": "社会", "causal": "因果", "referential": "指代"}
"""Canonical name -> the word in a benchmark's `subset`."""

_CANONICAL = {word: category for category, word in SUBSETS.items()}


class Benchmark(Protocol):
    """Yields samples. edit-eval applies the filters (`categories`, `limit`, ...) afterwards.

    Parameters are a nested standard-library dataclass `Parameters`. What else a class may have is in `BenchmarkExtras`.
    """

    def __init__(self, parameters: Any) -> None: ...

    def samples(self) -> Iterable[Sample]:
        """Yields all samples in the benchmark's order, including bad ones, which carry a `fault`.

        Each picture of a sample is an existing file that has been decoded completely once. Only one picture is in
        memory at a time. Raises `ConfigurationError` if the file is not a benchmark at all.
        """


class BenchmarkExtras(Protocol):
    """What a benchmark may have besides."""

    about: ClassVar[Mapping[str, str]]
    """A literal: `source` and `licence` of its data first, then perhaps `samples`, `formula`, `defects`. `list`,
    `describe` and every report show it."""
    protocol: str | Mapping[str, Any]
    """The protocol that its samples need: a registered name, or a mapping with `type` (or `class_path`) and
    parameters. Default: `rubric`. The configuration takes precedence."""
    notes: Sequence[str]
    """Oddities that are not faults, each with how it was handled (`sample 'a': ...`); set by the time `samples` is
    exhausted. Leave out what `benchmarks/selection.py` detects itself."""
    position: tuple[int, int]
    """Bytes read so far, and in total, of a large file: shown as progress if reading takes more than a second."""

    def verify(self) -> str:
        """Reads the sources that it keeps and returns one line on what did not match its record; called before
        `samples` on `run --verify`."""


def canonical(name: str) -> str:
    """Returns the canonical name of a category: `物理`, `Physical` and `physical` are all `physical`.

    Other names are returned unchanged, since a benchmark may have categories of its own.
    """
    word = name.strip()
    if word in _CANONICAL:
        return _CANONICAL[word]
    return word.lower() if word.lower() in CATEGORIES else name


def language_of(instructions: Iterable[str]) -> Language:
    """Returns the language that most instructions are in; empty ones count for none."""
    chinese = [bool(re.search(_CHINESE, instruction)) for instruction in instructions if instruction]
    return "zh" if sum(chinese) * 2 > len(chinese) else "en"


def title(category: str, language: str = "en") -> str:
    """Returns the display name of a category, in `en` or `zh`. One that is not among the five is its own title."""
    titles = _TITLES.get(canonical(category), {})
    return titles.get(language, titles.get("en", category))
