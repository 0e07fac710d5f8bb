"""Whether a judge is still the same: its answers about edits that it is asked about again, held against its own noise.

What the noise is like (its size, its tails, whether it differs between good and bad edits) is nowhere assumed: it is
what the judge itself showed, and changes then and now change places.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import msgspec
import numpy as np

from edit_eval.statistics.intervals import FloatArray

_Places = np.ndarray[tuple[int, ...], np.dtype[np.int32]]
_Signs = np.ndarray[tuple[int, ...], np.dtype[np.int8]]

DRIFT_LEVEL = 0.01
"""Level of both tests together. Not .05: a drift keeps tables from being compared."""
DRAWN = 9_999
"""Arrangements that are drawn; the one seen counts as one more."""
SIMULATED = 200
SAME = 9
"""Decimals to which changes are equal."""


class JudgedTwice(msgspec.Struct, frozen=True):
    """One edit, and two scores of it by one judge."""

    sample: str
    """Id of the sample."""
    rung: str
    """What kind of edit it is: changes are compared within kinds."""
    before: float
    """The score in the passport, in points."""
    now: float
    """The new score."""


@dataclass(frozen=True, kw_only=True)
class Drift:
    """How far a judge's scores of the same edits are from those that it gave before."""

    n: int
    """Edits with a score both times."""
    mean: float
    """Now minus before, in points."""
    spread: float
    """Standard deviation of an edit's scores that such differences would imply, in points."""
    repeated: int
    """Pairs of answers of the examined judge that they were held against."""
    retest_sd: float
    """Standard deviation of an edit's scores in these pairs, in points."""
    p: float
    """p of "it is the same judge", at most 1."""
    found: float | None
    """Share of judges with this noise, and all scores half a point of ten higher, that would be found to have drifted;
    None for an open scale."""
    drifted: bool
    """True if the differences exceed the judge's own noise."""


def drift(anchors: Sequence[JudgedTwice], repeated: Sequence[JudgedTwice], span: float | None = None) -> Drift | None:
    """Tests whether `anchors` changed more than the judge's answers do by themselves, as its `repeated` ones show.

    `span`: points from end to end of the scale, None if it is open. A repeated edit that is an anchor, too, is left
    out: its first answer would count twice. None if fewer than two anchors have both scores, or nothing was repeated.
    See `chance_of`.
    """
    known = {anchor.sample for anchor in anchors}
    others = [edit for edit in repeated if edit.sample not in known]
    if len(anchors) < 2 or not others:
        return None
    changes, p = _changes(anchors), chance_of(anchors, others)
    return Drift(
        n=len(anchors),
        mean=float(changes.mean()),
        spread=_deviation(changes),
        repeated=len(others),
        retest_sd=_deviation(_changes(others)),
        p=p,
        found=None if span is None else power(tuple(anchor.rung for anchor in anchors), tuple(others), span / 20),
        drifted=p < DRIFT_LEVEL,
    )


def chance_of(anchors: Sequence[JudgedTwice], repeated: Sequence[JudgedTwice], arrangements: int = DRAWN) -> float:
    """Returns the p of "anchors changed as repeated edits did", a permutation test.

    If the judge is the same, any of the changes of a rung, and as many as there are anchors, could have been those of
    the anchors, and each could have either sign. Within a rung a change of mean rank r by size among n has the
    half-normal score h = Phi^-1((1 + (r - 1/2) / n) / 2) (Klotz, Annals of Mathematical Statistics 33, 1962). Either a
    shift of all scores, |sum of sign h| over the anchors, or more scatter, their sum of h^2, may reveal a drift; p is
    twice the smaller one (Bonferroni). So many `arrangements` are drawn, always the same.

    Exact, whatever the noise, if a rung's anchors and repeated edits are drawn alike. Without repeated edits only signs
    change, which is exact for the shift, and no scatter is too large.
    """
    seen = np.zeros(2)
    drawn = np.zeros((2, arrangements))
    for place, rung in enumerate(dict.fromkeys(anchor.rung for anchor in anchors)):
        own, theirs = (_changes(edit for edit in some if edit.rung == rung) for some in (anchors, repeated))
        changes = np.round(np.concatenate([own, theirs]), SAME)
        weights = _half_normal(np.abs(changes))
        signed, squared = np.sign(changes) * weights, weights**2
        chosen, signs = (of[:arrangements] for of in _arrangements(place, len(changes), len(own)))
        seen += signed[: len(own)].sum(), squared[: len(own)].sum()
        drawn += (signed[chosen] * signs).sum(axis=1), squared[chosen].sum(axis=1)
    as_large = (np.abs(drawn[0]) >= abs(seen[0]) - 1e-9).sum(), (drawn[1] >= seen[1] - 1e-9).sum()
    return min(1.0, 2 * float(1 + min(as_large)) / (1 + arrangements))


@lru_cache(maxsize=64)
def power(rungs: tuple[str, ...], repeated: tuple[JudgedTwice, ...], shift: float) -> float:
    """Returns the share of judges with the noise of `repeated`, and scores higher by `shift`, that would be found.

    Simulated: anchors of these rungs change as repeated edits of their rung did, either way. Where all scores are whole
    numbers, so many in a hundred are a point higher that their mean is.
    """
    generator, drifted = np.random.default_rng(0), 0
    changes = {rung: _changes(edit for edit in repeated if edit.rung == rung) for rung in dict.fromkeys(rungs)}
    whole = all(float(score).is_integer() for edit in repeated for score in (edit.before, edit.now))
    for _ in range(SIMULATED):
        anchors = []
        for rung in rungs:
            some = changes[rung]
            noise = float(generator.choice(some)) * int(generator.choice([-1, 1])) if len(some) else 0.0
            moved = float(math.floor(shift) + (generator.random() < shift % 1)) if whole else shift
            anchors.append(JudgedTwice("", rung, 0.0, noise + moved))
        drifted += chance_of(anchors, repeated, arrangements=999) < DRIFT_LEVEL
    return drifted / SIMULATED


def _changes(some: Iterable[JudgedTwice]) -> FloatArray:
    return np.array([edit.now - edit.before for edit in some], dtype=np.float64)


def _deviation(changes: FloatArray) -> float:
    """Returns the standard deviation of a single score, from differences of two (Bland and Altman, BMJ 312, 1996)."""
    return math.sqrt(float((changes**2).mean()) / 2)


def _half_normal(sizes: FloatArray) -> FloatArray:
    from scipy.special import ndtri

    _, of_size, count = np.unique(sizes, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[of_size]
    return np.asarray(ndtri((1 + (ranks - 0.5) / len(sizes)) / 2), dtype=np.float64)


@lru_cache(maxsize=16)
def _arrangements(place: int, total: int, chosen: int) -> tuple[_Places, _Signs]:
    """Returns `DRAWN` random choices of so many of `total` places, a row each, and as many random signs."""
    generator = np.random.default_rng((place, total, chosen))
    if chosen == total:
        places = np.tile(np.arange(total), (DRAWN, 1))
    else:
        keys = generator.random((DRAWN, total), dtype=np.float32)
        places = np.argpartition(keys, chosen - 1, axis=1)[:, :chosen]
    return places.astype(np.int32), generator.choice(np.array([-1, 1], dtype=np.int8), size=(DRAWN, chosen))
