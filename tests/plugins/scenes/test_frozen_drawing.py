"""What is drawn stays as it is to the pixel: keys of audits and of scenes stand for it (`benchmark.drawing_digest`).

Whoever means to draw otherwise gives `benchmark.DRAWING` another value, leaves `DRAWN_BY` without rows, and freezes the
new digests here; all audits are then made anew.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from pathlib import Path

import PIL
import pytest
from PIL import Image

from edit_eval.pictures import pixel_digest
from edit_eval.plugins.scenes.in_worker.benchmark import DRAWN_BY, drawing_digest, picture_of
from edit_eval.plugins.scenes.in_worker.edits import apply
from edit_eval.plugins.scenes.in_worker.ladder import Ladder
from edit_eval.plugins.scenes.in_worker.rungs import draw_recipe, recipe_of
from edit_eval.plugins.scenes.in_worker.scenarios import category_of, plan

FROZEN_WITH = "13.0.0"
SCENES = {
    "physical": "58e549448655",
    "environmental": "00b8b970af90",
    "social": "2d8a12c71398",
    "causal": "66343234acac",
    "referential": "eb65e4e91efe",
}
"""Category -> digest of its ten scenes, each as it is and as it is to become."""
RUNGS = {
    "physical": "7e0130b04a15",
    "environmental": "0cc144f8daca",
    "social": "569fdc917ee7",
    "causal": "67f8078a9ff0",
    "referential": "7a861ebdd6f7",
}
"""Category -> digest of all that an audit shows of two scenes."""

frozen = pytest.mark.skipif(PIL.__version__ != FROZEN_WITH, reason=f"pixels were frozen with Pillow {FROZEN_WITH}")


def digests(pictures: dict[str, list[Image.Image]]) -> dict[str, str]:
    return {
        category: hashlib.sha256("".join(map(pixel_digest, some)).encode()).hexdigest()[:12]
        for category, some in pictures.items()
    }


@pytest.mark.check
@frozen
def test_scenes_and_their_right_edits() -> None:
    pictures = defaultdict(list)
    for index in range(50):
        planned = plan(index, 0, 128, 96)
        pictures[category_of(index)] += [picture_of(planned.scene), picture_of(apply(planned.scene, planned.edit))]
    assert digests(pictures) == SCENES


@pytest.mark.check
@frozen
def test_what_an_audit_shows(tmp_path: Path) -> None:
    pictures = defaultdict(list)
    for sample in Ladder(Ladder.Parameters(scenes=2, size=128, cache_dir=str(tmp_path))).samples():
        source, recipe = (Image.open(sample.pictures[name].path) for name in ("source", "source_2"))
        pictures[sample.category] += [source, draw_recipe(recipe_of({"recipe": recipe}, "this test"))]
    assert digests(pictures) == RUNGS


def test_another_pillow_may_draw_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    stands_for = []
    for version in (*DRAWN_BY, "13.0.1", "14.0.0"):
        monkeypatch.setattr(PIL, "__version__", version)
        stands_for.append(drawing_digest())
    assert len({*stands_for}) == len(DRAWN_BY) + 2
    assert stands_for[: len(DRAWN_BY)] == [*DRAWN_BY.values()]
