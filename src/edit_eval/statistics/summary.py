"""Computes all numbers of one run, as one typed document: `summary.json` is the `Summary`, encoded as it is.

One rule above all: only a score whose status is `ok` has a number. Everything else is counted beside the mean, and
bounds it: `worst_case_mean` and `best_case_mean` are the mean with all the rest at the worst or the best end of the
score's scale.

With several edit seeds or repeats a sample has several judgements. A mean is over samples, of each sample's mean, here
as in every comparison: else one with many gaps would count for less.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, Literal, TypedDict

import msgspec
import numpy as np
from msgspec.structs import asdict

from edit_eval.records import DeviceFailures, ExaminedJudge, Judgement, Results, Scale, Status
from edit_eval.statistics.aggregates import Aggregate, Coverage, MeanInterval, RequiredCoverage
from edit_eval.statistics.battles import (
    RunBattles,
    as_others_rate,
    battles_by_judge,
    fit_joint_strengths,
    others_may_read,
)
from edit_eval.statistics.columns import ScoreColumn, columns_of_models
from edit_eval.statistics.comparison import ModelComparison, compare_models, verdict_on_models
from edit_eval.statistics.control_counts import fewest
from edit_eval.statistics.controls import (
    ControlNumbers,
    JudgeControls,
    RunControls,
    all_below_edits,
    compare_controls,
    controls_of,
    count_needed_controls,
    kind_of,
)
from edit_eval.statistics.failure_rates import ModelEdits, edits_by_model
from edit_eval.statistics.failures import FailureGroup, every_failure
from edit_eval.statistics.intervals import FloatArray, IntArray, estimate
from edit_eval.statistics.raters import Item, JudgeReadings, judges_of, reading_spread, readings_of, reply_origins
from edit_eval.statistics.series import Sureness, ends, finite, gain, mean, series_of, sureness
from edit_eval.statistics.timing import RunTiming, compute_timing
from edit_eval.statistics.verdict import Verdict
from edit_eval.statistics.verdict_context import VerdictContext, build_context

SCHEMA = 3

_STATUSES = tuple(Status)
_PLACES = {status: place for place, status in enumerate(_STATUSES)}
_OK = _PLACES[Status.OK]
_GROUPS = ("categories", "difficulties", "tags", "languages")


class GroupNumbers(Aggregate, frozen=True, kw_only=True):
    """The numbers of a group of samples."""

    exploratory: bool
    """Always true: many groups are looked at, so a finding in one may be chance."""


class ScoreNumbers(Aggregate, frozen=True, kw_only=True):
    """One score of an edit model by a judge."""

    scale: Scale
    sample_mean: MeanInterval
    """Every sample with the same weight."""
    category_mean: MeanInterval
    """Every category with the same weight."""
    categories: dict[str, GroupNumbers]
    """By name, in the benchmark's order, as below."""
    difficulties: dict[str, GroupNumbers]
    tags: dict[str, GroupNumbers]
    languages: dict[str, GroupNumbers]
    spread: float | None
    """With several readings their standard deviation within one edit, in points; None with one reading."""
    part: bool
    """True if it is a part of the headline (a criterion of the rubric)."""


class PublishedNumber(msgspec.Struct, frozen=True, kw_only=True):
    """A number as a benchmark's authors define it, on their own scale: it counts failures their way."""

    value: float | None
    """The number, on its authors' scale; None if it cannot be told."""
    reason: str
    """Why there is none; else empty."""


def weakest_category(categories: Mapping[str, GroupNumbers], scale: Scale) -> str | None:
    """Returns the category with the worst mean; None if there are not two that differ. It may be so by chance."""
    means = {name: gain(scale) * of.mean for name, of in categories.items() if of.mean is not None}
    return min(means, key=means.__getitem__) if len(set(means.values())) > 1 else None


