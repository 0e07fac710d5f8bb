"""The judges of a run beside people who rated its edits."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import msgspec

from edit_eval.errors import ConfigurationError
from edit_eval.plugins.agreement.document import (
    BesidePeople,
    Correlation,
    CorrelationsApart,
    ModelsBesidePeople,
    PeopleAgreement,
    Raters,
    Share,
    Span,
    TwoBesidePeople,
)
from edit_eval.plugins.agreement.rank_agreement import EditRanking, MeanAgreement, ModelRanking, Samples, with_interval
from edit_eval.plugins.agreement.sheet import GAP, INTERVAL, NAME, PART, Whose, score_column, span_column, with_parts
from edit_eval.plugins.agreement.two_raters import Agreement, agreement_of_raters, samples_of
from edit_eval.records import Results
from edit_eval.reporting import formats
from edit_eval.reporting.formats import format_signed, format_signed_span
from edit_eval.reporting.names import score_name
from edit_eval.reporting.table import Column, Line, Sheet, Table, Words
from edit_eval.statistics.intervals import none_for_nan, percentiles
from edit_eval.statistics.people import match_names
from edit_eval.statistics.raters import Item, Rater, judges_of, people_of
from edit_eval.statistics.votes import Rating
from edit_eval.text import Text, pluralize


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


# -- words --


def people_sheet(document: PeopleAgreement) -> Sheet:
    """Returns the judges beside people who rated the same edits."""
    people = Text("one person") if document.people == 1 else Text("{} people", document.people)
    whose = [Whose(name, judge) for name, judge in document.judges.items()]
    title = Text("Against people: {} by {}", pluralize(document.scores, "score"), people)
    sheet: list[Line | Table[Any]] = [Line(title, "strong")]
    if left := document.unmatched:
        words = Text("{} of the file's scores left out: they are about other edits or other scores", left)
        named = Text("{}: {}", words, document.unknown) if document.unknown else words
        sheet += [Line(named, head=Text("note: "))]
    parts: Sequence[tuple[Table[Any], Text, Text]] = (
        (
            edits_table(whose),
            Text("Within edit models, with the mean of people"),
            Text(
                "Spearman's rank correlation with the mean of people within each edit model; all: mean "
                "through Fisher's z. If all scored: what it could be at worst and at best, whatever the "
                "missing scores are."
            ),
        ),
        (
            like_table(whose, document.raters),
            Text("Within edit models, like for like"),
            Text(
                "With one: with one person, the mean over people; of one person, over all pairs of them. "
                "With others: with the mean of all people but one. Share: what the judge reaches with "
                "one person, over what one person does."
            ),
        ),
        (
            models_table(whose, document.raters),
            Text("Between edit models: their order"),
            Text(
                "Rank correlation of the models' means; its 95% interval is about other models. Pairs "
                "alike: the share of pairs of these models that judge and people order alike; its "
                "interval counts a pair as decided where both prove its order. Pairs right: of the pairs "
                "that people separate, those that the judge orders as they do."
            ),
        ),
        (
            pairs_table(document.pairs),
            Text("Two judges: which agrees better with people"),
            Text(
                "How much higher the first judge's correlation with people is than the second's, on the "
                "edits that both have scored, within models with a paired 95% interval."
            ),
        ),
    )
    for table, title, hint in parts:
        if table.rows:
            sheet += [GAP, Line(title), table, Line(hint, "quiet")]
    remarks = [*describe_unscored(whose), *calibration_lines(whose)]
    return [*sheet, *([GAP] if remarks else []), *map(Line, remarks)]


def edits_table(judges: Sequence[Whose[BesidePeople]]) -> Table[Whose[Any]]:
    """Returns each judge's agreement with the mean of people within edit models: over all models, and for each."""

    def number(row: Whose[BesidePeople]) -> str:
        return str(row.findings.n) if row.part else f"{row.findings.n}/{row.findings.total}"

    def bounds(row: Whose[BesidePeople]) -> str | None:
        if row.part:
            return ""
        worst_case, best_case = row.findings.worst_case, row.findings.best_case
        if row.findings.n == row.findings.total or worst_case is None or best_case is None:
            return None
        return formats.format_interval([worst_case, best_case])

    return Table(
        every=(
            PART,
            Column(Text("n"), number),
            score_column(
                Text("Spearman"),
                lambda correlation: correlation.spearman,
                look=lambda row: "" if row.part else "strong",
            ),
            Column(INTERVAL, lambda row: "" if row.part else formats.format_interval(row.findings.ci95)),
            Column(Text("If all scored"), bounds),
        ),
        rows=[
            row
            for judge in judges
            for row in with_parts(
                Text("{}: {}", judge.name, score_name(judge.findings.score)), judge.findings, judge.findings.edit_models
            )
        ],
        group=NAME,
    )


