"""Turns the unfinished part of a matrix into tasks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import product

from edit_eval.execution.engine.pilot import PilotCells
from edit_eval.records import Status
from edit_eval.scheduling.tasks import ANSWERS_FROM, PILOT, TaskList, Work
from edit_eval.store.answers import Lookup
from edit_eval.store.matrix import Matrix
from edit_eval.store.subjects.contract import Kind
from edit_eval.store.subjects.kinds import EDITS, kinds


def work_number(cell: int) -> int:
    """Returns the number by which `Work` knows a cell; smaller numbers are edits."""
    return ANSWERS_FROM + cell


def fill_work(
    work: Work | TaskList,
    matrix: Matrix,
    batches: Mapping[str, Sequence[int]],
    *,
    by_category: bool = False,
    pilot: PilotCells = PilotCells(),  # noqa: B008 (it cannot change)
    mine: Container[int] | None = None,
    added: Container[int] | None = None,
) -> None:
    """Adds a task for every pending edit and every batch with a pending cell.

    `batches[judge][index]` is the batch of the sample with that index in the whole benchmark (see
    `edit_eval.scheduling.batches`). A batch goes to the judge whole: members that are answered already keep the others
    company. With `by_category` each category is a phase of its own. Batches with a judgement in `pilot` are part of the
    pilot, and so are the edits that they wait for.

    With `mine`, positions of samples, only those are done: the others are another shard's, and no batch mixes them.
    With `added`, subjects (`Matrix.unfold_more`), only those are added: the rest is there already, or done.

    A batch waits for the edits that its subjects wait for, and for the cells whose replies its questions need.
    """
    made_with = matrix.experiment.base_model_of
    phases = _phases(matrix) if by_category else [0] * len(matrix.samples)
    asked, beside = list[list[int]](), list[list[int]]()  # what counts may be part of a pilot, what does not comes last
    for judge in range(len(matrix.judges)):
        asked += _batches(matrix, judge, batches) if added is None else []
        for kind in kinds().values():
            if kind is not EDITS:
                (asked if kind.counts else beside).extend(_batches_of_kind(matrix, kind, judge, batches))
    if added is not None:
        asked, beside = ([cells for cells in some if matrix.cells.about(cells[0]) in added] for some in (asked, beside))
    if mine is not None:
        asked, beside = (
            [cells for cells in some if matrix.cells.sample(matrix.cells.about(cells[0])) in mine]
            for some in (asked, beside)
        )
    early = {
        cell
        for cells in asked
        if any(matrix.cells.judgement_of(c) in pilot.judgements for c in cells)
        for cell in cells
    }
    shown = {edit for cell in early for edit in matrix.visible_edits_of(matrix.cells.about(cell))}
    first = pilot.edits | {edit for edit in shown if _is_pending(matrix, edit)}
    first |= {origin for edit in first for origin in _origins(matrix, edit)}

    def phase(edits: Iterable[int], is_pilot: bool) -> int:
        """The latest phase of the edits that a task is about, so that no task waits for a phase that it holds back."""
        return PILOT if is_pilot else max((phases[matrix.cells.sample(edit)] for edit in edits), default=0)

    # In the order of their phases: a task begins at once if nothing of an earlier phase has been added.
    edits = [
        (phase([number], number in first), f"edit:{made_with(edit.edit_model)}", [number])
        for number, edit in enumerate(matrix.edits)
        if added is None and _is_pending(matrix, number) and (mine is None or matrix.cells.sample(number) in mine)
    ]
    judging = [
        (
            phase((edit for cell in cells for edit in find_required_edits(matrix, cell)), cells[0] in early),
            f"judge:{matrix.judge_of(cells[0]).name}",
            cells,
        )
        for cells in (*asked, *beside)
    ]
    for its_phase, model, units in sorted([*edits, *judging], key=lambda task: task[0]):
        waits = _edit_waits if model.startswith("edit:") else _cell_waits
        by_the_way = model.startswith("judge:") and matrix.cells.kind(matrix.cells.about(units[0])).by_the_way
        work.add(model, units, after=waits(matrix, units), phase=its_phase, by_the_way=by_the_way)


def _phases(matrix: Matrix) -> list[int]:
    """Returns each sample's phase: its category's place, or that of a sample it follows, whichever is later."""
    categories = list(dict.fromkeys(sample.category for sample in matrix.samples))
    phases = [categories.index(sample.category) for sample in matrix.samples]
    follows = matrix.experiment.predecessors
    for position in follows:
        before = position
        while before in follows:
            before = follows[before]
            phases[position] = max(phases[position], phases[before])
    return phases


def edit_needs(matrix: Matrix, edit: int) -> list[int]:
    """Returns what an edit waits for, in the numbers of `Work`: the edit it is made from, and the answers that
    instruct it."""
    before, critique = matrix.origins.source_edit_of(edit), matrix.critiques.critique_of(edit)
    cells = matrix.cells.cells_of(critique) if critique is not None else ()
    return [*([] if before is None else [before]), *(work_number(cell) for cell in cells)]


def _is_to_come(matrix: Matrix, what: int) -> bool:
    """True if the edit or cell with this number in `Work` is unfinished."""
    cell = what - ANSWERS_FROM
    return is_left(matrix, cell) if cell >= 0 else _is_pending(matrix, what)


def _edit_waits(matrix: Matrix, edits: Sequence[int]) -> list[int]:
    return [need for edit in edits for need in edit_needs(matrix, edit) if _is_to_come(matrix, need)]


def _cell_waits(matrix: Matrix, cells: Sequence[int]) -> list[int]:
    """Returns the edits and cells that a batch waits for."""
    edits = dict.fromkeys(
        edit for cell in cells for edit in find_required_edits(matrix, cell) if _is_pending(matrix, edit)
    )
    before = (earlier for cell in cells for earlier in matrix.cells.prerequisites_of(cell).values())
    unanswered = (earlier for earlier in before if is_left(matrix, earlier))
    return [*edits, *(work_number(cell) for cell in dict.fromkeys(unanswered))]


def find_required_edits(matrix: Matrix, cell: int) -> tuple[int, ...]:
    """Returns the edits that come before a cell."""
    number = matrix.cells.about(cell)
    return matrix.cells.kind(number).waits_for(matrix, number)


def is_left(matrix: Matrix, cell: int) -> bool:
    """True if a cell is still to be answered, or its edit is still to come."""
    lacking = matrix.what_lacks(matrix.cells.about(cell))
    return (lacking or (matrix.reading(cell).status,))[0] is Status.PENDING


def count_remaining_work(matrix: Matrix) -> dict[str, tuple[int, int]]:
    """Returns how many edits of each model, and questions of each judge, are left, and how many about controls.

    Of battles the most, with those of rounds that may not be asked.
    """
    edits = Counter(matrix.experiment.base_model_of(e.edit_model) for e in matrix.edits if e.status is Status.PENDING)
    asked: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    seen = set[Lookup]()
    for cell in range(len(matrix.cells)):
        subject = matrix.cells.about(cell)
        control = matrix.cells.kind(subject).by_the_way
        if is_left(matrix, cell):
            if matrix.can_be_asked(cell):
                if (lookup := matrix.lookup(cell)) in seen:
                    continue
                seen.add(lookup)
            asked[matrix.judge_of(cell).name][control] += 1
    for later in (more for kind in kinds().values() for more in kind.unfold_more(matrix, every=True)):
        for judge in later.judges:
            name, often = matrix.judges[judge].name, matrix.cells.repeats[judge] * matrix.experiment.readings
            asked[name][0] += often * len(matrix.experiment.questions_by_judge[name][later.sample])
    work = {f"edit:{name}": (count, 0) for name, count in edits.items()}
    return work | {f"judge:{name}": (of[0], of[1]) for name, of in asked.items()}


def _origins(matrix: Matrix, edit: int) -> Iterator[int]:
    """Yields the pending edits of the samples that this edit's sample follows."""
    before = matrix.origins.predecessor(edit)
    while before is not None and _is_pending(matrix, before):
        yield before
        before = matrix.origins.predecessor(before)


