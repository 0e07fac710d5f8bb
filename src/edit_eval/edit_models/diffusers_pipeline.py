"""What every adapter of a diffusers pipeline needs: its parts loaded whole and in place, offload, checked pictures, and
two repairs of what the pipelines do; modular pipelines; adapters (LoRA)."""

from __future__ import annotations

import importlib
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

from edit_eval.edit_models.presets import Pipeline, Settings
from edit_eval.errors import LoadError, PictureError
from edit_eval.pretrained import folders
from edit_eval.pretrained.folders import Location
from edit_eval.pretrained.loading import (
    check_complete,
    check_value,
    device_map,
    dtype_named,
    library_versions,
    on_cpu,
)

if TYPE_CHECKING:
    from PIL.Image import Image


STOCK_CANVAS = 1024 * 1024
"""Pixels that pipelines with a function `calculate_dimensions` scale every source to, whatever its size."""
NATIVE = "native"
"""diffusers' name for torch's own choice of a kernel of attention."""
SHORTEST_SIDE = 32
"""Sides are multiples of this, or of half of it."""


def load_part(
    location: Location, name: str, dtype: str, devices: Sequence[str], offload: str, load: Mapping[str, Any]
) -> Any:
    """Loads one network of the pipeline at `location`, straight to where it will compute (to the host for an offload).

    `load` is further keywords of `from_pretrained`; a `dtype` among them is this part's own. Raises `LoadError` where
    weights are missing from the files.
    """
    library, _ = location.index[name]
    part_class = class_of_part(location, name)
    settings: dict[str, Any] = {"use_safetensors": True, "subfolder": name, **location.keywords, **load}
    settings[_dtype_keyword(library)] = dtype_named(settings.pop("dtype", dtype))
    if offload == "none":
        settings.setdefault("device_map", device_map(devices))
    part, report = part_class.from_pretrained(location.name, output_loading_info=True, **settings)
    # A text encoder is used up to its last hidden state; some are saved without the head.
    missing = [key for key in report.get("missing_keys") or () if not key.startswith("lm_head.")]
    check_complete({**report, "missing_keys": missing}, f"{location.name}/{name}")
    return part.eval()


def class_of_part(location: Location, name: str) -> Any:
    """The class that `model_index.json` names for a part; a library it does not know is a folder of diffusers' own."""
    library, class_name = location.index[name]
    inside = library in ("diffusers", "transformers") or "." in library
    return getattr(importlib.import_module(library if inside else f"diffusers.pipelines.{library}"), class_name)


def _dtype_keyword(library: str) -> str:
    if library != "transformers":
        import diffusers

        if tuple(int(number) for number in diffusers.__version__.split(".")[:2]) < (0, 40):
            return "torch_dtype"  # `dtype` would be ignored there in silence
    return "dtype"


def check_load(load: Mapping[str, Any], parts: Sequence[str]) -> None:
    """Raises `ValueError` for a parameter `load` that no part can be loaded with. Imports nothing heavy."""
    for part in parts:
        own = load.get(part, {})
        if not isinstance(own, Mapping):
            raise ValueError(f"load.{part}: {own!r} is not a mapping of keyword arguments")
        for keywords in (load, own):
            check_value("dtype", str(keywords.get("dtype", "float32")))
            if clash := sorted(set(keywords) & {"device_map", "torch_dtype", "revision", "output_loading_info"}):
                raise ValueError(f"load: {', '.join(clash)} cannot be set there")


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


def to_picture(numbers: Any) -> Image:
    """Makes a picture of one (1, channels, height, width) tensor of 0 to 1, as the pipeline would, bit for bit.

    Raises `PictureError` for NaN, which the cast to 8 bits would hide.
    """
    from diffusers.image_processor import VaeImageProcessor as processor

    check_finite(numbers, "pixels")
    picture: Image = processor.numpy_to_pil(processor.pt_to_numpy(numbers))[0]
    return picture


