"""Tables on the page, with words that follow the language the reader chooses, and in a notebook."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any, TypeVar

import jinja2
from markupsafe import Markup

from edit_eval.reporting.marks import MARKS, mark_of
from edit_eval.reporting.report_content import template_environment
from edit_eval.reporting.table import Column, Line, Look, Sheet, Strip, Table, Words, map_languages, translate_words

_DRAWN = Markup('<svg class="mark series-{}" viewBox="-1.3 -1.3 2.6 2.6" aria-hidden="true"><path d="{}"/></svg>')


def mark_markup(place: int) -> Markup:
    """Returns the mark in its colour, for a page with `page.css`."""
    return _DRAWN.format(place % len(MARKS) + 1, mark_of(place))


Row = TypeVar("Row")
_STRIP = Markup(
    '<svg class="strip series-{}" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><title>{}</title>'
    '<rect class="ground" y="4.5" width="100" height="1"/>'
    '<rect x="{:.1f}" y="3" width="{:.1f}" height="4" opacity=".4"/>'
    '<rect x="{:.1f}" y="1" width="1.6" height="8"/>{}</svg><span class="unseen">{}</span>'
)
_ASKED = Markup('<rect class="asked" x="{:.1f}" width=".8" height="10"/>')
_LINK, _LEFT = Markup('<a href="{}">{}</a>'), Markup(' style="text-align: left"')
_FIGURE = Markup(' style="text-align: right; white-space: nowrap"')


def language_markup(words: Words, language: str) -> Markup:
    """Returns words that change with the page's language if they differ; data stays as it is, escaped."""
    said = map_languages(partial(translate_words, words))
    if len(set(said.values())) == 1:
        return Markup("{}").format(said[language])
    return Markup('<span data-words="{}">{}</span>').format(json.dumps(said), said[language])


def page_table(table: Table[Any], language: str) -> Markup:
    """Draws a table in its own scrolling area; groups span their rows, quiet rows have a body of their own above."""
    label = map_languages(partial(translate_words, table.label))
    columns = table.flat
    head = Markup("\n").join(_head(column, language) for column in columns)
    above = _heading_row(columns, language) if any(column.over for column in columns) else Markup("")
    bodies = Markup("").join(body for rows in table.groups() for body in _bodies(table, rows, language))
    return Markup(
        '<div class="scrolling" tabindex="0" role="region" aria-label="{}" data-words-label="{}">\n'
        "<table{}>\n<thead>{}<tr>\n{}\n</tr></thead>\n{}</table>\n</div>"
    ).format(label[language], json.dumps(label), _attributes(table.style), above, head, bodies)


def page_sheet(sheet: Sheet, language: str) -> Markup:
    """Draws a sheet's sentences, each a paragraph, and tables."""
    drawn = [
        page_table(part, language)
        if isinstance(part, Table)
        else Markup("<p{}>{}</p>").format(_attributes(part.look), language_markup(part.words, language))
        for part in sheet
        if part != Line()
    ]
    return Markup("\n").join(drawn)


def _head(column: Column[Any], language: str) -> Markup:
    classes = _attributes("number" if column.kind == "number" else "", "drawn" if column.strip else "")
    title = language_markup(column.title, language)
    if column.head_mark is not None:
        title = mark_markup(column.head_mark) + Markup('<span class="unseen">{}</span>').format(title)
    return Markup('<th scope="col"{}>{}</th>').format(classes, title)


def _heading_row(columns: Sequence[Column[Any]], language: str) -> Markup:
    spans = [list(some) for _, some in groupby(columns, key=lambda column: column.over)]
    cells = (
        Markup('<th scope="colgroup" colspan="{}">{}</th>').format(len(some), language_markup(some[0].over, language))
        if some[0].over
        else Markup('<td colspan="{}"></td>').format(len(some))
        for some in spans
    )
    return Markup("<tr>{}</tr>\n").format(Markup("").join(cells))


def _bodies(table: Table[Row], rows: list[Row], language: str) -> Iterator[Markup]:
    quiet = [row for row in rows if table.look(row) == "quiet"]
    others = [row for row in rows if table.look(row) != "quiet"]
    for some, style in ((quiet, "controls"), (others, "")):
        lines = Markup("\n").join(
            Markup("<tr{}>{}</tr>").format(_attributes(table.look(row) if some is others else ""), cells)
            for number, row in enumerate(some)
            for cells in [_group_cell(table, some, number, language) + _cells(table, row, language)]
        )
        if some:
            yield Markup("<tbody{}>\n{}\n</tbody>\n").format(_attributes(style), lines)


