"""Is one model better than another? Paired on the samples that both have scores for.

Failures are not hidden by the pairing: beside each difference stand the number of samples that both ran, and
the worst and best the difference could be if the missing scores were anything in the rubric's range. Edits that
failed are tested for themselves, and one that fails more is not the better one (`failure_rates`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from edit_eval.errors import ConfigurationError
from edit_eval.statistics.columns import Column, by_judge, refuse_incomparable
from edit_eval.statistics.corrections import benjamini_hochberg, holm
from edit_eval.statistics.failure_rates import (
    FailedEdits,
    PairedFailures,
    better_of,
    failed_edits,
    paired_failures,
)
from edit_eval.statistics.gate import Gate, hold_against_first
from edit_eval.statistics.intervals import (
    Estimate,
    FloatArray,
    IntArray,
    cluster_codes,
    estimate,
)
from edit_eval.statistics.paired import beyond_the_unseen, no_interval, paired_interval, paired_p_value
from edit_eval.statistics.power import ALPHA, POWER, clusters_needed, detectable_difference

SCHEMA = 2
LARGEST = 10
"""How many of the samples that differ most are listed."""
DECISIVE = 3
"""How many of a few large losses are named."""


@dataclass(frozen=True)
class CategoryDifference:
    """a - b within one category. Exploratory: a finding here is a question for the next run."""

    n: int
    clusters: int
    difference: float
    ci95: list[float] | None
    no_ci95: str | None
    p: float
    p_adjusted: float | None = None
    """By Benjamini and Hochberg over all categories of all pairs of all judges."""
    exploratory: bool = True


@dataclass(frozen=True)
class CategoryMeanDifference:
    """a - b, each category with the same weight."""

    difference: float | None
    """None where a category of the samples that both ran has none that both have scored."""
    ci95: list[float] | None
    no_ci95: str | None


@dataclass(frozen=True)
class FewLosses:
    """A few images on which one column loses far more than on the others decide the mean difference."""

    column: str
    samples: list[str]
    """At most `DECISIVE` of them, the largest loss first."""


@dataclass(frozen=True)
class SampleDifference:
    """One sample's two scores."""

    sample_id: str
    category: str
    a: float
    b: float
    difference: float
    words_a: str = ""
    """What the judge said of a's edit, where it said anything."""
    words_b: str = ""


@dataclass(frozen=True)
class Pair:
    """a - b over the samples that have a score in both, by one judge."""

    judge: str
    a: str
    b: str
    total: int
    """Samples that both ran, scored or not."""
    n: int
    clusters: int
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    ci95: list[float] | None
    no_ci95: str | None
    """Why there is no interval: `no_scores`, `one_image`, `few_images`, `too_uneven`, `no_spread`."""
    few_losses: FewLosses | None
    """Where the differences are so skewed that the test and the interval had to be corrected for it."""
    category_mean: CategoryMeanDifference
    p: float | None
    p_adjusted: float | None
    """By Holm over all pairs of all judges."""
    better: str | None
    """The one that is better in score or in failures and not worse in the other; None for a tie and for a trade."""
    better_whatever_is_missing: bool | None
    """Whether `scores_higher` is ahead in the worst case for it, too; None where that is None."""
    identical: bool
    """Whether every one of the `n` samples has the same two scores; of other samples it says nothing."""
    testable: bool
    """Whether any difference on the scale could have been found at .05 / number of tests."""
    detectable: float | None
    """The smallest true difference that would be found with a probability of .8, at .05 / number of tests.

    None where no difference could be, and where nobody can say: no spread, few losses that decide, a few images with
    most of the samples."""
    worst_case_difference: float | None
    best_case_difference: float | None
    """Over all `total` samples, were the missing scores the least or the most favourable to a."""
    wins: int
    ties: int
    losses: int
    categories: Mapping[str, CategoryDifference]
    largest: Sequence[SampleDifference]
    needed: Mapping[str, float | int] | None = None
    """How many `samples` on how many source images (`clusters`) would show the `difference` asked for."""
    scores_higher: str | None = None
    """The one with the higher scores at a family-wise level of .05; None where no difference was found."""
    fails_more: str | None = None
    """The one that fails to make an edit more often at a family-wise level of .05; None likewise."""
    trade: bool = False
    """Whether one of them scores higher and fails more: neither is better."""
    failures: PairedFailures = field(default_factory=PairedFailures)


