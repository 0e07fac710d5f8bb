"""What is known before a run, on a terminal: a plan, and the findings of an examination."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.console import Console

from edit_eval.execution.findings import Finding, Level
from edit_eval.plugins.preparation.planning import ClusterSize, Combination, Plan
from edit_eval.reporting.formats import duration, short_duration
from edit_eval.reporting.language import code_to_text
from edit_eval.reporting.table import Column, Table, Words, terminal_table
from edit_eval.reporting.terminal_text import Styled, one_line, pad_text, print_with_head, stdout_console
from edit_eval.text import Text, pluralize

BOUND = Text("Ideal: the time divided by that of perfectly even work and loading")

NOT_WORTH_IT = 0.95
"""A schedule that takes more of the configured one's time than this is not proposed."""

_MEMORY = {"unknown": Text("memory unknown"), "too little": Text("memory too little")}


def print_plan(plan: Plan, console: Console, *, every: bool = False) -> None:
    """Prints how long the run takes, and where the times come from; if `every`, each combination, the best marked."""
    for line in time_lines(plan):
        print_with_head(console, "", Styled(line))
    for key, known in plan.durations.items():
        kind, _, name = key.partition(":")
        unit = Text("{} an edit", duration(known.unit)) if kind == "edit" else Text("{} a pair", duration(known.unit))
        load = duration(known.load)
        print_with_head(
            console, "  ", Styled(Text("{}: {}, load {} ({})", one_line(name), unit, load, one_line(known.source)))
        )
    for name in plan.unknown:
        print_with_head(console, "  ", Styled(Text("{}: not known how long it takes", one_line(name))))
    for note in plan.notes:
        print_with_head(console, "  ", Styled(one_line(note)))
    if every and plan.combinations:
        console.print()
        console.print(terminal_table(ways_table(plan)))
        console.print(BOUND)
    if plan.sizes:
        console.print()
        console.print(terminal_table(sizes_table(plan)))
        if not all(size.simulated for size in plan.sizes):
            console.print(Text("~ estimated, not simulated"))


def time_lines(plan: Plan) -> Iterator[Text]:
    """Says how long the run takes as it is configured, and what would take less."""
    what = Text("{} on {}", pluralize(plan.samples, "sample"), pluralize(plan.devices, "device"))
    if plan.chosen is None:
        yield Text(
            "How long {} take is not known: run a few (`edit-eval run CONFIG --limit 8 --run-dir RUN`), then plan with "
            "`--from RUN`.",
            what,
        )
        return
    yours = plan.combinations[plan.chosen]
    yield Text("About {} for {}.", duration(yours.prediction.makespan), what)
    if yours.memory == "unknown":
        yield Text("Whether that fits into memory is not known.")
    elif yours.memory != "enough":
        yield Text("But that does not fit into memory.")
    best = None if plan.best is None else plan.combinations[plan.best]
    if best is None:
        yield Text("No schedule is known to fit into memory; --all shows them.")
    elif best.prediction.makespan < yours.prediction.makespan * NOT_WORTH_IT:
        yield Text(
            "About {} with schedule {}, order {}, placement {}; --all shows every schedule.",
            *(duration(best.prediction.makespan), best.schedule, best.order, best.placement),
        )
    else:
        yield Text("No schedule is clearly faster; --all shows them.")


def _marks(plan: Plan, way: Combination) -> Words:
    """Returns `<- best, yours, memory unknown`; for a combination that is neither, only what speaks against it."""
    number = plan.combinations.index(way)
    marks = [word for word, k in ((Text("best"), plan.best), (Text("yours"), plan.chosen)) if k == number]
    doubt = [code_to_text(way.memory)] if way.memory != "enough" else []
    return Text("<- {}", [*marks, *doubt]) if marks else _MEMORY.get(way.memory, "")


def ways_table(plan: Plan) -> Table[Combination]:
    """Returns a row for each combination, the best one marked."""

    def bound(way: Combination) -> str:
        prediction = way.prediction
        return f"{prediction.makespan / prediction.lower_bound:.2f} x" if prediction.lower_bound else ""

    return Table(
        every=(
            Column(Text("Schedule"), lambda way: way.schedule, "word"),
            Column(Text("Order"), lambda way: way.order, "word"),
            Column(Text("Placement"), lambda way: way.placement, "word"),
            Column(Text("Takes"), lambda way: short_duration(way.prediction.makespan)),
            Column(Text("Ideal"), bound),
            Column(Text("Idle"), lambda way: f"{way.prediction.idle_share:.0%}"),
            Column("", lambda way: _marks(plan, way), "word"),
        ),
        rows=plan.combinations,
        look=lambda way: "strong" if plan.combinations.index(way) == plan.best else "",
        gap=0,
    )


def sizes_table(plan: Plan) -> Table[ClusterSize]:
    """Returns the same work on fewer machines: time, GPU-hours and, given a price, the cost."""

    def marks(size: ClusterSize) -> list[Text]:
        number = plan.sizes.index(size)
        known = (Text("fastest"), plan.fastest), (Text("cheapest"), plan.cheapest)
        return [word for word, k in known if k == number]

    def mark_text(size: ClusterSize) -> Words:
        return Text("<- {}", words) if (words := marks(size)) else ""

    return Table(
        every=(
            Column(Text("Machines"), lambda size: str(size.nodes)),
            Column(Text("GPUs"), lambda size: str(size.gpus)),
            Column(Text("Takes"), lambda size: ("" if size.simulated else "~") + short_duration(size.makespan)),
            Column(Text("GPU-hours"), lambda size: f"{size.gpu_hours:,.1f}"),
            Column(Text("Cost"), lambda size: f"{size.cost:,.2f}", when=lambda size: size.cost is not None),
            Column("", mark_text, "word"),
        ),
        rows=plan.sizes,
        look=lambda size: "strong" if marks(size) else "",
        gap=0,
    )


# -- an examination's findings --

STYLES: dict[Level, str] = {"ok": "green", "note": "cyan", "warning": "yellow", "problem": "bold red"}
WORD = max(map(len, STYLES)) + 2


def print_findings(findings: Sequence[Finding], console: Console | None = None) -> None:
    """Prints findings by area, and a last line on whether anything would stop the run.

    What holds for several models in the same words is printed once.
    """
    console = console or stdout_console()
    alike: dict[Finding, dict[str, None]] = {}
    for finding in findings:
        alike.setdefault(replace(finding, who=""), {})[finding.who] = None
    shown = [replace(finding, who=Text("{: and }", list(who)) if any(who) else "") for finding, who in alike.items()]
    for area in dict.fromkeys(finding.area for finding in shown):
        console.print(Styled(code_to_text(area), style="bold"))
        for finding in shown:
            if finding.area == area:
                head = Styled("  ").append(pad_text(code_to_text(finding.level), WORD), style=STYLES[finding.level])
                print_with_head(console, head, Styled(one_line(finding.sentence)))
                if finding.advice:
                    print_with_head(console, f"{'':{WORD}}  -> ", Styled(one_line(finding.advice)))
    console.print()
    console.print(verdict(findings))


def verdict(findings: Sequence[Finding]) -> Styled:
    """Returns the last line."""
    count = sum(finding.stops for finding in findings)
    if count:
        return Styled(Text("{} would stop the run", pluralize(count, "problem")), style=STYLES["problem"])
    examined = any(finding.area == "configuration" and finding.level == "ok" for finding in findings)
    return Styled(Text("this would run") if examined else Text("nothing here would stop a run"), style=STYLES["ok"])
