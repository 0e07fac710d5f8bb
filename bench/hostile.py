"""How often what edit-eval prints is wrong where nothing is there to be found: all edit models alike, ugly noises.

Each row of the tables draws evaluations, has the verbs' own functions print them (the documents behind `--json`, the
sentences and tables of the terminal), and reads what is said: a rank other than 1, one that is better than another, an
interval that misses the truth, a judge that has changed or does not see. What is unknown, as a judge's side or its
noise, is estimated from the drawn data, as in a real evaluation. A new analysis adds a row.

    python bench/hostile.py --draws 400 [--only ranks] [--write]

`--write` puts the tables into bench/hostile.md, between its marks.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs

from audit_power import AT_90, GOOD, Simulated, trial
from edit_eval.plugins.agreement.bridge import cross_validate_models, find_uncovered_side, predict_mean
from edit_eval.plugins.agreement.two_raters import Pairs
from edit_eval.plugins.audit.asking_modes import better_of
from edit_eval.plugins.audit.drift import JudgedTwice
from edit_eval.plugins.audit.examiner import Examined, JudgedAnchors
from edit_eval.plugins.audit.findings import findings_of
from edit_eval.plugins.audit.measure import Anchor, Measure, share
from edit_eval.plugins.audit.passports import ExaminedScale, Passport
from edit_eval.plugins.people.differences import compare_by_votes
from edit_eval.plugins.serve.watch import judge_has_changed, pair_canaries
from edit_eval.records import Edit, Judgement, Picture, Reading, Results, Sample, Scale, Scoring, Status
from edit_eval.reporting.strengths import battle_sheet
from edit_eval.reporting.table import Line
from edit_eval.reporting.verdict import answer_lines
from edit_eval.statistics.battles import battles_by_judge
from edit_eval.statistics.comparison import columns_to_test
from edit_eval.statistics.fitted_strengths import all_differ
from edit_eval.statistics.preferences import preferences
from edit_eval.statistics.summary import Summary, summarise
from edit_eval.statistics.votes import BACKWARD, FORWARD, Vote, votes_of

DOCS = Path(__file__).resolve().with_suffix(".md")
SCORE, SECOND = "overall", "restraint"
Chance = np.random.Generator


@dataclass(frozen=True)
class Row:
    """Evaluations of one kind, and what would be wrong to print of them."""

    table: str
    name: str
    wanted: str
    wrong: Callable[[Chance], bool | None]
    """Draws one and says whether what is printed is wrong; None if nothing was printed of which it could be."""
    share: float = 1.0
    """Share of the asked number of draws: below 1 for those that take long."""


# -- what is drawn --


def samples_of(sizes: Sequence[int]) -> list[Sample]:
    """Returns samples, as many of each source image as it has."""
    images = [image for image, size in enumerate(sizes) for _ in range(size)]
    return [
        Sample(
            id=f"s{number:04d}",
            index=number,
            category="general",
            pictures={"source": Picture(path=f"{image}.png", digest=f"{image:064x}")},
            instruction="make it rain",
        )
        for number, image in enumerate(images)
    ]


POWER_LAW = (30, 15, 10, 7, 6, 5, 4, 4, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 1)
"""Samples of 20 source images, as benchmarks have them that ask several things of a good photograph."""


@dataclass(frozen=True)
class Battles:
    """A judge that is shown two edits, and finds all models alike over all images."""

    models: int
    sizes: Sequence[int]
    pairs: str = "all"
    rounds: int = 1
    own: float = 0.7
    """Standard deviation of an image's own preference for a model, in logits."""
    ties: float = 0.1
    side: float = 0.3
    """What being shown first is worth, in logits."""
    disaster: float = 0.0
    """Share of images on which the first model loses everything; on the others it wins as much more often."""
    heavy: bool = False
    questions: int = 1
    looks: int = 1

    def draw(self, chance: Chance) -> Results:
        """Returns a run's results."""
        samples, names = samples_of(self.sizes), [f"m{place:02d}" for place in range(self.models)]
        qualities = list(self._qualities(chance))
        battles: list[Judgement] = []
        asked = 0
        while asked < self.looks:
            asked += 1
            battles += [
                self._battle(chance, sample, names, a, b, quality)
                for sample, quality in zip(samples, qualities, strict=True)
                for a, b in self._met(chance)
            ]
            if self.looks > 1 and all_differ(self._votes(battles, samples), names, 1, self.looks):
                break
        return run_of(samples, names, battles=battles, questions=self.questions, looks=self.looks, rounds=asked)

    def _votes(self, battles: Sequence[Judgement], samples: Sequence[Sample]) -> list[Vote]:
        return votes_of(battles, SCORE, samples)

    def _qualities(self, chance: Chance) -> Iterator[np.ndarray]:
        for size in self.sizes:
            own = chance.standard_t(2.2, self.models) if self.heavy else chance.normal(size=self.models)
            shared = self.own * own
            if self.disaster:
                usual = 0.5 / (1 - self.disaster)
                shared = np.zeros(self.models)
                shared[0] = -9 if chance.random() < self.disaster else math.log(usual / (1 - usual))
            for _ in range(size):
                yield shared + 0.3 * self.own * chance.normal(size=self.models)

    def _met(self, chance: Chance) -> Iterator[tuple[int, int]]:
        if self.pairs == "all":
            yield from combinations(range(self.models), 2)
            return
        for _ in range(self.rounds):
            cycle = chance.permutation(self.models)
            yield from zip(cycle.tolist(), np.roll(cycle, -1).tolist(), strict=True)

    def _battle(
        self, chance: Chance, sample: Sample, names: Sequence[str], a: int, b: int, quality: np.ndarray
    ) -> Judgement:
        values: dict[str, dict[str, float]] = {FORWARD: {}, BACKWARD: {}}
        for score in (SCORE, SECOND)[: self.questions]:
            for order, turn in ((FORWARD, 1), (BACKWARD, -1)):
                lead = turn * float(quality[a] - quality[b]) + self.side
                tie = chance.random() < self.ties
                first = 0.5 if tie else float(chance.random() < 1 / (1 + math.exp(-lead)))
                share = first if turn > 0 else 1 - first
                values[order] |= {f"{score}.{order}": share, f"{score}.{order}.tie": float(tie)}
        return battle_of(sample, names[a], names[b], values, (SCORE, SECOND)[: self.questions])