class Result(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one judge says of one edit model."""

    edit_model: str
    judge: str
    protocol: str
    """Its name."""
    headline: str
    """The score that leads: coverage, gates and margins count that one."""
    coverage: RequiredCoverage
    """Of the headline."""
    scores: dict[str, ScoreNumbers]
    """By name, in the protocol's order."""
    published: dict[str, PublishedNumber]
    """For each number that the benchmark's authors define; it counts failures as they do. Shown under its name, never
    ranked, and used by no gate."""
    certificate: Mapping[str, object] | None = None
    """Beside `published`: `certified`. If true, `repository`, `commit`, `on` (the day), how many `sets` and `numbers`
    were checked against the authors' scripts, `beside` (what differs) and `without` (numbers that are not certified);
    if false, `why`."""

    @property
    def headline_numbers(self) -> ScoreNumbers:
        """The numbers of the headline."""
        return self.scores[self.headline]


class EditToLookAt(msgspec.Struct, frozen=True, kw_only=True):
    """An edit to look at first."""

    sample_id: str
    edit_model: str
    edit_seed: int


class WorstEdit(EditToLookAt, frozen=True, kw_only=True):
    """One of those with the worst score of a judge."""

    score: float
    """By its headline: the mean over its repeats."""


class DisputedEdit(EditToLookAt, frozen=True, kw_only=True):
    """One of those on which judges of one scale are furthest apart."""

    scores: dict[str, float]
    """By judge."""
    difference: float
    """Of the highest and the lowest, after subtracting each judge's own level."""


class Extremes(msgspec.Struct, frozen=True, kw_only=True):
    """The edits to look at first, three at most of each."""

    worst: dict[str, list[WorstEdit]]
    """By judge."""
    judges_apart: list[DisputedEdit]


class Summary(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All numbers of a run (docs/records.md)."""

    schema: int
    """3. It changes when a field changes its name or meaning."""
    status: Literal["complete", "incomplete"]
    """`incomplete` while any judgement is pending."""
    coverage: RequiredCoverage
    """Of the headlines of all judges; `reached` by every entry of `results` and `battles`, not by the total."""
    judges: dict[str, ExaminedJudge]
    """What is known of each judge that an audit could examine."""
    controls: RunControls
    """How each judge scores pictures that are not edits."""
    results: list[Result]
    """One for every (edit model, judge), in the configuration's order. There is no number over several of them."""
    comparison: ModelComparison | None
    """None with fewer than two edit models."""
    extremes: Extremes
    """The edits to look at first."""
    failures: list[FailureGroup]
    """What ended without a score, the most frequent first."""
    device_failures: list[DeviceFailures]
    """Failed attempts; most of them succeeded on another device."""
    readings: dict[str, JudgeReadings]
    """Of each judge that was asked."""
    edits: list[ModelEdits]
    """How many edits each edit model failed or refused to make."""
    timing: RunTiming
    benchmark: Mapping[str, str]
    """What the benchmark says of itself: `source`, `licence`, ..."""
    notes: list[str]
    """What a reader must know, one line each."""
    battles: dict[str, RunBattles] = {}
    """Of each judge that is shown two edits at a time; not in the document without any."""
    verdict: Verdict
    """Who is better, by all judges together, and what to do next."""
    analyses: dict[str, list[Any]] = {}
    """Documents of the [analyses](your-analysis.md) that every report includes, by name, each as its verb prints it
    with `--json`; not in the document if there are none."""

    @property
    def complete(self) -> bool:
        """True if nothing is left to be done."""
        return self.status == "complete"


def summarise(results: Results, *, columns: Sequence[ScoreColumn] | None = None) -> Summary:
    """Returns the numbers of a run; what analyses add is in `reporting.analyses.summary_of`.

    `results` has one entry for every (edit model, judge), in the configuration's order, with all scores of the judge.
    There is no mean over different models, judges or scores. `columns` are those of `columns_of_models`, if they are at
    hand.
    """
    entries, battles = entries_of(results), _battles(results, results.provenance.min_coverage)
    of_all, controls = coverage_of(results.coverage_judgements), _controls(results)
    besides = build_context(
        [results],
        complete=_complete(results),
        coverage=of_all,
        controls=controls,
        examined=results.provenance.examined,
        battles=battles,
    )
    columns = columns_of_models(results) if columns is None else columns
    compared = compare_models(results, besides, columns)  # whom a judge ranks depends on what is known of it
    reached = [entry.coverage.reached for entry in entries] + [battle.coverage.reached for battle in battles.values()]
    return Summary(
        schema=SCHEMA,
        status="complete" if besides.complete else "incomplete",
        coverage=RequiredCoverage(
            **msgspec.structs.asdict(of_all), required=results.provenance.min_coverage, reached=all(reached)
        ),
        judges=dict(results.provenance.examined),
        controls=controls,
        results=entries,
        verdict=verdict_on_models(compared, besides, columns),
        comparison=None if compared is None else compared.model_comparison,
        extremes=extremes(results),
        failures=every_failure(results),
        device_failures=list(results.telemetry.device_failures),
        readings=readings_of(results),
        edits=list(edits_by_model(results)),
        timing=compute_timing(results),
        benchmark=dict(results.provenance.about),
        notes=list(results.provenance.notes),
        battles=battles,
    )


def _complete(results: Results) -> bool:
    return all(judgement.status is not Status.PENDING for judgement in results.coverage_judgements)


def _battles(results: Results, min_coverage: float) -> dict[str, RunBattles]:
    return {
        judge: RunBattles(
            coverage=_check_coverage(of, min_coverage),
            scores=scores,
            together=fit_joint_strengths(results, of, list(scores)) if len(scores) > 1 else None,
            protocol=results.scoring[judge].protocol,
            as_others_rate=as_others_rate(of, list(scores)),
            certificate=results.certificates.get(judge),
            others_may_read=others_may_read(of),
        )
        for judge, (of, scores) in battles_by_judge(results).items()
    }


def context_of_run(results: Results, *, battles: bool = False) -> VerdictContext:
    """Returns what a verdict has to know of a run besides its scores, without its summary; `battles` with those."""
    return build_context(
        [results],
        complete=_complete(results),
        coverage=_coverage(_counts(results.coverage_judgements), 0),
        controls=_controls(results),
        examined=results.provenance.examined,
        battles=_battles(results, 1.0) if battles else {},
    )


def _has_retry(judgement: Judgement) -> bool:
    return judgement.headline in judgement.again


def _counts(judgements: Iterable[Judgement]) -> list[int]:
    counts = Counter(judgement.status for judgement in judgements)
    return [counts[status] for status in _STATUSES]


def _coverage(counts: Sequence[int], asked_again: int) -> Coverage:
    by_status = {status.value: count for status, count in zip(_STATUSES, counts, strict=True) if count}
    return Coverage(scored=counts[_OK], total=sum(counts), asked_again=asked_again, by_status=by_status)


def coverage_of(judgements: Sequence[Judgement]) -> Coverage:
    """Returns the coverage of the headlines of these judgements."""
    return _coverage(_counts(judgements), sum(map(_has_retry, judgements)))


def _check_coverage(judgements: Sequence[Judgement], min_coverage: float) -> RequiredCoverage:
    coverage = coverage_of(judgements)
    return RequiredCoverage(
        **msgspec.structs.asdict(coverage),
        required=min_coverage,
        # The tolerance is only for rounding of the product: .07 * 100 is 7.000000000000001.
        reached=coverage.scored >= min_coverage * coverage.total - 1e-9,
    )


# -- one edit model by one judge --


@dataclass(frozen=True)
class _Benchmark:
    """Facts about samples, shared by all judgements of them."""

    clusters: Mapping[str, int]
    """For each sample the number of its cluster; -1 if unknown."""
    groups: Mapping[str, Mapping[str, set[str]]]
    """For each kind of group, the samples of each group, by its name and in the benchmark's order."""


def _benchmark(results: Results) -> _Benchmark:
    known = sorted({sample.cluster for sample in results.samples} - {""})
    numbers = {cluster: number for number, cluster in enumerate(known)}
    groups: dict[str, dict[str, set[str]]] = {kind: {} for kind in _GROUPS}
    for sample in results.samples:
        groups["categories"].setdefault(sample.category, set()).add(sample.id)
        for kind, names in (
            ("difficulties", (sample.difficulty,)),
            ("tags", sample.tags),
            ("languages", (sample.language,)),
        ):
            for name in filter(None, names):
                groups[kind].setdefault(name, set()).add(sample.id)
    return _Benchmark({sample.id: numbers.get(sample.cluster, -1) for sample in results.samples}, groups)


def entries_of(results: Results) -> list[Result]:
    """Returns the entry of every (edit model, judge): `results` of the summary."""
    judgements: dict[tuple[str, str], list[Judgement]] = {
        (edit_model, judge): [] for edit_model in results.edit_models for judge in results.judges
    }
    for judgement in results.judgements:
        judgements[judgement.edit_model, judgement.judge].append(judgement)
    benchmark = _benchmark(results)
    return [_entry(results, pair, of_pair, benchmark) for pair, of_pair in judgements.items()]


def _entry(results: Results, pair: tuple[str, str], judgements: Sequence[Judgement], benchmark: _Benchmark) -> Result:
    edit_model, judge = pair
    scoring = results.scoring[judge]
    leading = [judgement for judgement in judgements if judgement.outcome(scoring.headline) is not None]
    return Result(
        edit_model=edit_model,
        judge=judge,
        protocol=scoring.protocol,
        headline=scoring.headline,
        coverage=_check_coverage(leading, results.provenance.min_coverage),
        scores={
            name: _score(table, benchmark, reading_spread(judgements, name), name in scoring.parts)
            for name, scale in scoring.scales.items()
            if (table := _table(judgements, name, scale, benchmark)).samples or name == scoring.headline
        },
        published={name: _make_published_number(value) for name, value in results.published.get(pair, {}).items()},
        certificate=results.certificates.get(judge),
    )


def _make_published_number(value: float | str) -> PublishedNumber:
    if isinstance(value, str):
        return PublishedNumber(value=None, reason=value)
    return PublishedNumber(value=float(value), reason="")


def _controls(results: Results) -> RunControls:
    """Returns each judge's scores of controls, by its headline: rows of their own, outside every other number."""
    evaluation = results.provenance.configuration.get("evaluation")
    benchmark = _benchmark(results)
    judges = {}
    for judge, series in series_of(results).items():
        beside = compare_controls(results, judge, series)
        if beside:
            scale = replace(series.scale, mean_over="samples")  # controls are few, and not of every category
            kinds = {}
            for kind in beside:
                of_kind = [control for control in controls_of(results, judge, series.score) if kind_of(control) == kind]
                table = _table(of_kind, series.score, scale, benchmark)
                kinds[kind] = ControlNumbers(**asdict(_numbers(table, _every(table))), beside_edits=beside[kind])
            judges[judge] = JudgeControls(score=series.score, last=all_below_edits(beside), kinds=kinds)
    samples = results.provenance.resolved.get(
        "control_samples", evaluation.get("controls") if isinstance(evaluation, Mapping) else None
    )
    if results.controls:
        samples = len({control.sample_id for control in results.controls})
    asked = "asked" in reply_origins(results).values()
    return RunControls(
        samples=samples if asked and isinstance(samples, int) else None,
        automatic=asked and "control_steps" in results.provenance.resolved,
        fewest=fewest(len(results.edit_models)),
        wanted=count_needed_controls(results, len({control.sample_id for control in results.controls})),
        judges=judges,
    )


# -- one score --


@dataclass(frozen=True)
class _Table:
    """One score: a row for each judgement that it applies to, then an entry for each sample."""

    scale: Scale
    samples: Sequence[str]
    statuses: IntArray
    """Place in `_STATUSES`."""
    scores: FloatArray
    """NaN if there is none."""
    again: IntArray
    """1 if the score came only after something was asked again, else 0."""
    of_sample: IntArray
    """Number of the row's sample."""
    means: FloatArray
    """Of each sample the mean of its scores; NaN if it has none."""
    worst: FloatArray
    """The same with the worst end of the scale for what is missing, infinite if that is open."""
    best: FloatArray
    """The same with the best end."""
    clusters: IntArray
    """Of each sample the number of its source image; -1 if unknown."""
    categories: IntArray
    """Of each sample the number of its category, in the benchmark's order."""


def _table(judgements: Sequence[Judgement], name: str, scale: Scale, benchmark: _Benchmark) -> _Table:
    places = {category: place for place, category in enumerate(benchmark.groups["categories"])}
    outcomes = [(judgement, outcome[0]) for judgement in judgements if (outcome := judgement.outcome(name)) is not None]
    scores = np.array([judgement.scores.get(name, math.nan) for judgement, _ in outcomes], dtype=np.float64)
    worst, best = (np.where(np.isnan(scores), end, scores) for end in ends(scale))
    numbers: dict[str, int] = {}
    of_sample = np.array(
        [numbers.setdefault(judgement.sample_id, len(numbers)) for judgement, _ in outcomes], dtype=np.int64
    )
    of = {judgement.sample_id: judgement.category for judgement, _ in outcomes}
    return _Table(
        scale=scale,
        samples=[judgement.sample_id for judgement, _ in outcomes],
        statuses=np.array([_PLACES[status] for _, status in outcomes], dtype=np.int64),
        scores=scores,
        of_sample=of_sample,
        means=_sample_means(scores, of_sample),
        worst=_sample_means(worst, of_sample),
        best=_sample_means(best, of_sample),
        again=np.array([name in judgement.again for judgement, _ in outcomes], dtype=np.int64),
        clusters=np.array([benchmark.clusters.get(sample, -1) for sample in numbers], dtype=np.int64),
        categories=np.array([places[of[sample]] for sample in numbers], dtype=np.int64),
    )


def _sample_means(values: FloatArray, of_sample: IntArray) -> FloatArray:
    """Returns each sample's mean of the values that it has (NaN: missing), NaN where it has none."""
    if not len(values) or of_sample[-1] + 1 == len(values):  # one each, in their order
        return values
    collected: list[list[float]] = [[] for _ in range(int(of_sample.max()) + 1)]
    for sample, value in zip(of_sample.tolist(), values.tolist(), strict=True):
        if not math.isnan(value):
            collected[sample].append(value)
    return np.array([math.fsum(some) / len(some) if some else math.nan for some in collected], dtype=np.float64)


def _every(table: _Table) -> IntArray:
    return np.arange(len(table.samples))


def _score(table: _Table, benchmark: _Benchmark, spread: float | None, part: bool) -> ScoreNumbers:
    every = _every(table)

    def groups(kind: str) -> dict[str, GroupNumbers]:
        return {
            name: _group(table, samples)
            for name, samples in benchmark.groups[kind].items()
            if not samples.isdisjoint(table.samples)
        }

    return ScoreNumbers(
        **asdict(_numbers(table, every)),
        scale=table.scale,
        sample_mean=_mean(table, np.arange(len(table.means)), None),
        category_mean=_mean(table, np.arange(len(table.means)), table.categories),
        categories=groups("categories"),
        difficulties=groups("difficulties"),
        tags=groups("tags"),
        languages=groups("languages"),
        spread=spread,
        part=part,
    )


def _group(table: _Table, samples: set[str]) -> GroupNumbers:
    rows = np.array([row for row, sample in enumerate(table.samples) if sample in samples], dtype=np.int64)
    return GroupNumbers(**asdict(_numbers(table, rows)), exploratory=True)


def _numbers(table: _Table, rows: IntArray) -> Aggregate:
    scored = rows[table.statuses[rows] == _OK]
    scores, clusters = table.scores[scored], table.clusters[table.of_sample[scored]]
    count, samples = len(scored), np.unique(table.of_sample[rows])
    groups = table.categories if table.scale.mean_over == "categories" else None
    of_samples = None if groups is None else groups[samples]
    counts = np.bincount(table.statuses[rows], minlength=len(_STATUSES)).tolist()
    return Aggregate(
        coverage=_coverage(counts, int(table.again[rows].sum())),
        n=count,
        images=len(np.unique(clusters)) if count and (clusters >= 0).all() else None,
        **asdict(_mean(table, samples, groups)),
        worst_case_mean=finite(mean(table.worst[samples], of_samples)),
        best_case_mean=finite(mean(table.best[samples], of_samples)),
        std=_standard_deviation(scores),
        median=float(np.median(scores)) if count else None,
        min=float(scores.min()) if count else None,
        max=float(scores.max()) if count else None,
    )


def _mean(table: _Table, samples: IntArray, groups: IntArray | None) -> MeanInterval:
    """Returns the mean of samples' means with its interval, or the reason why there is none."""
    value = mean(table.means[samples], None if groups is None else groups[samples])
    scored = samples[~np.isnan(table.means[samples])]
    if value is None:
        sure = Sureness(None, "no_scores", None)
    elif (table.clusters[scored] < 0).any():
        sure = Sureness(None, "unknown_source", None)
    else:
        of_groups = None if groups is None else groups[scored]
        sure = sureness(estimate(table.means[scored], table.clusters[scored], of_groups), table.scale)
    return MeanInterval(mean=value, **sure._asdict())


def _standard_deviation(scores: FloatArray) -> float | None:
    """Returns the sample standard deviation, n - 1 in the denominator; None with fewer than two."""
    middle = mean(scores)
    if middle is None or len(scores) < 2:
        return None
    return math.sqrt(math.fsum(((scores - middle) ** 2).tolist()) / (len(scores) - 1))


# -- extremes --
#
# The edits to look at first: those with the worst score of each judge, and those that judges disagree about most.
#
# An edit's score by a judge is the mean over its repeats. No number is over several judges: where they disagree, each
# score is shown beside the others. A judge that is stricter than another disagrees about no edit: each judge's level,
# its mean over the edits scored by all of them, is subtracted before judges are compared. The samples that models
# differ on most are the comparison's (`Pair.largest`).

SHOWN = 3


_ROUNDING = 1e-9


def extremes(results: Results) -> Extremes:
    """Returns at most three edits of each kind; of equal ones the first in the benchmark.

    Judges are compared with those whose headline has the same scale.
    """
    results = results.unique_results
    place = {sample.id: sample.index for sample in results.samples}
    models = {name: number for number, name in enumerate(results.edit_models)}

    def order(item: Item) -> tuple[int, int, int]:
        return place[item.sample_id], models[item.edit_model], item.edit_seed

    judges = judges_of(results)
    worst = {
        name: sorted(judge.upward, key=lambda item: (judge.upward[item], order(item)))[:SHOWN]
        for name, judge in judges.items()
    }
    apart = []
    for scale in dict.fromkeys(judge.scale for judge in judges.values()):
        alike = {name: judge.values for name, judge in judges.items() if judge.scale == scale}
        shared = set.intersection(*map(set, alike.values()))
        level = {name: fmean(values[item] for item in shared) if shared else 0.0 for name, values in alike.items()}
        for item in sorted({item for values in alike.values() for item in values}, key=order):
            apart_by = [values[item] - level[name] for name, values in alike.items() if item in values]
            difference = max(apart_by) - min(apart_by)
            if difference > _ROUNDING:
                apart.append((difference, item, alike))
    return Extremes(
        worst={
            name: [WorstEdit(**_item_fields(item), score=judges[name].values[item]) for item in items]
            for name, items in worst.items()
        },
        judges_apart=[
            DisputedEdit(
                **_item_fields(item),
                scores={name: values[item] for name, values in alike.items() if item in values},
                difference=difference,
            )
            for difference, item, alike in sorted(apart, key=lambda dispute: -dispute[0])[:SHOWN]
        ],
    )


class _Named(TypedDict):
    sample_id: str
    edit_model: str
    edit_seed: int


def _item_fields(item: Item) -> _Named:
    return {"sample_id": item.sample_id, "edit_model": item.edit_model, "edit_seed": item.edit_seed}
