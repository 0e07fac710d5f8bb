"""Each row of the table of judges is held against the installed transformers."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import pytest

from edit_eval.plugins.local_judges.in_worker.generation import SWITCHES, Marks, thinking_switch_of
from edit_eval.plugins.local_judges.in_worker.judge_table import (
    FAMILIES,
    NO_JUDGES,
    NOT_KNOWN,
    TORCHVISION,
    Family,
    card_of_unknown,
    family_of_type,
)
from edit_eval.plugins.local_judges.weights import JudgeWeights
from late_imports import Late

transformers: Any = Late("transformers")
rows = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.model_type)


def mapped(name: str, module: str) -> Any:
    return getattr(importlib.import_module(f"transformers.models.auto.{module}"), name)


@rows
def test_the_classes_are_those_of_the_library(family: Family) -> None:
    model = getattr(transformers, family.model)
    assert model.config_class.model_type == family.model_type
    known = mapped("MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES", "modeling_auto")
    assert known[family.model_type] == family.model
    assert mapped("PROCESSOR_MAPPING_NAMES", "processing_auto").get(family.model_type) == family.processor


@rows
def test_pictures_are_scaled_with_pillow_where_the_library_can(family: Family) -> None:
    images = mapped("IMAGE_PROCESSOR_MAPPING_NAMES", "image_processing_auto").get(family.model_type)
    if images is not None:  # of some mixtures the library knows it by the dense model's files
        assert images.get("pil", "") == family.images
    assert bool(family.images) != (family.environment == TORCHVISION)


@rows
def test_settings_are_the_image_processors_own(family: Family) -> None:
    if family.images:
        images = getattr(transformers, family.images)
        assert all(hasattr(images, name) for name in family.settings)
        by_area = {*(getattr(images, "size", None) or {})} == {"shortest_edge", "longest_edge"}
        assert bool(family.frames) == by_area


@pytest.mark.parametrize(
    "family", [family for family in FAMILIES if family.frames], ids=lambda family: family.model_type
)
def test_an_area_counts_as_many_frames_as_the_row_says(family: Family) -> None:
    images = getattr(transformers, family.images)()
    module = importlib.import_module(type(images).__module__)
    more = (
        {"num_frames": images.temporal_patch_size}
        if "num_frames" in inspect.signature(module.smart_resize).parameters
        else {}
    )
    limits = {"min_pixels": 1, "max_pixels": 400 * 400 * family.frames}
    height, width = module.smart_resize(height=1000, width=1000, factor=28, **more, **limits)
    assert 350 * 350 < height * width <= 400 * 400


@rows
def test_what_is_said_of_thinking_fits_together(family: Family) -> None:
    assert family.thinking in ("", *SWITCHES)
    assert not (family.opens == Marks().opens and family.openings), "an empty thought is a text that is read"
    assert family.figures
    assert family.tokens
    assert family_of_type(family.model_type) is family


@rows
def test_kernels_are_those_that_the_library_asks_for(family: Family) -> None:
    kind = "qwen3_5" if family.lineage == "MiniCPM-V" else family.model_type  # its text is a Qwen3.5
    source = inspect.getsource(importlib.import_module(f"transformers.models.{kind}.modeling_{kind}"))
    for package in ("fla", "causal_conv1d"):
        assert (f', "{package}")' in source) == (package in family.kernels)


def test_a_switch_is_found_in_any_template() -> None:
    assert thinking_switch_of("{% if enable_thinking %}") == "enable_thinking"
    assert thinking_switch_of("{% if thinking is defined %}") == "thinking"
    assert thinking_switch_of("{{ messages }} rethinking {{ message.thinking }} {{ message['thinking'] }}") == ""
    assert family_of_type("of the future") is None


def test_every_type_of_the_library_has_a_row_or_is_said_to_be_unknown() -> None:
    """A new transformers fails here: somebody has to look at what it brings."""
    known = mapped("MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES", "modeling_auto")
    rows = {family.model_type for family in FAMILIES}
    assert {*known} - rows == {*NOT_KNOWN} | NO_JUDGES
    assert not rows & ({*NOT_KNOWN} | NO_JUDGES)
    for kind, (name, _) in NOT_KNOWN.items():
        classes = known[kind] if isinstance(known[kind], tuple) else (known[kind],)
        assert name == classes[0]


def test_what_is_not_known_of_a_type_is_said_and_its_lineage_is_used() -> None:
    assert card_of_unknown("qwen4_exp") == {
        "pipeline": "Qwen4ExpForConditionalGeneration",
        "pictures": "not known",
        "thinking": "not known",
    }
    assert "no type that is known to hold a conversation" in card_of_unknown("git")["note"]
    assert card_of_unknown("new_type") == {}
    weights = JudgeWeights()
    assert weights.lineage("qwen4_exp", "mine") == weights.lineage("", "Qwen/Qwen4-27B") == "Qwen4"
    assert weights.classes()["Qwen4ExpForConditionalGeneration"].lineage == "Qwen4"
    assert weights.classes()["Glm46VForConditionalGeneration"].lineage == "GLM-V"
