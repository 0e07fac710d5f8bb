"""What the tests of benchmarks share."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.five_dimension_files import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A folder for a benchmark in the five-dimension format and its cache."""
    return Place(tmp_path)
