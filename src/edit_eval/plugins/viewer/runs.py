"""The runs in some folders, the state of each, and the runs watched by pages."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import re
import secrets
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePath
from typing import Any, TypedDict

import msgspec

from edit_eval.config.yaml_text import parse
from edit_eval.errors import ConfigurationError, EditEvalError
from edit_eval.json_values import JsonObject
from edit_eval.plugins.page.gallery import sample_entry
from edit_eval.plugins.viewer.following import Following, RunState
from edit_eval.plugins.viewer.pictures import ServedPictures
from edit_eval.reporting import formats
from edit_eval.reporting.entries import Entry, entries, headlines
from edit_eval.reporting.language import translate, translate_reason
from edit_eval.reporting.live import read_live
from edit_eval.reporting.table import map_languages
from edit_eval.reporting.verdict import answer_lines
from edit_eval.run import Run
from edit_eval.statistics.aggregates import Coverage
from edit_eval.statistics.battles import JudgeBattles
from edit_eval.statistics.summary import Summary
from edit_eval.store.comparable import run_names
from edit_eval.store.run_directory import RunDirectory, is_copy
from edit_eval.store.run_file import open_run_path
from edit_eval.store.table import first_pictures
from edit_eval.store.votes import count_given
from edit_eval.text import Text

# -- runs watched by pages: read once for all pages, checked again while a page is open, and released afterwards --

LOOK_EVERY = {"working": 0.6, "silent": 1.0}
"""Seconds between two looks at a run that is at work."""
OTHERWISE = 1.5
HEARTBEAT = 15.0
"""Seconds without news after which a page is told that the server is still there."""
LINGER = 20.0
"""Seconds for which a run is still watched after its last page has closed."""


def event(name: str, data: Any) -> str:
    """Returns one message of a stream of server-sent events."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return f"event: {name}\ndata: {text}\n\n"


class Watched:
    """Something that changes, and the pages to be told. `look` runs in a thread, and returns whether there is news."""

    def __init__(self) -> None:
        self._listeners = 0
        self._task: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self.used = time.monotonic()

    @property
    def is_watched(self) -> bool:
        """True if a page is open on it."""
        return self._listeners > 0 or (self._task is not None and not self._task.done())

    def poll_changes(self) -> bool:
        """Looks for changes; returns whether there is news."""
        raise NotImplementedError

    def poll_interval(self) -> float:
        """Seconds until the next look."""
        return OTHERWISE

    def news(self, seen: Any) -> tuple[list[str | bytes], Any]:
        """Returns the messages for a page that has seen `seen`, and what it has seen after them."""
        raise NotImplementedError

    async def messages(self, seen: Any) -> AsyncIterator[str | bytes]:
        """Yields the news since `seen`, and all further news, without end."""
        self._listeners += 1
        try:
            if self._task is None or self._task.done():
                self._task = asyncio.create_task(self._watch())
            yield "retry: 2000\n\n"
            while True:
                waiting = self._news
                messages, seen = await asyncio.to_thread(self.news, seen)
                for message in messages:
                    yield message
                if not messages:
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
            if await asyncio.to_thread(self.poll_changes):
                waiting, self._news = self._news, asyncio.Event()
                waiting.set()
            await asyncio.sleep(self.poll_interval())