@dataclass(frozen=True)
class _Like:
    """A judge, or one person, with one (other) person and with all but one."""

    spearman: float | None
    ci95: Span | None
    others: float | None
    share: float | None
    share_ci95: Words


def like_table(judges: Sequence[Whose[BesidePeople]], raters: Raters | None) -> Table[Whose[_Like]]:
    """Compares like with like: each judge, and one person, with one (other) person and with the mean of all but one."""
    rows = []
    for judge in judges if raters else ():
        findings, share = judge.findings, judge.findings.as_one_person
        others, span = findings.others.spearman if findings.others else None, formats.format_interval(share.ci95)
        like = _Like(findings.one_person.spearman, findings.one_person.ci95, others, share.value, span)
        rows.append(Whose(judge.name, like))
    if raters:
        rows.append(Whose(Text("one person"), _Like(raters.spearman, raters.ci95, raters.others.spearman, 1.0, "")))
    return Table(
        every=(
            NAME,
            score_column(Text("With one"), lambda like: like.spearman, look="strong"),
            span_column(),
            score_column(Text("With others"), lambda like: like.others),
            score_column(Text("Share"), lambda like: like.share),
            Column(INTERVAL, lambda row: row.findings.share_ci95),
        ),
        rows=rows,
    )


def models_table(judges: Sequence[Whose[BesidePeople]], raters: Raters | None) -> Table[Whose[Any]]:
    """Returns whether each judge orders the edit models as people do; no row if nothing is known."""
    rows: list[Whose[Any]] = [Whose(judge.name, judge.findings.between_models) for judge in judges]
    known = any(row.findings.spearman is not None or row.findings.separated > 0 for row in rows)
    person = [Whose(Text("one person"), raters.between_models)] if raters else []

    def judge_column(title: Text, shows: Callable[[ModelsBesidePeople], Words]) -> Column[Whose[Any]]:
        return Column(title, lambda row: shows(row.findings) if isinstance(row.findings, ModelsBesidePeople) else "")

    return Table(
        every=(
            NAME,
            judge_column(Text("Models", context="number"), lambda order: str(order.models)),
            score_column(Text("Spearman"), lambda order: order.spearman, look="strong"),
            judge_column(Text("Pairs alike"), lambda order: _share(order.pairs_alike)),
            judge_column(Text("Other models"), lambda order: formats.format_interval(order.ci95_models)),
            judge_column(
                Text("Pairs right"),
                lambda order: Text("{} of {}", _share(order.pairs_ordered), order.separated, context="pairs"),
            ),
        ),
        rows=[*rows, *person] if known else [],
    )


def _share(share: Share) -> str:
    """`93% (75–100%)`."""
    if share.value is None:
        return formats.NOTHING
    span = f" ({100 * share.ci95[0]:.0f}–{100 * share.ci95[1]:.0f}%)" if share.ci95 else ""
    return f"{share.value:.0%}{span}"


def pairs_table(pairs: Sequence[TwoBesidePeople]) -> Table[Whose[TwoBesidePeople]]:
    """Returns, for every two judges, how much better the first agrees with people on edits that both have scored."""
    return Table(
        every=(
            NAME,
            Column(Text("n"), lambda row: str(row.findings.n)),
            Column(Text("Edits"), lambda row: format_signed(row.findings.within_models.difference)),
            Column(INTERVAL, lambda row: format_signed_span(row.findings.within_models.ci95)),
            Column(Text("Models"), lambda row: format_signed(row.findings.between_models.difference)),
        ),
        rows=[Whose(f"{pair.a} - {pair.b}", pair) for pair in pairs],
    )


def describe_unscored(judges: Sequence[Whose[BesidePeople]]) -> Iterator[Text]:
    """Yields what people say of edits left unscored by a judge: a line for each judge that left any."""
    for judge in judges:
        left = judge.findings.unscored
        if left.n:
            yield Text(
                "{} left {} of {} unscored: people gave these {} on average, the others {} (difference {})",
                judge.name,
                left.n,
                judge.findings.total,
                *map(formats.score, (left.people_mean, left.people_mean_scored)),
                f"{format_signed(left.difference)} {format_signed_span(left.ci95)}",
            )


def calibration_lines(judges: Sequence[Whose[BesidePeople]]) -> Iterator[Text]:
    """Yields how well each judge's score predicts people's: a line per judge."""
    for judge in judges:
        if calibration := judge.findings.calibration:
            yield Text(
                "{}, calibrated, predicts people's mean score to ±{} (root mean square, on source "
                "images it was not fitted to): {} of its variance. The map is in --json.",
                judge.name,
                formats.score(calibration.rmse),
                f"{max(0.0, calibration.explained):.0%}",
            )
