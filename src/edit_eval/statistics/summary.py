"""All numbers of one run, as one plain document: `summary.json`.

One rule above all: only a judgement whose status is `ok` has a number. Everything else is counted beside the
mean, and bounds it: `worst_case_mean` and `best_case_mean` are what the mean would be if all the rest had got
the lowest or the highest score.

With several edit seeds or repeats a sample has several judgements. Each counts once in a mean; that they
belong together is what the interval knows, for it is clustered on the source image.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from edit_eval.records import Results, Sample, Status
from edit_eval.statistics.agreement import judge_agreement
from edit_eval.statistics.intervals import Estimate, FloatArray, IntArray, estimate
from edit_eval.statistics.panel import panel
from edit_eval.statistics.timing import timing

SCHEMA = 1

_STATUSES = tuple(Status)
_OK = _STATUSES.index(Status.OK)


@dataclass(frozen=True)
class _Table:
    """The judgements as columns, a row each."""

    statuses: IntArray
    """Place in `_STATUSES`."""
    scores: FloatArray
    """NaN where there is none."""
    worst: FloatArray
    """The score; where there is none the lowest of the rubric."""
    best: FloatArray
    """The same with the highest."""
    again: IntArray
    """1 where the score is that of a second or later asking, 0 elsewhere."""
    clusters: IntArray
    """The number of the source image; -1 where it is not known."""
    lowest: float
    highest: float
    """The range of the rubric."""
    min_coverage: float


def summarise(
    results: Results, *, min_coverage: float = 1.0, lowest: float = 0.0, highest: float = 10.0
) -> dict[str, Any]:
    """The document `summary.json`: plain dicts, lists, strings, integers and Python floats.

    `status` is `incomplete` while anything is pending. `coverage.reached` is whether every (edit model,
    judge) has scored at least `min_coverage` (0 to 1) of its total. `results` has one entry for every (edit
    model, judge), in the configuration's order; where there is only one, the top level repeats its `overall`,
    `category_mean` with its interval and `categories`, else they are None: there is no mean over different models or
    judges.

    `category_mean` is the unweighted mean of the categories' means, and None when a category has no score at
    all: one that failed altogether must not drop out in silence. `category_mean_ci95` is its interval.

    Beside every interval `ci95` stands `no_ci95`, None or why there is none: `no_scores`, `unknown_source` (of the
    image of a score), and what `intervals.estimate` says.

    `notes` is what a reader must know besides, a line each: lines of the records that are damaged, GPUs of two kinds.

    With several judges or repeats there is `agreement`, what `judges_document` says of them.

    `lowest` and `highest` are the ends of the rubric's range, for the bounds.
    """
    table = _table(results, min_coverage, lowest, highest)
    entries = _entries(results, table)
    only = entries[0] if len(entries) == 1 else None
    document = {
        "schema": SCHEMA,
        "status": "incomplete" if (table.statuses == _STATUSES.index(Status.PENDING)).any() else "complete",
        "coverage": {
            **_coverage(table, np.arange(len(results.judgements))),
            "required": float(min_coverage),
            "reached": all(entry["coverage"]["reached"] for entry in entries),
        },
        "overall": only["overall"] if only else None,
        "category_mean": only["category_mean"] if only else None,
        "category_mean_ci95": only["category_mean_ci95"] if only else None,
        "categories": only["categories"] if only else None,
        "results": entries,
        "timing": timing(results),
        "notes": list(results.notes),
    }
    if len(results.judges) > 1 or any(judgement.repeat for judgement in results.judgements):
        document["agreement"] = judges_document(results, min_coverage=min_coverage, lowest=lowest, highest=highest)
    return document


def judges_document(
    results: Results, *, min_coverage: float = 1.0, lowest: float = 0.0, highest: float = 10.0
) -> dict[str, Any]:
    """What a run says of its judges, as `agreement.judge_agreement`, and with several of them their `median`.

    `median` has an entry for every edit model like those of `results` in the summary, None with fewer than three. It
    counts edits, not answers; see `panel`.
    """
    median = panel(results, lowest=lowest, highest=highest)
    entries = None
    if median is not None:
        table = replace(
            _table(median.results, min_coverage, lowest, highest),
            worst=np.array(median.worst, dtype=np.float64),
            best=np.array(median.best, dtype=np.float64),
        )
        entries = _entries(median.results, table)
    return {**judge_agreement(results, lowest=lowest, highest=highest), "median": entries}


def _entries(results: Results, table: _Table) -> list[dict[str, Any]]:
    """What there is to say of every (edit model, judge)."""
    rows_of: dict[tuple[str, str], list[int]] = {
        (edit_model, judge): [] for edit_model in results.edit_models for judge in results.judges
    }
    for row, judgement in enumerate(results.judgements):
        rows_of.setdefault((judgement.edit_model, judgement.judge), []).append(row)
    groupings = _groupings(results)
    return [_entry(edit_model, judge, rows, table, groupings) for (edit_model, judge), rows in rows_of.items()]


def _table(results: Results, min_coverage: float, lowest: float, highest: float) -> _Table:
    places = {status: place for place, status in enumerate(_STATUSES)}
    digests = sorted({sample.source_digest for sample in results.samples if sample.source_digest})
    numbers = {digest: number for number, digest in enumerate(digests)}
    clusters = {sample.id: numbers.get(sample.source_digest, -1) for sample in results.samples}
    judgements = results.judgements
    scores = np.array([math.nan if one.score is None else one.score for one in judgements], dtype=np.float64)
    missing = np.isnan(scores)
    return _Table(
        statuses=np.array([places[judgement.status] for judgement in judgements], dtype=np.int64),
        scores=scores,
        worst=np.where(missing, lowest, scores),
        best=np.where(missing, highest, scores),
        again=np.array([one.score is not None and one.answers > 1 for one in judgements], dtype=np.int64),
        clusters=np.array([clusters.get(judgement.sample_id, -1) for judgement in judgements], dtype=np.int64),
        lowest=float(lowest),
        highest=float(highest),
        min_coverage=float(min_coverage),
    )


@dataclass(frozen=True)
class _Grouping:
    """One way to part the judgements."""

    order: tuple[str, ...]
    """The groups' names in the benchmark's order."""
    names: Sequence[tuple[str, ...]]
    """For each judgement the groups it is in."""


def _groupings(results: Results) -> dict[str, _Grouping]:
    samples = results.samples
    positions = {sample.id: position for position, sample in enumerate(samples)}
    where = [positions.get(judgement.sample_id) for judgement in results.judgements]

    def by(names_of: Callable[[Sample], Iterable[str]]) -> _Grouping:
        names = [tuple(dict.fromkeys(name for name in names_of(sample) if name)) for sample in samples]
        order = tuple(dict.fromkeys(name for of_sample in names for name in of_sample))
        return _Grouping(order, [() if position is None else names[position] for position in where])

    categories = [(judgement.category,) for judgement in results.judgements]
    order = dict.fromkeys([sample.category for sample in samples] + [name for (name,) in categories])
    return {
        "categories": _Grouping(tuple(order), categories),
        "difficulties": by(lambda sample: (sample.difficulty,)),
        "tags": by(lambda sample: sample.tags),
        "languages": by(lambda sample: (sample.language,)),
    }


def _entry(
    edit_model: str, judge: str, rows: list[int], table: _Table, groupings: Mapping[str, _Grouping]
) -> dict[str, Any]:
    parts = {
        kind: {name: _block(table, members) for name, members in _members(grouping, rows)}
        for kind, grouping in groupings.items()
    }
    every = np.array(rows, dtype=np.int64)
    coverage = _coverage(table, every)
    return {
        "edit_model": edit_model,
        "judge": judge,
        "coverage": {
            **coverage,
            "required": table.min_coverage,
            # The tolerance is for the product's rounding only: .07 * 100 is 7.000000000000001.
            "reached": coverage["scored"] >= table.min_coverage * coverage["total"] - 1e-9,
        },
        "overall": _statistics(table, every),
        **_category_mean(parts["categories"].values(), table, every, groupings["categories"]),
        **parts,
    }


def _members(grouping: _Grouping, rows: Iterable[int]) -> list[tuple[str, IntArray]]:
    """The rows of each group that has any, in the benchmark's order of groups."""
    groups: dict[str, list[int]] = {name: [] for name in grouping.order}
    for row in rows:
        for name in grouping.names[row]:
            groups[name].append(row)
    return [(name, np.array(members, dtype=np.int64)) for name, members in groups.items() if members]