def _group_cell(table: Table[Row], rows: list[Row], number: int, language: str) -> Markup:
    """Draws the cell of the group: before the first of its rows, and empty before quiet ones."""
    if table.group is None or (number and table.look(rows[0]) != "quiet"):
        return Markup("")
    if table.look(rows[0]) == "quiet":
        return Markup("<td></td>")
    span, look = len(rows), table.group.look_of(rows[0])
    words = _words(table.group, rows[0], lambda text: language_markup(text, language), linked=True)
    return Markup('<th scope="rowgroup" rowspan="{}"{}>{}</th>\n').format(span, _attributes(look), words)


def _cells(table: Table[Row], row: Row, language: str) -> Markup:
    columns = table.columns
    first = next((column for column in columns if column.kind == "name"), None)
    cells = []
    for column in columns:
        words = _words(column, row, lambda text: language_markup(text, language), linked=True)
        kind = "number" if column.kind == "number" else "", "drawn" if column.strip else ""
        classes = _attributes(*kind, column.look_of(row))
        head = Markup('<th scope="row" class="inner">{}</th>').format(words)
        cells.append(head if column is first else Markup("<td{}>{}</td>").format(classes, words))
    return Markup("\n").join(cells)


def _words(column: Column[Row], row: Row, say: Callable[[Words], Markup], *, linked: bool) -> Markup:
    words, to, aside = say(column.cell(row)), column.to(row) if linked else "", column.aside(row)
    if linked and column.strip and (strip := column.strip(row)):
        words = _strip_markup(strip, words)
    shown = _LINK.format(to, words) if to else words
    if linked and column.mark:
        shown = mark_markup(column.mark(row)) + shown
    return shown + Markup(" <small>{}</small>").format(say(aside)) if aside else shown


def _strip_markup(strip: Strip, words: Markup) -> Markup:
    low, mean, high = (100 * share for share in (strip.low, strip.mean, strip.high))
    place, line = strip.place % len(MARKS) + 1, min(98.4, max(0.0, mean - 0.8))
    asked = "" if strip.asked is None else _ASKED.format(100 * strip.asked - 0.4)
    return _STRIP.format(place, words, low, high - low, line, asked, words)


def _attributes(*classes: str | Look) -> Markup:
    return Markup(' class="{}"').format(" ".join(filter(None, classes))) if any(classes) else Markup("")


def notebook_table(table: Table[Any], language: str, cut: Callable[[str], str]) -> Markup:
    """Draws a table without a style sheet, in the notebook's own colours; `cut` shortens text from data."""

    def say(words: Words) -> Markup:
        return Markup("{}").format(cut(translate_words(words, language)))

    columns = table.flat
    heads = (Markup("<th{}>{}</th>").format(_side(column), say(column.title)) for column in columns)
    rows = [
        Markup("<tr{}>{}</tr>\n").format(
            Markup(' style="opacity: 0.7"') if table.look(row) == "quiet" else "",
            Markup("").join(
                Markup("<td{}>{}</td>").format(
                    _FIGURE if column.kind == "number" else _LEFT, _words(column, row, say, linked=False)
                )
                for column in columns
            ),
        )
        for row in table.rows
    ]
    return Markup("<table>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody>\n</table>").format(
        Markup("").join(heads), Markup("").join(rows)
    )


def notebook_sheet(sheet: Sheet, language: str, cut: Callable[[str], str]) -> Markup:
    """Draws a sheet's sentences, each a paragraph, and such tables."""
    drawn = (
        notebook_table(part, language, cut)
        if isinstance(part, Table)
        else Markup("<p>{}</p>").format(_plain(part, language))
        for part in sheet
        if part != Line()
    )
    return Markup("<div>{}</div>").format(Markup("\n").join(drawn))


def _plain(line: Line, language: str) -> Markup:
    words = Markup("{}{}").format(translate_words(line.head, language), translate_words(line.words, language))
    tag = {"strong": "strong", "quiet": "small"}.get(line.look)
    return Markup(f"<{tag}>{{}}</{tag}>").format(words) if tag else words


def _side(column: Column[Any]) -> Markup:
    return Markup("") if column.kind == "number" else _LEFT


def page_environment(language: str = "") -> jinja2.Environment:
    """Returns this plug-in's templates, as `template_environment` does, with what they print escaped."""
    return template_environment(autoescape=True, language=language, package="edit_eval.plugins.page")
