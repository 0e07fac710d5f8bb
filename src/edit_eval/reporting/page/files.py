"""Writes a run's report: numbers, scores, replies, Markdown and the page, each file whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from edit_eval.benchmarks.known_sources import with_known_sources
from edit_eval.errors import ExitCode, NotDrawn
from edit_eval.records import LANGUAGES, Results
from edit_eval.reporting import formats
from edit_eval.reporting.language import said
from edit_eval.reporting.names import name_of, scale_words, score_name
from edit_eval.reporting.page.page import page
from edit_eval.reporting.page.rendering import say_in, template_environment, told_of
from edit_eval.reporting.people_differences import explanation, people_in, sentences
from edit_eval.reporting.remarks import passport_lines, wrong_lines
from edit_eval.reporting.results_sheet import coverage_words
from edit_eval.reporting.scores import write_replies, write_scores
from edit_eval.reporting.verdict import verdict_lines, verdicts
from edit_eval.reporting.writers.markdown import inline, markdown_sheet, markdown_table
from edit_eval.text import Text


def write_report(results: Results, summary: Mapping[str, Any], folder: Path, *, language: str = "en") -> None:
    """Writes the five files of a report into `folder`, which is made if need be. The same input, the same bytes.

    `summary` is what `statistics.summary.summarise` returned. `language` (`en` or `zh`) is that of the Markdown,
    and the one in which the page opens; the page holds both. Raises `OSError` where a file cannot be written,
    and `ValueError` for another language or a number in the summary that JSON does not know.
    """
    if language not in LANGUAGES:
        raise ValueError(f"the report is written in {' or '.join(LANGUAGES)}, not in {language!r}")
    folder.mkdir(parents=True, exist_ok=True)
    write_tables(results, summary, folder, language=language)
    with whole(folder / "index.html") as file:
        file.writelines(page(results, summary, folder, language=language))


def write_tables(results: Results, summary: Mapping[str, Any], folder: Path, *, language: str) -> None:
    """Writes all but the page."""
    contents: dict[str, Callable[[TextIO], object]] = {
        "summary.json": lambda file: _write_summary(summary, file),
        "scores.csv": lambda file: write_scores(results, file),
        "replies.jsonl": lambda file: write_replies(results, file),
        "report.md": lambda file: file.write(markdown(results, summary, language)),
    }
    for name, write in contents.items():
        with whole(folder / name) as file:
            write(file)


def _write_summary(summary: Mapping[str, Any], file: TextIO) -> None:
    json.dump(summary, file, ensure_ascii=False, indent=2, allow_nan=False)
    file.write("\n")


@contextmanager
def whole(path: Path) -> Iterator[TextIO]:
    """A file that appears under its name only when all of it is on the disk."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        # A judge's answer may hold half a surrogate pair, which UTF-8 does not know; it is written as \udXXX.
        with temporary.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


# -- in a process of its own --


def draw_apart(run: Path) -> None:
    """Has `edit_eval.run`, as a program, draw the report of the run in `run`.

    Raises `NotDrawn` when it cannot be written; the run's records are as they were.
    """
    done = subprocess.run(
        [sys.executable, "-P", "-m", "edit_eval.run", str(run)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    if not done.returncode:
        return
    last = (done.stderr.strip().splitlines() or ["no message"])[-1]
    disk = done.returncode in (ExitCode.UNUSABLE, ExitCode.STOPPED)
    problem = Text("the report could not be drawn ({})", last)
    if disk:
        problem = Text("the report could not be written to {} ({})", run / "report", last)
    kept = Text("{}; all records are kept; once that is fixed, `edit-eval report {}` writes it", problem, run)
    raise NotDrawn(kept, run, done.returncode if disk else ExitCode.BUG)


def draw(results: Results, summary: Mapping[str, Any], run: Path, *, language: str) -> int:
    """What that program does; returns its exit code. Sources are opened only where this user's cache knows them."""
    results = replace(results, samples=with_known_sources(results.samples))
    try:
        write_report(results, summary, run / "report", language=language)
    except OSError as error:
        print(error.strerror or error, file=sys.stderr)
        forbidden = error.errno in (errno.EROFS, errno.EACCES, errno.EPERM)
        return ExitCode.UNUSABLE if forbidden else ExitCode.STOPPED  # else the disk is full, or fails
    return ExitCode.DONE


# -- Markdown --


def markdown(results: Results, summary: Mapping[str, Any], language: str) -> str:
    """The whole document. Names and reasons from the records are escaped: they can be no markup."""
    environment = template_environment(autoescape=False, language=language)

    environment.filters.update(
        inline=lambda words: inline(said(words, language)), duration=lambda seconds: formats.duration(seconds, language)
    )
    environment.globals.update(
        say=partial(say_in, language),
        table=lambda table: markdown_table(table, language),
        sheet=lambda sheet: markdown_sheet(sheet, language),
        name_of=name_of,
        scale_words=lambda part: scale_words(part.scale),
    )
    environment.filters["score_name"] = lambda part: say_in(language, score_name(part.score))
    people = people_in(summary)
    return environment.get_template("report.md.j2").render(
        **told_of(results, summary),
        coverage=coverage_words(summary),
        verdict=verdict_lines(summary),
        verdicts=verdicts(summary),
        wrong=wrong_lines(summary),
        examined=passport_lines(summary),
        people=people,
        people_lines=sentences(people) if people else (),
        people_explanation=explanation(people) if people else (),
    )