@dataclass(frozen=True)
class ColumnSummary:
    """One column beside the others."""

    name: str
    run: str
    edit_model: str
    judge: str
    differs: tuple[str, ...]
    """How the edit model differs from that of the first column, a line each."""
    scored: int
    """Samples with a score."""
    total: int
    clusters: int
    """Source images of the scored samples."""
    mean: float | None
    ci95: list[float] | None
    no_ci95: str | None
    """Why there is no interval: `no_scores`, `unknown_source`, `one_image`, `too_uneven`, `no_spread`."""
    rank: int
    """1 + the number of columns of the judge that are better: what no test separates shares a rank."""
    failed: FailedEdits


@dataclass(frozen=True)
class Comparison:
    """What `edit-eval compare` prints."""

    columns: tuple[ColumnSummary, ...]
    pairs: tuple[Pair, ...]
    gate: Gate
    """Whether any other column may take the place of the first: what `--fail-if-worse` asks."""
    notes: tuple[str, ...] = ()
    """What a reader must know: runs that are not finished, judges that not all have."""

    @property
    def judges(self) -> tuple[str, ...]:
        """The judges, in order."""
        return tuple(dict.fromkeys(column.judge for column in self.columns))

    def document(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "schema": SCHEMA,
            "alpha": ALPHA,
            "power": POWER,
            "tests": sum(pair.p is not None for pair in self.pairs),
            "columns": [{**asdict(column), "differs": list(column.differs)} for column in self.columns],
            "pairs": [asdict(pair) for pair in self.pairs],
            "gate": asdict(self.gate),
            "notes": list(self.notes),
        }


def compare(
    columns: Sequence[Column],
    *,
    detect: float | None = None,
    margin: float | None = None,
    lowest: float = 0.0,
    highest: float = 10.0,
    notes: Sequence[str] = (),
) -> Comparison:
    """Compares every two columns of the same judge; the family of tests is all of these pairs, of all judges.

    With `detect` each pair also says how many samples would show a true difference of that size. With `margin` the
    gate asks whether the others are shown to be less than that many points worse than the first.
    `lowest` and `highest` are the ends of the rubric's range.

    Raises `ConfigurationError` for a `detect` or `margin` that is not above 0, and for columns of one judge that cannot
    be compared (`refuse_incomparable`).
    """
    for name, value in (("difference to detect", detect), ("margin", margin)):
        if value is not None and not (value > 0 and math.isfinite(value)):
            raise ConfigurationError(f"a {name} is a number above 0, not {value}")
    of_judges = by_judge(columns)
    for of_judge in of_judges.values() or [[]]:
        refuse_incomparable(of_judge)
    both = [(a, b) for of_judge in of_judges.values() for a, b in combinations(of_judge, 2)]
    tests = sum(bool(_common(a, b)) for a, b in both)
    by_scores = _corrected([_pair(a, b, tests, detect, lowest, highest) for a, b in both])
    failures = paired_failures(both)
    pairs = [_with_failures(pair, failures[pair.a, pair.b]) for pair in by_scores]
    return Comparison(
        columns=tuple(_column_summary(column, pairs, lowest, highest) for column in columns),
        pairs=tuple(pairs),
        gate=hold_against_first(both, pairs, margin=margin, lowest=lowest, highest=highest),
        notes=tuple(notes),
    )


