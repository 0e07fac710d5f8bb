"""The verbs that list what a configuration can name, show one in full, and make environments for models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

import typer

from edit_eval.text import Text
from edit_eval.verbs.command_line import Config, Options, answer
from edit_eval.verbs.contract import Verb


class ListVerb(Verb):
    """List what a configuration can name.

    Benchmarks, edit models, judges and protocols by their names, and configurations to start from.
    """

    about: ClassVar = {"group": "To look up"}

    @staticmethod
    def call() -> None:
        """Prints them."""
        from edit_eval.plugins.lookup.components import components_document, print_components

        answer(components_document, print_components)


class DescribeVerb(Verb):
    """Show the parameters of a benchmark, model, judge or protocol.

    Of a protocol also its scores.
    """

    about: ClassVar = {"group": "To look up"}

    @staticmethod
    def call(type_: Annotated[str, typer.Argument(metavar="TYPE", help="A registered name, or a class path.")]) -> None:
        """Prints them."""
        from edit_eval.plugins.lookup.components import description_document, print_description

        answer(lambda: description_document(type_), lambda: print_description(type_))


class ShowVerb(Verb):
    """Print a configuration with all that it extends.

    It is merged with what it extends and with the flags; a comment says where a value came from.
    """

    @staticmethod
    def call(
        config: Config,
        *,
        options: Options,
        resolved: Annotated[
            bool, typer.Option("--resolved", help="Print what a run records instead: every default filled in.")
        ] = False,
    ) -> None:
        """Prints it."""
        from edit_eval.config.loading import as_written, load_configuration
        from edit_eval.config.shipped import find_shipped_files
        from edit_eval.plugins.lookup.yaml_writing import write_yaml

        names = {str(path): name for name, path in find_shipped_files().items()}
        if resolved:
            plain = load_configuration(config, **options, data_may_be_missing=True).as_plain()
            return answer(lambda: plain, lambda: print(write_yaml(plain), end=""))
        values, origin = as_written(config, **options)

        def whence(place: tuple[str, ...]) -> str:
            source = origin(place)
            return Text("from {}", names.get(source, source)) if source else ""

        answer(lambda: values, lambda: print(write_yaml(values, whence), end=""))


class ConfigVerb(Verb):
    """Show a configuration in full."""

    about: ClassVar = {"group": "To look up"}
    below: ClassVar = {"show": ShowVerb}

    @staticmethod
    def call() -> None:
        """Does nothing: the verbs below do."""


class CreateVerb(Verb):
    """Create one, and print the line for your YAML.

    An environment for a model is a folder with an interpreter of its own.
    """

    @staticmethod
    def call(
        folder: Annotated[Path, typer.Argument(metavar="DIR")],
        for_: Annotated[str, typer.Option("--for", metavar="edit|judge", help="What will run in it.")],
        constraint: Annotated[
            list[Path] | None, typer.Option(metavar="FILE", help="Version constraints, as for `pip install -c`.")
        ] = None,
        python: Annotated[str, typer.Option(help="Python interpreter to create it with.")] = "",
    ) -> None:
        """Creates it."""
        from edit_eval.plugins.lookup.environments import create_environment

        line = create_environment(folder, for_, constraints=constraint or (), python=python, shown=True)
        answer(lambda: {"line": line}, lambda: print(line))


class EnvVerb(Verb):
    """Environments for models."""

    about: ClassVar = {"group": "To begin"}
    below: ClassVar = {"create": CreateVerb}

    @staticmethod
    def call() -> None:
        """Does nothing: the verb below does."""
