"""The verb `demo`."""

from __future__ import annotations

from typing import ClassVar

from edit_eval.text import Text
from edit_eval.verbs.command_line import RunDir, say
from edit_eval.verbs.contract import Verb


class Demo(Verb):
    """See a whole evaluation: no weights, no GPU, no download.

    Scenes are drawn, a simple edit model edits them, a judge that knows what is right scores them: about a minute.
    """

    about: ClassVar = {"group": "To begin", "before": "doctor"}

    @staticmethod
    def call(run_dir: RunDir = None) -> None:
        """Runs `demo.yaml`, and prints its results."""
        from edit_eval.cli import evaluate_and_print

        evaluate_and_print("demo", {}, run_dir)
        say(Text("next: `edit-eval view` shows it in a browser, `edit-eval init` starts with your pictures"))
