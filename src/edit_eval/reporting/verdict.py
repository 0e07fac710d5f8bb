"""Who wins, and how sure that is: a quotable sentence for each judge, from the numbers of `compare`.

Page, Markdown and terminal show the same sentence. No sentence is about several judges together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from edit_eval.reporting import formats
from edit_eval.reporting.comparison_tables import digits_of
from edit_eval.reporting.entries import Entry, entries, headlines
from edit_eval.reporting.names import scale_words
from edit_eval.reporting.remarks import passport_lines
from edit_eval.reporting.strengths import by_strength, nothing_known
from edit_eval.statistics.battles import Fought
from edit_eval.statistics.comparison import ColumnSummary, Comparison, Pair
from edit_eval.statistics.series import gain
from edit_eval.text import Text, joined

_COLUMNS, _PAIRS = TypeAdapter(list[ColumnSummary]), TypeAdapter(list[Pair])


_FAR = 100
"""If settling a lead would take this many times the present pictures or more, no number is given."""
_MOST_NAMES = 3
"""Names that a sentence has room for; more are counted."""
_ALIKE: Mapping[str, Callable[[object, object], Text]] = {
    "fails_more": lambda best, others: Text("{} is better than {}, with fewer failed edits", best, others),
    "trade": lambda best, others: Text("{} and {} are a trade: one scores better, and fails more", best, others),
    "equal": lambda best, others: Text("{} and {} are equal within the margin", best, others),
    "identical": lambda best, others: Text("{} and {} have the same scores", best, others),
    "not_comparable": lambda best, others: Text("{} and {} have no scored sample in common", best, others),
}
"""Further sentences about the best one and others, in order."""
_CONTROLS = {
    "last": Text("the judge puts all controls last"),
    "not_last": Text("the judge does not put all controls last"),
    "unknown": Text("too few controls to tell whether the judge sees edits"),
    "off": Text("no controls were judged"),
}


@dataclass(frozen=True)
class JudgeVerdict:
    """One judge's verdict on all edit models."""

    judge: str
    parts: tuple[Entry, ...]
    """Its headline, an entry for each edit model."""
    columns: tuple[ColumnSummary, ...]
    """By rank, and within a rank the best mean first. Empty with one edit model, or if nothing can be tested."""
    pairs: tuple[Pair, ...]
    sees: str | None
    """Whether it puts the controls last: `last`, `not_last`, `unknown`; `off` if controls were turned off, None if
    the judge has none."""
    examined: Mapping[str, Any]
    """The summary's `judges` with this one alone; empty if no audit could examine it."""

    def sentence(self) -> Text:
        """Returns `A is better than B by 0.80 [0.40, 1.20] (out of 10). A does better than ...`: headline and rest."""
        parts = [one for one in (self.headline(), self.rest()) if one]
        return Text("{:. }.", parts) if self.columns else Text("{:; }.", parts)

    def headline(self) -> Text:
        """Says who wins and by how much, winner first; with one edit model, its score and interval. No full stop."""
        if self.columns:
            return compared(self.columns, self.pairs)
        return joined([self._score(part) for part in self.parts])

    def rest(self) -> Text:
        """Says on how many pictures; with one edit model, its coverage, and where the judge puts the controls."""
        if self.columns:
            return joined(_on_pictures(self.columns, self.pairs))
        return joined([*(covered(part) for part in self.parts), *filter(None, [self.controls()])])

    @property
    def first(self) -> str:
        """The best edit model; empty if there is no other."""
        return self.columns[0].name if self.columns else ""

    def wins(self) -> bool:
        """True if the first is better than every other."""
        return all(
            _kind(_pair(self.pairs, self.columns[0], one), self.columns[0].name) in _WON for one in self.columns[1:]
        )

    def controls(self) -> str:
        """Returns `the judge puts all controls last`; empty for a judge without controls."""
        return _CONTROLS[self.sees] if self.sees else ""

    def passport(self) -> list[Text]:
        """Returns the lines about its passport (see `remarks.passport_lines`)."""
        return passport_lines({"judges": self.examined})

    def _score(self, part: Entry) -> Text:
        mean, ends = part.overall["mean"], part.overall["ci95"]
        if mean is None:
            return Text("{} has no mean score with {}", part.edit_model, self.judge)
        score = f"{part.number(mean)} {formats.bracketed(ends, part.digits)}" if ends else part.number(mean)
        return Text("{} scores {} ({}) with {}", part.edit_model, score, scale_words(part.scale), self.judge)


def covered(part: Entry) -> Text:
    """Says how many of its samples have a score."""
    scored, total = part.coverage["scored"], part.coverage["total"]
    complete = formats.is_complete(part.coverage)
    return Text("all {} are scored", total) if complete else Text("{} of {} are scored", scored, total)


