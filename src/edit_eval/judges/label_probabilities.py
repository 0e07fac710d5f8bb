"""How likely each legal answer is, read off the logits of a model that writes nothing.

For each label: the product of the probabilities of its tokens, each over the whole vocabulary and after those before
it (teacher forcing), for the label as it is and with a space in front, where that is another row of tokens, and behind
what the family of the judge may put before any answer. So labels of several tokens, and labels that share their first,
are read rightly.

Where no label is the beginning of another this is the probability that the answer begins with the label. Else (`1` and
`10`) every label of the question is followed by the end of the answer, and the probability is that of the whole
answer: with the end asked of some labels only, these would have less than the others for what the judge adds to any.

transformers has a `DecisionPipeline` for such questions. It reads labels of one token, one question at a time and not
in batches, and divides by the sum over the labels: nobody learns whether the judge wanted to say one of them at all.

A pass reads the prompts of a batch and, for each, the distributions along one row of tokens. Labels of one token (`A`,
`7`, `Yes`) take one pass; others take one for each further place where labels part, but for places that are less
likely than `LEAST`: the levels 1 to 10 take up to eleven, the levels 0 to 9 one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from edit_eval.errors import ModelError

Tokens = tuple[int, ...]
LEAST = 1e-7
"""A label that begins with something less likely has the probability 0."""
TAIL = 64
"""Characters of the prompt's end that are looked at for how a label is cut into tokens behind it."""


class Labels:
    """The labels of one question as a tokenizer writes them behind its prompt, and what is known of them so far."""

    def __init__(
        self,
        tokenizer: Any,
        prompt: str,
        labels: Sequence[str],
        ends: Sequence[int],
        openings: Sequence[str] = (),
        closings: Sequence[str] = (),
    ) -> None:
        """`ends` are the tokens that end an answer. `openings` and `closings` are texts of tokens of their own: any of
        the first may stand before an answer, and any of the second end it, and are no part of it."""
        written = [tuple(tokenizer.encode(text, add_special_tokens=False)) for text in openings]
        closing = [tokenizer.encode(text, add_special_tokens=False) for text in closings]
        self.ends = (*ends, *(tokens[0] for tokens in closing if len(tokens) == 1))
        self.paths = {
            label: tuple(
                dict.fromkeys(
                    (*opening, *path) for path in _paths(tokenizer, prompt[-TAIL:], label) for opening in ((), *written)
                )
            )
            for label in labels
        }
        owners: dict[Tokens, str] = {}
        for label, paths in self.paths.items():
            for path in paths:
                if owners.setdefault(path, label) != label:
                    raise ModelError(
                        f"the labels `{owners[path]}` and `{label}` are the same to this judge's tokenizer"
                    )
        self.whole = any(path[:length] in owners for path in owners for length in range(1, len(path)))
        """Whether the end of the answer counts."""
        self._next: dict[Tokens, set[int]] = {}
        for path in owners:
            for place in range(len(path)):
                self._next.setdefault(path[:place], set()).add(path[place])
            if self.whole:
                self._next.setdefault(path, set()).update(self.ends)
        self._known: dict[Tokens, dict[int, float]] = {}  # context -> token -> logarithm of its probability

    def wanted(self) -> Tokens | None:
        """The longest row of tokens behind which nothing is known and that is likely enough to matter; None: none."""
        open_ = [context for context in self._next if context not in self._known and self._likely(context)]
        return max(open_, key=len, default=None)

    def _likely(self, context: Tokens) -> bool:
        known = [self._known[context[:k]][context[k]] for k in range(len(context)) if context[:k] in self._known]
        return math.fsum(known) >= math.log(LEAST)

    def learn(self, context: Tokens, distributions: Sequence[Any]) -> None:
        """Takes the logarithms of probabilities behind each beginning of `context`: tensors (vocabulary)."""
        for length, distribution in enumerate(distributions[: len(context) + 1]):
            before = context[:length]
            if before in self._next and before not in self._known:
                tokens = sorted(self._next[before])
                self._known[before] = dict(zip(tokens, distribution[tokens].tolist(), strict=True))

    def probabilities(self) -> dict[str, float]:
        """For each label its probability, over all that could be answered."""
        return {label: math.fsum(map(self._probability, paths)) for label, paths in self.paths.items()}

    def _probability(self, path: Tokens) -> float:
        steps = [self._known.get(path[:place], {}).get(token, -math.inf) for place, token in enumerate(path)]
        share = math.exp(math.fsum(steps)) if -math.inf not in steps else 0.0
        if not self.whole or not share:
            return share
        behind = self._known.get(path, {})
        return share * math.fsum(math.exp(behind.get(end, -math.inf)) for end in self.ends)


def _paths(tokenizer: Any, tail: str, label: str) -> tuple[Tokens, ...]:
    """The rows of tokens that write a label behind `tail`. Raises `ModelError` where there is none."""
    before = tokenizer.encode(tail, add_special_tokens=False)
    found = []
    for spelling in (label, f" {label}"):
        tokens = tokenizer.encode(tail + spelling, add_special_tokens=False)
        if tokens[: len(before)] == before:
            tokens = tokens[len(before) :]
        else:  # the tokenizer would join the label's beginning with the prompt's end, which is there already
            tokens = tokenizer.encode(spelling, add_special_tokens=False)
        written = tokenizer.decode(tokens, skip_special_tokens=True)
        if tokens and written.strip() == label.strip() and label.strip():
            found.append(tuple(tokens))
    if not found:
        raise ModelError(f"the label `{label}` cannot be written with this judge's tokenizer; use another word for it")
    return tuple(dict.fromkeys(found))


def read(labels: Sequence[Labels], ask: Callable[[Sequence[Tokens]], Sequence[Any]]) -> list[dict[str, float]]:
    """For each question of a batch the probabilities of its labels.

    `ask` is given for each row the tokens that its answer is to begin with. It returns for each place, from before the
    first of them on, the logarithms of the probabilities of what comes there: a tensor (rows, vocabulary).
    """
    while True:
        wanted = [one.wanted() for one in labels]
        if all(context is None for context in wanted):
            return [one.probabilities() for one in labels]
        contexts = [context or () for context in wanted]
        distributions = ask(contexts)
        for row, one in enumerate(labels):
            one.learn(contexts[row], [step[row] for step in distributions])
