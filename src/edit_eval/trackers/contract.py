"""What a tracker is: somebody else's record of runs, with curves and pages (W&B, Trackio, MLflow)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol


@dataclass(frozen=True)
class Start:
    """What a tracker is told first."""

    run: Path
    """The run directory; it may write into a folder of its own name there."""
    id: str
    """Under which the tracker knows the run. Before its first start: a proposal, unique in the world."""
    known: bool
    """Whether it knows it already."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """What the configuration says of it (see `table`)."""
    configuration: Mapping[str, Any] = field(default_factory=dict)
    """The run's, with all its defaults and without secrets."""


class Tracker(Protocol):
    """An adapter. It lives in a process of its own, so any of it may raise, take long, or never come back."""

    def begin(self, start: Start) -> str:
        """Begins the run there, or goes on with it; returns the id under which it is known from now on."""

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Takes numbers by name (`model/judge/score`, `progress/edits`); `step` is what is settled by now."""

    def keep(self, files: Mapping[str, Path]) -> None:
        """Takes files by their names: the report's page, and its numbers."""

    def end(self, *, finished: bool) -> None:
        """Ends the run there, or leaves it to be gone on with; all that was told has arrived."""
