"""The run directory: the complete record of a run, readable with `jq` and an image viewer.

edit-eval-run.txt      marks the folder as a run; nothing is deleted without it
config/0001.yaml       one per start: the configuration with all defaults, without secrets
config/0001.json       what it resolved to: identities of the models, rubrics
environment/0001.json  one per start: versions, devices, revisions
samples/0001.jsonl     the samples of the run; a new file when they change
edits/0001.jsonl       one line per attempt at an edit
replies/0001.jsonl     one line per reply of a judge, with its raw text
events/0001.jsonl      the timeline: what each device did when
votes/0001.jsonl       one line per vote of a person, one segment per process that collects them (see `votes`)
images/<edit model>/<slug of the id>-<first 12 of the edit's key>.png
logs/<worker>.log
shards/                for `--shard`: the lock of each engine, and its holder
trackers/              the run's id in each tracker
derived.jsonl          scores by a protocol of the user's own, for readers without it (see `derived`)
live.json              the live display of the last start, written once a second while it runs
report/                derived files; can be rebuilt from the rest
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import socket
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import msgspec
import yaml

from edit_eval.config.yaml_text import parse_ours
from edit_eval.errors import ConfigurationError, RunDirectoryError, Stopped
from edit_eval.files.durable import TEMPORARY, TEMPORARY_PREFIX, slug, sweep_temporary, write_durably
from edit_eval.files.user_files import parse_json, read_text
from edit_eval.json_values import JsonObject, Unchecked
from edit_eval.records import Picture, Sample, no_garbage
from edit_eval.store.journal import Damage, Lines, Record, Segment, read, read_segment, seal, segments
from edit_eval.text import Text

if TYPE_CHECKING:  # imports asyncio and ssl, which a reader does not wait for
    from filelock import FileLock

JOURNALS = ("edits", "replies", "events")
LIVE, SHARDS, DERIVED = "live.json", "shards", "derived.jsonl"
MOMENT = 10.0
"""Seconds an engine waits while others enter or leave."""
CELLS_WITHOUT_LINES, CELLS_A_BYTE = 100_000, 2
"""Most cells of a run that is read: a sample's line has hundreds of bytes, and a cell takes a kilobyte of memory."""
MOST_READ = 256 << 20
"""Most bytes of a picture of a run, which is read into memory."""


class CannotWrite(Stopped):
    """The run directory can no longer be written: the disk is full, read-only, over quota, or failing."""


def resolve_ledger(path: Path) -> Path:
    """Returns the only run in a service's ledger; any other path unchanged.

    Raises `RunDirectoryError` if the ledger has several.
    """
    of_runs = [] if (path / "config").is_dir() else path.glob("[0-9][0-9][0-9][0-9]*/config")
    runs = sorted(config.parent for config in of_runs)
    if len(runs) > 1:
        raise RunDirectoryError(Text("{} has {} runs of a service; name one of them: {}", path, len(runs), runs[-1]))
    return runs[0] if runs else path


