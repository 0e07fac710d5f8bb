"""Share of GPU time wasted by scheduling, compared with the base system's way.

Six devices, 270 samples (50/50/70/50/50), edits of 7.5 s (15 steps) and 25 s (50 steps), a judge of 0.2 s a pair, loads
of 60 s. The base system loads models one after the other, sends out edits in rounds with a barrier, category by
category, and loads the judge again on all GPUs for every category (its edit model stays on the GPU meanwhile, which
costs nothing here). Everything is simulated in full; the 15-step case also runs once with real worker processes at a
tenth of the time. The policy knows the times of edits and loads from a first sample of each category, as after a pilot,
which itself is left out.

`simulation_error` is the difference of the real run from the simulation with the durations asked for. It includes
starting a dozen interpreters, which counts ten times here. `simulation_error_from_run` uses the mean durations that the
run recorded, as `plan --from RUN` does: the rest is the scheduler's own. `plan_error` is the largest such error under
all schedules, with and without controls, pilot included (`--no-plans` leaves it out).

    python bench/orchestration.py [--json]
"""

from __future__ import annotations

import argparse
import base64
import io
import itertools
import json
import random
import tempfile
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

from PIL import Image

from edit_eval import evaluate
from edit_eval.config.loading import load_configuration
from edit_eval.plugins.preparation.planning import SCHEDULES, timing_of
from edit_eval.plugins.preparation.prediction import Durations, Prediction, durations_of, simulate
from edit_eval.plugins.preparation.requests import plan
from edit_eval.scheduling.batches import cut_batches
from edit_eval.scheduling.tasks import Model, TaskList

SIZES = {"physical": 50, "environmental": 50, "social": 70, "causal": 50, "referential": 50}
SUBSETS = dict(zip(SIZES, ("物理", "环境", "社会", "因果", "指代"), strict=True))
DEVICES, JUDGE, LOAD = 6, 0.2, 60.0
CATEGORIES = [name for name, count in SIZES.items() for _ in range(count)]
REAL_SCALE = 1 / 10


def ours(edit: float, jitter: float, devices: int = DEVICES, load: float = LOAD, **options: Any) -> Prediction:
    """Simulates the default schedule."""
    places = tuple((f"cuda:{i}",) for i in range(devices))
    models = [Model("editor", "edit", places), Model("judge", "judge", places)]
    durations = Durations(
        {"edit:editor": load, "judge:judge": load},
        {"edit:editor": edit, "judge:judge": JUDGE},
        jitter=jitter,
        known=True,
    )
    return simulate(models, tasks("editor", "judge"), durations, **options)


def tasks(editor: str, judge: str) -> TaskList:
    """Returns the edits of all samples, and their judgements two at a time."""
    task_list, batches = TaskList(), defaultdict[int, list[int]](list)
    for number, batch in enumerate(cut_batches(CATEGORIES, 2)):
        batches[batch].append(number)
        task_list.add(f"edit:{editor}", [number])
    for numbers in batches.values():
        task_list.add(f"judge:{judge}", numbers, after=numbers)
    return task_list


def base_system(edit: float, jitter: float) -> float:
    """Returns the seconds that the base system's way takes for the same edits."""
    seconds = DEVICES * LOAD
    unit = 0
    for count in SIZES.values():
        times = []
        for _ in range(count):
            times.append(edit * max(0.0, random.Random(unit).gauss(1.0, jitter)))
            unit += 1
        rounds = [times[i : i + DEVICES] for i in range(0, count, DEVICES)]
        seconds += sum(map(max, rounds))
        seconds += LOAD + len(rounds) * JUDGE
    return seconds


