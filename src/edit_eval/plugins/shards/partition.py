"""Shards: independent engines on one run directory. Finds out which shard this is, and which samples it has."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from filelock import FileLock, Timeout

from edit_eval.errors import ConfigurationError
from edit_eval.execution.doors import Partition
from edit_eval.experiment import Experiment
from edit_eval.scheduling.batches import cut_batches
from edit_eval.store.run_directory import SHARDS, Shard, shards_known
from edit_eval.store.subjects.controls import Controls
from edit_eval.text import Text

ASK_EVERY = 0.2  # seconds, for a turn to load


@dataclass(frozen=True)
class Launcher:
    """The variables by which a launcher tells a process which of how many it is."""

    number: str
    """Variable with the process's number."""
    count: str
    """Variable with the number of processes."""
    first: str = ""
    """Variable with the lowest number, if that need not be 0."""
    last: str = ""
    """Variable with the highest number, likewise."""
    step: str = ""
    """Variable with the distance between two numbers."""


LAUNCHERS = (
    # https://slurm.schedmd.com/job_array.html
    Launcher(*(f"SLURM_ARRAY_TASK_{name}" for name in ("ID", "COUNT", "MIN", "MAX", "STEP"))),
    # https://slurm.schedmd.com/srun.html, output environment variables
    Launcher("SLURM_PROCID", "SLURM_NTASKS"),
    # https://docs.skypilot.co/en/latest/running-jobs/environment-variables.html
    Launcher("SKYPILOT_NODE_RANK", "SKYPILOT_NUM_NODES"),
    # https://kubernetes.io/docs/tasks/job/indexed-parallel-processing-static; the count is set in the job's file
    Launcher("JOB_COMPLETION_INDEX", "JOB_COMPLETIONS"),
    # https://docs.pytorch.org/docs/stable/elastic/run.html, environment variables
    Launcher("RANK", "WORLD_SIZE"),
)
"""In the order in which they are looked for: with one launcher inside another, the outer comes first."""


class Shards(Partition):
    """Parts of a run, numbered by hand or by a launcher; each engine has one."""

    def read(self, text: str, environment: Mapping[str, str], run: Path | None = None) -> Shard:
        """See `read_shard`."""
        return read_shard(text, environment, run)

    def divide(
        self, experiment: Experiment, batch_sizes: Sequence[int], categories: Sequence[str], count: int
    ) -> list[int]:
        """See `shards_of`."""
        return shards_of(experiment, batch_sizes, categories, count)

    def take_turn(
        self, run: Path, at_once: int, note: Callable[[str], None], interruption: Callable[[], str]
    ) -> contextlib.AbstractContextManager[Callable[[], None]]:
        """See `turn_to_load`."""
        return turn_to_load(run, at_once, note, interruption)


