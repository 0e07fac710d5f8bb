"""Tests whether one model is better than another, paired on the samples scored for both.

The pairing does not hide failures: each difference comes with the number of samples that both ran, and with
the worst and best that it could be if the missing scores were anything on the scale. Failed edits are tested
separately, and a model that fails more is not the better one (`failure_rates`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from types import MappingProxyType

import msgspec
import numpy as np

from edit_eval.errors import ConfigurationError
from edit_eval.records import Results
from edit_eval.statistics.columns import ScoreColumn, columns_of_models, group_by_judge, refuse_incomparable
from edit_eval.statistics.compared import (
    FAR,
    MOST_NAMED,
    CategoryDifference,
    ColumnSummary,
    Gate,
    MeanDifference,
    More,
    Outcome,
    Outliers,
    Pair,
    PairedTests,
    SampleDifference,
    family_of,
)
from edit_eval.statistics.failure_rates import PairedFailures, compare_failures, count_failed_edits
from edit_eval.statistics.families import Correction, ranks
from edit_eval.statistics.gate import hold_against_first
from edit_eval.statistics.intervals import (
    FEWEST_CLUSTERS,
    TIE,
    Estimate,
    FloatArray,
    ImageWins,
    IntArray,
    benjamini_hochberg,
    cluster_codes,
    estimate,
    holm,
    image_wins,
    share_ruled_out,
    tipping_share,
)
from edit_eval.statistics.levels import ALPHA, POWER
from edit_eval.statistics.outcomes import equivalence_margin, outcome
from edit_eval.statistics.power import clusters_by_signs, clusters_needed, detectable_difference
from edit_eval.statistics.series import Sureness, ends, finite, gain, largest_difference, mean, sureness
from edit_eval.statistics.verdict import Verdict, verdict
from edit_eval.statistics.verdict_context import VerdictContext
from edit_eval.text import Text

SCHEMA = 3
MOST_LISTED = 10
"""Number of listed samples, those that differ most."""


class ModelComparison(msgspec.Struct, frozen=True, kw_only=True):
    """The tests of a comparison, as its document has them."""

    alpha: float
    """The level of the tests."""
    power: float
    """The probability with which `detectable` differences would be found."""
    tests: int
    """How many p-values are corrected for."""
    family: Correction
    """The same, and how."""
    columns: tuple[ColumnSummary, ...]
    pairs: tuple[Pair, ...]


class ComparisonDocument(ModelComparison, frozen=True, kw_only=True):
    """What `edit-eval compare --json` prints."""

    schema: int
    gate: Gate
    verdict: Verdict
    notes: tuple[str, ...]
    """Warnings for the reader."""


@dataclass(frozen=True)
class Comparison(PairedTests):
    """The result that `edit-eval compare` prints."""

    verdict: Verdict = field(kw_only=True)
    """Who is better, by all judges together."""

    @property
    def correction_of_failures(self) -> Correction:
        """What the p of failures are corrected for: the pairs of columns, whoever judged them."""
        return Correction(len({(pair.a, pair.b) for pair in self.pairs}))

    @property
    def judges(self) -> tuple[str, ...]:
        """The judges, in order."""
        return tuple(dict.fromkeys(column.judge for column in self.columns))

    @property
    def model_comparison(self) -> ModelComparison:
        """Its numbers as a run's summary has them: without the run's name, and without what judges said."""
        document = self.document()
        return ModelComparison(
            alpha=document.alpha,
            power=document.power,
            tests=document.tests,
            family=document.family,
            columns=tuple(msgspec.structs.replace(column, run="", differs=()) for column in document.columns),
            pairs=tuple(
                replace(pair, largest=tuple(sample.scores_only for sample in pair.largest)) for pair in document.pairs
            ),
        )

    def document(self) -> ComparisonDocument:
        """Returns what `--json` prints."""
        correction = self.correction
        return ComparisonDocument(
            schema=SCHEMA,
            alpha=ALPHA,
            power=POWER,
            tests=correction.tests,
            family=correction,
            columns=self.columns,
            pairs=self.pairs,
            gate=self.gate,
            verdict=self.verdict,
            notes=self.notes,
        )


def compare(
    columns: Sequence[ScoreColumn],
    *,
    detect: float | None = None,
    margin: float | None = None,
    allow_unscored: float | None = None,
    notes: Sequence[str] = (),
    known: VerdictContext | None = None,
    guidance: Mapping[str, str] = MappingProxyType({}),
) -> Comparison:
    """Compares every two columns of the same judge; all pairs of all judges are one family of tests.

    With `detect` each pair also says how many samples would show a true difference of that size. With `margin` the
    gate asks whether the others are shown to be less than that many points worse than the first; with `allow_unscored`
    it leaves out samples without a score, up to that share (`gate.hold_against_first`). What is `known` besides scores
    goes into the verdict; a judge that is known not to put controls last ranks nobody, and has nobody pass the gate.

    Raises `ConfigurationError` for a `detect` or `margin` that is not above 0, and for columns of one judge that cannot
    be compared (`refuse_incomparable`).
    """
    for name, value in ((Text("difference to detect"), detect), ("margin", margin)):
        if value is not None and not (value > 0 and math.isfinite(value)):
            raise ConfigurationError(Text("a {} is a number above 0, not {}", name, value))
    if allow_unscored is not None and not 0 <= allow_unscored <= 1:
        raise ConfigurationError(
            Text("a share of samples without a score is a number from 0 to 1, not {}", allow_unscored)
        )
    of_judges = group_by_judge(columns)
    for of_judge in of_judges.values() or [[]]:
        refuse_incomparable(of_judge)
    both = [(a, b) for of_judge in of_judges.values() for a, b in combinations(of_judge, 2)]
    held = [_Both(a, b) for a, b in both]
    tests = sum(pair.mean_difference is not None and pair.mean_difference.p_value() is not None for pair in held)
    pairs = _decide_pairs([_pair(pair, tests, detect) for pair in held], compare_failures(both), margin)
    blind = {judge for judge in of_judges if known is not None and known.sees.get(judge) == "not_last"}
    ranked: dict[tuple[str, str], int | None] = {}
    places: dict[tuple[str, str], int] = {}
    for judge in of_judges:
        of = [pair for pair in pairs if pair.judge == judge]
        of_names = _ranks(of)
        places |= {(judge, name): place for place, name in enumerate(order(of, of_names), 1)}
        if judge not in blind:  # which ranks nobody
            ranked |= {(judge, name): rank for name, rank in of_names.items()}
    paired_tests = PairedTests(
        columns=tuple(
            _column_summary(column, ranked.get((column.judge, column.name)), places.get((column.judge, column.name)))
            for column in columns
        ),
        pairs=tuple(pairs),
        gate=hold_against_first(
            both, pairs, margin=margin, allow_unscored=allow_unscored, blind=blind, guidance=guidance
        ),
        notes=tuple(notes),
    )
    concluded = verdict(columns, paired_tests, known, held=margin is not None)
    return Comparison(
        paired_tests.columns, paired_tests.pairs, paired_tests.gate, paired_tests.notes, verdict=concluded
    )


def compare_models(
    results: Results, known: VerdictContext | None = None, columns: Sequence[ScoreColumn] | None = None
) -> Comparison | None:
    """Compares the edit models of one run: the numbers of `edit-eval compare RUN`; None with fewer than two.

    Differences between the models and notes on the run are left out. What is `known` is as for `compare`; `columns` are
    those of `columns_of_models`, if they are at hand.
    """
    testable = _select_testable(columns_of_models(results) if columns is None else columns)
    return compare(testable, known=known) if testable and len(results.edit_models) > 1 else None


def columns_to_test(results: Results, score: str | None = None) -> list[ScoreColumn]:
    """Returns a column for every (edit model, judge), named after the edit model, by the headline or that `score`.

    A judge that lacks the source of a sample that it scored, or has no sample to score, is left out: its pairs cannot
    be tested.
    """
    return _select_testable(columns_of_models(results, score))


def _select_testable(columns: Sequence[ScoreColumn]) -> list[ScoreColumn]:
    testable = {
        judge: all(
            column.scores and all(column.clusters[s] for s, score in column.scores.items() if score is not None)
            for column in of
        )
        for judge, of in group_by_judge(columns).items()
    }
    return [column for column in columns if testable[column.judge]]


def verdict_on_models(comparison: Comparison | None, known: VerdictContext, columns: Sequence[ScoreColumn]) -> Verdict:
    """Returns the verdict of a run: on what `compare_models` found of its `columns`, and on judges left out there."""
    tested = {column.judge for column in comparison.columns} if comparison else set()
    others = tuple(_column_summary(column, None, None) for column in columns if column.judge not in tested)
    paired_tests = comparison or PairedTests((), (), Gate(passed=True, margin=None, allow_unscored=None, candidates=[]))
    return verdict(columns, PairedTests((*paired_tests.columns, *others), paired_tests.pairs, paired_tests.gate), known)


class _Both:
    """Two columns over the samples that both ran; NaN for samples not scored in both."""

    def __init__(self, a: ScoreColumn, b: ScoreColumn) -> None:
        self.a, self.b, self.scale = a, b, a.scale
        alike = a.samples == b.samples
        self.shared = a.samples if alike else [sample for sample in a.samples if sample in b.scores]
        self.of_a, self.of_b = (
            column.values if alike else column.values[[sample in other.scores for sample in column.samples]]
            for column, other in ((a, b), (b, a))
        )
        self.differences = self.of_a - self.of_b
        self.held = ~np.isnan(self.differences)
        self.complete = bool(self.held.all()) and not any(any(column.unscored.values()) for column in (a, b))
        self.common = [sample for sample, held in zip(self.shared, self.held.tolist(), strict=True) if held]
        self.groups = a.groups(self.shared)
        images = [a.clusters[sample] for sample in self.common]
        if not all(images):
            raise ValueError(
                Text("a sample with a score has no digest of its source image; it cannot be put in a cluster")
            )
        self.clusters = cluster_codes(images)
        named = [a.categories[sample] for sample in self.shared]
        self.category_names = sorted({*named})
        """The categories of the shared samples: their codes are their places."""
        self.categories = cluster_codes(named)

        self.over_samples = self._estimate(None)
        self.over_categories = self._estimate(self.categories)
        self.mean_difference = self.over_samples if self.groups is None else self.over_categories

    def mean(self, values: FloatArray) -> float | None:
        """Returns the mean over samples scored in both, over samples or categories as the scale says."""
        return mean(np.where(self.held, values, math.nan), self.groups)

    def _estimate(self, groups: IntArray | None) -> Estimate | None:
        """Estimates the mean difference; with `groups` of the shared samples, that of the groups' means."""
        if mean(self.differences, groups) is None:
            return None
        return estimate(self.differences[self.held], self.clusters, None if groups is None else groups[self.held])

    def bound(self, of_a: float, of_b: float) -> float | None:
        """Returns the mean difference over all shared samples, with `of_a` and `of_b` for missing scores of a and b."""
        if self.complete:
            return finite(mean(self.differences, self.groups))
        values = [self.a.bound(sample, of_a) - self.b.bound(sample, of_b) for sample in self.shared]
        return finite(mean(np.array(values, dtype=np.float64), self.groups))


