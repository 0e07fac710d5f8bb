"""How scores change from turn to turn, and from round to round: `edit-eval turns`, `edit-eval rounds`.

Turns: the source of each is the edit before it. A chain is a sample that follows none and those that follow it, in
order. A turn is compared with the first turn of the same chain: later turns ask for other things, and chains that got
that far are easier on average.

Rounds: an edit, a critique of it, an edit made with the critique; what each is worth to a judge other than the critic.
Every sample is in every round's number: if the critic found its edit good enough, the sample keeps that edit. What the
critic itself sees is no evidence: the edit model is told it, and a stop selects by it. The rounds are shown beside the
best of them by the critic, and the best of as many edits made without critique: otherwise a loop's gain may be that of
trying often.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypedDict

import msgspec
import numpy as np
from msgspec.structs import asdict

from edit_eval.errors import ConfigurationError
from edit_eval.plugins.best_of.section import common_family, edits_each
from edit_eval.plugins.best_of.worth import best_of, chances, with_critics
from edit_eval.plugins.steps.chains import chains_of, turns_of
from edit_eval.records import Judgement, Results, Scale, Status
from edit_eval.reporting import formats
from edit_eval.reporting.analyses import Analysis, ChartStyle, RunRecords
from edit_eval.reporting.formats import format_signed, format_signed_span
from edit_eval.reporting.language import translate
from edit_eval.reporting.names import NAMES, score_line
from edit_eval.reporting.table import Column, Line, Sheet, Table
from edit_eval.reporting.terminal_text import one_line
from edit_eval.statistics.intervals import cluster_codes, estimate
from edit_eval.statistics.raters import judges_of
from edit_eval.statistics.series import Series, gain, largest_difference, series_of, sureness
from edit_eval.text import Text

if TYPE_CHECKING:
    from edit_eval.reporting.chart_parts import AnyChart

# -- documents --


class StepNumbers(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one step, and its change from the first."""

    scored: int
    """Judgements with a score, of `total`."""
    total: int
    """Judgements that were asked for."""
    mean: float | None
    ci95: list[float] | None
    no_ci95: str | None
    chains: int
    """Chains, or samples by edit seed, that have both steps."""
    change: float | None
    """Paired on these; above 0 is better."""
    change_ci95: list[float] | None
    no_change_ci95: str | None


class Turn(StepNumbers, frozen=True, kw_only=True):
    """One turn, from 1."""

    turn: int
    """Its number."""


class Round(StepNumbers, frozen=True, kw_only=True):
    """One round, from 1, and its column."""

    round: int
    """Its number."""
    edit_model: str
    edits: int
    """Edits made in it."""
    kept: int
    """Edits kept from the round before."""


class BestRound(StepNumbers, frozen=True, kw_only=True):
    """The edit among a sample's rounds that the critic scores highest."""

    edits: int
    """Edits made in all rounds."""
    own_change: float | None
    """What the critic sees itself."""


class BestWithoutCritique(msgspec.Struct, frozen=True, kw_only=True):
    """The best of `size` edits that are told nothing, chosen by the critic."""

    size: int
    """Edits to choose from."""
    scored: int
    """Samples with a score of the chosen edit, of `total`."""
    total: int
    """All samples."""
    mean: float | None
    ci95: list[float] | None
    no_ci95: str | None
    change: float | None
    """Of the mean against one edit, above 0 if better; None if it cannot be told."""
    change_ci95: list[float] | None
    no_change_ci95: str | None
    own_change: float | None
    """The same as the critic sees it."""


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """An edit model by the headline of a judge."""

    edit_model: str
    judge: str
    score: str
    scale: Scale


class TurnsOf(Measured, frozen=True, kw_only=True):
    """Its turns."""

    turns: tuple[Turn, ...]

    @property
    def steps(self) -> list[tuple[int, StepNumbers]]:
        """Each turn with its number."""
        return [(turn.turn, turn) for turn in self.turns]


class RoundsOf(Measured, frozen=True, kw_only=True):
    """Its rounds."""

    critic: str
    """Name of the judge whose words the edit model gets."""
    family: str
    """What critic and judge both are; else empty."""
    source: str
    """Which picture a round edits, as the key `rounds` says."""
    stop: float | None
    """Score of the critic from which an edit is kept; None: never."""
    rounds: tuple[Round, ...]
    best_by_critic: BestRound
    best_of: BestWithoutCritique | None
    """None without as many edit seeds as there are rounds."""

    @property
    def steps(self) -> list[tuple[int, StepNumbers]]:
        """Each round with its number."""
        return [(step.round, step) for step in self.rounds]


