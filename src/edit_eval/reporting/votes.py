"""People's votes on a terminal, and as files."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from edit_eval.errors import ConfigurationError
from edit_eval.records import Sample
from edit_eval.reporting import formats
from edit_eval.reporting.formats import signed, signed_span
from edit_eval.reporting.page.export import refuse_existing
from edit_eval.reporting.page.texts import text
from edit_eval.reporting.styled import Styled
from edit_eval.reporting.terminal_text import Name, numbers, one_line, plain_table, print_dim, stdout_console
from edit_eval.spreadsheets import write_rows
from edit_eval.statistics.people import ratings_of
from edit_eval.store.votes import Votes
from edit_eval.text import Text

SCORES = ("sample_id", "edit_model", "score", "rater", "edit_seed")
EVERY = ("sample_id", "edit_seed", "left", "right", "choice", "rater", "weight", "how", "seconds", "at")


def print_preferences(document: Mapping[str, Any], console: Console | None = None, *, language: str = "en") -> None:
    """Prints strengths, raters and their agreement."""
    console = console or stdout_console()
    if not document["raters"]:
        console.print(text("votes.none", language))
        return
    counts = {name: document[name] for name in ("votes", "samples", "skipped")}
    console.print(text("votes.counts", language, **counts, raters=len(document["raters"])))
    console.print()
    titles = (text(key, language) for key in ("votes.strength", "interval", "votes.share", "compare.rank"))
    table = plain_table(text("edit_model", language), *numbers(*titles))
    for one in sorted(document["strengths"], key=lambda one: (one["strength"] is None, -(one["strength"] or 0))):
        table.add_row(
            Name(one["edit_model"]),
            Styled(signed(one["strength"]), style="bold"),
            signed_span(one["ci95"]),
            formats.NOTHING if one["share"] is None else formats.share(one["share"], 1),
            formats.NOTHING if one["rank"] is None else str(one["rank"]),
        )
    console.print(table)
    doubt = document["strengths"][0]["no_ci95"]
    if doubt:
        print_dim(console, text(f"votes.{doubt}", language))
    console.print()
    titles = (text(f"votes.{key}", language) for key in ("votes", "tie", "both_bad", "skip", "left_share"))
    table = plain_table(text("votes.rater", language), *numbers(*titles))
    for rater in document["raters"]:
        left = formats.NOTHING if rater["left"] is None else formats.share(rater["left"], 1)
        figures = [str(rater[name]) for name in ("votes", "ties", "both_bad", "skipped")]
        table.add_row(Name(rater["rater"]), *figures, Styled(left, style="yellow" if rater["side"] else ""))
    console.print(table)
    for rater in document["raters"]:
        if rater["side"]:
            key = f"votes.{'apart' if rater['set_apart'] else 'side'}.{rater['side']}"
            said = text(key, language, rater=rater["rater"])
            console.print(Styled(one_line(said), style="yellow"))
    agreement = document["agreement"]
    if agreement and agreement["pairs"]:
        console.print()
        alpha, ends = formats.score(agreement["alpha"]), formats.bracketed(agreement["ci95"])
        same, pairs = formats.share(agreement["identical"], 1), agreement["pairs"]
        console.print(text("votes.agreement", language, alpha=alpha, ci95=ends, pairs=pairs, identical=same))
    for name in ("outdated", "damaged"):
        if document[name]:
            console.print(text(f"votes.{name}", language, count=document[name]))
    print_dim(console, text("votes.hint" if len(document["raters"]) > 1 else "votes.hint.one", language))


def write_votes(votes: Votes, samples: Iterable[Sample], file: Path, *, every: bool, force: bool = False) -> None:
    """Writes people's scores of edits as CSV, or every vote. Raises `ConfigurationError` where there is none."""
    if not votes.lines:
        raise ConfigurationError(Text("there are no votes yet; `edit-eval view RUN` collects them"))
    if every:
        names: tuple[str, ...] = EVERY
        rows = [[line.sample, *(getattr(line, name) for name in names[1:])] for line in votes.lines]
    else:
        names, ratings = SCORES, ratings_of(votes.counted(samples))
        rows = [[getattr(one, name) for name in names] for one in ratings]
    if str(file) == "-":
        write_rows(sys.stdout, names, rows)
        return
    refuse_existing(file, force=force)
    try:
        with file.open("w", encoding="utf-8", newline="") as out:
            write_rows(out, names, rows)
    except OSError as error:
        raise ConfigurationError(Text("{}: cannot be written ({})", file, error.strerror or error)) from error
