"""Overhead of edit-eval itself: between two tasks on a device, on the engine's processor, and when resuming a run.

    python bench/overhead.py [--json] [--beside TREE]

`device_gap_ms`: median time between the end of one edit and the start of the next on a device, at 1024 x 1024 with real
PNGs. `engine_cpu_ms`: processor time of the engine's process per task (an edit or a batch of judgements), as the slope
between a short and a long run. `resume_100k_seconds` and `rss_100k_mb`: reading back 50,000 edits and 50,000 replies,
checking every line's CRC and every picture's existence, in a process of its own; with its processor time, which
depends less on other load. Medians of several such processes. For the memory of the benchmark's pass, see
bench/benchmark_pass.py.

With `--beside`, the source of another tree is measured by the same program, in turn with this one, each figure in
a process of its own: what else the machine does then weighs on both alike.
"""

from __future__ import annotations

import argparse
import base64
import io
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from edit_eval import evaluate
from edit_eval.run import Run

CATEGORIES = ("physical", "environmental", "social", "causal", "referential")
RECORDS = 100_000
REPEATS = 7
REASONS = (
    "The instruction is followed.",
    "The shadow follows the light, and the hills keep their geometry.",
    "The new colour is even, but its edge bleeds slightly into the sky.",
    "A second object was changed that was not named.",
    "The texture of the grass is lost around the edit.",
    "Lighting and perspective agree with the rest of the scene.",
    "Faces in the background are softer than before.",
    "Nothing outside the described region has changed.",
)
"""What a judge says in a run of several models."""


class Fives:
    """A judge that, like most, is told nothing but its question, which keys are computed from."""

    def __init__(self, parameters: object) -> None: ...

    def load(self, devices: object) -> None: ...

    def judge(self, requests: Sequence[object]) -> list[str]:
        """Says of every edit the same."""
        return ["Score: 5.000"] * len(requests)


