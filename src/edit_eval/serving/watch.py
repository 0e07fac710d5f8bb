"""Two watches over what a service answers: whether the judge still judges, and whether the policy has begun to cheat.

The **judge** is examined by canaries. Some are edits of clients' own sources whose worth is known: the unchanged
source, a grey picture, another source's edit. Some are drawn scenes, each with its right edit and as it was. Those of
the first window and the scenes are judged again in every window of pairs. They are compared with how they were judged
first, by the noise that an audit found of this judge where it has a passport; and right edits with unchanged sources.

The **policy** is watched in its own edits: how many are near-copies of their sources, whether the unchanged source has
a better reward than they have, and, where a second judge is asked about a share of them, whether their reward has risen
away from what that one says. A window is compared with the first ones source by source, since the edits of one source
are no independent draws: by a rank test, whose level holds whatever the shares look like. `LEVEL` is for each of four
alarms, so that of a hundred windows of a policy that stays as it is at most one has a false one. A policy that learns
is none that stays as it is: so there is an alarm only where the difference has risen by `RISE`, too.

All of it is beside the traffic, in a thread of its own; where that has no time, pairs are left out.
"""

from __future__ import annotations

import io
import math
import queue
import threading
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple

import numpy as np
from PIL import Image

from edit_eval.config.components import named
from edit_eval.edit_models.contract import EditRequest
from edit_eval.errors import EditEvalError
from edit_eval.pictures import GREY, read_picture
from edit_eval.records import Judgement
from edit_eval.serving.ledger import Submission
from edit_eval.serving.pictures import Sent, sent
from edit_eval.text import Text

WINDOW = 1024
"""Pairs: a rollout of those who publish theirs."""
BASELINE = 2
"""Windows at the beginning with which all others are compared."""
LEVEL = 0.002
"""Of each of four tests a window."""
RISE = 0.1
"""By which the share of near-copies, or the difference between two judges, must have risen."""
SIDE = 32
"""Pixels of the small pictures by which a copy is known."""
COPIED = 12
"""Of 255: in a near-copy no more than one place in two hundred differs by more. Encoding a picture again as JPEG
changes it by less, and an edit of a two-hundredth of the picture by more."""
SOURCES = 12
"""With canaries of their own in a window."""
SCENES, SCENE_SIDE = 2, 256
"""Drawn scenes a category, and their width in pixels."""
RIGHT, COPY = "right", "copy"
"""What a drawn scene's canaries show: what was asked for, and the scene as it was."""
LEAST_NOISE = 0.02
"""Of the scale: a single answer that falls the other way is no judge that has changed."""
REMEMBERED = 4096
"""Sources whose edits' rewards are known when their canaries come back."""
OF_A_SOURCE = 64
"""Of its edits' rewards, the last ones."""
LOOKED_AT = 4
"""Edits of one source in a window that are decoded to see whether they are copies: more of one source tell little."""
SMALL_SOURCES = 256
"""Whose small copies are kept for the next edit: to decode them again would cost as much as the edits."""
WINDOWS = 8
"""The last ones, which are remembered with all that was seen in them."""
MOST_WAITING = 256

CanaryName = tuple[str, str]
"""A canary: its kind, and the digest of its source."""


class Seen(NamedTuple):
    """One pair of a client's."""

    source: str
    copied: bool | None
    """None where it was not looked at."""
    reward: float | None


class SeenAnswer(NamedTuple):
    """What has come back about a pair."""

    pair: Submission
    judgement: Judgement
    """The first judge's."""
    second: Judgement | None = None
    """The second's, which comes later: then the pair has been seen before."""


