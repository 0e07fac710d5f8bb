"""What the page and the Markdown share: the number formats and the variables of their templates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from types import CodeType
from typing import Any

import jinja2
from jinja2.bccache import Bucket

from edit_eval.files.user_cache import cache_folder
from edit_eval.records import Results
from edit_eval.reporting import formats
from edit_eval.reporting.analyses import AnalysisSection, sections
from edit_eval.reporting.comparison_tables import columns_table, pairs_table
from edit_eval.reporting.device_times import Times, time_tables, times
from edit_eval.reporting.entries import (
    ControlRow,
    Entry,
    Refusals,
    ScoreChoice,
    category_names,
    choices,
    controls_of,
    entries,
    headlines,
    refusals,
)
from edit_eval.reporting.language import translate
from edit_eval.reporting.languages import SPOKEN
from edit_eval.reporting.names import NAMES
from edit_eval.reporting.remarks import controls_explained, footnotes, no_interval, unshown_lines
from edit_eval.reporting.repetition import COMMAND, Repetition, repetition
from edit_eval.reporting.result_tables import (
    SCORE,
    categories_table,
    category_means_table,
    failures_table,
    items_table,
    results_table,
)
from edit_eval.reporting.results_sheet import certificate_lines, whose
from edit_eval.reporting.slow_devices import SlowDevice, slow_devices
from edit_eval.reporting.strengths import battle_sheet
from edit_eval.reporting.table import Sheet, Table
from edit_eval.statistics.failures import FailureGroup, failures, missing_scores
from edit_eval.statistics.summary import PublishedNumber, Summary
from edit_eval.text import Text

FAILURES_SHOWN = 20
"""Reasons listed in the Markdown."""


class _Compiled(jinja2.FileSystemBytecodeCache):
    """Compiles a template once for this version of it: that takes a third of the time of a small page.

    Code is kept in this process and in the user's cache, as Python keeps its own; without a cache it is compiled again.
    """

    def __init__(self, name: str) -> None:
        self._known: dict[tuple[str, str], CodeType | None] = {}
        with suppress(OSError, RuntimeError):  # the latter for a user without a home
            folder = cache_folder() / "page" / f"templates-{jinja2.__version__}"
            folder.mkdir(parents=True, exist_ok=True)
            super().__init__(str(folder), f"{name}-%s")

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._known.get((bucket.key, bucket.checksum))
        if bucket.code is None and hasattr(self, "directory"):
            with suppress(Exception):  # of a damaged file
                super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._known[bucket.key, bucket.checksum] = bucket.code
        if hasattr(self, "directory"):
            with suppress(OSError):
                super().dump_bytecode(bucket)


@cache
def _bytecode_cache(autoescape: bool) -> _Compiled:
    return _Compiled("escaped" if autoescape else "plain")


def template_environment(
    *, autoescape: bool, language: str = "", package: str = "edit_eval.reporting"
) -> jinja2.Environment:
    """Returns the templates of a `package`, by default of this one, with number formats as filters.

    An undefined name is an error. With a `language`, a printed Text is in that language. The caller adds the filter
    `duration`, whose words depend on the language.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(package),
        autoescape=autoescape,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        bytecode_cache=_bytecode_cache(autoescape),
        finalize=(lambda value: translate(value, language)) if language else None,
    )
    environment.filters.update(score=formats.score, memory=formats.memory, bracketed=formats.format_interval)
    environment.globals.update(formats=formats, names=NAMES, spoken=SPOKEN)
    return environment


def text_of(words: str, *fields: Any, context: str = "") -> Text:
    """Returns the Text of a template's `say("{} of {} are scored", 3, 5)`, or the Text it was given."""
    return words if isinstance(words, Text) else Text(words, *fields, context=context)


def translate_template(language: str, words: str, *fields: Any, context: str = "") -> str:
    """Implements `say` for templates in one language."""
    return translate(text_of(words, *fields, context=context), language)


