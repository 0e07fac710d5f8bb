"""Tables of the judges' agreement: with themselves and with each other, and their median."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from edit_eval.plugins.agreement.document import BesideChoices, BetweenJudges, Frequency, JudgeCard, JudgesAgreement
from edit_eval.reporting import formats
from edit_eval.reporting.formats import format_signed, format_signed_span
from edit_eval.reporting.table import Column, Line, Sheet, Table, Words
from edit_eval.statistics.ordinal import Alpha
from edit_eval.statistics.raters import Retest
from edit_eval.statistics.scores_apart import ScoreDifference
from edit_eval.text import Text

Findings = TypeVar("Findings")

INTERVAL, EDITS = Text("95% interval"), Text("Edits", context="number")
GAP = Line()
_NO_ALPHA = {
    "unlike_scales": Text("the judges' scores are on different scales"),
    "no_spread": Text("all scores are the same"),
    "no_scores": Text("no edit has a score from two judges"),
}


@dataclass(frozen=True)
class Whose(Generic[Findings]):
    """A row: the findings about a judge, over all edit models or, with `part`, over one."""

    name: Words
    findings: Findings
    part: str = ""

    @property
    def title(self) -> Words:
        """The edit model, or `all`."""
        return self.part or Text("all")


NAME: Column[Whose[Any]] = Column(Text("Judge"), lambda row: row.name, "name")
PART: Column[Whose[Any]] = Column(Text("Edit model"), lambda row: row.title, "name", when=lambda row: row.part)


def agreement_sheet(document: JudgesAgreement) -> Sheet:
    """Returns a card of each judge, their agreement and their median."""
    return [
        *_list_card_tables(document.judges),
        *(_list_comparison_tables(document.between_judges) if document.between_judges else []),
    ]


def _list_card_tables(cards: Mapping[str, JudgeCard]) -> Iterator[Line | Table[Any]]:
    yield judges_table(cards)
    ends = Text(
        "Shares with 95% intervals, clustered on the source image. Ceiling and floor: scores at the upper and the "
        "lower end of the scale."
    )
    yield Line(ends, "quiet")
    if any(card.retest for card in cards.values()):
        repeats = Text(
            "Repeats: standard deviation within an edit, ICC(1,1), share of edits whose scores are "
            "all the same. A judge that decodes greedily repeats itself; that does not make it right."
        )
        yield Line(repeats, "quiet")


def _list_comparison_tables(between: BetweenJudges) -> Iterator[Line | Table[Any]]:
    yield from (GAP, alpha_table(between))
    yield Line(Text("Ordinal Krippendorff's alpha: 1 is full agreement, 0 as much as chance."), "quiet")
    if between.no_alpha:
        yield Line(Text("No alpha: {}.", _NO_ALPHA[between.no_alpha]), "quiet")
    yield from (GAP, difference_table(between))
    yield Line(Text("First less second, edit by edit. Student's t, clustered on the source image."), "quiet")


def preference_table(beside: Mapping[str, Any]) -> Table[Mapping[str, Any]]:
    """Returns a row for each judge, shown one edit at a time or two, and one for people among each other."""
    people = {"judge": Text("one person with another"), "edits": 2, **(beside["people"] or {})}
    return Table(
        every=(
            Column(Text("Who"), lambda row: row["judge"], "name"),
            Column(Text("Shown"), lambda row: Text("two edits") if row["edits"] == 2 else Text("one edit"), "word"),
            Column(
                Text("Prefers as people do"),
                lambda row: None if row["agrees"] is None else formats.share(row["agrees"], 1),
                look="strong",
            ),
            Column(Text("95% interval"), lambda row: formats.format_interval(row["ci95"])),
            Column(
                Text("Constant"),
                lambda row: None if row.get("constant") is None else f"{row['constant']:.1%}",
                when=lambda row: row.get("constant") is not None,
            ),
            Column(Text("Pairs"), lambda row: str(row["pairs"])),
        ),
        rows=[*beside["judges"], *([people] if beside["people"] else [])],
        label=Text("Judges beside people"),
        style="ranks",
        gap=2,
    )


def choices_sheet(chosen: BesideChoices) -> Iterator[Line | Table[Any]]:
    """Yields the judges beside the choices that came with the data."""
    document = msgspec.to_builtins(chosen)
    people = document["people"] and {**document["people"], "judge": Text("one person, of those who chose")}
    yield from (Line(Text("People's choices between two edits"), "strong"), GAP)
    yield preference_table({**document, "people": people})
    constant = Text(
        "How often each prefers the edit that was chosen; a tie of one of the two counts half. Constant: always "
        "taking the side that was chosen more often, on the same pairs."
    )
    yield Line(constant, "quiet")


def score_column(title: Words, value: Callable[[Findings], float | None], **how: Any) -> Column[Whose[Findings]]:
    """Returns a column with one of the findings, written as a score."""
    return Column(title, lambda row: formats.score(value(row.findings)), **how)


def span_column() -> Column[Whose[Any]]:
    """Returns the column of the findings' interval."""
    return Column(INTERVAL, lambda row: formats.format_interval(row.findings.ci95))


