"""Counts while a run goes on: what is settled, what failed, and which category has just had its last score."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from rich.cells import cell_len

from edit_eval.records import Edit, Judgement, Status
from edit_eval.reporting.failures import JUDGE_FAILED
from edit_eval.reporting.progress_view import CategoryDone, Count
from edit_eval.reporting.texts import short_category
from edit_eval.store.matrix import Matrix

EditAddress = tuple[str, str, int]
"""Sample, edit model, edit seed."""
Address = tuple[str, str, int, str, int]
"""Sample, edit model, edit seed, judge, repeat."""
Group = tuple[str, str, str]
"""Category, edit model, judge."""

_RATE_OVER = 100
"""Over how many of the last edits or judgements a rate is taken."""


@dataclass
class Rate:
    """How often something happened of late."""

    _times: deque[float] = field(default_factory=lambda: deque(maxlen=_RATE_OVER + 1))

    def begin(self, now: float) -> None:
        """From now on it can happen."""
        if not self._times:
            self._times.append(now)

    def add(self, now: float) -> None:
        """It happened."""
        self._times.append(now)

    def per_minute(self, now: float) -> float | None:
        """Times a minute; None before the first."""
        if len(self._times) < 2 or now <= self._times[0]:
            return None
        return 60 * (len(self._times) - 1) / (now - self._times[0])


class Tally:
    """Knows the status of every edit and judgement. Being told the same thing twice changes nothing."""

    def __init__(self, matrix: Matrix) -> None:
        self._judges = [judge.name for judge in matrix.judges]
        self._repeats = matrix.repeats
        self._several_edit_models = len(matrix.edit_models) > 1
        self._several_judges = len(matrix.judges) > 1
        self._several_seeds = matrix.edit_seeds > 1
        self._language = next((sample.language for sample in matrix.samples), "en")
        self._edits: dict[EditAddress, Status] = {}
        self._judgements: dict[Address, Status] = {}
        self._scores: dict[Address, float] = {}
        self._groups: dict[Group, list[Address]] = {}
        self._group_of: dict[Address, Group] = {}
        self._pending: Counter[Group] = Counter()
        self._edit_counts: Counter[Status] = Counter()
        self._judgement_counts: Counter[Status] = Counter()
        self.edit_rate, self.judgement_rate = Rate(), Rate()
        for edit in matrix.edits:
            self._edits[edit.sample_id, edit.edit_model, edit.edit_seed] = edit.status
            self._edit_counts[edit.status] += 1
        for judgement in matrix.judgements():
            address, group = address_of(judgement), (judgement.category, judgement.edit_model, judgement.judge)
            self._judgements[address] = judgement.status
            self._judgement_counts[judgement.status] += 1
            self._groups.setdefault(group, []).append(address)
            self._group_of[address] = group
            self._pending[group] += judgement.status is Status.PENDING
            if judgement.score is not None:
                self._scores[address] = judgement.score

    def edit(self, edit: Edit, now: float) -> list[CategoryDone]:
        """An edit has come to its end. Without one, its judgements have come to theirs."""
        address = (edit.sample_id, edit.edit_model, edit.edit_seed)
        before = self._edits[address]
        if before is edit.status:
            return []
        self._edits[address] = edit.status
        self._edit_counts[before] -= 1
        self._edit_counts[edit.status] += 1
        self.edit_rate.add(now)
        if edit.status is not Status.EDIT_FAILED:
            return []
        done = (
            self._settle((*address, judge, repeat), Status.EDIT_FAILED)
            for judge in self._judges
            for repeat in range(self._repeats)
        )
        return [one for one in done if one is not None]

    def judgement(self, judgement: Judgement, now: float) -> list[CategoryDone]:
        """A judgement has come to its end."""
        address = address_of(judgement)
        if judgement.score is not None:
            self._scores[address] = judgement.score
        self.judgement_rate.add(now)
        done = self._settle(address, judgement.status)
        return [done] if done else []

    def _settle(self, address: Address, status: Status) -> CategoryDone | None:
        before, group = self._judgements[address], self._group_of[address]
        self._judgements[address] = status
        self._judgement_counts[before] -= 1
        self._judgement_counts[status] += 1
        if before is not Status.PENDING or status is Status.PENDING:
            return None
        self._pending[group] -= 1
        return None if self._pending[group] else self._category(group)

    def _category(self, group: Group) -> CategoryDone:
        category, edit_model, judge = group
        scores = [self._scores[address] for address in self._groups[group] if address in self._scores]
        return CategoryDone(
            label=" · ".join([short_category(category, self._language), *self._models(edit_model, judge)]),
            scored=len(scores),
            total=len(self._groups[group]),
            mean=math.fsum(scores) / len(scores) if scores else None,
            low=min(scores, default=None),
            high=max(scores, default=None),
        )

    def _models(self, edit_model: str, judge: str) -> Iterator[str]:
        if self._several_edit_models:
            yield edit_model
        if self._several_judges and judge:
            yield judge

    def label(self, sample: str, edit_model: str, edit_seed: int, judge: str = "", repeat: int = 0) -> str:
        """A name that tells one edit or judgement of the run from the others."""
        parts = [sample, *self._models(edit_model, judge)]
        if self._several_seeds:
            parts.append(f"edit {edit_seed}")
        if self._repeats > 1 and judge:
            parts.append(f"repeat {repeat}")
        return " · ".join(parts)

    @property
    def longest_label(self) -> int:
        """Terminal columns of the longest label of a judgement."""
        return max((cell_len(self.label(*address)) for address in self._judgements), default=0)

    def counts(self, now: float) -> tuple[Count, Count]:
        """Edits and judgements; what belongs to a skipped sample is in neither."""
        edits, judgements = self._edit_counts, self._judgement_counts
        return (
            _count(edits, edits[Status.EDIT_FAILED], self.edit_rate.per_minute(now)),
            _count(
                judgements,
                sum(judgements[status] for status in JUDGE_FAILED),
                self.judgement_rate.per_minute(now),
            ),
        )


def address_of(judgement: Judgement) -> Address:
    """Which judgement it is."""
    return (judgement.sample_id, judgement.edit_model, judgement.edit_seed, judgement.judge, judgement.repeat)


def _count(counts: Counter[Status], failed: int, per_minute: float | None) -> Count:
    total = counts.total() - counts[Status.SKIPPED]
    settled = total - counts[Status.PENDING]
    # A rate means something only while there is more to come.
    return Count(counts[Status.OK], failed, total, settled, per_minute if settled < total else None)
