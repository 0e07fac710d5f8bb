"""Any pipeline of diffusers that edits by instruction; the model's own `model_index.json` names its class."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, cast

from edit_eval.edit_models.contract import EditRequest, OnStep
from edit_eval.errors import LoadError, PictureError
from edit_eval.json_values import JsonObject
from edit_eval.plugins.diffusers.in_worker.diffusers_pipeline import (
    SHORTEST_SIDE,
    Lora,
    apply,
    call_on_canvas,
    caller,
    canvas_of,
    check_finite,
    check_load,
    check_lora_support,
    class_of_part,
    inputs_of,
    keywords_for,
    load_part,
    load_rest,
    loops_of,
    lora_revision,
    make_modular_pipeline,
    native_attention,
    offload_weights,
    part_locations,
    pass_token_types,
    restore_offload,
    to_picture,
)
from edit_eval.plugins.diffusers.in_worker.preset_lookup import (
    card_of,
    format_setting,
    index_file,
    index_of,
    revision_of,
    row_of,
    settings_of,
)
from edit_eval.plugins.diffusers.in_worker.preset_table import PIPELINE
from edit_eval.plugins.diffusers.in_worker.presets import PROMPTS, Pipeline, Settings, settle, size_for
from edit_eval.plugins.diffusers.in_worker.release_table import COUNTED, RELEASE, RELEASES
from edit_eval.pretrained import folders
from edit_eval.pretrained.folders import Keywords
from edit_eval.pretrained.loading import (
    WITHOUT_CUDNN,
    check_call,
    check_value,
    disable_cudnn,
    library_versions,
    load_errors,
    load_in_parallel,
    prepare_devices,
    read_ahead,
)
from edit_eval.pretrained.processors import IMAGE_BACKEND, load_any_processor

if TYPE_CHECKING:
    from PIL.Image import Image


PARTS = (
    "transformer",
    "unet",
    "text_encoder",
    "text_encoder_2",
    "vision_language_encoder",
    "prompt_upsampler",
    "image_encoder",
    "siglip",
    "safety_checker",
    "vae",
)
"""Names of the networks of pipelines; `load` may have an entry for each."""
LARGE = ("transformer", "unet", "text_encoder", "text_encoder_2", "vision_language_encoder")
"""Networks that are spread over several devices; all others are on the first."""
TAKEN = ("prompt", "generator", "output_type", "return_dict", "num_images_per_prompt", "num_inference_steps")
RESULTS = ("images", "image", "frames")


@dataclass
class PipelineParameters:
    """What decides the pixels of any pipeline."""

    model_name: str
    """A folder, or a name on the Hugging Face Hub."""
    revision: str | None = None
    """Branch, tag or commit on the Hub."""
    num_inference_steps: int | None = None
    """Steps of denoising; null: what is recommended."""
    negative_prompt: str | None = None
    """null: what is recommended, which may be none."""
    canvas: int | None = None
    """Area in pixels on which the pipeline works, in the source's shape; null: its own."""
    dtype: str = "bfloat16"
    """bfloat16, float16 or float32."""
    load: dict[str, Any] = field(default_factory=dict)
    """Keywords of `from_pretrained`; under the name of a part (`transformer`, `text_encoder`, ...) for it alone."""
    call: dict[str, Any] = field(default_factory=dict)
    """Further keywords of the pipeline's call."""
    only: ClassVar[tuple[str, ...]] = ()
    """The classes of diffusers that are run; none: any."""

    def __post_init__(self) -> None:
        check_value("dtype", self.dtype)
        check_call(self.call, TAKEN)
        check_load(self.load, PARTS)
        if self.num_inference_steps is not None and self.num_inference_steps < 1:
            raise ValueError(f"num_inference_steps: {self.num_inference_steps}; at least 1 step is needed")
        if self.canvas is not None and self.canvas < SHORTEST_SIDE**2:
            raise ValueError(f"canvas: {self.canvas} pixels; at least {SHORTEST_SIDE**2} are needed")


