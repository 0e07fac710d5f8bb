"""Finds a model's weights on this machine, checks that they are complete, and counts their memory when loaded.

Nothing is downloaded and no tensor is read: the header of a safetensors file names each tensor's type and length.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from edit_eval.config.known_weights import find_class, find_release
from edit_eval.config.schema import ModelSection
from edit_eval.errors import ConfigurationError, LoadError
from edit_eval.execution.machine.environments import interpreter, uv_folder, uv_is_made
from edit_eval.json_values import Unchecked
from edit_eval.pretrained.folders import find_cached_folder, list_parts, read_index
from edit_eval.text import Text

BYTES = {"bfloat16": 2, "float16": 2, "float32": 4}
FLOATING = {"F64", "F32", "F16", "BF16"}
"""Types that loading converts to the parameter `dtype`; integers and 8-bit floats stay as they are stored."""
USUAL_FILE = 10_000_000_000
"""Bytes; larger files are rare on the Hub (diffusers splits here when saving, transformers long did at half of it)."""
LARGEST_HEADER = 100 << 20  # bytes; the format's own limit

_EDIT_MATRICES = {"transformer": 20.42, "text_encoder": 7.2}
MATRICES: Mapping[str, Mapping[str, float]] = {
    "Qwen/Qwen-Image-Edit": _EDIT_MATRICES,
    "Qwen/Qwen-Image-Edit-2509": _EDIT_MATRICES,
    "Qwen/Qwen-Image-Edit-2511": _EDIT_MATRICES,
    "black-forest-labs/FLUX.1-Kontext-dev": {"transformer": 11.9, "text_encoder": 0.085, "text_encoder_2": 3.62},
    "Qwen/Qwen3-VL-30B-A3B-Instruct": {"model": 1.45},
    "Qwen/Qwen3-VL-8B-Instruct": {"model": 7.52},
    "Qwen/Qwen3.5-9B": {"model": 7.37},
    "Qwen/Qwen3.5-27B": {"model": 24.81},
    "Qwen/Qwen3.6-27B": {"model": 24.81},
}
"""10^9 of those that are in the matrices of linear layers, which quantisation reaches; counted likewise."""
USUAL_MATRICES = 0.95
"""Their share of a network that is not known."""
_EDIT_LAYERS = {"transformer": 0.1133, "text_encoder": 0.5712}
LAYERS: Mapping[str, Mapping[str, float]] = {
    "Qwen/Qwen-Image-Edit": _EDIT_LAYERS,
    "Qwen/Qwen-Image-Edit-2509": _EDIT_LAYERS,
    "Qwen/Qwen-Image-Edit-2511": _EDIT_LAYERS,
    "black-forest-labs/FLUX.1-Kontext-dev": {"transformer": 0.1133, "text_encoder": 0.038, "text_encoder_2": 0.1316},
}
"""10^9 parameters that lie on a device at once where layers do one after the other (see `Weights.layers`); counted
likewise."""
NOT_QUANTISED = {
    *("embed_tokens", "token_embedding", "position_embedding", "pos_embed", "word_embeddings", "shared"),
    *("relative_attention_bias", "lm_head", "experts", "wo"),
}
"""Modules whose matrices quantisation leaves as they are: embeddings, heads, experts (one tensor a layer), and what T5
keeps (`wo`)."""


@dataclass(frozen=True)
class Weights:
    """A model's weights."""

    name: str
    folder: Path | None
    """Where they are; None if not on this machine."""
    parts: Mapping[str, int] = field(default_factory=dict)
    """Bytes in memory when loaded, by part (`transformer`, `text_encoder`, `vae`; or `model`); empty if unknown."""
    faults: tuple[str, ...] = ()
    """Files that are missing, truncated, or no weights at all."""
    matrices: Mapping[str, int] = field(default_factory=dict)
    """By part, its numbers that quantisation reaches, in linear layers; a part that is not known is missing."""
    stored: int = 0
    """Bytes on disk; for missing weights, bytes to be downloaded (2 a parameter)."""
    layers: Mapping[str, int] = field(default_factory=dict)
    """By part, bytes on a device at once where one layer computes and the next is copied there (see `at_once`)."""
    largest: int = 0
    """Bytes of the largest file; for missing weights, the most that repositories put into one."""

    @property
    def bytes_in_memory(self) -> int:
        """Bytes in memory when everything is loaded; 0 if unknown."""
        return sum(self.parts.values())


