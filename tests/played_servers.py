"""A judge's server that plays vLLM, SGLang, OpenAI or `transformers serve`, with each of what they have or without it.

Which fields a server of a kind acts on, which it drops, and what it answers beside a completion was read in the
sources that `chat_servers` names. Its model is a table: the probability of each first token.

Standard library only.
"""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from judge_server import Asked, JudgeServer, Reply

PLAIN = frozenset({"model", "messages", "max_tokens", "max_completion_tokens", "temperature", "seed", "stream", "n"})
CHAT = ("response_format", "logprobs", "top_logprobs")
SWITCHES = ("chat_template_kwargs", "reasoning_effort")
IDS = ("logprob_token_ids", "return_tokens_as_token_ids")
PICTURE_TOKENS = 1000
REMEMBERED = 4
"""Prompts of which the beginning is in its cache."""

Distribution = Mapping[str, float]


@dataclass(frozen=True)
class Kind:
    """What a server has."""

    fields: frozenset[str]
    """On which it acts, beside the plain ones."""
    strict: bool = False
    """Other fields are a 400; else they are dropped."""
    paths: frozenset[str] = frozenset()
    thoughts: str = "reasoning_content"
    """Where it puts a thought."""
    pictures: str = "images"
    """Where a decision has its pictures."""
    mass: tuple[str, ...] = ()
    """Where a decision tells its mass."""
    most: int = 20
    """`top_logprobs` that it allows."""

    def without(self, *names: str) -> Kind:
        """The same without these fields or paths."""
        return replace(self, fields=self.fields - {*names}, paths=self.paths - {*names})


KINDS: dict[str, Kind] = {
    "vllm": Kind(
        frozenset(
            [
                "response_format",
                "structured_outputs",
                "chat_template_kwargs",
                "reasoning_effort",
                "thinking_token_budget",
                "logprobs",
                "top_logprobs",
                "logprob_token_ids",
                "return_tokens_as_token_ids",
            ]
        ),
        paths=frozenset({"/tokenize", "/v1/systemone"}),
        thoughts="reasoning",
        mass=("diagnostics", "answer", "label_mass"),
    ),
    "sglang": Kind(
        frozenset({*CHAT, *SWITCHES}),
        paths=frozenset({"/tokenize", "/v1/systemone", "/v1/decisions"}),
        mass=("answers", "answer", "x_label_mass"),
    ),
    "openai": Kind(frozenset({*CHAT, "reasoning_effort"}), strict=True),
    "transformers": Kind(frozenset({"chat_template_kwargs"}), paths=frozenset({"/v1/systemone"}), pictures="assets"),
}

WORDS = ("yes", "no", "Score", "perfect", "held", "The", "I", "10")
TOKENS = [*(chr(code) for code in range(9, 127)), *WORDS, *(f" {word}" for word in WORDS), " A", " B"]


def tokens_of(text: str, words: Sequence[str] = TOKENS) -> list[int]:
    """The longest token first, as far as it fits."""
    ids = []
    while text:
        token = max((word for word in words if text.startswith(word)), key=len)
        ids.append(words.index(token))
        text = text[len(token) :]
    return ids


