"""What settings that are `auto` come to on a machine: each value with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from edit_eval.json_values import JsonObject
from edit_eval.text import Text

CONFIGURED = Text("set in the configuration")

T = TypeVar("T")


@dataclass(frozen=True)
class Choice(Generic[T]):
    """One setting of `execution`, with its reason."""

    setting: str
    value: T
    reason: str
    automatic: bool = True
    weighed: bool = True
    """True if a run says it: something was weighed, or holds the run back. Doctor, plan and records have all."""

    @property
    def sentence(self) -> str:
        """One line for people."""
        value = Text("no limit") if self.value is None else self.value
        return Text("{}: auto is {} here: {}", self.setting, value, self.reason)


@dataclass(frozen=True)
class Choices:
    """The settings that depend on memory."""

    placement: Choice[str]
    """`swap` or `together`."""
    load_concurrency: Choice[int | None]
    """How many replicas load at once; None is no limit."""

    @property
    def _both(self) -> tuple[Choice[Any], ...]:
        return (self.placement, self.load_concurrency)

    @property
    def sentences(self) -> list[str]:
        """One line for each setting that was not configured."""
        return [choice.sentence for choice in self._both if choice.automatic]

    @property
    def start_sentences(self) -> list[str]:
        """Those that a run says at its start."""
        return [choice.sentence for choice in self._both if choice.automatic and choice.weighed]

    def as_plain(self) -> JsonObject:
        """`{setting: {"value": ..., "reason": ...}}`, for the records."""
        return {choice.setting: {"value": choice.value, "reason": choice.reason} for choice in self._both}