@dataclass
class Window:
    """What so many pairs came to."""

    seen: list[Seen] = field(default_factory=list)
    canaries: dict[CanaryName, float] = field(default_factory=dict)
    """Their rewards."""
    again: dict[CanaryName, float] = field(default_factory=dict)
    """The same of the first window's and of drawn scenes, judged once more."""
    apart: list[tuple[str, float]] = field(default_factory=list)
    """Of each edit that a second judge has scored, too: its source, and its reward less the second's."""
    pays: list[bool] = field(default_factory=list)
    """Of each source with a canary whether the unchanged source is worth more than its edits in their middle."""

    def by_source(self) -> dict[str, float]:
        """The share of near-copies of each source."""
        return _means((one.source, one.copied) for one in self.seen if one.copied is not None)

    @property
    def share(self) -> float:
        """Of near-copies, over the pairs that were looked at."""
        looked_at = [one.copied for one in self.seen if one.copied is not None]
        return fmean(looked_at) if looked_at else 0.0

    def of_canaries(self) -> dict[str, float]:
        """The mean reward of each kind of canary."""
        scenes = ((name, reward) for name, reward in self.again.items() if name[0] in (RIGHT, COPY))
        return _means((kind, reward) for (kind, _), reward in {**dict(scenes), **self.canaries}.items())


def _means(of: Iterable[tuple[str, float]]) -> dict[str, float]:
    """The mean of each source."""
    found: dict[str, list[float]] = defaultdict(list)
    for source, value in of:
        found[source].append(value)
    return {source: fmean(values) for source, values in found.items()}


def has_risen(before: Iterable[float], now: Iterable[float]) -> bool:
    """Whether numbers, one a source, are larger than before by `RISE` and more than chance has it."""
    from scipy.stats import mannwhitneyu  # takes a second and 60 MB to import

    was, of_now = list(before), list(now)
    if not was or not of_now or fmean(of_now) - fmean(was) < RISE:
        return False
    return bool(mannwhitneyu(of_now, was, alternative="greater").pvalue < LEVEL)


def copies_have_risen(before: Sequence[Window], now: Window) -> bool:
    """Whether there are more near-copies than before; false for at most `LEVEL` of windows of an unchanged policy."""
    return has_risen((share for window in before for share in window.by_source().values()), now.by_source().values())


def judges_part(before: Sequence[Window], now: Window) -> bool:
    """Whether rewards have risen away from what a second judge says of the same edits."""
    return has_risen((gap for window in before for gap in _means(window.apart).values()), _means(now.apart).values())


def judge_has_changed(
    first: Mapping[CanaryName, float], now: Mapping[CanaryName, float], noise: float | None = None
) -> bool:
    """Whether canaries are judged otherwise than at first.

    With `noise`, the standard deviation of one edit's rewards when it is asked again: whether their mean has moved by
    more than that. Without: whether more of them are higher, or lower, than chance has it.
    """
    changes = [now[name] - first[name] for name in now if name in first]
    if noise is not None and changes:
        error = max(noise, LEAST_NOISE) * math.sqrt(2 / len(changes))
        return math.erfc(abs(fmean(changes)) / error / math.sqrt(2)) < LEVEL
    from scipy.stats import binomtest

    moved = [change for change in changes if abs(change) > 1e-9]
    return bool(moved) and bool(binomtest(sum(change > 0 for change in moved), len(moved)).pvalue < LEVEL)


def not_to_edit_pays(now: Window) -> bool:
    """Whether more of a window's unchanged sources are worth more than their edits than chance has it."""
    if not now.pays:
        return False
    from scipy.stats import binomtest

    return bool(binomtest(sum(now.pays), len(now.pays), alternative="greater").pvalue < LEVEL)


def right_above_copy(found: Mapping[CanaryName, float]) -> tuple[float, int]:
    """In how many drawn scenes the right edit has the better reward, a tie being half, and in how many both have one.

    A judge that is right in nine scenes of ten is so in no more than five of ten once in six hundred times.
    """
    both = [
        (found[RIGHT, scene], found[COPY, scene]) for kind, scene in found if kind == RIGHT and (COPY, scene) in found
    ]
    return sum(0.5 * (right == copy) + (right > copy) for right, copy in both), len(both)


def is_near_copy(source: Sent, edit: Sent) -> bool:
    """Whether an edit shows what its source shows, by small copies of both. Raises `OSError` for what is damaged."""
    if source.digest == edit.digest:
        return True
    # Of two sizes each place is another one's, a little: from larger pictures, so that it is a very little.
    side = SIDE if (source.width, source.height) == (edit.width, edit.height) else 8 * SIDE
    if (before := _smalls.get((source.digest, side))) is None:
        before = _smalls[source.digest, side] = _small(source.data, side)
        if len(_smalls) > SMALL_SOURCES:
            _smalls.popitem(last=False)
    differs = np.abs(before - _small(edit.data, side)).max(axis=2)
    return bool((differs > COPIED).mean() <= 1 / 200)


