"""Who wins, and is it sure: a sentence for each judge that can be quoted, of the numbers that `compare` has.

Page, Markdown and terminal say the same one. Judges have a sentence each: there is none about several together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from edit_eval.reporting import formats
from edit_eval.reporting.entries import Entry, entries, headlines
from edit_eval.reporting.language import said
from edit_eval.reporting.names import listed, scale_words
from edit_eval.reporting.remarks import passport_lines
from edit_eval.statistics.comparison import ColumnSummary, Comparison, Pair
from edit_eval.statistics.series import gain
from edit_eval.text import Text, joined

_WITH_BEST = ("trade", "equal", "identical", "not_comparable")
"""Of these the others are named together with the best."""
_COLUMNS, _PAIRS = TypeAdapter(list[ColumnSummary]), TypeAdapter(list[Pair])


_BESIDE: Mapping[str, Callable[..., Text]] = {
    "better": lambda name, others: Text("{} is better than {}", name, others),
    "fails_more": lambda name, others: Text("{} is better than {}, with fewer failed edits", name, others),
    "trade": lambda name, others: Text("{} and {} are a trade: one scores better, and fails more", others, name),
    "equal": lambda name, others: Text("{} and {} are equal within the margin", others, name),
    "cannot_be_told": lambda name, others: Text("{} cannot be told from {}", others, name),
    "few_images": lambda name, others: Text("{} cannot be told from {}: too few source images", others, name),
    "identical": lambda name, others: Text("{} and {} have the same scores", others, name),
    "not_comparable": lambda name, others: Text("{} and {} have no scored sample in common", others, name),
}
"""What is said of the best one and others, in the order in which it is said."""
_CONTROLS = {
    "last": Text("the judge puts all controls last"),
    "not_last": Text("the judge does not put all controls last"),
    "unknown": Text("too few controls to tell whether the judge sees edits"),
    "off": Text("no controls were judged"),
}


@dataclass(frozen=True)
class Verdict:
    """What one judge says of all edit models."""

    judge: str
    parts: tuple[Entry, ...]
    """Its headline, an entry for each edit model."""
    columns: tuple[ColumnSummary, ...]
    """By rank, and within a rank the best mean first. Empty with one edit model, and where nothing can be tested."""
    pairs: tuple[Pair, ...]
    sees: str | None
    """Whether it puts the controls last: `last`, `not_last`, `unknown`; `off` where none were asked for, and None for
    one that has none."""
    examined: Mapping[str, Any]
    """The summary's `judges` with this one alone; empty for one that no audit could examine."""

    def sentence(self, language: str) -> str:
        """`A is better than B by 0.80 [0.40, 1.20]; C cannot be told from A.`, and how sure the first step is.

        With one edit model its score, coverage and what the judge makes of the controls.
        """
        if self.columns:
            return comparison_sentence(self.columns, self.pairs, language)
        return _sentence(self._alone(language), language)

    def controls(self, language: str) -> str:
        """`the judge puts all controls last`; empty for a judge that has none."""
        return said(_CONTROLS[self.sees], language) if self.sees else ""

    def passport(self, language: str) -> list[str]:
        """What is known of its passport (see `passports.passport_lines`)."""
        return passport_lines({"judges": self.examined}, language)

    def _alone(self, language: str) -> list[str]:
        found = []
        for part in self.parts:
            mean, ends = part.overall["mean"], part.overall["ci95"]
            if mean is None:
                found.append(said(Text("{} has no mean score with {}", part.edit_model, self.judge), language))
            else:
                score = f"{part.number(mean)} {formats.bracketed(ends, part.digits)}" if ends else part.number(mean)
                scale = scale_words(part.scale, language)
                found.append(
                    said(Text("{} scores {} ({}) with {}", part.edit_model, score, scale, self.judge), language)
                )
            scored, total = part.coverage["scored"], part.coverage["total"]
            complete = formats.is_complete(part.coverage)
            covered = Text("all {} are scored", total) if complete else Text("{} of {} are scored", scored, total)
            found.append(said(covered, language))
        return [*found, *filter(None, [self.controls(language)])]


def verdicts(summary: Mapping[str, Any]) -> list[Verdict]:
    """One for each judge of a summary, in its order."""
    parts = headlines(entries(summary["results"]))
    comparison = summary.get("comparison") or {"columns": (), "pairs": ()}
    columns = _COLUMNS.validate_python(comparison["columns"])
    pairs = _PAIRS.validate_python(comparison["pairs"])
    return [
        Verdict(
            judge=judge,
            parts=tuple(part for part in parts if part.judge == judge),
            columns=tuple(ranked([column for column in columns if column.judge == judge])),
            pairs=tuple(pair for pair in pairs if pair.judge == judge),
            sees=_sees(summary, judge),
            examined={name: of for name, of in (summary.get("judges") or {}).items() if name == judge},
        )
        for judge in dict.fromkeys(part.judge for part in parts)
    ]


def verdict_lines(summary: Mapping[str, Any], language: str) -> list[str]:
    """The sentence of each judge; with several judges behind its name."""
    found = verdicts(summary)
    if len(found) == 1:
        return [found[0].sentence(language)]
    return [said(Text("{}: {}", one.judge, one.sentence(language)), language) for one in found]


def comparison_lines(comparison: Comparison, language: str) -> list[str]:
    """Who wins by each judge of a comparison, a line each."""
    found = []
    for judge in comparison.judges:
        columns = ranked([column for column in comparison.columns if column.judge == judge])
        pairs = [pair for pair in comparison.pairs if pair.judge == judge]
        sentence = comparison_sentence(columns, pairs, language)
        found.append(sentence if len(comparison.judges) == 1 else f"{judge}: {sentence}")
    return found


