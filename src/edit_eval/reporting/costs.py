"""What a run cost: wall time, device time, seconds an edit and an answer, and its loads."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from edit_eval.records import Activity, Results, Status
from edit_eval.statistics.timing import tokens


def loads(results: Results) -> list[Activity]:
    """Every load of a model onto a device, in the order in which they began."""
    found = [one for one in results.activities if one.kind == "loading"]
    return sorted(found, key=lambda one: (one.start_number, one.begin, one.device))


def costs(results: Results, summary: Mapping[str, Any]) -> dict[str, Any]:
    """Adds up the summary's timing and the records' seconds; None where nothing was measured.

    `device_seconds` is the sum over the devices of the time for which the run held them, idle time included, and
    `working_seconds` the part of it spent editing or judging. `seconds_per_edit` and `seconds_per_answer` are medians
    over the `edits` that were made, and over the `answers`: judgements for which a judge was asked. `tokens` has an
    entry for each judge whose server counts them (`statistics.timing.TokenUse`).
    """
    timing = summary.get("timing") or {}
    devices = timing.get("devices") or {}
    edit_seconds = [edit.seconds for edit in results.edits if edit.status is Status.OK and edit.seconds > 0]
    answer_seconds = [one.seconds for one in (*results.judgements, *results.battles) if one.seconds > 0]
    return {
        "wall_seconds": timing.get("wall_seconds") or 0.0,
        "starts": max(len(results.wall_seconds), max((one.start_number for one in results.activities), default=0)),
        "device_seconds": sum(sum(kinds.values()) for kinds in devices.values()),
        "working_seconds": sum(kinds["editing"] + kinds["judging"] for kinds in devices.values()),
        "on_gpus": bool(devices) and not any(name.startswith("cpu") for name in devices),
        "edits": len(edit_seconds),
        "seconds_per_edit": statistics.median(edit_seconds) if edit_seconds else None,
        "answers": len(answer_seconds),
        "seconds_per_answer": statistics.median(answer_seconds) if answer_seconds else None,
        "tokens": [asdict(one) for one in tokens(results)],
    }
