"""What an examination finds out: one line that says what is, and one that says what to do."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Level = Literal["ok", "note", "warning", "problem"]


@dataclass(frozen=True)
class Finding:
    """One thing that was found out."""

    area: str
    """`configuration`, `devices`, `host`, `environments`, `models`, `servers`, `benchmark`, `disk` or `keys`."""
    level: Level
    """`problem`: the run would stop, or could not begin; `warning`: it would suffer; `note`: worth knowing."""
    text: str
    """What is, in one line."""
    advice: str = ""
    """What to do, in one line; empty where nothing is to be done."""

    @property
    def stops(self) -> bool:
        """Whether this would stop the run."""
        return self.level == "problem"

    def as_plain(self) -> dict[str, Any]:
        """As it stands in JSON."""
        return {**asdict(self), "stops": self.stops}
