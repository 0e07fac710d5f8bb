"""Compares replaced parts of a model with the stock ones while the model is loaded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from edit_eval.errors import LoadError
from edit_eval.privacy import hide_secrets


@contextmanager
def trial(what: str, advice: str) -> Iterator[None]:
    """Turns any error of a trial into a one-line `LoadError` from `what` to `advice`; except for lack of memory."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ == "OutOfMemoryError":
            raise
        reason = " ".join(hide_secrets(str(error)).split()) or type(error).__name__
        raise LoadError(f"{what}: {reason[:300]}; {advice}") from error


def check_near(ours: Any, stock: Any, furthest: float) -> None:
    """Raises `ValueError` if two tensors differ by more than `furthest` times the largest number of `stock`."""
    apart = float((ours - stock).abs().max() / stock.abs().max().clamp(min=1e-6))
    if not apart <= furthest:  # nor NaN
        raise ValueError(f"its output differs by {apart:.2g} from the stock layer's")
