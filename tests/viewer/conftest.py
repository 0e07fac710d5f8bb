"""A small run with three edit models, made once; and a viewer on it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from viewer.large_run import write_large_run
from viewer.served import Viewer

pytest.importorskip("fastapi")


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of this room's own, so that sources are known here and nowhere else."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    """A finished run of 30 samples and 3 edit models. Not to be written into."""
    return write_large_run(tmp_path_factory.mktemp("made"), 30, size=(64, 48))


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    """A folder with a copy of it, `first`."""
    shutil.copytree(finished, tmp_path / "runs" / "first")
    return tmp_path / "runs"


@pytest.fixture(scope="session")
def viewer(finished: Path) -> Iterator[Viewer]:
    """A viewer on the finished run."""
    with Viewer([finished]) as started:
        yield started