def battle_of(
    sample: Sample, a: str, b: str, values: Mapping[str, Mapping[str, float]], scores: Sequence[str]
) -> Judgement:
    """Returns a judgement of two edits with those answers by order."""
    told = {score: sum(values[order][f"{score}.{order}"] for order in values) / 2 for score in scores}
    return Judgement(
        sample_id=sample.id,
        category=sample.category,
        edit_model=a,
        other=b,
        judge="arena",
        edit_seed=0,
        repeat=0,
        headline=SCORE,
        status=Status.OK,
        scores=told,
        readings=({order: Reading(values=dict(of)) for order, of in values.items()},),
    )


def run_of(
    samples: Sequence[Sample],
    names: Sequence[str],
    *,
    battles: Sequence[Judgement] = (),
    scores: np.ndarray | None = None,
    failed: np.ndarray | None = None,
    questions: int = 1,
    looks: int = 1,
    rounds: int = 1,
) -> Results:
    """Returns a run; `scores` and `failed` are samples x models."""
    scales = dict.fromkeys((SCORE, SECOND)[:questions], Scale(lowest=0, highest=1))
    lost = np.zeros((len(samples), len(names)), bool) if failed is None else failed
    judgements = []
    for place, name in enumerate(names if scores is not None else ()):
        assert scores is not None
        for number, sample in enumerate(samples):
            gone = bool(lost[number, place])
            judgements.append(
                Judgement(
                    sample_id=sample.id,
                    category=sample.category,
                    edit_model=name,
                    judge="alone",
                    edit_seed=0,
                    repeat=0,
                    headline="score",
                    status=Status.EDIT_FAILED if gone else Status.OK,
                    scores={} if gone else {"score": float(scores[number, place])},
                )
            )
    edits = [
        Edit(
            key="",
            sample_id=sample.id,
            edit_model=name,
            seed=0,
            edit_seed=0,
            status=Status.EDIT_FAILED if lost[number, place] else Status.OK,
            image="" if lost[number, place] else "images/x.png",
        )
        for place, name in enumerate(names)
        for number, sample in enumerate(samples)
    ]
    scoring = {"arena": Scoring(protocol="pairwise", headline=SCORE, scales=scales, looks=looks)} if battles else {}
    if scores is not None:
        scoring["alone"] = Scoring(protocol="rubric", headline="score", scales={"score": Scale(lowest=0, highest=10)})
    return Results(
        name="hostile",
        directory="runs/hostile",
        samples=tuple(samples),
        edits=tuple(edits),
        judgements=tuple(judgements),
        edit_models=tuple(names),
        judges=("alone",) if scores is not None else (),
        scoring=scoring,
        battles=tuple(battles),
        battle_judges=("arena",) if battles else (),
        rounds=rounds,
    )


