"""A rehearsal on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from edit_eval.plugins.preparation.fitting import CONTEXT
from edit_eval.plugins.rehearse.results import (
    FAULTS,
    OUTCOMES,
    Digest,
    FaultRehearsed,
    ModelRehearsed,
    Rehearsal,
    is_far,
    is_far_on_host,
    relative_excess,
)
from edit_eval.reporting.document_files import write_sheet
from edit_eval.reporting.formats import NOTHING, duration, memory, short_duration
from edit_eval.reporting.language import current_language
from edit_eval.reporting.table import Column, Line, Sheet, Table, print_sheet
from edit_eval.text import Text, pluralize

LOADS: Mapping[str, Text] = {
    "stand-in": Text("random weights"),
    "weights on disk": Text("its weights"),
    "as it is": Text("as it is"),
    "server": Text("a server"),
}


def print_rehearsal(rehearsal: Rehearsal) -> None:
    """Prints what was found, the verdict last."""
    print_sheet(sheet(rehearsal))


def write_rehearsal(rehearsal: Rehearsal, target: Path, *, force: bool) -> None:
    """Writes the same as a page (`.html`), as Markdown (`.md`), or as the document of `--json` (`.json`)."""
    title = Text("Rehearsal of {}", rehearsal.configuration)
    write_sheet(title, sheet(rehearsal), rehearsal.as_plain(), target, language=current_language(), force=force)


def sheet(rehearsal: Rehearsal) -> Sheet:
    """Returns memory, times, digests, faults, what `plan` makes of the times, and whether the night may begin."""
    return [
        Line(
            Text(
                "{}: rehearsed with {} in {}. Its scores mean nothing, and none is kept.",
                rehearsal.configuration,
                pluralize(len(rehearsal.samples), "sample"),
                duration(rehearsal.seconds),
            ),
            "quiet",
        ),
        *(Line(note, "quiet") for note in rehearsal.notes),
        *([Line(_describe_cut(rehearsal.layers), "quiet")] if rehearsal.layers else []),
        *(Line(_describe_model(model), "quiet") for model in rehearsal.models),
        Line(),
        _memory(rehearsal),
        Line(),
        _times(rehearsal),
        *_same(rehearsal.digests),
        *_list_fault_tables(rehearsal.faults),
        Line(),
        *_whole_run(rehearsal),
        *(Line(_line(finding)) for finding in rehearsal.findings),
        *_verdict(rehearsal),
    ]


def _describe_cut(layers: int) -> Text:
    return Text("Every network was cut to {}, so these times predict nothing.", pluralize(layers, "layer"))


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


def _describe_model(model: ModelRehearsed) -> Text:
    return Text("{}: {}, on {}", model.model, LOADS[model.loads], ", ".join(model.devices))


def _stages(model: ModelRehearsed) -> Iterator[_Stage]:
    """Yields what is known of weights, of work, and of the host."""

    def off(measured: int | None, predicted: int | None, *, both: bool) -> tuple[float | None, bool]:
        if measured is None or predicted is None:
            return None, False
        share = relative_excess(measured, predicted)
        return share, is_far(share, both=both)

    if (model.doctor, model.predicted, model.measured) != (None, None, None):
        how = off(model.measured, model.predicted, both=True)
        seen = model.seen_loaded
        yield _Stage(model.model, Text("its weights"), model.doctor, model.predicted, model.measured, seen, *how)
    if (model.peak, model.seen_peak) != (None, None):
        how = off(None if model.peak is None else model.peak + CONTEXT, model.predicted_peak, both=False)
        yield _Stage(model.model, Text("at work"), None, model.predicted_peak, model.peak, model.seen_peak, *how)
    if model.host_peak is not None:
        share, _ = off(model.host_peak, model.predicted_host, both=False)
        far = model.predicted_host is not None and is_far_on_host(model.host_peak, model.predicted_host)
        yield _Stage(model.model, Text("on the host"), None, model.predicted_host, model.host_peak, None, share, far)


def _memory(rehearsal: Rehearsal) -> Table[_Stage]:
    return Table(
        every=(
            Column(Text("Memory"), lambda stage: stage.model, "name"),
            Column(Text("Stage"), lambda stage: stage.what, "word"),
            Column(
                Text("Doctor"),
                lambda stage: memory(stage.doctor),
                when=lambda stage: stage.doctor is not None,
                spare=True,
            ),
            Column(
                Text("Predicted"), lambda stage: memory(stage.predicted), when=lambda stage: stage.predicted is not None
            ),
            Column(
                Text("Measured"), lambda stage: memory(stage.measured), when=lambda stage: stage.measured is not None
            ),
            Column(
                Text("Off by"),
                lambda stage: "" if stage.off is None else f"{stage.off:+.0%}",
                look=lambda stage: "problem" if stage.far else "",
                when=lambda stage: stage.off is not None,
            ),
            Column(Text("All processes"), lambda stage: memory(stage.seen), when=lambda stage: stage.seen is not None),
        ),
        rows=tuple(stage for model in rehearsal.models for stage in _stages(model)),
    )


def _times(rehearsal: Rehearsal) -> Table[ModelRehearsed]:
    def seconds(value: float | None) -> str:
        return NOTHING if value is None else short_duration(value) if value >= 60 else f"{value:.2f} s"

    return Table(
        every=(
            Column(Text("Time"), lambda model: model.model, "name"),
            Column(Text("Load"), lambda model: seconds(model.load)),
            Column(Text("Edit or answer"), lambda model: seconds(model.unit)),
            Column(
                Text("Said to take"),
                lambda model: "" if model.said_unit is None else seconds(model.said_unit),
                when=lambda model: model.said_unit is not None,
            ),
            Column(Text("Steps"), lambda model: str(model.steps) if model.steps else ""),
            Column(Text("One step"), lambda model: seconds(model.one_step) if model.steps else ""),
            Column(Text("Batch"), lambda model: str(model.batch) if model.batch else ""),
        ),
        rows=rehearsal.models,
    )


def _same(digests: tuple[Digest, ...]) -> Iterator[Line | Table[Digest]]:
    if digests:
        yield Line()
        yield Table(
            every=(
                Column(Text("Made again"), lambda digest: digest.model, "name"),
                Column(Text("Where"), lambda digest: digest.where, "name"),
                Column(Text("Digest"), lambda digest: digest.digest[:12], "word"),
                Column(
                    "",
                    lambda digest: Text("the same") if digest.equal else Text("different"),
                    "word",
                    look=lambda digest: "" if digest.equal else "problem",
                ),
            ),
            rows=digests,
        )


def _list_fault_tables(faults: tuple[FaultRehearsed, ...] | None) -> Iterator[Line | Table[FaultRehearsed]]:
    if faults is None:
        return
    yield Line()
    yield Table(
        every=(
            Column(Text("Fault"), lambda fault: FAULTS[fault.fault], "name"),
            Column(Text("Device"), lambda fault: fault.device, "word"),
            Column(Text("Sample"), lambda fault: fault.sample, "name"),
            Column(Text("Outcome"), _became, "name"),
        ),
        rows=faults,
    )
    for note in dict.fromkeys(note for fault in faults for note in fault.notes):
        yield Line(note, "quiet")


def _became(fault: FaultRehearsed) -> str:
    if fault.outcome == "made":
        return Text("done anyway, on {}", fault.made_on)
    return OUTCOMES.get(fault.outcome, fault.outcome)


def _whole_run(rehearsal: Rehearsal) -> Iterator[Line]:
    if rehearsal.plan is None or rehearsal.plan.chosen is None:
        return
    own = rehearsal.plan.combinations[rehearsal.plan.chosen]
    yield Line(
        Text(
            "At this rate the whole run ({} on {}) takes {}.",
            pluralize(rehearsal.plan.samples, "sample"),
            pluralize(rehearsal.plan.devices, "device"),
            duration(own.prediction.makespan),
        )
    )
    best = rehearsal.plan.best
    if best is not None and best != rehearsal.plan.chosen:
        way = rehearsal.plan.combinations[best]
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


def _verdict(rehearsal: Rehearsal) -> Iterator[Line]:
    reasons = rehearsal.reasons
    if not reasons:
        yield Line(Text("All clear: ready to run."), "strong")
        return
    yield Line(Text("Not ready:"), "problem")
    for reason in reasons:
        yield Line(reason, "problem")
