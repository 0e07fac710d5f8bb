"""The input of the progress displays: lines, each given once, and snapshots of what every device is doing.

A snapshot is plain data, and also the content of `live.json`. None of its text is sanitized, so a display must pass it
through `terminal_text.one_line`.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Protocol

import msgspec

from edit_eval.execution.contract import Meter
from edit_eval.judges.answers import is_prose
from edit_eval.pictures import TEMPORARY_PREFIX
from edit_eval.records import Judgement, Scale, Scoring
from edit_eval.reporting.formats import decimals, duration, score
from edit_eval.reporting.language import worded
from edit_eval.reporting.names import scale_words
from edit_eval.store.run_directory import LIVE, RunDirectory
from edit_eval.text import Text, counted, joined


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
    """`pull`, `round_robin` or `batch_sync`."""
    rows: tuple[AssignmentRow, ...]
    label: int = 0
    """Terminal columns of the longest label in this run's lines."""

    @property
    def explanation(self) -> str:
        """Returns the schedule in a sentence."""
        return {
            "pull": Text("a free device takes the next sample"),
            "round_robin": Text("edit i goes to device i mod N"),
            "batch_sync": Text(
                "edit i goes to device i mod N, and all devices wait for each other after every N edits"
            ),
        }[self.schedule]


@dataclass(frozen=True)
class Said:
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


Line = Assignment | Said | Judged | CategoryDone


@dataclass(frozen=True)
class DeviceView:
    """The activity of one device."""

    device: str
    activity: str
    """`starting`, `loading`, `editing`, `judging`, `waiting`, `unloading`, `retired`, or empty for none."""
    model: str = ""
    about: str = ""
    """The samples it is working on."""
    figures: str = ""
    """`32/50` steps, `31 asked`."""
    fraction: float | None = None
    """How full its bar is, 0 to 1."""
    seconds: int = 0
    """Time it has been doing that."""
    expected: float | None = None
    """Seconds that a load is likely to take."""
    meter: Meter = field(default_factory=Meter)
    """Memory and utilisation of a GPU."""


@dataclass(frozen=True)
class Count:
    """Counts of edits, judgements, or controls. A judgement counts once, when all its questions are answered."""

    ok: int = 0
    failed: int = 0
    """Of judgements only those of an existing edit."""
    total: int = 0
    """Without skipped samples."""
    settled: int = 0
    """Those that need no more work: good, failed, or without an edit to judge."""
    per_minute: float | None = None
    """The recent rate; None if nothing is left."""


@dataclass(frozen=True)
class MeanSoFar:
    """The headline of one edit model by one judge, over all that is scored."""

    edit_model: str
    judge: str
    score: str
    """Name of the score."""
    scale: Scale
    scored: int
    mean: float | None
    """Mean as the scale defines it; None while a category that it is taken over has no score."""


@dataclass(frozen=True)
class LatestEdit:
    """An edit that a service was sent, and its result."""

    id: str
    instruction: str
    source: str
    """A small picture as a data URL; empty if it cannot be read."""
    edit: str
    status: str
    reason: str
    score: float | None


@dataclass(frozen=True)
class ServiceView:
    """Further state of a service."""

    waiting: int
    """Pairs without an answer."""
    per_second: float
    """Pairs answered per second, over the last minute."""
    p50: float | None
    p99: float | None
    """99th percentile of the seconds until an answer, over the last thousand."""
    statuses: dict[str, dict[str, int]]
    """Number of judgements by judge and status."""
    near_copies: float | None
    """Share of near copies in the last window."""
    canaries: dict[str, float]
    """Kind -> mean reward from 0 to 1, in the last window."""
    alarms: tuple[str, ...]
    """The latest alarms."""
    latest: tuple[LatestEdit, ...]
    """Latest edits, newest first."""


@dataclass(frozen=True)
class Snapshot:
    """A run at one moment."""

    devices: tuple[DeviceView, ...] = ()
    edits: Count = Count()
    judgements: Count = Count()
    controls: Count = Count()
    """Judgements of pictures made by no edit model; in no other number."""
    means: tuple[MeanSoFar, ...] = ()
    seconds: float = 0.0
    """Time since the run began."""
    left: int | None = None
    """Seconds left; None while unknown."""
    left_without: tuple[str, ...] = ()
    """Kinds (`edit`, `judge`) not yet included in `left`, because nothing is known about them."""
    batch: tuple[int, int] | None = None
    """With `batch_sync`, the number of the batch and of all batches."""
    service: ServiceView | None = None
    """None unless the run is a service."""

    @property
    def failed(self) -> int:
        """Number of failed edits, and of failed judgements of existing edits."""
        return self.edits.failed + self.judgements.failed

    @property
    def fraction(self) -> float:
        """Settled share of all edits, judgements and controls, 0 to 1."""
        counts = (self.edits, self.judgements, self.controls)
        total = sum(count.total for count in counts)
        return sum(count.settled for count in counts) / total if total else 1.0


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


# -- means so far --


