"""Which edit models are preferred, by people or by a judge that compares: tables and sentences for every display."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from edit_eval.protocols.certificates import certificate_of_points, is_certified
from edit_eval.protocols.certificates import certificate_sentence as certified_words
from edit_eval.reporting import formats
from edit_eval.reporting.formats import format_signed
from edit_eval.reporting.names import NAMES
from edit_eval.reporting.table import Column, Line, Look, Sheet, Table
from edit_eval.statistics.battles import BattleOutcome, JudgeBattles, ScoreBattles
from edit_eval.statistics.families import Correction
from edit_eval.statistics.strengths import RankedStrength, Strength, StrengthDifference
from edit_eval.text import Text, pluralize

DOUBTS = {
    "no_votes": Text("No strengths: no edit was preferred to another."),
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
    strengths: Sequence[RankedStrength],
    with_failures: Sequence[Strength] | None = None,
    rated: Mapping[Text, Mapping[str, float]] | None = None,
    places: Mapping[str, int] | None = None,
) -> Table[RankedStrength]:
    """Returns a row for each edit model, strongest first, also with the strength if failed edits count as lost.

    `rated`: Elo points that other arenas would give, by title and edit model. `places`: colour and mark of each model.
    """
    lost = {strength.edit_model: strength.strength for strength in with_failures or ()}

    def points(arena: Mapping[str, float]) -> Any:
        return lambda row: None if (elo := arena.get(row.edit_model)) is None else f"{elo:.0f}"

    columns: list[Column[RankedStrength]] = [
        Column(Text("Rank"), lambda row: formats.rank(row.rank), kind="word", look="quiet"),
        Column(
            Text("Edit model"),
            lambda row: row.edit_model,
            kind="name",
            mark=(lambda row: places[row.edit_model]) if places else None,
        ),
        Column(Text("Strength"), lambda row: format_signed(row.strength), look="strong"),
        Column(Text("95% interval"), lambda row: ends(row.ci95)),
        Column(Text("With failures"), lambda row: format_signed(lost.get(row.edit_model)), when=lambda row: bool(lost)),
        Column(Text("Share of votes"), lambda row: None if row.share is None else formats.share(row.share, 1)),
        Column(Text("Elo"), lambda row: None if row.elo is None else f"{row.elo:.0f}", roomy=True),
        *(Column(title, points(arena), look="quiet", roomy=True) for title, arena in (rated or {}).items()),
    ]
    return Table(columns, sort_by_strength(strengths), label=Text("Strengths"), style="ranks")


def sort_by_strength(strengths: Sequence[RankedStrength]) -> list[RankedStrength]:
    """Sorts edit models, the strongest first, those without a strength last."""
    return sorted(strengths, key=lambda strength: (strength.strength is None, -(strength.strength or 0)))


def ends(interval: Sequence[float | None] | None) -> str:
    """Returns `[-0.05, +0.39]` or `[+0.39, ∞]`; a dash for None."""
    if interval is None:
        return formats.NOTHING
    low, high = interval
    ends = f"-{_INFINITE}" if low is None else format_signed(low), _INFINITE if high is None else format_signed(high)
    return f"[{', '.join(ends)}]"


def wins_table(battles: ScoreBattles, order: Sequence[str], places: Mapping[str, int]) -> Table[str]:
    """Returns a row for each edit model: the battles it won and lost against each other one."""
    won = {(pair.a, pair.b): (pair.first, pair.second) for pair in battles.pairs}
    won |= {(b, a): (lost, its) for (a, b), (its, lost) in won.items()}
    surely = {(better, other) for difference in battles.differences for better, other in _better_pair(difference)}

    def battle_score(other: str, model: str) -> str | None:
        return "{} : {}".format(*won[model, other]) if (model, other) in won else None

    def look(other: str, model: str) -> Look:
        return "strong" if (model, other) in surely else "quiet"

    columns: list[Column[str]] = [
        Column(Text("Won : lost"), lambda model: model, kind="name", mark=lambda model: places[model])
    ]
    columns += [
        Column(other, partial(battle_score, other), look=partial(look, other), head_mark=places[other])
        for other in order
    ]
    return Table(columns, order, label=Text("Won and lost"), style="matrix-of-pairs")


OTHERS = {"geditbench_v2": "GEdit-Bench v2", "genarena": "GenArena"}


def _points_name(arena: str, certificate: Mapping[str, object]) -> Text:
    """Returns what an arena's points are called: as there only if they are certified."""
    words = Text("Elo as in {}", OTHERS[arena])
    return words if is_certified(certificate, arena) else Text("Elo by the formula of {}", OTHERS[arena])


def _better_pair(difference: StrengthDifference) -> list[tuple[str, str]]:
    """Returns who of two is shown to be better, and the other; nothing if neither is."""
    both = difference.a, difference.b
    return [both if difference.better == both[0] else both[::-1]] if difference.better else []


