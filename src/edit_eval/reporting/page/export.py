"""A report that travels: one page with its pictures in it, or a folder or a zip with the pictures beside it."""

from __future__ import annotations

import csv
import os
import shutil
import zipfile
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from edit_eval.benchmarks.known_sources import with_known_sources
from edit_eval.config.faults import did_you_mean
from edit_eval.errors import ConfigurationError
from edit_eval.new_files import refuse_existing, written_whole
from edit_eval.records import Results
from edit_eval.reporting.best_of import best_of_csv, best_of_sheet
from edit_eval.reporting.page.best_of_chart import best_of_svg
from edit_eval.reporting.page.files import write_tables
from edit_eval.reporting.page.gallery import PageFiles, thumbnail
from edit_eval.reporting.page.page import portable_page
from edit_eval.reporting.writers.markdown import markdown_sheet
from edit_eval.small_copies import CopyLimits
from edit_eval.spreadsheets import as_meant
from edit_eval.statistics.summary import summarise
from edit_eval.text import Text

SIDE = 1024
_OTHERS = (".pdf", ".md", ".txt", ".json", ".csv", ".png", ".docx", ".tar", ".gz", ".tgz")
"""Pixels of the longest side of a picture, where nobody says otherwise."""
SMALLEST, LARGEST = 64, 4096
PICTURES = "pictures"


@dataclass
class _Within(PageFiles):
    """Pictures that are in the page and nowhere else."""

    def _link(self, path: Path) -> str:
        return ""


@dataclass
class _Beside(PageFiles):
    """Pictures that lie beside the page."""

    def _link(self, path: Path) -> str:
        return f"./{PICTURES}/{_name(len(self.paths) if path not in self._places else self._places[path])}"


def _name(place: int) -> str:
    return f"{place:05d}.webp"


def export(
    results: Results,
    summary: Mapping[str, Any],
    target: Path,
    *,
    language: str,
    side: int = SIDE,
    samples: Sequence[str] | None = None,
    force: bool = False,
) -> Path:
    """Writes the report to `target`, a `.html`, a `.zip` or a new folder, whole or not at all; returns it.

    Sources and edits are in it with at most `side` pixels, and no link points outside it. Sources are those that the
    user's cache knows. `samples` are the ids of those that it is about, where it is not about all: then its numbers
    are made anew of these. A file that is there is replaced with `force` alone, a folder that has something in it and
    a link never. Raises `ConfigurationError` where it cannot be written, and for an id that is not there.
    """
    if samples is not None:
        results = selected(results, samples)
        summary = summarise(results)
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


def write_best_of(document: Mapping[str, Any], file: Path, *, language: str, force: bool) -> None:
    """Writes the curve (`.svg`) or the table (`.csv`, `.md`).

    Raises `ConfigurationError` for another ending, for what is there already without `force`, and where it cannot be
    written.
    """
    made = {".svg": best_of_svg, ".csv": lambda found, _: best_of_csv(found), ".md": _markdown}.get(file.suffix.lower())
    if made is None:
        raise ConfigurationError(Text("--to {}: must end in .svg, .csv or .md", file))
    refuse_existing(file, force=force)
    with written_whole(file) as temporary:
        temporary.write_text(made(document, language), encoding="utf-8", errors="backslashreplace", newline="")


def _markdown(document: Mapping[str, Any], language: str) -> str:
    return f"{markdown_sheet(best_of_sheet([document]), language)}\n"


def in_limits(side: int) -> None:
    """Raises `ConfigurationError` where pictures cannot be that large."""
    if not SMALLEST <= side <= LARGEST:
        raise ConfigurationError(Text("--size {}: must be from {} to {} pixels", side, SMALLEST, LARGEST))


def _write_page(
    results: Results,
    summary: Mapping[str, Any],
    file: Path,
    kind: type[PageFiles],
    size: CopyLimits | None,
    language: str,
) -> PageFiles:
    run = Path(os.path.abspath(results.directory))
    pictures = kind(run / "report", run)
    with file.open("w", encoding="utf-8", errors="backslashreplace", newline="") as out:
        out.writelines(portable_page(results, summary, pictures, size, language=language))
    return pictures


def _write_folder(results: Results, summary: Mapping[str, Any], folder: Path, language: str, side: int) -> None:
    (folder / PICTURES).mkdir(parents=True)
    pictures = _write_page(results, summary, folder / "index.html", _Beside, None, language)
    write_tables(results, summary, folder, language=language)
    make = partial(_write_picture, folder / PICTURES, CopyLimits(side, 4 * side * side))
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        for _ in pool.map(make, range(len(pictures.paths)), pictures.paths):
            pass


def _write_picture(folder: Path, size: CopyLimits, place: int, path: Path) -> None:
    made = thumbnail(path, size)
    if made is not None:  # the page says of what is none that it is none
        (folder / _name(place)).write_bytes(made)


def _pack(folder: Path, file: Path, name: str) -> None:
    with zipfile.ZipFile(file, "x", zipfile.ZIP_DEFLATED, compresslevel=6) as packed:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                stored = zipfile.ZIP_STORED if path.suffix == ".webp" else None
                packed.write(path, f"{name}/{path.relative_to(folder).as_posix()}", compress_type=stored)


# -- some samples by themselves --

COLUMN = "sample_id"


def selected(results: Results, ids: Collection[str]) -> Results:
    """The run with these samples alone: all that is about others, and about the run as a whole, is left out.

    Says in its notes that its numbers are those of a choice. Raises `ConfigurationError` for an id that is not in the
    run, and for none at all.
    """
    known = {sample.id for sample in results.samples}
    for one in ids:
        if one not in known:
            raise ConfigurationError(
                Text("`{}` is not a sample of {}{}", one, results.directory, did_you_mean(one, known))
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
        results,
        name=f"{results.name} ({len(chosen)}/{len(known)})",
        samples=tuple(sample for sample in results.samples if sample.id in chosen),
        edits=tuple(edit for edit in results.edits if edit.sample_id in chosen),
        judgements=tuple(one for one in results.judgements if one.sample_id in chosen),
        controls=tuple(one for one in results.controls if one.sample_id in chosen),
        battles=tuple(one for one in results.battles if one.sample_id in chosen),
        published={},
        activities=(),
        wall_seconds=(),
        memory=(),
        utilisation=(),
        device_failures=(),
        notes=(note, *results.notes),
    )


def ids_in(file: Path) -> list[str]:
    """The ids in a CSV's column `sample_id`, as the gallery saves it and `scores.csv` has it; each once.

    Raises `ConfigurationError` for a file that cannot be read, or has no such column.
    """
    try:
        with file.open(encoding="utf-8-sig", newline="") as opened:
            rows = csv.DictReader(opened)
            if COLUMN not in (rows.fieldnames or ()):
                raise ConfigurationError(
                    Text(
                        "{} has no column `{}`; save the CSV from the report's gallery (Export), or "
                        "write `{}` and then one id per line",
                        file,
                        COLUMN,
                        COLUMN,
                    )
                )
            found = dict.fromkeys(row[COLUMN] for row in rows if row[COLUMN])
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = getattr(error, "strerror", None) or error
        raise ConfigurationError(Text("--samples {}: cannot be read ({})", file, why)) from error
    return [as_meant(one) for one in found]
