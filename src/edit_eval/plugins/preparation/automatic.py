"""Resolves `auto` settings on a machine: each value with its reason, from estimates and the memory that is free now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from edit_eval.config.schema import ExecutionSection, ModelSection
from edit_eval.execution.checks import CheckContext
from edit_eval.execution.choices import CONFIGURED, Choice, Choices
from edit_eval.execution.contract import Gpu
from edit_eval.execution.machine.memory import GIB, gib
from edit_eval.plugins.preparation.fitting import PlacedModel, claim_of, sum_needs, weights_of
from edit_eval.plugins.preparation.weights import Weights, expert_bytes
from edit_eval.text import Text

MARGIN = 0.05
"""Share of a GPU's free memory to leave free when several models stay loaded: needs are estimates, and memory
fragments."""
HOST_SHARE = 0.9
"""Share of the host's free memory that loads may take together."""
IMPORTS = GIB
"""Bytes of host memory that a worker's interpreter and libraries take."""


class Room(NamedTuple):
    """Whether devices and host have the memory that a placement takes, and why."""

    answer: Literal["enough", "unknown", "too little"]
    reason: str


def resolve(context: CheckContext) -> Choices:
    """Chooses `placement` and `load_concurrency` for the models of a context on its machine.

    Nothing is loaded; if the memory of the devices or the needs of a model are not known, the choice is the careful
    one.
    """
    configuration, visible = context.configuration, context.machine.gpus()
    wanted = []
    for model in context.laid_out or ():
        section = configuration.models[model.key]
        claim = claim_of(section, model.places, visible)
        weights = _weights(section, context.environment)
        wanted.append(PlacedModel(model, section, weights, claim=claim, expert_bytes=expert_bytes(section, weights)))
    return decide(configuration.execution, wanted, visible, context.machine.free_host_memory())


def decide(
    execution: ExecutionSection, wanted: Sequence[PlacedModel], visible: Sequence[Gpu], host_free: int | None
) -> Choices:
    """Does the same from known facts: models with their weights and places, GPUs, free host memory in bytes."""
    placement: Choice[str] = Choice("placement", execution.placement, CONFIGURED, automatic=False)
    if not any(model.model.holds_device for model in wanted):  # servers and files: nothing to say
        value = "swap" if execution.placement == "auto" else execution.placement
        limit = None if execution.load_concurrency == "auto" else execution.load_concurrency
        reason = Text("no model is loaded here")
        return Choices(
            Choice("placement", value, reason, automatic=False),
            Choice("load_concurrency", limit, reason, automatic=False),
        )
    if execution.placement == "auto":
        on_gpus = any(device.startswith("cuda") for device in _find_shared_devices(wanted))
        placement = Choice("placement", *_placement(wanted, visible), weighed=on_gpus)
    if execution.load_concurrency == "auto":
        at_once, why = _load_concurrency(wanted, host_free)
        loading = [model for model in wanted if model.model.holds_device]
        limited = at_once is not None and at_once < sum(len(model.model.places) for model in loading)
        limited = limited and any(
            model.is_on_gpu or _host_need(model) for model in loading
        )  # a small class of one's own is not
        return Choices(placement, Choice("load_concurrency", at_once, why, weighed=limited))
    return Choices(placement, Choice("load_concurrency", execution.load_concurrency, CONFIGURED, automatic=False))


def _weights(section: ModelSection, environment: Mapping[str, str]) -> Weights:
    """Returns the model's weights; unknown if files are missing, which loading reports better."""
    try:
        weights = weights_of(section, environment)
    except OSError:  # a folder that must not be read
        return Weights("", None)
    return Weights(weights.name, weights.folder) if weights.faults else weights


# -- placement --


def _placement(wanted: Sequence[PlacedModel], visible: Sequence[Gpu]) -> tuple[str, str]:
    """Returns `together` if edit models share GPUs with judges and are known to fit there with them, else `swap`."""
    if not any(len({model.model.kind for model in models}) > 1 for models in _find_shared_devices(wanted).values()):
        if all(model.model.holds_device for model in wanted):
            return "swap", Text("edit models and judges have their own devices, and none has to make room")
        return "swap", Text(
            "what asks a server or reads files takes no place, and no model has to make room for another"
        )
    room = check_room(wanted, visible)
    return "together" if room.answer == "enough" else "swap", room.reason


