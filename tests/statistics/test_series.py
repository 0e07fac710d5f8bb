from __future__ import annotations

import math

import numpy as np
import pytest

from edit_eval.errors import ConfigurationError
from edit_eval.records import Scale, Scoring
from edit_eval.statistics.series import Series, ends, finite, gain, groups_of, largest_difference, mean, series_of

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
    assert [ends(one) for one in (UP, DOWN, OPEN, LOSS)] == [(1, 5), (1, -1), (0, math.inf), (math.inf, 0)]
    assert [largest_difference(one) for one in (UP, DOWN, OPEN)] == [4, 2, math.inf]
    assert [gain(one) for one in (UP, DOWN)] == [1, -1]
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
