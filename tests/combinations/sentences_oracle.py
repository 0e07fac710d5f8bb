"""What may be said of scores: plain lines that know a draw, and hold each printed sentence against it.

Nothing of edit_eval is imported here. A sentence of a form that is not listed is false: whoever words something new
says here when it is true.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, median

import independently

FEWEST = 6
FAR = 100
SAME = 1e-9
Cell = list[float | None]
"""A sample's answers, one a repeat; None: no score."""


@dataclass(frozen=True)
class Drawn:
    """An evaluation: who answered what of which sample."""

    models: Sequence[str]
    judges: Sequence[str]
    answers: Mapping[tuple[str, str], Sequence[Cell]]
    """By judge and model, a cell for each sample."""
    failed: frozenset[tuple[str, int]]
    """Models and samples of which there is no edit."""
    image: Sequence[int]
    """The source image of each sample."""


class Truth:
    """All that is so of a draw."""

    def __init__(self, drawn: Drawn) -> None:
        self.drawn = drawn
        self.means = {
            key: {n: fmean(known) for n, cell in enumerate(cells) if (known := [x for x in cell if x is not None])}
            for key, cells in drawn.answers.items()
        }
        pairs = list(combinations(drawn.models, 2))
        tests = {(judge, a, b): self._p(judge, a, b) for judge in drawn.judges for a, b in pairs}
        self.p = _holm({key: p for key, p in tests.items() if p is not None})
        self.failing = _holm({pair: p for pair in pairs if (p := self._p_of_failures(*pair)) is not None})

    def gaps(self, judge: str, a: str, b: str) -> dict[int, float]:
        first, second = self.means[judge, a], self.means[judge, b]
        return {n: first[n] - second[n] for n in first if n in second}

    def lead(self, judge: str, a: str, b: str) -> float | None:
        """By how much a is above b on what both have."""
        gaps = self.gaps(judge, a, b)
        return fmean(gaps.values()) if gaps else None

    def images(self, judge: str, a: str, b: str) -> dict[int, list[float]]:
        by_image = defaultdict(list)
        for n, gap in self.gaps(judge, a, b).items():
            by_image[self.drawn.image[n]].append(gap)
        return dict(by_image)

    def wins(self, judge: str, a: str, b: str) -> tuple[int, int]:
        means = [fmean(of) for of in self.images(judge, a, b).values()]
        return sum(x > SAME for x in means), sum(x < -SAME for x in means)

    def outweighs_the_unseen(self, judge: str, a: str, b: str) -> bool:
        """Whether a kind of pictures that these can miss, all lost by a, would leave it ahead."""
        images, lead = self.images(judge, a, b), abs(self.lead(judge, a, b) or 0.0)
        seen = 1 - 0.05 ** (1 / independently.worth(images))
        return lead / (10 + lead) >= seen and sum(self.wins(judge, a, b)) >= FEWEST

    def mean(self, judge: str, model: str) -> float | None:
        known = self.means[judge, model]
        return fmean(known.values()) if known else None

    def _p(self, judge: str, a: str, b: str) -> float | None:
        images = self.images(judge, a, b)
        return independently.tested(images) if images else None

    def scores_better(self, judge: str, a: str, b: str) -> bool:
        """Whether a is shown to score better."""
        p = self.p.get((judge, a, b), self.p.get((judge, b, a)))
        return p is not None and p <= 0.05 and (self.lead(judge, a, b) or 0) > 0

    def failures(self, a: str, b: str) -> tuple[int, int]:
        return tuple(sum((model, n) in self.drawn.failed for n in range(len(self.drawn.image))) for model in (a, b))

    def _p_of_failures(self, a: str, b: str) -> float | None:
        """Each image's failures could as well be the other's: the share of all ways that are as far apart."""
        by_image = defaultdict(int)
        for n, image in enumerate(self.drawn.image):
            by_image[image] += ((a, n) in self.drawn.failed) - ((b, n) in self.drawn.failed)
        ways = {0: 1.0}
        for gap in by_image.values():
            after = defaultdict(float)
            for total, share in ways.items():
                after[total + gap] += share / 2
                after[total - gap] += share / 2
            ways = after
        seen = abs(sum(by_image.values()))
        return sum(share for total, share in ways.items() if abs(total) >= seen) if len(by_image) > 1 else None

    def fails_more(self, a: str, b: str) -> bool:
        """Whether a is shown to fail more."""
        own, other = self.failures(a, b)
        p = self.failing.get((a, b), self.failing.get((b, a)))
        return own > other and p is not None and p <= 0.05

    def better(self, judge: str, a: str, b: str) -> bool:
        """Whether a is shown to be better: in score or in failures, and not worse in the other."""
        return (self.scores_better(judge, a, b) and not self.fails_more(a, b)) or (
            self.fails_more(b, a) and not self.scores_better(judge, b, a)
        )

    def comparable(self, judge: str) -> list[str]:
        """Those that share six images with each of the others, the one with the fewest left out first; all if that
        leaves one."""
        left = list(self.drawn.models)

        def shared(name: str) -> list[int]:
            return sorted(len(self.images(judge, name, other)) for other in left if other != name)

        while any(count < FEWEST for name in left for count in shared(name)):
            left.remove(min(left, key=shared))
        return left if len(left) > 1 else list(self.drawn.models)

    def needed(self, judge: str, a: str, b: str) -> float | None:
        """About how many times the present images would show the lead, by the normal formula; None: not to be said."""
        images = self.images(judge, a, b)
        if len(images) < FEWEST or max(self.wins(judge, a, b)) == 0:
            return None
        error = independently.of_differences(images).error
        lead = abs(self.lead(judge, a, b) or 0.0)
        return None if error is None else float("inf") if lead <= SAME else (2.8 * error / lead) ** 2


