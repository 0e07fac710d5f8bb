from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from edit_eval.errors import ConfigurationError
from edit_eval.records import Picture, Scale, Scoring, Status
from edit_eval.statistics.columns import Difference, columns_of, differences, group_by_judge, refuse_incomparable
from edit_eval.statistics.comparison import compare
from edit_eval.statistics.series import Series, ends, finite, gain, groups_of, largest_difference, mean, series_of
from small_columns import IDENTITY, column


def test_columns_of_a_run(make_sample, make_results):
    samples = [make_sample(0, category="social"), make_sample(1, source=0), make_sample(2)]
    rows = [[4.0, 5.0], [Status.REFUSED, 3.0], [Status.EDIT_FAILED, Status.EDIT_FAILED]]
    run = make_results(samples, {("m", "j"): rows}, name="first")
    (only,) = columns_of(run, {"j": IDENTITY})
    assert (only.name, only.edit_model, only.judge, only.run) == ("first", "m", "j", "runs/first")
    assert only.scores == {"s0000": 4.5, "s0001": 3.0, "s0002": None}
    assert only.unscored == {"s0000": 0.0, "s0001": 0.5, "s0002": 1.0}
    assert only.clusters["s0001"] == "digest-00000"
    assert only.categories["s0000"] == "social"
    comparison = compare([only, replace(only, name="second")])
    assert (comparison.columns[0].scored, comparison.columns[0].total) == (3, 6), "judgements, as everywhere"


def test_the_first_words_of_a_sample_are_kept(make_sample, make_results):
    run = make_results([make_sample(0), make_sample(1)], {("m", "j"): [[1.0, 2.0], [Status.REFUSED]]})
    judgements = tuple(replace(judgement, reason=f"words {number}") for number, judgement in enumerate(run.judgements))
    (only,) = columns_of(replace(run, judgements=judgements), {"j": IDENTITY})
    assert only.words == {"s0000": "words 0"}  # a reason why there is no score is not the judge's words


def test_columns_of_several_models_and_judges(make_sample, make_results):
    samples = [make_sample(0), make_sample(1)]
    scores = {(edit_model, judge): [[1.0], [2.0]] for edit_model in ("a", "b") for judge in ("x", "y")}
    columns = columns_of(make_results(samples, scores), {"x": {"judge": "x"}, "y": {"judge": "y"}})
    assert {judge: [column.name for column in group] for judge, group in group_by_judge(columns).items()} == {
        "x": ["run/a", "run/b"],
        "y": ["run/a", "run/b"],
    }
    with pytest.raises(ConfigurationError, match="they differ in judge: 'x' and 'y'"):
        refuse_incomparable(columns)
    assert all(pair.identical for pair in compare(columns).pairs)  # only within each judge


def test_bounds_of_a_sample():
    holed = column("a", [8, None, 6], unscored={"s0000": 0.5})
    assert [holed.bound(sample, 0.0) for sample in holed.scores] == [4.0, 0.0, 6.0]
    assert [holed.bound(sample, 10.0) for sample in holed.scores] == [9.0, 10.0, 6.0]
    assert [holed.bound(sample, math.inf) for sample in holed.scores] == [math.inf, math.inf, 6.0]


def test_what_cannot_be_compared_is_refused_with_what_differs():
    other = {**IDENTITY, "judge": {"name": "qwen3_vl", "params": {"dtype": "float16"}}, "answer": "reason_then_score"}
    with pytest.raises(ConfigurationError) as refused:
        compare([column("a", [1, 2]), column("b", [1, 2], identity=other)])
    assert "a and b cannot be compared" in str(refused.value)
    assert str(refused.value).endswith("they differ in judge.params.dtype: 'bfloat16' and 'float16' (and 1 more)")
    assert refused.value.__notes__ == ["answer: 'score' and 'reason_then_score'"]


def test_of_a_digest_twelve_digits_are_shown() -> None:
    (difference,) = differences({"revision": "a1" * 32}, {"revision": "b2" * 32})
    assert str(difference) == "revision: 'a1a1a1a1a1a1' and 'b2b2b2b2b2b2'"


def shown(a, b):
    return list(map(str, differences(a, b)))


