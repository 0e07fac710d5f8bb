"""The gain from choosing the best of N edits, and its cost, as a table, and the same as rows of a CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from edit_eval.plugins.best_of.worth import PEOPLE, Chooser, ModelWorth, Size, Worth
from edit_eval.reporting import formats
from edit_eval.reporting.formats import format_signed, format_signed_span
from edit_eval.reporting.names import NAMES, score_line
from edit_eval.reporting.table import Column, Line, Sheet, Table, Words
from edit_eval.text import Text

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


def best_of_rows(document: Worth) -> list[Mapping[str, Any]]:
    """Returns a row for each edit model and N, with all its numbers."""
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


def _flat(size: Size) -> Iterator[tuple[str, Any]]:
    """Yields a size's numbers by name, an interval as two."""
    for name, value in msgspec.structs.asdict(size).items():
        if name in ("ci95", "gain_ci95"):
            low, high = value or ("", "")
            yield from ((f"{name}_low", low), (f"{name}_high", high))
        else:
            yield name, value
