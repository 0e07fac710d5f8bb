"""The judges as instruments, on a terminal: with themselves, with each other, their median, and with people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from edit_eval.reporting import formats
from edit_eval.reporting.page.entries import entries
from edit_eval.reporting.page.texts import text
from edit_eval.reporting.tables import results_table
from edit_eval.reporting.terminal_text import Name, numbers, plain_table, print_beside, print_dim, stdout_console


def print_agreement(document: Mapping[str, Any], console: Console | None = None, *, language: str = "en") -> None:
    """Prints a card of each judge, their agreement and their median, in English or Chinese.

    `document` is what `statistics.summary.judges_document` returned; under `people`, where there is any, what
    `statistics.people.people_agreement` did.
    """
    console = console or stdout_console()
    console.print(Text(text("agreement.judges", language), style="bold"))
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
    if document.get("no_median") == "unlike_scales":
        print_dim(console, text("agreement.no_median", language))
    if document.get("median"):
        console.print()
        judges = len(document["judges"])
        console.print(Text(text("judges.median", language, count=judges), style="bold"))
        console.print()
        console.print(results_table(entries(document["median"]), language))
        print_dim(console, text("judges.median.hint", language))
    if document.get("people"):
        console.print()
        _print_people(document["people"], console, language)


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
        alpha = Text(formats.score(found["alpha"]), style="bold")
        table.add_row(Name(name), str(found["edits"]), alpha, formats.bracketed(found["ci95"]))
    return table


def no_alpha(document: Mapping[str, Any], language: str) -> str:
    """Why judges have no alpha together; empty where they have."""
    why = document.get("no_alpha")
    return text("agreement.no_alpha", language, reason=text(f"agreement.no_alpha.{why}", language)) if why else ""


def people_table(document: Mapping[str, Any], language: str = "en") -> Table:
    """For each judge its agreement with people, over all edit models and for each of them."""
    figures = numbers("n", text("agreement.spearman", language), text("interval", language))
    table = plain_table(text("judge", language), text("edit_model", language), *figures, gap=1)
    every = text("agreement.all", language)
    rows = list(document["judges"].items())
    if document["median"]:
        rows.append((text("agreement.median", language), document["median"]))
    for judge, found in rows:
        models = found["edit_models"]
        total = str(sum(model["n"] for model in models.values()))
        overall = Text(formats.score(found["spearman"]), style="bold")
        table.add_row(Name(judge), every, total, overall, formats.bracketed(found["ci95"]))
        for name, model in models.items() if len(models) > 1 else ():
            table.add_row("", Name(name), str(model["n"]), formats.score(model["spearman"]), "")
    if document["raters"]:
        one_person = text("agreement.one", language)
        table.add_row(one_person, every, "", formats.score(document["raters"]["spearman"]), "")
    return table


def _print_people(document: Mapping[str, Any], console: Console, language: str) -> None:
    one_score, one_person = document["scores"] == 1, document["people"] == 1
    scores = text("agreement.score" if one_score else "agreement.scores", language, count=document["scores"])
    people = text("agreement.one" if one_person else "agreement.several", language, count=document["people"])
    console.print(Text(text("agreement.people", language, scores=scores, people=people), style="bold"))
    if document["unmatched"]:
        words = text("agreement.unmatched", language, count=document["unmatched"])
        print_beside(console, Text(text("compare.note", language), style="yellow"), Text(words))
    console.print()
    console.print(people_table(document, language))
    hints = ["agreement.spearman.hint"] + (["agreement.one_person.hint"] if document["raters"] else [])
    print_dim(console, ("" if language == "zh" else " ").join(text(key, language) for key in hints))
