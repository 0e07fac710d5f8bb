"""Qwen-Image-Edit and Qwen-Image-Edit-Plus (2509, 2511) through diffusers' own pipelines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from edit_eval.edit_models.acceleration.attention_backend import AUTO, BACKENDS, use_attention
from edit_eval.edit_models.acceleration.fused_gelu import fuse_gelu
from edit_eval.edit_models.acceleration.last_layer import use_last_layer_for_noise
from edit_eval.edit_models.acceleration.modulation_tables import MODES, use_modulation_tables
from edit_eval.edit_models.acceleration.real_rotary import use_real_rotary
from edit_eval.edit_models.acceleration.regional_compile import compile_blocks
from edit_eval.edit_models.acceleration.shared_prefix import SharedPrefix
from edit_eval.edit_models.acceleration.single_frame_vae import use_single_frame_convolutions
from edit_eval.edit_models.acceleration.source_cache import remember_sources
from edit_eval.edit_models.contract import EditRequest, OnStep
from edit_eval.edit_models.diffusers_pipeline import (
    SHORTEST_SIDE,
    call_on_canvas,
    check_finite,
    check_load,
    keywords_for,
    load_part,
    offload_weights,
    repair_token_types,
    to_picture,
)
from edit_eval.edit_models.published_durations import of_qwen_image
from edit_eval.errors import LoadError, PictureError
from edit_eval.pretrained import folders
from edit_eval.pretrained.language_attention import DESCRIPTION, without_cudnn
from edit_eval.pretrained.loading import check_call, check_value, library_versions, load_errors, on_cpu, prepare_devices
from edit_eval.pretrained.processors import IMAGE_BACKEND, PROCESSORS, load_processor
from edit_eval.pretrained.reading_ahead import load_in_parallel, read_ahead

if TYPE_CHECKING:
    from PIL.Image import Image

REGISTERED = {"qwen_image_edit": "QwenImageEdit"}

PIPELINES = ("QwenImageEditPipeline", "QwenImageEditPlusPipeline")
PARTS = ("transformer", "text_encoder", "vae")

LARGEST_RATIO = 200
"""The text encoder's processor takes no picture that is more than 200 times as long as wide."""

TAKEN = (
    "image",
    "prompt",
    "negative_prompt",
    "true_cfg_scale",
    "num_inference_steps",
    "generator",
    "output_type",
    "return_dict",
    "num_images_per_prompt",
    "callback_on_step_end",
    "callback_on_step_end_tensor_inputs",
)


@dataclass
class Advanced:
    """Measures that change pixels by no more than rounding. None of them has been measured on a GPU: all are off."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    attention: str = "native"
    """Kernel of the transformer's attention, by diffusers' name, or `auto`."""
    compile: bool = False
    """Compile the transformer's blocks."""
    shared_prefix: bool = False
    """Read what both prompts share once."""
    single_frame_vae: bool = False
    """The VAE's convolutions in two dimensions."""
    short_last_layer: bool = False
    """The last layer only for the noise."""
    fused_gelu: bool = False
    """On a GPU, the GELUs within the products before them."""

    def __post_init__(self) -> None:
        check_value("attention", self.attention, (AUTO, *BACKENDS))


