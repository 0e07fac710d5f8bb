from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace as changed

from documents import plain
from edit_eval.records import CONTROL, Results, RunProvenance, Scale, Scoring, Status
from edit_eval.reporting.documents import encode_document
from edit_eval.statistics.controls import ControlNumbers, all_below_edits, compare_controls
from edit_eval.statistics.intervals import estimate
from edit_eval.statistics.series import series_of
from edit_eval.statistics.summary import Result, Summary, extremes, summarise

NOTHING = {"mean": None, "ci95": None, "no_ci95": "no_scores", "ruled_out_share": None}


def score_of(run):
    """The only score of the only model and judge."""
    (result,) = summarise(run).results
    return result.scores["score"]


@pytest.fixture
def run(make_sample, make_results):
    samples = [
        make_sample(0, category="physical", difficulty="hard", tags=("rain", "light"), source=0),
        make_sample(1, category="physical", difficulty="easy", tags=("rain",), source=0),
        make_sample(2, category="physical", difficulty="hard", source=2),
        make_sample(3, category="social", difficulty="hard", source=3),
        make_sample(4, category="social", source=4),
        make_sample(5, category="social", source=5),
    ]
    rows = [[8.0], [6.0], [Status.EDIT_FAILED], [3.0], [Status.UNPARSEABLE], [5.0]]
    return make_results(samples, {("qwen", "judge"): rows})


def test_scores_that_needed_a_second_asking_are_counted_apart(run):
    again = [(), ("score",), (), ("score",), (), ()]
    judgements = tuple(
        replace(judgement, again=frozenset(of)) for judgement, of in zip(run.judgements, again, strict=True)
    )
    summary = summarise(replace(run, judgements=judgements))
    assert summary.coverage.asked_again == 2
    categories = summary.results[0].scores["score"].categories
    assert {name: block.coverage.asked_again for name, block in categories.items()} == {"physical": 1, "social": 1}


def test_only_scores_are_numbers(run):
    summary = summarise(run)
    overall = score_of(run)
    assert overall.n == 4
    assert overall.images == 3
    assert overall.mean == 5.5
    assert overall.std == pytest.approx(statistics.stdev([8, 6, 3, 5]))
    assert overall.scale == Scale(lowest=0, highest=10)
    assert (overall.median, overall.min, overall.max) == (5.5, 3.0, 8.0)
    assert plain(summary.coverage) == {
        "scored": 4,
        "total": 6,
        "asked_again": 0,
        "by_status": {"ok": 4, "edit_failed": 1, "unparseable": 1},
        "required": 1.0,
        "reached": False,
    }


def test_the_bounds_take_every_missing_score_for_the_lowest_and_the_highest(run):
    overall = score_of(run)
    assert overall.worst_case_mean == pytest.approx(22 / 6)
    assert overall.best_case_mean == pytest.approx((22 + 20) / 6)
    to_twenty = Scoring(protocol="other", headline="score", scales={"score": Scale(lowest=1, highest=20)})
    other_scale = score_of(replace(run, scoring={"judge": to_twenty}))
    assert other_scale.worst_case_mean == pytest.approx(24 / 6)
    assert other_scale.best_case_mean == pytest.approx(62 / 6)


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.OK])
def test_no_status_but_ok_ever_reaches_a_mean(make_sample, make_results, status):
    samples = [make_sample(index) for index in range(3)]
    run = make_results(samples, {("m", "j"): [[2.0], [4.0], [status]]})
    summary, overall = summarise(run), score_of(run)
    assert overall.mean == 3.0
    assert overall.n == 2
    assert summary.coverage.by_status == {"ok": 2, status.value: 1}
    assert overall.worst_case_mean == 2.0
    assert summary.status == ("incomplete" if status is Status.PENDING else "complete")


