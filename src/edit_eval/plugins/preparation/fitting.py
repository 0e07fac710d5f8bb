"""Estimates whether a model fits into the memory of its devices, and what would make it fit; nothing is loaded.

The weights are counted. What an edit or an answer takes on top is a rule of thumb: an edit of one megapixel by
Qwen-Image-Edit peaks at 59.7 GiB with 53.8 GiB of weights (vLLM-Omni's published measurement on an H200), and no model
needs more than half of its weights. A model is said not to fit only if its weights alone do not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edit_eval.config.known_weights import find_release
from edit_eval.config.schema import ModelSection
from edit_eval.endpoints.engines import UNCOUNTED, find_argument
from edit_eval.execution.contract import Gpu
from edit_eval.execution.findings import Finding, Level
from edit_eval.execution.machine.memory import GIB, gib
from edit_eval.execution.machine.places import Place
from edit_eval.plugins.preparation.weights import Weights, compute_quantised_size, find_weights
from edit_eval.scheduling.tasks import Model
from edit_eval.text import Text, join_texts, pluralize

CONTEXT = GIB // 2
"""A process's CUDA context, or its libraries on the host."""
EDIT_WORK = 6 * GIB
"""For an edit of one megapixel."""
ANSWER_WORK, ANSWER_WORK_EACH = 2 * GIB, GIB
"""For a batch, and for each of its members. Also more than a load takes beside the weights: of fused experts, which
transformers 5 transposes, one tensor is there twice (0.8 GB of Qwen3-VL-30B-A3B)."""
PAIR_TOKENS = 3_600
"""Per question: a source of 1472 x 1104 is 1,590, an edit of a megapixel 1,030, a rubric about 950."""
MEGAPIXEL = 1 << 20
SMALLER_JUDGE, SMALLER_JUDGE_BYTES = "Qwen/Qwen3-VL-8B-Instruct", 8.77 * 2e9
FOUR_BIT = "quantization_config: {load_in_4bit: true}"


@dataclass(frozen=True)
class PlacedModel:
    """A model of the configuration, and where it should run."""

    model: Model
    section: ModelSection
    weights: Weights
    can_offload: bool = False
    claim: int | None = None
    """Bytes of each of its GPUs that its server takes at its start, regardless of need (see `claim_of`)."""
    expert_bytes: int = 0
    """Bytes per token that its experts take if all of them compute (see `weights.expert_bytes`)."""
    loads_otherwise: bool = False
    """Its class has a `load` of its own: what it takes of the weights that it names is not known."""

    @property
    def who(self) -> str:
        """`edit model qwen_image_edit`."""
        return self.model.title

    @property
    def places(self) -> tuple[Place, ...]:
        """The devices of each replica."""
        return self.model.places

    @property
    def is_on_cpu(self) -> bool:
        """True if it runs on the CPU; neither, if its devices are missing."""
        return bool(self.places) and self.places[0][0].startswith("cpu")

    @property
    def is_on_gpu(self) -> bool:
        """True if it runs on GPUs."""
        return bool(self.places) and self.places[0][0].startswith("cuda")


@dataclass(frozen=True)
class Need:
    """Bytes on each of a replica's devices."""

    weights: int
    work: int

    @property
    def total(self) -> int:
        """Weights and work."""
        return self.weights + self.work


def weights_of(section: ModelSection, environment: Mapping[str, str]) -> Weights:
    """Returns the weights that a model's parameters name; unknown if it has none of its own (an endpoint, a folder)."""
    _, name, revision, dtype = checkpoint_of(section)
    call = section.parameters.get("call")
    asked = call if isinstance(call, Mapping) else None
    return find_weights(name, revision, dtype or "bfloat16", environment, call=asked) if name else Weights("", None)


def checkpoint_of(section: ModelSection) -> tuple[str, str, str | None, str | None]:
    """Returns the parameter that names a model's weights, its value (empty if unset), and their revision and dtype."""
    key, parameters = "model_name", section.parameters
    said = [parameters.get(name) for name in (key, "revision", "dtype")]
    if section.own_server and section.own_server.engine != "command":  # its `revision` is the user's own word
        key, arguments = "model", section.own_server.arguments
        said = [parameters.get(key), *(find_argument(arguments, (flag,)) for flag in ("--revision", "--dtype"))]
    name, revision, dtype = (value if isinstance(value, str) else None for value in said)
    if revision is None and (release := find_release(name or "")):
        revision = release.revision
    return key, name or "", revision, dtype


def claim_of(section: ModelSection, places: Sequence[Sequence[str]], visible: Sequence[Gpu]) -> int | None:
    """Returns the bytes of each of its GPUs that a model's server takes at its start, regardless of need, or None.

    If the GPUs differ in size, the smallest counts.
    """
    sizes = [gpu.memory for gpu in visible if gpu.memory and any(gpu.name in place for place in places)]
    return round(section.server_share * min(sizes)) if section.server_share and sizes else None


