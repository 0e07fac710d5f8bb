"""An edit model and a judge for tests, ours and yours, with configurable durations and failures.

They run in real workers, through real pipes, and their failures are real: a crash is a SIGKILL, a hang sleeps.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from edit_eval.errors import LoadError
from edit_eval.records import Reply, Status
from edit_eval.text import Text

if TYPE_CHECKING:
    from PIL.Image import Image

    from edit_eval.edit_models.contract import EditRequest, OnStep
    from edit_eval.judges.contract import JudgeRequest


Said = TypeVar("Said")


def duration(seconds: float, jitter: float, seed: object) -> float:
    """Returns a duration in seconds with the relative standard deviation `jitter`, the same for the same seed."""
    return max(0.0, seconds * random.Random(str(seed)).gauss(1.0, jitter))


@dataclass
class InjectedFaults:
    """Which samples (by id) go wrong, and how. `flaky` fails the first time a process meets the sample, then works."""

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 (read by pydantic, never changed)

    load_seconds: float = 0.0
    """How long loading takes, in seconds."""
    seconds: float = 0.0
    """How long an edit, or the judging of one request, takes, in seconds."""
    jitter: float = 0.0
    """Relative standard deviation of `seconds`, drawn from the sample's seed."""
    fail: list[str] = field(default_factory=list)
    """Sample ids whose task raises an exception."""
    crash: list[str] = field(default_factory=list)
    """Sample ids that kill the process (SIGKILL)."""
    hang: list[str] = field(default_factory=list)
    """Sample ids whose task never ends."""
    out_of_memory: list[str] = field(default_factory=list)
    """Sample ids whose task raises an out-of-memory error."""
    device_error: list[str] = field(default_factory=list)
    """Sample ids whose task raises a device-side assert the first time that this process meets them."""
    flaky: list[str] = field(default_factory=list)
    """Sample ids whose task raises in a process that has not finished a task yet."""
    fail_to_load: str = ""
    """If given, loading raises this text."""
    note: str = field(default="", metadata={"in_key": False})
    """If given, it is printed when the model is loaded, and appears in the report. Not part of a key."""

    def load(self) -> None:
        """Takes `load_seconds`, or fails."""
        time.sleep(self.load_seconds)
        if self.fail_to_load:
            raise LoadError(self.fail_to_load)

    def happen(self, sample_id: str, done: int) -> None:
        """Triggers the fault of this sample, if it has one."""
        if sample_id in self.crash:
            os.kill(os.getpid(), signal.SIGKILL)
        if sample_id in self.hang:
            time.sleep(1e9)
        if sample_id in self.fail or (sample_id in self.flaky and done == 0):
            raise RuntimeError(f"{sample_id} fails on purpose")
        if sample_id in self.out_of_memory:
            raise MemoryError("CUDA out of memory. (on purpose)")
        if sample_id in self.device_error:
            raise RuntimeError("CUDA error: device-side assert triggered (on purpose)")


class _Fake:
    def __init__(self, parameters: Any) -> None:
        self.parameters = parameters
        self._done = 0

    @staticmethod
    def duration_anywhere(parameters: InjectedFaults) -> tuple[float, float, str]:
        """Returns what it is told."""
        return parameters.load_seconds, parameters.seconds, Text("its own parameters")

    def load(self, devices: Sequence[str]) -> None:
        """Takes `load_seconds`."""
        self.parameters.load()

    def about(self) -> dict[str, str]:
        """Returns the note, if there is one."""
        return {"note": self.parameters.note} if self.parameters.note else {}


class FakeEditModel(_Fake):
    """Tints the source with a colour drawn from the seed."""

    @dataclass
    class Parameters(InjectedFaults):
        nan: list[str] = field(default_factory=list)
        """Sample ids for which it returns a picture of not-a-number."""
        black: list[str] = field(default_factory=list)
        """Sample ids for which it returns a black picture."""
        steps: int = 4
        """Steps an edit."""

    def edit(self, request: EditRequest, on_step: OnStep) -> Image:
        """Returns the tinted picture after `seconds`."""
        from PIL import Image as Images

        p, image, sample_id = self.parameters, request.source, request.sample_id
        p.happen(sample_id, self._done)
        for step in range(p.steps):
            time.sleep(duration(p.seconds, p.jitter, request.seed) / p.steps)
            on_step(step + 1, p.steps)
        self._done += 1
        if sample_id in p.nan:
            return Images.new("F", image.size, float("nan"))
        if sample_id in p.black:
            return Images.new("RGB", image.size)
        colour = random.Random(request.seed).randbytes(3)
        return Images.blend(image.convert("RGB"), Images.new("RGB", image.size, tuple(colour)), 0.4)


class FakeJudge(_Fake):
    """Gives each edit the answer that it was told to give.

    It is told by names: `<sample>`, `<sample>#<question>`, `<edit model>/<sample>`, `<edit model>/<sample>#<question>`.
    The last of these that is there counts. What it was not told it answers in the form that it is asked for, in the
    middle of the scale.
    """

    probabilities = True
    reads = ("sample_id", "edit_model", "question")

    @dataclass
    class Parameters(InjectedFaults):
        answers: dict[str, str] = field(default_factory=dict)
        """By such a name, the answer."""
        default_answer: str = ""
        """The answer for all others; empty: `Score: 5.000`, an object by the question's schema, or no word where
        probabilities are asked for."""
        values: dict[str, dict[str, float]] = field(default_factory=dict)
        """By such a name, the values of the reply; without, all labels of a question are equally likely."""
        cut_off: list[str] = field(default_factory=list)
        """Such names of answers that a limit on their length cut off."""

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Reply]:
        """Answers after `seconds` per request."""
        replies = []
        for request in requests:
            self.parameters.happen(request.sample_id, self._done)
            time.sleep(duration(self.parameters.seconds, self.parameters.jitter, request.sample_id))
            replies.append(self._reply(request))
        self._done += 1
        return replies

    def _reply(self, request: JudgeRequest) -> Reply:
        p, sample, question = self.parameters, request.sample_id, f"#{request.question}"
        both = f"{request.edit_model}/{sample}"
        names = (both + question, both, sample + question, sample)
        return Reply(
            text=_find_entry(p.answers, names, p.default_answer or middle_answer(request)),
            values=_find_entry(p.values, names, dict.fromkeys(request.labels, 1 / max(1, len(request.labels)))),
            ended=Status.CUT_OFF if {*names} & {*p.cut_off} else Status.OK,
        )


def middle_answer(request: JudgeRequest) -> str:
    """Returns an answer in the requested form, in the middle of the allowed range."""
    if request.labels:
        return ""
    return json.dumps(_example(json.loads(request.schema)), ensure_ascii=False) if request.schema else "Score: 5.000"


def _example(schema: Mapping[str, Any]) -> Any:
    """Returns a value that fits one of our schemas: the middle of a range, or of a list of words."""
    if schema["type"] == "object":
        return {name: _example(entry) for name, entry in schema["properties"].items()}
    if schema["type"] == "array":
        return [_example(schema["items"])] * schema["minItems"]
    if schema["type"] == "string":
        return schema["enum"][len(schema["enum"]) // 2] if "enum" in schema else "told by nobody"
    middle = (schema["minimum"] + schema["maximum"]) / 2
    return int(middle) if schema["type"] == "integer" else middle


def _find_entry(by_name: Mapping[str, Said], names: Sequence[str], default: Said) -> Said:
    return next((by_name[name] for name in names if name in by_name), default)
