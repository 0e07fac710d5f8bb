import itertools

import numpy as np
import pytest

from documents import plain
from edit_eval.plugins.agreement.document import Correlation
from edit_eval.plugins.agreement.rank_agreement import (
    EditRanking,
    MeanAgreement,
    ModelRanking,
    Samples,
    bound_mean_correlation,
    interval_of_models,
    spearman_bounds,
    with_interval,
)
from edit_eval.statistics.raters import Item
from late_imports import Late

stats = Late("scipy.stats")


def flat(scores):
    """Of each model the score of each (sample, edit seed), by item."""
    return {Item(model, *edit): value for model, edits in scores.items() for edit, value in edits.items()}


def rank_agreement(first, second, sources=None, *, resamples=1_000):
    """`{"spearman", "ci95", "edit_models": {NAME: {"n", "spearman"}}}`."""
    first, second = flat(first), flat(second)
    samples = Samples([first.keys() & second.keys()], sources, resamples=resamples)
    within = EditRanking(first, second, samples)
    return {**plain(with_interval(within, samples)), "edit_models": plain(within.correlate_by_model(samples))}


def test_a_correlation_is_that_of_scipy():
    generator = np.random.default_rng(0)
    first = generator.integers(0, 11, size=50)
    second = np.clip(first + generator.integers(-4, 5, size=50), 0, 10)
    agreement = rank_agreement(
        {"m": {(str(i), 0): float(v) for i, v in enumerate(first)}},
        {"m": {(str(i), 0): float(v) for i, v in enumerate(second)}},
    )
    assert agreement["edit_models"]["m"]["spearman"] == pytest.approx(stats.spearmanr(first, second).statistic)
    assert agreement["spearman"] == pytest.approx(stats.spearmanr(first, second).statistic)


def scores(*values: float):
    return {(str(place), 0): value for place, value in enumerate(values)}


def test_what_has_no_correlation_does_not_count():
    first = {"few": scores(1, 2, 3), "flat": scores(5, 5, 5, 5, 5), "some": scores(1, 3, 2, 4, 5), "only": scores(1)}
    second = {"few": scores(1, 2, 3), "flat": scores(1, 2, 3, 4, 5), "some": scores(1, 2, 3, 4, 5)}
    agreement = rank_agreement(first, second)
    assert agreement["edit_models"] == {
        "few": {"n": 3, "spearman": None},
        "flat": {"n": 5, "spearman": None},
        "some": {"n": 5, "spearman": pytest.approx(0.9)},
    }
    assert agreement["spearman"] == pytest.approx(0.8)  # closer to 1 than 1 - 1/5: taken for that
    nothing = rank_agreement({"m": scores(1, 2)}, {"m": scores(1, 2)})
    assert nothing["spearman"] is nothing["ci95"] is None


def test_one_perfect_model_does_not_make_the_mean_perfect():
    values = np.random.default_rng(5).permutation(100).astype(float)
    others = np.random.default_rng(6).permutation(100).astype(float)
    first = {"perfect": scores(*values), "unrelated": scores(*values)}
    agreement = rank_agreement(first, {"perfect": scores(*values), "unrelated": scores(*others)}, resamples=0)
    assert agreement["edit_models"]["perfect"]["spearman"] == pytest.approx(1.0)
    assert agreement["spearman"] < 0.95


def drawn_scores(models: int, items: int, seed: int = 0):
    generator = np.random.default_rng(seed)
    return {
        f"m{model}": {(str(item), 0): float(generator.integers(0, 6)) + 0.3 * model for item in range(items)}
        for model in range(models)
    }


def test_weighted_rows_are_those_of_a_resampled_set():
    """A weight of 2 is an edit that is there twice, as scipy sees it."""
    first, second = drawn_scores(5, 30, 1), drawn_scores(5, 30, 2)
    samples = Samples([flat(first)], resamples=0)
    weights = np.random.default_rng(3).integers(0, 4, size=(7, 30)).astype(float)
    order = sorted(samples.place, key=samples.place.get)
    both = flat(first), flat(second)
    within, between = EditRanking(*both, samples)(weights), ModelRanking(*both, samples)(weights)
    for row, times in enumerate(weights.astype(int)):
        pairs = {
            model: [np.repeat([of[model][(name, 0)] for name in order], times) for of in (first, second)]
            for model in first
        }
        z = [np.arctanh(stats.spearmanr(*both).statistic) for both in pairs.values()]
        assert within[row] == pytest.approx(np.tanh(np.mean(z)))
        means = np.array([[values.mean() for values in both] for both in pairs.values()]).T
        assert between[row] == pytest.approx(stats.spearmanr(*means).statistic)