class Turns(msgspec.Struct, frozen=True, kw_only=True):
    """The document of the analysis `turns`."""

    results: tuple[TurnsOf, ...]


class Rounds(msgspec.Struct, frozen=True, kw_only=True):
    """The document of the analysis `rounds`."""

    results: tuple[RoundsOf, ...]


# -- verbs --


class RoundsAnalysis(Analysis[Rounds]):
    """What each round of editing, looking and editing again is worth.

    From a run with `rounds`, by each judge but the critic: the change from the first round, the best of a sample's
    rounds by the critic, and the best of as many edits that are told nothing.
    """

    title = Text("From round to round")
    chart_title = Text("Mean by round")
    document: ClassVar[type[Rounds]] = Rounds
    caption = Text("Dot: mean. Line: 95% interval.")

    def compute(self, records: RunRecords, parameters: Any) -> Rounds:
        """Raises `ConfigurationError` if the run has no rounds."""
        of_models = rounds(records.results)
        if not of_models:
            raise ConfigurationError(Text("{} has no rounds; `rounds` in its YAML makes some", records.results.name))
        return Rounds(results=tuple(of_models))

    def sheet(self, document: Rounds) -> Sheet:
        return rounds_sheet(document.results)

    def charts(self, documents: Sequence[Rounds], style: ChartStyle) -> Sequence[Any]:
        return steps_charts([result for document in documents for result in document.results], style, Text("Round"))


class TurnsAnalysis(Analysis[Turns]):
    """How scores change from turn to turn of a chain of edits.

    From a run in which samples follow others: each turn against the first of its own chain.
    """

    title = Text("From turn to turn")
    chart_title = Text("Mean by turn")
    document: ClassVar[type[Turns]] = Turns
    caption = Text("Dot: mean. Line: 95% interval.")

    def compute(self, records: RunRecords, parameters: Any) -> Turns:
        """Raises `ConfigurationError` if no sample follows another."""
        of_models = turns(records.results)
        if not of_models:
            raise ConfigurationError(Text("{} has no samples of several turns", records.results.name))
        return Turns(results=tuple(of_models))

    def sheet(self, document: Turns) -> Sheet:
        return turns_sheet(document.results)

    def charts(self, documents: Sequence[Turns], style: ChartStyle) -> Sequence[Any]:
        return steps_charts([result for document in documents for result in document.results], style, Text("Turn"))


# -- turns --


def turns(results: Results) -> list[TurnsOf]:
    """Returns the numbers of each turn, for each edit model and judge whose headline is given at several turns.

    A turn that fails fails those after it. Its change is from the first turn, paired on the chains that have both;
    means are over samples and clustered on source images. Empty if no sample follows another.
    """
    place = turns_of((*results.samples, *results.beside))
    if max((turn for turn, _ in place.values()), default=1) < 2:
        return []
    of_models = []
    for judge, series in series_of(results).items():
        for model in results.edit_models:
            by_turn: dict[int, list[Judgement]] = defaultdict(list)
            for judgement in _select_judgements(results, judge, model, series):
                by_turn[place[judgement.sample_id][0]].append(judgement)
            if len(by_turn) > 1:
                first = _average_chains(results, place, by_turn.get(1, []), series)  # a filter may leave it out
                steps = tuple(
                    Turn(
                        turn=turn,
                        **asdict(
                            _step(results, some, series, first, _average_chains(results, place, some, series), turn > 1)
                        ),
                    )
                    for turn, some in sorted(by_turn.items())
                )
                scale = replace(series.scale, mean_over="samples")
                of_models.append(TurnsOf(edit_model=model, judge=judge, score=series.score, scale=scale, turns=steps))
    return of_models


Chain = dict[tuple[str, int], tuple[float, str]]
"""By a chain's first sample and the edit seed: the mean score over its repeats, and its cluster."""


def _select_judgements(results: Results, judge: str, edit_model: str, series: Series) -> list[Judgement]:
    return [
        judgement
        for judgement in results.judgements
        if (judgement.judge, judgement.edit_model) == (judge, edit_model)
        and judgement.outcome(series.score) is not None
    ]


