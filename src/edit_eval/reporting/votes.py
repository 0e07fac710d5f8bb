"""People's votes on a terminal, and as files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from edit_eval.errors import ConfigurationError
from edit_eval.new_files import refuse_existing, written_whole
from edit_eval.records import Sample
from edit_eval.reporting import formats
from edit_eval.reporting.strengths import DOUBTS, strengths_table
from edit_eval.reporting.table import Column, Line, Sheet, Table
from edit_eval.spreadsheets import write_rows
from edit_eval.statistics.people import ratings_of
from edit_eval.store.votes import Votes
from edit_eval.text import Text

Found = Mapping[str, Any]
SCORES = ("sample_id", "edit_model", "score", "rater", "edit_seed")
EVERY = ("sample_id", "edit_seed", "left", "right", "choice", "rater", "weight", "how", "seconds", "at")

_ONE_SIDED: Mapping[str, Callable[..., Text]] = {
    "apart.left": lambda rater: Text(
        "{0} takes the left one whatever it is, and is not counted; to count these votes: --with {0}", rater
    ),
    "apart.right": lambda rater: Text(
        "{0} takes the right one whatever it is, and is not counted; to count these votes: --with {0}", rater
    ),
    "side.left": lambda rater: Text(
        "{} takes the left one whatever it is: these votes say nothing; leave them out with --without", rater
    ),
    "side.right": lambda rater: Text(
        "{} takes the right one whatever it is: these votes say nothing; leave them out with --without", rater
    ),
}


def preferences_sheet(document: Mapping[str, Any]) -> Sheet:
    """Strengths, raters and their agreement, judges beside people: of `run.preferences()`, or a summary's `votes`."""
    return list(_preferences(document)) if document["raters"] else [Line(Text("Nobody has voted yet."))]


def _preferences(document: Mapping[str, Any]) -> Iterator[Line | Table[Any]]:
    votes, samples, skipped = (document[name] for name in ("votes", "samples", "skipped"))
    raters = len(document["raters"])
    yield Line(Text("{} votes on {} samples by {}; {} skipped", votes, samples, raters, skipped))
    yield Line()
    places = {one["edit_model"]: place for place, one in enumerate(document["strengths"])}
    yield strengths_table(document["strengths"], places=places)
    if doubt := document["strengths"][0]["no_ci95"]:
        yield Line(DOUBTS[doubt], "quiet")
    yield Line()
    yield raters_table(document["raters"])
    for rater in document["raters"]:
        if rater["side"]:
            kind = f"{'apart' if rater['set_apart'] else 'side'}.{rater['side']}"
            yield Line(_ONE_SIDED[kind](rater["rater"]), "problem")
    agreement = document["agreement"]
    if agreement and agreement["pairs"]:
        yield Line()
        yield Line(
            Text(
                "Raters agree with alpha {} {} on {} pairs that two or more have seen; {} of their votes are the same",
                formats.score(agreement["alpha"]),
                formats.bracketed(agreement["ci95"]),
                agreement["pairs"],
                formats.share(agreement["identical"], 1),
            )
        )
    if document["beside"]["judges"] and votes:
        yield Line()
        yield beside_table(document["beside"])
        yield Line(
            Text(
                "How often each prefers the edit that a person does; a tie of one of the two counts half. Who "
                "always said that both are equal would have {}.",
                formats.share(document["beside"]["tie"], 1),
            )
        )
    if outdated := document.get("outdated"):
        yield Line(Text("{} votes are on edits that are not there any more, and do not count", outdated))
    if damaged := document.get("damaged"):
        yield Line(Text("{} damaged lines among the votes were left out", damaged))
    several = Text(
        "Strengths: Bradley-Terry, in logits, mean 0; a tie counts half. Votes count with the "
        "inverse of the chance of their sample. 95% intervals clustered on source images and "
        "raters."
    )
    alone = Text(
        "Strengths: Bradley-Terry, in logits, mean 0; a tie counts half. 95% intervals clustered "
        "on source images: they hold for this rater alone."
    )
    yield Line(several if raters > 1 else alone, "quiet")


def beside_table(beside: Found) -> Table[Found]:
    """A row for each judge, shown one edit at a time or two, and one for people among each other."""
    people = {"judge": Text("one person with another"), "edits": 2, **(beside["people"] or {})}
    return Table(
        every=(
            Column(Text("Who"), lambda one: one["judge"], "name"),
            Column(Text("Shown"), lambda one: Text("two edits") if one["edits"] == 2 else Text("one edit"), "word"),
            Column(
                Text("Prefers as people do"),
                lambda one: None if one["agrees"] is None else formats.share(one["agrees"], 1),
                look="strong",
            ),
            Column(Text("95% interval"), lambda one: formats.bracketed(one["ci95"])),
            Column(
                Text("Constant"),
                lambda one: None if one.get("constant") is None else f"{one['constant']:.1%}",
                when=lambda one: one.get("constant") is not None,
            ),
            Column(Text("Pairs"), lambda one: str(one["pairs"])),
        ),
        rows=[*beside["judges"], *([people] if beside["people"] else [])],
        label=Text("Judges beside people"),
        style="ranks",
        gap=2,
    )


def raters_table(raters: Sequence[Found]) -> Table[Found]:
    """A row for each rater: what was chosen how often."""
    counts = {"votes": Text("Votes"), "ties": Text("Ties"), "both_bad": Text("Both bad"), "skipped": Text("Skipped")}
    return Table(
        every=(
            Column(Text("Rater"), lambda one: one["rater"], "name"),
            *(Column(title, partial(_counted, name)) for name, title in counts.items()),
            Column(
                Text("Left", context="votes"),
                lambda one: None if one["left"] is None else formats.share(one["left"], 1),
                look=lambda one: "problem" if one["side"] else "",
            ),
        ),
        rows=raters,
        label=Text("Raters"),
        style="ranks",
        gap=0,
    )


def _counted(name: str, one: Found) -> str:
    return str(one[name])


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
    with written_whole(file) as temporary, temporary.open("w", encoding="utf-8", newline="") as out:
        write_rows(out, names, rows)
