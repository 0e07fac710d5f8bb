"""The machines of a Ray cluster as one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence

from edit_eval.execution.contract import Gpu, Host, Machine, Meter
from edit_eval.execution.drivers.ray import RayDriver
from edit_eval.execution.machine.devices import LocalMachine


class RayMachine(Machine):
    """The machines of a cluster as one. What nobody has asked of it costs nothing."""

    def __init__(self, driver: RayDriver, environment: Mapping[str, str]) -> None:
        self._driver, self._here = driver, LocalMachine(environment)

    def gpus(self) -> list[Gpu]:
        """Those of every machine that has answered, as they were then."""
        return [gpu for node in self._driver.nodes() for gpu in node.gpus]

    def gpu_count(self) -> int:
        return len(self.gpus())

    def limit(self) -> str:
        """The cluster, where it has none that is free."""
        return "" if self._driver.nodes() else "the Ray cluster has no GPU that is free"

    def free_host_memory(self) -> int | None:
        """Of the machine with the least."""
        known = [node.memory for node in self._driver.nodes() if node.memory is not None]
        return min(known) if known else self._here.free_host_memory()

    def hosts(self) -> list[Host]:
        """Every machine as it described itself."""
        return [
            Host(node.name, tuple(g.name for g in node.gpus), node.about, node.notes) for node in self._driver.nodes()
        ]

    @contextlib.contextmanager
    def meters(self) -> Iterator[Callable[[str], Meter]]:
        """What the machines have told last, which they do once a second and when a model is loaded or gone."""
        yield self._driver.latest

    def warning(self) -> str:
        """That it asks nobody for a token."""
        return "" if self._driver.cluster.guarded else "the Ray cluster has no token authentication"

    def lacking(self, weights: Sequence[tuple[str, str | None, str]]) -> Mapping[str, Sequence[str]]:
        """What each machine lacks of these weights."""
        return self._driver.ask_for_weights(weights)
