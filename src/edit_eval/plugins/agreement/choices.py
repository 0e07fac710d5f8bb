"""Judges beside the choices that came with the benchmark (`benchmarks.people_choices`)."""

from __future__ import annotations

import math

import msgspec

from edit_eval.plugins.agreement.document import BesideChoices, JudgeBesideChoices
from edit_eval.plugins.agreement.vote_agreement import choices, compare_with_votes
from edit_eval.records import Results
from edit_eval.statistics.raters import as_voter, comparers_of, image_of, judges_of, voters_of
from edit_eval.statistics.votes import Vote

CHOICES_OF_DATA = {"A": "left", "B": "right", "tie": "tie"}
"""Choice in a sample's facts -> a vote's choice, with A on the left."""


def compare_with_choices(results: Results) -> BesideChoices | None:
    """Compares judges with them. None if the data have no choices, or the run has no edit models `A` and `B`."""
    facts = {sample.id: sample.facts for sample in results.samples if sample.facts.get("chosen") in CHOICES_OF_DATA}
    if not facts or not {"A", "B"} <= {*results.edit_models}:
        return None

    def vote(sample: str, chosen: str, rater: str) -> Vote:
        return Vote(sample, "A", "B", CHOICES_OF_DATA[chosen], rater)

    votes = [vote(sample, str(of["chosen"]), "chosen") for sample, of in facts.items()]
    (chosen,) = voters_of(votes)
    every = [
        vote(sample, said, str(place))
        for sample, of in facts.items()
        for place, said in enumerate(of.get("raters") or ())
        if said in CHOICES_OF_DATA
    ]
    image, agreement = image_of(results), compare_with_votes(results, votes)
    judges = []
    asked = [as_voter(judge) for judge in judges_of(results).values()] + comparers_of(results)
    for row, judge in zip(agreement.judges, asked, strict=True):
        shares = [chosen.values[item] for item in judge.answers if item in chosen.answers]
        first = math.fsum(shares) / len(shares) if shares else None
        constant = None if first is None else max(first, 1 - first)
        judges.append(JudgeBesideChoices(**msgspec.structs.asdict(row), constant=constant))
    people = [choices(voter, chosen, image) for voter in voters_of(every)]
    agrees = [person.agrees for person in people if person.agrees is not None]
    mean = math.fsum(agrees) / len(agrees) if agrees else None
    return BesideChoices(
        judges=judges,
        people=msgspec.structs.replace(people[0], agrees=mean, ci95=None) if agrees else None,
        tie=agreement.tie,
    )