class QwenImageEdit:
    """Qwen-Image-Edit, and -Plus (2509, 2511), through diffusers' pipelines.

    Which of the two pipelines, the model's `model_index.json` says.

    The noise is drawn on the CPU, so that the pixels depend on no GPU's random numbers. On the CPU one thread computes.
    """

    @dataclass
    class Parameters:
        """What decides the pixels."""

        __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

        model_name: str = "Qwen/Qwen-Image-Edit"
        """A folder, or a name on the Hugging Face Hub."""
        revision: str | None = None
        """Branch, tag or commit on the Hub."""
        num_inference_steps: int = 50
        """Steps of denoising."""
        true_cfg_scale: float = 4.0
        """Weight of the instruction against the negative prompt; 1 and below is none, in half the time."""
        negative_prompt: str = " "
        """Always passed: without one diffusers drops the guidance in silence."""
        dtype: str = "bfloat16"
        """bfloat16, float16 or float32."""
        canvas: int | None = None
        """Area in pixels on which the pipeline works; null: its own 1048576. 4096 is 64 x 64."""
        load: dict[str, Any] = field(default_factory=dict)
        """Keywords of `from_pretrained`; under `transformer`, `text_encoder` or `vae` for that part alone."""
        call: dict[str, Any] = field(default_factory=dict)
        """Further keywords of the pipeline's call."""
        source_cache: bool = True
        """Compute once what consecutive edits of one source share; bitwise equal."""
        modulation: str = "table"
        """`table`: once a schedule, bitwise equal; `table_only`: its 13.6 GB lie in host memory; `live`: each step."""
        advanced: Advanced = field(default_factory=Advanced)
        """What rounds differently, and was measured on no GPU yet: `attention`, `compile`, `fused_gelu`, ..."""

        def __post_init__(self) -> None:
            check_value("dtype", self.dtype)
            check_call(self.call, TAKEN)
            check_load(self.load, PARTS)
            check_value("modulation", self.modulation, MODES)
            if self.num_inference_steps < 1:
                raise ValueError(f"num_inference_steps: {self.num_inference_steps}; at least 1 step is needed")
            if self.canvas is not None and self.canvas < SHORTEST_SIDE**2:
                raise ValueError(f"canvas: {self.canvas} pixels; the pipeline needs at least {SHORTEST_SIDE**2}")

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self._pipeline: Any = None
        self._call: Callable[..., Any] | None = None
        self._about: dict[str, str] = {}

    @staticmethod
    def revision(parameters: Parameters) -> str:
        """What decides the pixels besides the parameters: a digest of a local folder's files, or the Hub's revision."""
        return folders.revision(parameters.model_name, parameters.revision)

    @staticmethod
    def sources(parameters: Parameters) -> int:
        """One: of several only the first would be seen. `diffusers` hands -Plus all of them."""
        return 1

    @staticmethod
    def duration(parameters: Parameters) -> tuple[float, float, str]:
        """Seconds of a load and of an edit, as others have measured them."""
        return of_qwen_image(parameters.num_inference_steps, parameters.true_cfg_scale)

    def prepare(self) -> None:
        """Imports the libraries and has the weights read into the host's page cache; takes no device memory."""
        parameters = self.parameters
        with load_errors(parameters.model_name):
            read_ahead(parameters.model_name, parameters.revision)
            load_in_parallel()
            import diffusers
            import transformers

            for name in PIPELINES:  # the libraries import the rest when it is asked for
                getattr(diffusers, name)
            _ = transformers.Qwen2_5_VLForConditionalGeneration

    def load(self, devices: Sequence[str], offload: str = "none") -> None:
        """Loads the pipeline; over several devices its two large networks are spread layer by layer.

        `offload` keeps the weights in host memory: `model` or `group`. Raises `LoadError`; want of memory passes as it
        is.
        """
        parameters = self.parameters
        name = parameters.model_name
        with load_errors(name):
            location = folders.locate(name, parameters.revision, "model_index.json", "a diffusers pipeline")
            class_name = str(location.index.get("_class_name"))
            if class_name not in PIPELINES:
                raise LoadError(f"model_name: {name} is a {class_name}; qwen_image_edit runs {' and '.join(PIPELINES)}")
            prepare_devices(devices, offload)
            load_in_parallel()
            import diffusers

            pipeline_class = getattr(diffusers, class_name)
            call_on_canvas(pipeline_class, parameters.canvas)  # before minutes of loading: is there a way?
            parts = {
                part: load_part(
                    location,
                    part,
                    parameters.dtype,
                    devices[:1] if part == "vae" else devices,
                    offload,
                    keywords_for(part, PARTS, parameters.load),
                )
                for part in PARTS
            }
            processor = load_processor(
                location.name, PROCESSORS["qwen2_vl"], {}, subfolder="processor", **location.keywords
            )
            pipeline = pipeline_class.from_pretrained(location.name, processor=processor, **parts, **location.keywords)
            pipeline.set_progress_bar_config(disable=True)
            if parameters.num_inference_steps == 1 and pipeline.scheduler.config.get("shift_terminal"):
                raise LoadError(
                    "num_inference_steps: 1, but this model's schedule is undefined for a single step "
                    "(`shift_terminal`); use at least 2"
                )
            self._make_ready(pipeline, devices, offload)
        self._about["commit"] = location.commit

    def _make_ready(self, pipeline: Any, devices: Sequence[str], offload: str) -> None:
        """The repairs, the measures that the parameters ask for, and the offload, in the order in which they fit."""
        parameters = self.parameters
        advanced = parameters.advanced
        by_layer = offload == "group"  # layer after layer, in the order of the first call: nothing may be left out
        if advanced.compile and (by_layer or len(devices) > 1):
            raise LoadError(
                "compile: a model whose weights move between devices cannot be compiled; set compile to false, or "
                "devices_per_replica to 1 and offload to none or model"
            )
        self._call = call_on_canvas(type(pipeline), parameters.canvas)
        repaired = repair_token_types(pipeline)
        device = "cpu" if on_cpu(devices) else devices[0]
        attention = use_attention(pipeline.transformer, advanced.attention, device)
        without_cudnn(pipeline.text_encoder.model.language_model)
        if advanced.single_frame_vae:
            use_single_frame_convolutions(pipeline.vae)
        if advanced.shared_prefix and not by_layer:
            SharedPrefix(pipeline.text_encoder)
        if parameters.source_cache:
            remember_sources(pipeline, vision=not by_layer)
        # Layers for which several devices have no room lie in host memory, and are fetched as they compute.
        spilled = any(weight.is_meta for weight in pipeline.transformer.parameters())
        stays = not (by_layer or spilled or len(devices) > 1)  # each layer where it was loaded, as one piece
        short = advanced.short_last_layer and stays
        if short:
            use_last_layer_for_noise(pipeline.transformer)
        fused = fuse_gelu(pipeline.transformer, device) if advanced.fused_gelu and stays else 0
        modulation = "live" if by_layer or spilled else parameters.modulation
        use_modulation_tables(pipeline, modulation)
        compiled = ""
        if advanced.compile:
            rotary = "real" if use_real_rotary(pipeline.transformer) else "complex"
            compile_blocks(pipeline.transformer)
            compiled = f"the transformer's blocks, dynamic shapes, {rotary} rotary positions"
        if offload != "none":
            offload_weights(pipeline, devices, offload)
        self._pipeline = pipeline
        encoder = f"{pipeline.text_encoder.config._attn_implementation}, {DESCRIPTION}"
        images = type(pipeline.processor.image_processor).__name__
        self._about = {
            "pipeline": type(pipeline).__name__,
            "commit": "",
            "dtype": parameters.dtype,
            "offload": offload,
            "attention": f"{attention}; text encoder: {encoder}",
            "modulation": modulation,
            "compile": compiled,
            "last_layer": "only for the noise" if short else "",
            "gelu": f"{fused} within the products before them" if fused else "",
            "image_backend": f"{IMAGE_BACKEND} ({images})",
            "repairs": "mm_token_type_ids passed to the text encoder (diffusers issue 14194)" if repaired else "",
            **library_versions("torch", "diffusers", "transformers", "accelerate", "safetensors", "pillow"),
        }

    def edit(self, request: EditRequest, on_step: OnStep) -> Image:
        """Returns the edited picture, on the pipeline's own canvas (about 1 megapixel, sides multiples of 32).

        Raises `PictureError` for a source too long and narrow, and for NaN or infinite numbers.
        """
        import torch

        if self._pipeline is None or self._call is None:
            raise LoadError("the edit model is not loaded: call load(devices) first")
        parameters = self.parameters
        picture = request.source.convert("RGB")
        if max(picture.size) > LARGEST_RATIO * min(picture.size):
            raise PictureError(
                f"the source is {picture.width} x {picture.height} pixels; Qwen-Image-Edit takes no picture that is "
                f"longer than {LARGEST_RATIO} times its shorter side"
            )

        def after_step(pipeline: Any, step: int, timestep: Any, tensors: dict[str, Any]) -> dict[str, Any]:
            steps = pipeline.num_timesteps
            on_step(step + 1, steps)
            if step + 1 == steps:  # once: each look waits for the device
                check_finite(tensors["latents"], "latents")
            return tensors

        result = self._call(
            self._pipeline,
            image=picture,
            prompt=request.instruction,
            negative_prompt=parameters.negative_prompt,
            true_cfg_scale=parameters.true_cfg_scale,
            num_inference_steps=parameters.num_inference_steps,
            generator=torch.Generator("cpu").manual_seed(request.seed),
            callback_on_step_end=after_step,
            output_type="pt",
            **parameters.call,
        )
        return to_picture(result.images)

    def about(self) -> dict[str, str]:
        """Versions, the pipeline's class, kernels, the commit of the weights, and the repairs made."""
        return dict(self._about)
