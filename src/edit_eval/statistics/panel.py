"""Several judges as one panel: the median of what they say of each edit.

A median, because one judge that is far off, or harsher than the others, moves a mean but not it. Two judges have none:
it would be their mean. Nor have judges whose scores are on unlike scales. An edit that any of the judges has no score
for has no median: over fewer judges it would be another instrument, and edits that are hard to judge would be measured
with it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, replace

from edit_eval.records import Edit, Judgement, Results, Scoring, Status
from edit_eval.statistics.series import Series, ends, series_of

NAME = "median"
"""What the panel is called where a judge's name stands; and its score, where the judges' are called differently."""
FEWEST = 3


@dataclass(frozen=True)
class Panel:
    """A run as if one judge, the panel, had judged it once."""

    results: Results
    """One judgement for each edit to which the score applies, in their order."""
    bounds: Mapping[tuple[str, str, int], tuple[float, float]]
    """For each (edit model, sample, edit seed) of those its score were all that is missing at the worst end of the
    scale, and at the best; infinite where an open end decides."""


def no_panel(results: Results, score: str | None = None) -> str | None:
    """Why there is no median: `few_judges` (fewer than three give the score) or `unlike_scales`; else None."""
    series = series_of(results, score)
    if len(series) < FEWEST:
        return "few_judges"
    return "unlike_scales" if len({of.scale for of in series.values()}) > 1 else None


def panel(results: Results, score: str | None = None) -> Panel | None:
    """The median over the judges of each judge's mean over its repeats, of their headlines or of `score`.

    None where `no_panel` says why.
    """
    if no_panel(results, score):
        return None
    series = series_of(results, score)
    names, scale = {of.score for of in series.values()}, next(iter(series.values())).scale
    name = names.pop() if len(names) == 1 else NAME
    answers: dict[tuple[str, str, int], dict[str, list[Judgement]]] = {}
    for judgement in results.judgements:
        key = (judgement.edit_model, judgement.sample_id, judgement.edit_seed)
        answers.setdefault(key, {}).setdefault(judgement.judge, []).append(judgement)
    categories = {sample.id: sample.category for sample in results.samples}
    judgements, bounds = [], {}
    for edit in results.edits:
        key = (edit.edit_model, edit.sample_id, edit.edit_seed)
        told = [_Told(of, answers.get(key, {}).get(judge, [])) for judge, of in series.items()]
        if all(of_judge.applies for of_judge in told):
            judgements.append(_judgement(name, edit, categories[edit.sample_id], told))
            worst, best = (statistics.median(of_judge.mean(end) for of_judge in told) for end in ends(scale))
            bounds[key] = worst, best
    one_judge = replace(
        results,
        judges=(NAME,),
        judgements=tuple(judgements),
        scoring={NAME: Scoring(protocol=NAME, headline=name, scales={name: scale})},
        controls=(),
        published={},
    )
    return Panel(one_judge, bounds)


@dataclass(frozen=True)
class _Told:
    """What one judge says of one edit, a judgement for each repeat."""

    series: Series
    judgements: list[Judgement]

    @property
    def applies(self) -> bool:
        return all(one.outcome(self.series.score) is not None for one in self.judgements)

    @property
    def scores(self) -> list[float]:
        return [one.scores[self.series.score] for one in self.judgements if self.series.score in one.scores]

    def mean(self, value: float) -> float:
        """The mean of its scores, with `value` for each that is missing."""
        scores = [one.scores.get(self.series.score, value) for one in self.judgements] or [value]
        return math.fsum(scores) / len(scores)

    @property
    def silence(self) -> list[tuple[Status, str]]:
        """Where there is no score at all: status and reason of each repeat."""
        outcomes = [one.outcome(self.series.score) for one in self.judgements]
        return [] if self.scores else [outcome for outcome in outcomes if outcome is not None]


def _judgement(name: str, edit: Edit, category: str, told: list[_Told]) -> Judgement:
    means = [math.fsum(scores) / len(scores) for of_judge in told if (scores := of_judge.scores)]
    scored = len(means) == len(told)
    # What is still to come may yet be a score; only then is there anything to say of why there is none.
    silence = [outcome for of_judge in told for outcome in of_judge.silence] or [(Status.PENDING, "")]
    status, reason = next((outcome for outcome in silence if outcome[0] is Status.PENDING), silence[0])
    return Judgement(
        sample_id=edit.sample_id,
        category=category,
        edit_model=edit.edit_model,
        judge=NAME,
        edit_seed=edit.edit_seed,
        repeat=0,
        headline=name,
        status=Status.OK if scored else status,
        reason="" if scored else reason,
        scores={name: statistics.median(means)} if scored else {},
    )
