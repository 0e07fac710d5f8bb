"""Our figures beside those of statsmodels: in one file, because importing it takes longer than all of these tests."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from edit_eval.statistics.intervals import Estimate, benjamini_hochberg, estimate, holm, skewness_by_chance
from edit_eval.statistics.power import detectable_difference


@pytest.mark.parametrize(("ours", "theirs"), [(holm, "holm"), (benjamini_hochberg, "fdr_bh")])
def test_corrected_p_values(ours, theirs, monkeypatch):
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    monkeypatch.setattr("gc.collect", lambda: 0)  # every call would look through all that pytest holds
    generator = np.random.default_rng(0)
    for count in [1, 2, 3, 5, 10, 45] * 10:
        # Some small, some tied, some 1.
        p_values = np.minimum(1.0, np.round(generator.uniform(size=count) ** 3 * 1.1, 2)).tolist()
        expected = multitest.multipletests(p_values, method=theirs)[1]
        assert ours(p_values) == pytest.approx(expected.tolist())


def test_with_one_score_an_image_it_is_hc2():
    linear_model = pytest.importorskip("statsmodels.regression.linear_model")
    generator = np.random.default_rng(3)
    values, groups = generator.normal(size=60), generator.choice(3, p=[0.6, 0.3, 0.1], size=60)
    design = (groups[:, None] == np.arange(3)).astype(float)
    fit = linear_model.OLS(values, design).fit(cov_type="HC2")
    contrast = fit.t_test(np.full(3, 1 / 3))
    found = estimate(values, np.arange(60), groups)
    assert found.value == pytest.approx(float(contrast.effect[0]))
    assert found.standard_error == pytest.approx(float(contrast.sd[0][0]))


def test_equal_images_have_the_cluster_robust_interval():
    linear_model = pytest.importorskip("statsmodels.regression.linear_model")
    generator = np.random.default_rng(3)
    clusters = np.repeat(np.arange(23), 4)
    values = 0.6 * generator.normal(size=23)[clusters] + 0.8 * generator.normal(size=len(clusters))
    # Its own correction has (n - 1) / (n - k) = 1 beside G / (G - 1).
    fit = linear_model.OLS(values, np.ones(len(values))).fit(
        cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True
    )
    assert estimate(values, clusters).standard_error == pytest.approx(float(fit.bse[0]))
    (low, high), found = fit.conf_int()[0].tolist(), estimate(values, clusters)
    assert replace(found, asymmetry=0.0).interval() == pytest.approx([low, high])
    assert found.interval()[0] <= low + 1e-9
    assert found.interval()[1] >= high - 1e-9


def test_the_detectable_difference_is_close_to_that_of_the_t_test():
    """That of the t-test takes the standard deviation for known; the fewer images, the less it is."""
    power = pytest.importorskip("statsmodels.stats.power")
    for clusters, more in ((30, 1.05), (90, 1.015), (270, 1.005)):
        expected = 2.0 * power.TTestPower().solve_power(nobs=clusters, alpha=0.05, power=0.8)
        free, chance = clusters - 1, skewness_by_chance(clusters) / math.sqrt(clusters)
        found = Estimate(0.0, 2.0 / math.sqrt(clusters), free, free, clusters, clusters, 0.0, chance, None)
        assert detectable_difference(found, 10) == pytest.approx(more * expected, rel=0.01)