NOISES: Mapping[str, Callable[[Chance, tuple[int, int]], np.ndarray]] = {
    "whole numbers": lambda chance, size: np.round(6 + 1.5 * chance.normal(size=size)),
    "heavy tails": lambda chance, size: 5 + chance.standard_t(2.2, size),
    "skewed, most at the ceiling": lambda chance, size: 10 - np.round(np.maximum(0, chance.exponential(2, size) - 1.5)),
    "nine in ten the same": lambda chance, size: np.where(chance.random(size) < 0.9, 7.0, chance.integers(5, 10, size)),
}
"""Scores of models that are alike: samples x models."""


def scores_run(chance: Chance, models: int, sizes: Sequence[int], noise: str, failing: float = 0.0) -> Results:
    """Returns a run of alike models by a judge that scores."""
    samples, names = samples_of(sizes), [f"m{place:02d}" for place in range(models)]
    drawn = NOISES[noise](chance, (len(sizes), models))
    of_samples = np.repeat(drawn, sizes, axis=0) + chance.integers(-1, 2, (len(samples), models)) * (max(sizes) > 1)
    failed = chance.random(of_samples.shape) < failing if failing else None
    return run_of(samples, names, scores=np.clip(of_samples, 0, 10), failed=failed)


# -- what is printed --


def printed(results: Results) -> tuple[Summary, list[str]]:
    """Returns the document that `--json` prints of a run, and the lines that the terminal prints of who is better."""
    summary = summarise(results)
    lines = [str(line) for line in answer_lines(summary.verdict)]
    sheet = battle_sheet(summary.battles, results.edit_models)
    return summary, [*lines, *(str(part.words) for part in sheet if isinstance(part, Line))]


CLAIMS = re.compile(r"\bis (clearly )?(better than|preferred to)\b|fails more")


def someone_is_better(results: Results) -> bool:
    """True if some rank is not 1, some pair has a better one, or a sentence says so."""
    document, lines = printed(results)
    tables: list[Any] = [
        of
        for battles in document.battles.values()
        for of in (*battles.scores.values(), *([battles.together] if battles.together else []))
    ]
    ranks = [row.rank for of in tables for row in of.strengths]
    pairs = [pair.better for of in tables for pair in of.differences]
    if document.comparison:
        ranks += [column.rank for column in document.comparison.columns]
        pairs += [pair.better for pair in document.comparison.pairs]
    ranked = any(rank not in (None, 1) for rank in ranks)
    claimed = any(CLAIMS.search(line) and not re.search("not clearly|No winner", line) for line in lines)
    assert not claimed or ranked or any(pairs), lines
    return ranked or any(pairs)


def of_battles(design: Battles) -> Callable[[Chance], bool]:
    return lambda chance: someone_is_better(design.draw(chance))


def of_scores(models: int, sizes: Sequence[int], noise: str, failing: float = 0.0) -> Callable[[Chance], bool]:
    return lambda chance: someone_is_better(scores_run(chance, models, sizes, noise, failing))


