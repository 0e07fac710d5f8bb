"""Turns replies into readings, and readings into a judgement, for every protocol."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from statistics import stdev
from typing import Literal, NamedTuple

from edit_eval.judges.answers import LEAST_MASS, WAS_CUT_OFF, find_uncut_score, quote_reply
from edit_eval.judges.contract import PROBABILITIES
from edit_eval.protocols.contract import Missing, Protocol, Question, mean
from edit_eval.records import Reading, Reply, Sample, Status

SHOWN = 200  # characters of a refusal
ROUNDING = 0.01  # how much the sum of probabilities in the judge's own dtype may exceed 1
NOT_ASKED = Reading(status=Status.PENDING, reason="not asked yet")
RULED_OUT = Reading(applies=False)  # one instance for all of them


def fill_question(question: Question, earlier: Mapping[str, Reading]) -> Question:
    """Returns the question with replies to earlier questions filled in, in one pass: braces in a reply stay text.

    The judge's thoughts are not quoted: it may have considered scores that it did not give.
    """
    if not question.after:
        return question
    slots = "|".join(re.escape(f"{{{name}}}") for name in question.after)
    return replace(question, user=re.sub(slots, lambda slot: quote_reply(earlier[slot[0][1:-1]].text), question.user))


def rule_out_question(question: Question, earlier: Iterable[Reading]) -> Reading | None:
    """Returns the reading of a question that is not asked because of those it comes after; None if it is asked.

    If one of them has no answer, or none yet, neither has this one. If one does not apply, or `when` is false, this one
    does not apply. A `when` that raises makes it `undefined`.
    """
    values: dict[str, float] = {}
    ruled_out = False
    for reading in earlier:
        if reading.status is not Status.OK:
            return replace(reading, values={}, asked=0)
        ruled_out |= not reading.applies
        values |= reading.values
    if ruled_out:
        return RULED_OUT
    if question.when is None:
        return None
    try:
        return None if question.when(values) else RULED_OUT
    except Exception as error:  # a protocol of the user's own
        return Reading(status=Status.UNDEFINED, reason=f"its `when` fails ({type(error).__name__}: {error})")


def add_reminder(question: Question) -> Question:
    """Returns the question with the line added that names the form of the answer."""
    return replace(question, user=f"{question.user}\n\n{question.again}") if question.again else question


def read(protocol: Protocol, question: Question, replies: Sequence[Reply], retries: int) -> Reading:
    """Reads the replies so far, in the order they came: the first readable one decides.

    Without one the reading is `pending` until the judge was asked 1 + `retries` times, and then that of the last reply.
    One that was cut off is asked again with the line that names the form, since the same words would be cut off at the
    same place. One that the judge's server withheld is not asked again: its policy stays the same.
    """
    if not replies:
        return NOT_ASKED
    last = NOT_ASKED
    for count, reply in enumerate(replies, 1):
        last = _read(protocol, question, reply, count)
        if last.status is Status.OK:
            return last
    if replies[-1].final or replies[-1].ended is Status.REFUSED or len(replies) > retries:
        return last
    return replace(last, status=Status.PENDING, values={})


def _read(protocol: Protocol, question: Question, reply: Reply, count: int) -> Reading:
    text = reply.text
    if reply.ended is Status.JUDGE_ERROR:
        return Reading(status=Status.JUDGE_ERROR, reason=text, asked=count)
    if reply.ended is Status.REFUSED:
        said = f": {' '.join(text.split())[:SHOWN]}" if text.strip() else ", without a word"
        reason = f"the judge's server withheld the answer{said}"
        return Reading(status=Status.REFUSED, reason=reason, text=text, asked=count)
    if reply.ended is Status.CUT_OFF:
        line = find_uncut_score(text) if question.form == "score" else None
        if line is None:
            stop = f"the judge did not stop: {reply.length:,} characters; only the beginning is kept"
            reason = stop if reply.length else WAS_CUT_OFF
            return Reading(status=Status.CUT_OFF, reason=reason, text=text, asked=count)
        reply = replace(reply, text=line, ended=Status.OK)  # it was complete before the cut
    mass: float | Literal["unknown"] | None = None
    if question.form == PROBABILITIES:
        if wrong := _no_distribution(question, reply):
            return Reading(status=Status.UNPARSEABLE, reason=wrong, text=text, asked=count)
        total = math.fsum(reply.values.values())
        mass = "unknown" if reply.normalised else min(total, 1.0)
        if mass != "unknown" and mass < LEAST_MASS:
            wrong = f"the judge would rather say something else: the allowed answers have {mass:.3g} of the probability"
            return Reading(status=Status.UNPARSEABLE, reason=wrong, text=text, mass=mass, asked=count)
        reply = replace(reply, values={label: reply.values[label] / total for label in question.labels})
    try:
        reading = protocol.read(question, reply)
    except Exception as error:  # a protocol of the user's own
        reading = Reading(
            status=Status.UNPARSEABLE, reason=f"its protocol cannot read it ({type(error).__name__}: {error})"
        )
    if reading.status is Status.OK and (wrong := _wrong(question, reading.values)):
        reading = Reading(status=Status.UNPARSEABLE, reason=wrong)
    return Reading(
        values=reading.values,
        status=reading.status,
        reason=reading.reason,
        text=text,
        mass=mass,
        asked=count,
        inapplicable=reading.inapplicable,
    )


def _no_distribution(question: Question, reply: Reply) -> str:
    """Returns why a reply is not a distribution over the question's labels; empty if it is one."""
    if not reply.values:
        return "the judge gave no probabilities"
    if unlike := sorted({*reply.values} ^ {*question.labels}):
        return f"the probability of `{unlike[0]}` is {'not known' if unlike[0] in question.labels else 'not asked for'}"
    total = math.fsum(reply.values.values())
    if min(reply.values.values()) < 0 or not 0 < total < 1 + ROUNDING:
        return f"its probabilities are invalid: they add up to {total:.6g}"
    return ""