def _find_shared_devices(wanted: Sequence[PlacedModel]) -> dict[str, list[PlacedModel]]:
    """Returns the devices whose memory several models share, with those models."""
    on: dict[str, list[PlacedModel]] = {}
    for model in (model for model in wanted if model.model.holds_device):
        for device in dict.fromkeys(device for place in model.places for device in place):
            on.setdefault(device, []).append(model)
    return {device: models for device, models in on.items() if len(models) > 1}


def check_room(wanted: Sequence[PlacedModel], visible: Sequence[Gpu]) -> Room:
    """Checks whether all models fit at once on every GPU that they share, with a margin."""
    shared = _find_shared_devices(wanted)
    if not shared:
        return Room("enough", Text("no two models share a device"))
    if any(device.startswith("cpu") for device in shared):
        return Room("unknown", Text("workers on the CPU hold one model at a time"))
    free = {gpu.name: gpu.free for gpu in visible}
    if all(free.get(device) is None for device in shared):
        known = [need for device, models in shared.items() if (need := sum_needs(models, device)) is not None]
        takes = Text("takes about {} a GPU", gib(max(known))) if known else Text("needs an unknown amount of memory")
        return Room("unknown", Text("keeping all models there {}, and the memory of these devices is unknown", takes))
    for model in (model for models in shared.values() for model in models):
        if model.section.placement.offload != "none":
            return Room("unknown", Text("{} is offloaded to save memory", model.who))
        if sum_needs([model], model.places[0][0]) is None:
            return Room("unknown", Text("how much memory {} needs is unknown", model.who))
    rooms = []
    for device, models in shared.items():
        need, room = sum_needs(models, device) or 0, free.get(device)
        if room is None:
            return Room("unknown", Text("the driver does not report the free memory of {}", device))
        rooms.append((room - need, need, room, device))
        if need > (1 - MARGIN) * room:
            what = Text("edit model and judge") if len(models) == 2 else Text("all {} models", len(models))
            reason = Text("{} would take about {} on {}, of {} that are free", what, gib(need), device, gib(room))
            reason += next(
                (Text(" (the server of {} {}; `serve.memory`)", m.who, gib(m.claim)) for m in models if m.claim), ""
            )
            return Room("too little", reason)
    _, need, room, device = min(rooms)
    what = Text("edit model and judge") if len(wanted) == 2 else Text("all models")
    return Room(
        "enough",
        Text("{} take about {} on {}, of {} that are free, and stay loaded", what, gib(need), device, gib(room)),
    )


# -- loads --


def _load_concurrency(wanted: Sequence[PlacedModel], host_free: int | None) -> tuple[int | None, str]:
    """Returns how many loads at once the host has memory for, and why."""
    wanted = [model for model in wanted if model.model.holds_device]
    loads = sum(len(model.places) for model in wanted)
    if host_free is None:
        return None, Text("free host memory is unknown")
    needs = [(need, model.who) for model in wanted for need in [_host_need(model)]]
    if unknown := next((who for need, who in needs if need is None), ""):
        return 1, Text("how much memory {} needs is unknown, so the models load one after the other", unknown)
    each, what = max((need for need, _ in needs if need), default=(IMPORTS, Text("libraries")))
    fitting = max(1, int(HOST_SHARE * host_free // each))
    room = Text("{} of host memory are free, and a load takes up to {} of it ({})", gib(host_free), gib(each), what)
    return (loads, Text("there is room for all of them at once: {}", room)) if fitting >= loads else (fitting, room)


def _host_need(wanted: PlacedModel) -> tuple[int, str] | None:
    """Returns the most bytes of host memory that one load takes, and for what; None if nobody knows."""
    weights, section = wanted.weights, wanted.section
    if not weights.parts:
        no_weights = section.class_path.startswith("edit_eval.") and not (weights.name or section.own_server)
        return (IMPORTS, Text("libraries")) if no_weights else None
    if wanted.is_on_gpu and wanted.section.placement.offload == "none":
        return IMPORTS + weights.largest, Text("libraries, and one file of weights at a time")
    return IMPORTS + weights.bytes_in_memory, Text("libraries and all weights")
