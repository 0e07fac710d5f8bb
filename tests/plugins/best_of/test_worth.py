"""Best of N: the formula against every subset, what cannot be chosen, who may not report, drawn edits of known gain."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from documents import plain
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.best_of.analysis import best_of_charts, best_of_sheet
from edit_eval.plugins.best_of.section import common_family, pairs_of
from edit_eval.plugins.best_of.worth import Tried, all_fail, best_of, chances, rater, sizes_of, tie_probability
from edit_eval.records import Edit, Judgement, Picture, Reading, Results, Sample, Scale, Scoring, Status
from edit_eval.reporting.analyses import ChartStyle
from edit_eval.reporting.document_files import write_document
from edit_eval.reporting.table import Line, markdown_sheet
from edit_eval.statistics.raters import Item, Rater, as_one
from edit_eval.statistics.votes import Rating
from late_imports import Late

integrate, stats = Late("scipy.integrate"), Late("scipy.stats")

Record = Callable[[str, object], None]
OPEN = Scale()


@pytest.mark.parametrize("seed", range(40))
def test_the_chances_are_those_of_every_subset(seed: int) -> None:
    chance = random.Random(seed)
    edits = chance.randint(1, 7)
    scores = [chance.choice([None, 1.0, 2.0, 3.0, 4.5]) for _ in range(edits)]
    for size in range(1, edits + 1):
        subsets = list(combinations(range(edits), size))
        counted, lots = [0.0] * edits, 0
        for subset in subsets:
            able = [(score, place) for place in subset if (score := scores[place]) is not None]
            best = [place for score, place in able if score == max(able)[0]]
            lots += len(best) > 1
            for place in best:
                counted[place] += 1 / len(best)
        assert chances(scores, size) == pytest.approx([count / len(subsets) for count in counted])
        assert tie_probability(scores, size) == pytest.approx(lots / len(subsets))
        none = sum(all(scores[place] is None for place in subset) for subset in subsets)
        assert all_fail(scores.count(None), edits, size) == pytest.approx(none / len(subsets))


@pytest.mark.parametrize("size", [0, 4])
def test_there_is_no_best_of_more_than_there_are(size: int) -> None:
    with pytest.raises(ValueError, match="of 3 edits"):
        chances([1.0, 2.0, None], size)


def test_sizes_are_powers_of_two_and_all() -> None:
    assert [sizes_of(edits) for edits in (2, 6, 8)] == [[1, 2], [1, 2, 4, 6], [1, 2, 4, 8]]


def run_of(failed: Mapping[str, Sequence[bool]], *, images: Sequence[int] | None = None, **more: Any) -> Results:
    """A run of one edit model: for each sample which of its edits failed."""
    places = list(range(len(failed))) if images is None else images
    samples = tuple(
        Sample(
            id=name,
            index=place,
            category="all",
            pictures={"source": Picture(path="s.png", digest=f"digest-{places[place]:04d}")},
            instruction="",
        )
        for place, name in enumerate(failed)
    )
    edits = tuple(
        Edit(
            key="",
            sample_id=name,
            edit_model="painter",
            seed=0,
            edit_seed=seed,
            status=Status.EDIT_FAILED if lost else Status.OK,
            image="" if lost else "x.png",
            seconds=2.0,
        )
        for name, of_sample in failed.items()
        for seed, lost in enumerate(of_sample)
    )
    return Results(
        name="run",
        directory="runs/run",
        samples=samples,
        edits=edits,
        judgements=(),
        edit_models=("painter",),
        **{"judges": (), "scoring": {}, **more},
    )


def said(name: str, scores: Mapping[str, Sequence[Sequence[float]]], scale: Scale = OPEN) -> Rater:
    """What a rater says of each sample's edits: a list of repeats for each, empty where it says nothing."""
    answers = {
        Item("painter", sample, seed): some
        for sample, of_sample in scores.items()
        for seed, some in enumerate(of_sample)
        if some
    }
    return Rater(name, "asked", "score", scale, answers)


