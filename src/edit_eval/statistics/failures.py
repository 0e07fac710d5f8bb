"""Counts what ended without a score, each cause once. Work still to be done is no failure.

A skipped sample counts once, for any number of edit models; a failed edit counts once, for any number of judges. Its
judgements have not failed: there is no edit to judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from edit_eval.records import JUDGE_FAILED, NO_EDIT, Results, Status

_LONGEST = 10_000
_SET_ASIDE = re.compile(r"failed \d+ times; the last time: ")
"""Beginning of the engine's reason for tasks that failed too often to be tried once more."""

ANY = "\u2026"
"""What a reason has in place of the id of its own sample."""

_Found = tuple[Status, str, str, str, str, str]
"""(status, reason, sample, edit model, judge, score)"""


@dataclass
class FailureGroup:
    """Samples, edits or judgements that ended without a score, with the same status for the same reason."""

    status: Status
    """As in [coverage](#coverage)."""
    reason: str
    """On one line, with the sample's own id, and quotes around it, written as `ANY`, so that equal failures are one."""
    edit_model: str
    """Empty for a skipped sample."""
    judge: str
    """Empty for a skipped sample and for an edit."""
    set_aside: bool
    """True if it was tried again, and failed again."""
    count: int = 0
    """How many ended so."""
    samples: list[str] = field(default_factory=list)
    """Ids of their samples, each once."""
    score: str = ""
    """Name of the missing score if the headline is there; else empty."""


def failures(results: Results) -> list[FailureGroup]:
    """Returns failures in groups: skipped samples, then edits, then judgements; the most frequent first within each."""
    return sorted(
        _group_failures(_each(results)), key=lambda group: (bool(group.edit_model), bool(group.judge), -group.count)
    )


def missing_scores(results: Results) -> list[FailureGroup]:
    """Returns why scores are missing beside a headline, most frequent first: these are no failed judgements."""
    return sorted(_group_failures(_each_missing_score(results)), key=lambda group: -group.count)


def every_failure(results: Results) -> list[FailureGroup]:
    """Returns both, most frequent first; each group's samples once, in the benchmark's order."""
    place = {sample.id: sample.index for sample in results.samples}
    groups = [
        replace(group, samples=sorted(set(group.samples), key=lambda sample: (place.get(sample, -1), sample)))
        for group in (*failures(results), *missing_scores(results))
    ]
    return sorted(
        groups,
        key=lambda group: (
            -group.count,
            group.score,
            group.status,
            group.reason,
            group.edit_model,
            group.judge,
            group.set_aside,
        ),
    )


def _group_failures(rows: Iterable[_Found]) -> list[FailureGroup]:
    groups: dict[tuple[Status, str, str, str, bool, str], FailureGroup] = {}
    for status, reason, sample, edit_model, judge, score in rows:
        text, repeated = _SET_ASIDE.subn("", " ".join(reason[:_LONGEST].split()), count=1)
        # Whole words only: the id `1` is no part of `12 GiB`.
        whole = rf"(?<!\w)(['\"]?){re.escape(' '.join(sample.split()))}\1(?!\w)"
        text = re.sub(whole, ANY, text) if sample else text
        key = (status, text, edit_model, judge, bool(repeated), score)
        group = groups.setdefault(key, FailureGroup(*key[:5], score=score))
        group.count += 1
        if sample not in group.samples[-1:]:
            group.samples.append(sample)
    return list(groups.values())


def _each(results: Results) -> Iterator[_Found]:
    """Yields every failure, in the order of the records."""
    for sample in results.samples:
        if sample.fault:
            yield Status.SKIPPED, sample.fault, sample.id, "", "", ""
    for edit in results.edits:
        if edit.status in NO_EDIT:
            yield edit.status, edit.reason, edit.sample_id, edit.edit_model, "", ""
    for judgement in results.coverage_judgements:
        if judgement.status in JUDGE_FAILED:
            about = f"{judgement.edit_model} : {judgement.other}" if judgement.other else judgement.edit_model
            yield judgement.status, judgement.reason, judgement.sample_id, about, judgement.judge, ""


def _each_missing_score(results: Results) -> Iterator[_Found]:
    for judgement in results.judgements:
        if judgement.status is Status.OK:
            for score, (status, reason) in judgement.missing.items():
                if status in JUDGE_FAILED:
                    yield status, reason, judgement.sample_id, judgement.edit_model, judgement.judge, score
