"""Tables of judges beside people who rated the same edits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from edit_eval.plugins.agreement.document import (
    BesidePeople,
    ModelsBesidePeople,
    PeopleAgreement,
    Raters,
    Share,
    Span,
    TwoBesidePeople,
)
from edit_eval.plugins.agreement.sheet import GAP, INTERVAL, NAME, PART, Whose, score_column, span_column, with_parts
from edit_eval.reporting import formats
from edit_eval.reporting.formats import format_signed, format_signed_span
from edit_eval.reporting.names import score_name
from edit_eval.reporting.table import Column, Line, Sheet, Table, Words
from edit_eval.text import Text, pluralize


def people_sheet(document: PeopleAgreement) -> Sheet:
    """Returns the judges beside people who rated the same edits."""
    people = Text("one person") if document.people == 1 else Text("{} people", document.people)
    whose = [Whose(name, judge) for name, judge in document.judges.items()]
    title = Text("Against people: {} by {}", pluralize(document.scores, "score"), people)
    sheet: list[Line | Table[Any]] = [Line(title, "strong")]
    if left := document.unmatched:
        words = Text("{} of the file's scores left out: they are about other edits or other scores", left)
        named = Text("{}: {}", words, document.unknown) if document.unknown else words
        sheet += [Line(named, head=Text("note: "))]
    parts: Sequence[tuple[Table[Any], Text, Text]] = (
        (
            edits_table(whose),
            Text("Within edit models, with the mean of people"),
            Text(
                "Spearman's rank correlation with the mean of people within each edit model; all: mean "
                "through Fisher's z. If all scored: what it could be at worst and at best, whatever the "
                "missing scores are."
            ),
        ),
        (
            like_table(whose, document.raters),
            Text("Within edit models, like for like"),
            Text(
                "With one: with one person, the mean over people; of one person, over all pairs of them. "
                "With others: with the mean of all people but one. Share: what the judge reaches with "
                "one person, over what one person does."
            ),
        ),
        (
            models_table(whose, document.raters),
            Text("Between edit models: their order"),
            Text(
                "Rank correlation of the models' means; its 95% interval is about other models. Pairs "
                "alike: the share of pairs of these models that judge and people order alike; its "
                "interval counts a pair as decided where both prove its order. Pairs right: of the pairs "
                "that people separate, those that the judge orders as they do."
            ),
        ),
        (
            pairs_table(document.pairs),
            Text("Two judges: which agrees better with people"),
            Text(
                "How much higher the first judge's correlation with people is than the second's, on the "
                "edits that both have scored, within models with a paired 95% interval."
            ),
        ),
    )
    for table, title, hint in parts:
        if table.rows:
            sheet += [GAP, Line(title), table, Line(hint, "quiet")]
    remarks = [*describe_unscored(whose), *calibration_lines(whose)]
    return [*sheet, *([GAP] if remarks else []), *map(Line, remarks)]


def edits_table(judges: Sequence[Whose[BesidePeople]]) -> Table[Whose[Any]]:
    """Returns each judge's agreement with the mean of people within edit models: over all models, and for each."""

    def number(row: Whose[BesidePeople]) -> str:
        return str(row.findings.n) if row.part else f"{row.findings.n}/{row.findings.total}"

    def bounds(row: Whose[BesidePeople]) -> str | None:
        if row.part:
            return ""
        low, high = row.findings.worst_case, row.findings.best_case
        if row.findings.n == row.findings.total or low is None or high is None:
            return None
        return formats.format_interval([low, high])

    return Table(
        every=(
            PART,
            Column(Text("n"), number),
            score_column(
                Text("Spearman"),
                lambda correlation: correlation.spearman,
                look=lambda row: "" if row.part else "strong",
            ),
            Column(INTERVAL, lambda row: "" if row.part else formats.format_interval(row.findings.ci95)),
            Column(Text("If all scored"), bounds),
        ),
        rows=[
            row
            for judge in judges
            for row in with_parts(
                Text("{}: {}", judge.name, score_name(judge.findings.score)), judge.findings, judge.findings.edit_models
            )
        ],
        group=NAME,
    )


@dataclass(frozen=True)
class _Like:
    """A judge, or one person, with one (other) person and with all but one."""

    spearman: float | None
    ci95: Span | None
    others: float | None
    share: float | None
    share_ci95: Words