class RunDirectory:
    """One run's folder. `begin` makes this process its writer; reading needs no permission."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damage = Damage()
        self.number = 0
        """Number of this start, from 1; 0 for a reader."""
        self._segments: dict[str, Segment] = {}
        self._lock: FileLock | None = None
        self._own: FileLock | None = None
        """The shard's lock."""
        self._holder_file = path / "holder.json"

    @classmethod
    def open_existing(cls, path: Path) -> RunDirectory:
        """Opens a run for reading. Raises `RunDirectoryError` if it is not a run, or contains links or pipes."""
        if not (path / "config").is_dir():
            if runs := sorted(config.parent for config in path.glob("*/config") if config.is_dir()):
                more = Text("; there are {} of them", len(runs)) if len(runs) > 1 else ""
                raise RunDirectoryError(Text("{} is a folder of runs: name each run, as {}{}", path, runs[-1], more))
            what = Text("is not a run directory (it has no config/)") if path.exists() else Text("does not exist")
            raise RunDirectoryError(Text("{} {}; `edit-eval run CONFIG` makes one", path, what))
        refuse_special_files(path)
        return cls(path)

    # -- one writer --

    def begin(self, shard: Shard | None = None) -> None:
        """Takes the lock and a number for this start. Raises `RunDirectoryError` if another process has the lock.

        Engines of shards have a lock each, and hold the run's only while they enter. Also raises for a folder with
        foreign files or links in it, or without write permission; `CannotWrite` if the disk is full.
        """
        from filelock import FileLock, Timeout

        refuse_copy(self.path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._refuse_strangers()
            refuse_special_files(self.path)
            self._lock = FileLock(self.path / "lock")
            waits = shard or shards_at_work(self.path / SHARDS) or not self.is_held()  # what was killed still lets go
            self._lock.acquire(timeout=MOMENT if waits else 0)
            if shard is not None:
                self._enter(shard)
            elif shards_at_work(self.path / SHARDS):
                raise Timeout(str(self.path))
            if not is_marked(self.path):
                mark(self.path)
            self._take_number()
        except Timeout:
            self._release_locks()
            raise RunDirectoryError(
                Text("{} is in use by {}; wait for it, or stop it first", self.path, self.holder())
            ) from None
        except OSError as error:
            self._release_locks()
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise _cannot_write(self.path, error) from error
            raise RunDirectoryError(
                Text("{} cannot be used ({}); name another folder", self.path, error.strerror)
            ) from error
        except BaseException:
            self.end()
            raise
        if self._own is not None:
            self._lock.release()

    def _enter(self, shard: Shard) -> None:
        """Takes the lock of a shard. The caller holds the run's lock, so no other shard enters meanwhile."""
        at_work = shards_at_work(self.path / SHARDS)
        if strange := next((stem for stem in at_work if not stem.endswith(shard.stem[4:])), ""):
            raise RunDirectoryError(
                Text(
                    "{} is in use by {} shards, and --shard {} is of another number; "
                    "stop them first, or use their number",
                    self.path,
                    int(strange[-4:]),
                    shard,
                )
            )
        for other in shards_known(self.path / SHARDS):
            if other.stem in at_work and other != shard and other.experiment != shard.experiment:
                raise RunDirectoryError(
                    Text(
                        "shard {} of {} is running another evaluation than shard {} would: give all "
                        "shards the same configuration and data, or stop the others first",
                        other,
                        self.path,
                        shard,
                    )
                )
        (self.path / SHARDS).mkdir(exist_ok=True)
        from filelock import FileLock, Timeout

        own = FileLock(self.path / SHARDS / f"{shard.stem}.lock")
        try:
            own.acquire(timeout=0)
        except Timeout:
            holder = _who(_read_holder(self.path / SHARDS / f"{shard.stem}.json"))
            raise RunDirectoryError(Text("shard {} of {} is already running: {}", shard, self.path, holder)) from None
        self._own, self._holder_file = own, self.path / SHARDS / f"{shard.stem}.json"
        entered = {"launched": shard.launched, "experiment": shard.experiment}
        self._write_text(self.path / SHARDS / f"{shard.stem}.entered", json.dumps(entered))

    @property
    def others_at_work(self) -> bool:
        """True if an engine of any shard is at work in this run; call it after this one has ended."""
        return bool(shards_at_work(self.path / SHARDS))

    def _release_locks(self) -> None:
        for lock in (self._own, self._lock):
            if lock is not None:
                lock.release()
        self._own = self._lock = None

    def _refuse_strangers(self) -> None:
        """Refuses a folder without our mark, unless it is empty or left by a start killed right after locking it."""
        there = [p.name for p in self.path.iterdir()]
        if is_marked(self.path):  # checked last: another start may have marked it meanwhile
            return
        early = ("lock", "holder.json", SHARDS)
        strangers = [name for name in there if name not in early and not TEMPORARY.fullmatch(name)]
        if any((self.path / "config").glob("[0-9]*.json")) and (self.path / "edits").is_dir():
            raise RunDirectoryError(
                Text(
                    "{} is a run of an older edit-eval, which did not mark its runs; {}",
                    self.path,
                    what_mends(self.path),
                )
            )
        if strangers:
            raise RunDirectoryError(
                Text(
                    "{} is not empty and not a run directory (`{}`; it has no {}); name a new folder",
                    self.path,
                    sorted(strangers)[0],
                    MARK,
                )
            )

    def _take_number(self) -> None:
        files = (p for folder in ("config", "samples", *JOURNALS) for p in _list_files(self.path / folder, "[0-9]*.*"))
        taken = [int(p.stem) for p in files if p.stem.isdigit()]
        taken += [holder.start for holder in self._holders() if holder.start is not None]
        self.number = max(taken, default=0) + 1
        self._segments = {name: Segment(self.path / name / f"{self.number:04d}.jsonl") for name in JOURNALS}
        since = time.strftime("%Y-%m-%d %H:%M:%S %z")
        holder = _Holder(host=socket.gethostname(), process=os.getpid(), since=since, start=self.number)
        self._write_text(self._holder_file, json.dumps(msgspec.structs.asdict(holder)))
        self._sweep()

    def _sweep(self) -> None:
        """Removes temporary files of killed writers, if no other engine is writing; the report cleans up its own."""
        if set(shards_at_work(self.path / SHARDS)) - {self._holder_file.stem}:
            return
        for path in self.path.glob(f"{TEMPORARY_PREFIX}*"):
            if TEMPORARY.fullmatch(path.name):
                path.unlink(missing_ok=True)
        for folder in ("config", "environment", "samples", "images"):
            sweep_temporary(self.path / folder)

    def _holders(self) -> list[_Holder]:
        """Returns the recorded lock holders, live ones first; some may have died."""
        files = (self.path / "holder.json", *_list_files(self.path / SHARDS, "*.json"))
        return sorted(filter(None, map(_read_holder, files)), key=lambda holder: not holder.is_alive)

    def holder(self) -> str:
        """Describes the process that has the lock."""
        return _who(next(iter(self._holders()), None))

    def is_held(self) -> bool:
        """True if a process is at work here. A holder on this host is checked; one on another host is assumed alive."""
        return any(holder.is_alive for holder in self._holders())

    @property
    def start_at_work(self) -> int | None:
        """Number of the start at work here; None if there is none (see `is_held`)."""
        numbers = (holder.start for holder in self._holders() if holder.is_alive)
        return next((number for number in numbers if number is not None), None)

    def end(self) -> None:
        """Closes the journals and releases the lock.

        Raises `CannotWrite` if the last lines cannot be written, unless another error is already being raised.
        """
        if self._lock is None:
            return
        under_way = sys.exc_info()[1]
        try:
            with _convert_write_errors(self.path), contextlib.ExitStack() as stack:
                for segment in self._segments.values():
                    stack.callback(segment.close)
        except CannotWrite:
            if under_way is None:
                raise
        finally:
            with contextlib.suppress(OSError):
                self._sweep()
                self._holder_file.unlink(missing_ok=True)
            self._release_locks()

    # -- writing --

    def append(self, journal: str, record: Record) -> None:
        """Adds a line to `edits`, `replies` or `events`. Raises `CannotWrite`, like every method that writes."""
        with _convert_write_errors(self.path):
            self._segments[journal].append(record)

    def sync(self) -> None:
        """Syncs all lines so far to disk."""
        with _convert_write_errors(self.path):
            for segment in self._segments.values():
                segment.sync()

    def write_configuration(self, configuration: Unchecked, resolved: Unchecked) -> None:
        """Saves the configuration of this start, which can be run again as it is, and what it resolved to."""
        what = json.dumps(resolved, ensure_ascii=False, indent=1)
        self._write_text(self.path / "config" / f"{self.number:04d}.json", what)
        dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
        text = yaml.dump(configuration, Dumper=dumper, allow_unicode=True, sort_keys=False)
        self._write_text(self.path / "config" / f"{self.number:04d}.yaml", text)

    def write_environment(self, environment: JsonObject) -> None:
        """Saves versions and devices of this start; called again when a worker reports more."""
        text = json.dumps(environment, ensure_ascii=False, indent=1)
        self._write_text(self.path / "environment" / f"{self.number:04d}.json", text)

    def write_samples(self, samples: tuple[Sample, ...]) -> None:
        """Saves the samples of this start, unless the last start had the same."""
        if self.samples() == samples:
            return
        lines = b"".join(seal(_plain(sample)) for sample in samples)
        with _convert_write_errors(self.path):
            write_durably(lines, self.path / "samples" / f"{self.number:04d}.jsonl")

    def write_derived(self, lines: bytes) -> None:
        """Keeps what readers without the protocols' classes are shown, in place of what was there."""
        with _convert_write_errors(self.path):
            write_durably(lines, self.path / DERIVED)

    def append_samples(self) -> None:
        """Lets samples be added one by one: `append("samples", ...)`."""
        self._segments["samples"] = Segment(self.path / "samples" / f"{self.number:04d}.jsonl")

    def lay_picture(self, data: bytes, path: Path) -> None:
        """Writes the bytes of a picture sent by a client. Not synced: after a power loss the client sends it again."""
        with _convert_write_errors(self.path):
            try:
                path.write_bytes(data)
            except FileNotFoundError:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)

    def take_picture(self, theirs: Path, path: Path) -> None:
        """Puts another run's picture at `path`: hard-linked if the file system allows it, otherwise copied."""
        with _convert_write_errors(self.path):
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f"{TEMPORARY_PREFIX}{os.getpid()}-{path.name}")
            try:
                temporary.unlink(missing_ok=True)
                os.link(theirs, temporary)
                os.replace(temporary, path)
            except OSError:
                write_durably(theirs.read_bytes(), path)
            temporary.unlink(missing_ok=True)  # os.replace does nothing if both names already link to the same file

    def _write_text(self, path: Path, text: str) -> None:
        with _convert_write_errors(self.path):
            write_durably(text.encode("utf-8", "surrogatepass"), path)

    # -- reading --

    def read(self, journal: str) -> Lines:
        """Reads every good line of a journal, oldest first; bad ones are counted in `damage`."""
        return read(self.path / journal, self.damage)

    def samples(self) -> tuple[Sample, ...]:
        """Reads the samples of the last start."""
        return self._samples(self.damage)

    @no_garbage()
    def _samples(self, damage: Damage) -> tuple[Sample, ...]:
        files = segments(self.path / "samples")
        if not files:
            return ()
        seen = Damage()
        samples = tuple(read_segment(files[-1], seen, Sample))
        if seen.total:  # damage, or a user's own benchmark with loose types
            lines = read_segment(files[-1], damage, dict)
            samples = tuple(_lenient(line) for line in lines)
        places: dict[str, int] = {}
        for place, sample in enumerate(samples, 1):
            if (first := places.setdefault(sample.id, place)) != place:
                both = Text("its samples {} and {} have one id, `{}`", first, place, sample.id)
                raise RunDirectoryError(Text("{}: {}: whose scores are whose cannot be told", files[-1], both))
        return samples

    @property
    def most_cells(self) -> int:
        """How many questions a run of these journals may have: what a record asks for is not believed beyond that."""
        journals = ("samples", "edits", "replies", "events")
        size = sum(file.stat().st_size for name in journals for file in segments(self.path / name))
        return CELLS_WITHOUT_LINES + CELLS_A_BYTE * size

    def configuration(self) -> Unchecked:
        """Reads the full configuration of the last start. Raises `RunDirectoryError` if it is damaged."""
        return self._read_description(self.last_configuration(), parse_ours)

    def read_resolved_configuration(self) -> Unchecked:
        """Reads what that configuration resolved to: identities of the models, and rubrics. Raises like it."""
        last = self.last_configuration()
        return self._read_description(last and last.with_suffix(".json"), _plain_json)

    def last_configuration(self) -> Path | None:
        """Returns the last configuration. It is written after its `.json`, so both exist if it does."""
        return max(_list_files(self.path / "config", "[0-9]*.yaml"), default=None)

    def _read_description(self, file: Path | None, decode: Callable[[str], Any]) -> Unchecked:
        if file is None:
            return {}
        try:
            content = decode(read_text(file))
        except (ConfigurationError, ValueError, RecursionError, yaml.YAMLError) as error:
            content = error
        if not isinstance(content, dict):
            raise RunDirectoryError(Text("{} is damaged; {}", file, what_mends(self.path)))
        return content

    def describe(
        self, configuration: Unchecked, resolved: Unchecked, samples: tuple[Sample, ...], *, anew: bool
    ) -> bool:
        """Saves what this start is asked if it differs from the last one saved, or if `anew`; True if it differs."""
        other = not self.says(configuration, resolved, samples)
        if other or anew:
            self.write_configuration(configuration, resolved)
            self.write_samples(samples)
        return other

    def says(self, configuration: Unchecked, resolved: Unchecked, samples: tuple[Sample, ...]) -> bool:
        """True if the last saved description equals this one; False if any of it is damaged or missing.

        Placement is ignored: a run is the same on any devices.
        """
        from edit_eval.config.placement import strip_placement  # pydantic, for which readers do not wait

        seen = Damage()
        try:
            written = [strip_placement(self.configuration()), self.read_resolved_configuration()]
        except (RunDirectoryError, AttributeError):  # the latter for a file of another shape
            return False
        plain = json.loads(json.dumps([strip_placement(configuration), resolved]))
        return bool(written == plain and self._samples(seen) == samples and not seen.total)

    def environment(self) -> Unchecked:
        """Returns versions and devices of the last start that recorded any."""
        return next(reversed(self.environments().values()), {})

    def environments(self) -> dict[int, Unchecked]:
        """Returns versions and devices of every start that recorded any, by its number."""
        recorded = {}
        for file in _list_files(self.path / "environment", "[0-9]*.json"):
            try:
                environment = _plain_json(read_text(file))
            except (ConfigurationError, ValueError):
                continue
            if isinstance(environment, dict) and file.stem.isdigit():
                recorded[int(file.stem)] = environment
        return recorded

    # -- paths --

    @property
    def thumbnails(self) -> Path:
        """Folder of the thumbnails, named by the digests of their pictures."""
        return self.path / "report" / "thumbnails"

    def image_path(self, edit_model: str, sample_id: str, key: str) -> Path:
        """Returns the path of an edit's picture."""
        return self.path / image_name(edit_model, sample_id, key)


