from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from edit_eval.records import CONTROL, Results, Scale, Scoring, Status
from edit_eval.statistics.series import series_of
from edit_eval.statistics.summary import beside_edits, put_last, summarise

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
    return put_last(beside_edits(run, "j", series_of(run)["j"]))


def noisy(levels, spread=1.0, seed=0):
    generator = np.random.default_rng(seed)
    return lambda what, n: float(np.clip(levels[what] + generator.normal(0, spread), 0, 10))


def test_a_judge_that_sees_edits_puts_controls_last(judged):
    run = judged(noisy({"m": 6, "source": 2, "blank": 0, "shuffled": 1}))
    found = beside_edits(run, "j", series_of(run)["j"])
    assert last(run) is True
    assert [one["below"] for one in found.values()] == [True] * 3
    source = found["source"]
    assert (source["edit_model"], source["n"], source["images"]) == ("m", 25, 25)
    assert source["difference"] == pytest.approx(source["edits"] - source["control"])
    assert source["ci95"][0] > 0
    assert summarise(run)["controls"]["judges"]["j"]["last"] is True


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
    assert last(judged(says)) is False


def test_a_higher_mean_is_not_enough(judged):
    """The edits' raw mean lies above the source's, and the interval holds 0: nothing is shown."""
    says = noisy({"m": 5.3, "source": 5, "blank": 0, "shuffled": 0}, 2.0, seed=2)
    run = judged(says)
    source = beside_edits(run, "j", series_of(run)["j"])["source"]
    assert source["difference"] > 0.1
    assert source["ci95"][0] < 0 < source["ci95"][1]
    assert last(run) is False


def test_it_is_clustered_on_the_source_image(judged):
    """Eight images with ten samples each, all of an image alike: eighty samples say no more than eight."""
    of_image = np.random.default_rng(3).normal(0.8, 1.5, size=8)
    run = judged(lambda what, n: 5 + (of_image[n % 8] if what == "m" else 0.0), samples=80, images=8)
    assert beside_edits(run, "j", series_of(run)["j"])["source"]["images"] == 8
    assert last(run) is False


def test_one_model_that_stands_out_shows_that_the_judge_sees(judged):
    levels = {"bad": 2, "good": 6, "source": 2, "blank": 1, "shuffled": 1}
    run = judged(noisy(levels), models=("bad", "good"))
    assert last(run) is True
    assert {one["edit_model"] for one in beside_edits(run, "j", series_of(run)["j"]).values()} == {"good"}


def test_where_less_is_better_controls_lie_above(judged):
    run = judged(noisy({"m": 2, "source": 6, "blank": 9, "shuffled": 8}), scoring=LOSS)
    assert last(run) is True
    assert last(judged(noisy({"m": 6, "source": 2, "blank": 1, "shuffled": 1}), scoring=LOSS)) is False


def test_of_few_images_nothing_is_said(judged):
    run = judged(noisy({"m": 5, "source": 5, "blank": 5, "shuffled": 5}), samples=7)
    assert last(run) is None
    assert last(judged(lambda what, n: 0.0 if what in KINDS else 9.0, samples=8)) is True, "without spread, and plain"
    silent = judged(lambda what, n: Status.UNPARSEABLE if what in KINDS else 6.0)
    found = beside_edits(silent, "j", series_of(silent)["j"])["blank"]
    assert (found["n"], found["difference"], found["below"], last(silent)) == (0, None, None, None)


def test_an_honest_judge_is_seldom_accused(judged):
    """Edits two points above the source with a spread of three, 25 samples: what the rule says in 60 runs."""
    levels = {"m": 6, "source": 3.5, "blank": 1, "shuffled": 1}
    found = [last(judged(noisy(levels, 2.0, seed=seed))) for seed in range(60)]
    assert found.count(True) >= 57
    level = {"m": 5, "source": 5, "blank": 1, "shuffled": 1}
    blind = [last(judged(noisy(level, 2.0, seed=seed))) for seed in range(60)]
    assert blind.count(True) <= 6, "at most .025 of blind judges pass, give or take"
