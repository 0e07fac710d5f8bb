"""Counts while a run goes on: what is settled, what failed, and which category has just had its last score."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from rich.cells import cell_len

from edit_eval.records import CONTROL, JUDGE_FAILED, NO_EDIT, Edit, Judgement, Status
from edit_eval.reporting.language import said
from edit_eval.reporting.names import short_category
from edit_eval.reporting.progress.view import CategoryDone, Count, MeanSoFar, mean_so_far
from edit_eval.store.matrix import Matrix

Address = tuple[str, str, int, str, int]
"""Sample, edit model (of a battle both), edit seed, judge, repeat; of an edit no judge."""
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


@dataclass
class _Statuses:
    """Of things by their address, and how many have each."""

    of: dict[Address, Status] = field(default_factory=dict)
    counts: Counter[Status] = field(default_factory=Counter)

    def put(self, address: Address, status: Status) -> Status | None:
        """Takes in a status; returns the one before."""
        before = self.of.get(address)
        self.of[address] = status
        self.counts[status] += 1
        if before is not None:
            self.counts[before] -= 1
        return before


@dataclass
class _Group:
    """The judgements of a category."""

    total: int = 0
    pending: int = 0
    scores: dict[Address, float] = field(default_factory=dict)
    sum: float = 0.0

    def put(self, address: Address, score: float | None) -> None:
        """Takes in a headline; one that was there before no longer counts."""
        self.sum += (score or 0.0) - self.scores.pop(address, 0.0)
        if score is not None:
            self.scores[address] = score


class Tally:
    """Knows the status of every edit and judgement, of a shard those of its own samples.

    Being told the same thing twice changes nothing.
    """

    def __init__(self, matrix: Matrix) -> None:
        self._scoring = {judge.name: judge.scoring for judge in matrix.judges}
        self._repeats, self._critics = matrix.experiment.repeats, matrix.experiment.critics
        self._several_edit_models = len(matrix.edit_models) > 1
        self._several_judges = len(matrix.judges) > 1
        self._several_seeds = matrix.experiment.edit_seeds > 1
        self._language = matrix.experiment.language
        self._edits, self._judgements, self._controls = _Statuses(), _Statuses(), _Statuses()
        self._groups: dict[Group, _Group] = {}
        self._means: tuple[MeanSoFar, ...] | None = None
        self.edit_rate, self.judgement_rate = Rate(), Rate()
        own = matrix.own
        for edit in matrix.edits:
            if own is None or edit.sample_id in own:
                self._edits.put(address_of(edit), edit.status)
        for one in matrix.judgements():
            if own is not None and one.sample_id not in own:
                continue
            address, group = address_of(one), self._groups.setdefault(group_of(one), _Group())
            self._judgements.put(address, one.status)
            group.total += 1
            group.pending += one.status is Status.PENDING
            group.put(address, one.scores.get(self._scoring[one.judge].headline))
        self._matrix, self._rounds = matrix, 0
        self._take_battles()
        for one in (*matrix.controls(), *matrix.rewrites()):
            if own is None or one.sample_id in own:
                self._controls.put(address_of(one), one.status)

    def _take_battles(self) -> None:
        """Those of rounds that have begun since, too."""
        if self._rounds != self._matrix.rounds:
            self._rounds, own = self._matrix.rounds, self._matrix.own
            for one in self._matrix.battles():
                if own is None or one.sample_id in own:
                    self._judgements.put(address_of(one), one.status)

    def edit(self, edit: Edit, now: float) -> None:
        """An edit has come to its end."""
        if self._edits.put(address_of(edit), edit.status) is not edit.status:
            self.edit_rate.add(now)

    def judgement(self, judgement: Judgement, now: float) -> CategoryDone | None:
        """A judgement has come to its end, perhaps for want of an edit; the last one of a category sums that up."""
        address, status = address_of(judgement), judgement.status
        if is_control(judgement):
            self._controls.put(address, status)
            return None
        if status not in (*NO_EDIT, Status.SKIPPED):
            self.judgement_rate.add(now)
        if judgement.other:  # it has no mean
            self._take_battles()
            self._judgements.put(address, status)
            return None
        key = group_of(judgement)
        group, before = self._groups[key], self._judgements.put(address, status)
        group.put(address, judgement.scores.get(self._scoring[judgement.judge].headline))
        self._means = None
        if before is not Status.PENDING or status is Status.PENDING:
            return None
        group.pending -= 1
        return None if group.pending else self._category(key, group)

    def _category(self, key: Group, group: _Group) -> CategoryDone:
        category, edit_model, judge = key
        scores = group.scores.values()
        return CategoryDone(
            label=" · ".join([said(short_category(category), self._language), *self._models(edit_model, judge)]),
            scored=len(scores),
            total=group.total,
            mean=math.fsum(scores) / len(scores) if scores else None,
            low=min(scores, default=None),
            high=max(scores, default=None),
            scale=self._scoring[judge].scale,
        )

    def _models(self, edit_model: str, judge: str) -> Iterator[str]:
        if self._several_edit_models:
            yield edit_model
        if self._several_judges and judge:
            yield judge

    def label(self, address: Address) -> str:
        """A name that tells one edit or judgement of the run from the others."""
        sample, edit_model, edit_seed, judge, repeat = address
        parts = [sample, *self._models(edit_model, judge)]
        if self._several_seeds:
            parts.append(f"edit {edit_seed}")
        if self._repeats > 1 and judge:
            parts.append(f"repeat {repeat}")
        return " · ".join(parts)

    @property
    def longest_label(self) -> int:
        """Terminal columns of the longest label of a judgement."""
        return max((cell_len(self.label(address)) for address in self._judgements.of), default=0)

    def counts(self, now: float) -> tuple[Count, Count, Count]:
        """Edits, judgements and controls; what belongs to a skipped sample is in none."""
        return (
            _count(self._edits.counts, NO_EDIT, self.edit_rate.per_minute(now)),
            _count(self._judgements.counts, JUDGE_FAILED, self.judgement_rate.per_minute(now)),
            _count(self._controls.counts, JUDGE_FAILED, None),
        )

    @property
    def means(self) -> tuple[MeanSoFar, ...]:
        """The mean of each edit model by each judge."""
        if self._means is None:
            sums: dict[tuple[str, str], list[tuple[int, float]]] = {}
            for (_, edit_model, judge), group in self._groups.items():
                sums.setdefault((edit_model, judge), []).append((len(group.scores), group.sum))
            self._means = tuple(
                mean_so_far(edit_model, judge, self._scoring[judge], found)
                for (edit_model, judge), found in sums.items()
                if judge not in self._critics
            )
        return self._means


def address_of(record: Edit | Judgement) -> Address:
    """Which edit or judgement it is."""
    if not isinstance(record, Judgement):
        return record.sample_id, record.edit_model, record.edit_seed, "", 0
    whose = f"{record.edit_model} : {record.other}" if record.other else record.edit_model
    return record.sample_id, whose, record.edit_seed, record.judge, record.repeat


def group_of(judgement: Judgement) -> Group:
    """To which category it counts."""
    return judgement.category, judgement.edit_model, judgement.judge


def is_control(judgement: Judgement) -> bool:
    """Whether it is of something that no edit model made."""
    return judgement.edit_model.startswith(CONTROL)


def _count(counts: Counter[Status], failures: Iterable[Status], per_minute: float | None) -> Count:
    failed = sum(counts[status] for status in failures)
    total = counts.total() - counts[Status.SKIPPED]
    settled = total - counts[Status.PENDING]
    # A rate means something only while there is more to come.
    return Count(counts[Status.OK], failed, total, settled, per_minute if settled < total else None)
