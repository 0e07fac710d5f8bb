"""What several verbs are given."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Config = Annotated[str, typer.Argument(metavar="CONFIG", help="The YAML file, or a name that `list` shows.")]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")]
RunDir = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Run directory; resumes if it exists. Default: a folder in runs/."),
]
Passports = Annotated[
    Path | None, typer.Option("--passports", metavar="DIR", help="Where judges' passports lie. Default: your cache.")
]
