"""The interface of a protocol: what a judge is asked about an edit, and how its replies become scores.

Your class needs no base class, only the methods of `Protocol`; `examples/` has one. Everything in it is pure: the same
sample and replies give the same questions, readings and scores, so that stored replies can be read again without
asking. A reply's key covers what the judge is asked and nothing else: a changed wording asks that question again, a
changed score asks nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple
from typing import Protocol as Shape

from edit_eval.judges.contract import PROBABILITIES
from edit_eval.records import Judgement, Reading, Reply, Sample, Scale, Scoring, Status

Values = Mapping[str, float]
Step = tuple[str | int, ...]
"""What is done to a picture before it is shown: `("longest", 1024)` scales its longest side down to that,
`("fit", 1024)` also up, `("thumbnail", 1024)` down as Pillow's `thumbnail` does, `("crop", left, top, right, bottom)`
cuts in pixels, `("clip", ...)` likewise but within the picture, `("like", "source")` gives it that picture's size,
`("cover", 1024, 768)` scales and cuts it to that size, `("jpeg", 90)` encodes it with that quality and decodes it
again."""

MEASURED = "measured"
"""The form of a question to a judge that measures."""


class Missing(Exception):
    """There is no such number: `Missing(Status.UNDEFINED, "the pictures are identical")`."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class View(NamedTuple):
    """A picture as shown to a judge."""

    picture: str
    """`edit`; in a battle also `other`, the second edit; or one of the sample's: `source`, `reference`, `mask`. In a
    chain of samples `first` is the source of the first; `last` is the edit of the previous turn or round. Both default
    to `source`. `turn 1` is the edit of the first of the chain, and so on, of those before this one."""
    steps: tuple[Step, ...] = ()
    label: str = ""
    """Its name in the request; by default `picture`. Needed for a second view of one picture."""

    @property
    def name(self) -> str:
        """Its name in the request."""
        return self.label or self.picture

    @property
    def reads(self) -> tuple[str, ...]:
        """The pictures that it shows or takes a size from."""
        return (self.picture, *(str(step[1]) for step in self.steps if step[0] == "like"))


Against = Literal["source", "first", "last"]
"""What an edit is compared with: its source, the first source of its chain, or the previous edit."""
LAST = "last"
EARLIER = ("first", LAST)
_TURN = "turn "


def turn_named(number: int) -> str:
    """Returns the name of the picture of an earlier turn's edit, counted from 1."""
    return f"{_TURN}{number}"


def is_earlier(picture: str) -> bool:
    """True for the name of a picture of an earlier turn or round."""
    return picture in EARLIER or picture.startswith(_TURN)


def earlier(against: Against) -> View:
    """Returns the view of what an edit is compared with, called `source` as judges know it."""
    return View(picture=against, label="" if against == "source" else "source")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question about one sample's edit."""

    name: str
    gives: tuple[str, ...] = ()
    """The values of a readable reply; their names are unique within a sample. Empty if only its words are used."""
    system: str = ""
    user: str = ""
    shows: tuple[View, ...] = (View(picture="source"), View(picture="edit"))
    """In the order of display."""
    form: str = "text"
    """The form of the answer: `score` (a bare number of three decimals), `reason_then_score`, `json`, `labels` (one per
    criterion, as JSON), `text`, `probabilities` (of each of `labels`; nothing is written), `measured` (nothing is
    asked). A judge may end an answer early, or limit its length, by it."""
    labels: tuple[str, ...] = ()
    """With `probabilities`: all legal answers, exactly as they would be written. `read` gets their probabilities in the
    reply's `values`, with sum 1; `user` must tell the judge to answer with one of them."""
    schema: str = ""
    """With `json` and `labels`: the JSON schema, as JSON, that constrains the answer if the judge supports it. `read`
    checks the answer in any case."""
    after: tuple[str, ...] = ()
    """Names of earlier questions; `{name}` in `user` becomes the text of that reply, without its thoughts."""
    when: Callable[[Values], bool] | None = None
    """A condition on the values that the questions in `after` gave. If it is false, the question does not apply: it is
    not asked, no score has what it `gives`, and what comes after it does not apply either. Pure, and in no key; one
    function for all samples, rather than a new one for each, saves memory."""
    again: str = ""
    """The line added when it is asked again; in no key."""


