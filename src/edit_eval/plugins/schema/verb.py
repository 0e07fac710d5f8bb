"""The verb `schema`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from edit_eval.reporting.language import translate
from edit_eval.text import Text
from edit_eval.verbs.command_line import Force, answer
from edit_eval.verbs.contract import Verb


class Schema(Verb):
    """Print the JSON schema of a configuration, for editors.

    It has every registered type with its parameters, those of installed packages too, and with CONFIG the classes of
    your own that CONFIG names. Editors use it to complete, explain and check a YAML file.
    """

    about: ClassVar = {"group": "To look up"}

    @staticmethod
    def call(
        described: Annotated[
            list[str] | None,
            typer.Argument(metavar="CONFIG...", help="Also describe the classes of your own in these YAML files."),
        ] = None,
        *,
        to: Annotated[Path | None, typer.Option("--to", metavar="FILE", help="Write it to this file instead.")] = None,
        force: Force = False,
    ) -> None:
        """Prints it, or writes it."""
        from edit_eval.plugins.schema.document import configuration_schema
        from edit_eval.plugins.schema.files import LINE, own_classes, write_schema

        schema = configuration_schema(own_classes(described or ()))
        if to is None:
            return answer(lambda: schema, lambda: print(json.dumps(schema, ensure_ascii=False, indent=1)))
        write_schema(schema, to, force=force)

        def show() -> None:
            print(translate(Text("wrote {}", to)))
            print(translate(Text("The first line of a YAML file beside it names it for your editor:")))
            print(f"  {LINE}{to.name}")

        return answer(lambda: {"written": [str(to)]}, show)
