"""Slices: groups of samples in which an edit model does better or worse than elsewhere, by itself or against another.

All slices that are looked at are one family (`statistics.overlapping`): what is said to stand out would stand out by
chance in at most 5 of 100 evaluations in which no slice differs, however many there are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import combinations
from typing import Literal

import msgspec
import numpy as np

from edit_eval.config.faults import did_you_mean
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.slices.attributes import Attributes, attributes_of
from edit_eval.plugins.slices.overlapping import GroupTest, large_enough, overlapping_groups
from edit_eval.records import Results, Sample, Scale
from edit_eval.statistics.columns import ScoreColumn, columns_of
from edit_eval.statistics.families import Correction
from edit_eval.statistics.intervals import FEWEST_CLUSTERS, BoolArray, IntArray, cluster_codes
from edit_eval.statistics.series import gain
from edit_eval.text import Text

LEAST = 8
"""Fewest samples in a slice, unless told otherwise."""
LISTED = 5
"""Slices listed at each end, and pictures named of each."""


class Condition(msgspec.Struct, frozen=True, order=True):
    """What the samples of a slice have in common: a value of an attribute."""

    attribute: str
    value: str
    bound: float | None = None
    """Of a quantity, the last value that belongs to it; None for words."""


class Slice(msgspec.Struct, frozen=True, kw_only=True):
    """Samples that have one or two things in common, against all others."""

    conditions: tuple[Condition, ...]
    samples: int
    """Samples with a score (of both edit models), of `of`."""
    of: int
    images: int
    """Their source images."""
    mean: float
    """Mean score, or mean difference from the other edit model; above 0 is better."""
    elsewhere: float
    """The same over all other samples."""
    difference: float
    """Better than elsewhere above 0, worse below, whatever the score's direction."""
    ci95: list[float] | None
    """Of the difference; those of all slices looked at hold together."""
    p_adjusted: float
    """For all slices tested."""
    shown: Literal["better", "worse"] | None
    examples: tuple[str, ...]
    """Samples that lie furthest to its side, at most five."""
    ids: tuple[str, ...]
    """All its samples."""


class Slices(msgspec.Struct, frozen=True, kw_only=True):
    """The document of the analysis `slices`."""

    edit_model: str
    against: str
    """The edit model that it is held against; empty if it is held against itself elsewhere."""
    judge: str
    score: str
    scale: Scale
    samples: int
    """Samples with a score (of both edit models), of `of`."""
    of: int
    images: int
    mean: float | None
    looked_at: int
    """Slices tested."""
    least: int
    """Samples that each had at least."""
    combined: bool
    """True if every two attributes were looked at together, too."""
    pictures: bool
    """True if sources and edits were opened for what they look like."""
    unread: int
    """Samples with a picture that could not be opened."""
    correction: Correction
    best: tuple[Slice, ...]
    worst: tuple[Slice, ...]
    best_shown: int
    worst_shown: int
    """How many slices are shown to be better, or worse, than the rest; more than are listed, perhaps."""


def slices(
    results: Results,
    edit_model: str,
    against: str,
    judge: str,
    score: str | None = None,
    *,
    least: int = LEAST,
    combined: bool = False,
    pictures: bool = False,
) -> Slices:
    """Looks for the slices in which an edit model differs from the rest by most. `against`: another one, or empty.

    By the judge's headline, or its `score`. Raises `ConfigurationError` for names that are not in the run, and if it
    has too few source images for any slice.
    """
    _check(edit_model, results.edit_models, "--edit-model")
    _check(judge, results.judges, "--judge")
    if against:
        _check(against, results.edit_models, "--against")
        if against == edit_model:
            raise ConfigurationError(Text("--against {}: is the same edit model; leave it out", against))
    columns = {
        column.edit_model: column
        for column in columns_of(results, {name: {} for name in results.judges}, score=score)
        if column.judge == judge
    }
    if not columns:
        raise ConfigurationError(Text("--judge {}: gives no score {!r}", judge, score))
    a, b = columns[edit_model], columns.get(against)
    asked = [sample for sample in results.samples if sample.id in a.scores and (b is None or sample.id in b.scores)]
    known = [sample for sample in asked if _value(a, b, sample) is not None]
    clusters = cluster_codes([sample.cluster or sample.id for sample in known])
    images = int(clusters.max(initial=-1)) + 1
    if images < 2 * FEWEST_CLUSTERS:
        raise ConfigurationError(
            Text(
                "{}: slices need {} source images with a score, six inside and six outside; there are {}",
                results.name,
                2 * FEWEST_CLUSTERS,
                images,
            )
        )
    values = np.array([_value(a, b, sample) for sample in known], dtype=np.float64) * gain(a.scale)
    attributes = attributes_of(results, asked, edit_model, pictures=pictures, without=judge)
    there = np.array([_value(a, b, sample) is not None for sample in asked], dtype=bool)
    groups = _groups(attributes, there, clusters, least, combined)
    members = np.array([group[there] for group in groups.values()], dtype=bool).reshape(len(groups), len(known)).T
    tested = overlapping_groups(values, clusters, members, seed=_seed(results, edit_model, against, judge))
    every = [
        _slice(conditions, group, test, asked, known, values, clusters, there)
        for (conditions, group), test in zip(groups.items(), tested.tests, strict=True)
    ]
    best, worst = _select_slices(every, 1), _select_slices(every, -1)
    return Slices(
        edit_model=edit_model,
        against=against,
        judge=judge,
        score=a.score,
        scale=a.scale,
        samples=len(known),
        of=len(asked),
        images=images,
        mean=_mean(values) * gain(a.scale) if not against else _mean(values),
        looked_at=len(every),
        least=least,
        combined=combined,
        pictures=pictures,
        unread=attributes.unread,
        correction=tested.correction,
        best=tuple(best[:LISTED]),
        worst=tuple(worst[:LISTED]),
        best_shown=sum(slice_.shown == "better" for slice_ in every),
        worst_shown=sum(slice_.shown == "worse" for slice_ in every),
    )


