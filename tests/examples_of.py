"""How many examples a test of drawn data looks at."""

from __future__ import annotations

from hypothesis import settings


def examples(often: int) -> int:
    """`often` in `make chaos`, whose examples are others each time; a sixth of it in `make test`, where they stay."""
    return often // 6 if settings().derandomize else often
