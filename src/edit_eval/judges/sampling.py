"""Answers that are drawn by chance, and are the same each time all the same: in any batch, in any process."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from edit_eval.judges.contract import JudgeRequest
from edit_eval.pictures import pixel_digest


def seed_of(request: JudgeRequest) -> int:
    """The seed for the answer to one request, of 31 bits: made of the request's own and of all that the judge is shown.

    Equal requests have equal seeds. A run asks about every sample with the same seed, and with that alone all samples
    would be answered by the same draws: their scores would err together, and no mean would even that out.
    """
    digests = [pixel_digest(picture) for picture in request.pictures.values()]
    told = repr((request.seed, request.system, request.user, digests))
    return int(hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:8], 16) >> 1


def drawing(seeds: Sequence[int], temperature: float) -> Any:
    """A processor of logits that draws each row's next token and leaves no other, for a greedy `generate`.

    Row i has a generator of its own on the CPU with seed i, which gives one number a token: where the softmax of the
    logits over `temperature`, summed up in the vocabulary's order, exceeds it, is the token.
    """
    import torch
    from transformers import LogitsProcessor

    generators = [torch.Generator("cpu").manual_seed(seed) for seed in seeds]

    class Drawing(LogitsProcessor):  # type: ignore[misc, unused-ignore]
        def __call__(self, input_ids: Any, scores: Any) -> Any:
            drawn = [torch.rand(1, dtype=torch.float64, generator=generator) for generator in generators]
            summed = (scores.double() / temperature).softmax(-1).cumsum(-1)
            place = torch.stack(drawn).to(scores.device) * summed[:, -1:]  # the sum may end a little beside 1
            token = torch.searchsorted(summed, place, right=True).clamp(max=scores.shape[1] - 1)
            return torch.full_like(scores, -torch.inf).scatter(1, token, 0.0)

    return Drawing()