def test_categories_difficulties_tags_and_languages(run):
    result = score_of(run)
    assert list(result.categories) == ["physical", "social"]
    assert result.categories["physical"].mean == 7.0
    assert result.categories["physical"].coverage.by_status == {"ok": 2, "edit_failed": 1}
    assert result.category_mean.mean == 5.5
    assert result.difficulties["hard"].mean == 5.5
    assert list(result.difficulties) == ["hard", "easy"]
    assert {tag: block.n for tag, block in result.tags.items()} == {"rain": 2, "light": 1}
    assert result.languages["en"].n == 4
    for kind in ("categories", "difficulties", "tags", "languages"):
        assert all(block.exploratory is True for block in getattr(result, kind).values())
    # The two scored physical samples are one source image: there is no interval.
    assert result.categories["physical"].ci95 is None
    assert result.categories["physical"].no_ci95 == "one_image"
    # And the four of all are of two, which is no interval to believe either.
    assert result.no_ci95 == "few_images"


def test_weighted_by_samples_and_by_category(make_sample, make_results):
    samples = [make_sample(index, category="a" if index < 3 else "b") for index in range(4)]
    score = score_of(make_results(samples, {("m", "j"): [[1.0], [1.0], [1.0], [9.0]]}))
    assert score.mean == score.sample_mean.mean == 3.0
    assert score.category_mean.mean == 5.0


def test_a_category_without_any_score_leaves_no_category_mean(make_sample, make_results):
    samples = [make_sample(0, category="a"), make_sample(1, category="b")]
    score = score_of(make_results(samples, {("m", "j"): [[7.0], [Status.REFUSED]]}))
    assert score.category_mean.mean is None
    assert score.categories["b"].mean is None
    assert score.categories["b"].worst_case_mean == 0.0
    assert score.categories["b"].best_case_mean == 10.0
    assert score.mean == 7.0


def test_several_models_and_judges_have_no_common_mean(make_sample, make_results):
    samples = [make_sample(0), make_sample(1)]
    scores = {
        (edit_model, judge): [[1.0], [Status.PENDING if (edit_model, judge) == ("b", "y") else 2.0]]
        for edit_model in ("b", "a")
        for judge in ("y", "x")
    }
    summary = summarise(make_results(samples, scores))
    assert [(r.edit_model, r.judge) for r in summary.results] == [("b", "y"), ("b", "x"), ("a", "y"), ("a", "x")]
    assert {"mean", "scores", "categories"}.isdisjoint(plain(summary))
    assert summary.status == "incomplete"
    assert summary.coverage.scored == 7
    assert [r.coverage.reached for r in summary.results] == [False, True, True, True]
    assert summary.coverage.reached is False


def with_least(run, min_coverage):
    return replace(run, provenance=RunProvenance(configuration={"evaluation": {"min_coverage": min_coverage}}))


@pytest.mark.parametrize(("min_coverage", "reached"), [(1.0, False), (0.67, False), (0.66, True), (0.0, True)])
def test_coverage_is_held_against_what_was_asked_for(run, min_coverage, reached):
    coverage = summarise(with_least(run, min_coverage)).coverage
    assert coverage.reached is reached
    assert coverage.required == min_coverage


def test_rounding_does_not_miss_a_coverage_that_is_just_reached(make_sample, make_results):
    samples = [make_sample(index) for index in range(100)]
    rows = [[5.0] if index < 7 else [Status.REFUSED] for index in range(100)]
    assert summarise(with_least(make_results(samples, {("m", "j"): rows}), 0.07)).coverage.reached


def test_nothing_scored_is_no_number_at_all(make_sample, make_results):
    score = score_of(make_results([make_sample(0)], {("m", "j"): [[Status.JUDGE_ERROR]]}))
    assert plain(score.category_mean) == plain(score.sample_mean) == NOTHING
    (category,) = plain(score.categories).values()
    del category["coverage"], category["exploratory"]
    assert category == {
        "n": 0,
        "images": None,
        "mean": None,
        "std": None,
        "median": None,
        "min": None,
        "max": None,
        "worst_case_mean": 0.0,
        "best_case_mean": 10.0,
        "ci95": None,
        "no_ci95": "no_scores",
        "ruled_out_share": None,
    }


