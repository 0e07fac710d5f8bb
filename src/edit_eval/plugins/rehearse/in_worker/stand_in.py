"""Makes a folder that loads like a model's, from its configurations alone: the weights are holes in sparse files.

A program: it runs in the model's environment, reads an order (JSON) from stdin, and answers with one JSON object. No
tensor is made: the networks are built without memory (torch's `meta` device), and a safetensors file is its header and
a hole of the right length, which takes no room on disk and reads as zeros. `rehearsed.py` fills them once they are
loaded. `from_pretrained`, device maps, offload and quantisation are those of the real weights.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from edit_eval.json_values import JsonObject, Unchecked
from edit_eval.workers.failures import MissingImport, describe_missing_import

SIDE = 1024
"""Of a matrix of which the product is timed."""
LARGEST_FILE = 10_000_000_000
"""Bytes; diffusers splits here when it saves."""
WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf", ".onnx", ".msgpack", ".h5")
STORED = {"bfloat16": "BF16", "float16": "F16", "float32": "F32"}
KINDS = {"int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL"}
WHOLE = ("vae", "image_encoder", "siglip", "safety_checker")
"""Networks that are never cut: small ones."""
STACKS = (
    *("num_layers", "num_single_layers", "num_hidden_layers", "depth", "num_decoder_layers", "num_refiner_layers"),
    *("n_layers", "n_refiner_layers"),
)
"""Entries of a configuration that count layers which follow each other."""
NUMBERED = (
    *("deepstack_visual_indexes", "fullatt_block_indexes", "mlp_only_layers", "full_attention_layers"),
    "injection_layer_ids",
)
"""Entries that name layers by their numbers."""
VOCABULARY = 16_000
"""Most tokens of a stand-in's tokenizer: with the texts it is trained on, about four characters a token, as the real
one has. The embeddings keep their full size."""
SPECIAL = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
    "<think>",
    "</think>",
)
CHAT_TEMPLATE = """\
{%- for message in messages -%}
{{ '<|im_start|>' + message['role'] + '\\n' }}
{%- if message['content'] is string -%}{{ message['content'] }}
{%- else -%}
{%- for part in message['content'] -%}
{%- if part['type'] == 'image' -%}<|vision_start|><|image_pad|><|vision_end|>{%- else -%}{{ part['text'] }}{%- endif -%}
{%- endfor -%}
{%- endif -%}
{{ '<|im_end|>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}{%- endif -%}
"""
THINKING = (
    "{%- if add_generation_prompt -%}"
    "{%- if enable_thinking is defined and enable_thinking is false -%}{{ '<think>\\n\\n</think>\\n\\n' }}"
    "{%- else -%}{{ '<think>\\n' }}{%- endif -%}"
    "{%- endif -%}\n"
)


def main() -> None:
    """Answers the order on stdin; what libraries print goes to stderr."""
    out = os.dup(1)
    os.dup2(2, 1)
    try:
        answer: StandInMade = make(json.load(sys.stdin))
    except Exception as error:
        lacks = describe_missing_import(error)
        answer = {"error": " ".join(f"{type(error).__name__}: {error}".split())[:600]}
        answer |= {"lacks": lacks.get("lacks", ""), "pip": lacks.get("pip", False)}
    os.write(out, json.dumps(answer).encode() + b"\n")


class StandInMade(MissingImport, total=False):
    """What came of it."""

    parts: dict[str, int]
    """Bytes of weights by part."""
    cut: int
    """Number of layers that were left out."""
    speed: float
    """Operations a second of one thread of the CPU, in the product of two matrices."""
    error: str
    """Why there is none; then there is nothing else."""


def make(order: Mapping[str, Any]) -> StandInMade:
    """Makes the stand-in.

    `order`: `source` (a folder with the configurations; empty without one), `published` (the same as data, see
    `configurations.yaml`), `target` (the folder to make), `dtype`, `layers` (each stack is cut to so many; None:
    whole), `least` (by part, layers that must stay), `texts` (what a tokenizer is trained on), `on_cpu` (say how
    fast that is, too).
    """
    target = Path(order["target"])
    if order["source"]:
        copy_configurations(Path(order["source"]), target)
    else:
        write_configurations(target, order["published"], order["texts"])
    cut = 0
    if order["layers"]:
        for name, file in _configurations(target):
            if name not in WHOLE:
                config = json.loads(file.read_text("utf-8"))
                cut += cut_layers(config, max(order["layers"], order["least"].get(name, 0)))
                file.write_text(json.dumps(config, indent=1), "utf-8")
    parts = {name: write_holes(file.parent, target, name, order["dtype"]) for name, file in _configurations(target)}
    made: StandInMade = {"parts": parts, "cut": cut}
    return {**made, "speed": _speed(order["dtype"])} if order.get("on_cpu") else made


def _speed(dtype: str) -> float:
    import torch

    torch.set_num_threads(1)
    matrix = torch.ones(SIDE, SIDE, dtype=getattr(torch, dtype))
    begin = time.perf_counter()
    for _ in range(4):
        matrix @ matrix
    return 4 * 2 * SIDE**3 / (time.perf_counter() - begin)


def _configurations(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yields (part, its `config.json`) of every network in a model's folder."""
    from edit_eval.pretrained.folders import list_parts

    index = next((folder / n for n in ("model_index.json", "modular_model_index.json") if (folder / n).is_file()), None)
    if index is None:
        yield "model", folder / "config.json"
        return
    for name, _, _ in list_parts(json.loads(index.read_text("utf-8"))):
        if (folder / name / "config.json").is_file():
            yield name, folder / name / "config.json"


def copy_configurations(source: Path, target: Path) -> None:
    """Copies everything but weights and the lists of them."""
    for path in sorted(source.rglob("*")):
        inside = path.relative_to(source)
        listed = path.name.endswith(".index.json") and path.name not in ("model_index.json", "modular_model_index.json")
        if path.is_file() and path.suffix not in WEIGHTS and not listed and not inside.parts[0].startswith("."):
            (target / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target / inside)


# -- fewer layers --


def cut_layers(config: Unchecked, layers: int) -> int:
    """Cuts every stack of layers in a configuration, and what names layers by number; returns how many are gone.

    Of layers of several kinds at least one of each kind stays.
    """
    gone = 0
    for name, value in list(config.items()):
        if isinstance(value, dict):
            gone += cut_layers(value, layers)
        elif name in STACKS and isinstance(value, int) and not isinstance(value, bool) and value > layers:
            gone += value - layers
            config[name] = layers
    kinds = config.get("layer_types")
    depth = next(
        (config[name] for name in ("num_hidden_layers", "num_layers", "n_layers", "depth") if name in config), layers
    )
    if isinstance(kinds, list) and len(kinds) > depth:
        each = list(dict.fromkeys(kinds))
        config["layer_types"] = [*each, *kinds][:depth] if depth >= len(each) else each
        if depth < len(each):
            config["num_hidden_layers"] = len(each)
    for name in NUMBERED:
        numbers = config.get(name)
        if isinstance(numbers, list) and any(isinstance(n, int) and n >= depth for n in numbers):
            kept = min(len(numbers), depth)
            config[name] = list(range(depth - kept, depth))
    return gone


# -- weights without bytes --


def write_holes(folder: Path, model: Path, part: str, dtype: str) -> int:
    """Writes a network's safetensors as headers and holes; returns the bytes of its weights in memory."""
    network, kind = _make_empty_network(folder, model, part)
    tensors = _tensors(network)
    stem = "diffusion_pytorch_model" if kind == "diffusers" else "model"
    files: list[dict[str, tuple[str, list[int], int]]] = [{}]
    size = 0
    for name, tensor in tensors.items():
        floating = tensor.dtype.is_floating_point
        stored = STORED[dtype] if floating else KINDS[str(tensor.dtype).removeprefix("torch.")]
        width = {"BF16": 2, "F16": 2, "F32": 4}.get(stored) or tensor.element_size()
        count = tensor.numel() * width
        if size + count > LARGEST_FILE and files[-1]:
            files.append({})
            size = 0
        files[-1][name] = (stored, list(tensor.shape), count)
        size += count
    names = [f"{stem}.safetensors"]
    if len(files) > 1:
        names = [f"{stem}-{number + 1:05d}-of-{len(files):05d}.safetensors" for number in range(len(files))]
        listed = {name: file for file, held in zip(names, files, strict=True) for name in held}
        total = sum(count for held in files for _, _, count in held.values())
        index = {"metadata": {"total_size": total}, "weight_map": listed}
        (folder / f"{stem}.safetensors.index.json").write_text(json.dumps(index), "utf-8")
    for file, held in zip(names, files, strict=True):
        _write_hole(folder / file, held)
    return sum(count for held in files for _, _, count in held.values())


def _write_hole(path: Path, held: Mapping[str, tuple[str, list[int], int]]) -> None:
    header: JsonObject = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, (stored, shape, count) in held.items():
        header[name] = {"dtype": stored, "shape": shape, "data_offsets": [end, end + count]}
        end += count
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + end)


def _make_empty_network(folder: Path, model: Path, part: str) -> tuple[Any, str]:
    """Returns the network with its tensors on `meta`, and whose library it is of."""
    import torch

    config = json.loads((folder / "config.json").read_text("utf-8"))
    if "_class_name" in config:
        from accelerate import init_empty_weights

        from edit_eval.plugins.diffusers.in_worker.diffusers_pipeline import class_of_part
        from edit_eval.pretrained.folders import Location, list_parts

        index = next(n for n in ("model_index.json", "modular_model_index.json") if (model / n).is_file())
        parts = {n: [library, name] for n, library, name in list_parts(json.loads((model / index).read_text("utf-8")))}
        part_class: Any = class_of_part(Location(str(model), "", parts), part)
        with init_empty_weights():
            return part_class.from_config(config), "diffusers"
    import transformers

    settings = transformers.AutoConfig.from_pretrained(folder)
    if part == "model":
        made: Any = transformers.AutoModelForImageTextToText
    else:
        file = next(n for n in ("model_index.json", "modular_model_index.json") if (model / n).is_file())
        index_entry = json.loads((model / file).read_text("utf-8"))[part]
        while isinstance(index_entry[-1], dict):
            index_entry = index_entry[-1]["type_hint"]
        made = getattr(transformers, index_entry[-1])
    with torch.device("meta"):
        build = made.from_config if part == "model" else made._from_config
        return build(settings), "transformers"


def _tensors(network: Any) -> dict[str, Any]:
    """Returns what a file of the network holds, by the names there: no tensor twice, nothing that is not saved."""
    saved = network.state_dict()
    once = {name for name, _ in network.named_parameters()}  # tied weights have their first name alone
    parameters = {name for name, _ in network.named_parameters(remove_duplicate=False)}
    tensors = {name: tensor for name, tensor in saved.items() if name in once or name not in parameters}
    with contextlib.suppress(ImportError):  # before version 5 names in memory and in files are the same
        from transformers import PreTrainedModel
        from transformers.core_model_loading import revert_weight_conversion

        if isinstance(network, PreTrainedModel):
            tensors = dict(revert_weight_conversion(network, tensors))
    return tensors


# -- a model of which nothing lies on disk --


def write_configurations(target: Path, published: Mapping[str, Any], texts: Sequence[str]) -> None:
    """Writes what a download of the configurations would bring: they themselves, a tokenizer, processors."""
    tokenizer = train_tokenizer(texts)
    ids = {
        "image_token_id": "<|image_pad|>",
        "video_token_id": "<|video_pad|>",
        "vision_start_token_id": "<|vision_start|>",
        "vision_end_token_id": "<|vision_end|>",
    }
    named = {key: tokenizer.convert_tokens_to_ids(token) for key, token in ids.items()}
    ends = {"bos_token_id": None, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    if "parts" not in published:
        tokenizer.chat_template = CHAT_TEMPLATE + (THINKING if published.get("thinks") else "")
        _write_json(target / "config.json", _with_tokens(published["config"], named, ends))
        _write_json(target / "generation_config.json", ends | {"do_sample": False})
        _processor(published["processor"], tokenizer, published["pictures"]).save_pretrained(target)
        return
    index: JsonObject = {"_class_name": published["pipeline"], "_diffusers_version": "0.42.1"}
    for part, (library, class_name, config) in published["parts"].items():
        index[part] = [library, class_name]
        if class_name.endswith("Tokenizer"):
            tokenizer.model_max_length = config["model_max_length"]
            tokenizer.save_pretrained(target / part)
        elif class_name.endswith("Processor"):
            tokenizer.chat_template = CHAT_TEMPLATE
            _processor(class_name, tokenizer, config).save_pretrained(target / part)
        elif class_name.endswith("Scheduler"):
            _write_json(target / part / "scheduler_config.json", {"_class_name": class_name, **config})
        elif library == "diffusers":
            _write_json(target / part / "config.json", {"_class_name": class_name, **config})
        else:
            _write_json(target / part / "config.json", _with_tokens(config, named, ends))
    _write_json(target / "model_index.json", index)


def _with_tokens(config: Mapping[str, Any], named: Mapping[str, int], ends: Mapping[str, Any]) -> JsonObject:
    """Returns a configuration that names the tokens of the stand-in's tokenizer."""
    if "vision_config" not in config:
        return dict(config)
    return {**config, **named, "text_config": {**config["text_config"], **ends}}


def _processor(class_name: str, tokenizer: Any, pictures: Mapping[str, Any]) -> Any:
    from edit_eval.pretrained.processors import image_only, image_processor_class

    images = image_processor_class()(**pictures)
    return image_only(class_name)(images, tokenizer, chat_template=tokenizer.chat_template)


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1), "utf-8")


