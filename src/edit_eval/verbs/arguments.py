"""What several verbs are given."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def _configurations(incomplete: str) -> list[str]:
    """What a shell offers for CONFIG: shipped names, YAML files, and folders on the way to them."""
    from edit_eval.config.shipped import shipped

    names = [name for name in shipped() if name.startswith(incomplete)]
    return [*names, *(path for path in _paths(incomplete) if path.endswith(("/", ".yaml", ".yml")))]


def _runs(incomplete: str) -> list[str]:
    """What a shell offers for RUN: run directories, those in runs/ too; else folders on the way to one."""
    folders = [path for path in (*_paths("runs/"), *_paths(incomplete)) if path.endswith("/")]
    fitting = dict.fromkeys(path for path in folders if path.startswith(incomplete))
    return [path.rstrip("/") for path in fitting if Path(path, "config").is_dir()] or [*fitting]


def _paths(incomplete: str) -> list[str]:
    """The paths that begin so; a folder's ends with a slash."""
    head, slash, start = incomplete.rpartition("/")
    folder = Path(head + slash)
    try:
        names = sorted(path.name + "/" * path.is_dir() for path in folder.iterdir())
    except OSError:
        return []
    return [head + slash + name for name in names if name.startswith(start) and name[0] != "."]


Config = Annotated[
    str,
    typer.Argument(
        metavar="CONFIG",
        help="The YAML file, or a name that `list` shows.",
        autocompletion=_configurations,
    ),
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.", autocompletion=_runs)]
RunDir = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Run directory; resumes if it exists. Default: a folder in runs/."),
]
Passports = Annotated[
    Path | None, typer.Option("--passports", metavar="DIR", help="Folder of judges' passports. Default: your cache.")
]
Markdown = Annotated[Path | None, typer.Option("--markdown", metavar="FILE", help="Also write it as Markdown.")]
Force = Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")]
