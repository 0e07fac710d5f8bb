"""The judges of a run: each by itself, and with each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations

import msgspec
import numpy as np

from edit_eval.plugins.agreement.document import ApartByModel, BetweenJudges, Frequency, JudgeCard, TwoJudges
from edit_eval.plugins.agreement.rank_agreement import group_by_model
from edit_eval.records import JUDGE_FAILED, Judgement, Results, Status
from edit_eval.statistics.failures import failure_interval
from edit_eval.statistics.intervals import cluster_codes
from edit_eval.statistics.ordinal import alpha
from edit_eval.statistics.raters import Rater, image_of, judges_of, retest
from edit_eval.statistics.scores_apart import compare_scores


def cards_of(results: Results, score: str | None = None) -> dict[str, JudgeCard]:
    """Returns each judge's card, by its headline, or by `score` for the judges that give it."""
    results = results.unique_results
    judges = judges_of(results, score)
    judgements: dict[str, list[Judgement]] = {judge: [] for judge in judges}
    for judgement in results.judgements:
        if judgement.judge in judgements:
            judgements[judgement.judge].append(judgement)
    image = image_of(results)
    return {name: judge_card(judgements[name], judge, image) for name, judge in judges.items()}


def judge_card(judgements: Sequence[Judgement], judge: Rater, image: Callable[[str], str]) -> JudgeCard:
    """Counts how often a judge gave no score, and the ends of its scale."""
    every = [(judgement.outcome(judge.score), image(judgement.sample_id)) for judgement in judgements]
    asked = [(of[0], source) for of, source in every if of is not None and of[0] in (Status.OK, *JUDGE_FAILED)]
    scores = [(score, image(item.sample_id)) for item, of in judge.answers.items() for score in of]
    lowest, highest = judge.scale.lowest, judge.scale.highest
    return JudgeCard(
        score=judge.score,
        asked=len(asked),
        unscored=_rate((status in JUDGE_FAILED, source) for status, source in asked),
        by_status={kind.value: _rate((status is kind, source) for status, source in asked) for kind in JUDGE_FAILED},
        ceiling=None if highest is None else _rate((score >= highest, source) for score, source in scores),
        floor=None if lowest is None else _rate((score <= lowest, source) for score, source in scores),
        retest=retest(list(judge.answers.values())),
    )


def _rate(found: Iterable[tuple[bool, str]]) -> Frequency:
    """Returns how often something is so, of answers with their source images."""
    there = list(found)
    values, images = np.array([so for so, _ in there], dtype=np.float64), cluster_codes([of for _, of in there])
    count, total = int(values.sum()), len(there)
    return Frequency(
        count=count, total=total, rate=count / total if total else None, ci95=failure_interval(values, images)
    )


def compare_judges(results: Results, score: str | None = None, *, resamples: int = 1_000) -> BetweenJudges | None:
    """Compares a run's judges with each other; None with one."""
    results = results.unique_results
    judges: Mapping[str, Rater] = judges_of(results, score)
    if len(judges) < 2:
        return None
    image = image_of(results)
    pairs = []
    for a, b in combinations(judges.values(), 2):
        both = msgspec.structs.asdict(alpha((a, b), image, resamples))
        pairs.append(TwoJudges(a=a.name, b=b.name, **both, apart=compare_by_model(a, b, results)))
    every = msgspec.structs.asdict(alpha([*judges.values()], image, resamples))
    return BetweenJudges(judges=list(judges), **every, pairs=pairs)


def compare_by_model(a: Rater, b: Rater, results: Results) -> ApartByModel:
    """Returns how far their scores lie apart, on all edits that both have scored, and on those of each edit model."""
    image = image_of(results)
    models = {
        model: compare_scores(a, b, image, items)
        for model, items in group_by_model(item for item in a.answers if item in b.answers).items()
    }
    return ApartByModel(**msgspec.structs.asdict(compare_scores(a, b, image)), edit_models=models)