class _Mean(TypedDict):
    mean: float | None
    ci95: list[float] | None
    no_ci95: str | None


class _Change(TypedDict):
    chains: int
    change: float | None
    change_ci95: list[float] | None
    no_change_ci95: str | None


def _step(
    results: Results, judgements: Sequence[Judgement], series: Series, first: Chain, own: Chain, is_later: bool
) -> StepNumbers:
    """Returns the numbers of one step: the mean over samples, of each sample's mean, clustered on source images; and
    its change from the first."""
    clusters, scores = _clusters_of(results), defaultdict[str, list[float]](list)
    for judgement in judgements:
        if series.score in judgement.scores:
            scores[judgement.sample_id].append(judgement.scores[series.score])
    return StepNumbers(
        scored=sum(map(len, scores.values())),
        total=len(judgements),
        **_estimate_mean([(math.fsum(of) / len(of), clusters[sample]) for sample, of in scores.items()], series),
        **_change_of(first, own, series, is_later),
    )


def _average_chains(
    results: Results, place: dict[str, tuple[int, str]], judgements: Sequence[Judgement], series: Series
) -> Chain:
    """Returns for each chain and edit seed the mean score of a turn over its repeats, and the chain's cluster."""
    clusters = _clusters_of(results)
    scores: dict[tuple[str, int], list[float]] = defaultdict(list)
    for judgement in judgements:
        if series.score in judgement.scores:
            scores[place[judgement.sample_id][1], judgement.edit_seed].append(judgement.scores[series.score])
    return {chain: (math.fsum(some) / len(some), clusters[chain[0]]) for chain, some in scores.items()}


def _clusters_of(results: Results) -> dict[str, str]:
    return {sample.id: sample.cluster or sample.id for sample in (*results.samples, *results.beside)}


def _estimate_mean(known: Sequence[tuple[float, str]], series: Series) -> _Mean:
    """Returns the mean over values, each with its cluster."""
    if not known:
        return {"mean": None, "ci95": None, "no_ci95": "no_scores"}
    values, images = zip(*known, strict=True)
    made = estimate(np.array(values, dtype=np.float64), cluster_codes(images))
    sure = sureness(made, series.scale)
    return {"mean": made.value, "ci95": sure.ci95, "no_ci95": sure.no_ci95}


def _change_of(first: Chain, later: Chain, series: Series, is_later: bool) -> _Change:
    """Returns the change from the first to a later step, paired on the chains that have both; above 0 is better."""
    both = sorted(first.keys() & later.keys()) if is_later else []
    if not both:
        return {
            "chains": len(both),
            "change": None,
            "change_ci95": None,
            "no_change_ci95": "no_scores" if is_later else None,
        }
    changes = [gain(series.scale) * (later[chain][0] - first[chain][0]) for chain in both]
    made = estimate(np.array(changes, dtype=np.float64), cluster_codes([first[chain][1] for chain in both]))
    reach = largest_difference(series.scale)
    return {
        "chains": len(both),
        "change": made.value,
        "change_ci95": made.interval(lowest=-reach, highest=reach),
        "no_change_ci95": made.doubt,
    }


# -- rounds --


def rounds(results: Results) -> list[RoundsOf]:
    """Returns what each round is worth, for each edit model with rounds and each judge that reports.

    The change of a round is from the first, paired on samples and edit seeds; beside them the best of a sample's rounds
    by the critic (ties at random), and the best of as many edits without critique, chosen by the critic.
    """
    of_models = []
    for column, chain in chains_of(results).items():
        critic = results.refinements[chain[1]].judge
        for judge, series in series_of(results).items():
            of_models.append(_RoundsOf(results, column, chain, critic, judge, series).document())
    return of_models


