"""Classifies failures in a worker by what they call for.

Standard library only: the models' libraries are known by name, and Pillow may be what is missing.
"""

from __future__ import annotations

import errno
import importlib.util
import os
import re
import sys
import traceback
from typing import NoReturn, TypedDict

from edit_eval.errors import ChangedError, LoadError, ModelError, Refused, RequestError, UnreadableError
from edit_eval.pretrained.device_faults import device_fault
from edit_eval.privacy import hide_secrets
from edit_eval.workers.messages import encode, write_all

_RECEIVED = re.compile(r"NoneType|\bnan\b|\binf|invalid literal|could not convert|to unpack|closed file", re.I)

_OURS = {
    LoadError: "device",
    UnreadableError: "unreadable",
    ChangedError: "changed",
    Refused: "refused",
    RequestError: "request",
    ModelError: "model",
}


def kind_of(error: BaseException) -> str:
    """Returns what a failure calls for: `model` and `exception` blame the task, `unreadable` (try again later),
    `refused` (an answer) and `changed` blame no one, `configuration` and `disk` stop the run, of a `request` to a
    server its facts decide, the others blame the device (`machine` the process or its machine, which lacks descriptors
    or threads). After `model` another attempt would end the same.

    The libraries' words are in `pretrained/device_faults.py`. A `LoadError` says
    that this model can do nothing more here (its server has ended), whatever the task. `ValueError` and `TypeError` are
    Python's complaints about arguments, and the next attempt has the same ones. Errors about data
    received or computed, which may differ next time, do not count: subclasses (`JSONDecodeError`), and texts like
    `_RECEIVED`.
    """
    if isinstance(error, LoadError) and error.final:
        return "configuration"
    for ours, kind in _OURS.items():
        if isinstance(error, ours):
            return kind
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "disk"
    if fault := device_fault(error):
        return fault
    of_arguments = type(error) in (ValueError, TypeError) and not _RECEIVED.search(str(error))
    return "model" if of_arguments else "exception"


def one_line(error: BaseException) -> str:
    """Returns an exception as one readable line, without secrets; once cut, they could no longer be recognised."""
    text = " ".join(hide_secrets(str(error)).split())
    name = type(error).__name__
    return text[:500] if isinstance(error, ModelError) and text else f"{name}: {text[:500]}" if text else name


class MissingImport(TypedDict, total=False):
    """What a failed import lacked."""

    lacks: str
    """The library; empty if the import failed otherwise: in a library of the wrong version, or for a part of Python."""
    pip: bool
    """Whether there is a `pip` to install it."""


def describe_missing_import(error: BaseException) -> MissingImport:
    """Returns a message's fields on a failed import; none if no import failed.

    An exception raised `from` a failed import counts, since libraries wrap them;
    one that only came after does not: it may be another way of doing without.
    """
    failed: ImportError | None = None
    cause: BaseException | None = error
    for _ in range(20):
        if isinstance(cause, ImportError):
            failed = cause
        cause = cause.__cause__ if cause is not None else None
    if failed is None:
        return {}
    name = (failed.name or "").partition(".")[0] if isinstance(failed, ModuleNotFoundError) else ""
    ours = name == "edit_eval" or name in sys.stdlib_module_names
    return {"lacks": "" if ours else name, "pip": importlib.util.find_spec("pip") is not None}


def report_missing_import(error: ImportError, pipe_out: int) -> NoReturn:
    """Reports what is missing for a worker that cannot even begin, and ends the process."""
    text = hide_secrets(f"{type(error).__name__}: {error}")
    trace = hide_secrets("".join(traceback.format_exception(type(error), error, error.__traceback__)))
    what = {"kind": "exception", **describe_missing_import(error)}
    write_all(pipe_out, encode({"event": "broken", "error": text, "trace": trace, **what}))
    os._exit(1)
