"""Judges that their makers alone run: where they are asked, what they take, and what they cost.

They are asked by their makers' own interfaces (`chat_interfaces`). A row of `closed.yaml` has what a family takes
differently: whether a temperature, how thinking is switched, and how much room a thought needs that cannot be switched
off. A model without a row of its own is asked as the last row of its maker says.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from edit_eval.json_values import JsonObject
from edit_eval.plugins.endpoints.in_worker.chat_interfaces import (
    GENERATE_CONTENT,
    MESSAGES,
    OPENAI,
    Chat,
    ChatInterface,
)
from edit_eval.plugins.endpoints.in_worker.closed_models import find_row, rows_of

BUDGET = "thinking_tokens"
"""Stands in a row for the number that this parameter has."""


@dataclass(frozen=True, kw_only=True)
class ClosedJudge:
    """A family of models."""

    model: str
    """`gemini/gemini-3.8-flash*`; `*` stands for anything."""
    price: Sequence[float] | None = None
    """US dollars for a million tokens read and written; None: not known."""
    limited_by: str = ""
    """The field that limits an answer; empty: the interface's usual one."""
    temperature: Literal["taken", "without thinking", "not taken"] = "taken"
    """Whether one may be sent; `not taken` includes models that ignore it."""
    usual: Mapping[str, Any] = field(default_factory=dict)
    """Sent unless thinking is switched: the least thinking there is."""
    off: Mapping[str, Any] | None = field(default_factory=dict)
    """Sent with `thinking: off`; None: it cannot be switched off."""
    on: Mapping[str, Any] = field(default_factory=dict)
    """Sent with `thinking: on`."""
    fewest: int = 1
    """The least that `thinking_tokens` may be with `thinking: on`."""
    room: int = 0
    """Tokens added to the limit for a thought that comes even so."""
    ends: str = ""
    """The day on which it is switched off."""
    note: str = ""
    source: str
    seen: str
    """The day on which the source was read."""

    @property
    def sent(self) -> JsonObject:
        """What decides the requests: whatever is not as in a row that says nothing."""
        usual = ClosedJudge(model="", source="", seen="")
        names = ("limited_by", "temperature", "usual", "off", "on", "room")
        return {name: value for name in names if (value := getattr(self, name)) != getattr(usual, name)}

    def adapt_chat(self, chat: Chat, thinking: str | None, budget: int, room: int | None = None) -> Chat:
        """Returns a chat as these models take it; `budget` is what `thinking_tokens` says.

        `room`: the most tokens added for a thought; None: what the row says.
        """
        thinks = thinking == "on" or (thinking is None and bool(self.room))
        switch = self.switch(thinking, budget)
        drawn = self.temperature == "taken" or (self.temperature == "without thinking" and not thinks)
        limit, more = chat.limit, self.room if room is None else min(room, self.room)
        return dataclasses.replace(
            chat,
            limit=None if limit is None else limit + more * (thinking is None),
            limited_by=self.limited_by,
            temperature=chat.temperature if drawn else None,
            seed=chat.seed if drawn else None,
            settings=_merge_settings(switch, chat.settings),
        )

    def switch(self, thinking: str | None, budget: int) -> JsonObject:
        """Returns what is sent to switch thinking."""
        row = self.on if thinking == "on" else (self.off or {}) if thinking == "off" else self.usual
        return _fill_budget(row, budget)


@dataclass(frozen=True)
class Maker:
    """Who runs them."""

    company: str
    address: str
    key: str
    """Environment variable with the key."""
    interface: ChatInterface
    training: str = ""
    """Keys whose requests may be trained on."""


def _fill_budget(row: Mapping[str, Any], budget: int) -> JsonObject:
    return {
        name: _fill_budget(value, budget) if isinstance(value, Mapping) else budget if value == BUDGET else value
        for name, value in row.items()
    }


def _merge_settings(first: Mapping[str, Any], second: Mapping[str, Any]) -> JsonObject:
    """Returns both; where both have a mapping (Anthropic's `output_config`), its entries from both."""
    both = {name for name in first if isinstance(first[name], Mapping) and isinstance(second.get(name), Mapping)}
    return {**first, **second, **{name: {**first[name], **second[name]} for name in both}}


MAKERS: Mapping[str, Maker] = {
    "openai": Maker("OpenAI", "https://api.openai.com/v1", "OPENAI_API_KEY", OPENAI),
    "gemini": Maker(
        "Google",
        "https://generativelanguage.googleapis.com/v1beta",
        "GEMINI_API_KEY",
        GENERATE_CONTENT,
        "requests with a free key may be used for training",
    ),
    "anthropic": Maker("Anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", MESSAGES),
}


def address_of_maker(api: str) -> str:
    """Returns where a maker's judges are asked: as `GEMINI_BASE_URL` and its like say, else the maker's own address."""
    return os.environ.get(f"{api.upper()}_BASE_URL", "").rstrip("/") or MAKERS[api].address


def judge_of(api: str, model: str) -> ClosedJudge:
    """Returns what is known of a maker's model."""
    return ClosedJudge(**find_row("judges", f"{api}/{model}"))


def way_of(api: str, model: str) -> str:
    """Returns what represents in keys how a maker's model is asked."""
    asked = [MAKERS[api].interface.name, judge_of(api, model).sent]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]


def cards_of_makers() -> list[dict[str, str]]:
    """Returns a card for each row: what it costs and takes, and where that is from."""
    return [
        {
            "model_name": row.model,
            "token_price": "{:g}, {:g}".format(*row.price) if row.price else "",
            "temperature": row.temperature,
            "thinking": "always" if row.off is None else "on or off",
            "ends": row.ends,
            "source": "; ".join(filter(None, (f"{row.source} ({row.seen})", row.note))),
        }
        for row in (ClosedJudge(**said) for said in rows_of("judges"))
    ]
