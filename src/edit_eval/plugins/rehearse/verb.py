"""The verb `rehearse`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

import typer

from edit_eval.verbs.command_line import Config, Force, Options, answer, end_if_short
from edit_eval.verbs.contract import Verb


class Rehearse(Verb):
    """Try out a configuration before a long run, with random weights where none are here.

    A few samples go through the engine as in a run. It shows the memory and time that each model takes, beside what was
    predicted, and how long the whole run would take. Exit with 3 if the run is not ready. Scores of random weights mean
    nothing, and none is kept.
    """

    about: ClassVar = {"group": "To begin"}

    @staticmethod
    def call(
        config: Config,
        *,
        minutes: Annotated[float, typer.Option(metavar="N", min=0.1, help="Start nothing new after N minutes.")] = 10.0,
        layers: Annotated[
            int | None,
            typer.Option(metavar="N", min=1, help="Cut each network to N layers, at its full width: for a CPU."),
        ] = None,
        samples: Annotated[
            int | None,
            typer.Option(metavar="N", min=1, help="Edit and judge N samples. Default: one a device, at least 2."),
        ] = None,
        faults: Annotated[
            bool,
            typer.Option(
                "--faults",
                help="Also inject faults: another process on the card, a killed worker, a lack of memory, a "
                "silent card.",
            ),
        ] = False,
        to: Annotated[
            Path | None, typer.Option("--to", metavar="FILE", help="Also write it: .html, .md, .json.")
        ] = None,
        force: Force = False,
        options: Options,
    ) -> None:
        """Rehearses, and prints what was found."""
        from edit_eval.plugins.rehearse.rehearsal import rehearse
        from edit_eval.plugins.rehearse.sheet import print_rehearsal, write_rehearsal
        from edit_eval.reporting.document_files import refuse_target

        if to is not None:
            refuse_target(to, force=force)
        rehearsal = rehearse(config, minutes=minutes, layers=layers, samples=samples, faults=faults, **options)
        if to is not None:
            write_rehearsal(rehearsal, to, force=force)
        answer(rehearsal.as_plain, lambda: print_rehearsal(rehearsal))
        end_if_short(bool(rehearsal.reasons))
