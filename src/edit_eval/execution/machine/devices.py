"""The GPUs of this machine: lists them, watches them, and gives a worker its own.

`cuda:3` is the fourth GPU *visible to the command*: `CUDA_VISIBLE_DEVICES` (indices, UUIDs or MIG ids) decides what
is visible and in which order; without it, the PCI order does.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from edit_eval.execution.contract import Gpu, Machine, Meter


class LocalMachine(Machine):
    """This machine as a command with that environment sees it (default: this command)."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment

    def gpus(self) -> list[Gpu] | None:
        """Returns the visible GPUs from the driver's management library (NVML); None if it cannot be queried."""
        try:
            with _opened() as nvml:
                handles = visible_handles(nvml, self._environment)
                return [_describe(nvml, handle, number) for number, handle in enumerate(handles)]
        except Exception:  # no library, no driver, no permission, a GPU that fell off the bus
            return None

    def gpu_count(self) -> int:
        """Returns how many are visible; if they cannot be queried, as many as the variable names."""
        seen = self.gpus()
        return len(visible(self._environment) or ()) if seen is None else len(seen)

    def limit(self) -> str:
        """Returns the variable, if it is set."""
        variable = self._environment.get("CUDA_VISIBLE_DEVICES")
        return "" if variable is None else f"CUDA_VISIBLE_DEVICES={variable}"

    def fault(self) -> str:
        """Returns why NVML shows no GPUs; empty if it works, and if there is no driver."""
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

    def free_host_memory(self) -> int | None:
        """Returns what Linux calls available, within a container's limit; None on other systems."""
        return free_host_memory()

    @contextlib.contextmanager
    def meters(self) -> Iterator[Callable[[str], Meter]]:
        """Opens NVML for the visible GPUs. Figures that it does not report are None."""
        with _opened() as nvml:
            handles = {f"cuda:{n}": handle for n, handle in enumerate(visible_handles(nvml, self._environment))}

            def read(device: str) -> Meter:
                ask = _asking(nvml, handles.get(device))
                memory, rates = ask("nvmlDeviceGetMemoryInfo"), ask("nvmlDeviceGetUtilizationRates")
                used, total = (None, None) if memory is None else (int(memory.used), int(memory.total))
                return Meter(used, total, None if rates is None else int(rates.gpu) / 100)

            yield read


@contextlib.contextmanager
def _opened() -> Iterator[Any]:
    """Opens NVML; its exceptions propagate if it cannot be queried."""
    import pynvml

    pynvml.nvmlInit()
    try:
        yield pynvml
    finally:
        pynvml.nvmlShutdown()


def _asking(nvml: Any, handle: Any) -> Callable[[str], Any]:
    """Returns a function to query one GPU; None for what is not reported: MIG slices, shared memory, a lost GPU."""

    def ask(function: str) -> Any:
        try:
            return None if handle is None else getattr(nvml, function)(handle)
        except nvml.NVMLError:
            return None

    return ask


def visible(environment: Mapping[str, str]) -> list[str] | None:
    """Returns the entries of `CUDA_VISIBLE_DEVICES` that count, or None if it is not set.

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


def visible_handles(nvml: Any, environment: Mapping[str, str]) -> list[Any]:
    """Returns NVML's handles of the GPUs visible to the command; the first is `cuda:0`.

    `nvml` is `pynvml`, initialised; raises its `NVMLError` if a GPU cannot be queried.
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
    """Returns the GPU that an entry of `CUDA_VISIBLE_DEVICES` names, or None: there CUDA ends the list."""
    if entry.isascii() and entry.isdigit():
        return handles[int(entry)] if int(entry) < len(handles) else None
    if entry.startswith("MIG-"):
        try:
            return nvml.nvmlDeviceGetHandleByUUID(entry)
        except nvml.NVMLError:
            return None
    matches = [handle for uuid, handle in by_uuid.items() if uuid.startswith(entry)]
    return matches[0] if len(matches) == 1 else None  # an ambiguous prefix names none


def _describe(nvml: Any, handle: Any, number: int) -> Gpu:
    ask = _asking(nvml, handle)
    memory, rates = ask("nvmlDeviceGetMemoryInfo"), ask("nvmlDeviceGetUtilizationRates")
    users = []
    for process in ask("nvmlDeviceGetComputeRunningProcesses") or ():
        if _is_ours(process.pid):
            continue
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


def _is_ours(process_id: int) -> bool:
    """True if the process descends from this one."""
    while process_id > 1:
        try:
            with open(f"/proc/{process_id}/stat") as stat:
                process_id = int(stat.read().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return False
        if process_id == os.getpid():
            return True
    return False


def _program(process_id: int) -> str:
    try:
        with open(f"/proc/{process_id}/comm") as comm:
            return comm.read().strip()
    except OSError:
        return "?"


def environment_for(devices: Sequence[str], environment: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Returns the variables that give a worker its devices and hide all others, and its names for them."""
    gpu_numbers = [int(d.partition(":")[2]) for d in devices if d.startswith("cuda:")]
    if not gpu_numbers:
        return {"CUDA_VISIBLE_DEVICES": ""}, ["cpu"]
    entries = visible(environment)
    chosen = [str(n) if entries is None else entries[n] for n in gpu_numbers]
    variables = {"CUDA_VISIBLE_DEVICES": ",".join(chosen), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    return variables, [f"cuda:{i}" for i in range(len(chosen))]


def free_host_memory() -> int | None:
    """Returns the bytes that processes can still take, as Linux calls available within a container's limit, or None."""
    available = _figures(Path("/proc/meminfo")).get("MemAvailable")
    if available is None:
        return None
    figures = [available * 1024]
    for folder, limit, used in (
        ("/sys/fs/cgroup", "memory.max", "memory.current"),
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        try:
            room = int(Path(folder, limit).read_text()) - int(Path(folder, used).read_text())
        except (OSError, ValueError):
            continue  # no such group, or `max`
        cached = _figures(Path(folder, "memory.stat"))  # file cache that the kernel frees when memory is needed
        figures.append(room + cached.get("inactive_file", 0) + cached.get("active_file", 0))
    return max(0, min(figures))


def _figures(path: Path) -> dict[str, int]:
    """Returns the first number of each line of a kernel file, by name; empty if there is no such file."""
    try:
        lines = [line.replace(":", " ").split() for line in path.read_text(encoding="ascii").splitlines()]
    except (OSError, ValueError):
        return {}
    return {line[0]: int(line[1]) for line in lines if len(line) > 1 and line[1].isdigit()}
