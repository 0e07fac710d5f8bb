"""Which server edit-eval starts for a model (`serve`), and where it runs.

The plug-in of endpoints starts it (`plugins/endpoints/in_worker/server.py`). Standard library only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from edit_eval.endpoints.engines import ENGINES, OURS, PATHS, EngineName, Route, ServingEngine, find_argument


@dataclass
class Serve:
    """Which server edit-eval starts for a model."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    engine: EngineName
    """What is started; `command` is a server of your own."""
    args: list[str | int | float] = field(default_factory=list)
    """Further arguments of the engine."""
    command: list[str] = field(default_factory=list)
    """Of the engine `command`: program and arguments, with `{port}`, `{model}`, `{python}`, `{devices}` (how many)."""
    memory: float | None = field(default=None, metadata={"in_key": False})
    """Share of each GPU's memory that the engine may take."""
    batch_invariant: bool | None = field(default=None, metadata={"in_key": "if given"})
    """Answers do not depend on what is computed beside them."""

    pass_env: list[str] = field(default_factory=list, metadata={"in_key": False})
    """NAMES of further environment variables that the server gets, such as HF_TOKEN."""

    def __post_init__(self) -> None:
        if wrong := next((name for name in self.pass_env if not re.fullmatch(r"[A-Za-z_]\w*", name)), ""):
            raise ValueError(f"pass_env: {wrong!r} is not the name of an environment variable")
        self.args = [str(argument) for argument in self.args]
        if (self.engine == "command") != bool(self.command):
            what = "say which, as a list" if not self.command else f"is for the engine `command`, not {self.engine}"
            raise ValueError(f"command: {what}")
        if self.engine == "command" and self.args:
            raise ValueError("args: with the engine `command`, put arguments into `command`")
        if self.engine == "command" and not any("{port}" in word for word in self.command):
            raise ValueError("command: it must contain {port}")
        if taken := next((name for name in OURS if find_argument(self.arguments, (name,)) is not None), ""):
            raise ValueError(f"args: {taken} is set by edit-eval; leave it out")
        if self.memory is not None and not 0 < self.memory <= 1:
            raise ValueError(f"memory: {self.memory} is not a share of a GPU's memory (0 to 1)")

    @property
    def arguments(self) -> list[str]:
        """`args` as texts."""
        return [str(argument) for argument in self.args]

    def find_engine(self, route: Route) -> ServingEngine | None:
        """Returns the engine's row, None for `command`. Raises `ValueError` if it does not serve such models."""
        if self.engine == "command":
            if self.batch_invariant:
                raise ValueError("serve: batch_invariant is for engines that edit-eval knows; set it in your `command`")
            return None
        if (row := ENGINES.get((self.engine, route))) is None:
            ways = ", ".join(name for name, own_route in ENGINES if own_route == route)
            raise ValueError(f"serve: {self.engine} has no {PATHS[route]}; {ways} and `command` have")
        if self.memory is not None and not row.memory:
            raise ValueError(f"serve: {self.engine} takes the memory it needs; leave out `memory`")
        if self.batch_invariant and not (row.invariant or row.invariant_variables):
            raise ValueError(f"serve: {self.engine} offers no batch invariance; leave out `batch_invariant`")
        return row

    def share(self, route: Route, *, by_default: bool = True) -> float | None:
        """Returns the share of each GPU's memory that it takes at its start regardless of need; None if it takes none.

        Without `by_default`, None unless it was set.
        """
        row = self.find_engine(route)
        said = find_argument(self.arguments, (row.memory,)) if row and row.memory else None
        try:
            return float(said) if said else self.memory or (row.share if row and by_default else None)
        except ValueError:  # the engine will report it
            return None


@dataclass(frozen=True)
class ServerEnvironment:
    """Where a server runs, from `python`, `conda_env`, `uv` and `load_timeout` beside the parameters; in no key."""

    python: str = ""
    """Interpreter of its environment; empty: this one."""
    log: str = ""
    """File for its output; empty: none."""
    seconds: float = 3600.0
    """How long it may take to be ready, but for the time in which `moves` changes: while weights come in."""

    @staticmethod
    def moves() -> object:
        """Returns something that changes while weights come in; here nobody looks."""
