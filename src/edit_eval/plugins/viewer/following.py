"""The current state of a run, read while it is written: each time only the new lines."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from edit_eval.errors import EditEvalError, RunDirectoryError
from edit_eval.records import Edit, Picture
from edit_eval.reporting.live import Live, read_live
from edit_eval.run import Run
from edit_eval.store.run_directory import RunDirectory
from edit_eval.store.table import LiveTable
from edit_eval.text import Text

READ_WHOLE_AGAIN = 60.0
"""Seconds after which a changed run is read again from the beginning: then a line also counts for its equals."""
TRY_AGAIN = 5.0
"""Seconds after which an unreadable run is tried again."""
SILENT_AFTER = 60.0
"""Seconds without a new `live.json` after which a run that should be at work counts as silent: on a busy machine the
thread that writes it may have no turn for much of that."""


@dataclass(frozen=True)
class RunState:
    """The state of a run."""

    kind: str
    """`working`, `silent` (should be at work, but has no news), `stopped` (with work left), `complete`, `damaged`
    (`reason` says how)."""
    reason: str = ""
    live: Live | None = None


@dataclass(frozen=True)
class Changes:
    """Changes since the last look."""

    samples: frozenset[str] = frozenset()
    """Ids of samples to show again."""
    anew: bool = False
    """True if everything was read again, perhaps from another experiment."""

    def __bool__(self) -> bool:
        return self.anew or bool(self.samples)


class Following:
    """Follows one run. Not thread-safe."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fault = ""
        """Why nothing can be shown; empty if something can."""
        self.table: LiveTable | None = None
        """All that has been read so far; None if nothing could be."""
        self.grows = False
        """True for a service's run, whose samples are added all the time: it is read again now and then."""
        self.directory = RunDirectory(path)
        self._described: tuple[str, ...] = ()
        self._read_at = 0.0
        self._changed = False
        self._complete: bool | None = None
        """True if every judgement has finished; None if not yet checked."""
        self._live: Live | None = None
        self._live_at = 0.0
        self._was_at_work: int | None = None
        self._begin()

    # -- reading --

    def _begin(self) -> None:
        """Reads the whole run; meanwhile pages show what was read before."""
        table, self._complete = None, None
        self._read_at, self._changed = time.monotonic(), False
        try:
            self._described = self._descriptions()
            self.directory = RunDirectory.open_existing(self.path)
            table = LiveTable(self.directory, Run.from_directory(self.directory).experiment)
            self.grows = bool(self.directory.read_resolved_configuration().get("grows"))
            self.fault = ""
        except EditEvalError as error:
            self.fault = str(error)
        except OSError as error:
            self.fault = Text("{} cannot be read ({})", error.filename or self.path, error.strerror or error)
        except Exception as error:  # records may come from anywhere, and hold anything
            self.fault = Text("{} is damaged ({}: {})", self.path, type(error).__name__, error)
        self.table = table

    def _descriptions(self) -> tuple[str, ...]:
        """Returns the identity of the experiment: its files of configurations and sample lists."""
        files = (path for name in ("config", "samples") for path in (self.path / name).glob("[0-9]*"))
        return tuple(sorted(f"{path.name} {path.lstat().st_size} {path.lstat().st_mtime_ns}" for path in files))

    def catch_up(self) -> Changes:
        """Reads what has been written since the last call."""
        try:
            described = self._descriptions() != self._described
            self._changed |= described and self.grows
            if (described and not self.grows) or self._is_due():
                self._begin()
                return Changes(anew=True)
            if self.table is None or not self.table.has_more:
                return Changes()
            changed = self.table.read_updates()
        except (OSError, EditEvalError):  # moved or removed
            self._begin()
            return Changes(anew=True)
        self._changed = self._changed or bool(changed)
        self._complete = None
        return Changes(changed)

    def _is_due(self) -> bool:
        at_work = self.directory.start_at_work
        ended, self._was_at_work = at_work != self._was_at_work, at_work
        since = time.monotonic() - self._read_at
        if self.table is None:
            return since > TRY_AGAIN
        return self._changed and (ended or since > READ_WHOLE_AGAIN)

    # -- lookups --

    def state(self) -> RunState:
        """Returns what the run is doing now."""
        at_work = self.directory.start_at_work is not None
        live = read_live(self.directory) if at_work else None
        if live is not None and (self._live is None or (live.start, live.at) != (self._live.start, self._live.at)):
            self._live, self._live_at = live, time.monotonic()
        if self.fault and not at_work:
            return RunState("damaged", self.fault)
        if at_work:
            silent = self._live is not None and time.monotonic() - self._live_at > SILENT_AFTER
            return RunState("silent" if silent else "working", live=live or self._live)
        self._live = None
        if self._complete is None:
            self._complete = self.table is not None and self.table.is_complete
        return RunState("complete" if self._complete else "stopped")

    def run(self) -> Run:
        """Returns the run with everything read so far. Raises `RunDirectoryError` if nothing could be read."""
        if self.table is None:
            raise RunDirectoryError(self.fault)
        return Run.from_directory(self.directory, self.table)

    def find_edit(self, key: str) -> Edit | None:
        """Returns the edit with that key, if it has a picture."""
        return self.table.edit_of_key(key) if self.table else None

    def find_picture(self, digest: str) -> Picture | None:
        """Returns the samples' picture with that digest; None if there is none."""
        samples = self.table.samples if self.table else ()
        return next(
            (picture for sample in samples for picture in sample.pictures.values() if picture.digest == digest), None
        )
