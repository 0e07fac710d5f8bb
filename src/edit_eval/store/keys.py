"""Keys: a digest over all that decides an edit's pixels, and one over all that decides a judge's answer.

Where and how something ran (device, batch size, library versions) is recorded, never hashed. Nor are the names that
a configuration gives its models, nor the answer parser: stored answers can be read anew without a GPU.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

SCHEMA = 1  # part of every key; raised when the meaning of a key changes

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode
_quoted = json.encoder.encode_basestring  # a text as it stands in canonical JSON


def digest(parts: object) -> str:
    """SHA-256 (hexadecimal) of the canonical JSON of `parts`: sorted keys, no spaces, UTF-8, no NaN."""
    return _digest(_encode(parts))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Identity:
    """Which model answers, as far as its answers depend on it."""

    name: str
    """What the configuration calls it; not part of a key."""
    type: str
    revision: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    """The model's `seed`; it enters a key through the sample's seed."""

    @cached_property
    def digest(self) -> str:
        """What stands for the model in a key."""
        return digest({"type": self.type, "revision": self.revision, "parameters": self.parameters})


def edit_key(model: Identity, source: str, instruction: str, seed: int) -> str:
    """The key of an edit. `source` is the SHA-256 of the source file's bytes, `seed` the sample's.

    It is the `digest` of a list, written out here: a run that goes on makes a hundred thousand keys.
    """
    return _digest(f'["edit",{SCHEMA},"{model.digest}",{_quoted(source)},{_quoted(instruction)},{seed}]')


def prompt_digest(system: str, user: str) -> str:
    """What stands for the prompts, as the judge gets them, in a key."""
    return _digest(_text_digest(system) + user)


_text_digest = lru_cache(maxsize=256)(_digest)  # a rubric's text is the same for many samples


def judgement_key(judge: Identity, pixels: str, source: str, prompts: str, repeat: int) -> str:
    """The key of a judgement. The edit enters by its pixels, so equal edits of different models are judged alike.

    `pixels` is the digest of the edit's pixels, `source` that of the source's bytes, `prompts` the `prompt_digest`;
    `repeat` counts from 0.
    """
    about = f"{_quoted(pixels)},{_quoted(source)},{_quoted(prompts)},{repeat}"
    return _digest(f'["judgement",{SCHEMA},"{judge.digest}",{about}]')
