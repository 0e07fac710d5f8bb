"""Words in which libraries say that memory has run out, or that a device or its process can no longer be trusted.

No list of another's words is complete: what is on none of these is judged by what happens next (`engine/blame.py`).
"""

from __future__ import annotations

import errno
import re
from typing import Literal, NamedTuple

Fault = Literal["out_of_memory", "device", "machine"]


class FaultWords(NamedTuple):
    """One way of saying it."""

    fault: Fault
    pattern: str
    """Regular expression, in any case of letters; the first row that fits counts."""
    source: str


WORDS = (
    # What is no lack of memory although it says so.
    FaultWords("device", "device-side assert", "torch c10/cuda/CUDAException.cpp"),
    # -- memory has run out --
    FaultWords(
        "out_of_memory",
        "out[ _]?of[ _]?(device_)?memory",
        "torch allocators (CUDA, HIP, XPU, MPS, NPU), CUDA's driver API",
    ),
    FaultWords(
        "out_of_memory", r"NVML_SUCCESS == \w+ INTERNAL ASSERT", "torch CUDACachingAllocator.cpp; fal-ai/fal#478"
    ),
    FaultWords("out_of_memory", r"CU\w+_ALLOC(ATION)?_FAILED", "status names of cuBLAS, cuDNN, cuFFT, cuSOLVER"),
    FaultWords(
        "out_of_memory",
        "(CUBLAS|CUDNN)_STATUS_NOT_INITIALIZED",
        "a handle that finds no memory: torch CublasHandlePool.cpp",
    ),
    FaultWords(
        "out_of_memory",
        "CUSOLVER_STATUS_INTERNAL_ERROR.*cusolverDnCreate",
        "the same of cuSOLVER: torch CuSolverHandlePool.cpp",
    ),
    FaultWords("out_of_memory", "unable to find (an engine|a valid cuDNN algorithm)", "torch Conv_v8.cpp, Conv_v7.cpp"),
    FaultWords("out_of_memory", "^_?(Array)?MemoryError|bad_alloc", "Python, numpy, C++"),
    FaultWords("out_of_memory", "DefaultCPUAllocator: (can't|not enough)", "torch c10/core/impl/alloc_cpu.cpp"),
    FaultWords("out_of_memory", "UR_RESULT_ERROR_OUT_OF_(RESOURCES|HOST_MEMORY)", "level_zero; torch-xpu-ops#1324"),
    # -- the machine is short of something else --
    FaultWords("machine", "can't start new thread", "Python _threadmodule.c"),
    FaultWords(
        "machine",
        r"Cannot allocate memory(?! in static TLS)",
        "ENOMEM; of a library's TLS block it says nothing of memory",
    ),
    FaultWords("machine", "Too many open files", "EMFILE"),
    # -- the device, or its context, which no other task of the process can do without --
    FaultWords(
        "device",
        "AcceleratorError|(CUDA|HIP|cuda|hip) (runtime |driver )?error",
        "torch CUDAException.cpp, Paddle, cupy",
    ),
    FaultWords("device", r"(CUDA|CUDNN|HIP) failure \d+", "onnxruntime cuda_call.cc; onnxruntime#26312"),
    FaultWords(
        "device",
        r"cud(a|nn)Error\w+|hipError\w+|CUDA_ERROR_\w+",
        "names of the runtimes' errors; python-pytorch-rocm#41",
    ),
    FaultWords(
        "device",
        "(cuDNN|cuBLAS|cuFFT|cusolver|cusparse|MIOpen|hipBLAS) ?error(?!.*_(NOT_SUPPORTED|BAD_PARAM))",
        "torch Exceptions.h",
    ),
    FaultWords(
        "device",
        r"CU(DNN|BLAS|FFT|SOLVER)_(STATUS_)?(EXECUTION_FAILED|EXEC_FAILED|INTERNAL_ERROR|MAPPING_ERROR)",
        "NVIDIA",
    ),
    FaultWords(
        "device",
        r"illegal (memory access|instruction)|misaligned address|unspecified launch failure",
        "Triton, bitsandbytes",
    ),
    FaultWords(
        "device",
        r"uncorrectable ECC|GPU (is lost|requires re)|fallen off the bus|NVRM: Xid",
        "cudaGetErrorString, NVML, kernel",
    ),
    FaultWords("device", "NCCL error", "torch NCCLUtils.hpp"),
    FaultWords(
        "device", "No CUDA GPUs are available|cudaGetDeviceCount|CUDA unknown error", "torch c10/cuda/CUDAFunctions.cpp"
    ),
    FaultWords("device", "UR_RESULT_ERROR_(DEVICE_LOST|UNKNOWN)", "level_zero; pytorch#190972"),
    FaultWords("device", "NPU function error|PTA call acl api failed", "Ascend/pytorch#66"),
)
"""What a library is found to say, with where."""

_NUMBERS: dict[int | None, Fault] = {errno.ENOMEM: "machine", errno.EMFILE: "machine", errno.ENFILE: "machine"}


def device_fault(error: BaseException) -> Fault | None:
    """Returns what an exception says of memory, machine or device; None if its words are on no list.

    Torch's own exception classes are known by name, since this imports no torch.
    """
    if isinstance(error, OSError) and error.errno in _NUMBERS:
        return _NUMBERS[error.errno]
    if isinstance(error, MemoryError):
        return "out_of_memory"
    names = ", ".join(kind.__name__ for kind in type(error).__mro__[:-2])
    said = f"{names}: {error}"
    return next((words.fault for words in WORDS if re.search(words.pattern, said, re.I)), None)