def means_so_far(judgements: Iterable[Judgement], scoring: Mapping[str, Scoring]) -> tuple[MeanSoFar, ...]:
    """Returns the mean of the headline for each edit model and judge, in the order of the judgements."""
    sums: dict[tuple[str, str], dict[str, CategorySum]] = {}
    for judgement in judgements:
        category = sums.setdefault((judgement.edit_model, judgement.judge), {}).setdefault(
            judgement.category, CategorySum()
        )
        score = judgement.scores.get(scoring[judgement.judge].headline)
        if score is not None:
            category.add(judgement.sample_id, score)
    return tuple(
        mean_so_far(edit_model, judge, scoring[judge], list(by_category.values()))
        for (edit_model, judge), by_category in sums.items()
    )


@dataclass
class CategorySum:
    """The scores of a category, of each sample their mean."""

    scored: int = 0
    total: float = 0.0
    """Of the samples' means."""
    of_samples: dict[str, tuple[int, float]] = field(default_factory=dict)
    """How many scores a sample has, and their sum."""

    def add(self, sample: str, score: float, count: int = 1) -> None:
        """Adds a score, or with -1 takes one away."""
        number, total = self.of_samples.get(sample, (0, 0.0))
        before = total / number if number else 0.0
        number, total = number + count, total + count * score
        self.scored += count
        self.of_samples[sample] = number, total
        if not number:
            del self.of_samples[sample]
        self.total += (total / number if number else 0.0) - before


def mean_so_far(edit_model: str, judge: str, scoring: Scoring, categories: Sequence[CategorySum]) -> MeanSoFar:
    """Returns the mean over samples, or over the categories' means; no mean if there is nothing to average."""
    parts = [(len(category.of_samples), category.total) for category in categories]
    if scoring.scale.mean_over != "categories":
        parts = [(sum(count for count, _ in parts), math.fsum(total for _, total in parts))]
    means = [total / count for count, total in parts if count]
    mean = math.fsum(means) / len(means) if means and len(means) == len(parts) else None
    scored = sum(category.scored for category in categories)
    return MeanSoFar(edit_model, judge, scoring.headline, scoring.scale, scored, mean)


# -- `live.json`: the state of a run at work, beside its journals, for other processes --

SCHEMA = 1
MOST_BYTES = 16 << 20
"""Largest file that is read: a thousand devices take a hundredth of that."""


@dataclass(frozen=True, kw_only=True)
class Live(Snapshot):
    """A snapshot of one start of a run."""

    schema: int
    start: int
    """Number of the start, from 1."""
    at: float
    """Time it was taken: seconds since 1970, by the clock of the machine that wrote it."""
    ended: bool
    """True if this start has ended."""


def write_live(directory: RunDirectory, snapshot: Snapshot, *, ended: bool = False) -> None:
    """Replaces the last snapshot. If it cannot be written it is skipped: that must not end a run."""
    shown = {field.name: getattr(snapshot, field.name) for field in fields(Snapshot)}
    live = Live(schema=SCHEMA, start=directory.number, at=time.time(), ended=ended, **shown)
    temporary = directory.path / f"{TEMPORARY_PREFIX}{os.getpid()}-{LIVE}"
    try:
        temporary.write_bytes(msgspec.json.encode(live))
        os.replace(temporary, directory.path / LIVE)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()


def read_live(directory: RunDirectory) -> Live | None:
    """Reads the snapshot of the start at work; None if none is at work, or it has written nothing yet."""
    start = directory.start_at_work
    if start is None:
        return None
    try:
        with (directory.path / LIVE).open("rb") as file:
            live = msgspec.json.decode(file.read(MOST_BYTES), type=Live)
    except (OSError, ValueError):  # msgspec's errors are ValueErrors, too
        return None
    return live if (live.schema, live.start, live.ended) == (SCHEMA, start, False) else None


# -- the words of the displays, the same on a terminal and in a log file --

DEVICES_NAMED = 8
"""Devices of a row named one by one."""


def plan_sentence(row: AssignmentRow) -> str:
    """Returns `edits by qwen_image_edit on cuda:0: 45, first 0, 6, 12, 18, 24, …`."""
    first = [Text("first {}", first_samples(row))] if row.first else []
    whose = Text("{} on {}: {}", work_of(row), devices(row.devices), row.count)
    return joined([whose, *first, *asked_words(row)], ", ")


def work_of(row: AssignmentRow) -> str:
    """Returns `edits by qwen_image_edit` or `scores by qwen3_vl`."""
    return Text("edits by {}", row.model) if row.kind == "edit" else Text("scores by {}", row.model)


def asked_words(row: AssignmentRow) -> list[str]:
    """How a judge is asked: `75 controls`, `615 questions`, `O of viescore`, `out of 10`; empty for edit models."""
    if row.scoring is None:
        return []
    controls = [counted(row.controls, "control")] if row.controls else []
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


def skipped(count: int) -> Said:
    """Returns a stand-in for lines skipped because a display was too slow."""
    return Said("", Text("({} lines skipped)", count))


def failed(judgement: Judgement) -> str:
    """Returns `score out of range: Score: 12`."""
    return Text("{}: {}", judgement.status.words, judgement.reason or judgement.answer)


