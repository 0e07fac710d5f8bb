"""What an examination found out, for a terminal: grouped, with a word where others have only a colour."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from edit_eval.execution.advice.findings import Finding, Level
from edit_eval.reporting.terminal_text import one_line, print_beside, stdout_console

STYLES: dict[Level, str] = {"ok": "green", "note": "cyan", "warning": "yellow", "problem": "bold red"}
WORD = max(map(len, STYLES)) + 2


def print_findings(findings: Sequence[Finding], console: Console | None = None) -> None:
    """Prints findings by area, and a last line that says whether something would stop the run."""
    console = console or stdout_console()
    for area in dict.fromkeys(finding.area for finding in findings):
        console.print(Text(area, style="bold"))
        for finding in findings:
            if finding.area == area:
                head = Text("  ").append(finding.level.ljust(WORD), style=STYLES[finding.level])
                print_beside(console, head, Text(one_line(finding.text)))
                if finding.advice:
                    print_beside(console, f"{'':{WORD}}  -> ", Text(one_line(finding.advice)))
    console.print()
    console.print(verdict(findings))


def verdict(findings: Sequence[Finding]) -> Text:
    """The last line."""
    count = sum(finding.stops for finding in findings)
    if count:
        return Text(f"{count} problem{'s' * (count > 1)} would stop the run", style=STYLES["problem"])
    examined = any(finding.area == "configuration" and finding.level == "ok" for finding in findings)
    return Text("this would run" if examined else "nothing here would stop a run", style=STYLES["ok"])
