"""The judges of a run: each by itself, and with each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

import msgspec

from edit_eval.plugins.agreement.document import ApartByModel, BetweenJudges, Frequency, JudgeCard, TwoJudges
from edit_eval.plugins.agreement.rank_agreement import by_model
from edit_eval.records import JUDGE_FAILED, Judgement, Results, Status
from edit_eval.statistics.intervals import wilson_interval
from edit_eval.statistics.ordinal import alpha
from edit_eval.statistics.raters import Rater, image_of, judges_of, retest
from edit_eval.statistics.scores_apart import scores_apart


def cards_of(results: Results, score: str | None = None) -> dict[str, JudgeCard]:
    """Returns each judge's card, by its headline, or by `score` for the judges that give it."""
    results = results.once
    judges = judges_of(results, score)
    judgements: dict[str, list[Judgement]] = {judge: [] for judge in judges}
    for judgement in results.judgements:
        if judgement.judge in judgements:
            judgements[judgement.judge].append(judgement)
    return {name: judge_card(judgements[name], judge) for name, judge in judges.items()}


def judge_card(judgements: Sequence[Judgement], judge: Rater) -> JudgeCard:
    """Counts how often a judge gave no score, and the ends of its scale."""
    outcomes = [outcome for judgement in judgements if (outcome := judgement.outcome(judge.score)) is not None]
    counts = Counter(status for status, _ in outcomes)
    unscored = sum(counts[status] for status in JUDGE_FAILED)
    asked = counts[Status.OK] + unscored
    scores = [score for of_item in judge.answers.values() for score in of_item]
    lowest, highest = judge.scale.lowest, judge.scale.highest
    return JudgeCard(
        score=judge.score,
        asked=asked,
        unscored=_rate(unscored, asked),
        by_status={status.value: _rate(counts[status], asked) for status in JUDGE_FAILED},
        ceiling=None if highest is None else _rate(sum(score >= highest for score in scores), len(scores)),
        floor=None if lowest is None else _rate(sum(score <= lowest for score in scores), len(scores)),
        retest=retest(list(judge.answers.values())),
    )


def _rate(count: int, total: int) -> Frequency:
    return Frequency(
        count=count, total=total, rate=count / total if total else None, ci95=wilson_interval(count, total)
    )


def between_judges(results: Results, score: str | None = None, *, resamples: int = 1_000) -> BetweenJudges | None:
    """Compares a run's judges with each other; None with one."""
    results = results.once
    judges: Mapping[str, Rater] = judges_of(results, score)
    if len(judges) < 2:
        return None
    image = image_of(results)
    pairs = []
    for a, b in combinations(judges.values(), 2):
        both = msgspec.structs.asdict(alpha((a, b), image, resamples))
        pairs.append(TwoJudges(a=a.name, b=b.name, **both, apart=apart_by_model(a, b, results)))
    every = msgspec.structs.asdict(alpha([*judges.values()], image, resamples))
    return BetweenJudges(judges=list(judges), **every, pairs=pairs)


def apart_by_model(a: Rater, b: Rater, results: Results) -> ApartByModel:
    """Returns how far their scores lie apart, on all edits that both have scored, and on those of each edit model."""
    image = image_of(results)
    models = {
        model: scores_apart(a, b, image, items)
        for model, items in by_model(item for item in a.answers if item in b.answers).items()
    }
    return ApartByModel(**msgspec.structs.asdict(scores_apart(a, b, image)), edit_models=models)
