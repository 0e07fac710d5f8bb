"""An undisturbed run to compare with."""

from __future__ import annotations

import pytest

from edit_eval.run import Run
from faults.faulty_runs import run


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A clean run of nine samples."""
    return run(tmp_path_factory.mktemp("undisturbed"))
