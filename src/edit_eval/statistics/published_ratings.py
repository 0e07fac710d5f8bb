"""Elo points as other arenas define them, from the same battles: to be held beside their leaderboards, never ranked by.

Facts: ZhangqiJiang07/GEditBench_v2@82bc00e, src/common_utils/elo_score.py; ruihanglix/genarena@dd09b86,
genarena/bt_elo.py and battle.py. What they do that we do not is done here, too:

`geditbench_v2`   Davidson's model with one strength over all questions and a tie of its own for each, all questions of
                  the same weight; the penalty on strengths is on their distance from the last model by name, so names
                  matter; of the two orders the one by name counts, without an effect of the side; missing is left out.
`genarena`        Bradley's and Terry's; two orders that differ in any way are a tie, and so is one without an answer;
                  1000 is the mean strength, not the mean of its logarithm. They stop after 100 steps, this at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from edit_eval.records import JUDGE_FAILED, Judgement
from edit_eval.statistics.battles import BACKWARD, FORWARD, shares
from edit_eval.statistics.intervals import FloatArray, IntArray
from edit_eval.statistics.preferences import ELO, newton

PENALTY = 1.0
LOWEST_TIE, HIGHEST_TIE = -12.0, 8.0
"""Bounds of the logarithm of a tie's odds."""
POINTS, BEGIN = ELO


def as_others_rate(battles: Sequence[Judgement], scores: Sequence[str]) -> dict[str, dict[str, float]]:
    """For each of the two the points of each edit model, by name; those that cannot be told are left out.

    `scores`: the questions, the first of which is the headline, the one of `genarena`.
    """
    found: dict[str, Callable[[], Mapping[str, float]]] = {
        "geditbench_v2": lambda: geditbench_v2([_by_name(battles, score) for score in scores]),
        "genarena": lambda: genarena(_agreed(battles, scores[0])),
    }
    return {name: dict(points) for name, of in found.items() if (points := of())}


Outcome = tuple[str, str, float]
"""Two edit models and what the first got: 1, 0, or .5."""


def _by_name(battles: Sequence[Judgement], score: str) -> list[Outcome]:
    """The answers in the order in which the model that comes first by its name was shown first."""
    found = []
    for one in battles:
        if (given := shares(one, score)) is not None:
            first, second = sorted((one.edit_model, one.other))
            order = FORWARD if first == one.edit_model else BACKWARD
            got = given[order][0] if first == one.edit_model else 1 - given[order][0]
            found.append((first, second, _whole(got)))
    return found


def _agreed(battles: Sequence[Judgement], score: str) -> list[Outcome]:
    """What both orders say; a tie where they differ, or an order was not answered."""
    found = []
    for one in battles:
        given = shares(one, score)
        if given is None and (one.outcome(score) or (one.status, ""))[0] not in JUDGE_FAILED:
            continue
        got = {_whole(share) for share, _ in given.values()} if given else {0.5}
        found.append((one.edit_model, one.other, got.pop() if len(got) == 1 else 0.5))
    return found


def _whole(share: float) -> float:
    return 0.5 + 0.5 * float(np.sign(share - 0.5))


def geditbench_v2(questions: Sequence[Sequence[Outcome]], *, penalty: float = PENALTY) -> dict[str, float]:
    """Points by Davidson's model, jointly over questions; empty without an answer."""
    names = sorted({name for some in questions for first, second, _ in some for name in (first, second)})
    if len(names) < 2:
        return {}
    place, count = {name: number for number, name in enumerate(names)}, len(names)
    asked = [some for some in questions if some]
    mean = sum(map(len, asked)) / len(asked)
    rows, said, weights = [], [], []
    for number, some in enumerate(asked):
        for first, second, got in some:
            of = np.zeros((3, count + len(asked)))  # of the first, the second, and the tie: what each is made of
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
    return {name: BEGIN + POINTS * float(one) for name, one in zip(names, strengths, strict=True)}


def _climb(
    beta: FloatArray,
    free: IntArray,
    rows: FloatArray,
    said: FloatArray,
    weights: FloatArray,
    penalty: float,
    count: int,
) -> None:
    """Newton's method on what is free, from where `beta` is."""
    held = np.diag(np.where(np.arange(len(beta)) < count, penalty, 0.0))
    doubled = np.array([0.0, 0.0, math.log(2.0)])  # a tie is written with a 2 before it
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
    """Points by Bradley's and Terry's model; empty where a model won, or lost, everything against the others."""
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
    return {name: BEGIN + POINTS * (float(one) - math.log(mean)) for name, one in zip(names, strengths, strict=True)}
