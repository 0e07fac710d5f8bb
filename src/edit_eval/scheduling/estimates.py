"""Running means of how long things take: policies decide by them, and the time left is computed from them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from edit_eval.scheduling.tasks import Work
from edit_eval.text import Text


@dataclass
class Mean:
    """A running mean of seconds; `value` is None before the first one."""

    total: float = 0.0
    count: int = 0

    def add(self, seconds: float, count: int = 1) -> None:
        """Adds `seconds` that `count` things took together."""
        self.total += seconds
        self.count += count

    @property
    def value(self) -> float | None:
        """Seconds per thing."""
        return self.total / self.count if self.count else None


@dataclass
class Estimates:
    """Mean seconds per unit (an edit, or one judgement) and per load, for each model."""

    unit: dict[str, Mean] = field(default_factory=lambda: defaultdict(Mean))
    load: dict[str, Mean] = field(default_factory=lambda: defaultdict(Mean))
    start: dict[str, Mean] = field(default_factory=lambda: defaultdict(Mean))
    """From the start of a process to the end of its imports."""
    unload: dict[str, Mean] = field(default_factory=lambda: defaultdict(Mean))

    def add_span(self, kind: str, model: str, seconds: float) -> None:
        """Adds a stretch of a device's time (see `Activity.kind`) that the policy is not told of."""
        if kind in ("starting", "unloading"):
            (self.start if kind == "starting" else self.unload)[model].add(seconds)

    def rest(self, work: Work, name: str) -> float:
        """Returns the device seconds for all that is left for a model; 0 while unknown."""
        return work.units_left(name) * (self.unit[name].value or 0.0)


def collect_means(means: Mapping[str, Mean]) -> dict[str, float]:
    """Returns the means that have at least one observation."""
    return {key: mean.value for key, mean in means.items() if mean.value is not None}


def roughly(seconds: float) -> str:
    """Formats a predicted time without false precision: `4 s`, `25 s`, `7 min`, `2 h 5 min`, `31 h`."""
    if seconds < 9.5:
        return Text("{} s", max(1, round(seconds)))
    if seconds < 57.5:
        return Text("{} s", 5 * round(seconds / 5))
    minutes = round(seconds / 60)
    if minutes < 60:
        return Text("{} min", minutes)
    hours, rest = divmod(5 * round(minutes / 5), 60)
    return Text("{} h {} min", hours, rest) if rest and hours < 10 else Text("{} h", round(minutes / 60))
