"""The bridge from one judge to another, on a terminal: the map, how well it holds, and the table that it continues."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from edit_eval.reporting import formats
from edit_eval.reporting.formats import signed
from edit_eval.reporting.language import said
from edit_eval.reporting.styled import Styled
from edit_eval.reporting.terminal_text import Name, numbers, one_line, plain_table, print_beside, print_dim
from edit_eval.text import Text


def print_bridge(document: Mapping[str, Any], console: Console, language: str = "en") -> None:
    """What `statistics.agreement.bridge_document` returned."""
    names = {side: f"{document[side]['judge']} ({document[side]['score']})" for side in ("old", "new")}
    n, images = document["n"], document["clusters"]
    line = Text(
        "From {} to {}: {} edits of {} source images that both have scored", names["old"], names["new"], n, images
    )
    console.print(Styled(one_line(said(line, language)), style="bold"))
    console.print()
    console.print(map_table(document, language))
    console.print()
    console.print(continued_table(document, language))
    print_dim(
        console,
        said(
            Text(
                "Bridged: the old judge's scores, each mapped to what the new judge says on average "
                "(isotonic regression), with a 95% interval over source images. One edit is foretold to "
                "±{}. Held out: bridged less new, by a map that never saw the model.",
                formats.score(document["rmse"]),
            ),
            language,
        ),
    )
    off_by = document["off_by"]
    words = Text("All edits are of one model: nobody knows how far the bridge holds for another.")
    if off_by is not None:
        words = Text(
            "Of a model that the new judge has not seen the bridge is off by ±{} (root mean square "
            "over the models held out): means on two sides of it that lie closer are not told apart.",
            formats.score(off_by),
        )
    print_beside(console, "", Styled(said(words, language), style="yellow"))


def map_table(document: Mapping[str, Any], language: str = "en") -> Table:
    """A row for each score of the old judge: which score of the new one it corresponds to."""
    names = [one_line(document[side]["judge"], 20) for side in ("old", "new")]
    table = plain_table(*numbers(*names, said(Text("95% interval"), language)), gap=1)
    for knot in document["map"]:
        value = Styled(formats.score(knot["value"]), style="bold")
        table.add_row(f"{knot['score']:g}", value, formats.bracketed(knot["ci95"]))
    return table


def continued_table(document: Mapping[str, Any], language: str = "en") -> Table:
    """A row for each edit model that the old judge has scored: its mean, what it is over the bridge, and the new one's.

    The last column: how far a bridge that never saw this model misses what the new judge says of it.
    """
    keys = (Text("Scored"), Text("Old"), Text("Bridged"), Text("95% interval"), Text("New"), Text("Held out"))
    table = plain_table(said(Text("Edit model"), language), *numbers(*(said(key, language) for key in keys)), gap=1)
    for model, found in document["edit_models"].items():
        out = document["held_out"].get(model)
        table.add_row(
            Name(model),
            str(found["n"]),
            formats.score(found["before"]),
            Styled(formats.score(found["bridged"]), style="bold"),
            formats.bracketed(found["ci95"]),
            formats.score(found["mean"]),
            signed(out["bridged"] - out["mean"]) if out else formats.NOTHING,
        )
    return table
