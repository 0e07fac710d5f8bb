"""Measures the gain from reading and scaling a judge's next batch while the GPU computes; needs no GPU.

    python bench/gpu_judge_ahead.py [--compute SECONDS] [--rows N] [--json]

Two evaluations of the same pictures, by a judge with the adapter's own processor: the network is a sleep, which leaves
the CPU free as a GPU does. `speedup` is the time per batch with inputs made in turn over that with inputs made ahead.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE)]

from edit_eval.plugins.local_judges.in_worker.qwen3_vl import Qwen3VL  # noqa: E402

BATCHES, ROUNDS = 4, 5
JUDGE = "Qwen/Qwen3-VL-30B-A3B-Instruct"


class SleepingJudge(Qwen3VL):
    """The judge without its network."""

    @dataclass
    class Parameters(Qwen3VL.Parameters):
        """`seconds` that a batch takes on the device."""

        __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

        seconds: float = 1.0

    def load(self, devices: Sequence[str], offload: str = "none") -> None:
        """Loads only the processor."""
        from edit_eval.plugins.local_judges.in_worker.judge_table import family_of_type
        from edit_eval.plugins.local_judges.in_worker.processing import judge_processor, keep_levels
        from edit_eval.pretrained import folders

        assert isinstance(self.parameters, SleepingJudge.Parameters)
        self._seconds = self.parameters.seconds
        name = self.parameters.model_name
        location = folders.locate(name, None, "config.json", "a transformers model")
        self._family = family_of_type(str(location.index["model_type"]))
        self._processor = judge_processor(name, location, self._family, {}, self.parameters.image_settings)
        keep_levels(self._processor)

    def judge(self, requests: Sequence[Any], inputs: Any = None) -> list[str]:
        """Waits as if for a device."""
        assert len(inputs["input_ids"]) == len(requests)
        time.sleep(self._seconds)
        return ["7.500"] * len(requests)


class JudgeInTurn(SleepingJudge):
    """The same judge without making inputs ahead."""

    make_inputs_in_turn = Qwen3VL.make_inputs
    make_inputs = None

    def judge(self, requests: Sequence[Any], inputs: Any = None) -> list[str]:
        """Makes its inputs, then waits."""
        return super().judge(requests, self.make_inputs_in_turn(requests))


def seconds_a_batch(way: type[SleepingJudge], judge: Path, table: Path, given: argparse.Namespace, run: Path) -> float:
    """Returns the seconds from the end of one batch to the end of the next, as the run has recorded them."""
    from edit_eval.run import Run, evaluate

    configuration = {
        "benchmark": str(table),
        "diffusion_model": {"type": "copy_source", "params": {"device": "cpu"}},
        "protocol": {"answer": "score"},
        "reward_model": {
            "class_path": f"{Path(__file__).resolve()}:{way.__name__}",
            "params": {"device": "cpu", "model_name": str(judge), "batch_size": given.rows, "seconds": given.compute},
        },
        "evaluation": {"controls": 0},
        "execution": {"schedule": "batch_sync"},  # no edit is made while it judges
    }
    evaluate(configuration, run_dir=run, report=False)
    ends = sorted(activity.end for activity in Run(run).results.telemetry.activities if activity.kind == "judging")
    return statistics.median(
        after - before for before, after in zip(ends[-BATCHES - 1 :], ends[-BATCHES:], strict=False)
    )


def measured(given: argparse.Namespace, scratch: Path) -> tuple[float, float]:
    """Returns the seconds per batch with inputs made in turn, and made ahead.

    The two alternate, so that other load affects both; medians over the rounds.
    """
    from edit_eval.plugins.rehearse.in_worker.stand_in import write_configurations
    from edit_eval.plugins.rehearse.stand_ins import CONFIGURATIONS
    from gpu import write_pictures

    write_configurations(scratch / "judge", CONFIGURATIONS[JUDGE], ["Rate the edit of this picture, from 0 to 10."])
    table = write_pictures(scratch, 2 + (BATCHES + 1) * given.rows, given.side)  # the first two are judged alone
    taken: tuple[list[float], list[float]] = ([], [])
    for number in range(ROUNDS):
        for way, seconds in zip((JudgeInTurn, SleepingJudge), taken, strict=True):
            run = scratch / f"{way.__name__}-{number}"
            seconds.append(seconds_a_batch(way, scratch / "judge", table, given, run))
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
        in_turn, ahead = measured(given, Path(name))
    figures = {"in_turn": in_turn, "ahead": ahead, "speedup": in_turn / ahead}
    rounded = {key: round(value, 3) for key, value in figures.items()}
    print(json.dumps({"figures": rounded}) if given.json else "\n".join(f"{k}: {v}" for k, v in rounded.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