def call_on_canvas(pipeline_class: Any, canvas: int | None) -> Callable[..., Any]:
    """The pipeline's `__call__`, working on `canvas` pixels instead of its own 1048576 (and in proportion where it
    scales the picture for the text encoder).

    Some pipelines take their sizes from the function `calculate_dimensions` of their module, and no argument changes
    that. The call is therefore made anew with the same code and another function under that name; the module and the
    class stay as they are. Raises `LoadError` where this diffusers has no such function.
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
        # On a small canvas a long picture's short side is rounded to 0.
        return max(width, SHORTEST_SIDE), max(height, SHORTEST_SIDE), *rest

    names = {**code.__globals__, "calculate_dimensions": calculate_dimensions}
    own = types.FunctionType(code.__code__, names, code.__name__, code.__defaults__, code.__closure__)
    own.__kwdefaults__ = code.__kwdefaults__
    on_canvas: Callable[..., Any] = torch.no_grad()(own)
    return on_canvas


def native_attention(pipeline: Any, device: str) -> str:
    """Has all networks compute attention by torch's own choice, whatever `DIFFUSERS_ATTN_BACKEND` says: the environment
    must not change pixels. Returns diffusers' name of that, on a GPU with the kernel that torch chooses."""
    import torch
    from diffusers.models.attention_dispatch import _AttentionBackendRegistry as registry

    if registry.get_active_backend()[0].value != NATIVE:
        for part in pipeline.components.values():
            if hasattr(part, "set_attention_backend"):
                part.set_attention_backend(NATIVE)
    if not str(device).startswith("cuda"):
        return NATIVE
    numbers = torch.zeros(1, 24, 128, 128, dtype=torch.bfloat16, device=device)  # heads, tokens, width of Qwen-Image
    try:
        kernel = torch.nn.attention.SDPBackend(torch._fused_sdp_choice(numbers, numbers, numbers)).name
    except (AttributeError, TypeError, ValueError):  # this torch does not say
        return NATIVE
    return f"{NATIVE} ({kernel})"


