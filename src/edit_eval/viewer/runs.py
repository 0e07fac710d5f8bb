"""Which runs there are, how each stands, and those that pages look at."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import json
import os
import re
import secrets
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

import msgspec

from edit_eval.config.yaml_text import parse
from edit_eval.errors import ConfigurationError, EditEvalError
from edit_eval.records import Status
from edit_eval.reporting import formats
from edit_eval.reporting.entries import Entry, entries, headlines
from edit_eval.reporting.page.gallery import sample_entry
from edit_eval.reporting.progress.view import read_live
from edit_eval.run import Run
from edit_eval.store.comparable import run_names
from edit_eval.store.run_directory import RunDirectory
from edit_eval.text import Text
from edit_eval.viewer.following import Following, RunState
from edit_eval.viewer.pictures import ServedPictures

# -- runs that pages look at: read once for all, looked at again while anybody looks, and let go of afterwards --

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


DEPTH = 3
"""How far below a folder runs are looked for."""
MOST_RUNS = 1_000
FIND_EVERY = 5.0
"""Seconds between two searches of the folders."""
MOST_OPEN = 3
"""Runs that are kept read while no page is open on them."""
PICTURES = 3
"""Of each run in the list."""
QUIET = 5.0
"""Seconds between two looks at the files of a run at which nobody works."""
_NAMED = re.compile(r"^  (?:type|class_path|data_path):.*\n(?:   .*\n)*", re.M)
_HEAD = 64 << 10
"""Bytes of a journal that are looked at for pictures."""


def is_run(folder: Path) -> bool:
    """Whether a folder looks like a run directory."""
    return any((folder / "config").glob("[0-9][0-9][0-9][0-9].yaml")) or (
        (folder / "lock").exists() and (folder / "holder.json").exists()
    )


def find_runs(places: Sequence[Path]) -> list[Path]:
    """The runs that these are, or that lie in them. No link is followed below them."""
    found: dict[Path, None] = {}
    for place in places:
        place = Path(os.path.abspath(place))
        for run in [place] if is_run(place) else _below(place, DEPTH):
            found.setdefault(run)
            if len(found) >= MOST_RUNS:
                return list(found)
    return list(found)


def _below(folder: Path, depth: int) -> Iterator[Path]:
    try:
        with os.scandir(folder) as inside:
            folders = sorted(e.path for e in inside if e.is_dir(follow_symlinks=False) and not e.name.startswith("."))
    except OSError:
        return
    for path in map(Path, folders):
        if is_run(path):
            yield path
        elif depth > 1:
            yield from _below(path, depth - 1)


@dataclass
class Card:
    """A run in the list of all."""

    id: str
    path: Path
    name: str = ""
    state: str = "reading"
    """`reading` (not looked at yet), `working`, `stopped`, `complete`, `damaged`."""
    reason: str = ""
    models: list[str] = field(default_factory=list)
    judges: list[str] = field(default_factory=list)
    fraction: float | None = None
    """How much is settled, 0 to 1."""
    benchmark: str = ""
    """The type, and the name of the file or folder."""
    samples: int = 0
    results: list[dict[str, Any]] = field(default_factory=list)
    """Of each edit model under each judge: `edit_model`, `judge`, `score`, `value` and its interval `ends`; `mean`,
    `interval` and `bounds` (what the mean could be with what is missing) as they are written; `scored`, `total`."""
    failures: list[dict[str, Any]] = field(default_factory=list)
    """What has no score: `count` and `reason`, the most frequent first."""
    changed: float = 0.0
    """When anything was last recorded: seconds since 1970."""
    pictures: list[tuple[str, str]] = field(default_factory=list)
    """Of the first edits: their files in the run, and the digests of their pixels."""
    signature: tuple[Any, ...] = ()
    looked: float = 0.0
    told: str = ""
    """What pages were told last, and in `number` with which message."""
    number: int = 0

    def plain(self) -> dict[str, Any]:
        """As the page gets it."""
        own = ("signature", "path", "pictures", "looked", "told", "number")
        shown = {name: value for name, value in vars(self).items() if name not in own}
        return {**shown, "folder": str(self.path.parent), "pictures": len(self.pictures)}


class Runs(Watched):
    """All runs in some places."""

    def __init__(self, places: Sequence[Path], *, base: str = "") -> None:
        super().__init__()
        for place in places:
            if not place.is_dir():
                raise ConfigurationError(
                    Text("{} does not exist; name a run directory, or a folder with some in it", place)
                )
        self.places, self._base = tuple(places), base
        self.cards: dict[str, Card] = {}
        self._open: dict[str, WatchedRun] = {}
        self._lock, self._reading = threading.RLock(), threading.Lock()
        self._found_at = -FIND_EVERY
        self._number = 0
        self._there: tuple[str, ...] = ()
        self.find()

    def find(self) -> None:
        """Looks for runs."""
        with self._lock:
            self._found_at = time.monotonic()
            paths = find_runs(self.places)
            ids = [hashlib.sha256(os.fsencode(path)).hexdigest()[:12] for path in paths]
            found = {one: self.cards.get(one) or Card(one, path) for one, path in zip(ids, paths, strict=True)}
            for card, name in zip(found.values(), run_names([str(path) for path in paths]), strict=True):
                card.name = name
            self.cards = found

    def find_again(self) -> None:
        """Looks for runs, unless that was done a moment ago."""
        if time.monotonic() - self._found_at > 1.0:
            self.find()

    def open(self, run: str) -> WatchedRun:
        """The run of that id, read. Raises `KeyError` for one that there is not."""
        with self._lock:
            if run not in self.cards:
                self.find_again()
            path = self.cards[run].path
            if run in self._open:
                watched = self._open[run]
                watched.used = time.monotonic()
                return watched
        with self._reading:
            with self._lock:
                if run in self._open:
                    return self._open[run]
            watched = WatchedRun(path, f"{self._base}/run/{run}")
        with self._lock:
            self._open[run] = watched
            idle = sorted((w.used, one) for one, w in self._open.items() if not w.is_watched and one != run)
            for _, one in idle[: max(0, len(idle) - MOST_OPEN + 1)]:
                del self._open[one]
            return watched

    # -- how each stands --

    def look(self) -> bool:
        """Looks at those that have changed; at most for a second, so that pages hear of the first ones soon."""
        if time.monotonic() - self._found_at > FIND_EVERY:
            self.find()
        until = time.monotonic() + 1.0
        number, there = self._number + 1, tuple(self.cards)
        changed = there != self._there
        for card in list(self.cards.values()):
            if (_look_at(card) or not card.told) and (told := json.dumps(card.plain())) != card.told:
                card.told, card.number, changed = told, number, True
            if time.monotonic() > until:
                break
        if changed:
            self._number, self._there = number, there
        return changed

    def every(self) -> float:
        """Seconds until the next look."""
        return 0.05 if any(card.state == "reading" for card in self.cards.values()) else 1.0

    def news(self, seen: Any) -> tuple[list[str | bytes], Any]:
        """Which runs there are, and those of them that have changed."""
        if seen == self._number and self._there:
            return [], seen
        since = seen if isinstance(seen, int) else -1
        cards = dict(self.cards)
        news = [card.plain() for card in cards.values() if card.number > since or not card.number]
        return [event("runs", {"there": list(cards), "changed": news})], self._number


def _look_at(card: Card) -> bool:
    """Reads how a run stands, where that may have changed; returns whether it did."""
    directory = RunDirectory(card.path)
    at_work = directory.start_at_work
    if at_work is not None:
        live = read_live(directory)
        card.state, card.reason, card.signature = "working", "", ()
        if live is not None:
            card.fraction, card.changed = live.fraction, live.at
            card.models = list(dict.fromkeys(mean.edit_model for mean in live.means)) or card.models
            card.judges = list(dict.fromkeys(mean.judge for mean in live.means)) or card.judges
            card.results, card.failures = [], []
        _glance(card)
        return True
    if card.signature and time.monotonic() - card.looked < QUIET:
        return False
    card.looked = time.monotonic()
    signature = _signature(card.path)
    if signature == card.signature:
        return False
    card.signature = signature
    card.changed = max((changed for _, changed, _ in signature), default=0.0)
    _glance(card)
    try:
        run = Run(card.path)
        summary = _written(card.path, card.changed) or run.summary
        results = summary["results"]
        failures = [(int(one["count"]), str(one["reason"])) for one in summary["failures"]]
        card.models = list(dict.fromkeys(one["edit_model"] for one in results))
        card.judges = list(dict.fromkeys(one["judge"] for one in results))
        card.results = [_line(part) for part in headlines(entries(results))]
        card.failures = [{"count": count, "reason": reason} for count, reason in sorted(failures, reverse=True)]
        battles = summary.get("battles") or {}
        card.judges += list(battles)
        for judge, of in battles.items():
            lines = list(_battle_lines(judge, of))
            card.results += lines
            card.models = list(dict.fromkeys((*card.models, *(line["edit_model"] for line in lines))))
        settled = [_settled(one["coverage"]) for one in (*results, *battles.values())]
        done, total = (sum(of) for of in zip(*settled, strict=True)) if settled else (0, 0)
        card.fraction = done / total if total else 1.0
        counts = [of["coverage"]["total"] for of in results]
        counts += [score["samples"] for of in battles.values() for score in of["scores"].values()]
        card.samples = max(counts, default=0)
        card.state, card.reason = "complete" if summary["status"] == "complete" else "stopped", ""
    except EditEvalError as error:
        card.state, card.reason = "damaged", str(error)
    except Exception as error:  # records may be a stranger's
        card.state, card.reason = "damaged", f"{type(error).__name__}: {error}"
    return True


def _line(part: Entry) -> dict[str, Any]:
    coverage, overall = part.coverage, part.overall
    return {
        "edit_model": part.edit_model,
        "judge": part.judge,
        "score": part.score,
        "value": overall["mean"],
        "ends": overall["ci95"],
        "mean": part.number(overall["mean"]),
        "interval": part.span(overall["ci95"]),
        "bounds": "" if coverage["scored"] == coverage["total"] else part.worst_to_best(overall),
        "scored": coverage["scored"],
        "total": coverage["total"],
    }


def _battle_lines(judge: str, of: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Of a judge that compares two edits: for each edit model how often it would be preferred to the average one."""
    score, found = next(iter(of["scores"].items()))
    coverage = of["coverage"]
    for one in sorted(found["strengths"], key=lambda one: -(one["strength"] or 0.0)):
        yield {
            "edit_model": one["edit_model"],
            "judge": judge,
            "score": score,
            "value": one["share"],
            "ends": None,
            "mean": formats.NOTHING if one["share"] is None else formats.share(one["share"], 1),
            "interval": "",
            "bounds": "",
            "scored": coverage["scored"],
            "total": coverage["total"],
        }


