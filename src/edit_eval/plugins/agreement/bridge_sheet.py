"""Tables of a bridge, and of a run that was translated over one."""

from __future__ import annotations

from typing import Any

from edit_eval.plugins.agreement.document import FEWEST_MODELS, Bridge, HeldOut, Knot, TranslatedModel, TranslatedRun
from edit_eval.plugins.agreement.sheet import GAP, PART, Whose, score_column, span_column
from edit_eval.reporting import formats
from edit_eval.reporting.formats import format_signed
from edit_eval.reporting.table import Column, Line, Sheet, Table
from edit_eval.reporting.terminal_text import one_line
from edit_eval.text import Text

_Row = tuple[str, TranslatedModel]


def bridge_sheet(document: Bridge) -> Sheet:
    """Returns the map, and how far it is off for an edit model that it has not seen."""
    old, new = (f"{side.judge} ({side.score})" for side in (document.old, document.new))
    title = Text(
        "From {} to {}: {} edits of {} source images that both have scored", old, new, document.n, document.clusters
    )
    mapped = Text(
        "Each score of the old judge is mapped to what the new judge says on average (isotonic regression), with a 95% "
        "interval over source images. One edit is predicted to ±{}. Held out: a model's mean by a map that never saw "
        "it.",
        formats.score(document.rmse),
    )
    holds = Text("All edits are by one model: how far the bridge holds for another is unknown.")
    if document.off_by is not None:
        holds = Text(
            "Of a model that the new judge has not seen the bridge is off by ±{} (root mean square "
            "over the models held out): means on two sides of it that lie closer are not told apart.",
            formats.score(document.off_by),
        )
    sheet: list[Line | Table[Any]] = [Line(title, "strong"), Line(), map_table(document)]
    sheet += [GAP, cross_validation_table(document)] if document.held_out else []
    return [*sheet, Line(mapped, "quiet"), Line(holds, "problem")]


def map_table(document: Bridge) -> Table[Whose[Knot]]:
    """Returns a row for each score of the old judge, with the corresponding score of the new one."""
    old, new = document.old.judge, document.new.judge
    return Table(
        every=(
            Column(old, lambda row: f"{row.findings.score:g}", short=one_line(old, 20)),
            score_column(new, lambda knot: knot.value, look="strong", short=one_line(new, 20)),
            span_column(),
        ),
        rows=[Whose("", knot) for knot in document.map],
    )


def cross_validation_table(document: Bridge) -> Table[Whose[HeldOut]]:
    """Returns a row for each edit model that both have scored: its mean by the new judge, and by a map of others."""
    return Table(
        every=(
            PART,
            Column(Text("Scored"), lambda row: str(row.findings.n)),
            score_column(Text("New"), lambda model: model.mean),
            score_column(Text("Held out"), lambda model: model.bridged),
            Column(Text("Off by"), lambda row: format_signed(row.findings.bridged - row.findings.mean)),
        ),
        rows=[Whose("", model, name) for name, model in document.held_out.items()],
    )


def translation_sheet(document: TranslatedRun) -> list[Line | Table[Any]]:
    """Returns a run that was translated."""
    by, wanted = document.by, document.as_
    rows: list[_Row] = list(document.edit_models.items())
    title = Text("Translated: judged by {}, told on the scale of {}, which has not seen these edits", by, wanted)
    if len(document.held_out) < FEWEST_MODELS:
        error = Text(
            "The bridge has edits of fewer than {} models: how far it is off for another one is unknown, so there is "
            "no interval.",
            FEWEST_MODELS,
        )
    else:
        error = Text(
            "The interval has the error of the bridge in it: its {} edits of {} source images, and ±{} by which it is "
            "off for a model that it has not seen ({} models held out).",
            document.n,
            document.clusters,
            formats.score(document.off_by),
            len(document.held_out),
        )
    columns: list[Column[_Row]] = [
        Column(Text("Edit model"), lambda row: row[0], "name"),
        Column(Text("Scored"), lambda row: f"{row[1].n}/{row[1].total}"),
        Column(Text("By {}", by), lambda row: formats.score(row[1].before)),
        Column(Text("Translated to {}", wanted), lambda row: formats.score(row[1].value), look="strong"),
        Column(Text("95% interval"), lambda row: formats.span(row[1].ci95)),
    ]
    sheet: list[Line | Table[Any]] = [Line(title, "strong"), Line(), Table(columns, rows), Line(error, "quiet")]
    for model, row in rows:
        if row.beyond:
            line = Text(
                "{}: its mean by {}, {}, is not shown to lie among those of the bridge's edit models; of a model "
                "beyond them a bridged mean is drawn back towards theirs, by about half a point of ten",
                model,
                by,
                formats.score(row.before),
            )
            sheet.append(Line(line, "problem"))
        if row.outside:
            low, high = document.range
            line = Text(
                "{}: {} of its scores lie outside of what the bridge has seen ({:g} to {:g})",
                model,
                f"{row.outside:.0%}",
                low,
                high,
            )
            sheet.append(Line(line, "problem"))
    sheet.append(
        Line(
            Text(
                "Give such numbers as translated, with this interval, never in one table with what {} itself has said. "
                "The bridge was made on {}.",
                wanted,
                document.made,
            ),
            "problem",
        )
    )
    return sheet
