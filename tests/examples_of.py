"""How many examples a test of drawn data looks at."""

from __future__ import annotations

from hypothesis import settings


def examples(often: int, share: int = 6) -> int:
    """`often` in `make chaos`, whose examples are others each time; a sixth of it, or another `share`, in `make test`,
    where they stay."""
    return often // share if settings().derandomize else often