def _block(table: _Table, rows: IntArray) -> dict[str, Any]:
    """Statistics of a sub-group: many of them are looked at, so what stands out in one may be chance."""
    return {**_statistics(table, rows), "coverage": _coverage(table, rows), "exploratory": True}


def _coverage(table: _Table, rows: IntArray) -> dict[str, Any]:
    counts = np.bincount(table.statuses[rows], minlength=len(_STATUSES)).tolist()
    return {
        "scored": counts[_OK],
        "total": len(rows),
        "asked_again": int(table.again[rows].sum()),
        "by_status": {status.value: count for status, count in zip(_STATUSES, counts, strict=True) if count},
    }


def _statistics(table: _Table, rows: IntArray) -> dict[str, Any]:
    scored = rows[table.statuses[rows] == _OK]
    scores, clusters = table.scores[scored], table.clusters[scored]
    total, count = len(rows), len(scored)
    # math.fsum is exact, and so the same to the last bit whatever the order of the scores.
    whole = math.fsum(scores.tolist())
    known = count > 0 and bool((clusters >= 0).all())
    return {
        "n": count,
        "clusters": len(np.unique(clusters)) if known else None,
        "mean": whole / count if count else None,
        "std": _standard_deviation(scores, whole / count) if count > 1 else None,
        "median": float(np.median(scores)) if count else None,
        "min": float(scores.min()) if count else None,
        "max": float(scores.max()) if count else None,
        "worst_case_mean": math.fsum(table.worst[rows].tolist()) / total if total else None,
        "best_case_mean": math.fsum(table.best[rows].tolist()) / total if total else None,
        **_interval("", estimate(scores, clusters) if known else None, count, table),
    }


