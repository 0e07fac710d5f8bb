"""Computes all numbers of one run, as one plain document: `summary.json`.

One rule above all: only a score whose status is `ok` has a number. Everything else is counted beside the mean, and
bounds it: `worst_case_mean` and `best_case_mean` are the mean with all the rest at the worst or the best end of the
score's scale.

With several edit seeds or repeats a sample has several judgements. Each counts once in a mean; the interval allows for
their dependence, for it is clustered on the source image.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from typing import Any

import numpy as np

from edit_eval.records import Judgement, Results, Scale, Status
from edit_eval.statistics.battles import as_others_rate, battles_by_judge, others_may_read, together
from edit_eval.statistics.comparison import Comparison, compare_models, verdict_on_models
from edit_eval.statistics.controls import beside_edits, controls_of, fewest, kind_of, put_last, steps_of, wanted
from edit_eval.statistics.failures import edits_by_model, failures_document
from edit_eval.statistics.instruments import Item, given_by, judges_of, readings_document, spread_of
from edit_eval.statistics.intervals import FloatArray, IntArray, estimate
from edit_eval.statistics.series import Sureness, ends, finite, mean, series_of, sureness
from edit_eval.statistics.timing import timing
from edit_eval.statistics.verdict import Known, known_of

SCHEMA = 3

Bounds = Mapping[Item, tuple[float, float]]
"""For each edit the worst and the best possible score."""
_STATUSES = tuple(Status)
_PLACES = {status: place for place, status in enumerate(_STATUSES)}
_OK = _PLACES[Status.OK]


def summarise(results: Results, *, min_coverage: float = 1.0) -> dict[str, Any]:
    """Returns the document `summary.json`, as in docs/records.md: plain dicts, lists, strings, integers and floats.

    `results` has one entry for every (edit model, judge), in the configuration's order, with all scores of the judge.
    There is no mean over different models, judges or scores. `min_coverage` is a share, 0 to 1: the part of its
    headlines that each of them must have. With judges that compare two edits there is `battles`: for each of them its
    coverage, and by score the results of its battles. What analyses add is in `reporting.analyses`.
    """
    entries = entries_of(results, min_coverage)
    every = results.counted
    battles = _battles(results, min_coverage)
    document = {
        "schema": SCHEMA,
        "status": "incomplete" if any(one.status is Status.PENDING for one in every) else "complete",
        "coverage": {
            **_coverage(_counts(every), sum(map(_asked_again, every))),
            "required": float(min_coverage),
            "reached": all(entry["coverage"]["reached"] for entry in (*entries, *battles.values())),
        },
        "judges": dict(results.examined),
        "controls": _controls(results),
        "results": entries,
        "comparison": None,  # below, for whom a judge ranks depends on what is above
        "extremes": extremes(results),
        "failures": failures_document(results),
        "device_failures": [asdict(one) for one in results.device_failures],
        "readings": readings_document(results),
        "edits": list(edits_by_model(results)),
        "timing": timing(results),
        "benchmark": dict(results.about),
        "notes": list(results.notes),
    }
    if battles:
        document["battles"] = battles
    besides = known_of(document, [results])
    compared = compare_models(results, besides)
    document["comparison"] = _comparison(compared)
    document["verdict"] = verdict_on_models(results, compared, besides).document()
    return document


def _battles(results: Results, min_coverage: float) -> dict[str, Any]:
    return {
        judge: {
            "coverage": _covered(of, min_coverage),
            "scores": scores,
            **({"together": together(results, of, list(scores))} if len(scores) > 1 else {}),
            "protocol": results.scoring[judge].protocol,
            "as_others_rate": as_others_rate(every_battle, list(scores)),
            **({"certificate": results.certificates[judge]} if judge in results.certificates else {}),
            **({"others_may_read": unread} if (unread := others_may_read(every_battle)) else {}),
        }
        for judge, (of, scores) in battles_by_judge(results).items()
        for every_battle in [[*of, *(one for one in results.stored if one.judge == judge)]]
    }


def known(results: Results, *, battles: bool = False) -> Known:
    """Returns what a verdict has to know of a run besides its scores, without its summary; `battles` with those."""
    every = results.counted
    document = {
        "status": "incomplete" if any(one.status is Status.PENDING for one in every) else "complete",
        "coverage": _coverage(_counts(every), 0),
        "judges": dict(results.examined),
        "controls": _controls(results),
        "battles": _battles(results, 1.0) if battles else {},
    }
    return known_of(document, [results])


def _comparison(found: Comparison | None) -> dict[str, Any] | None:
    """Returns the numbers of `edit-eval compare RUN --json`."""
    if found is None:
        return None
    document = found.document()
    return {
        **{name: document[name] for name in ("alpha", "power", "tests", "family")},
        "columns": [_without(column, "run", "differs") for column in document["columns"]],
        "pairs": [
            {**pair, "largest": [_without(sample, "words_a", "words_b") for sample in pair["largest"]]}
            for pair in document["pairs"]
        ],
    }


def _without(document: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in names}


def _asked_again(judgement: Judgement) -> bool:
    """True if there is a headline that came only after something was asked again."""
    return judgement.headline in judgement.again


def _counts(judgements: Iterable[Judgement]) -> list[int]:
    """Counts headlines by status."""
    found = Counter(one.status for one in judgements)
    return [found[status] for status in _STATUSES]


def _coverage(counts: Sequence[int], asked_again: int) -> dict[str, Any]:
    return {
        "scored": counts[_OK],
        "total": sum(counts),
        "asked_again": asked_again,
        "by_status": {status.value: count for status, count in zip(_STATUSES, counts, strict=True) if count},
    }


def _covered(judgements: Sequence[Judgement], min_coverage: float) -> dict[str, Any]:
    coverage = _coverage(_counts(judgements), sum(map(_asked_again, judgements)))
    # The tolerance is only for rounding of the product: .07 * 100 is 7.000000000000001.
    reached = coverage["scored"] >= min_coverage * coverage["total"] - 1e-9
    return {**coverage, "required": float(min_coverage), "reached": reached}


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
    groups: dict[str, dict[str, set[str]]] = {"categories": {}, "difficulties": {}, "tags": {}, "languages": {}}
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


def entries_of(results: Results, min_coverage: float, bounds: Bounds | None = None) -> list[dict[str, Any]]:
    """Returns the entry of every (edit model, judge): `results` of the summary.

    `bounds` are the worst and the best possible score of each edit, where they are not the ends of the scale.
    """
    judgements: dict[tuple[str, str], list[Judgement]] = {
        (edit_model, judge): [] for edit_model in results.edit_models for judge in results.judges
    }
    for one in results.judgements:
        judgements[one.edit_model, one.judge].append(one)
    benchmark = _benchmark(results)
    return [_entry(results, pair, found, benchmark, min_coverage, bounds) for pair, found in judgements.items()]


def _entry(
    results: Results,
    pair: tuple[str, str],
    judgements: Sequence[Judgement],
    benchmark: _Benchmark,
    min_coverage: float,
    bounds: Bounds | None,
) -> dict[str, Any]:
    edit_model, judge = pair
    scoring = results.scoring[judge]
    leading = [one for one in judgements if one.outcome(scoring.headline) is not None]
    return {
        "edit_model": edit_model,
        "judge": judge,
        "protocol": scoring.protocol,
        "headline": scoring.headline,
        "coverage": _covered(leading, min_coverage),
        "scores": {
            name: {
                **_score(table, benchmark),
                "spread": spread_of(judgements, name),
                "part": name in scoring.parts,
            }
            for name, scale in scoring.scales.items()
            if (table := _table(judgements, name, scale, benchmark, bounds)).samples or name == scoring.headline
        },
        "published": {name: _published(value) for name, value in results.published.get(pair, {}).items()},
        **({"certificate": results.certificates[judge]} if judge in results.certificates else {}),
    }


def _published(value: float | str) -> dict[str, Any]:
    return {"value": None, "reason": value} if isinstance(value, str) else {"value": float(value), "reason": ""}


def _controls(results: Results) -> dict[str, Any]:
    """Returns each judge's scores of controls, by its headline: rows of their own, outside every other number."""
    evaluation = results.configuration.get("evaluation")
    benchmark = _benchmark(results)
    found = {}
    for judge, series in series_of(results).items():
        beside = beside_edits(results, judge, series)
        if beside:
            scale = replace(series.scale, mean_over="samples")  # controls are few, and not of every category
            blocks = {}
            for kind in beside:
                of_kind = [one for one in controls_of(results, judge, series.score) if kind_of(one) == kind]
                table = _table(of_kind, series.score, scale, benchmark, None)
                every = np.arange(len(of_kind))
                blocks[kind] = {"coverage": _coverage_of(table, every), **_statistics(table, every)}
            kinds = {kind: {**blocks[kind], "beside_edits": beside[kind]} for kind in beside}
            found[judge] = {"score": series.score, "last": put_last(beside), "kinds": kinds}
    samples = results.resolved.get(
        "control_samples", evaluation.get("controls") if isinstance(evaluation, Mapping) else None
    )
    steps = steps_of(results)
    if steps is not None or (not samples and results.controls):  # a service has some, which no configuration asks for
        samples = len({one.sample_id for one in results.controls})
    asked = "asked" in given_by(results).values()
    return {
        "samples": samples if asked else None,
        **({} if steps is None or not asked else {"steps": list(steps)}),
        "fewest": fewest(len(results.edit_models)),
        "wanted": wanted(results, len({one.sample_id for one in results.controls})),
        "judges": found,
    }