def find_weights(
    name: str,
    revision: str | None,
    dtype: str,
    environment: Mapping[str, str],
    *,
    call: Mapping[str, Any] | None = None,
) -> Weights:
    """Returns the weights that a `model_name` stands for: in a folder, the Hugging Face cache, or the table above.

    A part that loading leaves out, unless the parameter `call` asks for it, is not counted.
    """
    folder = Path(name).expanduser()
    if not folder.is_dir():
        cached = find_cached_folder(name, revision, environment)
        if cached is None:
            release = find_release(name)
            published = release.parts if release else {}
            own = _own_dtypes(release.pipeline if release else "")
            loaded = {p: round(billions * 1e9 * BYTES.get(own.get(p, dtype), 2)) for p, billions in published.items()}
            sizes = [round(billions * 2e9) for billions in published.values()]
            counted = {part: round(billions * 1e9) for part, billions in MATRICES.get(name, {}).items()}
            layered = LAYERS.get(name, {})
            at = {p: round(billions * 1e9 * BYTES.get(own.get(p, dtype), 2)) for p, billions in layered.items()}
            most = min(max(sizes, default=0), USUAL_FILE)
            return Weights(name, None, loaded, matrices=counted, stored=sum(sizes), layers=at, largest=most)
        folder = cached
    parts: dict[str, int] = {}
    matrices: dict[str, int] = {}
    layers: dict[str, int] = {}
    own = _own_dtypes(str(_read_json(folder / "model_index.json", []).get("_class_name")))
    faults: list[str] = []
    stored = largest = 0
    modular = find_class(str(_read_json(folder / "modular_model_index.json", []).get("_class_name")))
    for part, files in _files_of_parts(folder, faults):
        if modular and part == modular.optional and not (call or {}).get(part):
            continue
        inner, modules = 0, Counter[str]()
        for file in files:
            try:
                size = file.stat().st_size
                stored, largest = stored + size, max(largest, size)
                read = _count_tensors(file, own.get(part, dtype))
                inner += read.matrices
                modules.update(read.modules)
            except (OSError, ValueError) as error:
                faults.append(str(error) if isinstance(error, ValueError) else Text("{} is missing", file))
        parts[part], matrices[part], layers[part] = modules.total(), inner, compute_peak_bytes(modules)
    return Weights(name, folder, parts, tuple(faults), matrices, stored, layers, largest)


def _own_dtypes(pipeline: str) -> Mapping[str, str]:
    """Returns by part the dtype in which a pipeline's row has it loaded, whatever the model's own is."""
    known = find_class(pipeline)
    return known.dtypes if known else {}


def _files_of_parts(folder: Path, faults: list[str]) -> Iterator[tuple[str, list[Path]]]:
    """Yields (part, its files): the folders named by `model_index.json` that hold a network, or the folder itself.

    A part of a modular pipeline may be elsewhere."""
    indexes = [file for file in ("model_index.json", "modular_model_index.json") if (folder / file).is_file()]
    if indexes:
        for part, _, _ in list_parts(_read_json(folder / indexes[0], faults)):
            if not (folder / part).is_dir():
                faults.extend([Text("{} is missing", folder / part)] if indexes[0] == "model_index.json" else [])
            elif (folder / part / "config.json").is_file():  # without one it is a tokenizer, a scheduler, a processor
                yield part, _weight_files(folder / part, faults)
    elif (folder / "config.json").is_file():
        yield "model", _weight_files(folder, faults)
    else:
        faults.append(Text("{} has neither model_index.json nor config.json, so it is not a model", folder))


def _weight_files(folder: Path, faults: list[str]) -> list[Path]:
    """Returns the safetensors that loading reads: those of the index, or the one file; never a second precision."""
    for index in sorted(folder.glob("*.safetensors.index.json")):
        if index.name.count(".") == 3:  # `model.safetensors.index.json`; a variant has one more
            names = _read_json(index, faults).get("weight_map", {})
            return [folder / name for name in sorted(set(names.values()))]
    single = [folder / name for name in ("model.safetensors", "diffusion_pytorch_model.safetensors")]
    files = [path for path in single if os.path.lexists(path)]
    if not files:
        pickled = any(path.suffix in (".bin", ".pt", ".pth") for path in folder.iterdir())
        faults.append(
            Text("{} has no safetensors{}", folder, Text(", only pickles, which are never loaded") if pickled else "")
        )
    return files


