"""May another take the place of the first? What `compare --fail-if-worse` asks of every column but the first.

Only the pairs with the first are tested, so that its power falls little with their number. What cannot be tested does
not pass, and nobody passes by failing edits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from edit_eval.statistics.columns import Column
from edit_eval.statistics.corrections import holm
from edit_eval.statistics.failure_rates import PairedFailures, corrected
from edit_eval.statistics.intervals import FEWEST_CLUSTERS, cluster_codes, estimate
from edit_eval.statistics.power import ALPHA, clusters_needed
from edit_eval.statistics.series import gain, largest_difference

if TYPE_CHECKING:
    from edit_eval.statistics.comparison import Pair


@dataclass(frozen=True)
class Reason:
    """Why a column does not pass."""

    kind: str
    """`not_held`, `category_not_held`, `too_few`, `too_uneven`, `worse`, `fails_more`; with a margin `no_interval`,
    `margin`, `beyond_margin` and `cannot_say`, the same four with `_with_failures`, and `no_worst`."""
    values: Mapping[str, float | int | None]
    """The numbers that say so."""


@dataclass(frozen=True)
class Candidate:
    """One column held against the first, by one judge. A difference is how much better it is; below 0, worse."""

    name: str
    first: str
    judge: str
    passed: bool
    reasons: list[Reason]
    """Empty for one that passes."""
    difference: float | None
    p_adjusted: float | None
    """By Holm over the pairs of this judge with the first."""
    failures_p_adjusted: float | None
    """The same of failed edits."""
    lower: float | None = None
    """With a margin: the lower end of the one-sided 95 % interval of `difference`, by Bonferroni for as many columns
    as there are but the first."""
    lower_with_failures: float | None = None
    """The same where every failed edit, of either, counts as the worst score."""


@dataclass(frozen=True)
class Gate:
    """Whether all pass."""

    passed: bool
    margin: float | None
    candidates: list[Candidate]


@dataclass(frozen=True)
class _Loss:
    """How much better than the first over some samples, on the mean, and how low that may truly be."""

    difference: float
    lower: float | None
    needed: tuple[int, int] | None
    """Samples and source images that would show that it is above -margin, were it truly what was seen (at most 0); None
    where none would, and where these samples do not say how many."""


def hold_against_first(
    columns: Sequence[tuple[Column, Column]],
    pairs: Sequence[Pair],
    *,
    margin: float | None = None,
) -> Gate:
    """Holds every column against the first of its judge. `columns` are those of the `pairs`, in the same order.

    Without `margin` a column passes that is not shown to be worse, neither in score nor in failed edits, each tested at
    .05 over the columns of a judge (Holm). With `margin` it has to be shown that it is less than that many points worse
    (non-inferiority: Piaggio and others, JAMA 308, 2012), over the samples that both have scored and also with every
    failed edit counted as the worst score; and it must not be shown to fail more. Where the scale has no worst score
    nothing is shown for a column that failed an edit which the first did not.
    """
    candidates: list[Candidate] = []
    for _, of_judge in groupby(zip(columns, pairs, strict=True), key=lambda one: one[1].judge):
        every = list(of_judge)
        held = [(other, pair) for (first, other), pair in every if first is every[0][0][0]]
        first, tests = every[0][0][0], len(held)
        adjusted = holm([pair.p for _, pair in held])
        failures = corrected([pair.failures for _, pair in held])
        for (other, pair), p, failed in zip(held, adjusted, failures, strict=True):
            scored = failing = None
            if margin is not None:
                scored = _loss(first, other, None, margin, tests)
                failing = None if other.scale.worst is None else _loss(first, other, other.scale.worst, margin, tests)
            reasons = [*_of_scores(pair, p, tested=margin is None)]
            if margin is not None and not reasons:
                reasons += _of_loss(scored, "", margin)
                reasons += _of_loss(failing, "_with_failures", margin) if failed.a or failed.b else []
                reasons += _of_no_worst(first, other, failed, margin)
            reasons += _of_failures(failed)
            candidates.append(
                Candidate(
                    name=pair.b,
                    first=pair.a,
                    judge=pair.judge,
                    passed=not reasons,
                    reasons=reasons,
                    difference=_gain(pair),
                    p_adjusted=p,
                    failures_p_adjusted=failed.p_adjusted,
                    lower=scored.lower if scored else None,
                    lower_with_failures=failing.lower if failing else None,
                )
            )
    return Gate(passed=all(one.passed for one in candidates), margin=margin, candidates=candidates)


def _gain(pair: Pair) -> float | None:
    """How much better b is than a."""
    return None if pair.difference is None else -gain(pair.scale) * pair.difference


def _of_scores(pair: Pair, p: float | None, *, tested: bool) -> Iterator[Reason]:
    """Why nobody knows which is better; where `tested`, that it is the first."""
    difference = _gain(pair)
    if pair.n == 0:
        yield Reason("not_held", {})
    elif difference is None:
        yield Reason("category_not_held", {})
    elif tested and p is not None and p <= ALPHA and difference < 0:
        yield Reason("worse", {"difference": difference, "p": p})
    elif pair.clusters < FEWEST_CLUSTERS:
        yield Reason("too_few", {"images": pair.clusters, "fewest": FEWEST_CLUSTERS})
    elif tested and pair.no_ci95 == "too_uneven":
        yield Reason("too_uneven", {"images": pair.clusters})


def _of_no_worst(first: Column, other: Column, failed: PairedFailures, margin: float) -> Iterator[Reason]:
    """Where the scale has no worst score: that failed edits cannot be counted as it."""
    shared = [sample for sample in first.scores if sample in other.scores]
    more = any(other.failed_share(sample) > first.failed_share(sample) for sample in shared)
    if other.scale.worst is None and more:
        yield Reason("no_worst", {"b": failed.b, "a": failed.a, "total": failed.total, "margin": margin})


def _of_failures(failed: PairedFailures) -> Iterator[Reason]:
    if failed.proven and failed.b > failed.a:
        yield Reason("fails_more", {"b": failed.b, "a": failed.a, "total": failed.total, "p": failed.p_adjusted})


def _of_loss(loss: _Loss | None, which: str, margin: float) -> Iterator[Reason]:
    if loss is None:
        return
    values: dict[str, float | int | None] = {"difference": loss.difference, "lower": loss.lower, "margin": margin}
    if loss.lower is None:
        yield Reason(f"no_interval{which}", values)
    elif loss.lower <= -margin and loss.needed is None:
        yield Reason(f"{'beyond_margin' if loss.difference <= -margin else 'cannot_say'}{which}", values)
    elif loss.lower <= -margin and loss.needed is not None:
        samples, images = loss.needed
        yield Reason(
            f"margin{which}", {**values, "assumed": min(0.0, loss.difference), "samples": samples, "images": images}
        )


def _loss(first: Column, other: Column, failure: float | None, margin: float, tests: int) -> _Loss | None:
    """The loss of `other`, a failed edit counting as `failure`; None without a mean over the common samples."""
    shared = [sample for sample in sorted(first.scores) if sample in other.scores]
    found = {}
    for sample in shared:
        a, b = (column.with_failures_as(sample, failure) for column in (first, other))
        if a is not None and b is not None:
            found[sample] = b - a
    groups = first.groups([*found])
    if not found or (
        groups is not None and {*map(first.categories.get, found)} != {*map(first.categories.get, shared)}
    ):
        return None
    gains = gain(first.scale) * np.array(list(found.values()), dtype=np.float64)
    if not gains.any():  # there is no spread to judge by, and nothing to be judged
        return _Loss(0.0, 0.0, None)
    span, alpha = largest_difference(first.scale), 2 * ALPHA / tests
    seen = estimate(gains, cluster_codes([first.image(sample) for sample in found]), groups)
    ends = seen.interval(confidence=1 - alpha, lowest=-span, highest=span)  # of its two ends one counts
    effect = margin + min(0.0, seen.value)
    images = clusters_needed(seen, effect, span, alpha=alpha) if effect > 0.0 else None
    needed = (math.ceil(images * len(found) / seen.clusters), images) if images else None
    return _Loss(seen.value, ends[0] if ends else None, needed)
