"""Shared by adapters of diffusers pipelines: loading, offload, attention, adapters (LoRA), modular pipelines.

Parts are loaded complete and in place, pictures are checked, and two faults of the pipelines are repaired.
"""

from __future__ import annotations

import importlib
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

from edit_eval.errors import LoadError, PictureError
from edit_eval.plugins.diffusers.in_worker.presets import Pipeline, Settings
from edit_eval.pretrained import folders
from edit_eval.pretrained.folders import Keywords, Location
from edit_eval.pretrained.loading import (
    check_complete,
    check_value,
    device_map,
    dtype_named,
    library_versions,
    runs_on_cpu,
)

if TYPE_CHECKING:
    from PIL.Image import Image


STOCK_CANVAS = 1024 * 1024
"""Pixels that pipelines with a function `calculate_dimensions` scale every source to, of any size."""
NATIVE = "native"
"""diffusers' name for torch's own choice of attention kernel."""
SHORTEST_SIDE = 32
"""Sides are multiples of this, or of half of it."""


def load_part(
    location: Location, name: str, dtype: str, devices: Sequence[str], offload: str, load: Mapping[str, Any]
) -> Any:
    """Loads one network of the pipeline at `location` straight to its device (for an offload, to the host).

    `load` has further keywords of `from_pretrained`; a `dtype` among them is for this part only. Raises `LoadError` if
    weights are missing from the files.
    """
    library, _ = location.index[name]
    part_class = class_of_part(location, name)
    settings: Keywords = {"use_safetensors": True, "subfolder": name, **location.keywords, **load}
    settings[_dtype_keyword(library)] = dtype_named(settings.pop("dtype", dtype))
    if offload == "none":
        settings.setdefault("device_map", device_map(devices))
    part, report = part_class.from_pretrained(location.name, output_loading_info=True, **settings)
    # A text encoder is used only up to its last hidden state; some are saved without the head.
    missing = [key for key in report.get("missing_keys") or () if not key.startswith("lm_head.")]
    check_complete({**report, "missing_keys": missing}, f"{location.name}/{name}")
    return part.eval()


def class_of_part(location: Location, name: str) -> Any:
    """Returns the class that `model_index.json` names for a part; an unknown library is a folder of diffusers."""
    library, class_name = location.index[name]
    inside = library in ("diffusers", "transformers") or "." in library
    return getattr(importlib.import_module(library if inside else f"diffusers.pipelines.{library}"), class_name)


def _dtype_keyword(library: str) -> str:
    if library != "transformers":
        import diffusers

        if tuple(int(number) for number in diffusers.__version__.split(".")[:2]) < (0, 40):
            return "torch_dtype"  # `dtype` would be silently ignored there
    return "dtype"


def check_load(load: Mapping[str, Any], parts: Sequence[str]) -> None:
    """Raises `ValueError` for a parameter `load` that fits no part. Imports nothing heavy."""
    for part in parts:
        own = load.get(part, {})
        if not isinstance(own, Mapping):
            raise ValueError(f"load.{part}: {own!r} is not a mapping of keyword arguments")
        for keywords in (load, own):
            check_value("dtype", str(keywords.get("dtype", "float32")))
            if clash := sorted(set(keywords) & {"device_map", "torch_dtype", "revision", "output_loading_info"}):
                raise ValueError(f"load: {', '.join(clash)} cannot be set there")


def keywords_for(part: str, parts: Sequence[str], load: Mapping[str, Any]) -> Keywords:
    """Returns the entries of the parameter `load` for one part: its own, and all keys that are not a part's name."""
    own = load.get(part) or {}
    return {**{key: value for key, value in load.items() if key not in parts}, **own}


def offload_weights(pipeline: Any, devices: Sequence[str], offload: str) -> None:
    """Keeps the weights in host memory and moves them to the device when they are needed.

    `model`: one network at a time. `group`: one layer at a time, the next one copied while this one computes; the small
    VAE stays on the device.
    """
    import torch

    device = torch.device("cpu" if runs_on_cpu(devices) else devices[0])
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


def restore_offload(pipeline: Any, offload: str) -> bool:
    """Puts the networks back into host memory after an edit that failed; False if its process must be replaced.

    diffusers does so only at the end of a call: after an exception networks stay on the device, some in part, and the
    next edit adds others. What group offload records in an interrupted first pass cannot be undone.
    """
    if offload == "model":
        pipeline.maybe_free_model_hooks()
    return offload != "group"


