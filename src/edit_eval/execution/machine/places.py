"""Lays out replicas on devices: `cuda:3` is the machine's fourth GPU; `cpu:0`, `cpu:1` are workers on the CPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from edit_eval.config.components import import_class
from edit_eval.config.kinds import Kind
from edit_eval.config.schema import ModelSection
from edit_eval.errors import ConfigurationError
from edit_eval.execution.contract import Gpu, Machine
from edit_eval.records import Unknown
from edit_eval.scheduling.tasks import Model
from edit_eval.text import Text, join_texts, pluralize
from edit_eval.workers.model_class import make_parameters

Place = tuple[str, ...]
"""The devices of one replica."""


def build_model(chosen: tuple[Place, ...], key: str, section: ModelSection, folder: Path) -> Model:
    """Returns a configured model on its places. Its class says whether it takes memory there; a server of ours does."""
    kind: Kind = "judge" if section.protocol else "edit_model"
    holds_device, defers = True, False
    with suppress(ConfigurationError):  # only its own environment can import it
        model_class = import_class(kind, section.class_path, folder)
        holds_device = getattr(model_class, "holds_device", True)
        if hasattr(model_class, "defers"):
            defers = model_class.defers(make_parameters(model_class, section.parameters))
    return Model.from_key(key, chosen, bool(holds_device or section.own_server), defers=defers)


def places(section: ModelSection, machine: Machine) -> tuple[tuple[Place, ...], str]:
    """Lays out a model's replicas on devices. Returns each replica's devices, and why these were chosen.

    A GPU that does not answer is left out, with its replica. Raises `ConfigurationError` for missing GPUs, and if none
    answers, with the key that asked for them.
    """
    device_ids, per_replica = section.placement.device_ids, section.placement.devices_per_replica
    if device_ids == "auto":
        return _all_gpus(section, machine)
    names = list(device_ids)
    _refuse_missing(section, machine)
    if names[0].startswith("cpu"):
        per_replica = 1
    lost = find_lost_gpus(section, machine)
    chosen = tuple(place for place in _cut(names, per_replica) if not lost.keys() & set(place))
    if not chosen:
        raise ConfigurationError(
            Text("{}: none of its GPUs can be used: {:; }", section.name_of("device_ids"), describe_lost_gpus(lost))
        )
    _refuse_several_slices(section, machine, chosen)
    node = {gpu.name: gpu.node for gpu in machine.gpus()} if per_replica > 1 else {}
    if apart := next((place for place in chosen if len({node.get(name) for name in place}) > 1), None):
        raise ConfigurationError(
            Text(
                "{}: {: and } belong to one replica but are on different machines; `device_ids: "
                "auto` keeps replicas on one",
                section.name_of("device_ids"),
                apart,
            )
        )
    return chosen, Text("set in the configuration") + _lost_gpus_note(lost)


def find_lost_gpus(section: ModelSection, machine: Machine) -> Mapping[str, Unknown]:
    """Returns by name the GPUs that do not answer, of those that a model is to run on."""
    asked = section.placement.device_ids
    return {name: why for name, why in machine.lost().items() if asked == "auto" or name in asked}


def describe_lost_gpus(lost: Mapping[str, Unknown]) -> list[str]:
    """Returns `cuda:3 does not answer (GPU is lost)` for each."""
    return [Text("{} does not answer ({})", name, why.reason) for name, why in lost.items()]


def _lost_gpus_note(lost: Mapping[str, Unknown]) -> str:
    return Text("; left out: {:; }", describe_lost_gpus(lost)) if lost else ""


def _refuse_several_slices(section: ModelSection, machine: Machine, chosen: tuple[Place, ...]) -> None:
    slices = {gpu.name for gpu in machine.gpus() if gpu.uuid.startswith("MIG-")} if chosen[0][1:] else set()
    if place := next((place for place in chosen if slices & set(place)), None):
        key, several = section.name_of("devices_per_replica"), len(place)
        raise ConfigurationError(
            Text(
                "{}: {}, but {: and } are slices of divided GPUs (MIG), of which a process sees one",
                key,
                several,
                place,
            )
        )


def find_auto_places(section: ModelSection, gpus: Sequence[Gpu]) -> tuple[Place, ...]:
    """Returns the replicas of a model that takes every GPU, each on one machine; none if it has its own devices."""
    if section.placement.device_ids != "auto":
        return ()
    of_node: dict[str, list[str]] = {}
    for gpu in gpus:
        of_node.setdefault(gpu.node, []).append(gpu.name)
    width = section.placement.devices_per_replica
    return tuple(place for names in of_node.values() for place in _cut(names, width) if len(place) == width)


def _cut(names: Sequence[str], width: int) -> tuple[Place, ...]:
    return tuple(tuple(names[i : i + width]) for i in range(0, len(names), width))


def _all_gpus(section: ModelSection, machine: Machine) -> tuple[tuple[Place, ...], str]:
    """Returns as many places as make whole replicas, or the CPU if there is no GPU, and why."""
    gpus, lost = machine.gpus(), machine.lost()
    if not gpus:
        why = join_texts(describe_lost_gpus(lost), "; ") or machine.fault() or machine.limit()
        return (("cpu:0",),), Text("auto: no GPU is visible, so one CPU worker") + (Text(" ({})", why) if why else "")
    per_replica, count, nodes = section.placement.devices_per_replica, len(gpus), len({gpu.node for gpu in gpus})
    chosen = find_auto_places(section, gpus)
    visible = Text("{}{}", pluralize(count, "visible GPU"), Text(" on {} machines", nodes) if nodes > 1 else "")
    if not chosen:
        key = section.name_of("devices_per_replica")
        raise ConfigurationError(Text("{}: {}, but only {}", key, per_replica, visible))
    left = count - per_replica * len(chosen)
    _refuse_several_slices(section, machine, chosen)
    return chosen, Text("auto: {}{}", visible, Text(", {} left over", left) if left else "") + _lost_gpus_note(lost)


def _refuse_missing(section: ModelSection, machine: Machine) -> None:
    asked = [name for name in section.placement.device_ids if name.startswith("cuda:")]
    there = machine.gpu_count() if asked else 0
    missing = [name for name in asked if int(name.partition(":")[2]) >= there]
    if not missing:
        return
    are = Text("{} is not there", missing[0])
    if len(missing) > 1:
        are = Text("{} and {} are not there", missing[:-1], missing[-1])
    visible_to = Text("{} GPUs are visible to this command", there)
    if there < 2:
        visible_to = Text("1 GPU is visible to this command") if there else Text("no GPU is visible to this command")
    limit = machine.limit()
    why = Text(" ({})", limit) if limit else ""
    advice = Text("`doctor` lists them, `plan --gpus N` simulates them, `--devices cpu:2` runs on the CPU")
    raise ConfigurationError(Text("{}: {}: {}{}; {}", section.name_of("device_ids"), are, visible_to, why, advice))
