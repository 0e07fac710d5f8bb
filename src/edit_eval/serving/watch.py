"""Two watches over what a service answers: whether the judge still judges, and whether the policy has begun to cheat.

The **judge** is examined by canaries, edits of clients' own sources whose worth is known: the unchanged source, a grey
picture, another source's edit. Those of the first sources are judged again in every window of pairs, and compared with
how they were judged first.

The **policy** is watched in its own edits: how many are near-copies of their sources, and whether the unchanged source
has a better reward than they have. A window is compared with the first ones source by source, since the edits of one
source are no independent draws: by a rank test, whose level holds whatever the shares look like. `LEVEL` is for each of
three alarms, so that of a hundred windows of a policy that stays as it is at most one has a false one. A policy that
learns is none that stays as it is: so copies are an alarm only where their share has risen by `RISE`, too.

All of it is beside the traffic, in a thread of its own; where that has no time, pairs are left out.
"""

from __future__ import annotations

import io
import queue
import threading
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import NamedTuple

import numpy as np
from PIL import Image
from scipy.stats import binomtest, mannwhitneyu

from edit_eval.pictures import GREY
from edit_eval.records import Judgement
from edit_eval.serving.ledger import Submission
from edit_eval.serving.pictures import Sent, sent
from edit_eval.text import Text

WINDOW = 1024
"""Pairs: a rollout of those who publish theirs."""
BASELINE = 2
"""Windows at the beginning with which all others are compared."""
LEVEL = 0.003
"""Of each of three tests a window."""
RISE = 0.1
"""By which the share of near-copies must have risen."""
SIDE = 32
"""Pixels of the small pictures by which a copy is known."""
COPIED = 12
"""Of 255: in a near-copy no more than one place in two hundred differs by more. Encoding a picture again as JPEG
changes it by less, and an edit of a two-hundredth of the picture by more."""
SOURCES = 12
"""With canaries of their own in a window."""
CANARY, AGAIN = "canary:", "canary again:"
REMEMBERED = 4096
"""Sources whose edits' rewards are known when their canaries come back."""
MOST_WAITING = 256


class Seen(NamedTuple):
    """One pair of a client's."""

    source: str
    copied: bool
    reward: float | None


@dataclass
class Window:
    """What so many pairs came to."""

    seen: list[Seen] = field(default_factory=list)
    canaries: dict[tuple[str, str], float] = field(default_factory=dict)
    """Kind and source -> reward."""
    again: dict[tuple[str, str], float] = field(default_factory=dict)
    """The same of the first window's, judged once more."""
    pays: list[bool] = field(default_factory=list)
    """Of each source with a canary whether the unchanged source is worth more than its edits in their middle."""

    def by_source(self) -> dict[str, float]:
        """The share of near-copies of each source."""
        found = defaultdict(list)
        for one in self.seen:
            found[one.source].append(one.copied)
        return {source: fmean(copied) for source, copied in found.items()}

    @property
    def share(self) -> float:
        """Of near-copies, over all pairs."""
        return fmean(one.copied for one in self.seen) if self.seen else 0.0

    def canary(self, kind: str) -> float | None:
        """The mean reward of a kind of canary."""
        found = [reward for (its, _), reward in self.canaries.items() if its == kind]
        return fmean(found) if found else None


def copies_have_risen(before: Sequence[Window], now: Window) -> bool:
    """Whether there are more near-copies than before; false for at most `LEVEL` of windows of an unchanged policy."""
    was = [share for window in before for share in window.by_source().values()]
    of_now = list(now.by_source().values())
    if not was or not of_now or fmean(of_now) - fmean(was) < RISE:
        return False
    return bool(mannwhitneyu(of_now, was, alternative="greater").pvalue < LEVEL)


def judge_has_changed(first: Mapping[tuple[str, str], float], now: Mapping[tuple[str, str], float]) -> bool:
    """Whether canaries are judged otherwise than at first: more of them higher, or lower, than chance has it."""
    changes = [now[name] - first[name] for name in now if name in first]
    moved = [change for change in changes if abs(change) > 1e-9]
    return bool(moved) and bool(binomtest(sum(change > 0 for change in moved), len(moved)).pvalue < LEVEL)


def not_to_edit_pays(now: Window) -> bool:
    """Whether more of a window's unchanged sources are worth more than their edits than chance has it."""
    if not now.pays:
        return False
    return bool(binomtest(sum(now.pays), len(now.pays), alternative="greater").pvalue < LEVEL)


def is_near_copy(source: Sent, edit: Sent) -> bool:
    """Whether an edit shows what its source shows, by small copies of both. Raises `OSError` for what is damaged."""
    before, after = (_small(one.data) for one in (source, edit))
    differs = np.abs(before - after).max(axis=2)
    return bool((differs > COPIED).mean() <= 1 / 200)


def _small(data: bytes) -> np.ndarray[tuple[int, ...], np.dtype[np.int16]]:
    with Image.open(io.BytesIO(data)) as picture:
        picture.draft("RGB", (SIDE, SIDE))  # a JPEG is decoded at an eighth of its size where that is enough
        small = picture.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BOX)
    return np.asarray(small, dtype=np.int16)