def measure_loaded_size(file: Path, dtype: str) -> int:
    """Returns the bytes that a safetensors file takes in memory once its floating point numbers are of `dtype`.

    Raises `ValueError` with a readable text for a file that is truncated or not safetensors; `OSError` propagates.
    """
    return sum(_count_tensors(file, dtype).modules.values())


class _Counted(NamedTuple):
    """What the header of a file amounts to."""

    modules: Mapping[str, int]
    """Bytes in memory, by the path of the module that has them: `transformer_blocks.0.attn.to_q`."""
    matrices: int
    """Numbers that are in the matrices of linear layers."""


def _count_tensors(file: Path, dtype: str) -> _Counted:
    """Returns what a file holds; raises as `measure_loaded_size`."""
    size = file.stat().st_size
    with file.open("rb") as opened:
        start = opened.read(8)
        length = int.from_bytes(start, "little")
        if start == b"version ":
            raise ValueError(Text("{} is a Git LFS pointer; run `git lfs pull` there", file))
        if len(start) < 8 or not 2 <= length <= LARGEST_HEADER:
            raise ValueError(Text("{} is not a safetensors file", file))
        text = opened.read(length)
    try:
        header = json.loads(text)
        tensors = {key: tensor for key, tensor in header.items() if key != "__metadata__"}
        end = max((tensor["data_offsets"][1] for tensor in tensors.values()), default=0)
        modules = Counter[str]()
        for key, tensor in tensors.items():
            modules[key.rpartition(".")[0]] += _tensor_bytes(tensor, BYTES.get(dtype, 2))
        inner = sum(_tensor_numbers(tensor) for key, tensor in tensors.items() if _is_linear(key, tensor))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        if len(text) < length:
            raise ValueError(Text("{} is cut off", file)) from None
        raise ValueError(Text("{} is not a safetensors file", file)) from None
    if size != 8 + length + end:
        raise ValueError(Text("{} is cut off: it has {} of {} bytes", file, size, 8 + length + end))
    return _Counted(modules, inner)


def compute_peak_bytes(modules: Mapping[str, int]) -> int:
    """Returns the bytes that a network has on a device where its layers lie there one after the other.

    `modules`: bytes by path. These are the groups of diffusers 0.42 (`offload: group`, by `leaf_level` with a stream):
    each module with weights of its own is one, comes when it computes, and goes afterwards; the next one is copied
    meanwhile; one with modules inside stays until they are done. Names do not tell what comes next: two modules are
    taken to follow each other where they are of one block, or of none. A head of a language model (`lm_head`) follows
    a norm.
    """
    inside = {path: [above for above in _list_parents(path) if above in modules] for path in modules}
    outer = {above for around in inside.values() for above in around}
    blocks: dict[str, list[str]] = {}
    for path in modules.keys() - outer:
        by_itself = path if path.rpartition(".")[2] == "lm_head" else _block(path, modules)
        blocks.setdefault(by_itself, []).append(path)
    most = 0
    for paths in blocks.values():
        two = sorted(paths, key=modules.__getitem__)[-2:]
        held = {*two, *(above for path in two for above in inside[path])}
        most = max(most, sum(modules[path] for path in held))
    return most


def _list_parents(path: str) -> list[str]:
    """Returns the paths of the modules around one, the network's own (empty) first; the innermost last."""
    names = path.split(".")
    return [".".join(names[:count]) for count in range(len(names))] if path else []


def _block(path: str, modules: Mapping[str, int]) -> str:
    """Returns the innermost numbered module around one, `blocks.3`; empty if it is in none."""
    return next((a for a in reversed(_list_parents(path)) if a.rpartition(".")[2].isdigit() and a not in modules), "")


def _is_linear(key: str, tensor: Mapping[str, Any]) -> bool:
    """True for the matrix of a linear layer, by its name and shape: no embedding, no head, no experts kept as one."""
    modules = key.split(".")
    linear = modules[-1] == "weight" and len(tensor["shape"]) == 2 and tensor["dtype"] in FLOATING
    return linear and not NOT_QUANTISED & {*modules[-2:-1], *(module for module in modules if module == "experts")}


def _tensor_numbers(tensor: Mapping[str, Any]) -> int:
    return math.prod(tensor["shape"])


def _tensor_bytes(tensor: Mapping[str, Any], float_bytes: int) -> int:
    begin, end = tensor["data_offsets"]
    if tensor["dtype"] not in FLOATING:
        return int(end - begin)
    return _tensor_numbers(tensor) * float_bytes