def image_name(edit_model: str, sample_id: str, key: str) -> str:
    """Returns the path of an edit's picture in its run directory. The id is slugged, never trusted as a path."""
    return f"images/{edit_model}/{slug(sample_id)}-{key[:12]}.png"


def _plain_json(text: str) -> Any:
    return parse_json(text.encode("utf-8", "surrogatepass"), dict, "")


def _lenient(line: Record) -> Sample:
    pictures = {name: Picture(**picture) for name, picture in line["pictures"].items()}
    return Sample(**{**line, "pictures": pictures, "tags": tuple(line["tags"])})


def refuse_special_files(run: Path) -> None:
    """Raises `RunDirectoryError` if a run contains anything but plain files and folders.

    Run directories are shared: a link in one could make us read or write a file elsewhere, and a pipe would block us.
    The run directory itself may be a link, and entries that are not part of a run are ignored. Takes about 0.1 s for
    100,000 pictures.
    """
    try:
        with os.scandir(run) as entries:
            strange = _no_plain_file(entry for entry in entries if entry.name in OURS)
    except OSError as error:
        raise RunDirectoryError(Text("{} cannot be read ({})", error.filename or run, error.strerror)) from error
    if strange is not None:
        path, what = strange.path, Text("link") if strange.is_symlink() else Text("pipe or a device")
        raise RunDirectoryError(
            Text("{} is a {}: a run directory must contain only its own files and folders; remove it", path, what)
        )