def _pair(both: _Both, tests: int, detect: float | None) -> Pair:
    a, b, common, differences = both.a, both.b, both.common, both.differences[both.held]
    span, alpha = largest_difference(both.scale), ALPHA / max(1, tests)
    worst, best = ends(both.scale)
    over_samples, over_categories, mean_difference = both.over_samples, both.over_categories, both.mean_difference
    sample_mean = replace(_mean_difference(over_samples, span), difference=mean(differences))  # the exact sum
    category_mean = _mean_difference(over_categories, span)
    gains = gain(both.scale) * differences
    return Pair(
        judge=a.judge,
        score=a.score,
        scale=a.scale,
        a=a.name,
        b=b.name,
        total=len(both.shared),
        n=len(common),
        clusters=int(both.clusters.max(initial=-1)) + 1,
        mean_a=both.mean(both.of_a),
        mean_b=both.mean(both.of_b),
        **asdict(sample_mean if both.groups is None else category_mean),
        exact=mean_difference is not None and mean_difference.is_decided_by_signs,
        outliers=_outliers(both, gains, mean_difference),
        sample_mean=sample_mean,
        category_mean=category_mean,
        p=mean_difference.p_value() if mean_difference else None,
        p_adjusted=None,
        outcome=Outcome("cannot_be_told"),  # replaced by `_judged`, which knows all pairs
        identical=bool(common) and not (np.abs(differences) > TIE).any(),
        detectable=detectable_difference(mean_difference, span, alpha=alpha) if mean_difference else None,
        worst_case_difference=both.bound(worst, best),
        best_case_difference=both.bound(best, worst),
        wins=int((gains > TIE).sum()),
        ties=int((np.abs(gains) <= TIE).sum()),
        losses=int((gains < -TIE).sum()),
        categories=_categories(both, span),
        largest=_largest(both),
        needed=_size_needed(mean_difference, alpha, detect, span, len(common)),
        by_image=image_wins(gains, both.clusters, fewest=FEWEST_CLUSTERS) if common else ImageWins(),
        tipping_share=tipping_share(mean_difference.value, span) if mean_difference else None,
        ruled_out_share=share_ruled_out(mean_difference.worth) if mean_difference else None,
        equal_within=equivalence_margin(mean_difference, span, alpha) if mean_difference else None,
        standard_error=mean_difference.standard_error
        if mean_difference and mean_difference.p_value() is not None
        else None,
        settled_by=_images_to_settle(mean_difference, span, alpha),
    )


