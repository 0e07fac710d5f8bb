"""Qwen-Image-Edit and Qwen3-VL-30B-A3B with random weights, made on the device; workers load them by dotted path.

A folder has everything of the models but their weights (`write_folders`). The adapters load it like any other:
pipeline, scheduler, processors, repairs and switches are theirs; only the networks are made at random instead of read.
With random weights, times and memory are real, and pictures are noise. The judge's answer is dictated.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from unittest import mock

from acceleration.adapters import AcceleratedQwen3VL, AcceleratedQwenImageEdit
from acceleration.fused_norms import fuse_norms
from edit_eval.edit_models import diffusers as adapter
from edit_eval.pretrained.loading import dtype_named
from edit_eval.pretrained.processors import image_only, image_processor_class

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))  # a worker that loads this knows this folder alone

from tiny_tokenizer import CHAT_TEMPLATE, tiny_tokenizer, token_ids

if TYPE_CHECKING:
    from PIL.Image import Image

    from edit_eval.edit_models.contract import EditRequest

SETTINGS = ("experts_implementation", "shared_prefix", "fused_norms")
"""The judge's parameters that a batch may override."""
ANSWER = "7.500"
"""The judge's answer: a bare score, as its rubric asks."""
PARTS = ("transformer", "text_encoder", "vae")
"""The networks of the edit model."""


def write_folders(folder: Path, made: Mapping[str, Any]) -> tuple[Path, Path]:
    """Writes the edit model's folder and the judge's: configurations, tokenizer, processors, no weights."""
    import diffusers
    from transformers import Qwen2_5_VLConfig, Qwen3VLMoeConfig

    tokenizer = tiny_tokenizer()  # no real vocabulary is available; embeddings and heads have full size
    ids = token_ids(tokenizer)
    edit, judge = folder / "edit", folder / "judge"
    classes = {
        "transformer": ("diffusers", "QwenImageTransformer2DModel"),
        "vae": ("diffusers", "AutoencoderKLQwenImage"),
        "text_encoder": ("transformers", "Qwen2_5_VLForConditionalGeneration"),
        "scheduler": ("diffusers", "FlowMatchEulerDiscreteScheduler"),
        "tokenizer": ("transformers", "Qwen2Tokenizer"),
        "processor": ("transformers", "Qwen2VLProcessor"),
    }
    index = {"_class_name": "QwenImageEditPipeline", "_diffusers_version": diffusers.__version__, **classes}
    for name in ("transformer", "vae"):
        _write_json(edit / name / "config.json", {"_class_name": classes[name][1], **made[name]})
    _write_json(edit / "model_index.json", index)
    encoder = made["encoder"]
    ends = {"bos_token_id": None, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    Qwen2_5_VLConfig(
        text_config=encoder["text"] | ends, vision_config=encoder["vision"], tie_word_embeddings=False, **ids
    ).save_pretrained(edit / "text_encoder")
    diffusers.FlowMatchEulerDiscreteScheduler(
        base_image_seq_len=256,
        max_image_seq_len=8192,
        base_shift=0.5,
        max_shift=0.9,
        shift_terminal=0.02,
        time_shift_type="exponential",
        use_dynamic_shifting=True,
    ).save_pretrained(edit / "scheduler")
    tokenizer.save_pretrained(edit / "tokenizer")
    images = image_processor_class()
    image_only("Qwen2VLProcessor")(
        images(size=encoder["pixels"]), tokenizer, chat_template=CHAT_TEMPLATE
    ).save_pretrained(edit / "processor")
    half = [0.5, 0.5, 0.5]
    looking = images(size=made["judge"]["pixels"], patch_size=16, image_mean=half, image_std=half)
    image_only("Qwen3VLProcessor")(looking, tokenizer, chat_template=CHAT_TEMPLATE).save_pretrained(judge)
    looks = made["judge"]["vision"]
    Qwen3VLMoeConfig(
        text_config=made["judge"]["text"] | ends, vision_config=looks, tie_word_embeddings=False, **ids
    ).save_pretrained(judge)
    return edit, judge


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2), "utf-8")


def random_network(make: Any, device: str, dtype: str) -> Any:
    """Returns the network of `make()`, its weights drawn by its own initialiser on `device` in `dtype`.

    Filling a `meta` network afterwards would leave rotary tables and other plain tensors empty.
    """
    import torch

    torch.manual_seed(0)
    default = torch.get_default_dtype()
    torch.set_default_dtype(dtype_named(dtype))
    try:
        with torch.device(device):
            network = make()
    finally:
        torch.set_default_dtype(default)
    network = network.to(device).eval().requires_grad_(False)
    for name, tensor in network.named_parameters():
        if device != "meta" and not bool(torch.isfinite(tensor).all()):
            raise ValueError(f"{type(network).__name__}.{name} was left without numbers by its own initialiser")
    return network