def write_benchmark(folder: Path, count: int, size: int) -> Path:
    """Writes `count` items with noisy pictures of `size` x `size` pixels."""
    folder.mkdir(exist_ok=True)
    items = []
    for number in range(count):
        noise = Image.frombytes("RGB", (size // 8, size // 8), random.Random(number).randbytes(3 * (size // 8) ** 2))
        data = io.BytesIO()
        noise.resize((size, size), Image.Resampling.BICUBIC).save(data, "PNG", compress_level=1)
        items.append(
            {
                "subset": "物理",
                "original_image_path": f"{number:06d}.png",
                "original_description_en": "noise",
                "original_description": "噪声",
                "edit_instruction_en": f"less noise {number}",
                "edit_instruction": f"少一点噪声 {number}",
                "src_img_b64": base64.b64encode(data.getvalue()).decode(),
                "difficulty": "easy",
                "tags": [],
            }
        )
    path = folder / "benchmark.json"
    path.write_text(json.dumps(items), "utf-8")
    return path


def configuration(folder: Path, count: int, size: int, seconds: float, devices: int) -> dict[str, Any]:
    """Returns a configuration of the testing models on `devices` CPU workers; the user's cache is in the folder."""
    os.environ["XDG_CACHE_HOME"] = f"{folder}/user"  # where a run before this one had equal sources elsewhere
    return {
        "benchmark": {"data_path": str(write_benchmark(folder, count, size))},
        "diffusion_model": {
            "type": "testing",
            "params": {"device_ids": f"cpu:{devices}", "seconds": seconds, "steps": 1},
        },
        "reward_model": {"class_path": f"{__file__}:Fives", "params": {"device_ids": f"cpu:{devices}"}},
        "execution": {"pilot": False, "progress": "none"},
    }


def device_gap() -> float:
    """Returns the median milliseconds between two edits on a device."""
    with tempfile.TemporaryDirectory() as name:
        settings = configuration(Path(name), 24, 1024, 0.5, 1)
        results = evaluate(settings, run_dir=Path(name) / "run", report=False).results
        told: Any = getattr(results, "telemetry", results)  # an older tree's results have all of it
        spans = sorted((a.begin, a.end) for a in told.activities if a.kind == "editing")
        gaps = [later[0] - earlier[1] for earlier, later in itertools.pairwise(spans[1:-2])]
        return 1000 * statistics.median(gaps)


def engine_cpu() -> float:
    """Returns the engine's processor time per task in milliseconds."""
    costs = {}
    for count in (100, 500):
        with tempfile.TemporaryDirectory() as name:
            settings = configuration(Path(name), count, 32, 0.0, 2)
            evaluate(settings, run_dir=Path(name) / "warm", report=False, limit=1)  # sources cached, modules loaded
            begin = time.process_time()
            evaluate(settings, run_dir=Path(name) / "run", report=False)
            costs[count] = time.process_time() - begin
    return 1000 * (costs[500] - costs[100]) / (2 * 400)


def write_run(folder: Path, count: int, models: int = 1) -> Path:
    """Writes a finished run of `count` samples, with an edit by each of the models and a reply to each edit.

    The records are made after those of a real run. Of one model each reply is a score of 5; of several a judge's
    reasons and a score, both drawn.
    """
    settings = configuration(folder, 1, 32, 0.0, 1)
    edits_by = settings.pop("diffusion_model")
    settings["edit_models"] = {
        f"model_{number}": {**edits_by, "params": {**edits_by["params"], "steps": 1 + number}}
        for number in range(models)
    }
    if models > 1:
        settings["protocol"] = {"type": "rubric", "answer": "reason_then_score"}
    run = folder / "run"
    evaluate(settings, run_dir=run, report=False)
    from dataclasses import asdict, replace

    from edit_eval.records import Picture, Status
    from edit_eval.store.journal import Segment
    from edit_eval.store.matrix import Matrix
    from edit_eval.store.recall import edit_record, where_of

    made = Run(run)
    sample, edit = made.results.samples[0], made.results.edits[0]
    samples = [
        replace(
            sample,
            id=f"{n:06d}",
            index=n,
            instruction=f"less noise {n}",
            pictures={"source": Picture(path=sample.source, digest=f"{n:032x}" * 2)},
            cluster=f"{n:032x}" * 2,
            category=CATEGORIES[n * len(CATEGORIES) // count] if models > 1 else sample.category,
            difficulty=("easy", "medium", "hard")[n % 3] if models > 1 else sample.difficulty,
        )
        for n in range(count)
    ]
    matrix = Matrix(replace(made.experiment, samples=tuple(samples)))
    for journal in ("samples", "edits", "replies"):
        for path in (run / journal).glob("*.jsonl"):
            path.unlink()
    journals = {name: Segment(run / name / "0001.jsonl") for name in ("samples", "edits", "replies")}
    for sample in samples:
        journals["samples"].append(asdict(sample))
    draw = random.Random(7)
    for number in range(count * models):
        image = run / "images" / "many" / f"{number // 1000:03d}" / f"{number}.png"
        image.parent.mkdir(parents=True, exist_ok=True)
        os.link(run / edit.image, image)
        mine = replace(
            matrix.edits[number],
            status=Status.OK,
            image=os.path.relpath(image, run),
            pixels=f"{count + number:032x}" * 2,
            width=edit.width,
            height=edit.height,
            file_bytes=edit.file_bytes,
            seconds=7.5,
            device="cuda:0",
        )
        journals["edits"].append({**edit_record(mine), "at": 0.0})
        matrix.edits[number] = mine
        score = 5.0 if models == 1 else round(min(10.0, max(0.0, draw.gauss(5 + number // count / 10, 1.7))), 3)
        reasons = "" if models == 1 else f"{' '.join(draw.sample(REASONS, 3))}\n"
        journals["replies"].append(
            {
                "key": matrix.key(number),
                **where_of(matrix.address(number)),
                "ask": 0,
                "text": f"{reasons}Score: {score:.3f}",
                "values": {},
                "ended": "ok",
                "length": 0,
                "final": False,
                "seconds": 0.2,
                "device": "cuda:0",
                "batch": 2,
                "status": "ok",
                "read": {"score": score},
                "at": 0.0,
            }
        )
    for segment in journals.values():
        segment.close()
    return run


def read_run(run: Path) -> None:
    """Reads a run back in this process; prints seconds, processor seconds (user and system), and megabytes."""
    begin, busy = time.perf_counter(), time.process_time()
    made: Any = Run(run)
    rows = made.table.rows("edit") if hasattr(made, "table") else made.matrix.judgements()  # an older tree's
    pending = sum(judgement.score is None for judgement in rows)
    seconds, busy = time.perf_counter() - begin, time.process_time() - busy
    assert pending == 0
    print(json.dumps([seconds, busy, peak_megabytes()]))


def peak_megabytes() -> float:
    """Returns this process's peak memory. (`ru_maxrss` would include the process that started it.)"""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def resume() -> dict[str, float]:
    """Measures reading back 100,000 records."""
    with tempfile.TemporaryDirectory() as name:
        run = write_run(Path(name), RECORDS // 2)
        command = [sys.executable, __file__, "--read", str(run)]
        runs = [
            json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            for _ in range(REPEATS)
        ]
    seconds, busy, megabytes = zip(*runs, strict=True)
    return {
        "resume_100k_seconds": statistics.median(seconds),
        "resume_100k_cpu_seconds": statistics.median(busy),
        "rss_100k_mb": max(megabytes),
    }


MEASURES: dict[str, Callable[[], dict[str, float]]] = {
    "gap": lambda: {"device_gap_ms": device_gap()},
    "engine": lambda: {"engine_cpu_ms": engine_cpu()},
    "resume": resume,
}
HERE = Path(__file__).resolve().parents[1]


def beside(tree: Path, rounds: int) -> dict[str, dict[str, float]]:
    """Returns the medians of this tree's figures, and of another one's, measured in turn."""
    figures_by_tree: dict[str, dict[str, list[float]]] = {str(folder): {} for folder in (HERE, tree.resolve())}
    for _, measure, (folder, figures) in itertools.product(range(rounds), MEASURES, figures_by_tree.items()):
        command = [sys.executable, __file__, "--measure", measure]
        paths = filter(None, (str(Path(folder) / "src"), os.environ.get("PYTHONPATH")))  # an older tree may need others
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
        for name, value in json.loads(said.splitlines()[-1]).items():
            figures.setdefault(name, []).append(value)
    return {
        folder: {name: statistics.median(values) for name, values in of.items()}
        for folder, of in figures_by_tree.items()
    }


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--beside", metavar="TREE", type=Path, help="another tree to measure in turn with this one")
    parser.add_argument("--rounds", metavar="N", type=int, default=3, help="with --beside: how often each is measured")
    parser.add_argument("--read", metavar="RUN", help=argparse.SUPPRESS)
    parser.add_argument("--measure", choices=MEASURES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.read:
        return read_run(Path(arguments.read))
    if arguments.measure:
        return print(json.dumps(MEASURES[arguments.measure]()))
    if arguments.beside:
        trees = beside(arguments.beside, arguments.rounds)
        if arguments.json:
            return print(json.dumps({"figures": trees}))
        here, there = trees.values()
        return print("\n".join(f"{name}: {here[name]:.2f} here, {there[name]:.2f} there" for name in here))
    figures = {name: value for measure in MEASURES.values() for name, value in measure().items()}
    if arguments.json:
        return print(json.dumps({"figures": {name: round(value, 3) for name, value in figures.items()}}))
    return print("\n".join(f"{name}: {value:.2f}" for name, value in figures.items()))


if __name__ == "__main__":
    main()
