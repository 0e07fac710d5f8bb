"""Battles: two edits of a sample, compared by a judge that is shown both, in both orders.

A judgement of a battle has for each of its scores two values per order: the first edit's share (1, 0, or .5
for a tie; anything between by probabilities), and how much of the answer is a tie. The outcome is a `BattleOutcome`: an
order without an answer leaves the battle missing, never half. To `preferences` each order is a vote, its sides
those on which the edits were shown: judges and people are ranked by one estimator.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial

import msgspec
import numpy as np

from edit_eval.records import JUDGE_FAILED, Judgement, Results
from edit_eval.statistics.aggregates import Coverage, RequiredCoverage
from edit_eval.statistics.failure_rates import failure_interval
from edit_eval.statistics.families import Correction
from edit_eval.statistics.fitted_strengths import ELO, level, newton
from edit_eval.statistics.intervals import FloatArray, IntArray
from edit_eval.statistics.preferences import preferences
from edit_eval.statistics.strengths import Davidson, RankedStrength, Strength, StrengthDifference
from edit_eval.statistics.votes import (
    BACKWARD,
    FORWARD,
    shares,
    tables_of,
    value_names,
    votes_against_failures,
    votes_of,
)


class BattleOutcome(StrEnum):
    """Outcome of a battle."""

    FIRST = "first"
    SECOND = "second"
    TIE = "tie"
    CONTRADICTION = "contradiction"
    """One order is for the first, the other for the second."""
    MISSING = "missing"
    """An order has no answer, or an edit is missing."""


class Contradictions(msgspec.Struct, frozen=True, kw_only=True):
    """Battles whose two orders contradict each other."""

    count: int
    """Number of battles."""
    first: int
    """How many of them are for the one shown first."""
    share: float | None
    """Of the battles with an outcome, 0 to 1; None without any."""
    ci95: list[float] | None
    """Of the share, clustered on source images (`failures.failure_interval`)."""


class PairBattles(msgspec.Struct, frozen=True, kw_only=True):
    """The outcomes of the battles of two edit models, as seen from `a`."""

    a: str
    b: str
    first: int
    """Won by `a`."""
    second: int
    """Won by `b`."""
    tie: int
    """Preferred neither."""
    contradiction: int
    """Answers that contradict each other in the two orders; `missing`: without an outcome."""
    missing: int
    """Without an outcome."""

    @property
    def n_decided(self) -> int:
        """Those with an outcome."""
        return self.first + self.second + self.tie + self.contradiction


class Looks(msgspec.Struct, frozen=True, kw_only=True):
    """How far a design that is extended has come."""

    rounds: int
    """That were asked."""
    of: int
    """At most."""
    level: float
    """Of the intervals, so that those of all looks together hold 95 %."""


class JointStrengths(msgspec.Struct, frozen=True, kw_only=True):
    """Strengths by all of a judge's questions at once, each of the same weight."""

    strengths: list[RankedStrength]
    differences: list[StrengthDifference]
    family: Correction


