"""A local judge that measures the processor time of its own calls, for `judging.py`."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from edit_eval.judges.contract import AnswerForm, JudgeRequest
from edit_eval.plugins.local_judges.in_worker.qwen3_vl import Qwen3VL
from edit_eval.records import Reply

COUNTED_IN = "BENCH_JUDGING_SECONDS"
"""Environment variable with a file to which each judge, when it ends, adds a line: processor seconds of its process
since it was loaded, and those of its own calls."""


class TimedJudge(Qwen3VL):
    """Qwen3-VL that counts its thread's time in `make_inputs` and `judge` as the model's. One thread each."""

    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters)
        self._seconds = {"make_inputs": 0.0, "judge": 0.0}  # each in a thread of its own

    def load(self, devices: Sequence[str], offload: str = "none", forms: Sequence[AnswerForm] = ()) -> None:
        super().load(devices, offload, forms)
        self._loaded = time.process_time()

    def make_inputs(self, requests: Sequence[JudgeRequest]) -> Any:
        begin = time.thread_time()
        try:
            return super().make_inputs(requests)
        finally:
            self._seconds["make_inputs"] += time.thread_time() - begin

    def judge(self, requests: Sequence[JudgeRequest], inputs: Any = None) -> list[str | Reply]:
        begin = time.thread_time()
        # Inputs not made ahead are made and counted here.
        inputs = super().make_inputs(requests) if inputs is None and requests else inputs
        try:
            return super().judge(requests, inputs)
        finally:
            self._seconds["judge"] += time.thread_time() - begin

    def close(self) -> None:
        with open(os.environ[COUNTED_IN], "a") as file:
            file.write(f"{time.process_time() - self._loaded} {sum(self._seconds.values())}\n")