def test_an_empty_run_can_be_summarised(make_results):
    run = make_results([], {("m", "j"): []})
    assert summarise(run).coverage.total == 0
    assert score_of(run).worst_case_mean is None
    assert score_of(run).categories == {}


def test_repeats_count_in_the_mean_and_share_a_cluster(make_sample, make_results):
    samples = [make_sample(index) for index in range(4)]
    once = score_of(make_results(samples, {("m", "j"): [[1.0], [4.0], [6.0], [8.0]]}))
    thrice = score_of(make_results(samples, {("m", "j"): [[s] * 3 for s in (1.0, 4.0, 6.0, 8.0)]}))
    assert thrice.n == 12
    assert thrice.images == 4
    assert thrice.mean == once.mean
    assert thrice.ci95 == pytest.approx(once.ci95)  # asking again makes no new samples


def test_one_mean_wherever_it_is_said(make_sample, make_results):
    """Two seeds and two repeats with gaps: a sample that lacks three of four scores counts as much as a whole one."""
    missing, models = Status.EDIT_FAILED, ("m", "n")
    generator = random.Random(3)
    rows = {
        (model, "j"): [
            [missing if generator.random() < 0.4 else float(generator.randint(0, 10)) for _ in range(4)]
            for _ in range(12)
        ]
        for model in models
    }
    samples = [make_sample(place) for place in range(12)]
    summary = summarise(make_results(samples, rows))
    for model, entry, column in zip(models, summary.results, summary.comparison.columns, strict=True):
        known = [[score for score in of if score is not missing] for of in rows[model, "j"]]
        expected = statistics.fmean(statistics.fmean(of) for of in known if of)
        block = entry.headline_numbers
        lowest = statistics.fmean(sum(of) / 4 for of in known)
        assert (block.mean, column.mean) == pytest.approx((expected, expected))
        assert block.mean != pytest.approx(statistics.fmean(score for of in known for score in of))
        assert (block.worst_case_mean, block.best_case_mean) == pytest.approx(
            (lowest, lowest + 10 * statistics.fmean(1 - len(of) / 4 for of in known))
        )
        assert block.ci95 == pytest.approx(column.ci95)
        assert (block.coverage.scored, block.coverage.total) == (column.scored, column.total)
        assert (column.scored, column.total) == (sum(map(len, known)), 48)
        assert block.n == column.scored
        [placing] = [of for of in summary.verdict.opinions[0].standings if of.name == model]
        assert (placing.mean, placing.scored, placing.total) == (column.mean, column.scored, column.total)


def test_a_score_without_a_known_source_has_no_interval(make_sample, make_results):
    samples = [make_sample(0), make_sample(1), replace(make_sample(2), pictures={}, cluster="")]
    score = score_of(make_results(samples, {("m", "j"): [[1.0], [5.0], [9.0]]}))
    assert score.mean == 5.0
    assert (score.ci95, score.no_ci95) == (None, "unknown_source")
    assert score.images is None


