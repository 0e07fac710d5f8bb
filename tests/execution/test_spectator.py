"""A spectator beside the display: it is told the same, and cannot cost a run."""

from __future__ import annotations

from typing import Any

from edit_eval.execution.spectator import Spectator, chain_spectators
from faults.faulty_runs import Ears


class Loud(Spectator):
    """Overrides two methods and fails in one."""

    def __init__(self) -> None:
        self.steps: list[int] = []

    def note(self, text: str) -> None:
        raise ValueError(f"no {text}")

    def step(self, replica: Any, step: int, steps: int) -> None:
        self.steps.append(step)


def test_without_one_the_display_is_as_it_is() -> None:
    display: Any = Ears()
    assert chain_spectators(display, None) is display


def test_both_are_told_until_the_plugin_fails() -> None:
    display: Any = Ears()
    plugin = Loud()
    both = chain_spectators(display, plugin)
    replica: Any = None
    both.step(replica, 1, 4)
    both.tick(0.0)  # what it does not override does nothing
    both.note("silence")
    both.step(replica, 2, 4)
    both.note("again")
    assert plugin.steps == [1]
    assert display.notes == ["silence", "Loud.note raised ValueError: no silence; it is told nothing more", "again"]


def test_one_that_has_only_some_methods_will_do() -> None:
    heard: list[str] = []

    class Bare:
        note = staticmethod(heard.append)

    display: Any = Ears()
    bare: Any = Bare()
    both = chain_spectators(display, bare)
    both.note("a")
    both.has_read()
    assert heard == display.notes == ["a"]
