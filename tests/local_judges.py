"""The tiny judges, loaded on the CPU, and something to ask them."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from PIL import Image

from edit_eval.judges.contract import JudgeRequest
from edit_eval.plugins.local_judges.in_worker.qwen3_vl import Qwen3VL
from edit_eval.plugins.local_judges.in_worker.transformers import TransformersJudge
from tiny_judges import JUDGES as OTHERS

JUDGES = ["qwen3-vl", "qwen3-vl-moe", "qwen2.5-vl"]
FAMILIES = [*JUDGES, *OTHERS]
WORDS = (
    "light",
    "shadow",
    "people",
    "culture",
    "score",
    "strict",
    "image",
    "10.000",
    "Score:",
    "X.XXX",
    "物理",
    "评分",
)


def picture(seed: int, size: tuple[int, int] = (96, 64)) -> Image.Image:
    side = 2 + seed % 5
    return Image.frombytes("RGB", (side, side), Random(seed).randbytes(3 * side * side)).resize(size)


def request(number: int, words: int = 20, user: str = "Rate the edit: make the sky red.") -> JudgeRequest:
    """A request with pictures and a system prompt of its own."""
    random = Random(number)
    system = " ".join(random.choice(WORDS) for _ in range(words))
    size = random.choice([(96, 64), (64, 96), (200, 150), (33, 77)])
    pictures = {"source": picture(2 * number, size), "edit": picture(2 * number + 1)}
    return JudgeRequest(system=system, user=user, pictures=pictures, form="score", sample_id=f"sample-{number}")


def loaded(folder: Path, **parameters: Any) -> Qwen3VL:
    judge = Qwen3VL(Qwen3VL.Parameters(model_name=str(folder), **({"dtype": "float32"} | parameters)))
    judge.load(["cpu"])
    return judge


def any_loaded(folder: Path, **parameters: Any) -> TransformersJudge:
    given = {"dtype": "float32"} | parameters
    judge = TransformersJudge(TransformersJudge.Parameters(model_name=str(folder), **given))
    judge.load(["cpu"])
    return judge


def rewrite(file: Path, **changes: Any) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
