"""The GPUs of this machine: lists them, watches them, and gives a worker its own.

`cuda:3` is the fourth GPU *visible to the command*: `CUDA_VISIBLE_DEVICES` (indices, UUIDs or MIG ids) decides what
is visible and in which order; without it, the PCI order does.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from edit_eval.execution.contract import Gpu, Machine, Meter
from edit_eval.pretrained.host_memory import free_host_memory
from edit_eval.records import Unknown


class LocalMachine(Machine):
    """This machine as a command with that environment sees it (default: this command)."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment

    def gpus(self) -> list[Gpu]:
        """Returns the visible GPUs that answer the driver's management library (NVML)."""
        with self._cards() as (nvml, cards):
            described = ((name, card, _describe_gpu(nvml, card, name)) for name, card in cards.items())
            return [gpu for _, _, gpu in described if isinstance(gpu, Gpu)]

    def lost(self) -> dict[str, Unknown]:
        """Returns by name the visible GPUs that do not answer, each with NVML's words."""
        with self._cards() as (nvml, cards):
            described = {name: _describe_gpu(nvml, card, name) for name, card in cards.items()}
        return {name: gpu for name, gpu in described.items() if isinstance(gpu, Unknown)}

    def gpu_count(self) -> int:
        """Returns how many are visible; if they cannot be queried, as many as the variable names."""
        with self._cards() as (nvml, cards):
            return len(cards) if nvml is not None else len(visible(self._environment) or ())

    def limit(self) -> str:
        """Returns the variable, if it is set."""
        variable = self._environment.get("CUDA_VISIBLE_DEVICES")
        return "" if variable is None else f"CUDA_VISIBLE_DEVICES={variable}"

    def fault(self) -> str:
        """Returns why NVML cannot be queried at all; empty if it can be, and if there is no driver."""
        try:
            with _open_nvml() as nvml:
                nvml.nvmlDeviceGetCount()
        except Exception as error:
            return str(error) if os.path.exists("/dev/nvidiactl") or os.path.exists("/proc/driver/nvidia") else ""
        return ""

    def free_host_memory(self) -> int | None:
        """Returns what Linux calls available, within a container's limit; None on other systems."""
        return free_host_memory()

    def entries(self) -> dict[str, str]:
        """Returns by device what `CUDA_VISIBLE_DEVICES` calls it, where its place in the list would mislead.

        CUDA does not count GPUs that are lost as NVML does, and counts no slices: these are known by their UUIDs.
        """
        with self._cards() as (nvml, cards):
            uuids = {name: _make_query(nvml, card)("nvmlDeviceGetUUID") for name, card in cards.items()}
        known = {name: _text(uuid) for name, uuid in uuids.items() if uuid is not None}
        misleads = len(known) < len(cards) or any(uuid.startswith("MIG-") for uuid in known.values())
        return known if misleads else {}

    @contextlib.contextmanager
    def meters(self) -> Iterator[Callable[[str], Meter]]:
        """Opens NVML for the visible GPUs. Figures that it does not report are None."""
        with _open_nvml() as nvml:
            cards = _visible_cards(nvml, self._environment)

            def read(device: str) -> Meter:
                ask = _make_query(nvml, cards.get(device))
                memory, rates = _memory(ask), ask("nvmlDeviceGetUtilizationRates")
                used, total = (None, None) if memory is None else (int(memory.used), int(memory.total))
                return Meter(used, total, None if rates is None else int(rates.gpu) / 100)

            yield read

    @contextlib.contextmanager
    def _cards(self) -> Iterator[tuple[Any, Mapping[str, Any]]]:
        """Opens NVML with its handles of the visible GPUs by name; with None and none if it cannot be queried."""
        with contextlib.ExitStack() as opened:
            try:
                nvml = opened.enter_context(_open_nvml())
                cards = _visible_cards(nvml, self._environment)
            except Exception:  # no library, no driver, no permission
                nvml, cards = None, {}
            yield nvml, cards


@contextlib.contextmanager
def _open_nvml() -> Iterator[Any]:
    """Opens NVML; its exceptions propagate if it cannot be queried."""
    import pynvml

    pynvml.nvmlInit()
    try:
        yield pynvml
    finally:
        pynvml.nvmlShutdown()


NOT_TOLD = ("Not Supported", "Not Found", "Function Not Found", "Insufficient Permissions")
"""What NVML answers to a question that this GPU, this driver or this user has no answer to (nvml.h: `nvmlReturn_t`)."""


def _make_query(nvml: Any, card: Any) -> Callable[[str], Any]:
    """Returns a function to query one GPU; None for what is not told (MIG slices, shared memory), or if it is lost."""

    def ask(function: str) -> Any:
        answer = None if card is None else _answer(nvml, function, card)
        return None if isinstance(answer, Unknown) else answer

    return ask


def _answer(nvml: Any, function: str, *asked: Any, optional: bool = True) -> Any:
    """Returns NVML's answer; None to an `optional` question that it does not answer here; `Unknown` with its words if
    the GPU fails."""
    if isinstance(asked[0], Unknown):
        return asked[0]
    try:
        return getattr(nvml, function)(*asked)
    except (AttributeError, UnicodeError):  # an older library, a name that is no text
        return None
    except Exception as error:  # one that is lost says so at whichever question
        is_told = not str(error).lower().endswith(tuple(map(str.lower, NOT_TOLD)))
        return None if optional and not is_told else Unknown(str(error))