_smalls: OrderedDict[tuple[str, int], np.ndarray[tuple[int, ...], np.dtype[np.int16]]] = OrderedDict()


def _small(data: bytes, side: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int16]]:
    with Image.open(io.BytesIO(data)) as picture:
        picture.draft("RGB", (side, side))  # a JPEG is decoded at an eighth of its size where that is enough
        small = picture.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BOX)
    return np.asarray(small, dtype=np.int16)


@cache
def drawn_scenes(language: str) -> tuple[Submission, ...]:
    """Drawn scenes, each with its right edit and as it was. Raises `EditEvalError` where they cannot be kept."""
    ladder, painter = named("benchmark", "ladder"), named("edit_model", "scene_rungs")
    drawn = painter(painter.Parameters())
    found = []
    for sample in ladder(ladder.Parameters(language=language, scenes=SCENES, size=SCENE_SIDE)).samples():
        if sample.tags[0] not in (RIGHT, COPY) or "brief" in sample.cluster:
            continue
        files = {name: Path(picture.path).read_bytes() for name, picture in sample.pictures.items()}
        opened = {name: read_picture(io.BytesIO(data), name)[0] for name, data in files.items()}
        edit = drawn.edit(EditRequest(pictures=opened, instruction=sample.instruction, seed=0), lambda step, of: None)
        data = io.BytesIO()
        edit.save(data, "PNG")
        source = sent(files["source"], sample.id)
        canary = sent(data.getvalue(), sample.id)
        found.append(Submission({"source": source}, sample.instruction, canary, sample.category, canary=sample.tags[0]))
    return tuple(found)


