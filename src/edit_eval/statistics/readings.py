"""What the readings of a run say of its judges: how far those of one edit lie apart, and whether they are in form.

An edit's score is the mean of its readings, so what they scatter is in the scatter between source images already, and
with it in every interval: no further term is added for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

from edit_eval.judges.answers import LEAST_MASS
from edit_eval.records import Judgement, Results, Status

_ENOUGH = 10
"""Edits below which the same words may come twice by chance."""


def readings_document(results: Results) -> dict[str, Any]:
    """For each judge that was asked: `readings` (of an edit), `spread`, `identical`, and `mass` where there is any.

    `identical`: whether each edit's several readings were given in the same words, so that nothing was sampled.
    `spread` is that of the headline, as `spread_of`; None with one reading. `mass` is of all readings with
    probabilities: how many there are (`readings`), of how many nobody knows it (`unknown`), and of the others the
    `median` (None without any) and how many are `below` the `floor`, and so no answers.
    """
    found: dict[str, dict[str, Any]] = {}
    for judge in results.judges:
        judged = [one for one in results.judgements if one.judge == judge and one.readings]
        if judged:
            found[judge] = {
                "readings": max(len(one.readings) for one in judged),
                "spread": spread_of(judged, judged[0].headline),
                "identical": _identical(judged),
                "mass": _mass(judged),
            }
    return found


def spread_of(judgements: Iterable[Judgement], score: str) -> float | None:
    """The standard deviation between the readings of one edit, in points: the root of its mean square over the edits.

    None where no edit has a score of two readings or more.
    """
    squares = [one.spread[score] ** 2 for one in judgements if score in one.spread]
    return math.sqrt(math.fsum(squares) / len(squares)) if squares else None


def _identical(judgements: Sequence[Judgement]) -> bool:
    several = [one for one in judgements if len(one.readings) > 1 and one.status is Status.OK]
    alike = (
        {question: reading.text for question, reading in read.items()}
        == {k: r.text for k, r in one.readings[0].items()}
        for one in several
        for read in one.readings[1:]
    )
    return len(several) >= _ENOUGH and all(alike)


def _mass(judgements: Sequence[Judgement]) -> dict[str, Any] | None:
    every = [one.mass for judged in judgements for reading in judged.readings for one in reading.values()]
    told = [mass for mass in every if mass is not None]
    known = [float(mass) for mass in told if mass != "unknown"]
    if not told:
        return None
    return {
        "readings": len(told),
        "unknown": len(told) - len(known),
        "median": median(known) if known else None,
        "below": sum(mass < LEAST_MASS for mass in known),
        "floor": LEAST_MASS,
    }