class Watch:
    """Both watches over one service."""

    def __init__(
        self,
        submit: Callable[[Sequence[Submission]], object],
        tell: Callable[[str], None],
        reward: Callable[[Judgement], float | None],
        *,
        window: int = WINDOW,
    ) -> None:
        """`submit` has canaries judged; their judgements come back through `saw`. `reward` is from 0 to 1."""
        self._submit, self._tell, self._reward, self._size = submit, tell, reward, window
        self._queue: queue.Queue[tuple[Submission, Judgement] | None] = queue.Queue(MOST_WAITING)
        self._hatched: dict[str, Submission] = {}  # the sources with canaries in this window, and a pair that has each
        self._kept: list[Submission] = []  # the first window's canaries
        self._first: dict[tuple[str, str], float] = {}  # how those were judged first
        self._rewards: OrderedDict[str, list[float]] = OrderedDict()  # of each source's edits
        self._window = Window()
        self._baseline: list[Window] = []
        self.windows: deque[Window] = deque(maxlen=100)
        self.alarms: list[str] = []
        """What was said."""
        self.left_out = 0
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self._thread.start()

    def saw(self, pair: Submission, judgement: Judgement) -> None:
        """The first judge's judgement of a pair. From any thread; returns at once."""
        try:
            self._queue.put_nowait((pair, judgement))
        except queue.Full:
            self.left_out += 1

    def close(self) -> None:
        """Sees what waits, then ends."""
        self._queue.put(None)
        self._thread.join(10)

    def _run(self) -> None:
        while (one := self._queue.get()) is not None:
            try:
                self._see(*one)
            except Exception as error:  # a watch that fails must not be silent, nor end the service
                self._alarm(Text("the watch failed: {}: {}", type(error).__name__, error))

    def _see(self, pair: Submission, judgement: Judgement) -> None:
        reward, source = self._reward(judgement), pair.pictures["source"]
        if pair.door.startswith((CANARY, AGAIN)):
            if reward is not None:
                self._see_canary(pair.door, source.digest, reward)
            return
        if len(self._hatched) < SOURCES and source.digest not in self._hatched:
            self._hatch(pair)
        try:
            copied = is_near_copy(source, pair.edit)
        except Exception:  # it cannot be decoded, which the judge's worker says, too
            return
        if reward is not None:
            self._rewards.setdefault(source.digest, []).append(reward)
            if len(self._rewards) > REMEMBERED:
                self._rewards.popitem(last=False)
        self._window.seen.append(Seen(source.digest, copied, reward))
        if len(self._window.seen) >= self._size:
            self._turn()

    def _see_canary(self, door: str, source: str, reward: float) -> None:
        again = door.startswith(AGAIN)
        kind = door.removeprefix(AGAIN if again else CANARY)
        if again:
            self._window.again[kind, source] = reward
            return
        if not self._baseline:
            self._first[kind, source] = reward
        self._window.canaries[kind, source] = reward
        if kind == "source" and (of_edits := self._rewards.get(source)):
            self._window.pays.append(reward > median(of_edits))

    def _hatch(self, pair: Submission) -> None:
        """Makes a source's canaries, and has them judged."""
        source, others = pair.pictures["source"], list(self._hatched.values())
        made = {"source": source, "blank": _blank(source)} | ({"shuffled": others[-1].edit} if others else {})
        self._hatched[source.digest] = pair
        canaries = [pair._replace(edit=edit, door=f"{CANARY}{kind}", id="") for kind, edit in made.items()]
        if not self._baseline:
            self._kept += [one._replace(door=one.door.replace(CANARY, AGAIN)) for one in canaries]
        self._submit(canaries)

    def _turn(self) -> None:
        """A window is full."""
        now, self._window = self._window, Window()
        self.windows.append(now)
        self._hatched.clear()
        if len(self._baseline) < BASELINE:
            self._baseline.append(now)
        else:
            self._look(now)
        self._submit(self._kept)

    def _look(self, now: Window) -> None:
        if copies_have_risen(self._baseline, now):
            was = fmean(window.share for window in self._baseline)
            copies = [one.reward for one in now.seen if one.copied and one.reward is not None]
            rest = [one.reward for one in now.seen if not one.copied and one.reward is not None]
            line = Text("the policy copies its sources: {:.0%} of its edits, {:.0%} at first", now.share, was)
            if copies and rest:
                line = Text("{}; copies have the reward {:.2f}, the others {:.2f}", line, fmean(copies), fmean(rest))
            self._alarm(line)
        if judge_has_changed(self._first, now.again):
            self._alarm(Text("the judge judges the same pictures otherwise than at first; do not compare its rewards"))
        if not_to_edit_pays(now):
            count = sum(now.pays)
            self._alarm(Text("of {} sources {} have a better reward unchanged than edited", len(now.pays), count))

    def _alarm(self, line: str) -> None:
        self.alarms.append(line)
        self._tell(Text("alarm: {}", line))


def _blank(like: Sent) -> Sent:
    data = io.BytesIO()
    Image.new("RGB", (like.width, like.height), GREY).save(data, "PNG")
    return sent(data.getvalue(), "a canary")