def test_failed_unscored_and_unreported_edits_are_what_they_are() -> None:
    """Eight samples, every subset of three counted by hand."""
    failed = {f"s{place}": [False] * 4 for place in range(6)} | {"s6": [True, True, True, False], "s7": [True] * 4}
    failed["s0"] = [True, False, False, False]
    choosing = {name: [[7.0], [5.0], [5.0], [1.0]] for name in failed} | {"s0": [[], [3.0], [3.0], []]}
    choosing |= {"s6": [[], [], [], [2.0]], "s7": [[]] * 4}
    telling = {name: [[4.0], [3.0], [2.0], [1.0]] for name in failed} | {"s0": [[], [6.0], [], [9.0]]}
    telling |= {"s6": [[], [], [], [8.0]], "s7": [[]] * 4}
    ten = Scale(lowest=0, highest=10)
    document = best_of(run_of(failed), said("a", choosing), said("b", telling, ten), [1, 3])
    (model,) = document.models
    assert model.edits == Tried(tried=32, failed=8, refused=0, unscored_by_selector=1, unscored_by_reporter=1)
    of_one, of_three = model.sizes
    # Of s0 only the second edit is chosen and reported; s7 has nothing to choose and is in no mean.
    full = 3 / 4 * 4 + 1 / 4 * 2.5  # the other five samples: the first edit is in three of four subsets
    assert (of_one.mean, of_one.samples) == (pytest.approx((6 + 5 * 2.5 + 8) / 7), 7)
    assert (of_three.mean, of_three.samples) == (pytest.approx((6 + 5 * full + 8) / 7), 7)
    assert of_three.gain == pytest.approx(5 * (full - 2.5) / 7)
    # 3 of 4 have an edit of s6; its failures and those of s7 are a chance, never a number.
    assert of_three.all_fail == pytest.approx((1 / 4 + 0) / 7)
    # s0: one of its two alike is always drawn; half of the time the one that is not reported. s6: gone in 1 of 4.
    low = (3.0 + 5 * full + 8 * 3 / 4) / 7
    assert of_three.worst_case_mean == pytest.approx(low)
    assert of_three.best_case_mean == pytest.approx(low + (5 + 10 / 4) / 7)
    assert of_three.seconds == pytest.approx(6.0)
    assert of_three.readings == pytest.approx(3 * (20 + 2 + 1) / 32)


def test_a_sample_that_was_not_tried_so_often_is_counted_and_bounded() -> None:
    failed = {f"s{place}": [False] * (4 if place else 2) for place in range(7)}
    scores = {name: [[5.0]] * len(some) for name, some in failed.items()}
    document = best_of(run_of(failed), said("a", scores), said("b", scores, Scale(lowest=0, highest=10)), [1, 3])
    of_one, of_three = document.models[0].sizes
    assert [(size.samples, size.of) for size in (of_one, of_three)] == [(7, 7), (6, 7)]
    assert (of_one.worst_case_mean, of_one.best_case_mean) == (5.0, 5.0)
    assert of_three.mean == 5.0
    assert of_three.worst_case_mean == pytest.approx(30 / 7)
    assert of_three.best_case_mean == pytest.approx(40 / 7)


def test_less_is_better_turns_the_choice_and_the_gain_round() -> None:
    failed = {f"s{place}": [False, False] for place in range(8)}
    distance = {name: [[0.2 + place / 10], [0.6]] for place, name in enumerate(failed)}
    down = Scale(lowest=0, highest=1, higher_is_better=False)
    document = best_of(run_of(failed), said("a", distance, down), said("b", distance, down))
    best = document.models[0].sizes[-1]
    assert best.mean == pytest.approx(np.mean([min(0.2 + place / 10, 0.6) for place in range(8)]))
    assert best.gain == pytest.approx(best.own_gain)
    low, high = best.gain_ci95
    assert 0 < low < best.gain < high


JUDGE = {"type": "qwen3_vl", "revision": "r", "parameters": {"model_name": "Qwen/Qwen3-VL-8B-Instruct"}}
LARGER = {**JUDGE, "parameters": {"model_name": "Qwen/Qwen3-VL-32B-Instruct"}}
OTHER = {**JUDGE, "type": "gemma3", "parameters": {"model_name": "google/gemma-3-27b-it"}}


def judged(**judges: Mapping[str, Any]) -> Results:
    """A run in which each of these judges has scored each of two edits of eight samples."""
    chance, made = random.Random(2), run_of({f"s{place}": [False, False] for place in range(8)})
    every = [
        Judgement(
            sample_id=edit.sample_id,
            category="all",
            edit_model="painter",
            judge=name,
            edit_seed=edit.edit_seed,
            repeat=0,
            headline="score",
            status=Status.OK,
            scores={"score": chance.uniform(2, 8)},
            tokens=(1000, 100),
            readings=({"score": Reading(values={"score": 1.0}, asked=2)},),
        )
        for name in judges
        for edit in made.edits
    ]
    return replace(
        made,
        judgements=tuple(every),
        judges=tuple(judges),
        scoring={name: Scoring(protocol="rubric", headline="score", scales={"score": OPEN}) for name in judges},
        provenance=replace(
            made.provenance,
            resolved={"judges": [{"name": name, "protocol": {"type": "rubric"}, **of} for name, of in judges.items()]},
            configuration={"judges": {"small": {"params": {"price": [1.0, 10.0]}}}},
        ),
    )


