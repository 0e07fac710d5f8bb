"""How far the scores of two raters lie apart, edit by edit, on the edits that both have scored."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from edit_eval.statistics.intervals import cluster_codes, estimate
from edit_eval.statistics.raters import Item, Rater
from edit_eval.statistics.series import largest_difference


class ScoreDifference(msgspec.Struct, frozen=True, kw_only=True):
    """The paired difference of two raters' scores, `a` less `b`."""

    n: int
    """Edits scored by both."""
    images: int
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    """Mean of `a` less `b`, in points."""
    ci95: list[float] | None
    no_ci95: str | None
    """Why there is no interval: `unlike_scales` (then there is no difference either), `no_scores`, `few_images`, ..."""


def compare_scores(
    a: Rater, b: Rater, image: Callable[[str], str], items: Sequence[Item] | None = None
) -> ScoreDifference:
    """Computes it, with the interval that `compare` gives paired differences (none with fewer than six source images).

    Over all items that both have answered about, or those of them that are given; `image` gives each sample's source
    image.
    """
    items = [item for item in a.answers if item in b.answers] if items is None else items
    values = [np.array([of.values[item] for item in items], dtype=np.float64) for of in (a, b)]
    images = [image(item.sample_id) for item in items]
    means = [float(of.mean()) if items else None for of in values]
    difference, interval = None, None
    doubt: str | None = "unlike_scales" if items else "no_scores"
    if items and a.scale == b.scale:
        mean, span = estimate(values[0] - values[1], cluster_codes(images)), largest_difference(a.scale)
        difference, interval, doubt = mean.value, mean.interval(lowest=-span, highest=span), mean.doubt
    return ScoreDifference(
        n=len(items),
        images=len(set(images)),
        mean_a=means[0],
        mean_b=means[1],
        difference=difference,
        ci95=interval,
        no_ci95=doubt,
    )
