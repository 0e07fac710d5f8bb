"""Whatever is asked and whatever happens: every cell comes to an end, and a run that goes on comes to the same."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from edit_eval.experiment import Experiment
from edit_eval.protocols.contract import View
from edit_eval.records import Judgement, Refinement, Sample, Status
from edit_eval.store.matrix import Matrix
from examples_of import examples
from execution.engine.imagined_workers import Journals, Start
from small_matrix import Asking, ask, asked_judge, small_experiment, small_samples


def not_of_social(sample: Sample, name: str) -> bool:
    return name != "rare" or sample.category != "social"


PLAIN = Asking([ask("plain", again="A number.")])
UNLIKE = Asking([ask("rare"), ask("edit alone", shows=(View(picture="edit"),)), ask("words", gives=())], not_of_social)
STEPS = Asking(
    [
        ask("a"),
        ask("b", user="After {a}.", after=("a",), again="A number."),
        ask("c", user="Like {b}?", after=("b",), shows=(View(picture="edit", steps=(("like", "source"),)),)),
        ask("twin", user="The same."),
        ask("other twin", user="The same."),
        ask("d", user="{a}, {c}", after=("a", "c")),
    ]
)


BEFORE = Asking([ask("new", shows=(View(picture="source"),))])
BEFORE.before_edits = True  # type: ignore[attr-defined]


@st.composite
def experiments(draw: st.DrawFn) -> Experiment:
    count = draw(st.integers(1, 5))
    numbers = st.integers(0, count - 1)
    bad = draw(st.sets(numbers, max_size=1))
    follows = draw(st.dictionaries(numbers, numbers, max_size=2))
    samples = small_samples(count, bad, {number: before for number, before in follows.items() if number != before})
    protocols = draw(st.lists(st.sampled_from([PLAIN, UNLIKE, STEPS]), min_size=1, max_size=2))
    judges = []
    for number, protocol in enumerate(protocols):
        kind = draw(st.sampled_from([{}, {}, {"measures": True}, {"replays": True}]))
        judges.append(asked_judge(f"j{number}", protocol, retries=draw(st.integers(0, 2)), **kind))
    often: dict[str, Any] = {name: draw(st.integers(1, 2)) for name in ("edit_seeds", "repeats", "readings")}
    if not follows and draw(st.booleans()):
        source, stop = draw(st.sampled_from(["source", "last"])), draw(st.sampled_from([None, 8.0]))
        judges += [asked_judge("critic", PLAIN), asked_judge("rewriter", BEFORE)]
        told = {
            "a+rewriter": Refinement(edit_model="a", judge="rewriter"),
            **{
                f"{first}@{number}": Refinement(
                    edit_model="a",
                    judge="critic",
                    before=f"{first}@{number - 1}" if number > 2 else first,
                    round=number,
                    source=source,
                    template="{instruction} {critique}",
                    stop=stop,
                )
                for first in ("a", "a+rewriter")
                for number in (2, 3)
            },
        }
        return small_experiment(samples, models=("a", *told), judges=judges, refinements=told, **often)
    models = ("a", "b")[: draw(st.integers(1, 2))]
    return small_experiment(samples, models=models, judges=judges, controls=draw(st.integers(0, 3)), **often)


def came_to(matrix: Matrix) -> list[tuple[Any, ...]]:
    """All judgements, but for times, and how often somebody was asked: a twin's reply may have been taken."""

    def told(judgement: Judgement) -> tuple[Any, ...]:
        readings = [
            {name: (r.status, r.reason, r.text) for name, r in reading.items()} for reading in judgement.readings
        ]
        about = judgement.sample_id, judgement.edit_model, judgement.judge, judgement.edit_seed, judgement.repeat
        reason = "" if judgement.status is Status.PENDING else judgement.reason
        return *about, judgement.status, reason, dict(judgement.scores), dict(judgement.missing), readings

    return [told(judgement) for judgement in (*matrix.judgements(), *matrix.rows("control"), *matrix.rows("rewriting"))]


def is_as_told(matrix: Matrix) -> None:
    """Every edit was made by what its critique says."""
    before = list(matrix.edits)
    matrix.critiques.apply_critiques()
    assert matrix.edits == before


def said(matrix: Matrix) -> list[list[str]]:
    return [[reply.text for reply in matrix.replies(cell)] for cell in range(len(matrix.cells))]


@settings(max_examples=examples(60), deadline=None)
@given(experiments(), st.integers(0, 2**30), st.integers(1, 3), st.booleans())
def test_every_cell_comes_to_an_end_and_the_journals_say_it_all(
    experiment: Experiment, seed: int, size: int, by_category: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        journals = Journals(Path(folder))
        by_category = by_category and not experiment.refinements  # here batches are of several categories
        done = Start(Matrix(experiment), journals, seed, size=size, by_category=by_category).run().matrix
        assert done.pending == 0
        assert not [edit for edit in done.edits if edit.status is Status.PENDING]
        is_as_told(done)
        replies = [record for journal, record in journals.lines if journal == "replies"]
        asked = {(record["key"], record["ask"]) for record in replies}
        assert len(asked) == len(replies), "nothing is asked twice"
        cells = [cell for cell in range(len(done.cells)) if done.replies(cell) and cell not in done.answers.free]
        assert sum(len(done.replies(cell)) for cell in cells) == len(replies)
        again = journals.recall(Matrix(experiment))
        assert said(again) == said(done)
        assert came_to(again) == came_to(done)
        other = Start(Matrix(experiment), Journals(Path(folder)), seed + 1).run().matrix
        assert came_to(other) == came_to(done), "in another order, in other company"


@settings(max_examples=examples(60), deadline=None)
@given(experiments(), st.integers(0, 2**30), st.integers(1, 3), st.booleans(), st.lists(st.floats(0, 1), max_size=3))
def test_a_run_that_is_ended_anywhere_comes_to_the_same_whatever_happens_to_it(
    experiment: Experiment, seed: int, size: int, by_category: bool, ends: list[float]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        by_category = by_category and not experiment.refinements
        undisturbed = Start(Matrix(experiment), Journals(Path(folder) / "quiet"), seed).run().matrix
        journals = Journals(Path(folder) / "run")
        for number, end in enumerate(ends):
            matrix = journals.recall(Matrix(experiment))
            Start(matrix, journals, seed + number, size=size, by_category=by_category, luck=0.9).run()
            known = came_to(journals.recall(Matrix(experiment)))
            for here, there in zip(came_to(matrix), known, strict=True):
                assert here == there or Status.PENDING in here, "it was left, and a twin's reply was found"
            del journals.lines[int(end * len(journals.lines)) :]
        done = Start(journals.recall(Matrix(experiment)), journals, seed, size=size).run().matrix
        assert came_to(done) == came_to(undisturbed)
        is_as_told(done)
