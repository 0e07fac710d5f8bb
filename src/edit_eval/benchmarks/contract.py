"""What a benchmark is. A class of yours needs no base class, only this shape."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from edit_eval.records import Sample


class Benchmark(Protocol):
    """Yields samples. Filters (`categories`, `limit`, ...) are applied by edit-eval, after it.

    Parameters are a nested standard-library dataclass `Parameters` with `__pydantic_config__ = {"extra": "forbid"}`.

    A class whose samples are judged by a protocol of their own has an attribute `protocol`: its registered name, or
    a mapping with `type` (or `class_path`) and parameters. Without it: `rubric`. What the configuration says prevails.
    """

    def __init__(self, parameters: Any) -> None: ...

    def samples(self) -> Iterable[Sample]:
        """All samples in the benchmark's order, bad ones included: those carry a `fault`.

        Each picture of a sample is a file that exists and was decoded once, whole. Only one picture is in memory at
        a time. Raises `ConfigurationError` for a file that is no benchmark at all.

        A benchmark that keeps its sources somewhere may have a method `verify() -> str`, called before this one where
        somebody asked for it (`run --verify`): it reads what is kept, and says in one line what was not as recorded.

        A benchmark that reads a large file may also have an attribute `position`, the bytes that it has read so far and
        those that there are: with it a person is told how far the reading is, where that takes more than a second.

        One that puts things right may have an attribute `notes`, a line each, there once all samples were yielded: they
        are said at the start of a run.
        """
