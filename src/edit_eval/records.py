"""The nouns: sample, edit, reply, reading, judgement, and the status that each of them has.

Everything else in edit-eval makes, moves, keeps or counts these. Standard library only: workers in foreign
environments import this file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, get_args

from edit_eval.text import Text

Language = Literal["en", "zh"]
"""Of instructions, of questions to judges, of what people read."""
LANGUAGES: tuple[str, ...] = get_args(Language)


class Ending(Enum):
    """What sort of end a status is: counts, colours, retries and reports go by this, and not by single statuses."""

    NONE = "none"  # there is a number, or there may be one yet, or the sample is left out
    NO_EDIT = "no edit"  # nothing to judge, since the edit failed
    DECLINED = "declined"  # nothing to judge, since the model would not make the edit: an answer, counted apart
    NO_SCORE = "no score"  # an edit is there, and its judge gave no score


class Status(str, Enum):
    """What became of an edit, of a question, of a score. Exactly one holds; only `ok` has a number.

    Each is what the records say, what a person reads, and what sort of end it is.
    """

    words: Text
    ending: Ending

    OK = "ok", Text("scored"), Ending.NONE
    PENDING = "pending", Text("not done yet"), Ending.NONE
    SKIPPED = "skipped", Text("skipped"), Ending.NONE  # the sample itself is bad (`on_bad_sample: skip`)
    EDIT_FAILED = "edit_failed", Text("edit failed"), Ending.NO_EDIT
    EDIT_REFUSED = "edit_refused", Text("edit refused"), Ending.DECLINED
    JUDGE_ERROR = "judge_error", Text("judge failed"), Ending.NO_SCORE  # the judge gave no answer
    REFUSED = "refused", Text("judge refused"), Ending.NO_SCORE  # the judge declined to answer
    # An answer without exactly the values that were asked for; a value outside of the range that was asked for.
    UNPARSEABLE = "unparseable", Text("no score in the answer"), Ending.NO_SCORE
    OUT_OF_RANGE = "out_of_range", Text("score out of range"), Ending.NO_SCORE
    # A limit on its length ended the answer before it was complete.
    CUT_OFF = "cut_off", Text("answer cut off"), Ending.NO_SCORE
    # Everything was read, and there is no such number (the PSNR of two equal pictures).
    UNDEFINED = "undefined", Text("score undefined"), Ending.NO_SCORE

    def __new__(cls, value: str, *meaning: Any) -> Status:
        made = str.__new__(cls, value)
        made._value_ = value
        made.words, made.ending = meaning
        return made

    def __str__(self) -> str:
        return str(self.value)


CONTROL = "control:"
"""What the `edit_model` of a judgement begins with that is about no edit; behind it stands what is judged."""
EDIT_LOST = tuple(status for status in Status if status.ending is Ending.NO_EDIT)
"""The edit failed."""
DECLINED = tuple(status for status in Status if status.ending is Ending.DECLINED)
"""The edit model's answer was that it would not: not to be asked again, and no failure."""
NO_EDIT = (*EDIT_LOST, *DECLINED)
"""Why there is no edit; of an edit, and of all that would have been judged of it."""
JUDGE_FAILED = tuple(status for status in Status if status.ending is Ending.NO_SCORE)
"""Statuses of a judgement that failed over an edit that is there."""
FAILED = (*EDIT_LOST, *JUDGE_FAILED)
"""What reports advise to retry."""
CUT_SHORT = (Status.CUT_OFF, Status.REFUSED, Status.JUDGE_ERROR)
"""How a reply ends that does not end by itself (`ok`)."""

