"""The records: sample, edit, reply, reading, judgement, and the status that each of them has.

Everything else in edit-eval makes, moves, keeps or counts these. Standard library only: workers in foreign
environments import this file.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Any, Literal, TypedDict, get_args

from edit_eval.text import Text

Language = Literal["en", "zh"]
"""Language of instructions, of questions to judges, and of texts for people."""
OnStep = Callable[[int, int], None]
"""`on_step(step, steps)`: called after each step of an edit, from 1 to `steps`, or each token of an answer, for
progress and as a sign of life."""
LANGUAGES: tuple[str, ...] = get_args(Language)


@dataclass(frozen=True, slots=True)
class Unknown:
    """What is not known, and why: a number that cannot be computed, a state that nobody was asked for, a word of
    others' that no table lists. `None` says that something does not apply.

    It has no truth value, order or sum, so that code which has no branch for it fails where it stands. In JSON it is
    `{"unknown": REASON}` (`to_json`), in tables an empty cell with the reason beside it.
    """

    reason: str | Text

    def to_json(self) -> dict[str, str]:
        """Returns what records and documents have in its place."""
        return {"unknown": str.__str__(self.reason)}

    def __bool__(self) -> bool:
        raise TypeError(f"what is not known is neither true nor false: {self.reason}")

    def __lt__(self, other: object) -> bool:
        raise TypeError(f"what is not known has no order: {self.reason}")

    __le__ = __gt__ = __ge__ = __lt__

    def __float__(self, other: object = None) -> float:
        raise TypeError(f"what is not known is no number: {self.reason}")

    __int__ = __index__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = (
        __float__
    )


class Ending(Enum):
    """Kind of end that a status is: counts, colours, retries and reports go by this, not by single statuses."""

    NONE = "none"  # scored, not done yet, or left out
    NO_EDIT = "no edit"  # nothing to judge, since the edit failed
    NO_FILE = "no file"  # nothing to judge, since a finished edit is not in its folder
    DECLINED = "declined"  # nothing to judge, since the model would not make the edit: an answer, counted apart
    NO_SCORE = "no score"  # there is an edit, but its judge gave no score


class Status(str, Enum):
    """State of an edit, a question or a score. Exactly one holds; only `ok` has a number.

    Each has a value for the records, words for people, and the kind of end that it is.
    """

    words: Text
    ending: Ending

    OK = "ok", Text("scored"), Ending.NONE
    PENDING = "pending", Text("not done yet"), Ending.NONE
    SKIPPED = "skipped", Text("skipped"), Ending.NONE  # the sample itself is bad (`on_bad_sample: skip`)
    EDIT_FAILED = "edit_failed", Text("edit failed"), Ending.NO_EDIT
    EDIT_MISSING = "edit_missing", Text("edit missing"), Ending.NO_FILE
    EDIT_REFUSED = "edit_refused", Text("edit refused"), Ending.DECLINED
    JUDGE_ERROR = "judge_error", Text("judge failed"), Ending.NO_SCORE  # the judge gave no answer
    REFUSED = "refused", Text("judge refused"), Ending.NO_SCORE  # the judge declined to answer
    # An answer without exactly the values asked for; a value outside the range asked for.
    UNPARSEABLE = "unparseable", Text("no score in the answer"), Ending.NO_SCORE
    OUT_OF_RANGE = "out_of_range", Text("score out of range"), Ending.NO_SCORE
    # A length limit ended the answer before it was complete.
    CUT_OFF = "cut_off", Text("answer cut off"), Ending.NO_SCORE
    # Everything was read, but the number does not exist (the PSNR of two equal pictures).
    UNDEFINED = "undefined", Text("score undefined"), Ending.NO_SCORE

    def __new__(cls, value: str, *meaning: Any) -> Status:
        made = str.__new__(cls, value)
        made._value_ = value
        made.words, made.ending = meaning
        return made

    def __str__(self) -> str:
        return str(self.value)


CONTROL = "control:"
"""Prefix of `edit_model` in a judgement that is about no edit; the rest says what is judged."""
EDIT_LOST = tuple(status for status in Status if status.ending is Ending.NO_EDIT)
"""Statuses of an edit that failed."""
NO_FILE = tuple(status for status in Status if status.ending is Ending.NO_FILE)
"""Statuses of a finished edit that is not there: no retry makes it."""
DECLINED = tuple(status for status in Status if status.ending is Ending.DECLINED)
"""Statuses of an edit that the model declined to make: not a failure, and not to be asked for again."""
NO_EDIT = (*EDIT_LOST, *NO_FILE, *DECLINED)
"""Reasons why there is no edit: statuses of the edit and of everything that would have been judged of it."""
JUDGE_FAILED = tuple(status for status in Status if status.ending is Ending.NO_SCORE)
"""Statuses of a judgement that failed although there is an edit."""
FAILED = (*EDIT_LOST, *JUDGE_FAILED)
"""Statuses that reports advise to retry."""
CUT_SHORT = (Status.CUT_OFF, Status.REFUSED, Status.JUDGE_ERROR)
"""Endings of a reply other than complete (`ok`)."""

# A name of its own, since Python 3.11 takes ten times as long to look a member up in its class.
_OK = Status.OK


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture's file and its digest."""

    path: str
    """Path of the file."""
    digest: str = ""
    """SHA-256 of the file's bytes, hexadecimal; empty where a user's own benchmark does not give it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One or more source images and the edit asked for."""

    id: str
    """Id in the benchmark. Shown, never trusted as a path."""
    index: int
    """Place in the benchmark before any filter, from 0. Added to the model's `seed`, it gives the sample's seed."""
    category: str = ""
    """`physical`, `environmental`, `social`, `causal`, `referential`, or the benchmark's own word."""
    pictures: Mapping[str, Picture]
    """`source`, `source_2`, ... (what the edit model gets, in this order), `reference` (a right edit), `mask` (white
    where the edit may change something). A sample that `follows` another has no `source` of its own."""
    instruction: str
    """Instruction in the language of the run."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """JSON values that only some protocols read: explanations, rules, checks."""
    cluster: str = ""
    """Group for statistics: scores within a cluster are not independent. Empty: the source's digest."""
    follows: str = ""
    """The id of the sample whose edit is this one's source: the turn before in an edit of several turns."""
    description: str = ""
    """Description of the source, in the language of the run."""
    language: str = "en"
    """Of the instruction."""
    difficulty: str = ""
    """A word of the benchmark's own, for filters and groups; so are `tags`."""
    tags: tuple[str, ...] = ()
    """Words by which results can be grouped."""
    instructions: Mapping[str, str] = field(default_factory=dict)
    """The instruction in every language the benchmark has, for the report: `{"en": ..., "zh": ...}`."""
    rationale: str = ""
    """Notes on what a right edit pays attention to, in the language of the run; shown, not given to the judge."""
    alone: bool = False
    """True if a judge is asked about it in a batch of its own, regardless of `batch_size`."""
    fault: str = ""
    """Why the sample cannot be used; empty for a good one. A bad sample has the status `skipped` everywhere."""

    def __post_init__(self) -> None:
        if not self.cluster and "source" in self.pictures:
            object.__setattr__(self, "cluster", self.pictures["source"].digest)

    @property
    def source(self) -> str:
        """Path of the (first) source image; empty if the sample follows another."""
        return self.pictures["source"].path if "source" in self.pictures else ""

    @property
    def source_digest(self) -> str:
        """SHA-256 of that file's bytes; empty if there is no such file or its digest is not known."""
        return self.pictures["source"].digest if "source" in self.pictures else ""


