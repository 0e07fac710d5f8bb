"""Modulation looked up against modulation computed at each step: the same to the last bit."""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from edit_eval.edit_models import qwen_image_edit
from edit_eval.edit_models.acceleration.attention_backend import use_attention
from edit_eval.edit_models.acceleration.modulation_tables import SCHEDULES, use_modulation_tables
from edit_eval.errors import EditEvalError
from edit_models.tiny_edits import PIPELINES, PLAIN, all_edits, edited, levels_apart, loaded, picture, pixels, request

pytestmark = pytest.mark.real_models

LIVE = PLAIN
TABLE = PLAIN | {"modulation": "table"}
SHOWN = (("table", "bfloat16", PIPELINES[0]), ("table_only", "float32", PIPELINES[1]))
"""Of every mode, number format and pipeline one; `make models` has all of them."""


@pytest.mark.parametrize(
    ("mode", "dtype", "name"),
    [
        one if one in SHOWN else pytest.param(*one, marks=pytest.mark.models)
        for one in itertools.product(["table", "table_only"], ["float32", "bfloat16"], PIPELINES)
    ],
)
def test_edits_are_the_same_to_the_last_bit(mode: str, dtype: str, name: str, tiny_models: Path) -> None:
    settings: dict[str, Any] = {"dtype": dtype, "num_inference_steps": 3}
    live = loaded(tiny_models / name, **settings, **LIVE)
    looked_up = loaded(tiny_models / name, **settings, **PLAIN | {"modulation": mode})
    assert looked_up.about()["modulation"] == mode
    assert all_edits(looked_up) == all_edits(live)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_model_whose_reference_has_the_time_0(dtype: str, tiny_models: Path, tmp_path: Path) -> None:
    """As Qwen-Image-Edit-2511: picture tokens take one of two modulations."""
    folder = Path(shutil.copytree(tiny_models / "qwen-image-edit-plus", tmp_path / "copy"))
    config = folder / "transformer" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"zero_cond_t": True}))
    live = pixels(loaded(folder, dtype=dtype, **LIVE))
    assert pixels(loaded(folder, dtype=dtype, **TABLE)) == live
    assert pixels(loaded(tiny_models / "qwen-image-edit-plus", dtype=dtype, **LIVE)) != live


def test_a_schedule_of_the_users_own_and_without_guidance(tiny_models: Path) -> None:
    folder = tiny_models / "qwen-image-edit"
    for more in ({"call": {"sigmas": [1.0, 0.7, 0.4]}}, {"true_cfg_scale": 1.0}):
        assert pixels(loaded(folder, **TABLE, **more)) == pixels(loaded(folder, **LIVE, **more))


def test_a_table_is_computed_once_a_schedule_and_a_few_are_kept(tiny_models: Path) -> None:
    # Three steps: the first and the last time of a schedule are fixed, so with two there is but one schedule.
    model = loaded(tiny_models / "qwen-image-edit", num_inference_steps=3, **LIVE)
    tables = use_modulation_tables(model._pipeline, "table")
    assert tables is not None
    expected = loaded(tiny_models / "qwen-image-edit", num_inference_steps=3, **LIVE)
    for prompt in ("make the sky red", "remove the dog"):
        edited(model, prompt)
    assert tables.built == 1
    sizes = [(64, 64), (100, 20), (300, 20), (200, 100), (500, 20)]
    tokens = [edited(model, source=picture(*size)).size for size in sizes]
    lengths = {width * height for width, height in [(64, 64), *tokens]}
    assert tables.built == len(lengths) > 3
    assert len(tables._tables) == min(SCHEDULES, len(lengths))
    assert pixels(model) == pixels(expected)


def test_the_weights_leave_the_transformer(tiny_models: Path) -> None:
    model = loaded(tiny_models / "qwen-image-edit", **LIVE)
    transformer = model._pipeline.transformer
    block = sum(p.numel() for p in transformer.transformer_blocks.parameters())
    before = sum(p.numel() for p in transformer.parameters())
    tables = use_modulation_tables(model._pipeline, "table_only")
    assert tables is not None
    gone = before - sum(p.numel() for p in transformer.parameters())
    assert gone / block == pytest.approx(1 / 3, abs=0.03)
    assert tables.bytes == 4 * gone
    assert use_modulation_tables(loaded(tiny_models / "qwen-image-edit", **LIVE)._pipeline, "live") is None


def test_layers_that_lie_in_host_memory_compute_their_own(tiny_models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As accelerate spreads a transformer over devices that are too small for it together."""
    import accelerate

    live = pixels(loaded(tiny_models / "qwen-image-edit", **LIVE))

    def spill_first(transformer: Any, *arguments: Any) -> str:
        accelerate.cpu_offload(transformer, execution_device="cpu")
        return use_attention(transformer, *arguments)

    monkeypatch.setattr(qwen_image_edit, "use_attention", spill_first)
    spilled = loaded(tiny_models / "qwen-image-edit", **TABLE)
    assert next(spilled._pipeline.transformer.parameters()).is_meta
    assert spilled.about()["modulation"] == "live"
    assert pixels(spilled) == live


def test_an_edit_that_was_stopped_leaves_nothing_behind(tiny_models: Path) -> None:
    model = loaded(tiny_models / "qwen-image-edit", num_inference_steps=3, **TABLE)

    def stop(step: int, steps: int) -> None:
        if step == 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        model.edit(request(picture()), stop)
    assert pixels(model) == pixels(loaded(tiny_models / "qwen-image-edit", num_inference_steps=3, **LIVE))


def test_another_time_than_the_schedules_is_an_error_and_no_picture(tiny_models: Path) -> None:
    model = loaded(tiny_models / "qwen-image-edit", **TABLE)
    transformer = model._pipeline.transformer

    def later(module: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
        return arguments, {**keywords, "timestep": keywords["timestep"] * 0.5}

    transformer.register_forward_pre_hook(later, with_kwargs=True, prepend=True)
    with pytest.raises(EditEvalError, match="set modulation to live"):
        edited(model)


@pytest.mark.parametrize(("offload", "mode"), [("model", "table"), ("model", "table_only"), ("group", "live")])
def test_with_offload(offload: str, mode: str, tiny_models: Path) -> None:
    """Layer after layer nothing may be left out, so there the modulation is computed as ever.

    Up to rounding: an offload copies weights to other addresses, and on a CPU the last bit depends on their alignment.
    """
    given = "table" if mode == "live" else mode
    model = loaded(tiny_models / "qwen-image-edit", offload, **PLAIN | {"modulation": given})
    assert model.about()["modulation"] == mode
    live = loaded(tiny_models / "qwen-image-edit", offload, **LIVE)
    assert levels_apart(edited(model), edited(live)) <= 1