def like_table(judges: Sequence[Whose[BesidePeople]], raters: Raters | None) -> Table[Whose[_Like]]:
    """Compares like with like: each judge, and one person, with one (other) person and with the mean of all but one."""
    rows = []
    for judge in judges if raters else ():
        findings, share = judge.findings, judge.findings.as_one_person
        others, span = findings.others.spearman if findings.others else None, formats.format_interval(share.ci95)
        like = _Like(findings.one_person.spearman, findings.one_person.ci95, others, share.value, span)
        rows.append(Whose(judge.name, like))
    if raters:
        rows.append(Whose(Text("one person"), _Like(raters.spearman, raters.ci95, raters.others.spearman, 1.0, "")))
    return Table(
        every=(
            NAME,
            score_column(Text("With one"), lambda like: like.spearman, look="strong"),
            span_column(),
            score_column(Text("With others"), lambda like: like.others),
            score_column(Text("Share"), lambda like: like.share),
            Column(INTERVAL, lambda row: row.findings.share_ci95),
        ),
        rows=rows,
    )


def models_table(judges: Sequence[Whose[BesidePeople]], raters: Raters | None) -> Table[Whose[Any]]:
    """Returns whether each judge orders the edit models as people do; no row if nothing is known."""
    rows: list[Whose[Any]] = [Whose(judge.name, judge.findings.between_models) for judge in judges]
    known = any(row.findings.spearman is not None or row.findings.separated > 0 for row in rows)
    person = [Whose(Text("one person"), raters.between_models)] if raters else []

    def judge_column(title: Text, shows: Callable[[ModelsBesidePeople], Words]) -> Column[Whose[Any]]:
        return Column(title, lambda row: shows(row.findings) if isinstance(row.findings, ModelsBesidePeople) else "")

    return Table(
        every=(
            NAME,
            judge_column(Text("Models", context="number"), lambda order: str(order.models)),
            score_column(Text("Spearman"), lambda order: order.spearman, look="strong"),
            judge_column(Text("Pairs alike"), lambda order: _share(order.pairs_alike)),
            judge_column(Text("Other models"), lambda order: formats.format_interval(order.ci95_models)),
            judge_column(
                Text("Pairs right"),
                lambda order: Text("{} of {}", _share(order.pairs_ordered), order.separated, context="pairs"),
            ),
        ),
        rows=[*rows, *person] if known else [],
    )


def _share(share: Share) -> str:
    """`93% (75–100%)`."""
    if share.value is None:
        return formats.NOTHING
    span = f" ({100 * share.ci95[0]:.0f}–{100 * share.ci95[1]:.0f}%)" if share.ci95 else ""
    return f"{share.value:.0%}{span}"


def pairs_table(pairs: Sequence[TwoBesidePeople]) -> Table[Whose[TwoBesidePeople]]:
    """Returns, for every two judges, how much better the first agrees with people on edits that both have scored."""
    return Table(
        every=(
            NAME,
            Column(Text("n"), lambda row: str(row.findings.n)),
            Column(Text("Edits"), lambda row: format_signed(row.findings.within_models.difference)),
            Column(INTERVAL, lambda row: format_signed_span(row.findings.within_models.ci95)),
            Column(Text("Models"), lambda row: format_signed(row.findings.between_models.difference)),
        ),
        rows=[Whose(f"{pair.a} - {pair.b}", pair) for pair in pairs],
    )


def describe_unscored(judges: Sequence[Whose[BesidePeople]]) -> Iterator[Text]:
    """Yields what people say of edits left unscored by a judge: a line for each judge that left any."""
    for judge in judges:
        left = judge.findings.unscored
        if left.n:
            yield Text(
                "{} left {} of {} unscored: people gave these {} on average, the others {} (difference {})",
                judge.name,
                left.n,
                judge.findings.total,
                *map(formats.score, (left.people_mean, left.people_mean_scored)),
                f"{format_signed(left.difference)} {format_signed_span(left.ci95)}",
            )


def calibration_lines(judges: Sequence[Whose[BesidePeople]]) -> Iterator[Text]:
    """Yields how well each judge's score predicts people's: a line per judge."""
    for judge in judges:
        if calibration := judge.findings.calibration:
            yield Text(
                "{}, calibrated, predicts people's mean score to ±{} (root mean square, on source "
                "images it was not fitted to): {} of its variance. The map is in --json.",
                judge.name,
                formats.score(calibration.rmse),
                f"{max(0.0, calibration.explained):.0%}",
            )