def _glance(card: Card) -> None:
    """What can be seen of a run without reading it: its benchmark, and its first pictures."""
    with contextlib.suppress(OSError, EditEvalError, ValueError, AttributeError):
        if not card.benchmark:
            text = max((card.path / "config").glob("[0-9]*.yaml")).read_text("utf-8")
            section = re.split(r"^(?=\S)", text.partition("benchmark:\n")[2], maxsplit=1, flags=re.M)[0]
            said = parse("".join(_NAMED.findall(section)), "")
            kind = str(said.get("type") or said.get("class_path") or "")
            kind = PurePath(kind).name  # of a class in a file
            card.benchmark = " · ".join(filter(None, (kind, PurePath(str(said.get("data_path") or "")).name)))
        if len(card.pictures) < PICTURES:
            card.pictures = list(itertools.islice(_first_edits(card.path), PICTURES))


def _first_edits(run: Path) -> Iterator[tuple[str, str]]:
    for path in sorted((run / "edits").glob("[0-9]*.jsonl"))[:1]:
        with path.open("rb") as file:
            lines = file.read(_HEAD).splitlines()
        for line in lines:
            with contextlib.suppress(ValueError):
                edit = json.loads(line)
                if isinstance(edit, dict) and edit.get("image") and edit.get("status") == Status.OK.value:
                    yield str(edit["image"]), str(edit.get("pixels"))


def _settled(coverage: dict[str, Any]) -> tuple[int, int]:
    return coverage["total"] - coverage["by_status"].get("pending", 0), coverage["total"]


def _signature(run: Path) -> tuple[tuple[str, float, int], ...]:
    """What changes when anything is recorded."""
    found = []
    for name in ("config", "samples", "edits", "replies", "report"):
        with contextlib.suppress(OSError), os.scandir(run / name) as inside:
            for entry in inside:
                if entry.name == "summary.json" if name == "report" else entry.name[:1].isdigit():
                    state = entry.stat(follow_symlinks=False)
                    found.append((f"{name}/{entry.name}", 0.0 if name == "report" else state.st_mtime, state.st_size))
    return tuple(sorted(found))


def _written(run: Path, changed: float) -> dict[str, Any] | None:
    """The summary of the report, if it is younger than all records."""
    path = run / "report" / "summary.json"
    try:
        if path.is_symlink() or path.parent.is_symlink() or path.stat().st_mtime < changed:
            return None
        found: dict[str, Any] = msgspec.json.decode(path.read_bytes())
        entries(found["results"])
        whole = found["status"] in ("complete", "incomplete") and isinstance(found["failures"], list)
        return found if whole else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
