"""A run in one file: its records with small copies of its pictures, which whoever reads runs opens as it is.

It is a zip of entries of a run directory (`run_directory`), with `edit-eval-copy.json`, which has the SHA-256 of each,
and perhaps `sources/DIGEST.png`, the sources' own bytes. `edit-eval export` writes it; a stranger may have written it.
Nothing is unpacked by the names and sizes that it claims before these are known to be a run's; what it holds then lies
in the user's cache, and is read there as any run is.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
import yaml

from edit_eval.config.identity import Identity
from edit_eval.errors import ConfigurationError, PictureError, RunDirectoryError
from edit_eval.experiment import Experiment
from edit_eval.files.durable import slug
from edit_eval.files.new import write_atomically
from edit_eval.files.user_cache import cache_folder
from edit_eval.files.user_files import MOST_BYTES, UnfitFile, open_regular, parse_json, read_json
from edit_eval.privacy import hide_folders, map_texts
from edit_eval.records import Picture, Status
from edit_eval.store.journal import Damage, Record, read_segment, seal, segments
from edit_eval.store.run_directory import (
    COPY,
    DERIVED,
    JOURNALS,
    MOST_READ,
    RunDirectory,
    is_copy,
    is_written_by_us,
    resolve_ledger,
)
from edit_eval.text import Text

SUFFIX = ".edit-eval"
_OPENED: dict[Path, Path] = {}
"""By the folder in which a run in one file was unpacked, that file."""
SOURCES = "sources"
FORMAT = 1
ROOMS = ("config", "environment", "samples", *JOURNALS, "votes", "images", "passports", "stored", DERIVED)
"""Entries of a run directory that are sent: what belongs to this machine, and what can be made again, is not."""
EXPANDS = 100
"""How many times its size a file may take unpacked, and 64 MiB: journals are packed to a tenth."""
_SOURCE = re.compile(rf"{SOURCES}/([0-9a-f]{{64}})\.[a-z0-9]{{1,8}}")


class RunFileList(msgspec.Struct):
    """`edit-eval-copy.json`."""

    format: int
    side: int
    """Longest side of its pictures, in pixels."""
    members: dict[str, str]
    """SHA-256 of each other member."""


def open_run_path(path: Path) -> Path:
    """Returns the folder of a run: the path itself, the only run in a service's ledger, or where a run in one file is
    unpacked. Raises `RunDirectoryError` for a file that is no whole run."""
    if not path.is_file():
        return resolve_ledger(path)
    folder = _unpack(path)
    _OPENED[folder] = path
    return folder


def find_run_file(run: Path) -> Path:
    """Returns what to call a run by: the file that it came in, if this process has opened one, else its folder."""
    return _OPENED.get(run, run)


def describe_copy(run: Path) -> str:
    """Returns a note on the pictures of a run that came in one file; empty for any other."""
    if not is_copy(run):
        return ""
    try:
        side = read_json(run / COPY, RunFileList).side
    except UnfitFile as error:
        return str(error)
    return Text("it came in one file: its pictures are small copies, of at most {} pixels a side", side)


def _unpack(path: Path) -> Path:
    try:
        with open_regular(path) as file:
            name = hashlib.file_digest(file, "sha256").hexdigest()[:32]
            folder = cache_folder() / "opened" / name / slug(path.stem)
            with zipfile.ZipFile(file) as packed:
                listed = _check_members(packed, path)
                if all((folder / member).is_file() for member in (COPY, *listed) if not _SOURCE.fullmatch(member)):
                    os.utime(folder / COPY)  # `gc` leaves what was used lately
                else:
                    with write_atomically(folder) as temporary:
                        _write_members(packed, listed, temporary, path)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError) as error:
        raise _refuse(path, Text("it is cut short or damaged ({})", error)) from error
    except (OSError, RuntimeError) as error:
        raise _refuse(path, Text("it cannot be read ({})", getattr(error, "strerror", "") or error)) from error
    except ConfigurationError as error:
        raise RunDirectoryError(error) from error
    return folder


def _check_members(packed: zipfile.ZipFile, path: Path) -> dict[str, str]:
    """Returns the digest of each member, when all names and sizes are known to be those of a run."""
    members = {member.filename: member for member in packed.infolist()}
    if COPY not in members:
        page = any(PurePosixPath(name).name == "index.html" for name in members)
        what = (
            Text("it is a page to look at: unpack it, and open its index.html") if page else Text("it is another zip")
        )
        raise _refuse(path, what)
    if len(members) < len(packed.infolist()):
        raise _refuse(path, Text("it has two members of one name"))
    size, room = sum(member.file_size for member in members.values()), os.stat(path).st_size
    if size > EXPANDS * room + MOST_BYTES:
        raise _refuse(path, Text("it would take {:,} bytes unpacked, and has {:,}", size, room))
    for name, member in members.items():
        if name != COPY and not _is_a_runs(name):
            raise _refuse(path, Text("its member {!r} is none of a run", name))
        kind = stat.S_IFMT(member.external_attr >> 16)
        if member.orig_filename != name or kind not in (0, stat.S_IFREG) or member.flag_bits & 1:
            raise _refuse(path, Text("its member {!r} is a link, has a password, or two names", name))
        if member.file_size > (MOST_BYTES if name == COPY else MOST_READ):
            raise _refuse(path, Text("its member {!r} is larger than any of a run", name))
    try:
        listed = parse_json(packed.read(COPY), RunFileList, path)
    except UnfitFile as error:
        raise _refuse(path, Text("its {} is none ({})", COPY, error.reason)) from error
    if listed.format != FORMAT:
        raise _refuse(path, Text("another edit-eval wrote it (format {}, here {})", listed.format, FORMAT))
    if unlike := sorted(listed.members.keys() ^ (members.keys() - {COPY})):
        raise _refuse(path, Text("its list and its members differ in {!r}", unlike[0]))
    return listed.members


def _is_a_runs(name: str) -> bool:
    parts = name.split("/")
    plain = name.isprintable() and "\\" not in name and not {"", ".", ".."} & {*parts}
    return plain and (_SOURCE.fullmatch(name) is not None or (parts[0] in ROOMS and is_written_by_us(name)))


def _write_members(packed: zipfile.ZipFile, listed: dict[str, str], folder: Path, path: Path) -> None:
    from edit_eval.benchmarks.source_cache import SourceCache  # with Pillow, for which who reads a folder does not wait

    for name, digest in listed.items():
        data = packed.read(name)
        if hashlib.sha256(data).hexdigest() != digest:
            raise _refuse(path, Text("its member {!r} is not what its list says", name))
        if source := _SOURCE.fullmatch(name):
            try:
                if SourceCache().lay(data, name).digest != source[1]:
                    raise _refuse(path, Text("its member {!r} is another picture", name))
            except PictureError as error:
                raise _refuse(path, error) from error
        else:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
    (folder / COPY).write_bytes(packed.read(COPY))


def _refuse(path: Path, why: object) -> RunDirectoryError:
    return RunDirectoryError(
        Text("{} is no run: {}; `edit-eval export RUN --to NAME.edit-eval` writes a run in one file", path, why)
    )


# -- writing --


def copy_name(image: str) -> str:
    """Returns the name of a picture's small copy."""
    from edit_eval.small_copies import COPY_SUFFIX

    return str(PurePosixPath(image).with_suffix(COPY_SUFFIX))


