"""Keys: a digest over all that decides an edit's pixels, and one over all that decides a judge's reply.

Where and how something ran (device, batch size, library versions) is recorded, never hashed. Nor are the names that
a configuration gives its models, nor how replies are read: stored ones can be read anew without a GPU.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from edit_eval.config.identity import Identity, canonical_json, digest, digest_of_text

SCHEMA = 2  # part of every key; raised when the meaning of a key changes
REPEAT_STRIDE = 1_000_000
"""Reading r of repeat p is sampled with the seed r + 1,000,000 p: no repeat has another's seeds."""

_quoted = json.encoder.encode_basestring  # a text as it stands in canonical JSON


def edit_key(model: Identity, sources: Sequence[str], instruction: str, seed: int) -> str:
    """The key of an edit. `sources` are the SHA-256 of the source files' bytes in their order, `seed` the sample's.

    A sample that follows another has, in place of its (first) source, the key of that other's edit. It is the `digest`
    of a list, written out here: a run that goes on makes a hundred thousand keys.
    """
    shown = ",".join(map(_quoted, sources))
    return digest_of_text(f'["edit",{SCHEMA},"{model.digest}",[{shown}],{_quoted(instruction)},{seed}]')


def recipe(judge: Identity, asked: Sequence[str], before: str, template: str, instruction: str) -> str:
    """What stands for the instruction in the key of an edit that is told what a judge says.

    `asked` are the digests of what the judge is asked, `before` the key of the edit that it is shown (empty for none).
    Its words are in no key: they may be known only when the edit before is made.
    """
    return canonical_json(["told", judge.digest, list(asked), before, template, instruction])


def reply_key(judge: Identity, asked: str, edit: str, seed: int) -> str:
    """The key of the replies to one question. The edit enters by its pixels, so equal edits are judged alike.

    `asked` is the `protocols.asked.asked_digest`, `edit` the digest of the edit's pixels (empty where the judge is not
    shown it), `seed` as in `REPEAT_STRIDE`. Of a battle the pixels of both edits are in `asked`, in the order in which
    they are shown, and `edit` is empty: which of the two a configuration names first is in no key."""
    return digest_of_text(f'["reply",{SCHEMA},"{judge.digest}","{asked}",{_quoted(edit)},{seed}]')


def replay_key(judge: Identity, address: Sequence[object]) -> str:
    """The key of replies that were given elsewhere: they are known by their address."""
    return digest(["replay", SCHEMA, judge.digest, *address])
