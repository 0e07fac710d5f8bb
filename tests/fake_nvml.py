"""A stand-in for pynvml: the driver's management library with GPUs of our choice."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

GIB = 1 << 30


class FakeNvml(ModuleType):
    """The functions of pynvml that edit-eval calls. A GPU is a dictionary; what it lacks is not supported.

    `lost` is the question from which on it raises (`HandleByIndex`, `UUID`, ...), `slices` are those of a divided one.
    """

    class NVMLError(Exception):
        pass

    def __init__(self, gpus: list[dict[str, Any]], *, fault: str = "") -> None:
        super().__init__("pynvml")
        self.gpus, self.fault = gpus, fault
        self.open = 0

    def nvmlInit(self) -> None:
        if self.fault:
            raise self.NVMLError(self.fault)
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlDeviceGetCount(self) -> int:
        return len(self.physical)

    @property
    def physical(self) -> list[dict[str, Any]]:
        return [gpu for gpu in self.gpus if not gpu["uuid"].startswith("MIG-")]

    def nvmlDeviceGetHandleByIndex(self, index: int) -> dict[str, Any]:
        return self._ask(self.physical[index], "HandleByIndex")

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> dict[str, Any]:
        for gpu in [part for whole in self.gpus for part in (whole, *whole.get("slices", ()))]:
            if gpu["uuid"] == uuid:
                return gpu
        raise self.NVMLError("Not Found")

    def _ask(self, gpu: dict[str, Any], question: str) -> dict[str, Any]:
        if gpu.get("lost") == question:
            raise self.NVMLError(gpu.get("says", "GPU is lost"))
        return gpu

    def _get(self, gpu: dict[str, Any], key: str, question: str = "") -> Any:
        self._ask(gpu, question)
        if key not in gpu:
            raise self.NVMLError("Not Supported")
        return gpu[key]

    def nvmlDeviceGetUUID(self, gpu: dict[str, Any]) -> str:
        return str(self._get(gpu, "uuid", "UUID"))

    def nvmlDeviceGetMigMode(self, gpu: dict[str, Any]) -> list[int]:
        return [int("slices" in gpu)] * 2

    def nvmlDeviceGetMaxMigDeviceCount(self, gpu: dict[str, Any]) -> int:
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(self, gpu: dict[str, Any], index: int) -> dict[str, Any]:
        if index >= len(gpu["slices"]):
            raise self.NVMLError("Not Found")
        part: dict[str, Any] = gpu["slices"][index]
        return part

    def nvmlDeviceGetName(self, gpu: dict[str, Any]) -> bytes:
        title = self._get(gpu, "title", "Name")
        return title if isinstance(title, bytes) else str(title).encode()  # older versions of the library give bytes

    def nvmlDeviceGetMemoryInfo(self, gpu: dict[str, Any]) -> Any:
        total = self._get(gpu, "total", "MemoryInfo")
        return SimpleNamespace(total=total, free=gpu["free"], used=total - gpu["free"])

    def nvmlDeviceGetUtilizationRates(self, gpu: dict[str, Any]) -> Any:
        return SimpleNamespace(gpu=self._get(gpu, "busy", "UtilizationRates"), memory=0)

    def nvmlDeviceGetComputeRunningProcesses(self, gpu: dict[str, Any]) -> list[Any]:
        return [
            SimpleNamespace(pid=pid, usedGpuMemory=held)
            for pid, held in self._get(gpu, "users", "ComputeRunningProcesses")
        ]

    def nvmlDeviceGetCudaComputeCapability(self, gpu: dict[str, Any]) -> tuple[int, int]:
        capability: tuple[int, int] = self._get(gpu, "capability", "CudaComputeCapability")
        return capability


def gpu(number: int, free: float = 80, total: float = 80, **more: Any) -> dict[str, Any]:
    """A GPU; memory in GiB. The UUIDs of 0 to 9 differ in their first digit."""
    return {
        "uuid": f"GPU-{number}a{number}b-{number}",
        "title": "NVIDIA H100",
        "total": int(total * GIB),
        "free": int(free * GIB),
        "busy": 0,
        "users": [],
        "capability": (9, 0),
        **more,
    }


def install(
    monkeypatch: pytest.MonkeyPatch, *gpus: dict[str, Any], visible: str | None = None, fault: str = ""
) -> FakeNvml:
    """Puts a machine with these GPUs in place of this one; `visible` is `CUDA_VISIBLE_DEVICES`."""
    nvml = FakeNvml(list(gpus), fault=fault)
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.delenv("CUDA_DEVICE_ORDER", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    return nvml
