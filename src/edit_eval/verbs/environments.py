"""The verbs of `edit-eval env`: environments for models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edit_eval.command_line import Debug

environments = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Environments for models.")


@environments.command("create", short_help="Create one, and print the line for your YAML.")
def env_create(
    folder: Annotated[Path, typer.Argument(metavar="DIR")],
    for_: Annotated[str, typer.Option("--for", metavar="edit|judge", help="What will run in it.")],
    constraint: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Version constraints, as for `pip install -c`.")
    ] = None,
    python: Annotated[str, typer.Option(help="Python interpreter to create it with.")] = "",
    debug: Debug = False,
) -> None:
    """Create an environment for a model, and print the line for your YAML."""
    from edit_eval.execution.machine.environments import create_environment

    print(create_environment(folder, for_, constraints=constraint or (), python=python, shown=True))
