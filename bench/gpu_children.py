"""Parts of bench/gpu.py that run in processes of their own: the stock loop of diffusers, and loading from real files.

python bench/gpu_children.py stock|loads SETTINGS.json OUT      adds a line of JSON to OUT as soon as something is known
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from PIL import Image

from acceleration.attention_backend import reported_fastest, torchs_choice
from acceleration.fused_gelu import fused
from edit_eval.edit_models.diffusers_pipeline import STOCK_CANVAS, call_on_canvas
from edit_eval.edit_models.qwen_image_edit import QwenImageEdit
from edit_eval.judges.qwen3_vl import Qwen3VL
from edit_eval.pretrained import folders
from edit_eval.pretrained.loading import library_versions, load_in_parallel, prepare_devices
from edit_eval.pretrained.processors import load_processor
from gpu_architectures import architecture
from gpu_models import PARTS, NetworkTimes, random_network, random_part, watch_pipeline, weight_bytes
from gpu_models import write_folders as write_configurations
from gpu_work import picture_tokens

SHARD = "500MB"
"""Splits a few layers into several files, which are read in parallel, as those of a whole model."""

Say = Callable[[dict[str, Any]], None]


def stock(settings: dict[str, Any], say: Say) -> None:
    """Runs diffusers' pipeline as in its documentation, one picture after the other, each saved as a PNG.

    Reports `versions`, `peak` (bytes, after the edits), `auto` (the attention kernel that edit-eval chooses here by its
    rule), `native` (the one that torch chooses), `gelu` (ms after and inside the preceding product, on a GPU), and
    `attention` again after each kernel.
    """
    import diffusers
    import torch

    device = settings["device"]
    prepare_devices([device], "none")
    say({"versions": {**library_versions("torch", "diffusers", "transformers"), "gpu": _gpu(device)}})
    location = folders.locate(settings["folder"], None, "model_index.json", "a diffusers pipeline")
    parts = {name: random_part(location, name, settings["dtype"], [device], "none", {}) for name in PARTS}
    # The library's own processor needs a matching torchvision; its work runs on the CPU, once per picture.
    processor = load_processor(location.name, "Qwen2VLProcessor", {}, subfolder="processor")
    pipeline = diffusers.QwenImageEditPipeline.from_pretrained(location.name, processor=processor, **parts)
    pipeline.set_progress_bar_config(disable=True)
    call = call_on_canvas(type(pipeline), settings["canvas"])
    times = NetworkTimes(device, settings["marks"])
    watch_pipeline(times, pipeline)

    def edit(task: dict[str, Any], steps: int) -> tuple[Image.Image, dict[str, Any]]:
        source = Image.open(task["pictures"][0]["path"]).convert("RGB")
        times.begin()
        edited = call(
            pipeline,
            image=source,
            prompt=task["instruction"],
            negative_prompt=" ",
            true_cfg_scale=4.0,
            num_inference_steps=steps,
            generator=torch.Generator("cpu").manual_seed(task["seed"]),
        ).images[0]
        return edited, times.end()

    for task in settings["tasks"]:
        edited, _ = edit(task, settings["steps"])
        edited.save(task["output"])
    say({"peak": torch.cuda.max_memory_reserved(device) if device.startswith("cuda") else 0})
    say({"auto": reported_fastest(device)})
    if device.startswith("cuda"):
        say({"native": torchs_choice(device)})
        with suppress(RuntimeError):  # edit-eval's own trial reports what is wrong
            say({"gelu": _gelu(pipeline.transformer, picture_tokens(settings["canvas"] or STOCK_CANVAS))})
    kernels: dict[str, Any] = {}
    for name in settings["attention"]:
        try:
            pipeline.transformer.set_attention_backend(name)
            edit(settings["tasks"][0], 2)  # a warm-up
            kernels[name] = statistics.median(edit(settings["tasks"][0], 2)[1]["networks"]["forward"])
        except Exception as error:  # a kernel that is missing, or does not support these shapes
            kernels[name] = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        say({"attention": kernels})


def _gelu(transformer: Any, tokens: int) -> dict[str, float]:
    """Returns the median ms of 20 runs of an MLP's first half, with the GELU after the product and inside it."""
    import torch

    stock = transformer.transformer_blocks[0].img_mlp.net[0]
    weight = stock.proj.weight
    numbers = torch.randn(1, tokens, weight.shape[1], device=weight.device, dtype=weight.dtype)
    found = {}
    for name, layer in (("behind", stock), ("within", fused(stock))):
        times = []
        for _ in range(23):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            layer(numbers)
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end))
        found[name] = statistics.median(times[3:])
    return found


