"""`examples/training_with_rewards.py` learns from a service; and the watch sees it learn to copy its sources."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
import yaml

from plugins.serve.service_at_work import Serve
from plugins.serve.service_process import until

EXAMPLE = Path(__file__).parents[3] / "examples" / "training_with_rewards.py"
KEEPER = """
from PIL import ImageChops, ImageStat

class Keeper:
    only_looks = True
    def __init__(self, parameters): pass
    def load(self, devices): pass
    def judge(self, requests):
        answers = []
        for request in requests:
            source, edit = list(request.pictures.values())
            changed = sum(ImageStat.Stat(ImageChops.difference(source, edit)).mean) / 3
            answers.append(f"Score: {max(0.0, 10 - changed):.3f}")
        return answers
"""


def trained(serve: Serve, judge: Path, window: int = 0, **how: Any) -> tuple[Any, dict[str, float], list[float]]:
    served = serve(judge=str(judge), window=window)
    train = runpy.run_path(str(EXAMPLE))["train"]
    return served, *train(f"http://127.0.0.1:{served.port}", size=128, **how)


@pytest.mark.check
def test_a_policy_learns_from_rewards(serve: Serve) -> None:
    _, chances, curve = trained(serve, EXAMPLE.with_suffix(".yaml"), scenes=6, steps=8, group=4)
    assert chances["fine"] > 0.6 > 0.2 > chances["left as it is"]
    assert len(curve) == 8


@pytest.mark.check
def test_the_watch_sees_a_policy_that_learns_to_copy(serve: Serve, tmp_path: Path) -> None:
    """Its judge rewards whoever leaves pictures as they are."""
    (tmp_path / "keeper.py").write_text(KEEPER)
    judge = {"class_path": f"{tmp_path}/keeper.py:Keeper", "params": {"device_ids": "cpu:1", "batch_size": 8}}
    written = {"benchmark": "scenes", "diffusion_model": {"type": "scene_editor"}, "judges": {"keeper": judge}}
    (tmp_path / "judge.yaml").write_text(yaml.safe_dump(written))
    served, chances, _ = trained(serve, tmp_path / "judge.yaml", 40, steps=40, group=4, rate=0.8)
    assert chances["left as it is"] > 0.8
    watch = served.service.watch
    until(lambda: any("copies its sources" in line for line in watch.alarms))  # it looks at its leisure
    served.service.close()
    assert served.service.ended.wait(60)
    watch.close()
