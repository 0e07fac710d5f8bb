"""Is one model better than another? Paired on the samples that both have scores for.

Failures are not hidden by the pairing: beside each difference stand the number of samples that both ran, and
the worst and best the difference could be if the missing scores were anything in the rubric's range.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from edit_eval.errors import ConfigurationError
from edit_eval.records import Results
from edit_eval.statistics.corrections import benjamini_hochberg, holm
from edit_eval.statistics.intervals import (
    FloatArray,
    IntArray,
    cluster_codes,
    clustered_standard_error,
    mean_interval,
)
from edit_eval.statistics.permutation import RESAMPLES, sign_flip_p_value
from edit_eval.statistics.power import ALPHA, POWER, clusters_needed, detectable_difference, fewest_clusters

SCHEMA = 1
LARGEST = 10
"""How many of the samples that differ most are listed."""


@dataclass(frozen=True)
class Column:
    """The scores of one edit model by one judge in one run: what is compared."""

    name: str
    """As a person knows it; different for each column of a comparison."""
    judge: str
    identity: Mapping[str, object]
    """All that must be equal for scores to be comparable, as plain data; see `why_incomparable`."""
    scores: Mapping[str, float | None]
    """For each sample of the run the mean score over its edit seeds and repeats; None where there is none."""
    clusters: Mapping[str, str]
    """For each of those samples the digest of its source image."""
    categories: Mapping[str, str]


@dataclass(frozen=True)
class CategoryDifference:
    """a - b within one category. Exploratory: a finding here is a question for the next run."""

    n: int
    clusters: int
    difference: float
    ci95: list[float] | None
    p: float
    p_adjusted: float | None = None
    """By Benjamini and Hochberg over all categories of all pairs."""
    exploratory: bool = True


@dataclass(frozen=True)
class SampleDifference:
    """One sample's two scores."""

    sample_id: str
    category: str
    a: float
    b: float
    difference: float


@dataclass(frozen=True)
class Pair:
    """a - b over the samples that have a score in both."""

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
    p: float | None
    p_adjusted: float | None
    """By Holm over all pairs."""
    better: str | None
    """The name of the one that is better at a family-wise level of .05; None for a tie."""
    identical: bool
    """Whether every sample has the same two scores."""
    detectable: float | None
    """The smallest true difference that would be found with a probability of .8, at .05 / number of pairs.

    None where no difference could be: too few source images, or no spread to judge by."""
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


@dataclass(frozen=True)
class ColumnSummary:
    """One column beside the others."""

    name: str
    judge: str
    scored: int
    total: int
    mean: float | None
    ci95: list[float] | None
    rank: int
    """1 + the number of columns that are better than this one: what no test separates shares a rank."""


@dataclass(frozen=True)
class Comparison:
    """What `edit-eval compare` prints."""

    columns: tuple[ColumnSummary, ...]
    pairs: tuple[Pair, ...]
    worse_than_first: tuple[str, ...]
    """The columns that are worse than the first (`better` of their pair is the first): `--fail-if-worse`."""

    def document(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "schema": SCHEMA,
            "alpha": ALPHA,
            "power": POWER,
            "columns": [asdict(column) for column in self.columns],
            "pairs": [asdict(pair) for pair in self.pairs],
            "worse_than_first": list(self.worse_than_first),
        }


def columns_of(results: Results, identities: Mapping[str, Mapping[str, object]]) -> list[Column]:
    """A column for every (edit model, judge) of a run. `identities` holds for each judge what must be equal.

    A column is named after the run, with the edit model where there are several.
    """
    clusters = {sample.id: sample.source_digest for sample in results.samples}
    categories = {sample.id: sample.category for sample in results.samples}
    scores: dict[tuple[str, str], dict[str, list[float]]] = {
        (edit_model, judge): {} for judge in results.judges for edit_model in results.edit_models
    }
    for judgement in results.judgements:
        found = scores[(judgement.edit_model, judgement.judge)].setdefault(judgement.sample_id, [])
        if judgement.score is not None:
            found.append(judgement.score)
    several = len(results.edit_models) > 1
    return [
        Column(
            name=f"{results.name}/{edit_model}" if several else results.name,
            judge=judge,
            identity=identities[judge],
            scores={
                sample: math.fsum(found) / len(found) if found else None
                for sample, found in of_samples.items()
            },
            clusters=clusters,
            categories=categories,
        )
        for (edit_model, judge), of_samples in scores.items()
    ]


