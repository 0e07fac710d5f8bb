"""What ended without a score, each cause counted once. What is still to be done is no failure.

A skipped sample counts once, whatever models would have edited it; a failed edit counts once, whatever judges would
have seen it. Their judgements have not failed: there is no edit to judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from edit_eval.records import JUDGE_FAILED, NO_EDIT, Results, Status

_LONGEST = 10_000
_SET_ASIDE = re.compile(r"failed \d+ times; the last time: ")
"""How the engine begins the reason of what failed too often to be tried once more."""

_Found = tuple[Status, str, str, str, str, str]
"""(status, reason, sample, edit model, judge, score)"""


@dataclass
class FailureGroup:
    """Samples, edits or judgements that ended without a score, with the same status for the same reason."""

    status: Status
    reason: str
    """On one line; the sample's own id in it is written `<sample>`, so that equal failures are one."""
    edit_model: str
    """Empty for a skipped sample."""
    judge: str
    """Empty for a skipped sample and for an edit."""
    set_aside: bool
    """It was tried again, and failed again."""
    count: int = 0
    samples: list[str] = field(default_factory=list)
    score: str = ""
    """Which score is missing where the headline is there; else empty."""


def failures(results: Results) -> list[FailureGroup]:
    """All failures, grouped: skipped samples, then edits, then judgements; the most frequent first within each."""
    return sorted(_grouped(_each(results)), key=lambda one: (bool(one.edit_model), bool(one.judge), -one.count))


def missing_scores(results: Results) -> list[FailureGroup]:
    """Why scores are missing beside a headline that is there, the most frequent first: no judgement failed over it."""
    return sorted(_grouped(_beside_the_headline(results)), key=lambda one: -one.count)


def failures_document(results: Results) -> list[dict[str, Any]]:
    """All of both as plain data, the most frequent first; samples are in the benchmark's order."""
    place = {sample.id: sample.index for sample in results.samples}
    found = [
        {
            **asdict(one),
            "status": one.status.value,
            "samples": sorted(set(one.samples), key=lambda sample: (place.get(sample, -1), sample)),
        }
        for one in (*failures(results), *missing_scores(results))
    ]
    named = ("score", "status", "reason", "edit_model", "judge", "set_aside")
    return sorted(found, key=lambda one: (-one["count"], *(one[name] for name in named)))


def _grouped(found: Iterable[_Found]) -> list[FailureGroup]:
    groups: dict[tuple[Status, str, str, str, bool, str], FailureGroup] = {}
    for status, reason, sample, edit_model, judge, score in found:
        text, repeated = _SET_ASIDE.subn("", " ".join(reason[:_LONGEST].split()), count=1)
        # As a word: the id `1` is no part of `12 GiB`.
        text = re.sub(rf"(?<!\w){re.escape(' '.join(sample.split()))}(?!\w)", "<sample>", text) if sample else text
        key = (status, text, edit_model, judge, bool(repeated), score)
        group = groups.setdefault(key, FailureGroup(*key[:5], score=score))
        group.count += 1
        if sample not in group.samples[-1:]:
            group.samples.append(sample)
    return list(groups.values())


def _each(results: Results) -> Iterator[_Found]:
    """Every failure, in the order of the records."""
    for sample in results.samples:
        if sample.fault:
            yield Status.SKIPPED, sample.fault, sample.id, "", "", ""
    for edit in results.edits:
        if edit.status in NO_EDIT:
            yield edit.status, edit.reason, edit.sample_id, edit.edit_model, "", ""
    for one in results.judgements:
        if one.status in JUDGE_FAILED:
            yield one.status, one.reason, one.sample_id, one.edit_model, one.judge, ""
    for one in results.battles:
        if one.status in JUDGE_FAILED:
            yield one.status, one.reason, one.sample_id, f"{one.edit_model} : {one.other}", one.judge, ""


def _beside_the_headline(results: Results) -> Iterator[_Found]:
    for one in results.judgements:
        if one.status is Status.OK:
            for score, (status, reason) in one.missing.items():
                if status in JUDGE_FAILED:
                    yield status, reason, one.sample_id, one.edit_model, one.judge, score
