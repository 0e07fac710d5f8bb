"""What ends an answer, and what it is made to begin with: stopping criteria and logits processors for `generate`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from edit_eval.judges.answers import score_line
from edit_eval.judges.thinking import OPENING, ThoughtProgress

SCORE_LINE_TOKENS = 24
"""A whole score and its line's end take fewer tokens than this; later, nobody looks."""


def stop_at_score(tokenizer: Any, start: int) -> Any:
    """A stopping criterion that ends each row whose text, from token `start`, begins with a `score_line`.

    It waits for the line's end: `7.500` may go on (`7.5001`, `7.500/10`), and a `1` may become `10.000`. A row that
    ends itself, as a bare answer should, ends no later.
    """
    import torch
    from transformers import StoppingCriteria

    class StopAtScore(StoppingCriteria):  # type: ignore[misc, unused-ignore]
        def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
            done = [False] * input_ids.shape[0]
            if input_ids.shape[1] - start <= SCORE_LINE_TOKENS:
                texts = [tokenizer.decode(row, skip_special_tokens=True) for row in input_ids[:, start:].tolist()]
                done = [score_line(text) is not None for text in texts]
            return torch.tensor(done, dtype=torch.bool, device=input_ids.device)

    return StopAtScore()


def newest(input_ids: Any, start: int) -> list[tuple[list[int], int]]:
    """For each row the last of its new tokens (`OPENING` of them, or all), and how many there are since `start`."""
    width = input_ids.shape[1]
    return [(row, width - start) for row in input_ids[:, max(start, width - OPENING) :].tolist()]


def budgets(progress: ThoughtProgress, start: int, limit: int, at_score: bool) -> Any:
    """A stopping criterion that ends a thought at its own limit, and an answer `limit` tokens after it began.

    With `at_score` an answer ends at its `score_line`, too. Its `ends` has for each row where, counted from token
    `start`, it was ended, and whether the answer was whole by then; None for one that ended itself.
    """
    import torch
    from transformers import StoppingCriteria

    class Budgets(StoppingCriteria):  # type: ignore[misc, unused-ignore]
        ends: list[tuple[int, bool] | None] = [None] * progress.rows

        def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
            for row, (last, length) in enumerate(newest(input_ids, start)):
                begin = progress.see(row, last, length)
                if self.ends[row] is None and (ended := self._ended(row, last, length, begin)) is not None:
                    self.ends[row] = length, ended
            done = [end is not None for end in self.ends]
            return torch.tensor(done, dtype=torch.bool, device=input_ids.device)

        def _ended(self, row: int, last: list[int], length: int, begin: int | None) -> bool | None:
            """Whether an answer that ends here is whole; None: it goes on."""
            if begin is None:
                return False if progress.cut[row] else None
            if at_score and 0 < length - begin <= SCORE_LINE_TOKENS:
                text = progress.tokenizer.decode(last[begin - length :], skip_special_tokens=True)
                if score_line(text):
                    return True
            return False if length - begin >= limit else None

    return Budgets()


def forcing(beginnings: Sequence[Sequence[int]], start: int, then: int) -> Any:
    """A processor of logits that has each row begin with its tokens, and go on with the token `then`."""
    import torch
    from transformers import LogitsProcessor

    class Forcing(LogitsProcessor):  # type: ignore[misc, unused-ignore]
        def __call__(self, input_ids: Any, scores: Any) -> Any:
            place = input_ids.shape[1] - start
            tokens = [row[place] if place < len(row) else then for row in beginnings]
            forced = torch.tensor(tokens, device=scores.device)[:, None]
            return torch.full_like(scores, -torch.inf).scatter(1, forced, 0.0)

    return Forcing()
