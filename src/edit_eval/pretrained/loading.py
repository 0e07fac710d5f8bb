"""Loading with torch: dtypes, devices, one-line errors, versions."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from importlib import metadata
from pathlib import Path
from typing import Any

from edit_eval.errors import EditEvalError, LoadError
from edit_eval.pretrained.device_faults import device_fault
from edit_eval.pretrained.folders import local_folder
from edit_eval.pretrained.host_memory import host_memory
from edit_eval.privacy import hide_secrets

DTYPES = ("bfloat16", "float16", "float32")
OFFLOADS = ("none", "model", "group")


def check_value(parameter: str, value: str, choices: Sequence[str] = DTYPES) -> None:
    """Raises `ValueError` for a value not in `choices`."""
    if value not in choices:
        raise ValueError(f"{parameter}: {value!r} is none of {', '.join(choices)}")


def check_call(call: Mapping[str, Any], taken: Sequence[str]) -> None:
    """Raises `ValueError` for a keyword in `call` that edit-eval passes itself."""
    if clash := sorted(set(call) & set(taken)):
        raise ValueError(f"call: {', '.join(clash)} cannot be given there: edit-eval passes it itself")


def dtype_named(name: str) -> Any:
    """Returns torch's dtype of that name; `auto` stays, and means to transformers: as the weights are stored."""
    import torch

    return name if name == "auto" else getattr(torch, name)


def runs_on_cpu(devices: Sequence[str]) -> bool:
    """True if a replica computes on the CPU (`["cpu"]`, `["cpu:1"]`)."""
    return devices[0].split(":")[0] == "cpu"


def prepare_devices(devices: Sequence[str], offload: str) -> None:
    """Checks a replica's devices; on the CPU it is limited to one thread.

    One thread, because several replicas share the machine, and because with more threads the order of sums, and so the
    last bits, may depend on the machine. Raises `LoadError`.
    """
    import torch

    if offload not in OFFLOADS:
        raise LoadError(f"offload: {offload!r} is none of {', '.join(OFFLOADS)}")
    if runs_on_cpu(devices):
        torch.set_num_threads(1)
    elif devices[0].startswith("cuda") and not torch.cuda.is_available():
        raise LoadError(
            f"torch {torch.__version__} in this environment sees no GPU (asked for {', '.join(devices)}); "
            "install a torch built for this driver, or run on `device_ids: cpu`"
        )
    if offload != "none" and len(devices) > 1:
        raise LoadError(
            f"offload: {offload} needs one device per replica; set devices_per_replica to 1 or offload to none"
        )


def device_map(devices: Sequence[str]) -> dict[str, str] | str:
    """Returns the `device_map` for `from_pretrained`: all on one device, or the layers spread evenly over several.

    Weights are loaded straight to their devices; the host never holds a full copy.
    """
    if len(devices) > 1:
        return "balanced"
    return {"": "cpu" if runs_on_cpu(devices) else devices[0]}


@contextmanager
def load_errors(model: str) -> Iterator[None]:
    """Turns any exception of a load into a one-line `LoadError`, but passes on out-of-memory and missing libraries."""
    try:
        yield
    except EditEvalError:
        raise
    except Exception as error:
        text = " ".join(hide_secrets(str(error)).split()) or type(error).__name__
        causes = _causes(error)
        if device_fault(error) == "out_of_memory":
            raise
        if isinstance(error, ModuleNotFoundError) and error.name and "Failed to import" not in text:
            raise  # a missing library: the worker says how to install it
        if torchvision := next((cause for cause in causes if "torchvision::" in cause), ""):
            versions = {"torchvision": "", "torch": "", **library_versions("torchvision", "torch")}
            raise LoadError(
                f"torchvision {versions['torchvision']} in this environment does not match torch "
                f"{versions['torch']}: uninstall it (edit-eval needs none) or install the one built for this torch "
                f"({_cut(torchvision)})"
            ) from error
        if "out of meta tensor" in text:  # diffusers fails like this after warning of missing weights
            raise LoadError(f"weights are missing from the files of {model}; the worker's log names them") from error
        raise LoadError(f"{model} cannot be loaded: {type(error).__name__}: {_cut(text)}") from error


def _causes(error: BaseException | None) -> list[str]:
    """Returns the texts of an exception and its causes: the libraries wrap a failed import in a vague one."""
    texts: list[str] = []
    while error is not None and len(texts) < 20:
        texts.append(" ".join(hide_secrets(str(error)).split()))
        error = error.__cause__ or error.__context__
    return texts


def _cut(text: str, length: int = 400) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."