def _pair(a: Column, b: Column, tests: int, detect: float | None, lowest: float, highest: float) -> Pair:
    shared = sorted(sample for sample in a.scores if sample in b.scores)
    common = _common(a, b)
    scores_a, scores_b = _scores(a, common), _scores(b, common)
    differences = scores_a - scores_b
    clusters = cluster_codes([a.clusters[sample] for sample in common])
    if any(not a.clusters[sample] for sample in common):
        raise ValueError("a sample with a score has no digest of its source image; it cannot be put in a cluster")
    worst, best = _bounds(a, b, shared, lowest, highest)
    found = estimate(differences, clusters) if common else None
    alpha, spread = ALPHA / max(1, tests), highest - lowest
    images = found.clusters if found else 0
    return Pair(
        judge=a.judge,
        a=a.name,
        b=b.name,
        total=len(shared),
        n=len(common),
        clusters=images,
        mean_a=_mean(scores_a),
        mean_b=_mean(scores_b),
        difference=_mean(differences),
        ci95=paired_interval(found, spread) if found else None,
        no_ci95=no_interval(found) if found else "no_scores",
        few_losses=_few_losses(a, b, common, differences, found),
        category_mean=_category_mean(a, shared, common, differences, clusters, spread),
        p=paired_p_value(found, spread) if found else None,
        p_adjusted=None,
        better=None,
        better_whatever_is_missing=None,
        identical=bool(common) and not differences.any(),
        testable=found is not None and beyond_the_unseen(found, spread, alpha) <= spread,
        detectable=detectable_difference(found, spread, alpha=alpha) if found else None,
        worst_case_difference=worst,
        best_case_difference=best,
        wins=int((differences > 0).sum()),
        ties=int((differences == 0).sum()),
        losses=int((differences < 0).sum()),
        categories=_categories(a, common, differences, clusters, spread),
        largest=_largest(a, b, common, scores_a, scores_b),
        needed=_needed(found, alpha, detect, spread, len(common)),
    )


def _common(a: Column, b: Column) -> list[str]:
    """The samples with a score in both, sorted."""
    return sorted(sample for sample, score in a.scores.items() if None not in (score, b.scores.get(sample)))


def _scores(column: Column, samples: Sequence[str]) -> FloatArray:
    return np.array([column.scores[sample] for sample in samples], dtype=np.float64)


def _mean(values: FloatArray) -> float | None:
    return math.fsum(values.tolist()) / len(values) if len(values) else None


def _bounds(
    a: Column, b: Column, shared: Sequence[str], lowest: float, highest: float
) -> tuple[float | None, float | None]:
    if not shared:
        return None, None
    worst = [a.bound(sample, lowest) - b.bound(sample, highest) for sample in shared]
    best = [a.bound(sample, highest) - b.bound(sample, lowest) for sample in shared]
    return math.fsum(worst) / len(shared), math.fsum(best) / len(shared)


def _needed(
    found: Estimate | None, alpha: float, detect: float | None, scale: float, samples: int
) -> dict[str, float | int] | None:
    if detect is None or found is None:
        return None
    needed = clusters_needed(found, detect, scale, alpha=alpha)
    if needed is None:
        return None
    return {"difference": detect, "samples": math.ceil(needed * samples / found.clusters), "clusters": needed}


def _few_losses(
    a: Column, b: Column, samples: Sequence[str], differences: FloatArray, found: Estimate | None
) -> FewLosses | None:
    if found is None or not found.asymmetry:
        return None
    order = np.argsort(differences if found.asymmetry < 0 else -differences, kind="stable")[:DECISIVE]
    return FewLosses((a if found.asymmetry < 0 else b).name, [samples[place] for place in order.tolist()])


def _category_mean(
    column: Column,
    shared: Sequence[str],
    samples: Sequence[str],
    differences: FloatArray,
    clusters: IntArray,
    spread: float,
) -> CategoryMeanDifference:
    groups = cluster_codes([column.categories[sample] for sample in samples])
    if not samples or {column.categories[sample] for sample in shared} - {column.categories[one] for one in samples}:
        return CategoryMeanDifference(None, None, "no_scores")
    found = estimate(differences, clusters, groups)
    return CategoryMeanDifference(found.value, paired_interval(found, spread), no_interval(found))


