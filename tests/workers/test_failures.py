"""What a failure asks for, told by what was raised."""

from __future__ import annotations

import errno
import json

import pytest

from edit_eval.errors import ChangedError, LoadError, ModelError, PictureError, Refused, UnreadableError
from edit_eval.workers.failures import kind_of, one_line


class OutOfMemoryError(RuntimeError):
    """Named like torch's."""


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (PictureError("black"), "model"),
        (ModelError("withheld"), "model"),
        (Refused("not this one"), "refused"),
        (LoadError("the server is gone"), "device"),
        (UnreadableError("it is gone"), "unreadable"),
        (ChangedError("another program"), "changed"),
        (OSError(errno.EMFILE, "Too many open files"), "machine"),
        (RuntimeError("can't start new thread"), "machine"),
        (OutOfMemoryError("HIP out of memory"), "out_of_memory"),
        (RuntimeError("CUDA out of memory. Tried to allocate"), "out_of_memory"),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), "out_of_memory"),
        (RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"), "out_of_memory"),
        (RuntimeError("CUDA error: device-side assert triggered"), "device"),
        (RuntimeError("CUDA error: an illegal memory access was encountered"), "device"),
        (RuntimeError("shapes do not fit"), "exception"),
        (ValueError("height has to be divisible by 16"), "model"),
        (TypeError("unexpected keyword"), "model"),
        (TypeError("'NoneType' object is not subscriptable"), "exception"),
        (ValueError("Input contains NaN."), "exception"),
        (ValueError("could not convert string to float: 'sorry'"), "exception"),
        (ValueError("not enough values to unpack (expected 2, got 1)"), "exception"),
        (ValueError("CUDA out of memory"), "out_of_memory"),
        (json.JSONDecodeError("half an answer", "{", 1), "exception"),
        (MemoryError(), "exception"),
        (KeyboardInterrupt(), "exception"),
    ],
)
def test_what_a_failure_asks_for(error: BaseException, kind: str) -> None:
    assert kind_of(error) == kind


def test_an_exception_is_one_line() -> None:
    assert one_line(ValueError("two\n  lines")) == "ValueError: two lines"
    assert one_line(ModelError("ours\nneeds no name")) == "ours needs no name"
    assert one_line(ModelError()) == "ModelError"
    assert one_line(KeyError()) == "KeyError"
    assert len(one_line(ValueError("x" * 10_000))) < 520
