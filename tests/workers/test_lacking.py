"""A library that is missing is known behind whatever failed because of it."""

from __future__ import annotations

import errno
import importlib
import json
import os
import subprocess
import sys

import pytest

from edit_eval.errors import ChangedError, LoadError, ModelError, PictureError, Refused, UnreadableError
from edit_eval.workers.failures import describe_missing_import, kind_of, one_line


def failed(code: str) -> BaseException:
    try:
        exec(code)
    except BaseException as error:
        return error
    raise AssertionError(code)


WRAPPED = "try:\n import no_such_library\nexcept ImportError as e:\n raise {} from e"


@pytest.mark.parametrize(
    ("code", "lacks"),
    [
        ("import no_such_library.deep", "no_such_library"),
        (WRAPPED.format("RuntimeError('Failed to import')"), "no_such_library"),
        (WRAPPED.format("ModuleNotFoundError('vague')"), "no_such_library"),
        ("from json import no_such_name", ""),
        ("raise ImportError('X requires the Y library')", ""),
        ("import edit_eval.no_such_module", ""),
        ("import xml.no_such_part", ""),
    ],
)
def test_what_is_missing(code: str, lacks: str) -> None:
    missing = describe_missing_import(failed(code))
    assert missing["lacks"] == lacks
    assert missing["pip"] is (importlib.util.find_spec("pip") is not None)


@pytest.mark.parametrize(
    "code",
    [
        "raise ValueError('x')",
        "try:\n import no_such_library\nexcept ImportError:\n raise OSError('no weights, whatever was tried before')",
    ],
)
def test_other_failures_lack_nothing(code: str) -> None:
    assert describe_missing_import(failed(code)) == {}
    assert describe_missing_import(LoadError("no server")) == {}


def test_who_cannot_begin_says_it_without_secrets() -> None:
    code = (
        "import os, sys\nfrom edit_eval.workers.failures import describe_missing_import\n"
        "lacking = ModuleNotFoundError('no module of ' + os.environ['MY_KEY'], name='PIL')\n"
        "describe_missing_import(lacking, int(sys.argv[1]))"
    )
    into, out = os.pipe()
    environment = {**os.environ, "MY_KEY": "CANARY-12345"}
    done = subprocess.run([sys.executable, "-c", code, str(out)], pass_fds=(out,), env=environment)
    os.close(out)
    with os.fdopen(into) as pipe:
        message = json.loads(pipe.read())
    assert done.returncode == 1
    assert (message["event"], message["lacks"]) == ("broken", "PIL")
    assert message["error"] == "ModuleNotFoundError: no module of <MY_KEY>"
    assert "CANARY" not in message["trace"]


# What a failure asks for, told by what was raised.


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
        (MemoryError(), "out_of_memory"),
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