def _categories(
    column: Column, samples: Sequence[str], differences: FloatArray, clusters: IntArray, spread: float
) -> dict[str, CategoryDifference]:
    of_samples = np.array([column.categories[sample] for sample in samples], dtype=object)
    found = {}
    for name in dict.fromkeys(column.categories.values()):
        inside = of_samples == name
        if not inside.any():
            continue
        of_category = estimate(differences[inside], clusters[inside])
        found[name] = CategoryDifference(
            n=int(inside.sum()),
            clusters=of_category.clusters,
            difference=of_category.value,
            ci95=paired_interval(of_category, spread),
            no_ci95=no_interval(of_category),
            p=paired_p_value(of_category, spread),
        )
    return found


def _largest(
    a: Column, b: Column, samples: Sequence[str], scores_a: FloatArray, scores_b: FloatArray
) -> list[SampleDifference]:
    differences = scores_a - scores_b
    order = np.argsort(-np.abs(differences), kind="stable")[:LARGEST]
    return [
        SampleDifference(
            sample_id=samples[place],
            category=a.categories[samples[place]],
            a=float(scores_a[place]),
            b=float(scores_b[place]),
            difference=float(differences[place]),
            words_a=a.words.get(samples[place], ""),
            words_b=b.words.get(samples[place], ""),
        )
        for place in order.tolist()
        if differences[place] != 0
    ]


def _corrected(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs with their adjusted p-values and verdicts."""
    adjusted = holm([pair.p for pair in pairs])
    cells = [(place, name) for place, pair in enumerate(pairs) for name in pair.categories]
    adjusted_cells = benjamini_hochberg([pairs[place].categories[name].p for place, name in cells])
    by_cell = dict(zip(cells, adjusted_cells, strict=True))
    found = []
    for place, (pair, p) in enumerate(zip(pairs, adjusted, strict=True)):
        categories = {
            name: replace(category, p_adjusted=by_cell[(place, name)]) for name, category in pair.categories.items()
        }
        better = _better(pair, p)
        holds = None if better is None else _holds(pair, better)
        found.append(
            replace(pair, p_adjusted=p, better=better, better_whatever_is_missing=holds, categories=categories)
        )
    return found


def _better(pair: Pair, p_adjusted: float | None) -> str | None:
    if p_adjusted is None or pair.difference is None or p_adjusted > ALPHA:
        return None
    return pair.a if pair.difference > 0 else pair.b


def _with_failures(pair: Pair, failures: PairedFailures) -> Pair:
    """The pair, so far judged by its scores alone, with the verdict of scores and failures."""
    higher = pair.better
    more = (pair.a if failures.a > failures.b else pair.b) if failures.proven else None
    return replace(
        pair,
        failures=failures,
        scores_higher=higher,
        fails_more=more,
        better=better_of(pair.a, pair.b, higher, more),
        trade=higher is not None and higher == more,
    )


def _holds(pair: Pair, better: str) -> bool:
    """Whether the better one would still be ahead, were all missing scores the least favourable to it."""
    worst, best = pair.worst_case_difference, pair.best_case_difference
    return worst is not None and best is not None and (worst > 0 if better == pair.a else best < 0)


def _column_summary(column: Column, pairs: Sequence[Pair], lowest: float, highest: float) -> ColumnSummary:
    scored = sorted(sample for sample, score in column.scores.items() if score is not None)
    scores = _scores(column, scored)
    beaten_by = sum(
        pair.better not in (None, column.name)
        for pair in pairs
        if pair.judge == column.judge and column.name in (pair.a, pair.b)
    )
    images = [column.clusters[sample] for sample in scored]
    found = estimate(scores, cluster_codes(images)) if scored and all(images) else None
    return ColumnSummary(
        name=column.name,
        run=column.run,
        edit_model=column.edit_model,
        judge=column.judge,
        differs=column.differs,
        scored=len(scored),
        total=len(column.scores),
        clusters=len(set(images)),
        mean=_mean(scores),
        ci95=found.interval(lowest=lowest, highest=highest) if found else None,
        no_ci95=found.doubt if found else "unknown_source" if scored else "no_scores",
        rank=1 + beaten_by,
        failed=failed_edits(column),
    )
