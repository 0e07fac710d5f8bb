"""Writes a run in one file: what `edit_eval.store.run_file` opens."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from edit_eval.benchmarks.known_sources import read_known_source
from edit_eval.benchmarks.source_cache import kind_of
from edit_eval.errors import PictureError
from edit_eval.files.new import refuse_existing, write_atomically
from edit_eval.files.user_cache import cache_folder
from edit_eval.pictures import HEIC, decode_picture
from edit_eval.plugins.page.shown_pictures import make_thumbnails
from edit_eval.records import Status
from edit_eval.run import Run
from edit_eval.small_copies import CopyLimits
from edit_eval.store.run_directory import COPY, RunDirectory
from edit_eval.store.run_file import FORMAT, SOURCES, RunFileList, copy_name, portable_records
from edit_eval.text import Text

SIDE = 512
"""Default for the longest side of a picture, in pixels."""


@dataclass
class WrittenRun:
    """What was written."""

    bytes: int = 0
    pictures: int = 0
    sources: int = 0
    notes: list[str] = field(default_factory=list)


def write_run_file(
    run: Run, target: Path, *, side: int = SIDE, sources: bool = False, force: bool = False
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
