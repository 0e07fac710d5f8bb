"""From the probabilities of an answer's first token to those of legal labels, rightly or not at all.

The probability of a label is that of the tokens which are, but for space around them, this label. That is the whole
answer's only where the label is one token: of `10` in two tokens the first one is that of `1`, too. So a server that
has a tokeniser is asked for each label, and a set with one of several tokens is refused before anything is judged.
Where there is none, a set is refused in which a label begins like another one. Labels of one ASCII letter or digit are
one token of every tokeniser; of longer ones the beginning is seen where the model writes it as a token of its own, and
then their probability is not known.

A server gives the most probable tokens only. What is not among them is at most what they leave, and each at most the
least of them: where that is negligible for all missing labels together, it is 0; else it is not known, and left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

NEGLIGIBLE = 0.001
"""Of the probability: what may be taken for 0. On a scale from 0 to 10 it moves the expected score by at most 0.01."""
VARIANTS = ("", " ", "\n")
"""In front of a label as the tokeniser is asked for it: alone, as one word of more, and on a line of its own."""

REMEDY = "give labels of one token, such as single letters or digits"

Tokens = Mapping[str, Sequence[int]]
"""Text -> its tokens' ids: each label with each of `VARIANTS` before it, and each of those alone."""


def texts_to_tokenise(labels: Sequence[str]) -> list[str]:
    """What the tokeniser is to be asked."""
    return [*(before for before in VARIANTS if before), *(before + label for label in labels for before in VARIANTS)]


def token_ids(labels: Sequence[str], tokens: Tokens) -> dict[str, list[int]]:
    """The tokens that are each label. Raises `ValueError` for a label that is none by itself."""
    found: dict[str, list[int]] = {}
    for label in labels:
        ids: dict[int, None] = {}
        for before in VARIANTS:
            alone = list(tokens[before]) if before else []
            whole = list(tokens[before + label])
            if len(whole) == 1:
                ids[whole[0]] = None
            elif before and whole[:-1] == alone:
                ids[whole[-1]] = None
        if not ids:
            raise ValueError(f"the label `{label}` is {len(tokens[label])} tokens of this model; {REMEDY}")
        found[label] = list(ids)
    for one, other in permutations(labels, 2):
        if {*found[one]} & {*found[other]}:
            raise ValueError(f"the labels `{one}` and `{other}` share a token of this model; {REMEDY}")
    return found


def refuse_ambiguous(labels: Sequence[str]) -> None:
    """Raises `ValueError` for labels that cannot be told by their first token where nobody knows the tokens."""
    for one, other in permutations(labels, 2):
        if other.startswith(one):
            text = f"the labels `{one}` and `{other}` begin the same way, and the server does not show its tokens"
            raise ValueError(f"{text}; {REMEDY}")


def by_id(entries: Sequence[Any], ids: Mapping[str, Sequence[int]]) -> dict[str, float]:
    """Probabilities by label from entries whose `token` is `token_id:N`; a label with one missing is left out."""
    found = {str(entry["token"]).partition("token_id:")[2]: _probability(entry) for entry in entries}
    return {
        label: math.fsum(found[str(one)] for one in its)
        for label, its in ids.items()
        if all(str(i) in found for i in its)
    }


def by_text(entries: Sequence[Any], labels: Sequence[str], *, one_token: bool) -> dict[str, float]:
    """Probabilities by label from the most probable tokens; one that is neither among them nor negligible is left out.

    `one_token`: it is known that each label is one.
    """
    probabilities = [(str(entry["token"]).strip(), _probability(entry)) for entry in entries]
    values = {
        label: math.fsum(share for text, share in probabilities if text == label)
        for label in labels
        if any(text == label for text, _ in probabilities)
    }
    missing = [label for label in labels if label not in values]
    if missing:
        shares = [share for _, share in probabilities]
        left = max(0.0, 1 - math.fsum(shares))
        least = min(shares, default=1.0)
        bound = min(left, len(missing) * len(VARIANTS) * least)
        for text, share in probabilities:
            begins = text and not one_token and any(label.startswith(text) for label in missing)
            bound += share if begins else 0.0
        if bound < NEGLIGIBLE:
            values |= dict.fromkeys(missing, 0.0)
    return values


def _probability(entry: Any) -> float:
    """Raises `ValueError` for a logprob that is none."""
    value = entry["logprob"]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value) or value > 0.01:
        raise ValueError(f"{str(value)[:40]} is not a log probability")
    return math.exp(value)
