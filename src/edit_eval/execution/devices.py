"""Devices: which there are, what a worker is told about its own, and how a model's replicas are laid out on them.

`cuda:3` is the fourth GPU *visible to the command*: `CUDA_VISIBLE_DEVICES` (indices, UUIDs or MIG ids) decides what
is visible and in which order; without it, the PCI order does. `cpu:0`, `cpu:1` are workers on the CPU.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from edit_eval.errors import ConfigurationError


@dataclass(frozen=True)
class Gpu:
    """One GPU visible to the command."""

    name: str
    """`cuda:0`."""
    title: str
    uuid: str
    memory: int
    """Bytes."""
    free: int
    """Bytes."""
    utilisation: int | None = None
    """Per cent."""
    users: tuple[str, ...] = field(default=())
    """Processes that hold memory on it: `1234 python (12.3 GiB)`."""


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
    environment = os.environ if environment is None else environment
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception:  # no library, no driver, or no permission: all mean that there is nothing to see
        return []
    try:
        return _read(pynvml, visible(environment))
    finally:
        pynvml.nvmlShutdown()


def _read(nvml: Any, entries: list[str] | None) -> list[Gpu]:
    handles = [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(nvml.nvmlDeviceGetCount())]
    by_uuid = {_text(nvml.nvmlDeviceGetUUID(handle)): handle for handle in handles}
    if entries is None:
        chosen = handles
    else:
        chosen = []
        for entry in entries:
            if entry.isdigit():
                if int(entry) >= len(handles):
                    break
                chosen.append(handles[int(entry)])
                continue
            handle = next((h for uuid, h in by_uuid.items() if uuid.startswith(entry)), None)
            if handle is None and entry.startswith("MIG-"):
                try:
                    handle = nvml.nvmlDeviceGetHandleByUUID(entry.encode())
                except nvml.NVMLError:
                    handle = None
            if handle is None:
                break
            chosen.append(handle)
    return [_describe(nvml, handle, number) for number, handle in enumerate(chosen)]


def _describe(nvml: Any, handle: Any, number: int) -> Gpu:
    memory = nvml.nvmlDeviceGetMemoryInfo(handle)
    users = []
    utilisation: int | None = None
    try:
        utilisation = int(nvml.nvmlDeviceGetUtilizationRates(handle).gpu)
        for process in nvml.nvmlDeviceGetComputeRunningProcesses(handle):
            held = f" ({process.usedGpuMemory / 2**30:.1f} GiB)" if process.usedGpuMemory else ""
            users.append(f"{process.pid} {_program(process.pid)}{held}")
    except nvml.NVMLError:
        pass  # a MIG slice, or a container that may not look
    title, uuid = _text(nvml.nvmlDeviceGetName(handle)), _text(nvml.nvmlDeviceGetUUID(handle))
    return Gpu(f"cuda:{number}", title, uuid, int(memory.total), int(memory.free), utilisation, tuple(users))


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
    device_ids: str | Sequence[str], per_replica: int, environment: Mapping[str, str] | None = None
) -> tuple[tuple[tuple[str, ...], ...], str]:
    """Lays a model's replicas out on devices. Returns each replica's devices, and why these were chosen.

    Raises `ConfigurationError` for a GPU that is not there.
    """
    environment = os.environ if environment is None else environment
    if device_ids == "auto":
        names = [gpu.name for gpu in gpus(environment)]
        reason = f"auto: {len(names)} visible GPUs" if names else "auto: no GPU is visible, so one worker on the CPU"
        names = names[: len(names) // per_replica * per_replica] or ["cpu:0"]
    else:
        names = list(device_ids)
        reason = "as configured"
        entries = visible(environment)
        asked = [int(n.partition(":")[2]) for n in names if n.startswith("cuda:")]
        there = len(entries) if entries is not None else len(gpus(environment)) if asked else 0
        if asked and max(asked) >= there:
            raise ConfigurationError(
                f"device_ids: cuda:{max(asked)} is not there: {there} GPUs are visible to this command"
                + (f" (CUDA_VISIBLE_DEVICES={environment['CUDA_VISIBLE_DEVICES']})" if entries is not None else "")
                + "; `edit-eval doctor` lists them, `--devices cpu:2` runs on the CPU"
            )
    if names[0].startswith("cpu"):
        per_replica = 1
    grouped = tuple(tuple(names[i : i + per_replica]) for i in range(0, len(names), per_replica))
    return grouped, reason
