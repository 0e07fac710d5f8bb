"""What a benchmark is. A class of yours needs no base class, only this shape."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from edit_eval.records import Sample

AUDIT = "audit"
"""Under which `Sample.facts` say what an audit's sample is: `scene`, `rung`, `axis`, `view`, `disputed`, and the `seed`
of all scenes."""


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
        with what was done about it (`index 4 ('a'): ...`). What `benchmarks/lint.py` sees by itself needs none.

        A benchmark that keeps its sources somewhere may have a method `verify() -> str`, called before this one where
        somebody asked for it (`run --verify`): it reads what is kept, and says in one line what was not as recorded.

        A benchmark that reads a large file may also have an attribute `position`, the bytes that it has read so far and
        those that there are: with it a person is told how far the reading is, where that takes more than a second.
        """
