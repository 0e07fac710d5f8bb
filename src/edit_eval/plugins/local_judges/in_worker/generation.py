"""How a local judge generates its answer: where it ends, thoughts, sampling, schemas, and probabilities of labels."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

from edit_eval.errors import ModelError
from edit_eval.judges.answers import score_line
from edit_eval.records import OnStep

SCORE_LINE_TOKENS = 24
"""A complete score and its line's end take fewer tokens; the criterion stops looking after these."""


def stop_at_score(tokenizer: Any, start: int) -> Any:
    """Returns a stopping criterion that ends each row whose text, from token `start`, begins with a `score_line`.

    It waits for the end of the line: `7.500` may continue (`7.5001`, `7.500/10`), and a `1` may become `10.000`. A row
    that ends itself, as a bare answer should, ends no later.
    """
    import torch
    from transformers import StoppingCriteria

    class StopAtScore(StoppingCriteria):  # type: ignore[misc, unused-ignore]
        def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
            done = [False] * input_ids.shape[0]
            if input_ids.shape[1] - start <= SCORE_LINE_TOKENS:
                texts = [tokenizer.decode(row, skip_special_tokens=True) for row in input_ids[:, start:].tolist()]
                done = [score_line(text) is not None for text in texts]
            return torch.tensor(done, dtype=torch.bool, device=input_ids.device)

    return StopAtScore()


def report_tokens(on_step: OnStep, start: int, most: int) -> Any:
    """Returns a stopping criterion that ends nothing, and tells each token that is written: who writes is not hung."""
    import torch
    from transformers import StoppingCriteria

    class Telling(StoppingCriteria):  # type: ignore[misc, unused-ignore]
        def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
            on_step(input_ids.shape[1] - start, most)
            return torch.zeros(input_ids.shape[0], dtype=torch.bool, device=input_ids.device)

    return Telling()


def newest(input_ids: Any, start: int) -> list[tuple[list[int], int]]:
    """Returns for each row the last of its new tokens (`OPENING` of them, or all), and their number since `start`."""
    width = input_ids.shape[1]
    return [(row, width - start) for row in input_ids[:, max(start, width - OPENING) :].tolist()]


def budgets(progress: ThoughtProgress, start: int, limit: int, at_score: bool) -> Any:
    """Returns a stopping criterion that ends a thought at its own limit, and an answer `limit` tokens after it began.

    With `at_score` an answer also ends at its `score_line`. `ends` has for each row where it was ended, counted from
    token `start`, and whether the answer was complete then; None for one that ended itself.
    """
    import torch
    from transformers import StoppingCriteria

    class Budgets(StoppingCriteria):  # type: ignore[misc, unused-ignore]
        ends: list[tuple[int, bool] | None] = [None] * progress.rows

        def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
            for row, (last, length) in enumerate(newest(input_ids, start)):
                begin = progress.see(row, last, length)
                if self.ends[row] is None and (ended := self._check_end(row, last, length, begin)) is not None:
                    self.ends[row] = length, ended
            done = [end is not None for end in self.ends]
            return torch.tensor(done, dtype=torch.bool, device=input_ids.device)

        def _check_end(self, row: int, last: list[int], length: int, begin: int | None) -> bool | None:
            """Returns whether an answer that ends here is complete; None if it continues."""
            if begin is None:
                return False if progress.cut[row] else None
            if at_score and 0 < length - begin <= SCORE_LINE_TOKENS:
                text = progress.tokenizer.decode(last[begin - length :], skip_special_tokens=True)
                if score_line(text):
                    return True
            return False if length - begin >= limit else None

    return Budgets()


def force_beginnings(beginnings: Sequence[Sequence[int]], start: int, then: int) -> Any:
    """Returns a logits processor that makes each row begin with its tokens and continue with the token `then`."""
    import torch
    from transformers import LogitsProcessor

    class Forcing(LogitsProcessor):  # type: ignore[misc, unused-ignore]
        def __call__(self, input_ids: Any, scores: Any) -> Any:
            place = input_ids.shape[1] - start
            tokens = [row[place] if place < len(row) else then for row in beginnings]
            forced = torch.tensor(tokens, device=scores.device)[:, None]
            return torch.full_like(scores, -torch.inf).scatter(1, forced, 0.0)

    return Forcing()


# -- thoughts before an answer --
#
# A thought has a budget of its own. One that exceeds it is cut off and discarded: the model's answer is unknown. In a
# reply a thought is between `<think>` and `</think>`, even if its model uses other marks.