def test_what_differs():
    assert shown(IDENTITY, json.loads(json.dumps(IDENTITY))) == []
    assert shown({"images": ("a",)}, {"images": ["a"]}) == []
    assert shown({"seed": 0}, {"seed": False}) == []
    assert len(shown({"prompts": "p" * 5000}, {"prompts": "q"})[0]) < 150


def test_a_value_that_is_not_there_is_not_set_and_named_once():
    assert shown({"x": 1}, {}) == ["x: 1 and not set"]
    assert shown({}, {"x": None}) == ["x: not set and None"]
    assert shown({"x": "not set"}, {}) == ["x: 'not set' and not set"]
    # A group of values beside none, beside one that is off, and beside an empty one.
    assert shown({}, {"form": {"type": "json"}}) == ["form: not set and {'type': 'json'}"]
    assert shown({"form": None}, {"form": {"type": "json", "strict": True}}) == [
        "form: None and {'type': 'json', 'strict': True}"
    ]
    assert shown({"form": {}}, {"form": {"type": "json"}}) == ["form.type: not set and 'json'"]


def test_long_texts_are_shown_from_where_they_differ():
    before = "Turn the sky over the harbour into a thunderstorm " * 3
    (difference,) = differences({"text": before + "at night"}, {"text": before + "by day"})
    assert difference == Difference("text", "...into a thunderstorm at night'", "...into a thunderstorm by day'")


def test_another_image_under_the_same_id_is_refused():
    with pytest.raises(ConfigurationError, match="sample 's0001' has another source image"):
        compare([column("a", [1, 2]), column("b", [1, 2], clusters=[0, 9])])


def test_samples_that_were_asked_differently_are_refused_with_the_first_and_their_number():
    asked = {f"s{index:04d}": {"instruction": "make it rain", "rubric": "v1 aa"} for index in range(3)}
    others = {**asked, "s0002": {"instruction": "make it snow", "rubric": "v1 aa"}}
    every = {key: {**value, "rubric": "v1 bb"} for key, value in asked.items()}
    first, same = column("a", [1, 2, 3], asked=asked), column("b", [1, 2, 3], asked=dict(asked))
    refuse_incomparable([first, same])
    with pytest.raises(ConfigurationError) as refused:
        refuse_incomparable([first, replace(same, asked=others)])
    assert str(refused.value).endswith(
        "they differ in the instruction of 1 of 3 common samples (the first, 's0002': 'make it rain' and "
        "'make it snow')"
    )
    with pytest.raises(
        ConfigurationError, match=r"the rubric of 3 of 3 common samples \(the first, 's0000': 'v1 aa' an"
    ):
        refuse_incomparable([first, replace(same, asked=every)])
    # What only one of them ran may be anything.
    refuse_incomparable([first, column("b", [1, 2], asked=others)])


def test_runs_without_a_common_sample_are_refused():
    with pytest.raises(ConfigurationError, match="no sample has the same id in both"):
        compare([column("a", [1, 2]), column("b", [1, 2], first=2)])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([], "two runs or more"),
        ([column("a", [1, 2])], "two runs or more"),
        ([column("a", [1, 2]), column("a", [1, 2])], "same name"),
        ([column("a", [1, 2]), column("b", [1, 2]), column("a", [1, 2], judge="other")], "two runs or more"),
    ],
)
def test_what_makes_no_comparison_is_refused(columns, message):
    with pytest.raises(ConfigurationError, match=message):
        compare(columns)


# -- which score --


def axes(make_sample, make_results, **more):
    scales = {"O": Scale(lowest=0, highest=10), "loss": Scale(lowest=0, higher_is_better=False)}
    rows = [[{"O": 4, "loss": 0.5}, {"O": 5, "loss": 0.7}], [{"O": Status.REFUSED, "loss": 0.1}], [{"O": 3}]]
    scoring = Scoring(protocol="axes", headline="O", scales=scales)
    return make_results([make_sample(n) for n in range(3)], {("m", "j"): rows}, scoring=scoring, **more)