class DiffusersModel:
    """Any pipeline of diffusers that edits by instruction: FLUX, Qwen-Image, GLM-Image, LongCat, OmniGen, ...

    Two tables have what its class takes and what is recommended for its weights. A class without a row works if it
    takes a picture and a prompt; guesses about it are recorded.

    The noise is drawn on the CPU, so that pixels do not depend on a GPU's random numbers. The CPU computes with one
    thread.
    """

    @dataclass
    class Parameters(PipelineParameters):
        """What decides the pixels."""

        pipeline: str | None = None
        """Class of diffusers: another that runs on these weights (`QwenImageEditInpaintPipeline`), or, for a name on
        the Hub that is in no table and not here yet, the model's own; null: as the model says."""
        guidance: dict[str, float] = field(default_factory=dict)
        """Weights by the names that the pipeline's call has for them; what is left out is as recommended."""
        size: list[int] | None = None
        """Width and height of every edit; null: the pipeline's own rule, which keeps the source's shape."""
        loras: list[Lora] = field(default_factory=list)
        """Adapters: `name`, `file`, `weight`, and the `num_inference_steps`, `guidance`, `scheduler` trained for."""
        loras_in_part: bool = field(default=False, metadata={"in_key": False})
        """Apply what fits of an adapter of which this model has no place for some tensors. Not part of a key."""

        def __post_init__(self) -> None:
            super().__post_init__()
            if self.size is not None and (len(self.size) != 2 or min(self.size) < 1):
                raise ValueError(f"size: {self.size}, but it takes [width, height]")
            if self.size is not None and self.canvas is not None:
                raise ValueError("size: it is given together with `canvas`; give one of the two")

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self._pipeline: Any = None
        self._call: Callable[..., Any] | None = None
        self._settings: Settings | None = None
        self._about: dict[str, str] = {}
        self.spent = False
        """True after a failure that leaves the process unable to go on: the engine replaces it."""

    # -- known before loading --

    @staticmethod
    def revision(parameters: Parameters) -> str:
        """Returns a digest of a local folder's files, or the Hub's revision; likewise for each adapter."""
        weights = folders.revision(parameters.model_name, revision_of(parameters))
        return " ".join([weights, *(lora_revision(lora) for lora in parameters.loras)]).strip()

    @staticmethod
    def effective(parameters: Parameters) -> JsonObject:
        """Returns everything passed to the pipeline's call for each edit, including defaults."""
        return settings_of(parameters, index_of(parameters)).plain

    @staticmethod
    def sources(parameters: Parameters) -> int | None:
        """Returns how many sources an edit may have at most; None: any number."""
        return row_of(index_of(parameters)).most_sources

    @staticmethod
    def takes_mask(parameters: Parameters) -> bool:
        """True if the pipeline's class takes a mask."""
        return bool(row_of(index_of(parameters)).mask)

    @staticmethod
    def cuts_source(parameters: Parameters) -> bool:
        """True if the edit shows less than the source does."""
        return row_of(index_of(parameters)).cuts_source

    @staticmethod
    def card(parameters: Parameters) -> dict[str, str]:
        """Returns what is known about these weights: pipeline, licence, terms, steps, canvas, environment, notes."""
        settings = settings_of(parameters, index_of(parameters))
        return card_of(settings)

    @staticmethod
    def presets() -> list[dict[str, str]]:
        """Returns all published weights in the table, with what is known about each."""
        return [
            {"model_name": release.name, **card_of(settle({}, PIPELINE[release.pipeline], release, {}))}
            for release in RELEASES
        ]

    @staticmethod
    def duration(parameters: Parameters) -> tuple[float, float, str] | None:
        """Returns published seconds of a load and of an edit, for Qwen-Image-Edit's architecture."""
        settings = settings_of(parameters, index_of(parameters))
        if settings.release is None or settings.release.parts is not COUNTED or settings.steps is None:
            return None
        return estimate_qwen_image(settings.steps, settings.guidance["true_cfg_scale"])

    # -- loading --

    def prepare(self) -> None:
        """Imports the libraries and starts reading the weights into the host's page cache; takes no device memory."""
        parameters = self.parameters
        with load_errors(parameters.model_name):
            read_ahead(parameters.model_name, revision_of(parameters))
            load_in_parallel()
            import diffusers
            import transformers

            location = _locate_pipeline(parameters)
            getattr(diffusers, str(location.index.get("_class_name")), None)  # triggers the libraries' lazy imports
            for _, library, class_name in folders.list_parts(location.index):
                if library == "transformers":
                    getattr(transformers, class_name, None)

    def load(self, devices: Sequence[str], offload: str = "none") -> None:
        """Loads the pipeline; over several devices its large networks are spread layer by layer.

        `offload` keeps the weights in host memory: `model` or `group`. Raises `LoadError`; passes on out-of-memory
        errors.
        """
        parameters = self.parameters
        name = parameters.model_name
        with load_errors(name):
            location = _locate_pipeline(parameters)
            prepare_devices(devices, offload)
            load_in_parallel()
            pipeline_class = _pipeline_class(location.index, parameters)
            settings = settings_of(parameters, index_of(parameters), pipeline_class)
            check_lora_support(pipeline_class, parameters.loras)
            load = self._load_modular if settings.pipeline.modular else self._load_standard
            pipeline = load(location, pipeline_class, settings, devices, offload)
            if (
                settings.steps == 1
                and hasattr(pipeline, "scheduler")
                and pipeline.scheduler.config.get("shift_terminal")
            ):
                raise LoadError(
                    "num_inference_steps: 1, but this model's schedule is undefined for a single step "
                    "(`shift_terminal`); use at least 2"
                )
            attention = native_attention(pipeline, devices[0])
            repaired = _repair(pipeline)
            loras, in_part = apply(pipeline, parameters.loras, in_part=parameters.loras_in_part)
            if offload != "none":
                offload_weights(pipeline, devices, offload)
        self._pipeline, self._settings, card = pipeline, settings, card_of(settings)
        self._about = {
            "pipeline": type(pipeline).__name__,
            "commit": location.commit,
            "dtype": parameters.dtype,
            "offload": offload,
            **{key: format_setting(value) for key, value in settings.plain.items() if key != "pipeline"},
            **card,
            "note": "; ".join(filter(None, (card["note"], in_part))),
            "attention": f"{attention}; text encoder: {WITHOUT_CUDNN}",
            "loras": loras,
            "scheduler": type(pipeline.scheduler).__name__ if hasattr(pipeline, "scheduler") else "",
            "image_backend": IMAGE_BACKEND,
            "repairs": repaired,
            **library_versions("torch", "diffusers", "transformers", "accelerate", "peft", "safetensors", "pillow"),
        }

    def _load_standard(
        self, location: folders.Location, pipeline_class: Any, settings: Settings, devices: Sequence[str], offload: str
    ) -> Any:
        _refuse_unknown(pipeline_class, inspect.signature(pipeline_class.__call__).parameters, settings)
        by_function = self.parameters.canvas if settings.pipeline.canvas.lever == "calculate_dimensions" else None
        self._call = call_on_canvas(pipeline_class, by_function)  # fails before minutes of loading if it is impossible
        locations: Keywords = {name: (location, {}) for name, _, _ in folders.list_parts(location.index)}
        parts = self._parts(locations, settings.pipeline, devices, offload)
        return pipeline_class.from_pretrained(location.name, **parts, **location.keywords)

    def _load_modular(
        self, location: folders.Location, pipeline_class: Any, settings: Settings, devices: Sequence[str], offload: str
    ) -> Any:
        row = settings.pipeline
        if offload != "none" or len(devices) > 1:
            what = f"offload: {offload}" if offload != "none" else f"device_ids: {len(devices)} devices for one model"
            raise LoadError(f"{what}, but {row.name} is a modular pipeline, which runs whole on one device")
        pipeline = make_modular_pipeline(pipeline_class, location, row, settings)
        _refuse_unknown(pipeline_class, inputs_of(pipeline, row), settings)
        self._call = caller(row)
        locations = part_locations(pipeline, location)
        parts = self._parts(locations, row, devices, offload)
        load_rest(pipeline, parts, {name: where.commit for name, (where, _) in locations.items()})
        return pipeline

    def _parts(
        self,
        locations: Mapping[str, tuple[folders.Location, Mapping[str, Any]]],
        row: Pipeline,
        devices: Sequence[str],
        offload: str,
    ) -> Keywords:
        """Returns the networks on their devices, and the processors that would need torchvision.

        `locations` has for each part its model, and where in it the part is, if not in the folder of its name.
        """
        import torch

        parameters = self.parameters
        parts: Keywords = {}
        for name, (location, place) in locations.items():
            library, class_name = location.index[name]
            part_class = class_of_part(location, name)
            if isinstance(part_class, type) and issubclass(part_class, torch.nn.Module):
                keywords = {**place, **row.load.get(name, {}), **keywords_for(name, PARTS, parameters.load)}
                on = devices if name in LARGE else devices[:1]
                parts[name] = load_part(location, name, parameters.dtype, on, offload, keywords)
            elif library == "transformers":
                processor = load_any_processor(
                    location.name, class_name, subfolder=place.get("subfolder", name), **location.keywords
                )
                parts |= {name: processor} if processor is not None else {}
        return parts

    # -- editing --

    def edit(self, request: EditRequest, on_step: OnStep) -> Image:
        """Returns the edited picture, sized by the pipeline's own canvas rule unless `size` or `canvas` say otherwise.

        A pipeline that produces alpha gives an RGBA picture, which is composited over white when it is written
        (`edit_eval.pictures.as_rgb`). Raises `PictureError` for too many sources, and for NaN or infinite numbers.
        """
        import torch
        from PIL import Image as Images

        if self._pipeline is None or self._call is None or self._settings is None:
            raise LoadError("the edit model is not loaded: call load(devices) first")
        parameters, settings = self.parameters, self._settings
        row, pictures = settings.pipeline, [picture.convert("RGB") for picture in request.pictures.values()]
        if row.most_sources is not None and len(pictures) > row.most_sources:
            raise PictureError(f"{len(pictures)} sources, but {row.name} takes {row.most_sources} at most")
        if row.longest and (
            long := next((picture for picture in pictures if max(picture.size) > row.longest * min(picture.size)), None)
        ):
            raise PictureError(
                f"the source is {long.width} x {long.height} pixels; {row.family} takes no picture that is longer than "
                f"{row.longest} times its shorter side"
            )
        given: Keywords = dict(settings.guidance)
        if settings.steps is not None:
            given["num_inference_steps"] = settings.steps
        if settings.negative is not None:
            given[row.negative_argument] = settings.negative
        size = parameters.size or size_for(row.canvas, settings.canvas, pictures[0].size)
        if size is not None:
            given["width"], given["height"] = size
        given[row.source] = pictures if row.most_sources != 1 else pictures[0]
        given |= settings.call
        if row.mask and (request.mask is not None or row.needs_mask):
            mask = request.mask or Images.new("L", pictures[0].size, 255)
            if given.get("padding_mask_crop") is not None:  # the pipeline crops and pastes without scaling either
                size = canvas_of(self._call, pictures[0].size)
                mask = mask.resize(size, Images.Resampling.NEAREST)
                given[row.source] = pictures[0].resize(size, Images.Resampling.LANCZOS)
            given[row.mask] = mask
        # Blocks with a mask, and what pastes over an edit, give nothing but pictures.
        pasted = row.mask in given and (row.modular or given.get("padding_mask_crop") is not None)
        try:
            with (
                _report_steps(self._pipeline, on_step),
                _seed_generators(request.seed),
                _check_before_pasting(self._pipeline) if pasted else contextlib.nullcontext(),
            ):
                result = self._call(
                    self._pipeline,
                    prompt=PROMPTS[row.prompt](request.instruction, len(pictures)),
                    generator=torch.Generator("cpu").manual_seed(request.seed),
                    output_type="pil" if pasted else "pt",
                    **given,
                )
        except BaseException:
            self.spent = True  # unless the next line ends
            self.spent = not restore_offload(self._pipeline, self._about["offload"])
            raise
        if pasted:
            (picture,) = getattr(result, row.result)
            return cast("Image", picture)
        return to_picture(_numbers(result, row))

    def about(self) -> dict[str, str]:
        """Returns versions, the pipeline's class, the arguments of its call, the weights' commit, what was guessed."""
        return dict(self._about)