SWITCHES = ("enable_thinking", "thinking")
"""The chat templates' variable that switches thinking: Qwen's, Gemma's and GLM's; Kimi's."""

OPENING = 24
"""Tokens within which a model that opens its thought itself does so."""


def thinking_switch_of(template: str) -> str:
    """Returns the variable that switches thinking in a chat template; empty if it has none."""
    return next((name for name in SWITCHES if re.search(rf"(?<![\w.'\"]){name}(?![\w'\"])", template)), "")


@dataclass(frozen=True)
class Marks:
    """The marks before and after a thought."""

    opens: str = "<think>"
    closes: str = "</think>"

    def is_open(self, prompt: str) -> bool:
        """True if a prompt ends within a thought, so that the model continues it."""
        return prompt.rfind(self.opens) > prompt.rfind(self.closes)


@dataclass
class ThoughtProgress:
    """Tracks for each row of a batch whether it is in its thought or its answer. Fed with the tokens one by one."""

    tokenizer: Any
    marks: Marks
    opened: bool
    """True if the prompt ends within a thought."""
    thinking_tokens: int
    rows: int
    answers: list[int | None] = field(default_factory=list)
    """For each row where its answer begins, counted from the first new token; None while it thinks."""
    cut: list[bool] = field(default_factory=list)
    """True for rows whose thought used up its budget."""
    opening: tuple[int, ...] = ()
    """The tokens with which a row may open a thought; empty if the prompt ends within one."""

    def __post_init__(self) -> None:
        self._closes = self.tokenizer.encode(self.marks.closes, add_special_tokens=False)
        if not self.opened:
            self.opening = tuple(self.tokenizer.encode(self.marks.opens, add_special_tokens=False))
        self.answers, self.cut = [None] * self.rows, [False] * self.rows

    def see(self, row: int, last: Sequence[int], length: int) -> int | None:
        """Looks at the `last` (`OPENING`, or all) of a row's `length` new tokens; returns where its answer begins."""
        if self.answers[row] is None and not self.cut[row]:
            if list(last[-len(self._closes) :]) == self._closes:
                self.answers[row] = length
            elif not self.opened and 0 < length <= OPENING and not self._may_open(last):
                self.answers[row] = 0
            elif length >= self.thinking_tokens:
                self.cut[row] = True
        return self.answers[row]

    def _may_open(self, tokens: Sequence[int]) -> bool:
        text = self.tokenizer.decode(tokens).lstrip()
        return text.startswith(self.marks.opens) or self.marks.opens.startswith(text)

    def thought(self, tokens: Sequence[int]) -> str:
        """Returns the words of a thought, without its marks."""
        text: str = self.tokenizer.decode(tokens)
        return text.lstrip().removeprefix(self.marks.opens).removesuffix(self.marks.closes)


# -- sampled answers that are the same each time: in any batch, in any process --


def draw_tokens(seeds: Sequence[int], temperature: float) -> Any:
    """Returns a logits processor that draws each row's next token and leaves no other, for a greedy `generate`.

    Row i has its own generator on the CPU with seed i, which gives one number per token: the token is where the
    cumulative softmax of the logits over `temperature`, in the vocabulary's order, exceeds it.
    """
    import torch
    from transformers import LogitsProcessor

    generators = [torch.Generator("cpu").manual_seed(seed) for seed in seeds]

    class Drawing(LogitsProcessor):  # type: ignore[misc, unused-ignore]
        def __call__(self, input_ids: Any, scores: Any) -> Any:
            drawn = [torch.rand(1, dtype=torch.float64, generator=generator) for generator in generators]
            summed = (scores.double() / temperature).softmax(-1).cumsum(-1)
            place = torch.stack(drawn).to(scores.device) * summed[:, -1:]  # the sum may be slightly off 1
            token = torch.searchsorted(summed, place, right=True).clamp(max=scores.shape[1] - 1)
            return torch.full_like(scores, -torch.inf).scatter(1, token, 0.0)

    return Drawing()


# -- answers constrained to a JSON schema while they are written, by llguidance if it is installed --
#
# Of the libraries for it, this one does not depend on a certain torch, has one wheel for all versions of Python and is
# also behind vLLM's and SGLang's structured outputs. The protocol still checks the result.

GRAMMAR_LIBRARY = "llguidance"
JSON_WHITESPACE = r"( |\n {0,8})?"
"""Between the parts of an object. Without a bound, a model may write spaces until its limit."""