def need_of(wanted: PlacedModel, *, offload: str | None = None, devices: int | None = None) -> Need | None:
    """Returns a replica's need on each device, as configured or with another `offload` or `devices`, or None."""
    counted = _compute_need(wanted, offload, devices)
    if wanted.claim is None:
        return counted
    return Need(max(wanted.claim, counted.weights if counted else 0), CONTEXT)


def _compute_need(wanted: PlacedModel, offload: str | None = None, devices: int | None = None) -> Need | None:
    """Returns the same by weights and work."""
    served = wanted.section.own_server
    if served and any(find_argument(served.arguments, (name,)) is not None for name in UNCOUNTED):
        return None
    placement, parameters = wanted.section.placement, wanted.section.parameters
    offload, devices = offload or placement.offload, devices or placement.devices_per_replica
    parts = _parts(wanted)
    if not parts:
        return None
    total = sum(parts.values())
    if wanted.model.kind == "edit":
        canvas = parameters.get("canvas")
        work = EDIT_WORK * (canvas / MEGAPIXEL if isinstance(canvas, int) else 1)
    else:
        work = ANSWER_WORK + ANSWER_WORK_EACH * placement.batch_size
    work = max(min(work, total / 2), wanted.expert_bytes * PAIR_TOKENS * placement.batch_size)
    on_device = total / devices
    if offload != "none" and not wanted.is_on_cpu:  # there they are in host memory anyway
        if wanted.model.kind == "judge":
            on_device = 0  # layers without room stay in host memory
        elif offload == "model":
            on_device = max(parts.values())
        else:
            moved = [min(size, wanted.weights.layers.get(p, GIB)) for p, size in parts.items() if p != "vae"]
            on_device = parts.get("vae", 0.0) + max(moved, default=0.0)
    return Need(round(min(on_device, total)), round(work) + CONTEXT)


def _parts(wanted: PlacedModel) -> dict[str, float]:
    """Returns the bytes of each part as it is loaded, quantised or not; empty if they are not known."""
    parameters = wanted.section.parameters
    load, dtype = parameters.get("load"), parameters.get("dtype", "bfloat16")
    parts: dict[str, float] = {}
    for part in wanted.weights.parts:
        size = compute_quantised_size(load if isinstance(load, Mapping) else {}, part, wanted.weights, dtype)
        if size is None:
            return {}
        parts[part] = size
    return parts


def host_need_of(wanted: PlacedModel) -> int | None:
    """Returns the bytes of host memory that each process takes which keeps a model's weights there; else None.

    All of them, while it loads: measured on the CPU, 0.5 % less for Qwen-Image-Edit of two layers (5.48 GB).
    """
    if wanted.section.placement.offload == "none" or not wanted.is_on_gpu:
        return None
    total = sum(_parts(wanted).values())
    return round(total) + CONTEXT if total else None


def fit_findings(wanted: PlacedModel, visible: Sequence[Gpu], host_free: int | None) -> list[Finding]:
    """Checks whether a model fits on each of its GPUs, or on the host for CPU workers."""
    need = need_of(wanted)
    if need is None:
        if wanted.weights.parts:
            how = (
                Text("its server's arguments change the memory of its weights")
                if wanted.section.own_server
                else Text("quantised by `load`")
            )
            return [Finding("models", "note", Text("{}: {}; its memory is not estimated", wanted.who, how))]
        return []
    if wanted.claim is not None and need.weights > wanted.claim:
        text = Text("{}: its server may take {} of each GPU, but its weights need more", wanted.who, gib(wanted.claim))
        return [
            Finding(
                "models",
                "problem",
                Text("{}: {}", text, gib(need.weights)),
                Text("a larger `serve.memory`, or more GPUs"),
            )
        ]
    if not wanted.is_on_gpu:
        return _check_host_memory(wanted, need, host_free)
    known = {gpu.name: gpu for gpu in visible if gpu.free is not None}
    rooms = {p: min(known[d].free or 0 for d in p) for p in wanted.places if all(d in known for d in p)}
    if not rooms:
        return [Finding("models", "note", Text("{}: {}; free memory is unknown", wanted.who, estimate(wanted, need)))]
    short = [place for place, room in rooms.items() if need.weights + CONTEXT > room]
    tight = [place for place, room in rooms.items() if room < need.total and place not in short]
    advice = remedies(wanted, visible, max(rooms.values()), host_free)
    level: Level = "warning"
    if len(short) == len(rooms):
        level = "problem"
    elif short:
        fitting = [gpu.name.partition(":")[2] for gpu in visible if (gpu.free or 0) >= need.total]
        advice = Text("it will not be used; device_ids: [{}] have room", fitting)
    text = Text("{}: {}", wanted.who, estimate(wanted, need))
    findings = []
    for (room, users), alike in _group_places(short, rooms, known).items():
        used = Text(", used by {}", users) if users else ""
        findings.append(
            Finding(
                "models", level, Text("{}, but only {} free on {}{}", text, room, _format_places(alike), used), advice
            )
        )
    for (room, _), alike in _group_places(tight, rooms, known).items():
        line = Text("{}, and {} free on {}: it may run out of memory", text, room, _format_places(alike))
        findings.append(Finding("models", "warning", line, remedies(wanted, visible, rooms[alike[0]], host_free)))
    if not findings:
        where = Text("each of its {} places", len(rooms)) if len(rooms) > 1 else join_texts(wanted.places[0], " and ")
        findings.append(Finding("models", "ok", Text("{}, which fits on {}", text, where)))
    return findings


