"""Qwen3-VL (dense and mixture of experts) and Qwen2.5-VL as judges, through transformers."""

from __future__ import annotations

import copy
import importlib
import math
import re
import threading
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, ClassVar

from edit_eval.errors import LoadError
from edit_eval.judges.answers import SCORE_LINE, tokens_given
from edit_eval.judges.contract import JudgeRequest
from edit_eval.judges.fused_norms import fuse_norms
from edit_eval.judges.picture_patches import keep_levels, numbers_of_levels, patches
from edit_eval.judges.sampling import drawing, seed_of
from edit_eval.pretrained import folders
from edit_eval.pretrained.language_attention import DESCRIPTION, without_cudnn
from edit_eval.pretrained.loading import (
    DTYPES,
    check_call,
    check_complete,
    check_value,
    device_map,
    dtype_named,
    library_versions,
    load_errors,
    on_cpu,
    prepare_devices,
)
from edit_eval.pretrained.processors import IMAGE_BACKEND, PROCESSORS, check_processor, load_processor
from edit_eval.records import Reply, Status

REGISTERED = {"qwen3_vl": "Qwen3VL"}

TAKEN_BY_LOAD = ("dtype", "torch_dtype", "device_map", "revision", "attn_implementation", "output_loading_info")
TAKEN_BY_CALL = ("input_ids", "inputs", "attention_mask", "pixel_values", "max_new_tokens", "generation_config")
TAKEN_BY_TEMPERATURE = ("do_sample", "temperature", "top_k", "top_p", "min_p", "num_beams")

EXPERTS = ("grouped_mm", "batched_mm", "eager")

PER_TOKEN = ("input_ids", "attention_mask", "mm_token_type_ids")
"""What the processor gives with one entry a token."""

SHORTEST_PREFIX = 32
"""Tokens; to read fewer of them once instead of in every row is not worth a pass of its own."""

SCORE_LINE_TOKENS = 16
"""A whole score and its line's end take fewer tokens than this; later, nobody looks."""


