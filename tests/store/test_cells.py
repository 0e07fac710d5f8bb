"""How edits, controls, judgements and cells are numbered: each once, whatever is asked of whom."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from edit_eval.records import Sample
from edit_eval.store.cells import Cells
from edit_eval.store.subjects.controls import Controls
from small_matrix import Asking, ask, asked_judge, imagined_edit, small_experiment, small_matrix, small_samples


def but_social(sample: Sample, name: str) -> bool:
    return name != "second" or sample.category != "social"


STEPS = Asking([ask("first"), ask("second", after=("first",)), ask("third"), ask("last", after=("second", "third"))])
UNLIKE = Asking([ask("first"), ask("second")], but_social)


def test_a_rubric_has_a_cell_a_judgement() -> None:
    cells = Cells(small_experiment(3, models=("a", "b"), judges=("x", "y"), edit_seeds=2, repeats=2))
    assert (cells.edits, cells.n_subjects, cells.judgements, len(cells)) == (12, 12, 48, 48)
    assert all(list(cells.cells_of(n)) == [n] for n in range(48))


def test_judges_ask_what_they_ask_of_each_sample() -> None:
    samples = small_samples(4, bad=(1,))  # the third is social
    judges = [asked_judge("plain"), asked_judge("unlike", UNLIKE), asked_judge("steps", STEPS)]
    cells = Cells(small_experiment(samples, judges=judges))
    counts = [[len(cells.cells_of(cells.judgement(n, judge, 0))) for judge in range(3)] for n in range(4)]
    assert counts == [[1, 2, 4], [0, 0, 0], [1, 1, 4], [1, 2, 4]], "nobody is asked about a sample with a fault"
    assert len(cells) == sum(map(sum, counts))
    asked = [sample_question.question.name for sample_question in cells.questions_of(cells.judgement(2, 1, 0))]
    assert asked == ["first"]


def test_every_reading_of_every_repeat_asks_every_question() -> None:
    judges = [asked_judge("unlike", UNLIKE)]
    cells = Cells(small_experiment(3, judges=judges, repeats=2, readings=3))
    assert len(cells) == (2 + 2 + 1) * 2 * 3
    first = cells.judgement(0, 0, 1)
    assert [cells.cell(n)[1:] for n in cells.cells_of(first)] == [(r, q) for r in range(3) for q in range(2)]
    assert {cells.cell(n)[0] for n in cells.cells_of(first)} == {first}


def test_cells_of_a_reading_wait_for_their_own() -> None:
    cells = Cells(small_experiment(1, judges=[asked_judge("steps", STEPS)], readings=2))
    assert [cells.prerequisites_of(n) for n in range(4)] == [{}, {"first": 0}, {}, {"second": 1, "third": 2}]
    assert [cells.prerequisites_of(n) for n in range(4, 8)] == [{}, {"first": 4}, {}, {"second": 5, "third": 6}]
    assert [cells.dependents_of(n) for n in range(4)] == [[1, 3], [3], [3], []], "by way of others, too"
    assert [cells.dependents_of(n) for n in range(4, 8)] == [[5, 7], [7], [7], []]


def test_the_example_of_the_module_is_true() -> None:
    matrix = small_matrix(1, models=("a", "b"), judges=("x", "y"), readings=2)
    cells = matrix.cells
    assert [cells.judgement_parts(judgement)[:2] for judgement in range(4)] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [[*cells.cells_of(judgement)] for judgement in range(4)] == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert [matrix.seed(cell) for cell in range(8)] == [0, 1] * 4
    for number in range(2):
        matrix.set_edit(number, imagined_edit(matrix, number, "equal"))
    keys = [matrix.key(cell) for cell in range(8)]
    assert keys[:4] == keys[4:]
    assert len({*keys}) == 4
    assert matrix.answers.free == {4, 5, 6, 7}


def test_controls_are_numbered_behind_the_edits_and_judged_once() -> None:
    judges = [asked_judge("plain"), asked_judge("measures", measures=True), asked_judge("replays", replays=True)]
    cells = Cells(small_experiment(6, judges=judges, models=("a", "b"), repeats=2, controls=3))
    assert (cells.edits, cells.n_subjects) == (12, 12 + 3 * 3)
    about = [(cells.subject(n).shows, cells.sample(n)) for n in range(cells.edits, cells.n_subjects)]
    assert about == [(kind, n) for n in range(3) for kind in ("source", "blank", "shuffled")]
    judged = [
        cells.judgement_parts(j)[1:] for n in range(cells.edits, cells.n_subjects) for j in cells.judgements_of(n)
    ]
    assert judged == [(0, 0)] * 9, "by the judge that looks at pictures, and without repeats"


def test_without_a_judge_that_looks_there_are_no_controls() -> None:
    judges = [asked_judge("measures", measures=True), asked_judge("replays", replays=True)]
    assert [*Controls().unfold(small_experiment(6, judges=judges, controls=3))] == []


def test_a_control_is_no_sample_with_a_fault_and_shuffled_is_another_source_s_edit() -> None:
    first, other, again = small_samples(3)
    same = type(first)(
        **{name: getattr(again, name) for name in again.__dataclass_fields__} | {"cluster": first.cluster}
    )
    experiment = small_experiment([first, other, same], controls=9)
    assert [(c.shows, c.sample, c.other) for c in Controls().unfold(experiment) if c.shows == "shuffled"] == [
        ("shuffled", 0, 1),
        ("shuffled", 1, 2),
        ("shuffled", 2, 1),
    ]
    alone = small_experiment(small_samples(2, bad=(1,)), controls=9)
    assert [(c.shows, c.sample) for c in Controls().unfold(alone)] == [("source", 0), ("blank", 0)]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_every_number_stands_for_one_thing_and_back(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 6))
    bad = data.draw(st.sets(st.integers(0, count - 1), max_size=2))
    some = data.draw(st.lists(st.sampled_from([None, UNLIKE, STEPS]), min_size=1, max_size=3))
    judges = [asked_judge(f"j{n}", protocol, measures=data.draw(st.booleans())) for n, protocol in enumerate(some)]
    often = {name: data.draw(st.integers(1, 2)) for name in ("edit_seeds", "repeats", "readings")}
    models = ("a", "b")[: data.draw(st.integers(1, 2))]
    controls = data.draw(st.integers(0, 4))
    experiment = small_experiment(small_samples(count, bad), models=models, judges=judges, controls=controls, **often)
    cells = Cells(experiment)
    edits = list(itertools.product(range(len(models)), range(often["edit_seeds"]), range(count)))
    assert [cells.edit(*parts) for parts in edits] == list(range(cells.edits))
    assert [cells.edit_parts(n) for n in range(cells.edits)] == edits
    covered = [judgement for edit in range(cells.n_subjects) for judgement in cells.judgements_of(edit)]
    assert covered == list(range(cells.judgements))
    assert [cell for judgement in covered for cell in cells.cells_of(judgement)] == list(range(len(cells)))
    assert [cell for subject in range(cells.n_subjects) for cell in cells.cells_of_subject(subject)] == list(
        range(len(cells))
    )
    for number in range(len(cells)):
        judgement, reading, question = cells.cell(number)
        assert number in cells.cells_of(judgement) == cells.cells_of(cells.judgement_of(number))
        asked = cells.questions_of(judgement)
        assert cells.cells_of(judgement).start + reading * len(asked) + question == number
        for name, before in cells.prerequisites_of(number).items():
            assert asked[cells.cell(before)[2]].question.name == name
            assert number in cells.dependents_of(before)
    for judgement in covered:
        edit, judge, repeat = cells.judgement_parts(judgement)
        if edit < cells.edits:
            assert cells.judgement(edit, judge, repeat) == judgement
