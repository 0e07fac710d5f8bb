"""A small run with three edit models, made once; and a viewer on it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from browser_tabs import NO_IDLE, Tabs
from plugins.viewer.large_run import write_large_run
from plugins.viewer.served import Viewer

pytest.importorskip("fastapi")

ALLOWED = ("http://127.0.0.1:", "data:", "file:", "about:")


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


@pytest.fixture(scope="session")
def faults() -> list[str]:
    """What pages of the test at work have complained of, or asked another server for."""
    return []


@pytest.fixture(scope="session")
def tabs(browser: Any, faults: list[str]) -> Tabs:
    listeners: dict[str, Callable[[Any], object]] = {
        "pageerror": lambda error: faults.append(str(error)),
        "console": lambda said: faults.append(said.text) if "Content Security" in said.text else None,
        "request": lambda made: None if made.url.startswith(ALLOWED) else faults.append(made.url),
    }
    return Tabs(browser, listeners, NO_IDLE)


@pytest.fixture
def open_tab(tabs: Tabs, faults: list[str]) -> Iterator[Callable[..., Any]]:
    """Opens an address; fails at the end if a page raised an error, or asked for anything on another server."""
    with tabs.of_a_test() as opened:
        yield opened
    raised = [*faults]
    faults.clear()
    assert raised == []
