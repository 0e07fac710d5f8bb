"""The verb `export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

import typer

from edit_eval.errors import ConfigurationError
from edit_eval.reporting.formats import file_size
from edit_eval.reporting.language import translate
from edit_eval.text import Text
from edit_eval.verbs.command_line import Force, RunFolder, answer
from edit_eval.verbs.contract import Verb


class ExportVerb(Verb):
    """Write a run as one file, or a report to send: a page, a folder or a zip.

    FILE.edit-eval has the records and small pictures: `view`, `report`, `compare`, `leaderboard` and `status` open it
    like a run. A report has all its pictures inside, and needs no other file. With --samples it covers only those in
    the column sample_id: the report's gallery saves such a CSV (Export).
    """

    about: ClassVar = {"group": "To share and tidy"}

    @staticmethod
    def call(
        run: RunFolder,
        target: Annotated[
            Path | None, typer.Argument(metavar="FILE.edit-eval|.html|.zip|FOLDER", help="Where to write it.")
        ] = None,
        *,
        to: Annotated[Path | None, typer.Option(metavar="FILE", help="The same, as a flag.")] = None,
        size: Annotated[
            int | None,
            typer.Option(metavar="PIXELS", help="Longest side of its pictures. Default: 1024; in a run's file, 512."),
        ] = None,
        sources: Annotated[
            bool, typer.Option("--sources", help="In a run's file: also the source pictures, as they are.")
        ] = False,
        samples: Annotated[Path | None, typer.Option(metavar="FILE.csv", help="Only the samples in this CSV.")] = None,
        force: Force = False,
    ) -> None:
        """Writes it, and prints where it is."""
        from edit_eval.plugins.page.export import (
            SIDE,
            SIDE_IN_RUN_FILE,
            check_side,
            export,
            read_sample_ids,
            write_run_file,
        )
        from edit_eval.run import Run
        from edit_eval.store.run_file import SUFFIX

        if (target is None) == (to is None):
            raise ConfigurationError(Text("say once where to write it: `edit-eval export {} {}`", run, "run.edit-eval"))
        made, target = Run(run), target or to
        assert target is not None
        of_run = target.suffix.lower() == SUFFIX
        if samples if of_run else sources:
            unfit = Text("--samples is for a report") if of_run else Text("--sources is for a run in one file")
            raise ConfigurationError(Text("{}, and {} is none", unfit, target))
        if of_run:
            check_side(size or SIDE_IN_RUN_FILE)
            done = write_run_file(made, target, side=size or SIDE_IN_RUN_FILE, sources=sources, force=force)
            document = {"written": str(target), **vars(done)}
            holds = file_size(done.bytes), done.pictures, done.sources
            said = [Text("run: {} ({}; {} edits, {} sources)", target, *holds)]
            answer(lambda: document, lambda: print(*map(translate, [*said, *done.notes]), sep="\n"))
            return
        ids = None if samples is None else read_sample_ids(samples)
        written = export(
            made.results, made.summary, target, language=made.language, side=size or SIDE, samples=ids, force=force
        )
        answer(lambda: {"written": str(written)}, lambda: print(translate(Text("report: {}", written))))