def by_judge(columns: Sequence[Column]) -> dict[str, list[Column]]:
    """The columns of each judge, in order: scores of different judges are never compared."""
    found: dict[str, list[Column]] = {}
    for column in columns:
        found.setdefault(column.judge, []).append(column)
    return found


def why_incomparable(a: Mapping[str, object], b: Mapping[str, object]) -> str | None:
    """What differs between two identities, or None when scores made under them can be compared.

    An identity is plain data: judge and its parameters, digest of the prompts, digest of the benchmark,
    language. Nested keys are named with dots: `judge.params.model_name: 'X' and 'Y'`.
    """
    flat_a, flat_b = _flat(a), _flat(b)
    differing = [
        f"{key}: {_shown(flat_a, key)} and {_shown(flat_b, key)}"
        for key in dict.fromkeys([*flat_a, *flat_b])
        if key not in flat_a or key not in flat_b or flat_a[key] != flat_b[key]
    ]
    return "; ".join(differing) or None


def _flat(identity: Mapping[str, object], above: str = "") -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in identity.items():
        if isinstance(value, Mapping) and value:
            found.update(_flat(value, f"{above}{key}."))
        else:
            found[f"{above}{key}"] = list(value) if isinstance(value, tuple) else value
    return found


def _shown(flat: Mapping[str, object], key: str) -> str:
    if key not in flat:
        return "nothing"
    text = repr(flat[key])
    return text if len(text) <= 80 else text[:77] + "..."


def compare(
    columns: Sequence[Column],
    *,
    detect: float | None = None,
    lowest: float = 0.0,
    highest: float = 10.0,
) -> Comparison:
    """Compares every two columns; the family of tests is all of these pairs.

    With `detect` each pair also says how many samples would show a true difference of that size.
    `lowest` and `highest` are the ends of the rubric's range.

    Raises `ConfigurationError` for fewer than two columns, names that are not unique, columns whose
    identities differ, a sample whose source image is not the same in two columns, and a `detect` that is not
    above 0.
    """
    _refuse(columns, detect)
    raw = [
        _pair(a, b, pairs=math.comb(len(columns), 2), detect=detect, lowest=lowest, highest=highest)
        for a, b in combinations(columns, 2)
    ]
    pairs = _corrected(raw)
    summaries = tuple(
        _column_summary(
            column,
            1
            + sum(
                pair.better not in (None, column.name) for pair in pairs if column.name in (pair.a, pair.b)
            ),
            lowest,
            highest,
        )
        for column in columns
    )
    first = columns[0].name
    return Comparison(
        columns=summaries,
        pairs=tuple(pairs),
        worse_than_first=tuple(pair.b for pair in pairs if pair.a == first and pair.better == first),
    )


def _refuse(columns: Sequence[Column], detect: float | None) -> None:
    if len(columns) < 2:
        raise ConfigurationError("a comparison needs two runs or more, or one run with several edit models")
    if detect is not None and not (detect > 0 and math.isfinite(detect)):
        raise ConfigurationError(f"a difference to detect is a number above 0, not {detect}")
    for a, b in combinations(columns, 2):
        reason = why_incomparable(a.identity, b.identity)
        if reason:
            raise ConfigurationError(f"{a.name} and {b.name} cannot be compared, they differ in {reason}")
        for sample in a.scores:
            digests = {a.clusters[sample], b.clusters.get(sample, "")} - {""}
            if len(digests) > 1:
                raise ConfigurationError(
                    f"{a.name} and {b.name} cannot be compared: sample {sample!r} has another source image"
                )
        if a.name == b.name:
            raise ConfigurationError(f"two columns to compare have the same name, {a.name!r}; rename one run")


def _pair(a: Column, b: Column, *, pairs: int, detect: float | None, lowest: float, highest: float) -> Pair:
    shared = sorted(sample for sample in a.scores if sample in b.scores)
    common = [sample for sample in shared if a.scores[sample] is not None and b.scores[sample] is not None]
    scores_a, scores_b = _scores(a, common), _scores(b, common)
    differences = scores_a - scores_b
    clusters = cluster_codes([a.clusters[sample] for sample in common])
    if any(not a.clusters[sample] for sample in common):
        raise ValueError(
            "a sample with a score has no digest of its source image; it cannot be put in a cluster"
        )
    worst, best = _bounds(a, b, shared, lowest, highest)
    error = clustered_standard_error(differences, clusters)
    # Even the smallest possible p-value has to survive the correction.
    resamples = max(RESAMPLES, 400 * pairs)
    spread = highest - lowest
    return Pair(
        a=a.name,
        b=b.name,
        total=len(shared),
        n=len(common),
        clusters=len(np.unique(clusters)),
        mean_a=_mean(scores_a),
        mean_b=_mean(scores_b),
        difference=_mean(differences),
        ci95=mean_interval(differences, clusters, lowest=-spread, highest=spread),
        p=sign_flip_p_value(differences, clusters, resamples=resamples) if common else None,
        p_adjusted=None,
        better=None,
        identical=bool(common) and not differences.any(),
        detectable=_detectable(error, pairs),
        worst_case_difference=worst,
        best_case_difference=best,
        wins=int((differences > 0).sum()),
        ties=int((differences == 0).sum()),
        losses=int((differences < 0).sum()),
        categories=_categories(a, common, differences, clusters, spread),
        largest=_largest(a, common, scores_a, scores_b),
        needed=_needed(error, pairs, detect, len(common)),
    )


