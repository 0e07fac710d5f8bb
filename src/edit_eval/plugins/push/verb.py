"""The verb `push`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

import typer

from edit_eval.reporting.language import translate
from edit_eval.text import Text
from edit_eval.verbs.command_line import RunFolder, answer, say
from edit_eval.verbs.contract import Verb


class Push(Verb):
    """Publish a run as a data set on the Hugging Face Hub.

    Edits, scores, judges' words and a card are sent; source pictures are left out unless the benchmark's licence
    allows them. Needs HF_TOKEN. Rerun the same command to resume or update.
    """

    about: ClassVar = {"group": "To share and tidy"}

    @staticmethod
    def call(
        run: RunFolder,
        repository: Annotated[
            str, typer.Argument(metavar="OWNER/NAME", help="The data set; created if it does not exist.")
        ],
        *,
        private: Annotated[bool, typer.Option("--private", help="Make a new data set private.")] = False,
        without_images: Annotated[bool, typer.Option("--without-images", help="Send texts and numbers only.")] = False,
        sources: Annotated[
            bool, typer.Option("--sources", help="Send the source pictures too: you may publish them.")
        ] = False,
        dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be sent, and send nothing.")] = False,
    ) -> None:
        """Sends it, or says what would be sent."""
        from edit_eval.plugins.push.sending import push as send
        from edit_eval.run import Run

        made = send(
            Run(run),
            repository,
            private=private,
            images=not without_images,
            sources=sources,
            dry_run=dry_run,
            tell=lambda note: say(Text("note: {}", note)),
        )
        answer(made.as_plain, lambda: _print_pushed(made.files, made.rows, made.address, made.notes))


def _print_pushed(files: Mapping[str, int], rows: int, address: str, notes: Sequence[str]) -> None:
    """Prints the files with their sizes; if nothing was sent, also the notes (otherwise printed before)."""
    from edit_eval.reporting.formats import file_size

    for name, count in files.items():
        print(f"{file_size(count):>10}  {name}")
    total = file_size(sum(files.values()))
    if address:
        print(translate(Text("sent: {} rows, {}: {}", rows, total, address)))
        return
    for note in notes:
        print(translate(Text("note: {}", note)))
    print(translate(Text("would send: {} rows, {}; without `--dry-run` it is sent", rows, total)))
