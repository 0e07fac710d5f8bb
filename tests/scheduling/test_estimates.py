"""Running means, and times in words."""

import pytest

from edit_eval.scheduling.estimates import Estimates, Mean, roughly


def test_a_mean_is_unknown_before_the_first_one_and_counts_things_not_times() -> None:
    mean = Mean()
    assert mean.value is None
    mean.add(6.0, 3)
    mean.add(2.0)
    assert mean.value == 2.0
    assert Estimates().unit["edit:any"].value is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "1 s"),
        (3.6, "4 s"),
        (9.4, "9 s"),
        (9.6, "10 s"),
        (24.4, "25 s"),
        (57.4, "55 s"),
        (57.6, "1 min"),
        (441.0, "7 min"),
        (3569.0, "59 min"),
        (3580.0, "1 h"),
        (7500.0, "2 h 5 min"),
        (9 * 3600 + 3590.0, "10 h"),
        (111_600.0, "31 h"),
    ],
)
def test_a_foretold_time_claims_no_more_than_is_known(seconds: float, words: str) -> None:
    assert roughly(seconds) == words
