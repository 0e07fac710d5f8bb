"""Every statistic on other scales than 0 to 10: what is the same thing there has to come out as the same thing.

A run on 0 to 10 is carried over to a scale from -1 to 1 of which less is better, and to scales with an open end. Means
and intervals are carried over with it, tests and verdicts stay; only what an open end takes away is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
import pytest

from agreements import judges_document, people_agreement
from documents import plain
from edit_eval.records import Results, Scale, Scoring, Status
from edit_eval.reporting.documents import encode_document
from edit_eval.statistics.columns import columns_of
from edit_eval.statistics.comparison import compare
from edit_eval.statistics.summary import Summary, summarise
from edit_eval.statistics.votes import Rating


@dataclass(frozen=True)
class Other:
    """A scale, and where it has what 0 to 10 has at x: `shift + factor * x`."""

    scale: Scale
    shift: float
    factor: float

    def at(self, value: float | None) -> float | None:
        return None if value is None else self.shift + self.factor * value

    def span(self, ends: Sequence[float] | None) -> list[float] | None:
        return None if ends is None else pytest.approx(sorted(self.at(end) for end in ends))

    def apart(self, difference: float | None) -> float | None:
        return None if difference is None else pytest.approx(self.factor * difference)


LOWER = Other(Scale(lowest=-1, highest=1, higher_is_better=False), 1.0, -0.2)
PSNR = Other(Scale(lowest=0, highest=None), 0.0, 3.0)
LOSS = Other(Scale(lowest=0, highest=None, higher_is_better=False), 30.0, -3.0)
FREE = Other(Scale(), -5.0, 1.0)
OTHERS = pytest.mark.parametrize("other", [LOWER, PSNR, LOSS, FREE], ids=["lower", "psnr", "loss", "free"])
OPEN = pytest.mark.parametrize("other", [PSNR, LOSS, FREE], ids=["psnr", "loss", "free"])
OF_SAMPLES = pytest.mark.parametrize("run", ["samples"], indirect=True)
"""What a mean is taken over makes no difference there."""
RANKS = 1e-3
"""Two scores that are equal on one scale may differ in their last bit on another, and so in rank."""
MODELS, JUDGES = ("a", "b", "c"), ("x", "y", "z")


def carried(run: Results, other: Other) -> Results:
    """The same run on another scale."""
    scoring = {
        judge: replace(of, scales=dict.fromkeys(of.scales, replace(other.scale, mean_over=of.scale.mean_over)))
        for judge, of in run.scoring.items()
    }
    judgements = tuple(
        replace(judgement, scores={name: other.at(score) for name, score in judgement.scores.items()})
        for judgement in run.judgements
    )
    return replace(run, scoring=scoring, judgements=judgements)


_known: dict[tuple[str, int], tuple[Results, Any]] = {}


def once(what: Callable[[Results], Any], run: Results) -> Any:
    """What is made of a run on 0 to 10, which is held against several other scales, is made once."""
    place = what.__name__, id(run)
    if place not in _known:
        _known[place] = run, what(run)
    return _known[place][1]


@pytest.fixture(scope="module", params=["samples", "categories"])
def run(request, make_sample, make_results) -> Results:
    """Three models by three judges, twice each; 90 instructions on 45 images in two categories; few scores missing."""
    generator = np.random.default_rng(2)
    samples = [make_sample(n, category="physical" if n % 3 else "social", source=n // 2) for n in range(90)]
    items = generator.uniform(4, 7, size=90)
    lost = {("a", 3): Status.EDIT_FAILED, ("b", 8): Status.EDIT_FAILED, ("c", 9): Status.SKIPPED}
    scores = {}
    for place, model in enumerate(MODELS):
        own = items + 0.7 * place + generator.normal(0, 0.6, size=90)
        for judge in JUDGES:
            said = np.clip(own + generator.normal(0, 0.4, size=(2, 90)), 0, 10).round(3)
            rows = [[lost.get((model, n), float(score)) for score in of] for n, of in enumerate(said.T)]
            rows[20 + place] = [rows[20 + place][0], Status.UNPARSEABLE]
            scores[model, judge] = rows
    scale = Scale(lowest=0, highest=10, mean_over=request.param)
    return make_results(samples, scores, scoring=Scoring(protocol="p", headline="score", scales={"score": scale}))


def only(run: Results, wanted) -> Results:
    """The run as if it had had no other samples."""
    parts = {
        name: tuple(record for record in getattr(run, name) if wanted(int(record.sample_id[1:])))
        for name in ("edits", "judgements")
    }
    return replace(run, samples=tuple(sample for sample in run.samples if wanted(sample.index)), **parts)


def blocks(entries):
    """Of every entry the score and its sub-groups."""
    for entry in entries:
        score = entry.scores["score"]
        yield score
        for kind in ("categories", "tags", "difficulties", "languages"):
            yield from getattr(score, kind).values()


def assert_carried(here, there, other: Other) -> None:
    """A block of numbers on 0 to 10, and what is to be the same on another scale."""
    for key in ("n", "images", "no_ci95", "coverage"):
        assert getattr(there, key) == getattr(here, key)
    low, high = ("min", "max") if other.factor > 0 else ("max", "min")
    for ours, theirs in (("mean", "mean"), ("median", "median"), ("min", low), ("max", high)):
        assert getattr(there, theirs) == pytest.approx(other.at(getattr(here, ours)))
    assert there.std == pytest.approx(abs(other.factor) * here.std)
    assert there.ci95 == other.span(here.ci95)
    missing = here.n < here.coverage.total
    for key, end in (("worst_case_mean", other.scale.worst), ("best_case_mean", other.scale.best)):
        assert getattr(there, key) == (None if missing and end is None else pytest.approx(other.at(getattr(here, key))))


@pytest.mark.one_in(4)
@OTHERS
def test_a_summary(run, other):
    here, there = once(summarise, run), summarise(carried(run, other))
    assert there.coverage == here.coverage
    for ours, theirs in zip(blocks(here.results), blocks(there.results), strict=True):
        assert_carried(ours, theirs, other)
    for ours, theirs in zip(here.results, there.results, strict=True):
        for key in ("sample_mean", "category_mean"):
            before, after = (getattr(entry.scores["score"], key) for entry in (ours, theirs))
            assert (after.mean, after.ci95) == (pytest.approx(other.at(before.mean)), other.span(before.ci95))
        score = theirs.scores["score"]
        over = "sample_mean" if other.scale.mean_over == run.scoring["x"].scale.mean_over else "category_mean"
        mean = getattr(score, over)
        assert {key: getattr(score, key) for key in mean.__struct_fields__} == msgspec.structs.asdict(mean)
    assert plain(msgspec.json.decode(encode_document(there), type=Summary)) == plain(there)


@OTHERS
@OF_SAMPLES
def test_the_judges(run, other):
    here, there = once(judges_document, run), judges_document(carried(run, other))
    for judge, card in there["judges"].items():
        before = here["judges"][judge]
        assert card["unscored"] == before["unscored"]
        assert card["retest"]["sd"] == pytest.approx(abs(other.factor) * before["retest"]["sd"])
        assert card["retest"]["icc"] == pytest.approx(before["retest"]["icc"])
        assert (card["ceiling"] is None, card["floor"] is None) == (other.scale.highest is None, other is FREE)
    ours, theirs = here["between_judges"], there["between_judges"]
    assert theirs["alpha"] == pytest.approx(ours["alpha"], abs=RANKS)
    assert theirs["ci95"] == pytest.approx(ours["ci95"], abs=RANKS)


@pytest.mark.parametrize("other", [LOWER, FREE], ids=["lower", "free"])
@OF_SAMPLES
def test_people_agree_as_much_whichever_way_the_scale_runs(run, other):
    generator = np.random.default_rng(1)
    people = [
        Rating(sample_id=sample.id, edit_model=model, score=float(generator.uniform(0, 3) + place), rater=rater)
        for place, sample in enumerate(run.samples)
        for model in MODELS
        for rater in ("ann", "bo")
    ]
    here, there = (people_agreement(results, people, resamples=50) for results in (run, carried(run, other)))
    for judge in JUDGES:
        assert there["judges"][judge]["spearman"] == pytest.approx(here["judges"][judge]["spearman"], abs=RANKS)
    assert there["raters"] == here["raters"]


# -- comparisons --


def compared(run: Results, **how):
    return compare(columns_of(run, {judge: {"judge": judge} for judge in JUDGES}), **how)


def _detecting(run: Results):
    return compared(run, detect=0.4)


@pytest.mark.one_in(4)
@OTHERS
def test_a_comparison(run, other):
    here = once(_detecting, run)
    there = compared(carried(run, other), detect=0.4 * abs(other.factor))
    assert {pair.better for pair in here.pairs} == {"run/b", "run/c"}
    for ours, theirs in zip(here.pairs, there.pairs, strict=True):
        for key in ("n", "total", "clusters", "wins", "ties", "losses", "identical", "no_ci95", "failures"):
            assert getattr(theirs, key) == getattr(ours, key)
        for key in ("scores_better", "fails_more"):
            assert getattr(theirs, key) == getattr(ours, key)
        assert replace(theirs.outcome, holds=None) == replace(ours.outcome, holds=None), "an open end holds nothing"
        assert (theirs.p, theirs.p_adjusted) == pytest.approx((ours.p, ours.p_adjusted))
        assert theirs.mean_a == pytest.approx(other.at(ours.mean_a))
        assert theirs.difference == other.apart(ours.difference)
        assert theirs.ci95 == pytest.approx(sorted(other.factor * end for end in ours.ci95))
        assert theirs.detectable == pytest.approx(abs(other.factor) * ours.detectable)
        assert (theirs.needed["samples"], theirs.needed["clusters"]) == pytest.approx(
            (ours.needed["samples"], ours.needed["clusters"]), abs=1
        )
        for name, part in theirs.categories.items():
            assert part.difference == other.apart(ours.categories[name].difference)
            assert part.p_adjusted == pytest.approx(ours.categories[name].p_adjusted)
        assert {sample.sample_id for sample in theirs.largest} == {sample.sample_id for sample in ours.largest}
    assert [column.rank for column in there.columns] == [column.rank for column in here.columns]
    for ours, theirs in zip(here.columns, there.columns, strict=True):
        assert theirs.mean == pytest.approx(other.at(ours.mean))
        assert theirs.ci95 == other.span(ours.ci95)
    document = there.document()
    assert plain(msgspec.json.decode(encode_document(document), type=type(document))) == plain(document)


@OF_SAMPLES
def test_bounds_and_whether_missing_scores_could_turn_a_verdict(run):
    here, there = compared(run), compared(carried(run, LOWER))
    for ours, theirs in zip(here.pairs, there.pairs, strict=True):
        assert theirs.worst_case_difference == LOWER.apart(ours.worst_case_difference)
        assert theirs.best_case_difference == LOWER.apart(ours.best_case_difference)
        assert theirs.outcome.holds == ours.outcome.holds is True
        assert theirs.worst_case_difference > theirs.difference > theirs.best_case_difference, "less is better"
    for other in (PSNR, LOSS, FREE):
        for pair in compared(carried(run, other)).pairs:
            assert pair.worst_case_difference is pair.best_case_difference is None
            assert pair.better is not None
            assert pair.outcome.holds is False


@OPEN
@OF_SAMPLES
def test_where_nothing_is_missing_an_open_end_bounds_nothing(run, other):
    short = carried(only(run, lambda number: number > 30), other)
    for pair in compared(short).pairs:
        assert pair.worst_case_difference == pair.best_case_difference == pytest.approx(pair.difference)
        assert pair.outcome.holds is True
    for score in blocks(summarise(short).results):
        assert score.worst_case_mean == score.best_case_mean == score.mean


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("models", "margin"), [(MODELS, None), (MODELS, 0.4), (MODELS[::-1], None), (MODELS[::-1], 0.1), (MODELS, 5.0)]
)
@OF_SAMPLES
def test_the_gate(run, models, margin):
    edits = tuple(replace(edit, status=Status.OK, image="x") for edit in run.edits)
    whole = replace(run, edits=edits, edit_models=models)
    made = only(whole, lambda number: number > 30)  # what is missing is another test
    here = compared(made, margin=margin).gate
    for other in (LOWER, PSNR, LOSS, FREE):
        there = compared(carried(made, other), margin=margin and margin * abs(other.factor)).gate
        if other.scale.span is None and margin is not None:  # nothing bounds what was not seen
            assert there.passed >= here.passed
            assert all(
                theirs.lower >= abs(other.factor) * ours.lower - 1e-9
                for ours, theirs in zip(here.candidates, there.candidates, strict=True)
            )
            continue
        assert there.passed == here.passed
        for ours, theirs in zip(here.candidates, there.candidates, strict=True):
            assert [reason.kind for reason in theirs.reasons] == [reason.kind for reason in ours.reasons]
            assert theirs.difference == pytest.approx(abs(other.factor) * ours.difference)
            if margin is not None:
                assert theirs.lower == pytest.approx(abs(other.factor) * ours.lower)


@OF_SAMPLES
def test_a_failed_edit_could_have_had_any_score(run):
    def reasons(of, margin):
        return [
            [reason.kind for reason in candidate.reasons] for candidate in compared(of, margin=margin).gate.candidates
        ]

    few = {f"s{n:04d}" for n in range(40, 46)}
    judgements = tuple(
        replace(judgement, status=Status.EDIT_FAILED, scores={})
        if (judgement.edit_model == "b" and judgement.sample_id in few)
        else judgement
        for judgement in run.judgements
    )
    edits = tuple(
        replace(edit, status=Status.EDIT_FAILED, image="")
        if (edit.edit_model == "b" and edit.sample_id in few)
        else edit
        for edit in run.edits
    )
    failing = replace(run, judgements=judgements, edits=edits)
    assert reasons(failing, 0.3)[0] == reasons(carried(failing, LOWER), 0.06)[0] != []
    for other in (PSNR, LOSS, FREE):
        candidate = compared(carried(failing, other), margin=1.2 * abs(other.factor)).gate.candidates[0]
        assert [reason.kind for reason in candidate.reasons] == ["open"]
        assert candidate.lower is None or other is PSNR


@OPEN
@OF_SAMPLES
def test_few_images_say_the_same_on_an_open_scale(run, other):
    few = only(run, lambda number: number // 2 < 10)
    here, there = compared(few), compared(carried(few, other))
    for ours, theirs in zip(here.pairs, there.pairs, strict=True):
        assert ours.no_ci95 is theirs.no_ci95 is None
        assert theirs.p == pytest.approx(ours.p)
        assert theirs.ci95 == pytest.approx(sorted(other.factor * end for end in ours.ci95))
