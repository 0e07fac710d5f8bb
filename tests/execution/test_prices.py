"""Limits on what is spent, before anything is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from edit_eval.config.loading import load_configuration
from edit_eval.errors import ConfigurationError
from edit_eval.execution.prices import prices_of, refuse_unbounded
from small_benchmark import write_benchmark


@pytest.mark.parametrize(
    ("params", "refused"),
    [
        ({"api": "openai", "model": "a-model-of-tomorrow"}, True),
        ({"api": "openai", "model": "a-model-of-tomorrow", "price": [1.0, 2.0]}, False),
        ({"base_url": "http://localhost:9/v1", "model": "a-model-of-tomorrow"}, False),  # a server of one's own
    ],
)
def test_a_limit_takes_the_price_of_every_judge_that_is_sold(
    params: dict[str, Any], refused: bool, tmp_path: Path
) -> None:
    configuration = load_configuration(
        {
            "benchmark": {"data_path": str(write_benchmark(tmp_path, 2))},
            "edit_models": {"m": {"type": "copy_source"}},
            "judges": {"j": {"type": "chat_endpoint", "params": params}},
            "execution": {"max_cost": 5},
        }
    )
    prices = prices_of(configuration)
    if refused:
        with pytest.raises(ConfigurationError, match="max_cost: no price of j is known"):
            refuse_unbounded(configuration, prices, sharded=False)
    else:
        refuse_unbounded(configuration, prices, sharded=False)
    with pytest.raises(ConfigurationError, match="max_cost: shards do not know"):
        refuse_unbounded(configuration, prices, sharded=True)