# Python 3.11 takes ten times as long to look a member up in its class.
_OK = Status.OK


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture's file, and which picture it is."""

    path: str
    digest: str = ""
    """SHA-256 of the file's bytes, hexadecimal; empty where a benchmark of the user's own does not know it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One or more source images and what is to be done to them."""

    id: str
    """As in the benchmark. Shown, never trusted as a path."""
    index: int
    """Place in the benchmark before any filter, from 0. With the model's `seed` it makes the sample's seed."""
    category: str = ""
    """`physical`, `environmental`, `social`, `causal`, `referential`, or the benchmark's own word."""
    pictures: Mapping[str, Picture]
    """`source`, `source_2`, ... (what the edit model gets, in this order), `reference` (a right edit), `mask` (white
    where the edit may change something). A sample that `follows` another has no `source` of its own."""
    instruction: str
    """In the language of the run."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """JSON values that only some protocols read: explanations, rules, checks."""
    cluster: str = ""
    """What belongs together statistically: scores of one cluster are not independent. Empty: the source's digest."""
    follows: str = ""
    """The id of the sample whose edit is this one's source: the turn before in an edit of several turns."""
    description: str = ""
    """What the source shows, in the language of the run."""
    language: str = "en"
    difficulty: str = ""
    tags: tuple[str, ...] = ()
    instructions: Mapping[str, str] = field(default_factory=dict)
    """The instruction in every language the benchmark has, for the report: `{"en": ..., "zh": ...}`."""
    rationale: str = ""
    """What a right edit pays attention to, in the language of the run; shown, not given to the judge."""
    alone: bool = False
    """Whether a judge is asked about it in a batch of its own, whatever its `batch_size`."""
    fault: str = ""
    """Why the sample cannot be used; empty for a good one. A bad sample has the status `skipped` everywhere."""

    def __post_init__(self) -> None:
        if not self.cluster and "source" in self.pictures:
            object.__setattr__(self, "cluster", self.pictures["source"].digest)

    @property
    def source(self) -> str:
        """Path of the (first) source image's file; empty where the sample follows another."""
        return self.pictures["source"].path if "source" in self.pictures else ""

    @property
    def source_digest(self) -> str:
        """SHA-256 of that file's bytes; empty where there is none or nobody knows it."""
        return self.pictures["source"].digest if "source" in self.pictures else ""


