"""What a protocol is: what is asked of a judge about an edit, and what its replies amount to.

A class of yours needs no base class, only the shape of `Protocol`; `examples/` has one. All of it is pure: from the
same sample and the same replies come the same questions, readings and scores, so that stored replies are read anew
without asking anybody. What a judge is asked is in the keys of its replies, and nothing else is: a changed wording asks
that question again, a changed score asks nobody."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple
from typing import Protocol as Shape

from edit_eval.judges.contract import PROBABILITIES
from edit_eval.records import Judgement, Reading, Reply, Sample, Scale, Scoring, Status

Values = Mapping[str, float]
Step = tuple[str | int, ...]
"""What is done to a picture before it is shown: `("longest", 1024)` scales its longest side down to that,
`("fit", 1024)` up, too, `("crop", left, top, right, bottom)` cuts in pixels, `("clip", ...)` as far as the picture
reaches, `("like", "source")` gives it that picture's size, `("jpeg", 90)` encodes it with that quality and decodes it
again."""

MEASURED = "measured"
"""The form of a question that is put to a judge that measures."""


class Missing(Exception):
    """There is no such number. `Missing(Status.UNDEFINED, "the pictures are identical")`."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class View(NamedTuple):
    """A picture as a judge is shown it."""

    picture: str
    """`edit`; in a battle also `other`, the second edit; or one of the sample's: `source`, `reference`, `mask`. Of a
    sample that follows others `first` is the source of the first of them; `last` is the edit of the turn or the round
    before. Both are the `source` where there is none."""
    steps: tuple[Step, ...] = ()
    label: str = ""
    """What the request calls it; empty: as `picture`. Two views of one picture in a question need one."""

    @property
    def name(self) -> str:
        """What the request calls it."""
        return self.label or self.picture

    @property
    def reads(self) -> tuple[str, ...]:
        """The pictures that it shows or takes a size from."""
        return (self.picture, *(str(step[1]) for step in self.steps if step[0] == "like"))


Against = Literal["source", "first", "last"]
"""What an edit is held against: its source, or what was there at the first turn, or before the last one."""
EARLIER = ("first", "last")


def earlier(against: Against) -> View:
    """What an edit is held against, called `source` as judges know it."""
    return View(picture=against, label="" if against == "source" else "source")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question about one sample's edit."""

    name: str
    gives: tuple[str, ...] = ()
    """The values that a readable reply has; a value's name is unique within a sample. None: only its words are used."""
    system: str = ""
    user: str = ""
    shows: tuple[View, ...] = (View(picture="source"), View(picture="edit"))
    """In the order in which they are shown."""
    form: str = "text"
    """What the judge is held to: `score` (a bare number of three decimals), `reason_then_score`, `json`, `labels` (one
    a criterion, as JSON), `text`, `probabilities` (of each of `labels`; nothing is written), `measured` (nobody is
    asked). A judge may end an answer early, or limit its length, by it."""
    labels: tuple[str, ...] = ()
    """With `probabilities`: the answers that are legal, all of them, as they would be written. `read` is handed the
    probability of each in the reply's `values`, their sum 1; `user` tells the judge to answer with one of them."""
    schema: str = ""
    """With `json` and `labels`: the JSON schema, as JSON, that a judge which can is to hold its answer to. What it
    wrote is read by `read` all the same."""
    after: tuple[str, ...] = ()
    """Earlier questions; the text of the reply to one, without its thoughts, stands where `user` has `{its name}`."""
    when: Callable[[Values], bool] | None = None
    """Asked only where this is true of the values that the questions which it comes `after` gave. Where it is not, it
    does not apply: nothing is asked, what it `gives` is in no score, and what comes after it does not apply either.
    Pure, and in no key; one function for all samples, not one made anew for each, saves memory."""
    again: str = ""
    """The line that is added when it is asked again; in no key."""
    orders: tuple[Question, ...] = ()
    """The same question in other orders (of its pictures, of what its text lists): the second reading is put the first
    of them, and so on, and round again from this one. They have its name, form, labels and values."""


def in_order(question: Question, reading: int) -> Question:
    """The question as it is put in a reading, which counts from 0."""
    turn = reading % (1 + len(question.orders))
    return question.orders[turn - 1] if turn else question


