"""Decides whether another column may replace the first: `compare --fail-if-worse` and `gate`, for every column but the
first. Whatever else must hold of two columns is a reason beside those of the scores (`_condition_reasons`).

Only the pairs with the first are tested, so power falls little with their number. A column that cannot be tested does
not pass, and missing scores never help: a column passes only if it would for every score that could be missing, on all
samples that either has.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from edit_eval.errors import ConfigurationError
from edit_eval.records import Scale
from edit_eval.statistics.columns import ScoreColumn
from edit_eval.statistics.compared import Candidate, Gate, Pair, Reason
from edit_eval.statistics.failure_rates import PairedFailures, with_adjusted_p
from edit_eval.statistics.intervals import (
    FEWEST_CLUSTERS,
    Estimate,
    FloatArray,
    cluster_codes,
    estimate,
    holm,
    normal_quantile,
    strict_lower,
)
from edit_eval.statistics.levels import ALPHA, POWER
from edit_eval.statistics.outcomes import doubt_of_pair
from edit_eval.statistics.power import clusters_needed
from edit_eval.statistics.series import ends, gain, groups_of, largest_difference
from edit_eval.text import Text

_STEPS = 41
"""Number of values tried for missing scores, from the worst to the best."""


def hold_against_first(
    columns: Sequence[tuple[ScoreColumn, ScoreColumn]],
    pairs: Sequence[Pair],
    *,
    margin: float | None = None,
    allow_unscored: float | None = None,
    blind: Collection[str] = (),
    guidance: Mapping[str, str] = MappingProxyType({}),
) -> Gate:
    """Compares every column with the first of its judge. `columns` are those of the `pairs`, in the same order.

    Without `margin` a column passes unless shown to be worse, in score or in failed edits, each tested at .05 over the
    columns of a judge (Holm). With `margin` it has to be shown that it is less than that many points worse
    (non-inferiority: Piaggio and others, JAMA 308, 2012); and it must not be shown to fail more.

    Both are tested over all samples that either has, for every possible missing score: an edit that the column failed
    and an answer without a score could have been anything on the scale, one that the first failed is the worst score.
    With equal images the least favourable scores are all alike, or at the end of their range (where the mean is
    below 0, mean + c SE is convex in them; where it is a lower end, mean - c SE is concave), so these are tried. If at
    most a share `allow_unscored` of the samples lacks a score, these are left out instead, except for failed edits.

    Whatever the scores are, nothing passes by a judge that is `blind`, which does not put controls below edits, nor if
    one of the two columns was made without `guidance` (state by column; `off`).
    """
    candidates: list[Candidate] = []
    for _, of_judge in groupby(zip(columns, pairs, strict=True), key=lambda row: row[1].judge):
        every = list(of_judge)
        held = [(other, pair) for (first, other), pair in every if first is every[0][0][0]]
        first, tests = every[0][0][0], len(held)
        adjusted = holm([pair.p for _, pair in held])
        failures = with_adjusted_p([pair.failures for _, pair in held])
        for (other, pair), p, failed in zip(held, adjusted, failures, strict=True):
            union = _Union(first, other, allow_unscored)
            lower = None
            reasons = list(_score_reasons(pair, p, tested=margin is None))
            if margin is not None and pair.difference is not None:
                lower = union.lower(ALPHA / tests)
            reasons += _failure_reasons(failed)
            if not reasons and margin is None and union.could_be_worse():
                reasons.append(union.open())
            elif not reasons and margin is not None:
                reasons += _margin_reasons(union, lower, margin, tests)
            reasons = [*_condition_reasons(pair, blind, guidance), *reasons]
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
                    lower=lower,
                    detectable=pair.detectable,
                    total=union.total,
                    missing=union.missing,
                    left_out=union.left_out,
                )
            )
    return Gate(
        passed=all(candidate.passed for candidate in candidates),
        margin=margin,
        allow_unscored=allow_unscored,
        candidates=candidates,
        guidance=dict(guidance),
    )


class _Union:
    """The samples that either of two columns has, and the range of the second one's gain in each."""

    def __init__(self, first: ScoreColumn, other: ScoreColumn, allowed: float | None) -> None:
        self.scale = first.scale
        samples = [
            sample
            for sample in sorted({*first.scores, *other.scores})
            if not (sample in first.skipped and sample in other.skipped)
        ]
        of_first, of_other = _Part(first, forgiven=True), _Part(other, forgiven=False)
        rows = [(sample, *of_first.ends(sample), *of_other.ends(sample)) for sample in samples]
        # If the scale has no worst score, edits that the first failed say nothing against the other.
        rows = [row for row in rows if not math.isinf(row[2]) or not of_first.failure_share(row[0])]
        self.total = len(rows)
        doubtful = (row[0] for row in rows if not (row[0] in of_first.plain and row[0] in of_other.plain))
        unscored = {sample for sample in doubtful if of_first.is_unscored(sample) or of_other.is_unscored(sample)}
        self.failed = sum(other.failure_shares.get(row[0], 0.0) > 0 for row in rows)
        self.absent = sum((row[0] in first.scores) != (row[0] in other.scores) for row in rows)
        self.left_out = 0
        if allowed is not None and unscored and len(unscored) <= allowed * self.total + 1e-9:
            self.left_out = len(unscored)
            rows = [row for row in rows if row[0] not in unscored]
        self.low: FloatArray = np.array([low - best for _, _, best, low, _ in rows], dtype=np.float64)
        self.high: FloatArray = np.array([high - worst for _, worst, _, _, high in rows], dtype=np.float64)
        self.known = self.high - self.low <= 1e-12
        self.missing = int((~self.known).sum()) + self.left_out
        of = [first if row[0] in first.scores else other for row in rows]
        self._images = cluster_codes([column.image(row[0]) for column, row in zip(of, rows, strict=True)])
        self._groups = groups_of(self.scale, [column.categories[row[0]] for column, row in zip(of, rows, strict=True)])

    def open(self) -> Reason:
        """Returns the reason that missing scores could decide."""
        missing = int((~self.known).sum())
        counts = {"missing": missing, "total": self.total, "failed": self.failed, "absent": self.absent}
        return Reason("open", counts)

    def could_be_worse(self) -> bool:
        """True if some values of the missing scores would show the second one to be worse."""
        if self.known.all():
            return False
        if np.isinf(self.low).any():
            return True
        return any(
            mean_difference.value < 0 and ((p := mean_difference.p_value()) is None or p <= ALPHA)
            for mean_difference in map(self._estimate_at_value, self._trial_values())
        )

    def lower(self, alpha: float) -> float | None:
        """Returns the lower end for the least favourable missing scores; None if it is unbounded."""
        if not len(self.low) or np.isinf(self.low).any():
            return None
        ends = [_lower_end(self._estimate_at_value(value), self.scale, alpha) for value in self._trial_values()]
        known = [end for end in ends if end is not None]
        return min(known) if len(known) == len(ends) else None

    def estimate_complete(self) -> tuple[Estimate, int] | None:
        """Returns the estimate over the complete samples, and their number; None if a category has none."""
        if not self.known.any() or (
            self._groups is not None and len(np.unique(self._groups[self.known])) < len(np.unique(self._groups))
        ):
            return None
        groups = None if self._groups is None else self._groups[self.known]
        return estimate(self.low[self.known], self._images[self.known], groups), int(self.known.sum())

    def _trial_values(self) -> list[float]:
        """Returns values from the lowest possible to the highest missing one; with an open end, the highest known."""
        if self.known.all():
            return [0.0]
        missing = self.high[~self.known]
        highest = missing.max() if np.isfinite(missing).all() else self.low.max()
        tried: list[float] = np.linspace(self.low[~self.known].min(), highest, _STEPS).tolist()
        return tried

    def _estimate_at_value(self, value: float) -> Estimate:
        return estimate(np.clip(value, self.low, self.high), self._images, self._groups)