def _no_plain_file(entries: Iterable[os.DirEntry[str]]) -> os.DirEntry[str] | None:
    for entry in entries:
        if entry.is_file(follow_symlinks=False):
            continue
        if not entry.is_dir(follow_symlinks=False):
            return entry
        with os.scandir(entry) as inside:
            strange = _no_plain_file(inside)
        if strange is not None:
            return strange
    return None


def _list_files(folder: Path, pattern: str) -> list[Path]:
    """Returns what there is, sorted; nothing where no such folder is, nor can be by a name of what others wrote."""
    return sorted(folder.glob(pattern)) if folder.is_dir() else []


def _plain(sample: Sample) -> Record:
    """Returns a sample as a line of its journal. `asdict` would copy all that is in it, at a third of a millisecond."""
    fields = {name: getattr(sample, name) for name in Sample.__dataclass_fields__}
    return {**fields, "pictures": {name: asdict(picture) for name, picture in sample.pictures.items()}}


@contextlib.contextmanager
def _convert_write_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: OSError) -> CannotWrite:
    return CannotWrite(
        Text(
            "{} cannot be written ({}); all finished work is kept; rerun the same command to resume",
            path,
            error.strerror or error,
        )
    )


@dataclass(frozen=True)
class Shard:
    """One of several engines that share a run."""

    number: int
    """From 1."""
    count: int
    launched: str = field(default="", compare=False)
    """The launcher's name for it: `SLURM_ARRAY_TASK_ID=3`."""
    experiment: str = field(default="", compare=False)
    """Digest of what is asked (`Experiment.fingerprint`)."""

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    @property
    def stem(self) -> str:
        """Stem of its files' names."""
        return f"{self.number:04d}-of-{self.count:04d}"