def _size_needed(
    mean_difference: Estimate | None, alpha: float, detect: float | None, span: float, samples: int
) -> dict[str, float | int] | None:
    if detect is None or mean_difference is None:
        return None
    needed = clusters_needed(mean_difference, detect, span, alpha=alpha)
    if needed is None:
        return None
    return {"difference": detect, "samples": math.ceil(needed * samples / mean_difference.clusters), "clusters": needed}


def _images_to_settle(mean_difference: Estimate | None, span: float, alpha: float) -> int | None:
    if mean_difference is None or abs(mean_difference.value) <= TIE:
        return None
    if mean_difference.is_decided_by_signs and (signs := mean_difference.signs):
        return clusters_by_signs(signs.wins, signs.losses, mean_difference.clusters, alpha=alpha)
    return clusters_needed(mean_difference, abs(mean_difference.value), span, alpha=alpha)


def _more(pair: Pair) -> More:
    """Returns how many further source images would show the lead of a pair that is tested."""
    if pair.scores_better:
        return More("none")
    if pair.difference is None:
        return More("unknown", because="no_scores")
    if pair.clusters < FEWEST_CLUSTERS:
        return More("unknown", because="few_images")
    if pair.identical:
        return More("unknown", because="identical")
    if abs(pair.difference) <= TIE:
        return More("far")
    if pair.settled_by is not None:
        needed = pair.settled_by - pair.clusters
        return More("images", max(1, needed)) if needed < (FAR - 1) * pair.clusters else More("far")
    if pair.outliers is not None:
        return More("unknown", because="outliers", samples=tuple(pair.outliers.samples))
    return More("unknown", because="too_uneven")


