"""What must come of a draw, by docs/ alone: plain lines over planted answers, with no engine, no key and no record.

Nothing of edit_eval is imported here. Whoever adds a feature to it says here what the feature comes to.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from combinations import planted
from combinations.drawing import (
    BROKEN,
    IDS_LEFT_OUT,
    PAID,
    PRICE,
    STORM,
    Draw,
    Row,
    column_names,
    judges,
    model_of,
    table,
    takes_mask,
)

HEADLINES = {"followed": "overall", "measure": "change", "drift": "change", "start": "change"}
"""Of the judges whose headline is not `score`."""
AGAIN = ("unparseable", "cut_off", "out_of_range")
"""Ends of an answer after which the question is put again."""

Outcome = tuple[str, float | None]
"""A status, and a score where it is `ok`."""


class Edit(NamedTuple):
    """What a column shows of a sample."""

    status: str
    code: str = ""
    before: str = ""
    """The code of the edit before it, of a round or a turn; empty: a source."""
    made_in: str = ""
    """The column in which it was made: an earlier round's where it is kept."""
    kept: bool = False


class Judgement(NamedTuple):
    """What a judge makes of an edit: each score that applies, and how it came."""

    scores: dict[str, Outcome]
    headline: str
    again: bool = False
    """Whether the headline came only when a question was put again."""

    @property
    def outcome(self) -> Outcome:
        return self.scores[self.headline]


class Place(NamedTuple):
    """Which of a column's edits, judged for which time."""

    sample: str
    seed: int
    repeat: int


class Battle(NamedTuple):
    """Two columns' edits of a sample, compared for which time."""

    a: str
    b: str
    sample: str
    seed: int
    repeat: int