def test_the_document_is_plain_json_and_the_same_in_any_order(make_sample, make_results):
    chance = random.Random(1)
    samples = [make_sample(index, category="abc"[index % 3], source=index // 4) for index in range(200)]
    rows = [[Status.REFUSED if chance.random() < 0.1 else round(chance.uniform(0, 10), 3)] for _ in range(200)]
    run = make_results(samples, {("m", "j"): rows})
    shuffled = list(run.judgements)
    chance.shuffle(shuffled)
    summary = summarise(run)
    assert plain(msgspec.json.decode(encode_document(summary), type=Summary)) == plain(summary)
    assert encode_document(summarise(replace(run, judgements=tuple(shuffled)))) == encode_document(summary)


def test_the_mean_of_categories_has_the_interval_of_its_own_weights(make_sample, make_results):
    """Not that of the mean of all scores: the small category counts as much as the large one."""
    generator = np.random.default_rng(1)
    categories = ["physical"] * 40 + ["social"] * 10
    samples = [make_sample(n, category=name, source=n % 25) for n, name in enumerate(categories)]
    scores = np.append(generator.normal(6, 0.5, size=40), generator.normal(6, 1.5, size=10))
    result = score_of(make_results(samples, {("m", "j"): [[score] for score in scores]}))
    groups = np.array([name == "social" for name in categories], dtype=np.int64)
    mean = estimate(scores, np.arange(50) % 25, groups)
    of_categories = result.category_mean
    assert of_categories.mean == pytest.approx(mean.value)
    assert of_categories.ci95 == pytest.approx(mean.interval())
    low, high = result.ci95
    assert of_categories.ci95[1] - of_categories.ci95[0] > 1.2 * (high - low)
    assert of_categories.no_ci95 is None


def test_why_the_mean_of_categories_has_no_interval(make_sample, make_results):
    names = ["physical"] * 4 + ["social"]
    samples = [make_sample(n, category=name) for n, name in enumerate(names)]
    single = score_of(make_results(samples, {("m", "j"): [[n] for n in (4, 5, 6, 7, 8)]}))
    assert plain(single.category_mean) == {**NOTHING, "mean": 6.75, "no_ci95": "one_image"}
    none = score_of(make_results(samples, {("m", "j"): [[4], [5], [6], [7], [Status.REFUSED]]}))
    assert plain(none.category_mean) == NOTHING


# -- several scores --

FIVE = Scale(lowest=1, highest=5)
AXES = Scoring(
    protocol="axes",
    headline="overall",
    scales={"overall": FIVE, "knowledge": FIVE, "loss": Scale(lowest=0, higher_is_better=False)},
)


def scores_of(run, **how):
    (result,) = summarise(run).results
    return result.scores


def test_each_score_counts_the_samples_to_which_it_applies(make_sample, make_results):
    rows = [
        [{"overall": 4, "knowledge": 3, "loss": 0.5}],
        [{"overall": 2, "loss": Status.UNDEFINED}],  # no question about knowledge
        [{"overall": Status.UNPARSEABLE, "knowledge": 5, "loss": 0.1}],
        [{"overall": 3, "knowledge": Status.REFUSED, "loss": 0.3}],
        [Status.EDIT_FAILED],
    ]
    run = make_results([make_sample(n) for n in range(5)], {("m", "j"): rows}, scoring=AXES)
    (result,) = summarise(run).results
    assert (result.protocol, result.headline) == ("axes", "overall")
    scores = result.scores
    assert list(scores) == ["overall", "knowledge", "loss"]
    assert {name: (score.n, score.coverage.total, score.mean) for name, score in scores.items()} == {
        "overall": (3, 5, 3.0),
        "knowledge": (2, 4, 4.0),
        "loss": (3, 5, pytest.approx(0.3)),
    }
    assert scores["knowledge"].coverage.by_status == {"ok": 2, "edit_failed": 1, "refused": 1}
    assert scores["loss"].coverage.by_status == {"ok": 3, "edit_failed": 1, "undefined": 1}
    assert result.coverage.by_status == {"ok": 3, "edit_failed": 1, "unparseable": 1}
    assert scores["knowledge"].worst_case_mean == (3 + 5 + 1 + 1) / 4
    assert (scores["loss"].worst_case_mean, scores["loss"].best_case_mean) == (None, pytest.approx(0.9 / 5))
    assert plain(scores["loss"].scale) == {
        "lowest": 0,
        "highest": None,
        "higher_is_better": False,
        "mean_over": "samples",
    }
    assert plain(msgspec.json.decode(encode_document(result), type=Result)) == plain(result)


def test_a_failed_edit_counts_for_the_scores_that_it_names(make_sample, make_results):
    failed = {"overall": Status.EDIT_FAILED, "loss": Status.EDIT_FAILED}
    rows = [[{"overall": 4, "knowledge": 3, "loss": 0.5}], [failed]]
    scores = scores_of(make_results([make_sample(0), make_sample(1)], {("m", "j"): rows}, scoring=AXES))
    assert {name: score.coverage.total for name, score in scores.items()} == {"overall": 2, "knowledge": 1, "loss": 2}


def test_coverage_is_that_of_the_headline(make_sample, make_results):
    rows = [[{"overall": 4, "knowledge": Status.REFUSED, "loss": Status.UNDEFINED}] for _ in range(3)]
    coverage = summarise(make_results([make_sample(n) for n in range(3)], {("m", "j"): rows}, scoring=AXES)).coverage
    assert (coverage.scored, coverage.total, coverage.reached) == (3, 3, True)


def test_a_mean_over_categories_leads_where_the_scale_says_so(make_sample, make_results):
    scale = Scale(lowest=1, highest=5, mean_over="categories")
    scoring = Scoring(protocol="p", headline="score", scales={"score": scale})
    samples = [make_sample(n, category="a" if n < 6 else "b", tags=("t",) if n in (0, 6) else ()) for n in range(8)]
    rows = [[1], [2], [3], [1], [2], [Status.REFUSED], [5], [4]]
    score = score_of(make_results(samples, {("m", "j"): rows}, scoring=scoring))
    assert score.mean == score.category_mean.mean == (9 / 5 + 4.5) / 2
    assert score.sample_mean.mean == 18 / 7
    assert score.ci95 == score.category_mean.ci95 != score.sample_mean.ci95
    assert (score.worst_case_mean, score.best_case_mean) == ((10 / 6 + 4.5) / 2, (14 / 6 + 4.5) / 2)
    assert score.languages["en"].mean == score.mean, "the same samples, and so the same mean"
    assert score.tags["t"].mean == 3.0
    lost = [*rows[:6], [Status.REFUSED], [Status.REFUSED]]
    score = score_of(make_results(samples, {("m", "j"): lost}, scoring=scoring))
    assert (score.mean, score.no_ci95, score.sample_mean.mean) == (None, "no_scores", 9 / 5)
    assert score.worst_case_mean == (10 / 6 + 1) / 2


def test_what_belongs_together_is_what_the_sample_says(make_sample, make_results):
    samples = [make_sample(n, cluster=f"film {n // 2}") for n in range(8)]
    score = score_of(make_results(samples, {("m", "j"): [[n] for n in range(8)]}))
    assert score.images == 4
    assert score.ci95 == pytest.approx(estimate(np.arange(8.0), np.arange(8) // 2).interval(lowest=0, highest=10))


def test_published_numbers_stand_beside_ours_and_change_nothing(run):
    published = {("qwen", "judge"): {"accuracy": 0.25, "O": "without a seed there is no such number"}}
    (without,), (result,) = summarise(run).results, summarise(replace(run, published=published)).results
    assert plain(result.published) == {
        "accuracy": {"value": 0.25, "reason": ""},
        "O": {"value": None, "reason": "without a seed there is no such number"},
    }
    assert changed(result, published={}) == without


def test_controls_stand_for_themselves(run):
    kinds: dict[str, list[float | None]] = {"control:source": [1.0, 2.0, None], "control:blank": [None]}
    controls = tuple(
        replace(
            run.judgements[0],
            edit_model=kind,
            status=Status.REFUSED if score is None else Status.OK,
            scores={} if score is None else {"score": score},
        )
        for kind, scores in kinds.items()
        for score in scores
    )
    elsewhere = replace(controls[0], judge="another")
    without, with_controls = (
        plain(summarise(results)) for results in (run, replace(run, controls=(*controls, elsewhere)))
    )
    assert without.pop("controls") == {"samples": None, "fewest": 5, "wanted": 5, "judges": {}}
    judge = with_controls.pop("controls")["judges"]["judge"]
    del without["verdict"], with_controls["verdict"]  # which says what controls make of a judge
    assert with_controls == without
    assert (judge["score"], judge["last"], list(judge["kinds"])) == ("score", None, ["source", "blank"])
    source, blank = (msgspec.convert(numbers, ControlNumbers) for numbers in judge["kinds"].values())
    assert (source.n, source.coverage.total, source.mean) == (2, 3, 1.5)
    assert source.std == pytest.approx(math.sqrt(0.5))
    assert (blank.n, blank.coverage.total, blank.mean, blank.ci95) == (0, 1, None, None)


def test_the_worst_of_each_judge_and_never_a_mean_over_judges(make_sample, make_results) -> None:
    samples = [make_sample(number) for number in range(5)]
    strict = [[3.0, 1.0], [2.0, 2.0], [1.0, 4.0], [Status.UNPARSEABLE, 0.5], [9.0, 9.0]]
    kind = [[9.0, 9.0], [2.5, 2.5], [9.0, 9.0], [8.0, 8.0], [9.0, Status.REFUSED]]
    results: Results = make_results(samples, {("m", "strict"): strict, ("m", "kind"): kind})
    ends = extremes(results)
    assert [(sample.sample_id, sample.score) for sample in ends.worst["strict"]] == [
        ("s0003", 0.5),  # the mean of the one repeat that has a score
        ("s0000", 2.0),
        ("s0001", 2.0),
    ]
    apart = [(sample.sample_id, sample.scores, sample.difference) for sample in ends.judges_apart]
    assert apart == [
        ("s0004", {"strict": 9.0, "kind": 9.0}, pytest.approx(4.3)),  # kind is milder by 4.3, but not here
        ("s0001", {"strict": 2.0, "kind": 2.5}, pytest.approx(3.8)),
        ("s0003", {"strict": 0.5, "kind": 8.0}, pytest.approx(3.2)),
    ]
    shuffled = replace(results, judgements=results.judgements[::-1])
    assert extremes(shuffled) == ends


def test_the_worst_is_the_highest_where_lower_is_better_and_unlike_scales_are_not_held_together(
    make_sample, make_results
) -> None:
    samples = [make_sample(number) for number in range(2)]
    results: Results = make_results(samples, {("m", "one"): [[3.0], [5.0]], ("m", "other"): [[0.0], [1.0]]})
    distance = Scoring(
        protocol="d", headline="score", scales={"score": Scale(lowest=0, highest=10, higher_is_better=False)}
    )
    ends = extremes(replace(results, scoring={**results.scoring, "one": distance}))
    assert [sample.sample_id for sample in ends.worst["one"]] == ["s0001", "s0000"]
    assert [sample.sample_id for sample in ends.worst["other"]] == ["s0000", "s0001"]
    assert ends.judges_apart == []


KINDS = ("source", "blank", "shuffled")
LOSS = Scoring(protocol="p", headline="score", scales={"score": Scale(lowest=0, highest=10, higher_is_better=False)})
Draw = Callable[[str, int], float | Status]


@pytest.fixture
def judged(make_sample, make_results):
    """A run of one judge: `says(what, sample)` is its score of `m`, of further models, and of each kind of control."""

    def make(says: Draw, *, samples: int = 25, images: int = 25, models=("m",), **more) -> Results:
        every = [make_sample(n, source=n % images) for n in range(samples)]
        rows = {(model, "j"): [[says(model, n)] for n in range(samples)] for model in models}
        run = make_results(every, rows, **more)
        of_kinds = make_results(
            every, {(f"{CONTROL}{kind}", "j"): [[says(kind, n)] for n in range(samples)] for kind in KINDS}, **more
        )
        return replace(run, controls=of_kinds.judgements)

    return make


def last(run: Results) -> bool | None:
    return all_below_edits(compare_controls(run, "j", series_of(run)["j"]))


def noisy(levels, spread=1.0, seed=0):
    generator = np.random.default_rng(seed)
    return lambda what, n: float(np.clip(levels[what] + generator.normal(0, spread), 0, 10))


def test_a_judge_that_sees_edits_puts_controls_last(judged):
    run = judged(noisy({"m": 6, "source": 2, "blank": 0, "shuffled": 1}))
    by_kind = compare_controls(run, "j", series_of(run)["j"])
    assert last(run) is True
    assert [control.below for control in by_kind.values()] == [True] * 3
    source = by_kind["source"]
    assert (source.edit_model, source.n, source.images) == ("m", 25, 25)
    assert source.difference == pytest.approx(source.edits - source.control)
    assert source.ci95[0] > 0
    assert summarise(run).controls.judges["j"].last is True


@pytest.mark.parametrize(
    "says",
    [
        lambda what, n: 7.0,
        noisy({"m": 6, "source": 8, "blank": 1, "shuffled": 1}),
        noisy({"m": 5, "source": 5, "blank": 5, "shuffled": 5}, 2.0),
    ],
    ids=["constant", "loves the source", "random"],
)
def test_impostors_do_not(judged, says):
    """Of enough images it is shown that edits are not above controls by a tenth of the scale."""
    assert last(judged(says, samples=100, images=100)) is False
    assert last(judged(says, samples=12, images=12)) is not True


def test_a_right_judge_is_not_accused_where_models_seldom_succeed(judged):
    """It gives 9 to an edit that succeeds, two of a hundred here, and 2 to all else: that is too little to show, and
    of few images no finding either."""
    says = lambda what, n: 9.0 if what == "m" and n == 7 else 2.0  # noqa: E731
    assert last(judged(says, samples=25, images=25)) is None
    assert last(judged(lambda what, n: 2.0, samples=25, images=25)) is None, "so many images can miss what is rare"


def test_a_higher_mean_is_not_enough(judged):
    """The edits' raw mean lies above the source's, and the interval holds 0: nothing is shown."""
    says = noisy({"m": 5.3, "source": 5, "blank": 0, "shuffled": 0}, 2.0, seed=2)
    run = judged(says)
    source = compare_controls(run, "j", series_of(run)["j"])["source"]
    assert source.difference > 0.1
    assert source.ci95[0] < 0 < source.ci95[1]
    assert last(run) is None


def test_it_is_clustered_on_the_source_image(judged):
    """Eight images with ten samples each, all of an image alike: eighty samples say no more than eight."""
    of_image = np.random.default_rng(3).normal(0.8, 1.5, size=8)
    run = judged(lambda what, n: 5 + (of_image[n % 8] if what == "m" else 0.0), samples=80, images=8)
    assert compare_controls(run, "j", series_of(run)["j"])["source"].images == 8
    assert last(run) is None


def test_one_model_that_stands_out_shows_that_the_judge_sees(judged):
    levels = {"bad": 2, "good": 6, "source": 2, "blank": 1, "shuffled": 1}
    run = judged(noisy(levels), models=("bad", "good"))
    assert last(run) is True
    assert {control.edit_model for control in compare_controls(run, "j", series_of(run)["j"]).values()} == {"good"}


def test_where_less_is_better_controls_lie_above(judged):
    run = judged(noisy({"m": 2, "source": 6, "blank": 9, "shuffled": 8}), scoring=LOSS)
    assert last(run) is True
    assert last(judged(noisy({"m": 6, "source": 2, "blank": 1, "shuffled": 1}), scoring=LOSS)) is False


def test_of_few_images_nothing_is_said(judged):
    run = judged(noisy({"m": 5, "source": 5, "blank": 5, "shuffled": 5}), samples=7)
    assert last(run) is None
    assert last(judged(lambda what, n: 0.0 if what in KINDS else 9.0, samples=8)) is True, "without spread, and plain"
    silent = judged(lambda what, n: Status.UNPARSEABLE if what in KINDS else 6.0)
    blank = compare_controls(silent, "j", series_of(silent)["j"])["blank"]
    assert (blank.n, blank.difference, blank.below, last(silent)) == (0, None, None, None)


def test_an_honest_judge_is_seldom_accused(judged):
    """Edits two points above the source with a spread of three, 25 samples: what the rule says in 60 runs."""
    levels = {"m": 6, "source": 3.5, "blank": 1, "shuffled": 1}
    verdicts = [last(judged(noisy(levels, 2.0, seed=seed))) for seed in range(60)]
    assert verdicts.count(True) >= 57
    level = {"m": 5, "source": 5, "blank": 1, "shuffled": 1}
    blind = [last(judged(noisy(level, 2.0, seed=seed))) for seed in range(60)]
    assert blind.count(True) <= 6, "at most .025 of blind judges pass, give or take"