def pass_token_types(encoder: Any) -> None:
    """Has a text encoder of the Qwen-VL family given `mm_token_type_ids` wherever a caller leaves them out.

    transformers 5 needs them to give picture tokens their positions in rows and columns, and without them counts in one
    line, in silence; the pipelines of diffusers drop them (diffusers issue 14194).
    """

    def add(module: Any, given: Any, keywords: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        ids = keywords.get("input_ids")
        if ids is None or keywords.get("image_grid_thw") is None or keywords.get("mm_token_type_ids") is not None:
            return given, keywords
        config = module.config
        kinds = (ids == config.image_token_id).int() + 2 * (ids == config.video_token_id).int()
        return given, {**keywords, "mm_token_type_ids": kinds}

    encoder.register_forward_pre_hook(add, with_kwargs=True)


# -- modular pipelines: blocks with inputs in place of a call with arguments, and parts that may lie elsewhere --


def assembled(pipeline_class: Any, location: Location, row: Pipeline, settings: Settings) -> Any:
    """The pipeline without its parts; the block that rewrites prompts is there only if `call` asks for it."""

    def made(blocks: Any = None) -> Any:
        return pipeline_class(blocks=blocks, pretrained_model_name_or_path=location.name, **location.keywords)

    pipeline = made()
    if not row.rewriting or settings.call.get(row.rewriting):
        return pipeline
    blocks = pipeline.blocks
    if row.rewriting not in blocks.sub_blocks:
        raise LoadError(f"model_name: {row.name} has no block {row.rewriting} that could be left out")
    blocks.sub_blocks.pop(row.rewriting)
    return made(blocks)


def inputs_of(pipeline: Any, row: Pipeline) -> Mapping[str, Any]:
    """By name, what may be passed to the call: the inputs of all blocks, and the block that rewrites prompts."""
    inputs = {one.name: one for one in pipeline.blocks.inputs if one.name}
    return inputs | ({row.rewriting: row.rewriting} if row.rewriting else {})


def caller(row: Pipeline) -> Callable[..., Any]:
    """The call, with the result as an attribute, as standard pipelines have it."""

    def call(pipeline: Any, **given: Any) -> Any:
        given.pop(row.rewriting, None)  # a block, which is there or not
        return SimpleNamespace(**pipeline(output=[row.result], **given))

    return call


def loops_of(pipeline: Any) -> list[Any]:
    """All that has a progress bar: a standard pipeline itself, of a modular one each loop among its blocks."""
    if hasattr(pipeline, "progress_bar"):
        return [pipeline]
    found, waiting = [], [pipeline._blocks]
    while waiting:
        block = waiting.pop()
        found += [block] if hasattr(block, "progress_bar") else []
        waiting += getattr(block, "sub_blocks", {}).values()
    return found


def part_locations(pipeline: Any, location: Location) -> dict[str, tuple[Location, dict[str, Any]]]:
    """Where each part lies that the blocks need and that is not made on the spot, and its own keywords of loading."""
    found = {}
    for name in pipeline.pretrained_component_names:
        spec = pipeline.get_component_spec(name)
        source = spec.pretrained_model_name_or_path
        if not source:
            raise LoadError(f"model_name: {location.name} does not say where its {name} lies")
        commit = spec.revision or (location.commit if source == location.name else "")
        kind = [spec.type_hint.__module__.split(".")[0], spec.type_hint.__name__]
        own = {"subfolder": spec.subfolder or "", **({"variant": spec.variant} if spec.variant else {})}
        found[name] = (Location(source, commit, {name: kind}), own)
    return found


def load_rest(pipeline: Any, parts: Mapping[str, Any], commits: Mapping[str, str]) -> None:
    """Hands the pipeline its `parts`, and has it load the others (tokenizers, schedulers), each at its commit. Raises
    `LoadError` where one is missing then: the library only logs it."""
    pipeline.update_components(**parts)
    revisions = {name: commit or None for name, commit in commits.items()}
    pipeline.load_components(pipeline.null_component_names, revision=revisions)
    if missing := pipeline.null_component_names:
        raise LoadError(f"{', '.join(missing)}: could not be loaded; the worker's log says why")


@dataclass
class Lora:
    """One adapter."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    name: str
    """A file, a folder, or a name on the Hugging Face Hub."""
    file: str | None = None
    """Of a folder or a repository, the file."""
    revision: str | None = None
    """Branch, tag or commit on the Hub."""
    weight: float = 1.0
    """By which it is multiplied."""
    num_inference_steps: int | None = None
    """Steps that it was trained for; the model's own parameter counts more."""
    guidance: dict[str, float] = field(default_factory=dict)
    """Weights that it was trained for; the model's own count more."""
    scheduler: dict[str, Any] = field(default_factory=dict)
    """Entries of the scheduler's configuration; `_class_name` is another scheduler."""


def lora_revision(lora: Lora) -> str:
    """What decides an adapter's weights besides its name: a digest of its file or folder, or the revision asked for.

    Raises `ConfigurationError` for the path of no file and no folder.
    """
    path = Path(lora.name).expanduser()
    if path.is_file():
        return folders.file_digest(path)
    if lora.file and (path / lora.file).is_file():
        return folders.file_digest(path / lora.file)
    return folders.revision(lora.name, lora.revision, "loras", "the adapter")


def known_to(pipeline_class: Any, loras: Sequence[Lora]) -> None:
    """Raises `LoadError` where the pipeline takes no adapters, `ModuleNotFoundError` without peft: before minutes of
    loading."""
    if loras and not hasattr(pipeline_class, "load_lora_weights"):
        raise LoadError(f"loras: {pipeline_class.__name__} takes none")
    if loras:
        import peft  # noqa: F401


def apply(pipeline: Any, loras: Sequence[Lora]) -> None:
    """Loads the adapters, weighs them, and changes the schedule as they ask, in their order."""
    if not loras:
        return
    import diffusers

    names = [f"lora_{number}" for number in range(len(loras))]
    for name, lora in zip(names, loras, strict=True):
        path = Path(lora.name).expanduser()
        keywords = {"weight_name": lora.file, "revision": lora.revision}
        source: str = lora.name
        if path.is_file():
            source, keywords["weight_name"] = str(path.parent), path.name
        given = {key: value for key, value in keywords.items() if value is not None}
        pipeline.load_lora_weights(source, adapter_name=name, use_safetensors=True, **given)
        if lora.scheduler:
            own = dict(lora.scheduler)
            scheduler = getattr(diffusers, str(own.pop("_class_name", type(pipeline.scheduler).__name__)))
            pipeline.scheduler = scheduler.from_config(pipeline.scheduler.config, **own)
    listed = {adapter for adapters in pipeline.get_list_adapters().values() for adapter in adapters}
    if missing := [lora.name for name, lora in zip(names, loras, strict=True) if name not in listed]:
        raise LoadError(f"loras: {missing[0]} has no weights for {type(pipeline).__name__}")
    pipeline.set_adapters(names, [lora.weight for lora in loras])
