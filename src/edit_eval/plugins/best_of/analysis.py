"""`edit-eval best-of`, and its section of every report with several edits of a sample: how it is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import msgspec

from edit_eval.plugins.best_of.worth import PEOPLE, Chooser, ModelWorth, Size, Worth, best_of, rater, with_critics
from edit_eval.reporting import formats
from edit_eval.reporting.analyses import Analysis, ChartStyle, RunRecords
from edit_eval.reporting.formats import format_signed, format_signed_span
from edit_eval.reporting.language import translate
from edit_eval.reporting.names import NAMES, score_line
from edit_eval.reporting.table import Column, Line, Sheet, Table, Words, translate_words
from edit_eval.reporting.terminal_text import one_line
from edit_eval.statistics.people import match_names, read_people
from edit_eval.statistics.votes import ratings_of
from edit_eval.text import Text

if TYPE_CHECKING:
    from edit_eval.reporting.chart_parts import AnyChart


class BestOf(Analysis[Worth]):
    """What choosing the best of N edits is worth, and what it costs.

    From a run with several edits of each sample (`evaluation.edit_seeds`): what the best of N is worth by one judge
    when another one chooses it. Nothing is edited or judged.
    """

    @dataclass(frozen=True)
    class Parameters:
        select: str = field(metadata={"metavar": "JUDGE"})
        """Who chooses: a judge, JUDGE/SCORE, or people."""
        report: str = field(metadata={"metavar": "JUDGE"})
        """Who reports what that is worth; never the one who chooses."""
        sizes: tuple[int, ...] | None = None
        """How many to choose from. Default: 1, 2, 4, ... and all."""
        people: Path | None = field(default=None, metadata={"metavar": "FILE"})
        """People's scores or votes; default: the votes on this run."""

    title = Text("Best of N")
    chart_title = Text("The best of N edits")
    document: ClassVar[type[Worth]] = Worth
    caption = Text(
        "Solid: by the judge that reports, with 95% intervals. Dashed: what the judge that chooses sees itself, which "
        "is too much."
    )
    explained = Text(
        "Each mean is over all subsets of N edits of a sample, ties broken by chance. Gain: by how much better than "
        "one edit, paired on samples, clustered on source images. Costs: of one sample."
    )

    def compute(self, records: RunRecords, parameters: Parameters) -> Worth:
        """Raises `ConfigurationError` if one judge is both, and if samples have one edit only."""
        people, votes = parameters.people, records.votes.to_votes(records.results.samples)
        given = ratings_of(votes) if people is None else read_people(Path(people))
        ids = [sample.id for sample in records.results.samples]
        ratings, unknown = match_names(given, ids, records.results.edit_models)
        heard = with_critics(records.results)  # critics may choose, but never report
        chooses = rater(heard, parameters.select, ratings)
        worth = best_of(heard, chooses, rater(records.results, parameters.report, ratings), parameters.sizes)
        return msgspec.structs.replace(worth, unknown=tuple(unknown))

    def heading(self, document: Worth) -> Text:
        return title_of(document)

    def sheet(self, document: Worth) -> Sheet:
        return best_of_sheet(document)

    def charts(self, documents: Sequence[Worth], style: ChartStyle) -> Sequence[Any]:
        return best_of_charts(documents, style)

    def rows(self, document: Worth) -> Sequence[Mapping[str, Any]]:
        return [
            {
                "select": document.select.name,
                "report": document.report.name,
                "score": document.report.score,
                "edit_model": model.edit_model,
                **dict(_flat(size)),
            }
            for model in document.models
            for size in model.sizes
        ]


# -- words --


_LEAST_SHOWN, _MUCH_BY_LOT = 0.005, 0.2
"""Shares of draws decided by ties above which there is a column, and a sentence."""


class _Row(NamedTuple):
    """One size of one edit model."""

    edit_model: str
    at: Size


def best_of_sheet(document: Worth) -> Sheet:
    """Returns its table, and what is needed to read it."""
    report = document.report
    score = [Line(score_line(report.score, report.scale), "quiet")] if report.score else []
    table = best_of_table(document)
    warned = [Line(line, "problem") for line in _warnings(document)]
    if document.unknown:
        warned.append(Line(Text("People's file names what this run does not have: {}.", document.unknown), "problem"))
    return [*score, table, *warned, *(Line(line, "quiet") for line in _lines(document))]


def title_of(document: Worth) -> Text:
    """Says which judge chooses and which one reports."""
    return Text("Chosen by {}, reported by {}", *map(name_of, (document.select, document.report)))


def name_of(who: Chooser) -> Words:
    """Returns the name of a rater of the document."""
    return Text("people") if who.name == PEOPLE else who.name