class ScoreBattles(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a judge's battles come to by one of its scores."""

    strengths: list[RankedStrength]
    differences: list[StrengthDifference]
    family: Correction
    """What ranks and p are corrected for."""
    davidson: Davidson | None
    """None if it cannot be fitted."""
    answers: int
    """Votes: two a battle."""
    battles: int
    """Battles that were to be judged, with or without an outcome."""
    samples: int
    """With an answer."""
    outcomes: dict[BattleOutcome, int]
    """Number of battles by outcome."""
    missing: dict[str, int]
    """Battles without an outcome, by status."""
    contradictions: Contradictions
    """Battles that go to another model in the other order."""
    pairs: list[PairBattles]
    with_failures: list[Strength] | None
    """The strengths with failed edits counted as lost; None if none failed."""
    looks: Looks | None = None
    """Not in the document unless the design is extended."""

    @property
    def n_decided(self) -> int:
        """Battles with an outcome."""
        return self.battles - self.outcomes[BattleOutcome.MISSING]


class JudgeBattles(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the battles of a judge come to that is shown two edits at a time."""

    coverage: Coverage
    scores: dict[str, ScoreBattles]
    """By each of its questions, the headline first."""
    together: JointStrengths | None = None
    """By all of them; not in the document with one."""
    protocol: str
    """Its name."""
    as_others_rate: dict[str, dict[str, float]]
    """Elo points as other arenas would give (`geditbench_v2`, `genarena`), by edit model, where they can be told."""
    certificate: Mapping[str, object] | None = None
    """Of a published protocol, whether the points of the arena of its name are certified."""
    others_may_read: int = 0
    """Answers that cannot be read here and may be answers to these arenas: if there are any, there are no such points.
    Not in the document if there are none."""

    @property
    def headline(self) -> ScoreBattles:
        """The results by its headline."""
        return next(iter(self.scores.values()))


class RunBattles(JudgeBattles, frozen=True, kw_only=True, omit_defaults=True):
    """The same of a run, which asks for a coverage."""

    coverage: RequiredCoverage


def battle_outcome(judgement: Judgement, score: str) -> BattleOutcome:
    """Returns the outcome of a battle: the winner got more in one order and no less in the other."""
    given = shares(judgement, score)
    if given is None:
        return BattleOutcome.MISSING
    leans = {math.copysign(1, share - 0.5) for share, _ in given.values() if share != 0.5}
    if not leans:
        return BattleOutcome.TIE
    if len(leans) > 1:
        return BattleOutcome.CONTRADICTION
    return BattleOutcome.FIRST if leans == {1.0} else BattleOutcome.SECOND


def battles_by_judge(
    results: Results, *, tables: int | None = None
) -> dict[str, tuple[list[Judgement], dict[str, ScoreBattles]]]:
    """Returns for each judge that compares two edits its judgements, and their results by each of its scores, the
    headline first.

    Ranks are corrected for the `tables` that are shown beside each other: those of all judges here, if not said.
    """
    scored = [results.scoring[judge].scales for judge in results.battle_judges]
    tables = tables_of(scored) if tables is None else tables
    by_judge: dict[str, list[Judgement]] = defaultdict(list)
    for battle in results.battles:
        by_judge[battle.judge].append(battle)
    return {
        judge: (
            by_judge[judge],
            {
                score: _summarise_battles(results, by_judge[judge], score, tables, results.scoring[judge].looks)
                for score in sorted(
                    results.scoring[judge].scales, key=lambda name: name != results.scoring[judge].headline
                )
            },
        )
        for judge in results.battle_judges
    }


def fit_joint_strengths(results: Results, battles: Sequence[Judgement], scores: Sequence[str]) -> JointStrengths:
    """Returns the strengths by all of a judge's questions at once.

    Intervals are clustered on source images, so that several answers about one picture are not several pictures.
    """
    votes = []
    for score in scores:
        its = votes_of(battles, score, results.samples)
        votes += [replace(vote, weight=1 / len(its)) for vote in its]
    looks = max((results.scoring[battle.judge].looks for battle in battles[:1]), default=1)
    tables = tables_of(results.scoring[judge].scales for judge in results.battle_judges)
    ranking = preferences(
        votes, results.edit_models, taken_in={vote.rater for vote in votes}, tables=tables, looks=looks
    )
    return JointStrengths(strengths=ranking.strengths, differences=ranking.differences, family=ranking.family)


def _summarise_battles(
    results: Results, battles: Sequence[Judgement], score: str, tables: int, looks: int
) -> ScoreBattles:
    """Returns the results of a judge's battles by one of its scores."""
    votes = votes_of(battles, score, results.samples)
    edits = {(edit.sample_id, edit.edit_model, edit.edit_seed): edit.status for edit in results.edits}
    lost = votes_against_failures(battles, edits, results.samples)
    outcomes = Counter[BattleOutcome]()
    missing = Counter[str]()
    pairs: dict[tuple[str, str], Counter[BattleOutcome]] = defaultdict(Counter)
    contradicted: dict[str, list[bool]] = defaultdict(list)
    clusters = {sample.id: sample.cluster or sample.id for sample in results.samples}
    took_first = 0
    for battle in battles:
        came = battle_outcome(battle, score)
        if came is not BattleOutcome.MISSING:
            contradicted[clusters[battle.sample_id]].append(came is BattleOutcome.CONTRADICTION)
        if came is BattleOutcome.CONTRADICTION:
            took_first += (shares(battle, score) or {})[FORWARD][0] > 0.5
        outcomes[came] += 1
        pairs[battle.edit_model, battle.other][came] += 1
        if came is BattleOutcome.MISSING:
            status, _ = battle.outcome(score) or (battle.status, "")
            missing[status.value] += 1
    decided = sum(outcomes.values()) - outcomes[BattleOutcome.MISSING]
    rated = partial(preferences, edit_models=results.edit_models, looks=looks)
    ranking = rated(votes, taken_in={vote.rater for vote in votes}, tables=tables)
    return ScoreBattles(
        strengths=ranking.strengths,
        differences=ranking.differences,
        family=ranking.family,
        davidson=ranking.davidson,
        answers=ranking.votes,
        battles=len(battles),
        samples=ranking.samples,
        outcomes={outcome: outcomes[outcome] for outcome in BattleOutcome},
        missing=dict(sorted(missing.items())),
        contradictions=Contradictions(
            count=outcomes[BattleOutcome.CONTRADICTION],
            first=took_first,
            share=outcomes[BattleOutcome.CONTRADICTION] / decided if decided else None,
            ci95=failure_interval(
                np.array([each for of in contradicted.values() for each in of], dtype=np.float64),
                np.repeat(np.arange(len(contradicted)), [len(of) for of in contradicted.values()]),
            )
            if decided
            else None,
        ),
        pairs=[
            PairBattles(a=a, b=b, **{outcome.value: pairs[a, b][outcome] for outcome in BattleOutcome})
            for a, b in sorted(pairs, key=lambda two: [results.edit_models.index(model) for model in two])
        ],
        with_failures=[
            row.plain_strength for row in rated([*votes, *lost], taken_in={vote.rater for vote in lost}).strengths
        ]
        if lost
        else None,
        looks=Looks(rounds=min(results.rounds, looks), of=looks, level=level(looks)) if looks > 1 else None,
    )


# -- ratings as others publish them --
#
# Elo points as other arenas define them, from the same battles: to compare with their leaderboards, never to rank by.
#
# Facts: ZhangqiJiang07/GEditBench_v2@82bc00e, src/common_utils/elo_score.py; ruihanglix/genarena@dd09b86,
# genarena/bt_elo.py and battle.py. Their differences from our estimator are reproduced here:
#
# `geditbench_v2`  Davidson's model with one strength over all questions and a tie of its own for each, all questions of
#                  the same weight; the penalty on strengths is on their distance from the last model by name, so names
#                  matter; of the two orders the one by name counts, without an effect of the side; missing is left out.
# `genarena`       Bradley's and Terry's; two orders that differ in any way are a tie, and so is one without an answer;
#                  1000 is the mean strength, not the mean of its logarithm. They stop after 100 steps, this at the end.

PENALTY = 1.0
LOWEST_TIE, HIGHEST_TIE = -12.0, 8.0
"""Bounds of the logarithm of a tie's odds."""
POINTS, BEGIN = ELO


def as_others_rate(battles: Sequence[Judgement], scores: Sequence[str]) -> dict[str, dict[str, float]]:
    """Returns the points of each edit model by either definition, by name; those that cannot be estimated are left out.

    `scores`: the questions, the headline first, which is the one of `genarena`. Empty if there is a reply that others
    may read and we do not (`others_may_read`).
    """
    if others_may_read(battles):
        return {}
    definitions: dict[str, Callable[[], Mapping[str, float]]] = {
        "geditbench_v2": lambda: geditbench_v2([_outcomes_by_name(battles, score) for score in scores]),
        "genarena": lambda: genarena(_joint_outcomes(battles, scores[0])),
    }
    return {name: dict(points) for name, of in definitions.items() if (points := of())}


def others_may_read(battles: Sequence[Judgement]) -> int:
    """Returns the number of replies that cannot be read here but hold braces: others mend such JSON, and take a letter
    out of a word or another word for a label.
    """
    read = (reply for battle in battles for reading in battle.readings for reply in reading.values())
    return sum(not reply.values and "{" in reply.text for reply in read)


Outcome = tuple[str, str, float]
"""Two edit models and the first one's result: 1, 0, or .5."""


def _outcomes_by_name(battles: Sequence[Judgement], score: str) -> list[Outcome]:
    """Returns the answers in the order that showed the model first by name first; the other order may lack one."""
    outcomes = []
    for battle in battles:
        first, second = sorted((battle.edit_model, battle.other), key=_name_sort_key)
        name, _ = value_names(score, FORWARD if first == battle.edit_model else BACKWARD)
        given = [of.values[name] for reading in battle.readings for of in reading.values() if name in of.values]
        if given:
            share = math.fsum(given) / len(given)
            outcomes.append((first, second, _whole(share if first == battle.edit_model else 1 - share)))
    return outcomes


def _name_sort_key(name: str) -> tuple[list[tuple[bool, int, str]], str]:
    """Sorts names by their words and numbers, without capitals: `editor-9` before `editor-10`, `m@2` before `m+rw`."""
    parts = re.findall(r"\d+|[a-zA-Z]+", name.lower())
    return [(False, int(part), "") if part.isdigit() else (True, 0, part) for part in parts], name


def _joint_outcomes(battles: Sequence[Judgement], score: str) -> list[Outcome]:
    """Returns the answer of both orders; a tie if they differ, or an order was not answered."""
    outcomes = []
    for battle in battles:
        given = shares(battle, score)
        if given is None and (battle.outcome(score) or (battle.status, ""))[0] not in JUDGE_FAILED:
            continue
        got = {_whole(share) for share, _ in given.values()} if given else {0.5}
        outcomes.append((battle.edit_model, battle.other, got.pop() if len(got) == 1 else 0.5))
    return outcomes


def _whole(share: float) -> float:
    return 0.5 + 0.5 * float(np.sign(share - 0.5))


def geditbench_v2(questions: Sequence[Sequence[Outcome]], *, penalty: float = PENALTY) -> dict[str, float]:
    """Returns points by Davidson's model, jointly over questions; empty without an answer."""
    names = sorted({name for some in questions for first, second, _ in some for name in (first, second)})
    if len(names) < 2:
        return {}
    place, count = {name: number for number, name in enumerate(names)}, len(names)
    asked = [some for some in questions if some]
    mean = sum(map(len, asked)) / len(asked)
    rows, said, weights = [], [], []
    for number, some in enumerate(asked):
        for first, second, got in some:
            of = np.zeros((3, count + len(asked)))  # parameters of the first, the second, and the tie
            of[0, place[first]] = of[1, place[second]] = 1
            of[2, [place[first], place[second]]], of[2, count + number] = 0.5, 1
            rows.append(of)
            said.append([got == 1, got == 0, got == 0.5])
            weights.append(mean / len(some))
    beta = np.zeros(count + len(asked))
    ties = [sum(got == 0.5 for *_, got in some) for some in asked]
    beta[count:] = [
        LOWEST_TIE if tied == 0 else HIGHEST_TIE if tied == len(some) else 0.0
        for tied, some in zip(ties, asked, strict=True)
    ]
    free = np.array([*range(count - 1), *(count + k for k, tied in enumerate(ties) if 0 < tied < len(asked[k]))])
    _climb(beta, free, np.array(rows), np.array(said, dtype=np.float64), np.array(weights), penalty, count)
    strengths = beta[:count] - beta[:count].mean()
    return {name: BEGIN + POINTS * float(strength) for name, strength in zip(names, strengths, strict=True)}


def _climb(
    beta: FloatArray,
    free: IntArray,
    rows: FloatArray,
    said: FloatArray,
    weights: FloatArray,
    penalty: float,
    count: int,
) -> None:
    """Runs Newton's method on the free parameters, starting from `beta`."""
    held = np.diag(np.where(np.arange(len(beta)) < count, penalty, 0.0))
    doubled = np.array([0.0, 0.0, math.log(2.0)])  # a tie has a factor of 2
    for _ in range(200):
        logits = rows @ beta + doubled
        chances = np.exp(logits - logits.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        slope = np.einsum("n,nk,nkp->p", weights, said - chances, rows) - held @ beta
        middle = np.einsum("nk,nkp->np", chances, rows)
        curve = np.einsum("n,nk,nkp,nkq->pq", weights, chances, rows, rows) - np.einsum(
            "n,np,nq->pq", weights, middle, middle
        )
        step = np.linalg.solve((curve + held)[np.ix_(free, free)], slope[free])
        step *= min(1.0, 2.0 / max(1e-12, float(np.abs(step).max())))
        beta[free] += step
        if np.abs(step).max() < 1e-11:
            return


def genarena(battles: Sequence[Outcome]) -> dict[str, float]:
    """Returns points by Bradley's and Terry's model; empty if a model won, or lost, everything against the others."""
    names = sorted({name for first, second, _ in battles for name in (first, second)})
    place = {name: number for number, name in enumerate(names)}
    won = np.zeros((len(names), len(names)))
    for first, second, got in battles:
        won[place[first], place[second]] += got
        won[place[second], place[first]] += 1 - got
    reached = np.eye(len(names), dtype=bool) | (won > 0)
    for middle in range(len(names)):
        reached |= reached[:, [middle]] & reached[[middle], :]
    if len(names) < 2 or not reached.all():
        return {}
    strengths, _ = newton(won + won.T, won)
    mean = float(np.exp(strengths).mean())
    return {
        name: BEGIN + POINTS * (float(strength) - math.log(mean))
        for name, strength in zip(names, strengths, strict=True)
    }