def _wrong(question: Question, values: Mapping[str, float]) -> str:
    """Returns why the values are not those that the question gives; empty if they are."""
    if not all(map(math.isfinite, values.values())):
        return "one of its values is not a finite number"
    if unlike := {*values} ^ {*question.gives}:
        lacks_only = unlike <= {*question.gives}
        if not (question.form == "measured" and lacks_only):
            return f"its protocol read {', '.join(sorted(values)) or 'nothing'}, not {', '.join(question.gives)}"
    return ""


class JudgedScores(NamedTuple):
    """The scores of one judgement, and why others are missing."""

    scores: dict[str, float]
    missing: dict[str, tuple[Status, str]]
    again: frozenset[str]
    """Scores that needed a question to be asked again."""
    spread: dict[str, float]
    """With several readings: each score's standard deviation between them."""


def score(
    protocol: Protocol, sample: Sample, questions: Sequence[Question], readings: Sequence[Mapping[str, Reading]]
) -> JudgedScores:
    """Computes each score for each reading, then the mean over readings; missing in one reading means missing.

    `readings` has a mapping by question for each reading. A score that the sample's questions do not give is in neither
    part of the result, nor is one for which they were asked in no reading; the mean is over those in which they were.
    """
    giver, named = _resolve_scores(protocol, questions)
    scores: dict[str, float] = {}
    spread: dict[str, float] = {}
    why: dict[str, tuple[Status, str]] = {}
    again = []
    for name, needs in named:
        try:
            numbers, asked = [], 0
            for by_question in readings:
                put = [value for value in needs if _applies(by_question[giver[value]], value)]
                if not put or (protocol.scores[name].needs and len(put) < len(needs)):
                    continue
                values = {}
                for value in put:
                    reading = by_question[giver[value]]
                    values[value] = _value(reading, value)
                    asked = max(asked, reading.asked)
                numbers.append(_number(protocol.scores[name].of(sample, values)))
            if not numbers:
                continue
            scores[name] = numbers[0] if len(numbers) == 1 else math.fsum(numbers) / len(numbers)
            if len(numbers) > 1:
                spread[name] = stdev(numbers)
            if asked > 1:
                again.append(name)
        except Missing as missing:
            why[name] = missing.status, missing.reason
        except Exception as error:  # a user's own formula
            why[name] = Status.UNDEFINED, f"{type(error).__name__}: {error}"
    return JudgedScores(scores, why, frozenset(again), spread)


def looks_at_samples(protocol: Protocol) -> bool:
    """True if a formula may depend on the sample: only the mean of the values is known not to."""
    return any(score.of is not mean for score in protocol.scores.values())


def applicable_scores(protocol: Protocol, questions: Sequence[Question]) -> list[str]:
    """Returns the scores that apply to a sample with these questions."""
    return [name for name, _ in _resolve_scores(protocol, questions)[1]]


def leading_score(protocol: Protocol, questions: Sequence[Question], scored: JudgedScores) -> str:
    """Returns the score that decides a judgement's status: the headline if it applies, else the first that does."""
    if protocol.headline in scored.scores or protocol.headline in scored.missing:
        return protocol.headline
    there = applicable_scores(protocol, questions)
    return next((name for name in there if name in scored.scores or name in scored.missing), protocol.headline)


_Applying = tuple[dict[str, str], tuple[tuple[str, tuple[str, ...]], ...]]


def _resolve_scores(protocol: Protocol, questions: Sequence[Question]) -> _Applying:
    """Returns value -> the question that gives it; and the applicable scores (name, needs), with all they need."""
    given = tuple([(question.name, question.gives) for question in questions])
    return _resolve_kind(given, tuple([(name, what.needs) for name, what in protocol.scores.items()]))


@lru_cache(maxsize=1024)  # a benchmark's samples are asked a few kinds of questions
def _resolve_kind(
    given: tuple[tuple[str, tuple[str, ...]], ...], scores: tuple[tuple[str, tuple[str, ...]], ...]
) -> _Applying:
    giver = {value: question for question, gives in given for value in gives}
    needed = ((name, needs or tuple(giver)) for name, needs in scores)
    return giver, tuple((name, needs) for name, needs in needed if needs and giver.keys() >= {*needs})


def _applies(reading: Reading, value: str) -> bool:
    return reading.applies and value not in reading.inapplicable


def _value(reading: Reading, value: str) -> float:
    if reading.status is not Status.OK:
        raise Missing(reading.status, reading.reason)
    if value not in reading.values:
        raise Missing(Status.UNDEFINED, reading.reason or f"there is no {value}")
    return reading.values[value]


def _number(value: float) -> float:
    if not math.isfinite(value):
        raise Missing(Status.UNDEFINED, f"the formula gives {value}")
    return float(value)