def test_the_same_judge_is_refused_and_one_of_its_family_named() -> None:
    run = judged(small=JUDGE, again=JUDGE, large=LARGER, gemma=OTHER)
    by = {name: rater(run, name) for name in run.judges}
    for other in ("small", "again"):
        with pytest.raises(ConfigurationError, match="cannot both choose and report"):
            best_of(run, by["small"], by[other])
    assert common_family(run, "small", "large") == "Qwen3-VL"
    assert common_family(run, "small", "gemma") == ""
    warned = [part for part in best_of_sheet(best_of(run, by["small"], by["large"])) if isinstance(part, Line)]
    assert [part.look for part in warned].count("problem") == 1
    # Each judge chooses once, and whoever is least like it reports.
    assert pairs_of(run) == [("small", "gemma"), ("again", "gemma"), ("large", "gemma"), ("gemma", "small")]
    assert pairs_of(replace(run, judges=("small", "again"))) == []


def test_choosing_costs_answers_seconds_and_tokens() -> None:
    run = judged(small=JUDGE, gemma=OTHER)
    _, two = best_of(run, rater(run, "small"), rater(run, "gemma")).models[0].sizes
    assert (two.edits, two.readings, two.seconds) == (2, 4.0, 4.0)
    assert two.price == pytest.approx(2 * (1000 * 1 + 100 * 10) / 1e6)


