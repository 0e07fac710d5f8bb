"""Times edits and judgements by full-size models with random weights on one GPU, beside the least possible times.

    python bench/gpu.py [--size full|tiny] [--device cuda|cpu] [--parts stock,edit,...] [--out FILE] [--json]

Runs from the source tree in an environment with torch, transformers, diffusers and Pillow, and no other dependency of
edit-eval. Results are printed as they come and saved in `--out`; a part that fails is named, and the others go on.
`--size tiny --device cpu` runs the same code in a minute, `--size full --layers 2 --canvas 65536` at full width.

Parts: `stock` (diffusers' own loop), `edit` (edit-eval's worker), `switches` (with all of
`bench/acceleration`), `judge`, `together` (both at work at once), `unload`, `loads` (few layers, extrapolated).
Medians; the first task of each worker is a warm-up. The floor is FLOPs / `--tflops` and bytes / `--bandwidth`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE)]

from PIL import ImageChops  # noqa: E402

import gpu_work  # noqa: E402
from acceleration.adapters import AcceleratedQwenImageEdit  # noqa: E402
from edit_eval.pictures import open_picture  # noqa: E402
from gpu_architectures import architecture  # noqa: E402
from gpu_models import ANSWER, write_folders  # noqa: E402
from gpu_tables import figures_of, tables_of  # noqa: E402
from gpu_tasks import INSTRUCTION_TOKENS, QUESTION_TOKENS, RUBRIC_TOKENS, Tasks  # noqa: E402
from gpu_worker import Worker, WorkerFailed, at_fault, environment, memory_used, seconds_until_free, worker  # noqa: E402

BATCHES = (1, 2, 4, 16, 32)
ENCODER_TEMPLATE_TOKENS = 75
FULL_STEPS = 50

ATTENTION = {
    "cuda": ["native", "_native_cudnn", "_native_flash", "_native_efficient"],
    "cpu": ["native", "_native_math"],
}
"""Attention kernels that diffusers offers without another package, by its names."""

SUSPECTS = ("attention", "fused_gelu", "compile")
"""Switches that may have caused an error that names none."""

JUDGE_WAYS: dict[str, dict[str, Any]] = {
    "edit-eval": {},
    "shared prefix": {"shared_prefix": True},
    "shared prefix, fused norms": {"shared_prefix": True, "fused_norms": True},
    "grouped_mm throughout": {"experts_implementation": "grouped_mm"},
}

EXPECTED = {"stock": 85, "edit": 55, "switches": 130, "judge": 120, "together": 10, "unload": 5, "loads": 70}
"""Seconds that each part takes on a GPU, in order. A part may take `PATIENCE` times as long if the later ones keep
theirs, and is not started if less than half of its time is left."""
PATIENCE = 2.5


class Bench:
    """One run of the benchmark: its folder, live workers and results."""

    def __init__(self, arguments: argparse.Namespace, scratch: Path, alive: ExitStack) -> None:
        self.arguments, self.scratch, self.alive = arguments, scratch, alive
        self.began = time.monotonic()
        self.tiny = arguments.size == "tiny"
        self.architecture = architecture(arguments.size, arguments.layers)
        self.canvas = arguments.canvas or (4096 if self.tiny else None)
        self.dtype = arguments.dtype
        self.edit_folder, self.judge_folder = write_folders(scratch / "models", self.architecture)
        self.results: dict[str, Any] = {"settings": vars(arguments), "failed": {}}
        self.results["work"] = self.work()
        self.before = 0.0
        try:
            self.before = memory_used(arguments.device)
        except WorkerFailed as error:  # times need no memory figures
            self.results["failed"]["memory"] = str(error)
        self.waiting: dict[str, Worker] = {}
        self.editor: Worker | None = None
        self.judge_worker: Worker | None = None
        self.tasks = Tasks(scratch, self.side(), RUBRIC_TOKENS // 8 if self.tiny else RUBRIC_TOKENS)
        self.deadline = 0.0

    # -- amount of work --

    def work(self) -> dict[str, float]:
        """Returns FLOPs and bytes of an edit and of a judgement, and the seconds they take at best."""
        made, rate = self.architecture, self.arguments.tflops * 1e12
        canvas = self.canvas or 1024 * 1024
        pixels = self.architecture["encoder"]["pixels"]
        patches = min(canvas, pixels["longest_edge"]) // 14**2
        text = patches // 4 + INSTRUCTION_TOKENS
        forward = gpu_work.edit_forward(made["transformer"], gpu_work.picture_tokens(canvas), text)
        prompts = 2 * gpu_work.encode_prompt(made["encoder"], patches, INSTRUCTION_TOKENS + ENCODER_TEMPLATE_TOKENS)
        vae_encode, vae_decode = gpu_work.vae(made["vae"], canvas)
        looked_at = min(self.side() ** 2, made["judge"]["pixels"]["longest_edge"]) // 16**2
        pair = gpu_work.judgement(made["judge"], 2, looked_at, RUBRIC_TOKENS + QUESTION_TOKENS)
        work = {"forward": forward, "encode": prompts, "vae_encode": vae_encode, "vae_decode": vae_decode, "pair": pair}
        work = {f"{name}_flops": flops for name, flops in work.items()}
        for steps in (self.arguments.steps, FULL_STEPS):
            work[f"image_{steps}_floor"] = (2 * steps * forward + prompts + vae_encode + vae_decode) / rate
        for rows in self.arguments.batches:
            step = gpu_work.mixture_step_bytes(made["judge"]["text"], rows) / (self.arguments.bandwidth * 1e12)
            work[f"step_{rows}_floor"] = step
            work[f"pair_{rows}_floor"] = pair / rate + len(ANSWER) * step / rows
        return work

    def side(self) -> int:
        """Returns the side of the judge's pictures in pixels."""
        return 96 if self.tiny else self.arguments.side

    # -- parts --

    def stock(self) -> None:
        """Diffusers' own loop."""
        marks = self.scratch / "stock.marks"
        settings = {
            "folder": str(self.edit_folder),
            "device": self.arguments.device,
            "dtype": self.dtype,
            "canvas": self.canvas,
            "steps": self.arguments.steps,
            "marks": str(marks),
            "tasks": self.edits("stock"),
            "attention": ATTENTION[self.arguments.device.partition(":")[0]],
        }
        said: dict[str, Any] = {}
        try:
            self.child("stock", settings, said)
        finally:  # what it has reported counts even if it failed later
            told = ("versions", "native", "auto", "gelu", "attention")
            self.results.update({name: said[name] for name in told if name in said})
            if "peak" in said:
                self.results["stock"] = {**self.edit_times(marks), "peak": said["peak"]}

    def edit(self) -> None:
        """edit-eval's worker with default settings."""
        self.edit_with("edit", {})

    def switches(self) -> None:
        """edit-eval's worker with every measure of `bench/acceleration` that works here."""
        chosen = self.results["switched_on"] = self.chosen_switches()
        while True:
            try:
                return self.edit_with("switches", chosen)
            except WorkerFailed as error:
                # The adapter's errors name the parameter. Errors of a kernel or the compiler do not: then switches that
                # bring kernels are dropped first, and the one that gains most last.
                named = [name for name in chosen if f"{name}: " in str(error)]
                culprit = next((name for name in (*named, *SUSPECTS) if name in chosen), "")
                if not culprit or time.monotonic() > self.deadline:
                    raise
                del chosen[culprit]
                self.results["failed"][culprit] = str(error)[:600]

    def chosen_switches(self) -> dict[str, Any]:
        """Returns the switches, chosen after attention kernels and the GELU have been timed."""
        chosen = {**all_switches(), **self.fastest_attention()}
        gelu = self.results.get("gelu")
        if gelu and gelu["within"] > gelu["behind"]:
            chosen.pop("fused_gelu", None)
        if not self.arguments.device.startswith("cuda"):
            chosen.pop("compile", None)  # takes a minute of C++, and tells nothing about a GPU
        return {**chosen, **dict(self.arguments.switch)}

    def fastest_attention(self) -> dict[str, str]:
        """Returns a kernel at least 3 % faster than the default in the stock loop, if the adapter accepts it."""
        found = {}
        for name, ms in self.results.get("attention", {}).items():
            try:
                AcceleratedQwenImageEdit.Parameters(attention=name)
            except (TypeError, ValueError):
                continue
            if isinstance(ms, float):
                found[name] = ms
        if "native" not in found:
            return {}
        fastest = min(found, key=lambda name: found[name])
        return {"attention": fastest} if found[fastest] < 0.97 * found["native"] else {}

    def edit_with(self, name: str, more: dict[str, Any]) -> None:
        """Edits in a worker, which then stays alive in place of the previous one."""
        if self.editor is not None:
            self.editor.stop()
            self.editor = None
            with suppress(WorkerFailed):  # if it is not free, loading will run out of memory
                seconds_until_free(self.arguments.device, self.before, time.monotonic())
        marks = self.scratch / f"{name}.marks"
        marks.unlink(missing_ok=True)
        editor = self.worker(name, more)
        with at_fault(editor):
            loaded = editor.load()
            done = editor.run(self.edits(name))
        self.editor = editor
        self.results[name] = {
            **self.edit_times(marks),
            "peak": done[-1]["memory"].get("device_peak", 0),
            "host": done[-1]["memory"].get("host", 0),
            "about": loaded["about"],
        }
        before = "stock" if name == "edit" else "edit"
        if before in self.results:
            self.results[name]["difference"] = self.difference(name, before)

    def judge(self) -> None:
        """edit-eval's judge, beside the edit model if that is loaded."""
        judge = self.worker("judge")
        found: dict[str, Any] = {}
        with at_fault(judge):
            self.results["judge"] = {"about": judge.load()["about"], "ways": found}
            for rows in self.arguments.batches:
                for way, settings in JUDGE_WAYS.items():
                    found.setdefault(way, {})[str(rows)] = self.judge_batches(judge, rows, way, settings)
                    self.keep()
        self.judge_worker = judge
        if self.editor is not None:
            if self.arguments.device.startswith("cuda"):
                with suppress(WorkerFailed):
                    self.results["resident"] = memory_used(self.arguments.device) - self.before
            else:
                self.results["resident"] = self.results["judge"]["host"] + self.latest_edit()["host"]

    def judge_batches(self, judge: Worker, rows: int, way: str, settings: dict[str, Any]) -> dict[str, float]:
        """Returns the times of batches of `rows` pairs answered with `settings`."""
        count = 2 if self.tiny else 5 if rows < 16 else 3
        names = (f"judge-{rows}-{way}-{number}" for number in range(count))
        done = judge.run([self.tasks.batch(rows, name, settings, number) for number, name in enumerate(names)])
        self.results["judge"]["host"] = done[-1]["memory"].get("host", 0)
        smallest = min(result.get("halved_to", rows) for message in done for result in message["results"])
        if smallest < rows:  # there may be no room for the full batch beside the edit model
            print(f"  {rows:3d} pairs, {way}: halved to {smallest}", file=sys.stderr, flush=True)
            return {"halved_to": smallest}
        times = self.judge_times(self.scratch / "judge.marks", count, rows)
        print(f"  {rows:3d} pairs, {way}: {times['pair']:.3f} s a pair", file=sys.stderr, flush=True)
        return times

    def together(self) -> None:
        """Both models at work at once: measures edits while the judge is busy."""
        if self.editor is None or self.judge_worker is None:
            raise WorkerFailed("needs a part that edits, and the part judge")
        marks = self.scratch / ("switches.marks" if "switches" in self.results else "edit.marks")
        rows = 1 if self.tiny else 4
        self.editor.send(do="run", **self.edits("together")[0])
        count = 2 if self.tiny else 16
        self.judge_worker.run([self.tasks.batch(rows, f"together-{number}") for number in range(count)])
        self.editor.wait("done")
        self.results["together"] = {"edit": read_marks(marks)[-1]["total"] / 1000}

    def unload(self) -> None:
        """Measures the time from ending a worker until its memory is free."""
        for name in ("editor", "judge_worker"):
            one: Worker | None = getattr(self, name)
            if one is None:
                continue
            others = self.judge_worker if name == "editor" else None
            left = memory_used(self.arguments.device) if others else 0.0
            begin = time.monotonic()
            one.stop()
            if others is None:
                seconds_until_free(self.arguments.device, self.before, begin)
            elif self.arguments.device.startswith("cuda"):
                seconds_until_free(self.arguments.device, left - one.held, begin)
            self.results.setdefault("unload", {})[name] = time.monotonic() - begin
            setattr(self, name, None)

    def loads(self) -> None:
        """Measures loading from real files of a few layers."""
        settings = {
            "device": self.arguments.device,
            "dtype": self.dtype,
            "size": self.arguments.size,
            "layers": self.arguments.layers,
            "load_layers": 2 if self.tiny or self.arguments.layers else 4,
            "scratch": str(self.scratch / "weights"),
        }
        self.child("loads", settings, self.results.setdefault("loads", {}))

    # -- workers and child processes --

    def worker(self, name: str, switches: dict[str, Any] | None = None) -> Worker:
        """Returns the worker of a part, perhaps one that has already done its imports; it ends with the benchmark."""
        made = self.waiting.pop(name, None) or self.start(name, switches or {})
        made.deadline = self.deadline
        return made

    def start(self, name: str, switches: dict[str, Any]) -> Worker:
        """Starts a worker, which begins importing."""
        parameters: dict[str, Any] = {"dtype": self.dtype, "marks": str(self.scratch / f"{name}.marks")}
        if name == "judge":
            class_name = "RandomQwen3VL"
            parameters.update(model_name=str(self.judge_folder), **dict(self.arguments.judge))
        else:
            class_name, steps = "RandomQwenImageEdit", self.arguments.steps
            parameters.update(model_name=str(self.edit_folder), num_inference_steps=steps, canvas=self.canvas)
            parameters.update(switches)
        path, log = f"{HERE / 'gpu_models.py'}:{class_name}", self.scratch / f"{name}.log"
        return self.alive.enter_context(worker(path, parameters, self.arguments.device, log, self.deadline))

    def import_early(self, names: Sequence[str]) -> None:
        """Starts the workers of later parts: imports take seconds of one core, and no GPU memory."""
        for name in ("edit", "judge", "switches"):
            if name in names and name not in self.waiting and not (name == "switches" and "stock" in names):
                self.waiting[name] = self.start(name, self.chosen_switches() if name == "switches" else {})

    def child(self, kind: str, settings: dict[str, Any], said: dict[str, Any]) -> None:
        """Runs bench/gpu_children.py in a process of its own, so that the GPU's memory is released.

        Its output is added to `said`, up to a failure or timeout, which raise `WorkerFailed`.
        """
        if not self.arguments.device.startswith("cuda"):
            import gpu_children

            getattr(gpu_children, kind)(settings, said.update)
            return
        order, out = self.scratch / f"{kind}.json", self.scratch / f"{kind}.out"
        order.write_text(json.dumps(settings), "utf-8")
        command = [sys.executable, str(HERE / "gpu_children.py"), kind, str(order), str(out)]
        left = max(1.0, self.deadline - time.monotonic())
        fault = ""
        try:
            done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=left, check=False)
            if done.returncode:
                fault = " | ".join(done.stderr.strip().splitlines()[-3:])
        except subprocess.TimeoutExpired:
            fault = "its part's time is over"
        for line in out.read_text("utf-8").splitlines() if out.exists() else ():
            with suppress(ValueError):  # the last line may be torn if it was killed
                said.update(json.loads(line))
        if fault:
            raise WorkerFailed(fault)

    def edits(self, name: str) -> list[dict[str, Any]]:
        """Returns the edits, the same for every worker; the first is a warm-up."""
        return self.tasks.edits(name, 1 + self.arguments.images)

    def edit_times(self, marks: Path) -> dict[str, Any]:
        """Returns medians over the timed images; in milliseconds, `image` and `image_50` in seconds, start to start."""
        timed = read_marks(marks)[1 : 1 + self.arguments.images]
        steps = self.arguments.steps
        for mark in timed:  # the first step includes planning for a new length; the others are alike
            second = mark["begins"][len(mark["begins"]) // steps] if steps > 1 else 0.0
            mark["step"] = (mark["loop"] - second) / max(1, steps - 1)
            mark["first_step"] = (second or mark["loop"]) - mark["step"]
        names = ("before", "between", "after", "loop", "step", "first_step")
        found = {name: median(mark[name] for mark in timed) for name in names}
        for name in ("encode", "vae_encode", "vae_decode"):
            found[name] = median(sum(mark["networks"].get(name, [])) for mark in timed)
        found["forward"] = median(ms for mark in timed for ms in mark["networks"]["forward"])
        found["idle"] = median(mark["before"] + mark["between"] + mark["after"] for mark in timed)
        found["image"] = median(mark["total"] + mark["between"] for mark in timed) / 1000
        found["image_50"] = found["image"] + (FULL_STEPS - steps) * found["step"] / 1000
        found["images"] = len(timed)
        print(f"  {found['forward']:.1f} ms a forward, {found['image']:.2f} s an image", file=sys.stderr, flush=True)
        return found

    def judge_times(self, marks: Path, count: int, rows: int) -> dict[str, float]:
        """Returns medians over the timed batches: seconds per pair, start to start; and their parts in milliseconds."""
        timed = read_marks(marks)[-count:][1:]
        found = {
            "pair": median(mark["total"] + mark["between"] for mark in timed) / 1000 / rows,
            "look": median(sum(mark["networks"]["look"]) for mark in timed) / rows,
            "prompt": median(sum(mark["networks"]["prompt"]) for mark in timed) / rows,
            "answer_step": median(ms for mark in timed for ms in mark["networks"]["answer"]),
            "steps": median(len(mark["networks"]["answer"]) for mark in timed),
        }
        found["idle"] = median(mark["before"] + mark["between"] + mark["after"] for mark in timed) / rows
        found["peak"] = max(mark["allocated"] for mark in timed)
        return found

    def difference(self, name: str, other: str) -> int:
        """Returns the largest difference of a channel between two ways' pictures, of 255; 0 for equal pixels."""
        worst = 0
        for number in range(1 + self.arguments.images):
            ours, theirs = (open_picture(self.scratch / f"{by}-{number}.png") for by in (name, other))
            worst = max(worst, *(high for _, high in ImageChops.difference(ours, theirs).getextrema()))
        return worst

    def latest_edit(self) -> dict[str, Any]:
        """Returns the results of the loaded edit model."""
        found: dict[str, Any] = self.results["switches" if "switches" in self.results else "edit"]
        return found

    # -- the run --

    def do(self, names: Sequence[str]) -> None:
        """Runs the parts in order; failures are saved with their reasons."""
        for place, name in enumerate(names):
            left = self.arguments.budget - (time.monotonic() - self.began)
            expected, later = EXPECTED[name], sum(EXPECTED[other] for other in names[place + 1 :])
            if not self.arguments.device.startswith("cuda"):
                expected, later = 0, 0
            if left < max(1, expected / 2):
                self.results["failed"][name] = f"not begun: {left:.0f} s of the budget are left"
                continue
            patience = min(PATIENCE * expected, max(left - later, expected)) if expected else left
            self.deadline = time.monotonic() + min(patience, left)
            for alive in (self.editor, self.judge_worker):
                if alive is not None:
                    alive.deadline = self.deadline
            begin = time.monotonic()
            print(f"{name} ...", file=sys.stderr, flush=True)
            try:
                self.import_early(names[place:])
                part: Callable[[], None] = getattr(self, name)
                part()
            except Exception as error:
                text = " ".join(f"{type(error).__name__}: {error}".split())
                self.results["failed"][name] = text[:600]
                print(f"  failed: {text[:600]}", file=sys.stderr, flush=True)
            self.results.setdefault("seconds", {})[name] = time.monotonic() - begin
            self.keep()

    def keep(self) -> None:
        """Saves the results so far."""
        self.results["figures"] = figures_of(self.results)
        if self.arguments.out:
            out = Path(self.arguments.out)
            out.write_text(json.dumps(self.results, indent=1, default=str), "utf-8")
            out.with_suffix(".md").write_text(tables_of(self.results) + "\n", "utf-8")


def all_switches() -> dict[str, Any]:
    """Returns all measures of `bench/acceleration`, turned on."""
    measures = fields(AcceleratedQwenImageEdit.Parameters)
    return {"modulation": "table", **{field.name: True for field in measures if field.default is False}}


def read_marks(path: Path) -> list[dict[str, Any]]:
    """Reads the lines that a model wrote about its tasks."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def median(numbers: Iterable[float]) -> float:
    """Returns the median as a float."""
    return float(statistics.median(numbers))


def setting(text: str) -> tuple[str, Any]:
    """Parses NAME=VALUE, the value as JSON or else as text."""
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", choices=("full", "tiny"), default="full")
    parser.add_argument("--device", default="cuda:0", help="cuda (the first GPU), cuda:N, cpu")
    parser.add_argument("--parts", default=",".join(EXPECTED), help="of %(default)s")
    parser.add_argument("--steps", type=int, default=8, help="steps an edit; 50 are extrapolated")
    parser.add_argument("--images", type=int, default=3, help="timed edits, beside a warm-up")
    parser.add_argument("--batches", type=lambda text: [int(one) for one in text.split(",")], default=[])
    parser.add_argument("--layers", type=int, help="cut each stack of layers to so many, at full width")
    parser.add_argument("--canvas", type=int, help="pixels on which an edit works (default: the pipeline's own)")
    parser.add_argument("--side", type=int, default=1024, help="pixels of a side of sources and judged pictures")
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--switch", type=setting, action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--judge", type=setting, action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--tflops", type=float, default=790.0, help="the floor's compute: bf16 as measured on an H200")
    parser.add_argument("--bandwidth", type=float, default=4.3, help="the floor's memory, TB/s")
    parser.add_argument("--budget", type=float, default=540.0, help="seconds for all of it")
    parser.add_argument("--out", help="a file for all results (and .md for the tables), written after each part")
    parser.add_argument("--json", action="store_true", help="print the figures alone, as JSON")
    given = parser.parse_args(arguments)
    given.device = "cuda:0" if given.device == "cuda" else given.device
    given.parts = [name for name in EXPECTED if name in given.parts.split(",")]
    if given.size == "tiny":
        given.steps = min(given.steps, 3)
    given.batches = given.batches or ([1, 4] if given.size == "tiny" else list(BATCHES))
    return given


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; returns 1 if a part failed."""
    given = parse(arguments)
    with tempfile.TemporaryDirectory(prefix="edit-eval-gpu-") as name, ExitStack() as alive:
        bench = Bench(given, Path(name), alive)
        bench.do(given.parts)
    if given.json:
        print(json.dumps({"figures": figures_of(bench.results)}))
    else:
        print(tables_of(bench.results))
    return 1 if bench.results["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
