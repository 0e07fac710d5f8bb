"""Writes a run's report: numbers, scores, replies, Markdown and the page, each file whole or not at all.

The page is a display's: without one there are the others.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TextIO

from edit_eval.benchmarks.known_sources import with_known_sources
from edit_eval.errors import ExitCode
from edit_eval.records import Results
from edit_eval.reporting import formats
from edit_eval.reporting.comparison_tables import comparison_by_judge
from edit_eval.reporting.displays import page_display
from edit_eval.reporting.documents import encode_document
from edit_eval.reporting.language import translate
from edit_eval.reporting.languages import SPOKEN
from edit_eval.reporting.names import name_of, scale_words, score_name
from edit_eval.reporting.remarks import examination_lines, wrong_lines
from edit_eval.reporting.report_content import content_of, template_environment, translate_template
from edit_eval.reporting.results_sheet import coverage_words
from edit_eval.reporting.scores import write_replies, write_scores
from edit_eval.reporting.table import inline, markdown_sheet, markdown_table
from edit_eval.reporting.verdict import digits, verdict_sheet
from edit_eval.reporting.verdict_drawing import draw_verdict
from edit_eval.statistics.summary import Summary


def write_report(results: Results, summary: Summary, folder: Path, *, language: str = "en") -> None:
    """Writes the files of a report into `folder`, created if needed. The same input gives the same bytes.

    `summary` is the result of `analyses.summary_of`. `language`, one of `SPOKEN`, is that of the Markdown,
    and the one in which the page opens; the page holds all. Raises `OSError` if a file cannot be written, and
    `ValueError` for another language.
    """
    if language not in SPOKEN:
        raise ValueError(f"the report is written in {' or '.join(SPOKEN)}, not in {language!r}")
    folder.mkdir(parents=True, exist_ok=True)
    write_tables(results, summary, folder, language=language)
    if display := page_display():
        with whole(folder / "index.html") as file:
            file.writelines(display.parts(results, summary, folder, language=language))


def write_tables(results: Results, summary: Summary, folder: Path, *, language: str) -> None:
    """Writes all files but the page."""
    contents: dict[str, Callable[[TextIO], object]] = {
        "summary.json": lambda file: file.write(f"{encode_document(summary)}\n"),
        "scores.csv": lambda file: write_scores(results, file),
        "replies.jsonl": lambda file: write_replies(results, file),
        "report.md": lambda file: file.write(markdown(results, summary, language)),
    }
    if drawn := verdict_drawing(summary, language):
        contents["verdict.svg"] = lambda file: file.write(f"{drawn}\n")
    for name, write in contents.items():
        with whole(folder / name) as file:
            write(file)


@contextmanager
def whole(path: Path) -> Iterator[TextIO]:
    """Opens a file that appears under its name only once all of it is on disk."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        # A judge's answer may hold a lone surrogate, which UTF-8 cannot encode; it is written as \udXXX.
        with temporary.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


# -- as a program, which `render_subprocess` starts --


def draw(results: Results, summary: Summary, run: Path, *, language: str) -> int:
    """Does the work of that program and returns its exit code. Opens only sources known to this user's cache."""
    results = replace(results, samples=with_known_sources(results.samples))
    try:
        write_report(results, summary, run / "report", language=language)
    except OSError as error:
        print(error.strerror or error, file=sys.stderr)
        forbidden = error.errno in (errno.EROFS, errno.EACCES, errno.EPERM)
        return ExitCode.UNUSABLE if forbidden else ExitCode.STOPPED  # else the disk is full, or fails
    return ExitCode.DONE


# -- Markdown --


def verdict_drawing(summary: Summary, language: str) -> str:
    """Returns the verdict's drawing as a file of SVG, by the first judge that has a say; empty with nothing to draw."""
    opinions = summary.verdict.drawable_opinions
    return str(draw_verdict(opinions[0], digits(opinions[0]), language, standalone=True)) if opinions else ""


def markdown(results: Results, summary: Summary, language: str) -> str:
    """Returns the whole document. Names and reasons from the records are escaped, so they cannot act as markup."""
    environment = template_environment(autoescape=False, language=language)

    environment.filters.update(
        inline=lambda words: inline(translate(words, language)),
        duration=lambda seconds: formats.duration(seconds, language),
    )
    environment.globals.update(
        say=partial(translate_template, language),
        table=lambda table: markdown_table(table, language),
        sheet=lambda sheet: markdown_sheet(sheet, language),
        name_of=name_of,
        scale_words=lambda part: scale_words(part.scale),
    )
    environment.filters["score_name"] = lambda part: translate_template(language, score_name(part.score))
    return environment.get_template("report.md.j2").render(
        **content_of(results, summary).variables,
        coverage=coverage_words(summary),
        verdict=markdown_sheet(verdict_sheet(summary.verdict, full=True, drawn=False), language),
        drawn=bool(verdict_drawing(summary, language)),
        compared=comparison_by_judge(summary),
        wrong=wrong_lines(summary),
        examined=examination_lines(summary.judges),
    )