LONGEST = 1e9
"""Seconds: thirty years. More is no time that anything took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One edit of a sample by an edit model with one seed: an image, or the reason why there is none."""

    key: str
    """SHA-256 over everything that decides the pixels."""
    sample_id: str
    """Id of the sample."""
    edit_model: str
    """The model's name in the configuration."""
    seed: int
    """The seed that the model was given: its own + the sample's index + 1,000,000 for each `edit_seed`."""
    edit_seed: int
    """Which of the `evaluation.edit_seeds` this is, from 0."""
    status: Status
    """`ok`, `pending`, `skipped`, `edit_failed`, `edit_missing` or `edit_refused`."""
    reason: str = ""
    """Why there is no image."""
    image: str = ""
    """Path of the image, relative to the run directory."""
    pixels: str = ""
    """SHA-256 of the image's size and RGB values."""
    width: int = 0
    """In pixels; 0 without a picture."""
    height: int = 0
    """In pixels; 0 without a picture."""
    file_bytes: int = 0
    """Size of the file; `width` and `height` are in pixels."""
    seconds: float = 0.0
    """Time that the model computed, in seconds."""
    device: str = ""
    """Where it was made."""
    flags: tuple[str, ...] = ()
    """Remarks that are not failures: `identical_to_source`, `other_aspect_ratio`, `other_when_repeated`,
    `one_of_several`."""
    own_size: tuple[int, int] = (0, 0)
    """Width and height in which the picture came, if its model has scaled it; else zeros."""
    instruction: str = ""
    """Instruction given to the model, if not the sample's own: in rounds it has a judge's words in it."""
    made_in: str = ""
    """The column in which it was made, if it was kept from an earlier round: then it is that edit, at no cost. Empty
    for an edit of its own column. Never in the journal."""

    def __post_init__(self) -> None:
        if (self.status is _OK) != bool(self.image):
            raise ValueError(f"an edit has an image exactly when its status is ok: {self}")
        if not 0 <= self.seconds <= LONGEST:
            raise ValueError(f"no time that an edit takes: {self}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refinement:
    """How a column of edits gets its instructions, each made from a judge's words."""

    edit_model: str
    """The edit model's name in the configuration."""
    judge: str
    """The judge whose words are used."""
    before: str = ""
    """The column whose edit the judge was shown; empty: it was asked before there was one."""
    round: int = 1
    """Number of the edit of a sample, each made with the critique of the one before; from 1."""
    source: Literal["source", "last"] = "source"
    """Input of the model: the sample's own source, or the edit before."""
    template: str = "{critique}"
    """The instruction, where `{critique}` is the judge's text and `{instruction}` the sample's own."""
    stop: float | None = None
    """Headline score from which the edit before is kept; None: never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A judge's reply to one question, kept as it came; the protocol decides what it means, and can do so again."""

    text: str = ""
    """The raw text, complete or not. If the judge failed (`judge_error`): why."""
    values: Mapping[str, float] = field(default_factory=dict)
    """Measured values, or raw probabilities by label: their sum is the mass. No NaN, no infinity."""
    normalised: bool = False
    """True if the probabilities came already divided by their sum, so the mass is unknown."""
    ended: Status = Status.OK
    """`ok`: complete; `cut_off`: by a length limit; `refused`: the judge's server withheld it, or the rest of it;
    `judge_error`: the judge raised, died or timed out."""
    final: bool = False
    """True if the judge is not to be asked again, even with retries left."""
    seconds: float = 0.0
    """Time that the judge computed, in seconds; for a batch, the batch's time divided by its members."""
    device: str = ""
    length: int = 0
    """Characters of the whole answer if `text` holds only its beginning; 0 if `text` is all of it."""
    tokens: tuple[int, int] = (0, 0)
    """Tokens read and written, as counted by the judge's server; zeros if it does not say."""

    def __post_init__(self) -> None:
        if self.ended is not _OK and self.ended not in CUT_SHORT:
            raise ValueError(f"a reply ends ok, cut_off, refused or judge_error, not {self.ended}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The result of the replies to one question: values, or the reason why there are none."""

    values: Mapping[str, float] = field(default_factory=dict)
    """Values of the question. Some of a measurement may be missing: those are `undefined`, and `reason` says why."""
    status: Status = Status.OK
    """`pending` before the question is asked, or if it is to be asked again."""
    reason: str = ""
    """Why there are no values; if there are some, the judge's words besides them."""
    text: str = ""
    """The reply that decided, or the last one."""
    mass: float | Literal["unknown"] | None = None
    """Share of the probability that the judge gave to all legal answers, 0 to 1; None for all other forms."""
    asked: int = 0
    """Number of times the judge was asked."""
    applies: bool = True
    """False if an earlier answer ruled the question out: it is not asked, is no failure, and has no values."""
    inapplicable: tuple[str, ...] = ()
    """Values that do not apply to this edit, according to another value of the same reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """One judge's opinion of one edit: named scores, and why others are missing.

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
    """The score used for coverage, gates and margins; if it does not apply, the first that does."""
    status: Status
    """Status of the headline."""
    reason: str = ""
    """Why there is no headline; if there is one, the judge's words, if any."""
    scores: Mapping[str, float] = field(default_factory=dict)
    missing: Mapping[str, tuple[Status, str]] = field(default_factory=dict)
    """For each missing score: status and reason. Empty if there was nothing to judge: then `status` and `reason` hold
    for all."""
    readings: tuple[Mapping[str, Reading], ...] = ()
    """For each reading, the results by question. Empty if there was nothing to judge."""
    again: frozenset[str] = frozenset()
    """Scores obtained only after a question that they need was asked again."""
    spread: Mapping[str, float] = field(default_factory=dict)
    """For each score, the standard deviation between several readings (n - 1), in its points."""
    seconds: float = 0.0
    """Time that the judge computed in all, in seconds."""
    device: str = ""
    """Device of the last reply."""
    tokens: tuple[int, int] = (0, 0)
    """Tokens read and written in all, as counted by the judge's server; zeros if it does not say."""
    other: str = ""
    """In a battle, the edit model of the second edit. Empty if one edit was judged."""
    free: int = 0
    """Number of its answers that were given about another judgement, where the judge would be asked the very same:
    they are no costs of this one."""
    counts: bool = True
    """Whether coverage and means count it: controls and what is asked before there is an edit are beside both."""

    def __post_init__(self) -> None:
        if (self.status is _OK) != (self.headline in self.scores):
            raise ValueError(f"a judgement has a headline exactly when its status is ok: {self}")

    @property
    def score(self) -> float | None:
        """The headline; if the protocol's does not apply to the sample, the first score that does.

        To compare judgements on one scale, take a score by its name from `scores`.
        """
        return self.scores.get(self.headline)

    @property
    def answer(self) -> str:
        """The raw replies that decided, of all questions and readings."""
        return "\n\n".join(answer.text for reading in self.readings for answer in reading.values() if answer.text)

    @property
    def kind(self) -> Literal["edit", "battle", "control"]:
        """What was judged: an edit, two of them, or what no edit model made, a control or a sample without an edit."""
        if self.other:
            return "battle"
        return "control" if self.edit_model.startswith(CONTROL) else "edit"

    @property
    def n_asked(self) -> int:
        """Number of times the judge was asked anything for it; 0 if another judgement has its answers."""
        asked = sum(answer.asked for reading in self.readings for answer in reading.values())
        return max(0, asked - self.free)

    @property
    def answers(self) -> int:
        """Number of times the most-asked question was asked; 0 if another judgement has its answers."""
        if not self.n_asked:
            return 0
        return max((answer.asked for reading in self.readings for answer in reading.values()), default=0)

    def outcome(self, score: str) -> tuple[Status, str] | None:
        """Returns status and reason of a score; None if it does not apply."""
        if score in self.scores:
            return Status.OK, ""
        if not self.missing and self.status is not Status.OK:
            return self.status, self.reason
        return self.missing.get(score)


LARGEST = 1e100
"""The largest number taken for a score: the squares of many such numbers can still be added."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The range of a score, its direction, and the units of its mean."""

    lowest: float | None = None
    """None: open, so missing scores cannot be bounded."""
    highest: float | None = None
    higher_is_better: bool = True
    mean_over: Literal["samples", "categories"] = "samples"
    """`categories`: the mean of the categories' means."""

    @property
    def worst(self) -> float | None:
        """The worst end of the range."""
        return self.lowest if self.higher_is_better else self.highest

    @property
    def best(self) -> float | None:
        """The best end of the range."""
        return self.highest if self.higher_is_better else self.lowest

    @property
    def span(self) -> float | None:
        """Distance between the ends; None if one is open."""
        return None if self.lowest is None or self.highest is None else self.highest - self.lowest

    @property
    def is_a_range(self) -> bool:
        """True if its ends, where it has any, are numbers to reckon with, the lower one below the higher."""
        ends = [end for end in (self.lowest, self.highest) if end is not None]
        return all(abs(end) <= LARGEST for end in ends) and (self.span is None or self.span > 0)

    def holds(self, score: float) -> bool:
        """True if a score lies in the range and is a number to reckon with."""
        low = -LARGEST if self.lowest is None else self.lowest
        high = LARGEST if self.highest is None else self.highest
        return low <= score <= high


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """The scores of a judge, as its protocol defines them."""

    protocol: str
    """Registered name, or the user's own class."""
    headline: str
    scales: Mapping[str, Scale]
    """Scales by score, in the protocol's order."""
    parts: tuple[str, ...] = ()
    """Parts of the headline (a criterion each), which result tables show beneath it."""
    looks: int = 1
    """How often strengths may be looked at while the number of battles is still open."""

    @property
    def scale(self) -> Scale:
        """Scale of the headline."""
        return self.scales[self.headline]


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """One stretch of a device's time. Time that no activity covers is idle."""

    start_number: int
    """Number of the run's start (a resumed run has several), from 1."""
    device: str
    kind: str
    """`starting` (imports in the new process, perhaps while another model is at work on the device), `loading`,
    `editing`, `judging` or `unloading`."""
    model: str
    """Name of the edit model or judge."""
    begin: float
    """Seconds since that start began (monotonic)."""
    end: float
    what: str = ""
    """The samples worked on, for people to read."""
    role: str = ""
    """`edit` or `judge`, since one of each may have the same name. Empty in runs of old versions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUse:
    """Memory in bytes from before a model was loaded onto a device until its process ended; None if unknown.

    For a GPU: all memory in use there, by any process, as reported by its driver. For a worker on the CPU: the memory
    of its process.
    """

    start_number: int
    device: str
    model: str
    """Name of the edit model or judge."""
    kind: str
    """Purpose of the load: `editing` or `judging`."""
    before: int | None
    """When the load began. None for a worker on the CPU."""
    loaded: int | None
    """When the model was loaded; None if it never was."""
    peak: int | None
    """The most seen from then until the end, by looking once a second and as reported by the worker."""
    after: int | None
    """After the process ended. None for a worker on the CPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Utilisation:
    """How busy a GPU was during one kind of activity: the share of time in which it computed anything."""

    start_number: int
    device: str
    kind: str
    """`loading`, `editing`, `judging`, `unloading` or `idle`."""
    samples: int
    """Number of times its driver was asked, once a second."""
    busy: float
    """Mean of the driver's answers, 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFailures:
    """Tasks of one model that failed on one device. Most were retried elsewhere, and succeeded."""

    device: str
    """Device, or several joined by `+` if the model is spread over them."""
    model: str
    """`edit:NAME` or `judge:NAME`."""
    attempts: int
    """Attempts that failed."""
    out_of_memory: int
    """Attempts that ran out of memory."""
    error: str
    """Error of the last attempt; empty if there was none."""
    retired: str
    """Why the device was no longer used for this model, at the last start in which that happened; else empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a model that somebody else runs has cost, in US dollars, over all starts."""

    model: str
    """Key of the edit model or judge."""
    usd: float
    """What was told by its provider, or computed at its price. Attempts that failed count as they may have been
    charged."""
    feared: float = 0.0
    """At most so much more, for what was under way when a start was killed."""
    told: bool = False
    """True if the provider told all of `usd`."""
    attempts: int = 0


class _Bought(TypedDict):
    provider: str
    id: str
    """By which it is asked for; empty while it is only about to be submitted."""
    usd: float | None
    """What it usually costs; None: not known."""


class Submitted(_Bought, total=False):
    """What was bought of a provider, and is not fetched yet."""

    token: str
    """Of a question in a batch: what the batch is known by before it has an id."""


@dataclass(frozen=True, kw_only=True)
class WaitingBatch:
    """Questions to a judge that wait in a batch of its maker's."""

    model: str
    """Key of the judge."""
    provider: str
    batch: str
    """The maker's id; empty while it is gathered or handed in."""
    questions: int
    since: float
    """Seconds since 1970."""


@dataclass(frozen=True, kw_only=True)
class ExaminedJudge:
    """What is known of a judge beside its scores, as documents have it (docs/records.md, `judges`)."""

    line: str
    """In English: `audited 2026-11-21: passed`, or `not audited`."""
    ended: str
    """How its examination ended: `passed`, `limited` or `failed`; `other_language` if it says nothing of instructions
    in this one; `not_audited`, and any other word, if there is none."""
    retest_sd: float | None = None
    """Its own noise: standard deviation of an edit's scores when it is asked again, in points; None: not known."""
    details: Any = None
    """The examiner's own document, which it alone reads."""


@dataclass(frozen=True)
class RunTelemetry:
    """What devices did in a run, and what it cost."""

    activities: tuple[Activity, ...] = ()
    wall_seconds: tuple[float, ...] = ()
    """Wall time of each start, in seconds."""
    devices: tuple[str, ...] = ()
    memory: tuple[MemoryUse, ...] = ()
    """One entry for every load on every device, in the order of the loads."""
    utilisation: tuple[Utilisation, ...] = ()
    """At most one entry for every (start, GPU, kind); none for workers on the CPU."""
    device_failures: tuple[DeviceFailures, ...] = ()
    """At most one entry for every (device, model), most attempts first."""
    spent: tuple[Spent, ...] = ()
    """At most one entry for every model that has a price."""
    waiting: tuple[WaitingBatch, ...] = ()


@dataclass(frozen=True)
class RunProvenance:
    """Where a run's results come from: what was asked, where it ran, what is known of its judges."""

    configuration: Mapping[str, object] = field(default_factory=dict)
    """Configuration of the last start with all its defaults, as plain data without secrets."""
    resolved: Mapping[str, object] = field(default_factory=dict)
    """Identities of `edit_models` and `judges` (as in keys) after resolving, each judge with its protocol."""
    environment: Mapping[str, object] = field(default_factory=dict)
    """Versions, devices and revisions recorded by the last start."""
    about: Mapping[str, str] = field(default_factory=dict)
    """The benchmark's description of itself: `source`, `licence`, and anything else a reader should know."""
    examined: Mapping[str, ExaminedJudge] = field(default_factory=dict)
    """For each judge that can be examined, what is known of it."""
    notes: tuple[str, ...] = ()
    """Warnings for the reader: odd samples, damaged lines, changed libraries, mixed GPUs."""

    @property
    def min_coverage(self) -> float:
        """The share of its headlines, 0 to 1, that each edit model and judge must have: all, unless less was asked."""
        evaluation = self.configuration.get("evaluation")
        asked = evaluation.get("min_coverage") if isinstance(evaluation, Mapping) else None
        return float(asked) if isinstance(asked, int | float) and not isinstance(asked, bool) else 1.0


@dataclass(frozen=True, kw_only=True)
class Results:
    """All records of a run: statistics and reports read nothing else.

    `judgements` has exactly one entry for every (sample, edit model, edit seed, judge, repeat) of the run, with any
    status, in the benchmark's order within each (edit model, edit seed, judge, repeat).
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
    """Judges of one edit at a time."""
    scoring: Mapping[str, Scoring]
    """Scores of each judge, those of `battle_judges` included."""
    beside: tuple[Sample, ...] = ()
    """Samples that do not pass the filters, which were edited because others follow them: in no number."""
    controls: tuple[Judgement, ...] = ()
    """Judgements of controls, which no edit model made: left out of every other number."""
    battles: tuple[Judgement, ...] = ()
    """Judgements that compare two edits of a sample: left out of every number but strengths."""
    battle_judges: tuple[str, ...] = ()
    """Judges of two edits."""
    refinements: Mapping[str, Refinement] = field(default_factory=dict)
    """How each of the `edit_models` that gets a judge's words gets them."""
    critiques: tuple[Judgement, ...] = ()
    """Judgements by those judges: left out of every number but the round that they would choose. Those from before
    there was an edit are of no edit model (`control:`)."""
    rounds: int = 1
    """Number of rounds of battles, if a design is extended."""
    published: Mapping[tuple[str, str], Mapping[str, float | str]] = field(default_factory=dict)
    """For each (edit model, judge), the numbers as a benchmark's authors define them, by name: a number, or a text that
    says why there is none. Shown under their names, never ranked, never a gate."""
    certificates: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """For each judge with such numbers, whether they are certified (`protocols.certificates.certificate_of`)."""
    telemetry: RunTelemetry = field(default_factory=RunTelemetry)
    """What devices did, and what was spent."""
    provenance: RunProvenance = field(default_factory=RunProvenance)
    """What was asked, and where it ran."""

    @property
    def coverage_judgements(self) -> tuple[Judgement, ...]:
        """What coverage counts, of every kind."""
        return (*self.judgements, *self.battles)

    @property
    def answers(self) -> tuple[Judgement, ...]:
        """All that any judge was asked, of every kind."""
        return (*self.judgements, *self.controls, *self.battles, *self.critiques)

    @property
    def every_judge(self) -> tuple[str, ...]:
        """Judges whose scores count, of one edit and of two."""
        return (*self.judges, *self.battle_judges)

    def select_samples(self, sample_ids: Collection[str]) -> Results:
        """The same of some samples alone."""

        def select_judgements(judgements: tuple[Judgement, ...]) -> tuple[Judgement, ...]:
            return tuple(judgement for judgement in judgements if judgement.sample_id in sample_ids)

        return replace(
            self,
            samples=tuple(sample for sample in self.samples if sample.id in sample_ids),
            edits=tuple(edit for edit in self.edits if edit.sample_id in sample_ids),
            judgements=select_judgements(self.judgements),
            controls=select_judgements(self.controls),
            battles=select_judgements(self.battles),
            critiques=select_judgements(self.critiques),
        )

    @cached_property
    def unique_results(self) -> Results:
        """The same without the edits that were kept from an earlier round, and what is said of them there: each edit
        once, for who chooses among edits."""
        kept = {(edit.sample_id, edit.edit_model, edit.edit_seed) for edit in self.edits if edit.made_in}
        if not kept:
            return self
        own: Any = {
            kind: tuple(e for e in getattr(self, kind) if (e.sample_id, e.edit_model, e.edit_seed) not in kept)
            for kind in ("edits", "judgements", "critiques")
        }
        return replace(self, **own)


def model_title(key: str) -> str:
    """Returns a model's key as words: `edit:testing` is `edit model testing`, `judge:testing` is `judge testing`."""
    kind, _, name = key.partition(":")
    return Text("edit model {}", name) if kind == "edit" else Text("judge {}", name)


@contextmanager
def no_garbage() -> Iterator[None]:
    """Turns off garbage collection while a hundred thousand records are made: it would take as long as making them."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()  # into the oldest generation, which is searched last
            gc.enable()
