"""An undisturbed run to compare with, and where engines come from."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from edit_eval.run import Run
from faults.faulty_runs import Nursery, nursery, run


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A clean run of nine samples."""
    return run(tmp_path_factory.mktemp("undisturbed"))


@pytest.fixture(scope="session")
def engines() -> Iterator[Nursery]:
    """Starts engines in processes of their own."""
    with nursery() as made:
        yield made
