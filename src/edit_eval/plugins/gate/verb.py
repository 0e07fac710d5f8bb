"""The verb `gate`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from edit_eval.verbs.command_line import (
    Full,
    Markdown,
    Options,
    answer_with_sheet,
    collect_arguments,
    end_if_short,
    reasons,
    say,
    write_option_files,
)
from edit_eval.verbs.contract import Verb


class GateVerb(Verb):
    """Run two configurations, and check that the second is no worse.

    Run both on the same samples with the same judges, and exit with 3 unless the candidate is shown to be no worse.
    """

    about: ClassVar = {"group": "To compare"}

    @staticmethod
    def call(
        baseline: Annotated[str, typer.Argument(metavar="BASELINE", help="The YAML file of what is in use.")],
        candidate: Annotated[
            str, typer.Argument(metavar="CANDIDATE", help="The same with another edit model or engine.")
        ],
        margin: Annotated[float, typer.Option(metavar="D", help="Pass only if shown to be less than D points worse.")],
        run_dir: Annotated[
            Path, typer.Option(metavar="DIR", help="Folder for both runs; resumes what is there.")
        ] = Path("runs/gate"),
        allow_unscored: Annotated[
            float | None, typer.Option(metavar="SHARE", help="Leave out unscored samples, up to this share.")
        ] = None,
        markdown: Markdown = None,
        full: Full = False,
        *,
        options: Options,
    ) -> None:
        """Runs both, and prints what the candidate comes to beside the baseline."""
        from edit_eval.plugins.gate.gating import gate
        from edit_eval.plugins.gate.sheet import gate_sheet
        from edit_eval.reporting.language import current_language

        first, _, comparison = gate(
            baseline,
            candidate,
            margin=margin,
            folder=run_dir,
            allow_unscored=allow_unscored,
            command=("edit-eval", *sys.argv[1:]),
            examinations=collect_arguments("gate").get("examinations"),
            tell=say,
            **options,
        )
        wrong = reasons("gate", comparison=comparison)
        sheet = gate_sheet(comparison, wrong, full=full)
        answer_with_sheet(comparison.document, sheet, current_language(first.language), markdown)
        write_option_files("gate", comparison=comparison, wrong=wrong)
        end_if_short(bool(wrong) or not comparison.gate.passed)
