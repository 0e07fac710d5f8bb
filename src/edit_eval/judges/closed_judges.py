"""Judges that their makers alone run: where they are asked, what they take, and what they cost; one row a family.

They are asked over their makers' layers of the OpenAI chat protocol. A row has what differs from that protocol: which
fields are refused, how thinking is switched, and how much room a thought needs that cannot be switched off.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class ClosedJudge:
    """A family of models."""

    models: str
    """`gemini-3.8-flash*`; `*` stands for anything."""
    price: tuple[float, float] | None = None
    """US dollars for a million tokens read and written; None: not in our table."""
    limit: str = "max_tokens"
    """The field that limits an answer."""
    temperature: bool = True
    """False if it is refused."""
    usual: Mapping[str, Any] = field(default_factory=dict)
    """Sent unless thinking is switched: the least thinking there is."""
    off: Mapping[str, Any] | None = field(default_factory=dict)
    """Sent with `thinking: off`; None: it cannot be switched off."""
    on: Mapping[str, Any] = field(default_factory=dict)
    """Sent with `thinking: on`."""
    room: int = 0
    """Tokens added to the limit for a thought that comes even so."""
    source: str
    date: str = "2026-11-24"

    @property
    def revision(self) -> str:
        """Represents what the row sends in keys."""
        row = {name: value for name, value in asdict(self).items() if name not in ("price", "source", "date", "models")}
        return hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()[:16]

    def fitted(self, body: dict[str, Any], thinking: str | None, own: Mapping[str, Any]) -> dict[str, Any]:
        """Returns a request as these models take it; fields of the user's `own` stay as they are."""
        body = dict(body)
        if not self.temperature and "temperature" not in own:
            body.pop("temperature", None)
            body.pop("seed", None)
        if (limit := body.pop("max_tokens", None)) is not None:
            body[self.limit] = limit + self.room * (thinking != "on")
        switch = self.switch(thinking)
        return {**body, **{name: value for name, value in switch.items() if name not in own}}

    def switch(self, thinking: str | None) -> Mapping[str, Any]:
        """Returns what is sent to switch thinking."""
        return self.on if thinking == "on" else (self.off or {}) if thinking == "off" else self.usual


@dataclass(frozen=True, kw_only=True)
class Maker:
    """Who runs them."""

    address: str
    key: str
    """Environment variable with the key."""
    judges: tuple[ClosedJudge, ...]
    """The first that fits counts."""


_ADAPTIVE = {"thinking": {"type": "adaptive"}}
_DISABLED = {"thinking": {"type": "disabled"}}
_LOW, _HIGH = {"reasoning_effort": "low"}, {"reasoning_effort": "high"}
_CLAUDE = "platform.claude.com: OpenAI SDK compatibility, migration guides of Opus 4.7, 5 and 5.5, pricing"
_GEMINI = "ai.google.dev: OpenAI compatibility, Gemini 3 thinking levels, pricing; models.dev"

MAKERS: Mapping[str, Maker] = {
    "openai": Maker(
        address="https://api.openai.com/v1",
        key="OPENAI_API_KEY",
        judges=(
            ClosedJudge(
                models="gpt-5.4-mini*",
                price=(0.75, 4.5),
                limit="max_completion_tokens",
                temperature=False,
                usual={"reasoning_effort": "none"},
                off={"reasoning_effort": "none"},
                on={"reasoning_effort": "medium"},
                source="openrouter.ai and vercel.com for the price; openai 3.54.0 for the fields",
            ),
            ClosedJudge(
                models="gpt-5.5",
                price=(5.0, 30.0),
                limit="max_completion_tokens",
                temperature=False,
                usual={"reasoning_effort": "none"},
                off={"reasoning_effort": "none"},
                on={"reasoning_effort": "medium"},
                source="apidog.com for the price; openai 3.54.0 for the fields",
            ),
            ClosedJudge(
                models="gpt-5*",
                limit="max_completion_tokens",
                temperature=False,
                usual=_LOW,
                off=None,
                on={"reasoning_effort": "medium"},
                room=4096,
                source="openai 3.54.0: max_tokens and temperature are refused, low is understood by all",
            ),
            ClosedJudge(models="*", source="openai 3.54.0 types/chat/completion_create_params.py"),
        ),
    ),
    "gemini": Maker(
        address="https://generativelanguage.googleapis.com/v1beta/openai",
        key="GEMINI_API_KEY",
        judges=(
            ClosedJudge(
                models="gemini-3.[678]-flash*",
                price=(0.75, 3.75),
                usual=_LOW,
                off=None,
                on=_HIGH,
                room=4096,
                source=f"{_GEMINI}: twice as dear from 2027",
            ),
            ClosedJudge(
                models="gemini-3.5-flash-lite*",
                price=(0.3, 2.5),
                usual=_LOW,
                off=None,
                on=_HIGH,
                room=4096,
                source=_GEMINI,
            ),
            ClosedJudge(
                models="gemini-3.1-pro*", price=(2.0, 12.0), usual=_LOW, off=None, on=_HIGH, room=4096, source=_GEMINI
            ),
            ClosedJudge(
                models="gemini-2.5-flash*",
                price=(0.3, 2.5),
                usual={"reasoning_effort": "none"},
                off={"reasoning_effort": "none"},
                on={"reasoning_effort": "medium"},
                source=_GEMINI,
            ),
            ClosedJudge(models="*", usual=_LOW, off=None, on=_HIGH, room=4096, source=_GEMINI),
        ),
    ),
    "anthropic": Maker(
        address="https://api.anthropic.com/v1",
        key="ANTHROPIC_API_KEY",
        judges=(
            ClosedJudge(
                models="claude-opus-5-5*", price=(4.0, 20.0), temperature=False, off=None, room=4096, source=_CLAUDE
            ),
            ClosedJudge(
                models="claude-opus-5*",
                price=(5.0, 25.0),
                temperature=False,
                usual=_DISABLED,
                off=_DISABLED,
                on=_ADAPTIVE,
                source=_CLAUDE,
            ),
            ClosedJudge(
                models="claude-opus-4-[78]*", price=(5.0, 25.0), temperature=False, on=_ADAPTIVE, source=_CLAUDE
            ),
            ClosedJudge(models="claude-opus-4-[56]*", price=(5.0, 25.0), on=_ADAPTIVE, source=_CLAUDE),
            ClosedJudge(
                models="claude-sonnet-5*",
                temperature=False,
                usual=_DISABLED,
                off=_DISABLED,
                on=_ADAPTIVE,
                source=_CLAUDE,
            ),
            ClosedJudge(models="*", on=_ADAPTIVE, source=_CLAUDE),
        ),
    ),
}


def address_of_maker(api: str) -> str:
    """Returns where a maker's judges are asked: as `GEMINI_BASE_URL` and its like say, else the maker's own address."""
    own, moved = MAKERS[api].address, os.environ.get(f"{api.upper()}_BASE_URL", "").rstrip("/")
    return own if not moved else f"{moved}/openai" if own.endswith("/openai") else moved


def judge_of(api: str, model: str) -> ClosedJudge:
    """Returns the row of a maker's model."""
    return next(row for row in MAKERS[api].judges if fnmatch.fnmatchcase(model, row.models))