def _rate(title: Text, short: Words, of: Callable[[JudgeCard], Frequency | None]) -> Column[Whose[JudgeCard]]:
    def format_rate(row: Whose[JudgeCard]) -> str:
        frequency = of(row.findings)
        return formats.NOTHING if frequency is None else formats.rate(frequency.count, frequency.total, frequency.ci95)

    return Column(title, format_rate, short=short)


def _retest(title: Text, short: Text, shows: Callable[[Retest], str]) -> Column[Whose[JudgeCard]]:
    def format_retest(row: Whose[JudgeCard]) -> str | None:
        return shows(row.findings.retest) if row.findings.retest else None

    return Column(title, format_retest, short=short, when=lambda row: row.findings.retest)


CARD: tuple[Column[Whose[JudgeCard]], ...] = (
    Column(Text("Asked"), lambda row: str(row.findings.asked)),
    _rate(Text("No score"), "", lambda card: card.unscored),
    _rate(Text("At the upper end"), Text("Ceiling"), lambda card: card.ceiling),
    _rate(Text("At the lower end"), Text("Floor"), lambda card: card.floor),
    _retest(Text("Std of repeats"), Text("Rep. sd"), lambda retest: formats.score(retest.sd)),
    _retest(Text("ICC(1,1)"), Text("ICC"), lambda retest: formats.score(retest.icc)),
    _retest(Text("All repeats equal"), Text("Same"), lambda retest: formats.share(retest.identical, 1)),
)


def judges_table(cards: Mapping[str, JudgeCard]) -> Table[Whose[JudgeCard]]:
    """Returns a row for each judge: how often it gave no score or an end of the scale, how well it repeats itself."""
    return Table(
        every=(NAME, *CARD), rows=[Whose(name, card) for name, card in cards.items()], label=Text("Each judge")
    )


def alpha_table(document: BetweenJudges) -> Table[Whose[Alpha]]:
    """Returns a row for all judges together and, with more than two, for each two of them."""
    rows: list[Whose[Alpha]] = [Whose(", ".join(document.judges), document)]
    if len(document.judges) > 2:
        rows += [Whose[Alpha](f"{pair.a}, {pair.b}", pair) for pair in document.pairs]
    return Table(
        every=(
            Column(Text("Agreement between judges"), lambda row: row.name, "name"),
            Column(EDITS, lambda row: str(row.findings.edits)),
            score_column(Text("Alpha"), lambda alpha: alpha.alpha, look="strong"),
            span_column(),
        ),
        rows=rows,
        label=Text("Agreement between judges"),
    )


def difference_table(document: BetweenJudges) -> Table[Whose[ScoreDifference]]:
    """Returns a row for every two judges: by how much the first scores above the second, edit by edit.

    With several edit models also a row for each: a judge that is harsher throughout does not change their order.
    """
    return Table(
        every=(
            PART,
            Column(EDITS, lambda row: str(row.findings.n)),
            Column(Text("Images"), lambda row: str(row.findings.images)),
            score_column(Text("First", context="of a pair"), lambda apart: apart.mean_a),
            score_column(Text("Second", context="of a pair"), lambda apart: apart.mean_b),
            Column(Text("Diff."), lambda row: format_signed(row.findings.difference), look="strong"),
            Column(INTERVAL, lambda row: format_signed_span(row.findings.ci95)),
        ),
        rows=[
            row
            for pair in document.pairs
            for row in with_parts(f"{pair.a} - {pair.b}", pair.apart, pair.apart.edit_models)
        ],
        group=Column(Text("Scores apart"), lambda row: row.name, "name"),
        label=Text("Scores apart"),
    )


def with_parts(name: Words, findings: Any, models: Mapping[str, Any]) -> list[Whose[Any]]:
    """Returns a row for all edit models and, with several, one for each."""
    return [Whose(name, findings), *(Whose(name, model, part) for part, model in models.items() if len(models) > 1)]