def test_people_choose_and_who_is_not_there_is_named() -> None:
    run = judged(small=JUDGE)
    ratings = [Rating(f"s{place}", "painter", place + seed, "anna", seed) for place in range(8) for seed in (0, 1)]
    document = best_of(run, rater(run, "people", ratings), rater(run, "small"))
    assert document.models[0].sizes[1].own_gain == pytest.approx(0.5)
    for name, message in (
        ("people", "there are no votes"),
        ("smal", "did you mean `small`"),
        ("small/x", "no score 'x'"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            rater(run, name)
    with pytest.raises(ConfigurationError, match="from 1 to 2"):
        best_of(run, rater(run, "people", ratings), rater(run, "small"), [1, 4])
    alone = replace(run, edits=tuple(edit for edit in run.edits if edit.edit_seed == 0))
    with pytest.raises(ConfigurationError, match="one edit of each sample"):
        best_of(alone, rater(run, "people", ratings), rater(run, "small"))


def test_what_is_drawn_is_what_was_found(tmp_path: Path) -> None:
    run = judged(small=JUDGE, gemma=OTHER)
    document = best_of(run, rater(run, "small"), rater(run, "gemma"))
    gained = document.models[0].sizes[1].gain
    assert f"{gained:+.2f}" in markdown_sheet(best_of_sheet(document), "en")
    written = {}
    for ending in ("csv", "svg", "md", "json"):
        write_document("best-of", document, tmp_path / f"curve.{ending}", records=None, language="en", force=False)
        written[ending] = (tmp_path / f"curve.{ending}").read_text("utf-8")
    lines = written["csv"].splitlines()
    assert len(lines) == 3
    assert {"select", "report", "size", "gain", "gain_ci95_low"} < set(lines[0].split(","))
    assert "gain over one edit, by gemma" in written["svg"]
    assert f"{gained:+.2f}" in written["md"]
    assert json.loads(written["json"]) == plain(document)
    (chart,) = best_of_charts([document], ChartStyle(["painter"], "en"))
    (rows,) = [table for table in chart.to_dict()["datasets"].values() if "gain" in table[0]]
    assert [row["gain"] for row in rows] == [0.0, pytest.approx(gained)]


# -- drawn edits --

EDITS, SIZES = 8, (1, 2, 8)
SPREADS = (0.5, 1.5)
"""Of the quality of one picture's edits: some pictures are worth choosing on, others hardly."""
FAILING = 0.1


@cache
def largest(count: int) -> float:
    """What the largest of so many standard normal values is worth."""
    return (
        integrate.quad(lambda z: z * count * stats.norm.pdf(z) * stats.norm.cdf(z) ** (count - 1), -8, 8)[0]
        if count
        else 0.0
    )


def true_gain(size: int, noise: float) -> float:
    """By how much better the best of so many is, by quality, if a judge chooses that errs by `noise`."""
    drawn = there_of(size)
    among = sum(chance * largest(there) for there, chance in drawn.items()) / sum(drawn.values())
    return among * float(np.mean([spread**2 / math.hypot(spread, noise) for spread in SPREADS]))


def there_of(size: int) -> dict[int, float]:
    """How likely it is that so many of `size` edits come, of those draws in which one comes."""
    return {
        there: math.comb(size, there) * (1 - FAILING) ** there * FAILING ** (size - there)
        for there in range(1, size + 1)
    }


def drawn(chance: np.random.Generator, noise: float, images: int = 40) -> tuple[Results, Rater, Rater]:
    """Two samples of each picture with `EDITS` edits each; who chooses and who reports err independently, twice."""
    names = [f"s{place}" for place in range(2 * images)]
    places = [place // 2 for place in range(2 * images)]
    spreads = np.repeat(chance.choice(SPREADS, images), 2)[:, None]
    quality = chance.normal(size=(2 * images, 1)) + spreads * chance.normal(size=(2 * images, EDITS))
    failed = chance.random((2 * images, EDITS)) < FAILING
    seen = [
        {
            name: [
                [] if lost else some for lost, some in zip(failed[place], (row + errs[place]).T.tolist(), strict=True)
            ]
            for place, (name, row) in enumerate(zip(names, quality, strict=True))
        }
        # An answer errs by sqrt(2) noise, the mean of two by noise.
        for errs in (math.sqrt(2) * noise * chance.normal(size=(2 * images, 2, EDITS)) for _ in range(2))
    ]
    run = run_of({name: failed[place].tolist() for place, name in enumerate(names)}, images=places)
    return run, said("chooses", seen[0]), said("reports", seen[1])


@pytest.mark.parametrize("runs", [12, pytest.param(600, marks=pytest.mark.chaos)])
@pytest.mark.parametrize("noise", [1.0, pytest.param(0.5, marks=pytest.mark.chaos)])
def test_the_true_gain_is_in_its_interval_and_who_chooses_sees_more(runs: int, noise: float, record_property: Record):
    chance = np.random.default_rng(33)
    held: dict[int, list[bool]] = {size: [] for size in SIZES[1:]}
    gains, own = ({size: [] for size in SIZES[1:]} for _ in range(2))
    for _ in range(runs):
        (model,) = best_of(*drawn(chance, noise), SIZES).models
        for at_size in model.sizes[1:]:
            low, high = at_size.gain_ci95
            held[at_size.size].append(low <= true_gain(at_size.size, noise) <= high)
            gains[at_size.size].append(at_size.gain)
            own[at_size.size].append(at_size.own_gain)
    for size, inside in held.items():
        rate, true = float(np.mean(inside)), true_gain(size, noise)
        means = f"reported {np.mean(gains[size]):.3f}, seen by itself {np.mean(own[size]):.3f}"
        told = f"{rate:.3f} held; true {true:.3f}, {means}"
        record_property("simulated", f"best of {size} of {EDITS}, noise {noise:<44} {told}")
        slack = 3 * math.sqrt(0.95 * 0.05 / runs)
        assert max(0.93 if runs > 100 else 0, 0.95 - slack) - 1e-9 <= rate <= min(1, max(0.97, 0.95 + slack))
        assert np.mean(gains[size]) == pytest.approx(true, abs=4 * np.std(gains[size]) / math.sqrt(runs))
        assert np.mean(own[size]) > 1.15 * true


@pytest.mark.parametrize("samples", [400, pytest.param(4000, marks=pytest.mark.chaos)])
def test_a_judge_whose_reliability_is_a_half_sees_twice_the_gain(samples: int) -> None:
    """2.50 for a true 1.25 at N = 16, which its repeats tell beforehand, and another judge as good does not see."""
    chance = np.random.default_rng(16)
    quality = chance.normal(size=(samples, 16))
    run = run_of({f"s{place}": [False] * 16 for place in range(samples)})
    seen = [
        said(
            name,
            {
                f"s{place}": (row + math.sqrt(2) * chance.normal(size=(2, 16))).T.tolist()
                for place, row in enumerate(quality)
            },
        )
        for name in ("chooses", "reports")
    ]
    (model,) = best_of(run, seen[0], seen[1], [16]).models
    best = model.sizes[-1]
    near = 6 / math.sqrt(samples)
    assert best.gain == pytest.approx(1.249, abs=near)
    assert best.own_gain == pytest.approx(2.498, abs=near)
    assert model.reliability == pytest.approx(0.5, abs=near / 4)
    assert 1.7 < model.inflation < 2.0


def test_a_judge_that_repeats_itself_or_is_noise_has_no_inflation() -> None:
    chance, failed = np.random.default_rng(3), {f"s{place}": [False] * 4 for place in range(30)}
    other = said("b", {name: chance.normal(size=(4, 1)).tolist() for name in failed})
    same = {name: [[value, value] for value in chance.normal(size=4).tolist()] for name in failed}
    # Its answers of one edit lie as far apart as can be, those of a sample's edits not at all.
    noise = {name: [[shift, -shift] for shift in (1.0, 1.1, 1.2, 1.3)] for name in failed}
    several = as_one("people", [other, said("c", same)])
    for scores, why in ((same, "identical"), (noise, "noise_alone")):
        (model,) = best_of(run_of(failed), said("a", scores), other).models
        assert (model.inflation, model.no_inflation) == (None, why)
    for of in (other, several):
        (model,) = best_of(run_of(failed), replace(of, name="a"), said("b", same)).models
        assert (model.inflation, model.no_inflation) == (None, "no_repeats")
