"""What the gallery shows of edit models that are told a judge's words: by whom, and what it said of each edit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from edit_eval.records import Judgement, Results, Status


def told_by(results: Results) -> dict[str, dict[str, Any]]:
    """Returns for each column that is told something the column before, the judge and the round."""
    return {name: {"before": how.before, "judge": how.judge, "round": how.round} for name, how in results.told.items()}


def critiques_by_sample(results: Results) -> dict[str, list[Judgement]]:
    """Returns the critiques of each sample, by its id; of a kept edit where it was made."""
    found: dict[str, list[Judgement]] = defaultdict(list)
    for critique in results.critiques:
        if not critique.made_in:
            found[critique.sample_id].append(critique)
    return found


def critiques_by_edit(critiques: Iterable[Judgement]) -> dict[tuple[str, int], dict[str, Any]]:
    """Returns by column and edit seed a critic's words about an edit, and its headline, by which it is only chosen."""
    return {
        (one.edit_model, one.edit_seed): {
            "judge": one.judge,
            "status": one.status,
            "words": (one.reason if one.status is Status.OK else "") or one.answer,
            "score": one.score,
        }
        for one in critiques
        if not one.repeat
    }
