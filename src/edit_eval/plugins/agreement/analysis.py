"""`edit-eval agreement`, and the section of every report with several judges, or with repeats."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
import numpy as np

from edit_eval.errors import ConfigurationError
from edit_eval.plugins.agreement.bridge import bridge_sheet, make_bridge
from edit_eval.plugins.agreement.document import (
    ApartByModel,
    BesideChoices,
    BetweenJudges,
    Frequency,
    JudgeBesideChoices,
    JudgeCard,
    JudgesAgreement,
    TwoJudges,
)
from edit_eval.plugins.agreement.people import people_agreement, people_sheet
from edit_eval.plugins.agreement.rank_agreement import group_by_model
from edit_eval.plugins.agreement.sheet import GAP, agreement_sheet, choices_sheet
from edit_eval.plugins.agreement.vote_agreement import as_voter, choices, compare_with_votes, comparers_of
from edit_eval.records import JUDGE_FAILED, Judgement, Results, Status
from edit_eval.reporting import formats
from edit_eval.reporting.analyses import Analysis, ChartStyle, RunRecords, Sources
from edit_eval.reporting.language import translate
from edit_eval.reporting.table import Sheet
from edit_eval.reporting.terminal_text import one_line
from edit_eval.statistics.failure_rates import failure_interval
from edit_eval.statistics.intervals import cluster_codes
from edit_eval.statistics.ordinal import alpha
from edit_eval.statistics.people import read_people
from edit_eval.statistics.raters import Rater, image_of, judges_of, retest, voters_of
from edit_eval.statistics.scores_apart import compare_scores
from edit_eval.statistics.votes import Vote
from edit_eval.text import Text

if TYPE_CHECKING:
    from edit_eval.reporting.chart_parts import AnyChart, Axis

# -- verb --


class AgreementAnalysis(Analysis[JudgesAgreement]):
    """How well judges agree with each other and with people.

    Also with themselves, if they were asked again; and how often each gives no score. With --old and --new, a bridge
    from one judge to the other: `--to FILE.json` keeps it, so that `report RUN --as OLD --bridge FILE.json` reports a
    later run by NEW on the scale of OLD.
    """

    @dataclass(frozen=True)
    class Parameters:
        people: Path | None = field(default=None, metadata={"metavar": "FILE"})
        """People's scores: CSV (sample_id, edit_model, score, rater), VIEScore's folder, or vie."""
        score: str | None = field(default=None, metadata={"metavar": "NAME"})
        """Use this score instead of the headline."""
        old: str | None = field(default=None, metadata={"metavar": "JUDGE"})
        """A judge that is gone, or will be: from its scores a bridge leads to --new."""
        new: str | None = field(default=None, metadata={"metavar": "JUDGE"})
        """With --old: the judge that takes over."""

    about: ClassVar = {"group": "To judge, and to examine judges"}
    title = Text("Judges")
    chart_title = Text("Two judges about the same edit")
    caption = Text("A dot is an edit. On a dashed line both judges give the same score; unlike scales have none.")
    document: ClassVar[type[JudgesAgreement]] = JudgesAgreement
    sources = Sources("RUN...", "A run; further runs add their judges of the same edits.", several=True, as_one=True)
    appendix = True

    def compute(self, records: RunRecords, parameters: Parameters) -> JudgesAgreement:
        """Raises `ConfigurationError` for a score that no judge gives, for people who scored other edits, and for two
        judges between which there can be no bridge."""
        results, score = records.results, parameters.score
        ratings = None if parameters.people is None else read_people(Path(parameters.people))
        if (parameters.old is None) != (parameters.new is None):
            raise ConfigurationError(Text("--old JUDGE needs --new JUDGE: give both or neither"))
        over = None
        if parameters.old is not None and parameters.new is not None:
            over = make_bridge(results, parameters.old, parameters.new, score)
        return JudgesAgreement(
            judges=cards_of(results, score),
            between_judges=compare_judges(results, score),
            people=None if ratings is None else people_agreement(results, ratings, score=score),
            choices=compare_with_choices(results),
            bridge=over,
        )

    def sheet(self, document: JudgesAgreement) -> Sheet:
        return [
            *agreement_sheet(document),
            *([GAP, *people_sheet(document.people)] if document.people else []),
            *([GAP, *choices_sheet(document.choices)] if document.choices else []),
            *([GAP, *bridge_sheet(document.bridge)] if document.bridge else []),
        ]

    def charts(self, documents: Sequence[JudgesAgreement], style: ChartStyle) -> Sequence[Any]:
        """Draws single edits, so only where there are the records of a run."""
        return agreement_charts(style.results, style.language) if style.results else []

    def rows(self, document: JudgesAgreement) -> Sequence[Mapping[str, Any]]:
        """Returns a row for each judge: its card."""
        return [
            {
                "judge": name,
                "score": card.score,
                "asked": card.asked,
                "unscored": card.unscored.count,
                "ceiling": card.ceiling.count if card.ceiling else None,
                "floor": card.floor.count if card.floor else None,
                "retest_sd": card.retest.sd if card.retest else None,
                "retest_icc": card.retest.icc if card.retest else None,
                "identical": card.retest.identical if card.retest else None,
            }
            for name, card in document.judges.items()
        ]


# -- the judges of a run: each by itself, and with each other --


def cards_of(results: Results, score: str | None = None) -> dict[str, JudgeCard]:
    """Returns each judge's card, by its headline, or by `score` for the judges that give it."""
    judges = judges_of(results, score)
    judgements: dict[str, list[Judgement]] = {judge: [] for judge in judges}
    for judgement in results.unique_results.judgements:
        if judgement.judge in judgements:
            judgements[judgement.judge].append(judgement)
    image = image_of(results)
    return {name: judge_card(judgements[name], judge, image) for name, judge in judges.items()}


