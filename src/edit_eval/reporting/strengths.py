"""Which edit models are preferred, by people or by a judge that compares: tables and sentences for every display."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from edit_eval.errors import ConfigurationError
from edit_eval.new_files import refuse_existing, write_rows, written_whole
from edit_eval.published.certificates import certificate_of_points, is_certified
from edit_eval.published.certificates import said as certified_words
from edit_eval.records import Sample
from edit_eval.reporting import formats
from edit_eval.reporting.formats import signed
from edit_eval.reporting.names import NAMES
from edit_eval.reporting.table import Column, Line, Look, Sheet, Table
from edit_eval.statistics.battles import Fought
from edit_eval.statistics.families import Correction
from edit_eval.statistics.people import ratings_of
from edit_eval.store.votes import Votes
from edit_eval.text import Text, counted

Row = Mapping[str, Any]

DOUBTS = {
    "no_votes": Text("No strengths: nobody has preferred one to another."),
    "not_connected": Text(
        "No strengths: some edit models were never compared, neither with each other nor by way of others."
    ),
    "unbounded": Text(
        "Some won, or lost, everything against the others: their strengths have no bound, and are "
        "those with one tie more between every two."
    ),
    "no_preference": Text("No strengths: on no source image is one preferred to another."),
    "few_preferences": Text("No intervals, no ranks: on fewer than six source images is one preferred to another."),
    "few_images": Text("No intervals, no ranks: votes on fewer than six source images."),
}
_ESTIMATOR = Text(
    "Strengths: Bradley-Terry, in logits, mean 0; a tie counts half. 95% intervals clustered on source images. A "
    "failed edit is in no battle; with failures it has lost."
)
_INFINITE = "∞"


def strengths_table(
    strengths: Sequence[Row],
    with_failures: Sequence[Row] | None = None,
    rated: Mapping[Text, Mapping[str, float]] | None = None,
    places: Mapping[str, int] | None = None,
) -> Table[Row]:
    """Returns a row for each edit model, strongest first, also with the strength if failed edits count as lost.

    `rated`: Elo points that other arenas would give, by title and edit model. `places`: colour and mark of each model.
    """
    lost = {one["edit_model"]: one["strength"] for one in with_failures or ()}

    def points(arena: Mapping[str, float]) -> Any:
        return lambda one: None if (found := arena.get(one["edit_model"])) is None else f"{found:.0f}"

    columns: list[Column[Row]] = [
        Column(Text("Rank"), lambda one: formats.rank(one["rank"]), kind="word", look="quiet"),
        Column(
            Text("Edit model"),
            lambda one: one["edit_model"],
            kind="name",
            mark=(lambda one: places[one["edit_model"]]) if places else None,
        ),
        Column(Text("Strength"), lambda one: signed(one["strength"]), look="strong"),
        Column(Text("95% interval"), lambda one: ends(one["ci95"])),
        Column(Text("With failures"), lambda one: signed(lost.get(one["edit_model"])), when=lambda one: bool(lost)),
        Column(Text("Share of votes"), lambda one: None if one["share"] is None else formats.share(one["share"], 1)),
        Column(Text("Elo"), lambda one: None if one["elo"] is None else f"{one['elo']:.0f}", roomy=True),
        *(Column(title, points(arena), look="quiet", roomy=True) for title, arena in (rated or {}).items()),
    ]
    return Table(columns, by_strength(strengths), label=Text("Strengths"), style="ranks")


def by_strength(strengths: Sequence[Row]) -> list[Row]:
    """Sorts edit models, the strongest first, those without a strength last."""
    return sorted(strengths, key=lambda one: (one["strength"] is None, -(one["strength"] or 0)))


def ends(interval: Sequence[float | None] | None) -> str:
    """Returns `[-0.05, +0.39]` or `[+0.39, ∞]`; a dash for None."""
    if interval is None:
        return formats.NOTHING
    low, high = interval
    return f"[{f'-{_INFINITE}' if low is None else signed(low)}, {_INFINITE if high is None else signed(high)}]"


def wins_table(found: Row, order: Sequence[str], places: Mapping[str, int]) -> Table[str]:
    """Returns a row for each edit model: the battles it won and lost against each other one."""
    won = {(one["a"], one["b"]): (one[Fought.FIRST], one[Fought.SECOND]) for one in found["pairs"]}
    won |= {(b, a): (lost, its) for (a, b), (its, lost) in won.items()}
    surely = {(better, other) for one in found["differences"] for better, other in _shown(one)}

    def against(other: str, model: str) -> str | None:
        return "{} : {}".format(*won[model, other]) if (model, other) in won else None

    def look(other: str, model: str) -> Look:
        return "strong" if (model, other) in surely else "quiet"

    columns: list[Column[str]] = [
        Column(Text("Won : lost"), lambda model: model, kind="name", mark=lambda model: places[model])
    ]
    columns += [
        Column(other, partial(against, other), look=partial(look, other), head_mark=places[other]) for other in order
    ]
    return Table(columns, order, label=Text("Won and lost"), style="matrix-of-pairs")


OTHERS = {"geditbench_v2": "GEdit-Bench v2", "genarena": "GenArena"}


def _called(arena: str, certificate: Row) -> Text:
    """Returns what an arena's points are called: as there only if they are certified."""
    words = Text("Elo as in {}", OTHERS[arena])
    return words if is_certified(certificate, arena) else Text("Elo by the formula of {}", OTHERS[arena])


