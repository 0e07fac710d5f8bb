"""What went wrong in a worker, and what it asks for. Standard library only: the models' libraries are known by name."""

from __future__ import annotations

import errno
import re

from edit_eval.errors import ChangedError, LoadError, ModelError, Refused, UnreadableError
from edit_eval.privacy import hide_secrets

_RECEIVED = re.compile(r"NoneType|\bnan\b|\binf|invalid literal|could not convert|to unpack|closed file", re.I)

_OURS = {
    LoadError: "device",
    UnreadableError: "unreadable",
    ChangedError: "changed",
    Refused: "refused",
    ModelError: "model",
}


def kind_of(error: BaseException) -> str:
    """Tells what a failure asks for: `model` and `exception` blame the task, `unreadable` (try again later), `refused`
    (an answer) and `changed` nobody, `configuration` and `disk` stop the run, the others blame the device (`machine`
    the process or its machine, which lacks descriptors or threads). After `model` another attempt would end the same.

    Torch's own exception classes are recognised by name and text, since this file imports no torch. A `LoadError` says
    that nothing can be asked of this model here any more (its server is gone), whatever the task is. `ValueError` and
    `TypeError` are what Python says of arguments, and the next attempt has the same ones. Those do not count that are
    about what was received or computed, which may be another next time: classes made of them (`JSONDecodeError`), and
    texts like `_RECEIVED`.
    """
    if isinstance(error, LoadError) and error.final:
        return "configuration"
    for ours, kind in _OURS.items():
        if isinstance(error, ours):
            return kind
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "disk"
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return "machine"
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        return "machine"
    names = {c.__name__ for c in type(error).__mro__}
    text = str(error)
    # Where another process fills the GPU, cuBLAS and cuDNN are the first to get nothing, and say it in their own way.
    if "OutOfMemoryError" in names or ("CUDA" in text and "out of memory" in text) or "_ALLOC_FAILED" in text:
        return "out_of_memory"
    if "AcceleratorError" in names or "CUDA error" in text or "device-side assert" in text:
        return "device"
    of_arguments = type(error) in (ValueError, TypeError) and not _RECEIVED.search(text)
    return "model" if of_arguments else "exception"


def one_line(error: BaseException) -> str:
    """An exception as one readable line, without secrets: afterwards it is cut, and none could be known any more."""
    text = " ".join(hide_secrets(str(error)).split())
    name = type(error).__name__
    return text[:500] if isinstance(error, ModelError) and text else f"{name}: {text[:500]}" if text else name
