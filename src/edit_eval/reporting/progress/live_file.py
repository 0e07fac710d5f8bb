"""`live.json`: what a run at work shows, beside its journals, for everybody who looks at it from elsewhere."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass, fields

import msgspec

from edit_eval.pictures import TEMPORARY_PREFIX
from edit_eval.reporting.progress.view import Snapshot
from edit_eval.store.run_directory import LIVE, RunDirectory

SCHEMA = 1
MOST_BYTES = 16 << 20
"""Of a file that is read: a thousand devices take a hundredth of that."""


@dataclass(frozen=True, kw_only=True)
class Live(Snapshot):
    """A snapshot, and of which start it is."""

    schema: int
    start: int
    """Which start of the run, from 1."""
    at: float
    """When it was taken: seconds since 1970, by the clock of the machine that wrote it."""
    ended: bool
    """Whether this start has come to its end."""


def write_live(directory: RunDirectory, snapshot: Snapshot, *, ended: bool = False) -> None:
    """Puts a snapshot in place of the last one. Where that cannot be written it is left out: no run ends for it."""
    shown = {field.name: getattr(snapshot, field.name) for field in fields(Snapshot)}
    live = Live(schema=SCHEMA, start=directory.number, at=time.time(), ended=ended, **shown)
    temporary = directory.path / f"{TEMPORARY_PREFIX}{os.getpid()}-{LIVE}"
    try:
        temporary.write_bytes(msgspec.json.encode(live))
        os.replace(temporary, directory.path / LIVE)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()


def read_live(directory: RunDirectory) -> Live | None:
    """What the start that is at work shows; None where none is, and where it shows nothing yet."""
    start = directory.start_at_work
    if start is None:
        return None
    try:
        with (directory.path / LIVE).open("rb") as file:
            live = msgspec.json.decode(file.read(MOST_BYTES), type=Live)
    except (OSError, ValueError):  # msgspec's errors are values, too
        return None
    return live if (live.schema, live.start, live.ended) == (SCHEMA, start, False) else None