class PlayedServer(JudgeServer):
    """Answers as `answer` says; where the request asks for it, with the probabilities of `first`."""

    def __init__(self, kind: Kind, first: Distribution | None = None, **more: Any) -> None:
        super().__init__(**more)
        self.kind = kind
        self.first = dict(first or {"5": 1.0})
        self.words = TOKENS
        """Its tokens, by their ids."""
        self.thought = ""
        """What it thinks before it answers, unless it is told not to."""
        self.cached: list[int] = []
        """Of each question that is no canary how many tokens of the prompt it had seen before."""
        self._seen: deque[list[str]] = deque(maxlen=REMEMBERED)
        known = {"/tokenize": self._tokenise, "/v1/decisions": self._decide, "/v1/systemone": self._systemone}
        self.paths = {path: known[path] for path in kind.paths}

    def reply_to(self, asked: Asked) -> Reply:
        if self.kind.strict and (unknown := sorted({*asked.body} - PLAIN - self.kind.fields)):
            return Reply.error(400, f"Unknown parameter: '{unknown[0]}'.")
        if self._of(asked, "top_logprobs", 0) > self.kind.most:
            return Reply.error(400, f"top_logprobs: at most {self.kind.most}")
        return super().reply_to(asked)

    def said(self, reply: Reply, asked: Asked) -> bytes:
        completion = json.loads(super().said(reply, asked))
        choice, message = completion["choices"][0], completion["choices"][0]["message"]
        if (schema := self._schema(asked)) is not None and asked.is_canary:
            message["content"] = json.dumps(an_instance(schema))
        if self.thought and self._thinks(asked):
            message[self.kind.thoughts] = self.thought
            if choice["finish_reason"] == "length":
                message["content"] = None
        if self._of(asked, "logprobs", False):
            choice["logprobs"] = {"content": [self._logprobs(asked)]}
        completion["usage"]["prompt_tokens_details"] = {"cached_tokens": self._cached(asked)}
        return json.dumps(completion).encode()

    # -- what it makes of a request --

    def _of(self, asked: Asked, name: str, default: Any = None) -> Any:
        return asked.body.get(name, default) if name in self.kind.fields else default

    def _thinks(self, asked: Asked) -> bool:
        told = self._of(asked, "chat_template_kwargs", {}).get("enable_thinking", True)
        return bool(told) and self._of(asked, "reasoning_effort") != "none"

    def _schema(self, asked: Asked) -> Any:
        held = self._of(asked, "response_format", {}).get("json_schema", {}).get("schema")
        return held or self._of(asked, "structured_outputs", {}).get("json")

    def _logprobs(self, asked: Asked) -> dict[str, Any]:
        first = {"<think>": 1.0} if self.thought and self._thinks(asked) else self.first
        ids = self._of(asked, "logprob_token_ids")
        likely = sorted(first.items(), key=lambda item: -item[1])
        chosen = [(self.words[token], first.get(self.words[token], 0.0)) for token in ids] if ids else likely
        if not ids:
            chosen = chosen[: self._of(asked, "top_logprobs", 0)]
        as_ids = self._of(asked, "return_tokens_as_token_ids", False)
        entries = [
            {"token": f"token_id:{self.words.index(token)}" if as_ids else token, "logprob": logprob(share)}
            for token, share in chosen
        ]
        return {"token": likely[0][0], "logprob": logprob(likely[0][1]), "top_logprobs": entries}

    def _cached(self, asked: Asked) -> int:
        units = [unit for message in asked.body["messages"] for unit in units_of(message)]
        most = 0
        for seen in list(self._seen):  # other requests come meanwhile
            same = next((n for n, (a, b) in enumerate(zip(units, seen, strict=False)) if a != b), None)
            most = max(most, sum(map(weight, units[: min(len(units), len(seen)) if same is None else same])))
        if not asked.is_canary:
            self._seen.append(units)
            self.cached.append(most)
        return most

    # -- its other paths --

    def _tokenise(self, body: Mapping[str, Any]) -> Reply:
        ids = tokens_of(body["prompt"], self.words)
        return Reply.json({"tokens": ids, "count": len(ids), "max_model_len": 4096})

    def _decide(self, body: Mapping[str, Any]) -> Reply:
        known = {"model", "input", "images", "questions", "prompt_format_version"}
        if {*body} - known:
            return Reply.error(422, f"extra fields: {sorted({*body} - known)}")
        (question,) = body["questions"]
        labels = [option["name"] for option in question["options"]]
        shares, mass = self._shares(labels)
        answer = {"type": "choice", "probabilities": shares, "label_mass": mass}
        return Reply.json({"object": "decisions", "answers": {question["id"]: answer}})

    def _systemone(self, body: Mapping[str, Any]) -> Reply:
        if unknown := {*body} - {"model", "state", "questions", self.kind.pictures}:
            return Reply.error(422, f"extra fields: {sorted(unknown)}")
        ((name, question),) = body["questions"].items()
        shares, mass = self._shares(list(question["criteria"]))
        document: dict[str, Any] = {
            "answers": {name: {"type": "choice", "probabilities": shares}},
            "diagnostics": {name: {}},
        }
        if self.kind.mass:
            place = document
            for key in self.kind.mass[:-1]:
                place = place[key]
            place[self.kind.mass[-1]] = mass
        return Reply.json(document)

    def _shares(self, labels: Sequence[str]) -> tuple[dict[str, float], float]:
        shares = {label: self.first.get(label, 0.0) for label in labels}
        mass = math.fsum(shares.values()) or 1.0
        return {label: share / mass for label, share in shares.items()}, mass


def logprob(share: float) -> float:
    return math.log(share) if share else -9999.0


def units_of(message: Mapping[str, Any]) -> list[str]:
    """The words of a message and its pictures, in their order."""
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    units = [message["role"]]
    for part in parts:
        units += part["text"].split() if part["type"] == "text" else [part["image_url"]["url"]]
    return units


def weight(unit: str) -> int:
    return PICTURE_TOKENS if unit.startswith("data:") else 1


def an_instance(schema: Mapping[str, Any]) -> Any:
    """What a model can only write that is held to a schema."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema["type"]
    if kind == "object":
        return {name: an_instance(inner) for name, inner in schema["properties"].items()}
    return {"integer": 1, "number": 1.0, "string": "x", "boolean": True}[kind]