def verdicts(summary: Mapping[str, Any]) -> list[JudgeVerdict]:
    """Returns a verdict for each judge of a summary, in its order."""
    parts = headlines(entries(summary["results"]))
    comparison = summary.get("comparison") or {"columns": (), "pairs": ()}
    columns = _COLUMNS.validate_python(comparison["columns"])
    pairs = _PAIRS.validate_python(comparison["pairs"])
    return [
        JudgeVerdict(
            judge=judge,
            parts=tuple(part for part in parts if part.judge == judge),
            columns=tuple(ranked([column for column in columns if column.judge == judge])),
            pairs=tuple(pair for pair in pairs if pair.judge == judge),
            sees=_sees(summary, judge),
            examined={name: of for name, of in (summary.get("judges") or {}).items() if name == judge},
        )
        for judge in dict.fromkeys(part.judge for part in parts)
    ]


def verdict_lines(summary: Mapping[str, Any]) -> list[Text]:
    """Returns the sentence of each judge; with several judges, headed by its name."""
    found = {one.judge: one.sentence() for one in verdicts(summary)}
    found |= {one.judge: one.sentence() for one in preferences(summary)}
    if len(found) == 1:
        return [*found.values()]
    return [Text("{}: {}", judge, sentence) for judge, sentence in found.items()]


def comparison_lines(comparison: Comparison) -> list[Text]:
    """Says who wins by each judge of a comparison, a line each."""
    found = []
    for judge in comparison.judges:
        columns = ranked([column for column in comparison.columns if column.judge == judge])
        pairs = [pair for pair in comparison.pairs if pair.judge == judge]
        sentence = comparison_sentence(columns, pairs)
        found.append(sentence if len(comparison.judges) == 1 else Text("{}: {}", judge, sentence))
    return found


@dataclass(frozen=True)
class Preference:
    """The preference of a judge that is shown two edits at a time."""

    judge: str
    first: str = ""
    """The strongest edit model; empty if nothing is known."""
    doubted: tuple[str, ...] = ()
    """Edit models to which it is not shown to be preferred."""
    others: tuple[str, ...] = ()
    won: int = 0
    lost: int = 0
    battles: int = 0
    """Battles of the first that have an outcome."""
    unknown: Text | None = None
    """Why nothing is known."""

    def wins(self) -> bool:
        """True if the first is preferred to every other."""
        return bool(self.first) and not self.doubted

    def headline(self) -> Text:
        """Says who is preferred, without a full stop."""
        if self.unknown:
            return self.unknown
        if self.doubted:
            unsure = _listed(self.doubted)
            return Text("No winner yet: {} leads, but is not clearly preferred to {}", self.first, unsure)
        others = self.others[0] if len(self.others) == 1 else Text("all {} others", len(self.others))
        return Text("{} is preferred to {}", self.first, others)

    def rest(self) -> Text | None:
        """Says in how many battles, without a full stop; None if nothing is known."""
        if self.unknown:
            return None
        return Text("{} won {} of its {} battles and lost {}", self.first, self.won, self.battles, self.lost)

    def sentence(self) -> Text:
        """Returns headline and rest."""
        return Text("{:. }.", [part for part in (self.headline(), self.rest()) if part])


def preferences(summary: Mapping[str, Any]) -> list[Preference]:
    """Returns a preference for each judge that compares, by its headline; none for one without battles to tell of."""
    found = []
    for judge, of in (summary.get("battles") or {}).items():
        scored = next(iter(of["scores"].values()))
        if unknown := nothing_known(scored):
            found.append(Preference(judge, unknown=unknown))
        if unknown or any(row["strength"] is None for row in scored["strengths"]):
            continue
        first, *others = (row["edit_model"] for row in by_strength(scored["strengths"]))
        shown = {one["b"] if first == one["a"] else one["a"] for one in scored["differences"] if one["better"] == first}
        its = [(pair, pair["a"] == first) for pair in scored["pairs"] if first in (pair["a"], pair["b"])]
        found.append(
            Preference(
                judge,
                first,
                tuple(other for other in others if other not in shown),
                tuple(others),
                won=sum(pair[Fought.FIRST if ours else Fought.SECOND] for pair, ours in its),
                lost=sum(pair[Fought.SECOND if ours else Fought.FIRST] for pair, ours in its),
                battles=sum(pair[came] for pair, _ in its for came in Fought if came is not Fought.MISSING),
            )
        )
    return found


