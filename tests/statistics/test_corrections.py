from __future__ import annotations

import pytest

from edit_eval.statistics.intervals import benjamini_hochberg, holm


def test_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert benjamini_hochberg([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.04, 0.04])


def test_a_test_that_was_not_made_counts_for_nothing():
    assert holm([None, 0.02, None, 0.5]) == pytest.approx([None, 0.04, None, 0.5])
    assert benjamini_hochberg([]) == []


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan")])
def test_what_is_no_p_value_is_refused(p):
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([0.5, p])
