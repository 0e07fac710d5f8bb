"""What every adapter of a diffusers pipeline needs: its parts loaded whole and in place, offload, checked pictures."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from edit_eval.errors import PictureError
from edit_eval.pretrained.folders import Location
from edit_eval.pretrained.loading import check_complete, check_value, device_map, dtype_named, on_cpu

if TYPE_CHECKING:
    from PIL.Image import Image


def load_part(
    location: Location, name: str, dtype: str, devices: Sequence[str], offload: str, load: Mapping[str, Any]
) -> Any:
    """Loads one network of the pipeline at `location`, straight to where it will compute (to the host for an offload).

    `load` is further keywords of `from_pretrained`; a `dtype` among them is this part's own. Raises `LoadError` where
    weights are missing from the files.
    """
    library, class_name = location.index[name]
    part_class = getattr(importlib.import_module(library), class_name)
    settings: dict[str, Any] = {"use_safetensors": True, **location.keywords, **load}
    settings[_dtype_keyword(library)] = dtype_named(settings.pop("dtype", dtype))
    if offload == "none":
        settings.setdefault("device_map", device_map(devices))
    part, report = part_class.from_pretrained(location.name, subfolder=name, output_loading_info=True, **settings)
    # A text encoder is used up to its last hidden state; some are saved without the head.
    missing = [key for key in report.get("missing_keys") or () if not key.startswith("lm_head.")]
    check_complete({**report, "missing_keys": missing}, f"{location.name}/{name}")
    return part.eval()


def _dtype_keyword(library: str) -> str:
    if library == "diffusers":
        import diffusers

        if tuple(int(number) for number in diffusers.__version__.split(".")[:2]) < (0, 40):
            return "torch_dtype"  # `dtype` would be ignored there in silence
    return "dtype"


def check_load(load: Mapping[str, Any], parts: Sequence[str]) -> None:
    """Raises `ValueError` for a parameter `load` that no part can be loaded with. Imports nothing heavy."""
    for part in parts:
        own = load.get(part, {})
        if not isinstance(own, Mapping):
            raise ValueError(f"load.{part}: {own!r} is no mapping of keywords")
        for keywords in (load, own):
            check_value("dtype", str(keywords.get("dtype", "float32")))
            if clash := sorted(set(keywords) & {"device_map", "torch_dtype", "revision", "output_loading_info"}):
                raise ValueError(f"load: {', '.join(clash)} cannot be given there")


def keywords_for(part: str, parts: Sequence[str], load: Mapping[str, Any]) -> dict[str, Any]:
    """Of the parameter `load` what is for one part: its own entry, and all keys that are no part's name."""
    own = load.get(part) or {}
    return {**{key: value for key, value in load.items() if key not in parts}, **own}


def offload_weights(pipeline: Any, devices: Sequence[str], offload: str) -> None:
    """Lets the weights lie in host memory and go to the device when they are needed.

    `model`: one network at a time. `group`: one layer at a time, the next one copied while this one computes; the
    small VAE stays on the device.
    """
    import torch

    device = torch.device("cpu" if on_cpu(devices) else devices[0])
    if offload == "model":
        pipeline.enable_model_cpu_offload(device=device)
    elif offload == "group":
        pipeline.enable_group_offload(
            onload_device=device,
            offload_device=torch.device("cpu"),
            offload_type="leaf_level",
            use_stream=device.type == "cuda",
            low_cpu_mem_usage=device.type == "cuda",
            exclude_modules=["vae"],
        )


def check_finite(numbers: Any, what: str) -> None:
    """Raises `PictureError` for a tensor with a number in it that is none."""
    import torch

    if not bool(torch.isfinite(numbers).all()):
        kind = "NaN" if bool(torch.isnan(numbers).any()) else "infinite numbers"
        raise PictureError(f"the edit model returned {kind} ({what}); with dtype float16 try bfloat16")


def to_picture(pipeline: Any, numbers: Any) -> Image:
    """Makes a picture of one (1, 3, height, width) tensor of 0 to 1, as the pipeline itself would, bit for bit.

    Raises `PictureError` for NaN, which the cast to 8 bits would hide.
    """
    check_finite(numbers, "pixels")
    processor = pipeline.image_processor
    picture: Image = processor.numpy_to_pil(processor.pt_to_numpy(numbers))[0]
    return picture