# -- one score --


@dataclass(frozen=True)
class _Table:
    """One score, with a row for each judgement that it applies to."""

    scale: Scale
    samples: Sequence[str]
    statuses: IntArray
    """Place in `_STATUSES`."""
    scores: FloatArray
    """NaN if there is none."""
    worst: FloatArray
    """The score, or else the worst end of the scale, infinite if that is open."""
    best: FloatArray
    """The same with the best end."""
    again: IntArray
    """1 if the score came only after something was asked again, else 0."""
    clusters: IntArray
    """Number of the source image; -1 if unknown."""
    categories: IntArray
    """Number of the category, in the benchmark's order."""


def _table(
    judgements: Sequence[Judgement], name: str, scale: Scale, benchmark: _Benchmark, bounds: Bounds | None
) -> _Table:
    places = {category: place for place, category in enumerate(benchmark.groups["categories"])}
    outcomes = [(one, outcome[0]) for one in judgements if (outcome := one.outcome(name)) is not None]
    scores = np.array([one.scores.get(name, math.nan) for one, _ in outcomes], dtype=np.float64)
    worst, best = (np.where(np.isnan(scores), end, scores) for end in ends(scale))
    if bounds is not None:
        of_edits = [bounds[Item.of(one)] for one, _ in outcomes]
        worst, best = np.array(of_edits, dtype=np.float64).reshape(-1, 2).T
    return _Table(
        scale=scale,
        samples=[one.sample_id for one, _ in outcomes],
        statuses=np.array([_PLACES[status] for _, status in outcomes], dtype=np.int64),
        scores=scores,
        worst=worst,
        best=best,
        again=np.array([name in one.again for one, _ in outcomes], dtype=np.int64),
        clusters=np.array([benchmark.clusters.get(one.sample_id, -1) for one, _ in outcomes], dtype=np.int64),
        categories=np.array([places[one.category] for one, _ in outcomes], dtype=np.int64),
    )


