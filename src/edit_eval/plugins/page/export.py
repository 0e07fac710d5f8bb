"""Writes a portable report: a page with embedded pictures, or a folder or zip with the pictures beside the page."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from edit_eval.benchmarks.known_sources import with_known_sources
from edit_eval.config.faults import did_you_mean
from edit_eval.errors import ConfigurationError
from edit_eval.files.delimited import read_named_rows
from edit_eval.files.new import refuse_existing, write_atomically
from edit_eval.files.user_files import open_text
from edit_eval.plugins.page.page import portable_page
from edit_eval.plugins.page.shown_pictures import PageFiles, thumbnail
from edit_eval.privacy import hide_folders, map_texts
from edit_eval.records import Judgement, Results, Status
from edit_eval.reporting.analyses import summary_of
from edit_eval.reporting.report import write_tables
from edit_eval.small_copies import COPY_SUFFIX, CopyLimits
from edit_eval.statistics.summary import Summary
from edit_eval.text import Text

SIDE = 1024
"""Default for the longest side of a picture, in pixels."""


_OTHERS = (".pdf", ".md", ".txt", ".json", ".csv", ".png", ".docx", ".tar", ".gz", ".tgz")


SMALLEST, LARGEST = 64, 4096


PICTURES = "pictures"


@dataclass
class _EmbeddedPictures(PageFiles):
    """Pictures embedded in the page only."""

    def _link(self, path: Path) -> str:
        return ""


@dataclass
class _LinkedPictures(PageFiles):
    """Pictures in files beside the page."""

    def _link(self, path: Path) -> str:
        return f"./{PICTURES}/{_name(len(self.paths) if path not in self._places else self._places[path])}"


def _name(place: int) -> str:
    return f"{place:05d}{COPY_SUFFIX}"


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
    results = results if samples is None else select_samples(results, samples)
    told = _hide_run_folders(results)
    if summary is None or samples is not None or (told.edits, told.answers) != (results.edits, results.answers):
        summary = summary_of(told)
    results = told
    check_side(side)
    results = replace(results, samples=with_known_sources(results.samples))
    suffix = target.suffix.lower()
    if suffix in _OTHERS:
        raise ConfigurationError(
            Text(
                "{}: {} is not supported; give a .html file (a browser can print it as PDF), a .zip file or a folder; "
                "or .edit-eval, the run itself in one file",
                target,
                suffix,
            )
        )
    refuse_existing(target, force=force or target.is_dir())
    if target.is_dir() and (suffix in (".html", ".htm", ".zip") or any(target.iterdir())):
        raise ConfigurationError(
            Text("{} already exists; name a new folder, or a file that ends in .html or .zip", target)
        )
    with write_atomically(target) as temporary:
        if suffix in (".html", ".htm"):
            _write_page(results, summary, temporary, _EmbeddedPictures, CopyLimits(side, 4 * side * side), language)
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


def _hide_run_folders(results: Results) -> Results:
    """Returns the records with no absolute path in what they say; where pictures are is not said."""

    def hide_judgement_folders(judgements: Sequence[Judgement]) -> tuple[Judgement, ...]:
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

    was, plain = results.provenance, ("configuration", "resolved", "environment")
    provenance = replace(
        was,
        **{name: map_texts(hide_folders, getattr(was, name)) for name in plain},
        notes=tuple(map(hide_folders, was.notes)),
    )
    return replace(
        results,
        edits=tuple(replace(edit, reason=hide_folders(edit.reason)) if edit.reason else edit for edit in results.edits),
        judgements=hide_judgement_folders(results.judgements),
        controls=hide_judgement_folders(results.controls),
        battles=hide_judgement_folders(results.battles),
        critiques=hide_judgement_folders(results.critiques),
        provenance=provenance,
    )


def check_side(side: int) -> None:
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
    pictures = _write_page(results, summary, folder / "index.html", _LinkedPictures, None, language)
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
                stored = zipfile.ZIP_STORED if path.suffix == COPY_SUFFIX else None
                packed.write(path, f"{name}/{path.relative_to(folder).as_posix()}", compress_type=stored)


COLUMN = "sample_id"


def select_samples(results: Results, ids: Collection[str]) -> Results:
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
        results.select_samples(chosen),
        name=f"{results.name} ({len(chosen)}/{len(known)})",
        published={},
        telemetry=replace(
            results.select_samples(chosen).telemetry,
            activities=(),
            wall_seconds=(),
            memory=(),
            utilisation=(),
            device_failures=(),
        ),
        provenance=replace(results.select_samples(chosen).provenance, notes=(note, *results.provenance.notes)),
    )


def read_sample_ids(file: Path) -> list[str]:
    """Reads the ids in a CSV's column `sample_id`, as saved by the gallery or in `scores.csv`, each once.

    Raises `ConfigurationError` for a file that cannot be read, or has no such column.
    """
    try:
        rows = list(read_named_rows(open_text(file), str(file), (COLUMN,)))
    except ConfigurationError as error:
        raise ConfigurationError(
            Text(
                "--samples {}; save the CSV from the report's gallery (Share), or write `{}` and then one id per line",
                error,
                COLUMN,
            )
        ) from error
    return list(dict.fromkeys(row[COLUMN] for _, row in rows if row[COLUMN]))
