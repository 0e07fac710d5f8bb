"""What people prefer, by their votes on a run."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from edit_eval.config.faults import did_you_mean
from edit_eval.errors import ConfigurationError
from edit_eval.guests.agreement.beside_votes import BesideVotes, beside_votes
from edit_eval.records import Results
from edit_eval.statistics.preferences import preferences
from edit_eval.store.votes import Votes
from edit_eval.text import Text


class PeoplesVotes(msgspec.Struct, frozen=True, kw_only=True):
    """Which edit model people prefer, who they are, and the judges beside them (`statistics.preferences`)."""

    votes: int
    skipped: int
    samples: int
    strengths: list[dict[str, Any]]
    """Of each edit model: `edit_model`, `strength` in logits, `elo`, `share`, `ci95`, `no_ci95`, `rank`."""
    differences: list[dict[str, Any]]
    """Of every two, with who is shown to be `better`."""
    family: dict[str, Any]
    """What these are corrected for."""
    davidson: dict[str, Any] | None
    """The same by a model in which a tie is an outcome, and the left side has an advantage."""
    raters: list[dict[str, Any]]
    """How each rater votes, which `side` is always taken, and who is `set_apart` for it."""
    agreement: dict[str, Any] | None
    """Of raters with each other."""
    beside: BesideVotes
    outdated: int
    """Votes on edits that are not there any more: they do not count."""
    damaged: int
    """Lines that could not be read."""


def peoples_votes(
    results: Results, votes: Votes, without: Collection[str] = (), taken_in: Collection[str] = ()
) -> PeoplesVotes:
    """Counts the votes on a run, without those of raters `without`, and with those of raters `taken_in` who always
    take one side. Raises `ConfigurationError` for a name that nobody has who voted."""
    every = votes.counted(results.samples)
    known = {vote.rater for vote in every}
    for flag, names in (("--without", without), ("--with", taken_in)):
        if unknown := next((name for name in names if name not in known), ""):
            raise ConfigurationError(
                Text("{} {}: nobody with that name has voted{}", flag, unknown, did_you_mean(unknown, known))
            )
    heard = [vote for vote in every if vote.rater not in without]
    found = preferences(heard, results.edit_models, taken_in=taken_in)
    apart = {rater["rater"] for rater in found["raters"] if rater["set_apart"]}
    beside = beside_votes(results, [vote for vote in heard if vote.rater not in apart])
    given = {name: value for name, value in found.items() if name != "schema"}
    return PeoplesVotes(**given, beside=beside, outdated=votes.outdated, damaged=votes.damage.total)