def portable_records(
    directory: RunDirectory, experiment: Experiment, copies: Mapping[str, int], sources: Mapping[str, str]
) -> Iterator[tuple[str, bytes]]:
    """Yields the records by their names, without folders of this machine, but in what was asked and said.

    `copies` are the sizes of the small copies, `sources` the suffixes of the sources that are sent, by their digests.
    Damaged lines are left out, and counted as ever.
    """
    last = directory.last_configuration()
    if last is not None:
        plain = map_texts(hide_folders, directory.configuration())
        yield f"config/{last.name}", yaml.safe_dump(plain, allow_unicode=True, sort_keys=False).encode()
        asked = _hide_in_experiment(experiment, directory.read_resolved_configuration())
        yield f"config/{last.stem}.json", _json(asked)
    for number, environment in directory.environments().items():
        yield f"environment/{number:04d}.json", _json(map_texts(hide_folders, environment))
    for file in segments(directory.path / "samples")[-1:]:
        yield _lines(file, directory.damage, lambda line: _hide_in_sample(line, sources))
    for journal in JOURNALS:
        for file in segments(directory.path / journal):
            yield _lines(file, directory.damage, lambda line: _hide_in_line(line, copies))
    for path in sorted(path for room in ROOMS for path in _files(directory.path / room)):
        name = path.relative_to(directory.path).as_posix()
        if name.partition("/")[0] in ("votes", "passports", "stored") or "/" not in name:
            yield name, path.read_bytes()


