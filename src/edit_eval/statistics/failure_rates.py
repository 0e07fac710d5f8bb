"""How often does a model make no edit at all, and does one fail more often than another?

A failed edit is the edit model's own result: a model that fails hard samples has better scores on the rest. So
failures are counted, tested and ranked beside the scores, and never become one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from edit_eval.records import NO_EDIT, Results, Status
from edit_eval.statistics.columns import ScoreColumn
from edit_eval.statistics.intervals import CONFIDENCE, FloatArray, IntArray, cluster_codes, holm, student_quantile
from edit_eval.statistics.levels import ALPHA


@dataclass(frozen=True)
class FailedEdits:
    """The edits of one column that failed."""

    count: int
    """Edits that were not made."""
    total: int
    """Edits that were tried: several for a sample with several edit seeds, none for a skipped one."""
    ci95: list[float] | None
    """Interval of count / total, 0 to 1; see `failure_interval`."""


class FailureRate(msgspec.Struct, frozen=True, kw_only=True):
    """How often an edit model made no edit, of those that it tried."""

    count: int
    """Edits that were not made."""
    total: int
    """Edits that were tried."""
    rate: float | None
    """count / total, 0 to 1; None if it tried none."""
    ci95: list[float] | None
    """Of the rate ([how](trust.md#failed-edits))."""


class ModelEdits(msgspec.Struct, frozen=True, kw_only=True):
    """The edits of one model. A refusal is counted apart: it is a decision of the model, or of its server."""

    edit_model: str
    total: int
    """Edits that it tried. One that was kept from an earlier round was not tried again."""
    edit_failed: FailureRate
    edit_missing: FailureRate
    """Finished edits that have no file."""
    edit_refused: FailureRate

    @property
    def not_made(self) -> int:
        """Number of edits that were not made, for any reason."""
        return self.edit_failed.count + self.edit_missing.count + self.edit_refused.count


@dataclass(frozen=True)
class PairedFailures:
    """The failed edits of a and of b, over the edits (sample, edit seed) that both tried."""

    total: int = 0
    """Edits that both tried."""
    clusters: int = 0
    """Source images."""
    a: int = 0
    """Of these, failed by `a`."""
    b: int = 0
    """Of these, failed by `b`."""
    difference: float | None = None
    """Failed share of a's edits minus that of b's, -1 to 1; None without an edit."""
    p: float | None = None
    """See `exchange_p_value`."""
    p_adjusted: float | None = None
    """By Holm over all pairs of edit models, a family of its own."""

    @property
    def proven(self) -> bool:
        """True if one fails more often, beyond chance."""
        return self.p_adjusted is not None and self.p_adjusted <= ALPHA


def count_failed_edits(column: ScoreColumn) -> FailedEdits:
    """Counts a column's failed edits, with the interval of their share."""
    values = np.array([*column.attempts.values()], dtype=np.float64)
    images = cluster_codes([column.image(sample) for sample, _ in column.attempts])
    return FailedEdits(int(values.sum()), len(values), failure_interval(values, images))


def edits_by_model(results: Results) -> Iterator[ModelEdits]:
    """Yields for each edit model of a run how many edits it tried, and how often it made none."""
    clusters = {sample.id: sample.cluster or sample.id for sample in results.samples}
    for edit_model in results.edit_models:
        tried = [
            edit
            for edit in results.edits
            if edit.edit_model == edit_model and edit.status not in (Status.PENDING, Status.SKIPPED)
        ]
        images = cluster_codes([clusters[edit.sample_id] for edit in tried])
        rates = {}
        for status in NO_EDIT:
            values = np.array([edit.status is status for edit in tried], dtype=np.float64)
            rates[status.value] = FailureRate(
                count=int(values.sum()),
                total=len(tried),
                rate=float(values.mean()) if tried else None,
                ci95=failure_interval(values, images) if tried else None,
            )
        yield ModelEdits(edit_model=edit_model, total=len(tried), **rates)


def compare_failures(columns: Sequence[tuple[ScoreColumn, ScoreColumn]]) -> dict[tuple[str, str], PairedFailures]:
    """Compares, for each pair of columns by their names, failures of the edits that both tried.

    Several judges of the same two columns look at the same edits: these are one test, not several.
    """
    by_names = {(a.name, b.name): _compare_pair(a, b) for a, b in columns}
    return dict(zip(by_names, with_adjusted_p(list(by_names.values())), strict=True))


def with_adjusted_p(family: Sequence[PairedFailures]) -> list[PairedFailures]:
    """Returns the same with p-values adjusted by Holm over all of them."""
    adjusted = holm([failures.p for failures in family])
    return [replace(failures, p_adjusted=p) for failures, p in zip(family, adjusted, strict=True)]


def failure_interval(failed: FloatArray, clusters: IntArray) -> list[float] | None:
    """Returns `[low, high]`, the interval of a rate (0 to 1) by Korn and Graubard (Survey Methodology 24, 1998).

    `failed` has 0 or 1 for each edit, `clusters` the code of its source image. It is the exact binomial interval
    (Clopper and Pearson, Biometrika 26, 1934) of as many independent trials n' as the n edits on G images are worth:

        n' = n / (1 + icc * (sum over images of (their number of edits)^2 / n - 1)) * ( t(n - 1) / t(G - 1) )^2

    with the design effect of Kish (Survey Sampling, 1965) and the intraclass correlation `icc` by analysis of variance,
    not below 0. That is estimated from all images together, so an image with half of the edits is no exception.
    If none or all failed it is taken as 1, as if the edits of an image failed together. None for fewer than two images.
    """
    total, sizes = len(failed), np.bincount(clusters)
    images = len(sizes)
    if images < 2:
        return None
    rate, upper = float(failed.mean()), 0.5 + CONFIDENCE / 2
    design = 1 + _intraclass_correlation(failed, clusters) * (float((sizes**2).sum()) / total - 1)
    known = (student_quantile(upper, total - 1) / student_quantile(upper, images - 1)) ** 2
    return _exact_interval(rate * total / design * known, total / design * known)


def _intraclass_correlation(values: FloatArray, clusters: IntArray) -> float:
    sizes = np.bincount(clusters)
    total, images = len(values), len(sizes)
    means = np.bincount(clusters, weights=values) / sizes
    mean = float(values.mean())
    if mean in (0.0, 1.0) or total == images:
        return 1.0
    between = float((sizes * (means - mean) ** 2).sum()) / (images - 1)
    within = float(((values - means[clusters]) ** 2).sum()) / (total - images)
    size = (total - float((sizes**2).sum()) / total) / (images - 1)
    return max(0.0, (between - within) / (between + (size - 1) * within))


def _exact_interval(successes: float, trials: float) -> list[float]:
    from scipy.special import betaincinv

    tail, failures = (1 - CONFIDENCE) / 2, trials - successes
    low = float(betaincinv(successes, failures + 1, tail)) if successes > 0 else 0.0
    high = float(betaincinv(successes + 1, failures, 1 - tail)) if failures > 0 else 1.0
    return [low, high]


def exchange_p_value(differences: IntArray, clusters: IntArray) -> float:
    """Returns the exact two-sided p-value of "both fail alike": a source image's failures could as well be swapped.

    `differences` are a's failure (0 or 1) - b's, one per edit. All edits of an image are swapped at once; the p-value
    is the share of all 2^G swaps with a total as far from 0 as the one seen, counted without drawing any: the totals
    are whole numbers, so their distribution is a chain of sums. With one edit an image it is the exact test of McNemar
    (Psychometrika 12, 1947). It holds its level for few and rare failures too, since it needs no large numbers:
    images on which both fail alike say nothing, and with fewer than six others no p-value is below .05.
    """
    sums = np.bincount(clusters, weights=differences).astype(np.int64)
    observed, steps = abs(int(sums.sum())), np.abs(sums[sums != 0])
    reach = int(steps.sum())
    chances = np.zeros(2 * reach + 1)  # of totals -reach, ..., reach
    chances[reach] = 1.0
    for step in steps.tolist():
        chances = (np.roll(chances, step) + np.roll(chances, -step)) / 2  # nothing wraps: no total is beyond `reach`
    as_far = np.abs(np.arange(-reach, reach + 1)) >= observed
    return min(1.0, float(chances[as_far].sum()))


def _compare_pair(a: ScoreColumn, b: ScoreColumn) -> PairedFailures:
    edits = [edit for edit in a.attempts if edit in b.attempts]
    if not edits:
        return PairedFailures()
    images = cluster_codes([a.image(sample) for sample, _ in edits])
    of_a, of_b = (np.array([*map(column.attempts.__getitem__, edits)], dtype=np.int64) for column in (a, b))
    return PairedFailures(
        total=len(edits),
        clusters=int(images.max()) + 1,
        a=int(of_a.sum()),
        b=int(of_b.sum()),
        difference=float((of_a - of_b).mean()),
        p=exchange_p_value(of_a - of_b, images),
    )
