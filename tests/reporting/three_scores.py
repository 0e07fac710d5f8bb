"""A run whose protocol gives three scores, on scales of every kind, some of them missing."""

from __future__ import annotations

import random
from dataclasses import replace

from edit_eval.records import Judgement, Reading, Results, Scale, Scoring, Status

SCORING = Scoring(
    protocol="three_scores",
    headline="quality",
    scales={
        "quality": Scale(lowest=1.0, highest=5.0, mean_over="categories"),
        "drift": Scale(lowest=-1.0, highest=1.0, higher_is_better=False),
        "psnr": Scale(),
    },
)
IDENTICAL = "the two pictures are identical"
PUBLISHED = {"Avg": 3.218, "Pass rate": "2 of 60 answers cannot be read, and no `guess_seed` is given"}


def with_three_scores(results: Results, judge: str = "") -> Results:
    """The run with the answers of `judge` (of every one by default) replaced by those to three questions."""
    chance = random.Random(3)
    judges = (judge,) if judge else results.judges
    return replace(
        results,
        judgements=tuple(
            _judged(judgement, place, chance) if judgement.judge in judges else judgement
            for place, judgement in enumerate(results.judgements)
        ),
        scoring={name: SCORING if name in judges else scoring for name, scoring in results.scoring.items()},
        published={(model, name): PUBLISHED for model in results.edit_models for name in judges},
    )


def _judged(judgement: Judgement, place: int, chance: random.Random) -> Judgement:
    """Every seventh has no `psnr`, every ninth no `drift`; one that fails does so in the question about quality."""
    if not judgement.readings:
        return replace(judgement, headline="quality")
    drift, psnr = round(chance.uniform(-0.4, 0.9), 3), round(chance.uniform(17.0, 41.0), 4)
    [[asked]] = [list(reading.values()) for reading in judgement.readings]
    readings = {
        "quality": replace(asked, values={}),
        "drift": Reading(values={"drift": drift}, text=f'{{"reason": "The roof moved.", "drift": {drift}}}', asked=1),
        "fidelity": Reading(values={"psnr": psnr, "mse": 0.0012}, asked=1),
    }
    scores, missing = {"drift": drift, "psnr": psnr}, {}
    if judgement.status is Status.OK:
        scores["quality"] = round(min(5.0, max(1.0, chance.gauss(3.4, 0.9))), 3)
        readings["quality"] = replace(asked, values={"quality": scores["quality"]})
    else:
        missing["quality"] = judgement.status, judgement.reason
    if place % 7 == 3:
        missing["psnr"] = Status.UNDEFINED, IDENTICAL
        readings["fidelity"] = Reading(values={"mse": 0.0}, reason=IDENTICAL, asked=1)
    if place % 9 == 4:
        missing["drift"] = Status.UNPARSEABLE, "there is no number in the answer"
        readings["drift"] = Reading(status=Status.UNPARSEABLE, reason=missing["drift"][1], text="Hard to say.", asked=3)
    there = {name: value for name, value in scores.items() if name not in missing}
    return replace(judgement, headline="quality", scores=there, missing=missing, readings=(readings,))
