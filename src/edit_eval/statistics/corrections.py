"""p-values for when several are looked at. A test that could not be made is None and stays None."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from edit_eval.statistics.intervals import FloatArray


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values that bound the chance of *any* false finding, whatever depends on what.

    The i-th smallest of m becomes the largest of (m - j + 1) * p_j over j <= i, at most 1
    (Holm, Scandinavian Journal of Statistics 6, 1979).
    """
    return _adjusted(p_values, lambda p, tests: np.maximum.accumulate(p * np.arange(tests, 0, -1)))


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values that bound the expected *share* of false findings among all findings.

    The i-th smallest of m becomes the smallest of m / j * p_j over j >= i, at most 1
    (Benjamini and Hochberg, JRSS B 57, 1995). Holds for independent or positively dependent tests.
    """
    return _adjusted(
        p_values, lambda p, tests: np.minimum.accumulate((p * tests / np.arange(1, tests + 1))[::-1])[::-1]
    )


def _adjusted(
    p_values: Sequence[float | None], of_ordered: Callable[[FloatArray, int], FloatArray]
) -> list[float | None]:
    places = [place for place, p in enumerate(p_values) if p is not None]
    known = np.array([p for p in p_values if p is not None], dtype=np.float64)
    if np.isnan(known).any() or ((known < 0) | (known > 1)).any():
        raise ValueError(f"p-values lie between 0 and 1, not {list(p_values)}")
    order = np.argsort(known, kind="stable")
    adjusted: list[float | None] = [None] * len(p_values)
    for place, p in zip(order, of_ordered(known[order], len(known)).tolist(), strict=True):
        adjusted[places[place]] = min(1.0, p)
    return adjusted