def _memory(ask: Callable[[str], Any]) -> Any:
    """Returns what is known of a GPU's memory; some drivers report success and a total of 0."""
    memory = ask("nvmlDeviceGetMemoryInfo")
    return memory if memory is not None and memory.total else None


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


def _visible_cards(nvml: Any, environment: Mapping[str, str]) -> dict[str, Any]:
    """Returns NVML's handles of the GPUs visible to the command, by name; `Unknown` in place of one that is lost.

    A GPU that is divided (MIG) is not there, but each of its slices is. Raises if NVML cannot be queried.
    """
    entries = visible(environment)
    count = nvml.nvmlDeviceGetCount()
    there = [_answer(nvml, "nvmlDeviceGetHandleByIndex", index, optional=False) for index in range(count)]
    chosen = there if entries is None else list(_find_visible(nvml, entries, there))
    cards = [part for card in chosen for part in _slices(nvml, card)]
    return {f"cuda:{number}": card for number, card in enumerate(cards)}


def _find_visible(nvml: Any, entries: Sequence[str], there: Sequence[Any]) -> Iterator[Any]:
    """Yields the GPUs that `CUDA_VISIBLE_DEVICES` names; an entry that names none ends the list, as for CUDA."""
    uuids = [_answer(nvml, "nvmlDeviceGetUUID", card) for card in there]
    lost = next((uuid for uuid in uuids if isinstance(uuid, Unknown)), None)
    for entry in entries:
        if entry.isascii() and entry.isdigit():
            matches = there[int(entry) : int(entry) + 1]
        elif entry.startswith("MIG-"):
            card = _answer(nvml, "nvmlDeviceGetHandleByUUID", entry)
            matches = [] if card is None else [card]
        else:
            named = zip(there, uuids, strict=True)
            matches = [card for card, uuid in named if isinstance(uuid, (str, bytes)) and _text(uuid).startswith(entry)]
            if not matches and entry.startswith("GPU-") and lost is not None:  # it may be one that does not tell
                matches = [lost]
        if len(matches) != 1:  # an ambiguous prefix names none
            return
        yield matches[0]


def _slices(nvml: Any, card: Any) -> list[Any]:
    """Returns the slices of a GPU that is divided, else the GPU itself."""
    mode = None if isinstance(card, Unknown) else _answer(nvml, "nvmlDeviceGetMigMode", card)
    if not isinstance(mode, (list, tuple)) or not mode[0]:
        return [card]
    most = _answer(nvml, "nvmlDeviceGetMaxMigDeviceCount", card)
    some = (_answer(nvml, "nvmlDeviceGetMigDeviceHandleByIndex", card, n) for n in range(most if most else 0))
    return [part for part in some if part is not None] or [Unknown("it is divided (MIG), and has no slice")]


def _describe_gpu(nvml: Any, card: Any, name: str) -> Gpu | Unknown:
    """Returns what is known of a GPU; if it raises at any question, its words."""
    answers = {what: _answer(nvml, f"nvmlDeviceGet{what}", card) for what in _ASKED}
    if fault := [answer for answer in answers.values() if isinstance(answer, Unknown)]:
        return fault[0]
    ask = answers.get
    memory, rates, capability = _memory(lambda what: ask("MemoryInfo")), ask("UtilizationRates"), ask(_ASKED[-1])
    users = []
    for process in ask("ComputeRunningProcesses") or ():
        if _is_ours(process.pid):
            continue
        held = f" ({process.usedGpuMemory / 2**30:.1f} GiB)" if process.usedGpuMemory else ""
        users.append(f"{process.pid} {_program(process.pid)}{held}")
    return Gpu(
        name=name,
        title=_text(ask("Name") or "a GPU"),
        uuid=_text(ask("UUID") or ""),
        memory=None if memory is None else int(memory.total),
        free=None if memory is None else int(memory.free),
        utilisation=None if rates is None else int(rates.gpu),
        users=tuple(users),
        capability=None if capability is None else (int(capability[0]), int(capability[1])),
    )


_ASKED = ("UUID", "MemoryInfo", "Name", "UtilizationRates", "ComputeRunningProcesses", "CudaComputeCapability")


def _text(value: str | bytes) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


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


def environment_for(
    devices: Sequence[str], environment: Mapping[str, str], entries: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Returns the variables that give a worker its devices and hide all others, and its names for them.

    `entries` are those of the machine (`LocalMachine.entries`).
    """
    names = [device for device in devices if device.startswith("cuda:")]
    if not names:
        return {"CUDA_VISIBLE_DEVICES": ""}, ["cpu"]
    listed = visible(environment)
    numbers = [name.partition(":")[2] for name in names]
    listed_as = numbers if listed is None or entries else [listed[int(number)] for number in numbers]
    chosen = [entries.get(name, entry) for name, entry in zip(names, listed_as, strict=True)]
    variables = {"CUDA_VISIBLE_DEVICES": ",".join(chosen), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    return variables, [f"cuda:{i}" for i in range(len(chosen))]
