"""`edit-eval gc`: finds what the cache and runs hold, and deletes what can go. Nothing that a run still names goes.

Files can go if they can be made again or are no longer needed: pictures, scenes and environments that have not been
used for a while and that no run names, small copies in a report, logs. Edits, replies, votes and passports are never
cleared; a run goes only if it is named. Only files that edit-eval wrote are deleted: a run bears its mark, and in it
and in the cache only files with names of its own are considered (`store.run_directory`).
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from filelock import FileLock, Timeout

from edit_eval.benchmarks.known_sources import may_be_known
from edit_eval.benchmarks.source_cache import SHELF
from edit_eval.errors import ConfigurationError, RunDirectoryError
from edit_eval.execution.machine.environments import uv_folder
from edit_eval.files.durable import TEMPORARY
from edit_eval.files.user_cache import cache_folder
from edit_eval.json_values import JsonObject
from edit_eval.store.run_directory import MARK, OURS, SHARDS, RunDirectory, is_marked, is_written_by_us, shards_at_work
from edit_eval.store.run_folders import RegisteredRun, list_registered_runs
from edit_eval.text import Text

DAYS = 30.0
"""Default age in days: what was used in the cache more recently than that stays."""
_DIGEST = re.compile(rb"[0-9a-f]{64}")
_DRAWN = re.compile(rb"(?:scenes|ladder)/([\w-]+)")
_DAY = 86400.0
_OF_THE_CACHE = {
    "scenes": r"\d+x\d+-seed-?\d+-[0-9a-f]{12}",
    "ladder": r"\d+-seed-?\d+-[0-9a-f]{12}",
    "environments": r"[0-9a-f]{16}",
    "page": r"vega-lite-.+\.js",
    "workers": r"[0-9a-f]{16}\.zip",
    "scored": r"[0-9a-f]{64}\.jsonl",
    "opened": r"[0-9a-f]{32}",
    "sources": r"[0-9a-f]{64}(\.[a-z0-9]{1,8})?|[0-9a-f]{32}(\.json)?",
}
"""Folders of the cache that can be cleared -> pattern of the names that edit-eval gives there."""


@dataclass
class Holding:
    """Something that takes up disk space."""

    what: str
    """`sources`, `scenes`, `run`, ..."""
    place: Path
    bytes: int
    used: float
    """Time of the last read or write, as far as the disk tells: seconds since 1970."""
    goes: bool
    why: str
    """Why it can go, or why it stays."""
    files: Sequence[Path] = field(default_factory=list, repr=False)
    """Files or whole folders that would be deleted."""
    run: Path | None = None
    """The run that it belongs to."""

    def as_plain(self) -> JsonObject:
        """Returns it as plain data for JSON."""
        shown: JsonObject = {"what": self.what, "place": str(self.place), "bytes": self.bytes, "used": self.used}
        return {**shown, "can_go": self.goes, "why": self.why}


@dataclass
class Named:
    """Things that runs refer to."""

    digests: set[str] = field(default_factory=set)
    drawn: set[str] = field(default_factory=set)
    """Folders of drawn scenes."""
    environments: set[Path] = field(default_factory=set)
    unread: list[str] = field(default_factory=list)
    """For each run that cannot be read, why: its references are unknown."""


@dataclass
class Holdings:
    """Everything found."""

    items: list[Holding]
    runs: list[Path]
    """Runs whose references were read."""
    freed: int | None = None
    """Bytes freed; None if nothing was to be deleted."""

    @property
    def can_go(self) -> int:
        """Bytes that can be freed."""
        return sum(item.bytes for item in self.items if item.goes)

    def as_plain(self) -> JsonObject:
        """Returns it as plain data for JSON."""
        return {
            "cache": str(cache_folder()),
            "runs": [str(run) for run in self.runs],
            "items": [item.as_plain() for item in self.items],
            "bytes": sum(item.bytes for item in self.items),
            "can_go": self.can_go,
            "freed": self.freed,
        }


def find_holdings(folders: Sequence[Path], whole: Sequence[Path] = (), days: float = DAYS) -> Holdings:
    """Lists the contents of the cache and of the runs in `folders` (run directories, or folders of them).

    The runs in `whole` are to be deleted with everything in them. The references of all runs that this user is known
    to have made are read. Raises `ConfigurationError` for a folder that does not exist, or one of `whole` that is no
    run.
    """
    known = list_registered_runs()
    missing = {known_run.path for known_run in known.values() if not os.path.lexists(known_run.path)}
    going = {run.resolve() for run in whole}
    if strange := next((run for run in whole if not is_marked(run) and run.resolve() not in missing), None):
        raise ConfigurationError(
            Text("--run {}: not a run directory that edit-eval made (it has no {})", strange, MARK)
        )
    inside = list(dict.fromkeys(run.resolve() for folder in folders for run in _list_runs(folder)))
    runs = dict.fromkeys([*inside, *(known_run.path for known_run in known.values() if _is_like_a_run(known_run.path))])
    staying = [run for run in runs if run not in going]
    named = Named()
    for run in staying:
        _ask(run, named)
    for known_run in known.values():
        if not (known_run.path in runs or known_run.is_gone or known_run.path in going):
            named.unread.append(
                Text(
                    "{} is not there; if it was deleted, `edit-eval gc --run {} --delete` forgets it",
                    known_run.path,
                    known_run.path,
                )
            )
    items = _cache_items(named, time.time() - days * _DAY, known, going)
    for run in dict.fromkeys([*filter(is_marked, inside), *(going - missing)]):
        items += _run_items(run, whole=run in going)
    return Holdings([item for item in items if item.bytes or item.goes], staying)


def clear_holdings(holdings: Holdings) -> Holdings:
    """Deletes what can go, except from a run that is at work or has links in it. Sets the number of bytes freed."""
    freed = 0
    for item in holdings.items:
        if not item.goes:
            continue
        with _lock_run(item.run) as ours:
            if not ours:
                item.goes, item.why = False, Text("at work by now")
                continue
            files = list_run_files(item.run)[0] if item.run is not None and item.what == "run" else item.files
            freed += sum(map(_remove, files))
            if item.run is not None:
                remove_empty(folders_left(item.run, files))
    holdings.freed = freed
    return holdings


# -- runs --


def _is_like_a_run(path: Path) -> bool:
    """True if it may need something in the cache; nothing is deleted because of this."""
    try:
        return is_marked(path) or any((path / "config").glob("[0-9][0-9][0-9][0-9].yaml"))
    except OSError:
        return True


def _list_runs(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise ConfigurationError(Text("{} does not exist", folder))
    if _is_like_a_run(folder):
        return [folder]
    return [
        path for path in sorted(folder.iterdir()) if not path.is_symlink() and path.is_dir() and _is_like_a_run(path)
    ]


def _ask(run: Path, named: Named) -> None:
    """Collects the references of a run: every digest in its samples, rather too many than too few."""
    try:
        RunDirectory.open_existing(run)
        for file in run.glob("samples/*.jsonl"):
            text = file.read_bytes()
            named.digests.update(digest.decode() for digest in _DIGEST.findall(text))
            named.drawn.update(name.decode() for name in _DRAWN.findall(text))
        for file in run.glob("config/[0-9]*.yaml"):
            named.environments.update(
                uv_folder(environment) for environment in _environments(yaml.safe_load(file.read_text("utf-8")))
            )
    except (OSError, ValueError, yaml.YAMLError, RunDirectoryError):
        named.unread.append(Text("{} cannot be read, and may need it", run))


def _environments(value: Any) -> Iterator[list[str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "uv" and isinstance(inner, list) and all(isinstance(requirement, str) for requirement in inner):
                yield inner
            else:
                yield from _environments(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _environments(inner)


def _run_items(run: Path, *, whole: bool) -> list[Holding]:
    ours, others = list_run_files(run)
    size, used = _weight(ours)
    try:
        directory = RunDirectory.open_existing(run)
    except RunDirectoryError as error:
        return [Holding("run", run, size, used, False, Text("left alone: {}", error))]
    if directory.is_held() or shards_at_work(run / SHARDS):
        return [Holding("run", run, size, used, False, Text("at work"))]
    if whole:
        why = (
            Text("named by --run; {} files in it that edit-eval did not write stay", others)
            if others
            else Text("named by --run")
        )
        return [Holding("run", run, size, used, True, why, ours, run)]
    items = []
    thumbnails = directory.thumbnails
    pictures = [picture for sample in directory.samples() for picture in sample.pictures.values()]
    again = all(map(may_be_known, pictures))
    why = (
        Text("can be drawn again")
        if again
        else Text("some sources are not in the cache any more, so they cannot be drawn again")
    )
    left = [path for path in ours if TEMPORARY.fullmatch(path.name)]
    small = [path for path in ours if path.parent == thumbnails and path not in left]
    logs = [path for path in ours if path.parent == run / "logs" and path not in left]
    items.append(_item(Text("small copies"), thumbnails, small, again, why, run))
    items.append(_item("logs", run / "logs", logs, True, Text("of starts that have ended"), run))
    items.append(_item(Text("temporary files"), run, left, True, Text("left by a process that was killed"), run))
    rest = size - sum(item.bytes for item in items)
    return [Holding("run", run, rest, used, False, Text("its records, edits and report")), *items]


@contextlib.contextmanager
def _lock_run(run: Path | None) -> Iterator[bool]:
    """Keeps engines out of a run meanwhile; yields False if one is at work, or a link leads elsewhere."""
    if run is None:
        yield True
        return
    try:
        directory = RunDirectory.open_existing(run)
        if not is_marked(run):
            raise RunDirectoryError(Text("{} has no {}", run, MARK))
        lock = FileLock(run / "lock")
        lock.acquire(timeout=0)
    except (OSError, Timeout, RunDirectoryError):
        yield False
        return
    try:
        yield not (directory.is_held() or shards_at_work(run / SHARDS))
    finally:
        lock.release()


# -- the cache --


def _cache_items(named: Named, before: float, known: Mapping[Path, RegisteredRun], going: Set[Path]) -> list[Holding]:
    """`before`: what was used later stays. `going`: runs to be forgotten."""
    cache = cache_folder()
    if not cache.is_dir():
        return []
    items = []
    for place in sorted(cache.iterdir()):
        if place.is_symlink():
            items.append(Holding(place.name, place, 0, 0.0, False, Text("a link, and left alone")))
        elif place.name == "sources":
            items += _source_items(place, named, before)
        elif place.name in ("scenes", "ladder"):
            items += _merge_by_reason(
                _mark_unless_named(item, item.place.name in named.drawn, named, before) for item in _each(place)
            )
        elif place.name == "environments":
            items += _merge_by_reason(
                _mark_unless_named(item, item.place in named.environments, named, before) for item in _each(place)
            )
        elif place.name in ("page", "workers", "scored", "opened"):
            items += _merge_by_reason(_mark_if_old(item, before) for item in _each(place))
        elif place.name == "runs":
            gone = [file for file, known_run in known.items() if known_run.is_gone or known_run.path in going]
            size, used = _weight(gone)
            items.append(Holding("runs", place, size, used, bool(gone), Text("of runs that are gone"), gone))
        else:
            size, used = _weight([place])
            items.append(Holding(place.name, place, size, used, False, Text("kept: it could not be made again here")))
    return items


def _source_items(place: Path, named: Named, before: float) -> list[Holding]:
    """Lists the pictures that benchmarks put there, and links to pictures elsewhere."""
    parts: dict[str, list[Path]] = {"named": [], "recent": [], "unused": []}
    for shelf in sorted(place.iterdir()):
        if shelf.is_symlink() or not shelf.is_dir() or not SHELF.fullmatch(shelf.name):
            continue
        for path in filter(_is_of_the_cache, sorted(shelf.iterdir())):
            used = _last_use_of(path)
            if shelf.name == "elsewhere":
                used = time.time() if os.path.exists(path) else used
            kind = "recent" if used >= before or named.unread else "unused"
            parts["named" if path.name.partition(".")[0] in named.digests else kind].append(path)
    reasons = {
        "named": Text("named by a run"),
        "recent": _unsure(named) or Text("used lately"),
        "unused": Text("no run names them"),
    }
    items = []
    for kind, files in parts.items():
        size, used = _weight(files)
        goes = kind == "unused" and bool(files)
        items.append(Holding("sources", place, size, used, goes, reasons[kind], files if goes else ()))
    return items


def _is_of_the_cache(path: Path) -> bool:
    room = path.parent.name if path.parent.name in _OF_THE_CACHE else path.parent.parent.name
    return bool(re.fullmatch(_OF_THE_CACHE[room], path.name) or TEMPORARY.fullmatch(path.name))


def _each(place: Path) -> Iterator[Holding]:
    for path in sorted(place.iterdir()):
        if _is_of_the_cache(path) and not path.is_symlink():
            size, used = _weight([path])
            yield Holding(place.name, path, size, used, False, "", [path])


def _merge_by_reason(items: Iterable[Holding]) -> list[Holding]:
    first_by_reason: dict[str, Holding] = {}
    for item in items:
        if (first := first_by_reason.setdefault(item.why, item)) is not item:
            first.place, first.files = item.place.parent, (*first.files, *item.files)
            first.bytes, first.used = first.bytes + item.bytes, max(first.used, item.used)
    return list(first_by_reason.values())


def _mark_unless_named(item: Holding, is_named: bool, named: Named, before: float) -> Holding:
    if is_named:
        item.why = Text("named by a run")
        return item
    if named.unread:
        item.why = _unsure(named)
        return item
    return _mark_if_old(item, before)


def _mark_if_old(item: Holding, before: float) -> Holding:
    item.goes = item.used < before
    item.why = Text("can be made again") if item.goes else Text("used lately")
    return item


def _unsure(named: Named) -> str:
    return Text("kept: {}", named.unread[0]) if named.unread else ""


# -- the disk --


def _item(what: str, place: Path, files: Sequence[Path], goes: bool, why: str, run: Path) -> Holding:
    size, used = _weight(files)
    return Holding(what, place, size, used, goes and bool(files), why, files, run)


def _weight(places: Iterable[Path]) -> tuple[int, float]:
    """Returns the bytes on disk that would be freed, and the time of the last use. Follows no links.

    A picture shared by several runs is freed only when the last of them is deleted.
    """
    size, used = 0, 0.0
    for place in places:
        for path in _plain_files(place):
            with contextlib.suppress(OSError):
                status = os.lstat(path)
                size += status.st_blocks * 512 if status.st_nlink == 1 else 0
                used = max(used, status.st_mtime, status.st_atime)
    return size, used


def _plain_files(place: Path) -> Iterator[Path]:
    if place.is_dir() and not place.is_symlink():
        for parent, _, names in os.walk(place):
            yield from (Path(parent, name) for name in names)
    elif os.path.lexists(place):
        yield place


def _last_use_of(path: Path) -> float:
    try:
        status = os.lstat(path)
    except OSError:
        return time.time()
    return max(status.st_mtime, status.st_atime)


def _remove(path: Path) -> int:
    """Removes a file, a link (not its target) or a folder; returns the bytes freed."""
    size, _ = _weight([path])
    try:
        if stat.S_ISDIR(os.lstat(path).st_mode):
            shutil.rmtree(path)
        else:
            path.unlink()
    except OSError:
        return size - _weight([path])[0] if os.path.lexists(path) else size
    return size


def list_run_files(run: Path) -> tuple[list[Path], int]:
    """Returns the files of a run that we wrote, the mark last, and the number of other files. Follows no links."""
    ours, others = [], 0
    for parent, folders, names in os.walk(run):
        linked = [name for name in folders if os.path.islink(os.path.join(parent, name))]
        for name in (*names, *linked):
            path = Path(parent, name)
            if name not in linked and is_written_by_us(path.relative_to(run).as_posix()):
                ours.append(path)
            else:
                others += 1
    return sorted(ours, key=lambda path: (path.name == MARK and path.parent == run, path)), others


def folders_left(run: Path, gone: Sequence[Path]) -> Iterator[Path]:
    """Yields the folders of the deleted files and all entries that we make, the innermost first, the run last."""
    inner = {folder for path in gone for folder in path.parents if folder.is_relative_to(run)}
    inner |= {run / name for name in OURS} | {run}
    yield from sorted(inner, key=lambda folder: (-len(folder.parts), folder))


def remove_empty(folders: Iterator[Path]) -> None:
    """Removes the folders that are empty."""
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()
