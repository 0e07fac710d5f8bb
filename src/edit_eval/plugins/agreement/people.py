"""The judges of a run beside people who rated its edits."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import combinations
from typing import NamedTuple

import msgspec

from edit_eval.errors import ConfigurationError
from edit_eval.plugins.agreement.document import (
    BesidePeople,
    Correlation,
    CorrelationsApart,
    ModelsBesidePeople,
    PeopleAgreement,
    Raters,
    TwoBesidePeople,
)
from edit_eval.plugins.agreement.rank_agreement import EditRanking, MeanAgreement, ModelRanking, Samples, with_interval
from edit_eval.plugins.agreement.two_raters import Agreement, agreement_of_raters, samples_of
from edit_eval.records import Results
from edit_eval.statistics.intervals import none_for_nan, percentiles
from edit_eval.statistics.people import match_names
from edit_eval.statistics.raters import Item, Rater, judges_of, people_of
from edit_eval.statistics.votes import Rating
from edit_eval.text import Text


class _MatchedRatings(NamedTuple):
    """The judges of a run beside people who rated its edits."""

    judges: dict[str, Rater]
    people: dict[str, Rater]
    """People's answers for each score that a judge is compared by."""
    samples: Samples
    ratings: Sequence[Rating]
    """Ratings that are about an edit and a score of the run."""
    left: list[str]
    """Names of samples and edit models that the run does not have."""

    def agreement_of(self, judge: Rater) -> Agreement:
        """Returns a judge and the people who rated the same score, or else the first judge's score."""
        return Agreement(judge, self.people.get(judge.score) or self.first, self.samples)

    @property
    def first(self) -> Rater:
        return self.people[next(iter(self.judges.values())).score]


def _match_ratings(results: Results, ratings: Sequence[Rating], score: str | None, resamples: int) -> _MatchedRatings:
    """Raises `ConfigurationError` if no rating is about these results."""
    judges = judges_of(results, score)
    known = {Item.from_record(edit) for edit in results.edits}
    ratings, left = match_names(ratings, [sample.id for sample in results.samples], results.edit_models)
    names = {of.score for of in judges.values()}
    there = [rating for rating in ratings if Item.from_record(rating) in known]
    usable = [rating for rating in there if rating.score_name in names | {""}]
    if not usable:
        raise ConfigurationError(_nothing_matches(ratings, there, known, names))
    people = {name: people_of(usable, name) for name in names}
    return _MatchedRatings(judges, people, samples_of(results, people.values(), resamples=resamples), usable, left)


def _nothing_matches(
    ratings: Sequence[Rating], there: Sequence[Rating], known: Collection[Item], names: Collection[str]
) -> str:
    if not ratings:
        return Text("there are no scores by people")
    if there:
        theirs, ours = (", ".join(sorted(some)) for some in ({rating.score_name for rating in ratings}, names))
        return Text("none of the {} scores by people is about {}; they are about {}", len(ratings), ours, theirs)
    first, (edit_model, sample, edit_seed, _) = ratings[0], min(known, default=Item("", "", 0))
    return Text(
        "none of the {} scores by people is about an edit of this run; the first is about {!r} by "
        "{!r} (edit seed {}), an edit of this run is {!r} by {!r} (edit seed {})",
        len(ratings),
        first.sample_id,
        first.edit_model,
        first.edit_seed,
        sample,
        edit_model,
        edit_seed,
    )


def people_agreement(
    results: Results, ratings: Sequence[Rating], *, score: str | None = None, resamples: int = 1_000
) -> PeopleAgreement:
    """Measures how far each judge agrees with people.

    By each judge's headline, or its `score` of that name (its mean over repeats, negated if lower is better). A
    rating with a name counts for the judges' score of that name alone. `raters` is the agreement of people with each
    other (if the judges' headlines have different names: about the first judge's); None with one person. `people`
    counts them, `scores` their ratings that are used, `unmatched` the lines about other edits and other scores.
    Raises `ConfigurationError` when that is all of them, and for a `score` that no judge gives.
    """
    matched = _match_ratings(results, ratings, score, resamples)
    return PeopleAgreement(
        judges={name: _summarise_agreement(matched.agreement_of(judge)) for name, judge in matched.judges.items()},
        pairs=[
            _compare_two_judges(a, b, matched)
            for a, b in combinations(matched.judges.values(), 2)
            if a.score == b.score
        ],
        raters=_raters(matched.first, matched.samples),
        people=len({rating.rater for rating in matched.ratings}),
        scores=len(matched.ratings),
        unmatched=len(ratings) - len(matched.ratings),
        unknown=matched.left,
    )


def _summarise_agreement(both: Agreement) -> BesidePeople:
    samples, bounds = both.samples, both.bounds()
    return BesidePeople(
        score=both.rater.score,
        n=len(both.items),
        total=len(both.reference.values),
        **msgspec.structs.asdict(with_interval(both.edit_ranking, samples)),
        worst_case=bounds[0] if bounds else None,
        best_case=bounds[1] if bounds else None,
        edit_models=both.edit_ranking.correlate_by_model(samples),
        one_person=with_interval(both.with_each(), samples),
        others=with_interval(both.with_others(), samples) if len(both.reference.raters) > 1 else None,
        as_one_person=both.as_one_rater(),
        between_models=ModelsBesidePeople(
            **msgspec.structs.asdict(both.estimate_model_ranking()),
            pairs=math.comb(len(both.model_ranking), 2),
            pairs_alike=both.pairs_alike(),
            **msgspec.structs.asdict(both.pairs_ordered()),
        ),
        unscored=both.compare_unanswered(),
        calibration=both.calibration(),
    )


def _compare_two_judges(a: Rater, b: Rater, matched: _MatchedRatings) -> TwoBesidePeople:
    """Computes how much better a agrees with people than b, on the edits that both have scored."""
    of_a, of_b = matched.agreement_of(a.only(b.answers)), matched.agreement_of(b.only(a.answers))

    def compare_correlations(
        first: EditRanking | ModelRanking, second: EditRanking | ModelRanking
    ) -> CorrelationsApart:
        samples = matched.samples
        values = first(samples.once)[0], second(samples.once)[0]
        # No draw gives an interval of the order of a few models: see `pairs_alike`.
        known = isinstance(first, EditRanking) and not math.isnan(values[0] - values[1])
        return CorrelationsApart(
            spearman_a=none_for_nan(values[0]),
            spearman_b=none_for_nan(values[1]),
            difference=none_for_nan(values[0] - values[1]),
            ci95=percentiles(samples.resample_statistic(first) - samples.resample_statistic(second)) if known else None,
        )

    return TwoBesidePeople(
        a=a.name,
        b=b.name,
        n=len(of_a.items),
        within_models=compare_correlations(of_a.edit_ranking, of_b.edit_ranking),
        between_models=compare_correlations(of_a.model_ranking, of_b.model_ranking),
    )


def _raters(people: Rater, samples: Samples) -> Raters | None:
    """Compares people with each other; None if no two of them have a correlation."""
    correlation = with_interval(agreement_of_raters(people, samples), samples)
    if correlation.spearman is None:
        return None
    each = [Agreement(*both, samples) for both in zip(people.raters, people.others, strict=True)]
    models = MeanAgreement([agreement.model_ranking for agreement in each])
    return Raters(
        raters=len(people.raters),
        **msgspec.structs.asdict(correlation),
        others=with_interval(MeanAgreement([agreement.edit_ranking for agreement in each]), samples),
        between_models=Correlation(spearman=none_for_nan(models(samples.once)[0])),
    )
