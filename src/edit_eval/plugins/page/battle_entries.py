"""Battles as plain data for the page's gallery: outcomes and answers, and how often an edit won."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TypedDict

from edit_eval.records import Edit, Judgement, Reading, Status
from edit_eval.reporting.entries import link
from edit_eval.statistics.battles import BattleOutcome, battle_outcome
from edit_eval.statistics.failures import ANY, FailureGroup
from edit_eval.statistics.votes import BACKWARD, FORWARD


class BattleAnswer(TypedDict):
    """An answer in a battle."""

    question: str
    number: int
    """Of the reading, from 0."""
    status: Status
    reason: str
    text: str
    first: str
    """The edit model whose edit was shown first."""
    prefers: str | None


class BattleEntry(TypedDict):
    """A battle's outcome by each score, the headline first, and its answers."""

    judge: str
    repeat: int
    edit_seed: int
    status: Status
    reason: str
    models: list[str]
    outcomes: dict[str, BattleOutcome]
    answers: list[BattleAnswer]


def battle_entry(battle: Judgement) -> BattleEntry:
    names = [battle.headline, *(name for name in (*battle.scores, *battle.missing) if name != battle.headline)]
    return {
        "judge": battle.judge,
        "repeat": battle.repeat,
        "edit_seed": battle.edit_seed,
        "status": battle.status,
        "reason": battle.reason,
        "models": [battle.edit_model, battle.other],
        "outcomes": {name: battle_outcome(battle, name) for name in names},
        "answers": [
            _answer(battle, name, number, answer)
            for number, reading in enumerate(battle.readings)
            for name, answer in reading.items()
        ],
    }


def count_outcomes(edit: Edit, battles: Iterable[BattleEntry]) -> dict[str, list[int]]:
    """Counts the battles that the edit won and lost by the headline of each judge that compares."""
    won: dict[str, list[int]] = {}
    for battle in battles:
        if edit.edit_model in battle["models"] and edit.edit_seed == battle["edit_seed"]:
            came = next(iter(battle["outcomes"].values()))
            ours = BattleOutcome.SECOND if battle["models"].index(edit.edit_model) else BattleOutcome.FIRST
            counts = won.setdefault(battle["judge"], [0, 0])
            if came in (BattleOutcome.FIRST, BattleOutcome.SECOND):
                counts[came is not ours] += 1
    return won


def _answer(battle: Judgement, question: str, number: int, reading: Reading) -> BattleAnswer:
    first, prefers = preference_of(battle, question, reading)
    return {
        "question": question,
        "number": number,
        "status": reading.status,
        "reason": reading.reason,
        "text": reading.text,
        "first": first,
        "prefers": prefers,
    }


def link_to_failures(failure: FailureGroup, battle_judges: Collection[str] = ()) -> str:
    """Returns a link to the samples of an entry of the summary's `failures`, by its status and a search for its reason.

    No filter can name a judge that compares, nor the two edit models of a battle.
    """
    # The reason has `ANY` in place of the sample's name: search for its longest stretch without one.
    said = max(failure.reason.split(ANY), key=len).strip()
    names = {"model": failure.edit_model, "judge": failure.judge, "score": failure.score}
    names = {} if failure.judge in battle_judges else names
    return link(**names, status=failure.status.value, search=said)


def preference_of(judgement: Judgement, question: str, reading: Reading) -> tuple[str, str | None]:
    """Returns the edit model whose edit a question showed first, and the preferred one: "" is a tie, None no answer."""
    order = BACKWARD if question.endswith(f".{BACKWARD}") else FORWARD
    first = judgement.other if order == BACKWARD else judgement.edit_model
    share = next((value for name, value in reading.values.items() if name.endswith(f".{order}")), None)
    if share is None or share == 0.5:
        return first, None if share is None else ""
    return first, judgement.edit_model if share > 0.5 else judgement.other
