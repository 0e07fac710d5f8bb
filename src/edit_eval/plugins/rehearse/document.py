"""What a rehearsal has found, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from edit_eval.json_values import JsonObject
from edit_eval.plugins.preparation.planning import Plan
from edit_eval.text import Text

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
