"""Where the numbers of the page lead: to the samples that they are of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edit_eval.reporting.page.address import link
from edit_eval.reporting.page.entries import Entry


def to_part(part: Entry, **more: object) -> str:
    """To the samples of a score of an edit model by a judge; `more` narrows them down."""
    score = None if part.leads else part.score
    return link(model=part.edit_model, judge=part.judge, score=score, **more)


def to_failures(failure: Mapping[str, Any]) -> str:
    """To the samples of an entry of the summary's `failures`: those of its status in which its reason is said."""
    # A name of the sample is left out of the reason; the longest stretch without one is searched for.
    said = max(failure["reason"].split("<sample>"), key=len).strip()
    names = {"model": failure["edit_model"], "judge": failure["judge"], "score": failure["score"]}
    return link(**names, status=failure["status"], search=said)


def edit_side(edit_model: str, edit_seed: int, *, several: bool) -> str:
    """What an edit is called where two pictures are named; with its edit seed where a sample has `several` of them."""
    return f"edit:{edit_model}:{edit_seed}" if several else f"edit:{edit_model}"
