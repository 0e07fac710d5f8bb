"""The configurations that come with edit-eval, and are known by name: `edit-eval run demo`."""

from __future__ import annotations

import os.path
from itertools import takewhile
from pathlib import Path

from edit_eval.config.faults import did_you_mean
from edit_eval.errors import ConfigurationError
from edit_eval.text import Text

PACKAGE = Path(__file__).parents[1]


def find_shipped_files() -> dict[str, Path]:
    """Returns the files by name: those in `configs/`, and a plug-in's own, in its folder."""
    files = [path for places in ("configs", "plugins/*") for path in PACKAGE.glob(f"{places}/*.yaml")]
    return {path.stem: path for path in sorted(files, key=lambda path: path.stem)}


def summary(path: Path) -> str:
    """Returns a configuration's description: the first sentence of its first comment."""
    lines = takewhile(lambda line: line.startswith("# "), path.read_text(encoding="utf-8").splitlines())
    words = " ".join(line.removeprefix("#").strip() for line in lines)
    return words.partition(". ")[0].rstrip(".") + "."


def file_of(source: str | Path) -> str | Path:
    """Returns the file for a command's CONFIG argument: a path if it exists, else the configuration of that name.

    Raises `ConfigurationError` for a bare word that is neither.
    """
    name = str(source)
    if os.path.lexists(name) or os.path.basename(name) != name or "." in name:
        return source
    known = find_shipped_files()
    if name in known:
        return known[name]
    beside = next((f"{name}{end}" for end in (".yaml", ".yml") if os.path.isfile(f"{name}{end}")), "")
    if beside:
        raise ConfigurationError(Text("{}: no such file; did you mean `{}`?", name, beside))
    meant = did_you_mean(name, known) or Text("; `edit-eval list` shows the configurations that are known by name")
    raise ConfigurationError(Text("{}: no such file{}", name, meant))
