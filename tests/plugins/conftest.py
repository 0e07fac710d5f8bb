from __future__ import annotations

from collections.abc import Callable

import pytest

from edit_eval.records import Results, Sample
from made_results import results, sample


@pytest.fixture(scope="session")
def make_sample() -> Callable[..., Sample]:
    return sample


@pytest.fixture(scope="session")
def make_results() -> Callable[..., Results]:
    return results