def _interval(prefix: str, found: Estimate | None, count: int, table: _Table) -> dict[str, Any]:
    """The interval, and where there is none, why."""
    reason = "no_scores" if not count else "unknown_source" if found is None else found.doubt
    ends = found.interval(lowest=table.lowest, highest=table.highest) if found else None
    return {f"{prefix}ci95": ends, f"no_{prefix}ci95": reason}


def _standard_deviation(scores: FloatArray, mean: float) -> float:
    """The sample's standard deviation, n - 1 in the denominator."""
    return math.sqrt(math.fsum(((scores - mean) ** 2).tolist()) / (len(scores) - 1))


def _category_mean(
    categories: Iterable[Mapping[str, Any]], table: _Table, rows: IntArray, grouping: _Grouping
) -> dict[str, Any]:
    means = [category["mean"] for category in categories]
    scored = rows[table.statuses[rows] == _OK]
    if not means or any(mean is None for mean in means):
        return {"category_mean": None, **_interval("category_mean_", None, 0, table)}
    places = {name: place for place, name in enumerate(grouping.order)}
    groups = np.array([places[grouping.names[row][0]] for row in scored.tolist()], dtype=np.int64)
    clusters = table.clusters[scored]
    found = estimate(table.scores[scored], clusters, groups) if (clusters >= 0).all() else None
    return {"category_mean": math.fsum(means) / len(means), **_interval("category_mean_", found, len(scored), table)}
