"""What the tests of benchmarks share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for the module beside this one: pytest imports by path

from five_dimension_files import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A folder for a benchmark in the five-dimension format and its cache."""
    return Place(tmp_path)
