"""What an examination finds out: one line that says what is, and one that says what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from edit_eval.text import Text

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
    who: str = ""
    """The model that it is about, where the text does not name it: `edit model qwen_image_edit`."""

    @property
    def told(self) -> str:
        """The text, with the model that it is about."""
        return Text("{}: {}", self.who, self.text) if self.who else self.text

    @property
    def line(self) -> str:
        """As an error: what is wrong, and what to do."""
        return Text("{}; {}", self.text, self.advice) if self.advice else self.text

    @property
    def stops(self) -> bool:
        """Whether this would stop the run."""
        return self.level == "problem"

    def as_plain(self) -> dict[str, Any]:
        """As it stands in JSON."""
        return {"area": self.area, "level": self.level, "text": self.told, "advice": self.advice, "stops": self.stops}
