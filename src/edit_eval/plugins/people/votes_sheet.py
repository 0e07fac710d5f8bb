"""People's votes as a sheet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from edit_eval.plugins.agreement.sheet import preference_table
from edit_eval.plugins.people.votes import PeoplesVotes
from edit_eval.reporting import formats
from edit_eval.reporting.strengths import doubt_lines, ranks_lines, strengths_table
from edit_eval.reporting.table import Column, Line, Sheet, Table
from edit_eval.statistics.strengths import Voter
from edit_eval.text import Text

_ONE_SIDED: Mapping[str, Callable[..., Text]] = {
    "apart.left": lambda rater: Text(
        "{0} always takes the left one, and is not counted; to count these votes: --with {0}", rater
    ),
    "apart.right": lambda rater: Text(
        "{0} always takes the right one, and is not counted; to count these votes: --with {0}", rater
    ),
    "side.left": lambda rater: Text(
        "{} always takes the left one: these votes say nothing; leave them out with --without", rater
    ),
    "side.right": lambda rater: Text(
        "{} always takes the right one: these votes say nothing; leave them out with --without", rater
    ),
}


def votes_sheet(document: PeoplesVotes) -> Sheet:
    """Returns strengths, raters and their agreement, and judges beside people."""
    return list(_lines(document)) if document.raters else [Line(Text("Nobody has voted yet."))]


def _lines(document: PeoplesVotes) -> Iterator[Line | Table[Any]]:
    raters = len(document.raters)
    counts = document.votes, document.samples, raters, document.skipped
    yield Line(Text("{} votes on {} samples by {}; {} skipped", *counts))
    yield Line()
    places = {strength.edit_model: place for place, strength in enumerate(document.strengths)}
    yield strengths_table(document.strengths, places=places)
    yield from doubt_lines(document.strengths, "quiet")
    yield from ranks_lines(document.family)
    yield Line()
    yield raters_table(document.raters)
    for rater in document.raters:
        if rater.side:
            kind = f"{'apart' if rater.set_apart else 'side'}.{rater.side}"
            yield Line(_ONE_SIDED[kind](rater.rater), "problem")
    agreement = document.agreement
    if agreement and agreement.pairs:
        yield Line()
        yield Line(
            Text(
                "Raters agree with alpha {} {} on {} pairs that two or more have seen; {} of their votes are the same",
                formats.score(agreement.alpha),
                formats.format_interval(agreement.ci95),
                agreement.pairs,
                formats.share(agreement.identical or 0.0, 1),
            )
        )
    if document.beside.judges and document.beside.tie is not None:
        yield Line()
        yield preference_table(msgspec.to_builtins(document.beside))
        yield Line(
            Text(
                "How often each prefers the edit that a person does; a tie of one of the two counts half. A "
                "rater who always said that both are equal would have {}.",
                formats.share(document.beside.tie, 1),
            )
        )
    if outdated := document.outdated:
        yield Line(Text("{} votes are on edits that are not there any more, and do not count", outdated))
    if damaged := document.damaged:
        yield Line(Text("{} damaged lines among the votes were left out", damaged))
    several = Text(
        "Strengths: Bradley-Terry, in logits, mean 0; a tie counts half. Votes count with the "
        "inverse of the chance of their sample. 95% intervals clustered on source images and "
        "raters."
    )
    alone = Text(
        "Strengths: Bradley-Terry, in logits, mean 0; a tie counts half. 95% intervals clustered "
        "on source images: they hold for this rater alone."
    )
    yield Line(several if raters > 1 else alone, "quiet")


def raters_table(raters: Sequence[Voter]) -> Table[Voter]:
    """Returns a row for each rater: how often each choice was made."""
    counts = {"votes": Text("Votes"), "ties": Text("Ties"), "both_bad": Text("Both bad"), "skipped": Text("Skipped")}
    return Table(
        every=(
            Column(Text("Rater"), lambda voter: voter.rater, "name"),
            *(
                Column(title, partial(lambda key, voter: str(getattr(voter, key)), name))
                for name, title in counts.items()
            ),
            Column(
                Text("Left", context="votes"),
                lambda voter: None if voter.left is None else formats.share(voter.left, 1),
                look=lambda voter: "problem" if voter.side else "",
            ),
        ),
        rows=raters,
        label=Text("Raters"),
        style="ranks",
        gap=0,
    )
