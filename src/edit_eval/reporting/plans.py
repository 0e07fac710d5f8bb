"""What is known before a run, in a terminal: a plan, and what an examination found out."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from edit_eval.execution.advice.planning import Plan
from edit_eval.execution.findings import Finding, Level
from edit_eval.reporting.formats import duration, short_duration
from edit_eval.reporting.language import worded
from edit_eval.reporting.terminal_text import (
    Styled,
    numbers,
    one_line,
    padded,
    plain_table,
    print_beside,
    stdout_console,
    whole,
)
from edit_eval.text import Text, counted

BOUND = Text("Bound: makespan divided by the time of perfectly even work and loading")

_MEMORY = {"unknown": Text("memory unknown"), "too little": Text("memory too little")}


def print_plan(plan: Plan, console: Console) -> None:
    """Where the times come from, then every combination, the best one marked."""
    what = Text("{} on {}", counted(plan.samples, "sample"), counted(plan.devices, "device"))
    console.print(Text("{}, simulated with the scheduler of a real run", what))
    for key, known in plan.durations.items():
        kind, _, name = key.partition(":")
        unit = Text("{} an edit", duration(known.unit)) if kind == "edit" else Text("{} a pair", duration(known.unit))
        load = duration(known.load)
        print_beside(
            console, "  ", Styled(Text("{}: {}, load {} ({})", one_line(name), unit, load, one_line(known.source)))
        )
    for note in plan.notes:
        print_beside(console, "  ", Styled(one_line(note)))
    heads = whole(Text("Schedule"), Text("Order"), Text("Placement"))
    table = plain_table(*heads, *numbers(Text("Makespan"), Text("Bound"), Text("Idle")), *whole(""))
    for number, way in enumerate(plan.combinations):
        prediction = way.prediction
        marks = [word for word, k in ((Text("best"), plan.best), (Text("yours"), plan.chosen)) if k == number]
        doubt = [worded(way.memory)] if way.memory != "enough" else []
        table.add_row(
            way.schedule,
            way.order,
            way.placement,
            short_duration(prediction.makespan),
            f"{prediction.makespan / prediction.lower_bound:.2f} x" if prediction.lower_bound else "",
            f"{prediction.idle_share:.0%}",
            Text("<- {}", [*marks, *doubt]) if marks else _MEMORY.get(way.memory, ""),
            style="bold" if number == plan.best else "",
        )
    console.print()
    console.print(table)
    console.print(BOUND)
    if plan.sizes:
        console.print()
        console.print(_sizes(plan))
        if not all(size.simulated for size in plan.sizes):
            console.print(Text("~ estimated from the bound, not simulated"))


def _sizes(plan: Plan) -> Table:
    """The same work on fewer machines: time, GPU-hours and, at a price, the cost."""
    priced = plan.sizes[0].cost is not None
    heads = Text("Machines"), Text("GPUs"), Text("Makespan"), Text("GPU-hours"), *([Text("Cost")] if priced else [])
    table = plain_table(*numbers(*heads), *whole(""))
    for number, size in enumerate(plan.sizes):
        marks = [
            word for word, k in ((Text("fastest"), plan.fastest), (Text("cheapest"), plan.cheapest)) if k == number
        ]
        table.add_row(
            str(size.nodes),
            str(size.gpus),
            ("" if size.simulated else "~") + short_duration(size.makespan),
            f"{size.gpu_hours:,.1f}",
            *((f"{size.cost:,.2f}",) if size.cost is not None else ()),
            Text("<- {}", marks) if marks else "",
            style="bold" if marks else "",
        )
    return table


# -- an examination's findings --

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
