"""Judges that their makers alone run: where they are asked, what they take, and what they cost; one row a family.

They are asked by their makers' own interfaces (`edit_eval.judges.chat_interfaces`). A row has what a family takes
differently: whether a temperature, how thinking is switched, and how much room a thought needs that cannot be
switched off. A model without a row of its own is asked as the last row of its maker says.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from edit_eval.json_values import JsonObject
from edit_eval.judges.chat_interfaces import GENERATE_CONTENT, MESSAGES, OPENAI, Chat, ChatInterface

BUDGET = "thinking_tokens"
"""Stands in a row for the number that this parameter has."""


@dataclass(frozen=True, kw_only=True)
class ClosedJudge:
    """A family of models."""

    models: str
    """`gemini-3.8-flash*`; `*` stands for anything."""
    price: tuple[float, float] | None = None
    """US dollars for a million tokens read and written; None: not in our table."""
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
    source: str
    date: str = "2026-11-28"

    @property
    def sent(self) -> JsonObject:
        """What decides the requests: whatever is not as in a row that says nothing."""
        usual = ClosedJudge(models="", source="")
        names = ("limited_by", "temperature", "usual", "off", "on", "room")
        return {name: value for name in names if (value := getattr(self, name)) != getattr(usual, name)}

    def fitted(self, chat: Chat, thinking: str | None, budget: int, room: int | None = None) -> Chat:
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
            settings=_joined(switch, chat.settings),
        )

    def switch(self, thinking: str | None, budget: int) -> JsonObject:
        """Returns what is sent to switch thinking."""
        row = self.on if thinking == "on" else (self.off or {}) if thinking == "off" else self.usual
        return _filled(row, budget)


@dataclass(frozen=True, kw_only=True)
class Maker:
    """Who runs them."""

    company: str
    address: str
    key: str
    """Environment variable with the key."""
    interface: ChatInterface
    training: str = ""
    """Keys whose requests may be trained on."""
    judges: tuple[ClosedJudge, ...]
    """The first that fits counts."""


def _filled(row: Mapping[str, Any], budget: int) -> JsonObject:
    return {
        name: _filled(value, budget) if isinstance(value, Mapping) else budget if value == BUDGET else value
        for name, value in row.items()
    }


def _joined(first: Mapping[str, Any], second: Mapping[str, Any]) -> JsonObject:
    """Returns both; where both have a mapping (Anthropic's `output_config`), its entries from both."""
    both = {name for name in first if isinstance(first[name], Mapping) and isinstance(second.get(name), Mapping)}
    return {**first, **second, **{name: {**first[name], **second[name]} for name in both}}


def _effort(level: str) -> JsonObject:
    return {"reasoning_effort": level}


def _level(level: str) -> JsonObject:
    return {"thinkingConfig": {"thinkingLevel": level}}


def _tokens(budget: int | str) -> JsonObject:
    return {"thinkingConfig": {"thinkingBudget": budget}}


def _claude(kind: str, effort: str = "") -> JsonObject:
    return {"thinking": {"type": kind}, **({"output_config": {"effort": effort}} if effort else {})}


_NONE, _LOW, _MEDIUM = _effort("none"), _effort("low"), _effort("medium")
_BY_BUDGET: JsonObject = {"thinking": {"type": "enabled", "budget_tokens": BUDGET}}
_PRICED = "prices: litellm 1.110.2, from the maker's page"
_GPT = f"developers.openai.com: using GPT-6 (no temperature unless the effort is none); {_PRICED}"
_GEMINI = f"ai.google.dev and docs.cloud.google.com: thinking levels, latest models (temperature is ignored); {_PRICED}"
_OLD_GEMINI = f"ai.google.dev: thinking, deprecations; {_PRICED}"
_CLAUDE = f"platform.claude.com: models, thinking, migration guides; {_PRICED}"
_ROOM = 4096

MAKERS: Mapping[str, Maker] = {
    "openai": Maker(
        company="OpenAI",
        address="https://api.openai.com/v1",
        key="OPENAI_API_KEY",
        interface=OPENAI,
        judges=(
            *(
                ClosedJudge(
                    models=models,
                    price=price,
                    limited_by="max_completion_tokens",
                    temperature="without thinking",
                    usual=_NONE,
                    off=_NONE,
                    on=_MEDIUM,
                    ends=ends,
                    source=_GPT,
                )
                for models, price, ends in (
                    ("gpt-6.1-terra*", (1.0, 5.0), ""),
                    ("gpt-6-sol*", (2.0, 10.0), ""),
                    ("gpt-6-luna*", (0.1, 0.5), ""),
                    ("gpt-5.6-terra*", (2.0, 12.0), ""),
                    ("gpt-5.6-luna*", (0.2, 1.2), ""),
                    ("gpt-5.6-sol*", (4.0, 20.0), ""),
                    ("gpt-5.6", (4.0, 20.0), ""),
                    ("gpt-5.5", (5.0, 30.0), ""),
                    ("gpt-5.5-20*", (5.0, 30.0), ""),
                    ("gpt-5.4-mini*", (0.75, 4.5), ""),
                    ("gpt-5.4-nano*", (0.2, 1.25), "2027-04-01"),
                    ("gpt-5.4", (2.5, 15.0), ""),
                    ("gpt-5.4-20*", (2.5, 15.0), ""),
                )
            ),
            *(
                ClosedJudge(
                    models=models,
                    price=price,
                    limited_by="max_completion_tokens",
                    temperature="not taken",
                    usual=_LOW,
                    off=None,
                    on=_MEDIUM,
                    room=_ROOM,
                    ends=ends,
                    source=_GPT,
                )
                for models, price, ends in (
                    ("gpt-6.1-sol*", (2.0, 10.0), ""),
                    ("gpt-6-astra*", (10.0, 50.0), ""),
                    ("gpt-5-mini*", (0.25, 2.0), "2026-12-11"),
                    ("gpt-5-nano*", (0.05, 0.4), "2026-12-11"),
                    ("gpt-5", (1.25, 10.0), "2026-12-11"),
                    ("gpt-[5-9]*", None, ""),
                )
            ),
            ClosedJudge(models="gpt-4.1", price=(2.0, 8.0), ends="2027-01-14", source=f"openai 3.54.0; {_PRICED}"),
            ClosedJudge(models="*", source="openai 3.54.0 types/chat/completion_create_params.py"),
        ),
    ),
    "gemini": Maker(
        company="Google",
        address="https://generativelanguage.googleapis.com/v1beta",
        key="GEMINI_API_KEY",
        interface=GENERATE_CONTENT,
        training="requests with a free key may be used for training",
        judges=(
            *(
                ClosedJudge(
                    models=models,
                    price=price,
                    temperature="not taken",
                    usual=_level(least),
                    off=None,
                    on=_level("HIGH"),
                    room=_ROOM,
                    ends=ends,
                    source=_GEMINI + more,
                )
                for models, price, least, ends, more in (
                    ("gemini-4-hydrogen*", (1.5, 7.5), "LOW", "", "; its levels second-hand"),
                    ("gemini-4-argon*", (2.0, 10.0), "LOW", "", "; its levels second-hand"),
                    ("gemini-3.8-flash", (0.75, 3.75), "LOW", "", "; twice as dear from 2027"),
                    ("gemini-3.7-flash", (0.75, 3.75), "LOW", "", "; twice as dear from 2027"),
                    ("gemini-3.6-flash", (0.75, 3.75), "MINIMAL", "", "; twice as dear from 2027"),
                    ("gemini-3.5-flash-lite*", (0.3, 2.5), "MINIMAL", "", ""),
                    ("gemini-3.5-flash", (1.5, 9.0), "MINIMAL", "", ""),
                    ("gemini-3.1-flash-lite", (0.25, 1.5), "MINIMAL", "2027-05-07", ""),
                    ("gemini-3-flash-preview", (0.5, 3.0), "MINIMAL", "", ""),
                    ("gemini-3.1-pro-preview*", (2.0, 12.0), "LOW", "", ""),
                )
            ),
            *(
                ClosedJudge(
                    models=models,
                    price=price,
                    usual=_tokens(0),
                    off=_tokens(0),
                    on=_tokens(BUDGET),
                    ends=ends,
                    source=_OLD_GEMINI,
                )
                for models, price, ends in (
                    ("gemini-2.5-flash-lite*", (0.1, 0.4), ""),
                    ("gemini-2.5-flash*", (0.3, 2.5), "2026-12-01"),
                )
            ),
            ClosedJudge(
                models="gemini-2.5-pro*",
                price=(1.25, 10.0),
                usual=_tokens(128),
                off=None,
                on=_tokens(BUDGET),
                room=_ROOM,
                ends="2026-12-01",
                source=_OLD_GEMINI,
            ),
            ClosedJudge(
                models="*",
                temperature="not taken",
                usual=_level("LOW"),
                off=None,
                on=_level("HIGH"),
                room=_ROOM,
                source=_GEMINI,
            ),
        ),
    ),
    "anthropic": Maker(
        company="Anthropic",
        address="https://api.anthropic.com/v1",
        key="ANTHROPIC_API_KEY",
        interface=MESSAGES,
        judges=(
            *(
                ClosedJudge(
                    models=models,
                    price=price,
                    temperature="not taken",
                    usual=_claude("adaptive", "low"),
                    off=None,
                    on=_claude("adaptive", "high"),
                    room=_ROOM,
                    source=_CLAUDE,
                )
                for models, price in (
                    ("claude-opus-5-5*", (4.0, 20.0)),
                    ("claude-fable-5*", (10.0, 50.0)),
                    ("claude-mythos-5*", (10.0, 50.0)),
                )
            ),
            *(
                ClosedJudge(
                    models=models,
                    price=price,
                    temperature="not taken",
                    usual=_claude(off) if off else {},
                    off=_claude(off) if off else {},
                    on=_claude("adaptive"),
                    source=_CLAUDE + more,
                )
                for models, price, off, more in (
                    ("claude-sonnet-5-5*", (2.0, 10.0), "between_tools", ""),
                    ("claude-haiku-5-5*", (0.1, 0.5), "disabled", "; five times as dear above 100,000 tokens read"),
                    ("claude-opus-5*", (5.0, 25.0), "disabled", ""),
                    ("claude-sonnet-5*", (2.0, 10.0), "disabled", ""),
                    ("claude-opus-4-[78]*", (5.0, 25.0), "", ""),
                )
            ),
            *(
                ClosedJudge(
                    models=models,
                    price=price,
                    temperature="without thinking",
                    on=on,
                    fewest=1024 if on is _BY_BUDGET else 1,
                    ends=ends,
                    source=_CLAUDE,
                )
                for models, price, on, ends in (
                    ("claude-opus-4-6*", (5.0, 25.0), _claude("adaptive"), ""),
                    ("claude-sonnet-4-6*", (3.0, 15.0), _claude("adaptive"), ""),
                    ("claude-opus-4-5*", (5.0, 25.0), _BY_BUDGET, ""),
                    ("claude-haiku-4-5*", (1.0, 5.0), _BY_BUDGET, ""),
                    ("claude-sonnet-4-5*", (3.0, 15.0), _BY_BUDGET, "2026-11-30"),
                )
            ),
            ClosedJudge(
                models="*", temperature="not taken", off=None, on=_claude("adaptive"), room=_ROOM, source=_CLAUDE
            ),
        ),
    ),
}


def address_of_maker(api: str) -> str:
    """Returns where a maker's judges are asked: as `GEMINI_BASE_URL` and its like say, else the maker's own address."""
    return os.environ.get(f"{api.upper()}_BASE_URL", "").rstrip("/") or MAKERS[api].address


def judge_of(api: str, model: str) -> ClosedJudge:
    """Returns the row of a maker's model."""
    return next(row for row in MAKERS[api].judges if fnmatch.fnmatchcase(model, row.models))


def way_of(api: str, model: str) -> str:
    """Returns what represents in keys how a maker's model is asked."""
    asked = [MAKERS[api].interface.name, judge_of(api, model).sent]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]


def cards_of_makers() -> list[dict[str, str]]:
    """Returns a card for each family of the table: what it costs and takes, and where that is from."""
    return [
        {
            "model_name": f"{api}/{row.models}",
            "token_price": "{:g}, {:g}".format(*row.price) if row.price else "",
            "temperature": row.temperature,
            "thinking": "always" if row.off is None else "on or off",
            "ends": row.ends,
            "source": f"{row.source} ({row.date})",
        }
        for api, maker in MAKERS.items()
        for row in maker.judges
    ]
