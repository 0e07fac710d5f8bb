"""A real worker in a process of its own, at the other end of two pipes."""

from __future__ import annotations

import fcntl
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from PIL import Image

from edit_eval.execution.machine.environments import worker_command
from edit_eval.pictures import pixel_digest
from edit_eval.workers.messages import Message, MessageStream, encode

ODD_MODELS = str(Path(__file__).with_name("odd_models.py"))
PATIENCE = 240.0  # seconds; only a failing test waits so long, and pytest gives up after 300


class StartedWorker:
    """What it says is heard one message after the other; what its model prints is in `log`."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self.log = folder / "worker.log"
        low_in, self._into = os.pipe()
        self._out, low_out = os.pipe()
        # High ones, as an engine has that has many files open: whatever starts a worker must not mix them up.
        child_in, child_out = (fcntl.fcntl(descriptor, fcntl.F_DUPFD, 203) for descriptor in (low_in, low_out))
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*worker_command(sys.executable), str(child_in), str(child_out)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(child_in, child_out),
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )
        for descriptor in (low_in, low_out, child_in, child_out):
            os.close(descriptor)
        self._lines = MessageStream()
        self._unheard: list[Message] = []
        self._open = True

    def __enter__(self) -> StartedWorker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.hang_up()
        self.process.kill()
        self.process.wait()
        os.close(self._out)

    def hang_up(self) -> None:
        """Closes our end of its pipe, as the end of the engine would."""
        if self._open:
            os.close(self._into)
            self._open = False

    def tell(self, do: str, **fields: Any) -> None:
        os.write(self._into, encode({"do": do, **fields}))

    def prepare(
        self,
        class_path: str,
        parameters: Mapping[str, Any] | None = None,
        path: tuple[str, ...] = (),
        revision: str = "",
    ) -> None:
        named = {"class_path": class_path, "parameters": dict(parameters or {}), "path": list(path)}
        self.tell("prepare", **named, revision=revision, devices=["cpu"])

    def load(self, class_path: str, **parameters: Any) -> Message:
        """Prepares and loads; returns what it said of itself."""
        self.prepare(class_path, parameters)
        self.hear("prepared")
        self.tell("load", offload="none")
        return self.hear("loaded")

    def next(self) -> Message | None:
        """The next message, or None at the end of its pipe."""
        deadline = time.monotonic() + PATIENCE
        while not self._unheard:
            if not select.select([self._out], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise AssertionError(f"nothing heard for {PATIENCE:g} s; its log: {self.log.read_text()}")
            data = os.read(self._out, 1 << 20)
            if not data:
                return None
            self._unheard += self._lines.feed(data)
        return self._unheard.pop(0)

    def hear(self, *events: str) -> Message:
        """The next message that is one of `events`; others before it may only be `started` and `step`."""
        while (message := self.next()) is not None:
            if message["event"] in events:
                return message
            assert message["event"] in ("started", "step"), message
        raise AssertionError(f"it ended instead of {events}; its log: {self.log.read_text()}")

    def edit(self, task: int, source: Path, output: Path, **more: Any) -> None:
        """Hands over a task to edit; `digest` is what the source is to be."""
        pictures = [{"name": "source", "path": str(source), "digest": more.pop("digest", "")}]
        about = {"pictures": pictures, "instruction": "paint it red", "seed": task, "sample": f"sample-{task}"}
        self.tell("run", task=task, kind="edit", **{**about, "output": str(output), **more})

    def judge(self, task: int, *requests: Message) -> None:
        """Hands over a batch to judge."""
        self.tell("run", task=task, kind="judge", requests=list(requests))


def request(source: Path, edit: Path, **more: Any) -> Message:
    """A request to judge a picture that is what was reported; `pixels` is what it was, where it is another one now."""
    pixels = pixel_digest(Image.open(edit)) if edit.exists() else "0" * 64
    return {
        "system": "You judge.",
        "user": "How well?",
        "form": "score",
        "question": "score",
        "seed": 0,
        "sample_id": edit.stem,
        "edit_model": "painter",
        "edit_seed": 0,
        "repeat": 0,
        "reading": 0,
        "instruction": "paint it red",
        "category": "physical",
        "pictures": [
            {"name": "source", "path": str(source), "digest": "", "steps": []},
            {"name": "edit", "path": str(edit), "pixels": more.pop("pixels", pixels), "steps": []},
        ],
        **more,
    }