def judge_card(judgements: Sequence[Judgement], judge: Rater, image: Callable[[str], str]) -> JudgeCard:
    """Counts how often a judge gave no score, and the ends of its scale."""
    every = [(judgement.outcome(judge.score), image(judgement.sample_id)) for judgement in judgements]
    asked = [(of[0], source) for of, source in every if of is not None and of[0] in (Status.OK, *JUDGE_FAILED)]
    scores = [(score, image(item.sample_id)) for item, of in judge.answers.items() for score in of]
    lowest, highest = judge.scale.lowest, judge.scale.highest
    return JudgeCard(
        score=judge.score,
        asked=len(asked),
        unscored=_rate((status in JUDGE_FAILED, source) for status, source in asked),
        by_status={kind.value: _rate((status is kind, source) for status, source in asked) for kind in JUDGE_FAILED},
        ceiling=None if highest is None else _rate((score >= highest, source) for score, source in scores),
        floor=None if lowest is None else _rate((score <= lowest, source) for score, source in scores),
        retest=retest(list(judge.answers.values())),
    )


def _rate(found: Iterable[tuple[bool, str]]) -> Frequency:
    """Returns how often something is so, of answers with their source images."""
    there = list(found)
    values, images = np.array([so for so, _ in there], dtype=np.float64), cluster_codes([of for _, of in there])
    count, total = int(values.sum()), len(there)
    return Frequency(
        count=count, total=total, rate=count / total if total else None, ci95=failure_interval(values, images)
    )


def compare_judges(results: Results, score: str | None = None, *, resamples: int = 1_000) -> BetweenJudges | None:
    """Compares a run's judges with each other; None with one."""
    judges: Mapping[str, Rater] = judges_of(results, score)
    if len(judges) < 2:
        return None
    image = image_of(results)
    pairs = []
    for a, b in combinations(judges.values(), 2):
        both = msgspec.structs.asdict(alpha((a, b), image, resamples))
        pairs.append(TwoJudges(a=a.name, b=b.name, **both, apart=compare_by_model(a, b, results)))
    every = msgspec.structs.asdict(alpha([*judges.values()], image, resamples))
    return BetweenJudges(judges=list(judges), **every, pairs=pairs)