def nothing_known(battles: ScoreBattles) -> Text | None:
    """Says what a judge does that prefers nobody, or too seldom; None if something is known of its preferences."""
    doubt, contradictions = battles.strengths[0].no_ci95, battles.contradictions
    return doubt_words(
        doubt, battles.n_decided, battles.outcomes[BattleOutcome.TIE], contradictions.count, contradictions.first
    )


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
        "It prefers no edit in {} battles: {} and {}",
        decided,
        pluralize(count, "contradiction"),
        pluralize(ties, "tie"),
    )


def battle_sheet(battles: Mapping[str, JudgeBattles], edit_models: Sequence[str], *, titled: bool = False) -> Sheet:
    """Returns, for each judge that compares, its strengths, who won against whom, and how far to trust it.

    `edit_models` are all, in the order of their colours. `titled`: a title above already says that these judges are
    shown two edits.
    """

    def title_of(judge: str, score: str) -> Text:
        who = Text("{}: {}", judge, score) if score else judge
        return Text("Compared by {}", who) if titled else Text("Two edits at a time, compared by {}", who)

    places = {name: place for place, name in enumerate(edit_models)}
    parts: list[Line | Table[Any]] = []
    for judge, of in battles.items():
        found_there = of.as_others_rate
        certificates = {
            arena: certificate_of_points(arena, of.protocol, of.certificate) for arena in OTHERS if arena in found_there
        }
        rated = {
            _points_name(arena, certificate): found_there[arena] for arena, certificate in certificates.items()
        } or None
        for score, of_score in of.scores.items():
            title = title_of(judge, score if len(of.scores) > 1 else "")
            parts += [Line(), Line(title, "strong"), *_score_parts(of_score, rated, places)]
            rated = None  # Elo points are of the headline alone
        parts += [
            Line(Text("{}: {}.", _points_name(arena, certificate), certified_words(certificate)), "quiet")
            for arena, certificate in certificates.items()
        ]
        if unread := of.others_may_read:
            parts.append(
                Line(
                    Text(
                        "No Elo as in {: or }: {} cannot be read here, and theirs may read such answers.",
                        list(OTHERS.values()),
                        pluralize(unread, "answer"),
                    ),
                    "quiet",
                )
            )
        if joint := of.together:
            parts += [Line(), Line(title_of(judge, Text("all questions together, each of the same weight")), "strong")]
            parts.append(strengths_table(joint.strengths, places=places))
            parts += ranks_lines(joint.family)
    return [*parts, Line(_ESTIMATOR, "quiet")] if parts else []


def ranks_lines(correction: Correction) -> Iterator[Line]:
    """Says what ranks are corrected for; nothing where no two could be tested, and so no rank is."""
    if correction.tests:
        yield Line(correction.words(), "quiet")


def _score_parts(battles: ScoreBattles, rated: Any, places: Mapping[str, int]) -> Iterator[Line | Table[Any]]:
    table = strengths_table(battles.strengths, battles.with_failures, rated, places)
    yield table
    if says := nothing_known(battles):
        yield Line(Text("{:. }.", [says]), "problem")
    yield from doubt_lines(battles.strengths, "problem")
    yield Line()
    yield wins_table(battles, [row.edit_model for row in table.rows], places)
    yield Line()
    yield from map(Line, _lines(battles))
    yield from ranks_lines(battles.family)


def doubt_lines(strengths: Sequence[Strength], look: Look) -> Iterator[Line]:
    """Yields why strengths have no interval, each reason once."""
    for doubt in dict.fromkeys(row.no_ci95 for row in strengths if row.no_ci95):
        yield Line(DOUBTS[doubt] if doubt in DOUBTS else Text("No interval: {}.", NAMES["no_ci95"][doubt]), look)


def _lines(battles: ScoreBattles) -> Iterator[Text]:
    outcomes, contradictions = battles.outcomes, battles.contradictions
    decided = battles.n_decided
    yield Text(
        "{} of {} battles have an answer in both orders: {}, {} ({} of them).",
        decided,
        battles.battles,
        pluralize(outcomes[BattleOutcome.TIE], "tie"),
        pluralize(contradictions.count, "contradiction"),
        formats.rate(contradictions.count, decided, contradictions.ci95),
    )
    if looks := battles.looks:
        yield Text(
            "{} of at most {} rounds are asked: after each the strengths are looked at, so every interval is at "
            "{:.2%}, and those of all looks together hold 95%.",
            looks.rounds,
            looks.of,
            looks.level,
        )
    if battles.missing:
        yield Text(
            "Without an outcome: {}.",
            [Text("{} × {}", count, NAMES["status"][status]) for status, count in battles.missing.items()],
        )
    if (fit := battles.davidson) is not None and fit.side_ci95:
        yield Text(
            "To be shown first is worth {} {} in logits; both orders are asked, so no edit model gains by it.",
            format_signed(fit.side),
            ends(fit.side_ci95),
        )