def random_part(location: Any, name: str, dtype: str, devices: Sequence[str], offload: str, load: Any) -> Any:
    """Replaces `load_part`: makes the same network, not from files."""
    return random_network(lambda: _part(location, name), devices[0], dtype)


def _part(location: Any, name: str) -> Any:
    library, class_name = location.index[name]
    if library == "diffusers":
        import diffusers

        part_class = getattr(diffusers, class_name)
        return part_class.from_config(part_class.load_config(location.name, subfolder=name))
    import torch
    from transformers import AutoConfig, AutoModelForImageTextToText

    config = AutoConfig.from_pretrained(location.name, subfolder=name)
    return AutoModelForImageTextToText.from_config(config, dtype=torch.get_default_dtype())


def random_judge(folder: str, dtype: Any, device_map: Any, attn_implementation: str, **_: Any) -> tuple[Any, Any]:
    """Replaces `from_pretrained`: makes the judge's network, and a report without missing weights."""
    from transformers import AutoConfig, AutoModelForImageTextToText

    config = AutoConfig.from_pretrained(folder)

    def make() -> Any:
        return AutoModelForImageTextToText.from_config(config, dtype=dtype, attn_implementation=attn_implementation)

    return random_network(make, device_map[""], str(dtype).removeprefix("torch.")), {}


def weight_bytes(*networks: Any) -> int:
    """Returns the bytes of all weights."""
    return sum(w.numel() * w.element_size() for network in networks for w in network.parameters())


class NetworkTimes:
    """Times each network by the device's own clock, without waiting for the device until a task has ended."""

    def __init__(self, device: str, path: str) -> None:
        self._device, self._path = device, path
        self._on_gpu = device.startswith("cuda")
        self._spans: list[tuple[str, Any, Any]] = []
        self._begin: Any = None
        self._last_end: Any = None

    def watch(self, name: str, network: Any) -> None:
        """Records every call of `network`; a language model's are told apart by the number of tokens read.

        Watched networks must not be compiled as a whole, since that would trace these hooks.
        """
        begins: list[Any] = []

        def before(module: Any, given: Any, keywords: Any) -> None:
            begins.append(self._now())

        def after(module: Any, given: Any, keywords: Any, made: Any) -> None:
            embeddings = keywords.get("inputs_embeds")
            step = name == "prompt" and embeddings is not None and embeddings.shape[1] == 1
            self._spans.append(("answer" if step else name, begins.pop(), self._now()))

        network.register_forward_pre_hook(before, with_kwargs=True)
        network.register_forward_hook(after, with_kwargs=True)

    def begin(self) -> None:
        """Begins a task."""
        if self._on_gpu:
            import torch

            torch.cuda.reset_peak_memory_stats(self._device)
        self._spans, self._begin = [], self._now()

    def end(self) -> dict[str, Any]:
        """Ends a task whose result is on the host: writes a line of milliseconds, and returns it.

        `allocated` is the task's own peak on the device in bytes, without torch's cached memory.
        """
        end, allocated = self._now(), 0
        if self._on_gpu:
            import torch

            end.synchronize()
            allocated = torch.cuda.max_memory_allocated(self._device)
        ms = self._milliseconds
        found: dict[str, Any] = {"total": ms(self._begin, end), "allocated": allocated, "networks": {}}
        for name, begin, stop in self._spans:
            found["networks"].setdefault(name, []).append(ms(begin, stop))
        found["before"] = ms(self._begin, self._spans[0][1])
        found["after"] = ms(self._spans[-1][2], end)
        steps = [span for span in self._spans if span[0] == "forward"]
        if steps:
            found["loop"] = ms(steps[0][1], steps[-1][2])
            found["begins"] = [ms(steps[0][1], begin) for _, begin, _ in steps]
        if self._last_end is not None:
            found["between"] = ms(self._last_end, self._begin)
        self._last_end = end
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps(found) + "\n")
        return found

    def _now(self) -> Any:
        if not self._on_gpu:
            return time.perf_counter()
        import torch

        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(self._device))  # of this GPU, which need not be the current one
        return event

    def _milliseconds(self, begin: Any, end: Any) -> float:
        if isinstance(begin, float):
            return 1000 * (end - begin)
        taken: float = begin.elapsed_time(end)
        return taken


def watch_pipeline(times: NetworkTimes, pipeline: Any) -> None:
    """The networks of an edit: reading the prompts, the VAE's two halves, the transformer's forwards."""
    encoder = pipeline.text_encoder.model
    for name, network in (
        ("encode", encoder.visual),
        ("encode", encoder.language_model),
        ("vae_encode", pipeline.vae.encoder),
        ("forward", pipeline.transformer),
        ("vae_decode", pipeline.vae.decoder),
    ):
        times.watch(name, network)