def grammar_library_version() -> str:
    """Returns the version of the library; empty if it is not installed."""
    try:
        return metadata.version(GRAMMAR_LIBRARY)
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
        except Exception as error:  # it may be raised from Rust
            reason = " ".join(str(error).split())[:200]
            raise ModelError(
                f"{GRAMMAR_LIBRARY} cannot read this judge's tokenizer ({reason}): set enforce_schema to false"
            ) from error
        self._matchers: dict[str, Any] = {}

    def check(self, schema: str) -> None:
        """Raises `ModelError` for a schema that cannot be enforced."""
        self._matcher(schema)

    def _matcher(self, schema: str) -> Any:
        if schema not in self._matchers:
            options: Any = {"whitespace_pattern": JSON_WHITESPACE}
            grammar = self._library.LLMatcher.grammar_from_json_schema(json.loads(schema), overrides=options)
            matcher = self._library.LLMatcher(self._tokenizer, grammar)
            if matcher.is_error():
                raise ModelError(
                    f"the answer cannot be held to its schema: {' '.join(matcher.get_error().split())[:200]}"
                )
            self._matchers[schema] = matcher
        return self._matchers[schema].deep_copy()

    def constrain_rows(self, schemas: Sequence[str], start: int, answers: Answers, opening: Sequence[int] = ()) -> Any:
        """Returns a logits processor that leaves each row only tokens with which its answer can still fit its schema.

        `schemas` has one per row; an empty one does not constrain it. `answers` is called with a row, the last of its
        new tokens, which begin at `start`, and their number, and returns where the answer begins, None if it has not.
        `opening` are the tokens with which a row may open a thought instead of its answer; empty if it cannot, or is
        within one already. Thoughts are not constrained.
        """
        import numpy
        import torch
        from transformers import LogitsProcessor

        matchers = [self._matcher(schema) if schema else None for schema in schemas]
        eaten = [0] * len(schemas)

        def nothing(vocabulary: int) -> Any:
            return numpy.zeros(vocabulary, dtype=bool)

        def unpack_bitmask(matcher: Any, vocabulary: int) -> Any:
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
                            allowed = (
                                unpack_bitmask(matcher, scores.shape[1]) if length == 0 else nothing(scores.shape[1])
                            )
                            allowed[opening[length]] = True
                            forbid(scores, row, allowed)
                        continue
                    new = length - begin - eaten[row]  # one, except for the first token of an answer without a thought
                    if new and not matcher.is_stopped():
                        matcher.consume_tokens(last[-new:])
                    eaten[row] = length - begin
                    if matcher.is_stopped():
                        allowed = nothing(scores.shape[1])
                        allowed[self._end] = True
                    else:
                        allowed = unpack_bitmask(matcher, scores.shape[1])
                    forbid(scores, row, allowed)
                return scores

        return Holding()


# -- how likely each legal answer is, read off the logits of a model that writes nothing --
#
# For each label: the product of the probabilities of its tokens, each over the whole vocabulary and after those before
# it (teacher forcing), for the label as it is and with a leading space, if that gives other tokens, and after anything
# the judge's family may put before an answer. So labels of several tokens, and labels that share their first, are read
# correctly.
#
# If no label is the beginning of another, this is the probability that the answer begins with the label. Else (`1` and
# `10`) every label of the question is followed by the end of the answer, and the probability is that of the whole
# answer: with the end required of some labels only, these would lose what the judge likes to add to any.
#
# transformers has a `DecisionPipeline` for such questions. It reads labels of one token, one question at a time and not
# in batches, and divides by the sum over the labels, which hides whether the judge wanted to say one of them at all.
#
# A pass reads the prompts of a batch and, for each, the distributions along one row of tokens. Labels of one token
# (`A`, `7`, `Yes`) take one pass; others take one for each further place where labels part, but for places that are
# less likely than `LEAST_LIKELY`: the levels 1 to 10 take up to eleven, the levels 0 to 9 one.

TokenRow = tuple[int, ...]
LEAST_LIKELY = 1e-7
"""A label that begins with something less likely has probability 0."""
LABEL_TAIL = 64
"""Characters of the prompt's end that are considered when a label after it is tokenised."""