def _outliers(both: _Both, gains: FloatArray, mean_difference: Estimate | None) -> Outliers | None:
    """Returns the samples furthest to the side to which the differences are skewed, if they are."""
    if mean_difference is None or not mean_difference.is_skewed:
        return None
    from_middle = (gains - np.median(gains)) * gain(both.scale) * math.copysign(1.0, mean_difference.asymmetry)
    furthest = np.argsort(-from_middle, kind="stable")[:MOST_NAMED]
    furthest = furthest[from_middle[furthest] > from_middle.max() / 2]
    there = gains[furthest]
    loser = both.a.name if (there < -TIE).all() else both.b.name if (there > TIE).all() else None
    a_loses = gain(both.scale) * mean_difference.asymmetry < 0
    return Outliers(
        [both.common[place] for place in furthest.tolist()],
        loser if loser == (both.a if a_loses else both.b).name else None,
    )


def _mean_difference(difference: Estimate | None, span: float) -> MeanDifference:
    if difference is None:
        return MeanDifference(None, None, "no_scores")
    return MeanDifference(difference.value, *_interval(difference, span))


def _interval(difference: Estimate, span: float) -> tuple[list[float] | None, str | None]:
    """Returns the interval of a difference, or why it has none: one that contradicts the exact test is not shown."""
    ends, p = difference.interval(lowest=-span, highest=span), difference.p_value()
    if ends is not None and p is not None and (ends[0] <= 0.0 <= ends[1]) != (p > ALPHA):
        return None, "exact"
    return ends, difference.doubt


