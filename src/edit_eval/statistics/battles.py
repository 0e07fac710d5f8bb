"""Battles: two edits of a sample, held against each other by a judge that is shown both, in both orders.

A judgement of a battle has for each of its scores two values an order: the share that the first edit gets (1, 0, or .5
for a tie; anything between by probabilities), and how much of the answer is a tie. What came of it is a `Fought`: an
order that was not answered leaves the battle missing, never half. To `preferences` each order is a vote, its sides
those on which the edits were shown: judges and people are ranked by one estimator.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

from edit_eval.records import NO_EDIT, Judgement, Reading, Results, Sample, Status
from edit_eval.statistics.intervals import wilson_interval
from edit_eval.statistics.people import Vote
from edit_eval.statistics.preferences import level, preferences

FORWARD, BACKWARD = "forward", "backward"
"""The first edit is shown first; the second one is."""


class Fought(StrEnum):
    """What came of a battle."""

    FIRST = "first"
    SECOND = "second"
    TIE = "tie"
    CONTRADICTION = "contradiction"
    """One order is for the first, the other for the second."""
    MISSING = "missing"
    """An order has no answer, or an edit is not there."""


def value_names(score: str, order: str) -> tuple[str, str]:
    """What a question about two edits gives in one order: the first edit's share, and how much is a tie."""
    return f"{score}.{order}", f"{score}.{order}.tie"


def shares(judgement: Judgement, score: str) -> dict[str, tuple[float, float]] | None:
    """For each order the first edit's share and the tie's, the mean over readings; None where one has no answer."""
    if score not in judgement.scores:
        return None
    found = {}
    for order in (FORWARD, BACKWARD):
        names = value_names(score, order)
        given = [one.values for reading in judgement.readings for one in reading.values() if names[0] in one.values]
        if len(given) != len(judgement.readings):
            return None
        share, tie = (math.fsum(values[name] for values in given) / len(given) for name in names)
        found[order] = share, tie
    return found


def fought(judgement: Judgement, score: str) -> Fought:
    """What came of a battle: who got more in one order and no less in the other has won."""
    given = shares(judgement, score)
    if given is None:
        return Fought.MISSING
    leans = {math.copysign(1, share - 0.5) for share, _ in given.values() if share != 0.5}
    if not leans:
        return Fought.TIE
    if len(leans) > 1:
        return Fought.CONTRADICTION
    return Fought.FIRST if leans == {1.0} else Fought.SECOND


def preferred(judgement: Judgement, question: str, reading: Reading) -> tuple[str, str | None]:
    """Which edit model's edit a question showed first, and whose it prefers: "" is a tie, None no answer."""
    order = BACKWARD if question.endswith(f".{BACKWARD}") else FORWARD
    first = judgement.other if order == BACKWARD else judgement.edit_model
    share = next((value for name, value in reading.values.items() if name.endswith(f".{order}")), None)
    if share is None or share == 0.5:
        return first, None if share is None else ""
    return first, judgement.edit_model if share > 0.5 else judgement.other


def votes_of(battles: Iterable[Judgement], score: str, samples: Iterable[Sample]) -> list[Vote]:
    """Each order of each battle that has both, as a vote by its judge; the sides are those that were shown."""
    clusters = {sample.id: sample.cluster for sample in samples}
    found = []
    for one in battles:
        for order, (share, tie) in (shares(one, score) or {}).items():
            first, second, left = one.edit_model, one.other, share
            if order == BACKWARD:
                first, second, left = one.other, one.edit_model, 1 - share
            found.append(_vote(one, first, second, left, tie, clusters))
    return found


def lost_for_want_of_an_edit(
    battles: Iterable[Judgement], edits: Mapping[tuple[str, str, int], Status], samples: Iterable[Sample]
) -> list[Vote]:
    """The battles that one edit model lost because it made no edit and the other did, as votes in both orders."""
    clusters = {sample.id: sample.cluster for sample in samples}
    found = []
    for one in battles:
        ours, theirs = (edits[one.sample_id, model, one.edit_seed] for model in (one.edit_model, one.other))
        if {ours in NO_EDIT, theirs in NO_EDIT} == {True, False} and Status.OK in (ours, theirs):
            share = float(theirs in NO_EDIT)
            found.append(_vote(one, one.edit_model, one.other, share, 0.0, clusters))
            found.append(_vote(one, one.other, one.edit_model, 1 - share, 0.0, clusters))
    return found


