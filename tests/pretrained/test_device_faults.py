"""What libraries say of memory, machine and device, each text from where it is raised or was reported."""

from __future__ import annotations

import re

import pytest

from edit_eval.errors import LoadError, PictureError
from edit_eval.pretrained.device_faults import WORDS
from edit_eval.workers.failures import kind_of

MEMORY, DEVICE, MACHINE, TASK, ARGUMENTS = "out_of_memory", "device", "machine", "exception", "model"

TEXTS = [
    # class, text, what it is, source
    ("OutOfMemoryError", "CUDA out of memory. Tried to allocate 2.00 GiB.", MEMORY, "torch CUDACachingAllocator.cpp"),
    ("RuntimeError", "CUDA error: out of memory", MEMORY, "torch CUDAException.cpp"),
    ("OutOfMemoryError", "HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has", MEMORY, "ROCm/TheRock#2118"),
    ("OutOfMemoryError", "XPU out of memory. Tried to allocate 512.00 MiB.", MEMORY, "intel/torch-xpu-ops#1324"),
    ("RuntimeError", "NPU out of memory. Tried to allocate 22.00 MiB (NPU 0;", MEMORY, "vllm-project/vllm-ascend#19"),
    ("RuntimeError", "MPS backend out of memory (MPS allocated: 17.00 GB", MEMORY, "torch MPSAllocator.mm"),
    ("RuntimeError", "Triton Error [CUDA]: out of memory", MEMORY, "triton driver.c"),
    ("OutOfMemoryError", "Out of memory allocating 1,024 bytes", MEMORY, "cupy memory.pyx"),
    ("RuntimeError", "CUDA_ERROR_OUT_OF_MEMORY", MEMORY, "cuda.h"),
    (
        "RuntimeError",
        'NVML_SUCCESS == r INTERNAL ASSERT FAILED at "../c10/cuda/CUDACachingAllocator.cpp":830, please report a bug',
        MEMORY,
        "fal-ai/fal#478",
    ),
    (
        "RuntimeError",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        MEMORY,
        "Exceptions.h",
    ),
    ("RuntimeError", "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate`", MEMORY, "Exceptions.h"),
    ("RuntimeError", "cuDNN error: CUDNN_STATUS_NOT_INITIALIZED", MEMORY, "torch Exceptions.h"),
    (
        "RuntimeError",
        "cusolver error: CUSOLVER_STATUS_INTERNAL_ERROR, when calling `cusolverDnCreate(handle)`",
        MEMORY,
        "torch CuSolverHandlePool.cpp",
    ),
    ("RuntimeError", "GET was unable to find an engine to execute this computation", MEMORY, "torch Conv_v8.cpp"),
    ("RuntimeError", "FIND was unable to find an engine to execute this computation", MEMORY, "torch Conv_v8.cpp"),
    (
        "RuntimeError",
        "[enforce fail at alloc_cpu.cpp:114] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to"
        " allocate 805306368 bytes. Error code 12 (Cannot allocate memory)",
        MEMORY,
        "torch alloc_cpu.cpp",
    ),
    ("MemoryError", "", MEMORY, "Python"),
    ("_ArrayMemoryError", "Unable to allocate 3.00 GiB for an array with shape (1,)", MEMORY, "numpy _exceptions.py"),
    ("RuntimeError", "std::bad_alloc", MEMORY, "C++"),
    ("RuntimeError", "UR error: 40 (UR_RESULT_ERROR_OUT_OF_RESOURCES)", MEMORY, "intel/torch-xpu-ops#2445"),
    ("RuntimeError", "CUDA error: an illegal memory access was encountered", DEVICE, "torch CUDAException.cpp"),
    ("AcceleratorError", "an unknown error", DEVICE, "torch CUDAException.cpp (2.8)"),
    ("RuntimeError", "CUDA error: device-side assert triggered", DEVICE, "torch CUDAException.cpp"),
    ("RuntimeError", "CUDA error: uncorrectable ECC error encountered", DEVICE, "driver_types.h"),
    ("RuntimeError", "cuDNN error: CUDNN_STATUS_EXECUTION_FAILED", DEVICE, "mjq11302010044/TATT#18"),
    ("RuntimeError", "cuDNN error: CUDNN_STATUS_MAPPING_ERROR", DEVICE, "torch Exceptions.h"),
    ("RuntimeError", "CUDA driver error: unknown error", DEVICE, "torch Exceptions.h"),
    ("RuntimeError", "cuFFT error: CUFFT_INTERNAL_ERROR", DEVICE, "torch CuFFTUtils.h"),
    ("RuntimeError", "Triton Error [CUDA]: an illegal memory access was encountered", DEVICE, "triton driver.c"),
    ("RuntimeError", "CUDA failure 700: an illegal memory access ; GPU=0", DEVICE, "microsoft/onnxruntime#26312"),
    ("OSError", "(External) CUDA error(700), an illegal memory access", DEVICE, "PaddlePaddle/PaddleNLP#6031"),
    ("RuntimeError", "HIP error: hipErrorLaunchFailure", DEVICE, "rocm-arch/python-pytorch-rocm#41"),
    (
        "RuntimeError",
        "level_zero backend failed with error: 20 (UR_RESULT_ERROR_DEVICE_LOST)",
        DEVICE,
        "pytorch#190972",
    ),
    (
        "RuntimeError",
        "operator():build/CMakeFiles/torch_npu.dir/compiler_depend.ts:25 NPU function error: error code is 507035",
        DEVICE,
        "Ascend/pytorch#66",
    ),
    ("RuntimeError", "NCCL error in: NCCLUtils.hpp:219, internal error", DEVICE, "torch NCCLUtils.hpp"),
    ("RuntimeError", "No CUDA GPUs are available", DEVICE, "torch CUDAFunctions.cpp"),
    ("RuntimeError", "Unexpected error from cudaGetDeviceCount(). Did you run some cuda", DEVICE, "CUDAFunctions.cpp"),
    ("RuntimeError", "CUDA unknown error - this may be due to an incorrectly set up", DEVICE, "CUDAFunctions.cpp"),
    ("RuntimeError", "can't start new thread", MACHINE, "Python _threadmodule.c"),
    ("OSError", "[Errno 12] Cannot allocate memory", MACHINE, "errno.h"),
    (
        "RuntimeError",
        "unable to mmap 9973578592 bytes from file <x>: Cannot allocate memory (12)",
        MACHINE,
        "MapAllocator.cpp",
    ),
    (
        "RuntimeError",
        "unable to open shared memory object: Too many open files (24)",
        MACHINE,
        "torch MapAllocator.cpp",
    ),
    ("RuntimeError", "cudaErrorLaunchFailure: unspecified launch failure", DEVICE, "cupy runtime.pyx"),
    ("RuntimeError", "CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER", DEVICE, "cudnn_graph.h"),
    (
        "RuntimeError",
        "Error an illegal memory access was encountered at line 90 in file ops.cu",
        DEVICE,
        "bitsandbytes",
    ),
    ("NVMLError_GpuIsLost", "GPU is lost", DEVICE, "nvml.h"),
    # What looks like one and is none.
    ("ImportError", "libgomp.so.1: cannot allocate memory in static TLS block", TASK, "Ascend/pytorch#7"),
    ("RuntimeError", "cuDNN error: CUDNN_STATUS_NOT_SUPPORTED. This error may appear", TASK, "torch Exceptions.h"),
    (
        "RuntimeError",
        "Expected all tensors to be on the same device, but found at least two",
        TASK,
        "TensorIterator.cpp",
    ),
    (
        "ValueError",
        "Image features and image tokens do not match: tokens: 0",
        ARGUMENTS,
        "transformers modeling_qwen2_5_vl.py",
    ),
]


@pytest.mark.parametrize(("name", "text", "wanted", "source"), TEXTS)
def test_a_fault_is_known_by_its_words(name: str, text: str, wanted: str, source: str) -> None:
    base = {"MemoryError": MemoryError, "_ArrayMemoryError": MemoryError, "OSError": OSError, "ValueError": ValueError}
    kind = base.get(name, RuntimeError)
    error = kind(text) if kind.__name__ == name else type(name, (kind,), {})(text)
    assert kind_of(error) == wanted, source


def test_no_row_is_without_a_text() -> None:
    """Nor hidden by one before it."""
    said = [f"{name}: {text}" for name, text, _, _ in TEXTS]
    fit = {next((row.pattern for row in WORDS if re.search(row.pattern, text, re.I)), "") for text in said}
    assert [row.pattern for row in WORDS if row.pattern not in fit] == []


@pytest.mark.parametrize("error", [LoadError("its server has ended"), PictureError("CUDA error: it is black")])
def test_what_is_ours_is_never_read(error: Exception) -> None:
    assert kind_of(error) == {LoadError: DEVICE, PictureError: ARGUMENTS}[type(error)]