class _RoundsOf:
    """The rounds of one edit model, by one judge."""

    def __init__(
        self, results: Results, column: str, chain: Sequence[str], critic: str, judge: str, series: Series
    ) -> None:
        self._results, self._column, self._chain = results, column, chain
        self._critic, self._judge, self._series = critic, judge, series
        self._alone = {sample.id: (1, sample.id) for sample in results.samples}
        self._clusters = _clusters_of(results)

    def document(self) -> RoundsOf:
        refinement = self._results.refinements[self._chain[1]]
        first = self._scores(self._judgements_of(self._column))
        return RoundsOf(
            edit_model=self._column,
            judge=self._judge,
            critic=self._critic,
            family=common_family(self._results, self._critic, self._judge),
            source=refinement.source,
            stop=refinement.stop,
            score=self._series.score,
            scale=replace(self._series.scale, mean_over="samples"),
            rounds=tuple(self._round(number, column, first) for number, column in enumerate(self._chain, 1)),
            best_by_critic=self._best(first),
            best_of=self._best_of(),
        )

    def _judgements_of(self, column: str) -> list[Judgement]:
        return _select_judgements(self._results, self._judge, column, self._series)

    def _scores(self, judgements: Sequence[Judgement]) -> Chain:
        return _average_chains(self._results, self._alone, judgements, self._series)

    def _round(self, number: int, column: str, first: Chain) -> Round:
        judgements = self._judgements_of(column)
        edits = [edit for edit in self._results.edits if edit.edit_model == column and edit.status is Status.OK]
        kept = sum(bool(edit.made_in) for edit in edits)
        return Round(
            round=number,
            edit_model=column,
            edits=len(edits) - kept,
            kept=kept,
            **asdict(_step(self._results, judgements, self._series, first, self._scores(judgements), number > 1)),
        )

    def _best(self, first: Chain) -> BestRound:
        """Computes the best by critic, among the edits that were made, each once."""
        made = {
            (edit.sample_id, edit.edit_seed, edit.edit_model)
            for edit in self._results.unique_results.edits
            if edit.edit_model in self._chain and edit.status is Status.OK
        }
        scale = self._results.scoring[self._critic].scale
        heard: dict[tuple[str, int, str], list[float]] = defaultdict(list)
        for critique in self._results.critiques:
            if critique.judge == self._critic and critique.score is not None:
                heard[critique.sample_id, critique.edit_seed, critique.edit_model].append(critique.score)
        said = {which: math.fsum(some) / len(some) for which, some in heard.items()}
        reported = {column: self._scores(self._judgements_of(column)) for column in self._chain}
        chosen: Chain = {}
        own: list[float] = []
        for sample, seed in sorted({(sample, seed) for sample, seed, _ in made}):
            there = [column for column in self._chain if (sample, seed, column) in made]
            scores = [said.get((sample, seed, column)) for column in there]
            share = chances([None if score is None else gain(scale) * score for score in scores], len(scores))
            known = [
                (chance, reported[column][sample, seed][0])
                for chance, column in zip(share, there, strict=True)
                if chance and (sample, seed) in reported[column]
            ]
            if known:
                weight = math.fsum(chance for chance, _ in known)
                value = math.fsum(chance * score for chance, score in known) / weight
                chosen[sample, seed] = value, self._clusters[sample]
            if scores[0] is not None and there[0] == self._column:
                best = max(gain(scale) * score for score in scores if score is not None)
                own.append(best - gain(scale) * scores[0])
        return BestRound(
            edits=len(made),
            scored=len(chosen),
            total=len({(edit.sample_id, edit.edit_seed) for edit in self._results.edits}),
            **_estimate_mean([*chosen.values()], self._series),
            **_change_of(first, chosen, self._series, True),
            own_change=math.fsum(own) / len(own) if own else None,
        )

    def _best_of(self) -> BestWithoutCritique | None:
        """Computes the best of as many edits of the first column as there are rounds."""
        size = len(self._chain)
        if edits_each(self._results) < size:
            return None
        heard = with_critics(self._results)
        every = judges_of(heard)
        document = best_of(heard, every[self._critic], every[self._judge], [size])
        of = next(model.sizes[-1] for model in document.models if model.edit_model == self._column)
        return BestWithoutCritique(
            size=size,
            scored=of.samples,
            total=of.of,
            mean=of.mean,
            ci95=of.ci95,
            no_ci95=of.no_ci95,
            change=of.gain,
            change_ci95=of.gain_ci95,
            no_change_ci95=of.no_gain_ci95,
            own_change=of.own_gain,
        )


# -- words --


Shown = StepNumbers | BestWithoutCritique
"""The numbers of a row."""


class _Row(NamedTuple):
    """A row of the table: whose it is, what it is called, and its numbers."""

    of: TurnsOf | RoundsOf
    which: Text
    at: Shown