def test_a_column_is_of_the_headline_or_of_the_score_that_is_asked_for(make_sample, make_results):
    run = axes(make_sample, make_results)
    (headline,), (loss,) = columns_of(run, {"j": IDENTITY}), columns_of(run, {"j": IDENTITY}, score="loss")
    assert (headline.score, headline.scores) == ("O", {"s0000": 4.5, "s0001": None, "s0002": 3.0})
    assert (loss.score, loss.scale.higher_is_better) == ("loss", False)
    assert loss.scores == {"s0000": pytest.approx(0.6), "s0001": 0.1}, "it does not apply to the third"
    with pytest.raises(ConfigurationError, match="gives a score 'PQ'; there are: O, loss"):
        columns_of(run, {"j": IDENTITY}, score="PQ")


def test_another_score_or_scale_is_refused(make_sample, make_results):
    run = axes(make_sample, make_results)
    (first,), (other,) = columns_of(run, {"j": IDENTITY}), columns_of(run, {"j": IDENTITY}, score="loss")
    with pytest.raises(ConfigurationError, match="they differ in score: 'O' and 'loss' "):
        refuse_incomparable([first, replace(other, name="second")])
    turned = replace(first, name="second", scale=replace(first.scale, higher_is_better=False))
    with pytest.raises(ConfigurationError, match=r"they differ in scale\.higher_is_better: True and False"):
        refuse_incomparable([first, turned])


def test_another_reference_under_the_same_id_is_refused(make_sample, make_results):
    def column_with(name, digest):
        reference = Picture(path="r.png", digest=digest)
        samples = [
            replace(sample, pictures={**sample.pictures, "reference": reference})
            for sample in map(make_sample, range(2))
        ]
        (only,) = columns_of(make_results(samples, {("m", "j"): [[1.0], [2.0]]}, name=name), {"j": IDENTITY})
        return only

    with pytest.raises(ConfigurationError, match="sample 's0000' has another reference image"):
        refuse_incomparable([column_with("a", "one"), column_with("b", "two")])
    refuse_incomparable([column_with("a", "one"), column_with("b", "")])  # nobody knows


UP, DOWN, OPEN = Scale(lowest=1, highest=5), Scale(lowest=-1, highest=1, higher_is_better=False), Scale(lowest=0)
LOSS = Scale(lowest=0, higher_is_better=False)


def test_of_each_judge_the_headline_or_the_score_that_is_asked_for(make_sample, make_results):
    viescore = Scoring(protocol="viescore", headline="O", scales={"SC": UP, "O": UP})
    numbers = Scoring(protocol="numbers", headline="mse", scales={"mse": DOWN, "psnr": OPEN})
    scores = {("m", "gpt"): [[{"SC": 4, "O": 3}]], ("m", "pixels"): [[{"mse": 0.1, "psnr": 30}]]}
    run = make_results([make_sample(0)], scores, scoring={"gpt": viescore, "pixels": numbers})
    assert series_of(run) == {"gpt": Series("O", UP), "pixels": Series("mse", DOWN)}
    assert series_of(run, "psnr") == {"pixels": Series("psnr", OPEN)}
    with pytest.raises(ConfigurationError, match="no judge of run gives a score 'PQ'; there are: SC, O, mse, psnr"):
        series_of(run, "PQ")


def test_what_a_scale_says():
    assert [ends(scale) for scale in (UP, DOWN, OPEN, LOSS)] == [(1, 5), (1, -1), (0, math.inf), (math.inf, 0)]
    assert [largest_difference(scale) for scale in (UP, DOWN, OPEN)] == [4, 2, math.inf]
    assert [gain(scale) for scale in (UP, DOWN)] == [1, -1]
    assert [finite(value) for value in (None, -math.inf, 2.0)] == [None, None, 2.0]
    assert groups_of(UP, ["a", "b"]) is None
    assert groups_of(Scale(mean_over="categories"), ["b", "a", "b"]).tolist() == [1, 0, 1]


def test_a_mean_is_of_what_is_there():
    values = np.array([1.0, math.nan, 4.0, 7.0])
    assert mean(values) == 4.0
    assert mean(values, np.array([0, 0, 1, 1])) == (1 + 5.5) / 2
    assert mean(values, np.array([0, 1, 2, 2])) is None, "a group has none at all"
    assert mean(values[1:2]) is mean(values[:0]) is mean(values[:0], np.array([], dtype=np.int64)) is None
    assert mean(np.array([-math.inf, 3.0])) == -math.inf