class Watch:
    """Both watches over one service."""

    def __init__(
        self,
        submit: Callable[[Sequence[Submission]], object],
        tell: Callable[[str], None],
        reward: Callable[[Judgement], float | None],
        *,
        window: int = WINDOW,
        language: str = "en",
        noise: Callable[[], float | None] = lambda: None,
    ) -> None:
        """`submit` has canaries judged; their judgements come back through `saw`. `reward` is from 0 to 1, and `noise`
        what a passport says of it, if there is one: the standard deviation when the same is asked again."""
        self._submit, self._tell, self._reward, self._size = submit, tell, reward, window
        self._language, self._noise = language, noise
        self._queue: queue.Queue[SeenAnswer | None] = queue.Queue(MOST_WAITING)
        self._looked_at: Counter[str] = Counter()  # of each source in this window
        self._hatched: dict[str, Submission] = {}  # the sources with canaries in this window, and a pair that has each
        self._kept: list[Submission] = []  # the first window's canaries, and drawn scenes
        self._first: dict[CanaryName, float] = {}  # how those were judged first
        self._rewards: OrderedDict[str, deque[float]] = OrderedDict()  # of each source's edits
        self._window = Window()
        self._baseline: list[Window] = []
        self.windows: deque[Window] = deque(maxlen=WINDOWS)
        self.alarms: list[str] = []
        """What was said."""
        self.left_out = 0
        self.scenes: Future[tuple[Submission, ...]] = Future()
        """Drawn once the first pair was seen."""
        self._scenes_kept = False
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self._thread.start()

    def saw(self, pair: Submission, judgement: Judgement, second: Judgement | None = None) -> None:
        """The first judge's judgement of a pair, later with the second's. From any thread; returns at once."""
        try:
            self._queue.put_nowait(SeenAnswer(pair, judgement, second))
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

    def _see(self, pair: Submission, judgement: Judgement, second: Judgement | None) -> None:
        reward, source = self._reward(judgement), pair.pictures["source"]
        if second is not None:
            other = self._reward(second)
            if reward is not None and other is not None:
                self._window.apart.append((source.digest, reward - other))
            return
        if pair.canary:
            if reward is not None:
                self._see_canary(pair, reward)
            return
        if not self.windows and not self._window.seen:
            threading.Thread(target=self._draw, name="scenes", daemon=True).start()
        if len(self._hatched) < SOURCES and source.digest not in self._hatched:
            self._hatch(pair._replace(of=judgement.sample_id))
        copied = None
        if self._looked_at[source.digest] < LOOKED_AT:
            try:
                copied = is_near_copy(source, pair.edit)
            except Exception:  # it cannot be decoded, which the judge's worker says, too
                return
            self._looked_at[source.digest] += 1
        if reward is not None:
            self._rewards.setdefault(source.digest, deque(maxlen=OF_A_SOURCE)).append(reward)
            if len(self._rewards) > REMEMBERED:
                self._rewards.popitem(last=False)
        self._window.seen.append(Seen(source.digest, copied, reward))
        if len(self._window.seen) >= self._size:
            self._turn()

    def _see_canary(self, pair: Submission, reward: float) -> None:
        name = pair.canary, pair.pictures["source"].digest
        if name in self._first and pair.again:
            self._window.again[name] = reward
            return
        if not self._baseline or pair.canary in (RIGHT, COPY):
            self._first[name] = reward
        self._window.canaries[name] = reward
        if pair.canary == "source" and (of_edits := self._rewards.get(name[1])):
            self._window.pays.append(reward > median(of_edits))

    def _hatch(self, pair: Submission) -> None:
        """Makes a source's canaries, and has them judged."""
        source, others = pair.pictures["source"], list(self._hatched.values())
        made = {"source": source, "blank": _blank(source)} | ({"shuffled": others[-1].edit} if others else {})
        self._hatched[source.digest] = pair
        canaries = [pair._replace(edit=edit, canary=kind, id="", door="") for kind, edit in made.items()]
        if not self._baseline:
            self._kept += [one._replace(again=True) for one in canaries]
        self._submit(canaries)

    def _turn(self) -> None:
        """A window is full."""
        now, self._window = self._window, Window()
        self.windows.append(now)
        self._hatched.clear()
        self._looked_at.clear()
        if len(self._baseline) < BASELINE:
            self._baseline.append(now)
        else:
            self._look(now)
        if self.scenes.done() and not self._scenes_kept:
            self._kept += [one._replace(again=True) for one in self.scenes.result()]
            self._scenes_kept = True
        self._submit(self._kept)

    def _draw(self) -> None:
        """Seconds, in a thread of its own: meanwhile pairs are seen."""
        found: tuple[Submission, ...] = ()
        try:
            found = drawn_scenes(self._language)
        except EditEvalError as error:
            self._tell(Text("note: no drawn scenes among the canaries: {}", error))
        finally:
            self.scenes.set_result(found)

    def _look(self, now: Window) -> None:
        if copies_have_risen(self._baseline, now):
            was = fmean(window.share for window in self._baseline)
            copies = [one.reward for one in now.seen if one.copied and one.reward is not None]
            rest = [one.reward for one in now.seen if one.copied is False and one.reward is not None]
            line = Text("the policy copies its sources: {:.0%} of its edits, {:.0%} at first", now.share, was)
            if copies and rest:
                line = Text("{}; copies have the reward {:.2f}, the others {:.2f}", line, fmean(copies), fmean(rest))
            self._alarm(line)
        if judge_has_changed(self._first, now.again, self._noise()):
            self._alarm(Text("the judge judges the same pictures otherwise than at first; do not compare its rewards"))
        right, scenes = right_above_copy(now.again)
        if scenes >= 2 * SCENES and right <= scenes / 2:
            self._alarm(
                Text("the judge puts the right edit above the unchanged source in {:g} of {} scenes", right, scenes)
            )
        if not_to_edit_pays(now):
            count = sum(now.pays)
            self._alarm(Text("of {} sources {} have a better reward unchanged than edited", len(now.pays), count))
        if judges_part(self._baseline, now):
            gap, was = (fmean(gap for _, gap in of) for of in (now.apart, [g for w in self._baseline for g in w.apart]))
            self._alarm(Text("rewards lie {:+.2f} above what the second judge gives, {:+.2f} at first", gap, was))

    def _alarm(self, line: str) -> None:
        self.alarms.append(line)
        self._tell(Text("alarm: {}", line))


def _blank(like: Sent) -> Sent:
    data = io.BytesIO()
    Image.new("RGB", (like.width, like.height), GREY).save(data, "PNG")
    return sent(data.getvalue(), "a canary")
