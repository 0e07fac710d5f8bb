"""Watchers of a run: what the live progress, and an object of yours, are told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

from edit_eval.execution.contract import Meter
from edit_eval.records import Edit, Judgement
from edit_eval.scheduling.estimates import Estimates
from edit_eval.scheduling.fleet import Replica
from edit_eval.scheduling.policies import Policy
from edit_eval.scheduling.tasks import Task, Work
from edit_eval.store.run_directory import RunDirectory
from edit_eval.store.table import JudgementTable
from edit_eval.text import Text


class Spectator(Protocol):
    """Hears how far the benchmark is read, what devices do, and what is recorded.

    Inherit from it and write the methods you want. They are called in the thread that runs the evaluation, so they must
    return at once. If one raises, the object is told nothing more, a note says so, and the run goes on.
    """

    # Each has a `return`: a type checker takes an empty body for abstract, and all would have to be written.

    def note(self, text: str) -> None:
        """Something that the user should know."""
        return

    def edit(self, edit: Edit) -> None:
        """An edit was made, or has finally failed; it is already on disk."""
        return

    def judgement(self, judgement: Judgement) -> None:
        """All questions about an edit are answered, or have finally failed. Controls are reported here, too."""
        return

    def begin(
        self,
        table: JudgementTable,
        policy: Policy,
        work: Work,
        estimates: Estimates,
        meters: Mapping[str, Meter],
        directory: RunDirectory,
    ) -> None:
        """Work begins; not called if nothing is left to do. `table` and `meters` are kept up to date."""
        return

    def end(self) -> None:
        """The run is over, one way or another."""
        return

    def reading(self, items: int, read: int, size: int) -> None:
        """The benchmark has been read up to here: `items` samples, `read` of `size` bytes (0 if unknown)."""
        return

    def has_read(self) -> None:
        """The benchmark has been read, or could not be."""
        return

    def replica(self, replica: Replica, state: str, message: Mapping[str, Any]) -> None:
        """A model on its devices is `preparing`, `loading`, `loaded`, has `ended`, `died`, or is `retired`."""
        return

    def running(self, replica: Replica, task: Task, about: str) -> None:
        """The replica has begun a task."""
        return

    def step(self, replica: Replica, step: int, steps: int) -> None:
        """An edit is at a step, from 1 to `steps`."""
        return

    def finished(self, replica: Replica, task: Task) -> None:
        """The replica has finished a task, with any result."""
        return

    def time_left(self) -> float | None:
        """Returns the seconds until the run ends; None if it cannot tell. Only a display is asked."""
        return None

    def tick(self, now: float) -> None:
        """The engine has gone round once, as it does many times a second; `now` is its clock, in seconds."""
        return


def chain_spectators(display: Spectator, plugin: Spectator | None) -> Spectator:
    """Returns the display, joined by a spectator that may fail."""
    return display if plugin is None else cast(Spectator, _Both(display, plugin))


class _Both:
    def __init__(self, display: Spectator, plugin: Spectator) -> None:
        self._display, self._plugin = display, plugin
        self._failed = False

    def __getattr__(self, name: str) -> Callable[..., None]:
        shown, follow = getattr(self._display, name), getattr(self._plugin, name, None)
        if name == "time_left":
            return cast("Callable[..., None]", shown)

        def tell(*arguments: Any) -> None:
            shown(*arguments)
            if follow is not None and not self._failed:
                try:
                    follow(*arguments)
                except Exception as error:
                    self._failed = True
                    who = f"{type(self._plugin).__name__}.{name}"
                    self._display.note(
                        Text("{} raised {}: {}; it is told nothing more", who, type(error).__name__, error)
                    )

        vars(self)[name] = tell
        return tell
