"""Slices as a table, with what is needed to read it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from edit_eval.plugins.slices.attributes import QUANTITIES, SHARES, VALUES
from edit_eval.plugins.slices.search import Condition, Slice, Slices
from edit_eval.reporting import formats
from edit_eval.reporting.entries import link
from edit_eval.reporting.formats import format_signed, format_signed_span
from edit_eval.reporting.names import score_line
from edit_eval.reporting.table import Column, Line, Look, Sheet, Table
from edit_eval.text import Text, join_texts

GIVEN: Mapping[str, Callable[[str], Text]] = {
    "category": lambda value: Text("category {}", value),
    "difficulty": lambda value: Text("difficulty {}", value),
    "tag": lambda value: Text("tag {}", value),
}
"""How a value is named that the benchmark has given."""


class _Row(NamedTuple):
    of: Slices
    at: Slice


def title_of(document: Slices) -> Text:
    """Says who is looked at, by whom."""
    if document.against:
        return Text("{} against {}, judged by {}", document.edit_model, document.against, document.judge)
    return Text("{}, judged by {}", document.edit_model, document.judge)


def slice_name(slice_: Slice) -> Text:
    """Returns what the samples of a slice have in common."""
    return join_texts([condition_name(part) for part in slice_.conditions], " + ")


def condition_name(condition: Condition) -> Text:
    """Returns one condition in words."""
    known = VALUES.get((condition.attribute, condition.value))
    if known is not None:
        return known
    if condition.bound is not None:
        low, quantity = SHARES[condition.value] < 0.5, QUANTITIES.get(condition.attribute)
        of = condition.attribute if quantity is None else quantity.low if low else quantity.high
        bound = f"{condition.bound:.3g}" if abs(condition.bound) < 1000 else f"{condition.bound:.0f}"
        return Text("{}, up to {}", of, bound) if low else Text("{}, {} or more", of, bound)
    return GIVEN[condition.attribute](condition.value)


def group_key(document: Slices, slice_: Slice) -> str:
    """Returns the name of a slice in the page's address: short, and the same for the same slice."""
    said = "\n".join([document.judge, *(f"{part.attribute}:{part.value}" for part in slice_.conditions)])
    return f"slice-{zlib.crc32(said.encode('utf-8', 'surrogatepass')):08x}"


def slices_sheet(document: Slices) -> Sheet:
    """Returns the line that says what was found, the table, and how to read it."""
    rows = [_Row(document, slice_) for slice_ in (*document.worst, *reversed(document.best))]
    return [
        Line(score_line(document.score, document.scale), "quiet"),
        Line(_finding_sentence(document), "strong" if document.best_shown or document.worst_shown else ""),
        *([_table(document, rows)] if rows else []),
        *(Line(line, "quiet") for line in _lines(document)),
    ]


def _finding_sentence(document: Slices) -> Text:
    if not document.looked_at:
        return Text("No slice has {} samples and six source images, inside and outside.", document.least)
    if not document.best_shown and not document.worst_shown:
        return Text(
            "None of {} slices is shown to differ from the rest; those that differ most are below.", document.looked_at
        )
    return Text(
        "Of {} slices, shown to be worse than the rest: {}; better: {}.",
        document.looked_at,
        document.worst_shown,
        document.best_shown,
    )


def _look(row: _Row) -> Look:
    return {"better": "right", "worse": "wrong", None: ""}[row.at.shown]  # type: ignore[return-value]


def _table(document: Slices, rows: list[_Row]) -> Table[_Row]:
    digits = formats.decimals(document.scale, max(abs(row.at.mean) for row in rows))
    shows = format_signed if document.against else formats.score
    columns: list[Column[_Row]] = [
        Column(
            Text("Slice"), lambda row: slice_name(row.at), "name", to=lambda row: link(group=group_key(row.of, row.at))
        ),
        Column(Text("Samples"), lambda row: f"{row.at.samples}/{row.at.of}"),
        Column(Text("Images"), lambda row: str(row.at.images), roomy=True),
        Column(
            Text("Difference") if document.against else Text("Mean"), lambda row: shows(row.at.mean, digits), spare=True
        ),
        Column(Text("Elsewhere"), lambda row: shows(row.at.elsewhere, digits), spare=True),
        Column(Text("Better by"), lambda row: format_signed(row.at.difference, digits), look=_look),
        Column(Text("Interval"), lambda row: format_signed_span(row.at.ci95, digits)),
        Column(Text("p"), lambda row: formats.p_value(row.at.p_adjusted), spare=True),
        Column(Text("Shown"), _verdict_word, "word"),
        *map(_example, range(3)),
    ]
    return Table(columns, rows, label=title_of(document), style="ranks")


def _example(place: int) -> Column[_Row]:
    """Returns the column of one of the samples to look at."""

    def name(row: _Row) -> str:
        return row.at.examples[place] if place < len(row.at.examples) else ""

    def link_of(row: _Row) -> str:
        return link(group=group_key(row.of, row.at), sample=name(row)) if name(row) else ""

    return Column(Text("See") if not place else "", name, "name", to=link_of, roomy=True)


def _verdict_word(row: _Row) -> Text:
    return {"better": Text("better"), "worse": Text("worse"), None: Text("not shown")}[row.at.shown]


def _lines(document: Slices) -> Iterator[Text]:
    if document.looked_at:
        yield from _how_to_read(document)
    if document.samples < document.of:
        yield Text(
            "{} of {} samples have a score; the others are in no slice's mean, but in its count.",
            document.samples,
            document.of,
        )
    if document.unread:
        yield Text("{} samples have a picture that could not be opened.", document.unread)
    if not document.pictures:
        yield Text("`edit-eval slices RUN` looks at the pictures, too; `--combined` at every two attributes together.")


def _how_to_read(document: Slices) -> Iterator[Text]:
    correction = document.correction
    if document.against:
        yield Text(
            "Difference: {} less {} on the samples of the slice, above 0 is better. Elsewhere: on all other samples.",
            document.edit_model,
            document.against,
        )
    else:
        yield Text("Elsewhere: the mean of all other samples.")
    yield Text(
        "Shown, and the intervals of all slices together: by {}; samples of one source image are dealt out together. "
        "Slices overlap, so several may be one weakness.",
        correction.describe_tests(),
    )
