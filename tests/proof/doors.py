"""All that the proof uses of the house besides commands and public names: where one of these moves, this follows."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple


class Said(NamedTuple):
    """What a command came to."""

    code: int
    out: str
    err: str


def command(arguments: list[str], scratch: Path) -> Said:
    """A command line called in this process, as `tests/command_lines.py` does it, with its streams in `scratch`."""
    from edit_eval import cli

    sys.argv = ["edit-eval", *arguments]
    with _streams(scratch) as (out, err):
        try:
            cli.main()
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
    return Said(code, out.read_text("utf-8"), err.read_text("utf-8"))


@contextlib.contextmanager
def _streams(scratch: Path) -> Iterator[tuple[Path, Path]]:
    """Has all that is written to stdout and stderr, by whomever, land in two files; nothing is there to read."""
    files = scratch / "out", scratch / "err"
    before = sys.stdin, sys.stdout, sys.stderr
    kept = [os.dup(number) for number in range(3)]
    try:
        for number, place in enumerate((Path(os.devnull), *files)):
            opened = os.open(place, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(opened, number)
            os.close(opened)
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
        sys.stdout, sys.stderr = (open(n, "w", encoding="utf-8", buffering=1, closefd=False) for n in (1, 2))  # noqa: SIM115
        yield files
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        for number, copy in enumerate(kept):
            os.dup2(copy, number)
            os.close(copy)
        sys.stdin, sys.stdout, sys.stderr = before


def draw_here() -> None:
    """Has reports drawn in this process: one of its own takes seconds to begin, and there are dozens."""
    from edit_eval.reporting import render_subprocess

    render_subprocess._can_fork, render_subprocess._run_fork = lambda: True, lambda draw: (draw(), "")


def lines(run: Path, journal: str) -> list[Mapping[str, Any]]:
    """What is written in a journal of a run, segment after segment."""
    files = sorted((run / journal).glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines() if line]


def vote(run: Path, votes: list[Mapping[str, Any]]) -> None:
    """Writes votes into a run, as the viewer does: `sample`, `left`, `right`, `choice`, `rater`."""
    from edit_eval.store.votes import Ballot, VoteLine

    keys = {(edit["sample_id"], edit["edit_model"]): edit["key"] for edit in lines(run, "edits")}
    ballot = Ballot(run)
    for number, vote in enumerate(votes):
        ballot.add(
            VoteLine(
                ticket=f"ticket-{number:03d}",
                rater=vote["rater"],
                sample=vote["sample"],
                edit_seed=0,
                left=vote["left"],
                right=vote["right"],
                left_key=keys[vote["sample"], vote["left"]],
                right_key=keys[vote["sample"], vote["right"]],
                choice=vote["choice"],
                weight=1.0,
                how="blindly",
                seconds=2.0,
                at=1.7e9 + number,
            )
        )
    ballot.close()


def registered() -> list[str]:
    """The names of all benchmarks, edit models, judges and protocols."""
    from own_components import built_in

    return sorted({name for names in built_in().values() for name in names})