def write_benchmark(folder: Path) -> Path:
    """Writes 270 small pictures, so that encoding does not distort the times."""
    items = []
    for number, category in enumerate(CATEGORIES):
        data = io.BytesIO()
        Image.new("RGB", (16, 16), (number % 256, number // 256, 99)).save(data, "PNG")
        items.append(
            {
                "subset": SUBSETS[category],
                "original_image_path": f"{number:05d}.png",
                "original_description_en": "a colour",
                "original_description": "颜色",
                "edit_instruction_en": "another colour",
                "edit_instruction": "换一种颜色",
                "src_img_b64": base64.b64encode(data.getvalue()).decode(),
                "difficulty": "easy",
                "tags": [],
            }
        )
    path = folder / "benchmark.json"
    path.write_text(json.dumps(items), "utf-8")
    return path


def real(edit: float, jitter: float, devices: int) -> tuple[float, float, float]:
    """Returns the wall seconds of a run with real workers that sleep, scaled back; the simulated seconds; and those
    simulated from the durations of that run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        edit_params = {"seconds": edit * REAL_SCALE, "jitter": jitter, "load_seconds": LOAD * REAL_SCALE, "steps": 1}
        configuration = {
            "benchmark": {"data_path": str(write_benchmark(folder)), "cache_dir": str(folder / "cache")},
            "diffusion_model": {"type": "testing", "params": {"device_ids": f"cpu:{devices}", **edit_params}},
            "reward_model": {
                "type": "testing",
                "params": {
                    "device_ids": f"cpu:{devices}",
                    "batch_size": 2,
                    "seconds": JUDGE * REAL_SCALE,
                    "load_seconds": LOAD * REAL_SCALE,
                },
            },
            "evaluation": {"controls": 0},
            "execution": {"pilot": False, "progress": "none"},
        }
        evaluate(configuration, run_dir=folder / "run", report=False, limit=1)
        begin = time.monotonic()
        made = evaluate(configuration, run_dir=folder / "run", report=False)
        whole = time.monotonic() - begin
        assert made.has_required_coverage
        wall = made.results.telemetry.wall_seconds[-1]
        assert wall <= whole
        last = made.results.telemetry.activities[-1].start_number
        seen = replace(
            made.results,
            telemetry=replace(
                made.results.telemetry,
                activities=tuple(a for a in made.results.telemetry.activities if a.start_number == last),
            ),
        )
        durations = durations_of(load_configuration(configuration), seen)
        known = timing_of(durations, jitter=jitter, known=True)
        places = tuple((f"cuda:{i}",) for i in range(devices))
        models = [Model("testing", "edit", places), Model("testing", "judge", places)]
        again = simulate(models, tasks("testing", "testing"), known)
        return wall / REAL_SCALE, ours(edit, jitter, devices).makespan, again.makespan / REAL_SCALE


def plan_errors() -> dict[str, float]:
    """Returns the errors of `plan --from` against real runs with sleeping workers, by schedule and controls."""
    errors = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = str(write_benchmark(folder))
        for schedule, controls in itertools.product(SCHEDULES, (0, 15)):
            edit = {"device_ids": "cpu:4", "seconds": 1.0, "load_seconds": 4.0, "steps": 1}
            judge = {"device_ids": "cpu:4", "seconds": 0.5, "load_seconds": 4.0, "batch_size": 2}
            configuration = {
                "benchmark": {"data_path": data, "cache_dir": str(folder / "cache"), "limit": 10},
                "diffusion_model": {"type": "testing", "params": edit},
                "reward_model": {"type": "testing", "params": judge},
                "evaluation": {"controls": controls},
                "execution": {"schedule": schedule, "placement": "swap", "progress": "none"},
            }
            made = evaluate(configuration, run_dir=folder / f"{schedule}_{controls}", report=False)
            (wall,) = made.results.telemetry.wall_seconds
            planned = plan(configuration, from_run=made.path)
            foretold = planned.combinations[planned.chosen].prediction.makespan
            errors[f"{schedule}_{controls}"] = foretold / wall - 1
    return errors


def main() -> None:
    """Prints the table, or with --json the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--no-real", action="store_true", help="only what is simulated")
    parser.add_argument("--no-plans", action="store_true", help="without the runs that plans are held against")
    arguments = parser.parse_args()
    figures: dict[str, float] = {}
    rows = []
    for steps, edit in ((15, 7.5), (50, 25.0)):
        for jitter in (0.02, 0.2):
            base = base_system(edit, jitter)
            default, serial = ours(edit, jitter), ours(edit, jitter, load_concurrency=1)
            rows.append((steps, jitter, base, default.makespan, serial.makespan, default.lower_bound))
            if jitter == 0.02:
                figures[f"speedup_{steps}_steps"] = base / default.makespan
                figures[f"speedup_{steps}_steps_serial_loads"] = base / serial.makespan
                over = default.makespan / default.lower_bound
                figures["over_lower_bound"] = max(over, figures.get("over_lower_bound", 0.0))
    one, six = ours(7.5, 0.02, devices=1, load=0.0), ours(7.5, 0.02, load=0.0)
    figures["scaling_6_devices"] = one.makespan / six.makespan
    if not arguments.no_real:
        measured, simulated, from_run = real(7.5, 0.02, DEVICES)
        figures["simulation_error"] = abs(measured - simulated) / measured
        figures["simulation_error_from_run"] = abs(measured - from_run) / measured
        figures["real_15_steps_seconds"] = measured
    errors = {} if arguments.no_real or arguments.no_plans else plan_errors()
    if errors:
        figures["plan_error"] = max(map(abs, errors.values()))
    if arguments.json:
        print(json.dumps({"figures": {name: round(value, 4) for name, value in figures.items()}}))
        return
    print("steps  jitter  base system  default  serial loads  bound   (seconds, simulated)")
    for steps, jitter, *seconds in rows:
        base, default, serial, bound = seconds
        print(f"{steps:5}  {jitter:6.0%}  {base:11.0f}  {default:7.0f}  {serial:12.0f}  {bound:5.0f}")
    for name, value in {**figures, **{f"plan_error_{way}": error for way, error in errors.items()}}.items():
        print(f"{name}: {value:.3f}")


if __name__ == "__main__":
    main()
