"""The summary document as the report walks it: one entry for each (edit model, judge), whole or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edit_eval.records import Results


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
    categories: Mapping[str, Mapping[str, Any]]
    difficulties: Mapping[str, Mapping[str, Any]]
    tags: Mapping[str, Mapping[str, Any]]


def series_name(edit_model: str, judge: str, results: Results) -> str:
    """The shortest name that tells (edit model, judge) from the others of the run."""
    if len(results.judges) < 2:
        return edit_model
    return judge if len(results.edit_models) < 2 else f"{edit_model} · {judge}"


def entries(summary: Mapping[str, Any], results: Results) -> list[Entry]:
    """The summary's `results`, in its order."""
    return [
        Entry(
            edit_model=entry["edit_model"],
            judge=entry["judge"],
            series=series_name(entry["edit_model"], entry["judge"], results),
            coverage=entry["coverage"],
            overall=entry.get("overall") or {},
            category_mean=entry.get("category_mean"),
            categories=entry.get("categories") or {},
            difficulties=entry.get("difficulties") or {},
            tags=entry.get("tags") or {},
        )
        for entry in summary.get("results") or ()
    ]