class WatchedRun(Watched):
    """One run with the current state of its samples, each with the number of the look at which it last changed."""

    def __init__(self, path: Path, base: str) -> None:
        super().__init__()
        self.path, self.base = path, base
        self.lock = threading.RLock()
        """Held while reading the run, or looking something up in it."""
        self.pictures = ServedPictures(base)
        self.following = Following(path)
        self.boot = secrets.token_hex(4)
        """Identifies the counting of looks: new in each process, and each time everything is read again."""
        self.number = 0
        self._changed: dict[str, int] = {}
        self._entries: dict[str, str] = {}
        self._shared: tuple[tuple[str, tuple[str, ...]], bytes] = ("", ()), b""
        self.state: RunState = self.following.state()
        self._state_sent = self._state_data()
        self._state_number = 0

    # -- looking --

    def poll_changes(self) -> bool:
        """Reads what is new."""
        with self.lock:
            changes = self.following.catch_up()
            state = self.following.state()
            if changes:
                self.number += 1
                self._changed.update(dict.fromkeys(changes.samples, self.number))
                for sample in changes.samples:
                    self._entries.pop(sample, None)
            if changes.anew:
                self.boot, self._changed, self._entries = secrets.token_hex(4), {}, {}
            self.state = state
            state_data = self._state_data()
            news = state_data != self._state_sent
            if news or changes:
                self._state_sent, self._state_number = state_data, self._state_number + 1
            return news or bool(changes)

    def poll_interval(self) -> float:
        """Seconds until the next look."""
        return LOOK_EVERY.get(self.state.kind, OTHERWISE)

    # -- telling --

    @property
    def page_version(self) -> str:
        """What a page made now has seen."""
        return f"{self.boot}.{self.number}"

    @property
    def experiment(self) -> str:
        """Digest of the experiment: pages of another one must be made again."""
        table = self.following.table
        if table is None:
            return ""
        of = table.experiment
        edits = [] if self.following.grows else table.keys  # a service keeps adding edits
        about = [m.name for m in of.edit_models], [j.name for j in of.judges], edits
        return hashlib.sha256(json.dumps(about).encode()).hexdigest()[:16]

    def news(self, seen: Any) -> tuple[list[str | bytes], Any]:
        """Returns the changes for a page that has seen `BOOT.NUMBER`, and the state of the run."""
        seen, seen_state = seen if isinstance(seen, tuple) else (seen, -1)
        with self.lock:
            boot, _, number = str(seen).partition(".")
            messages: list[str | bytes] = []
            if boot == self.boot and number.isdecimal():
                ids = [sample_id for sample_id, changed in self._changed.items() if changed > int(number)]
            else:
                messages.append(event("experiment", {"experiment": self.experiment}))
                table = self.following.table
                ids = list(table.sample_ids) if table and not self.following.grows else []
            if ids:
                messages.append(self._samples(tuple(ids)))
            if seen_state != self._state_number:
                messages.append(event("state", {**self._state_sent, "seen": self.page_version}))
            return messages, (self.page_version, self._state_number)

    def _samples(self, ids: tuple[str, ...]) -> bytes:
        """Returns the message about these samples, shared by pages that get the same one."""
        if self._shared[0] != (self.page_version, ids):
            message = event("samples", f"[{','.join(map(self._entry, ids))}]")
            self._shared = (self.page_version, ids), message.encode("ascii")
        return self._shared[1]

    def _entry(self, sample_id: str) -> str:
        if sample_id not in self._entries:
            if len(self._entries) > 5_000:
                self._entries.clear()
            assert self.following.table is not None
            entry = sample_entry(*self.following.table.results_of(sample_id), self.pictures)
            self._entries[sample_id] = json.dumps(entry, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
        return self._entries[sample_id]

    def _state_data(self) -> JsonObject:
        state, table = self.state, self.following.table
        live = None if state.live is None else msgspec.to_builtins(state.live, str_keys=True)
        if live is not None:
            for device in live["devices"]:  # they are English there
                device |= {name: _translate_activity(device[name]) for name in ("figures", "about")}
            for mean in live["means"]:
                mean["scale"] = {"digits": 2}
        return {
            "kind": state.kind,
            "reason": state.reason or self.following.fault,
            "damage": self.following.directory.damage.note,
            "live": live,
            "samples": len(table.sample_ids) if table else 0,
        }

    def state_data(self) -> JsonObject:
        """Returns the same for a page made now."""
        with self.lock:
            return {**self._state_sent, "seen": self.page_version, "experiment": self.experiment}


_COUNTED = re.compile(r"(?P<sample>.*) and (?P<others>\d+) more(?P<model> · .*)?|(?P<count>\d+) (?P<what>[a-z ]+)")


def _translate_activity(words: str) -> dict[str, str]:
    """Returns in each language what `live.json` has in English of a device: `cat and 3 more`, `10 asked`."""
    found = _COUNTED.fullmatch(words)
    if found is None:
        return map_languages(lambda language: words)
    if found["what"]:
        return map_languages(partial(translate, Text(f"{{}} {found['what']}", found["count"])))
    several = Text("{} and {} more", found["sample"], found["others"])
    return map_languages(partial(translate, Text("{}{}", several, found["model"] or "")))


DEPTH = 3
"""Levels below a folder that are searched for runs."""
MOST_RUNS = 1_000
FIND_EVERY = 5.0
"""Seconds between two searches of the folders."""
MOST_OPEN = 3
"""Runs kept in memory while no page is open on them."""
PICTURES = 3
"""Pictures of each run in the list."""
QUIET = 5.0
"""Seconds between two looks at the files of a run that is not at work."""
_NAMED = re.compile(r"^  (?:type|class_path|data_path):.*\n(?:   .*\n)*", re.M)


def is_run(folder: Path) -> bool:
    """True if a folder looks like a run directory."""
    return any((folder / "config").glob("[0-9][0-9][0-9][0-9].yaml")) or (
        (folder / "lock").exists() and (folder / "holder.json").exists()
    )


def find_runs(places: Sequence[Path]) -> list[Path]:
    """Returns the runs among these places or below them, without following links."""
    runs: dict[Path, None] = {}
    for place in places:
        place = Path(os.path.abspath(place))
        for run in [place] if is_run(place) else _search_folder(place, DEPTH):
            runs.setdefault(run)
            if len(runs) >= MOST_RUNS:
                return list(runs)
    return list(runs)


def _search_folder(folder: Path, depth: int) -> Iterator[Path]:
    try:
        with os.scandir(folder) as inside:
            folders = sorted(e.path for e in inside if e.is_dir(follow_symlinks=False) and not e.name.startswith("."))
    except OSError:
        return
    for path in map(Path, folders):
        if is_run(path):
            yield path
        elif depth > 1:
            yield from _search_folder(path, depth - 1)


class ResultLine(TypedDict):
    """An edit model under a judge."""

    edit_model: str
    judge: str
    score: str
    value: float | None
    ends: Sequence[float] | None
    """Of its interval."""
    mean: str
    interval: str
    bounds: str
    """Of the mean, given the missing scores."""
    scored: int
    total: int


class FailureLine(TypedDict):
    """A reason of missing scores."""

    count: int
    reason: dict[str, str]
    """In each language."""


@dataclass
class Card:
    """A run in the list of all runs."""

    id: str
    path: Path
    name: str = ""
    state: str = "reading"
    """`reading` (not looked at yet), `working`, `stopped`, `complete`, `damaged`."""
    reason: str = ""
    models: list[str] = field(default_factory=list)
    judges: list[str] = field(default_factory=list)
    fraction: float | None = None
    """Settled share, 0 to 1."""
    benchmark: str = ""
    """Its type, and the name of its file or folder."""
    samples: int = 0
    verdict: dict[str, str] = field(default_factory=dict)
    """The answer in each language."""
    votes: int = 0
    """That people have given."""
    votable: bool = False
    """Whether there are two edit models, in a run that keeps votes."""
    results: list[ResultLine] = field(default_factory=list)
    """For each edit model under each judge."""
    failures: list[FailureLine] = field(default_factory=list)
    """The most frequent first."""
    changed: float = 0.0
    """Time of the last record: seconds since 1970."""
    pictures: list[tuple[str, str]] = field(default_factory=list)
    """Files of the first edits in the run, and the digests of their pixels."""
    signature: tuple[Any, ...] = ()
    looked: float = 0.0
    sent: str = ""
    """The state last sent to pages; `number` is that of the message."""
    number: int = 0

    def plain(self) -> JsonObject:
        """Returns the card as sent to the page."""
        own = ("signature", "path", "pictures", "looked", "told", "number")
        shown = {name: value for name, value in vars(self).items() if name not in own}
        return {**shown, "folder": str(self.path.parent), "pictures": len(self.pictures)}


class Runs(Watched):
    """All runs in some places."""

    def __init__(self, places: Sequence[Path], *, base: str = "") -> None:
        super().__init__()
        places = [*map(open_run_path, places)]
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
        """Searches for runs."""
        with self._lock:
            self._found_at = time.monotonic()
            paths = find_runs(self.places)
            ids = [hashlib.sha256(os.fsencode(path)).hexdigest()[:12] for path in paths]
            cards = {run: self.cards.get(run) or Card(run, path) for run, path in zip(ids, paths, strict=True)}
            for card, name in zip(cards.values(), run_names([str(path) for path in paths]), strict=True):
                card.name = name
            self.cards = cards

    def find_again(self) -> None:
        """Searches for runs, unless that was done a moment ago."""
        if time.monotonic() - self._found_at > 1.0:
            self.find()

    def open(self, run: str) -> WatchedRun:
        """Opens the run with that id. Raises `KeyError` if there is none."""
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
            idle = sorted((w.used, other) for other, w in self._open.items() if not w.is_watched and other != run)
            for _, other in idle[: max(0, len(idle) - MOST_OPEN + 1)]:
                del self._open[other]
            return watched

    # -- the state of each run --

    def poll_changes(self) -> bool:
        """Looks at runs that have changed, for at most a second, so that pages hear of the first ones soon."""
        if time.monotonic() - self._found_at > FIND_EVERY:
            self.find()
        until = time.monotonic() + 1.0
        number, there = self._number + 1, tuple(self.cards)
        changed = there != self._there
        for card in list(self.cards.values()):
            if (_update_card(card) or not card.sent) and (sent := json.dumps(card.plain())) != card.sent:
                card.sent, card.number, changed = sent, number, True
            if time.monotonic() > until:
                break
        if changed:
            self._number, self._there = number, there
        return changed

    def poll_interval(self) -> float:
        """Seconds until the next look."""
        return 0.05 if any(card.state == "reading" for card in self.cards.values()) else 1.0

    def news(self, seen: Any) -> tuple[list[str | bytes], Any]:
        """Returns the ids of all runs, and the cards of those that have changed."""
        if seen == self._number and self._there:
            return [], seen
        since = seen if isinstance(seen, int) else -1
        cards = dict(self.cards)
        news = [card.plain() for card in cards.values() if card.number > since or not card.number]
        return [event("runs", {"there": list(cards), "changed": news})], self._number


def _update_card(card: Card) -> bool:
    """Reads the state of a run if it may have changed; returns whether it did."""
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
        _fill_preview(card)
        return True
    if card.signature and time.monotonic() - card.looked < QUIET:
        return False
    card.looked = time.monotonic()
    signature = _signature(card.path)
    if signature == card.signature:
        return False
    card.signature = signature
    card.changed = max((changed for _, changed, _ in signature), default=0.0)
    _fill_preview(card)
    try:
        run = Run(card.path)
        votes = count_given(card.path)
        summary = _read_summary(card.path, card.changed)
        if summary is None or (votes != card.votes and not summary.verdict.opinions):
            summary = run.summary  # where there is no judge, votes are the answer
        card.votes = votes
        if summary.verdict.opinions or votes:
            card.verdict = map_languages(partial(translate, answer_lines(summary.verdict)[0]))
        results = summary.results
        failures = [(failure.count, failure.reason) for failure in summary.failures]
        card.models = list(dict.fromkeys(result.edit_model for result in results))
        card.judges = list(dict.fromkeys(result.judge for result in results))
        card.results = [_line(part) for part in headlines(entries(results))]
        card.failures = [
            {"count": count, "reason": map_languages(partial(translate_reason, reason))}
            for count, reason in sorted(failures, reverse=True)
        ]
        battles = summary.battles
        card.judges += list(battles)
        for judge, of in battles.items():
            lines = list(_battle_lines(judge, of))
            card.results += lines
            card.models = list(dict.fromkeys((*card.models, *(line["edit_model"] for line in lines))))
        if not card.models:  # nobody judges
            card.models = [model.name for model in run.experiment.edit_models]
        card.votable = len(card.models) > 1 and not is_copy(card.path)
        settled = [
            _count_settled(coverage)
            for coverage in [*(of.coverage for of in results), *(of.coverage for of in battles.values())]
        ]
        done, total = (sum(of) for of in zip(*settled, strict=True)) if settled else (0, 0)
        card.fraction = done / total if total else 1.0
        counts = [of.coverage.total for of in results]
        counts += [score.samples for of in battles.values() for score in of.scores.values()]
        card.samples = max(counts, default=0) or len(run.table.samples)
        card.state, card.reason = "complete" if summary.complete else "stopped", ""
    except EditEvalError as error:
        card.state, card.reason = "damaged", str(error)
    except Exception as error:  # records may come from anywhere
        card.state, card.reason = "damaged", f"{type(error).__name__}: {error}"
    return True


def _line(part: Entry) -> ResultLine:
    coverage, overall = part.coverage, part.overall
    return {
        "edit_model": part.edit_model,
        "judge": part.judge,
        "score": part.score,
        "value": overall.mean,
        "ends": overall.ci95,
        "mean": part.number(overall.mean),
        "interval": part.span(overall.ci95),
        "bounds": "" if coverage.complete else part.worst_to_best(overall),
        "scored": coverage.scored,
        "total": coverage.total,
    }


def _battle_lines(judge: str, of: JudgeBattles) -> Iterator[ResultLine]:
    """Yields, for a judge that compares two edits, how often each edit model would be preferred to the average one."""
    score, battles = next(iter(of.scores.items()))
    coverage = of.coverage
    for strength in sorted(battles.strengths, key=lambda strength: -(strength.strength or 0.0)):
        yield {
            "edit_model": strength.edit_model,
            "judge": judge,
            "score": score,
            "value": strength.share,
            "ends": None,
            "mean": formats.NOTHING if strength.share is None else formats.share(strength.share, 1),
            "interval": "",
            "bounds": "",
            "scored": coverage.scored,
            "total": coverage.total,
        }


def _fill_preview(card: Card) -> None:
    """Fills in what is known of a run without reading it: its benchmark, and its first pictures."""
    with contextlib.suppress(OSError, EditEvalError, ValueError, AttributeError):
        if not card.benchmark:
            text = max((card.path / "config").glob("[0-9]*.yaml")).read_text("utf-8")
            section = re.split(r"^(?=\S)", text.partition("benchmark:\n")[2], maxsplit=1, flags=re.M)[0]
            said = parse("".join(_NAMED.findall(section)), "")
            kind = str(said.get("type") or said.get("class_path") or "")
            kind = PurePath(kind).name  # a class in a file
            card.benchmark = " · ".join(filter(None, (kind, PurePath(str(said.get("data_path") or "")).name)))
        if len(card.pictures) < PICTURES:
            card.pictures = first_pictures(card.path, PICTURES)


def _count_settled(coverage: Coverage) -> tuple[int, int]:
    return coverage.total - coverage.by_status.get("pending", 0), coverage.total


def _signature(run: Path) -> tuple[tuple[str, float, int], ...]:
    """Returns a value that changes whenever anything is recorded."""
    files = []
    for name in ("config", "samples", "edits", "replies", "report", "votes"):
        with contextlib.suppress(OSError), os.scandir(run / name) as inside:
            for entry in inside:
                if entry.name == "summary.json" if name == "report" else entry.name[:1].isdigit():
                    state = entry.stat(follow_symlinks=False)
                    later = name in ("report", "votes")  # they come of records, and are none of them
                    files.append((f"{name}/{entry.name}", 0.0 if later else state.st_mtime, state.st_size))
    return tuple(sorted(files))


def _read_summary(run: Path, changed: float) -> Summary | None:
    """Reads the summary of the report, if it is newer than all records, and of this version."""
    path = run / "report" / "summary.json"
    try:
        if path.is_symlink() or path.parent.is_symlink() or path.stat().st_mtime < changed:
            return None
        return msgspec.json.decode(path.read_bytes(), type=Summary)
    except (OSError, ValueError):
        return None
