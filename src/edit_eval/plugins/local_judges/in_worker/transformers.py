"""Any image-text-to-text model of transformers as a judge, by its own processor and chat template.

Their differences are rows of `judge_table.py`.
"""

from __future__ import annotations

import copy
import importlib
import math
import os
import re
import threading
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from edit_eval.errors import LoadError, ModelError
from edit_eval.json_values import JsonObject
from edit_eval.judges.answers import default_token_limit, score_line
from edit_eval.judges.contract import PROBABILITIES, AnswerForm, JudgeRequest, seed_of
from edit_eval.plugins.local_judges.in_worker.generation import (
    GRAMMAR_LIBRARY,
    OPENING,
    Grammars,
    Labels,
    Marks,
    ThoughtProgress,
    TokenRow,
    budgets,
    draw_tokens,
    force_beginnings,
    grammar_library_version,
    label_probabilities,
    report_tokens,
    stop_at_score,
    thinking_switch_of,
)
from edit_eval.plugins.local_judges.in_worker.judge_table import (
    FAMILIES,
    Family,
    card_of,
    card_of_unknown,
    family_of_type,
    find_published_row,
)
from edit_eval.plugins.local_judges.in_worker.processing import (
    judge_processor,
    keep_levels,
    numbers_of_levels,
    patches,
    pixels,
    special_tokens,
)
from edit_eval.pretrained import folders
from edit_eval.pretrained.folders import Keywords
from edit_eval.pretrained.loading import (
    BESIDE_OTHERS,
    DTYPES,
    WITHOUT_CUDNN,
    check_call,
    check_complete,
    check_value,
    device_map,
    disable_cudnn,
    dtype_named,
    library_versions,
    load_errors,
    prepare_devices,
    read_ahead,
    runs_on_cpu,
)
from edit_eval.pretrained.processors import image_backend
from edit_eval.records import OnStep, Reply, Status

TAKEN_BY_LOAD = ("dtype", "torch_dtype", "device_map", "revision", "attn_implementation", "output_loading_info")
TAKEN_BY_CALL = ("input_ids", "inputs", "attention_mask", "pixel_values", "max_new_tokens", "generation_config")
TAKEN_BY_TEMPERATURE = ("do_sample", "temperature", "top_k", "top_p", "min_p", "num_beams")

EXPERTS = ("grouped_mm", "batched_mm", "eager")


@dataclass
class LocalParameters:
    """What every judge has that runs through transformers."""

    model_name: str
    """A folder, or a name on the Hugging Face Hub."""
    revision: str | None = None
    """Branch, tag or commit on the Hub."""
    dtype: str = "bfloat16"
    """bfloat16, float16, float32, or auto: as the weights are stored."""
    max_new_tokens: int | None = None
    """At most this many tokens per answer; a longer one is cut off and gives no score. null: 128 for a bare score,
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
    """Ends an answer whose first line is a score of three decimals and nothing else; the rest is not waited for."""
    experts_implementation: str | None = None
    """Kernel of a mixture's experts for prompt and answer (`grouped_mm`, `batched_mm`, `eager`). null: as transformers
    chooses; with batches of 16 or more try `grouped_mm`, which copies no weights while it answers."""
    load: dict[str, Any] = field(default_factory=dict)
    """Further keywords of the model's `from_pretrained`."""
    call: dict[str, Any] = field(default_factory=dict)
    """Further keywords of `generate`. The settings in the model's files do not count."""

    def __post_init__(self) -> None:
        check_value("dtype", self.dtype, (*DTYPES, "auto"))
        check_call(self.call, (*TAKEN_BY_CALL, *(TAKEN_BY_TEMPERATURE if self.temperature else ())))
        if clash := sorted(set(self.load) & set(TAKEN_BY_LOAD)):
            raise ValueError(f"load: {', '.join(clash)} cannot be set there")
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


THINKING = ("on", "off")

OF_LABELS = "of whole labels, from the logits"
"""What a local judge's probabilities are of; a server gives those of an answer's first token."""


