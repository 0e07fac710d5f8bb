"""Libraries that take seconds to import, for tests that one process runs and every process collects."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import pytest


def needs(*names: str) -> None:
    """Skips the file of tests where one of these libraries is missing; imports none."""
    for name in names:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"could not import {name!r}", allow_module_level=True)


class Late:
    """A library that is imported by its first use; without it the file of tests is skipped."""

    def __init__(self, name: str) -> None:
        needs(name.partition(".")[0])
        self._name = name

    def __getattr__(self, part: str) -> Any:
        if part.startswith("_"):  # pytest looks at all that a file of tests has
            raise AttributeError(part)
        return getattr(importlib.import_module(self._name), part)
