"""How the networks of a pipeline are loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from edit_eval.plugins.diffusers.in_worker.diffusers_pipeline import load_part
from edit_eval.pretrained.folders import locate

pytestmark = pytest.mark.real_models


class _Asked(Exception):
    """Ends a load before anything is read."""


@pytest.mark.parametrize("part", ["transformer", "text_encoder", "vae"])
@pytest.mark.parametrize(
    ("devices", "offload", "device_map"),
    [
        (["cuda:1"], "none", {"": "cuda:1"}),
        (["cpu:3"], "none", {"": "cpu"}),
        (["cuda:0", "cuda:1"], "none", "balanced"),
        (["cuda:0"], "model", None),
        (["cuda:0"], "group", None),
    ],
)
def test_weights_go_straight_to_where_they_compute(
    part: str, devices: list[str], offload: str, device_map: Any, tiny_models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import diffusers
    import torch
    import transformers

    folder = str(tiny_models / "qwen-image-edit")
    location = locate(folder, None, "model_index.json", "a diffusers pipeline")
    library, class_name = location.index[part]
    asked: dict[str, Any] = {}

    def note(name: str, **keywords: Any) -> Any:
        asked.update(keywords, name=name)
        raise _Asked

    owner = getattr({"diffusers": diffusers, "transformers": transformers}[library], class_name)
    monkeypatch.setattr(owner, "from_pretrained", note)
    with pytest.raises(_Asked):
        load_part(location, part, "bfloat16", devices, offload, {"variant": "fp16"})
    assert asked.pop("device_map", None) == device_map
    assert asked == {
        "name": folder,
        "subfolder": part,
        "dtype": torch.bfloat16,
        "use_safetensors": True,
        "output_loading_info": True,
        "variant": "fp16",
    }
