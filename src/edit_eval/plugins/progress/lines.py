"""The lines of the progress, each given once: what has happened, and its words on a terminal and in a log file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from edit_eval.judges.answers import is_prose
from edit_eval.records import Judgement, Scale, Scoring
from edit_eval.reporting.formats import decimals, duration, score
from edit_eval.reporting.language import recognise
from edit_eval.reporting.live import Snapshot
from edit_eval.reporting.names import scale_words
from edit_eval.scheduling.queues import QUEUES
from edit_eval.text import Text, join_texts, pluralize


@dataclass(frozen=True)
class AssignmentRow:
    """Work assigned to some devices of a model."""

    kind: str
    """`edit` or `judge`."""
    model: str
    devices: tuple[str, ...]
    """The devices of one replica, or of all of them."""
    count: int
    """Number of edits or judgements."""
    first: tuple[int, ...] = ()
    """The first five of these samples, by their index in the benchmark."""
    questions: int = 0
    """Number of questions for the judge in total, including controls."""
    controls: int = 0
    """Number of controls on top of `count`."""
    scoring: Scoring | None = None
    """How a judge scores; None for an edit model."""


@dataclass(frozen=True)
class Assignment:
    """Who does what, as far as settled when a run starts."""

    schedule: str
    """Its name in `QUEUES`."""
    rows: tuple[AssignmentRow, ...]
    label: int = 0
    """Terminal columns of the longest label in this run's lines."""

    @property
    def explanation(self) -> str:
        """Returns the schedule in a sentence."""
        return QUEUES[self.schedule].sentence


@dataclass(frozen=True)
class EventLine:
    """An event in words."""

    tag: str
    """`loaded`, `died`, `failed`, `batch`, `note`; empty where lines were left out."""
    words: str
    about: str = ""
    """Tells an edit or judgement from the others: the sample, and the models if the run has several."""


@dataclass(frozen=True)
class Judged:
    """A judgement has finished with a score."""

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
    nameless: bool = False
    """True of samples without a category."""


Line = Assignment | EventLine | Judged | CategoryDone


@dataclass(frozen=True)
class BenchmarkProgress:
    """Progress of the first reading of a benchmark."""

    items: int
    """Samples read so far."""
    read: int = 0
    """Bytes read so far; unknown if `size` is 0."""
    size: int = 0

    @property
    def fraction(self) -> float:
        """Share of the bytes read, 0 to 1."""
        return self.read / self.size if self.size else 0.0


class Display(Protocol):
    """Shows the progress. It may raise and may block: `Progress` runs it in its own thread."""

    interval: float
    """Seconds between two looks."""

    def reading(self, so_far: BenchmarkProgress, now: float) -> None:
        """Shows how far a benchmark has been read, if that is due by the clock `now`, in seconds."""

    def has_read(self) -> None:
        """The benchmark has been read, or reading failed."""

    def write(self, lines: Sequence[Line]) -> None:
        """Shows lines while no run is in progress."""

    def draw(self, lines: Sequence[Line], snapshot: Snapshot) -> None:
        """Shows new lines and the present state."""

    def close(self, lines: Sequence[Line], snapshot: Snapshot) -> None:
        """Shows the last lines and how the run ended."""


DEVICES_NAMED = 8
"""Devices of a row named one by one."""


def plan_sentence(row: AssignmentRow) -> str:
    """Returns `edits by qwen_image_edit on cuda:0: 45, first 0, 6, 12, 18, 24, …`."""
    first = [Text("first {}", first_samples(row))] if row.first else []
    whose = Text("{} on {}: {}", work_of(row), devices(row.devices), row.count)
    return join_texts([whose, *first, *question_words(row)], ", ")


def work_of(row: AssignmentRow) -> str:
    """Returns `edits by qwen_image_edit` or `scores by qwen3_vl`."""
    return Text("edits by {}", row.model) if row.kind == "edit" else Text("scores by {}", row.model)


