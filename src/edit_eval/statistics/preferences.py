"""What votes on pairs of edits come to: strengths, wins, raters and their agreement; and which pair to ask about next.

The votes are people's, or those of a judge that was shown both edits in both orders (`statistics.battles`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from itertools import combinations

import msgspec

from edit_eval.statistics.fitted_strengths import ELO, NO_FIT, davidson, fit_strengths, unit
from edit_eval.statistics.intervals import sign_test, wilson_interval
from edit_eval.statistics.ordinal import alpha
from edit_eval.statistics.raters import voters_of
from edit_eval.statistics.strengths import Preferences, RankedStrength, RaterAgreement, StrengthDifference, Voter
from edit_eval.statistics.votes import SHARES, Vote

SIDE_LEVEL, SIDE_SHARE = 0.001, 0.8
"""A rater counts as always taking one side if his votes for left and right would be that unlikely by chance, and more
than that share of them are for one side: 58 % of 500 votes are as unlikely, but still say something about the edits."""


def preferences(
    votes: Sequence[Vote],
    edit_models: Sequence[str],
    *,
    taken_in: Collection[str] = (),
    resamples: int = 1_000,
    tables: int = 1,
    looks: int = 1,
) -> Preferences:
    """Computes strengths with intervals, wins of every pair, habits of raters, and their agreement.

    Intervals are clustered on source images and on raters at once. `tables` of the same models stand beside each other,
    and p is corrected for them, too. A rater who always takes one side is set apart, and in no number, unless he is
    `taken_in`. If the number of votes was open, and they were looked at up to `looks` times to decide it, all intervals
    are at `level(looks)`: `ci95` holds the truth in 95 of 100 whenever it ended.
    """
    raters = _raters(votes)
    apart = one_sided(votes) - set(taken_in)
    of_all = [vote for vote in votes if vote.rater not in apart]
    counted = [vote for vote in of_all if vote.choice in SHARES]
    fit = fit_strengths(counted, edit_models, tables=tables, looks=looks)
    fits, all_ties = fit.doubt not in NO_FIT, all(vote.tie == 1 for vote in counted)  # odds of a tie without bound
    tests = zip(fit.family.tests, fit.family.adjust_p_values(), fit.family.better(), strict=True)
    return Preferences(
        votes=len(counted),
        skipped=len(of_all) - len(counted),
        samples=len({vote.sample_id for vote in counted}),
        strengths=[
            RankedStrength(
                edit_model=model,
                strength=(strength := fit.strength(place)),
                elo=None if strength is None else ELO[1] + ELO[0] * strength,
                share=fit.share(place),
                ci95=fit.interval(unit(len(edit_models), place)),
                no_ci95=fit.doubt_of(place),
                rank=fit.ranks[model],
            )
            for place, model in enumerate(edit_models)
        ],
        differences=[
            StrengthDifference(
                a=edit_models[a],
                b=edit_models[b],
                **_counts(counted, edit_models[a], edit_models[b]),
                difference=fit.difference(a, b),
                ci95=fit.difference_interval(a, b),
                p=test.p,
                p_adjusted=adjusted,
                better=better,
            )
            for (a, b), (test, adjusted, better) in zip(combinations(range(len(edit_models)), 2), tests, strict=True)
        ],
        family=fit.family.correction,
        davidson=davidson(counted, edit_models, looks=looks) if fits and not all_ties else None,
        raters=[msgspec.structs.replace(rater, set_apart=rater.rater in apart) for rater in raters],
        agreement=_agreement(counted, resamples),
    )


def _counts(votes: Sequence[Vote], a: str, b: str) -> dict[str, int]:
    """Counts how often a was preferred, b was, neither was, and both were bad."""
    counts = Counter[str]()
    for vote in votes:
        if {vote.left, vote.right} == {a, b}:
            side = {"left": vote.left, "right": vote.right}.get(vote.choice)
            counts[
                "tie" if vote.choice == "tie" else "both_bad" if side is None else "wins" if side == a else "losses"
            ] += 1
    return {name: counts[name] for name in ("wins", "tie", "both_bad", "losses")}


def one_sided(votes: Sequence[Vote]) -> set[str]:
    """Returns the raters who always take one side: their votes say nothing, as sides are drawn at random."""
    return {rater.rater for rater in _raters(votes) if rater.side}


def _raters(votes: Sequence[Vote]) -> list[Voter]:
    of: dict[str, list[Vote]] = defaultdict(list)
    for vote in votes:
        of[vote.rater].append(vote)
    return [_rater(name, of[name]) for name in sorted(of)]


def _rater(name: str, votes: Sequence[Vote]) -> Voter:
    of = Counter(vote.choice for vote in votes)
    sides = of["left"] + of["right"]
    most = max(of["left"], of["right"])
    one_sided = most > SIDE_SHARE * sides and sign_test(of["left"], of["right"]) <= SIDE_LEVEL
    return Voter(
        rater=name,
        votes=sum(of[choice] for choice in SHARES),
        skipped=of["skip"],
        ties=of["tie"],
        both_bad=of["both_bad"],
        left=of["left"] / sides if sides else None,
        left_ci95=wilson_interval(of["left"], sides),
        side=None if not one_sided else "left" if of["left"] == most else "right",
    )


def _agreement(votes: Sequence[Vote], resamples: int) -> RaterAgreement | None:
    """Computes Krippendorff's alpha (ordinal) between raters, over pairs with two votes or more; None for one rater."""
    raters = voters_of(votes)
    if len(raters) < 2:
        return None
    images = {vote.sample_id: vote.group for vote in votes}
    agreement = alpha(raters, images.__getitem__, resamples)
    same = [
        first.values[pair] == second.values[pair]
        for first, second in combinations(raters, 2)
        for pair in first.answers.keys() & second.answers.keys()
    ]
    return RaterAgreement(
        raters=len(raters),
        pairs=agreement.edits,
        identical=sum(same) / len(same) if same else None,
        alpha=agreement.alpha,
        ci95=agreement.ci95,
    )
