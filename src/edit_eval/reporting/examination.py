"""What an examination found out, for a terminal: grouped, with a word where others have only a colour."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from edit_eval.execution.findings import Finding, Level
from edit_eval.reporting.language import worded
from edit_eval.reporting.styled import Styled
from edit_eval.reporting.terminal_text import one_line, padded, print_beside, stdout_console
from edit_eval.text import Text, counted

STYLES: dict[Level, str] = {"ok": "green", "note": "cyan", "warning": "yellow", "problem": "bold red"}
WORD = max(map(len, STYLES)) + 2


def print_findings(findings: Sequence[Finding], console: Console | None = None) -> None:
    """Prints findings by area, and a last line that says whether something would stop the run."""
    console = console or stdout_console()
    for area in dict.fromkeys(finding.area for finding in findings):
        console.print(Styled(worded(area), style="bold"))
        for finding in findings:
            if finding.area == area:
                head = Styled("  ").append(padded(worded(finding.level), WORD), style=STYLES[finding.level])
                print_beside(console, head, Styled(one_line(finding.told)))
                if finding.advice:
                    print_beside(console, f"{'':{WORD}}  -> ", Styled(one_line(finding.advice)))
    console.print()
    console.print(verdict(findings))


def verdict(findings: Sequence[Finding]) -> Styled:
    """The last line."""
    count = sum(finding.stops for finding in findings)
    if count:
        return Styled(Text("{} would stop the run", counted(count, "problem")), style=STYLES["problem"])
    examined = any(finding.area == "configuration" and finding.level == "ok" for finding in findings)
    return Styled(Text("this would run") if examined else Text("nothing here would stop a run"), style=STYLES["ok"])
