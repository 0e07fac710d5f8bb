"""The verbs that look at runs, at work or finished, and send them on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edit_eval.command_line import answer, verb
from edit_eval.reporting.language import said, speak
from edit_eval.text import Text
from edit_eval.verbs.arguments import Force, RunFolder

looking = typer.Typer()


@verb(looking)
def status(
    run: RunFolder,
    sample: Annotated[str | None, typer.Argument(metavar="SAMPLE", help="Show one sample in full.")] = None,
) -> None:
    """Show run progress, or one sample in full."""
    from edit_eval.reporting.status import print_sample, print_status, sample_document, status_document
    from edit_eval.run import Run

    made = Run(run)
    results = made.results
    speak(made.language)
    if sample is None:
        answer(lambda: status_document(results), lambda: print_status(results))
    else:
        answer(lambda: sample_document(results, sample), lambda: print_sample(results, sample))


@verb(looking, short_help="View runs in a browser, also while they are running.")
def view(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RUN|FOLDER...", help="Run directories, or folders with some in them. Default: runs."),
    ] = None,
    *,
    host: Annotated[
        str, typer.Option(metavar="HOST", help="Listen on this address; any other than localhost needs a token.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="Listen on this port; 0 picks a free one.")
    ] = 7860,
    token: Annotated[
        str,
        typer.Option(metavar="TEXT|auto", envvar="EDIT_EVAL_TOKEN", help="Require this token; auto makes one."),
    ] = "",
) -> None:
    """View runs in a browser, also while they are running; compare them, and vote on edits.

    On a remote machine, connect with `ssh -L 7860:localhost:7860 MACHINE`.
    """
    from edit_eval.store.run_folders import RUNS
    from edit_eval.viewer.server import serve

    serve(runs or [RUNS], host=host, port=port, token=token, tell=lambda line: print(said(line), flush=True))


@verb(looking, short_help="Write a report to send: one page, a folder or a zip.")
def export(
    run: RunFolder,
    target: Annotated[Path, typer.Argument(metavar="FILE.html|FOLDER|FILE.zip", help="Where to write it.")],
    *,
    size: Annotated[int, typer.Option(metavar="PIXELS", help="Longest side of the pictures in it.")] = 1024,
    samples: Annotated[Path | None, typer.Option(metavar="FILE.csv", help="Only the samples in this CSV.")] = None,
    force: Force = False,
) -> None:
    """Write a report with all its pictures inside, from the records; it needs no other file.

    With --samples it covers only those in the column sample_id: the report's gallery saves such a CSV (Export).
    """
    from edit_eval.reporting.page.files import export as write
    from edit_eval.reporting.page.files import ids_in
    from edit_eval.run import Run

    made = Run(run)
    ids = None if samples is None else ids_in(samples)
    written = write(made.results, made.summary, target, language=made.language, side=size, samples=ids, force=force)
    answer(lambda: {"written": str(written)}, lambda: print(said(Text("report: {}", written))))
