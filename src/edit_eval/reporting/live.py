"""What a run at work is doing: counts, means and devices at one moment, which is also the content of `live.json`.

A display writes it, `status` and the viewer read it. A snapshot is plain data. None of its text is sanitized, so
whoever shows it passes it through `terminal_text.one_line`.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields

import msgspec

from edit_eval.execution.contract import Meter
from edit_eval.files.durable import TEMPORARY_PREFIX
from edit_eval.records import JUDGE_FAILED, NO_EDIT, Judgement, Scale, Scoring, Status
from edit_eval.reporting.formats import duration
from edit_eval.reporting.language import code_to_text
from edit_eval.store.run_directory import LIVE, RunDirectory
from edit_eval.store.table import JudgementTable
from edit_eval.text import Text, join_texts


@dataclass(frozen=True)
class DeviceView:
    """The activity of one device."""

    device: str
    """Its name (`cuda:0`)."""
    activity: str
    """`starting`, `loading`, `editing`, `judging`, `waiting`, `unloading`, `retired`, or empty for none."""
    model: str = ""
    """Name of the model on it; empty for none."""
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
    """With a picture, or a score."""
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
    """Number of judgements with a score."""
    mean: float | None
    """Mean as the scale defines it; None while a category that it is taken over has no score."""


@dataclass(frozen=True)
class LatestEdit:
    """An edit that a service was sent, and its result."""

    id: str
    """Its id."""
    instruction: str
    """What was asked for."""
    source: str
    """A small picture as a data URL; empty if it cannot be read."""
    edit: str
    """The same of the edit."""
    status: str
    """How it ended, as in records."""
    reason: str
    """Why it has no score; empty if it has one."""
    score: float | None
    """The headline, in points."""


@dataclass(frozen=True)
class ServiceView:
    """Further state of a service."""

    waiting: int
    """Pairs without an answer."""
    per_second: float
    """Pairs answered per second, over the last minute."""
    p50: float | None
    """Median of the seconds until an answer, over the last thousand."""
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
    def n_failed(self) -> int:
        """Number of failed edits, and of failed judgements of existing edits."""
        return self.edits.failed + self.judgements.failed

    @property
    def fraction(self) -> float:
        """Settled share of all edits, judgements and controls, 0 to 1."""
        counts = (self.edits, self.judgements, self.controls)
        total = sum(count.total for count in counts)
        return sum(count.settled for count in counts) / total if total else 1.0


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


# -- counts --


def count_statuses(counts: Counter[Status], failures: Iterable[Status], per_minute: float | None = None) -> Count:
    """Returns the counts of so many records of each status, of which those of a skipped sample count as none."""
    failed = sum(counts[status] for status in failures)
    total = counts.total() - counts[Status.SKIPPED]
    settled = total - counts[Status.PENDING]
    # A rate only makes sense while there is more to come.
    return Count(counts[Status.OK], failed, total, settled, per_minute if settled < total else None)


def count_work(table: JudgementTable) -> tuple[Count, Count, Count]:
    """Counts edits, judgements and controls as the table has them; in a shard, those of its own samples."""
    own = table.shard
    edits = Counter(edit.status for edit in table.edits_of_work if own is None or edit.sample_id in own)
    judgements, controls = Counter[Status](), Counter[Status]()
    for row in table.rows():
        if own is None or row.sample_id in own:
            (judgements if row.kind in ("edit", "battle") else controls)[row.status] += 1
    return (
        count_statuses(edits, NO_EDIT),
        count_statuses(judgements, JUDGE_FAILED),
        count_statuses(controls, JUDGE_FAILED),
    )


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
        temporary.write_bytes(msgspec.json.encode(live, enc_hook=str.__str__))
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


# -- in words, the same on a terminal, in a log file and in `status` --


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


def time_left_words(snapshot: Snapshot) -> str:
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
    failed = [Text("{} failed", snapshot.n_failed)] if snapshot.n_failed else []
    return Text(
        "progress: {} %, {:, }", int(100 * snapshot.fraction), [*counts(snapshot), *failed, time_left_words(snapshot)]
    )


def device_words(view: DeviceView) -> str:
    """Returns what a device is doing: `editing 32/50, 00012_social_easy, 98 %, 61/80 GiB`."""
    figures = Text("{} s", view.seconds) if view.activity == "loading" else view.figures
    doing = code_to_text(view.activity or "free")
    doing = Text("{} {}", doing, figures) if figures else doing
    return join_texts(filter(None, (doing, view.about or view.model, *meter_words(view.meter))), ", ")


def meter_words(meter: Meter) -> tuple[str, str]:
    """Returns `98 %` and `61/80 GiB`; empty if unknown."""
    busy = "" if meter.busy is None else f"{100 * meter.busy:.0f} %"
    if meter.used is None or meter.total is None:
        return busy, ""
    return busy, f"{meter.used / 2**30:.0f}/{meter.total / 2**30:.0f} GiB"


def more_devices(views: Sequence[DeviceView]) -> str:
    """Returns `and 3 more: 2 editing, 1 free`."""
    doing = Counter(view.activity or "free" for view in views)
    return Text(
        "and {} more: {}", len(views), [Text("{} {}", n, code_to_text(what)) for what, n in doing.most_common()]
    )


def ending_words(snapshot: Snapshot) -> str:
    """Returns how the run ended, for the last line."""
    edits, scores = snapshot.edits, snapshot.judgements
    failed = Text(", {} failed", snapshot.n_failed) if snapshot.n_failed else ""
    open_ = sum(count.total - count.settled for count in (edits, scores, snapshot.controls))
    rest = Text(", {} not done", open_) if open_ else ""
    done = edits.ok, edits.total, scores.ok, scores.total
    return Text("{} of {} edits, {} of {} scores{}{}, in {}", *done, failed, rest, duration(snapshot.seconds))
