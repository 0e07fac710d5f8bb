"""Runs that pages look at: read once for all of them, looked at again while anybody looks, and let go of afterwards."""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec

from edit_eval.reporting.page.gallery import sample_entry
from edit_eval.viewer.following import Following, RunState
from edit_eval.viewer.pictures import ServedPictures

LOOK_EVERY = {"working": 0.6, "silent": 1.0}
"""Seconds between two looks at a run that is at work."""
OTHERWISE = 1.5
HEARTBEAT = 15.0
"""Seconds after which a page that is told nothing is told that somebody is there."""
LINGER = 20.0
"""Seconds for which a run is looked at after the last page has gone."""


def event(name: str, data: Any) -> str:
    """One message of a stream of server-sent events."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return f"event: {name}\ndata: {text}\n\n"


class Watched:
    """Something that changes, and those who want to know. `look` is called in a thread, and says whether it did."""

    def __init__(self) -> None:
        self._listeners = 0
        self._task: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self.used = time.monotonic()

    @property
    def is_watched(self) -> bool:
        """Whether a page is open on it."""
        return self._listeners > 0 or (self._task is not None and not self._task.done())

    def look(self) -> bool:
        """Whether there is something new to tell."""
        raise NotImplementedError

    def every(self) -> float:
        """Seconds until the next look."""
        return OTHERWISE

    def news(self, seen: Any) -> tuple[list[str | bytes], Any]:
        """The messages for one who has seen so much; and what it has seen then."""
        raise NotImplementedError

    async def messages(self, seen: Any) -> AsyncIterator[str | bytes]:
        """A stream without end: what is new since, and from then on."""
        self._listeners += 1
        try:
            if self._task is None or self._task.done():
                self._task = asyncio.create_task(self._watch())
            yield "retry: 2000\n\n"
            while True:
                waiting = self._news
                found, seen = await asyncio.to_thread(self.news, seen)
                for message in found:
                    yield message
                if not found:
                    yield ": here\n\n"
                try:
                    await asyncio.wait_for(waiting.wait(), HEARTBEAT)
                except TimeoutError:
                    pass
        finally:
            self._listeners -= 1
            self.used = time.monotonic()

    async def _watch(self) -> None:
        while self._listeners or time.monotonic() - self.used < LINGER:
            if self._listeners:
                self.used = time.monotonic()
            if await asyncio.to_thread(self.look):
                waiting, self._news = self._news, asyncio.Event()
                waiting.set()
            await asyncio.sleep(self.every())


class WatchedRun(Watched):
    """One run: its samples as they stand, each with the number of the look at which it last changed."""

    def __init__(self, path: Path, base: str) -> None:
        super().__init__()
        self.path, self.base = path, base
        self.lock = threading.RLock()
        """Held by whoever reads, or looks something up in what was read."""
        self.pictures = ServedPictures(base)
        self.following = Following(path)
        self.boot = secrets.token_hex(4)
        """What numbers of looks are counted from: another one in each process, and each time that all is read anew."""
        self.number = 0
        self._changed: dict[str, int] = {}
        self._entries: dict[str, str] = {}
        self._shared: tuple[tuple[str, tuple[str, ...]], bytes] = ("", ()), b""
        self.state: RunState = self.following.state()
        self._told = self._state_data()
        self._state_number = 0

    # -- looking --

    def look(self) -> bool:
        """Takes in what has come."""
        with self.lock:
            changes = self.following.catch_up()
            state = self.following.state()
            if changes:
                self.number += 1
                self._changed.update(dict.fromkeys(changes.samples, self.number))
                for one in changes.samples:
                    self._entries.pop(one, None)
            if changes.anew:
                self.boot, self._changed, self._entries = secrets.token_hex(4), {}, {}
            self.state = state
            told = self._state_data()
            news = told != self._told
            if news or changes:
                self._told, self._state_number = told, self._state_number + 1
            return news or bool(changes)

    def every(self) -> float:
        """Seconds until the next look."""
        return LOOK_EVERY.get(self.state.kind, OTHERWISE)

    # -- telling --

    @property
    def seen(self) -> str:
        """What a page that is made now has seen."""
        return f"{self.boot}.{self.number}"

    @property
    def experiment(self) -> str:
        """What tells one experiment from another: pages of another one have to be made anew."""
        matrix = self.following.matrix
        if matrix is None:
            return ""
        edits = [] if matrix.experiment.grows else matrix.edit_keys  # those of a service come and come
        about = [m.name for m in matrix.edit_models], [j.name for j in matrix.judges], edits
        return hashlib.sha256(json.dumps(about).encode()).hexdigest()[:16]

    def news(self, seen: Any) -> tuple[list[str | bytes], Any]:
        """What has changed for a page that has seen `BOOT.NUMBER`, and how the run stands."""
        seen, told = seen if isinstance(seen, tuple) else (seen, -1)
        with self.lock:
            boot, _, number = str(seen).partition(".")
            found: list[str | bytes] = []
            if boot == self.boot and number.isdecimal():
                ids = [one for one, changed in self._changed.items() if changed > int(number)]
            else:
                found.append(event("experiment", {"experiment": self.experiment}))
                matrix = self.following.matrix
                ids = list(self.following.samples) if matrix and not matrix.experiment.grows else []
            if ids:
                found.append(self._samples(tuple(ids)))
            if told != self._state_number:
                found.append(event("state", {**self._told, "seen": self.seen}))
            return found, (self.seen, self._state_number)

    def _samples(self, ids: tuple[str, ...]) -> bytes:
        """The message about these samples; pages that are told the same share it."""
        if self._shared[0] != (self.seen, ids):
            message = event("samples", f"[{','.join(map(self._entry, ids))}]")
            self._shared = (self.seen, ids), message.encode("ascii")
        return self._shared[1]

    def _entry(self, sample_id: str) -> str:
        if sample_id not in self._entries:
            if len(self._entries) > 5_000:
                self._entries.clear()
            entry = sample_entry(*self.following.of_sample(sample_id), self.pictures)
            self._entries[sample_id] = json.dumps(entry, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
        return self._entries[sample_id]

    def _state_data(self) -> dict[str, Any]:
        """How the run stands, as pages are told."""
        state, matrix = self.state, self.following.matrix
        live = None if state.live is None else msgspec.to_builtins(state.live, str_keys=True)
        if live is not None:
            for mean in live["means"]:
                mean["scale"] = {"digits": 2}
        return {
            "kind": state.kind,
            "reason": state.reason or self.following.fault,
            "damage": self.following.directory.damage.note,
            "live": live,
            "samples": len(self.following.samples) if matrix else 0,
        }

    def state_data(self) -> dict[str, Any]:
        """The same for the page that is made now."""
        with self.lock:
            return {**self._told, "seen": self.seen, "experiment": self.experiment}
