"""The verbs `view` and `vote`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from edit_eval.reporting.language import translate
from edit_eval.verbs.command_line import Code, Force, RunFolder
from edit_eval.verbs.contract import Verb


class ViewVerb(Verb):
    """View runs in a browser, also while they are running.

    Compare them there, and vote on edits. On a remote machine, connect with `ssh -L 7860:localhost:7860 MACHINE`.
    """

    about: ClassVar = {"group": "To evaluate", "before": "report"}

    @staticmethod
    def call(
        runs: Annotated[
            list[Path] | None,
            typer.Argument(
                metavar="RUN|FOLDER...", help="Run directories, or folders with some in them. Default: runs."
            ),
        ] = None,
        *,
        host: Annotated[
            str, typer.Option(metavar="HOST", help="Listen on this address; any other than localhost needs a token.")
        ] = "127.0.0.1",
        port: Annotated[
            int, typer.Option(metavar="N", min=0, max=65535, help="Listen on this port; 0 picks a free one.")
        ] = 7860,
        token: Annotated[
            str, typer.Option(metavar="TEXT|auto", envvar="EDIT_EVAL_TOKEN", help="Require this token; auto makes one.")
        ] = "",
        code: Code = None,
    ) -> None:
        """Serves their pages until interrupted."""
        from edit_eval.plugins.viewer.server import serve
        from edit_eval.store.run_folders import RUNS

        serve(runs or [RUNS], host=host, port=port, token=token, tell=lambda line: print(translate(line), flush=True))


class VoteExport(Verb):
    """Write people's scores as CSV, for `agreement --people`.

    A score is an edit's share of the votes it could have won, by rater. Each edit appears once.
    """

    @staticmethod
    def call(
        run: RunFolder,
        file: Annotated[Path, typer.Argument(metavar="FILE.csv", help="Where to write it; - is stdout.")] = Path("-"),
        votes: Annotated[bool, typer.Option("--votes", help="Write every vote instead, one per row.")] = False,
        force: Force = False,
    ) -> None:
        """Writes the file."""
        from edit_eval.plugins.viewer.voting import write_votes
        from edit_eval.run import Run

        made = Run(run).records
        write_votes(made.votes, made.results.samples, file, every=votes, force=force)


class VoteVerb(Verb):
    """Write people's votes as files; `view` collects them."""

    about: ClassVar = {"group": "To judge, and to examine judges"}
    below: ClassVar[Mapping[str, type[Verb]]] = {"export": VoteExport}

    @staticmethod
    def call() -> None:
        """Does nothing by itself."""
