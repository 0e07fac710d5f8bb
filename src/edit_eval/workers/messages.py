"""What the engine and a worker say to each other: JSON objects, one a line, over a private pipe.

To a worker, the field `do`:

    prepare   role, class_path, parameters, path, devices     import the class; sent once, first
    load      offload                                         load the weights
    run       task, kind ("edit" or "judge"), and what it is about (see `edit_eval.workers.process`)
    stop                                                      finish what is under way, then end

From a worker, the field `event`:

    prepared                                                  imports done, no device memory taken
    loaded    capacity, seconds, about, memory                ready for tasks, `capacity` at a time
    broken    error, trace, lacks, pip                        cannot be prepared or loaded; the worker ends. `lacks` and
                                                              `pip` only after an import that failed (see `lacking`)
    started   task                                            the device begins with it
    step      task, step, steps                               a sign of life
    done      task, results, seconds, memory
    failed    task, error, trace, kind, memory                `kind`: model | exception | out_of_memory | device | disk
    ended     memory                                          after `stop`

`memory` has bytes: `host` and `host_peak` of the process, and `device` and `device_peak`, summed over its GPUs, where
torch knows them.

Standard library only.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

Message = dict[str, Any]


def encode(message: Message) -> bytes:
    """One message as a line of UTF-8; lone surrogates of odd file names survive the journey as escapes."""
    return json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"


class Lines:
    """Cuts a stream of bytes into messages."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[Message]:
        """Yields each message that `data` completes. Raises `ValueError` for a line that is not a JSON object."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        for line in whole:
            message = json.loads(line)
            if not isinstance(message, dict):
                raise ValueError(f"not a message: {line[:80]!r}")
            yield message


def write_all(descriptor: int, data: bytes) -> None:
    """Writes every byte to a blocking pipe. Raises `BrokenPipeError` when nobody reads any more."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
