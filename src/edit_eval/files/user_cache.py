"""What of the user's lies outside of projects: things that edit-eval can make again, and rows of their own."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Returns `edit-eval` in `$XDG_CACHE_HOME` or `~/.cache`; raises `RuntimeError` for a user without a home.

    By the XDG standard a relative `XDG_CACHE_HOME` is ignored.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "edit-eval"


def own_file() -> Path:
    """Returns where the user's own rows on closed models are.

    By the XDG standard a relative `XDG_CONFIG_HOME` is ignored.
    """
    base = os.environ.get("XDG_CONFIG_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".config") / "edit-eval" / "closed.yaml"