def _compute_four_bit_size(wanted: PlacedModel) -> float:
    """Returns the bytes of a model's weights if all of its networks but the VAE were quantised."""
    load, dtype = {"quantization_config": {"load_in_4bit": True}}, wanted.section.parameters.get("dtype", "bfloat16")
    parts = wanted.weights.parts
    return sum(compute_quantised_size({} if p == "vae" else load, p, wanted.weights, dtype) or 0.0 for p in parts)


def _group_places(
    places: Sequence[Place], rooms: Mapping[Place, int], known: Mapping[str, Gpu]
) -> dict[tuple[str, str], list[Place]]:
    """Groups places that get the same message: (free memory, its users) -> places."""
    groups: dict[tuple[str, str], list[Place]] = {}
    for place in places:
        users = ", ".join(user for device in place for user in known[device].users)
        groups.setdefault((gib(rooms[place]), users), []).append(place)
    return groups


def _format_places(places: Sequence[Place]) -> str:
    return join_texts([join_texts(place, " and ") for place in places], ", ")


def estimate(wanted: PlacedModel, need: Need) -> str:
    """Returns `about 60.2 GiB a GPU (53.7 GiB of weights, counted in FOLDER)`."""
    if wanted.claim is not None:
        return Text("{} a GPU, which its server takes when it starts", gib(need.weights))
    source = (
        Text("counted in {}", wanted.weights.folder)
        if wanted.weights.folder
        else Text("from its published configuration")
    )
    each = Text("a GPU") if wanted.is_on_gpu else Text("a worker")
    offloaded = wanted.section.placement.offload
    kept = f", offload: {offloaded}" if offloaded != "none" else ""
    if wanted.expert_bytes:
        kept += Text(", transformers 4 computes all experts ({} for a batch)", gib(need.work))
    return Text(
        "about {} {} ({} of weights, {}{})", gib(need.total), each, gib(wanted.weights.bytes_in_memory), source, kept
    )


def remedies(wanted: PlacedModel, visible: Sequence[Gpu], room: int, host_free: int | None) -> str:
    """Returns settings that would make the model fit into `room` bytes a GPU, or other advice."""
    ways: list[str] = []
    placement = wanted.section.placement
    if wanted.claim is not None:
        counted, size = _compute_need(wanted), min((gpu.memory for gpu in visible if gpu.memory), default=0)
        fits = counted is None or counted.total <= room
        share = (
            f"serve: {{memory: {math.floor(100 * (room - CONTEXT) / size) / 100:g}}}" if size > room and fits else ""
        )
        return share or Text("devices_per_replica, a GPU with more memory, or a smaller model")
    if wanted.expert_bytes:
        ways.append(Text("transformers 5 in its environment"))
        if placement.batch_size > 1:
            ways.append(Text("a smaller batch_size"))
    for count in range(placement.devices_per_replica + 1, len(visible) + 1):
        need = need_of(wanted, offload="none", devices=count)
        if placement.offload == "none" and need is not None and need.total <= room:
            ways.append(f"devices_per_replica: {count}")
            break
    if wanted.can_offload and placement.devices_per_replica == 1:
        fits_host = host_free is None or host_free >= wanted.weights.bytes_in_memory
        for offload in ("model", "group"):
            need = need_of(wanted, offload=offload)
            if placement.offload == "none" and need is not None and need.total <= room and fits_host:
                ways.append(Text("offload: {} (slower)", offload))
                break
    current = need_of(wanted)
    if wanted.section.parameters.get("dtype") == "float32" and current is not None and current.total / 2 <= room:
        ways.append("dtype: bfloat16")
    unquantised = not wanted.section.parameters.get("load")
    if current is not None and unquantised and _compute_four_bit_size(wanted) + current.work <= room:
        parts = [part for part in wanted.weights.parts if part not in ("vae", "model")]
        inner = ", ".join(f"{part}: {{{FOUR_BIT}}}" for part in parts) or FOUR_BIT
        ways.append(Text("load: {{{}}} (needs bitsandbytes)", inner))
    smaller = SMALLER_JUDGE_BYTES
    if (
        wanted.model.kind == "judge"
        and wanted.weights.bytes_in_memory > smaller
        and smaller + ANSWER_WORK + CONTEXT <= room
    ):
        ways.append(f"model_name: {SMALLER_JUDGE}")
    if current is not None and any(gpu.memory is not None and gpu.memory >= current.total for gpu in visible):
        ways.append(Text("free the memory used by others"))
    return join_texts(ways, "; or ") if ways else Text("a GPU with more memory, or a smaller model")


