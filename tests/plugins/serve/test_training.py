"""`examples/training_with_rewards.py` learns from a service."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from plugins.serve.service_at_work import Serve

EXAMPLE = Path(__file__).parents[3] / "examples" / "training_with_rewards.py"


@pytest.mark.check
def test_a_policy_learns_from_rewards(serve: Serve) -> None:
    served = serve(judge=str(EXAMPLE.with_suffix(".yaml")), window=0)
    train = runpy.run_path(str(EXAMPLE))["train"]
    chances, curve = train(f"http://127.0.0.1:{served.port}", size=128, scenes=6, steps=8, group=4)
    assert chances["fine"] > 0.6 > 0.2 > chances["left as it is"]
    assert len(curve) == 8