@dataclass(frozen=True, slots=True, kw_only=True)
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
    """`ok`, `pending`, `skipped`, `edit_failed` or `edit_refused`."""
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
    """Things worth knowing that are no failure: `identical_to_source`, `other_aspect_ratio`,
    `other_when_repeated`; `kept`: a round that was not needed, so this is the edit of the round before."""
    instruction: str = ""
    """What the model was told, where that was not the sample's instruction (see `Told`)."""

    def __post_init__(self) -> None:
        if (self.status is _OK) != bool(self.image):
            raise ValueError(f"an edit has an image exactly when its status is ok: {self}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """How a column of edits comes by its instructions: each is made of what a judge has said."""

    edit_model: str
    """Who makes them, as the configuration calls it."""
    judge: str
    """Who says it: the critic of a round, or who rewrites instructions."""
    before: str = ""
    """The column whose edit the judge was shown; empty: it was asked before there was any."""
    round: int = 1
    """Which edit of a sample it is, each with the critique of the one before; from 1."""
    source: Literal["source", "last"] = "source"
    """What the model is given: the sample's own source, or the edit before."""
    template: str = "{critique}"
    """The instruction, in which `{critique}` is what the judge said and `{instruction}` the sample's own."""
    stop: float | None = None
    """The judge's headline from which on the edit before is kept; None: no edit is that good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a judge says to one question. Kept as it came; what it means is decided by the protocol, and can be anew."""

    text: str = ""
    """As it came, to the end that it had. Where the judge failed (`judge_error`): why."""
    values: Mapping[str, float] = field(default_factory=dict)
    """What was measured, or raw probabilities by label: their sum is the mass. No NaN, no infinity."""
    normalised: bool = False
    """The probabilities were divided by their sum before anybody saw them: nobody knows the mass."""
    ended: Status = Status.OK
    """`ok`: by itself; `cut_off`: by a limit on its length; `refused`: the judge's server withheld it, or the rest;
    `judge_error`: the judge raised, died or timed out."""
    final: bool = False
    """The judge is not to be asked again, whatever retries are left."""
    seconds: float = 0.0
    """Time that the judge computed, in seconds; of a batch, the batch's time divided by its members."""
    device: str = ""
    length: int = 0
    """Characters of the whole answer where it was so long that `text` is only its beginning; 0 where it is all."""
    tokens: tuple[int, int] = (0, 0)
    """Read and written, as the judge's server counted them; zeros where it does not say."""

    def __post_init__(self) -> None:
        if self.ended is not _OK and self.ended not in CUT_SHORT:
            raise ValueError(f"a reply ends ok, cut_off, refused or judge_error, not {self.ended}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the replies to one question amount to: values, or the reason why there are none."""

    values: Mapping[str, float] = field(default_factory=dict)
    """Those that the question gives. Of a measured one some may lack: those are `undefined`, and `reason` says why."""
    status: Status = Status.OK
    """`pending` while it was not asked, or is to be asked again."""
    reason: str = ""
    """Why there are no values; where there are some, the judge's words besides them."""
    text: str = ""
    """The reply that decided, or the last one."""
    mass: float | Literal["unknown"] | None = None
    """Of probabilities: how much of it the judge gave to all legal answers, 0 to 1; None in all other forms."""
    asked: int = 0
    """How often the judge was asked."""
    applies: bool = True
    """False: an earlier answer has ruled the question out. It is asked nowhere, is no failure, and has no values."""
    ruled_out: tuple[str, ...] = ()
    """The values that do not apply to this edit, as another one of the same reply tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What one judge says of one edit: named scores, and why others are missing.

    A score that is in neither `scores` nor `missing` does not apply to the sample, or to this edit of it.
    """

    sample_id: str
    category: str
    edit_model: str
    """`control:source`, `control:blank` or `control:shuffled` for a control."""
    judge: str
    edit_seed: int
    repeat: int
    headline: str
    """The score that coverage, gates and margins count; where that does not apply, the first that does."""
    status: Status
    """Of the headline."""
    reason: str = ""
    """Why there is no headline; where there is one, the judge's words where it gave any."""
    scores: Mapping[str, float] = field(default_factory=dict)
    missing: Mapping[str, tuple[Status, str]] = field(default_factory=dict)
    """For each score that should be there and is not: status and reason. Empty where there was nothing to judge: then
    `status` and `reason` hold for all."""
    readings: tuple[Mapping[str, Reading], ...] = ()
    """For each reading: by question. Empty where there was nothing to judge."""
    again: frozenset[str] = frozenset()
    """The scores that came only when a question that they need was asked again."""
    spread: Mapping[str, float] = field(default_factory=dict)
    """With several readings, for each score the standard deviation between them (n - 1), in its points."""
    seconds: float = 0.0
    """Time that the judge computed for all of it, in seconds."""
    device: str = ""
    """Of the last reply."""
    tokens: tuple[int, int] = (0, 0)
    """Read and written for all of it, as the judge's server counted them; zeros where it does not say."""
    other: str = ""
    """Of a battle: the edit model whose edit the first one's was held against. Empty where one edit was judged."""

    def __post_init__(self) -> None:
        if (self.status is _OK) != (self.headline in self.scores):
            raise ValueError(f"a judgement has a headline exactly when its status is ok: {self}")

    @property
    def score(self) -> float | None:
        """The headline: of a sample to which the protocol's does not apply, the first score that does.

        Who puts judgements on one scale takes a score by its name, from `scores`.
        """
        return self.scores.get(self.headline)

    @property
    def answer(self) -> str:
        """The raw replies that decided, of all questions and readings."""
        return "\n\n".join(one.text for reading in self.readings for one in reading.values() if one.text)

    @property
    def answers(self) -> int:
        """How often the judge was asked the question that was asked most often."""
        return max((one.asked for reading in self.readings for one in reading.values()), default=0)

    def outcome(self, score: str) -> tuple[Status, str] | None:
        """Status and reason of a score; None where it does not apply."""
        if score in self.scores:
            return Status.OK, ""
        if not self.missing and self.status is not Status.OK:
            return self.status, self.reason
        return self.missing.get(score)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The range of a score, its direction, and what its mean is taken over."""

    lowest: float | None = None
    """None: open, so that there is no bound on what is missing."""
    highest: float | None = None
    higher_is_better: bool = True
    mean_over: Literal["samples", "categories"] = "samples"
    """`categories`: the mean of the categories' means."""

    @property
    def worst(self) -> float | None:
        """The end that nobody wants."""
        return self.lowest if self.higher_is_better else self.highest

    @property
    def best(self) -> float | None:
        """The other end."""
        return self.highest if self.higher_is_better else self.lowest

    @property
    def span(self) -> float | None:
        """From end to end; None where one is open."""
        return None if self.lowest is None or self.highest is None else self.highest - self.lowest


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """What a judge's scores are, by its protocol."""

    protocol: str
    """Its registered name, or the class of the user's own."""
    headline: str
    scales: Mapping[str, Scale]
    """In the protocol's order."""
    parts: tuple[str, ...] = ()
    """Those that are parts of the headline (a criterion each), which tables of results show beneath it."""
    looks: int = 1
    """How often strengths may be looked at while it is open how many battles follow."""

    @property
    def scale(self) -> Scale:
        """The headline's."""
        return self.scales[self.headline]


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFailures:
    """Tasks of one model that failed on one device. Most were tried again elsewhere, and came to something."""

    device: str
    """Several, with `+` between them, where a model is spread over them."""
    model: str
    """The key of the edit model or judge."""
    attempts: int
    out_of_memory: int
    """Of the attempts."""
    error: str
    """Of the last attempt; empty where there was none."""
    retired: str
    """Why the device was not used any more for this model, at the last start in which that happened; else empty."""


@dataclass(frozen=True, kw_only=True)
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
    """Those that judge one edit at a time."""
    scoring: Mapping[str, Scoring]
    """For each judge what its scores are; for those of `battle_judges`, too."""
    controls: tuple[Judgement, ...] = ()
    """Judgements of what no edit model made: outside of every other number."""
    battles: tuple[Judgement, ...] = ()
    """Judgements of two edits of a sample, held against each other: outside of every number but strengths."""
    battle_judges: tuple[str, ...] = ()
    """The judges that are asked about two edits."""
    told: Mapping[str, Told] = field(default_factory=dict)
    """For those of the `edit_models` that are told what a judge said: how."""
    critiques: tuple[Judgement, ...] = ()
    """What those judges say: outside of every number but which round they would choose. What was said before there was
    an edit has `control:rewrite` for its edit model."""
    rounds: int = 1
    """How many rounds of battles are asked, where a design is extended."""
    published: Mapping[tuple[str, str], Mapping[str, float | str]] = field(default_factory=dict)
    """For each (edit model, judge) the numbers as a benchmark's authors define them, by name: a number, or a text that
    says why there is none. Shown under their names, never ranked, never a gate."""
    activities: tuple[Activity, ...] = ()
    wall_seconds: tuple[float, ...] = ()
    """Wall time of each start, in seconds."""
    devices: tuple[str, ...] = ()
    memory: tuple[MemoryUse, ...] = ()
    """One for every load on every device, in the order of the loads."""
    utilisation: tuple[Utilisation, ...] = ()
    """At most one for every (start, GPU, kind); none for workers on the CPU."""
    device_failures: tuple[DeviceFailures, ...] = ()
    """At most one for every (device, model), those with most attempts first."""
    configuration: Mapping[str, object] = field(default_factory=dict)
    """The configuration of the last start with all its defaults, as plain data without secrets."""
    resolved: Mapping[str, object] = field(default_factory=dict)
    """What it came to: the identities of `edit_models` and `judges` (as in keys), each judge with its protocol."""
    environment: Mapping[str, object] = field(default_factory=dict)
    """Versions, devices, revisions, as recorded by the last start."""
    about: Mapping[str, str] = field(default_factory=dict)
    """What the benchmark says of itself: `source`, `licence`, and what else a reader should know."""
    examined: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """For each judge that an audit could examine what its passport says: see docs/records.md (`judges`)."""
    notes: tuple[str, ...] = ()
    """What a reader must know: what is odd about the samples, damaged lines, changed libraries, mixed GPUs."""


def model_title(key: str) -> str:
    """A model's key for people: `edit:testing` is `edit model testing`, `judge:testing` is `judge testing`."""
    kind, _, name = key.partition(":")
    return Text("edit model {}", name) if kind == "edit" else Text("judge {}", name)