def of_votes(models: int, votes: int, raters: int, images: int, own: float = 0.6) -> Callable[[Chance], bool]:
    """People's votes on pairs drawn blindly: raters differ in taste, and the models do not."""

    def wrong(chance: Chance) -> bool:
        samples, names = samples_of([1] * images), [f"m{place:02d}" for place in range(models)]
        quality = own * chance.normal(size=(images, models))
        tastes = 0.2 * chance.normal(size=(raters, models))
        tastes -= tastes.mean(axis=0) if raters > 1 else tastes
        drawn = []
        for _ in range(votes):
            a, b = chance.choice(models, 2, replace=False)
            image, rater = int(chance.integers(images)), int(chance.integers(raters))
            lead = quality[image, a] - quality[image, b] + tastes[rater, a] - tastes[rater, b]
            left = chance.random() < 1 / (1 + math.exp(-lead))
            choice = "tie" if chance.random() < 0.15 else "left" if left else "right"
            drawn.append(Vote(samples[image].id, names[a], names[b], choice, rater=str(rater), cluster=str(image)))
        told = preferences(drawn, names)
        better = [difference.better for difference in told.differences]
        return any(better) or any(row.rank not in (None, 1) for row in told.strengths)

    return wrong


def contradictions_missed(design: Battles) -> Callable[[Chance], bool | None]:
    """Whether the interval of the share of contradictions misses the share of very many images."""
    truth: list[float] = []

    def share_of(design: Battles, chance: Chance) -> Mapping[str, Any]:
        (scores,) = (scores for _, scores in battles_by_judge(design.draw(chance)).values())
        return dict(scores[SCORE].contradictions)

    def wrong(chance: Chance) -> bool | None:
        if not truth:
            many = Battles(**{**vars(design), "sizes": design.sizes * math.ceil(6_000 / sum(design.sizes))})
            truth.append(share_of(many, np.random.default_rng(0))["share"])
        ends = share_of(design, chance)["ci95"]
        return None if ends is None else not ends[0] <= truth[0] <= ends[1]

    return wrong


def preferred_by_people(models: int, images: int, seen: int, shared: float) -> Callable[[Chance], bool]:
    """One person votes on all pairs of some pictures; a judge scores all and sees `shared` of what the person sees."""

    def wrong(chance: Chance) -> bool:
        samples, names = samples_of(ONES * images), [f"m{place:02d}" for place in range(models)]
        quality = chance.normal(size=(images, models))
        judged = 6 + shared * quality + math.sqrt(1 - shared**2) * chance.normal(size=quality.shape)
        results = run_of(samples, names, scores=np.clip(np.round(judged, 1), 0, 10))
        answers = []
        for image in chance.choice(images, seen, replace=False).tolist():
            for a, b in combinations(range(models), 2):
                lead = quality[image, a] - quality[image, b] + chance.normal()
                choice = "tie" if abs(lead) < 0.3 else "left" if lead > 0 else "right"
                answers.append(Vote(samples[image].id, names[a], names[b], choice, rater="Ann", cluster=str(image)))
        return any(pair.preferred for pair in compare_by_votes(columns_to_test(results), answers).pairs)

    return wrong


def way_preferred(ways: int) -> Callable[[Chance], bool]:
    """Whether an audit prefers one way of asking, where each of so many with one edit, and with two, is as good."""

    def wrong(chance: Chance) -> bool:
        scenes = [str(scene) for scene in range(200)]

        def asked() -> Measure:
            return share((chance.random(len(scenes)) < 0.9).astype(float).tolist(), scenes, floor=None)

        two, single = ([asked() for _ in scenes[:ways]] for _ in range(2))
        return better_of(two, single) != "neither"

    return wrong


# -- the tables --