def _gpu(device: str) -> str:
    import torch

    return torch.cuda.get_device_name(device) if device.startswith("cuda") else "none"


def loads(settings: dict[str, Any], say: Say) -> None:
    """Reports the seconds of the adapters' own `load` for real files of two sizes in the page cache.

    Two sizes give a rate and a fixed cost, and so the seconds at full size. Imports and the GPU's context come before,
    as in a worker, which has done them when its turn comes.
    """
    device, dtype = settings["device"], settings["dtype"]
    load_in_parallel()  # as a worker does, before diffusers is imported
    prepare_devices([device], "none")
    whole = Path(settings["scratch"]) / "whole"
    write_configurations(whole, architecture(settings["size"], settings["layers"]))
    for model, make in (("edit", _edit_networks), ("judge", _judge_networks)):
        points = []
        for layers in (1, 1, settings["load_layers"]):  # the first is a warm-up: kernels and allocators
            folder = Path(settings["scratch"]) / f"{model}-{layers}"
            if not folder.is_dir():
                write_configurations(folder, architecture(settings["size"], layers))
                for name, network in make(folder / model, device, dtype).items():
                    network.save_pretrained(folder / model / name, max_shard_size=SHARD)
                _let_go(device)
            adapter = QwenImageEdit if model == "edit" else Qwen3VL
            loaded = adapter(adapter.Parameters(model_name=str(folder / model), dtype=dtype))
            begin = time.monotonic()
            loaded.load([device])
            if device.startswith("cuda"):
                import torch

                torch.cuda.synchronize()
            seconds = time.monotonic() - begin
            points.append({"bytes": sum(f.stat().st_size for f in folder.rglob("*.safetensors")), "seconds": seconds})
            del loaded
            _let_go(device)
        small, large = points[1:]
        rate = (large["bytes"] - small["bytes"]) / max(1e-9, large["seconds"] - small["seconds"])
        fixed = max(0.0, small["seconds"] - small["bytes"] / rate) if rate > 0 else small["seconds"]
        full = weight_bytes(*make(whole / model, "meta", dtype).values())
        seconds = fixed + full / rate if rate > 0 else None
        say({model: {"points": points, "rate": rate, "fixed": fixed, "bytes": full, "seconds": seconds}})


def _edit_networks(folder: Path, device: str, dtype: str) -> dict[str, Any]:
    location = folders.locate(str(folder), None, "model_index.json", "a diffusers pipeline")
    return {name: random_part(location, name, dtype, [device], "none", {}) for name in PARTS}


def _judge_networks(folder: Path, device: str, dtype: str) -> dict[str, Any]:
    from transformers import AutoConfig, AutoModelForImageTextToText

    config = AutoConfig.from_pretrained(folder)

    def make() -> Any:
        import torch

        return AutoModelForImageTextToText.from_config(config, dtype=torch.get_default_dtype())

    return {".": random_network(make, device, dtype)}


def _let_go(device: str) -> None:
    gc.collect()
    if device.startswith("cuda"):
        import torch

        torch.cuda.empty_cache()


if __name__ == "__main__":
    kind, order, answers = sys.argv[1:]
    with open(answers, "a", encoding="utf-8", buffering=1) as file:
        made = {"stock": stock, "loads": loads}[kind]
        made(json.loads(Path(order).read_text("utf-8")), lambda found: print(json.dumps(found), file=file))