def _vote(one: Judgement, first: str, second: str, left: float, tie: float, clusters: Mapping[str, str]) -> Vote:
    return Vote(
        sample_id=one.sample_id,
        left=first,
        right=second,
        choice="tie" if left == 0.5 else "left" if left > 0.5 else "right",
        rater=one.judge,
        edit_seed=one.edit_seed,
        cluster=clusters.get(one.sample_id, ""),
        share=left,
        tied=tie,
    )


def battles_by_judge(results: Results) -> dict[str, tuple[list[Judgement], dict[str, Any]]]:
    """For each judge that compares two edits its judgements, and what they come to by each of its scores, the headline
    first."""
    by_judge: dict[str, list[Judgement]] = defaultdict(list)
    for one in results.battles:
        by_judge[one.judge].append(one)
    return {
        judge: (
            by_judge[judge],
            {
                score: _come_to(results, by_judge[judge], score, results.scoring[judge].looks)
                for score in sorted(
                    results.scoring[judge].scales, key=lambda name: name != results.scoring[judge].headline
                )
            },
        )
        for judge in results.battle_judges
    }


def together(results: Results, battles: Sequence[Judgement], scores: Sequence[str]) -> dict[str, Any]:
    """`strengths` and `differences` by all of a judge's questions at once, each of the same weight.

    Intervals are clustered on source images, so that several answers about one picture are not several pictures.
    """
    votes = []
    for score in scores:
        its = votes_of(battles, score, results.samples)
        votes += [replace(one, weight=1 / len(its)) for one in its]
    looks = max((results.scoring[one.judge].looks for one in battles[:1]), default=1)
    found = preferences(votes, results.edit_models, taken_in={one.rater for one in votes}, looks=looks)
    return {name: found[name] for name in ("strengths", "differences")}


def _come_to(results: Results, battles: Sequence[Judgement], score: str, looks: int) -> dict[str, Any]:
    """What a judge's battles come to by one of its scores: `strengths`, `differences` and `davidson` of `preferences`;

    `outcomes`, how many battles came to what; `missing`, those without an outcome by status; `contradictions`, their
    share of those with an outcome with its interval; `pairs`, for every two models `a` and `b` how often each outcome,
    as seen from `a`; `with_failures`, the strengths where an edit that failed counts as lost, None where none did;
    `looks` of a design that is extended: `rounds` that were asked, `of` how many at most, and `level`, that of its
    intervals.
    """
    votes = votes_of(battles, score, results.samples)
    edits = {(one.sample_id, one.edit_model, one.edit_seed): one.status for one in results.edits}
    lost = lost_for_want_of_an_edit(battles, edits, results.samples)
    outcomes = Counter[Fought]()
    missing = Counter[str]()
    pairs: dict[tuple[str, str], Counter[Fought]] = defaultdict(Counter)
    for one in battles:
        came = fought(one, score)
        outcomes[came] += 1
        pairs[one.edit_model, one.other][came] += 1
        if came is Fought.MISSING:
            status, _ = one.outcome(score) or (one.status, "")
            missing[status.value] += 1
    decided = sum(outcomes.values()) - outcomes[Fought.MISSING]
    found = preferences(votes, results.edit_models, taken_in={one.rater for one in votes}, looks=looks)
    return {
        **{name: found[name] for name in ("strengths", "differences", "davidson")},
        "answers": found["votes"],
        "battles": len(battles),
        "samples": found["samples"],
        "outcomes": {one.value: outcomes[one] for one in Fought},
        "missing": dict(sorted(missing.items())),
        "contradictions": {
            "count": outcomes[Fought.CONTRADICTION],
            "share": outcomes[Fought.CONTRADICTION] / decided if decided else None,
            "ci95": wilson_interval(outcomes[Fought.CONTRADICTION], decided),
        },
        "pairs": [
            {"a": a, "b": b, **{one.value: pairs[a, b][one] for one in Fought}}
            for a, b in sorted(pairs, key=lambda two: [results.edit_models.index(one) for one in two])
        ],
        "with_failures": preferences(
            [*votes, *lost], results.edit_models, taken_in={one.rater for one in lost}, looks=looks
        )["strengths"]
        if lost
        else None,
        **({"looks": {"rounds": min(results.rounds, looks), "of": looks, "level": level(looks)}} if looks > 1 else {}),
    }