def question_words(row: AssignmentRow) -> list[str]:
    """How a judge is asked: `75 controls`, `615 questions`, `O of viescore`, `out of 10`; empty for edit models."""
    if row.scoring is None:
        return []
    controls = [pluralize(row.controls, "control")] if row.controls else []
    questions = [Text("{:,} questions", row.questions)] if row.questions > row.count + row.controls else []
    score_of = Text("{} of {}", row.scoring.headline, row.scoring.protocol, context="part")
    return [*controls, *questions, score_of, scale_words(row.scoring.scale)]


def first_samples(row: AssignmentRow) -> str:
    """Returns `0, 6, 12, 18, 24, …`."""
    return ", ".join([*map(str, row.first), *(["…"] if row.count > len(row.first) else [])])


def devices(names: Sequence[str]) -> str:
    """Returns `cuda:0–7` or `cuda:2, 3, 0`; of very many that are not consecutive, the first and the last."""
    kinds = {name.partition(":")[0] for name in names}
    numbers = [name.partition(":")[2] for name in names]
    if len(kinds) == 1 and len(names) > 2 and all(number.isdecimal() for number in numbers):
        first = int(numbers[0])
        if list(map(int, numbers)) == list(range(first, first + len(names))):
            return f"{names[0]}–{numbers[-1]}"
    if len(names) > DEVICES_NAMED:
        return Text("{} to {} ({})", names[0], names[-1], len(names))
    return ", ".join([names[0], *numbers[1:]] if len(kinds) == 1 else names)


def omission_line(count: int) -> EventLine:
    """Returns a stand-in for lines skipped because a display was too slow."""
    return EventLine("", Text("({} lines skipped)", count))


def judgement_failure(judgement: Judgement) -> str:
    """Returns `score out of range: Score: 12`."""
    return Text("{}: {}", judgement.status.words, recognise(judgement.reason) or judgement.answer)


def words_of(judgement: Judgement) -> str:
    """Returns the judge's words beside the score; empty if the answer is only a score."""
    return judgement.reason or (judgement.answer if is_prose(judgement.answer) else "")


def load_words(model: str, place: str, seconds: float, order: int, replicas: int, memory: int = 0) -> str:
    """Returns `qwen_image_edit on cuda:0 in 41 s (3 of 8), 57.7 GiB`: the number of a load of a model, and its cost.

    `seconds` excludes imports and waiting for other loads; `memory` is the bytes that the worker holds on its devices,
    0 if unknown.
    """
    which = Text("{} of {:d}", order, replicas) if order <= replicas else Text("again")
    held = f", {memory / 2**30:.1f} GiB" if memory else ""
    return Text("{} on {} in {} ({}){}", model, place, duration(seconds), which, held)


def reading_words(so_far: BenchmarkProgress) -> str:
    """Returns `120 samples, 577 of 1,280 MB`."""
    count = pluralize(so_far.items, "sample")
    if so_far.size <= 1e6:
        return count
    return Text("{}, {:,.0f} of {:,.0f} MB", count, so_far.read / 1e6, so_far.size / 1e6)


def category_sentence(line: CategoryDone) -> str:
    """Returns `mean 6.43, min 2.00, max 9.50, 48/50 scored`."""
    scored = Text("{}/{} scored", line.scored, line.total)
    if line.mean is None:
        return Text("no score, {}", scored)
    digits = decimals(line.scale, line.high)
    mean, low, high = (score(n, digits) for n in (line.mean, line.low, line.high))
    lower = [] if line.scale.higher_is_better else [Text("lower is better")]
    return join_texts([Text("mean {}", mean), Text("min {}", low), Text("max {}", high), scored, *lower], ", ")


def steps_of(snapshot: Snapshot) -> str:
    """Returns `; cuda:0 at step 32/50, cuda:1 at step 31/50` for the edits in progress, as far as known."""
    editing = [view for view in snapshot.devices if view.activity == "editing" and view.figures]
    parts = [Text("{} at step {}", view.device, view.figures) for view in editing[:DEVICES_NAMED]]
    more = [Text("and {} more", len(editing) - len(parts))] if len(editing) > len(parts) else []
    return Text("; {}", [*parts, *more]) if parts else ""
