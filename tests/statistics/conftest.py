from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from edit_eval.records import Results, Sample
from made_results import results, sample

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def make_sample() -> Callable[..., Sample]:
    return sample


@pytest.fixture(scope="session")
def make_results() -> Callable[..., Results]:
    return results


@pytest.fixture
def judge_agreement_data() -> Path:
    directory = REPOSITORY / "../shared/data/judge_agreement"
    if not directory.is_dir():
        pytest.skip("the shared data is not here")
    return directory
