"""The summary document as the report walks it: one entry for each (edit model, judge), whole or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edit_eval.benchmarks.categories import CATEGORIES, canonical


@dataclass(frozen=True)
class Entry:
    """What the summary says of one edit model under one judge."""

    edit_model: str
    judge: str
    series: str
    """What tells this entry from the others: the model, the judge, or both."""
    coverage: Mapping[str, Any]
    overall: Mapping[str, Any]
    category_mean: float | None
    category_interval: Mapping[str, Any]
    """Its `ci95`, and `no_ci95` where there is none."""
    categories: Mapping[str, Mapping[str, Any]]
    difficulties: Mapping[str, Mapping[str, Any]]
    tags: Mapping[str, Mapping[str, Any]]


def series_names(pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """For each (edit model, judge) the shortest name that tells it from the others."""
    one_judge = len({judge for _, judge in pairs}) < 2
    one_model = len({edit_model for edit_model, _ in pairs}) < 2
    return {
        (edit_model, judge): edit_model if one_judge else judge if one_model else f"{edit_model} · {judge}"
        for edit_model, judge in pairs
    }


def entries(summary: Mapping[str, Any]) -> list[Entry]:
    """The summary's `results`, in its order."""
    pairs = [(entry["edit_model"], entry["judge"]) for entry in summary.get("results") or ()]
    names = series_names(pairs)
    return [
        Entry(
            edit_model=entry["edit_model"],
            judge=entry["judge"],
            series=names[(entry["edit_model"], entry["judge"])],
            coverage=entry["coverage"],
            overall=entry.get("overall") or {},
            category_mean=entry.get("category_mean"),
            category_interval={
                "ci95": entry.get("category_mean_ci95"),
                "no_ci95": entry.get("no_category_mean_ci95"),
            },
            categories=entry.get("categories") or {},
            difficulties=entry.get("difficulties") or {},
            tags=entry.get("tags") or {},
        )
        for entry in summary.get("results") or ()
    ]


def category_names(parts: Sequence[Entry]) -> list[str]:
    """The categories of all entries: the five dimensions in their order, then the benchmark's own in its order."""
    names = list(dict.fromkeys(name for part in parts for name in part.categories))
    order = {name: place for place, name in enumerate(CATEGORIES)}
    return sorted(names, key=lambda name: order.get(canonical(name), len(order)))
