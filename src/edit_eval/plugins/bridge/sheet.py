"""Tables of a bridge, and of a translated run: each says that the other judge has not seen these edits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edit_eval.plugins.agreement.document import Knot
from edit_eval.plugins.agreement.sheet import GAP, PART, Whose, score_column, span_column
from edit_eval.plugins.bridge.document import Bridge, BridgedModel, TranslatedModel, TranslatedRun
from edit_eval.plugins.bridge.mapping import FEWEST_MODELS
from edit_eval.reporting import formats
from edit_eval.reporting.formats import signed
from edit_eval.reporting.table import Column, Line, Sheet, Table
from edit_eval.reporting.terminal_text import one_line
from edit_eval.text import Text

_Row = tuple[str, TranslatedModel]


def title_of(document: Bridge) -> Text:
    """Says between which two judges it is, and on what it rests."""
    old, new = (f"{side.judge} ({side.score})" for side in (document.old, document.new))
    return Text(
        "From {} to {}: {} edits of {} source images that both have scored",
        old,
        new,
        document.n,
        document.clusters,
    )


def bridge_sheet(document: Bridge) -> Sheet:
    """Returns the map, and what it comes to for each edit model."""
    bridged = Text(
        "Bridged: the old judge's scores, each mapped to what the new judge says on average "
        "(isotonic regression), with a 95% interval over source images. One edit is predicted to "
        "±{}. Held out: bridged less new, by a map that never saw the model.",
        formats.score(document.rmse),
    )
    off_by = document.off_by
    holds = Text("All edits are by one model: how far the bridge holds for another is unknown.")
    if off_by is not None:
        holds = Text(
            "Of a model that the new judge has not seen the bridge is off by ±{} (root mean square "
            "over the models held out): means on two sides of it that lie closer are not told apart.",
            formats.score(off_by),
        )
    tables = map_table(document), continued_table(document)
    quiet, problem = Line(bridged, "quiet"), Line(holds, "problem")
    beyond = beyond_lines(document.old.judge, document.edit_models)
    return [tables[0], GAP, tables[1], quiet, problem, *beyond]


def beyond_lines(judge: str, edit_models: Mapping[str, BridgedModel] | Mapping[str, TranslatedModel]) -> list[Line]:
    """Returns a warning for each model that may be better or worse than all of a bridge."""
    return [
        Line(
            Text(
                "{}: its mean by {}, {}, is not shown to lie among those of the bridge's edit models; of a model "
                "beyond them a bridged mean is drawn back towards theirs, by about half a point of ten",
                model,
                judge,
                formats.score(row.before),
            ),
            "problem",
        )
        for model, row in edit_models.items()
        if row.beyond
    ]


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


def continued_table(document: Bridge) -> Table[Whose[BridgedModel]]:
    """Returns a row for each edit model scored by the old judge: its mean, that mean over the bridge, the new judge's.

    The last column is the error of a bridge fitted without this model against the new judge's mean.
    """
    out = document.held_out

    def missed(row: Whose[BridgedModel]) -> str | None:
        held_out = out.get(row.part)
        return signed(held_out.bridged - held_out.mean) if held_out else None

    return Table(
        every=(
            PART,
            Column(Text("Scored"), lambda row: str(row.findings.n)),
            score_column(Text("Old"), lambda model: model.before),
            score_column(Text("Bridged"), lambda model: model.bridged, look="strong"),
            span_column(),
            score_column(Text("New"), lambda model: model.mean),
            Column(Text("Held out"), missed),
        ),
        rows=[Whose("", model, name) for name, model in document.edit_models.items()],
    )


def translated_sheet(document: TranslatedRun) -> list[Line | Table[Any]]:
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
    sheet += beyond_lines(by, document.edit_models)
    for model, row in rows:
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