def comparison_sentence(columns: Sequence[ColumnSummary], pairs: Sequence[Pair], language: str) -> str:
    """The sentence of one judge of a comparison, and one on the first against the next: see `_on_pictures`."""
    columns = ranked(columns)
    both = compared(columns, pairs, language), _on_pictures(columns, pairs, language)
    return said(Text("{:. }.", [joined(parts) for parts in both if parts]), language)


def _sentence(parts: Sequence[str], language: str) -> str:
    return said(Text("{:; }.", parts), language)


def ranked(columns: Sequence[ColumnSummary]) -> list[ColumnSummary]:
    """By rank; what shares one, the best mean first."""

    def place(column: ColumnSummary) -> tuple[int, bool, float]:
        mean = column.mean
        return column.rank, mean is None, -gain(column.scale) * (mean or 0.0)

    return sorted(columns, key=place)


def compared(columns: Sequence[ColumnSummary], pairs: Sequence[Pair], language: str) -> list[str]:
    """What is known of the first of the ranked columns beside each other, in parts of a sentence."""
    best, digits = columns[0].name, digits_of(columns)
    found: dict[str, list[str]] = {}
    for other in (column.name for column in columns[1:]):
        pair = next(one for one in pairs if {one.a, one.b} == {best, other})
        kind = _kind(pair, best)
        if kind == "better":
            other = _ahead(pair, best, other, digits, language)
        found.setdefault(kind, []).append(other)
    return [
        said(beside(best, _listed(found[kind], language, last=kind not in _WITH_BEST)), language)
        for kind, beside in _BESIDE.items()
        if kind in found
    ]


def _listed(names: Sequence[str], language: str, *, last: bool) -> str:
    """`A, B and C`; with commas alone where another `and` follows, and no name is the `last` one."""
    if not last or len(names) < 2:
        return listed(names, language)
    return said(Text("{} and {}", names[:-1], names[-1]), language)


def _kind(pair: Pair, best: str) -> str:
    found = pair.outcome
    if found.better not in (None, best):  # each of three may be worse than another
        return "cannot_be_told"
    kind = {"too_uneven": "few_images"}.get(found.why, found.why)
    return kind if kind in _BESIDE else found.kind


def _on_pictures(columns: Sequence[ColumnSummary], pairs: Sequence[Pair], language: str) -> list[str]:
    """On how many pictures the first beats the next, and what would undo its lead, or settle one that is not proven.

    Nothing where the next has no lower scores on what both have.
    """
    best, other = (column.name for column in columns[:2])
    pair = next(one for one in pairs if {one.a, one.b} == {best, other})
    turn = gain(pair.scale) * (1 if pair.a == best else -1)
    lead, images = turn * (pair.difference or 0.0), pair.by_image
    if lead <= 0:
        return []
    by = formats.score(lead, digits_of(columns))
    found = []
    if pair.no_ci95 == "no_spread":
        return [
            said(
                Text(
                    "{} leads {} by {} on every picture, so there is no spread to make an interval of", best, other, by
                ),
                language,
            )
        ]
    leads = pair.scores_better != best
    if leads:
        found.append(said(Text("{} leads {} by {}", best, other, by), language))
    wins, losses = (images.wins, images.losses) if pair.a == best else (images.losses, images.wins)
    count, p = wins + images.ties + losses, images.p_adjusted
    tested = said(Text(" (sign test, p {})", formats.p_value(p)), language) if p is not None and p < 1 else ""
    found.append(
        said(
            Text("it does better on {} of {} pictures, worse on {}{}", wins, count, losses, tested)
            if leads
            else Text(
                "{} does better than {} on {} of {} pictures, worse on {}{}", best, other, wins, count, losses, tested
            ),
            language,
        )
    )
    if pair.scores_better == best and pair.tipping_share is not None and pair.ruled_out_share is not None:
        share, ruled_out = formats.share(pair.tipping_share, 1), formats.share(pair.ruled_out_share, 1)
        found.append(
            said(
                Text(
                    "that lead would be gone if {} of all pictures were of a kind not among these and each a "
                    "total loss; {} pictures rule out more than {}",
                    share,
                    count,
                    ruled_out,
                ),
                language,
            )
        )
    elif pair.scores_better is None and pair.settled_by is not None and pair.settled_by > count:
        more = pair.settled_by - count
        found.append(
            said(
                Text(
                    "about {} more pictures like these would settle a lead of that size",
                    round(more, min(0, 2 - len(str(more)))),
                ),
                language,
            )
        )
    return found


def _ahead(pair: Pair, best: str, other: str, digits: int, language: str) -> str:
    """`B by 0.80 [0.40, 1.20]`: points in favour of the best, whichever way its scale goes."""
    turn = gain(pair.scale) * (1 if pair.a == best else -1)
    by = formats.score(turn * (pair.difference or 0.0), digits)
    if pair.ci95:
        by += f" {formats.bracketed(sorted(turn * end for end in pair.ci95), digits)}"
    words = Text("{} by {}", other, by)
    return said(words if pair.outcome.holds else Text("{} (missing scores could reverse this)", words), language)


def digits_of(columns: Sequence[ColumnSummary]) -> int:
    """After the point, for all numbers of one judge's score."""
    largest = max((abs(column.mean) for column in columns if column.mean is not None), default=0.0)
    return formats.decimals(columns[0].scale, largest)


def _sees(summary: Mapping[str, Any], judge: str) -> str | None:
    controls = summary.get("controls") or {}
    found = (controls.get("judges") or {}).get(judge)
    if found is not None:
        return {True: "last", False: "not_last", None: "unknown"}[found["last"]]
    return "off" if controls.get("samples") == 0 else None
