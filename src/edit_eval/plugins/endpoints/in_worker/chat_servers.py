"""Tables of what servers of the chat protocol support beside it: one row per way of asking, with its source.

No row is trusted: `chat_probe` tries them in this order, and takes the first that works.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from edit_eval.json_values import JsonObject

SLOT = object()
"""Placeholder in a row for what is requested."""

TOP = 20
"""For how many tokens probabilities can be requested: OpenAI's limit, and vLLM's default (`max_logprobs`)."""


@dataclass(frozen=True, kw_only=True)
class Way:
    """Request fields that ask a server for something."""

    fields: Mapping[str, Any]
    """With `SLOT`."""
    values: Mapping[bool, Any] = field(default_factory=dict)
    """Values for true and false, if they are not booleans."""
    without: tuple[str, ...] = ()
    """Keywords of a JSON schema that are refused, and left out."""
    source: str

    def asks(self, value: object = None) -> JsonObject:
        """Returns the fields with `value` in their slot."""
        if self.values and isinstance(value, bool):
            value = self.values[value]
        if self.without:
            value = _remove_keywords(value, self.without)
        return {name: _fill_slot(inner, value) for name, inner in self.fields.items()}


def _remove_keywords(schema: object, keywords: tuple[str, ...]) -> Any:
    """Returns a JSON schema without these keywords; a property may bear the name of one."""
    if isinstance(schema, list):
        return [_remove_keywords(part, keywords) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    named = ("properties", "$defs", "definitions")
    return {
        name: {key: _remove_keywords(inner, keywords) for key, inner in value.items()}
        if name in named and isinstance(value, Mapping)
        else value
        if name in ("enum", "const", "default")
        else _remove_keywords(value, keywords)
        for name, value in schema.items()
        if name not in keywords
    }


def _fill_slot(row: Any, value: object) -> Any:
    if isinstance(row, Mapping):
        return {name: _fill_slot(inner, value) for name, inner in row.items()}
    return value if row is SLOT else row


SCHEMAS: Mapping[str, Way] = {
    "response_format": Way(
        fields={
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": SLOT},
            }
        },
        source="openai 3.54.0 types/shared_params/response_format_json_schema.py; vllm 0.33.0 "
        "entrypoints/generate/base/protocol.py; sglang 0.5.23 srt/entrypoints/openai/protocol.py; llama.cpp and Ollama "
        "by their documentation",
    ),
    "structured_outputs": Way(
        fields={"structured_outputs": {"json": SLOT}},
        source="vllm 0.33.0 entrypoints/openai/chat_completion/protocol.py:397; guided_json is gone there",
    ),
}
"""How an answer is constrained to a JSON schema."""

THINKING: Mapping[str, Way] = {
    "chat_template_kwargs": Way(
        fields={"chat_template_kwargs": {"enable_thinking": SLOT}},
        source="the switch of the chat templates of Qwen3 to 3.6, GLM-V and Gemma 4; vllm 0.33.0 and sglang 0.5.23 "
        "hand it to the template, transformers 5.23.0 (cli/serving/chat_completion.py) and llama.cpp, too",
    ),
    "reasoning_effort": Way(
        fields={"reasoning_effort": SLOT},
        values={True: "medium", False: "none"},
        source="openai 3.54.0 types/shared/reasoning_effort.py; vllm 0.33.0 chat_completion/protocol.py:267 and sglang "
        "0.5.23 openai/protocol.py:974 make `none` an enable_thinking of false; transformers serve ignores it",
    ),
}
"""How thinking is switched. A server that takes the field may still have a model without such a switch."""

THINKING_BUDGETS: Mapping[str, Way] = {
    "thinking_token_budget": Way(
        fields={"thinking_token_budget": SLOT},
        source="vllm 0.33.0 chat_completion/protocol.py:278. SGLang's chat protocol has none (0.5.23), OpenAI none",
    )
}
"""How a thought is limited to a number of tokens; elsewhere only the limit on the whole answer ends it."""

TOKEN_IDS = "logprob_token_ids"
TOP_TOKENS = "top_logprobs"
LOGPROBS: Mapping[str, Way] = {
    TOKEN_IDS: Way(
        fields={"logprobs": True, "logprob_token_ids": SLOT, "return_tokens_as_token_ids": True},
        source="vllm 0.33.0 chat_completion/protocol.py:308, :428; sampling_params.py:945: at most 128. Before any "
        "mask (`--logprobs-mode raw_logprobs`, the default)",
    ),
    TOP_TOKENS: Way(
        fields={"logprobs": True, "top_logprobs": TOP},
        source="openai 3.54.0 types/chat/completion_create_params.py: 0 to 20; vllm 0.33.0, sglang 0.5.23 and "
        "llama.cpp have it. transformers serve ignores both fields (5.23.0 cli/serving/chat_completion.py)",
    ),
    "top_logprobs of 5": Way(
        fields={"logprobs": True, "top_logprobs": 5},
        source="servers of others that allow no more (Together, Fireworks, by their documentation)",
    ),
}
"""How the probabilities of the answer's first token are requested in the protocol's own words."""


# -- questions that the server words itself --


@dataclass(frozen=True, kw_only=True)
class Decision:
    """A server's path that returns probabilities of options, which the server letters and asks for in its own words."""

    path: str
    fields: Mapping[str, Any]
    """With `{text}`, `{pictures}` and `{options}`."""
    options: Any
    """The entry for a label; a pair becomes an entry of a mapping."""
    pictures: str = "urls"
    """`urls`, or `assets`: the picture's data, by a mark in the text."""
    mass: tuple[tuple[str, ...], ...] = ()
    """Where in the answer the mass on all labels may be."""
    source: str

    def body(self, text: str, urls: Sequence[str], labels: Sequence[str]) -> JsonObject:
        """Returns the request's body without the model's name; `urls` are data URLs."""
        pictures: Any = list(urls)
        if self.pictures == "assets":
            marks = [f"[picture {number}]" for number in range(1, len(urls) + 1)]
            text = "\n".join([*marks, text.replace("[picture ", "[ picture ")])  # the text must not refer to a picture
            pictures = {mark: {"data_base64": url.partition(",")[2]} for mark, url in zip(marks, urls, strict=True)}
        options: Any = [_fill_slots(self.options, {"{label}": label}) for label in labels]
        if isinstance(self.options, tuple):
            options = dict(options)
        slots = {"{text}": text, "{pictures}": pictures, "{options}": options}
        return {name: _fill_slots(value, slots) for name, value in self.fields.items()}

    def read(self, document: Any, labels: Sequence[str]) -> tuple[dict[str, float], bool]:
        """Returns probabilities by label, and True if only their ratios are known, not their mass.

        Raises `ValueError` for an invalid answer.
        """
        probabilities = _find_value(document, ("answers", QUESTION, "probabilities"))
        if not isinstance(probabilities, Mapping) or {*probabilities} != {*labels}:
            raise ValueError("it has no probabilities of these labels")
        values = {label: _probability(probabilities[label]) for label in labels}
        total = math.fsum(values.values())
        mass = next((reported for place in self.mass if (reported := _find_value(document, place)) is not None), None)
        if mass is None:
            return values, True
        if not total:
            return dict.fromkeys(labels, 0.0), False
        scale = _probability(mass) / total
        return {label: value * scale for label, value in values.items()}, False