def _is_pending(matrix: Matrix, edit: int) -> bool:
    return matrix.edits[edit].status is Status.PENDING


def _batches(matrix: Matrix, judge: int, batches: Mapping[str, Sequence[int]]) -> list[list[int]]:
    """Returns the cells about edits that a judge is asked together, in the order of edit models, edit seeds, repeats
    and readings."""
    of_sample, experiment = batches[matrix.judges[judge].name], matrix.experiment
    asked = list[list[int]]()
    if judge not in matrix.cells.judges_of_one:
        return asked
    for model, edit_seed, repeat, reading in product(
        range(len(matrix.edit_models)),
        range(experiment.edit_seeds),
        range(matrix.cells.repeats[judge]),
        range(experiment.readings),
    ):
        members: dict[str, dict[int, list[int]]] = {}
        for position, sample in enumerate(matrix.samples):
            number = matrix.cells.judgement(matrix.cells.edit(model, edit_seed, position), judge, repeat)
            questions = matrix.cells.questions_of(number)
            first = matrix.cells.cells_of(number).start + reading * len(questions)
            for n, question in enumerate(questions):
                members.setdefault(question.question.name, {}).setdefault(of_sample[sample.index], []).append(first + n)
        for of_question in members.values():
            for cells in of_question.values():
                asked += _batches_left(matrix, cells)
    if max(Counter(of_sample).values(), default=1) == 1:  # a server reuses what requests share
        asked.sort(key=lambda cells: _batch_sort_key(matrix, cells[0]))
    return asked


