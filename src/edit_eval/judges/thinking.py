"""Thoughts before an answer: how a chat template is told, where a thought ends, and what it may cost.

A thought has a budget of its own. One that uses it up is cut off there, and nothing is made of it: what a model would
have answered is not known. In a reply a thought stands between `<think>` and `</think>`, whatever marks its model has.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

SWITCHES = ("enable_thinking", "thinking")
"""What chat templates call the variable that switches thinking: Qwen's, Gemma's and GLM's; Kimi's."""

OPENING = 24
"""Tokens within which a model that opens its thought itself does so."""


def switch_in(template: str) -> str:
    """The variable by which a chat template switches thinking; empty where it has none."""
    return next((name for name in SWITCHES if re.search(rf"(?<![\w.'\"]){name}(?![\w'\"])", template)), "")


@dataclass(frozen=True)
class Marks:
    """What stands before and behind a thought."""

    opens: str = "<think>"
    closes: str = "</think>"

    def is_open(self, prompt: str) -> bool:
        """Whether a prompt ends within a thought, so that the model goes on with it."""
        return prompt.rfind(self.opens) > prompt.rfind(self.closes)


@dataclass
class ThoughtProgress:
    """How far each row of a batch is: in its thought, or in its answer. Fed with the tokens one by one."""

    tokenizer: Any
    marks: Marks
    opened: bool
    """The prompt ends within a thought."""
    thinking_tokens: int
    rows: int
    answers: list[int | None] = field(default_factory=list)
    """For each row where its answer begins, counted from the first new token; None while it thinks."""
    cut: list[bool] = field(default_factory=list)
    """The rows whose thought used up its budget."""
    opening: tuple[int, ...] = ()
    """The tokens by which a row may open a thought; empty where the prompt ends within one."""

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
        """The words of a thought, without its marks."""
        text: str = self.tokenizer.decode(tokens)
        return text.lstrip().removeprefix(self.marks.opens).removesuffix(self.marks.closes)