def _categories(both: _Both, span: float) -> dict[str, CategoryDifference]:
    of_samples, differences = both.categories[both.held], both.differences[both.held]
    categories = {}
    for name in dict.fromkeys(both.a.categories.values()):
        if name not in both.category_names or not (inside := of_samples == both.category_names.index(name)).any():
            continue
        of_category = estimate(differences[inside], both.clusters[inside])
        ends, doubt = _interval(of_category, span)
        categories[name] = CategoryDifference(
            n=int(inside.sum()),
            clusters=of_category.clusters,
            difference=of_category.value,
            ci95=ends,
            no_ci95=doubt,
            p=of_category.p_value(),
        )
    return categories


def _largest(both: _Both) -> list[SampleDifference]:
    a, b = both.a, both.b
    differences = both.differences[both.held]
    order = np.argsort(-np.abs(differences), kind="stable")[:MOST_LISTED]
    return [
        SampleDifference(
            sample_id=(sample := both.common[place]),
            category=a.categories[sample],
            a=float(both.of_a[both.held][place]),
            b=float(both.of_b[both.held][place]),
            difference=float(differences[place]),
            words_a=a.words.get(sample, ""),
            words_b=b.words.get(sample, ""),
        )
        for place in order.tolist()
        if abs(differences[place]) > TIE
    ]


def _decide_pairs(
    pairs: Sequence[Pair], failures: Mapping[tuple[str, str], PairedFailures], margin: float | None
) -> list[Pair]:
    """Returns the pairs with adjusted p-values, findings and outcomes."""
    family = family_of(pairs)
    by_image = holm([pair.by_image.p for pair in pairs])
    cells = [(place, name) for place, pair in enumerate(pairs) for name in pair.categories]
    adjusted_cells = benjamini_hochberg([pairs[place].categories[name].p for place, name in cells])
    by_cell = dict(zip(cells, adjusted_cells, strict=True))
    judged = []
    for place, (pair, p, better) in enumerate(zip(pairs, family.adjust_p_values(), family.better(), strict=True)):
        failed = failures[pair.a, pair.b]
        tested = replace(
            pair,
            p_adjusted=p,
            categories={name: replace(of, p_adjusted=by_cell[place, name]) for name, of in pair.categories.items()},
            scores_better=better,
            fails_more=(pair.a if failed.a > failed.b else pair.b) if failed.proven else None,
            failures=failed,
            by_image=replace(pair.by_image, p_adjusted=by_image[place]),
        )
        judged.append(replace(tested, outcome=outcome(tested, margin), more=_more(tested)))
    return judged


