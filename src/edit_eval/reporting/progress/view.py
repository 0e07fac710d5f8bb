"""What a display of the progress is given: lines, each once, and snapshots of what every device is doing.

A snapshot is plain data: it is also what `live.json` holds. The text in all of it is as it came, so a display must pass
it through `terminal_text.one_line`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from edit_eval.execution.contract import Meter
from edit_eval.records import Judgement, Scale, Scoring
from edit_eval.text import Text


@dataclass(frozen=True)
class AssignmentRow:
    """What some devices of a model are to do."""

    kind: str
    """`edit` or `judge`."""
    model: str
    devices: tuple[str, ...]
    """The devices of one replica, or of all of them."""
    count: int
    """How many edits or judgements."""
    first: tuple[int, ...] = ()
    """The first five of these samples, by their index in the benchmark."""
    questions: int = 0
    """How many questions the judge is asked for all of it, controls included."""
    controls: int = 0
    """How many controls come on top of `count`."""
    scoring: Scoring | None = None
    """Of a judge: what its scores are."""


@dataclass(frozen=True)
class Assignment:
    """Who does what, as far as that is settled when a run starts."""

    schedule: str
    """`pull`, `round_robin` or `batch_sync`."""
    rows: tuple[AssignmentRow, ...]
    label: int = 0
    """Terminal columns of the longest label that lines of this run will have."""

    @property
    def explanation(self) -> str:
        """The schedule in a sentence."""
        return {
            "pull": Text("a free device takes the next sample"),
            "round_robin": Text("edit i goes to device i mod N"),
            "batch_sync": Text(
                "edit i goes to device i mod N, and all devices wait for each other after every N edits"
            ),
        }[self.schedule]


@dataclass(frozen=True)
class Said:
    """Something that has happened, in words."""

    tag: str
    """`loaded`, `died`, `failed`, `batch`, `note`; empty where lines were left out."""
    words: str
    about: str = ""
    """What tells an edit or judgement from the others: the sample, and the models where the run has several."""


@dataclass(frozen=True)
class Judged:
    """A judgement has come to its end, with a score."""

    judgement: Judgement
    about: str
    """As in `Said`."""


@dataclass(frozen=True)
class CategoryDone:
    """A category's last score has arrived. The three numbers are None if it has none at all."""

    label: str
    scored: int
    total: int
    mean: float | None
    low: float | None
    high: float | None
    scale: Scale


Line = Assignment | Said | Judged | CategoryDone


@dataclass(frozen=True)
class DeviceView:
    """What one device is doing."""

    device: str
    activity: str
    """`starting`, `loading`, `editing`, `judging`, `waiting`, `unloading`, `retired`, or empty: nothing."""
    model: str = ""
    about: str = ""
    """The samples it is working on."""
    figures: str = ""
    """`32/50` steps, `31 asked`."""
    fraction: float | None = None
    """How full its bar is, 0 to 1."""
    seconds: int = 0
    """For how long it has been doing that."""
    expected: float | None = None
    """How many seconds a load is likely to take."""
    meter: Meter = field(default_factory=Meter)
    """Of a GPU: its memory and how busy it is."""


@dataclass(frozen=True)
class Count:
    """Edits, judgements, or controls. However many questions a judgement has, it counts once: when all are answered."""

    ok: int = 0
    failed: int = 0
    total: int = 0
    settled: int = 0
    """Those that need no more work: good, failed, or without an edit to judge."""
    per_minute: float | None = None


@dataclass(frozen=True)
class MeanSoFar:
    """The headline of one edit model by one judge, over all that is scored."""

    edit_model: str
    judge: str
    score: str
    """Its name."""
    scale: Scale
    scored: int
    mean: float | None
    """As the scale says; None while a category that it is taken over has no score."""


@dataclass(frozen=True)
class LatestEdit:
    """An edit that a service was sent, and what became of it."""

    id: str
    instruction: str
    source: str
    """A small picture as a data URL; empty where it cannot be read."""
    edit: str
    status: str
    reason: str
    score: float | None