def _shown(difference: Row) -> list[tuple[str, str]]:
    """Returns who of two is shown to be better, and the other; nothing if neither is."""
    both = difference["a"], difference["b"]
    return [both if difference["better"] == both[0] else both[::-1]] if difference["better"] else []


def nothing_known(found: Row) -> Text | None:
    """Says what a judge does that prefers nobody, or too seldom; None if something is known of its preferences."""
    outcomes, contradictions = found["outcomes"], found["contradictions"]
    decided = found["battles"] - outcomes[Fought.MISSING]
    doubt = found["strengths"][0]["no_ci95"]
    return doubt_words(doubt, decided, outcomes[Fought.TIE], contradictions["count"], contradictions["first"])


def doubt_words(doubt: str | None, decided: int, ties: int, count: int, first: int) -> Text | None:
    """Says the same from the doubt about the strengths, the battles with an outcome, of these the ties and the `count`
    of contradictions, and in how many of them the edit shown `first` was taken."""
    if doubt == "few_images":
        return Text("No winner yet: battles on fewer than six source images are too few to tell")
    if doubt == "few_preferences":
        preferred = decided - ties - count
        return Text("It prefers an edit in {} of {} battles only, too few to tell", preferred, decided)
    if doubt is not None and doubt in NAMES["no_ci95"]:
        return Text("No winner yet: {}", NAMES["no_ci95"][doubt])
    if doubt != "no_preference":
        return None
    if count == decided and first in (0, count):
        always = "A" if first else "B"
        return Text("It answers {} whatever is shown: {} of {} battles are contradictions", always, count, decided)
    if ties == decided:
        return Text("It finds every two edits equally good: {} of {} battles are ties", ties, decided)
    return Text(
        "It prefers no edit in {} battles: {} and {}", decided, counted(count, "contradiction"), counted(ties, "tie")
    )


def battle_sheet(summary: Mapping[str, Any], *, titled: bool = False) -> Sheet:
    """Returns, for each judge that compares, its strengths, who won against whom, and how far to trust it.

    `titled`: a title above already says that these judges are shown two edits.
    """

    def title_of(judge: str, score: str) -> Text:
        who = Text("{}: {}", judge, score) if score else judge
        return Text("Compared by {}", who) if titled else Text("Two edits at a time, compared by {}", who)

    places = {one["edit_model"]: place for place, one in enumerate(summary.get("edits") or ())}
    parts: list[Line | Table[Any]] = []
    for judge, of in (summary.get("battles") or {}).items():
        found_there = of.get("as_others_rate") or {}
        certificates = {arena: certificate_of_points(arena, of) for arena in OTHERS if arena in found_there}
        rated = {_called(arena, one): found_there[arena] for arena, one in certificates.items()} or None
        for score, found in of["scores"].items():
            title = title_of(judge, score if len(of["scores"]) > 1 else "")
            parts += [Line(), Line(title, "strong"), *_of_score(found, rated, places)]
            rated = None  # Elo points are of the headline alone
        parts += [
            Line(Text("{}: {}.", _called(arena, one), certified_words(one)), "quiet")
            for arena, one in certificates.items()
        ]
        if unread := of.get("others_may_read"):
            parts.append(
                Line(
                    Text(
                        "No Elo as in {: or }: {} cannot be read here, and theirs may read such answers.",
                        list(OTHERS.values()),
                        counted(unread, "answer"),
                    ),
                    "quiet",
                )
            )
        if joint := of.get("together"):
            parts += [Line(), Line(title_of(judge, Text("all questions together, each of the same weight")), "strong")]
            parts.append(strengths_table(joint["strengths"], places=places))
            parts += ranks_lines(joint)
    return [*parts, Line(_ESTIMATOR, "quiet")] if parts else []


