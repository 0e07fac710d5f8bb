"""An undisturbed run to compare with, where engines come from, and the long part that only `-m chaos` runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from edit_eval.evaluation import Run
from faults.faulty_runs import Nursery, nursery, run


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "chaos: the same faults far more often; only run by `-m chaos`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "chaos" not in config.option.markexpr:
        long = [item for item in items if item.get_closest_marker("chaos")]
        items[:] = [item for item in items if item not in long]
        config.hook.pytest_deselected(items=long)
    for item in items:
        if item.get_closest_marker("chaos"):
            item.add_marker(pytest.mark.timeout(3600))  # long is what it is meant to be


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A clean run of nine samples."""
    return run(tmp_path_factory.mktemp("undisturbed"))


@pytest.fixture(scope="session")
def engines() -> Iterator[Nursery]:
    """Starts engines in processes of their own."""
    with nursery() as made:
        yield made