def check_finite(numbers: Any, what: str) -> None:
    """Raises `PictureError` if a tensor has NaN or infinite numbers."""
    import torch

    if not bool(torch.isfinite(numbers).all()):
        kind = "NaN" if bool(torch.isnan(numbers).any()) else "infinite numbers"
        raise PictureError(f"the edit model returned {kind} ({what}); with dtype float16 try bfloat16")


def to_picture(numbers: Any) -> Image:
    """Converts a (1, channels, height, width) tensor of 0 to 1 to a picture as the pipeline would, bit for bit.

    Raises `PictureError` for NaN, which the cast to 8 bits would hide.
    """
    from diffusers.image_processor import VaeImageProcessor as processor

    check_finite(numbers, "pixels")
    picture: Image = processor.numpy_to_pil(processor.pt_to_numpy(numbers))[0]
    return picture


def call_on_canvas(pipeline_class: Any, canvas: int | None) -> Callable[..., Any]:
    """Returns the pipeline's `__call__`, working on `canvas` pixels instead of its own 1048576.

    If it also scales the picture for the text encoder, that stays in proportion. Some pipelines take their sizes from
    the function `calculate_dimensions` of their module, and no argument changes that. So the call is rebuilt with the
    same code and another function under that name; the module and the class stay unchanged. Raises `LoadError` if this
    diffusers has no such function.
    """
    stock: Callable[..., Any] = pipeline_class.__call__
    if canvas is None:
        return stock
    import torch

    code = inspect.unwrap(stock)
    scale = canvas / STOCK_CANVAS
    sizes = code.__globals__.get("calculate_dimensions")
    if sizes is None or "calculate_dimensions" not in code.__code__.co_names:
        version = library_versions("diffusers")["diffusers"]
        raise LoadError(f"canvas: {pipeline_class.__name__} of diffusers {version} cannot be given another one")

    def calculate_dimensions(target_area: float, ratio: float) -> Any:
        width, height, *rest = sizes(target_area * scale, ratio)
        # On a small canvas a long picture's short side would be rounded to 0.
        return max(width, SHORTEST_SIDE), max(height, SHORTEST_SIDE), *rest

    names = {**code.__globals__, "calculate_dimensions": calculate_dimensions}
    own = types.FunctionType(code.__code__, names, code.__name__, code.__defaults__, code.__closure__)
    own.__kwdefaults__ = code.__kwdefaults__
    on_canvas: Callable[..., Any] = torch.no_grad()(own)
    return on_canvas


def canvas_of(call: Callable[..., Any], size: tuple[int, int]) -> tuple[int, int]:
    """Returns the width and height to which a pipeline that paints in a mask scales a source of that size."""
    sizes = getattr(inspect.unwrap(call), "__globals__", {}).get("calculate_dimensions")
    if sizes is not None:
        width, height, *_ = sizes(STOCK_CANVAS, size[0] / size[1])
        return int(width), int(height)
    factor = min(1.0, (STOCK_CANVAS / (size[0] * size[1])) ** 0.5)
    return int(size[0] * factor), int(size[1] * factor)


def native_attention(pipeline: Any, device: str) -> str:
    """Makes all networks use torch's own choice of attention, even if `DIFFUSERS_ATTN_BACKEND` is set.

    The environment must not change pixels. Returns diffusers' name for it, on a GPU with the kernel that torch chooses.
    """
    import torch
    from diffusers.models.attention_dispatch import _AttentionBackendRegistry as registry

    if registry.get_active_backend()[0].value != NATIVE:
        for part in pipeline.components.values():
            if hasattr(part, "set_attention_backend"):
                part.set_attention_backend(NATIVE)
    if not str(device).startswith("cuda"):
        return NATIVE
    numbers = torch.zeros(1, 24, 128, 128, dtype=torch.bfloat16, device=device)  # heads, tokens and width of Qwen-Image
    try:
        kernel = torch.nn.attention.SDPBackend(torch._fused_sdp_choice(numbers, numbers, numbers)).name
    except (AttributeError, TypeError, ValueError):  # this torch does not tell
        return NATIVE
    return f"{NATIVE} ({kernel})"