ONES = (1,)
RANKS = "Somebody is ranked below another, or called worse, where all are alike"
ROWS: list[Row] = [
    *(
        Row(
            RANKS,
            f"scores, {models} models, {images} images, {noise}",
            "≤ .05",
            of_scores(models, ONES * images, noise),
            3 / models if models > 3 and noise != "whole numbers" else 1.0,
        )
        for noise in NOISES
        for models, images in ((3, 30), (12, 60))
    ),
    Row(RANKS, "scores, 5 models, images of unequal size", "≤ .05", of_scores(5, POWER_LAW, "whole numbers")),
    Row(RANKS, "scores, 5 models, one edit in ten fails", "≤ .05", of_scores(5, ONES * 60, "whole numbers", 0.1)),
    *(
        Row(
            RANKS,
            f"battles, {models} models, {images} images, {pairs}",
            "≤ .05",
            of_battles(Battles(models, ONES * images, pairs)),
        )
        for models, images, pairs in (
            (3, 60, "all"),
            (4, 20, "all"),
            (6, 60, "all"),
            (8, 60, "cycles"),
            (12, 60, "cycles"),
            (12, 12, "cycles"),
        )
    ),
    Row(RANKS, "battles, 12 models, 30 images, all", "≤ .05", of_battles(Battles(12, ONES * 30)), 0.25),
    Row(RANKS, "battles, 4 models, images of unequal size", "≤ .05", of_battles(Battles(4, POWER_LAW))),
    Row(
        RANKS, "battles, 8 models, nine in ten are ties", "≤ .05", of_battles(Battles(8, ONES * 60, "cycles", ties=0.9))
    ),
    Row(
        RANKS,
        "battles, 5 models, heavy tails by image",
        "≤ .05",
        of_battles(Battles(5, ONES * 40, own=2.0, heavy=True)),
    ),
    Row(
        RANKS,
        "battles, 5 models, a judge that mostly takes the first",
        "≤ .05",
        of_battles(Battles(5, ONES * 40, side=2.5)),
    ),
    Row(
        RANKS,
        "battles, 4 models, one loses all on 1 image in 9",
        "≤ .05",
        of_battles(Battles(4, ONES * 40, disaster=1 / 9)),
    ),
    Row(RANKS, "battles, 4 models, two questions", "≤ .05", of_battles(Battles(4, ONES * 40, questions=2))),
    Row(
        RANKS,
        "battles, 4 models, extended, at most 3 rounds",
        "≤ .05",
        of_battles(Battles(4, ONES * 60, "cycles", looks=3)),
    ),
    Row(
        RANKS,
        "battles, 8 models, extended, at most 3 rounds",
        "≤ .05",
        of_battles(Battles(8, ONES * 60, "cycles", looks=3)),
        0.5,
    ),
    Row(RANKS, "votes, 3 models, 150 by one person", "≤ .05", of_votes(3, 150, 1, 100)),
    Row(RANKS, "votes, 5 models, 400 by eight people", "≤ .05", of_votes(5, 400, 8, 120), 0.5),
    *(
        Row(
            RANKS,
            f"whom people would prefer, {models} models, votes on {seen} of 100 images",
            "≤ .05",
            preferred_by_people(models, 100, seen, 0.6),
            0.5,
        )
        for models, seen in ((3, 20), (6, 40))
    ),
    *(
        Row(RANKS, f"ways of asking, {ways} with one edit, {ways} with two", "≤ .05", way_preferred(ways))
        for ways in (1, 4)
    ),
]
MISSES = "An interval misses the truth"
ROWS += [
    Row(
        MISSES,
        f"share of contradictions, {models} models, {len(sizes)} images x {sizes[0]}",
        "≈ .05",
        contradictions_missed(Battles(models, sizes, own=2.5, side=1.0)),
        0.5,
    )
    for models, sizes in ((4, ONES * 60), (8, ONES * 60), (5, (9,) * 24))
]


# -- a judge that is the same as at its audit --