def _files(room: Path) -> Iterable[Path]:
    return [room] if room.is_file() else (path for path in room.rglob("*") if path.is_file())


def _json(plain: Any) -> bytes:
    return json.dumps(plain, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass")


def _hide_in_experiment(experiment: Experiment, resolved: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what was asked without folders. Where a model's parameters name one, its digest is written down, of which
    keys are made; texts and protocols stay."""
    hidden: dict[str, Any] = map_texts(hide_folders, dict(resolved))
    models: dict[str, dict[str, Identity]] = {
        "edit_models": {model.name: model for model in experiment.edit_models},
        "judges": {judge.name: judge.model for judge in experiment.judges},
    }
    for role, by_name in models.items():
        for was, shown in zip(resolved[role], hidden[role], strict=True):
            shown |= {key: was[key] for key in ("texts", "protocol") if key in was}
            if any(shown[key] != was[key] for key in ("type", "revision", "parameters")):
                shown["digest"] = by_name[shown["name"]].digest
    kept = {key: resolved[key] for key in ("more_controls", "told", "finished") if key in resolved}
    lacking = {  # an id may look like a path, and is none
        model: {sample_id: hide_folders(why) for sample_id, why in edits.items()}
        for model, edits in resolved.get("lacking", {}).items()
    }
    return {**hidden, **kept, **({"lacking": lacking} if lacking else {})}


def _lines(file: Path, damage: Damage, change: Callable[[Record], Record]) -> tuple[str, bytes]:
    lines = b"".join(seal(change(line)) for line in read_segment(file, damage, dict))
    return f"{file.parent.name}/{file.name}", lines


def _hide_in_sample(line: dict[str, Any], kinds: Mapping[str, str]) -> dict[str, Any]:
    pictures = {name: msgspec.convert(picture, Picture) for name, picture in line["pictures"].items()}
    shown = {name: {"path": _hide_path(one, kinds), "digest": one.digest} for name, one in pictures.items()}
    return {**line, "pictures": shown, "fault": hide_folders(line.get("fault", ""))}


def _hide_path(picture: Picture, kinds: Mapping[str, str]) -> str:
    path = PurePosixPath(picture.path)
    name = path.with_suffix(f".{kinds[picture.digest]}").name if picture.digest in kinds else path.name
    return f"…/{name}" if picture.path else ""


def _hide_in_line(line: dict[str, Any], sizes: Mapping[str, int]) -> dict[str, Any]:
    """Returns a line of a journal without folders, but in what a judge has said; an edit's has the size of its copy."""
    said = {"text": line["text"]} if line.get("status") == Status.OK.value and "text" in line else {}
    told = {"instruction": line["instruction"]} if "instruction" in line else {}
    line = {**map_texts(hide_folders, line), **said, **told}
    line.pop("reused_from", None)
    if (copy := copy_name(line["image"]) if line.get("image") else "") in sizes:
        line |= {"image": copy, "file_bytes": sizes[copy]}
    return line