def best_of_table(document: Worth) -> Table[_Row]:
    """Returns a row for each edit model and N: the mean, the gain over one edit, the cost of choosing."""
    rows = [_Row(model.edit_model, size) for model in document.models for size in model.sizes]
    select = name_of(document.select)
    digits = _digits(document.report, [row.at.mean for row in rows])
    own = _digits(document.select, [row.at.own_mean for row in rows])

    def chance(share: Callable[[Size], float | None]) -> Callable[[_Row], Words | None]:
        return lambda row: None if (value := share(row.at)) is None else formats.share(value, 1)

    columns: list[Column[_Row]] = [
        Column(Text("Best of"), lambda row: _which(row.at.size), kind="name"),
        Column(Text("Samples"), lambda row: f"{row.at.samples}/{row.at.of}"),
        Column(Text("Mean"), lambda row: formats.score(row.at.mean, digits)),
        Column(Text("95% interval"), lambda row: formats.span(row.at.ci95, digits), roomy=True),
        Column(Text("Gain"), lambda row: format_signed(row.at.gain, digits), look="strong"),
        Column(Text("95% interval"), lambda row: format_signed_span(row.at.gain_ci95, digits)),
        Column(
            Text("Gain seen by {}", select),
            lambda row: format_signed(row.at.own_gain, own),
            look="quiet",
            short=Text("Own gain"),
        ),
        Column(
            Text("Decided by lot"),
            chance(lambda size: size.by_lot),
            short=Text("By lot"),
            when=lambda row: (row.at.by_lot or 0) >= _LEAST_SHOWN,
        ),
        Column(Text("All fail"), chance(lambda size: size.all_fail), when=lambda row: row.at.all_fail),
        Column(Text("Edits", context="number"), lambda row: str(row.at.edits), roomy=True),
        Column(Text("Answers"), lambda row: f"{row.at.readings:.3g}"),
        Column(
            Text("Time"),
            lambda row: formats.duration(row.at.seconds),
            brief=lambda row: formats.short_duration(row.at.seconds),
            when=lambda row: row.at.seconds,
        ),
        Column(
            Text("Price"),
            lambda row: None if row.at.price is None else f"{row.at.price:.4g}",
            when=lambda row: row.at.price is not None,
        ),
    ]
    places = {model.edit_model: place for place, model in enumerate(document.models)}
    group: Column[_Row] = Column(
        Text("Edit model"), lambda row: row.edit_model, "name", mark=lambda row: places[row.edit_model]
    )
    return Table(columns, rows, label=title_of(document), group=group, style="ranks")


def _digits(of: Chooser, values: Sequence[float | None]) -> int:
    return formats.decimals(of.scale, max((abs(value) for value in values if value is not None), default=0))


def _which(size: int) -> Text:
    return Text("one edit") if size == 1 else Text("best of {}", size)


def _warnings(document: Worth) -> Iterator[Text]:
    select, report = map(name_of, (document.select, document.report))
    inflations = [model.inflation for model in document.models if model.inflation is not None]
    if family := document.family:
        most = Text(" (wholly alike: at least {:.2f} times too large)", max(inflations)) if inflations else ""
        yield Text(
            "{} and {} are both {}: where they err alike this gain is too large{}. A judge of another family, a "
            "measure or people would not share their errors.",
            select,
            report,
            family,
            most,
        )
    for model in document.models:
        if model.no_inflation == "noise_alone":
            yield Text(
                "{} tells edits of one sample by {} apart no better than it repeats itself: it chooses by noise.",
                select,
                model.edit_model,
            )


def _lines(document: Worth) -> Iterator[Text]:
    select, report = map(name_of, (document.select, document.report))
    several = len(document.models) > 1
    for model in document.models:
        yield from _model_lines(model, select, report, several)
    sizes = [size for model in document.models for size in model.sizes]
    doubts = {doubt for size in sizes for doubt in (size.no_ci95, size.no_gain_ci95)}
    if reasons := [words for doubt, words in NAMES["no_ci95"].items() if doubt in doubts]:
        yield Text("No interval: {}.", reasons)
    if not several and document.models[0].no_inflation == "no_repeats" and document.select.given == "asked":
        yield Text("`evaluation: {{repeats: 2}}` would show how much of the gain that {} sees is noise.", select)


