"""The judges as instruments, on a terminal: with themselves, with each other, their median, and with people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from edit_eval.reporting import formats
from edit_eval.reporting.bridge import print_bridge
from edit_eval.reporting.formats import signed, signed_span
from edit_eval.reporting.page.entries import entries
from edit_eval.reporting.page.texts import text
from edit_eval.reporting.people import print_people
from edit_eval.reporting.styled import Styled
from edit_eval.reporting.tables import results_table
from edit_eval.reporting.terminal_text import Name, numbers, plain_table, print_dim, stdout_console


def print_agreement(document: Mapping[str, Any], console: Console | None = None, *, language: str = "en") -> None:
    """Prints a card of each judge, their agreement and their median, in English or Chinese.

    `document` is what `statistics.summary.judges_document` returned; under `people` and `bridge`, where there is any,
    what `statistics.agreement.people_agreement` and `bridge_document` did.
    """
    console = console or stdout_console()
    console.print(Styled(text("agreement.judges", language), style="bold"))
    console.print()
    console.print(judges_table(document, language))
    retested = any(card["retest"] for card in document["judges"].values())
    print_dim(console, text("agreement.judges.hint", language))
    if retested:
        print_dim(console, text("agreement.repeats.hint", language))
    if document.get("between_judges"):
        console.print()
        console.print(alpha_table(document["between_judges"], language))
        print_dim(console, text("agreement.alpha.hint", language))
        if why := no_alpha(document["between_judges"], language):
            print_dim(console, why)
        console.print()
        console.print(apart_table(document["between_judges"], language))
        print_dim(console, text("judges.apart.hint", language))
    if document.get("no_median") == "unlike_scales":
        print_dim(console, text("agreement.no_median", language))
    if document.get("median"):
        console.print()
        judges = len(document["judges"])
        console.print(Styled(text("judges.median", language, count=judges), style="bold"))
        console.print()
        console.print(results_table(entries(document["median"]), language))
        print_dim(console, text("judges.median.hint", language))
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
    keys = ["judges.asked", "judges.unscored", "agreement.ceiling", "agreement.floor"]
    keys += ["agreement.sd", "agreement.icc", "agreement.identical"] if retested else []
    table = plain_table(text("judge", language), *numbers(*(text(key, language) for key in keys)), gap=1)
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
    headings = [text(key, language) for key in ("judges.compared", "judges.alpha.column", "interval")]
    table = plain_table(text("judges.alpha", language), *numbers(*headings), gap=1)
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
    return text("agreement.no_alpha", language, reason=text(f"agreement.no_alpha.{why}", language)) if why else ""


def apart_table(document: Mapping[str, Any], language: str = "en") -> Table:
    """A row for every two judges: by how much the scores of the first lie above those of the second, edit by edit.

    With several edit models also for each of them: a judge that is harsher throughout changes no order of theirs.
    """
    headings = [text(key, language) for key in ("judges.compared", "images", "agreement.mean_a", "agreement.mean_b")]
    headings += [text(key, language) for key in ("compare.difference", "interval")]
    table = plain_table(text("judges.apart", language), *numbers(*headings), gap=1)
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
