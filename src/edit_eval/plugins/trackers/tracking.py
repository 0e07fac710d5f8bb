"""The engine's side of trackers: one process each, which the run neither waits for nor depends on.

Each process reads the run's `live.json` itself, so nothing is queued here. The engine reads their messages once a
second, without waiting, and gives them a moment to finish when the report is drawn.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from edit_eval.config.components import import_registered, locate
from edit_eval.config.schema import Configuration
from edit_eval.errors import ConfigurationError
from edit_eval.execution.doors import Follower
from edit_eval.files.durable import write_durably
from edit_eval.json_values import Unchecked
from edit_eval.store.run_directory import RunDirectory
from edit_eval.text import Text
from edit_eval.trackers.contract import Tracker

FOLDER = "trackers"
"""Folder in the run directory: one `NAME.json` each, with the id by which the tracker knows the run."""
PATIENCE = 5.0
"""Seconds that the end of a run waits for all trackers together."""
LOOK_EVERY = 1.0

_left_alone: list[subprocess.Popen[bytes]] = []
"""Processes that go on alone until they are done or their time is up; no one waits for them."""


def tracker_of(name: str) -> type[Tracker]:
    """Returns the class of a registered tracker. Raises `ConfigurationError` if there is none."""
    tracker: type[Tracker] = import_registered("tracker", name)
    return tracker


def refuse_what_is_missing(names: Iterable[str]) -> None:
    """Raises `ConfigurationError` for a tracker whose package is not installed here."""
    missing = [name for name in names if not tracker_of(name).is_here()]
    if missing:
        extras = [tracker_of(name).extra for name in missing]
        package = f"edit-eval[{','.join(extras)}]" if all(extras) else " ".join(tracker_of(n).package for n in missing)
        raise ConfigurationError(
            Text("trackers: {: and } not installed here; `pip install '{}'`, or leave out `trackers`", missing, package)
        )


class Trackers(Follower):
    """Tells trackers of a run, each in a process of its own. `tick` passes on their messages."""

    order: Mapping[str, Any] = {}
    """Further fields of their processes' orders; tests use them to hurry."""

    def __init__(self, wanted: Mapping[str, Mapping[str, Any]]) -> None:
        """Raises `ConfigurationError` if a tracker's package is missing."""
        refuse_what_is_missing(wanted)
        self.wanted = wanted
        self._at_work: list[_Process] = []
        self._looked = 0.0

    @classmethod
    def of(cls, configuration: Configuration) -> Trackers | None:
        """Returns None if the configuration wants no tracker."""
        return cls(configuration.trackers) if configuration.trackers else None

    @contextlib.contextmanager
    def started(self, directory: RunDirectory, note: Callable[[str], None], *, work: bool) -> Iterator[None]:
        """Tells the trackers of a start; without `work`, only those that have not heard of the run's end.

        Their messages go to `note`. If the block raises, they are told that the run will go on.
        """
        self._note = note
        for name, parameters in self.wanted.items():
            process = _Process(name, directory, parameters, self.order)
            if work or not process.is_finished:
                try:
                    process.begin()
                except OSError as error:
                    self._note(
                        Text("{}: cannot be started ({}); the run goes on without it", process.title, error.strerror)
                    )
                else:
                    self._at_work.append(process)
        try:
            yield
        finally:
            for process in self._at_work:
                process.let_go()
            self._at_work = []

    def tick(self, now: float) -> None:
        """Passes on their messages once a second."""
        if now - self._looked >= LOOK_EVERY:
            self._looked = now
            self._hear()

    def finish(self, files: Sequence[Path], settled: Callable[[], int]) -> None:
        """Reports the end of the run, with the files of its report, and waits a moment until that is sent.

        `settled` counts the edits and judgements that need no more work; it is called if a tracker is at work.
        """
        if self._at_work:
            kept = {path.name: str(path) for path in files if path.is_file()}
            message = {"finished": True, "files": kept, "settled": settled()}
            for process in self._at_work:
                process.say(message)
        until = time.monotonic() + PATIENCE
        while self._at_work and (left := until - time.monotonic()) > 0:
            select.select([process.out for process in self._at_work], [], [], left)
            self._hear()
        for process in self._at_work:
            self._note(Text("{}: still sending; it goes on by itself, for at most a few minutes", process.title))

    def _hear(self) -> None:
        for process in list(self._at_work):
            for note in process.hear():
                self._note(Text("{}: {}", process.title, note))
            if process.over:
                self._at_work.remove(process)
                process.let_go()


class _Process:
    def __init__(
        self, name: str, directory: RunDirectory, parameters: Mapping[str, Any], order: Mapping[str, Any]
    ) -> None:
        self.title, self._directory = tracker_of(name).title or name, directory
        self._file = directory.path / FOLDER / f"{name}.json"
        self._parameters, self._more = dict(parameters), order
        self._name, self._heard, self.over = name, b"", False
        try:
            self._state: Unchecked = json.loads(self._file.read_text("utf-8"))
        except (OSError, ValueError):
            self._state = {}
        if not isinstance(self._state, dict) or self._state.get("parameters") != self._parameters:
            self._state = {}  # the run goes to another place there

    @property
    def is_finished(self) -> bool:
        return bool(self._state.get("finished"))

    def begin(self) -> None:
        known = isinstance(self._state.get("id"), str)
        self._state = {"id": self._state["id"] if known else uuid.uuid4().hex[:12], "parameters": self._parameters}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "edit_eval.plugins.trackers.process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self.out = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._in, False)
        os.set_blocking(self.out, False)
        self.say(
            {
                "tracker": locate("tracker", self._name),
                "run": str(self._directory.path.absolute()),
                "start": self._directory.number,
                "configuration": str(self._directory.last_configuration()),
                "id": self._state["id"],
                "known": known,
                "parameters": self._parameters,
                **self._more,
            }
        )

    def say(self, message: Mapping[str, Any]) -> None:
        """Sends a message; a pipe holds far more than the two lines ever sent."""
        with contextlib.suppress(OSError):
            os.write(self._in, json.dumps(message).encode() + b"\n")

    def hear(self) -> list[str]:
        """Returns new messages for people; never waits."""
        gone = False
        try:
            while data := os.read(self.out, 1 << 16):
                self._heard += data
            gone = True
        except BlockingIOError:
            pass
        *lines, self._heard = self._heard.split(b"\n")
        notes = []
        for line in lines:
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if note := message.get("note"):
                notes.append(note if "done" not in message else Text("{}; the run goes on without it", note))
            if begun := message.get("begun"):
                self._keep(id=begun)
            if "done" in message:
                self.over = True
                if message["done"]:
                    self._keep(finished=True)
        if gone and not self.over:
            self.over = True
            notes.append(Text("its process has died; the run goes on without it"))
        return notes

    def _keep(self, **news: Any) -> None:
        self._state.update(news)
        with contextlib.suppress(OSError):  # a later start is then another run there
            write_durably(json.dumps(self._state, indent=1).encode(), self._file)

    def let_go(self) -> None:
        """Closes the pipes; their end is the last thing it hears."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()
        _left_alone[:] = [process for process in (*_left_alone, self._process) if process.poll() is None]