def fewest_images(margin: float, scale: Scale) -> int:
    """Returns the least number of images that can show that margin; fewer leave too much unseen (`strict_lower`).

    `margin` in points. Raises `ConfigurationError` if it is not above 0.
    """
    if not 0 < margin < math.inf:
        raise ConfigurationError(Text("margin {:g}: a number of points above 0", margin))
    span = largest_difference(scale)
    if not margin < span < math.inf:
        return FEWEST_CLUSTERS
    return max(FEWEST_CLUSTERS, math.floor(math.log(ALPHA) / math.log((span - margin) / span)) + 1)


def images_to_show(margin: float, scale: Scale, deviation: float) -> int | None:
    """Returns the number of images with which a column as good as the first passes with probability `POWER`.

    `deviation` is the standard deviation of the differences on an image, in points. None if no number is enough.
    Both bounds of `strict_lower` have to be above the margin, even with the loss that chance brings once in five.
    """
    drawn = deviation * np.array([normal_quantile((place + 0.5) / 400) for place in range(400)])
    mean_difference = estimate(drawn, np.arange(len(drawn)), None)
    needed = clusters_needed(mean_difference, margin, largest_difference(scale), alpha=2 * ALPHA)
    if needed is None:
        return None
    span, images = largest_difference(scale), max(needed, fewest_images(margin, scale))
    by_chance = normal_quantile(POWER) * deviation
    while margin < span < math.inf and (span - by_chance / math.sqrt(images)) * ALPHA ** (1 / images) <= span - margin:
        images += 1 + images // 200
    return images


