"""Which paths are addresses on the Hugging Face Hub, for whoever only asks; `hub` gets the files."""

from __future__ import annotations

PREFIXES = ("hub:", "hf://")


def is_address(data_path: str) -> bool:
    """True if a `data_path` is on the hub."""
    return data_path.startswith(PREFIXES)
