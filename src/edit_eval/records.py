"""The nouns: sample, edit, reply, answer, judgement, and the status that each of them has.

Everything else in edit-eval makes, moves, keeps or counts these. Standard library only: workers in foreign
environments import this file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Status(str, Enum):
    """What became of one (sample, edit model, seed, judge, repeat). Exactly one holds; only `ok` has a number."""

    OK = "ok"
    PENDING = "pending"  # not done yet
    SKIPPED = "skipped"  # the sample itself is bad (`on_bad_sample: skip`)
    EDIT_FAILED = "edit_failed"  # there is no edit to judge
    JUDGE_ERROR = "judge_error"  # the judge gave no answer
    REFUSED = "refused"  # the judge declined to answer
    UNPARSEABLE = "unparseable"  # an answer without exactly one score in it
    OUT_OF_RANGE = "out_of_range"  # a score outside of the rubric's range
    CUT_OFF = "cut_off"  # a limit on its length ended the answer before it was a score

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Sample:
    """One source image and what is to be done to it."""

    id: str
    """As in the benchmark. Shown, never trusted as a path."""
    index: int
    """Place in the benchmark before any filter, from 0. With the model's `seed` it makes the sample's seed."""
    category: str
    """`physical`, `environmental`, `social`, `causal`, `referential`, or the benchmark's own word."""
    source: str
    """Path of the source image's file."""
    source_digest: str
    """SHA-256 of that file's bytes, hexadecimal."""
    instruction: str
    """In the language of the run."""
    description: str = ""
    """What the source shows, in the language of the run."""
    language: str = "en"
    difficulty: str = ""
    tags: tuple[str, ...] = ()
    instructions: Mapping[str, str] = field(default_factory=dict)
    """The instruction in every language the benchmark has, for the report: `{"en": ..., "zh": ...}`."""
    rationale: str = ""
    """What a right edit pays attention to, in the language of the run; shown, not given to the judge."""
    fault: str = ""
    """Why the sample cannot be used; empty for a good one. A bad sample has the status `skipped` everywhere."""


@dataclass(frozen=True, slots=True)
class Edit:
    """What an edit model made of one sample with one seed: an image, or the reason why there is none."""

    key: str
    """SHA-256 over all that decides the pixels."""
    sample_id: str
    edit_model: str
    """The name under which the configuration knows the model."""
    seed: int
    """The seed handed to the model: the model's `seed` + the sample's index (+ a stride for further edit seeds)."""
    edit_seed: int
    """Which of the `evaluation.edit_seeds` this is, from 0."""
    status: Status
    """`ok`, `pending`, `skipped` or `edit_failed`."""
    reason: str = ""
    image: str = ""
    """Path of the image, relative to the run directory."""
    pixels: str = ""
    """SHA-256 of the image's size and RGB values (see `pictures.pixel_digest`)."""
    width: int = 0
    height: int = 0
    file_bytes: int = 0
    seconds: float = 0.0
    """Time that the model computed, in seconds."""
    device: str = ""
    flags: tuple[str, ...] = ()
    """Things worth knowing that are no failure: `identical_to_source`, `other_aspect_ratio`."""

    def __post_init__(self) -> None:
        if (self.status is Status.OK) != bool(self.image):
            raise ValueError(f"an edit has an image exactly when its status is ok: {self}")


@dataclass(frozen=True, slots=True)
class Reply:
    """What a judge says to one question, where it knows how that came to its end. A plain text ended by itself."""

    text: str
    """As it came; to the end that it had."""
    ended: Status = Status.OK
    """`ok`: by itself; `cut_off`: by a limit on its length; `refused`: the judge's server withheld it, or the rest."""

    def __post_init__(self) -> None:
        if self.ended not in (Status.OK, Status.CUT_OFF, Status.REFUSED):
            raise ValueError(f"a reply ends ok, cut_off or refused, not {self.ended}")