def joint_headline(found: Sequence[JudgeVerdict | Preference]) -> Text:
    """Sums up what several judges say, each for itself: no number is over several of them."""
    if not all(one.first for one in found):
        return joined([one.headline() for one in found])
    first: dict[str, list[str]] = {}
    for one in found:
        first.setdefault(one.first, []).append(one.judge)
    if len(first) > 1:
        leads = [Text("{} leads with {}", name, _listed(judges)) for name, judges in first.items()]
        return Text("The judges disagree: {}", joined(leads, ", "))
    [name], sure = first, sum(one.wins() for one in found)
    every = Text("both judges") if len(found) == 2 else Text("all {} judges", len(found))
    if sure == len(found):
        return Text("{} is first with {}, and better than every other model", name, every)
    if not sure:
        return Text("No winner yet: {} is first with {}, but no judge can tell it from every other model", name, every)
    return Text("{} is first with {}; {} of them can tell it from every other model", name, every, sure)


def comparison_sentence(columns: Sequence[ColumnSummary], pairs: Sequence[Pair]) -> Text:
    """Returns the sentence of one judge of a comparison, and one on the first against the next (see `_on_pictures`)."""
    columns = ranked(columns)
    both = compared(columns, pairs), joined(_on_pictures(columns, pairs))
    return Text("{:. }.", [part for part in both if part])


def ranked(columns: Sequence[ColumnSummary]) -> list[ColumnSummary]:
    """Sorts columns by rank, and within a rank by mean, the best first; those without a rank come last."""

    def place(column: ColumnSummary) -> tuple[float, bool, float]:
        mean, rank = column.mean, math.inf if column.rank is None else column.rank
        return rank, mean is None, -gain(column.scale) * (mean or 0.0)

    return sorted(columns, key=place)


_WON = ("better", "fails_more")


def compared(columns: Sequence[ColumnSummary], pairs: Sequence[Pair]) -> Text:
    """Compares the first of the ranked columns with all others, without a full stop."""
    best, others = columns[0].name, columns[1:]
    found: dict[str, list[str]] = {}
    for other in others:
        found.setdefault(_kind(_pair(pairs, columns[0], other), best), []).append(other.name)
    beaten, unsure = found.get("better", []), found.get("cannot_be_told", [])
    parts = [_leads(columns, pairs, unsure)] if unsure and not beaten else []
    if beaten:
        scale = scale_words(columns[0].scale)
        by = _ahead(pairs, columns, beaten)
        if len(beaten) == 1 and not unsure:
            parts.append(Text("{} is better than {} by {} ({})", best, beaten[0], by, scale))
        elif len(beaten) == len(others):
            parts.append(
                Text(
                    "{} is better than {}; {} comes next, {} behind ({})",
                    best,
                    Text("both others") if len(others) == 2 else Text("all {} others", len(others)),
                    beaten[0],
                    by,
                    scale,
                )
            )
        else:
            parts.append(Text("{} is better than {}", best, _listed(beaten)))
    if beaten and unsure:
        parts = [
            Text(
                "{} leads: it is better than {}, and cannot be told from {}",
                best,
                *(_listed(some) for some in (beaten, unsure)),
            )
        ]
    for kind, alike in _ALIKE.items():
        if kind in found:
            first, last = _halves(best, found[kind])
            parts.append(alike(first, last) if kind != "fails_more" else alike(best, _listed(found[kind])))
    return joined(parts)


def _leads(columns: Sequence[ColumnSummary], pairs: Sequence[Pair], unsure: Sequence[str]) -> Text:
    """Says who leads if none is shown to be worse."""
    best, other = columns[0], columns[1]
    pair = _pair(pairs, best, other)
    few = pair.outcome.why in ("few_images", "too_uneven")
    lead, scale = _lead(pair, best.name), scale_words(best.scale)
    if len(columns) > 2:
        return (
            Text("No winner yet: {} leads, but {} pictures are too few to tell", best.name, pair.clusters)
            if few
            else Text("No winner yet: {} leads, but cannot be told from {}", best.name, _listed(unsure))
        )
    if round(lead, _digits(columns)) <= 0:
        return Text("No winner: {} and {} cannot be told apart on {} pictures", best.name, other.name, pair.clusters)
    by = formats.score(lead, _digits(columns))
    if few:
        return Text(
            "No winner yet: {} leads {} by {} ({}), but {} pictures are too few to tell",
            best.name,
            other.name,
            by,
            scale,
            pair.clusters,
        )
    return Text(
        "No winner yet: {} leads {} by {} ({}), which {} pictures cannot settle",
        best.name,
        other.name,
        by,
        scale,
        pair.clusters,
    )