def _batch_sort_key(matrix: Matrix, cell: int) -> tuple[int, int]:
    judgement, _, question = matrix.cells.cell(cell)
    return question, matrix.cells.sample(matrix.cells.judgement_parts(judgement)[0])


def _batches_of_kind(matrix: Matrix, kind: Kind, judge: int, batches: Mapping[str, Sequence[int]]) -> list[list[int]]:
    """Returns the same for another kind of subject: those that may keep each other company, cut to a batch's size."""
    of_sample = batches[matrix.judges[judge].name]
    size = max(Counter(of_sample).values(), default=1)
    members: dict[tuple[Hashable, int, int, str], list[int]] = {}
    for number in matrix.cells.subjects_of(kind.name):
        for judgement in matrix.cells.judgements_of(number):
            _, its_judge, repeat = matrix.cells.judgement_parts(judgement)
            if its_judge != judge:
                continue
            company, questions = kind.batch_group(matrix, number, of_sample), matrix.cells.questions_of(judgement)
            for place, cell in enumerate(matrix.cells.cells_of(judgement)):
                reading, question = divmod(place, len(questions))
                name = questions[question].question.name
                members.setdefault((company, repeat, reading, name), []).append(cell)
    cut = [cells[n : n + size] for cells in members.values() for n in range(0, len(cells), size)]
    return [left for cells in cut for left in _batches_left(matrix, cells)]


def _batches_left(matrix: Matrix, cells: list[int]) -> list[list[int]]:
    """Drops the members of a batch that have no edit; returns no batch if no cell is left to be answered."""
    pictured = [cell for cell in cells if _may_be_asked(matrix, cell)]
    left = [cell for cell in pictured if is_left(matrix, cell)]
    if left and all(map(matrix.replies, left)):
        # Only answers that could not be read are left: each is asked again alone.
        return [[cell] for cell in left]
    return [pictured] if left else []


def _may_be_asked(matrix: Matrix, cell: int) -> bool:
    """True if there is, or will be, something to ask about."""
    lacking = matrix.what_lacks(matrix.cells.about(cell))
    return lacking is None or lacking[0] is Status.PENDING