@dataclass(frozen=True)
class ServiceView:
    """What a service is doing besides."""

    waiting: int
    """Pairs without an answer."""
    per_second: float
    """Pairs that were answered, over the last minute."""
    p50: float | None
    p99: float | None
    """Seconds until an answer, of the last thousand."""
    statuses: dict[str, dict[str, int]]
    """By judge, how many judgements have which."""
    near_copies: float | None
    """Their share in the last window."""
    canaries: dict[str, float]
    """Kind -> mean reward from 0 to 1, in the last window."""
    alarms: tuple[str, ...]
    """The last ones."""
    latest: tuple[LatestEdit, ...]
    """The newest first."""


@dataclass(frozen=True)
class Snapshot:
    """The run at one moment."""

    devices: tuple[DeviceView, ...] = ()
    edits: Count = Count()
    judgements: Count = Count()
    controls: Count = Count()
    """Judgements of what no edit model made; in no other number."""
    means: tuple[MeanSoFar, ...] = ()
    seconds: float = 0.0
    """Since the run began."""
    left: int | None = None
    """Seconds that are left; None while nothing is known."""
    left_without: tuple[str, ...] = ()
    """Kinds (`edit`, `judge`) that come on top of `left`, since nothing is known about them yet."""
    batch: tuple[int, int] | None = None
    """`batch_sync`: which of how many."""
    service: ServiceView | None = None
    """Of a service; else None."""

    @property
    def failed(self) -> int:
        """Edits that failed, and judgements that failed over an edit that is there."""
        return self.edits.failed + self.judgements.failed

    @property
    def fraction(self) -> float:
        """How much of all edits, judgements and controls is settled, 0 to 1."""
        counts = (self.edits, self.judgements, self.controls)
        total = sum(count.total for count in counts)
        return sum(count.settled for count in counts) / total if total else 1.0


@dataclass(frozen=True)
class BenchmarkProgress:
    """How far the first reading of a benchmark is."""

    items: int
    """Samples so far."""
    read: int = 0
    """Bytes so far; with `size` 0 they are not known."""
    size: int = 0

    @property
    def fraction(self) -> float:
        """The share of the bytes, 0 to 1."""
        return self.read / self.size if self.size else 0.0


class Display(Protocol):
    """Something that shows. It may raise and may block: `Progress` runs it in a thread of its own."""

    interval: float
    """Seconds between two looks."""

    def reading(self, so_far: BenchmarkProgress, now: float) -> None:
        """Shows how far a benchmark has been read, if it is time for that by the clock `now`, in seconds."""

    def has_read(self) -> None:
        """The reading is over, one way or another."""

    def write(self, lines: Sequence[Line]) -> None:
        """Shows lines while no run is going on."""

    def draw(self, lines: Sequence[Line], snapshot: Snapshot) -> None:
        """Shows new lines and the present state."""

    def close(self, lines: Sequence[Line], snapshot: Snapshot) -> None:
        """Shows the last lines and how the run ended."""


# -- means so far --


def means_so_far(judgements: Iterable[Judgement], scoring: Mapping[str, Scoring]) -> tuple[MeanSoFar, ...]:
    """For each edit model and judge the mean of the headline, in the order of the judgements."""
    scores: dict[tuple[str, str], dict[str, list[float]]] = {}
    for one in judgements:
        found = scores.setdefault((one.edit_model, one.judge), {}).setdefault(one.category, [])
        score = one.scores.get(scoring[one.judge].headline)
        if score is not None:
            found.append(score)
    made = []
    for (edit_model, judge), by_category in scores.items():
        sums = [(len(found), math.fsum(found)) for found in by_category.values()]
        made.append(mean_so_far(edit_model, judge, scoring[judge], sums))
    return tuple(made)


def mean_so_far(edit_model: str, judge: str, scoring: Scoring, categories: Sequence[tuple[int, float]]) -> MeanSoFar:
    """Of the number of scores in each category and their sum. No mean where there is nothing to take it over."""
    scored = sum(count for count, _ in categories)
    parts = (
        categories if scoring.scale.mean_over == "categories" else [(scored, math.fsum(sum_ for _, sum_ in categories))]
    )
    means = [total / count for count, total in parts if count]
    mean = math.fsum(means) / len(means) if means and len(means) == len(parts) else None
    return MeanSoFar(edit_model, judge, scoring.headline, scoring.scale, scored, mean)
