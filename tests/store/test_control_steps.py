"""Controls in steps: which are asked follows from replies alone, and ends for each judge and kind where it is shown."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from edit_eval.records import Reply, Status
from edit_eval.store.matrix import Matrix
from small_matrix import Asking, ask, asked_judge, give_reply, imagined_edit, small_experiment, small_samples

KINDS = ("source", "blank", "shuffled")
STEPS = (7, 14, 25)


def matrix_of(samples: int = 30, *, steps: tuple[int, ...] = STEPS, judges: int = 1) -> Matrix:
    """A matrix of two edit models; every edit is made, and nothing is asked yet."""
    asked = [asked_judge(f"j{n}", Asking([ask("q")])) for n in range(judges)]
    experiment = small_experiment(samples, models=("m", "n"), judges=asked)
    matrix = Matrix(replace(experiment, control_samples=max(steps, default=0), control_steps=steps))
    for number in range(matrix.cells.edits):
        matrix.set_edit(number, imagined_edit(matrix, number))
    return matrix


def answer(matrix: Matrix, of: dict[str, float], *, first: int | None = None, order: Random | None = None) -> None:
    """Answers what is open: an edit by 6, a kind of control by what `of` says, or 1; only the `first` few if given."""
    cells = [
        cell
        for judgement in matrix.open_judgements()
        if matrix.is_pending(judgement)
        for cell in matrix.cells.cells_of(judgement)
    ]
    if order:
        order.shuffle(cells)
    for cell in cells[:first]:
        subject = matrix.cells.judgement_parts(matrix.cells.judgement_of(cell))[0]
        shows = matrix.cells.subject(subject).shows
        judge = matrix.judge_of(cell).name
        value = of.get(f"{shows} by {judge}", of.get(shows, 1.0)) if shows else 6.0
        give_reply(matrix, cell, Reply(text=str(value), final=True))


def asked_about(matrix: Matrix) -> Counter[tuple[str, str]]:
    return Counter((control.judge, control.edit_model.removeprefix("control:")) for control in matrix.rows("control"))


def test_a_judge_that_is_right_is_asked_one_step() -> None:
    matrix = matrix_of()
    assert asked_about(matrix) == {("j0", kind): STEPS[0] for kind in KINDS}
    answer(matrix, {})
    assert matrix.stages.open_stages() == []
    assert (matrix.pending, asked_about(matrix)) == (0, {("j0", kind): STEPS[0] for kind in KINDS})


def test_more_is_asked_of_the_kind_and_the_judge_alone_that_did_not_show_it() -> None:
    matrix = matrix_of(judges=2)
    while matrix.pending:
        answer(matrix, {"source by j1": 7.0})
        opened = matrix.stages.open_stages()
        assert {matrix.cells.subject(cell).shows for cell in opened} <= {"source"}
    asked = {(f"j{judge}", kind): STEPS[0] for judge in (0, 1) for kind in KINDS}
    assert asked_about(matrix) == {**asked, ("j1", "source"): STEPS[-1]}


@pytest.mark.parametrize("seed", range(4))
def test_what_is_asked_does_not_depend_on_when_one_looks_nor_on_the_order_of_answers(seed: int) -> None:
    draw = Random(seed)
    says = {"source": 6.0 if seed % 2 else 7.0, "blank": 6.0}
    whole, pieces = matrix_of(), matrix_of()
    for matrix in (whole, pieces):
        while matrix.pending:
            answer(matrix, says, first=draw.randrange(1, 40) if matrix is pieces else None, order=draw)
            matrix.stages.open_stages()
    assert asked_about(whole) == asked_about(pieces)
    again = matrix_of()
    for cell in range(len(pieces.cells)):
        for reply in pieces.replies(cell):
            give_reply(again, cell, reply)
    again.stages.open_stages()
    assert (asked_about(again), again.pending) == (asked_about(whole), 0)


def test_nothing_is_looked_at_before_all_is_there() -> None:
    matrix = matrix_of()

    def left() -> bool:
        rows = (
            *matrix.rows("edit"),
            *(control for control in matrix.rows("control") if control.edit_model == "control:source"),
        )
        about = {control.sample_id for control in matrix.rows("control")}
        return any(row.status is Status.PENDING and row.sample_id in about for row in rows)

    while left():
        assert matrix.stages.open_stages() == []
        answer(matrix, {"source": 9.0}, first=1)
    assert {matrix.cells.subject(cell).shows for cell in matrix.stages.open_stages()} == {"source"}
    matrix.forget_replies(0)  # asked again: the end of the step is taken back, and so is what followed it
    assert matrix.stages.open_stages() == []
    assert asked_about(matrix)["j0", "source"] == STEPS[0]


def test_each_source_image_has_one_control_of_a_kind_and_none_are_of_samples_that_follow() -> None:
    samples = small_samples(30, bad=[1], follows={4: 3})
    alike = [replace(sample, cluster="same") if sample.index in (5, 6, 7) else sample for sample in samples]
    experiment = small_experiment(alike, models=("m", "n"), judges=["critic"])
    matrix = Matrix(replace(experiment, control_samples=25, control_steps=(7, 14, 25)))
    places = {matrix.cells.sample(number) for number in matrix.cells.subjects_of("control")}
    assert places == {n for n in range(30) if n not in (1, 4, 6, 7)} - ({29} if len(places) == 25 else set())


def test_as_many_as_before_goes_on_where_that_was_begun() -> None:
    now = small_experiment(90, models=("m", "n"), judges=["critic"]).with_stepwise_controls()
    assert (now.control_steps, now.control_samples) == ((7, 12), 12)
    before = replace(now, control_samples=25, control_steps=None)
    assert not now.is_same_evaluation(before)
    assert now.as_recorded(before).is_same_evaluation(before)
    assert now.as_recorded(None) is now
    for other in (replace(before, control_samples=0), replace(before, control_samples=24), replace(before, repeats=2)):
        assert now.as_recorded(other) is now
    assert before.as_recorded(now) is before, "a number that is given is kept"