def _model_lines(model: ModelWorth, select: Words, report: Words, several: bool) -> Iterator[Text]:
    whose = Text("{}: ", model.edit_model) if several else ""
    if model.inflation is not None:
        yield Text(
            "By its repeats, {} would confirm at most {} of the gain that it sees{}, were it asked again about what it "
            "chose: the rest is noise.",
            select,
            formats.share(1 / model.inflation, 1),
            Text(" with {}", model.edit_model) if several else "",
        )
    edits = model.edits
    if lost := edits.failed + edits.refused:
        yield Text(
            "{}{} of {} edits are missing and cannot be chosen; means are over samples with an edit to choose.",
            whose,
            lost,
            edits.tried,
        )
    for unscored, name, what in (
        (edits.unscored_by_selector, select, Text("drawn, and never chosen")),
        (edits.unscored_by_reporter, report, Text("chosen, and in no mean")),
    ):
        if unscored:
            yield Text("{}{} edits have no score by {}: {}.", whose, unscored, name, what)
    last = model.sizes[-1]
    if last.by_lot is not None and last.by_lot > _MUCH_BY_LOT:
        yield Text(
            "{}Ties decide {} of the choices among {}: several readings or probabilities tell more edits apart.",
            whose,
            formats.share(last.by_lot, 1),
            last.size,
        )


def _flat(size: Size) -> Iterator[tuple[str, Any]]:
    """Yields a size's numbers by name, an interval as two."""
    for name, value in msgspec.structs.asdict(size).items():
        if name in ("ci95", "gain_ci95"):
            low, high = value or ("", "")
            yield from ((f"{name}_low", low), (f"{name}_high", high))
        else:
            yield name, value


# -- chart --


_FACTOR_APART = 1.05
"""Factor between the positions of neighbouring edit models, which keeps their intervals apart."""
_MARKS = 6  # about this many on the axis of gains


def best_of_charts(documents: Sequence[Worth], style: ChartStyle) -> list[AnyChart]:
    """Draws a chart for each document, except where nothing has a mean."""
    from edit_eval.reporting.chart_parts import chart_title  # only a page needs it

    made = [(document, _chart(document, style)) for document in documents]
    return [
        chart.properties(title=chart_title(translate_words(title_of(document), style.language)))
        if len(documents) > 1
        else chart
        for document, chart in made
        if chart is not None
    ]


def _chart(document: Worth, style: ChartStyle) -> AnyChart | None:
    import altair as alt  # only a page needs it

    from edit_eval.reporting.chart_parts import CURVE_HEIGHT, LayeredChart, curves, series_colour

    language = style.language
    models = list(map(one_line, style.edit_models or [model.edit_model for model in document.models]))
    alike = document.select.scale == document.report.scale
    rows = [
        {
            "series": one_line(model.edit_model),
            "n": size.size,
            "at": size.size * _FACTOR_APART ** (place - (len(document.models) - 1) / 2),
            "gain": 0.0 if size.size == 1 else size.gain,
            "low": (size.gain_ci95 or (None, None))[0],
            "high": (size.gain_ci95 or (None, None))[1],
            "own": (0.0 if size.size == 1 else size.own_gain) if alike else None,
            "label": format_signed(size.gain),
            "span": format_signed_span(size.gain_ci95),
            "seen": format_signed(size.own_gain),
        }
        for place, model in enumerate(document.models)
        for size in model.sizes
        if size.mean is not None and (size.size == 1 or size.gain is not None)
    ]
    if not rows:
        return None
    sizes = sorted({size.size for model in document.models for size in model.sizes})
    x = alt.X(
        "n:Q", scale=alt.Scale(type="log", base=2, nice=False), title=translate(Text("N, edits of a sample"), language)
    )
    x = x.axis(values=sizes, format="d", grid=False)
    choosing, reporting = (translate_words(name_of(who), language) for who in (document.select, document.report))
    title = translate(Text("gain over one edit, by {}", one_line(reporting, 40)), language)
    y = alt.Y("gain:Q", title=title).axis(tickCount=_MARKS)
    base = alt.Chart({"values": rows}, width="container", height=CURVE_HEIGHT).encode(
        x=x,
        tooltip=[
            alt.Tooltip("series:N", title=translate(Text("Model"), language)),
            alt.Tooltip("n:Q", title=translate(Text("N"), language)),
            alt.Tooltip("label:N", title=translate(Text("Gain"), language)),
            alt.Tooltip("span:N", title=translate(Text("95% interval"), language)),
            alt.Tooltip("seen:N", title=translate(Text("Gain seen by {}", choosing), language)),
        ],
    )
    base = base.encode(color=series_colour(models)) if len(models) > 1 else base
    none = alt.Chart({"values": [{"at": 0}]}).mark_rule(strokeWidth=1, strokeDash=[3, 3])
    layers = [
        none.encode(y=alt.Y("at:Q")),
        *([base.mark_line(strokeDash=[5, 4], strokeWidth=1.5).encode(y=alt.Y("own:Q"))] if alike else []),
        *curves(base, models, y),
    ]
    chart: AnyChart = LayeredChart(*layers)
    return chart
