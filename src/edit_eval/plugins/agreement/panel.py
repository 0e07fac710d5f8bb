"""Several judges as one: their median."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from edit_eval.records import Edit, Judgement, Results, Scoring, Status
from edit_eval.statistics.raters import Item, Rater, judges_of
from edit_eval.statistics.series import ends, series_of

MEDIAN = "median"
"""Name of the median of several judges in place of a judge's name; also of its score, if theirs have several names."""
FEWEST_JUDGES = 3
"""Least number of judges for a median."""


@dataclass(frozen=True)
class Panel:
    """A run as if one judge, the median of several, had judged it once.

    A median, because a judge that is far off, or harsher than the others, moves a mean but not it. Two judges have
    none: it would be their mean. Nor have judges on unlike scales. An edit without a score by any of the judges has no
    median: over fewer judges it would be another rater, used just for edits that are hard to judge.
    """

    results: Results
    """One judgement for each edit that the score applies to, in their order."""
    bounds: Mapping[Item, tuple[float, float]]
    """For each of those edits, its score with everything missing at the worst end of the scale, and at the best;
    infinite if an open end decides."""

    @cached_property
    def judge(self) -> Rater:
        """The median as a rater."""
        return replace(judges_of(self.results)[MEDIAN], given="together")


def no_panel(results: Results, score: str | None = None) -> str | None:
    """Returns why there is no median: `few_judges` (fewer than three give the score) or `unlike_scales`; else None."""
    series = series_of(results, score)
    if len(series) < FEWEST_JUDGES:
        return "few_judges"
    return "unlike_scales" if len({of.scale for of in series.values()}) > 1 else None


def panel(results: Results, score: str | None = None) -> Panel | None:
    """Computes the median over the judges of each judge's mean over its repeats, for their headlines or `score`.

    None if `no_panel` says why.
    """
    if no_panel(results, score):
        return None
    judges = judges_of(results, score)
    names, scale = {of.score for of in judges.values()}, next(iter(judges.values())).scale
    name = names.pop() if len(names) == 1 else MEDIAN
    repeats: dict[Item, dict[str, list[Judgement]]] = {}
    for judgement in results.judgements:
        repeats.setdefault(Item.of(judgement), {}).setdefault(judgement.judge, []).append(judgement)
    categories = {sample.id: sample.category for sample in results.samples}
    judgements, bounds = [], {}
    for edit in results.edits:
        item = Item.of(edit)
        series = [(judge, repeats.get(item, {}).get(known, [])) for known, judge in judges.items()]
        if all(judgement.outcome(judge.score) is not None for judge, every in series for judgement in every):
            judgements.append(_judgement(name, edit, categories[edit.sample_id], series))
            worst, best = (
                statistics.median(_mean(judge, every, end) for judge, every in series) for end in ends(scale)
            )
            bounds[item] = worst, best
    one_judge = replace(
        results,
        judges=(MEDIAN,),
        judgements=tuple(judgements),
        scoring={MEDIAN: Scoring(protocol=MEDIAN, headline=name, scales={name: scale})},
        controls=(),
        published={},
    )
    return Panel(one_judge, bounds)


_JudgedByEach = Sequence[tuple[Rater, Sequence[Judgement]]]
"""Judgements of one edit by each judge, one for each repeat."""


def _mean(judge: Rater, repeats: Sequence[Judgement], missing: float) -> float:
    """Returns the mean of its scores, with `missing` in place of each missing one."""
    scores = [repeat.scores.get(judge.score, missing) for repeat in repeats] or [missing]
    return math.fsum(scores) / len(scores)


def _judgement(name: str, edit: Edit, category: str, series: _JudgedByEach) -> Judgement:
    values = [judge.values.get(Item.of(edit)) for judge, _ in series]
    known = [value for value in values if value is not None]
    scored = len(known) == len(series)
    # A score may still come; only if none can is there a reason to give.
    outcomes = [
        judgement.outcome(judge.score)
        for (judge, every), value in zip(series, values, strict=True)
        for judgement in every
        if value is None
    ]
    silence = [outcome for outcome in outcomes if outcome is not None] or [(Status.PENDING, "")]
    status, reason = next((outcome for outcome in silence if outcome[0] is Status.PENDING), silence[0])
    return Judgement(
        sample_id=edit.sample_id,
        category=category,
        edit_model=edit.edit_model,
        judge=MEDIAN,
        edit_seed=edit.edit_seed,
        repeat=0,
        headline=name,
        status=Status.OK if scored else status,
        reason="" if scored else reason,
        scores={name: statistics.median(known)} if scored else {},
    )
