"""What an examination found out, for a terminal: grouped, with a word where others have only a colour."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import IO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from edit_eval.execution.advice.findings import Finding, Level

COLUMNS = 80
MARGIN = 2
WORD = max(len(level) for level in ("ok", "note", "warning", "problem")) + 2
STYLES: dict[Level, str] = {"ok": "green", "note": "cyan", "warning": "yellow", "problem": "bold red"}
ARROW = "-> "
CLOSING = "，。、；：！？）】》」』”’…"
"""Signs with which no line begins."""


def print_findings(findings: Sequence[Finding], file: IO[str] | None = None) -> None:
    """Prints findings by area, and a last line that says whether something would stop the run."""
    console = Console(file=file or sys.stdout, highlight=False, markup=False, emoji=False, soft_wrap=True)
    columns = min(COLUMNS, console.width) if console.is_terminal else COLUMNS
    for area in dict.fromkeys(finding.area for finding in findings):
        console.print(Text(area, style="bold"))
        for finding in findings:
            if finding.area == area:
                _print_finding(console, finding, columns)
    console.print()
    console.print(verdict(findings))


def _print_finding(console: Console, finding: Finding, columns: int) -> None:
    indent = MARGIN + WORD
    room = max(20, columns - indent)
    head = Text(" " * MARGIN).append(finding.level.ljust(WORD), style=STYLES[finding.level])
    for line in wrap(finding.text, room):
        console.print(head.append(line))
        head = Text(" " * indent)
    lead = ARROW
    for line in wrap(finding.advice, room - len(ARROW)):
        console.print(Text(" " * indent + lead + line))
        lead = " " * len(ARROW)


def verdict(findings: Sequence[Finding]) -> Text:
    """The last line."""
    count = sum(finding.stops for finding in findings)
    if count:
        return Text(f"{count} problem{'s' * (count > 1)} would stop the run", style=STYLES["problem"])
    examined = any(finding.area == "configuration" and finding.level == "ok" for finding in findings)
    return Text("this would run" if examined else "nothing here would stop a run", style=STYLES["ok"])


def wrap(text: str, columns: int) -> list[str]:
    """The text in lines of at most `columns` cells; a Chinese character takes two, and a line may end after any.

    A word that is longer than a line keeps a line for itself, so that a path or a command can be copied.
    """
    lines: list[str] = []
    line = ""
    for piece in _pieces("".join(c if c.isprintable() else " " for c in text)):
        if line and cell_len(line) + cell_len(piece.rstrip()) > columns:
            lines.append(line.rstrip())
            line = ""
        line += piece
    if line.strip():
        lines.append(line.rstrip())
    return lines


def _pieces(text: str) -> list[str]:
    """What may not be taken apart: a word with the space after it, a wide character."""
    pieces: list[str] = []
    whole = False  # whether the last piece is complete
    for character in text:
        wide = cell_len(character) == 2
        if character == " ":
            if pieces:
                pieces[-1] += " " if not pieces[-1].endswith(" ") else ""
            whole = True
        elif character in CLOSING and pieces:
            pieces[-1] += character
            whole = True
        elif wide or whole or not pieces:
            pieces.append(character)
            whole = wide
        else:
            pieces[-1] += character
    return pieces