# -- the pipeline --


def _locate_pipeline(parameters: Any) -> folders.Location:
    file = index_file(parameters)
    return folders.locate(parameters.model_name, revision_of(parameters), file, "a diffusers pipeline")


def _pipeline_class(index: Mapping[str, Any], parameters: Any) -> Any:
    import diffusers

    found = str(index.get("_class_name"))
    release = RELEASE.get(parameters.model_name)
    name = parameters.pipeline or (release.pipeline if release else found)
    if found not in (name, name in PIPELINE and PIPELINE[name].weights_of):
        raise LoadError(f"pipeline: {name} was expected, but {parameters.model_name} is a {found}")
    pipeline_class = getattr(diffusers, name, None)
    if pipeline_class is None:
        version = library_versions("diffusers").get("diffusers", "")
        raise LoadError(f"model_name: {parameters.model_name} is a {name}, which diffusers {version} does not have")
    return pipeline_class


def _refuse_unknown(pipeline_class: Any, arguments: Mapping[str, Any], settings: Settings) -> None:
    """Raises `LoadError` for arguments that the call does not accept: every edit would fail."""
    if any(getattr(argument, "kind", None) is inspect.Parameter.VAR_KEYWORD for argument in arguments.values()):
        return
    for parameter, names in (("guidance", settings.guidance), ("call", settings.call)):
        if unknown := next((name for name in names if name not in arguments), ""):
            raise LoadError(f"{parameter}: the call of {pipeline_class.__name__} takes no `{unknown}`")


