"""Runs in simulated time."""

from __future__ import annotations

import pytest

from edit_eval.plugins.progress import state


@pytest.fixture(autouse=True)
def foretelling_takes_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """How often the time left is foretold depends on what that takes: here on no real machine's load."""
    monkeypatch.setattr(state, "process_time", lambda: 0.0)
