"""Battles as plain data for the page's gallery: outcomes and answers, and how often an edit won."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

from edit_eval.records import Edit, Judgement, Reading, Status
from edit_eval.statistics.battles import BattleOutcome, battle_outcome, preference_of


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