def mean(sample: Sample, values: Values) -> float:
    """Returns the mean of the values; ignores the sample."""
    return math.fsum(values.values()) / len(values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One number about an edit, computed from the values that its questions gave."""

    scale: Scale
    needs: tuple[str, ...] = ()
    """The values it is computed from; empty: all that the sample's questions give, without those of questions that were
    not asked (see `Question.when`). It does not apply to a sample whose questions give fewer, nor to an edit for which
    one of the values named here was not asked; it is missing if a reply was not readable."""
    of: Callable[[Sample, Values], float] = mean
    """Pure. May raise `Missing`; any other exception makes the score `undefined`, too."""
    part: bool = False
    """True for a part of the headline (one criterion of several): tables of results show it beneath, not on its own."""


def parts(names: Iterable[str], scale: Scale) -> dict[str, Score]:
    """Returns one score per value, as parts of the headline."""
    return {name: Score(scale=scale, needs=(name,), part=True) for name in names}


Texts = dict[str, Any]
"""A protocol's wording as plain data: recorded, and part of keys; only the protocol that reads it knows its form."""


class Protocol(Shape):
    """How a benchmark asks a judge and turns its replies into scores.

    A class has its parameters as a nested standard-library dataclass `Parameters`, built from the YAML's `protocol:`
    and passed to the constructor. A parameter `language` is filled with the benchmark's, `prompts` with the
    configuration's `prompts:`, `measures` with what a judge that measures says about its values. What else a class may
    have is in `ProtocolExtras`.
    """

    scores: Mapping[str, Score]
    headline: str
    """The score used for coverage, gates and margins; it applies to every edit of every sample (that `counts`)."""

    def questions(self, sample: Sample) -> Sequence[Question]:
        """Returns the questions about an edit of `sample`. Raises `LookupError` for what the sample lacks."""

    def read(self, question: Question, reply: Reply) -> Reading:
        """Reads one complete reply; replies that were cut off or refused are never passed."""


class ProtocolExtras(Shape):
    """What a protocol may have besides."""

    published: Mapping[str, Callable[[Sequence[Judgement]], float]]
    """The numbers as defined by the authors of a benchmark, with their treatment of failures, by name: each is computed
    from all judgements of one edit model by one judge. Shown beside ours, never ranked, never a gate. May raise
    `Missing`."""
    certificate: ClassVar[Any]
    """What the authors' own scripts make of the same replies: a literal `certificates.Certificate`."""
    before_edits: bool = False
    """True if it is asked about a sample before there is an edit. Its questions show none: the reason read from its
    reply is what the edit model is told (`rewrite:` of the configuration)."""
    looks: int = 1
    """In how many rounds, at most, edits meet; above 1, `rounds` says which."""

    @staticmethod
    def texts(parameters: Any) -> Texts:
        """Reads its wording as plain data where that comes from elsewhere (a packaged rubric, a file of the user's);
        the class is then constructed with (parameters, texts). The texts are kept with the run, so that its records
        stay readable when the file has changed or been deleted."""

    def counts(self, sample: Sample) -> bool:
        """False for a sample that is edited only for the sake of others, and not in the benchmark's number: the
        headline need not apply to it, but some other score must."""

    def battles(self, sample: Sample, models: Sequence[Any]) -> Sequence[tuple[int, int]]:
        """Says which edit models' edits meet, of a class that compares two edits of a sample: pairs of indices into
        `models` (identities, in the configuration's order). Pure, so that a resumed run asks the same. Its questions
        show `edit` and `other`, and are asked in both orders (`pairwise.both_orders`), since strengths need judgements
        with both."""

    def rounds(self, sample: Sample, models: Sequence[Any]) -> Sequence[Sequence[tuple[int, int]]]:
        """Returns the same pairs in `looks` rounds. The first is always asked, and each later one as long as intervals
        of strengths, corrected for the number of looks, do not separate all edit models."""

    def advice(self, failed: Sequence[Judgement]) -> str:
        """Returns what to change in the configuration after these failed judgements, or ""."""


def fault(protocol: Protocol, sample: Sample) -> str:
    """Returns why no judge can be asked about `sample`; empty if one can."""
    try:
        questions = protocol.questions(sample)
    except KeyError as error:
        return f"it has no {error}"
    except LookupError as error:
        return str(error)
    there = {*sample.pictures, "edit", *(("source",) if sample.follows else ())}
    if hasattr(protocol, "battles"):
        there.add("other")
    lacking = {name for question in questions for view in question.shows for name in view.reads if not is_earlier(name)}
    lacking -= there
    if lacking:
        return f"it has no picture `{min(lacking)}`"
    names = [question.name for question in questions]
    given = [value for question in questions for value in question.gives]
    for kind, those in (("questions", names), ("values", given)):
        if twice := next((name for name in those if those.count(name) > 1), ""):
            return f"its protocol has two {kind} named `{twice}`"
    for number, question in enumerate(questions):
        if unknown := next((name for name in question.after if name not in names[:number]), ""):
            return f"its question `{question.name}` comes after `{unknown}`, which is not asked before it"
        shown = [view.name for view in question.shows]
        if twice := next((name for name in shown if shown.count(name) > 1), ""):
            return f"its question `{question.name}` shows `{twice}` twice; give one of the views a `label`"
        if question.when is not None and not question.after:
            return f"its question `{question.name}` has a `when`, but comes after no other"
        if question.form == PROBABILITIES and (len({*question.labels}) < 2 or "" in question.labels):
            return f"its question `{question.name}` asks for probabilities but has fewer than two `labels`"
    counts = getattr(protocol, "counts", None)
    leading = [protocol.headline] if counts is None or counts(sample) else [*protocol.scores]
    if not given or not any({*protocol.scores[name].needs} <= {*given} for name in leading):
        return f"none of its questions gives the score `{protocol.headline}`"
    always = _always_asked(questions)
    if not always or not any({*protocol.scores[name].needs} <= always for name in leading):
        return f"its score `{protocol.headline}` needs a value of a question that is not always asked (`when`)"
    return ""


def _always_asked(questions: Sequence[Question]) -> set[str]:
    """Returns the values of questions that are neither conditional nor after a conditional one."""
    perhaps: set[str] = set()
    values: set[str] = set()
    for question in questions:
        if question.when is not None or not perhaps.isdisjoint(question.after):
            perhaps.add(question.name)
        else:
            values.update(question.gives)
    return values


def scoring_of(name: str, protocol: Protocol) -> Scoring:
    """Returns the scores of a protocol, for statistics and reports."""
    scales = {score: what.scale for score, what in protocol.scores.items()}
    parts = tuple(score for score, what in protocol.scores.items() if what.part)
    looks = getattr(protocol, "looks", 1)
    return Scoring(protocol=name, headline=protocol.headline, scales=scales, parts=parts, looks=looks)