def shards_known(folder: Path) -> list[Shard]:
    """Returns every shard that has entered the run, as recorded when it last did."""
    known = []
    for path in _list_files(folder, "*-of-*.entered"):
        with contextlib.suppress(OSError, ValueError, TypeError):
            number, _, count = path.stem.partition("-of-")
            known.append(Shard(int(number), int(count), **json.loads(path.read_text())))
    return known


def shards_at_work(folder: Path) -> list[str]:
    """Returns the stems of the shards whose lock is held."""
    if not (locks := _list_files(folder, "*-of-*.lock")):
        return []
    from filelock import FileLock, Timeout

    held = []
    for path in locks:
        lock = FileLock(path)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            held.append(path.stem)
        else:
            lock.release()
    return held


class _Holder(msgspec.Struct):
    """The process that has a lock, as it says itself."""

    host: str
    process: int
    since: str
    start: int | None = None
    """Number of its start."""

    @property
    def is_alive(self) -> bool:
        """False only if the process was on this host and has ended."""
        if self.host != socket.gethostname():
            return True
        try:
            os.kill(self.process, 0)
        except (ProcessLookupError, OverflowError):
            return False
        except OSError:
            pass  # not permitted to signal it: it exists, and is another user's
        try:  # one that has ended and that nobody has waited for, as in a container without an init
            return Path(f"/proc/{self.process}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
        except (OSError, IndexError):
            return True


def _read_holder(file: Path) -> _Holder | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=_Holder)
    except (OSError, ValueError):
        return None