WORTH = {"right": 9.2, "copy": 0.6, "dose_50": 5.0, "extra": 6.0}
ANCHORS = {"right": 10, "copy": 5, "dose_50": 8, "extra": 2}
REPEATED = {"right": 50, "copy": 50, "dose_50": 28, "extra": 22}
"""How many edits of each rung an audit of 40 scenes a category has as anchors, and asks about twice."""
ANSWERS: Mapping[str, Callable[[Chance, np.ndarray], np.ndarray]] = {
    "normal": lambda chance, worth: 0.4 * chance.normal(size=worth.shape),
    "most in the middle": lambda chance, worth: (
        np.where(abs(worth - 5) < 3, 0.8, 0.1) * chance.normal(size=worth.shape)
    ),
    "heavy tails": lambda chance, worth: 0.3 * chance.standard_t(3, size=worth.shape),
    "2 in 100 jump by 5": lambda chance, worth: (
        0.2 * chance.normal(size=worth.shape)
        + 5.0 * (chance.random(worth.shape) < 0.02) * chance.choice([-1, 1], worth.shape)
    ),
    "2 in 100 jump up by 3, else none": lambda chance, worth: 3.0 * (chance.random(worth.shape) < 0.02),
    "1 in 10 a point lower": lambda chance, worth: -1.0 * (chance.random(worth.shape) < 0.1),
}
"""What a judge adds to its view of an edit each time that it is asked."""


def asked_twice(chance: Chance, rungs: Mapping[str, int], noise: str, whole: bool) -> list[JudgedTwice]:
    """Returns edits with two answers of one judge about each."""
    names = [rung for rung, count in rungs.items() for _ in range(count)]
    worth = np.array([WORTH[rung] for rung in names])[:, None] + np.zeros((1, 2))
    scores = worth + 0.5 * chance.normal(size=(len(names), 1)) + ANSWERS[noise](chance, worth)
    scores = np.clip(np.round(scores), 0, 10) if whole else scores
    return [
        JudgedTwice(f"{rung}{place}", rung, float(a), float(b))
        for place, (rung, (a, b)) in enumerate(zip(names, scores, strict=True))
    ]


def said_to_have_drifted(noise: str, whole: bool) -> Callable[[Chance], bool]:
    """What a report says of an unchanged judge whose anchors were judged again."""

    def wrong(chance: Chance) -> bool:
        twice = [
            structs.replace(edit, sample=f"anchor {edit.sample}") for edit in asked_twice(chance, ANCHORS, noise, whole)
        ]
        passport = Passport(
            name="judge",
            judge={},
            protocol="rubric",
            parameters={},
            wording="",
            language="en",
            form=("score",),
            pictures=("source", "edit"),
            headline="score",
            scale=ExaminedScale(lowest=None, highest=None, higher_is_better=True),
            date="2026-11-24",
            version="",
            benchmark={},
            verdict="passed",
            measures={},
            categories={},
            smallest_difference=None,
            retest_sd=None,
            anchors=tuple(Anchor(edit.sample, "", edit.rung, "", "", edit.before) for edit in twice),
            repeated=tuple(asked_twice(chance, REPEATED, noise, whole)),
        )
        judged = JudgedAnchors(date="2026-11-25", scores={edit.sample: edit.now for edit in twice})
        examined = Examined(passport=passport, language="en", judged=judged)
        details: Any = examined.document.details
        return bool(details.anchors.has_drifted)

    return wrong


def alarmed(noise: str, windows: int = 3) -> Callable[[Chance], bool]:
    """Whether a service alarms in the window after so many in which its unchanged judge saw the same canaries."""

    def wrong(chance: Chance) -> bool:
        worth = np.repeat([[5.0], [0.6], [9.2]], 12, axis=0) + np.zeros((1, windows + 1))
        rewards = (worth + ANSWERS[noise](chance, worth)) / 10
        names = [(kind, str(place)) for kind in ("source", "blank", "right") for place in range(12)]
        first, *between, now = (dict(zip(names, map(float, window), strict=True)) for window in rewards.T)
        return judge_has_changed(first, now, pair_canaries(between[0], between[1]))

    return wrong


DRIFTS = "An unchanged judge is said to have changed"
ROWS += [
    Row(DRIFTS, f"anchors, {noise}{', whole numbers' if whole else ''}", "≤ .01", said_to_have_drifted(noise, whole))
    for noise in ANSWERS
    for whole in (False, True)
]
ROWS += [Row(DRIFTS, f"canaries of a service, {noise}", "≤ .002", alarmed(noise)) for noise in ANSWERS]


