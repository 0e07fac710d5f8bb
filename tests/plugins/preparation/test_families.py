"""Judges and edit models that share a family: known by their names, their files, and the tables."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest

from edit_eval.config.known_weights import find_class
from edit_eval.config.schema import ModelSection
from edit_eval.plugins.diffusers.in_worker.preset_table import PIPELINES
from edit_eval.plugins.local_judges.in_worker.judge_table import FAMILIES, LINEAGES, NOT_KNOWN, lineage_of_name
from edit_eval.plugins.preparation.families import encoder_lineages, find_shared_families, judge_lineage, share_a_family


def section(name: str, **parameters: Any) -> ModelSection:
    return ModelSection(name=name, type="x", class_path="x:X", parameters=parameters)


EDITOR = section("editor", model_name="Qwen/Qwen-Image-Edit")


@pytest.mark.parametrize(
    ("parameters", "lineage"),
    [
        ({"model_name": "Qwen/Qwen2.5-VL-72B-Instruct"}, "Qwen2.5-VL"),
        ({"model": "qwen2.5-vl-7b"}, "Qwen2.5-VL"),
        ({"model": "Qwen/Qwen3-VL-8B-Instruct-FP8"}, "Qwen3-VL"),
        ({"model_name": "Qwen/Qwen3.6-27B"}, "Qwen3.5"),
        ({"model": "EditScore/EditScore-7B"}, "Qwen2.5-VL"),
        ({"model": "EditScore/EditScore-Qwen3-VL-8B-Instruct"}, "Qwen3-VL"),
        ({"model": "zai-org/GLM-4.6V-Flash"}, "GLM-V"),
        ({"model": "gemma-3n-e4b"}, ""),
        ({"model": "gpt-6-luna"}, ""),
        ({}, ""),
    ],
)
def test_a_judges_family_by_its_name(parameters: dict[str, Any], lineage: str) -> None:
    assert judge_lineage(section("judge", **parameters)) == lineage


def test_a_folder_says_what_it_holds_whatever_it_is_called(tmp_path: Path) -> None:
    judge, editor = tmp_path / "qwen3-vl-but-not", tmp_path / "editor"
    for folder, file, entries in (
        (judge, "config.json", {"model_type": "qwen2_5_vl"}),
        (
            editor,
            "model_index.json",
            {"_class_name": "X", "text_encoder": ["transformers", "Glm46VForConditionalGeneration"]},
        ),
    ):
        folder.mkdir()
        (folder / file).write_text(json.dumps(entries))
    assert judge_lineage(section("judge", model_name=str(judge))) == "Qwen2.5-VL"
    assert encoder_lineages(section("editor", model_name=str(editor))) == {"GLM-V"}
    (judge / "config.json").write_text("{")
    assert judge_lineage(section("judge", model_name=str(judge))) == "Qwen3-VL", "its name, where its file is damaged"


def test_who_shares_one_and_who_does_not() -> None:
    own, other = (
        section("own", model_name="Qwen/Qwen2.5-VL-7B-Instruct"),
        section("other", model="google/gemma-4-31B-it"),
    )
    assert share_a_family(own, EDITOR) == "Qwen2.5-VL"
    assert share_a_family(other, EDITOR) == ""
    assert share_a_family(section("nobody"), section("knows")) == "", "not known on either side is no family"
    klein = section("klein", model_name="black-forest-labs/FLUX.2-klein-4B")
    (said,) = find_shared_families([own, other], [EDITOR, klein])
    assert said.startswith("judge own and edit model editor are both Qwen2.5-VL: judges are known to favour")


def test_families_have_one_name_each() -> None:
    lineages = {family.lineage for family in FAMILIES} | {lineage for _, lineage in NOT_KNOWN.values()}
    assert {row.encoder for row in PIPELINES} - {""} <= lineages
    assert {row.lineage for row in LINEAGES} - {""} <= lineages
    for family in FAMILIES:
        if family.lineage != "GLM-V":  # of names with several versions
            first = family.models.split(",")[0].split(" (")[0].replace(" ", "-")
            assert lineage_of_name({"Mistral-Small-3.1": "Mistral-Small-3.1-24B"}.get(first, first)) == family.lineage


@pytest.mark.parametrize("row", PIPELINES, ids=lambda row: row.name)
def test_encoders_are_those_of_the_classes(row: Any) -> None:
    diffusers = pytest.importorskip("diffusers")
    pipeline = getattr(diffusers, row.name)
    if row.modular:  # the rewriter of prompts is no part of an edit unless it is asked for
        kinds = {
            component.type_hint.__name__
            for component in pipeline().blocks.expected_components
            if component.name == "text_encoder"
        }
    else:
        written = inspect.signature(pipeline.__init__).parameters.values()
        kinds = {getattr(parameter.annotation, "__name__", "") for parameter in written}
    encoders = {known.lineage for kind in kinds if (known := find_class(kind))}
    assert encoders == ({row.encoder} if row.encoder else set())