def _repair(pipeline: Any) -> str:
    """Makes pipelines pass all inputs to Qwen-VL text encoders, and keeps these off cuDNN; returns a description."""
    said = []
    for name, part in pipeline.components.items():
        forward = getattr(part, "forward", None)
        if forward is None or "encoder" not in name:
            continue
        language_model = getattr(getattr(part, "model", None), "language_model", None)
        if language_model is not None:
            disable_cudnn(language_model)
        tokens = {"image_token_id", "video_token_id"} <= set(dir(part.config))
        if tokens and "mm_token_type_ids" in inspect.signature(type(part).forward).parameters:
            pass_token_types(part)
            said.append(name)
    return (
        f"mm_token_type_ids passed to {', '.join(said)} where the pipeline drops them (diffusers issue 14194)"
        if said
        else ""
    )


class _Bar:
    """Replaces a pipeline's progress bar, and passes the steps on."""

    def __init__(self, on_step: OnStep, steps: int) -> None:
        self._on_step, self._steps, self._done = on_step, steps, 0

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def update(self, count: int = 1) -> None:
        self._done += count
        self._on_step(self._done, self._steps)

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: None  # other methods of a progress bar


@contextlib.contextmanager
def _report_steps(pipeline: Any, on_step: OnStep) -> Iterator[None]:
    """Reports steps through the progress bar, which every pipeline has, unlike a callback after each step."""

    def progress_bar(iterable: Any = None, total: int | None = None) -> Any:
        if iterable is None:
            return _Bar(on_step, total or 0)
        everything = list(iterable)

        def iterate_steps() -> Iterator[Any]:
            for number, step in enumerate(everything, start=1):
                yield step
                on_step(number, len(everything))

        return iterate_steps()

    loops = loops_of(pipeline)
    for loop in loops:
        loop.progress_bar = progress_bar
    try:
        yield
    finally:
        for loop in loops:
            del loop.progress_bar