def mean(sample: Sample, values: Values) -> float:
    """The mean of the values, whatever the sample."""
    return math.fsum(values.values()) / len(values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One number about an edit, made of the values that its questions gave."""

    scale: Scale
    needs: tuple[str, ...] = ()
    """The values that it is made of; empty: all that the sample's questions give, without those of questions that were
    not asked (see `Question.when`). It does not apply to a sample whose questions give less, nor to an edit for which
    one of the values that are named here was not asked; it is missing where a reply was not readable."""
    of: Callable[[Sample, Values], float] = mean
    """Pure. May raise `Missing`; anything else that it raises makes the score `undefined`, too."""
    part: bool = False
    """It is a part of the headline (one criterion of several): tables of results show it beneath, not on its own."""


def parts(names: Iterable[str], scale: Scale) -> dict[str, Score]:
    """A score for each of these values by itself, as parts of the headline."""
    return {name: Score(scale=scale, needs=(name,), part=True) for name in names}


class Protocol(Shape):
    """How a benchmark asks a judge, and makes scores of its replies.

    A class carries its parameters as a nested standard-library dataclass `Parameters` with
    `__pydantic_config__ = {"extra": "forbid"}`, made from the YAML's `protocol:`; it is constructed with them. One
    that declares a parameter `language` is given the benchmark's, one with `prompts` the configuration's `prompts:`,
    one with `measures` what a judge that measures says of its values.

    A class whose wording comes from elsewhere (a packaged rubric, a file of the user's) has a static method
    `texts(parameters)` that reads it as plain data, and is constructed with (parameters, texts): what was read is kept
    with the run, so that its records can be read when the file has changed or is gone.

    A benchmark may have samples that are edited for the sake of others, and that its number is not about. A class that
    knows such has `counts(sample) -> bool`: where it is false the headline need not apply, and some other score does.

    A class that asks about two edits of a sample, and not about one, has `battles(sample, models)`: which of the edit
    models' edits are held against each other, as pairs of places in `models` (identities, in the configuration's
    order). Pure: a run that goes on asks the same. Its questions show `edit` and `other`, and are put in both orders
    (`pairwise.both_orders`), for strengths are made of judgements that have both. One with `looks` above 1 has
    `rounds(sample, models)`, too: the same pairs in so many rounds. The first is asked, and each later one while
    intervals of strengths, corrected for so many looks, do not tell all edit models apart.

    A class that is asked about a sample before there is an edit has `before_edits = True`, and its questions show none:
    what its reply reads as reason is what the edit model is told (`rewrite:` of the configuration).

    It may also have `advice(failed)`: what to write into the configuration where these judgements failed, or "".
    """

    scores: Mapping[str, Score]
    headline: str
    """The score that coverage, gates and margins count; it applies to every edit of every sample (that `counts`)."""
    published: Mapping[str, Callable[[Sequence[Judgement]], float]]
    """The numbers as the authors of a benchmark define them, with failures their way, by name: each is made of all
    judgements of one edit model by one judge. Shown beside ours, never ranked, never a gate. May raise `Missing`. May
    be left out."""

    def questions(self, sample: Sample) -> Sequence[Question]:
        """What is asked about an edit of `sample`. Raises `LookupError` for what the sample lacks: its fault."""

    def read(self, question: Question, reply: Reply) -> Reading:
        """What one complete reply amounts to; a reply that was cut off or refused never comes here."""


def fault(protocol: Protocol, sample: Sample) -> str:
    """Why no judge can be asked about `sample`; empty where one can."""
    try:
        questions = protocol.questions(sample)
    except KeyError as error:
        return f"it has no {error}"
    except LookupError as error:
        return str(error)
    there = {*sample.pictures, "edit", *(("source",) if sample.follows else ()), *EARLIER}
    if hasattr(protocol, "battles"):
        there.add("other")
    lacking = {name for question in questions for view in question.shows for name in view.reads} - there
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
        if any(_alike(order) != _alike(question) for order in question.orders):
            return f"its question `{question.name}` is not the same in all its `orders`"
    counts = getattr(protocol, "counts", None)
    leading = [protocol.headline] if counts is None or counts(sample) else [*protocol.scores]
    if not given or not any({*protocol.scores[name].needs} <= {*given} for name in leading):
        return f"none of its questions gives the score `{protocol.headline}`"
    always = _always_asked(questions)
    if not always or not any({*protocol.scores[name].needs} <= always for name in leading):
        return f"its score `{protocol.headline}` needs a value of a question that is not always asked (`when`)"
    return ""


def _always_asked(questions: Sequence[Question]) -> set[str]:
    """The values of questions that neither have a condition nor come after one that has."""
    perhaps: set[str] = set()
    found: set[str] = set()
    for question in questions:
        if question.when is not None or not perhaps.isdisjoint(question.after):
            perhaps.add(question.name)
        else:
            found.update(question.gives)
    return found


def _alike(question: Question) -> tuple[object, ...]:
    """What a question has in every order."""
    about = question.name, question.form, {*question.labels}, {*question.gives}, question.after, question.when
    return *about, {view.picture for view in question.shows}


def scoring(name: str, protocol: Protocol) -> Scoring:
    """What the scores of a protocol are, for statistics and reports."""
    scales = {score: what.scale for score, what in protocol.scores.items()}
    parts = tuple(score for score, what in protocol.scores.items() if what.part)
    looks = getattr(protocol, "looks", 1)
    return Scoring(protocol=name, headline=protocol.headline, scales=scales, parts=parts, looks=looks)
