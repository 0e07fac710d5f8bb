"""Judges beside people who voted: which of two edits do they prefer?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations

import msgspec
import numpy as np

from edit_eval.records import Results
from edit_eval.statistics.intervals import cluster_codes, estimate
from edit_eval.statistics.raters import SHARE, Item, Rater, as_one, image_of, judges_of, voters_of
from edit_eval.statistics.votes import SHARES, Vote

_Image = Callable[[str], str]


class Agreed(msgspec.Struct, frozen=True, kw_only=True):
    """How often two prefer the same one of two edits, a tie of one of them being half right."""

    pairs: int
    """That both have answered about."""
    images: int
    agrees: float | None
    """How often, 0 to 1; None without a pair."""
    ci95: list[float] | None
    """Clustered on source images."""


class JudgeBesideVotes(Agreed, frozen=True, kw_only=True):
    """A judge with people."""

    judge: str
    edits: int
    """How many it was shown at once, 1 or 2."""


class BesideVotes(msgspec.Struct, frozen=True, kw_only=True):
    """A run's judges with people who voted."""

    judges: list[JudgeBesideVotes]
    people: Agreed | None
    """One person with another; None with one."""
    tie: float | None
    """The agreement of always calling both equal."""


def choices(rater: Rater, reference: Rater, image: _Image) -> Agreed:
    """Returns how often `rater` and a rater of `reference` agree; `image` gives each sample's source image."""
    items = [item for item in rater.answers if item in reference.answers]
    outcomes = [
        (image(item.sample_id), _alike(rater.values[item], voter.values[item]))
        for item in items
        for voter in reference.raters or (reference,)
        if item in voter.answers
    ]
    return _estimate_agreement(outcomes, len(items))


def compare_with_votes(results: Results, votes: Sequence[Vote]) -> BesideVotes:
    """Compares judges with people who voted."""
    raters = voters_of([vote for vote in votes if vote.choice in SHARES])
    people, image = as_one("people", raters), image_of(results)
    ties = replace(people, name="tie", answers={item: [0.5] for item in people.answers}, raters=())
    asked = [(1, as_voter(judge)) for judge in judges_of(results).values()]
    asked += [(2, judge) for judge in comparers_of(results)]
    return BesideVotes(
        judges=[
            JudgeBesideVotes(judge=judge.name, edits=edits, **msgspec.structs.asdict(choices(judge, people, image)))
            for edits, judge in asked
        ],
        people=_compare_voters(raters, image),
        tie=choices(ties, people, image).agrees,
    )


def _alike(first: float, second: float) -> float:
    """Compares two shares: 1 if both prefer the same, 0 if not, .5 if one of them is a tie."""
    signs = np.sign(first - 0.5), np.sign(second - 0.5)
    return 1.0 if signs[0] == signs[1] else 0.5 if 0 in signs else 0.0


def _estimate_agreement(outcomes: Sequence[tuple[str, float]], pairs: int) -> Agreed:
    """Returns the mean over votes, each with its source image."""
    images = [image for image, _ in outcomes]
    if not outcomes:
        return Agreed(pairs=pairs, images=0, agrees=None, ci95=None)
    mean = estimate(np.array([value for _, value in outcomes], dtype=np.float64), cluster_codes(images))
    interval = mean.interval(lowest=0, highest=1)
    return Agreed(pairs=pairs, images=len({*images}), agrees=mean.value, ci95=interval)


def _compare_voters(raters: Sequence[Rater], image: _Image) -> Agreed | None:
    """Compares every two of them, on what both have voted on."""
    outcomes = []
    items = set()
    for first, second in combinations(raters, 2):
        for item in first.answers.keys() & second.answers.keys():
            items.add(item)
            outcomes.append((image(item.sample_id), _alike(first.values[item], second.values[item])))
    return _estimate_agreement(sorted(outcomes), len(items)) if outcomes else None


def comparers_of(results: Results) -> list[Rater]:
    """Returns the judges of a run that compare edits, by their headlines: as voters, over both orders."""
    by_judge: dict[str, dict[Item, list[float]]] = {judge: {} for judge in results.battle_judges}
    for battle in results.battles:
        if battle.score is not None:
            item = Item.from_pair(battle.edit_model, battle.other, battle.sample_id, battle.edit_seed)
            share = battle.score if battle.edit_model == item.edit_model else 1 - battle.score
            by_judge[battle.judge].setdefault(item, []).append(share)
    return [Rater(judge, "asked", "", SHARE, answers) for judge, answers in by_judge.items()]


def as_voter(judge: Rater) -> Rater:
    """Returns a judge of single edits as if it had voted on every two edits of a sample, for the one scored higher."""
    of_samples: dict[tuple[str, int], list[tuple[str, float]]] = {}
    for (model, sample, seed, _), value in judge.upward.items():
        of_samples.setdefault((sample, seed), []).append((model, value))
    answers = {}
    for (sample, seed), scored in of_samples.items():
        for (first, of_first), (second, of_second) in combinations(sorted(scored), 2):
            answers[Item(first, sample, seed, second)] = [0.5 + 0.5 * float(np.sign(of_first - of_second))]
    return replace(judge, scale=SHARE, answers=answers)