def _who(holder: _Holder | None) -> str:
    if holder is None:
        return Text("another process")
    return Text("process {} on {} since {}", holder.process, holder.host, holder.since)


# -- which files are ours: the mark of a run directory, and the names of all files that edit-eval writes there --
#
# Nothing is deleted in a folder without the mark, and in a marked one only files with these names.

MARK = "edit-eval-run.txt"
COPY = "edit-eval-copy.json"
"""What a run has that came in one file (`run_file`): its pictures are small copies."""
_MARKED = b"edit-eval run 6f1d2c0a9b7e4e53\n"
_TEXT = _MARKED + b"This folder was made by edit-eval. `edit-eval gc` deletes only in folders with this file.\n"
_JOURNAL = r"\d+\.jsonl"
_WRITTEN = {
    MARK: None,
    COPY: None,
    "lock": None,
    "holder.json": None,
    "live.json": None,
    DERIVED: None,
    "shards": r"\d+-of-\d+\.(lock|json|entered)|loading-\d+\.lock",
    "config": r"\d+\.(yaml|json)",
    "environment": r"\d+\.json",
    "samples": _JOURNAL,
    "edits": _JOURNAL,
    "replies": _JOURNAL,
    "events": _JOURNAL,
    "votes": rf"(pages/)?{_JOURNAL}",
    "images": r"[^/]+/[^/]+-[0-9a-f]{12}\.[a-z0-9]{2,4}",
    "logs": r"(edit|judge)-[^/]+\.log",
    "report": r"index\.html|audit\.html|summary\.json|passport\.json|scores\.csv|replies\.jsonl|report\.md"
    r"|thumbnails/[0-9a-f]{32}\.(jpg|webp)|(thumbnails/)?\..+\.\d+\.tmp",
    "passports": r"(anchors/)?[^/]+\.json",
    "stored": r"battles\.json",
    "trackers": r"[^/]+\.json",
    "anchors": r"\d+/\d+/(?P<run>.+)",
}
"""Entries of a run directory, each with the pattern of the paths beneath it; None for a file."""
OURS = frozenset(_WRITTEN)