class RandomQwenImageEdit(AcceleratedQwenImageEdit):
    """edit-eval's adapter with random weights. `marks` is the file that each edit's times are written to."""

    @dataclass
    class Parameters(AcceleratedQwenImageEdit.Parameters):
        """The adapter's own, and where the times go."""

        __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

        marks: str = ""

    def load(self, devices: Sequence[str], offload: str = "none") -> None:
        """Loads as the adapter does, but makes each network instead of reading it."""
        assert isinstance(self.parameters, RandomQwenImageEdit.Parameters)
        with mock.patch.object(adapter, "load_part", random_part):
            super().load(devices, offload)
        self._times = NetworkTimes(devices[0], self.parameters.marks)
        watch_pipeline(self._times, self._pipeline)
        pipeline = self._pipeline
        self._about["bytes"] = str(weight_bytes(pipeline.transformer, pipeline.text_encoder, pipeline.vae))

    def edit(self, request: EditRequest, on_step: Any) -> Image:
        """Edits as the adapter does."""
        self._times.begin()
        edited = super().edit(request, on_step)
        self._times.end()
        return edited


class RandomQwen3VL(AcceleratedQwen3VL):
    """edit-eval's judge with random weights, made to say `ANSWER`."""

    @dataclass
    class Parameters(AcceleratedQwen3VL.Parameters):
        """The adapter's own, and where the times go."""

        __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

        marks: str = ""

    def load(self, devices: Sequence[str], offload: str = "none") -> None:
        """Loads as the adapter does, but makes the network instead of reading it."""
        from transformers import AutoModelForImageTextToText

        assert isinstance(self.parameters, RandomQwen3VL.Parameters)
        with mock.patch.object(AutoModelForImageTextToText, "from_pretrained", random_judge):
            super().load(devices, offload)
        self._times = NetworkTimes(devices[0], self.parameters.marks)
        self._times.watch("look", self._model.model.visual)
        self._times.watch("prompt", self._model.model.language_model)
        self._about["bytes"] = str(weight_bytes(self._model))
        self.settings = {name: getattr(self.parameters, name) for name in SETTINGS}

    def judge(self, requests: Sequence[Any], inputs: Any = None) -> list[str]:
        """Answers as the adapter does; the next token is computed as usual, but dictated.

        A request's `edit_model` holds settings (JSON) for this batch, so that one loaded judge can be measured in
        several ways.
        """
        chosen = {**self.settings, **json.loads(requests[0].edit_model)}
        self.parameters.shared_prefix = chosen["shared_prefix"]
        if chosen["fused_norms"] != self.parameters.fused_norms:
            self.parameters.fused_norms = chosen["fused_norms"]
            if not chosen["fused_norms"] or not fuse_norms(self._model):
                for layer in self._model.modules():
                    if type(layer).__name__.endswith("RMSNorm"):
                        vars(layer).pop("forward", None)  # restores the class's own
        if chosen["experts_implementation"] != self.parameters.experts_implementation:
            vars(self._model).pop("_optimize_model_for_decode", None)
            self._model.set_experts_implementation("grouped_mm")  # transformers' own choice, which it may change
            self.parameters.experts_implementation = chosen["experts_implementation"]
            self._set_experts()
        self.parameters.call = {"logits_processor": _dictation(self._processor.tokenizer)}
        self._times.begin()
        answers = super().judge(requests, inputs)
        self._times.end()
        if any(answer != ANSWER for answer in answers):
            raise ValueError(f"the judge was to say {ANSWER}, and said {answers[0]!r}")
        return answers


def _dictation(tokenizer: Any) -> Any:
    import torch
    from transformers import LogitsProcessor, LogitsProcessorList

    words = [*tokenizer.encode(ANSWER, add_special_tokens=False), tokenizer.eos_token_id]

    class Dictation(LogitsProcessor):  # type: ignore[misc, unused-ignore]
        start: int | None = None

        def __call__(self, input_ids: Any, scores: Any) -> Any:
            self.start = input_ids.shape[1] if self.start is None else self.start
            dictated = torch.full_like(scores, -math.inf)
            dictated[:, words[min(input_ids.shape[1] - self.start, len(words) - 1)]] = 0
            return dictated

    return LogitsProcessorList([Dictation()])


def text_of(tokens: int, tokenizer: Any) -> str:
    """Returns a text of `tokens` tokens or one fewer, for any tokenizer."""
    words = ("score", "rate", "the", "edit", "physical", "geometric", "light", "shadow", "plausible", "strict")
    lengths = [len(tokenizer.encode(f" {word}", add_special_tokens=False)) for word in words]  # no token spans a space
    chosen: list[str] = []
    for word, length in cycle(zip(words, lengths, strict=True)):
        tokens -= length
        if tokens < 0:
            return " ".join(chosen)
        chosen.append(word)
    raise AssertionError("words never end")