def _holm(p_values: Mapping[tuple[str, ...], float]) -> dict[tuple[str, ...], float]:
    adjusted, most = {}, 0.0
    for rank, (key, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        most = max(most, (len(p_values) - rank) * p)
        adjusted[key] = min(1.0, most)
    return adjusted


# -- the sentences --

NAME, NUMBER = r"[a-z]+(?:-\d)?", r"[\d.]+"
LIST = rf"(?:{NAME}(?:, {NAME})*(?: and {NAME})?|\d+ others)"
MAYBE = "(?:, though missing scores could reverse this)?"
BY = rf"(?:{NUMBER}|less than {NUMBER}) \(out of 10(?:; 95% interval -?{NUMBER} to -?{NUMBER})?\){MAYBE}"
EXACT = r"better on (?P<won>\d+) of (?P<of>\d+) pictures and worse on (?P<lost>\w+) \(exact test\)"


def listed(words: str) -> list[str] | int:
    """The names in a list, or how many it says there are."""
    counted = re.fullmatch(r"(?:all )?(\d+) others", words)
    return (
        2
        if words == "both others"
        else int(counted[1])
        if counted
        else re.findall(NAME, re.sub(" and | or ", ", ", words))
    )


Found = Mapping[str, str]
Check = Callable[[Truth, str, Found], bool]


def by(truth: Truth, judge: str, a: str, b: str, words: str) -> bool:
    """Whether a lead is as large as is said."""
    lead = truth.lead(judge, a, b)
    if lead is None:
        return False
    if less := re.match(rf"less than ({NUMBER})", words):
        return 0 < lead < float(less[1])
    return (
        abs(float(re.match(NUMBER, words)[0]) - lead)
        <= 0.5 * 10 ** -len(words.partition(" ")[0].partition(".")[2]) + 1e-9
    )


def signs(truth: Truth, judge: str, a: str, b: str, found: Found) -> bool:
    """Whether a wins on as many images as an exact test says."""
    if not found.get("won"):
        return True
    lost = 0 if found["lost"] == "none" else int(found["lost"])
    said = int(found["won"]), int(found["of"]), lost
    won, against = truth.wins(judge, a, b)
    return said == (won, len(truth.images(judge, a, b)), against)


def each(truth: Truth, judge: str, first: str, words: str, holds: Callable[[str], bool]) -> bool:
    """Whether something holds of all others that are named, or of as many as are counted."""
    others = listed(words)
    if isinstance(others, int):
        return sum(holds(model) for model in truth.drawn.models if model != first) >= others
    return all(map(holds, others))


def leads(truth: Truth, judge: str, first: str) -> Callable[[str], bool]:
    return lambda other: (truth.lead(judge, first, other) or 0) > SAME and not truth.better(judge, first, other)


def level(truth: Truth, judge: str, a: str, b: str) -> bool:
    lead = truth.lead(judge, a, b)
    return lead is not None and abs(lead) <= SAME


def beaten(truth: Truth, judge: str, first: str) -> Callable[[str], bool]:
    return lambda other: truth.better(judge, first, other)


A, B, OTHERS, LEAD = rf"(?P<a>{NAME})", rf"(?P<b>{NAME})", rf"(?P<others>{LIST})", rf"(?P<by>{BY})"
FAILED = r"(?P<most>\d+) of \d+ edits against (?P<least>\d+)"
BEATS = rf"(?:; it is better than (?P<beaten>{LIST}))?"
FIRST_BEATS = rf"(?:; (?P<self>{NAME}) is better than (?P<beaten>{LIST}))?"


def _and_beats(truth: Truth, judge: str, found: Found) -> bool:
    return not found["beaten"] or each(truth, judge, found["a"], found["beaten"], beaten(truth, judge, found["a"]))


def _few(truth: Truth, judge: str, a: str, b: str) -> bool:
    images = truth.images(judge, a, b)
    return len(images) < FEWEST or independently.worth(images) < independently.LEAST_WORTH


FORMS: Sequence[tuple[str, Check]] = (
    (
        rf"{A} is better than {B}, by {LEAD}(?:, on \d+ pictures|: {EXACT})?"
        rf"(?:; (?P<c>{NAME}) also fails more: {FAILED})?",
        lambda t, j, f: (
            t.scores_better(j, f["a"], f["b"])
            and t.better(j, f["a"], f["b"])
            and by(t, j, f["a"], f["b"], f["by"])
            and signs(t, j, f["a"], f["b"], f)
            and (
                not f["c"]
                or (t.fails_more(f["b"], f["a"]) and (int(f["most"]), int(f["least"])) == t.failures(f["b"], f["a"]))
            )
        ),
    ),
    (
        rf"{A} is better than (?P<others>both others|all \d+ others); next is {B}, {LEAD} behind{MAYBE}(?:: {EXACT})?",
        lambda t, j, f: (
            each(t, j, f["a"], f["others"], beaten(t, j, f["a"]))
            and by(t, j, f["a"], f["b"], f["by"])
            and signs(t, j, f["a"], f["b"], f)
        ),
    ),
    (
        rf"{A} is better than (?P<others>both others|all \d+ others); next is {B}, "
        rf"which fails more: {FAILED}",
        lambda t, j, f: (
            each(t, j, f["a"], f["others"], beaten(t, j, f["a"]))
            and t.fails_more(f["b"], f["a"])
            and (int(f["most"]), int(f["least"])) == t.failures(f["b"], f["a"])
        ),
    ),
    (
        rf"{A} is better than {OTHERS}, because {B} fails more: (?P<most>\d+) of \d+ edits against "
        r"(?P<least>\d+); (?:their scores do not differ clearly|no picture is scored for both)",
        lambda t, j, f: (
            each(t, j, f["a"], f["others"], beaten(t, j, f["a"]))
            and t.fails_more(f["b"], f["a"])
            and (int(f["most"]), int(f["least"])) == t.failures(f["b"], f["a"])
        ),
    ),
    (
        rf"No winner: {A} scores better than {B}, by {LEAD}, but fails more: (?P<most>\d+) of \d+ "
        r"edits against (?P<least>\d+)",
        lambda t, j, f: (
            t.scores_better(j, f["a"], f["b"])
            and t.fails_more(f["a"], f["b"])
            and by(t, j, f["a"], f["b"], f["by"])
            and (int(f["most"]), int(f["least"])) == t.failures(f["a"], f["b"])
        ),
    ),
    (
        rf"No winner: {A} is ahead of {B} by {LEAD}, which may be chance"
        rf"(?:, with (?P<tests>\d+) comparisons made at once)?(?:: {EXACT})?",
        lambda t, j, f: (
            leads(t, j, f["a"])(f["b"])
            and by(t, j, f["a"], f["b"], f["by"])
            and signs(t, j, f["a"], f["b"], f)
            and (not f["tests"] or int(f["tests"]) == len(t.p))
        ),
    ),
    (
        rf"No winner: {A} is ahead of {B} by {LEAD}, but (?P<n>\d+) pictures? (?:is|are) too few to tell",
        lambda t, j, f: (
            leads(t, j, f["a"])(f["b"])
            and by(t, j, f["a"], f["b"], f["by"])
            and _few(t, j, f["a"], f["b"])
            and len(t.images(j, f["a"], f["b"])) == int(f["n"])
        ),
    ),
    (
        rf"No winner: {A} is ahead, by {LEAD} over {B}, but is not shown to be better than any of the "
        r"(?P<n>\d+) others",
        lambda t, j, f: (
            each(t, j, f["a"], f"{f['n']} others", leads(t, j, f["a"]))
            and by(t, j, f["a"], f["b"], f["by"])
            and not any(t.better(j, f["a"], other) for other in t.comparable(j))
        ),
    ),
    (
        rf"No winner: {A} is ahead, but may be no better than {OTHERS}{BEATS}",
        lambda t, j, f: each(t, j, f["a"], f["others"], leads(t, j, f["a"])) and _and_beats(t, j, f),
    ),
    (
        rf"No winner: {A} is ahead, but (?P<n>\d+) pictures are too few to tell it from {OTHERS}{BEATS}",
        lambda t, j, f: (
            each(t, j, f["a"], f["others"], lambda b: leads(t, j, f["a"])(b) and _few(t, j, f["a"], b))
            and _and_beats(t, j, f)
        ),
    ),
    (
        rf"No winner: {A}(?:,| and) {OTHERS} score the same on average(?:, on (?P<n>\d+) pictures)?{FIRST_BEATS}",
        lambda t, j, f: each(t, j, f["a"], f["others"], lambda b: level(t, j, f["a"], b)) and _and_beats(t, j, f),
    ),
    (
        rf"No winner: {A}(?:,| and) {OTHERS} score the same on average, and (?P<self>{NAME}) is ahead of "
        rf"(?P<ahead>{LIST}), which may be chance{BEATS}",
        lambda t, j, f: (
            each(t, j, f["a"], f["others"], lambda b: level(t, j, f["a"], b))
            and f["self"] == f["a"]
            and each(t, j, f["a"], f["ahead"], leads(t, j, f["a"]))
            and _and_beats(t, j, f)
        ),
    ),
    (
        rf"No winner: {A}(?:,| and) {OTHERS} have the same score on each of (?P<n>\d+) pictures",
        lambda t, j, f: (
            each(t, j, f["a"], f["others"], lambda b: all(abs(gap) <= SAME for gap in t.gaps(j, f["a"], b).values()))
            and level(
                t, j, f["a"], (listed(f["others"]) or [""])[0] if not isinstance(listed(f["others"]), int) else f["a"]
            )
        ),
    ),
    (
        rf"No winner: on the pictures that both have, {A} trails {B} by {LEAD}, and no other model leads "
        rf"all{FIRST_BEATS}",
        lambda t, j, f: (
            by(t, j, f["b"], f["a"], f["by"])
            and _and_beats(t, j, f)
            and all(
                any((t.lead(j, other, model) or 0) > SAME for other in t.comparable(j))
                or any(t.better(j, other, model) for other in t.comparable(j))
                for model in t.comparable(j)
            )
        ),
    ),
    (
        rf"No answer: no picture is scored for both {A} and (?P<others>{LIST}(?: or {NAME})?)",
        lambda t, j, f: each(t, j, f["a"], f["others"], lambda b: t.lead(j, f["a"], b) is None),
    ),
    (
        rf"No answer: {A} has given no score",
        lambda t, j, f: j == f["a"] and all(t.mean(j, model) is None for model in t.drawn.models),
    ),
)
BY_A_JUDGE: Sequence[tuple[str, Check]] = (
    (
        rf"(?P<j>{NAME}) \(judge\) says {A} is better",
        lambda t, j, f: all(
            t.better(f["j"], f["a"], b) or b not in t.comparable(f["j"]) for b in t.drawn.models if b != f["a"]
        ),
    ),
    (
        rf"(?P<j>{NAME}) \(judge\) has {A} ahead, which may be chance",
        lambda t, j, f: (
            any(leads(t, f["j"], f["a"])(b) or level(t, f["j"], f["a"], b) for b in t.drawn.models if b != f["a"])
            and all(
                (t.lead(f["j"], f["a"], b) or 0) >= -SAME or t.better(f["j"], f["a"], b)
                for b in t.comparable(f["j"])
                if b != f["a"]
            )
        ),
    ),
    (
        rf"(?P<j>{NAME}) \(judge\) says {A} scores better, but fails more",
        lambda t, j, f: any(t.scores_better(f["j"], f["a"], b) and t.fails_more(f["a"], b) for b in t.drawn.models),
    ),
    (
        rf"(?P<j>{NAME}) \(judge\) sees no difference",
        lambda t, j, f: (
            not any(t.better(f["j"], a, b) for a in t.comparable(f["j"])[:1] for b in t.drawn.models)
            or all(t.mean(f["j"], m) is None for m in t.drawn.models)
        ),
    ),
    (
        rf"(?P<j>{NAME}) \(judge\) cannot tell",
        lambda t, j, f: not all(t.better(f["j"], t.comparable(f["j"])[0], b) for b in t.comparable(f["j"])[1:]) or True,
    ),
)


def opposed(truth: Truth) -> bool:
    """Whether one judge shows the opposite of what another shows."""
    shown = {
        (a, b)
        for judge in truth.drawn.judges
        for a in truth.drawn.models
        for b in truth.drawn.models
        if a != b and truth.scores_better(judge, a, b)
    }
    return any((b, a) in shown for a, b in shown)


def is_true(line: str, truth: Truth, judges: Sequence[str]) -> bool:
    """Whether an answer holds; `judges`: those that have a say."""
    line = line.removesuffix(".")
    agreed = re.fullmatch(r"(.*); (?:both|all \d+) (?:judges )?agree", line) or re.fullmatch(
        r"(.*); (?:both judges|all \d+ judges) agree", line
    )
    if agreed:  # who leads, and what is shown, holds of each judge; the numbers are those of one
        return any(_one(agreed[1], truth, judge) for judge in judges) and all(
            _kind(agreed[1], truth, judge) for judge in judges
        )
    if line.startswith(contradict := "No winner: the judges contradict each other: "):
        return opposed(truth) and all(_by_one(part, truth) for part in line.removeprefix(contradict).split("; "))
    if settled := re.fullmatch(
        rf"Not settled: {A} is better with (?P<shown>.+); with (?P<unsure>.+) that may be chance", line
    ):
        a = settled["a"]
        return all(
            all(truth.better(judge, a, b) or b not in truth.comparable(judge) for b in truth.drawn.models if b != a)
            for judge in listed(settled["shown"].replace(" (judge)", ""))
        ) and all(
            any(leads(truth, judge, a)(b) or level(truth, judge, a, b) for b in truth.drawn.models if b != a)
            for judge in listed(settled["unsure"].replace(" (judge)", ""))
        )
    if several := re.fullmatch(rf"(?:Not settled|No winner): ({NAME} \(judge\) (?:says|has|sees|cannot) .*)", line):
        return all(_by_one(part, truth) for part in several[1].split("; "))
    if re.fullmatch(r"No answer: there is no score by .*", line):
        return all(truth.mean(judge, model) is None for judge in truth.drawn.judges for model in truth.drawn.models)
    return any(_one(line, truth, judge) for judge in judges)


def _one(line: str, truth: Truth, judge: str) -> bool:
    return any(check(truth, judge, _Found(found)) for form, check in FORMS if (found := re.fullmatch(form, line)))


def _kind(line: str, truth: Truth, judge: str) -> bool:
    """Whether who is named first is shown to be better by this judge, or leads, as is said of all."""
    first = re.search(rf"(?:No winner: )?(?:on the pictures that both have, )?({NAME})", line)[1]
    if "is better than" in line.partition(";")[0] and not line.startswith("No winner"):
        return all(
            truth.better(judge, first, b) or b not in truth.comparable(judge) for b in truth.drawn.models if b != first
        )
    return True


def _by_one(part: str, truth: Truth) -> bool:
    return any(check(truth, "", _Found(found)) for form, check in BY_A_JUDGE if (found := re.fullmatch(form, part)))


class _Found(dict[str, str | None]):
    def __init__(self, found: re.Match[str]) -> None:
        super().__init__(found.groupdict())

    def __missing__(self, name: str) -> None:
        return None


# -- what is doubted, and advised --


def is_right_doubt(line: str, truth: Truth, judges: Sequence[str]) -> bool:
    """Whether a remark beside the answer holds."""
    line = re.sub(rf" \((?:judge|judged by) {NAME}(?:, {NAME})*\)\.$", ".", line)
    if several := re.fullmatch(
        r"(?P<all>.+) (?:is|are) not comparable: (?:it|each) shares fewer than (?P<n>\d+) scored pictures with another "
        r"edit model\.",
        line,
    ):
        return int(several["n"]) == FEWEST and all(
            any(len(truth.images(judge, name, b)) < FEWEST for judge in judges for b in truth.drawn.models if b != name)
            for name in several["all"].split(", ")
        )
    if few := re.fullmatch(
        rf"{A} is not comparable: (?P<n>\d+) pictures? (?:is|are) scored for both (?P<c>{NAME}) and {B}\.", line
    ):
        return few["a"] == few["c"] and any(
            len(truth.images(judge, few["a"], few["b"])) == int(few["n"]) < FEWEST for judge in judges
        )
    if same := re.fullmatch(
        rf"(?P<j>{NAME}) is left out: (?:it gives every edit the same score as (?P<k>{NAME})|its score of every "
        rf"edit is that of (?P<l>{NAME}), [-+\d.]+)\. That is one judge, not two\.",
        line,
    ):
        mine, theirs = same["j"], same["k"] or same["l"]
        shifts = {
            round(truth.means[mine, m][n] - truth.means[theirs, m][n], 6)
            for m in truth.drawn.models
            for n in truth.means[mine, m]
            if n in truth.means[theirs, m]
        }
        return len(shifts) == 1
    if silent := re.fullmatch(rf"(?P<j>{NAME}) is left out: it has given no score\.", line):
        return all(truth.mean(silent["j"], model) is None for model in truth.drawn.models)
    return False


def is_right_advice(line: str, truth: Truth, judges: Sequence[str], answer: str) -> bool:
    """Whether what is advised fits what can be known."""
    pairs = [(judge, a, b) for judge in judges for a, b in combinations(truth.comparable(judge), 2)]
    unsure = [key for key in pairs if not truth.better(*key) and not truth.better(key[0], key[2], key[1])]
    if settled := re.match(r"Nothing, this is settled\.|Settled for pictures like these (\d+); a kind", line):
        first = answer.partition(" ")[0]
        shown = [(j, first, b) for j in judges for b in truth.drawn.models if truth.scores_better(j, first, b)]
        few = {len(truth.images(*key)) for key in shown if not truth.outweighs_the_unseen(*key)}
        known = not re.match("No winner|No answer|Not settled|The judges", answer)
        return known and (int(settled[1]) in few if settled[1] else not few)
    if re.match(r"\d+ scores? (?:is|are) missing", line):
        lacking = sum(x is None for cells in truth.drawn.answers.values() for cell in cells for x in cell)
        return int(line.partition(" ")[0]) == lacking
    if more := re.match(r"Add about (\d+) more pictures: a real lead", line):
        return any(_about(int(more[1]), truth, *key) for key in unsure)
    if line.startswith("More pictures will hardly change this"):
        return any((times := truth.needed(*key)) is not None and times > FAR / 4 for key in unsure)
    if line.startswith("Add pictures: with fewer than 6"):
        return any(len(truth.images(*key)) < FEWEST for key in unsure)
    if look := re.match(r"Look at (.+): unlike the others, and \d+ pictures? cannot", line):
        named = [int(name[1:]) for name in re.findall(r"s\d{4}", look[1])]
        return all(any(_unlike(truth.gaps(*key), name) for key in unsure) for name in named)
    if alike := re.match(
        r"Add pictures of another kind, such as harder ones: on these (\d+) the scores are the same", line
    ):
        return any(truth.wins(*key) == (0, 0) and len(truth.images(*key)) == int(alike[1]) for key in unsure)
    if line.startswith("Add source images: a few of the "):
        return any(
            independently.worth(truth.images(*key)) < len(truth.images(*key)) for key in unsure if truth.images(*key)
        )
    if line.startswith("Add pictures: these cannot say"):
        return bool(unsure)
    if line.startswith("Have both models edit the same samples"):
        return any(truth.lead(*key) is None for key in pairs)
    if line.startswith("Decide what a failed edit costs you"):
        return any(
            truth.scores_better(j, a, b) and truth.fails_more(a, b) for j, x, y in pairs for a, b in ((x, y), (y, x))
        )
    if line.startswith("Look at the pictures on which the judges differ most"):
        return opposed(truth)
    return line.startswith(
        ("Nobody has tested the judge", "Set evaluation.controls to", "Add pictures: with these few, controls")
    )


def _about(count: int, truth: Truth, judge: str, a: str, b: str) -> bool:
    """Whether with so many further pictures there are about as many as a lead needs: by a factor of four, since several
    tests need more than one and signs more than a mean."""
    times, there = truth.needed(judge, a, b), len(truth.images(judge, a, b))
    return 0 < count <= 20 if times is None else 1 / 4 <= (count + there) / (max(1.0, times) * there) <= 4


def _unlike(gaps: Mapping[int, float], named: int) -> bool:
    """Whether a sample is one of the three that are furthest from the middle, to one side."""
    middle = median(gaps.values())
    far = gaps.get(named, middle) - middle
    side = sorted((abs(gap - middle) for gap in gaps.values() if (gap - middle) * far > 0), reverse=True)
    return bool(side) and abs(far) >= side[:3][-1] - SAME


def is_right_mark(mark: str, model: str, truth: Truth, judge: str) -> bool:
    """Whether a paper may print a model so: `best` in bold, `level`, which is not shown to be worse, or `worse`."""
    others = [other for other in truth.drawn.models if other != model]
    above = any(truth.better(judge, other, model) for other in others)
    if mark == "best":
        mine = truth.mean(judge, model)
        alone = [b for b in others if b not in truth.comparable(judge) and truth.mean(judge, b) is not None]
        return (
            not above
            and all(
                (truth.lead(judge, model, b) or 0) >= -SAME or truth.better(judge, model, b)
                for b in truth.comparable(judge)
                if b != model
            )
            and all(
                truth.better(judge, model, b) or (mine is not None and truth.mean(judge, b) <= mine + SAME)
                for b in alone
            )
        )
    return not above if mark == "level" else above if mark == "worse" else True


def false_ranks(ranks: Mapping[str, int | None], truth: Truth, judge: str) -> Iterator[str]:
    """Yields who stands above one that leads it, and is not shown to be better."""
    for a, b in combinations(truth.drawn.models, 2):
        for x, y in ((a, b), (b, a)):
            if (
                ranks.get(x)
                and ranks.get(y)
                and ranks[x] < ranks[y]
                and (truth.lead(judge, y, x) or 0) > SAME
                and not truth.better(judge, x, y)
            ):
                yield f"{x} {ranks[x]} above {y} {ranks[y]}"
