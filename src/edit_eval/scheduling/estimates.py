"""How long things take, as far as has been seen: running means that policies decide by and that tell the time left."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field


@dataclass
class Mean:
    """A running mean of seconds; `value` is None before the first one."""

    total: float = 0.0
    count: int = 0

    def add(self, seconds: float, count: int = 1) -> None:
        """Takes in `seconds` that `count` things took together."""
        self.total += seconds
        self.count += count

    @property
    def value(self) -> float | None:
        """Seconds a thing."""
        return self.total / self.count if self.count else None


@dataclass
class Estimates:
    """Mean seconds a unit (an edit, or one judgement) and a load, for each model."""

    unit: dict[str, Mean] = field(default_factory=lambda: defaultdict(Mean))
    load: dict[str, Mean] = field(default_factory=lambda: defaultdict(Mean))
