"""The run directory: the truth about a run, readable with `jq` and an image viewer.

config/0001.yaml       one a start: the configuration with all its defaults, without secrets
config/0001.json       what it came to: identities of the models, rubrics
environment/0001.json  one a start: versions, devices, revisions
samples/0001.jsonl     the samples of the run; a new one when they change
edits/0001.jsonl       one line an attempt at an edit
judgements/0001.jsonl  one line an answer, its raw text in it
events/0001.jsonl      the timeline: what each device did when
images/<edit model>/<slug of the id>-<first 12 of the edit's key>.png
logs/<worker>.log
report/                everything here can be made again from the rest
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml
from filelock import FileLock, Timeout

from edit_eval.errors import RunDirectoryError
from edit_eval.pictures import slug, sweep_temporary
from edit_eval.records import Activity, Sample
from edit_eval.store.journal import Damage, Record, Segment, read

JOURNALS = ("edits", "judgements", "events")


class RunDirectory:
    """One run's folder. `begin` makes this process its writer; reading needs no permission."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damage = Damage()
        self.number = 0
        """Which start of the run this is, from 1; 0 for a reader."""
        self._segments: dict[str, Segment] = {}
        self._lock: FileLock | None = None

    @classmethod
    def existing(cls, path: Path) -> RunDirectory:
        """Opens a run for reading. Raises `RunDirectoryError` when there is none."""
        if not (path / "config").is_dir():
            what = "is no run directory (it has no config/)" if path.exists() else "does not exist"
            raise RunDirectoryError(f"{path} {what}; `edit-eval run CONFIG` makes one")
        return cls(path)

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been written here yet."""
        return not (self.path / "config").is_dir()

    # -- one writer --

    def begin(self) -> None:
        """Takes the lock and a number for this start. Raises `RunDirectoryError` when another process has the lock."""
        self.path.mkdir(parents=True, exist_ok=True)
        strangers = [p.name for p in self.path.iterdir() if p.name not in ("lock", "holder.json")]
        if strangers and self.is_empty:
            raise RunDirectoryError(
                f"{self.path} holds files that are no run (`{sorted(strangers)[0]}`); name a new folder"
            )
        self._lock = FileLock(self.path / "lock")
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise RunDirectoryError(
                f"{self.path} is in use by {self.holder()}; wait for it, or stop it first"
            ) from None
        holder = {"host": socket.gethostname(), "process": os.getpid(), "since": time.strftime("%Y-%m-%d %H:%M:%S %z")}
        self._write_text(self.path / "holder.json", json.dumps(holder))
        used = [
            int(p.stem) for folder in ("config", "samples", *JOURNALS) for p in (self.path / folder).glob("[0-9]*.*")
        ]
        self.number = max(used, default=0) + 1
        self._segments = {name: Segment(self.path / name / f"{self.number:04d}.jsonl") for name in JOURNALS}
        for folder in (self.path / "images").glob("*/"):
            sweep_temporary(folder)

    def holder(self) -> str:
        """Who has the lock, for people to read."""
        try:
            holder = json.loads((self.path / "holder.json").read_text())
            return f"process {holder['process']} on {holder['host']} since {holder['since']}"
        except (OSError, ValueError, KeyError):
            return "another process"

    def end(self) -> None:
        """Closes what was written and gives the lock back."""
        try:
            for segment in self._segments.values():
                segment.close()
        finally:
            if self._lock is not None:
                (self.path / "holder.json").unlink(missing_ok=True)
                self._lock.release()
                self._lock = None

    # -- writing --

    def append(self, journal: str, record: Record) -> None:
        """Adds a line to `edits`, `judgements` or `events`."""
        self._segments[journal].append(record)

    def sync(self) -> None:
        """Has the disk keep all lines so far."""
        for segment in self._segments.values():
            segment.sync()

    def write_configuration(self, configuration: dict[str, Any], resolved: dict[str, Any]) -> None:
        """Keeps the configuration of this start, which can be run again as it is, and what it came to."""
        what = json.dumps(resolved, ensure_ascii=False, indent=1)
        self._write_text(self.path / "config" / f"{self.number:04d}.json", what)
        text = yaml.safe_dump(configuration, allow_unicode=True, sort_keys=False)
        self._write_text(self.path / "config" / f"{self.number:04d}.yaml", text)

    def write_environment(self, environment: dict[str, Any]) -> None:
        """Keeps versions and devices of this start; written again when a worker has told more."""
        text = json.dumps(environment, ensure_ascii=False, indent=1)
        self._write_text(self.path / "environment" / f"{self.number:04d}.json", text)

    def write_samples(self, samples: tuple[Sample, ...]) -> None:
        """Keeps the samples of this start, unless the last start had the same."""
        if self.samples() == samples:
            return
        segment = Segment(self.path / "samples" / f"{self.number:04d}.jsonl")
        for sample in samples:
            segment.append(asdict(sample))
        segment.close()

    def _write_text(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".tmp-{os.getpid()}-{path.name}")
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)

    # -- reading --

    def read(self, journal: str) -> Iterator[Record]:
        """Every good line of a journal, oldest first; bad ones are counted in `damage`."""
        return read(self.path / journal, self.damage)

    def samples(self) -> tuple[Sample, ...]:
        """The samples as the last start had them."""
        files = sorted((self.path / "samples").glob("[0-9]*.jsonl"))
        if not files:
            return ()
        made = []
        with files[-1].open("rb") as file:
            from edit_eval.store.journal import unseal

            for line in file:
                record = unseal(line.rstrip(b"\n"))
                if record is None:
                    self.damage.lines[str(files[-1])] = self.damage.lines.get(str(files[-1]), 0) + 1
                else:
                    record["tags"] = tuple(record["tags"])
                    made.append(Sample(**record))
        return tuple(made)

    def configuration(self) -> dict[str, Any]:
        """The resolved configuration of the last start."""
        files = sorted((self.path / "config").glob("[0-9]*.yaml"))
        return yaml.safe_load(files[-1].read_text("utf-8")) if files else {}

    def resolved(self) -> dict[str, Any]:
        """What that configuration came to: the identities of the models, and the rubrics."""
        files = sorted((self.path / "config").glob("[0-9]*.json"))
        return json.loads(files[-1].read_text("utf-8")) if files else {}

    def environment(self) -> dict[str, Any]:
        """Versions and devices of the last start that recorded any."""
        for file in sorted((self.path / "environment").glob("[0-9]*.json"), reverse=True):
            try:
                found = json.loads(file.read_text("utf-8"))
            except ValueError:
                continue
            if isinstance(found, dict):
                return found
        return {}

    def timeline(self) -> tuple[tuple[Activity, ...], tuple[float, ...], tuple[str, ...]]:
        """What the devices did, the wall time of each start in seconds, and the names of the devices."""
        activities: list[Activity] = []
        wall: dict[int, float] = {}
        devices: dict[str, None] = {}
        for record in self.read("events"):
            start = int(record["start"])
            if record["event"] == "activity":
                fields = {k: record[k] for k in ("device", "kind", "model", "begin", "end", "what")}
                activities.append(Activity(start_number=start, **fields))
                wall[start] = max(wall.get(start, 0.0), activities[-1].end)
            elif record["event"] == "devices":
                devices.update(dict.fromkeys(record["devices"]))
                wall.setdefault(start, 0.0)
            elif record["event"] == "end":
                wall[start] = max(wall.get(start, 0.0), record["seconds"])
        return tuple(activities), tuple(wall[s] for s in sorted(wall)), tuple(devices)

    # -- where things lie --

    def image_path(self, edit_model: str, sample_id: str, key: str) -> Path:
        """Where an edit's picture belongs. An id is shown in the name, never trusted as a path."""
        return self.path / "images" / edit_model / f"{slug(sample_id)}-{key[:12]}.png"

    def log_path(self, name: str) -> Path:
        """The log file of a worker."""
        return self.path / "logs" / f"{slug(name)}.log"
