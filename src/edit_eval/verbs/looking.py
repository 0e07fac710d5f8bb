"""The verbs that list what a configuration can name, show one in full, and make environments for models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edit_eval.text import Text
from edit_eval.verbs.command_line import Config, Debug, Group, Options, answer, verb

# -- components: listing and describing them --

components = typer.Typer()


@verb(components, name="list", short_help="List what a configuration can name.")
def list_() -> None:
    """List benchmarks, edit models, judges and protocols by their names, and configurations to start from."""
    from edit_eval.reporting.components import components_document, print_components

    answer(components_document, print_components)


@verb(components, short_help="Show the parameters of a benchmark, model, judge or protocol.")
def describe(type_: Annotated[str, typer.Argument(metavar="TYPE", help="A registered name, or a class path.")]) -> None:
    """Show the parameters of a benchmark, edit model, judge or protocol, and a protocol's scores."""
    from edit_eval.reporting.components import description_document, print_description

    answer(lambda: description_document(type_), lambda: print_description(type_))


# -- what a configuration amounts to --

config = typer.Typer(cls=Group, no_args_is_help=True, rich_markup_mode=None, help="Show a configuration in full.")


@verb(config, name="show", short_help="Print a configuration with all that it extends.")
def config_show(
    config: Config,
    *,
    options: Options,
    resolved: Annotated[
        bool, typer.Option("--resolved", help="Print what a run records instead: every default filled in.")
    ] = False,
) -> None:
    """Print a configuration merged with what it extends and with the flags; a comment says where a value came from."""
    from edit_eval.config.loading import as_written, load_configuration
    from edit_eval.config.shipped import find_shipped_files
    from edit_eval.config.yaml_text import write_yaml

    names = {str(path): name for name, path in find_shipped_files().items()}
    if resolved:
        plain = load_configuration(config, **options, data_may_be_missing=True).as_plain()
        return answer(lambda: plain, lambda: print(write_yaml(plain), end=""))
    values, origin = as_written(config, **options)

    def whence(place: tuple[str, ...]) -> str:
        source = origin(place)
        return Text("from {}", names.get(source, source)) if source else ""

    answer(lambda: values, lambda: print(write_yaml(values, whence), end=""))


# -- the verbs of `edit-eval env`: environments for models --

environments = typer.Typer(cls=Group, no_args_is_help=True, rich_markup_mode=None, help="Environments for models.")


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