@contextlib.contextmanager
def _check_before_pasting(pipeline: Any) -> Iterator[None]:
    """Raises `PictureError` for NaN in what the pipeline decodes, which pictures hide."""
    processors = [
        part for name in ("image_processor", "image_mask_processor") if (part := getattr(pipeline, name, None))
    ]
    for processor in processors:

        def postprocess(image: Any, *given: Any, stock: Any = processor.postprocess, **more: Any) -> Any:
            check_finite(image, "pixels")
            return stock(image, *given, **more)

        processor.postprocess = postprocess
    try:
        yield
    finally:
        for processor in processors:
            del processor.postprocess


@contextlib.contextmanager
def _seed_generators(seed: int) -> Iterator[None]:
    """Seeds the process's own random numbers inside, and restores their state afterwards."""
    import torch

    used = torch.cuda.is_available() and torch.cuda.is_initialized()
    with torch.random.fork_rng(devices=range(torch.cuda.device_count()) if used else ()):
        torch.manual_seed(seed)
        yield


def _numbers(result: Any, row: Pipeline) -> Any:
    """Returns the edit as one (1, channels, height, width) tensor."""
    import torch

    names = RESULTS if row.guessed else (row.result,)
    edit = next((getattr(result, name) for name in names if getattr(result, name, None) is not None), None)
    while isinstance(edit, (list, tuple)) and len(edit) == 1:
        edit = edit[0]
    if isinstance(edit, (list, tuple)) and row.video:
        edit = edit[-1]
    if not isinstance(edit, torch.Tensor):
        raise PictureError(f"{row.name} returned no picture in {' or '.join(names)}, or several")
    while edit.ndim > 3:
        if edit.shape[0] != 1 and not (row.video and edit.ndim == 4):
            raise PictureError(f"{row.name} returned {edit.shape[0]} pictures for one edit")
        edit = edit[-1]  # the only one of a batch, the last frame of a video
    return edit[None]