def pass_token_types(encoder: Any) -> None:
    """Makes sure that a text encoder of the Qwen-VL family gets `mm_token_type_ids`, even if a caller leaves them out.

    transformers 5 needs them for the positions of picture tokens in rows and columns, and silently counts in one line
    without them; the pipelines of diffusers drop them (diffusers issue 14194).
    """

    def add(module: Any, given: Any, keywords: Keywords) -> tuple[Any, Keywords]:
        ids = keywords.get("input_ids")
        if ids is None or keywords.get("image_grid_thw") is None or keywords.get("mm_token_type_ids") is not None:
            return given, keywords
        config = module.config
        kinds = (ids == config.image_token_id).int() + 2 * (ids == config.video_token_id).int()
        return given, {**keywords, "mm_token_type_ids": kinds}

    encoder.register_forward_pre_hook(add, with_kwargs=True)


# -- modular pipelines: blocks with inputs instead of a call with arguments, and parts that may be elsewhere --


def make_modular_pipeline(pipeline_class: Any, location: Location, row: Pipeline, settings: Settings) -> Any:
    """Returns the pipeline without its parts; it has the block that rewrites prompts only if `call` asks for it."""

    def make_pipeline(blocks: Any = None) -> Any:
        return pipeline_class(blocks=blocks, pretrained_model_name_or_path=location.name, **location.keywords)

    pipeline = make_pipeline()
    if not row.rewriting or settings.call.get(row.rewriting):
        return pipeline
    blocks = pipeline.blocks
    if row.rewriting not in blocks.sub_blocks:
        raise LoadError(f"model_name: {row.name} has no block {row.rewriting} that could be left out")
    blocks.sub_blocks.pop(row.rewriting)
    return make_pipeline(blocks)


def inputs_of(pipeline: Any, row: Pipeline) -> Mapping[str, Any]:
    """Returns by name what may be passed to the call: inputs of all blocks, and the block that rewrites prompts."""
    inputs = {parameter.name: parameter for parameter in pipeline.blocks.inputs if parameter.name}
    return inputs | ({row.rewriting: row.rewriting} if row.rewriting else {})


def caller(row: Pipeline) -> Callable[..., Any]:
    """Returns the call, with the result as an attribute, like standard pipelines."""

    def call(pipeline: Any, **given: Any) -> Any:
        given.pop(row.rewriting, None)  # a block, which is present or not
        return SimpleNamespace(**pipeline(output=[row.result], **given))

    return call


def loops_of(pipeline: Any) -> list[Any]:
    """Returns everything with a progress bar: a standard pipeline itself, each loop among a modular one's blocks."""
    if hasattr(pipeline, "progress_bar"):
        return [pipeline]
    loops, waiting = [], [pipeline._blocks]
    while waiting:
        block = waiting.pop()
        loops += [block] if hasattr(block, "progress_bar") else []
        waiting += getattr(block, "sub_blocks", {}).values()
    return loops


def part_locations(pipeline: Any, location: Location) -> dict[str, tuple[Location, Keywords]]:
    """Returns the location of each part that the blocks need and do not create, and its own keywords for loading."""
    locations = {}
    for name in pipeline.pretrained_component_names:
        spec = pipeline.get_component_spec(name)
        source = spec.pretrained_model_name_or_path
        if not source:
            raise LoadError(f"model_name: {location.name} does not say where its {name} lies")
        commit = spec.revision or (location.commit if source == location.name else "")
        kind = [spec.type_hint.__module__.split(".")[0], spec.type_hint.__name__]
        own = {"subfolder": spec.subfolder or "", **({"variant": spec.variant} if spec.variant else {})}
        locations[name] = (Location(source, commit, {name: kind}), own)
    return locations


def load_rest(pipeline: Any, parts: Mapping[str, Any], commits: Mapping[str, str]) -> None:
    """Gives the pipeline its `parts`, and has it load the others (tokenizers, schedulers), each at its commit.

    Raises `LoadError` if one is missing afterwards, which the library only logs.
    """
    pipeline.update_components(**parts)
    revisions = {name: commit or None for name, commit in commits.items()}
    pipeline.load_components(pipeline.null_component_names, revision=revisions)
    if missing := pipeline.null_component_names:
        raise LoadError(f"{', '.join(missing)}: could not be loaded; the worker's log says why")