def compute_quantised_size(load: Mapping[str, Any], part: str, weights: Weights, dtype: str) -> float | None:
    """Returns the bytes of a part that `quantization_config` in `load` leaves: all without; None if unknown.

    Matrices of linear layers get 4 bits a number and a scale of 32 bits for every 64 numbers (of 8 bits by
    `bnb_4bit_use_double_quant`, with one of 32 for every 256 of those), or 8 bits; the rest stays (bitsandbytes 0.50).
    """
    own, whole = load.get(part), weights.parts[part]
    config = own.get("quantization_config") if isinstance(own, Mapping) else None
    config = config if config is not None else load.get("quantization_config")
    if config is None:
        return whole
    if not isinstance(config, Mapping):
        return None
    number = BYTES.get(dtype, 2)
    matrices = weights.matrices.get(part, round(USUAL_MATRICES * whole / number))
    if config.get("load_in_4bit") or config.get("bits") == 4:
        scale = 1 / 64 + 4 / (64 * 256) if config.get("bnb_4bit_use_double_quant") else 4 / 64
        return whole - matrices * (number - 0.5 - scale)
    if config.get("load_in_8bit") or config.get("bits") == 8:
        return whole - matrices * (number - 1.0)
    return None


def offline(environment: Mapping[str, str]) -> str:
    """Returns the variable that forbids asking the Hub, or nothing."""
    names: Iterable[str] = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    return next((n for n in names if environment.get(n, "").upper() in ("1", "ON", "YES", "TRUE")), "")


def _read_json(path: Path, faults: list[str]) -> Unchecked:
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        read = None
    if not isinstance(read, dict):
        faults.append(Text("{} cannot be read", path))
        return {}
    return read


THROUGH_TRANSFORMERS = ("qwen3_vl", "transformers")
"""Judge types that load through transformers."""
PUBLISHED_SHAPES = {"Qwen/Qwen3-VL-30B-A3B-Instruct": (128, 2048, 768)}
"""Experts of a layer, its width, and theirs, from the models' `config.json`."""


def expert_bytes(section: ModelSection, weights: Weights) -> int:
    """Returns the bytes per token if all experts of a layer compute; 0 for a judge that computes only those chosen.

    Three copies of its width and two of an expert's for each of them, in 16 bits: 1.97 MB for Qwen3-VL-30B-A3B, as
    counted in transformers 4.57.6 (`Qwen3VLMoeTextExperts.forward` outside training).
    """
    if section.type not in THROUGH_TRANSFORMERS or section.own_server:
        return 0
    shape = _shape(weights) if transformers_version(section) == 4 else None
    if shape is None:
        return 0
    experts, width, inner = shape
    return 2 * experts * (3 * width + 2 * inner)


def transformers_version(section: ModelSection) -> int | None:
    """Returns the major version of transformers in a model's environment, without starting it; None if unknown."""
    requirements = section.placement.uv
    try:
        if requirements and not uv_is_made(uv_folder(requirements)):
            return None
        python = interpreter(section)
    except (ConfigurationError, OSError):
        return None
    if not python or python == sys.executable:
        try:
            return _major(metadata.version("transformers"))
        except metadata.PackageNotFoundError:
            return None
    # Not resolved: a virtual environment's interpreter is a link to another one.
    lib = Path(os.path.abspath(python)).parent.parent / "lib"
    folders = sorted(lib.glob("python3*/site-packages/transformers-*.dist-info"))
    return _major(folders[-1].name.removeprefix("transformers-")) if folders else None


def _major(version: str) -> int | None:
    match = re.match(r"\d+", version)
    return int(match[0]) if match else None


def _shape(weights: Weights) -> tuple[int, int, int] | None:
    """Returns the experts of a layer, its width, and theirs; None for a model without experts, or if unknown."""
    index: Mapping[str, Any] = {}
    if weights.folder is not None:
        with contextlib.suppress(OSError, LoadError):  # loading will report its faults
            index = read_index(weights.folder / "config.json")
    text = index.get("text_config")
    text = text if isinstance(text, Mapping) else index
    sizes = [text.get(name) for name in ("num_experts", "hidden_size", "moe_intermediate_size")]
    if all(isinstance(size, int) and size > 0 for size in sizes):
        return sizes[0], sizes[1], sizes[2]  # type: ignore[return-value]
    return PUBLISHED_SHAPES.get(weights.name) if weights.folder is None else None