def _score(table: _Table, benchmark: _Benchmark) -> dict[str, Any]:
    every, scale = np.arange(len(table.samples)), table.scale
    return {
        "scale": {
            "lowest": scale.lowest,
            "highest": scale.highest,
            "higher_is_better": scale.higher_is_better,
            "mean_over": scale.mean_over,
        },
        "coverage": _coverage_of(table, every),
        **_statistics(table, every),
        "sample_mean": _mean(table, every, None),
        "category_mean": _mean(table, every, table.categories),
        **{
            kind: {
                name: _block(table, samples)
                for name, samples in groups.items()
                if not samples.isdisjoint(table.samples)
            }
            for kind, groups in benchmark.groups.items()
        },
    }


def _block(table: _Table, samples: set[str]) -> dict[str, Any]:
    """Returns statistics of a sub-group: many are looked at, so a finding in one may be chance."""
    rows = np.array([row for row, sample in enumerate(table.samples) if sample in samples], dtype=np.int64)
    return {**_statistics(table, rows), "coverage": _coverage_of(table, rows), "exploratory": True}


def _coverage_of(table: _Table, rows: IntArray) -> dict[str, Any]:
    counts = np.bincount(table.statuses[rows], minlength=len(_STATUSES)).tolist()
    return _coverage(counts, int(table.again[rows].sum()))


