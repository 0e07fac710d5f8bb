"""What a plan looks like in a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from edit_eval.execution.advice.planning import Plan
from edit_eval.records import counted
from edit_eval.reporting.formats import duration, short_duration
from edit_eval.reporting.terminal_text import numbers, one_line, plain_table, print_beside, whole

BOUND = "Bound: makespan divided by the time of perfectly even work and loading"


def print_plan(plan: Plan, console: Console) -> None:
    """Where the times come from, then every combination, the best one marked."""
    what = f"{counted(plan.samples, 'sample')} on {counted(plan.devices, 'device')}"
    console.print(f"{what}, simulated with the scheduler of a real run")
    for key, known in plan.durations.items():
        kind, _, name = key.partition(":")
        text = f"{one_line(name)}: {duration(known.unit)} {'an edit' if kind == 'edit' else 'a pair'}, "
        print_beside(console, "  ", Text(f"{text}load {duration(known.load)} ({one_line(known.source)})"))
    for note in plan.notes:
        print_beside(console, "  ", Text(one_line(note)))
    table = plain_table(*whole("Schedule", "Order", "Placement"), *numbers("Makespan", "Bound", "Idle"), *whole(""))
    for number, way in enumerate(plan.combinations):
        prediction = way.prediction
        marks = [word for word, k in (("best", plan.best), ("yours", plan.chosen)) if k == number]
        doubt = [way.memory] if way.memory != "enough" else []
        table.add_row(
            way.schedule,
            way.order,
            way.placement,
            short_duration(prediction.makespan),
            f"{prediction.makespan / prediction.lower_bound:.2f} x" if prediction.lower_bound else "",
            f"{prediction.idle_share:.0%}",
            f"<- {', '.join([*marks, *doubt])}" if marks else "".join(f"memory {word}" for word in doubt),
            style="bold" if number == plan.best else "",
        )
    console.print()
    console.print(table)
    console.print(BOUND)
    if plan.sizes:
        console.print()
        console.print(_sizes(plan))
        if not all(size.simulated for size in plan.sizes):
            console.print("~ estimated from the bound, not simulated")


def _sizes(plan: Plan) -> Table:
    """The same work on fewer machines: time, GPU-hours and, at a price, the cost."""
    priced = plan.sizes[0].cost is not None
    heads = ("Machines", "GPUs", "Makespan", "GPU-hours", *(("Cost",) if priced else ()))
    table = plain_table(*numbers(*heads), *whole(""))
    for number, size in enumerate(plan.sizes):
        marks = [word for word, k in (("fastest", plan.fastest), ("cheapest", plan.cheapest)) if k == number]
        table.add_row(
            str(size.nodes),
            str(size.gpus),
            ("" if size.simulated else "~") + short_duration(size.makespan),
            f"{size.gpu_hours:,.1f}",
            *((f"{size.cost:,.2f}",) if size.cost is not None else ()),
            f"<- {', '.join(marks)}" if marks else "",
            style="bold" if marks else "",
        )
    return table
