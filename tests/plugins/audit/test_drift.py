import numpy as np
import pytest
from msgspec import structs

import independent_drift as independently
from edit_eval.plugins.audit.drift import JudgedTwice, chance_of, drift

REPEATED = {"right": 50, "copy": 50, "extra": 22, "dose_50": 28}
ANCHORS = {"right": 10, "copy": 5, "extra": 2, "dose_50": 8}
"""How many of each rung an audit has."""


def judged(
    generator: np.random.Generator,
    of: dict[str, int],
    noise: float = 0.4,
    shift: float = 0.0,
    name: str = "",
    **_: object,
) -> list[JudgedTwice]:
    return [
        JudgedTwice(f"{name}{rung}{n}", rung, float(truth + a), float(truth + b + shift))
        for rung, count in of.items()
        for n, (truth, a, b) in enumerate(
            zip(generator.uniform(0, 10, count), *noise * generator.normal(size=(2, count)), strict=True)
        )
    ]


def drifted(seed: int, **then: float) -> bool:
    generator = np.random.default_rng(seed)
    change = drift(judged(generator, ANCHORS, name="anchor ", **then), judged(generator, REPEATED))
    assert change is not None
    return change.drifted


@pytest.mark.check
def test_an_unchanged_judge_is_seldom_accused() -> None:
    assert sum(drifted(seed) for seed in range(200)) <= 6, "at most .01, give or take"


def test_a_shift_and_a_disorder_are_seen() -> None:
    assert sum(drifted(seed, shift=0.5) for seed in range(50)) >= 40
    assert sum(drifted(seed, noise=1.2) for seed in range(50)) >= 40


def test_noise_that_differs_between_kinds_of_edits_is_no_drift() -> None:
    """The anchors have more of the kind that the judge is unsure of than the repeated edits have."""
    accused = 0
    for seed in range(200):
        generator = np.random.default_rng(seed)
        sure, unsure = (
            judged(generator, {"copy": 5}, 0.05) + judged(generator, {"extra": 20}, 1.0),
            judged(generator, {"copy": 100}, 0.05, name="r") + judged(generator, {"extra": 50}, 1.0, name="r"),
        )
        accused += chance_of(sure, unsure, arrangements=1_999) < 0.01
    assert accused <= 6


@pytest.mark.parametrize("step", [None, 1.0])
def test_it_is_what_an_enumeration_from_the_description_alone_says(step: float | None) -> None:
    for seed in range(12):
        generator = np.random.default_rng(seed)
        anchors, repeated = (
            [
                edit
                if step is None
                else structs.replace(edit, before=round(edit.before / step) * step, now=round(edit.now / step) * step)
                for edit in judged(generator, of, noise, shift)
            ]
            for of, noise, shift in (({"a": 2, "b": 1, "c": 1}, 0.8, seed / 4), ({"a": 3, "b": 4}, 0.5, 0.0))
        )
        changes = [
            {rung: [edit.now - edit.before for edit in some if edit.rung == rung] for rung in "abc"}
            for some in (anchors, repeated)
        ]
        expected = float(independently.p_of(*changes)[2])
        assert chance_of(anchors, repeated) == pytest.approx(expected, abs=4 * np.sqrt(expected / 9_999) + 3e-4)


def test_what_is_told() -> None:
    generator = np.random.default_rng(5)
    anchors, repeated = judged(generator, ANCHORS, shift=0.1, name="anchor "), judged(generator, REPEATED)
    change = drift(anchors, repeated, span=10.0)
    changes = np.array([edit.now - edit.before for edit in anchors])
    assert (change.n, change.repeated, change.mean) == (25, 150, pytest.approx(changes.mean()))
    assert change.spread == pytest.approx(np.sqrt((changes**2).mean() / 2))
    assert change.retest_sd == pytest.approx(0.4, abs=0.06)
    assert 0.8 <= change.found <= 1.0
    noisy = drift(anchors, judged(generator, REPEATED, 2.0), span=10.0)
    assert noisy.found < 0.3, "and where the noise hides half a point, that is said"
    assert drift(anchors, repeated).found is None, "an open scale"
    assert drift([*reversed(anchors)], repeated).p == pytest.approx(change.p, abs=0.03)


def test_a_judge_that_repeats_itself_exactly_has_drifted_at_the_third_other_score() -> None:
    repeated = [JudgedTwice(f"r{n}", "right", 5.0, 5.0) for n in range(150)]
    for changed, expected in ((0, False), (1, False), (2, False), (3, True)):
        anchors = [JudgedTwice(f"a{n}", "right", 5.0, 5.0 + 0.1 * (n < changed)) for n in range(25)]
        assert drift(anchors, repeated).drifted is expected


def test_too_little_says_nothing() -> None:
    two = [JudgedTwice("a", "right", 1.0, 1.0), JudgedTwice("b", "right", 1.0, 2.0)]
    assert drift(two[:1], two[1:]) is None
    assert drift(two, []) is None
    assert drift(two, two) is None, "an edit that is an anchor is no repeated one"
    assert chance_of(two, []) > 0.01
