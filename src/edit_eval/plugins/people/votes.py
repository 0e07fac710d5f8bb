"""What people prefer, by their votes on a run."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from edit_eval.config.faults import did_you_mean
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.agreement.vote_agreement import BesideVotes, compare_with_votes
from edit_eval.records import Results
from edit_eval.statistics.preferences import preferences
from edit_eval.statistics.strengths import Preferences
from edit_eval.store.votes import Votes
from edit_eval.text import Text


class PeoplesVotes(Preferences, frozen=True, kw_only=True):
    """Which edit model people prefer, who they are, and the judges beside them."""

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
    every = votes.to_votes(results.samples)
    known = {vote.rater for vote in every}
    for flag, names in (("--without", without), ("--with", taken_in)):
        if unknown := next((name for name in names if name not in known), ""):
            raise ConfigurationError(
                Text("{} {}: nobody with that name has voted{}", flag, unknown, did_you_mean(unknown, known))
            )
    heard = [vote for vote in every if vote.rater not in without]
    tally = preferences(heard, results.edit_models, taken_in=taken_in)
    apart = {rater.rater for rater in tally.raters if rater.set_apart}
    beside = compare_with_votes(results, [vote for vote in heard if vote.rater not in apart])
    return PeoplesVotes(
        **msgspec.structs.asdict(tally), beside=beside, outdated=votes.outdated, damaged=votes.damage.total
    )