def turns_sheet(every: Sequence[TurnsOf]) -> Sheet:
    """Returns the table of turns."""
    places = {model: place for place, model in enumerate(dict.fromkeys(measured.edit_model for measured in every))}
    columns = (
        Column[_Row](Text("Turn"), lambda row: row.which, kind="name"),
        *_numbers(Text("Against the first turn")),
        Column[_Row](Text("Chains"), _chains),
    )
    explained = Text(
        "Against the first turn of the same chain of edits, where both are scored; above 0 is better. Later turns "
        "ask for other things, so a lower score is not by itself a decline: compare edit models at the same turn."
    )
    group = _whose(every, mark=lambda row: places[row.of.edit_model])
    rows = [_Row(measured, Text("turn {}", number), step) for measured in every for number, step in measured.steps]
    table = Table(columns, rows, label=Text("From turn to turn"), group=group, style="ranks")
    return _around(every, table, [Line(explained, "quiet")])


def _chains(row: _Row) -> str | None:
    """Returns how many chains a later turn is compared on."""
    return str(row.at.chains) if isinstance(row.at, StepNumbers) and row.at is not row.of.steps[0][1] else None


def rounds_sheet(every: Sequence[RoundsOf]) -> Sheet:
    """Returns the table of rounds."""
    columns = (
        Column[_Row](Text("Round"), lambda row: row.which, kind="name"),
        Column[_Row](Text("Edits", context="number"), lambda row: _count(_edits(row.at)), roomy=True),
        Column[_Row](Text("Kept"), lambda row: _count(_count_kept(row.at)), when=lambda row: _count_kept(row.at)),
        *_numbers(Text("Against the first round")),
        Column[_Row](
            Text("Change seen by the critic"),
            lambda row: format_signed(_own(row.at), 2),
            look="quiet",
            short=Text("Own change"),
            when=lambda row: _own(row.at) is not None,
        ),
    )
    first = every[0]
    explained = [
        Text(
            "What {} says of an edit, the next round is told; its own scores choose, and are in no other number. Every "
            "sample is in every round: one whose edit is kept counts with that edit. Changes are paired on samples "
            "and clustered on source images; above 0 is better.",
            first.critic,
        )
    ]
    if any(measured.best_of for measured in every):
        explained.append(
            Text("A critique is worth something where its rounds beat the best of as many edits that are told nothing.")
        )
    else:
        explained.append(
            Text(
                "`evaluation: {{edit_seeds: {}}}` would show what the best of as many edits is worth that are told "
                "nothing: a gain of rounds may be that of trying often.",
                len(first.rounds),
            )
        )
    alike = {(measured.critic, measured.judge, measured.family): None for measured in every if measured.family}
    warned = [
        Text("{} and {} are both {}: what both like, {} overrates.", critic, judge, family, judge)
        for critic, judge, family in alike
    ]
    table = Table(
        columns, [row for measured in every for row in _rows(measured)], Text("From round to round"), _whose(every)
    )
    return _around(
        every, table, [Line(line, "quiet") for line in explained], [Line(line, "problem") for line in warned]
    )


def _numbers(against: Text) -> list[Column[_Row]]:
    """Returns columns for the means, and the change of each against the first."""

    def digits(row: _Row) -> int:
        return digits_of(row.of)

    return [
        Column(Text("Scored"), lambda row: f"{row.at.scored}/{row.at.total}"),
        Column(Text("Mean"), lambda row: formats.score(row.at.mean, digits(row))),
        Column(Text("95% interval"), lambda row: formats.span(row.at.ci95, digits(row)), roomy=True),
        Column(against, lambda row: format_signed(row.at.change, digits(row)), look="strong", short=Text("Change")),
        Column(Text("95% interval"), lambda row: format_signed_span(row.at.change_ci95, digits(row))),
    ]


def digits_of(measured: TurnsOf | RoundsOf) -> int:
    """Returns the digits after the point on its scale."""
    return formats.decimals(measured.scale, max((abs(step.mean or 0.0) for _, step in measured.steps), default=0.0))


def _whose(every: Sequence[Measured], **more: Any) -> Column[_Row]:
    several = len({measured.judge for measured in every}) > 1

    def whose(row: _Row) -> str:
        return Text("{}, judged by {}", row.of.edit_model, row.of.judge) if several else row.of.edit_model

    return Column(Text("Edit model"), whose, "name", **more)