class _Part:
    """The range of a column's scores, as gains: higher is better."""

    def __init__(self, column: ScoreColumn, *, forgiven: bool) -> None:
        self._column, self._forgiven = column, forgiven
        self._sign = gain(column.scale)
        self._worst, self._best = (self._sign * end for end in ends(column.scale))
        self.plain = {
            sample: self._sign * score
            for sample, score in column.scores.items()
            if score is not None and not column.unscored.get(sample) and not column.failure_shares.get(sample)
        }
        """The samples of which no score is missing and no edit has failed, as most are, with their gains."""

    def failure_share(self, sample: str) -> float:
        return self._column.failure_shares.get(sample, 0.0) if sample in self._column.scores else 0.0

    def is_unscored(self, sample: str) -> bool:
        """True if a score is missing for another reason than a failed edit."""
        column = self._column
        if sample not in column.scores:
            return True
        return self._missing(sample) - self.failure_share(sample) > 1e-9

    def ends(self, sample: str) -> tuple[float, float]:
        """Returns the worst and the best. Failed edits are the worst score if they are `forgiven`, else anything."""
        if (gained := self.plain.get(sample)) is not None:
            return gained, gained
        score = self._column.scores.get(sample)
        missing, failed = self._missing(sample), self.failure_share(sample)
        worst, best = self._worst, self._best
        if not self._forgiven:
            failed = 0.0
        elif math.isinf(worst) and failed and score is not None:
            missing, failed = missing - failed, 0.0  # there is no worst score to count it as
        free = max(0.0, missing - failed)
        scored = 0.0 if score is None else self._sign * score * (1 - failed - free)
        return (
            scored + _times(failed, worst) + _times(free, worst),
            scored + _times(failed, worst) + _times(free, best),
        )

    def _missing(self, sample: str) -> float:
        if self._column.scores.get(sample) is None:
            return 1.0
        return self._column.unscored.get(sample, 0.0)


def _times(share: float, end: float) -> float:
    return share * end if share > 1e-12 else 0.0


def _lower_end(difference: Estimate, scale: Scale, alpha: float) -> float | None:
    if difference.doubt == "no_spread" and difference.value == 0.0:  # nothing differs, so there is nothing to judge
        return 0.0
    return strict_lower(difference, largest_difference(scale), alpha=alpha)


def _gain(pair: Pair) -> float | None:
    """Returns how much better b is than a."""
    return None if pair.difference is None else -gain(pair.scale) * pair.difference


def _condition_reasons(pair: Pair, blind: Collection[str], guidance: Mapping[str, str]) -> Iterator[Reason]:
    """Yields why a comparison says nothing, whatever its numbers are."""
    if pair.judge in blind:
        yield Reason("blind", {})
    for name, kind in ((pair.a, "first_unguided"), (pair.b, "unguided")):
        if guidance.get(name) == "off":
            yield Reason(kind, {})


