"""What is left of a matrix, as tasks: nothing twice, nothing forgotten, batches as the whole benchmark cuts them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from edit_eval.execution.engine.pilot import PilotCells, choose_pilot
from edit_eval.execution.engine.workload import fill_work
from edit_eval.records import Reply, Status
from edit_eval.scheduling.batches import cut_batches
from edit_eval.scheduling.tasks import ANSWERS_FROM, PILOT, Task, Work
from edit_eval.store.matrix import Matrix
from edit_eval.store.subjects.controls import Controls
from small_matrix import Asking, ask, asked_judge, comparing_judge, give_reply, small_matrix, small_samples


class Listed(Work):
    """Work that remembers every task, and which edits each waits for."""

    def __init__(self) -> None:
        super().__init__()
        self.tasks: list[Task] = []
        self.waits: dict[int, list[int]] = {}

    def add(self, model, units, *, after=(), phase=0, **more):
        after = list(after)
        task = super().add(model, units, after=after, phase=phase, **more)
        self.tasks.append(task)
        self.waits[task.number] = after
        return task

    def of(self, kind: str) -> list[Task]:
        return [task for task in self.tasks if task.model.startswith(kind)]


def batches_of(matrix: Matrix, size: int = 2, samples: int | None = None) -> dict[str, list[int]]:
    """As the session cuts them: from the categories of the whole benchmark, which has `samples` samples."""
    categories = [("physical", "environmental", "social")[n % 3] for n in range(samples or len(matrix.samples))]
    return {judge.name: cut_batches(categories, size) for judge in matrix.judges}


def filled(matrix: Matrix, batches: Mapping[str, Sequence[int]] | None = None, **more: object) -> Listed:
    work = Listed()
    fill_work(work, matrix, batches or batches_of(matrix), **more)
    return work


def make(matrix: Matrix, *numbers: int, status: Status = Status.OK) -> None:
    for n in numbers:
        there = {"image": f"{n}.png", "pixels": str(n)} if status is Status.OK else {"reason": "black"}
        matrix.set_edit(n, replace(matrix.edits[n], status=status, **there))


def answer(matrix: Matrix, *numbers: int, text: str = "Score: 8") -> None:
    for n in numbers:
        give_reply(matrix, n, Reply(text=text))


def samples_of(matrix: Matrix, task: Task) -> tuple[int, ...]:
    """The positions of the samples that a batch is about: those with a fault have no cells."""
    return tuple(int(matrix.address(cell)[0][1:]) for cell in task.units)


def test_all_of_it_in_the_benchmark_s_order() -> None:
    work = filled(small_matrix(9))
    assert [(t.model, t.units) for t in work.of("edit")] == [("edit:painter", (n,)) for n in range(9)]
    # The first of each category is alone; the second and third share a batch.
    assert [t.units for t in work.of("judge")] == [(0,), (1,), (2,), (3, 6), (4, 7), (5, 8)]
    assert all(work.waits[t.number] == list(t.units) for t in work.of("judge"))
    assert {t.phase for t in work.tasks} == {0}
    assert not any(t.alone for t in work.tasks)


def test_a_filter_changes_nobody_s_company() -> None:
    """Of a benchmark of 12 only the odd ones are left: 3 and 9 would be neighbours, and are not."""
    whole = small_samples(12)
    matrix = small_matrix(tuple(s for s in whole if s.index % 2))
    work = filled(matrix, batches_of(matrix, 2, 12))
    members = [tuple(matrix.samples[u].index for u in t.units) for t in work.of("judge")]
    assert members == [(1,), (3,), (5,), (7,), (9,), (11,)]
    cut = cut_batches([s.category for s in whole], 2)
    assert len({cut[n] for n in (3, 9)}) == 2


def test_what_is_done_is_not_done_again_and_a_batch_stays_whole() -> None:
    matrix = small_matrix(9)
    make(matrix, 0, 3, 6)
    answer(matrix, 0, 3)
    work = filled(matrix)
    assert [t.units for t in work.of("edit")] == [(1,), (2,), (4,), (5,), (7,), (8,)]
    assert [t.units for t in work.of("judge")] == [(1,), (2,), (3, 6), (4, 7), (5, 8)]
    assert [work.waits[t.number] for t in work.of("judge")] == [[1], [2], [], [4, 7], [5, 8]]


def test_only_answers_that_could_not_be_read_are_asked_again_alone() -> None:
    matrix = small_matrix(9)
    make(matrix, *range(9))
    answer(matrix, *range(9), text="no idea")
    answer(matrix, 3)
    assert sorted(t.units for t in filled(matrix).of("judge")) == [(n,) for n in (0, 1, 2, 4, 5, 6, 7, 8)]


def test_a_batch_in_which_somebody_was_never_asked_is_asked_together() -> None:
    matrix = small_matrix(9)
    make(matrix, *range(9))
    answer(matrix, *(n for n in range(9) if n != 6), text="no idea")
    assert (3, 6) in [t.units for t in filled(matrix).of("judge")]


def test_what_failed_or_was_skipped_is_nobody_s_work() -> None:
    matrix = small_matrix(small_samples(9, bad=(0, 3, 6)))
    make(matrix, 1, status=Status.EDIT_FAILED)
    work = filled(matrix)
    assert [t.units for t in work.of("edit")] == [(2,), (4,), (5,), (7,), (8,)]
    assert [samples_of(matrix, t) for t in work.of("judge")] == [(2,), (4, 7), (5, 8)]


def test_nothing_is_left_of_a_finished_matrix() -> None:
    matrix = small_matrix(9)
    make(matrix, *range(8))
    make(matrix, 8, status=Status.EDIT_FAILED)
    answer(matrix, *range(7))
    answer(matrix, *[7] * 3, text="no idea")
    assert filled(matrix).is_finished


def test_categories_follow_each_other_as_phases() -> None:
    work = filled(small_matrix(9), by_category=True)
    assert all(t.phase == t.units[0] % 3 for t in work.tasks)
    assert [t.phase for t in work.of("edit")] == sorted(t.phase for t in work.of("edit"))


def test_a_category_that_waits_for_the_judge_alone_holds_the_next_one_back() -> None:
    """As after an interruption while its first category was judged."""
    matrix = small_matrix(9)
    make(matrix, 0, 3, 6)
    ready: list[Task] = []
    fill_work(Work(on_ready=ready.append), matrix, batches_of(matrix), by_category=True)
    assert [(t.model, t.units) for t in ready] == [("judge:critic", (0,)), ("judge:critic", (3, 6))]


def test_the_pilot_comes_before_all_else() -> None:
    matrix = small_matrix(9)
    work = filled(matrix, by_category=True, pilot=choose_pilot(matrix))
    assert [t.units[0] for t in work.of("edit")] == [0, 1, 2, 3, 6, 4, 7, 5, 8]
    assert [t.phase for t in work.of("edit")] == [PILOT, PILOT, PILOT, 0, 0, 1, 1, 2, 2]
    assert [(t.units, t.phase) for t in work.of("judge")][:3] == [((n,), PILOT) for n in range(3)]
    assert [t.phase for t in work.of("judge")][3:] == [0, 1, 2]


def piloted(work: Listed, kind: str) -> list[tuple[int, ...]]:
    return [t.units for t in work.of(kind) if t.phase == PILOT]


def test_a_pilot_that_is_not_at_the_beginning_is_moved_there_with_its_batch() -> None:
    matrix = small_matrix(small_samples(9, bad=(0,)))
    pilot = choose_pilot(matrix)
    assert pilot == PilotCells(frozenset([1, 2, 3]), frozenset([1, 2, 3]))
    work = filled(matrix, pilot=pilot)
    assert [t.units[0] for t in work.of("edit")] == [1, 2, 3, 6, 4, 5, 7, 8]
    assert piloted(work, "edit") == [(1,), (2,), (3,), (6,)], "6 shares its batch with 3"
    judged = [samples_of(matrix, t) for t in work.of("judge") if t.phase == PILOT]
    assert judged == [(1,), (2,), (3, 6)]


def test_every_edit_model_is_piloted_and_the_first_one_by_every_judge() -> None:
    matrix = small_matrix(6, models=("a", "b"), judges=("x", "y"), edit_seeds=2, repeats=2)
    batches = {**batches_of(matrix, 1), "y": batches_of(matrix, 3)["y"]}
    work = filled(matrix, batches, pilot=choose_pilot(matrix))
    edited = [(matrix.edits[n].edit_model, matrix.edits[n].edit_seed, n % 6) for (n,) in piloted(work, "edit")]
    assert edited == [(model, 0, n) for model in "ab" for n in range(3)]
    judged = [matrix.address(unit) for units in piloted(work, "judge") for unit in units]
    assert judged == [(f"s{n}", "a", 0, judge, 0, "score", 0, "") for judge in "xy" for n in range(3)]
    units = Counter((t.model, u) for t in work.tasks for u in t.units)
    assert set(units.values()) == {1}
    assert len(units) == 6 * 2 * 2 + 6 * 2 * 2 * 2 * 2
    for task in work.of("judge"):
        assert task.model == f"judge:{matrix.address(task.units[0])[3]}"
        assert len({matrix.address(u)[1:] for u in task.units}) == 1, "a batch has one edit model, seed and repeat"


def test_the_pilot_covers_only_what_the_records_do_not_show_at_work() -> None:
    matrix = small_matrix(9, models=("a", "b"), judges=("x", "y"))
    make(matrix, 4)
    answer(matrix, matrix.cells.judgement(4, 0, 0))
    pilot = choose_pilot(matrix)
    assert {matrix.edits[n].edit_model for n in pilot.edits} == {"b"}
    assert {matrix.address(unit)[3] for unit in pilot.judgements} == {"y"}
    assert {matrix.address(unit)[1] for unit in pilot.judgements} == {"a"}
    work = filled(matrix, pilot=pilot)
    assert [n for (n,) in piloted(work, "edit")] == [0, 1, 2, 9, 10, 11], "what is judged first is edited first"


def test_the_pilot_is_left_out_when_the_records_show_all_at_work() -> None:
    matrix = small_matrix(9)
    make(matrix, 4)
    assert choose_pilot(matrix) == PilotCells(frozenset(), frozenset([0, 1, 2]))
    answer(matrix, 4, text="whatever it says")
    assert choose_pilot(matrix).judgements == {0, 1, 2}, "an answer without a score is no proof"
    answer(matrix, 4)
    assert choose_pilot(matrix) == PilotCells()


def test_where_the_first_of_a_category_has_failed_before_the_next_one_is_the_pilot() -> None:
    matrix = small_matrix(9)
    make(matrix, 0, 1, status=Status.EDIT_FAILED)
    assert choose_pilot(matrix) == PilotCells(frozenset([2, 3, 4]), frozenset([2, 3, 4]))


def test_a_pilot_that_would_be_all_there_is_is_none() -> None:
    assert choose_pilot(small_matrix(3)) == PilotCells()
    assert choose_pilot(small_matrix(4)).edits == {0, 1, 2}


@settings(max_examples=80)
@given(st.data())
def test_whatever_was_done_before_each_unit_that_is_left_is_in_exactly_one_task(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 12))
    bad = data.draw(st.sets(st.integers(0, count - 1), max_size=3))
    shape = data.draw(st.sampled_from([{}, {"repeats": 2}, {"edit_seeds": 2}]))
    matrix = small_matrix(
        small_samples(count, tuple(bad)), judges=data.draw(st.sampled_from([("x",), ("x", "y")])), **shape
    )
    for number, edit in enumerate(matrix.edits):
        if edit.status is Status.PENDING:
            made = data.draw(st.sampled_from([Status.OK, Status.OK, Status.EDIT_FAILED, None]))
            if made:
                make(matrix, number, status=made)
    for unit in range(len(matrix.cells)):
        if matrix.can_be_asked(unit):
            answer(matrix, *[unit] * data.draw(st.integers(0, 3)), text=data.draw(st.sampled_from(["8", "hm"])))
    batches = batches_of(matrix, data.draw(st.integers(1, 4)))
    work = filled(matrix, batches, by_category=data.draw(st.booleans()), pilot=choose_pilot(matrix))
    units = Counter((task.model[:4], unit) for task in work.tasks for unit in task.units)
    assert all(times == 1 for times in units.values())
    assert {u for kind, u in units if kind == "edit"} == {
        n for n, edit in enumerate(matrix.edits) if edit.status is Status.PENDING
    }
    pending = {n for n in range(len(matrix.cells)) if matrix.is_pending(matrix.cells.judgement_of(n))}
    assert pending <= {u for kind, u in units if kind == "judg"}


# -- several questions --

STEPS = Asking([ask("a"), ask("b", user="{a}", after=("a",)), ask("c")])


def test_a_batch_is_of_one_question_and_one_reading_and_waits_for_the_earlier_one() -> None:
    matrix = small_matrix(9, protocol=STEPS, readings=2)
    work = filled(matrix)
    named = [(tuple(matrix.address(u)[0] for u in t.units), *matrix.address(t.units[0])[5:7]) for t in work.of("judge")]
    batches = [("s0",), ("s1",), ("s2",), ("s3", "s6"), ("s4", "s7"), ("s5", "s8")]
    assert named == [(of, question, reading) for reading in range(2) for question in "abc" for of in batches]
    last = ANSWERS_FROM
    for task in work.of("judge"):
        edits = [matrix.cells.about(unit) for unit in task.units]
        before = [last + cell for unit in task.units for cell in matrix.cells.prerequisites_of(unit).values()]
        assert work.waits[task.number] == [*edits, *before]


def test_of_a_judgement_only_the_questions_that_are_left_are_asked() -> None:
    matrix = small_matrix(3, protocol=STEPS)
    make(matrix, 0, 1, 2)
    answer(matrix, 0, 2, text="7")
    answer(matrix, 3, 4, 5, text="7")
    assert [t.units for t in filled(matrix).of("judge")] == [(6,), (1,), (7,), (8,)]


def test_what_needs_an_answer_that_there_will_not_be_is_nobody_s_work() -> None:
    matrix = small_matrix(1, protocol=STEPS, retries=0)
    make(matrix, 0)
    answer(matrix, 0, text="hm")
    assert [t.units for t in filled(matrix).of("judge")] == [(2,)]


def test_a_server_gets_ready_questions_side_by_side_that_share_what_they_say_and_show() -> None:
    matrix = small_matrix(2, models=("m", "n"), protocol=Asking([ask("a"), ask("b")]))
    make(matrix, 0, 1, 2, 3)
    work = filled(matrix, batches_of(matrix, 1))
    order = [matrix.address(t.units[0]) for t in work.of("judge")]
    assert [(question, sample, model) for sample, model, _, _, _, question, _, _ in order] == [
        (question, sample, model) for question in "ab" for sample in ("s0", "s1") for model in "mn"
    ]


# -- battles --


def test_battles_are_asked_in_batches_of_one_order_and_wait_for_both_edits() -> None:
    matrix = small_matrix(9, models=("m", "n", "o"), judges=(comparing_judge(),))
    work = filled(matrix, pilot=choose_pilot(matrix))
    assert sorted(cell for task in work.of("judge") for cell in task.units) == list(range(len(matrix.cells)))
    for task in work.of("judge"):
        battles = [matrix.cells.judgement_parts(matrix.cells.judgement_of(cell))[0] for cell in task.units]
        assert len({matrix.address(cell)[5] for cell in task.units}) == 1
        assert {*work.waits[task.number]} == {edit for battle in battles for edit in matrix.cells.edits_of(battle)}
        assert not task.by_the_way
    assert {len(task.units) for task in work.of("judge")} == {1, 2}, "three battles a sample, batches of two"
    waits = {edit for task in work.of("judge") if task.phase == PILOT for edit in work.waits[task.number]}
    assert waits
    assert waits <= {unit for units in piloted(work, "edit") for unit in units}, "it is made in the pilot, too"


# -- controls --


def test_controls_have_batches_of_their_own_that_wait_for_the_edit_beside_and_for_the_other_s() -> None:
    matrix = small_matrix(6, controls=3)
    alone, work = filled(small_matrix(6)), filled(matrix)
    behind = matrix.cells.cells_of_subject(matrix.cells.edits).start
    edits = [t.units for t in work.of("judge") if t.units[0] < behind]
    assert edits == [t.units for t in alone.of("judge")], "nobody has other company because of them"
    controls = [t for t in work.of("judge") if t.units[0] >= behind]
    about = [(matrix.address(t.units[0])[0], matrix.address(t.units[0])[1], work.waits[t.number]) for t in controls]
    others = {c.sample: c.other for c in Controls().unfold(matrix.experiment) if c.shows == "shuffled"}
    assert about == [
        (f"s{n}", f"control:{kind}", [others[n], n] if kind == "shuffled" else [n])
        for n in range(3)
        for kind in ("source", "blank", "shuffled")
    ]


def test_a_batch_of_controls_is_of_one_kind_and_category() -> None:
    matrix = small_matrix(12, controls=9)
    make(matrix, *range(12))
    controls = [t for t in filled(matrix).of("judge") if matrix.address(t.units[0])[1].startswith("control:")]
    assert sum(len(t.units) for t in controls) == 27
    assert {len(t.units) for t in controls} == {1, 2}
    for task in controls:
        assert len({(matrix.address(u)[1], int(matrix.address(u)[0][1:]) % 3) for u in task.units}) == 1


def test_controls_are_no_part_of_a_pilot() -> None:
    matrix = small_matrix(9, controls=9)
    pilot = choose_pilot(matrix)
    assert pilot.judgements == {matrix.cells.judgement(n, 0, 0) for n in range(3)}
    work = filled(matrix, pilot=pilot)
    assert not [t for t in work.of("judge") if matrix.address(t.units[0])[1] != "painter" and t.phase == PILOT]
    for control in matrix.cells.judgements_of(matrix.cells.edits):
        assert matrix.is_pending(control)


def test_a_shuffled_control_whose_edit_failed_is_nobody_s_work() -> None:
    matrix = small_matrix(2, controls=1)
    make(matrix, 0)
    make(matrix, 1, status=Status.EDIT_FAILED)
    kinds = [matrix.address(t.units[0])[1] for t in filled(matrix).of("judge")]
    assert kinds == ["painter", "control:source", "control:blank"]


def test_a_judge_that_measures_has_none() -> None:
    judges = [asked_judge("looks"), asked_judge("measures", measures=True)]
    matrix = small_matrix(3, judges=judges, controls=3)
    judged = [matrix.address(t.units[0])[1:4:2] for t in filled(matrix).of("judge")]
    assert {judge for name, judge in judged if name.startswith("control:")} == {"looks"}


# -- samples that follow others --


def test_a_follower_waits_for_the_edit_before_and_is_piloted_with_it() -> None:
    matrix = small_matrix(small_samples(9, follows={1: 8, 8: 7}))
    work = filled(matrix, pilot=choose_pilot(matrix))
    edits = {t.units[0]: (work.waits[t.number], t.phase) for t in work.of("edit")}
    assert (edits[1], edits[8], edits[7]) == (([8], PILOT), ([7], PILOT), ([], PILOT))
    judged = {t.units: work.waits[t.number] for t in work.of("judge")}
    assert judged[(1,)] == [8, 1], "its source is shown, too"


def test_what_waits_for_another_category_is_of_the_later_phase() -> None:
    """Else both would wait: it for the other's edit, and the other category for it."""
    matrix = small_matrix(small_samples(6, follows={0: 2, 3: 0}), controls=6)
    work = filled(matrix, by_category=True)
    phases = {t.units[0]: t.phase for t in work.of("edit")}
    assert phases == {0: 2, 1: 1, 2: 2, 3: 2, 4: 1, 5: 2}
    for task in work.of("judge"):
        waits = [edit for edit in work.waits[task.number] if edit < matrix.cells.edits]
        assert task.phase >= max(phases[edit] for edit in waits)
    ready: list[Task] = []
    work = Work(on_ready=ready.append)
    fill_work(work, matrix, batches_of(matrix), by_category=True)
    while ready:
        task = ready.pop(0)
        if task.model.startswith("edit"):
            work.settle(task.units[0])
        work.finish(task)
    assert work.is_finished