def train_tokenizer(texts: Sequence[str]) -> Any:
    """Returns a byte-level tokenizer of the Qwen kind that knows the words of these texts."""
    from transformers import Qwen2Tokenizer

    words = [word for text in texts for word in re.findall(r"\s?\S+", text)]
    trained = Qwen2Tokenizer().train_new_from_iterator(
        [" ".join(words), *words] * 2, vocab_size=VOCABULARY, new_special_tokens=list(SPECIAL), show_progress=False
    )
    trained.eos_token, trained.pad_token = "<|im_end|>", "<|endoftext|>"
    trained.padding_side = "left"
    trained.model_max_length = 131072
    return trained


# -- numbers for the holes, once they are in memory --

BLOCK = 1_048_573
"""Random numbers that are drawn, and repeated: a prime, so that no two rows of a matrix are the same."""


def fill(network: Any) -> int:
    """Gives a loaded network random weights in place, wherever they lie; returns how many tensors it has filled.

    Matrices are normal with the inverse root of their width, norms are 1, biases 0: numbers that stay finite through
    any depth. Weights that were quantised while they were loaded stay as they are.
    """
    import torch

    generator = torch.Generator("cpu").manual_seed(0)
    drawn = torch.randn(BLOCK, generator=generator)
    blocks: dict[Any, Any] = {}
    count = 0
    with torch.no_grad():
        for name, tensor in _fillable(network):
            data = tensor.data
            if not data.dtype.is_floating_point or data.element_size() < 2:
                continue
            count += 1
            if data.dim() < 2:
                last = name.rpartition(".")[2]
                data.fill_(1.0 if last in ("weight", "gamma", "scale", "running_var") or data.dim() == 0 else 0.0)
                continue
            at = (data.device, data.dtype)
            if at not in blocks:
                blocks[at] = drawn.to(*at)
            flat = data.reshape(-1) if data.is_contiguous() else None
            if flat is None:
                data.normal_()
            else:
                for begin in range(0, flat.numel(), BLOCK):
                    piece = flat[begin : begin + BLOCK]
                    piece.copy_(blocks[at][: piece.numel()])
            data.mul_(1 / math.sqrt(max(1, data.numel() // data.shape[0])))
    return count


def _fillable(network: Any) -> Iterator[tuple[str, Any]]:
    """Yields every weight that is in memory, those that accelerate keeps beside the network too; none of `meta`."""
    seen: set[int] = set()
    saved = set(network.state_dict(keep_vars=True))
    tensors = [*network.named_parameters(), *((n, b) for n, b in network.named_buffers() if n in saved)]
    for name, tensor in tensors:
        if not tensor.is_meta and id(tensor) not in seen:
            seen.add(id(tensor))
            yield name, tensor
    for module in network.modules():
        hook = getattr(module, "_hf_hook", None)
        for inner_hook in getattr(hook, "hooks", (hook,)):
            kept = getattr(getattr(inner_hook, "weights_map", None), "dataset", None)
            held = getattr(kept, "state_dict", None)
            if isinstance(held, dict) and id(held) not in seen:
                seen.add(id(held))
                yield from held.items()


if __name__ == "__main__":
    main()