# -- how long edits take according to others, for `plan`; none of this was measured by us --

FORWARD_SECONDS = 0.50
"""One forward pass of Qwen-Image-Edit's transformer at 1 megapixel with stock diffusers: an image of 50 steps with CFG,
which is 100 passes, takes 51.5 s in vLLM-Omni's documentation."""
AROUND_SECONDS = 1.2
"""Both prompt encodings, VAE, post-processing: 1.05 s + 0.11 s on an H100 (published by SGLang and LightX2V)."""
QWEN_IMAGE_BYTES = 57.7e9
"""Qwen-Image-Edit in bfloat16: 20.43 + 8.29 + 0.13 billion parameters."""
LOAD_BYTES_A_SECOND = 1.0e9
"""From a disk that was not read before, including imports."""


def estimate_qwen_image(steps: int, weight: float) -> tuple[float, float, str]:
    """Returns the seconds of a load and of a 1 megapixel edit with Qwen-Image's architecture, and their source."""
    forwards = steps * (2 if weight > 1 else 1)
    source = f"{forwards} forward{'s' * (forwards != 1)} at {FORWARD_SECONDS:g} s, published for an H100"
    return QWEN_IMAGE_BYTES / LOAD_BYTES_A_SECOND, forwards * FORWARD_SECONDS + AROUND_SECONDS, source