class Labels:
    """The labels of one question as tokenised after its prompt, and what is known about them so far."""

    def __init__(
        self,
        tokenizer: Any,
        prompt: str,
        labels: Sequence[str],
        ends: Sequence[int],
        openings: Sequence[str] = (),
        closings: Sequence[str] = (),
    ) -> None:
        """`ends` are the tokens that end an answer.

        `openings` and `closings` are texts of tokens of their own: any of the first may precede an answer, any of the
        second end it, and neither is part of it.
        """
        written = [tuple(tokenizer.encode(text, add_special_tokens=False)) for text in openings]
        closing = [tokenizer.encode(text, add_special_tokens=False) for text in closings]
        self.ends = (*ends, *(tokens[0] for tokens in closing if len(tokens) == 1))
        self.paths = {
            label: tuple(
                dict.fromkeys(
                    (*opening, *path)
                    for path in _paths(tokenizer, prompt[-LABEL_TAIL:], label)
                    for opening in ((), *written)
                )
            )
            for label in labels
        }
        owners: dict[TokenRow, str] = {}
        for label, paths in self.paths.items():
            for path in paths:
                if owners.setdefault(path, label) != label:
                    raise ModelError(
                        f"the labels `{owners[path]}` and `{label}` are the same to this judge's tokenizer"
                    )
        self.whole = any(path[:length] in owners for path in owners for length in range(1, len(path)))
        """True if the end of the answer counts."""
        self._next: dict[TokenRow, set[int]] = {}
        for path in owners:
            for place in range(len(path)):
                self._next.setdefault(path[:place], set()).add(path[place])
            if self.whole:
                self._next.setdefault(path, set()).update(self.ends)
        self._known: dict[TokenRow, dict[int, float]] = {}  # context -> token -> log probability

    def find_open_context(self) -> TokenRow | None:
        """Returns the longest likely row of tokens whose continuation is still needed; None if there is none."""
        open_ = [context for context in self._next if context not in self._known and self._likely(context)]
        return max(open_, key=len, default=None)

    def _likely(self, context: TokenRow) -> bool:
        known = [self._known[context[:k]][context[k]] for k in range(len(context)) if context[:k] in self._known]
        return math.fsum(known) >= math.log(LEAST_LIKELY)

    def learn(self, context: TokenRow, distributions: Sequence[Any]) -> None:
        """Takes the log probabilities after each beginning of `context`: tensors (vocabulary)."""
        for length, distribution in enumerate(distributions[: len(context) + 1]):
            before = context[:length]
            if before in self._next and before not in self._known:
                tokens = sorted(self._next[before])
                self._known[before] = dict(zip(tokens, distribution[tokens].tolist(), strict=True))

    def probabilities(self) -> dict[str, float]:
        """Returns each label's probability over all possible answers."""
        return {label: math.fsum(map(self._probability, paths)) for label, paths in self.paths.items()}

    def _probability(self, path: TokenRow) -> float:
        steps = [self._known.get(path[:place], {}).get(token, -math.inf) for place, token in enumerate(path)]
        share = math.exp(math.fsum(steps)) if -math.inf not in steps else 0.0
        if not self.whole or not share:
            return share
        behind = self._known.get(path, {})
        return share * math.fsum(math.exp(behind.get(end, -math.inf)) for end in self.ends)


def _paths(tokenizer: Any, tail: str, label: str) -> tuple[TokenRow, ...]:
    """Returns the token rows that write a label after `tail`. Raises `ModelError` if there are none."""
    before = tokenizer.encode(tail, add_special_tokens=False)
    paths = []
    for spelling in (label, f" {label}"):
        tokens = tokenizer.encode(tail + spelling, add_special_tokens=False)
        if tokens[: len(before)] == before:
            tokens = tokens[len(before) :]
        else:  # the tokenizer would merge the label's beginning with the prompt's end, which is already fixed
            tokens = tokenizer.encode(spelling, add_special_tokens=False)
        written = tokenizer.decode(tokens, skip_special_tokens=True)
        if tokens and written.strip() == label.strip() and label.strip():
            paths.append(tuple(tokens))
    if not paths:
        raise ModelError(f"the label `{label}` cannot be written with this judge's tokenizer; use another word for it")
    return tuple(dict.fromkeys(paths))


def label_probabilities(
    labels: Sequence[Labels], ask: Callable[[Sequence[TokenRow]], Sequence[Any]]
) -> list[dict[str, float]]:
    """Returns for each question of a batch the probabilities of its labels.

    `ask` gets for each row the tokens that its answer is to begin with. It returns for each place, from before the
    first of them on, the log probabilities of the next token: a tensor (rows, vocabulary).
    """
    while True:
        wanted = [label.find_open_context() for label in labels]
        if all(context is None for context in wanted):
            return [label.probabilities() for label in labels]
        contexts = [context or () for context in wanted]
        distributions = ask(contexts)
        for row, label in enumerate(labels):
            label.learn(contexts[row], [step[row] for step in distributions])