def words_of(judgement: Judgement) -> str:
    """Returns the judge's words beside the score; empty if the answer is only a score."""
    return judgement.reason or (judgement.answer if is_prose(judgement.answer) else "")


def loaded(model: str, place: str, seconds: float, order: int, replicas: int, memory: int = 0) -> str:
    """Returns `qwen_image_edit on cuda:0 in 41 s (3 of 8), 57.7 GiB`: the number of a load of a model, and its cost.

    `seconds` excludes imports and waiting for other loads; `memory` is the bytes that the worker holds on its devices,
    0 if unknown.
    """
    which = Text("{} of {:d}", order, replicas) if order <= replicas else Text("again")
    held = f", {memory / 2**30:.1f} GiB" if memory else ""
    return Text("{} on {} in {} ({}){}", model, place, duration(seconds), which, held)


def reading_words(so_far: BenchmarkProgress) -> str:
    """Returns `120 samples, 577 of 1,280 MB`."""
    count = counted(so_far.items, "sample")
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
    return joined([Text("mean {}", mean), Text("min {}", low), Text("max {}", high), scored, *lower], ", ")


def counts(snapshot: Snapshot) -> list[str]:
    """Returns `edits 130/270 (3.2/min)`, `scores 20/270 (12/min)`, `controls 12/75`, `batch 20/45`, as they apply."""
    parts: list[str] = []
    for name, count in ((Text("edits"), snapshot.edits), (Text("scores"), snapshot.judgements)):
        if count.total:
            pace = Text(" ({})", rate(count.per_minute)) if count.per_minute else ""
            parts.append(Text("{} {}/{}{}", name, count.ok, count.total, pace))
    if snapshot.controls.settled < snapshot.controls.total:
        parts.append(Text("controls {}/{}", snapshot.controls.settled, snapshot.controls.total))
    if snapshot.batch:
        parts.append(Text("batch {}/{}", *snapshot.batch))
    return parts


def rate(per_minute: float) -> str:
    """Returns `12/min`, `3.2/min` or `0.45/min`."""
    digits = 0 if per_minute >= 9.95 else 1 if per_minute >= 0.95 else 2
    return Text("{}/min", f"{per_minute:.{digits}f}")


def left(snapshot: Snapshot) -> str:
    """Returns `12 min 05 s left`, as far as known."""
    if snapshot.left is None:
        return Text("time left unknown")
    soon = duration(float(snapshot.left))
    if not snapshot.left_without:
        return Text("{} left", soon)
    return (
        Text("{} left for the edits", soon)
        if "judge" in snapshot.left_without
        else Text("{} left for the scores", soon)
    )


def how_far(snapshot: Snapshot) -> str:
    """Returns a line of progress."""
    failed = [Text("{} failed", snapshot.failed)] if snapshot.failed else []
    return Text("progress: {} %, {:, }", int(100 * snapshot.fraction), [*counts(snapshot), *failed, left(snapshot)])


def steps_of(snapshot: Snapshot) -> str:
    """Returns `; cuda:0 at step 32/50, cuda:1 at step 31/50` for the edits in progress, as far as known."""
    editing = [view for view in snapshot.devices if view.activity == "editing" and view.figures]
    parts = [Text("{} at step {}", view.device, view.figures) for view in editing[:DEVICES_NAMED]]
    more = [Text("and {} more", len(editing) - len(parts))] if len(editing) > len(parts) else []
    return Text("; {}", [*parts, *more]) if parts else ""


def device_words(view: DeviceView) -> str:
    """Returns what a device is doing: `editing 32/50, 00012_social_easy, 98 %, 61/80 GiB`."""
    figures = Text("{} s", view.seconds) if view.activity == "loading" else view.figures
    doing = worded(view.activity or "free")
    doing = Text("{} {}", doing, figures) if figures else doing
    return joined(filter(None, (doing, view.about or view.model, *meter_words(view.meter))), ", ")


def meter_words(meter: Meter) -> tuple[str, str]:
    """Returns `98 %` and `61/80 GiB`; empty if unknown."""
    busy = "" if meter.busy is None else f"{100 * meter.busy:.0f} %"
    if meter.used is None or meter.total is None:
        return busy, ""
    return busy, f"{meter.used / 2**30:.0f}/{meter.total / 2**30:.0f} GiB"


def more_devices(views: Sequence[DeviceView]) -> str:
    """Returns `and 3 more: 2 editing, 1 free`."""
    doing = Counter(view.activity or "free" for view in views)
    return Text("and {} more: {}", len(views), [Text("{} {}", n, worded(what)) for what, n in doing.most_common()])


def ending(snapshot: Snapshot) -> str:
    """Returns how the run ended, for the last line."""
    edits, scores = snapshot.edits, snapshot.judgements
    failed = Text(", {} failed", snapshot.failed) if snapshot.failed else ""
    open_ = sum(count.total - count.settled for count in (edits, scores, snapshot.controls))
    rest = Text(", {} not done", open_) if open_ else ""
    done = edits.ok, edits.total, scores.ok, scores.total
    return Text("{} of {} edits, {} of {} scores{}{}, in {}", *done, failed, rest, duration(snapshot.seconds))
