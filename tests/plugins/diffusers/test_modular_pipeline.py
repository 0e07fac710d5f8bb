"""Modular pipelines: what sets them apart from standard ones, with the real classes and tiny weights."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tiny_modular
from edit_eval.errors import ConfigurationError, LoadError
from edit_eval.pictures import pixel_digest
from edit_eval.plugins.diffusers.in_worker.diffusers import DiffusersModel
from edit_eval.pretrained.folders import list_parts
from edit_requests import no_step
from tiny_presets import SETTINGS, asked, loaded

pytestmark = pytest.mark.real_models

TURBO, FLUX = "QwenImage21TurboModularPipeline", "Flux3DistilledModularPipeline"
LAYERS = SETTINGS[FLUX]["call"]
INDEX = "modular_model_index.json"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("diffusers")
    folder = tmp_path_factory.mktemp("tiny")
    tiny_modular.build(folder)
    return folder


def pixels(model: DiffusersModel) -> str:
    return pixel_digest(model.edit(asked(), no_step))


@pytest.fixture
def changed(tiny: Path, tmp_path: Path) -> Callable[..., Path]:
    """A copy of a pipeline whose index was changed."""

    def copy(name: str, change: Callable[[dict[str, Any]], None]) -> Path:
        folder = Path(shutil.copytree(tiny / name, tmp_path / name))
        index = json.loads((folder / INDEX).read_text())
        change(index)
        (folder / INDEX).write_text(json.dumps(index))
        return folder

    return copy


def test_the_standard_class_makes_the_edits_of_the_turbo_blocks(changed: Callable[..., Path]) -> None:
    """The row of Qwen/Qwen-Image-2.1-Turbo, whose `model_index.json` names the standard class and a list of sigmas."""
    sigmas = [1.0, 0.8, 0.4]
    folder = changed(TURBO, lambda index: index.update(sample_sigmas=sigmas))
    modular = pixels(loaded(folder, TURBO))
    index = json.loads((folder / INDEX).read_text())
    parts = {name: [library, kind] for name, library, kind in list_parts(index)}
    standard = {**parts, "sample_sigmas": sigmas, "_class_name": "QwenImage21Pipeline", "_diffusers_version": "0.42.1"}
    (folder / "model_index.json").write_text(json.dumps(standard))
    model, steps = loaded(folder, TURBO), []
    edit = model.edit(asked(), lambda step, of: steps.append((step, of)))
    assert model.about()["pipeline"] == "QwenImage21Pipeline", "what is standard comes first"
    assert pixel_digest(edit) == modular
    assert steps[-1] == (3, 3)
    assert model.effective(DiffusersModel.Parameters("Qwen/Qwen-Image-2.1-Turbo"))["num_inference_steps"] == 8


def test_an_index_in_the_form_of_the_hub(tiny: Path, changed: Callable[..., Path], tmp_path: Path) -> None:
    """A copy whose index names the repository that it was, no class but in the hint, and a part that lies elsewhere."""
    elsewhere = tmp_path / "elsewhere"

    def as_published(index: dict[str, Any]) -> None:
        for entry in index.values():
            if isinstance(entry, list):
                entry[:2] = [None, None]
                entry[2]["pretrained_model_name_or_path"] = "black-forest-labs/flux-3-image-klein"
        index["tokenizer"][2]["type_hint"] = ["transformers", "AutoProcessor"]
        index["text_encoder"][2] |= {"pretrained_model_name_or_path": str(elsewhere), "subfolder": ""}

    folder = changed(FLUX, as_published)
    (folder / "text_encoder").rename(elsewhere)
    assert pixels(loaded(folder)) == pixels(loaded(tiny / FLUX))


def test_a_part_that_lies_nowhere_is_named(changed: Callable[..., Path]) -> None:
    folder = changed(FLUX, lambda index: index["vae"][2].update(pretrained_model_name_or_path=None, subfolder="gone"))
    with pytest.raises(LoadError, match="does not say where its vae lies"):
        loaded(folder)


def test_a_tokenizer_that_cannot_be_read_is_named(tiny: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny / TURBO, tmp_path / TURBO))
    (folder / "scheduler" / "scheduler_config.json").write_text("{")
    with pytest.raises(LoadError, match="scheduler: could not be loaded"):
        loaded(folder)


def test_prompts_are_rewritten_only_where_it_is_asked_for(tiny: Path) -> None:
    plain = loaded(tiny / FLUX)
    assert "prompt_upsampler" not in plain._pipeline.components
    assert plain.about()["prompt_rewriting"] == "off"
    call = {**LAYERS, "prompt_upsampler": True, "max_new_tokens": 6}
    rewritten = loaded(tiny / FLUX, call=call)
    assert "prompts are rewritten before the edit" in rewritten.about()["note"]
    assert pixels(rewritten) == pixels(rewritten) != pixels(plain)


def test_what_is_refused_before_anything_is_loaded(
    tiny: Path, changed: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any) -> None:
        raise AssertionError("a part was loaded")

    monkeypatch.setattr("edit_eval.plugins.diffusers.in_worker.diffusers.load_part", never)
    with pytest.raises(LoadError, match=f"offload: group, but {FLUX} is a modular pipeline, which runs whole on one"):
        loaded(tiny / FLUX, offload="group")
    with pytest.raises(LoadError, match="device_ids: 2 devices for one model"):
        DiffusersModel(DiffusersModel.Parameters(str(tiny / TURBO))).load(["cpu", "cpu"])
    with pytest.raises(LoadError, match=f"call: the call of {TURBO} takes no `layers`"):
        loaded(tiny / TURBO, call={"layers": 4})
    with pytest.raises(ConfigurationError, match=f"negative_prompt: {TURBO} takes none"):
        loaded(tiny / TURBO, negative_prompt="blurred")
    with pytest.raises(ConfigurationError, match=r"\(Flux2KleinModularPipeline\), of which only"):
        loaded(changed(FLUX, lambda index: index.update(_class_name="Flux2KleinModularPipeline")))


def test_what_on_step_raises_ends_the_edit(tiny: Path) -> None:
    model = loaded(tiny / TURBO)
    before = pixels(model)

    def stop(step: int, steps: int) -> None:
        raise InterruptedError(f"at step {step} of {steps}")

    with pytest.raises(InterruptedError, match="at step 1 of 2"):
        model.edit(asked(), stop)
    assert pixels(model) == before


def test_a_size_that_is_asked_for_is_the_edits(tiny: Path) -> None:
    assert loaded(tiny / FLUX, size=[96, 32]).edit(asked(), no_step).size == (96, 32)
    turbo = loaded(tiny / TURBO, canvas=None, size=[96, 32], call={"output_resolution": 64})
    assert turbo.edit(asked(), no_step).size == (96, 32)
