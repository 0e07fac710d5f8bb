"""Who wins, and is it sure: a comparison as the page shows it, with a sentence that can be quoted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from edit_eval.reporting import formats
from edit_eval.reporting.comparison import failure_remarks, note_words, verdict
from edit_eval.reporting.formats import p_value, signed, signed_span
from edit_eval.reporting.page.page import page_templates
from edit_eval.reporting.page.texts import LANGUAGES, text
from edit_eval.statistics.comparison import ColumnSummary, Comparison, Pair


def verdict_html(comparison: Comparison, language: str) -> Markup:
    """The verdict of each judge: a sentence, the columns by rank, every pair. All numbers are the comparison's."""
    template = page_templates(language).get_template("verdict.html.j2")
    told = [_of_judge(comparison, judge) for judge in comparison.judges]
    notes = [{one: note_words(note, one) for one in LANGUAGES} for note in comparison.notes]
    return Markup(template.render(judges=told, notes=notes, tests=len(comparison.pairs)))


def sentence(columns: Sequence[ColumnSummary], pairs: Sequence[Pair], language: str) -> str:
    """`A is better than B by 0.80 [+0.40, +1.20]; it cannot be told from C`: of the first in rank, by one judge."""
    ranked = sorted((column for column in columns if column.rank is not None), key=lambda column: column.rank or 0)
    if len(ranked) < 2:
        return ""
    best, digits = ranked[0].name, _digits(columns)
    ahead: list[str] = []
    alike: list[str] = []
    mixed: list[str] = []
    for other in (column.name for column in ranked[1:]):
        pair = next(one for one in pairs if {one.a, one.b} == {best, other})
        turn = 1 if pair.a == best else -1
        if pair.better == best and pair.scores_better == best and pair.difference is not None:
            ends = pair.ci95 and sorted(turn * end for end in pair.ci95)
            by = f"{signed(turn * pair.difference, digits).lstrip('+')} {signed_span(ends, digits) if ends else ''}"
            ahead.append(text("verdict.by", language, name=other, by=by.strip()))
        elif pair.better == best:
            ahead.append(text("verdict.by_failures", language, name=other))
        else:
            (mixed if pair.trade else alike).append(other)
    comma = text("list.separator", language)
    parts = [text("verdict.better", language, name=best, than=comma.join(ahead))] if ahead else []
    if alike:
        key = "verdict.it_is_alike" if ahead else "verdict.alike"
        parts.append(text(key, language, name=best, others=comma.join(alike)))
    if mixed:
        parts.append(text("verdict.mixed", language, name=best, others=comma.join(mixed)))
    return text("verdict.separator", language).join(parts) + text("verdict.end", language)


def _of_judge(comparison: Comparison, judge: str) -> dict[str, Any]:
    columns = [column for column in comparison.columns if column.judge == judge]
    pairs = [pair for pair in comparison.pairs if pair.judge == judge]
    names = {column.name: column.name for column in columns}
    digits = _digits(columns)

    def both(words: Any) -> dict[str, str]:
        return {one: words(one) for one in LANGUAGES}

    return {
        "judge": judge,
        "sentence": both(lambda one: sentence(columns, pairs, one)),
        "columns": sorted(columns, key=lambda column: (column.rank is None, column.rank)),
        "pairs": [_pair(pair, names, digits) for pair in pairs],
        "number": lambda value: formats.score(value, digits),
        "span": lambda ends: formats.span(ends, digits),
        "remarks": [both(lambda one, at=at: failure_remarks([pairs[at]], names, one)) for at in range(len(pairs))],
        "failed": any(column.failed.count for column in columns),
    }


def _pair(pair: Pair, names: Mapping[str, str], digits: int) -> dict[str, Any]:
    return {
        "a": pair.a,
        "b": pair.b,
        "n": pair.n,
        "difference": signed(pair.difference, digits),
        "span": signed_span(pair.ci95, digits),
        "p": p_value(pair.p_adjusted),
        "detectable": formats.score(pair.detectable, digits),
        "counts": f"{pair.wins} : {pair.ties} : {pair.losses}",
        "better": pair.better is not None,
        "verdict": {one: verdict(pair, names, one) for one in LANGUAGES},
    }


def _digits(columns: Sequence[ColumnSummary]) -> int:
    largest = max((abs(column.mean) for column in columns if column.mean is not None), default=0.0)
    return formats.decimals(columns[0].scale, largest)
