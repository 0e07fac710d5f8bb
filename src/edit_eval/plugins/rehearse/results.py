"""What came of the starts of a rehearsal: memory and times beside their predictions, digests, faults."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from edit_eval.execution.checks import call_class_method
from edit_eval.json_values import JsonObject
from edit_eval.plugins.preparation.fitting import CONTEXT, Need, PlacedModel, host_need_of, need_of
from edit_eval.plugins.preparation.planning import Plan
from edit_eval.plugins.rehearse.in_worker.rehearsed import Mark
from edit_eval.plugins.rehearse.stand_ins import StandIns
from edit_eval.plugins.rehearse.start import RehearsedStart
from edit_eval.records import Edit, Judgement, Status
from edit_eval.text import Items, Text

# -- what a rehearsal has found, as data --

FAULTS: Mapping[str, Text] = {
    "neighbour": Text("another process takes the card's memory"),
    "killed": Text("a worker is killed"),
    "memory": Text("memory runs out in a judge's batch"),
    "silent": Text("the card stops answering"),
}
OUTCOMES: Mapping[str, Text] = {
    "not planted": Text("not tried: no batch or edit was left for it; give more `--samples`, or more `--minutes`"),
    "no batch": Text("cannot happen: no judge is asked about several pairs at once"),
    "missing": Text("missing"),
}


@dataclass(frozen=True)
class ModelRehearsed:
    """What came of one model. Memory is in bytes, times are in seconds; None is unknown."""

    model: str
    """`edit:NAME`, `judge:NAME`."""
    loads: str
    """`stand-in`, `weights on disk`, `as it is` (a class of the user's own), `server` (one of ours asks it)."""
    layers_left_out: int
    devices: tuple[str, ...]
    doctor: int | None
    """What `doctor` says that its weights take on a device, before anything is made or loaded."""
    predicted: int | None
    """The same of what is rehearsed."""
    measured: int | None
    """What torch holds for its weights on one device."""
    predicted_peak: int | None
    peak: int | None
    """The most that torch has reserved on one GPU while it worked."""
    seen_loaded: int | None
    """By the driver (NVML), all processes together; on the CPU, the process's memory on the host."""
    seen_peak: int | None
    said_load: float | None
    """What its class says beforehand (`duration`), or what others have measured of it."""
    said_unit: float | None
    load: float | None
    """With the reading of files that have no bytes on disk, so without the disk's own time."""
    unit: float | None
    """An edit, or the judgement of one pair."""
    one_step: float | None
    """An edit of one step, from an edit's first and further steps."""
    steps: int | None
    batch: int | None
    """Pairs that a judge was asked at once."""
    predicted_host: int | None = None
    """What one of its processes takes of the host, if it keeps its weights there (`offload`)."""
    host_peak: int | None = None
    """The most memory of the host that one of its processes has taken; None of a model that is not on a GPU."""
    too_large: int | None = None
    """Pairs at once for which its memory was not enough; `batch` is then what it was enough for."""
    misses: tuple[str, ...] = ()
    """What lies further from its prediction than it should."""


@dataclass(frozen=True)
class Digest:
    """Whether one edit, or one answer, is the same elsewhere."""

    model: str
    sample: str
    where: str
    """`cuda:1, a fresh process`; `alone in its batch`."""
    digest: str
    equal: bool


@dataclass(frozen=True)
class FaultRehearsed:
    """What the run made of one planted fault."""

    fault: str
    sample: str
    device: str
    outcome: str
    """What became of the edit or the judgement that it hit: `made`, its status, or of `OUTCOMES`."""
    made_on: str
    """The device on which it was made in the end."""
    notes: tuple[str, ...]
    """What the run said of it."""


@dataclass(frozen=True)
class Rehearsal:
    """All that was found."""

    configuration: str
    samples: tuple[str, ...]
    layers: int | None
    seconds: float
    models: tuple[ModelRehearsed, ...]
    digests: tuple[Digest, ...]
    plan: Plan | None
    faults: tuple[FaultRehearsed, ...] | None
    """None if none were asked for."""
    findings: tuple[Mapping[str, Any], ...]
    """What would not fit, or might not, and the setting that would."""
    failures: tuple[str, ...]
    """Why edits have failed, and judgements; and why workers were retired."""
    notes: tuple[str, ...]
    stopped: str = ""
    """Why it ended early; empty if it did not."""

    @property
    def reasons(self) -> list[str]:
        """Why the night should not begin like this, a line each; empty if nothing speaks against it."""
        reasons: list[str] = [Text("{}: {}", model.model, miss) for model in self.models for miss in model.misses]
        reasons += [
            Text("{}: {} pairs at once do not fit; give it `batch_size: {}`", model.model, model.too_large, model.batch)
            for model in self.models
            if model.too_large
        ]
        if not self.layers:  # cut, it is about how things go, not about whether they fit
            reasons += [finding["text"] for finding in self.findings if finding["stops"]]
        reasons += list(self.failures)
        reasons += [
            Text("{}: {}", FAULTS[fault.fault], OUTCOMES.get(fault.outcome, fault.outcome))
            for fault in self.faults or ()
            if fault.outcome not in ("made", "no batch")
        ]
        return reasons + [self.stopped] * bool(self.stopped)

    def as_plain(self) -> JsonObject:
        """Returns the document of `--json`."""
        return {
            "configuration": self.configuration,
            "samples": list(self.samples),
            "layers": self.layers,
            "seconds": round(self.seconds, 3),
            "models": [asdict(model) for model in self.models],
            "digests": [asdict(digest) for digest in self.digests],
            "plan": self.plan.as_plain() if self.plan else None,
            "faults": None if self.faults is None else [asdict(fault) for fault in self.faults],
            "findings": [dict(finding) for finding in self.findings],
            "failures": list(self.failures),
            "notes": list(self.notes),
            "stopped": self.stopped,
            "reasons": self.reasons,
        }


NEAR = 0.05
"""How far measured memory may lie from what was predicted."""

CUDA_LIBRARIES = 3 << 30
"""What CUDA's libraries may take of the host in a process, besides a model's weights: a bound, not measured yet."""


def models_of(doctor: Sequence[PlacedModel], made: StandIns, first: RehearsedStart) -> Iterator[ModelRehearsed]:
    """Yields what came of each model."""
    said = {wanted.model.key: need_of(wanted) for wanted in doctor}
    for wanted in first.wanted:
        yield _model(wanted, said.get(wanted.model.key), made, first)


def _model(wanted: PlacedModel, said: Need | None, made: StandIns, first: RehearsedStart) -> ModelRehearsed:
    key, need = wanted.model.key, need_of(wanted)
    marks = [mark for mark in first.marks if mark["model"] == key]
    memory, activities = (
        (first.results.telemetry.memory, first.results.telemetry.activities) if first.results else ((), ())
    )
    kind, _, name = key.partition(":")
    devices = tuple("+".join(place) for place in wanted.places)
    loaded = [mark for mark in marks if mark["what"] == "loaded"]
    works = [mark for mark in marks if mark["what"] in ("edit", "judge")]
    width = max((len(place) for place in wanted.places), default=1)
    measured = _most(sum(mark["weights"].values()) for mark in loaded)
    measured = None if measured is None else measured // width
    offloaded = wanted.section.placement.offload != "none" and wanted.is_on_gpu
    if offloaded:  # on the card there is only what computes
        measured = _most(mark["weights"].get("cuda", 0) for mark in loaded)
    host, host_peak = host_need_of(wanted), None
    if wanted.is_on_gpu:
        host_peak = _most(mark["host"] for mark in marks if mark["host"])
    peak = _most(mark["peak"] // width for mark in works if "peak" in mark)
    seen = [use for use in memory if use.model == name and use.kind == ("editing" if kind == "edit" else "judging")]
    loads = [a.end - a.begin for a in activities if a.kind == "loading" and a.model == name and not a.what]
    timed = [mark for mark in works if mark.get("nth") != 1] or works  # the first is slower: kernels are chosen
    batch = max((mark["batch"] for mark in works if "batch" in mark), default=None)
    if batch is not None:
        whole_ones = [mark for mark in works if mark["batch"] == batch]
        timed = [mark for mark in whole_ones if not mark.get("neighbours")] or whole_ones
    unit = _middle([mark["seconds"] / mark.get("batch", 1) for mark in timed])
    step = _middle([step for mark in timed if (step := mark.get("step")) is not None])
    steps = max((mark["steps"] for mark in timed if "steps" in mark), default=None)
    one_step = None
    if unit is not None and step is not None and steps:
        one_step = unit - (steps - 1) * step
    elif steps == 1:
        one_step = unit
    said_load, said_unit, _ = call_class_method(wanted.section, made.configuration.folder, "duration") or (
        None,
        None,
        "",
    )
    misses = []
    whole = not offloaded and made.loads.get(key) in ("stand-in", "weights on disk")
    if whole and need is not None and measured is not None:
        misses += _miss(Text("its weights"), measured, need.weights, both=True)
    if said is not None and need is not None and key not in made.cut and made.loads.get(key) == "stand-in":
        misses += _miss(Text("its weights as doctor has them"), need.weights, said.weights, both=True)
    if need is not None and peak is not None:
        misses += _miss(Text("the most it takes"), peak + CONTEXT, need.total, both=False)
    if host is not None and host_peak is not None and is_far_on_host(host_peak, host):
        misses += _miss(Text("the most it takes of the host"), host_peak, host, both=False)
    return ModelRehearsed(
        model=key,
        loads=made.loads.get(key, "as it is"),
        layers_left_out=made.cut.get(key, 0),
        devices=devices,
        doctor=said.weights if said else None,
        predicted=need.weights if need else None,
        measured=measured or None,
        predicted_peak=need.total if need else None,
        peak=peak,
        seen_loaded=_most(use.loaded for use in seen if use.loaded is not None),
        seen_peak=_most(use.peak for use in seen if use.peak is not None),
        predicted_host=host,
        host_peak=host_peak,
        said_load=said_load,
        said_unit=said_unit,
        load=_middle(loads),
        unit=unit,
        one_step=one_step,
        steps=steps or None,
        batch=batch,
        too_large=max((mark["batch"] for mark in marks if mark["what"] == "too large"), default=None),
        misses=tuple(misses),
    )


def _miss(what: str, measured: int, predicted: int, *, both: bool) -> list[str]:
    """Returns a line if the measured bytes lie further from the predicted ones than is allowed, in either direction."""
    off = relative_excess(measured, predicted)
    if not is_far(off, both=both):
        return []
    return [Text("{}: {:.2f} GiB, and {:.2f} were predicted ({:+.0%})", what, measured / 2**30, predicted / 2**30, off)]


def relative_excess(measured: int, predicted: int) -> float:
    """Returns how much larger the measured bytes are, as a share of the predicted ones."""
    return measured / predicted - 1 if predicted else 0.0


def is_far(off: float, *, both: bool) -> bool:
    """True if that is more than is allowed; less than predicted is far with `both` only."""
    return off > NEAR or (both and off < -NEAR)


def is_far_on_host(measured: int, predicted: int) -> bool:
    """True if a process takes more of the host than is allowed beside what CUDA's libraries may take there."""
    return is_far(relative_excess(measured - CUDA_LIBRARIES, predicted), both=False)


def _most(values: Any) -> int | None:
    return max(values, default=None)


def _middle(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def digests_of(first: RehearsedStart, again: RehearsedStart) -> list[Digest]:
    """Compares the edits on each device with the first start's, and the answers about them."""
    digests = []
    before = {(edit.edit_model, edit.sample_id): edit for edit in first.edits if edit.status is Status.OK}
    for edit in again.edits:
        name, _, place = edit.edit_model.rpartition(" on ")
        if edit.status is Status.OK and (name, edit.sample_id) in before:
            there = before[name, edit.sample_id]
            where = Text("{}, a fresh process", place)
            digests.append(Digest(f"edit:{name}", edit.sample_id, where, edit.pixels, edit.pixels == there.pixels))
    said, alone = _answers(first), _answers(again)
    for (judge, key), answer in alone.items():
        earlier = said.get((judge, key))
        if earlier is not None and key in again.answered:
            sample, column = again.answered[key]
            where = Text("alone in its batch, about the edit of {}", column.rpartition(" on ")[2])
            digests.append(Digest(judge, sample, where, answer, answer == earlier))
    return digests


def _answers(start: RehearsedStart) -> dict[tuple[str, str], str]:
    """Returns the digest of each answer, by judge and key."""
    marks = [mark for mark in start.marks if mark["what"] == "judge"]
    return {(mark["model"], key): digest for mark in marks for key, digest in mark["answers"].items()}


def failures_of(first: RehearsedStart) -> Iterator[str]:
    """Yields why workers were retired, and why edits and judgements have failed, each reason once."""
    for reason, places in first.retired.items():
        if reason not in first.stopped:
            yield Text("{}: {}", Items(places), reason)
    seen = set()
    ended: list[Edit | Judgement] = [*first.edits, *first.judgements]
    for record in ended:
        if record.status in (Status.OK, Status.PENDING, Status.SKIPPED) or not record.reason:
            continue
        reason = " ".join(record.reason.split())
        if reason not in seen:
            seen.add(reason)
            yield Text("{}: {}", record.sample_id, reason)


def outcomes_of_faults(last: RehearsedStart) -> list[FaultRehearsed]:
    """Returns what the run has made of each planted fault."""
    faults = []
    batches = any(w.model.kind == "judge" and w.section.placement.batch_size > 1 for w in last.wanted)
    planted = {mark["fault"]: mark for mark in last.marks if mark["what"] == "planted"}
    for fault in FAULTS:
        if fault not in planted:
            untried = "not planted" if batches or fault != "memory" else "no batch"
            faults.append(FaultRehearsed(fault, "", "", untried, "", ()))
            continue
        mark = planted[fault]
        kind, _, name = mark["model"].partition(":")
        sample = mark["about"] if kind == "edit" else last.answered.get(mark["about"], ("", ""))[0]
        hit: list[Edit | Judgement] = [e for e in last.edits if (e.sample_id, e.edit_model) == (sample, name)]
        if kind != "edit":
            hit = [j for j in last.judgements if (j.sample_id, j.judge) == (sample, name)]
        done = bool(hit) and {record.status for record in hit} == {Status.OK}
        ends = sorted({f"{record.status}: {' '.join(record.reason.split())}" for record in hit})
        outcome = "made" if done else "; ".join(ends) or "missing"
        made_on = ", ".join(dict.fromkeys(record.device for record in hit)) if done else ""
        told = list(dict.fromkeys(n for n in last.notes if mark["device"] in n or (sample and sample in n)))
        notes = tuple(n for n in told if not any(more != n and more.startswith(n) for more in told))
        if fault == "memory" and (parts := _parts_of_batch(mark, last)):
            notes += (Text("its batch of {} was answered in parts of {}", mark["batch"], parts),)
        faults.append(FaultRehearsed(fault, sample, mark["device"], outcome, made_on, notes))
    return faults


def _parts_of_batch(planted: Mark, last: RehearsedStart) -> list[int]:
    """Returns the sizes in which the worker has then judged the batch that ran out of memory."""
    later = last.marks[last.marks.index(planted) + 1 :]
    parts: list[int] = []
    for mark in later:
        if mark["what"] == "judge" and mark["process"] == planted["process"] and sum(parts) < planted["batch"]:
            parts.append(mark["batch"])
    return parts