def mark(run: Path) -> None:
    """Marks a new folder as a run. Raises `OSError`."""
    write_durably(_TEXT, run / MARK)


def is_marked(run: Path) -> bool:
    """True if the folder has the mark of a run. A link does not count."""
    try:
        with open(run / MARK, "rb", opener=_no_link) as file:
            return file.read(len(_MARKED)) == _MARKED
    except OSError:
        return False


def is_copy(run: Path) -> bool:
    """True if the run came in one file: its records are whole, its pictures small copies."""
    return (run / COPY).is_file()


def refuse_copy(run: Path) -> None:
    """Raises `RunDirectoryError` for a run that came in one file, where pictures are needed as they were made."""
    if is_copy(run):
        what = Text("its pictures are small copies, to look at and compare; for this take the run itself")
        raise RunDirectoryError(Text("{} came in one file: {}", run, what))


def what_mends(run: Path) -> str:
    """Returns what can be done with a run whose configuration cannot be read, or that is not marked."""
    if is_marked(run):
        return Text("`edit-eval run CONFIG --run-dir {}` writes it again", run)
    return Text("`edit-eval run CONFIG --run-dir NEW --reuse {}` takes its edits and answers", run)


def _no_link(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(Text("{} is not a file", path))
    return descriptor


def read_run_file(run: Path, name: str, room: str = "images") -> bytes | None:
    """Reads a file in a `room` of a run; None unless it is a plain file reached without links."""
    parts = PurePosixPath(name).parts
    if len(parts) < 2 or parts[0] != room or ".." in parts or "\0" in name:
        return None
    opened: list[int] = []
    try:
        opened.append(os.open(run, os.O_RDONLY | os.O_DIRECTORY))  # the run itself may be reached by a link
        for part in parts[:-1]:
            opened.append(os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=opened[-1]))
        opened.append(os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=opened[-1]))
        state = os.fstat(opened[-1])
        if not stat.S_ISREG(state.st_mode) or state.st_size > MOST_READ:
            return None
        with open(opened.pop(), "rb") as file:
            return file.read()
    except (OSError, ValueError):
        return None
    finally:
        for descriptor in opened:
            with contextlib.suppress(OSError):
                os.close(descriptor)


def is_written_by_us(name: str) -> bool:
    """True if edit-eval writes files of this name, relative to a run directory."""
    top, _, rest = name.partition("/")
    if top not in _WRITTEN:
        return not rest and bool(TEMPORARY.fullmatch(top))
    pattern = _WRITTEN[top]
    if pattern is None or not rest:
        return pattern is None and not rest
    if TEMPORARY.fullmatch(rest.rpartition("/")[2]):
        return True
    match = re.fullmatch(pattern, rest, re.DOTALL)
    return match is not None and (top != "anchors" or is_written_by_us(match["run"]))