# -- an honest judge on trial --


def accused(judge: Simulated) -> Callable[[Chance], bool]:
    """Whether an audit says that an honest judge prefers a wrong edit, or does not mind it in some category."""

    def wrong(chance: Chance) -> bool:
        findings = findings_of(trial(judge, int(chance.integers(2**31))), bounds=False)
        return any("_over_" in name for measures in findings.categories.values() for name in measures)

    return wrong


BLIND = "An honest judge is said to prefer a flaw in some category, or not to mind it"
ROWS += [
    Row(BLIND, f"truly at {order}, {grades} grades", "≤ .05", wrong, 0.1)
    for order, error in ((".95", GOOD), (".90", AT_90))
    for grades in (21, 11, 6)
    for wrong in [accused(Simulated(error=error, step=1 / (grades - 1)))]
]


# -- a bridge --


def mistranslated(models: int) -> Callable[[Chance], bool | None]:
    """Whether a translated mean's interval misses what the old judge would have said; None where one is warned."""

    def wrong(chance: Chance) -> bool | None:
        images = np.arange(50)
        levels = 5.5 + chance.normal(0, 0.8, (models + 1, 1))
        worth = levels + chance.normal(0, 1.2, images.shape) + chance.normal(0, 1, (models + 1, len(images)))
        old, new = (
            np.clip(np.round(curve + chance.normal(0, 0.2, levels.shape) + chance.normal(size=worth.shape), 1), 0, 10)
            for curve in (worth, 1.5 + 0.8 * worth)
        )
        names = np.repeat([f"m{model}" for model in range(models)], len(images)).tolist()
        pairs = Pairs(new[:-1].ravel(), old[:-1].ravel(), np.tile(images, models), names)
        _, ci95 = predict_mean(pairs, new[-1], images, cross_validate_models(pairs))
        assert ci95 is not None
        return None if find_uncovered_side(pairs, new[-1], images) else not ci95[0] <= old[-1].mean() <= ci95[1]

    return wrong


ROWS.append(Row(MISSES, "mean over a bridge of 6 models, one more model, no warning", "≤ .05", mistranslated(6), 0.5))


def measured(row: Row, draws: int, *, seed: int = 1) -> tuple[float, int]:
    """Returns the share of evaluations of which something wrong is printed, and how many were drawn."""
    drawn = [row.wrong(np.random.default_rng((seed, number))) for number in range(max(1, round(draws * row.share)))]
    told = [wrong for wrong in drawn if wrong is not None]
    return (sum(told) / len(told) if told else 0.0), len(told)


def table_of(outcomes: Sequence[tuple[Row, float, int]]) -> str:
    """Returns the tables as Markdown."""
    lines: list[str] = []
    for title in dict.fromkeys(row.table for row, _, _ in outcomes):
        lines += ["", f"| {title} | share | wanted | drawn |", "|---|---|---|---|"]
        lines += [
            f"| {row.name} | {share:.3f} | {row.wanted} | {count} |"
            for row, share, count in outcomes
            if row.table == title
        ]
    return "\n".join(lines[1:])


BEGIN, END = "<!-- hostile bench: begin (bench/hostile.py --write) -->", "<!-- hostile bench: end -->"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--only", default="", help="rows whose name has this in it")
    parser.add_argument("--write", action="store_true", help="put the tables into bench/hostile.md")
    asked = parser.parse_args()
    outcomes = []
    for row in ROWS:
        if asked.only in row.name:
            began = time.monotonic()
            outcomes.append((row, *measured(row, asked.draws)))
            print(
                f"{row.name}: {outcomes[-1][1]:.3f} of {outcomes[-1][2]} ({time.monotonic() - began:.0f} s)",
                file=sys.stderr,
            )
    tables = table_of(outcomes)
    print(tables)
    if asked.write:
        text = DOCS.read_text("utf-8")
        before, _, rest = text.partition(BEGIN)
        DOCS.write_text(f"{before}{BEGIN}\n\n{tables}\n\n{END}{rest.partition(END)[2]}", "utf-8")


if __name__ == "__main__":
    main()
