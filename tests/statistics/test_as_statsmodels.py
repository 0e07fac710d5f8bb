"""Our figures beside those of statsmodels: in one file, because importing it takes longer than all of these tests."""

from __future__ import annotations

import math

import numpy as np
import pytest

from edit_eval.statistics.corrections import benjamini_hochberg, holm
from edit_eval.statistics.intervals import clustered_standard_error, mean_interval
from edit_eval.statistics.power import detectable_difference


@pytest.mark.parametrize(("ours", "theirs"), [(holm, "holm"), (benjamini_hochberg, "fdr_bh")])
def test_corrected_p_values(ours, theirs):
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    generator = np.random.default_rng(0)
    for count in [1, 2, 3, 5, 10, 45] * 10:
        # Some small, some tied, some 1.
        p_values = np.minimum(1.0, np.round(generator.uniform(size=count) ** 3 * 1.1, 2)).tolist()
        expected = multitest.multipletests(p_values, method=theirs)[1]
        assert ours(p_values) == pytest.approx(expected.tolist())


def test_the_cluster_robust_interval():
    linear_model = pytest.importorskip("statsmodels.regression.linear_model")
    generator = np.random.default_rng(3)
    clusters = np.repeat(np.arange(23), generator.integers(1, 8, size=23))
    values = 0.6 * generator.normal(size=23)[clusters] + 0.8 * generator.normal(size=len(clusters))
    fit = linear_model.OLS(values, np.ones(len(values))).fit(
        cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True
    )
    error, groups = clustered_standard_error(values, clusters)
    assert groups == 23
    assert error == pytest.approx(float(fit.bse[0]))
    assert mean_interval(values, clusters) == pytest.approx(fit.conf_int()[0].tolist())


def test_the_detectable_difference_is_close_to_that_of_the_t_test():
    power = pytest.importorskip("statsmodels.stats.power")
    for clusters in (20, 90, 270):
        expected = 2.0 * power.TTestPower().solve_power(nobs=clusters, alpha=0.05, power=0.8)
        found = detectable_difference(2.0 / math.sqrt(clusters), clusters)
        assert found == pytest.approx(expected, rel=0.01)