@dataclass(frozen=True, slots=True)
class Answer:
    """One raw answer of a judge. Kept as it came; what it means is decided by the protocol, and can be decided anew."""

    text: str
    error: str = ""
    """Why there is no text: the judge raised, died or timed out."""
    seconds: float = 0.0
    """Time that the judge computed, in seconds; of a batch, the batch's time divided by its members."""
    device: str = ""
    final: bool = False
    """The judge is not to be asked again, whatever retries are left: it died or raised too often over this edit."""
    ended: Status = Status.OK
    """How the text came to its end, as in `Reply`."""
    length: int = 0
    """Characters of the whole answer where it was so long that `text` is only its beginning; 0 where it is all."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one judge says of one edit. A score exists only where the status is `ok`."""

    key: str
    """SHA-256 over all that decides the answer; empty where there was nothing to judge."""
    sample_id: str
    category: str
    edit_model: str
    judge: str
    edit_seed: int
    repeat: int
    status: Status
    score: float | None = None
    """0 to 10."""
    answer: str = ""
    """The raw answer that decided."""
    reason: str = ""
    """Why there is no score; for a score, the judge's words where it gave any."""
    answers: int = 0
    """How often the judge was asked."""
    seconds: float = 0.0
    device: str = ""

    def __post_init__(self) -> None:
        if (self.status is Status.OK) != (self.score is not None):
            raise ValueError(f"a judgement has a score exactly when its status is ok: {self}")


@dataclass(frozen=True, slots=True)
class Activity:
    """One stretch of a device's time. What no activity covers is idle."""

    start_number: int
    """Which start of the run this belongs to (a resumed run has several), from 1."""
    device: str
    kind: str
    """`starting` (its process does its imports, perhaps while another model is at work on the device), `loading`,
    `editing`, `judging` or `unloading`."""
    model: str
    """The name of the edit model or judge."""
    begin: float
    """Seconds since that start began (monotonic)."""
    end: float
    what: str = ""
    """The samples worked on, for a person to read."""
    role: str = ""
    """`edit` or `judge`: what the model is, since one of each may have the same name. Empty in runs of old versions."""


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Memory in bytes from before a model was loaded onto a device until it was gone; None where nobody could tell.

    Of a GPU: what is in use there, whoever uses it, as its driver tells. Of a worker on the CPU: what its process
    holds.
    """

    start_number: int
    device: str
    model: str
    """The name of the edit model or judge."""
    kind: str
    """What the model was loaded for: `editing` or `judging`."""
    before: int | None
    """When the load began. None for a worker on the CPU."""
    loaded: int | None
    """When the model was loaded; None where it never was."""
    peak: int | None
    """The most that was seen from there until its end, by looking once a second and by the worker itself."""
    after: int | None
    """When its process was gone. None for a worker on the CPU."""


@dataclass(frozen=True, slots=True)
class Utilisation:
    """How busy a GPU was while it did one kind of thing: the share of the time in which anything was computed on it."""

    start_number: int
    device: str
    kind: str
    """`loading`, `editing`, `judging`, `unloading` or `idle`."""
    samples: int
    """How often its driver was asked, once a second."""
    busy: float
    """Mean of what it said, 0 to 1."""


@dataclass(frozen=True)
class Results:
    """All that a run has recorded, and all that statistics and reports need: they read nothing else.

    `judgements` has exactly one entry for every (sample, edit model, edit seed, judge, repeat) of the run, whatever
    became of it, in the benchmark's order within each (edit model, edit seed, judge, repeat).
    """

    name: str
    directory: str
    samples: tuple[Sample, ...]
    """The samples of this run (after the filters), in the benchmark's order."""
    edits: tuple[Edit, ...]
    """Exactly one for every (sample, edit model, edit seed)."""
    judgements: tuple[Judgement, ...]
    edit_models: tuple[str, ...]
    judges: tuple[str, ...]
    activities: tuple[Activity, ...] = ()
    wall_seconds: tuple[float, ...] = ()
    """Wall time of each start, in seconds."""
    devices: tuple[str, ...] = ()
    memory: tuple[MemoryUse, ...] = ()
    """One for every load on every device, in the order of the loads."""
    utilisation: tuple[Utilisation, ...] = ()
    """At most one for every (start, GPU, kind); none for workers on the CPU."""
    configuration: Mapping[str, object] = field(default_factory=dict)
    """The configuration of the last start with all its defaults, as plain data without secrets."""
    resolved: Mapping[str, object] = field(default_factory=dict)
    """What it came to: the identities of `edit_models` and `judges` (as in keys), and the `rubrics`."""
    environment: Mapping[str, object] = field(default_factory=dict)
    """Versions, devices, revisions, as recorded by the last start."""
    notes: tuple[str, ...] = ()
    """What a reader must know: damaged lines, changed libraries, mixed GPUs."""


def model_title(key: str) -> str:
    """A model's key for people: `edit:testing` is `edit model testing`, `judge:testing` is `judge testing`."""
    kind, _, name = key.partition(":")
    return f"{'edit model' if kind == 'edit' else kind} {name}"


def counted(number: int, noun: str) -> str:
    """`1 edit`, `2 edits`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