def _scores(column: Column, samples: Sequence[str]) -> FloatArray:
    return np.array([column.scores[sample] for sample in samples], dtype=np.float64)


def _mean(values: FloatArray) -> float | None:
    return math.fsum(values.tolist()) / len(values) if len(values) else None


def _bounds(
    a: Column, b: Column, shared: Sequence[str], lowest: float, highest: float
) -> tuple[float | None, float | None]:
    if not shared:
        return None, None
    worst, best = [], []
    for sample in shared:
        of_a, of_b = a.scores[sample], b.scores[sample]
        worst.append((lowest if of_a is None else of_a) - (highest if of_b is None else of_b))
        best.append((highest if of_a is None else of_a) - (lowest if of_b is None else of_b))
    return math.fsum(worst) / len(shared), math.fsum(best) / len(shared)


def _detectable(error: tuple[float, int] | None, pairs: int) -> float | None:
    if error is None or error[0] == 0.0 or error[1] < fewest_clusters(ALPHA / pairs):
        return None
    return detectable_difference(*error, alpha=ALPHA / pairs)


def _needed(
    error: tuple[float, int] | None, pairs: int, detect: float | None, samples: int
) -> dict[str, float | int] | None:
    if detect is None or error is None or error[0] == 0.0:
        return None
    standard_error, clusters = error
    needed = clusters_needed(standard_error, clusters, detect, alpha=ALPHA / pairs)
    return {"difference": detect, "samples": math.ceil(needed * samples / clusters), "clusters": needed}


def _categories(
    column: Column, samples: Sequence[str], differences: FloatArray, clusters: IntArray, spread: float
) -> dict[str, CategoryDifference]:
    of_samples = np.array([column.categories[sample] for sample in samples], dtype=object)
    found = {}
    for name in dict.fromkeys(column.categories.values()):
        inside = of_samples == name
        if not inside.any():
            continue
        values, codes = differences[inside], clusters[inside]
        found[name] = CategoryDifference(
            n=len(values),
            clusters=len(np.unique(codes)),
            difference=math.fsum(values.tolist()) / len(values),
            ci95=mean_interval(values, codes, lowest=-spread, highest=spread),
            p=sign_flip_p_value(values, codes),
        )
    return found


def _largest(
    column: Column, samples: Sequence[str], scores_a: FloatArray, scores_b: FloatArray
) -> list[SampleDifference]:
    differences = scores_a - scores_b
    order = np.argsort(-np.abs(differences), kind="stable")[:LARGEST]
    return [
        SampleDifference(
            sample_id=samples[place],
            category=column.categories[samples[place]],
            a=float(scores_a[place]),
            b=float(scores_b[place]),
            difference=float(differences[place]),
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
    return [
        replace(
            pair,
            p_adjusted=p,
            better=_better(pair, p),
            categories={
                name: replace(category, p_adjusted=by_cell[(place, name)])
                for name, category in pair.categories.items()
            },
        )
        for place, (pair, p) in enumerate(zip(pairs, adjusted, strict=True))
    ]


def _better(pair: Pair, p_adjusted: float | None) -> str | None:
    if p_adjusted is None or pair.difference is None or p_adjusted > ALPHA:
        return None
    return pair.a if pair.difference > 0 else pair.b


def _column_summary(column: Column, rank: int, lowest: float, highest: float) -> ColumnSummary:
    scored = sorted(sample for sample, score in column.scores.items() if score is not None)
    scores = _scores(column, scored)
    return ColumnSummary(
        name=column.name,
        judge=column.judge,
        scored=len(scored),
        total=len(column.scores),
        mean=_mean(scores),
        ci95=mean_interval(
            scores, [column.clusters[sample] for sample in scored], lowest=lowest, highest=highest
        ),
        rank=rank,
    )
