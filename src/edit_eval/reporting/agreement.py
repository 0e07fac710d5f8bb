"""The judges as instruments, on a terminal: with themselves, with each other, their median, and with people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from edit_eval.reporting import formats
from edit_eval.reporting.bridge import print_bridge
from edit_eval.reporting.formats import signed, signed_span
from edit_eval.reporting.language import said
from edit_eval.reporting.page.entries import entries
from edit_eval.reporting.page.texts import NAMES
from edit_eval.reporting.people import print_people
from edit_eval.reporting.result_tables import EDIT_MODEL, results_table
from edit_eval.reporting.styled import Styled
from edit_eval.reporting.terminal_text import Name, numbers, plain_table, print_dim, stdout_console
from edit_eval.reporting.writers.terminal import terminal_table
from edit_eval.text import Text


def print_agreement(document: Mapping[str, Any], console: Console | None = None, *, language: str = "en") -> None:
    """Prints a card of each judge, their agreement and their median, in English or Chinese.

    `document` is what `statistics.summary.judges_document` returned; under `people` and `bridge`, where there is any,
    what `statistics.agreement.people_agreement` and `bridge_document` did.
    """
    console = console or stdout_console()
    console.print(Styled(said(Text("The judges"), language), style="bold"))
    console.print()
    console.print(judges_table(document, language))
    retested = any(card["retest"] for card in document["judges"].values())
    print_dim(
        console,
        said(
            Text(
                "Shares with Wilson's 95% interval. Ceiling and floor: scores at the upper and the lower "
                "end of the scale."
            ),
            language,
        ),
    )
    if retested:
        print_dim(
            console,
            said(
                Text(
                    "Repeats: standard deviation within an edit, ICC(1,1), share of edits whose scores are "
                    "all the same. A judge that decodes greedily repeats itself; that does not make it right."
                ),
                language,
            ),
        )
    if document.get("between_judges"):
        console.print()
        console.print(alpha_table(document["between_judges"], language))
        print_dim(
            console, said(Text("Ordinal Krippendorff's alpha: 1 is full agreement, 0 as much as chance."), language)
        )
        if why := no_alpha(document["between_judges"], language):
            print_dim(console, why)
        console.print()
        console.print(apart_table(document["between_judges"], language))
        print_dim(
            console,
            said(Text("First less second, edit by edit. Student's t, clustered on the source image."), language),
        )
    if document.get("no_median") == "unlike_scales":
        print_dim(console, said(Text("No median: the judges' scores are on different scales."), language))
    if document.get("median"):
        console.print()
        judges = len(document["judges"])
        console.print(Styled(said(Text("The median of the {} judges", judges), language), style="bold"))
        console.print()
        console.print(terminal_table(results_table(entries(document["median"]), names=(EDIT_MODEL,)), language))
        print_dim(
            console,
            said(Text("Only edits that every judge has scored; of each judge the mean over its repeats."), language),
        )
    if document.get("people"):
        console.print()
        print_people(document["people"], console, language)
    if document.get("bridge"):
        console.print()
        print_bridge(document["bridge"], console, language)


def judges_table(document: Mapping[str, Any], language: str = "en") -> Table:
    """A row for each judge: how often it gave no score, how often the ends of the scale, how it repeats itself."""
    cards = document["judges"]
    retested = any(card["retest"] for card in cards.values())
    keys = [Text("Asked"), Text("No score"), Text("Ceiling"), Text("Floor")]
    keys += [Text("Rep. sd"), Text("ICC"), Text("Same")] if retested else []
    table = plain_table(said(Text("Judge"), language), *numbers(*(said(key, language) for key in keys)), gap=1)
    for judge, card in cards.items():
        retest = card["retest"]
        repeats = [formats.NOTHING] * 3
        if retest:
            repeats = [formats.score(retest["sd"]), formats.score(retest["icc"]), f"{retest['identical']:.0%}"]
        table.add_row(
            Name(judge),
            str(card["asked"]),
            formats.rate(card["unscored"]),
            formats.rate(card["ceiling"]),
            formats.rate(card["floor"]),
            *(repeats if retested else ()),
        )
    return table


def alpha_table(document: Mapping[str, Any], language: str = "en") -> Table:
    """A row for all judges together and, with more than two, for each two of them."""
    headings = [said(key, language) for key in (Text("Edits", context="number"), Text("Alpha"), Text("95% interval"))]
    table = plain_table(said(Text("Agreement between judges"), language), *numbers(*headings), gap=1)
    rows = [(", ".join(document["judges"]), document)]
    if len(document["judges"]) > 2:
        rows += [(f"{pair['a']}, {pair['b']}", pair) for pair in document["pairs"]]
    for name, found in rows:
        alpha = Styled(formats.score(found["alpha"]), style="bold")
        table.add_row(Name(name), str(found["edits"]), alpha, formats.bracketed(found["ci95"]))
    return table


def no_alpha(document: Mapping[str, Any], language: str) -> str:
    """Why judges have no alpha together; empty where they have."""
    why = document.get("no_alpha")
    return said(Text("No alpha: {}.", NAMES["no_alpha"][why]), language) if why else ""


def apart_table(document: Mapping[str, Any], language: str = "en") -> Table:
    """A row for every two judges: by how much the scores of the first lie above those of the second, edit by edit.

    With several edit models also for each of them: a judge that is harsher throughout changes no order of theirs.
    """
    headings = [
        said(key, language)
        for key in (
            Text("Edits", context="number"),
            Text("Images"),
            Text("First", context="of a pair"),
            Text("Second", context="of a pair"),
        )
    ]
    headings += [said(key, language) for key in (Text("Diff."), Text("95% interval"))]
    table = plain_table(said(Text("Scores apart"), language), *numbers(*headings), gap=1)
    for pair in document["pairs"]:
        models = pair["apart"]["edit_models"]
        rows = [(Name(f"{pair['a']} - {pair['b']}"), pair["apart"])]
        rows += [(Name(name, indent=2), one) for name, one in models.items() if len(models) > 1]
        for name, found in rows:
            table.add_row(
                name,
                str(found["n"]),
                str(found["images"]),
                formats.score(found["mean_a"]),
                formats.score(found["mean_b"]),
                Styled(signed(found["difference"]), style="bold"),
                signed_span(found["ci95"]),
            )
    return table
