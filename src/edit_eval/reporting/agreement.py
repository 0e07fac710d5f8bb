"""The judges as instruments, on a terminal: with themselves, with each other, their median, and with people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from edit_eval.reporting import formats
from edit_eval.reporting.entries import entries
from edit_eval.reporting.tables import results_table
from edit_eval.reporting.terminal_text import Name, print_beside, stdout_console


def print_agreement(document: Mapping[str, Any], console: Console | None = None) -> None:
    """Prints a card of each judge, their agreement and their median.

    `document` is what `statistics.summary.judges_document` returned; under `people`, where there is any, what
    `statistics.people.people_agreement` did.
    """
    console = console or stdout_console()
    console.print(Text("The judges", style="bold"))
    console.print()
    console.print(judges_table(document))
    retested = any(card["retest"] for card in document["judges"].values())
    _print_dim(console, "Shares with Wilson's 95% interval. Ceiling and floor: scores at the ends of the scale.")
    if retested:
        _print_dim(
            console,
            "Repeats: standard deviation within an edit, ICC(1,1), share of edits whose scores are all the same. "
            "A judge that decodes greedily repeats itself; that does not make it right.",
        )
    if document.get("between_judges"):
        console.print()
        console.print(alpha_table(document["between_judges"]))
        _print_dim(console, "Ordinal Krippendorff's alpha: 1 is full agreement, 0 as much as chance.")
    if document.get("median"):
        console.print()
        judges = len(document["judges"])
        console.print(Text(f"The median of the {judges} judges", style="bold"))
        console.print()
        console.print(results_table(entries({"results": document["median"]})))
        words = "Edits that every judge has scored; of each judge the mean over its repeats."
        _print_dim(console, words + (" The median of two is their mean." if judges == 2 else ""))
    if document.get("people"):
        console.print()
        _print_people(document["people"], console)


def judges_table(document: Mapping[str, Any]) -> Table:
    """A row for each judge: how often it gave no score, how often the ends of the scale, how it repeats itself."""
    cards = document["judges"]
    retested = any(card["retest"] for card in cards.values())
    table = _table("Judge")
    _add_numbers(table, "Asked", "No score", "Ceiling", "Floor", *(("Rep. sd", "ICC", "Same") if retested else ()))
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


def alpha_table(document: Mapping[str, Any]) -> Table:
    """A row for all judges together and, with more than two, for each two of them."""
    table = _table("Agreement between judges")
    _add_numbers(table, "Edits", "Alpha", "95% interval")
    rows = [(", ".join(document["judges"]), document)]
    if len(document["judges"]) > 2:
        rows += [(f"{pair['a']}, {pair['b']}", pair) for pair in document["pairs"]]
    for name, found in rows:
        alpha = formats.score(found["alpha"])
        span = formats.signed_span(found["ci95"])
        table.add_row(Name(name), str(found["edits"]), Text(alpha, style="bold"), span)
    return table


def people_table(document: Mapping[str, Any]) -> Table:
    """For each judge its agreement with people, over all edit models and for each of them."""
    table = _table("Judge")
    table.add_column("Edit model", overflow="fold")
    _add_numbers(table, "n", "Spearman", "95% interval")
    rows = list(document["judges"].items())
    if document["median"]:
        rows.append(("the judges' median", document["median"]))
    for judge, found in rows:
        models = found["edit_models"]
        total = str(sum(model["n"] for model in models.values()))
        overall = Text(formats.score(found["spearman"]), style="bold")
        table.add_row(Name(judge), "all", total, overall, formats.signed_span(found["ci95"]))
        for name, model in models.items() if len(models) > 1 else ():
            table.add_row("", Name(name), str(model["n"]), formats.score(model["spearman"]), "")
    if document["raters"]:
        table.add_row("one person", "all", "", formats.score(document["raters"]["spearman"]), "")
    return table


def _print_people(document: Mapping[str, Any], console: Console) -> None:
    people = "one person" if document["people"] == 1 else f"{document['people']} people"
    scores = f"{document['scores']} score{'' if document['scores'] == 1 else 's'}"
    console.print(Text(f"Against people: {scores} by {people}", style="bold"))
    if document["unmatched"]:
        words = f"{document['unmatched']} of the file's scores left out: this run has no such edits"
        print_beside(console, Text("note: ", style="yellow"), Text(words))
    console.print()
    console.print(people_table(document))
    _print_dim(
        console,
        "Spearman's rank correlation within each edit model, with the mean of people; all: mean through Fisher's z."
        + (" One person: against another, mean over all pairs." if document["raters"] else ""),
    )


def _table(first: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column(first, overflow="fold")
    return table


def _add_numbers(table: Table, *names: str) -> None:
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)


def _print_dim(console: Console, words: str) -> None:
    print_beside(console, "", Text(words, style="dim"))
