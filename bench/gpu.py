"""Measures edits and judgements on one GPU in ten minutes: two rehearsals, and their results as rows of a table.

    python bench/gpu.py [--minutes 9] [--device cuda:0] [--out FILE] [--json]
    python bench/gpu.py --device cpu --layers 2 --side 64 ...        the same, small, on a CPU

`gpu_edits.yaml` is rehearsed first, then `gpu_judges.yaml` with the time that is left: the configured models, their
weights random where they are not on disk, through the engine, as `edit-eval rehearse` does it. Rows for
`docs/performance.md` are printed, and kept in `--out` with all that the rehearsals found (`.json`, beside a `.md`).
The floors are FLOPs / `--tflops` and bytes / `--bandwidth` (`gpu_work.py`); cut networks have none.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE)]

from PIL import Image  # noqa: E402

import gpu_work  # noqa: E402
from edit_eval.errors import EditEvalError  # noqa: E402
from edit_eval.pictures import write_png  # noqa: E402
from edit_eval.plugins.rehearse.rehearsal import rehearse  # noqa: E402
from edit_eval.plugins.rehearse.results import ModelRehearsed, Rehearsal  # noqa: E402
from edit_eval.reporting.formats import memory  # noqa: E402
from edit_eval.reporting.table import Column, Table, markdown_table  # noqa: E402

FULL_STEPS = 50
EDITS, PAIRS = 3, 34
"""How many of each: the first edit is a warm-up, the first two pairs are alone, and two batches of 16 are wanted."""
COLOURS = ("red", "orange", "yellow", "green", "blue", "violet", "brown", "grey")
SHARE_OF_EDITS = 0.65
"""Of the time: four loads, one with a compiler, beside four loads of a judge."""


def write_pictures(folder: Path, count: int, side: int) -> Path:
    """Writes smooth coloured noise, and a table of it with instructions of different lengths; returns the table."""
    table = folder / "pictures.csv"
    with table.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("picture", "instruction"))
        for number in range(count):
            small = Image.frombytes("RGB", (16, 16), random.Random(number).randbytes(3 * 256))
            write_png(small.resize((side, side), Image.Resampling.BICUBIC), folder / f"{number:03d}.png")
            what = " and ".join(f"the {colour}" for colour in COLOURS[: 1 + number % len(COLOURS)])
            rows.writerow((f"{number:03d}.png", f"Turn everything in the picture that is {what} into its opposite."))
    return table


def rehearsed(part: str, minutes: float, table: Path, given: argparse.Namespace) -> Rehearsal:
    """Rehearses `edits` or `judges`."""
    own = [f"benchmark={table}"]
    own += [setting.partition(":")[2] for setting in given.set if setting.startswith(f"{part}:")]
    return rehearse(
        HERE / f"gpu_{part}.yaml",
        minutes=minutes,
        layers=given.layers,
        samples=given.samples or (EDITS if part == "edits" else PAIRS),
        faults=given.faults,
        overrides=own,
        **({} if given.device == "cuda:0" else {"devices": given.device}),
    )


# -- the rows --


def seconds_of(model: ModelRehearsed, steps: int) -> float | None:
    """Returns the seconds of an edit of so many steps, from its steps as measured; None if nothing was measured."""
    if model.unit is None or model.one_step is None or not model.steps or model.steps < 2:
        return model.unit if model.steps == steps else None
    return model.unit + (steps - model.steps) * (model.unit - model.one_step) / (model.steps - 1)


def same(rehearsal: Rehearsal, model: str) -> str:
    """Returns whether what a model made was the same when it was made again."""
    again = [digest.equal for digest in rehearsal.digests if digest.model == model]
    return ("yes" if all(again) else "no") if again else ""


def cell(value: float | None, places: int = 2) -> str:
    """Formats a number, or nothing."""
    return "" if value is None else f"{value:.{places}f}"


def edits_table(rehearsal: Rehearsal, floor: float | None) -> Table[ModelRehearsed]:
    """Returns a row for each way of editing; `floor` is that of 50 steps in seconds."""
    ways = [model for model in rehearsal.models if model.model.startswith("edit:")]
    stock = next((seconds_of(model, FULL_STEPS) for model in ways if model.model == "edit:stock"), None)

    def to(other: float | None, model: ModelRehearsed, *, of: bool = False) -> str:
        whole = seconds_of(model, FULL_STEPS)
        if not other or not whole:
            return ""
        return cell(other / whole if of else whole / other)

    return Table(
        every=(
            Column("an edit", lambda model: model.model.partition(":")[2], "name"),
            Column("a load, s", lambda model: cell(model.load, 1)),
            Column("steps", lambda model: str(model.steps or "")),
            Column("s", lambda model: cell(model.unit)),
            Column("s with one step", lambda model: cell(model.one_step)),
            Column("s with 50 (extrapolated)", lambda model: cell(seconds_of(model, FULL_STEPS))),
            Column("over the floor", lambda model: to(floor, model)),
            Column("times as fast as stock", lambda model: to(stock, model, of=True)),
            *memory_columns(),
            Column("the same in a fresh process", lambda model: same(rehearsal, model.model), "word"),
        ),
        rows=ways,
    )


def judges_table(rehearsal: Rehearsal, given: argparse.Namespace) -> Table[ModelRehearsed]:
    """Returns a row for each size of batch."""

    def floor(model: ModelRehearsed) -> float | None:
        whole = not rehearsal.layers and model.batch
        return gpu_work.pair_floor(model.batch or 1, given.tflops, given.bandwidth) if whole else None

    return Table(
        every=(
            Column("a judge", lambda model: model.model.partition(":")[2], "name"),
            Column("a load, s", lambda model: cell(model.load, 1)),
            Column("pairs at once", lambda model: str(model.batch or "")),
            Column("s a pair", lambda model: cell(model.unit, 4)),
            Column("floor, s", lambda model: cell(floor(model), 4)),
            Column("pairs/s", lambda model: cell(1 / model.unit if model.unit else None)),
            *memory_columns(),
            Column("the same alone", lambda model: same(rehearsal, model.model), "word"),
        ),
        rows=[model for model in rehearsal.models if model.model.startswith("judge:")],
    )


def memory_columns() -> Iterator[Column[ModelRehearsed]]:
    """Yields predicted beside measured."""
    yield Column("weights, predicted", lambda model: memory(model.predicted))
    yield Column("measured", lambda model: memory(model.measured))
    yield Column("at work, predicted", lambda model: memory(model.predicted_peak))
    yield Column("at the peak", lambda model: memory(model.peak))


def figures_of(edits: Rehearsal | None, judges: Rehearsal | None, floor: float | None) -> dict[str, float]:
    """Returns the figures that `docs/performance.md` has wanted values of, each of our best way."""
    figures = {}
    if edits:
        whole = {
            model.model: seconds_of(model, FULL_STEPS) for model in edits.models if model.model.startswith("edit:")
        }
        stock = whole.pop("edit:stock", None)
        if ours := [seconds for seconds in whole.values() if seconds]:
            figures["seconds_per_image_50_steps"] = min(ours)
            figures |= {"over_floor": min(ours) / floor} if floor else {}
            figures |= {"speedup_over_diffusers": stock / min(ours)} if stock else {}
    if judges:
        units = [model.unit for model in judges.models if model.model.startswith("judge:") and model.unit]
        loads = [model.load for model in judges.models if model.model.startswith("judge:") and model.load]
        figures |= {"judge_pairs_per_second": 1 / min(units)} if units else {}
        figures |= {"judge_load_seconds": min(loads)} if loads else {}
    return {name: round(value, 4) for name, value in figures.items()}


def report(edits: Rehearsal | None, judges: Rehearsal | None, given: argparse.Namespace) -> str:
    """Returns all rows as Markdown, what was left out or has failed, and the figures."""
    floor = None if edits is None or edits.layers else gpu_work.edit_floor(FULL_STEPS, given.tflops)
    parts = []
    if edits:
        parts.append(markdown_table(edits_table(edits, floor), "en"))
    if judges:
        parts.append(markdown_table(judges_table(judges, given), "en"))
    for rehearsal in filter(None, (edits, judges)):
        parts += [f"* {rehearsal.configuration}: {note}" for note in (*rehearsal.notes, *rehearsal.reasons)]
        parts += [f"* {rehearsal.configuration}: {fault.fault}: {fault.outcome}" for fault in rehearsal.faults or ()]
    parts.append("\n".join(f"{name}: {value}" for name, value in figures_of(edits, judges, floor).items()))
    return "\n\n".join(filter(None, parts))


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=9.0, help="for both; nothing more is begun afterwards")
    parser.add_argument("--device", default="cuda:0", help="one GPU, or cpu:1")
    parser.add_argument("--layers", type=int, help="cut each stack of layers to so many, at full width")
    parser.add_argument("--side", type=int, default=1024, help="pixels of a side of the pictures")
    parser.add_argument("--samples", type=int, help=f"edits of each way, and pairs (default: {EDITS}, {PAIRS})")
    parser.add_argument("--faults", action="store_true", help="plant some, too")
    parser.add_argument("--parts", default="edits,judges", help="of %(default)s")
    parser.add_argument("--set", action="append", default=[], metavar="PART:KEY=VALUE", help="a setting of one part")
    parser.add_argument("--tflops", type=float, default=790.0, help="the floor's compute: bf16 as measured on an H200")
    parser.add_argument("--bandwidth", type=float, default=4.3, help="the floor's memory, TB/s")
    parser.add_argument("--out", type=Path, help="a file for all results, with the rows beside it (.md)")
    parser.add_argument("--json", action="store_true", help="print the figures alone, as JSON")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; returns 1 if something failed."""
    given, begin = parse(arguments), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="edit-eval-gpu-") as folder:
        rehearsals = measured(write_pictures(Path(folder), PAIRS, given.side), begin, given)
    edits, judges = rehearsals.get("edits"), rehearsals.get("judges")
    floor = None if edits is None or edits.layers else gpu_work.edit_floor(FULL_STEPS, given.tflops)
    print(json.dumps({"figures": figures_of(edits, judges, floor)}) if given.json else report(edits, judges, given))
    failed = any(rehearsal.failures for rehearsal in rehearsals.values())
    return 1 if failed or len(rehearsals) < len(given.parts.split(",")) else 0


def measured(table: Path, begin: float, given: argparse.Namespace) -> dict[str, Rehearsal]:
    """Rehearses each part, and keeps what was found so far."""
    rehearsals: dict[str, Rehearsal] = {}
    for part in given.parts.split(","):
        left = given.minutes - (time.monotonic() - begin) / 60
        share = SHARE_OF_EDITS if part == "edits" and "judges" in given.parts else 1.0
        try:
            rehearsals[part] = rehearsed(part, max(0.1, share * left), table, given)
        except EditEvalError as error:  # the other part may still be measured
            print(f"error: {part}: {error}", file=sys.stderr, flush=True)
            continue
        if given.out:
            everything = {name: rehearsal.as_plain() for name, rehearsal in rehearsals.items()}
            given.out.write_text(json.dumps(everything, indent=1), "utf-8")
            given.out.with_suffix(".md").write_text(
                report(rehearsals.get("edits"), rehearsals.get("judges"), given) + "\n", "utf-8"
            )
    return rehearsals


if __name__ == "__main__":
    sys.exit(main())
