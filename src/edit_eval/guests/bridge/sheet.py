"""The sheet of a translated run: every line of numbers says that the other judge has not seen these edits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edit_eval.reporting import formats
from edit_eval.reporting.agreement import beyond_lines
from edit_eval.reporting.table import Column, Line, Table
from edit_eval.statistics.calibration import FEWEST_MODELS
from edit_eval.text import Text

_Row = tuple[str, Mapping[str, Any]]


def translated_sheet(document: Mapping[str, Any]) -> list[Line | Table[Any]]:
    """Returns the sheet of a result of `translate`."""
    by, wanted = document["by"], document["as"]
    rows: list[_Row] = list(document["edit_models"].items())
    title = Text("Translated: judged by {}, told on the scale of {}, which has not seen these edits", by, wanted)
    if len(document["held_out"]) < FEWEST_MODELS:
        error = Text(
            "The bridge has edits of fewer than {} models: how far it is off for another one is unknown, so there is "
            "no interval.",
            FEWEST_MODELS,
        )
    else:
        error = Text(
            "The interval has the error of the bridge in it: its {} edits of {} source images, and ±{} by which it is "
            "off for a model that it has not seen ({} models held out).",
            document["n"],
            document["clusters"],
            formats.score(document["off_by"]),
            len(document["held_out"]),
        )
    columns: list[Column[_Row]] = [
        Column(Text("Edit model"), lambda row: row[0], "name"),
        Column(Text("Scored"), lambda row: f"{row[1]['n']}/{row[1]['total']}"),
        Column(Text("By {}", by), lambda row: formats.score(row[1]["before"])),
        Column(Text("Translated to {}", wanted), lambda row: formats.score(row[1]["value"]), look="strong"),
        Column(Text("95% interval"), lambda row: formats.span(row[1]["ci95"])),
    ]
    sheet: list[Line | Table[Any]] = [Line(title, "strong"), Line(), Table(columns, rows), Line(error, "quiet")]
    sheet += beyond_lines(by, document["edit_models"])
    for model, row in rows:
        if row["outside"]:
            low, high = document["range"]
            line = Text(
                "{}: {} of its scores lie outside of what the bridge has seen ({:g} to {:g})",
                model,
                f"{row['outside']:.0%}",
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
                document["made"],
            ),
            "problem",
        )
    )
    return sheet
