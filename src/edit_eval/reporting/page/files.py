"""Writes a run's report: numbers, scores, replies, Markdown and the page, each file whole or not at all.

Also writes a portable report: a page with embedded pictures, or a folder or zip with the pictures beside the page.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import zipfile
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TextIO

from edit_eval.benchmarks.known_sources import with_known_sources
from edit_eval.config.faults import did_you_mean
from edit_eval.errors import ConfigurationError, ExitCode
from edit_eval.files.delimited import named_rows
from edit_eval.files.given import open_text
from edit_eval.files.new import refuse_existing, written_whole
from edit_eval.pictures import CopyLimits
from edit_eval.privacy import hide_folders, in_each_text
from edit_eval.records import Judgement, Results, Status
from edit_eval.reporting import formats
from edit_eval.reporting.analyses import summary_of
from edit_eval.reporting.comparison_tables import compared
from edit_eval.reporting.documents import encoded
from edit_eval.reporting.language import said
from edit_eval.reporting.languages import SPOKEN
from edit_eval.reporting.names import name_of, scale_words, score_name
from edit_eval.reporting.page.page import page, portable_page
from edit_eval.reporting.page.rendering import content_of, say_in, template_environment
from edit_eval.reporting.page.shown_pictures import PageFiles, thumbnail
from edit_eval.reporting.remarks import examined_lines, wrong_lines
from edit_eval.reporting.results_sheet import coverage_words
from edit_eval.reporting.scores import write_replies, write_scores
from edit_eval.reporting.table import inline, markdown_sheet, markdown_table
from edit_eval.reporting.verdict import digits, verdict_sheet
from edit_eval.reporting.verdict_drawing import drawing
from edit_eval.statistics.summary import Summary
from edit_eval.text import Text


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
    with whole(folder / "index.html") as file:
        file.writelines(page(results, summary, folder, language=language))


def write_tables(results: Results, summary: Summary, folder: Path, *, language: str) -> None:
    """Writes all files but the page."""
    contents: dict[str, Callable[[TextIO], object]] = {
        "summary.json": lambda file: file.write(f"{encoded(summary)}\n"),
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


# -- as a program, which `drawing_apart` starts --


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
    opinions = summary.verdict.drawn
    return str(drawing(opinions[0], digits(opinions[0]), language, standalone=True)) if opinions else ""


def markdown(results: Results, summary: Summary, language: str) -> str:
    """Returns the whole document. Names and reasons from the records are escaped, so they cannot act as markup."""
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
    return environment.get_template("report.md.j2").render(
        **content_of(results, summary).variables,
        coverage=coverage_words(summary),
        verdict=markdown_sheet(verdict_sheet(summary.verdict, full=True, drawn=False), language),
        drawn=bool(verdict_drawing(summary, language)),
        compared=compared(summary),
        wrong=wrong_lines(summary),
        examined=examined_lines(summary.judges),
    )


SIDE = 1024
"""Default for the longest side of a picture, in pixels."""
_OTHERS = (".pdf", ".md", ".txt", ".json", ".csv", ".png", ".docx", ".tar", ".gz", ".tgz")
SMALLEST, LARGEST = 64, 4096
PICTURES = "pictures"


@dataclass
class _Within(PageFiles):
    """Pictures embedded in the page only."""

    def _link(self, path: Path) -> str:
        return ""


@dataclass
class _Beside(PageFiles):
    """Pictures in files beside the page."""

    def _link(self, path: Path) -> str:
        return f"./{PICTURES}/{_name(len(self.paths) if path not in self._places else self._places[path])}"


def _name(place: int) -> str:
    return f"{place:05d}.webp"


def export(
    results: Results,
    summary: Summary | None,
    target: Path,
    *,
    language: str,
    side: int = SIDE,
    samples: Sequence[str] | None = None,
    force: bool = False,
) -> Path:
    """Writes the report to `target`, a `.html`, a `.zip` or a new folder, whole or not at all; returns it.

    Sources and edits are scaled to at most `side` pixels, and no link points outside, nor is a folder of this machine
    named. Only sources known to the user's
    cache are included. `samples` limits the report to samples with these ids; its numbers are then computed from them
    alone. An existing file is replaced only with `force`; a non-empty folder or a link, never. Raises
    `ConfigurationError` if the report cannot be written, or for an id that does not exist.
    """
    results = results if samples is None else selected(results, samples)
    told = _without_folders(results)
    if summary is None or samples is not None or (told.edits, told.answers) != (results.edits, results.answers):
        summary = summary_of(told)
    results = told
    in_limits(side)
    results = replace(results, samples=with_known_sources(results.samples))
    suffix = target.suffix.lower()
    if suffix in _OTHERS:
        raise ConfigurationError(
            Text(
                "{}: {} is not supported; give a .html file (a browser can print it as PDF), a .zip file or a folder",
                target,
                suffix,
            )
        )
    refuse_existing(target, force=force or target.is_dir())
    if target.is_dir() and (suffix in (".html", ".htm", ".zip") or any(target.iterdir())):
        raise ConfigurationError(
            Text("{} already exists; name a new folder, or a file that ends in .html or .zip", target)
        )
    with written_whole(target) as temporary:
        if suffix in (".html", ".htm"):
            _write_page(results, summary, temporary, _Within, CopyLimits(side, 4 * side * side), language)
        elif suffix == ".zip":
            folder = temporary.with_name(f"{temporary.name}.folder")
            try:
                _write_folder(results, summary, folder, language, side)
                _pack(folder, temporary, target.stem)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        else:
            _write_folder(results, summary, temporary, language, side)
    return target


def _without_folders(results: Results) -> Results:
    """Returns the records with no absolute path in what they say; where pictures are is not said."""

    def of(judgements: Sequence[Judgement]) -> tuple[Judgement, ...]:
        return tuple(
            replace(
                one,
                reason=hide_folders(one.reason),
                missing={name: (status, hide_folders(why)) for name, (status, why) in one.missing.items()},
                readings=tuple(
                    {question: replace(read, reason=hide_folders(read.reason)) for question, read in reading.items()}
                    for reading in one.readings
                ),
            )
            if one.status is not Status.OK or one.missing
            else one
            for one in judgements
        )

    plain = {
        name: in_each_text(hide_folders, getattr(results, name))
        for name in ("configuration", "resolved", "environment")
    }
    return replace(
        results,
        **plain,
        edits=tuple(replace(edit, reason=hide_folders(edit.reason)) if edit.reason else edit for edit in results.edits),
        judgements=of(results.judgements),
        controls=of(results.controls),
        battles=of(results.battles),
        critiques=of(results.critiques),
        notes=tuple(map(hide_folders, results.notes)),
    )


def in_limits(side: int) -> None:
    """Raises `ConfigurationError` if `side` is out of the limits for pictures."""
    if not SMALLEST <= side <= LARGEST:
        raise ConfigurationError(Text("--size {}: must be from {} to {} pixels", side, SMALLEST, LARGEST))


def _write_page(
    results: Results, summary: Summary, file: Path, kind: type[PageFiles], size: CopyLimits | None, language: str
) -> PageFiles:
    run = Path(os.path.abspath(results.directory))
    pictures = kind(run / "report", run)
    with file.open("w", encoding="utf-8", errors="backslashreplace", newline="") as out:
        out.writelines(portable_page(results, summary, pictures, size, language=language))
    return pictures


def _write_folder(results: Results, summary: Summary, folder: Path, language: str, side: int) -> None:
    (folder / PICTURES).mkdir(parents=True)
    pictures = _write_page(results, summary, folder / "index.html", _Beside, None, language)
    write_tables(results, summary, folder, language=language)
    make = partial(_write_picture, folder / PICTURES, CopyLimits(side, 4 * side * side))
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        for _ in pool.map(make, range(len(pictures.paths)), pictures.paths):
            pass


def _write_picture(folder: Path, size: CopyLimits, place: int, path: Path) -> None:
    made = thumbnail(path, size)
    if made is not None:  # the page itself says that a picture is missing
        (folder / _name(place)).write_bytes(made)


def _pack(folder: Path, file: Path, name: str) -> None:
    with zipfile.ZipFile(file, "x", zipfile.ZIP_DEFLATED, compresslevel=6) as packed:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                stored = zipfile.ZIP_STORED if path.suffix == ".webp" else None
                packed.write(path, f"{name}/{path.relative_to(folder).as_posix()}", compress_type=stored)


# -- some samples alone --

COLUMN = "sample_id"


def selected(results: Results, ids: Collection[str]) -> Results:
    """Returns the run with these samples alone, without records of other samples or of the run as a whole.

    A note says that its numbers are those of a selection. Raises `ConfigurationError` for an id that is not in the
    run, or for no ids.
    """
    known = {sample.id for sample in results.samples}
    for sample_id in ids:
        if sample_id not in known:
            raise ConfigurationError(
                Text("`{}` is not a sample of {}{}", sample_id, results.directory, did_you_mean(sample_id, known))
            )
    if not ids:
        raise ConfigurationError(Text("no sample was named"))
    chosen = set(ids)
    note = Text(
        "{} of {} samples, chosen by hand: these numbers hold for them alone, and are not a result of the benchmark",
        len(chosen),
        len(known),
    )
    return replace(
        results.of_samples(chosen),
        name=f"{results.name} ({len(chosen)}/{len(known)})",
        published={},
        activities=(),
        wall_seconds=(),
        memory=(),
        utilisation=(),
        device_failures=(),
        notes=(note, *results.notes),
    )


def ids_in(file: Path) -> list[str]:
    """Reads the ids in a CSV's column `sample_id`, as saved by the gallery or in `scores.csv`, each once.

    Raises `ConfigurationError` for a file that cannot be read, or has no such column.
    """
    try:
        rows = list(named_rows(open_text(file), str(file), (COLUMN,)))
    except ConfigurationError as error:
        raise ConfigurationError(
            Text(
                "--samples {}; save the CSV from the report's gallery (Share), or write `{}` and then one id per line",
                error,
                COLUMN,
            )
        ) from error
    return list(dict.fromkeys(row[COLUMN] for _, row in rows if row[COLUMN]))
