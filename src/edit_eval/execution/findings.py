"""The result of a check: one line that says what is, and one that says what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from edit_eval.json_values import JsonObject
from edit_eval.text import Text

Level = Literal["ok", "note", "warning", "problem"]


@dataclass(frozen=True)
class Finding:
    """One result of a check."""

    area: str
    """`configuration`, `devices`, `host`, `environments`, `models`, `servers`, `benchmark`, `disk` or `keys`."""
    level: Level
    """`problem`: the run would stop, or could not begin; `warning`: it would suffer; `note`: worth knowing."""
    text: str
    """The state of things, in one line."""
    advice: str = ""
    """What to do, in one line; empty if nothing."""
    who: str = ""
    """The model concerned, unless the text names it: `edit model qwen_image_edit`."""
    passing: bool = False
    """True of a problem that passes by itself when others let go of what they hold."""

    @property
    def sentence(self) -> str:
        """The text, with the model concerned."""
        return Text("{}: {}", self.who, self.text) if self.who else self.text

    @property
    def line(self) -> str:
        """The finding as an error: what is wrong, and what to do."""
        return Text("{}; {}", self.text, self.advice) if self.advice else self.text

    @property
    def stops(self) -> bool:
        """True if this would stop the run."""
        return self.level == "problem"

    def as_plain(self) -> JsonObject:
        """Returns it as plain values, for JSON."""
        return {
            "area": self.area,
            "level": self.level,
            "text": self.sentence,
            "advice": self.advice,
            "stops": self.stops,
        }
