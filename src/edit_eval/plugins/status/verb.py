"""The verb `status`."""

from __future__ import annotations

from typing import Annotated, ClassVar

import typer

from edit_eval.reporting.language import set_language
from edit_eval.verbs.command_line import RunFolder, answer
from edit_eval.verbs.contract import Verb


class StatusVerb(Verb):
    """Show run progress, or one sample in full."""

    about: ClassVar = {"group": "To evaluate", "before": "report"}

    @staticmethod
    def call(
        run: RunFolder,
        sample: Annotated[str | None, typer.Argument(metavar="SAMPLE", help="Show one sample in full.")] = None,
    ) -> None:
        """Prints how far a run is, or all that is known of a sample."""
        from edit_eval.plugins.status.sheet import print_sample, print_status, sample_document, status_document
        from edit_eval.run import Run

        made = Run(run)
        results = made.results
        set_language(made.language)
        if sample is None:
            answer(lambda: status_document(results), lambda: print_status(results))
        else:
            answer(lambda: sample_document(results, sample), lambda: print_sample(results, sample))
