"""The verb `gate`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from edit_eval.errors import ConfigurationError
from edit_eval.text import Text
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
    """Check that a faster engine is still the same editor, or no worse.

    Run two configurations on the same samples with the same judges, and exit with 3 unless the candidate is shown to be
    no worse. With --same-seed every pair of edits is compared first, and each of the two may be a finished run.
    """

    about: ClassVar = {"group": "To compare"}

    @staticmethod
    def call(
        baseline: Annotated[
            str, typer.Argument(metavar="REFERENCE", help="The YAML file of what is in use; or its finished run.")
        ],
        candidate: Annotated[
            str, typer.Argument(metavar="CANDIDATE", help="The same with another edit model or engine.")
        ],
        margin: Annotated[
            float | None, typer.Option(metavar="D", help="Pass only if shown to be less than D points worse.")
        ] = None,
        same_seed: Annotated[
            bool, typer.Option("--same-seed", help="Are these the same pictures? Only if not: as good, by the judge.")
        ] = False,
        within: Annotated[
            str | None,
            typer.Option(
                metavar="D", help="What counts as the same picture: a ΔE (2.3), or psnr=40,mean=0.5; with --same-seed."
            ),
        ] = None,
        again: Annotated[
            int,
            typer.Option(
                metavar="N",
                min=0,
                help="Have the reference edit N pictures again, for its own noise; with --same-seed.",
            ),
        ] = 100,
        pictures: Annotated[
            int,
            typer.Option(metavar="N", min=1, help="Edit only N source pictures of the benchmark; with --same-seed."),
        ] = 100,
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
        common: dict[str, Any] = {
            "folder": run_dir,
            "allow_unscored": allow_unscored,
            "command": ("edit-eval", *sys.argv[1:]),
            "examinations": collect_arguments("gate").get("examinations"),
            "tell": say,
            **options,
        }
        if same_seed:
            _answer_same_seed(
                baseline,
                candidate,
                margin,
                {**common, "within": within, "again": again, "pictures": pictures},
                markdown,
                full=full,
            )
            return
        if margin is None:
            raise ConfigurationError(Text("gate: give --margin D, or --same-seed, or both"))
        if within is not None:
            raise ConfigurationError(Text("--within needs --same-seed: give both or neither"))
        from edit_eval.plugins.gate.gating import gate, gate_sheet
        from edit_eval.reporting.language import current_language

        first, _, comparison = gate(baseline, candidate, margin=margin, **common)
        wrong = reasons("gate", comparison=comparison)
        sheet = gate_sheet(comparison, wrong, full=full)
        answer_with_sheet(comparison.document, sheet, current_language(first.language), markdown)
        write_option_files("gate", comparison=comparison, wrong=wrong)
        end_if_short(bool(wrong) or not comparison.gate.passed)


def _answer_same_seed(
    reference: str, candidate: str, margin: float | None, asked: dict[str, Any], markdown: Path | None, *, full: bool
) -> None:
    from edit_eval.plugins.gate.answer import same_editor_sheet
    from edit_eval.plugins.gate.distances import read_limits
    from edit_eval.plugins.gate.gating import gate_sheet
    from edit_eval.plugins.gate.same_editor import hold_same_editor
    from edit_eval.reporting.language import current_language

    asked["within"] = read_limits(asked["within"])
    answer = hold_same_editor(reference, candidate, margin=margin, **asked)
    # Who drifted, and how the judge sees it, matters where the answer is the judge's.
    wrong = reasons("gate", comparison=answer.judges_comparison) if answer.judges_comparison else []
    sheet = same_editor_sheet(answer)
    if answer.comparison and (full or answer.judges_comparison):
        sheet += gate_sheet(answer.comparison, wrong, full=full)
    answer_with_sheet(answer.document, sheet, current_language(answer.language), markdown)
    write_option_files("gate", comparison=answer.judges_comparison, wrong=wrong, answers=answer.cases)
    end_if_short(bool(wrong) or not answer.passes)