class TransformersJudge:
    """Any image-text-to-text model of transformers: Qwen-VL, Qwen3.5, Gemma, InternVL, GLM-V, MiniCPM-V, ...

    Each call is one padded batch. The CPU computes with one thread.
    """

    @dataclass
    class Parameters(LocalParameters):
        thinking: str | None = None
        """`on` or `off`: whether the judge thinks before it answers. null: off where it can be switched off."""
        thinking_tokens: int = 8192
        """At most this many tokens per thought; a longer one cuts off the answer, which gives no score."""
        image_settings: dict[str, Any] = field(default_factory=dict)
        """Settings of the model's image processor by their own names, as Gemma 4's `{max_soft_tokens: 560}`."""
        enforce_schema: bool = True
        """Hold answers in JSON to their schema as they are written. Needs the package llguidance; without it they are
        only checked, and the report says so."""

        def __post_init__(self) -> None:
            super().__post_init__()
            if self.thinking is not None:
                check_value("thinking", self.thinking, THINKING)
            if self.thinking_tokens < 1:
                raise ValueError(f"thinking_tokens: {self.thinking_tokens}; thinking needs at least 1")

    probabilities = True

    @staticmethod
    def presets() -> list[dict[str, str]]:
        """Returns the families with rows of their own."""
        return [family.as_row() for family in FAMILIES]

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self._model: Any = None
        self._processor: Any = None
        self._family: Family | None = None
        self._encoding = threading.Lock()  # tokenizers before 0.23: "Already borrowed" while another thread encodes
        self._device = "cpu"
        self._ends: tuple[int, ...] = ()
        self._special_tokens: re.Pattern[str] = re.compile("(?!)")
        self._numbers: Any = None
        self._marks = Marks()
        self._switch = ""
        self._thinks = False
        self._always_thinks = False
        self._opened = {True: False, False: False}
        """True if the prompt ends within a thought, by the position of the switch."""
        self._grammars: Grammars | None = None
        self._holds_to_schemas = False
        self._about: dict[str, str] = {}

    @staticmethod
    def revision(parameters: LocalParameters) -> str:
        """Returns what, besides the parameters, fixes the answers: a local folder's digest, or the Hub's revision."""
        return folders.revision(parameters.model_name, parameters.revision)

    @staticmethod
    def card(parameters: LocalParameters) -> dict[str, str]:
        """Returns what is known about these weights before loading: pictures, thinking, environment."""
        folder = folders.local_folder(parameters.model_name)
        folder = folder or folders.find_cached_folder(parameters.model_name, parameters.revision, os.environ)
        weights = find_published_row(parameters.model_name)
        kind = weights.model_type if weights else ""
        if folder is not None and (folder / "config.json").is_file():
            kind = str(folders.read_index(folder / "config.json").get("model_type"))
        family = family_of_type(kind)
        return card_of(family) if family else card_of_unknown(kind)

    def prepare(self) -> None:
        """Imports what loading needs, which takes seconds, while another model may still use the device."""
        name = self.parameters.model_name
        with load_errors(name):
            location = folders.locate(name, self.parameters.revision, "config.json", "a transformers model")
            import torch  # noqa: F401
            from transformers import AutoModelForImageTextToText, AutoTokenizer  # noqa: F401

            if family_of_type(kind := str(location.index.get("model_type"))):
                importlib.import_module(f"transformers.models.{kind}.modeling_{kind}")
            read_ahead(name, self.parameters.revision, BESIDE_OTHERS)  # the edit model has begun to read its own

    def load(self, devices: Sequence[str], offload: str = "none", forms: Sequence[AnswerForm] = ()) -> None:
        """Loads model and processor; over several devices the layers are spread.

        With an `offload`, `model` or `group`, layers that do not fit on the GPU stay in host memory. `forms` are those
        of all requests to come; the first that this model does not support is refused. Raises `LoadError`; passes on
        out-of-memory errors.
        """
        parameters = self.parameters
        name = parameters.model_name
        with load_errors(name):
            location = folders.locate(name, parameters.revision, "config.json", "a transformers model")
            prepare_devices(devices, offload)
            from transformers import AutoModelForImageTextToText

            self._family = family_of_type(str(location.index.get("model_type")))
            limits = {"min_pixels": parameters.min_pixels, "max_pixels": parameters.max_pixels}
            areas = {limit: area for limit, area in limits.items() if area is not None}
            self._processor = judge_processor(name, location, self._family, areas, parameters.image_settings)
            self._special_tokens = special_tokens(self._processor)
            thinking = self._settle_thinking()
            spread = "auto" if offload != "none" and not runs_on_cpu(devices) else device_map(devices)
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
        self._device = "cpu" if runs_on_cpu(devices) else devices[0]
        self._set_generation()
        self._set_experts()
        disable_cudnn(getattr(getattr(model, "model", model), "language_model", model))
        if keep_levels(self._processor):
            self._numbers = numbers_of_levels(self._processor.image_processor).to(self._device)
        schema = self._settle_schemas()
        self._refuse_unreadable(forms)
        self._about = {
            "model": type(model).__name__,
            "commit": location.commit,
            "dtype": parameters.dtype,
            "offload": offload,
            "attention": f"{model.config._attn_implementation}, {WITHOUT_CUDNN}",
            "image_backend": image_backend(self._processor.image_processor),
            "pixels": pixels(self._processor.image_processor, self._family),
            "thinking": thinking,
            "schema": schema,
            "probabilities": OF_LABELS if any(form.form == PROBABILITIES for form in forms) else "",
            **library_versions("torch", "transformers", "accelerate", "safetensors", "tokenizers", "pillow"),
        }

    def make_inputs(self, requests: Sequence[JudgeRequest]) -> Any:
        """Returns the model's inputs for a batch, still on the host: texts tokenised, pictures scaled. Thread-safe."""
        texts = [self._text(request) for request in requests]
        pictures: list[Any] = [
            [picture.convert("RGB") for picture in request.pictures.values()] for request in requests
        ]
        if self._family is not None and not self._family.nested:
            pictures = [picture for those in pictures for picture in those]
        keywords: Keywords = {"padding": True, "return_tensors": "pt"}
        beginning = self._processor.tokenizer.bos_token
        if beginning and texts[0].startswith(beginning):
            keywords["add_special_tokens"] = False  # the template has already written them
        with self._encoding:
            return self._processor(text=texts, images=pictures if any(pictures) else None, **keywords)

    def judge(
        self, requests: Sequence[JudgeRequest], inputs: Any = None, on_step: OnStep = lambda step, steps: None
    ) -> list[str | Reply]:
        """Answers a batch; each answer equals that to its request alone, up to the dtype's rounding.

        One ended by a limit is a `Reply` that says so; one to a request for probabilities has them as its values.

        `inputs` is the result of `make_inputs` for these requests, if it was called; `on_step` is told each token.
        """
        import torch

        if self._model is None:
            raise LoadError("the judge is not loaded: call load(devices) first")
        if not requests:
            return []
        weighed = [request.form == PROBABILITIES for request in requests]
        if any(weighed) and not all(weighed):  # a batch has one question, and so one form; other callers may mix them
            return [answer for request in requests for answer in self.judge([request], on_step=on_step)]
        inputs = self.make_inputs(requests) if inputs is None else inputs
        inputs = copy.copy(inputs).to(self._device)  # the given inputs stay unchanged, for a second attempt
        with torch.inference_mode():
            if self._numbers is not None and "pixel_values" in inputs:
                inputs["pixel_values"] = patches(inputs, self._processor.image_processor, self._numbers)
            return self._weigh(requests, inputs) if all(weighed) else self._write(requests, inputs, on_step)

    def about(self) -> dict[str, str]:
        """Returns versions, the model's class, kernels, the weights' commit, how pictures are scaled, thinking."""
        return dict(self._about)

    # -- answers --

    def _write(self, requests: Sequence[JudgeRequest], inputs: Any, on_step: OnStep) -> list[str | Reply]:
        """Answers in words."""
        from transformers import StoppingCriteriaList

        start, rows = inputs["input_ids"].shape[1], len(requests)
        limit = self.parameters.max_new_tokens or max(default_token_limit(request.form) for request in requests)
        tokenizer, thinking_tokens = self._processor.tokenizer, self.parameters.thinking_tokens
        progress = ThoughtProgress(tokenizer, self._marks, self._opened[self._thinks], thinking_tokens, rows)
        call = self._call(requests, start, progress)
        bare = all(request.form == "score" for request in requests)  # reasons may follow a number that is no verdict
        at_score = bare and self.parameters.stop_at_score
        if not self._thinks:
            stops = StoppingCriteriaList([report_tokens(on_step, start, limit)])
            stops += [stop_at_score(tokenizer, start)] if at_score else []
            answered = self._model.generate(**inputs, max_new_tokens=limit, stopping_criteria=stops, **call)
            return [self._decode_answer(row, at_score) for row in answered[:, start:].tolist()]
        budget = budgets(progress, start, limit, at_score)
        stops = StoppingCriteriaList([report_tokens(on_step, start, thinking_tokens + limit), budget])
        answered = self._model.generate(
            **inputs, max_new_tokens=thinking_tokens + limit, stopping_criteria=stops, **call
        )
        said = answered[:, start:].tolist()
        return [self._decode_with_thought(tokens, progress, row, budget.ends[row]) for row, tokens in enumerate(said)]

    def _weigh(self, requests: Sequence[JudgeRequest], inputs: Any) -> list[str | Reply]:
        """Returns probabilities of labels. Nothing is written, and the temperature has no effect."""
        import torch

        start, tokenizer = inputs["input_ids"].shape[1], self._processor.tokenizer
        labels = [self._labels(self._text(request), request.labels) for request in requests]

        def ask(beginnings: Sequence[TokenRow]) -> list[Any]:
            said = self._model.generate(
                **inputs,
                max_new_tokens=1 + max(map(len, beginnings)),
                logits_processor=[force_beginnings(beginnings, start, tokenizer.pad_token_id)],
                output_logits=True,
                return_dict_in_generate=True,
            )
            return [step.to(torch.float64).log_softmax(-1) for step in said.logits]

        return [Reply(values=probabilities) for probabilities in label_probabilities(labels, ask)]

    def _labels(self, prompt: str, labels: Sequence[str]) -> Labels:
        """Returns the tokens of labels after a prompt. Raises `ModelError` if this judge cannot be asked for them."""
        if self._always_thinks:
            raise ModelError(
                "this judge always thinks before it answers (its chat template has no switch for it), so its first "
                "word is no answer: ask for another form of answer than probabilities"
            )
        frame, others = (self._family.frame, self._family.openings) if self._family else ((), ())
        with self._encoding:
            tokenizer = self._processor.tokenizer
            return Labels(tokenizer, prompt, labels, self._ends, (*frame[:1], *others), frame[1:])

    def _refuse_unreadable(self, forms: Sequence[AnswerForm]) -> None:
        """Raises `LoadError` for labels that cannot be told apart, and a schema that cannot be enforced."""
        for form in forms:
            try:
                if form.form == PROBABILITIES:
                    self._labels(self._text(JudgeRequest(user="?", form=form.form)), form.labels)
                elif form.schema and self._holds_to_schemas:
                    self._grammar().check(form.schema)
            except ModelError as error:
                raise LoadError(str(error)) from error

    def _call(self, requests: Sequence[JudgeRequest], start: int, progress: ThoughtProgress) -> Keywords:
        """Returns further keywords of `generate`: those of the parameters, schema constraints, sampling."""
        call, temperature = self.parameters.call, self.parameters.temperature
        processors = []
        schemas = [request.schema for request in requests]
        if self._holds_to_schemas and any(schemas):
            begins = progress.see if self._thinks else lambda row, last, length: 0
            opening = progress.opening if self._thinks else ()
            processors.append(self._grammar().constrain_rows(schemas, start, begins, opening))
        if temperature:
            processors.append(draw_tokens([seed_of(request) for request in requests], temperature))
        return {**call, "logits_processor": [*call.get("logits_processor", ()), *processors]} if processors else call

    def _decode_answer(self, tokens: list[int], stops_at_score: bool) -> str | Reply:
        end = next((place for place, token in enumerate(tokens) if token in self._ends), None)
        text = self._words(tokens[:end])
        if end is not None or (stops_at_score and score_line(text)):
            return text
        return Reply(text=text, ended=Status.CUT_OFF)

    def _decode_with_thought(
        self, tokens: list[int], progress: ThoughtProgress, row: int, end: tuple[int, bool] | None
    ) -> str | Reply:
        """Returns an answer with its thought. `end` is where one of the limits, or the score's line, ended it."""
        place, whole = end or (len(tokens), False)
        own_end = next((place for place, token in enumerate(tokens) if token in self._ends), place)
        itself, tokens, begin = own_end < place, tokens[: min(own_end, place)], progress.answers[row]
        if begin is None:
            thought = f"<think>{progress.thought(tokens)}"
            if itself:  # there is no answer, but nothing was cut off
                return thought
            note = f"(the thought was cut off after {len(tokens)} tokens: thinking_tokens)"
            return Reply(text=f"{thought}\n{note}", ended=Status.CUT_OFF)
        answer = self._words(tokens[begin:])
        text = f"<think>{progress.thought(tokens[:begin])}</think>{answer}" if begin else answer
        return text if itself or whole else Reply(text=text, ended=Status.CUT_OFF)

    def _words(self, tokens: Sequence[int]) -> str:
        if self._marks != Marks() and (begin := self._find_answer_start(tokens)):
            return f"<think></think>{self._words(tokens[begin:])}"
        text: str = self._processor.tokenizer.decode(tokens, skip_special_tokens=True)
        for mark in self._family.frame if self._family else ():
            text = text.replace(mark, "")
        return text

    def _find_answer_start(self, tokens: Sequence[int]) -> int:
        """Returns where the answer begins after a thought, even an empty one, that a judge opened unasked; else 0.

        The marks are control tokens, which decoding drops, so the thought would be read as the answer.
        """
        tokenizer, marks = self._processor.tokenizer, self._marks
        closes = tokenizer.encode(marks.closes, add_special_tokens=False)
        if not tokenizer.decode(tokens[:OPENING]).lstrip().startswith(marks.opens):
            return 0
        places = range(len(tokens) - len(closes) + 1)
        return next((at + len(closes) for at in places if list(tokens[at : at + len(closes)]) == closes), 0)

    # -- prompts --

    def _text(self, request: JudgeRequest) -> str:
        parts: list[dict[str, str]] = [{"type": "image"} for _ in request.pictures]
        parts.append({"type": "text", "text": self._plain(request.user)})
        chat: list[JsonObject] = [{"role": "user", "content": parts}]
        if request.system:
            system = [{"type": "text", "text": self._plain(request.system)}]
            chat.insert(0, {"role": "system", "content": system})
        return self._render_chat(chat, self._thinks and request.form != PROBABILITIES)

    def _render_chat(self, chat: list[JsonObject], thinks: bool) -> str:
        switched = {self._switch: thinks} if self._switch else {}
        text: str = self._processor.apply_chat_template(chat, tokenize=False, add_generation_prompt=True, **switched)
        return text

    def _plain(self, text: str) -> str:
        """Breaks up control tokens (`<|im_end|>`), with which a text could forge a turn or a picture's placeholder."""
        return self._special_tokens.sub(lambda match: match[0][:1] + " " + match[0][1:], text)

    # -- loading --

    def _settle_thinking(self) -> str:
        """Finds out how thinking is switched, and whether prompts then end in a thought; returns a description."""
        name, wanted, family = self.parameters.model_name, self.parameters.thinking, self._family
        if family:
            self._marks = Marks(family.opens, family.closes)
        template = self._processor.chat_template
        self._switch = thinking_switch_of(template if isinstance(template, str) else " ".join(template.values()))
        probe: list[JsonObject] = [{"role": "user", "content": [{"type": "text", "text": "?"}]}]
        rendered = {thinks: self._render_chat(probe, thinks) for thinks in (True, False)}
        if rendered[True] == rendered[False]:  # a word of the template, not a switch
            self._switch = ""
        self._opened = {thinks: self._marks.is_open(text) for thinks, text in rendered.items()}
        unswitched = not self._switch and bool(family and family.thinks)  # it opens its thoughts itself
        self._always_thinks = self._opened[False] or unswitched
        if wanted == "off" and self._always_thinks:
            raise LoadError(f"thinking: {name} always thinks: its chat template has no switch; write `thinking: on`")
        self._thinks = self._always_thinks or wanted == "on"
        if not self._thinks:
            return f"off ({self._switch})" if self._switch else "off: its chat template has no switch"
        how = self._switch or "its chat template has no switch; it decides itself whether to think"
        if self._always_thinks:
            how = "its chat template has no switch to turn it off"
        return f"on ({how}), at most {self.parameters.thinking_tokens} tokens"

    def _settle_schemas(self) -> str:
        """Finds out whether answers are constrained to a schema; returns a description."""
        if not self.parameters.enforce_schema:
            return "not enforced"
        if not (version := grammar_library_version()):
            return f"not enforced: {GRAMMAR_LIBRARY} is not installed"
        self._holds_to_schemas = True
        return f"enforced by {GRAMMAR_LIBRARY} {version}"

    def _grammar(self) -> Grammars:
        """Returns what constrains answers to schemas; takes a second to build for a large vocabulary."""
        if self._grammars is None:
            vocabulary = self._model.get_output_embeddings().weight.shape[0]
            with self._encoding:
                self._grammars = Grammars(self._processor.tokenizer, vocabulary, self._ends)
        return self._grammars

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
        """Makes a mixture of experts use one kernel throughout."""
        model, kernel = self._model, self.parameters.experts_implementation
        choose = getattr(model, "set_experts_implementation", None)  # transformers 4 has no choice
        if kernel is None or choose is None:
            return
        text = model.config.get_text_config()
        if not any(getattr(text, name, 0) for name in ("num_experts", "num_local_experts")):
            return
        choose(kernel)
        model._optimize_model_for_decode = nullcontext  # `generate` would otherwise change the kernel for the answer
