"""The verb `export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

import typer

from edit_eval.reporting.language import translate
from edit_eval.text import Text
from edit_eval.verbs.command_line import Force, RunFolder, answer
from edit_eval.verbs.contract import Verb


class ExportVerb(Verb):
    """Write a report to send: one page, a folder or a zip.

    All its pictures are inside, from the records; it needs no other file. With --samples it covers only those in the
    column sample_id: the report's gallery saves such a CSV (Export).
    """

    about: ClassVar = {"group": "To share and tidy"}

    @staticmethod
    def call(
        run: RunFolder,
        target: Annotated[Path, typer.Argument(metavar="FILE.html|FOLDER|FILE.zip", help="Where to write it.")],
        *,
        size: Annotated[int, typer.Option(metavar="PIXELS", help="Longest side of the pictures in it.")] = 1024,
        samples: Annotated[Path | None, typer.Option(metavar="FILE.csv", help="Only the samples in this CSV.")] = None,
        force: Force = False,
    ) -> None:
        """Writes it, and prints where it is."""
        from edit_eval.plugins.page.export import export, read_sample_ids
        from edit_eval.run import Run

        made = Run(run)
        ids = None if samples is None else read_sample_ids(samples)
        written = export(
            made.results, made.summary, target, language=made.language, side=size, samples=ids, force=force
        )
        answer(lambda: {"written": str(written)}, lambda: print(translate(Text("report: {}", written))))
