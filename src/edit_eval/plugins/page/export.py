"""Writes a portable report: a page with embedded pictures, or a folder or zip with the pictures beside the page."""

from __future__ import annotations

import hashlib
import os
import shutil
import zipfile
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import msgspec

from edit_eval.benchmarks.known_sources import read_known_source, with_known_sources
from edit_eval.benchmarks.source_cache import kind_of
from edit_eval.config.faults import did_you_mean
from edit_eval.errors import ConfigurationError, PictureError
from edit_eval.files.delimited import read_named_rows
from edit_eval.files.new import refuse_existing, write_atomically
from edit_eval.files.user_cache import cache_folder
from edit_eval.files.user_files import open_text
from edit_eval.pictures import HEIC, decode_picture
from edit_eval.plugins.page.page import portable_page
from edit_eval.plugins.page.shown_pictures import PageFiles, make_thumbnails, thumbnail
from edit_eval.privacy import hide_folders, map_texts
from edit_eval.records import Judgement, Results, Status
from edit_eval.reporting.analyses import summary_of
from edit_eval.reporting.report import write_tables
from edit_eval.run import Run
from edit_eval.small_copies import COPY_SUFFIX, CopyLimits
from edit_eval.statistics.summary import Summary
from edit_eval.store.run_directory import COPY, RunDirectory
from edit_eval.store.run_file import FORMAT, SOURCES, RunFileList, copy_name, portable_records
from edit_eval.text import Text

# -- writes a run in one file: what `edit_eval.store.run_file` opens --

SIDE_IN_RUN_FILE = 512
"""Default for the longest side of a picture, in pixels."""


@dataclass
class WrittenRun:
    """What was written."""

    bytes: int = 0
    pictures: int = 0
    sources: int = 0
    notes: list[str] = field(default_factory=list)


def write_run_file(
    run: Run, target: Path, *, side: int = SIDE_IN_RUN_FILE, sources: bool = False, force: bool = False
) -> WrittenRun:
    """Writes the run's records and small copies of its edits to `target`, whole or not at all.

    What was asked stays as it was, since keys are made of it; besides, no folder of this machine is named. With
    `sources` their own bytes are in it, as far as this user's runs have used them. The same run gives the same bytes.
    """
    refuse_existing(target, force=force)
    directory, done = RunDirectory.open_existing(run.path), WrittenRun()
    with write_atomically(target) as temporary:
        with zipfile.ZipFile(temporary, "x") as packed:
            members: dict[str, str] = {}
            for name, data in _members(run, directory, side, sources, done):
                members[name] = hashlib.sha256(data).hexdigest()
                _add(packed, name, data)
            listed = RunFileList(FORMAT, side, members)
            _add(packed, COPY, msgspec.json.encode(listed))
        done.bytes = temporary.stat().st_size
    if directory.damage.note:
        done.notes.append(directory.damage.note)
    return done


def _add(packed: zipfile.ZipFile, name: str, data: bytes) -> None:
    member = zipfile.ZipInfo(name)  # of the same date always
    member.external_attr = 0o100644 << 16
    member.compress_type = zipfile.ZIP_STORED if name.startswith(("images/", SOURCES)) else zipfile.ZIP_DEFLATED
    packed.writestr(member, data, compresslevel=9)


def _members(
    run: Run, directory: RunDirectory, side: int, sources: bool, done: WrittenRun
) -> Iterator[tuple[str, bytes]]:
    sizes: dict[str, int] = {}
    for name, data in _pictures(run, directory, side):
        sizes[name], done.pictures = len(data), done.pictures + bool(data)
        yield name, data
    kinds: dict[str, str] = {}
    for name, data in _sources(run, kinds) if sources else ():
        done.sources += 1
        yield name, data
    own = _own_folders(directory)
    for name, data in portable_records(directory, run.experiment, sizes, kinds):
        if any(folder in data for folder in own):
            done.notes.append(Text("{} still names a folder of this machine, in what was asked or said", name))
        yield name, data


def _pictures(run: Run, directory: RunDirectory, side: int) -> Iterator[tuple[str, bytes]]:
    """Yields a small copy of each edit's picture; nothing in place of one that cannot be read."""
    made = {edit.image for edit in run.table.edits_of_work if edit.status is Status.OK}
    images, limits = sorted(made), CopyLimits(side, 4 * side * side)
    threads = min(8, os.cpu_count() or 1)
    with ThreadPoolExecutor(threads) as pool:
        paths = [directory.path / image for image in images]
        for image, data in zip(images, make_thumbnails(pool, paths, limits, {}, 2 * threads), strict=True):
            yield copy_name(image), data or b""


def _sources(run: Run, kinds: dict[str, str]) -> Iterator[tuple[str, bytes]]:
    """Yields the bytes of each picture of the samples that is known here; sets the suffix that its content has."""
    for sample in run.experiment.samples:
        for picture in sample.pictures.values():
            data = None if picture.digest in kinds else read_known_source(picture)
            if data is not None:
                try:
                    _, kind, _ = decode_picture(data, picture.path)
                except PictureError:
                    continue
                if kind != HEIC:  # the cache keeps it as another file
                    kinds[picture.digest] = kind_of(kind)
                    yield f"{SOURCES}/{picture.digest}.{kinds[picture.digest]}", data


def _own_folders(directory: RunDirectory) -> list[bytes]:
    """Returns folders of this machine, and of the one that made the run, as their texts are in a file."""
    recorded = [environment.get("folder") for environment in directory.environments().values()]
    here = [os.getcwd(), directory.path.resolve().parent, cache_folder()]
    return [f"{folder}/".encode() for folder in map(str, filter(None, [*here, *recorded])) if folder != "/"]


SIDE = 1024
"""Default for the longest side of a picture, in pixels."""


_OTHERS = (".pdf", ".md", ".txt", ".json", ".csv", ".png", ".docx", ".tar", ".gz", ".tgz")


SIDE_IN_RUN_FILEEST, LARGEST = 64, 4096


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
    if not SIDE_IN_RUN_FILEEST <= side <= LARGEST:
        raise ConfigurationError(Text("--size {}: must be from {} to {} pixels", side, SIDE_IN_RUN_FILEEST, LARGEST))


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
