"""`trackers: [diary]`: a tracker, which keeps what it is told in a text file of the run directory."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from edit_eval import Tracker


class Diary(Tracker):
    """Keeps the figures of a run in a file, diary/diary.txt."""

    title = "the diary"
    package = "my_benchmark"

    @dataclass
    class Parameters:
        every: int | None = None
        """Only every so many edits and scores."""

    def begin(self, start) -> str:
        """`start.known` is true where this run is resumed: the file is there and is added to."""
        self._every = start.parameters.get("every") or 1
        self._file = Path(start.run) / "diary" / "diary.txt"
        self._file.parent.mkdir(exist_ok=True)
        self._write("resumed" if start.known else "began")
        return start.id

    def log(self, values: Mapping[str, float], step: int) -> None:
        if step % self._every == 0:
            self._write(f"{step}: " + ", ".join(f"{name} {value:g}" for name, value in sorted(values.items())))

    def end(self, *, finished: bool) -> None:
        self._write("finished" if finished else "interrupted")

    def _write(self, line: str) -> None:
        with self._file.open("a", encoding="utf-8") as file:
            file.write(f"{time.strftime('%H:%M')} {line}\n")
