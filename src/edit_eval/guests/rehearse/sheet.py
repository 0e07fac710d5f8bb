"""A rehearsal on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from edit_eval.execution.machine.fitting import CONTEXT
from edit_eval.guests.rehearse.came_of_it import is_far, is_far_on_host, off_by
from edit_eval.guests.rehearse.found import FAULTS, OUTCOMES, Digest, FaultRehearsed, ModelRehearsed, Rehearsal
from edit_eval.reporting.formats import NOTHING, duration, memory, short_duration
from edit_eval.reporting.language import spoken
from edit_eval.reporting.page.documents import write_sheet
from edit_eval.reporting.table import Column, Line, Sheet, Table, print_sheet
from edit_eval.text import Text, counted

LOADS: Mapping[str, Text] = {
    "stand-in": Text("random weights"),
    "weights on disk": Text("its weights"),
    "as it is": Text("as it is"),
    "server": Text("a server"),
}


def print_rehearsal(found: Rehearsal) -> None:
    """Prints what was found, the verdict last."""
    print_sheet(sheet(found))


def write_rehearsal(found: Rehearsal, target: Path, *, force: bool) -> None:
    """Writes the same as a page (`.html`), as Markdown (`.md`), or as the document of `--json` (`.json`)."""
    title = Text("Rehearsal of {}", found.configuration)
    write_sheet(title, sheet(found), found.as_plain(), target, language=spoken(), force=force)


def sheet(found: Rehearsal) -> Sheet:
    """Returns memory, times, digests, faults, what `plan` makes of the times, and whether the night may begin."""
    return [
        Line(
            Text(
                "{}: rehearsed with {} in {}. Its scores mean nothing, and none is kept.",
                found.configuration,
                counted(len(found.samples), "sample"),
                duration(found.seconds),
            ),
            "quiet",
        ),
        *(Line(note, "quiet") for note in found.notes),
        *([Line(_of_cut(found.layers), "quiet")] if found.layers else []),
        *(Line(_loaded(model), "quiet") for model in found.models),
        Line(),
        _memory(found),
        Line(),
        _times(found),
        *_same(found.digests),
        *_disturbed(found.faults),
        Line(),
        *_whole_run(found),
        *(Line(_line(finding)) for finding in found.findings),
        *_verdict(found),
    ]


def _of_cut(layers: int) -> Text:
    return Text("Every network was cut to {}, so these times predict nothing.", counted(layers, "layer"))


class _Stage(NamedTuple):
    """Memory of one model at one stage, in bytes; None is unknown."""

    model: str
    what: Text
    doctor: int | None
    predicted: int | None
    measured: int | None
    seen: int | None
    """By the driver, all processes together."""
    off: float | None = None
    far: bool = False


def _loaded(one: ModelRehearsed) -> Text:
    return Text("{}: {}, on {}", one.model, LOADS[one.loads], ", ".join(one.devices))


def _stages(one: ModelRehearsed) -> Iterator[_Stage]:
    """Yields what is known of weights, of work, and of the host."""

    def off(measured: int | None, predicted: int | None, *, both: bool) -> tuple[float | None, bool]:
        if measured is None or predicted is None:
            return None, False
        found = off_by(measured, predicted)
        return found, is_far(found, both=both)

    if (one.doctor, one.predicted, one.measured) != (None, None, None):
        how = off(one.measured, one.predicted, both=True)
        seen = one.seen_loaded
        yield _Stage(one.model, Text("its weights"), one.doctor, one.predicted, one.measured, seen, *how)
    if (one.peak, one.seen_peak) != (None, None):
        how = off(None if one.peak is None else one.peak + CONTEXT, one.predicted_peak, both=False)
        yield _Stage(one.model, Text("at work"), None, one.predicted_peak, one.peak, one.seen_peak, *how)
    if one.host_peak is not None:
        share, _ = off(one.host_peak, one.predicted_host, both=False)
        far = one.predicted_host is not None and is_far_on_host(one.host_peak, one.predicted_host)
        yield _Stage(one.model, Text("on the host"), None, one.predicted_host, one.host_peak, None, share, far)


def _memory(found: Rehearsal) -> Table[_Stage]:
    return Table(
        every=(
            Column(Text("Memory"), lambda one: one.model, "name"),
            Column(Text("Stage"), lambda one: one.what, "word"),
            Column(Text("Doctor"), lambda one: memory(one.doctor), when=lambda one: one.doctor is not None, spare=True),
            Column(Text("Predicted"), lambda one: memory(one.predicted), when=lambda one: one.predicted is not None),
            Column(Text("Measured"), lambda one: memory(one.measured), when=lambda one: one.measured is not None),
            Column(
                Text("Off by"),
                lambda one: "" if one.off is None else f"{one.off:+.0%}",
                look=lambda one: "problem" if one.far else "",
                when=lambda one: one.off is not None,
            ),
            Column(Text("All processes"), lambda one: memory(one.seen), when=lambda one: one.seen is not None),
        ),
        rows=tuple(stage for model in found.models for stage in _stages(model)),
    )


def _times(found: Rehearsal) -> Table[ModelRehearsed]:
    def seconds(value: float | None) -> str:
        return NOTHING if value is None else short_duration(value) if value >= 60 else f"{value:.2f} s"

    return Table(
        every=(
            Column(Text("Time"), lambda one: one.model, "name"),
            Column(Text("Load"), lambda one: seconds(one.load)),
            Column(Text("Edit or answer"), lambda one: seconds(one.unit)),
            Column(
                Text("Said to take"),
                lambda one: "" if one.said_unit is None else seconds(one.said_unit),
                when=lambda one: one.said_unit is not None,
            ),
            Column(Text("Steps"), lambda one: str(one.steps) if one.steps else ""),
            Column(Text("One step"), lambda one: seconds(one.one_step) if one.steps else ""),
            Column(Text("Batch"), lambda one: str(one.batch) if one.batch else ""),
        ),
        rows=found.models,
    )


def _same(digests: tuple[Digest, ...]) -> Iterator[Line | Table[Digest]]:
    if digests:
        yield Line()
        yield Table(
            every=(
                Column(Text("Made again"), lambda one: one.model, "name"),
                Column(Text("Where"), lambda one: one.where, "name"),
                Column(Text("Digest"), lambda one: one.digest[:12], "word"),
                Column(
                    "",
                    lambda one: Text("the same") if one.equal else Text("different"),
                    "word",
                    look=lambda one: "" if one.equal else "problem",
                ),
            ),
            rows=digests,
        )


def _disturbed(faults: tuple[FaultRehearsed, ...] | None) -> Iterator[Line | Table[FaultRehearsed]]:
    if faults is None:
        return
    yield Line()
    yield Table(
        every=(
            Column(Text("Fault"), lambda one: FAULTS[one.fault], "name"),
            Column(Text("Device"), lambda one: one.device, "word"),
            Column(Text("Sample"), lambda one: one.sample, "name"),
            Column(Text("Outcome"), _became, "name"),
        ),
        rows=faults,
    )
    for note in dict.fromkeys(note for fault in faults for note in fault.notes):
        yield Line(note, "quiet")


def _became(one: FaultRehearsed) -> str:
    if one.outcome == "made":
        return Text("done anyway, on {}", one.made_on)
    return OUTCOMES.get(one.outcome, one.outcome)


def _whole_run(found: Rehearsal) -> Iterator[Line]:
    if found.plan is None:
        return
    own = found.plan.combinations[found.plan.chosen]
    yield Line(
        Text(
            "At this rate the whole run ({} on {}) takes {}.",
            counted(found.plan.samples, "sample"),
            counted(found.plan.devices, "device"),
            duration(own.prediction.makespan),
        )
    )
    best = found.plan.best
    if best is not None and best != found.plan.chosen:
        way = found.plan.combinations[best]
        if way.prediction.makespan < 0.98 * own.prediction.makespan:
            yield Line(
                Text(
                    "With schedule {}, order {} and placement {} it takes {}.",
                    way.schedule,
                    way.order,
                    way.placement,
                    duration(way.prediction.makespan),
                )
            )


def _line(finding: Mapping[str, object]) -> str:
    text, advice = finding["text"], finding["advice"]
    return Text("{}; {}", text, advice) if advice else str(text)


def _verdict(found: Rehearsal) -> Iterator[Line]:
    reasons = found.reasons
    if not reasons:
        yield Line(Text("All clear: ready to run."), "strong")
        return
    yield Line(Text("Not ready:"), "problem")
    for reason in reasons:
        yield Line(reason, "problem")
