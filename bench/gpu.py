"""Both models at full size with random weights on one GPU: what an edit and a judgement take, and could take.

    python bench/gpu.py [--size full|tiny] [--device cuda|cpu] [--parts stock,edit,...] [--out FILE] [--json]

Runs from the source tree in an environment that has torch, transformers, diffusers and Pillow, and nothing else that
edit-eval needs. Results are printed as they come and kept in `--out`; a part that fails is named, the others go on.
`--size tiny --device cpu` takes the same roads in a minute, `--size full --layers 2 --canvas 65536` at full width.

Parts: `stock` (diffusers' own loop), `edit` (edit-eval's worker with its defaults), `switches` (with all its lossless
accelerations), `judge`, `together` (both at work at once), `unload`, `loads` (files of a few layers, extrapolated).
Medians; the first task of each worker is a warm-up. The floor is FLOPs / `--tflops` and bytes / `--bandwidth`.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE)]

from PIL import Image, ImageChops  # noqa: E402

import gpu_work  # noqa: E402
from edit_eval.edit_models.qwen_image_edit import QwenImageEdit  # noqa: E402
from edit_eval.pictures import open_picture, write_png  # noqa: E402
from edit_eval.testing.tiny_tokenizer import tiny_tokenizer  # noqa: E402
from gpu_architectures import architecture  # noqa: E402
from gpu_models import ANSWER, text_of, write_folders  # noqa: E402
from gpu_tables import figures_of, tables_of  # noqa: E402
from gpu_worker import Worker, WorkerFailed, at_fault, environment, memory_used, seconds_until_free, worker  # noqa: E402

BATCHES = (1, 2, 4, 16, 32)
INSTRUCTION_TOKENS = 30
RUBRIC_TOKENS = 800  # the packaged rubrics have 720 to 840 with Qwen's tokenizer
QUESTION_TOKENS = 60
ENCODER_TEMPLATE_TOKENS = 75
FULL_STEPS = 50

ATTENTION = {
    "cuda": ["native", "_native_cudnn", "_native_flash", "_native_efficient"],
    "cpu": ["native", "_native_math"],
}
"""Kernels of the transformer's attention that diffusers has without another package, by its names."""

JUDGE_WAYS: dict[str, dict[str, Any]] = {
    "edit-eval": {},
    "shared prefix": {"shared_prefix": True},
    "transformers' choice of experts": {"experts_implementation": None},
}

# Seconds that a part may take on a GPU before it is stopped; it is not begun where less than half of it is left.
PATIENCE = {"stock": 180, "edit": 150, "switches": 240, "judge": 220, "together": 60, "unload": 60, "loads": 150}