QUESTION = "answer"
"""Name of the one question of a request."""
WHICH = "Which of the options is the answer?"

_CHOICE: Mapping[str, Any] = {QUESTION: {"type": "choice", "criteria": "{options}"}}
_SHARED: Mapping[str, Any] = {"state": "{text}", "questions": _CHOICE}

DECISIONS: Mapping[str, Mapping[str, Decision]] = {
    "decisions": {
        "decisions": Decision(
            path="/decisions",
            fields={
                "input": "{text}",
                "images": "{pictures}",
                "questions": [{"id": QUESTION, "type": "choice", "question": WHICH, "options": "{options}"}],
                "prompt_format_version": 1,
            },
            options={"name": "{label}"},
            mass=(("answers", QUESTION, "label_mass"),),
            source="sglang 0.5.23 srt/entrypoints/openai/protocol.py:1595 (2 to 26 options), serving_decisions.py. "
            "That of vllm 0.33.0 is for text only, that of OpenAI has another form",
        )
    },
    "systemone": {
        "systemone": Decision(
            path="/systemone",
            fields={**_SHARED, "images": "{pictures}"},
            options=("{label}", None),
            mass=(("diagnostics", QUESTION, "label_mass"), ("answers", QUESTION, "x_label_mass")),
            source="vllm 0.33.0 entrypoints/generate/structured_decisions/ (the first place of the mass; at most 26 "
            "options); sglang 0.5.23 srt/entrypoints/systemone/protocol.py (the second). Thinking is off in both",
        ),
        "systemone of transformers": Decision(
            path="/systemone",
            fields={**_SHARED, "assets": "{pictures}"},
            options=("{label}", None),
            pictures="assets",
            source="transformers 5.23.0 cli/serving/systemone.py, decision/template_utils.py: at most 4 pictures, "
            "other fields are refused, and the probabilities are divided by their sum",
        ),
    },
}
"""Kind -> its dialects."""


def wording(kind: str) -> str:
    """Returns what represents the words of this kind of path in keys."""
    sent = [[row.path, row.fields, row.options, row.pictures] for row in DECISIONS[kind].values()]
    return f"{kind} {hashlib.sha256(json.dumps(sent, sort_keys=True).encode()).hexdigest()[:16]}"


def _fill_slots(row: Any, slots: Mapping[str, Any]) -> Any:
    if isinstance(row, Mapping):
        return {name: _fill_slots(value, slots) for name, value in row.items()}
    if isinstance(row, (list, tuple)):
        return type(row)(_fill_slots(value, slots) for value in row)
    return slots.get(row, row) if isinstance(row, str) else row


def _find_value(document: Any, path: Sequence[str]) -> Any:
    for name in path:
        if not isinstance(document, Mapping) or name not in document:
            return None
        document = document[name]
    return document


def _probability(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -1e-6 <= value <= 1.01:
        raise ValueError(f"{str(value)[:40]} is not a probability")
    return max(0.0, float(value))
