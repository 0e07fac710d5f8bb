"""Where a model's replicas run: `cuda:3` is the machine's fourth GPU; `cpu:0`, `cpu:1` are workers on the CPU."""

from __future__ import annotations

from edit_eval.config.schema import ModelSection
from edit_eval.errors import ConfigurationError
from edit_eval.execution.drivers.contract import Machine

Place = tuple[str, ...]
"""The devices of one replica."""


def places(section: ModelSection, machine: Machine) -> tuple[tuple[Place, ...], str]:
    """Lays a model's replicas out on devices. Returns each replica's devices, and why these were chosen.

    Raises `ConfigurationError` for GPUs that are not there, with the key that asked for them.
    """
    device_ids, per_replica = section.placement.device_ids, section.placement.devices_per_replica
    if device_ids == "auto":
        names, reason = _all_gpus(section, machine)
    else:
        names, reason = list(device_ids), "as configured"
        _refuse_missing(section, machine)
    if names[0].startswith("cpu"):
        per_replica = 1
    return tuple(tuple(names[i : i + per_replica]) for i in range(0, len(names), per_replica)), reason


def _all_gpus(section: ModelSection, machine: Machine) -> tuple[list[str], str]:
    """As many as make whole replicas; without a GPU the CPU. And why."""
    per_replica = section.placement.devices_per_replica
    count = len(machine.gpus() or ())
    plural = "s" if count > 1 else ""
    if 0 < count < per_replica:
        key = section.named("devices_per_replica")
        raise ConfigurationError(f"{key}: {per_replica}, but only {count} visible GPU{plural}")
    reason = f"auto: {count} visible GPU{plural}" if count else "auto: no GPU is visible, so one CPU worker"
    if left := count % per_replica:
        reason += f", {left} left over"
    return [f"cuda:{number}" for number in range(count - left)] or ["cpu:0"], reason


def _refuse_missing(section: ModelSection, machine: Machine) -> None:
    asked = [name for name in section.placement.device_ids if name.startswith("cuda:")]
    there = machine.gpu_count() if asked else 0
    missing = [name for name in asked if int(name.partition(":")[2]) >= there]
    if not missing:
        return
    named = " and ".join(filter(None, (", ".join(missing[:-1]), missing[-1])))
    are = f"{named} {'are' if len(missing) > 1 else 'is'} not there"
    visible_to = f"{there or 'no'} GPU{' is' if there < 2 else 's are'} visible to this command"
    limit = machine.limit()
    why = f" ({limit})" if limit else ""
    advice = "`doctor` lists them, `plan --gpus N` imagines them, `--devices cpu:2` runs on the CPU"
    raise ConfigurationError(f"{section.named('device_ids')}: {are}: {visible_to}{why}; {advice}")