def read_shard(text: str, environment: Mapping[str, str], run: Path | None = None) -> Shard:
    """Reads `--shard`: `2/8`, `auto`, or `auto/8` if the launcher does not tell how many there are.

    A part of an array that is submitted again (`--array=3` of 0-15) looks like a small array of its own. So an array is
    whole if its numbers go from 0 or 1 without a gap, or if it has as many tasks as `auto/16` says, or as many as
    there are shards that have entered the `run`. If it has fewer, it is a part: each of its tasks is the shard that had
    its number before, or follows from how the others were numbered; if none has entered yet, numbers count from 0.
    Raises `ConfigurationError`, also if that cannot be determined.
    """
    if match := re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", text):
        return _check_shard(Shard(int(match[1]), int(match[2])), f"--shard {text}")
    match = re.fullmatch(r"auto(?:/([0-9]{1,4}))?", text)
    if not match:
        raise ConfigurationError(Text("--shard {}: write 2/8 for the second of eight, or auto", text))
    launcher = next((launcher for launcher in LAUNCHERS if environment.get(launcher.number, "").isdigit()), None)
    if launcher is None:
        known = ", ".join(launcher.number for launcher in LAUNCHERS)
        raise ConfigurationError(Text("--shard {}: none of {} is set; write 2/8 for the second of eight", text, known))
    tasks_said = environment.get(launcher.count, "")
    if not (match[1] or tasks_said).isdigit():
        raise ConfigurationError(
            Text(
                "--shard auto: {} is set and {} is not; set it, or write auto/N for N shards",
                launcher.number,
                launcher.count,
            )
        )
    tasks = int(tasks_said) if tasks_said.isdigit() else int(match[1])

    def value(name: str, default: int) -> int:
        return int(environment[name]) if environment.get(name, "").isdigit() else default

    number, first, step = value(launcher.number, 0), value(launcher.first, 0), max(value(launcher.step, 1), 1)
    said, launched = f"--shard {text} ({launcher.number}={number})", f"{launcher.number}={number}"
    entered = shards_known(run / SHARDS) if run is not None and launcher.first else []
    count = int(match[1]) if match[1] else max((shard.count for shard in entered), default=0)
    if launcher.first and tasks < count:
        return _pick_shard(Shard(number + 1, count, launched), entered, tasks, said)
    if launcher.first:
        last = value(launcher.last, first + (tasks - 1) * step)
        if tasks != count and (first > 1 or last != first + tasks - 1):
            raise ConfigurationError(
                Text(
                    "{}: this array has {} tasks of {} to {}, which may be a part of a larger one: "
                    "for a part of 0-15 write --shard auto/16, for an array that is whole --shard auto/{}",
                    said,
                    tasks,
                    first,
                    last,
                    tasks,
                )
            )
        if last != first + (tasks - 1) * step:
            raise ConfigurationError(
                Text(
                    "{}: this array has {} tasks of {} to {} with gaps: write --shard I/{}",
                    said,
                    tasks,
                    first,
                    last,
                    tasks,
                )
            )
    return _check_shard(Shard((number - first) // step + 1, int(match[1] or tasks), launched), said)


def _pick_shard(counted: Shard, entered: Sequence[Shard], tasks: int, said: str) -> Shard:
    """Returns the shard of a task when there are fewer `tasks` than shards; `counted` has numbers counted from 0."""
    others = [shard for shard in entered if shard.count == counted.count]
    for other in others:
        if other.launched == counted.launched:
            return replace(other, experiment="")
    name, _, number = counted.launched.partition("=")
    begin = {
        int(was) - other.number
        for other in others
        for of, _, was in [other.launched.partition("=")]
        if of == name and was
    }
    if len(begin) > 1 or (others and not begin):
        raise ConfigurationError(
            Text(
                "{}: this array has {} of {} tasks, and which shard number {} is cannot be told: "
                "write --shard I/{}, or --shard auto/{} to share all samples among {}",
                said,
                tasks,
                counted.count,
                number,
                counted.count,
                tasks,
                tasks,
            )
        )
    if begin:
        return _check_shard(replace(counted, number=int(number) - begin.pop()), said)
    return _check_shard(counted, Text("{}, which counts from 0", said))


def _check_shard(shard: Shard, said: str) -> Shard:
    if not 1 <= shard.number <= shard.count:
        raise ConfigurationError(
            Text("{}: there is no shard {} of {}; shards count from 1", said, shard.number, shard.count)
        )
    return shard


def shards_of(experiment: Experiment, batch_sizes: Sequence[int], categories: Sequence[str], count: int) -> list[int]:
    """Returns the shard, from 1, of each sample of an experiment, by its position.

    Groups stay together: the members of a batch of any judge (cut from the `categories` of the whole benchmark, as a
    run cuts them), samples that follow each other, and the controls. In the benchmark's order, each group goes to the
    shard with the fewest samples, so every engine of the run arrives at the same shards.
    """
    leader = list(range(len(experiment.samples)))

    def find(position: int) -> int:
        while leader[position] != position:
            leader[position] = leader[leader[position]]
            position = leader[position]
        return position

    def join(position: int, other: int) -> None:
        first, second = sorted((find(position), find(other)))
        leader[second] = first

    for size in set(batch_sizes):
        batches, seen = cut_batches(categories, size), dict[int, int]()
        for position, sample in enumerate(experiment.samples):
            join(position, seen.setdefault(batches[sample.index], position))
    for position, before in experiment.predecessors.items():
        join(position, before)
    for control in (controls := [*Controls().unfold(experiment)]):
        join(control.sample, controls[0].sample)
        if control.other is not None:
            join(control.sample, control.other)
    groups: dict[int, list[int]] = {}
    for position in range(len(leader)):
        groups.setdefault(find(position), []).append(position)
    shards, load = [0] * len(leader), [0] * count
    for members in groups.values():
        lightest = load.index(min(load))
        load[lightest] += len(members)
        for position in members:
            shards[position] = lightest + 1
    return shards


@contextlib.contextmanager
def turn_to_load(
    run: Path, at_once: int, note: Callable[[str], None], interruption: Callable[[], str]
) -> Iterator[Callable[[], None]]:
    """Waits until fewer than `at_once` other shards of the run are loading; yields a function that ends the turn.

    An interrupted run (`interruption`) does not wait.
    """
    turns = [FileLock(run / SHARDS / f"loading-{number}.lock") for number in range(at_once)]
    noted = False
    while (mine := next(filter(_try_lock, turns), None)) is None and not interruption():
        if not noted:
            note(Text("waiting for a turn to load: {} shards load at once (execution.load_concurrency)", at_once))
            noted = True
        time.sleep(ASK_EVERY)
    try:
        yield (lambda: None) if mine is None else mine.release
    finally:
        if mine is not None:
            mine.release()


def _try_lock(lock: FileLock) -> bool:
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return False
    return True
