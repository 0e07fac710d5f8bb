"""What a tracker is: an adapter for the interface of one package, told of a run as it goes on."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar


@dataclass(frozen=True)
class Start:
    """A run's start, as given to a tracker."""

    run: Path
    """The run directory; the tracker may write into a folder of its own name there."""
    id: str
    """The tracker's id of the run; before its first start, a proposal that is globally unique."""
    known: bool
    """True if the tracker knows the run already."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The tracker's parameters in the configuration (its `Parameters`)."""
    configuration: Mapping[str, Any] = field(default_factory=dict)
    """The run's configuration, with all defaults and without secrets."""


Cell = str | float | Path | None
"""Of a table: a text, a number, a picture's file, or nothing."""


@dataclass(frozen=True)
class ResultTable:
    """Results with their pictures: a row an edit."""

    columns: tuple[str, ...]
    """`id`, `category`, `instruction`, `source` and `edit` (pictures), `edit_model`, `edit_seed`, `no edit` (why), and
    of each judge `JUDGE/SCORE`, `JUDGE says` and `JUDGE no score` (why)."""
    rows: Sequence[Sequence[Cell]]
    edits: int
    """How many edits there are; rows may be fewer."""


class Tracker:
    """An adapter for a package that is told of a run.

    It has a process of its own, so its methods may raise, be slow, or hang.

    Its nested dataclass `Parameters` has the keys of `trackers: [{NAME: {...}}]`, each `... | None`, by default None.
    """

    @dataclass
    class Parameters:
        """No keys."""

    title: ClassVar[str] = ""
    """How it is called in messages; if empty, by its name in the configuration."""
    package: ClassVar[str] = ""
    """The package that the adapter imports, which need not be installed; empty for none but its own."""
    extra: ClassVar[str] = ""
    """The extra of edit-eval that installs it; empty for none."""

    @classmethod
    def is_here(cls) -> bool:
        """True if its package is installed. A data folder such as `wandb` does not count as a package."""
        if not cls.package:
            return True
        spec = importlib.util.find_spec(cls.package)
        return spec is not None and spec.origin is not None

    def begin(self, start: Start) -> str:
        """Begins or resumes the run; returns its id from now on."""
        raise NotImplementedError

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Logs numbers by name (`model/judge/score`, `progress/edits`); `step` is the number settled so far."""

    def keep(self, files: Mapping[str, Path]) -> None:
        """Uploads files by name: the report's page, and its numbers."""

    def show(self, table: ResultTable) -> None:
        """Sends the results with their pictures, which are there until it returns; of at most `table_rows` edits, a
        parameter that the tracker may have (100 without it, none with 0)."""

    def end(self, *, finished: bool) -> None:
        """Ends the run, or marks it to be resumed; returns when everything has been sent."""