def ranks_lines(found: Row) -> Iterator[Line]:
    """Says what ranks are corrected for; nothing where no two could be tested, and so no rank is."""
    if (correction := Correction.of(found["family"])).tests:
        yield Line(correction.words(), "quiet")


def _of_score(found: Row, rated: Any, places: Mapping[str, int]) -> Iterator[Line | Table[Any]]:
    table = strengths_table(found["strengths"], found["with_failures"], rated, places)
    yield table
    if says := nothing_known(found):
        yield Line(Text("{:. }.", [says]), "problem")
    yield from _doubts(found["strengths"], "problem")
    yield Line()
    yield wins_table(found, [row["edit_model"] for row in table.rows], places)
    yield Line()
    yield from map(Line, _lines(found))
    yield from ranks_lines(found)


def _doubts(strengths: Sequence[Row], look: Look) -> Iterator[Line]:
    """Yields why strengths have no interval, each reason once."""
    for doubt in dict.fromkeys(row["no_ci95"] for row in strengths if row["no_ci95"]):
        yield Line(DOUBTS[doubt] if doubt in DOUBTS else Text("No interval: {}.", NAMES["no_ci95"][doubt]), look)


def _lines(found: Mapping[str, Any]) -> Iterator[Text]:
    outcomes, contradictions = found["outcomes"], found["contradictions"]
    decided = found["battles"] - outcomes[Fought.MISSING]
    yield Text(
        "{} of {} battles have an answer in both orders: {}, {} ({} of them).",
        decided,
        found["battles"],
        counted(outcomes[Fought.TIE], "tie"),
        counted(contradictions["count"], "contradiction"),
        formats.rate({**contradictions, "total": decided}),
    )
    if stored := found.get("stored"):
        yield Text(
            "{} of {} are taken over: the strengths of its edit models are as there, with the mean 0, and are held for "
            "those that join.",
            counted(stored["battles"], "battle"),
            stored["run"],
        )
    if looks := found.get("looks"):
        yield Text(
            "{} of at most {} rounds are asked: after each the strengths are looked at, so every interval is at "
            "{:.2%}, and those of all looks together hold 95%.",
            looks["rounds"],
            looks["of"],
            looks["level"],
        )
    if found["missing"]:
        yield Text(
            "Without an outcome: {}.",
            [Text("{} × {}", count, NAMES["status"][status]) for status, count in found["missing"].items()],
        )
    if (fit := found["davidson"]) is not None and fit["side_ci95"]:
        yield Text(
            "To be shown first is worth {} {} in logits; both orders are asked, so no edit model gains by it.",
            signed(fit["side"]),
            ends(fit["side_ci95"]),
        )


# -- people's votes on a terminal, and as files --

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
    """Returns strengths, raters and their agreement, judges beside people, from `run.preferences()` or `votes`."""
    return list(_preferences(document)) if document["raters"] else [Line(Text("Nobody has voted yet."))]


def _preferences(document: Mapping[str, Any]) -> Iterator[Line | Table[Any]]:
    votes, samples, skipped = (document[name] for name in ("votes", "samples", "skipped"))
    raters = len(document["raters"])
    yield Line(Text("{} votes on {} samples by {}; {} skipped", votes, samples, raters, skipped))
    yield Line()
    places = {one["edit_model"]: place for place, one in enumerate(document["strengths"])}
    yield strengths_table(document["strengths"], places=places)
    yield from _doubts(document["strengths"], "quiet")
    yield from ranks_lines(document)
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
    """Returns a row for each judge, shown one edit at a time or two, and one for people among each other."""
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
    """Returns a row for each rater: how often each choice was made."""
    counts = {"votes": Text("Votes"), "ties": Text("Ties"), "both_bad": Text("Both bad"), "skipped": Text("Skipped")}
    return Table(
        every=(
            Column(Text("Rater"), lambda one: one["rater"], "name"),
            *(Column(title, partial(lambda key, one: str(one[key]), name)) for name, title in counts.items()),
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


def write_votes(votes: Votes, samples: Iterable[Sample], file: Path, *, every: bool, force: bool = False) -> None:
    """Writes people's scores of edits, or every vote, as CSV. Raises `ConfigurationError` if there is none."""
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
