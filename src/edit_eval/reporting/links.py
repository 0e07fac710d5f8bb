"""Links to samples: the part of the page's address that its scripts read and write (`templates/address.js`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import urlencode

from edit_eval.reporting.entries import Entry

KEYS = (
    *("model", "judge", "score", "min", "max", "status", "outcome", "category", "difficulty", "tag", "search"),
    *("differ", "by", "wrong", "bar", "sort", "view", "page"),
    *("sample", "left", "right", "way", "zoom", "at"),
)
"""What a page can be asked to show, in the order in which an address has it.

`model` and `judge` are names; `score` is one of the judge's, its headline where it is left out; `min` and `max` bound
it. `status` is a status of the records or `unscored`; `outcome` what came of a
battle (`preferred`, `tie`, `contradiction`, `missing`); `category`, `difficulty` and `tag` are as the benchmark calls
them. `differ` (`models` or `judges`) keeps samples whose scores are `by` or more apart; `wrong` those that `all` edit
models got wrong, `none`, or `only:NAME`: an edit is wrong that was not made, or whose score is on the worse side of
`bar`, the middle of the scale where that is left out, the mean of all on an open one. `sort` is `benchmark`, `worst`,
`best`, `models` or `answers`; `view` how cards are drawn, `page` which of them. `sample` opens the one with that id,
with the picture `left` beside the picture `right`: `source`, `source:2` for a second one, `reference`, `mask`,
`edit:MODEL`, or `edit:MODEL:N` for the Nth edit seed, from 0, of a model that has several edits of a sample. `way` is
`beside`, `slider`, `difference` or `flip`. `zoom` is how many pixels of the screen a pixel of the larger picture takes,
`at` the place in the middle, such as `0.5,0.25` of its width and height; the whole picture without them.
"""


def link(**state: object) -> str:
    """A link to what `state` says, such as `#model=A&judge=J&status=failed`; what is None or empty is left out.

    All values are escaped. With nothing left it is a link to all samples. Raises `TypeError` for a key that the page
    does not know (see `KEYS`).
    """
    unknown = sorted(set(state) - set(KEYS))
    if unknown:
        raise TypeError(f"no address has {', '.join(unknown)}; it may have {', '.join(KEYS)}")
    said = [(key, str(state[key])) for key in KEYS if state.get(key) not in (None, "")]
    return f"#{urlencode(said, errors='replace')}" if said else "#sort=benchmark"


def to_part(part: Entry, **more: object) -> str:
    """To the samples of a score of an edit model by a judge; `more` narrows them down."""
    score = None if part.leads else part.score
    return link(model=part.edit_model, judge=part.judge, score=score, **more)


def to_failures(failure: Mapping[str, Any], battle_judges: Collection[str] = ()) -> str:
    """To the samples of an entry of the summary's `failures`: those of its status in which its reason is said.

    No filter names a judge that compares, nor the two edit models of a battle.
    """
    # A name of the sample is left out of the reason; the longest stretch without one is searched for.
    said = max(failure["reason"].split("<sample>"), key=len).strip()
    names = {"model": failure["edit_model"], "judge": failure["judge"], "score": failure["score"]}
    names = {} if failure["judge"] in battle_judges else names
    return link(**names, status=failure["status"], search=said)


def edit_side(edit_model: str, edit_seed: int, *, several: bool) -> str:
    """What an edit is called where two pictures are named; with its edit seed where a sample has `several` of them."""
    return f"edit:{edit_model}:{edit_seed}" if several else f"edit:{edit_model}"
