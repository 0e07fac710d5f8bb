"""The pilot: before the bulk, one sample of each category, and at least three, goes through edit, judge and parser.

It covers every edit model and judge that the records do not show at work yet: each such model edits those samples,
each such judge judges the first edit model's edits of them. It stops the run only if every edit of such a model, or
every judgement by such a judge, failed, and at least three did: the rest of the night would then fail the same way.
If fewer could be tried (other edits of the pilot failed), the next ones decide. Single failures are results like any
other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Sequence
from typing import Any, NamedTuple

from edit_eval.judges.answers import LIMITS
from edit_eval.records import NO_EDIT, Edit, Judgement, Status
from edit_eval.scheduling.batches import FEWEST_IN_PILOT, first_samples
from edit_eval.store.matrix import Matrix
from edit_eval.text import Text


class PilotCells(NamedTuple):
    """Cells of the pilot: numbers of edits and of judgements in a matrix."""

    edits: frozenset[int] = frozenset()
    judgements: frozenset[int] = frozenset()


def choose_pilot(matrix: Matrix, mine: Container[int] | None = None) -> PilotCells:
    """Returns the cells that come first: those of the first samples (`first_samples`) with work left for a model.

    With `mine`, positions of samples, only those are considered. Returns none when the records show every model at
    work, or when the pilot would be the whole run.
    """
    at_work = models_at_work(matrix)
    first = [m for m, identity in enumerate(matrix.edit_models) if identity.name not in matrix.experiment.refinements]
    edit_models = [m for m in first if f"edit:{matrix.edit_models[m].name}" not in at_work]
    judges = [
        j
        for j, judge in enumerate(matrix.judges)
        if f"judge:{judge.name}" not in at_work and not judge.before_edits and first
    ]
    cells = {position: _cells(matrix, position, edit_models, judges) for position in range(len(matrix.samples))}
    if mine is not None:
        cells = {position: of_sample for position, of_sample in cells.items() if position in mine}
    left = [position for position, of_sample in cells.items() if of_sample.edits or of_sample.judgements]
    first = first_samples([matrix.samples[position].category for position in left])
    if len(first) == len(left):
        return PilotCells()
    chosen = [cells[left[number]] for number in first]
    return PilotCells(
        frozenset().union(*(of_sample.edits for of_sample in chosen)),
        frozenset().union(*(of_sample.judgements for of_sample in chosen)),
    )


def _cells(matrix: Matrix, position: int, edit_models: Sequence[int], judges: Sequence[int]) -> PilotCells:
    """Returns what these models have not done yet for a sample. Judges take the first edit model that has not failed,
    judges that compare the first battle whose edits have not."""
    refined = matrix.experiment.refinements
    numbers = [matrix.cells.edit(model, 0, position) for model in range(len(matrix.edit_models))]
    edits = [numbers[model] for model in edit_models if matrix.edits[numbers[model]].status is Status.PENDING]
    firsts = (n for model, n in zip(matrix.edit_models, numbers, strict=True) if model.name not in refined)
    to_judge = next((n for n in firsts if matrix.edits[n].status in (Status.OK, Status.PENDING)), None)
    of_one = [judge for judge in judges if not matrix.judges[judge].of_two]
    judged = [] if to_judge is None else [matrix.cells.judgement(to_judge, judge, 0) for judge in of_one]
    judged += filter(None, (_first_battle(matrix, position, judge) for judge in judges if judge not in of_one))
    return PilotCells(frozenset(edits), frozenset(filter(matrix.is_pending, judged)))


def _first_battle(matrix: Matrix, position: int, judge: int) -> int | None:
    for battle in matrix.battles_of(position):
        if all(matrix.edits[edit].status in (Status.OK, Status.PENDING) for edit in matrix.visible_edits_of(battle)):
            for number in matrix.cells.judgements_of(battle):
                if matrix.cells.judgement_parts(number)[1] == judge:
                    return number
    return None


def models_at_work(matrix: Matrix) -> set[str]:
    """Returns the models (`edit:NAME`, `judge:NAME`) that have made an edit, or given an answer with a score."""
    models = {f"edit:{edit.edit_model}" for edit in matrix.edits if edit.status is Status.OK}
    for number in range(matrix.cells.judgements):
        edit, judge, _ = matrix.cells.judgement_parts(number)
        key = f"judge:{matrix.judges[judge].name}"
        if key in models or not matrix.cells.kind(edit).counts or matrix.is_pending(number):
            continue
        if matrix.judgement(number).status is Status.OK:
            models.add(key)
    return models


class Pilot:
    """Watches what is recorded, and passes everything on to the real audience."""

    def __init__(
        self,
        matrix: Matrix,
        cells: PilotCells,
        audience: Any,
        when_over: Callable[[bool], None],
        when_failed: Callable[[str], None],
    ) -> None:
        """`when_over` is called with whether every model that the pilot covers has been seen at work; `when_failed`
        instead, with what to do, once all that a model has to show is recorded and failed."""
        self._matrix = matrix
        self._audience = audience
        self._when_over, self._when_failed = when_over, when_failed
        self._at_work = models_at_work(matrix)
        self._edits: dict[str, list[int]] = {}  # what each edit model, and judge, has to show
        self._judgements: dict[str, list[int]] = {}
        for number in sorted(cells.edits):
            self._edits.setdefault(f"edit:{matrix.edits[number].edit_model}", []).append(number)
        for number in sorted(cells.judgements):
            judge = matrix.judges[matrix.cells.judgement_parts(number)[1]].name
            self._judgements.setdefault(f"judge:{judge}", []).append(number)
        self._covered = {*self._edits, *self._judgements}
        self._failed: dict[str, list[Edit | Judgement]] = {key: [] for key in self._covered}  # until it is at work
        self._over = not self._covered

    def edit(self, edit: Edit) -> None:
        """Passes on an edit."""
        self._audience.edit(edit)
        self._check_pilot(f"edit:{edit.edit_model}", edit)

    def judgement(self, judgement: Judgement) -> None:
        """Passes on a judgement."""
        self._audience.judgement(judgement)
        if judgement.status not in (*NO_EDIT, Status.SKIPPED) and judgement.kind in ("edit", "battle"):
            self._check_pilot(f"judge:{judgement.judge}", judgement)

    def _check_pilot(self, key: str, record: Edit | Judgement) -> None:
        if record.status is Status.OK:
            self._at_work.add(key)
        if self._over and self._covered <= self._at_work:
            return
        if key in self._failed and record.status is not Status.OK:
            self._failed[key].append(record)
        edits = self._matrix.edits
        pending = {key for key, of in self._edits.items() if any(edits[n].status is Status.PENDING for n in of)}
        pending |= {key for key, numbers in self._judgements.items() if any(map(self._matrix.is_pending, numbers))}
        for model in self._covered - self._at_work - pending:
            if len(self._failed[model]) >= FEWEST_IN_PILOT:
                self._over, self._covered = True, set()  # said once, whatever still comes of what is under way
                return self._when_failed(self._describe_failure(self._failed[model]))
        if not pending and not self._over:
            self._over = True
            self._when_over(self._covered <= self._at_work)

    def _describe_failure(self, failed: Sequence[Edit | Judgement]) -> str:
        last = failed[-1]
        judged = [failure for failure in failed if isinstance(failure, Judgement)]
        way = next(
            (judge.advice(judged) for judge in self._matrix.judges if judged and judge.name == judged[-1].judge), ""
        )
        statuses = ",".join(dict.fromkeys(failure.status.value for failure in failed))
        mend = Text("{}, then run again with --retry {}", way or Text("fix that"), statuses)
        if isinstance(last, Edit):
            what = Text("all of the first {} edits by {} failed ({})", len(failed), last.edit_model, last.reason)
        else:
            of = len(failed), last.judge, last.status.value, last.reason
            what = Text("none of the first {} answers by {} is a score: {} ({})", *of)
        return Text("pilot: {}; {}", what, mend)


def cut_off_sentences(matrix: Matrix, judgements: Collection[int]) -> list[str]:
    """Returns a sentence for each judge whose first answers to some of these judgements were cut off."""
    asked: dict[str, list[bool]] = {}
    for number in sorted(judgements):
        first = [replies[0] for replies in map(matrix.replies, matrix.cells.cells_of(number)) if replies]
        if first:
            judge = matrix.judges[matrix.cells.judgement_parts(number)[1]].name
            asked.setdefault(judge, []).append(any(reply.ended is Status.CUT_OFF for reply in first))
    return [
        Text(
            "{} was cut off in {} of its first {} answers: raise its limit ({: or })", judge, sum(cut), len(cut), LIMITS
        )
        for judge, cut in asked.items()
        if any(cut)
    ]
