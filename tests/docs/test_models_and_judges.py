"""What `docs/models-and-judges.md` shows: its YAML against the real parameters, its tables against the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from edit_eval.config.placement import PLACEMENT_KEYS
from edit_eval.edit_models.image_folder import ImageFolder
from edit_eval.judges.recorded import Recorded
from edit_eval.plugins.diffusers.in_worker.diffusers import DiffusersModel
from edit_eval.plugins.diffusers.in_worker.qwen_image_edit import QwenImageEdit
from edit_eval.plugins.endpoints.in_worker.chat_endpoint import ChatEndpoint
from edit_eval.plugins.endpoints.in_worker.image_endpoint import ImageEndpoint
from edit_eval.plugins.local_judges.in_worker.judge_table import PUBLISHED
from edit_eval.plugins.local_judges.in_worker.qwen3_vl import Qwen3VL
from edit_eval.plugins.local_judges.in_worker.transformers import TransformersJudge
from edit_eval.plugins.metrics.in_worker.embedding_metrics import EmbeddingMetrics
from edit_eval.plugins.metrics.in_worker.face_metrics import FaceMetrics
from edit_eval.plugins.metrics.in_worker.perceptual_metrics import PerceptualMetrics
from edit_eval.plugins.metrics.in_worker.picture_metrics import PictureMetrics
from edit_eval.plugins.metrics.in_worker.text_metrics import TextMetrics
from own_components import adapter_of, built_in

TEXT = (Path(__file__).parents[2] / "docs" / "models-and-judges.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.M | re.S)


def sections(block: str) -> list[tuple[str, dict[str, Any]]]:
    """(type or class path, the parameters that belong to the class) of each model in a YAML block."""
    models = []
    written = yaml.safe_load(block)
    for section in written.get("judges", written).values():
        params = {k: v for k, v in section["params"].items() if k not in {*PLACEMENT_KEYS, "seed"}}
        models.append((section.get("type") or section["class_path"], params))
    return models


def test_every_yaml_block_fits_its_class() -> None:
    classes = {
        "qwen_image_edit": QwenImageEdit,
        "diffusers": DiffusersModel,
        "image_endpoint": ImageEndpoint,
        "image_folder": ImageFolder,
        "qwen3_vl": Qwen3VL,
        "transformers": TransformersJudge,
        "chat_endpoint": ChatEndpoint,
        "picture_metrics": PictureMetrics,
        "perceptual_metrics": PerceptualMetrics,
        "face_metrics": FaceMetrics,
        "embedding_metrics": EmbeddingMetrics,
        "recorded": Recorded,
        "text_metrics": TextMetrics,
    }
    seen = []
    for block in blocks("yaml"):
        for name, params in sections(block):
            adapter_of(classes[name]).validate_python(params)
            seen.append(name)
    assert set(seen) == set(classes)


def judge_agreement() -> str:
    """How often judges agree with people, as the page has it."""
    lines = ["| judge | GB in bfloat16 | agreement | thinking |", "|---|---|---|---|"]
    for judge in sorted(PUBLISHED, key=lambda judge: max(judge.agreement, judge.thinking or 0)):
        thinking = f"{judge.thinking:.3f}" if judge.thinking else ""
        lines.append(f"| `{judge.name}` | {2 * judge.billions:.0f} | {judge.agreement:.3f} | {thinking} |")
    others = (("EditScore (Qwen2.5-VL-7B)", 0.491), ("EditScore (Qwen3-VL-8B)", 0.559), ("EditReward", 0.560))
    others += (("GPT-4.1 (until 14 January 2027)", 0.661), ("Gemini 3 Flash", 0.727), ("Gemini 3.1 Pro", 0.743))
    return "\n".join([*lines, *(f"| {name} | | {share:.3f} | |" for name, share in others)])


def test_the_table_of_judges_is_that_of_the_code() -> None:
    assert judge_agreement() in TEXT


def test_every_type_is_named() -> None:
    for kind in ("edit_model", "judge"):
        for name in built_in()[kind]:
            assert f"`{name}`" in TEXT, name