def check_complete(report: Mapping[str, Any], part: str) -> None:
    """Raises `LoadError` if the files lack weights of the model: the libraries fill those with random numbers.

    `report` is what `from_pretrained(..., output_loading_info=True)` returns beside the model.
    """
    missing = sorted(report.get("missing_keys") or ())
    mismatched = sorted(str(key) for key in report.get("mismatched_keys") or ())
    for keys, what in ((missing, "are missing from"), (mismatched, "have another shape in")):
        if keys:
            more = f" and {len(keys) - 3} more" if len(keys) > 3 else ""
            raise LoadError(
                f"{len(keys)} weights {what} the files of {part} ({', '.join(keys[:3])}{more}); they would be random"
            )


def library_versions(*names: str) -> dict[str, str]:
    """Returns the versions of installed packages by name, leaving out those not installed."""
    versions = {}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


READ_AHEAD_SHARE = 0.5
"""Share of the host's memory: larger weights would evict their own beginning before it is used."""
BESIDE_OTHERS = READ_AHEAD_SHARE / 2
"""For a judge's weights, which share the memory with those of an edit model."""


def load_in_parallel() -> None:
    """Makes diffusers read the files of a network with several threads; call it before diffusers is imported.

    The weights are the same. An existing `HF_ENABLE_PARALLEL_LOADING` is respected. With quantisation, too: one tensor
    of each file is whole at a time (8 of 76 MB for Qwen-Image-Edit); quantisers that need file after file say so.
    """
    os.environ.setdefault("HF_ENABLE_PARALLEL_LOADING", "YES")


def read_ahead(name: str, revision: str | None = None, share: float = READ_AHEAD_SHARE) -> threading.Thread | None:
    """Has the operating system read a model's weights into its page cache; returns the requesting thread at once.

    `name` is a folder or a repository in the Hugging Face cache. Returns None if there is nothing to read, no way to
    ask, or the weights exceed that `share` of the host's memory. It costs this process no memory, and replicas on one
    host share it. Processes of one user take turns, so that a judge does not halve the disk bandwidth of the first edit
    model.
    """
    folder = local_folder(name) or _find_snapshot(name, revision)
    files = sorted(folder.rglob("*.safetensors")) if folder else []
    size = sum(file.stat().st_size for file in files)
    if not size or not hasattr(os, "posix_fadvise") or size > share * host_memory():
        return None
    thread = threading.Thread(target=_read_files, args=(files,), name="read ahead", daemon=True)
    thread.start()
    return thread


def _find_snapshot(name: str, revision: str | None) -> Path | None:
    try:
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(name, revision=revision, local_files_only=True))
    except Exception:  # loading will report what is wrong with it
        return None


def _read_files(files: list[Path]) -> None:
    with _my_turn():
        for file in files:
            try:
                with file.open("rb", buffering=0) as opened:
                    os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_WILLNEED)
            except OSError:
                continue


@contextlib.contextmanager
def _my_turn() -> Iterator[None]:
    """Waits until no other process of this user reads ahead; does not wait if that cannot be determined."""
    path = os.path.join(tempfile.gettempdir(), f"edit-eval-reads-ahead-{os.getuid()}")
    try:
        turn = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        yield
        return
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(turn, fcntl.LOCK_EX)
        yield
    finally:
        os.close(turn)


# Where torch prefers cuDNN (2.9 and newer on Hopper and on Blackwell's data centre GPUs, with a new enough cuDNN), it
# is a poor choice for a model that reads prompts of many lengths and writes answers:
#
# * cuDNN makes a plan for each new length, 20 to 400 ms each (torch pull request 155958, SGLang pull request 4650), and
#   each token of an answer is a new length.
# * It is reported to silently corrupt what Qwen2.5-1.5B and -7B write on a B200 (torch issue 193893, open): models with
#   fewer than 8 heads of keys, like Qwen3-VL-30B-A3B and the text encoder of Qwen-Image-Edit. On Hopper this has been
#   neither reported nor ruled out.
#
# Attention over the prompt is a tenth of a judgement's arithmetic. Pictures keep torch's own choice: few shapes, and as
# many heads of keys as of queries.
WITHOUT_CUDNN = "the language model without cuDNN's"


def disable_cudnn(language_model: Any) -> None:
    """Makes `language_model` compute torch's attention with any kernel but cuDNN's; its other parts stay unchanged.

    Does nothing for implementations other than `sdpa`. Call it before anything that replaces its `forward`.
    """
    import torch

    backend = torch.nn.attention.SDPBackend
    kernels = [backend.FLASH_ATTENTION, backend.EFFICIENT_ATTENTION, backend.MATH]
    forward = language_model.forward

    @wraps(forward)
    def read(*arguments: Any, **keywords: Any) -> Any:
        with torch.nn.attention.sdpa_kernel(kernels):
            return forward(*arguments, **keywords)

    language_model.forward = read
