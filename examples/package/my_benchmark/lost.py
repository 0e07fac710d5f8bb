"""`edit-eval lost RUN`: a verb. It prints what has no score, in the form that `--sample-ids` takes."""

from typing import Annotated, ClassVar

import typer

from edit_eval import Run, Verb
from edit_eval.verbs.command_line import RunFolder, answer


class Lost(Verb):
    """List the samples that have no score.

    They are printed with commas between them, so that `edit-eval run CONFIG --sample-ids "$(edit-eval lost RUN)"` runs
    them alone.
    """

    about: ClassVar = {"group": "To evaluate"}

    @staticmethod
    def call(
        run: RunFolder,
        judge: Annotated[str, typer.Option(metavar="NAME", help="Only those that this judge has not scored.")] = "",
    ) -> None:
        """`answer` prints the first with `--json`, and calls the second without."""
        judged = [judgement for judgement in Run(run).results.judgements if judge in ("", judgement.judge)]
        lost = sorted({judgement.sample_id for judgement in judged if judgement.score is None})
        answer(lambda: lost, lambda: print(",".join(lost)))