def _check_host_memory(wanted: PlacedModel, need: Need, host_free: int | None) -> list[Finding]:
    workers = len(wanted.places)
    if not workers:  # a missing device is a finding of its own
        return []
    wants = workers * (wanted.weights.bytes_in_memory + CONTEXT)
    text = Text("{}: {} of host memory for {}", wanted.who, gib(wants), pluralize(workers, "CPU worker"))
    if host_free is not None and wants > host_free:
        each = wanted.weights.bytes_in_memory + CONTEXT
        fitting = host_free // each
        advice = (
            Text("device_ids: cpu:{}", fitting)
            if fitting
            else Text("a GPU, a machine with more memory, or a smaller model")
        )
        return [Finding("models", "problem", Text("{}, but {} are free", text, gib(host_free)), advice)]
    if wanted.weights.bytes_in_memory > 8 * GIB:
        return [Finding("models", "warning", Text("{}; a model of this size takes hours per sample on a CPU", text))]
    return [Finding("models", "ok", text)]


def sum_needs(wanted: Sequence[PlacedModel], device: str) -> int | None:
    """Returns the bytes that all models of a GPU need to stay there; None if one of them is unknown.

    Their work adds up although they take turns: a process keeps the memory that it once had.
    """
    needs = [need_of(model) for model in wanted if any(device in place for place in model.places)]
    return None if None in needs else sum(need.total for need in needs if need)


def gpu_sharing_findings(wanted: Sequence[PlacedModel], visible: Sequence[Gpu], setting: str) -> list[Finding]:
    """Checks whether edit models and judges on shared GPUs fit there at once; `setting` is `execution.placement`."""
    gpus = {gpu.name: gpu for gpu in visible if gpu.free is not None}
    sharing = [w for w in wanted if w.is_on_gpu]
    devices = [d for d in gpus if len({w.model.kind for w in sharing if any(d in place for place in w.places)}) > 1]
    known = {device: sum_needs(sharing, device) for device in devices}
    sums = {device: need for device, need in known.items() if need is not None}
    if not devices or len(sums) < len(devices):
        return []
    crowded = [d for d in devices if sums[d] > (gpus[d].free or 0)]
    if setting == "together" and crowded:
        text = Text("all models together need about {} on {}: more than is free", gib(sums[crowded[0]]), crowded[0])
        claims = any(w.claim for w in sharing if any(crowded[0] in place for place in w.places))
        advice = "execution.placement: swap" + Text(", or a smaller `serve.memory`") * claims
        return [Finding("models", "problem", text, advice)]
    if setting == "swap" and not crowded:
        text = Text("all models fit together on each shared GPU (about {})", gib(max(sums.values())))
        return [Finding("models", "note", text, Text("execution.placement: together keeps them loaded"))]
    return []


def host_findings(wanted: Sequence[PlacedModel], load_concurrency: int | str, host_free: int | None) -> list[Finding]:
    """Checks the host's memory for what GPUs do not hold: offloaded weights, and files being loaded."""
    if host_free is None:
        return []
    findings = []
    for model in wanted:
        if not model.is_on_gpu or not model.weights.parts:
            continue
        if model.section.placement.offload != "none":
            each = host_need_of(model) or model.weights.bytes_in_memory
            wants = len(model.places) * each
            if wants > host_free:
                text = Text(
                    "{}: offloading on {} GPUs needs {} of host memory", model.who, len(model.places), gib(wants)
                )
                count = host_free // each
                advice = Text("use {} (device_ids)", pluralize(count, "GPU")) if count else Text("offload: none")
                findings.append(Finding("host", "problem", Text("{}; {} are free", text, gib(host_free)), advice))
            continue
        if load_concurrency == "auto":  # never more than there is room for
            continue
        loads = min(int(load_concurrency), len(model.places))
        wants = loads * (CONTEXT + GIB)  # a process and the tensors in flight; the files themselves are page cache
        if wants > host_free:
            text = Text(
                "{}: {} loads at once need {} of host memory; {} are free", model.who, loads, gib(wants), gib(host_free)
            )
            count = max(1, math.floor(host_free / (CONTEXT + GIB)))
            findings.append(Finding("host", "warning", text, Text("execution.load_concurrency: {}", count)))
    return findings