def _around(every: Sequence[Measured], table: Table[_Row], explained: Sheet, warned: Sheet = ()) -> Sheet:
    """Puts a table between the scales of its scores, above, and warnings and explanations, below."""
    doubts = {doubt for row in table.rows for doubt in (row.at.no_ci95, row.at.no_change_ci95)}
    reasons = [words for doubt, words in NAMES["no_ci95"].items() if doubt in doubts]
    scored = {score_line(measured.score, measured.scale): None for measured in every}
    none = [Line(Text("No interval: {}.", reasons), "quiet")] if reasons else []
    return [*(Line(line, "quiet") for line in scored), table, *warned, *none, *explained]


def _rows(measured: RoundsOf) -> Iterator[_Row]:
    """Yields each round, the best of them, and the best of as many edits without a critique."""
    yield from (_Row(measured, Text("round {}", number), step) for number, step in measured.steps)
    yield _Row(measured, Text("the best by {}", measured.critic), measured.best_by_critic)
    if measured.best_of:
        yield _Row(measured, Text("best of {}, told nothing", measured.best_of.size), measured.best_of)


def _edits(at: Shown) -> int | None:
    return at.edits if isinstance(at, Round | BestRound) else None


def _count_kept(at: Shown) -> int | None:
    return at.kept if isinstance(at, Round) else None


def _own(at: Shown) -> float | None:
    return at.own_change if isinstance(at, BestRound | BestWithoutCritique) else None


def _count(value: int | None) -> str | None:
    return None if value is None else str(value)


# -- chart --


_APART, _WIDE = 0.05, 0.4
"""Distance in steps between neighbouring edit models, which keeps their intervals apart, and at most of them all."""


def steps_charts(every: Sequence[TurnsOf | RoundsOf], style: ChartStyle, step: Text) -> list[AnyChart]:
    """Draws a chart for each judge, whose steps are called `step`; none if nothing has a mean."""
    from edit_eval.reporting.chart_parts import chart_title  # only a page needs it

    judges = dict.fromkeys(measured.judge for measured in every)
    of = {judge: [measured for measured in every if measured.judge == judge] for judge in judges}
    charts = [(judge, _chart(some, style, translate(step, style.language))) for judge, some in of.items()]
    return [
        chart.properties(title=chart_title(one_line(judge))) if len(judges) > 1 else chart
        for judge, chart in charts
        if chart is not None
    ]


def _chart(every: Sequence[TurnsOf | RoundsOf], style: ChartStyle, step: str) -> AnyChart | None:
    import altair as alt  # only a page needs it

    from edit_eval.reporting.chart_parts import CURVE_HEIGHT, LayeredChart, curves, series_colour

    language = style.language
    models = list(map(one_line, style.edit_models or dict.fromkeys(measured.edit_model for measured in every)))
    apart = min(_APART, _WIDE / len(every))
    rows = [
        {
            "series": one_line(measured.edit_model),
            "turn": number,
            "at": number + apart * (place - (len(every) - 1) / 2),
            "mean": at.mean,
            "low": (at.ci95 or (None, None))[0],
            "high": (at.ci95 or (None, None))[1],
            "label": formats.score(at.mean, digits_of(measured)),
            "span": formats.span(at.ci95, digits_of(measured)),
        }
        for place, measured in enumerate(every)
        for number, at in measured.steps
        if at.mean is not None
    ]
    if not rows:
        return None
    numbers = sorted({number for measured in every for number, at in measured.steps if at.mean is not None})
    x = alt.X("at:Q", title=step).axis(values=numbers, format="d", grid=False)
    x = x.scale(domain=[numbers[0] - 0.4, numbers[-1] + 0.4], nice=False)
    base = alt.Chart({"values": rows}, width="container", height=CURVE_HEIGHT).encode(
        x=x,
        tooltip=[
            alt.Tooltip("series:N", title=translate(Text("Model"), language)),
            alt.Tooltip("turn:Q", title=step),
            alt.Tooltip("label:N", title=translate(Text("Mean"), language)),
            alt.Tooltip("span:N", title=translate(Text("95% interval"), language)),
        ],
    )
    # of a model with rounds, its first column
    shown = list(dict.fromkeys(one_line(measured.edit_model) for measured in every))
    base = base.encode(color=series_colour(models, shown=shown)) if len(models) > 1 else base
    y = alt.Y("mean:Q", title=translate(Text("Mean"), language)).scale(zero=False)
    chart: AnyChart = LayeredChart(*curves(base, models, y, shown=shown, opacity=0.5))
    return chart
