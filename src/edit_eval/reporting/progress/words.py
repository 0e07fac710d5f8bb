"""What the displays of the progress say: the same words on a terminal and in a log file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from edit_eval.execution.contract import Meter
from edit_eval.judges.answers import is_prose
from edit_eval.records import Judgement
from edit_eval.reporting.formats import decimals, duration, score
from edit_eval.reporting.language import worded
from edit_eval.reporting.names import scale_words
from edit_eval.reporting.progress.view import AssignmentRow, BenchmarkProgress, CategoryDone, DeviceView, Said, Snapshot
from edit_eval.text import Text, counted, joined

DEVICES_NAMED = 8
"""Devices of a row that are named one by one."""


def plan_sentence(row: AssignmentRow) -> str:
    """`edits by qwen_image_edit on cuda:0: 45, first 0, 6, 12, 18, 24, …`."""
    first = [Text("first {}", first_samples(row))] if row.first else []
    whose = Text("{} on {}: {}", work_of(row), devices(row.devices), row.count)
    return joined([whose, *first, *asked_words(row)], ", ")


def work_of(row: AssignmentRow) -> str:
    """`edits by qwen_image_edit`, `scores by qwen3_vl`."""
    return Text("edits by {}", row.model) if row.kind == "edit" else Text("scores by {}", row.model)


def asked_words(row: AssignmentRow) -> list[str]:
    """`75 controls`, `615 questions`, `O of viescore`, `out of 10`: how a judge is asked; nothing of an edit model."""
    if row.scoring is None:
        return []
    controls = [counted(row.controls, "control")] if row.controls else []
    questions = [Text("{:,} questions", row.questions)] if row.questions > row.count + row.controls else []
    score_of = Text("{} of {}", row.scoring.headline, row.scoring.protocol, context="part")
    return [*controls, *questions, score_of, scale_words(row.scoring.scale)]


def first_samples(row: AssignmentRow) -> str:
    """`0, 6, 12, 18, 24, …`"""
    return ", ".join([*map(str, row.first), *(["…"] if row.count > len(row.first) else [])])


def devices(names: Sequence[str]) -> str:
    """`cuda:0–7`, `cuda:2, 3, 0`; of very many that do not follow each other the first and the last."""
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
    """What stands in place of lines for which a display was too slow."""
    return Said("", Text("({} lines skipped)", count))


def failed(judgement: Judgement) -> str:
    """`score out of range: Score: 12`."""
    return Text("{}: {}", judgement.status.words, judgement.reason or judgement.answer)


def words_of(judgement: Judgement) -> str:
    """What the judge says beside the score; nothing where the score is all there is."""
    return judgement.reason or (judgement.answer if is_prose(judgement.answer) else "")


def loaded(model: str, place: str, seconds: float, order: int, replicas: int, memory: int = 0) -> str:
    """`qwen_image_edit on cuda:0 in 41 s (3 of 8), 57.7 GiB`: the how manieth load of a model it is, and what it takes.

    `seconds` neither counts imports, nor that it had to wait until others were loaded; `memory` is the bytes that the
    worker holds on its devices, 0 where that is not known.
    """
    which = Text("{} of {:d}", order, replicas) if order <= replicas else Text("again")
    held = f", {memory / 2**30:.1f} GiB" if memory else ""
    return Text("{} on {} in {} ({}){}", model, place, duration(seconds), which, held)


def reading_words(so_far: BenchmarkProgress) -> str:
    """`120 samples, 577 of 1,280 MB`."""
    count = counted(so_far.items, "sample")
    if so_far.size <= 1e6:
        return count
    return Text("{}, {:,.0f} of {:,.0f} MB", count, so_far.read / 1e6, so_far.size / 1e6)


def category_sentence(line: CategoryDone) -> str:
    """`mean 6.43, min 2.00, max 9.50, 48/50 scored`."""
    scored = Text("{}/{} scored", line.scored, line.total)
    if line.mean is None:
        return Text("no score, {}", scored)
    digits = decimals(line.scale, line.high)
    mean, low, high = (score(n, digits) for n in (line.mean, line.low, line.high))
    lower = [] if line.scale.higher_is_better else [Text("lower is better")]
    return joined([Text("mean {}", mean), Text("min {}", low), Text("max {}", high), scored, *lower], ", ")


def counts(snapshot: Snapshot) -> list[str]:
    """`edits 130/270 (3.2/min)`, `scores 20/270 (12/min)`, `controls 12/75`, `batch 20/45`: what this run has to do."""
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
    """`12/min`, `3.2/min`, `0.45/min`."""
    digits = 0 if per_minute >= 9.95 else 1 if per_minute >= 0.95 else 2
    return Text("{}/min", f"{per_minute:.{digits}f}")


def left(snapshot: Snapshot) -> str:
    """`12 min 05 s left`, as far as that is known."""
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
    """A line of progress."""
    failed = [Text("{} failed", snapshot.failed)] if snapshot.failed else []
    return Text("progress: {} %, {:, }", int(100 * snapshot.fraction), [*counts(snapshot), *failed, left(snapshot)])


def steps_of(snapshot: Snapshot) -> str:
    """`; cuda:0 at step 32/50, cuda:1 at step 31/50`: how far the edits under way are, where that is known."""
    editing = [view for view in snapshot.devices if view.activity == "editing" and view.figures]
    parts = [Text("{} at step {}", view.device, view.figures) for view in editing[:DEVICES_NAMED]]
    more = [Text("and {} more", len(editing) - len(parts))] if len(editing) > len(parts) else []
    return Text("; {}", [*parts, *more]) if parts else ""


def device_words(view: DeviceView) -> str:
    """`editing 32/50, 00012_social_easy, 98 %, 61/80 GiB`: what one device does."""
    figures = Text("{} s", view.seconds) if view.activity == "loading" else view.figures
    doing = worded(view.activity or "free")
    doing = Text("{} {}", doing, figures) if figures else doing
    return joined(filter(None, (doing, view.about or view.model, *meter_words(view.meter))), ", ")


def meter_words(meter: Meter) -> tuple[str, str]:
    """`98 %` and `61/80 GiB`; empty where nobody tells."""
    busy = "" if meter.busy is None else f"{100 * meter.busy:.0f} %"
    if meter.used is None or meter.total is None:
        return busy, ""
    return busy, f"{meter.used / 2**30:.0f}/{meter.total / 2**30:.0f} GiB"


def more_devices(views: Sequence[DeviceView]) -> str:
    """`and 3 more: 2 editing, 1 free`."""
    doing = Counter(view.activity or "free" for view in views)
    return Text("and {} more: {}", len(views), [Text("{} {}", n, worded(what)) for what, n in doing.most_common()])


def ending(snapshot: Snapshot) -> str:
    """How it ended, for the last line."""
    edits, scores = snapshot.edits, snapshot.judgements
    failed = Text(", {} failed", snapshot.failed) if snapshot.failed else ""
    open_ = sum(count.total - count.settled for count in (edits, scores, snapshot.controls))
    rest = Text(", {} not done", open_) if open_ else ""
    done = edits.ok, edits.total, scores.ok, scores.total
    return Text("{} of {} edits, {} of {} scores{}{}, in {}", *done, failed, rest, duration(snapshot.seconds))