@dataclass
class Lora:
    """One adapter."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    name: str
    """A file, a folder, or a name on the Hugging Face Hub."""
    file: str | None = None
    """The file in a folder or repository."""
    revision: str | None = None
    """Branch, tag or commit on the Hub."""
    weight: float = 1.0
    """Its multiplier."""
    num_inference_steps: int | None = None
    """Steps it was trained for; the model's own parameter takes precedence."""
    guidance: dict[str, float] = field(default_factory=dict)
    """Weights it was trained for; the model's own take precedence."""
    scheduler: dict[str, Any] = field(default_factory=dict)
    """Entries of the scheduler's configuration; `_class_name` selects another scheduler."""


def lora_revision(lora: Lora) -> str:
    """Returns what, besides its name, determines an adapter's weights: a digest, or the revision asked for.

    Raises `ConfigurationError` for a path that is neither a file nor a folder.
    """
    path = Path(lora.name).expanduser()
    if path.is_file():
        return folders.file_digest(path)
    if lora.file and (path / lora.file).is_file():
        return folders.file_digest(path / lora.file)
    return folders.revision(lora.name, lora.revision, "loras", "the adapter")


def check_lora_support(pipeline_class: Any, loras: Sequence[Lora]) -> None:
    """Raises `LoadError` if the pipeline takes no adapters, `ModuleNotFoundError` without peft, before loading."""
    if loras and not hasattr(pipeline_class, "load_lora_weights"):
        raise LoadError(f"loras: {pipeline_class.__name__} takes none")
    if loras:
        import peft  # noqa: F401


def apply(pipeline: Any, loras: Sequence[Lora], *, in_part: bool) -> tuple[str, str]:
    """Loads and weights the adapters, and changes the schedule as they ask, in their order.

    Returns a description of them, and a note on those that were applied in part; empty if none was.

    Raises `LoadError` for one of which the pipeline has no place for some tensors, which the library drops, unless it
    may be applied `in_part`.
    """
    if not loras:
        return "", ""
    import diffusers

    said, notes = [], []
    names = [f"lora_{number}" for number in range(len(loras))]
    for name, lora in zip(names, loras, strict=True):
        path = Path(lora.name).expanduser()
        keywords = {"weight_name": lora.file, "revision": lora.revision}
        source: str = lora.name
        if path.is_file():
            source, keywords["weight_name"] = str(path.parent), path.name
        given = {key: value for key, value in keywords.items() if value is not None}
        pipeline.load_lora_weights(source, adapter_name=name, use_safetensors=True, **given)
        fitted = _count_loaded_tensors(pipeline, name)
        stored = _count_lora_tensors(pipeline.lora_state_dict(source, use_safetensors=True, **given))
        part = f"{fitted} of {stored} tensors" if fitted < stored else ""
        if fitted and part and not in_part:
            raise LoadError(
                f"loras: {lora.name} fits {type(pipeline).__name__} in part: {part}; it is for another model, or "
                "another size of it; `loras_in_part: true` applies what fits",
                final=True,
            )
        said.append(f"{lora.name} {lora.weight:g}" + f" ({part})" * bool(part))
        notes += [f"LoRA {lora.name}: {part} applied"] * bool(part)
        if lora.scheduler:
            own = dict(lora.scheduler)
            scheduler = getattr(diffusers, str(own.pop("_class_name", type(pipeline.scheduler).__name__)))
            pipeline.scheduler = scheduler.from_config(pipeline.scheduler.config, **own)
    listed = {adapter for adapters in pipeline.get_list_adapters().values() for adapter in adapters}
    if missing := [lora.name for name, lora in zip(names, loras, strict=True) if name not in listed]:
        raise LoadError(f"loras: {missing[0]} has no weights for {type(pipeline).__name__}")
    pipeline.set_adapters(names, [lora.weight for lora in loras])
    return "; ".join(said), "; ".join(notes)


def _count_loaded_tensors(pipeline: Any, adapter: str) -> int:
    networks = [part for part in pipeline.components.values() if hasattr(part, "named_parameters")]
    return sum(f".{adapter}." in name for part in networks for name, _ in part.named_parameters())


def _count_lora_tensors(stored: Any) -> int:
    """Returns how many tensors an adapter's file has, as the pipeline names them; its numbers (`alpha`) are none."""
    tensors = stored[0] if isinstance(stored, tuple) else stored
    return sum("alpha" not in name.rpartition(".")[2] for name in tensors)