def _listed(names: Sequence[str]) -> str:
    """Returns `A, B and C`, or how many if a sentence has no room for them."""
    if len(names) > _MOST_NAMES:
        return Text("{} others", len(names))
    return Text("{} and {}", names[:-1], names[-1]) if len(names) > 1 else names[0]


def _halves(best: str, names: Sequence[str]) -> tuple[object, str]:
    """Splits the names at the `and` of the sentence."""
    return ([best, *names[:-1]], names[-1]) if len(names) <= _MOST_NAMES else (best, _listed(names))


def _pair(pairs: Sequence[Pair], one: ColumnSummary, other: ColumnSummary) -> Pair:
    return next(pair for pair in pairs if {pair.a, pair.b} == {one.name, other.name})


def _lead(pair: Pair, best: str) -> float:
    """Returns the points in favour of the best, whichever way its scale goes."""
    return gain(pair.scale) * (1 if pair.a == best else -1) * (pair.difference or 0.0)


def _kind(pair: Pair, best: str) -> str:
    found = pair.outcome
    if found.better not in (None, best):  # each of three may be worse than another
        return "cannot_be_told"
    return found.why if found.why in _ALIKE else found.kind


def _on_pictures(columns: Sequence[ColumnSummary], pairs: Sequence[Pair]) -> list[Text]:
    """Says on how many pictures the first beats the next, and what would undo its lead, or settle an unproven one.

    Empty if the next does not score lower on what both have.
    """
    best, other = (column.name for column in columns[:2])
    pair = _pair(pairs, columns[0], columns[1])
    lead, images = _lead(pair, best), pair.by_image
    if round(lead, _digits(columns)) <= 0:
        return []
    by = formats.score(lead, _digits(columns))
    found = []
    if pair.no_ci95 == "no_spread":
        return [
            Text("{} leads {} by {} on every picture, so there is no spread to make an interval of", best, other, by)
        ]
    leads = pair.scores_better != best and len(columns) > 2  # of two the headline has it
    if leads:
        found.append(Text("{} leads {} by {}", best, other, by))
    wins, losses = (images.wins, images.losses) if pair.a == best else (images.losses, images.wins)
    count, p = wins + images.ties + losses, images.p_adjusted
    tested: str = ""
    if p is not None and p < 1:
        written = formats.p_value(p)
        alone = p == images.p
        tested = Text(" (sign test, p {})", written) if alone else Text(" (sign test, adjusted p {})", written)
    found.append(
        Text("it does better on {} of {} pictures, worse on {}{}", wins, count, losses, tested)
        if leads
        else Text(
            "{} does better than {} on {} of {} pictures, worse on {}{}", best, other, wins, count, losses, tested
        )
    )
    if pair.scores_better == best and pair.tipping_share is not None and pair.ruled_out_share is not None:
        share, ruled_out = formats.share(pair.tipping_share, 1), formats.share(pair.ruled_out_share, 1)
        found.append(
            Text(
                "that lead would be gone if {} of all pictures were of a kind not among these and each a "
                "total loss; {} pictures rule out more than {} with 95% confidence",
                share,
                count,
                ruled_out,
            )
        )
    elif pair.scores_better is None and pair.settled_by is not None and count < pair.settled_by < _FAR * count:
        more = pair.settled_by - count
        found.append(
            Text(
                "if the lead is really that large, about {} more pictures like these would show it four times in five",
                round(more, min(0, 2 - len(str(more)))),
            )
        )
    return found


def _ahead(pairs: Sequence[Pair], columns: Sequence[ColumnSummary], beaten: Sequence[str]) -> str:
    """Returns `0.80 [0.40, 1.20]`: how far the first of the beaten is behind, and whether all of that would hold."""
    best, digits = columns[0], _digits(columns)
    found = {one.name: _pair(pairs, best, one) for one in columns[1:] if one.name in beaten}
    pair, sign = found[beaten[0]], 1.0 if _lead(found[beaten[0]], best.name) == found[beaten[0]].difference else -1.0
    by = formats.score(_lead(pair, best.name), digits)
    if pair.ci95:
        by += f" {formats.bracketed(formats.turned(pair.ci95, sign), digits)}"
    holds = all(one.outcome.holds for one in found.values())
    return by if holds else Text("{} (missing scores could reverse this)", by)


def _digits(columns: Sequence[ColumnSummary]) -> int:
    return digits_of(columns[0].scale, [column.mean for column in columns])


def _sees(summary: Mapping[str, Any], judge: str) -> str | None:
    controls = summary.get("controls") or {}
    found = (controls.get("judges") or {}).get(judge)
    if found is not None:
        return {True: "last", False: "not_last", None: "unknown"}[found["last"]]
    return "off" if controls.get("samples") == 0 else None
