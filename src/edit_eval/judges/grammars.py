"""Answers that are held to a JSON schema while they are written, by the library llguidance where it is installed.

Of the libraries for it, it is the one that needs no torch of its own choice, has one wheel for all versions of Python
and is behind vLLM's and SGLang's structured outputs, too. What it enforces is checked by the protocol all the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any

from edit_eval.errors import ModelError
from edit_eval.judges.generation import newest

PACKAGE = "llguidance"
WHITESPACE = r"( |\n {0,8})?"
"""Between the parts of an object. Without an end to it, a model may write spaces until its limit."""


def installed() -> str:
    """The version of the library; empty where it is not installed."""
    try:
        return metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        return ""


Answers = Callable[[int, Sequence[int], int], "int | None"]


class Grammars:
    """What a judge's tokenizer may write, by schema."""

    def __init__(self, tokenizer: Any, vocabulary: int, ends: Sequence[int]) -> None:
        self._end = ends[0]
        try:
            import llguidance
            from llguidance import hf

            self._library = llguidance
            self._tokenizer = hf.from_tokenizer(tokenizer, n_vocab=vocabulary, eos_token=list(ends))
        except Exception as error:  # one that is not written in Rust
            reason = " ".join(str(error).split())[:200]
            raise ModelError(
                f"{PACKAGE} cannot read this judge's tokenizer ({reason}): set enforce_schema to false"
            ) from error
        self._matchers: dict[str, Any] = {}

    def check(self, schema: str) -> None:
        """Raises `ModelError` for a schema that no answer can be held to."""
        self._matcher(schema)

    def _matcher(self, schema: str) -> Any:
        if schema not in self._matchers:
            options: Any = {"whitespace_pattern": WHITESPACE}
            grammar = self._library.LLMatcher.grammar_from_json_schema(json.loads(schema), overrides=options)
            matcher = self._library.LLMatcher(self._tokenizer, grammar)
            if matcher.is_error():
                raise ModelError(
                    f"the answer cannot be held to its schema: {' '.join(matcher.get_error().split())[:200]}"
                )
            self._matchers[schema] = matcher
        return self._matchers[schema].deep_copy()

    def holding(self, schemas: Sequence[str], start: int, answers: Answers, opening: Sequence[int] = ()) -> Any:
        """A processor of logits that leaves each row the tokens by which its answer can still become what it is to be.

        `schemas` has one a row; empty: nothing is asked of it. `answers` is told a row, the last of its new tokens,
        which begin at `start`, and how many they are, and says where the answer begins, None while there is none.
        `opening` are the tokens with which a row may open a thought instead of its answer; empty: it cannot, or is
        within one already. Within a thought nothing is asked of it.
        """
        import numpy
        import torch
        from transformers import LogitsProcessor

        matchers = [self._matcher(schema) if schema else None for schema in schemas]
        eaten = [0] * len(schemas)

        def nothing(vocabulary: int) -> Any:
            return numpy.zeros(vocabulary, dtype=bool)

        def permitted(matcher: Any, vocabulary: int) -> Any:
            bits = numpy.frombuffer(matcher.compute_bitmask(), dtype=numpy.uint8)
            return numpy.unpackbits(bits, bitorder="little")[:vocabulary].astype(bool)

        def forbid(scores: Any, row: int, allowed: Any) -> None:
            scores[row, ~torch.from_numpy(allowed).to(scores.device)] = -torch.inf

        class Holding(LogitsProcessor):  # type: ignore[misc, unused-ignore]
            def __call__(holder, input_ids: Any, scores: Any) -> Any:
                scores = scores.clone()
                for row, (last, length) in enumerate(newest(input_ids, start)):
                    matcher, begin = matchers[row], answers(row, last, length)
                    if matcher is None:
                        continue
                    if begin is None:
                        if length < len(opening) and last == list(opening[:length]):
                            allowed = permitted(matcher, scores.shape[1]) if length == 0 else nothing(scores.shape[1])
                            allowed[opening[length]] = True
                            forbid(scores, row, allowed)
                        continue
                    new = length - begin - eaten[row]  # one, but for the first token of an answer without a thought
                    if new and not matcher.is_stopped():
                        matcher.consume_tokens(last[-new:])
                    eaten[row] = length - begin
                    if matcher.is_stopped():
                        allowed = nothing(scores.shape[1])
                        allowed[self._end] = True
                    else:
                        allowed = permitted(matcher, scores.shape[1])
                    forbid(scores, row, allowed)
                return scores

        return Holding()