@dataclass(frozen=True)
class RunContent:
    """The template variables of a run, the same for every format and language."""

    results: Results
    summary: Summary
    rows: list[Entry]
    parts: list[Entry]
    """The headlines among them."""
    choices: list[ScoreChoice]
    items: list[Entry]
    """What the headlines are made of."""
    footnotes: list[Text]
    with_scores: bool
    """True if there are scores besides the headlines."""
    published: dict[Text, list[tuple[str, str, str, PublishedNumber]]]
    certificates: list[Text]
    refusals: list[Refusals]
    controls: list[ControlRow]
    battles: Sheet
    sections: list[AnalysisSection]
    unshown: list[Text]
    controls_are_off: bool
    times: Times
    slow: list[SlowDevice]
    tables: dict[str, Table[Any]]
    failures: list[FailureGroup]
    repetition: Repetition
    command: str = COMMAND
    failures_shown: int = FAILURES_SHOWN

    @property
    def variables(self) -> dict[str, object]:
        """These and the functions that templates call."""
        return {**vars(self), **_FUNCTIONS}


def content_of(results: Results, summary: Summary) -> RunContent:
    """Computes what templates show of a run."""
    rows = entries(summary.results)
    parts = headlines(rows)
    controls = [row for judge in results.judges for row in controls_of(summary, judge)]
    failed = sorted([*failures(results), *missing_scores(results)], key=lambda failure: -failure.count)
    return RunContent(
        results=results,
        summary=summary,
        rows=rows,
        parts=parts,
        choices=choices(rows),
        items=entries(summary.results, parts=True),
        footnotes=[*filter(None, [no_interval(part.overall.no_ci95 for part in parts)]), *footnotes(summary)],
        with_scores=len(rows) > len(parts),
        published=published(summary),
        certificates=certificate_lines(summary),
        refusals=refusals(summary),
        controls=controls,
        battles=battle_sheet(summary.battles, results.edit_models, titled=True),
        sections=sections(summary),
        unshown=unshown_lines(summary),
        controls_are_off=summary.controls.off,
        times=times(results, summary),
        slow=slow_devices(results),
        tables={
            "results": results_table(rows, controls, group=SCORE if len(rows) > len(parts) else None),
            "made_of": items_table(entries(summary.results, parts=True)),
            "failures": failures_table(failed[:FAILURES_SHOWN]),
            **time_tables(results, summary),
        },
        failures=failed,
        repetition=repetition(results),
    )


def _no_interval_by_category(parts: Sequence[Entry]) -> Text | None:
    return no_interval(block.no_ci95 for part in parts for block in part.categories.values())


def _has_interval_by_category(parts: Sequence[Entry]) -> bool:
    return any(block.ci95 for part in parts for block in part.categories.values())


def is_incomplete(parts: Sequence[Entry]) -> bool:
    """True if any of them lacks a score."""
    return any(not part.coverage.complete for part in parts)


def groups_of(parts: Sequence[Entry], with_scores: bool) -> list[list[Entry]]:
    """Groups a table's rows: with several scores a group for each score of each judge, else one group."""
    if not with_scores:
        return [list(parts)]
    return [list(some) for _, some in groupby(parts, key=lambda part: (part.judge, part.score))]


_FUNCTIONS: Mapping[str, Callable[..., object]] = {
    "category_names": category_names,
    "controls_explained": controls_explained,
    "is_incomplete": is_incomplete,
    "groups_of": groups_of,
    "categories_table": categories_table,
    "category_means_table": category_means_table,
    "no_interval_by_category": _no_interval_by_category,
    "has_interval_by_category": _has_interval_by_category,
    "columns_table": columns_table,
    "pairs_table": pairs_table,
}


def published(summary: Summary) -> dict[Text, list[tuple[str, str, str, PublishedNumber]]]:
    """Returns title -> (edit model, judge, name, number) of the numbers of a benchmark's authors: those
    that are certified and those by their formula apart."""
    numbers: dict[Text, list[tuple[str, str, str, PublishedNumber]]] = {}
    for result in summary.results:
        for name, number in result.published.items():
            numbers.setdefault(whose(result, name), []).append((result.edit_model, result.judge, name, number))
    return numbers
