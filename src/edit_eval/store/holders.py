"""Who is at work in a run directory: one engine, or those of its shards, each with a lock and a line about itself."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from edit_eval.text import Text


@dataclass(frozen=True)
class Shard:
    """One of several engines that share a run."""

    number: int
    """From 1."""
    count: int
    launched: str = field(default="", compare=False)
    """What its launcher calls it: `SLURM_ARRAY_TASK_ID=3`."""
    experiment: str = field(default="", compare=False)
    """The digest of what is asked (`Experiment.fingerprint`)."""

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    @property
    def stem(self) -> str:
        """Of its files."""
        return f"{self.number:04d}-of-{self.count:04d}"


def shards_known(folder: Path) -> list[Shard]:
    """All that ever entered the run with this folder of shards, as they were when they last did."""
    known = []
    for path in sorted(folder.glob("*-of-*.entered")):
        with contextlib.suppress(OSError, ValueError, TypeError):
            number, _, count = path.stem.partition("-of-")
            known.append(Shard(int(number), int(count), **json.loads(path.read_text())))
    return known


def shards_at_work(folder: Path) -> list[str]:
    """The stems of the shards whose lock somebody holds."""
    held = []
    for path in sorted(folder.glob("*-of-*.lock")):
        lock = FileLock(path)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            held.append(path.stem)
        else:
            lock.release()
    return held


def read_holder(file: Path) -> dict[str, Any]:
    """Empty where nobody is written down there, or it cannot be read."""
    try:
        holder = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    return holder if isinstance(holder, dict) and {"host", "process", "since"} <= holder.keys() else {}


def who(holder: dict[str, Any]) -> str:
    """Its process, for people."""
    if not holder:
        return Text("another process")
    return Text("process {} on {} since {}", holder["process"], holder["host"], holder["since"])


def is_there(holder: dict[str, Any]) -> bool:
    """Whether that process may be there: one of this host is looked for."""
    if holder["host"] != socket.gethostname():
        return True
    try:
        os.kill(int(holder["process"]), 0)
    except (ProcessLookupError, ValueError, TypeError, OverflowError):
        return False
    except OSError:
        pass  # it is somebody else's, and there
    return True