class Qwen3VL:
    """Qwen3-VL or Qwen2.5-VL through transformers, with greedy answers, or drawn ones.

    One padded batch a call. On the CPU one thread computes.
    """

    @dataclass
    class Parameters:
        __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

        model_name: str = "Qwen/Qwen3-VL-30B-A3B-Instruct"
        """A folder, or a name on the Hugging Face Hub."""
        revision: str | None = None
        """Branch, tag or commit on the Hub."""
        dtype: str = "bfloat16"
        """bfloat16, float16, float32, or auto: as the weights are stored."""
        max_new_tokens: int | None = None
        """At most so many tokens an answer; one that is longer is cut off, and no score. null: 128 for a bare score,
        512 for reasons before it."""
        temperature: float = 0.0
        """0: greedy. Above: answers are drawn, each from a generator of its own, so that no batch changes it."""
        max_pixels: int | None = None
        """A larger picture is scaled down to this area for the judge; null: as the model's own files say."""
        min_pixels: int | None = None
        """A smaller picture is scaled up to this area."""
        attn_implementation: str = "sdpa"
        """`sdpa`, `eager`, or a kernel of transformers that is installed, as `flash_attention_2`."""
        stop_at_score: bool = True
        """Ends an answer whose first line is a score of three decimals and nothing else; nobody waits for the rest."""
        experts_implementation: str | None = "grouped_mm"
        """Kernel of a mixture's experts, for the prompt and the answer (`grouped_mm`, `batched_mm`, `eager`); null: as
        transformers chooses, which for the answer copies the weights of each token's experts."""
        shared_prefix: bool = False
        """Read what the prompts of a batch begin with (the rubric) once; equal up to rounding. Its gain on a GPU is not
        measured."""
        fused_norms: bool = False
        """Compute each norm in one kernel; equal up to rounding. Its gain on a GPU is not measured."""
        load: dict[str, Any] = field(default_factory=dict)
        """Further keywords of the model's `from_pretrained`."""
        call: dict[str, Any] = field(default_factory=dict)
        """Further keywords of `generate`. The settings in the model's files do not count."""

        def __post_init__(self) -> None:
            check_value("dtype", self.dtype, (*DTYPES, "auto"))
            check_call(self.call, (*TAKEN_BY_CALL, *(TAKEN_BY_TEMPERATURE if self.temperature else ())))
            if clash := sorted(set(self.load) & set(TAKEN_BY_LOAD)):
                raise ValueError(f"load: {', '.join(clash)} cannot be given there")
            if self.experts_implementation is not None:
                check_value("experts_implementation", self.experts_implementation, EXPERTS)
            if not 0 <= self.temperature < math.inf:
                raise ValueError(f"temperature: {self.temperature} is neither 0 nor above")
            if self.max_new_tokens is not None and self.max_new_tokens < 1:
                raise ValueError(f"max_new_tokens: {self.max_new_tokens}, but an answer needs at least 1")
            for name in ("min_pixels", "max_pixels"):
                if (value := getattr(self, name)) is not None and value < 1:
                    raise ValueError(f"{name}: {value} must be a positive number of pixels")
            if self.min_pixels and self.max_pixels and self.min_pixels > self.max_pixels:
                raise ValueError(f"min_pixels: {self.min_pixels} is more than max_pixels ({self.max_pixels})")

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self._model: Any = None
        self._processor: Any = None
        self._encoding = threading.Lock()  # tokenizers before 0.23: "Already borrowed" where another thread encodes
        self._device = "cpu"
        self._ends: tuple[int, ...] = ()
        self._control_tokens: re.Pattern[str] = re.compile("(?!)")
        self._numbers: Any = None
        self._about: dict[str, str] = {}

    @staticmethod
    def revision(parameters: Parameters) -> str:
        """What decides the answers besides the parameters: a digest of a local folder, or the Hub's revision."""
        return folders.revision(parameters.model_name, parameters.revision)

    def prepare(self) -> None:
        """Imports what loading needs, seconds of it, while the device may still work for another model."""
        name = self.parameters.model_name
        with load_errors(name):
            location = folders.locate(name, self.parameters.revision, "config.json", "a transformers model")
            import torch  # noqa: F401
            from transformers import AutoModelForImageTextToText, AutoTokenizer  # noqa: F401

            if (kind := str(location.index.get("model_type"))) in PROCESSORS:
                importlib.import_module(f"transformers.models.{kind}.modeling_{kind}")

    def load(self, devices: Sequence[str], offload: str = "none") -> None:
        """Loads model and processor; over several devices the layers are spread.

        With an `offload`, `model` or `group`, layers for which the GPU has no room stay in host memory. Raises
        `LoadError`; want of memory passes as it is.
        """
        parameters = self.parameters
        name = parameters.model_name
        with load_errors(name):
            location = folders.locate(name, parameters.revision, "config.json", "a transformers model")
            prepare_devices(devices, offload)
            from transformers import AutoModelForImageTextToText

            self._processor = self._load_processor(location)
            spread = "auto" if offload != "none" and not on_cpu(devices) else device_map(devices)
            model, report = AutoModelForImageTextToText.from_pretrained(
                location.name,
                dtype=dtype_named(parameters.dtype),
                device_map=spread,
                attn_implementation=parameters.attn_implementation,
                output_loading_info=True,
                **location.keywords,
                **parameters.load,
            )
            check_complete(report, location.name)
        self._model = model.eval()
        self._device = "cpu" if on_cpu(devices) else devices[0]
        self._set_generation()
        self._set_experts()
        without_cudnn(getattr(getattr(model, "model", model), "language_model", model))
        fused = fuse_norms(self._model) if parameters.fused_norms else 0
        if keep_levels(self._processor):
            self._numbers = numbers_of_levels(self._processor.image_processor).to(self._device)
        self._about = {
            "model": type(model).__name__,
            "commit": location.commit,
            "dtype": parameters.dtype,
            "offload": offload,
            "attention": f"{model.config._attn_implementation}, {DESCRIPTION}",
            "norms": f"{fused} in one kernel each" if fused else "",
            "image_backend": f"{IMAGE_BACKEND} ({type(self._processor.image_processor).__name__})",
            "pixels": _pixels(self._processor.image_processor),
            **library_versions("torch", "transformers", "accelerate", "safetensors", "tokenizers", "pillow"),
        }

    def make_inputs(self, requests: Sequence[JudgeRequest]) -> Any:
        """What the model reads of a batch, still on the host: texts tokenised, pictures scaled. For any thread."""
        texts = [self._text(request) for request in requests]
        pictures = [picture.convert("RGB") for request in requests for picture in request.pictures.values()]
        with self._encoding:
            return self._processor(text=texts, images=pictures or None, padding=True, return_tensors="pt")

    def judge(self, requests: Sequence[JudgeRequest], inputs: Any = None) -> list[str | Reply]:
        """Answers a batch; each answer is the one that its request would get alone, up to the dtype's rounding.

        One that `max_new_tokens` ended is a `Reply` that says so.

        `inputs` is what `make_inputs` returned for these requests, where that was done before.
        """
        import torch

        if self._model is None:
            raise LoadError("the judge is not loaded: call load(devices) first")
        if not requests:
            return []
        inputs = self.make_inputs(requests) if inputs is None else inputs
        inputs = copy.copy(inputs).to(self._device)  # what was given stays as it is, for a second attempt
        start = inputs["input_ids"].shape[1]
        with torch.inference_mode():
            if self._numbers is not None and "pixel_values" in inputs:
                inputs["pixel_values"] = patches(inputs, self._processor.image_processor, self._numbers)
            if self.parameters.shared_prefix:
                inputs.update(self._with_prefix_read(inputs))
            limit = self.parameters.max_new_tokens or max(tokens_given(request.form) for request in requests)
            stops = self._stops(requests, start)
            answered = self._model.generate(
                **inputs, max_new_tokens=limit, stopping_criteria=stops, **self._call(requests)
            )
        return [self._decoded(row, bool(stops)) for row in answered[:, start:].tolist()]

    def about(self) -> dict[str, str]:
        """Versions, the model's class, kernels, the commit of the weights, how pictures are scaled."""
        return dict(self._about)

    def _load_processor(self, location: folders.Location) -> Any:
        parameters = self.parameters
        pixels = {"min_pixels": parameters.min_pixels, "max_pixels": parameters.max_pixels}
        given = {name: value for name, value in pixels.items() if value is not None}
        class_name = PROCESSORS.get(str(location.index.get("model_type")))
        if class_name:
            processor = load_processor(location.name, class_name, given, **location.keywords)
        else:  # a relative that this file does not know: the library's own choice
            from transformers import AutoProcessor

            processor = AutoProcessor.from_pretrained(location.name, **given, **location.keywords)
        check_processor(processor, parameters.model_name)
        if not getattr(processor, "chat_template", None):
            raise LoadError(
                f"{parameters.model_name} has no chat template (chat_template.jinja or chat_template.json), so nobody "
                "knows how it wants to be asked; take an instruction-tuned model"
            )
        tokenizer = processor.tokenizer
        tokenizer.padding_side = "left"  # all rows end where their answers begin
        if tokenizer.pad_token_id is None:
            tokenizer.pad_token = tokenizer.eos_token
        control = [token.content for token in tokenizer.added_tokens_decoder.values() if token.special]
        if control:
            self._control_tokens = re.compile("|".join(map(re.escape, control)))
        return processor

    def _set_generation(self) -> None:
        """Replaces the settings in the model's files: sampling, temperature, penalties."""
        from transformers import GenerationConfig

        tokenizer = self._processor.tokenizer
        ends = self._model.generation_config.eos_token_id
        if ends is None:
            ends = tokenizer.eos_token_id
        ends = self.parameters.call.get("eos_token_id", ends)
        self._ends = tuple(ends) if isinstance(ends, (list, tuple)) else (ends,)
        self._model.generation_config = GenerationConfig(
            do_sample=False, eos_token_id=list(self._ends), pad_token_id=tokenizer.pad_token_id
        )

    def _set_experts(self) -> None:
        """Has a mixture of experts use one kernel throughout."""
        model, kernel = self._model, self.parameters.experts_implementation
        choose = getattr(model, "set_experts_implementation", None)  # transformers 4 has no choice
        if kernel is None or choose is None or not getattr(model.config.get_text_config(), "num_experts", 0):
            return
        choose(kernel)
        model._optimize_model_for_decode = nullcontext  # `generate` else changes the kernel for the answer

    def _with_prefix_read(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """What changes in `generate`'s arguments when the tokens with which all rows begin are read once, in one row.

        A row's padding moves from before these tokens to behind them, so that they lie in the same places in each row.
        Nothing changes for a single row, or where rows share little.
        """
        import torch

        ids, mask = inputs["input_ids"], inputs["attention_mask"]
        rows, width = ids.shape
        padding = width - mask.sum(1)
        place = torch.arange(width, device=ids.device)
        unpadded = ids.gather(1, (place + padding[:, None]) % width)
        text = unpadded[0] != self._model.config.image_token_id
        same = ((unpadded == unpadded[:1]).all(0) & text).long().cumprod(0)
        shared = min(int(same.sum()), int(mask.sum(1).min()) - 1)
        if rows < 2 or shared < SHORTEST_PREFIX:
            return {}
        behind = torch.where(place < shared + padding[:, None], place - shared, place)
        order = torch.where(place < shared, place + padding[:, None], behind)
        self._model.model.rope_deltas = None  # of the batch before; `generate` would count on from them
        read = self._model(input_ids=unpadded[:1, :shared], use_cache=True, logits_to_keep=1)
        read.past_key_values.batch_repeat_interleave(rows)
        self._model.model.rope_deltas = None
        moved = {name: inputs[name].gather(1, order) for name in PER_TOKEN if name in inputs}
        return {**moved, "past_key_values": read.past_key_values}

    def _text(self, request: JudgeRequest) -> str:
        parts: list[dict[str, str]] = [{"type": "image"} for _ in request.pictures]
        parts.append({"type": "text", "text": self._plain(request.user)})
        chat: list[dict[str, Any]] = [{"role": "user", "content": parts}]
        if request.system:
            system = [{"type": "text", "text": self._plain(request.system)}]
            chat.insert(0, {"role": "system", "content": system})
        text: str = self._processor.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
        return text

    def _plain(self, text: str) -> str:
        """Takes control tokens apart (`<|im_end|>`): a text could else forge a turn, or a place for a picture."""
        return self._control_tokens.sub(lambda found: found[0][:1] + " " + found[0][1:], text)

    def _call(self, requests: Sequence[JudgeRequest]) -> dict[str, Any]:
        """Further keywords of `generate`: those of the parameters, and what draws the answers."""
        call, temperature = self.parameters.call, self.parameters.temperature
        if not temperature:
            return call
        drawn = drawing([seed_of(request) for request in requests], temperature)
        return {**call, "logits_processor": [*call.get("logits_processor", ()), drawn]}

    def _stops(self, requests: Sequence[JudgeRequest], start: int) -> Any:
        from transformers import StoppingCriteriaList

        bare = all(request.form == "score" for request in requests)  # reasons may follow a number that is no verdict
        if not (bare and self.parameters.stop_at_score):
            return StoppingCriteriaList()
        return StoppingCriteriaList([_stop_at_score(self._processor.tokenizer, start)])

    def _decoded(self, tokens: list[int], stops_at_score: bool) -> str | Reply:
        end = next((place for place, token in enumerate(tokens) if token in self._ends), None)
        text: str = self._processor.tokenizer.decode(tokens[:end], skip_special_tokens=True)
        if end is not None or (stops_at_score and SCORE_LINE.match(text)):
            return text
        return Reply(text=text, ended=Status.CUT_OFF)


def _stop_at_score(tokenizer: Any, start: int) -> Any:
    """A stopping criterion that ends each row whose text, from token `start`, begins with `SCORE_LINE`.

    It waits for the line's end: `7.500` may go on (`7.5001`, `7.500/10`), and a `1` may become `10.000`. A row that
    ends itself, as a bare answer should, ends no later.
    """
    import torch
    from transformers import StoppingCriteria

    class StopAtScore(StoppingCriteria):  # type: ignore[misc, unused-ignore]
        def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
            done = [False] * input_ids.shape[0]
            if input_ids.shape[1] - start <= SCORE_LINE_TOKENS:
                texts = [tokenizer.decode(row, skip_special_tokens=True) for row in input_ids[:, start:].tolist()]
                done = [SCORE_LINE.match(text) is not None for text in texts]
            return torch.tensor(done, dtype=torch.bool, device=input_ids.device)

    return StopAtScore()


def _pixels(image_processor: Any) -> str:
    size = dict(getattr(image_processor, "size", None) or {})
    return f"{size.get('shortest_edge')} to {size.get('longest_edge')}"