class Expected:
    """What must come of a draw; while a `storm` lasts more edits fail.

    A judge that never says the same twice is held to what it said last, in the `folder` of the draw: whatever it said
    before was lost with the process that asked."""

    def __init__(self, draw: Draw, *, storm: bool = False, folder: Path = Path()) -> None:
        self.draw, self.salt, self.folder = draw, draw["salt"], folder
        self.rows = {row.id: row for row in table(draw)}
        self.columns = column_names(draw)
        self.judges = judges(draw)
        self.fates = {
            "edit_failed": draw["edit_failed"],
            "edit_refused": draw["edit_refused"],
            "storm": STORM if storm else 0,
        }
        self.edit = cache(self._edit)
        self.judgement = cache(self._judgement)

    # -- which samples --

    @cached_property
    def samples(self) -> list[str]:
        """The samples that were asked for: all that counts is about these."""
        draw, taken, samples = self.draw, Counter[str](), []
        named = [*self.rows][:-IDS_LEFT_OUT] if draw["ids"] else [*self.rows]
        for row in self.rows.values():
            passes = (
                (not draw["only"] or row.category == "c1")
                and (not draw["difficulty"] or row.difficulty == "easy")
                and (not draw["tags"] or row.tag == "warm")
                and row.id in named
            )
            if passes and not (draw["limit"] and taken[row.category] >= draw["limit"]):
                taken[row.category] += 1
                samples.append(row.id)
        return samples

    @cached_property
    def made(self) -> list[str]:
        """Those, and the samples whose edits they are made from."""
        wanted = {before for sample in self.samples for before in self.chain(sample)}
        return [sample for sample in self.rows if sample in wanted]

    def chain(self, sample: str) -> list[str]:
        """The sample, then those that it follows."""
        samples = [sample]
        while before := self.rows[samples[-1]].follows:
            samples.append(before)
        return samples

    def first(self, sample: str) -> Row:
        """The row whose picture a sample begins with."""
        return self.rows[self.chain(sample)[-1]]

    def skipped(self, sample: str) -> bool:
        return self.first(sample).picture == BROKEN

    @property
    def refused(self) -> str:
        """Why there is nothing to do; empty where there is."""
        if not self.samples:
            return "passes all the filters"
        return "nothing to edit" if all(map(self.skipped, self.samples)) else ""

    @property
    def seeds(self) -> range:
        return range(self.draw["edit_seeds"])

    @property
    def repeats(self) -> range:
        return range(self.draw["repeats"])

    @property
    def readings(self) -> range:
        return range(self.draw["readings"])

    def places(self) -> Iterator[Place]:
        """Where each column is judged, so far as it counts."""
        yield from itertools.starmap(Place, itertools.product(self.samples, self.seeds, self.repeats))

    # -- edits --

    def _edit(self, column: str, sample: str, seed: int) -> Edit:
        if self.skipped(sample):
            return Edit("skipped")
        chain, _, turn = column.partition("@")
        if turn:
            return self._later_round(column, chain if turn == "2" else f"{chain}@{int(turn) - 1}", sample, seed)
        before = ""
        if follows := self.rows[sample].follows:
            earlier = self.edit(column, follows, seed)
            if earlier.status != "ok":
                return Edit(earlier.status)
            before = earlier.code
        rewriter = chain.partition("+")[2]
        if rewriter and not planted.rewritten(self.salt, self.rows[sample].of or sample):
            return Edit("edit_failed")
        return self._made(column, sample, seed, rewriter, 1, before, before)

    def _later_round(self, column: str, before: str, sample: str, seed: int) -> Edit:
        """An edit that is told what the critic says of the one before; or that one, where it is good enough."""
        earlier = self.edit(before, sample, seed)
        if earlier.status != "ok":
            return Edit(earlier.status)
        status, score = self.judgement(before, "critic", Place(sample, seed, 0)).outcome
        if status != "ok":
            return Edit("edit_failed")
        assert score is not None
        if earlier.kept or (self.draw["stop"] and score >= self.draw["stop"]):
            return Edit("ok", earlier.code, earlier.code, earlier.made_in, kept=True)
        rewriter, turn = column.partition("@")[0].partition("+")[2], int(column.partition("@")[2])
        seen = (earlier.code if self.draw["last"] else "") + "+" + earlier.code
        return self._made(column, sample, seed, rewriter, turn, seen, earlier.code)

    def can_be_made(self, column: str, sample: str) -> bool:
        """False for a finished edit that is not there, or follows such a one: it is known before anything starts."""
        of_folder = model_of(self.draw, column.partition("@")[0].partition("+")[0]) == "folder"
        return not of_folder or all(planted.in_folder(self.salt, each) for each in self.chain(sample))

    def _made(self, column: str, sample: str, seed: int, rewriter: str, turn: int, seen: str, before: str) -> Edit:
        model = model_of(self.draw, column.partition("@")[0].partition("+")[0])
        if model == "folder":  # one picture, whatever it was asked for
            status = "ok" if planted.in_folder(self.salt, sample) else "edit_missing"
            return Edit(status, planted.child("folder", sample, 0, "", 1, ""), before, column)
        of = self.rows[sample].of or sample
        seen += planted.in_mask(planted.mask_of(self.salt, of)) if takes_mask(self.draw, model) else ""
        code = planted.child(model, of, seed, rewriter, turn, seen)
        return Edit(planted.fate(self.salt, code, self.fates), code, before, column)

    # -- judgements of one edit --

    def _judgement(self, column: str, judge: str, place: Place) -> Judgement:
        sample, seed, repeat = place
        edit, headline = self.edit(column, sample, seed), HEADLINES.get(judge, "score")
        if edit.status != "ok":
            names = {"followed": ("overall", "followed", "rest"), "change": ("change", "there")}
            known = names.get(judge) or names.get(headline) or (headline,)
            return Judgement(dict.fromkeys(known, (edit.status, None)), headline)
        bad = self.judges[judge]
        if headline == "change":
            value = planted.change(self.salt, judge, edit.code, self._held_against(judge, edit, sample), bad)
            return Judgement(
                {"change": ("undefined", None) if value is None else ("ok", value), "there": ("ok", 1.0)}, headline
            )
        if judge == "followed":
            return self._followed(edit, repeat)
        if judge == "recorded":
            given = [
                planted.recorded(self.salt, edit.made_in, sample, seed, repeat, reading, bad)
                for reading in self.readings
            ]
        else:
            asked = model_of(self.draw, judge)
            given = [
                planted.answer(self.salt, *about, bad, self._said[about] - 1 if "restless" in bad else 0)
                for about in ((asked, edit.code, repeat, reading) for reading in self.readings)
            ]
        return Judgement({"score": mean_of(given)}, headline)

    @cached_property
    def _said(self) -> Counter[tuple[str, str, int, int]]:
        return planted.times_asked(str(self.folder))

    def _held_against(self, judge: str, edit: Edit, sample: str) -> str:
        """What a measure holds an edit against; nothing changes between an edit that is kept and itself."""
        if judge == "drift":
            return edit.before
        return edit.before if judge == "measure" and self.rows[sample].follows else ""

    def _asked(self, question: str, code: str, repeat: int, reading: int) -> tuple[str, float, int]:
        """Status and value of one question of `followed`, and how often it was put."""
        judge, bad, most = (
            "followed" if question == "followed" else "followed of the rest",
            self.judges["followed"],
            self.draw["retries"],
        )
        status, value = planted.answer(self.salt, judge, code, repeat, reading, bad)
        if status != "ok":
            return status, value, 1 + most * (status in AGAIN)
        if not planted.hesitates(self.salt, judge, code, repeat, reading, bad):
            return status, value, 1
        return ("ok", value, 2) if most else ("unparseable", value, 1)

    def _followed(self, edit: Edit, repeat: int) -> Judgement:
        first, rest, both, often = [], [], [], [1]
        for reading in self.readings:
            status, value, asked = self._asked("followed", edit.code, repeat, reading)
            first.append((status, value))
            often.append(asked)
            if status != "ok":
                rest.append((status, value))
                both.append((status, value))
            elif value >= planted.GOOD_ENOUGH:
                status, more, asked = self._asked("rest", edit.code, repeat, reading)
                often.append(asked)
                rest.append((status, more))
                both.append((status, fmean([value, more])))
            else:
                both.append((status, value))
        scores = {"overall": mean_of(both), "followed": mean_of(first)} | ({"rest": mean_of(rest)} if rest else {})
        return Judgement(scores, "overall", again=max(often) > 1)

    def series(self, column: str, judge: str, score: str = "") -> dict[Place, Outcome]:
        """All that counts of a column by a judge, so far as its score (or the headline) applies."""
        outcomes = {}
        for place in self.places():
            its = self.judgement(column, judge, place)
            if (name := score or its.headline) in its.scores:
                outcomes[place] = its.scores[name]
        return outcomes

    @property
    def reporting(self) -> list[str]:
        """The judges whose scores of single edits are reported."""
        return [name for name in self.judges if name not in ("critic", "arena")]

    # -- battles --

    def battles(self, met: Iterable[tuple[str, str, str]] | None = None) -> dict[Battle, tuple[str, str]]:
        """What every battle comes to: its outcome, and the status that is the reason where it is missing.

        `met`: two columns and a sample each; by default every two that the design has meet.
        """
        outcomes = {}
        every = ((a, b, sample) for a, b in itertools.combinations(self.columns, 2) for sample in self.samples)
        pairs = every if met is None else met
        for a, b, sample in pairs:
            for seed, repeat in itertools.product(self.seeds, self.repeats):
                if self.fights(a, b, sample, seed):
                    outcomes[Battle(a, b, sample, seed, repeat)] = self.outcome(Battle(a, b, sample, seed, repeat))
        return outcomes

    def fights(self, a: str, b: str, sample: str, seed: int) -> bool:
        """Whether two columns' edits of a sample meet: turns after the first do not, nor does an edit meet itself."""
        left, right = self.edit(a, sample, seed), self.edit(b, sample, seed)
        return not self.rows[sample].follows and not (
            left.status == right.status == "ok" and left.made_in == right.made_in
        )

    def outcome(self, battle: Battle) -> tuple[str, str]:
        a, b, sample, seed, repeat = battle
        left, right = self.edit(a, sample, seed), self.edit(b, sample, seed)
        if lost := [edit.status for edit in (left, right) if edit.status != "ok"]:
            return "missing", lost[-1]
        leans, signs = {"A": 1, "C": 0, "B": -1}, []
        for first, last, sign in ((left, right, 1), (right, left, -1)):
            said = [
                planted.prefers(self.salt, "arena", first.code, last.code, repeat, n, self.judges["arena"])
                for n in self.readings
            ]
            if "unparseable" in said:
                return "missing", "unparseable"
            signs.append(sign * sum(leans[label] for label in said))
        if min(signs) < 0 < max(signs):
            return "contradiction", "ok"
        return ("first" if sum(signs) > 0 else "second" if sum(signs) < 0 else "tie"), "ok"

    # -- how the run ends --

    def coverage(self, battles: dict[Battle, tuple[str, str]]) -> list[tuple[int, int]]:
        """Scored and total of each column by each judge, and of each judge that compares."""
        coverage = []
        for column, judge in itertools.product(self.columns, self.reporting):
            its = self.series(column, judge).values()
            coverage.append((sum(status == "ok" for status, _ in its), len(its)))
        if "arena" in self.judges:
            coverage.append((sum(outcome != "missing" for outcome, _ in battles.values()), len(battles)))
        return coverage

    def code(self, battles: dict[Battle, tuple[str, str]]) -> int:
        """The exit code."""
        return (
            3
            if any(total and scored / total < self.draw["min_coverage"] for scored, total in self.coverage(battles))
            else 0
        )

    # -- what was asked --

    def is_asked(self, column: str, judge: str, place: Place) -> bool:
        """Whether a judgement is a column's own: of a kept edit it is that of the edit to which it refers. Only what is
        held against the edit of the round before is asked about once more, when the edit is first kept."""
        edit = self.edit(column, place.sample, place.seed)
        if not edit.kept:
            return edit.status == "ok"
        chain, _, turn = column.partition("@")
        before = self.edit(chain if turn == "2" else f"{chain}@{int(turn) - 1}", place.sample, place.seed)
        return judge == "drift" and not before.kept

    @property
    def see_controls(self) -> list[str]:
        """The judges that are asked about controls."""
        return [name for name in self.judges if name not in ("arena", "measure", "drift", "start", "recorded")]

    @property
    def controls(self) -> int:
        """How many controls of a kind a judge is asked about."""
        good = [sample for sample in self.samples if not self.skipped(sample)]
        first = [sample for sample in good if not self.rows[sample].follows]
        if not self.draw["as_many"]:
            return min(self.draw["controls"], len(first))
        edits = len(good) * len(self.columns) * len(self.seeds)
        edits *= 1 if "critic" in self.see_controls else len(self.repeats)
        return min(self.images(first), edits // 9, 12)

    def edits_asked(self) -> Counter[str]:
        """How often each edit is made: a failed one is tried twice, a refused one once."""
        asked = Counter[str]()
        for column, sample, seed in itertools.product(self.columns, self.made, self.seeds):
            edit = self.edit(column, sample, seed)
            if edit.code and not edit.kept and not edit.code.startswith("folder"):
                asked[edit.code] += 2 if edit.status == "edit_failed" else 1
        return asked

    def tries(self) -> dict[str, range]:
        """How often each failing edit may be tried. Where three or more of a model fail alike, they may do so one after
        the other, which speaks against a process that has worked: then a fresh one tries them again, and is itself
        replaced once at most, since a third would fail as well. A provider is asked twice in a try, and is tried again
        if it has answered nobody else meanwhile."""
        often = {code: count for code, count in self.edits_asked().items() if count > 1}
        alike = Counter(code.split("|")[0] for code in often)
        tries = {}
        for code, count in often.items():
            model = code.split("|")[0]
            fresh = (1 + self.draw["twins"]) * (alike[model] > 2)
            tries[code] = range(count, count + 1 + 2 * max(fresh, self.draw["paid"] * (model == PAID)))
        return tries

    def spent(self, times: int) -> float:
        """What so many requests to the paid model have cost, in US dollars: a refusal costs as much as an edit."""
        return times * PRICE

    def answers_asked(self) -> dict[tuple[str, str, str, int, int], int]:
        """How often each question about an edit is put: (judge, question, code, repeat, reading); of a measure the
        question is what the edit is held against."""
        asked: dict[tuple[str, str, str, int, int], int] = {}
        for column, judge, place in itertools.product(self.columns, self.reporting, self.places()):
            edit = self.edit(column, place.sample, place.seed)
            if judge == "recorded" or not self.is_asked(column, judge, place):
                continue
            for reading in self.readings:
                about = edit.code, place.repeat, reading
                if HEADLINES.get(judge) == "change":
                    asked[judge, self._held_against(judge, edit, place.sample), *about] = 1
                elif judge == "followed":
                    status, value, often = self._asked("followed", *about)
                    asked[judge, "followed", *about] = often
                    if status == "ok" and value >= planted.GOOD_ENOUGH:
                        asked[judge, "rest", *about] = self._asked("rest", *about)[2]
                else:
                    its = model_of(self.draw, judge)
                    asked[its, "score", *about] = self._often(its, *about)
        for column, sample, seed in (
            itertools.product(self.columns, self.made, self.seeds) if "critic" in self.judges else ()
        ):
            edit = self.edit(column, sample, seed)
            if edit.status == "ok" and not edit.kept:  # a critic is asked once, however often others are
                asked |= {
                    ("critic", "score", edit.code, 0, reading): self._often("critic", edit.code, 0, reading)
                    for reading in self.readings
                }
        return asked

    def _often(self, judge: str, code: str, repeat: int, reading: int) -> int:
        status, _ = planted.answer(self.salt, judge, code, repeat, reading, self.judges[judge])
        return 1 + self.draw["retries"] * (status in AGAIN)

    def failing(self, judge: str, question: str, code: str, repeat: int, reading: int) -> bool:
        """Whether a judge breaks down over a question: then it is the engine's affair how often it is put."""
        name = "followed of the rest" if question == "rest" else judge
        return planted.answer(self.salt, name, code, repeat, reading, self.judges[judge])[0] == "judge_error"

    # -- best of N, rounds and turns --

    def best_of(self, column: str, select: str, report: str, size: int) -> float | None:
        """The mean over samples of what is chosen, over every way to draw so many of a sample's edits.

        An edit without a score by who chooses is drawn and never chosen; one that is chosen and has none by who reports
        is missing, and the mean is over the others.
        """
        means = []
        for sample in self.samples:
            edits = [self.edit(column, sample, seed) for seed in self.seeds]
            if edits[0].status == "skipped":
                continue
            scored = [
                (self.of_edit(column, select, sample, seed), self.of_edit(column, report, sample, seed))
                for seed in self.seeds
            ]
            weights: dict[int, float] = defaultdict(float)
            for some in itertools.combinations(range(len(scored)), size):
                there = [scored[number][0] for number in some if scored[number][0] is not None]
                best = [number for number in some if there and scored[number][0] == max(there)]
                for number in best:
                    weights[number] += 1 / len(best)
            known = {number: weight for number, weight in weights.items() if scored[number][1] is not None}
            if known:
                means.append(sum(weight * scored[number][1] for number, weight in known.items()) / sum(known.values()))
        return fmean(means) if means else None

    def of_edit(self, column: str, judge: str, sample: str, seed: int) -> float | None:
        """A judge's score of one edit: the mean over its repeats."""
        repeats = [0] if judge == "critic" else self.repeats
        given = [self.judgement(column, judge, Place(sample, seed, repeat)).outcome for repeat in repeats]
        return mean_or_none(score for status, score in given if status == "ok")

    def best_by_critic(self, rounds: list[str], judge: str) -> float | None:
        """The mean over the edits that the critic scores highest among the rounds of each."""
        chosen = []
        for sample, seed in itertools.product(self.samples, self.seeds):
            there = [
                column
                for column in rounds
                if self.edit(column, sample, seed).status == "ok" and not self.edit(column, sample, seed).kept
            ]
            said = {
                column: score for column in there if (score := self.of_edit(column, "critic", sample, seed)) is not None
            }
            best = [column for column, score in said.items() if score == max(said.values())]
            known = [score for column in best if (score := self.of_edit(column, judge, sample, seed)) is not None]
            chosen += [fmean(known)] if known else []
        return mean_or_none(chosen)

    def change(
        self, first: dict[Place, Outcome], later: dict[Place, Outcome], begins: dict[str, str]
    ) -> tuple[int, float | None]:
        """How many chains have both steps, and by how much the later one is better; `begins`: sample -> its chain."""
        steps = []
        for step in (first, later):
            by_chain = defaultdict(list)
            for place, (status, score) in step.items():
                if status == "ok":
                    by_chain[begins[place.sample], place.seed].append(score)
            steps.append({chain: fmean(some) for chain, some in by_chain.items()})
        both = [steps[1][chain] - steps[0][chain] for chain in steps[0].keys() & steps[1].keys()]
        return len(both), mean_or_none(both)

    # -- who is better --

    def by_sample(self, column: str, judge: str) -> dict[str, float]:
        """Each sample's mean over edit seeds and repeats, so far as it has one."""
        return by_sample(self.series(column, judge))

    def images(self, samples: Iterable[str]) -> int:
        """How many source images samples are of."""
        return len({self.first(sample).picture for sample in samples})


def by_sample(outcomes: dict[Place, Outcome]) -> dict[str, float]:
    """Each sample's mean, so far as it has one: a mean is over samples, of these."""
    scores = defaultdict(list)
    for place, (status, score) in outcomes.items():
        if status == "ok":
            scores[place.sample].append(score)
    return {sample: fmean(some) for sample, some in scores.items()}


def mean_of(given: Iterable[tuple[str, float]]) -> Outcome:
    """What readings amount to: their mean, or why the first of those that are missing is."""
    given = list(given)
    missing = next((status for status, _ in given if status != "ok"), "")
    return (missing, None) if missing else ("ok", fmean(value for _, value in given))


def mean_or_none(values: Iterable[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return fmean(there) if there else None
