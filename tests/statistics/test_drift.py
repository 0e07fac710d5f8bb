import numpy as np
import pytest

from edit_eval.statistics.agreement import drift
from late_imports import Late

stats = Late("scipy.stats")


def judged(
    noise: float, shift: float = 0.0, *, seed: int = 0, n: int = 25
) -> tuple[dict[str, float], dict[str, float]]:
    generator = np.random.default_rng(seed)
    truth = generator.uniform(0, 10, n)
    before, now = (truth + noise * generator.normal(size=n) for _ in range(2))
    return {str(k): v for k, v in enumerate(before)}, {str(k): v + shift for k, v in enumerate(now)}


def test_an_unchanged_judge_is_seldom_accused():
    accused = sum(drift(*judged(0.4, seed=seed), 0.4).drifted for seed in range(1_000))
    assert accused <= 20, "at most .01, give or take"


def test_a_shift_and_a_disorder_are_seen():
    assert sum(drift(*judged(0.4, 0.5, seed=seed), 0.4).drifted for seed in range(100)) >= 85
    assert sum(drift(*judged(1.0, seed=seed), 0.4).drifted for seed in range(100)) >= 95


def test_its_p_values_are_those_of_scipy():
    before, now = judged(0.5, 0.1)
    found = drift(before, now, 0.5)
    differences = np.array([now[key] - before[key] for key in before])
    shifted = 2 * stats.norm.sf(abs(differences.mean()) / (0.5 * np.sqrt(2 / 25)))
    spread = stats.chi2.sf((differences**2).sum() / (2 * 0.25), 25)
    assert found.p == pytest.approx(min(1.0, 2 * min(shifted, spread)))
    assert found.spread == pytest.approx(np.sqrt((differences**2).mean() / 2))


def test_a_judge_without_noise_has_drifted_at_the_first_other_score():
    same = {str(n): 5.0 for n in range(25)}
    assert not drift(same, dict(same), 0.0).drifted
    assert drift(same, {**same, "3": 5.1}, 0.0).drifted


def test_too_little_says_nothing():
    assert drift({"a": 1.0, "b": 2.0}, {"a": 1.0}, 0.2) is None
    assert drift({"a": 1.0, "b": 2.0}, {"a": 1.0, "b": 9.0}, None) is None
