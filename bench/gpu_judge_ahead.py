"""Measures the gain from reading and scaling a judge's next batch while the GPU computes; needs no GPU.

    python bench/gpu_judge_ahead.py [--compute SECONDS] [--rows N] [--json]

Uses a real worker with the adapter's own processor and real pictures; the network is a sleep, which leaves the CPU free
as a GPU does. `speedup` is the time per batch with inputs made in turn over that with inputs made ahead.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE)]

from edit_eval.judges.qwen3_vl import Qwen3VL  # noqa: E402

BATCHES, ROUNDS = 4, 5


class SleepingJudge(Qwen3VL):
    """The judge without its network."""

    @dataclass
    class Parameters(Qwen3VL.Parameters):
        """`seconds` that a batch takes on the device."""

        __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

        seconds: float = 1.0

    def load(self, devices: Sequence[str], offload: str = "none") -> None:
        """Loads only the processor."""
        from edit_eval.judges.judge_table import family_of_type
        from edit_eval.judges.processing import judge_processor, keep_levels
        from edit_eval.pretrained import folders

        assert isinstance(self.parameters, SleepingJudge.Parameters)
        self._seconds = self.parameters.seconds
        location = folders.locate(self.parameters.model_name, None, "config.json", "a transformers model")
        self._family = family_of_type(str(location.index["model_type"]))
        self._processor = judge_processor(location, self._family, self.parameters)
        keep_levels(self._processor)

    def judge(self, requests: Sequence[Any], inputs: Any = None) -> list[str]:
        """Waits as if for a device."""
        assert len(inputs["input_ids"]) == len(requests)
        time.sleep(self._seconds)
        return ["7.500"] * len(requests)


class JudgeInTurn(SleepingJudge):
    """The same judge without making inputs ahead."""

    make_inputs_in_turn = Qwen3VL.make_inputs
    make_inputs = None  # type: ignore[assignment]

    def judge(self, requests: Sequence[Any], inputs: Any = None) -> list[str]:
        """Makes its inputs, then waits."""
        return super().judge(requests, self.make_inputs_in_turn(requests))


def seconds_a_batch(compute: float, rows: int, side: int, scratch: Path) -> tuple[float, float]:
    """Returns the seconds per batch with inputs made in turn, and made ahead.

    The two alternate, so that other load affects both; medians over the rounds.
    """
    from gpu_architectures import architecture
    from gpu_models import write_folders
    from gpu_tasks import Tasks
    from gpu_worker import worker

    made = architecture("tiny")
    made["judge"]["pixels"] = architecture("full")["judge"]["pixels"]  # full-size pictures
    _, judge = write_folders(scratch / "models", made)
    tasks = Tasks(scratch, side)
    parameters, path = {"model_name": str(judge), "seconds": compute}, Path(__file__).resolve()
    with ExitStack() as alive:
        ways = [
            alive.enter_context(
                worker(f"{path}:{name}", parameters, "cpu", scratch / f"{name}.log", time.monotonic() + 600)
            )
            for name in ("JudgeInTurn", "SleepingJudge")
        ]
        for way in ways:
            way.load()
            way.run([tasks.batch(rows, "warm-up")])
        taken: tuple[list[float], list[float]] = ([], [])
        for _ in range(ROUNDS):
            for way, seconds in zip(ways, taken, strict=True):
                begin = time.monotonic()
                way.run([tasks.batch(rows, f"batch-{number}") for number in range(BATCHES)])
                seconds.append((time.monotonic() - begin) / BATCHES)
    return statistics.median(taken[0]), statistics.median(taken[1])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compute", type=float, default=0.5, help="seconds that a batch takes on the device")
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--side", type=int, default=1024, help="pixels of a side of the pictures")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="edit-eval-ahead-") as name:
        in_turn, ahead = seconds_a_batch(given.compute, given.rows, given.side, Path(name))
    figures = {"in_turn": in_turn, "ahead": ahead, "speedup": in_turn / ahead}
    rounded = {key: round(value, 3) for key, value in figures.items()}
    print(json.dumps({"figures": rounded}) if given.json else "\n".join(f"{k}: {v}" for k, v in rounded.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
