"""Messages between the engine and a worker: JSON objects, one a line, over a private pipe.

To a worker, the field `do`:

    prepare   class_path, parameters, path, devices,          import the class, and check that it is the one that keys
              revision, server, forms                         name; sent once, first. `server`: see
                                                              `edit_eval.endpoints.serving.ServerEnvironment`; `forms`:
                                                              form, labels and schema of what a judge will be asked
    load      offload                                         load the weights
    run       task, kind ("edit" or "judge"), and what it is about (see `edit_eval.workers.requests`)
    noted     task                                            what was `submitted` of a question is written down
    stop                                                      finish what is under way, then end

From a worker, the field `event`:

    prepared                                                  imports done, no device memory taken
    loaded    capacity, seconds, about, memory                ready for tasks, `capacity` at a time
    broken    error, trace, kind, lacks, pip                  cannot be prepared or loaded; the worker ends. `lacks` and
                                                              `pip` only after an import that failed (see `failures`)
    started   task                                            the device begins the task
    step      task, step, steps                               a sign of life
    submitted task, provider, id, usd, token                  bought, to be fetched: `edit_models.contract.Submitted`;
                                                              its question waits, and no sign of life is expected
    done      task, results, seconds, memory
    failed    task, error, trace, kind, memory, facts, spent  `kind`: see `edit_eval.workers.failures.kind_of`; `facts`
                                                              of a request to a server: see `errors.RequestError`;
                                                              `spent`: its process must be replaced
    ended     memory                                          after `stop`

`memory` is in bytes: `host` and `host_peak` of the process, and `device` and `device_peak`: what torch has reserved on
its GPUs, if it knows; with its cache, and since a load what transformers warms up for it, which is the weights' size.
All paths are absolute: a model may change its working folder.

A worker runs a stranger's code, which may write into any descriptor: see `edit_eval.execution.engine.conversation`.

Standard library only.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any, TypedDict

Message = dict[str, Any]


class PictureFile(TypedDict, total=False):
    """Where a picture is, and what identifies it (see `edit_eval.workers.requests`)."""

    path: str
    digest: str
    pixels: str
    blank_like: PictureFile
    made_of: PictureFile
    maker: str
    mask: bool


class PictureView(PictureFile, total=False):
    """A picture of a request, and what is done to it before it is shown."""

    name: str
    steps: list[Any]
    """Each the name of a step and its arguments; of `like` a `PictureFile`."""


class EditResult(TypedDict, total=False):
    """What a worker has made."""

    pixels: str
    width: int
    height: int
    file_bytes: int
    file_digest: str
    flags: list[str]
    own_size: list[int] | None


class AnswerResult(TypedDict, total=False):
    """What a judge has answered to a request, or why it was not asked."""

    text: str
    values: dict[str, float] | None
    normalised: bool
    ended: str | None
    final: bool | None
    length: int | None
    tokens: list[int] | None
    halved_to: int
    """How many were asked at once in the end, for lack of memory."""
    damaged: str
    """Why an edit is no longer what it was; then there is nothing else."""


LONGEST_LINE = 1 << 26
"""Most bytes of one message. A judge's answers to a batch are the longest."""

_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode  # `dumps` would make one for each message


def encode(message: Message) -> bytes:
    """Encodes a message as one line; lone surrogates of odd file names survive as escapes."""
    return _encode(message).encode("ascii") + b"\n"


class MessageStream:
    """Cuts a stream of bytes into messages, in time linear in its length."""

    def __init__(self) -> None:
        self._begun: list[bytes] = []  # parts of an unfinished line
        self._length = 0

    def feed(self, data: bytes) -> Iterator[Message]:
        """Yields each message that `data` completes.

        Raises `ValueError` for a line that is not a JSON object, or is longer than `LONGEST_LINE`.
        """
        first, *others = data.split(b"\n")
        for part in others:
            yield self._message(first)
            first = part
        self._keep(first)

    def _keep(self, part: bytes) -> None:
        self._begun.append(part)
        self._length += len(part)
        if self._length > LONGEST_LINE:
            self._begun, self._length = [], 0
            raise ValueError(f"a message of more than {LONGEST_LINE >> 20} MiB")

    def _message(self, end: bytes) -> Message:
        self._keep(end)
        line = b"".join(self._begun)
        self._begun, self._length = [], 0
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):  # the latter for deeply nested brackets
            message = None
        if not isinstance(message, dict):
            raise ValueError(f"not a message: {line[:80]!r}")
        return message


def write_all(descriptor: int, data: bytes) -> None:
    """Writes every byte to a blocking pipe. Raises `BrokenPipeError` if its reader has closed it."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