def _ranks(pairs: Sequence[Pair]) -> dict[str, int | None]:
    """Returns the rank of each column of one judge by what is shown of score and failures.

    A column is ranked if it shares six source images with each of the others; those with the fewest are left out first.
    """
    shared: dict[str, dict[str, int]] = {}
    for pair in pairs:
        shared.setdefault(pair.a, {})[pair.b] = shared.setdefault(pair.b, {})[pair.a] = pair.clusters
    while any(count < FEWEST_CLUSTERS for of in shared.values() for count in of.values()):
        fewest = min(shared, key=lambda name: sorted(shared[name].values()))
        del shared[fewest]
        for of in shared.values():
            of.pop(fewest, None)
    ranked = [pair for pair in pairs if pair.a in shared and pair.b in shared]
    return ranks(family_of(ranked).tests, [pair.better for pair in ranked])


def order(pairs: Sequence[Pair], rank: Mapping[str, int | None]) -> list[str]:
    """Returns the comparable columns of one judge, the best first, by paired differences alone.

    Comparable are those that share enough images with each other (the names in `rank`); if that leaves fewer than two,
    all of which a difference is known. One without a rank stands where as many are shown to be better. Of equal rank
    those of whom nobody is shown to be better come first, of these the one that leads each other one; then the order is
    that of the values v that fit all differences d best, by least squares: sum n_ab (v_a - v_b - d_ab)^2 over the
    pairs, n_ab being their common samples. Means of different samples are in nothing of this.
    """
    known = [pair for pair in pairs if pair.difference is not None]
    names = list(rank)
    if len(names) < 2:
        names = list(dict.fromkeys(name for pair in known for name in (pair.a, pair.b)))
    known = [pair for pair in known if pair.a in names and pair.b in names]
    if not known:
        return []
    contrasts = np.zeros((len(known), len(names)))
    gains = np.array([gain(pair.scale) * (pair.difference or 0.0) for pair in known])
    for row, pair in enumerate(known):
        contrasts[row, names.index(pair.a)], contrasts[row, names.index(pair.b)] = 1.0, -1.0
    weights = np.sqrt([pair.n for pair in known])
    values, *_ = np.linalg.lstsq(contrasts * weights[:, None], gains * weights, rcond=None)
    of_pairs = [(pair, {pair.a: by, pair.b: -by}) for pair, by in zip(known, gains.tolist(), strict=True)]
    trails = {name: any(name in by and by[name] < -TIE for _, by in of_pairs) for name in names}
    above = {name: sum(name in by and pair.better not in (None, name) for pair, by in of_pairs) for name in names}
    value = {name: round(value, 9) for name, value in zip(names, values.tolist(), strict=True)}
    return sorted(
        names, key=lambda name: (rank.get(name) or 1 + above[name], above[name] > 0, trails[name], -value[name])
    )


def _column_summary(column: ScoreColumn, rank: int | None, place: int | None) -> ColumnSummary:
    samples, scores = column.samples, column.values
    groups, scored = column.groups(samples), ~np.isnan(scores)
    value = mean(scores, groups)
    images = [column.clusters[sample] for sample in samples if column.scores[sample] is not None]
    sure = Sureness(None, "no_scores" if value is None else "unknown_source", None)
    if value is not None and all(images):
        of_groups = None if groups is None else groups[scored]
        sure = sureness(estimate(scores[scored], cluster_codes(images), of_groups), column.scale)
    return ColumnSummary(
        name=column.name,
        run=column.run,
        edit_model=column.edit_model,
        judge=column.judge,
        score=column.score,
        scale=column.scale,
        differs=column.differs,
        scored=column.coverage[0],
        total=column.coverage[1],
        clusters=len(set(images)),
        mean=value,
        **sure._asdict(),
        rank=rank,
        place=place,
        failed=count_failed_edits(column),
    )