def _score_reasons(pair: Pair, p: float | None, *, tested: bool) -> Iterator[Reason]:
    """Yields why it is unknown which is better; if `tested`, also that the first is."""
    difference, doubt = _gain(pair), doubt_of_pair(pair)
    behind = tested and difference is not None and difference < 0
    if behind and p is not None and p <= ALPHA:
        yield Reason("worse", {"difference": difference, "p": p})
    elif doubt == "few_images":
        yield Reason("too_few", {"images": pair.clusters, "fewest": FEWEST_CLUSTERS})
    elif doubt == "too_uneven":
        yield Reason("too_uneven", {"images": pair.clusters})
    elif doubt == "no_spread" and behind:
        yield Reason("no_spread", {"difference": difference})
    elif doubt in ("no_sample", "no_category"):
        yield Reason("not_held" if doubt == "no_sample" else "category_not_held", {})


def _failure_reasons(failed: PairedFailures) -> Iterator[Reason]:
    if failed.proven and failed.b > failed.a:
        yield Reason("fails_more", {"b": failed.b, "a": failed.a, "total": failed.total, "p": failed.p_adjusted})


def _margin_reasons(union: _Union, lower: float | None, margin: float, tests: int) -> Iterator[Reason]:
    if lower is not None and lower > -margin:
        return
    seen, alpha, span = union.estimate_complete(), ALPHA / tests, largest_difference(union.scale)
    if seen is None:
        yield union.open()
        return
    mean_difference, samples = seen
    end = _lower_end(mean_difference, union.scale, alpha)
    values: dict[str, float | int | None] = {"difference": mean_difference.value, "lower": lower, "margin": margin}
    if end is not None and end > -margin:
        yield union.open()
    elif end is None:
        yield Reason("no_interval", values)
    else:
        effect = margin + min(0.0, mean_difference.value)
        images = clusters_needed(mean_difference, effect, span, alpha=2 * alpha) if effect > 0.0 else None
        values |= {"lower": end if lower is None else lower}
        if images is None:
            yield Reason("beyond_margin" if mean_difference.value <= -margin else "cannot_say", values)
            return
        if margin < span < math.inf:  # as many as the strict end requires
            strict = math.log(alpha) / math.log((span - margin) / (span + min(0.0, mean_difference.value)))
            images = max(images, math.floor(strict * mean_difference.clusters / mean_difference.worth) + 1)
        needed = {"samples": math.ceil(images * samples / mean_difference.clusters), "images": images}
        yield Reason("margin", {**values, "assumed": min(0.0, mean_difference.value), **needed})


class MarginSize(NamedTuple):
    """Number of images needed to show by one judge that an edit model is less than a margin worse than another."""

    judge: str
    images: int
    """Number of source images in the benchmark."""
    fewest: int
    """Least number that can show it."""
    enough: Mapping[float, int]
    """Standard deviation of the two's differences on an image -> images with which an equally good model passes 4 times
    in 5."""

    def line_for(self, margin: float) -> Text:
        """Returns it as a sentence."""
        each = [Text("{:,} if it is {:g}", count, deviation) for deviation, count in self.enough.items()]
        return Text(
            "margin {:g} by judge {}: {:,} images here, {:,} at least; to pass 4 times in 5 when both are equally good "
            "takes, by the standard deviation of their differences on an image, {}",
            margin,
            self.judge,
            self.images,
            self.fewest,
            each,
        )


def margin_sizes(scales: Mapping[str, Scale], images: int, margin: float) -> list[MarginSize]:
    """Returns the sizes for each judge, by its scale. Raises `ConfigurationError` for a margin not above 0."""
    sizes = []
    for judge, scale in scales.items():
        fewest, wide = fewest_images(margin, scale), scale.span or 10.0
        of = {share * wide: images_to_show(margin, scale, share * wide) for share in (0.05, 0.1, 0.2)}
        enough = {deviation: count for deviation, count in of.items() if count is not None}
        sizes.append(MarginSize(judge, images, fewest, enough))
    return sizes