def enough_images(results: Results, judge: str) -> bool:
    """True if the judge scored edits of enough source images, by every edit model, for a slice and its rest."""
    clusters = {sample.id: sample.cluster or sample.id for sample in results.samples}
    seen: dict[str, set[str]] = {name: set() for name in results.edit_models}
    for judgement in results.judgements:
        if judgement.judge == judge and judgement.score is not None:
            seen[judgement.edit_model].add(clusters[judgement.sample_id])
    return len(set.intersection(*seen.values())) >= 2 * FEWEST_CLUSTERS if seen else False


def _check(name: str, known: Sequence[str], flag: str) -> None:
    if name not in known:
        meant = did_you_mean(name, known) or Text("; there are: {}", list(known))
        raise ConfigurationError(Text("{} {}: not in this run{}", flag, name, meant))


def _value(a: ScoreColumn, b: ScoreColumn | None, sample: Sample) -> float | None:
    first = a.scores[sample.id]
    if b is None or first is None:
        return first
    second = b.scores[sample.id]
    return None if second is None else first - second


def _mean(values: np.ndarray) -> float:
    return float(values.mean())


def _seed(results: Results, *names: str) -> int:
    """Returns the seed of the draws, the same for the same data, so that a number is the same whenever it is read."""
    seeded_by = "\n".join([*names, *(sample.id for sample in results.samples)])
    return int.from_bytes(hashlib.sha256(seeded_by.encode("utf-8", "surrogatepass")).digest()[:8])


Groups = dict[tuple[Condition, ...], BoolArray]


def _groups(attributes: Attributes, there: BoolArray, clusters: IntArray, least: int, combined: bool) -> Groups:
    """Returns the slices that are large enough, by their conditions: of equal ones, or of two that are each other's
    rest, the first. With `combined` what two of them share, too, where that is a part of both."""
    groups: Groups = {}
    seen: set[bytes] = set()

    def take(conditions: tuple[Condition, ...], group: BoolArray) -> None:
        inside = group[there]
        if inside.tobytes() in seen or (~inside).tobytes() in seen:
            return
        if large_enough(inside[:, None], clusters, least)[0]:
            seen.add(inside.tobytes())
            groups[conditions] = group

    single = {(Condition(*name),): group for name, group in attributes.members().items()}
    # Of two that are each other's rest the smaller one is named: "in Chinese", not "in Latin letters".
    for conditions, group in sorted(single.items(), key=lambda item: int(item[1].sum())):
        take(conditions, group)
    if combined:
        for (first, of_first), (second, of_second) in combinations(list(groups.items()), 2):
            if first[0].attribute != second[0].attribute or first[0].attribute in ("tag", "operation", "object"):
                take((*first, *second), of_first & of_second)
    return groups


def _slice(
    conditions: tuple[Condition, ...],
    group: BoolArray,
    test: GroupTest,
    asked: Sequence[Sample],
    known: Sequence[Sample],
    values: np.ndarray,
    clusters: IntArray,
    there: BoolArray,
) -> Slice:
    inside = [int(at) for at in np.flatnonzero(group[there])]
    side = 1 if test.difference > 0 else -1
    furthest = sorted(inside, key=lambda at: (-side * values[at], known[at].index))
    return Slice(
        conditions=conditions,
        samples=len(inside),
        of=int(group.sum()),
        images=len(set(clusters[inside].tolist())),
        mean=test.mean,
        elsewhere=test.elsewhere,
        difference=test.difference,
        ci95=test.ci95,
        p_adjusted=test.p_adjusted,
        shown=None if not test.shown else "better" if side > 0 else "worse",
        examples=tuple(known[at].id for at in furthest[:LISTED]),
        ids=tuple(sample.id for sample, has in zip(asked, group, strict=True) if has),
    )


def _select_slices(every: Sequence[Slice], side: int) -> list[Slice]:
    """Returns the slices of one side, the surest first; a combination only where it is surer than each of its parts."""
    of_side = [slice_ for slice_ in every if slice_.difference * side > 0]
    alone = {slice_.conditions[0]: _sureness(slice_) for slice_ in every if len(slice_.conditions) == 1}
    conclusions = [
        slice_
        for slice_ in of_side
        if len(slice_.conditions) == 1 or _sureness(slice_) > max(alone.get(part, 0.0) for part in slice_.conditions)
    ]
    return sorted(conclusions, key=lambda conclusion: (-_sureness(conclusion), conclusion.conditions))


def _sureness(slice_: Slice) -> float:
    """Returns the difference in units of its interval: larger is surer."""
    return 0.0 if slice_.ci95 is None else abs(slice_.difference) / (slice_.ci95[1] - slice_.ci95[0])
