"""`ineditbench`: a mean of four or five questions; the authors' numbers as their script has them, slips included."""

from __future__ import annotations

import json
import random
from typing import Any

import pandas as pd
import pytest

from edit_eval.plugins.published.ineditbench import DIMENSIONS, PROCESSES, STATES, InEditBenchScores
from edit_eval.protocols.certificates import certificate_of
from edit_eval.protocols.contract import Missing
from edit_eval.records import Judgement, Reply, Status
from protocols.judged import judged, judgement, sample


def asking() -> InEditBenchScores:
    parameters = InEditBenchScores.Parameters()
    return InEditBenchScores(parameters, InEditBenchScores.texts(parameters))


def about(name: str, category: str) -> Any:
    asks = [*DIMENSIONS] if category in PROCESSES else [*DIMENSIONS][:-1]
    return sample(name, category, facts={"asks": asks, "checklist": "{Check Item 1: It falls.}"})


def answer(category: str, *numbers: int | None, name: str = "a") -> Judgement:
    protocol, of = asking(), about(name, category)
    replies = {
        question.name: Reply(text="hm" if number is None else json.dumps({"reasoning": "so", "score": [number]}))
        for question, number in zip(protocol.questions(of), numbers, strict=True)
    }
    return judged(protocol, of, replies)


def test_what_is_asked_and_shown_depends_on_the_category() -> None:
    protocol = asking()
    process, state = (protocol.questions(about("a", category)) for category in ("dynamic_process", "state_transition"))
    assert [question.name for question in process] == [*DIMENSIONS]
    assert [question.name for question in state] == ["appearance", "quality", "semantics", "logic"]
    assert [[view.picture for view in question.shows] for question in process] == [
        ["source", "edit"],
        ["edit"],
        *[["source", "edit"]] * 3,
    ]
    assert "It falls." in process[-1].user
    assert not any("It falls." in question.user for question in state)


def test_an_edits_score_is_the_mean_of_its_answers() -> None:
    made = answer("dynamic_process", 5, 4, 3, 2, 1)
    assert (made.scores["score"], made.scores["accuracy"], made.scores["science"]) == (3.0, 0.0, 1.0)
    made = answer("state_transition", 5, 5, 5, 5)
    assert (made.scores["score"], made.scores["accuracy"]) == (5.0, 1.0)
    assert "science" not in {**made.scores, **made.missing}, "it was not asked"
    assert answer("state_transition", 5, None, 5, 5).status is Status.UNPARSEABLE


@pytest.mark.parametrize("seed", range(20))
def test_the_authors_numbers_are_those_of_columns_that_have_slipped(seed: int) -> None:
    """Held against a table filled as theirs is: column by column, the shorter ones padded at their end."""
    drawn = random.Random(seed)
    kinds = sorted(drawn.choices([*PROCESSES, *STATES], k=12), key=[*PROCESSES, *STATES].index)
    said = [[drawn.choice([5, 5, 5, 4, 1, None]) for _ in range(5 if kind in PROCESSES else 4)] for kind in kinds]
    rows = [answer(kind, *numbers, name=f"{n}") for n, (kind, numbers) in enumerate(zip(kinds, said, strict=True))]
    filled: dict[str, list[int | None]] = {name: [] for name in DIMENSIONS}
    for numbers in said:
        five = [number or 0 for number in numbers]
        for name, number in zip(DIMENSIONS, [*five, None][:5], strict=True):
            if name != "logic" or len(numbers) == 4:
                filled[name].append(number)
    table = pd.DataFrame({name: pd.Series(column, dtype=float) for name, column in filled.items()})
    published = asking().published
    means = (table.replace(0, float("nan")).mean() - 1) * 25
    for ours, theirs in DIMENSIONS.items():
        if pd.isna(means[ours]):
            with pytest.raises(Missing):
                published[theirs](rows)
        else:
            assert published[theirs](rows) == pytest.approx(round(means[ours], 2), abs=0.0101)
    full = [
        (table.loc[n, [*DIMENSIONS][: len(numbers)]] == 5).all() if n in table.index else False
        for n, numbers in enumerate(said)
    ]
    assert published["Accuracy"](rows) == pytest.approx(100 * sum(full) / len(full), abs=0.00501)


def test_their_script_stops_at_a_missing_edit_and_nothing_of_it_is_certified() -> None:
    protocol = asking()
    lost = judgement(protocol, about("b", "state_transition"), Status.EDIT_FAILED, reason="no picture")
    for of in protocol.published.values():
        with pytest.raises(Missing, match="stops at `b`: no picture"):
            of([answer("state_transition", 5, 5, 5, 5), lost])
    assert certificate_of(protocol)["certified"] is False
