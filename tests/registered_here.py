"""The entry points of this tree, for an installation that was made before they changed.

An editable installation (`pip install -e .`) runs the code as it is now, with the entry points of the day it was made.
"""

from __future__ import annotations

import importlib.metadata
import os
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def register() -> None:
    """Gives an editable installation of this tree the entry points of `pyproject.toml`; leaves any other as it is."""
    try:
        distribution = importlib.metadata.distribution("edit-eval")
    except importlib.metadata.PackageNotFoundError:
        return
    if PROJECT.parent.as_uri() not in (distribution.read_text("direct_url.json") or ""):
        return
    project = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    groups = {"console_scripts": project["scripts"], **project["entry-points"]}
    lines = [line for group, points in groups.items() for line in (f"[{group}]", *map(" = ".join, points.items()))]
    written = "\n".join([*lines, ""])
    if (distribution.read_text("entry_points.txt") or "").split() != written.split():
        folder = f"edit_eval-{distribution.version}.dist-info"
        file = Path(str(distribution.locate_file(folder))) / "entry_points.txt"
        new = file.with_suffix(f".{os.getpid()}")  # several may notice it at once
        new.write_text(written, "utf-8")
        new.replace(file)