class Bench:
    """One run: its folder, its workers that are still alive, its results."""

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
        self.before = memory_used(arguments.device)
        self.editor: Worker | None = None
        self.judge_worker: Worker | None = None
        self.sources = self.write_sources()
        self.deadline = 0.0

    # -- what there is to do --

    def work(self) -> dict[str, float]:
        """FLOPs and bytes of an edit and of a judgement, and the seconds that they take at best."""
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
        for rows in BATCHES:
            step = gpu_work.mixture_step_bytes(made["judge"]["text"], rows) / (self.arguments.bandwidth * 1e12)
            work[f"step_{rows}_floor"] = step
            work[f"pair_{rows}_floor"] = pair / rate + len(ANSWER) * step / rows
        return work

    def side(self) -> int:
        """Pixels of a side of the judge's pictures."""
        return 96 if self.tiny else self.arguments.side

    def write_sources(self) -> list[str]:
        """Smooth coloured noise: edits at the benchmark's usual size or the canvas', square pictures to judge."""
        paths = []
        for number in range(8):
            small = Image.frombytes("RGB", (16, 16), random.Random(number).randbytes(3 * 256))
            path = self.scratch / f"source-{number}.png"
            write_png(small.resize((self.side(), self.side()), Image.Resampling.BICUBIC), path)
            paths.append(str(path))
        return paths

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
            "tasks": self.edit_tasks("stock"),
            "attention": ATTENTION[self.arguments.device.partition(":")[0]],
        }
        found = self.child("stock", settings)
        self.results["versions"], self.results["attention"] = found["versions"], found["attention"]
        self.results["stock"] = {**self.edit_times(marks), "peak": found["peak"]}

    def edit(self) -> None:
        """edit-eval's worker as it is set by default."""
        self.edit_with("edit", {})

    def switches(self) -> None:
        """edit-eval's worker with every lossless acceleration."""
        chosen = {**all_switches(), **self.fastest_attention()}
        if not self.arguments.device.startswith("cuda"):
            chosen.pop("compile", None)  # a minute of C++, and nothing learnt about a GPU
        chosen.update(dict(self.arguments.switch))
        self.results["switched_on"] = chosen
        if not chosen:
            raise WorkerFailed("the adapter has no switches")
        self.edit_with("switches", chosen)

    def fastest_attention(self) -> dict[str, str]:
        """The kernel that was at least 3 % faster than the default one in the stock loop, if the adapter takes it."""
        found = {}
        for name, ms in self.results.get("attention", {}).items():
            try:
                QwenImageEdit.Parameters(attention=name)
            except (TypeError, ValueError):
                continue
            if isinstance(ms, float):
                found[name] = ms
        if "native" not in found:
            return {}
        fastest = min(found, key=lambda name: found[name])
        return {"attention": fastest} if found[fastest] < 0.97 * found["native"] else {}

    def edit_with(self, name: str, more: dict[str, Any]) -> None:
        """Edits in a worker, which stays alive afterwards in place of the one before."""
        if self.editor is not None:
            self.editor.stop()
            self.editor = None
            seconds_until_free(self.arguments.device, self.before, time.monotonic())
        marks = self.scratch / f"{name}.marks"
        parameters = {
            "model_name": str(self.edit_folder),
            "num_inference_steps": self.arguments.steps,
            "dtype": self.dtype,
            "canvas": self.canvas,
            "marks": str(marks),
            **more,
        }
        editor = self.start("RandomQwenImageEdit", parameters, name)
        with at_fault(editor):
            loaded = editor.load()
            done = editor.run(self.edit_tasks(name))
        self.editor = editor
        self.results[name] = {
            **self.edit_times(marks),
            "peak": done[-1]["memory"].get("device_peak", 0),
            "host": done[-1]["memory"].get("host", 0),
            "about": loaded["about"],
            "prepared": loaded["prepared"],
        }
        before = "stock" if name == "edit" else "edit"
        if before in self.results:
            self.results[name]["difference"] = self.difference(name, before)

    def judge(self) -> None:
        """edit-eval's judge, beside the edit model if that is there."""
        marks = self.scratch / "judge.marks"
        parameters = {"model_name": str(self.judge_folder), "dtype": self.dtype, "marks": str(marks)}
        parameters.update(dict(self.arguments.judge))
        batches = [rows for rows in BATCHES if not self.arguments.batches or rows in self.arguments.batches]
        judge = self.start("RandomQwen3VL", parameters, "judge")
        found: dict[str, Any] = {}
        with at_fault(judge):
            self.results["judge"] = {"about": judge.load()["about"], "ways": found}
            for rows in batches:
                for way, settings in JUDGE_WAYS.items():
                    found.setdefault(way, {})[str(rows)] = self.judge_batches(judge, rows, way, settings)
        self.judge_worker = judge
        if self.editor is not None:
            if self.arguments.device.startswith("cuda"):
                self.results["resident"] = memory_used(self.arguments.device) - self.before
            else:
                self.results["resident"] = self.results["judge"]["host"] + self.latest_edit()["host"]

    def judge_batches(self, judge: Worker, rows: int, way: str, settings: dict[str, Any]) -> dict[str, float]:
        """The times of batches of `rows` pairs that are answered with `settings`."""
        count = 2 if self.tiny else 5 if rows < 16 else 3
        done = judge.run([self.judge_task(rows, f"judge-{rows}-{way}-{number}", settings) for number in range(count)])
        self.results["judge"]["host"] = done[-1]["memory"].get("host", 0)
        smallest = min(result.get("halved_to", rows) for message in done for result in message["results"])
        if smallest < rows:  # beside the edit model there may be no room for it
            print(f"  {rows:3d} pairs, {way}: halved to {smallest}", file=sys.stderr, flush=True)
            return {"halved_to": smallest}
        times = self.judge_times(self.scratch / "judge.marks", count, rows)
        print(f"  {rows:3d} pairs, {way}: {times['pair']:.3f} s a pair", file=sys.stderr, flush=True)
        return {**times, "peak": done[-1]["memory"].get("device_peak", 0)}

    def together(self) -> None:
        """Both at work at once: what an edit costs while the judge is busy."""
        if self.editor is None or self.judge_worker is None:
            raise WorkerFailed("needs a part that edits, and the part judge")
        marks = self.scratch / ("switches.marks" if "switches" in self.results else "edit.marks")
        rows = 1 if self.tiny else 4
        self.editor.send(do="run", **self.edit_tasks("together")[0])
        count = 2 if self.tiny else 16
        self.judge_worker.run([self.judge_task(rows, f"together-{number}") for number in range(count)])
        self.editor.wait("done")
        self.results["together"] = {"edit": read_marks(marks)[-1]["total"] / 1000}

    def unload(self) -> None:
        """From the order to end to the memory's being free."""
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
                held = self.latest_edit()["peak"]
                seconds_until_free(self.arguments.device, left - held, begin)
            self.results.setdefault("unload", {})[name] = time.monotonic() - begin
            setattr(self, name, None)

    def loads(self) -> None:
        """Loading from real files of a few layers."""
        settings = {
            "device": self.arguments.device,
            "dtype": self.dtype,
            "size": self.arguments.size,
            "layers": self.arguments.layers,
            "load_layers": 2 if self.tiny or self.arguments.layers else 4,
            "scratch": str(self.scratch / "weights"),
        }
        self.results["loads"] = self.child("loads", settings)

    # -- how they are done --

    def start(self, class_name: str, parameters: dict[str, Any], name: str) -> Worker:
        """A worker that ends with the bench at the latest."""
        path = f"{HERE / 'gpu_models.py'}:{class_name}"
        log = self.scratch / f"{name}.log"
        return self.alive.enter_context(worker(path, parameters, self.arguments.device, log, self.deadline))

    def child(self, kind: str, settings: dict[str, Any]) -> Any:
        """Has bench/gpu_children.py do something: in a process of its own, which gives the GPU's memory back."""
        if not self.arguments.device.startswith("cuda"):
            import gpu_children

            return json.loads(json.dumps(getattr(gpu_children, kind)(settings)))
        path = self.scratch / f"{kind}.json"
        path.write_text(json.dumps(settings), "utf-8")
        command = [sys.executable, str(HERE / "gpu_children.py"), kind, str(path)]
        left = max(1.0, self.deadline - time.monotonic())
        done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=left, check=False)
        if done.returncode:
            raise WorkerFailed(" | ".join(done.stderr.strip().splitlines()[-3:]))
        return json.loads(done.stdout.strip().splitlines()[-1])

    def edit_tasks(self, name: str) -> list[dict[str, Any]]:
        """The same edits for everybody; the first is a warm-up."""
        tokenizer = tiny_tokenizer()
        return [
            {
                "task": f"{name}-{number}",
                "kind": "edit",
                "source": self.sources[number % len(self.sources)],
                # Lengths differ from sample to sample, as they do in a benchmark.
                "instruction": text_of(INSTRUCTION_TOKENS + number, tokenizer),
                "seed": number,
                "sample": str(number),
                "output": str(self.scratch / f"{name}-{number}.png"),
            }
            for number in range(1 + self.arguments.images)
        ]

    def judge_task(self, rows: int, name: str, settings: dict[str, Any] | None = None) -> dict[str, Any]:
        """A batch of one category: the same rubric, questions of different length, a source and an edit each."""
        tokenizer, requests = tiny_tokenizer(), []
        rubric = text_of(RUBRIC_TOKENS // 8 if self.tiny else RUBRIC_TOKENS, tokenizer)
        digests = self.results.setdefault("_digests", {})
        for row in range(rows):
            source, edited = (self.sources[(row + shift) % len(self.sources)] for shift in (0, 1))
            if edited not in digests:
                digests[edited] = write_png(open_picture(edited), edited).pixels
            requests.append(
                {
                    "system": rubric,
                    "user": text_of(QUESTION_TOKENS - row % 8, tokenizer),
                    "source": source,
                    "edited": edited,
                    "pixels": digests[edited],
                    "sample": str(row),
                    "edit_model": json.dumps(settings or {}),  # see RandomQwen3VL
                    "instruction": "",
                    "category": "physical",
                    "form": "score",
                }
            )
        return {"task": name, "kind": "judge", "requests": requests}

    def edit_times(self, marks: Path) -> dict[str, Any]:
        """Medians over the timed images; milliseconds but for `image` and `image_50` (seconds, begin to begin)."""
        timed = read_marks(marks)[1 : 1 + self.arguments.images]
        steps = self.arguments.steps
        found = {name: median(mark[name] for mark in timed) for name in ("before", "between", "after", "loop")}
        for name in ("encode", "vae_encode", "vae_decode"):
            found[name] = median(sum(mark["networks"].get(name, [])) for mark in timed)
        found["forward"] = median(ms for mark in timed for ms in mark["networks"]["forward"])
        found["idle"] = median(mark["before"] + mark["between"] + mark["after"] for mark in timed)
        found["image"] = median(mark["total"] + mark["between"] for mark in timed) / 1000
        found["image_50"] = found["image"] + (FULL_STEPS - steps) * found["loop"] / steps / 1000
        found["images"] = len(timed)
        print(f"  {found['forward']:.1f} ms a forward, {found['image']:.2f} s an image", file=sys.stderr, flush=True)
        return found

    def judge_times(self, marks: Path, count: int, rows: int) -> dict[str, float]:
        """Medians over the timed batches: seconds a pair, begin to begin; and where they go, in milliseconds."""
        timed = read_marks(marks)[-count:][1:]
        found = {
            "pair": median(mark["total"] + mark["between"] for mark in timed) / 1000 / rows,
            "look": median(sum(mark["networks"]["look"]) for mark in timed) / rows,
            "prompt": median(sum(mark["networks"]["prompt"]) for mark in timed) / rows,
            "answer_step": median(ms for mark in timed for ms in mark["networks"]["answer"]),
            "steps": median(len(mark["networks"]["answer"]) for mark in timed),
        }
        found["idle"] = median(mark["before"] + mark["between"] + mark["after"] for mark in timed) / rows
        return found

    def difference(self, name: str, other: str) -> int:
        """The largest difference of a channel between two ways' pictures, of 255; 0 is the same pixels."""
        worst = 0
        for number in range(1 + self.arguments.images):
            ours, theirs = (open_picture(self.scratch / f"{by}-{number}.png") for by in (name, other))
            worst = max(worst, *(high for _, high in ImageChops.difference(ours, theirs).getextrema()))
        return worst

    def latest_edit(self) -> dict[str, Any]:
        """The results of the edit model that is loaded."""
        found: dict[str, Any] = self.results["switches" if "switches" in self.results else "edit"]
        return found

    # -- the run --

    def do(self, names: Iterable[str]) -> None:
        """Does the parts in order; what fails is kept with its reason."""
        for name in names:
            left = self.arguments.budget - (time.monotonic() - self.began)
            patience = PATIENCE[name] if self.arguments.device.startswith("cuda") else left
            if left < patience / 2 or left < 1:
                self.results["failed"][name] = f"not begun: {left:.0f} s of the budget are left"
                continue
            self.deadline = time.monotonic() + min(patience, left)
            for alive in (self.editor, self.judge_worker):
                if alive is not None:
                    alive.deadline = self.deadline
            begin = time.monotonic()
            print(f"{name} ...", file=sys.stderr, flush=True)
            try:
                part: Callable[[], None] = getattr(self, name)
                part()
            except Exception as error:
                text = " ".join(f"{type(error).__name__}: {error}".split())
                self.results["failed"][name] = text[:600]
                print(f"  failed: {text[:600]}", file=sys.stderr, flush=True)
            self.results.setdefault("seconds", {})[name] = time.monotonic() - begin
            self.results["figures"] = figures_of(self.results)
            if self.arguments.out:
                kept = {key: value for key, value in self.results.items() if not key.startswith("_")}
                out = Path(self.arguments.out)
                out.write_text(json.dumps(kept, indent=1, default=str), "utf-8")
                out.with_suffix(".md").write_text(tables_of(self.results) + "\n", "utf-8")


def all_switches() -> dict[str, Any]:
    """The adapter's parameters that are off by default, turned on."""
    return {field.name: True for field in fields(QwenImageEdit.Parameters) if field.default is False}


def read_marks(path: Path) -> list[dict[str, Any]]:
    """The lines that a model wrote about its tasks."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def median(numbers: Iterable[float]) -> float:
    """The median, as a float."""
    return float(statistics.median(numbers))


def setting(text: str) -> tuple[str, Any]:
    """NAME=VALUE, the value as JSON or, failing that, as text."""
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", choices=("full", "tiny"), default="full")
    parser.add_argument("--device", default="cuda:0", help="cuda (the first GPU), cuda:N, cpu")
    parser.add_argument("--parts", default=",".join(PATIENCE), help="of %(default)s")
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
    parser.add_argument("--budget", type=float, default=570.0, help="seconds for all of it")
    parser.add_argument("--out", help="a file for all results (and .md for the tables), written after each part")
    parser.add_argument("--json", action="store_true", help="print the figures alone, as JSON")
    given = parser.parse_args(arguments)
    given.device = "cuda:0" if given.device == "cuda" else given.device
    given.parts = [name for name in PATIENCE if name in given.parts.split(",")]
    if given.size == "tiny":
        given.steps = min(given.steps, 3)
    return given


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, prints; returns 1 where a part failed."""
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