def _statistics(table: _Table, rows: IntArray) -> dict[str, Any]:
    scored = rows[table.statuses[rows] == _OK]
    scores, clusters = table.scores[scored], table.clusters[scored]
    count = len(scored)
    groups = table.categories if table.scale.mean_over == "categories" else None
    of_rows = None if groups is None else groups[rows]
    return {
        "n": count,
        "images": len(np.unique(clusters)) if count and (clusters >= 0).all() else None,
        **_mean(table, rows, groups),
        "worst_case_mean": finite(mean(table.worst[rows], of_rows)),
        "best_case_mean": finite(mean(table.best[rows], of_rows)),
        "std": _standard_deviation(scores),
        "median": float(np.median(scores)) if count else None,
        "min": float(scores.min()) if count else None,
        "max": float(scores.max()) if count else None,
    }


def _mean(table: _Table, rows: IntArray, groups: IntArray | None) -> dict[str, Any]:
    """Returns a mean with its interval, or the reason why there is none."""
    value = mean(table.scores[rows], None if groups is None else groups[rows])
    scored = rows[table.statuses[rows] == _OK]
    if value is None:
        sure = Sureness(None, "no_scores", None)
    elif (table.clusters[scored] < 0).any():
        sure = Sureness(None, "unknown_source", None)
    else:
        of_groups = None if groups is None else groups[scored]
        sure = sureness(estimate(table.scores[scored], table.clusters[scored], of_groups), table.scale)
    return {"mean": value, **sure._asdict()}


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


def extremes(results: Results) -> dict[str, Any]:
    """Returns `{"worst": {JUDGE: [...]}, "judges_apart": [...]}`, at most three edits each.

    Of equal ones the first in the benchmark. Each has `sample_id`, `edit_model`, `edit_seed`; the worst also the
    judge's `score`, by its headline; those on which judges are apart their `scores` by name, and the distance between
    the lowest and the highest after subtracting the judges' levels (`difference`). Judges are compared with those whose
    headline has the same scale.
    """
    results = results.once
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
            scores = {name: values[item] for name, values in alike.items() if item in values}
            apart_by = [score - level[name] for name, score in scores.items()]
            difference = max(apart_by) - min(apart_by)
            if difference > _ROUNDING:
                apart.append({**_named(item), "scores": scores, "difference": difference})
    return {
        "worst": {
            name: [{**_named(item), "score": judges[name].values[item]} for item in items]
            for name, items in worst.items()
        },
        "judges_apart": sorted(apart, key=lambda one: -one["difference"])[:SHOWN],
    }


def _named(item: Item) -> dict[str, Any]:
    return {"sample_id": item.sample_id, "edit_model": item.edit_model, "edit_seed": item.edit_seed}
