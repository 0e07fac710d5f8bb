"""Devices: which there are, what a worker is told about its own, and how a model's replicas are laid out on them.

`cuda:3` is the fourth GPU *visible to the command*: `CUDA_VISIBLE_DEVICES` (indices, UUIDs or MIG ids) decides what
is visible and in which order; without it, the PCI order does. `cpu:0`, `cpu:1` are workers on the CPU.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from edit_eval.config.schema import ModelSection
from edit_eval.errors import ConfigurationError


@dataclass(frozen=True)
class Gpu:
    """One GPU visible to the command."""

    name: str
    """`cuda:0`."""
    title: str
    uuid: str
    memory: int | None
    """Bytes; None where the driver tells none (a GPU that shares the host's memory)."""
    free: int | None
    """Bytes."""
    utilisation: int | None = None
    """Per cent."""
    users: tuple[str, ...] = field(default=())
    """Processes that hold memory on it: `1234 python (12.3 GiB)`."""
    capability: tuple[int, int] | None = None
    """Of its CUDA architecture: (9, 0) is Hopper."""


def visible(environment: Mapping[str, str]) -> list[str] | None:
    """The entries of `CUDA_VISIBLE_DEVICES` that count, or None when it is not set.

    CUDA ends the list at the first entry that is empty or negative.
    """
    text = environment.get("CUDA_VISIBLE_DEVICES")
    if text is None:
        return None
    entries: list[str] = []
    for entry in (part.strip() for part in text.split(",")):
        if not entry or entry.startswith("-"):
            break
        entries.append(entry)
    return entries


def gpus(environment: Mapping[str, str] | None = None) -> list[Gpu]:
    """The GPUs visible to the command, as the driver's management library knows them; none without a driver."""
    return _seen(os.environ if environment is None else environment) or []


def _seen(environment: Mapping[str, str]) -> list[Gpu] | None:
    """The visible GPUs, or None where nobody can tell."""
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception:  # no library, no driver, or no permission
        return None
    try:
        handles = visible_handles(pynvml, environment)
        return [_describe(pynvml, handle, number) for number, handle in enumerate(handles)]
    except pynvml.NVMLError:  # a GPU that fell off the bus
        return None
    finally:
        pynvml.nvmlShutdown()


def driver_fault() -> str:
    """Why the driver's management library shows no GPUs; empty where it works, and on a machine without a driver."""
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception as error:
        return str(error) if os.path.exists("/dev/nvidiactl") or os.path.exists("/proc/driver/nvidia") else ""
    try:
        for index in range(pynvml.nvmlDeviceGetCount()):
            pynvml.nvmlDeviceGetUUID(pynvml.nvmlDeviceGetHandleByIndex(index))
    except pynvml.NVMLError as error:
        return str(error)
    finally:
        pynvml.nvmlShutdown()
    return ""


def visible_handles(nvml: Any, environment: Mapping[str, str]) -> list[Any]:
    """The management library's handles of the GPUs visible to the command; the first is `cuda:0`.

    `nvml` is `pynvml`, initialised; raises its `NVMLError` where a GPU cannot be asked.
    """
    entries = visible(environment)
    handles = [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(nvml.nvmlDeviceGetCount())]
    if entries is None:
        return handles
    by_uuid = {_text(nvml.nvmlDeviceGetUUID(handle)): handle for handle in handles}
    chosen = []
    for entry in entries:
        handle = _handle(nvml, entry, handles, by_uuid)
        if handle is None:
            break
        chosen.append(handle)
    return chosen


def _handle(nvml: Any, entry: str, handles: list[Any], by_uuid: Mapping[str, Any]) -> Any:
    """What an entry of `CUDA_VISIBLE_DEVICES` names, or None: there CUDA ends the list."""
    if entry.isascii() and entry.isdigit():
        return handles[int(entry)] if int(entry) < len(handles) else None
    if entry.startswith("MIG-"):
        try:
            return nvml.nvmlDeviceGetHandleByUUID(entry)
        except nvml.NVMLError:
            return None
    matches = [handle for uuid, handle in by_uuid.items() if uuid.startswith(entry)]
    return matches[0] if len(matches) == 1 else None  # a beginning that fits two is none


def _describe(nvml: Any, handle: Any, number: int) -> Gpu:
    def ask(function: str) -> Any:
        try:
            return getattr(nvml, function)(handle)
        except nvml.NVMLError:
            return None  # a MIG slice, memory shared with the host, a container that may not look

    memory, rates = ask("nvmlDeviceGetMemoryInfo"), ask("nvmlDeviceGetUtilizationRates")
    users = []
    for process in ask("nvmlDeviceGetComputeRunningProcesses") or ():
        held = f" ({process.usedGpuMemory / 2**30:.1f} GiB)" if process.usedGpuMemory else ""
        users.append(f"{process.pid} {_program(process.pid)}{held}")
    capability = ask("nvmlDeviceGetCudaComputeCapability")
    return Gpu(
        name=f"cuda:{number}",
        title=_text(ask("nvmlDeviceGetName") or "a GPU"),
        uuid=_text(nvml.nvmlDeviceGetUUID(handle)),
        memory=None if memory is None else int(memory.total),
        free=None if memory is None else int(memory.free),
        utilisation=None if rates is None else int(rates.gpu),
        users=tuple(users),
        capability=None if capability is None else (int(capability[0]), int(capability[1])),
    )


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _program(process_id: int) -> str:
    try:
        with open(f"/proc/{process_id}/comm") as comm:
            return comm.read().strip()
    except OSError:
        return "?"


def environment_for(devices: Sequence[str], environment: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The variables that give a worker its devices and hide all others, and the names by which it knows them."""
    gpu_numbers = [int(d.partition(":")[2]) for d in devices if d.startswith("cuda:")]
    if not gpu_numbers:
        return {"CUDA_VISIBLE_DEVICES": ""}, ["cpu"]
    entries = visible(environment)
    chosen = [str(n) if entries is None else entries[n] for n in gpu_numbers]
    variables = {"CUDA_VISIBLE_DEVICES": ",".join(chosen), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    return variables, [f"cuda:{i}" for i in range(len(chosen))]


def places(
    section: ModelSection, environment: Mapping[str, str] | None = None
) -> tuple[tuple[tuple[str, ...], ...], str]:
    """Lays a model's replicas out on devices. Returns each replica's devices, and why these were chosen.

    Raises `ConfigurationError` for GPUs that are not there, with the key that asked for them.
    """
    environment = os.environ if environment is None else environment
    device_ids, per_replica = section.placement.device_ids, section.placement.devices_per_replica
    if device_ids == "auto":
        names = [gpu.name for gpu in gpus(environment)]
        plural = "s" if len(names) > 1 else ""
        if 0 < len(names) < per_replica:
            key = section.named("devices_per_replica")
            raise ConfigurationError(f"{key}: {per_replica}, but only {len(names)} visible GPU{plural}")
        reason = f"auto: {len(names)} visible GPU{plural}" if names else "auto: no GPU is visible, so one CPU worker"
        if left := len(names) % per_replica:
            reason += f", {left} left over"
        names = names[: len(names) // per_replica * per_replica] or ["cpu:0"]
    else:
        names = list(device_ids)
        reason = "as configured"
        entries = visible(environment)
        asked = [name for name in names if name.startswith("cuda:")]
        seen = _seen(environment) if asked else []
        there = len(entries or ()) if seen is None else len(seen)  # the library may be missing where CUDA is not
        missing = [name for name in asked if int(name.partition(":")[2]) >= there]
        if missing:
            named = " and ".join(filter(None, (", ".join(missing[:-1]), missing[-1])))
            are = f"{named} {'are' if len(missing) > 1 else 'is'} not there"
            visible_to = f"{there or 'no'} GPU{' is' if there < 2 else 's are'} visible to this command"
            variable = f" (CUDA_VISIBLE_DEVICES={environment['CUDA_VISIBLE_DEVICES']})" if entries is not None else ""
            advice = "`doctor` lists them, `plan --gpus N` imagines them, `--devices cpu:2` runs on the CPU"
            raise ConfigurationError(f"{section.named('device_ids')}: {are}: {visible_to}{variable}; {advice}")
    if names[0].startswith("cpu"):
        per_replica = 1
    grouped = tuple(tuple(names[i : i + per_replica]) for i in range(0, len(names), per_replica))
    return grouped, reason