def compare_by_model(a: Rater, b: Rater, results: Results) -> ApartByModel:
    """Returns how far their scores lie apart, on all edits that both have scored, and on those of each edit model."""
    image = image_of(results)
    models = {
        model: compare_scores(a, b, image, items)
        for model, items in group_by_model(item for item in a.answers if item in b.answers).items()
    }
    return ApartByModel(**msgspec.structs.asdict(compare_scores(a, b, image)), edit_models=models)


# -- judges beside the choices that came with the benchmark (`benchmarks.people_choices`) --


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


# -- chart: two judges' scores of the same edits; on the diagonal they agree --


MOST_PAIRS_OF_JUDGES = 6
_SQUARE = 300
_WIDEST = 440
_STEPS_OF_A_SCORE = 5


def agreement_charts(results: Results, language: str) -> list[AnyChart]:
    """Draws a chart for each of the first pairs of judges: a dot per edit scored by both, repeats as their mean."""
    models = list(map(one_line, results.edit_models))
    pairs = list(combinations(judges_of(results).values(), 2))[:MOST_PAIRS_OF_JUDGES]
    return [_two_judges(a, b, models, language) for a, b in pairs if a.answers.keys() & b.answers.keys()]


def _two_judges(a: Rater, b: Rater, models: list[str], language: str) -> AnyChart:
    import altair as alt  # only a page needs it

    from edit_eval.reporting.chart_parts import LayeredChart, axis_of, chart_title, series_colour, series_mark

    digits = [formats.decimals(of.scale, max(map(abs, of.values.values()), default=0.0)) for of in (a, b)]
    axes = [axis_of(of.scale, list(of.values.values())) for of in (a, b)]
    rows = [
        {
            "series": one_line(item.edit_model),
            "id": one_line(item.sample_id, 60),
            "a": round(value, digits[0] + 1),
            "b": round(b.values[item], digits[1] + 1),
        }
        for item, value in a.values.items()
        if item in b.values
    ]
    names = one_line(a.name, 40), one_line(b.name, 40)

    def axis(kind: type[alt.X] | type[alt.Y], field: str, of: Axis, name: str) -> alt.X | alt.Y:
        encoding = kind(f"{field}:Q", scale=alt.Scale(domain=of.domain), title=name)
        return encoding.axis(values=of.marks(_STEPS_OF_A_SCORE), format=of.mark_format(_STEPS_OF_A_SCORE), grid=True)

    x, y = axis(alt.X, "a", axes[0], names[0]), axis(alt.Y, "b", axes[1], names[1])
    points = (
        alt.Chart({"values": tuple(rows)}, width="container", height=_SQUARE)
        .mark_point(size=26, filled=True, opacity=0.5)
        .encode(
            x=x,
            y=y,
            tooltip=[
                alt.Tooltip("id:N", title=" "),
                alt.Tooltip("series:N", title=translate(Text("Model"), language)),
                alt.Tooltip("a:Q", title=names[0], format=f".{digits[0]}f"),
                alt.Tooltip("b:Q", title=names[1], format=f".{digits[1]}f"),
            ],
        )
    )
    if len(models) > 1:
        points = points.encode(color=series_colour(models), shape=series_mark(models))
    properties = {"title": chart_title(f"{names[0]} · {names[1]}"), "usermeta": {"widest": _WIDEST}}
    if a.scale != b.scale or a.scale.span is None:
        titled: AnyChart = points.properties(**properties)
        return titled
    ends = [{"a": end, "b": end} for end in axes[0].domain]
    same = alt.Chart({"values": ends}).mark_line(strokeWidth=1, strokeDash=[3, 3])
    chart: AnyChart = LayeredChart(same.encode(x=x, y=y), points).properties(**properties)
    return chart