def test_between_models_needs_four_of_them_that_differ():
    first, second = flat(drawn_scores(3, 10, 1)), flat(drawn_scores(3, 10, 2))
    samples = Samples([first], resamples=50)
    assert with_interval(ModelRanking(first, second, samples), samples) == Correlation(spearman=None, ci95=None)
    level = {Item(f"m{n}", str(sample), 0): 5.0 for n in range(5) for sample in range(10)}
    assert with_interval(ModelRanking(flat(drawn_scores(5, 10)), level, samples), samples).spearman is None
    assert interval_of_models(0.5, 3) is None


@pytest.mark.check
def test_the_interval_of_models_holds_the_truth():
    """Eight models drawn from a population: 95 of 100 intervals are to hold its correlation."""
    generator, held, runs = np.random.default_rng(4), 0, 2_000
    pearson = 0.8
    truth = 6 / np.pi * np.arcsin(pearson / 2)  # Spearman's of the normal distribution
    for _ in range(runs):
        two = generator.multivariate_normal([0, 0], [[1, pearson], [pearson, 1]], size=8)
        low, high = interval_of_models(float(stats.spearmanr(two).statistic), 8)
        held += low <= truth <= high
    assert 0.93 <= held / runs <= 0.985


def test_the_interval_is_clustered_on_the_source_image():
    """Twenty images, nine samples each that share their fate: taken for 180 images they seem far too sure."""
    generator = np.random.default_rng(5)
    of_image = generator.normal(size=(20, 2)) @ np.array([[1, 0.5], [0, 0.8]])
    noise = generator.normal(size=(180, 2)) * 0.2
    values = np.repeat(of_image, 9, axis=0) + noise
    first, second = ({"m": {(f"s{n:03}", 0): v for n, v in enumerate(values[:, side])}} for side in (0, 1))
    sources = {f"s{n:03}": f"image {n // 9}" for n in range(180)}
    wide, narrow = rank_agreement(first, second, sources)["ci95"], rank_agreement(first, second)["ci95"]
    assert wide[1] - wide[0] > 2 * (narrow[1] - narrow[0])
    assert Samples([flat(first)], sources, resamples=0).clusters == 20


def test_a_mean_over_people_is_through_z():
    judge, *people = (flat(drawn_scores(3, 40, seed)) for seed in (1, 2, 3))
    samples = Samples([judge], resamples=0)
    parts = [EditRanking(judge, person, samples) for person in people]
    z = [np.arctanh(part(samples.once)[0]) for part in parts]
    assert MeanAgreement(parts)(samples.once)[0] == pytest.approx(np.tanh(np.mean(z)))


# -- bounds --


def every_completion(scores, other, values):
    places = np.flatnonzero(np.isnan(scores))
    for filled in itertools.product(values, repeat=len(places)):
        whole = scores.copy()
        whole[places] = filled
        if np.ptp(whole) > 0:
            yield stats.spearmanr(whole, other).statistic


@pytest.mark.check
@pytest.mark.parametrize("seed", range(8))
def test_bounds_hold_every_completion(seed):
    """Whatever the missing scores are, ties with known ones included, the correlation lies within."""
    generator = np.random.default_rng(seed)
    scores, other = (generator.integers(0, 5, size=8).astype(float) for _ in range(2))
    scores[generator.choice(8, size=2 + (seed == 7), replace=False)] = np.nan
    known = np.unique(scores[~np.isnan(scores)])
    ends = np.concatenate([known - 0.5, [known[-1] + 0.5]])
    low, high = spearman_bounds(scores, other)
    values = sorted({*known, *ends, *(ends + 0.1), *(ends + 0.2)})
    correlations = list(every_completion(scores, other, values))
    assert low - 1e-9 <= min(correlations)
    assert max(correlations) <= high + 1e-9
    assert min(correlations) - low < 0.2
    assert high - max(correlations) < 0.2


def test_bounds_of_what_is_complete_and_of_nothing():
    scores, other = np.array([1.0, 2, 2, 4, 5]), np.array([2.0, 1, 3, 3, 5])
    both = spearman_bounds(scores, other)
    assert both == pytest.approx([stats.spearmanr(scores, other).statistic] * 2)
    assert spearman_bounds(np.full(5, np.nan), other) == (-1.0, 1.0)
    assert spearman_bounds(scores, np.full(5, 3.0)) is None
    assert spearman_bounds(np.full(5, 3.0), other) is None


def test_bounds_of_a_run_hold_what_the_judge_would_have_said():
    whole, other = drawn_scores(3, 40, 1), drawn_scores(3, 40, 2)
    some = {model: {item: v for item, v in items.items() if int(item[0]) % 5} for model, items in whole.items()}
    low, high = bound_mean_correlation(flat(some), flat(other))
    assert low < rank_agreement(whole, other, resamples=0)["spearman"] < high
    perfect = rank_agreement(whole, other, resamples=0)["spearman"]
    assert bound_mean_correlation(flat(whole), flat(other)) == pytest.approx([perfect] * 2)
