"""A draw carried out the way that it says: at once, interrupted, in shards, tried again, reused, extended.

In this process (`in_place`), or as a user does, with commands and workers that are processes (`with_workers`).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from combinations import planted
from combinations.drawing import CAPPED, PRICE, Draw, configuration, judges, legal, paid_requests, written
from combinations.in_place import Ended, command, interrupted, killed, without_processes
from combinations.oracle import Expected

CarryOut = Callable[[Draw, Path], Ended]
"""Carries out a draw in a folder, and says what its last start came to."""

STOPPED = 4
TASKS = 12
"""A start that is disturbed is so before one of its first tasks."""


class Start(NamedTuple):
    """A command of a draw, and what becomes of it."""

    words: tuple[str | Path, ...]
    disturbed: str = ""
    """`kill` or `interrupt`, before the task with the number `after`; `unless it ended`: only if the one before was
    stopped."""
    after: int = 0
    beside: bool = False
    """Whether the next one is begun at the same time, where commands are processes."""
    capped: bool = False
    """Whether it may not spend more than `capped` requests cost."""


def prepared(draw: Draw, folder: Path) -> Path:
    """Writes all files of a draw; the path of its configuration."""
    path = written(draw, folder)
    if draw["recorded"]:
        (folder / "recorded.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in recorded(draw)), "utf-8")
    return path


def recorded(draw: Draw) -> Iterator[dict[str, object]]:
    """The replies that were given elsewhere. Those that are planted as a judge's error are not there."""
    want, bad = Expected(draw), judges(draw)["recorded"]
    for column in want.columns:
        for sample in want.rows:
            for seed in want.seeds:
                for repeat in want.repeats:
                    for reading in want.readings:
                        status, score = planted.recorded(draw["salt"], column, sample, seed, repeat, reading, bad)
                        if status != "judge_error":
                            address = {"sample": sample, "edit_model": column, "question": "score", "repeat": repeat}
                            said = {"text": "cannot", "ended": status} if status != "ok" else {"text": f"{score:.3f}"}
                            yield {**address, "edit_seed": seed, "reading": reading, **said}


def smaller(draw: Draw) -> Draw:
    """The evaluation that another one extends: a model less, and fewer judges; itself where that would need another."""
    fewer = {"models": max(1, draw["models"] - 1)}
    for less in ({"second": 0, "third": 0, **fewer}, fewer):
        if judges(reduced := legal({**draw, **less})).items() <= judges(draw).items():
            return reduced
    return draw


def starts(draw: Draw, folder: Path) -> Iterator[Start]:
    """The commands of a draw in turn; the last one ends it."""
    path, run, way = prepared(draw, folder), folder / "run", draw["way"]
    words: tuple[str | Path, ...] = ("run", path, "--run-dir", run)
    if draw["capped"]:
        words += ("--set", f"execution.max_cost={draw['capped'] * PRICE + PRICE / 2:.2f}")
    if way in ("kill", "interrupt"):
        yield Start(words, way, int(TASKS * planted.share(draw["salt"], "when")))
    elif way in ("reuse", "added"):
        before = folder / "smaller.yaml"
        before.write_text(json.dumps(configuration(smaller(draw), folder)), "utf-8")
        yield Start(("run", before, "--run-dir", run if way == "added" else folder / "earlier"))
        words += ("--reuse", folder / "earlier") if way == "reuse" else ()
    elif way == "shards":
        yield Start((*words, "--shard", "1/2"), beside=True)
        yield Start((*words, "--shard", "2/2"))
    elif way == "retry":
        (folder / "storm").touch()
        yield Start(words)
        (folder / "storm").unlink()
        words += ("--retry", "edit_failed")
    elif way == "damage":
        yield Start(words)
        for picture in sorted((run / "images").rglob("*.png"))[:: 1 + draw["salt"] % 3]:
            picture.write_bytes(picture.read_bytes()[:-20])
    yield Start(words, capped=bool(draw["capped"]))
    if draw["capped"]:
        words = words[: words.index("--set")] + words[words.index("--set") + 2 :]
        yield Start(words, "unless it ended")
    if draw["pilot"]:  # which may have ended with nothing but planted failures
        yield Start((*words, "--set", "execution.pilot=false"), "unless it ended")


def in_place(draw: Draw, folder: Path) -> Ended:
    """Carries out a draw without processes."""
    ended = Ended(0, "", "")
    for start in starts(draw, folder):
        if start.disturbed == "kill":
            killed(start.after, *start.words)
            continue
        if start.disturbed == "unless it ended" and ended.code != STOPPED:
            continue
        disturb = [interrupted(start.after)] if start.disturbed == "interrupt" else []
        with without_processes(*disturb, page=bool(draw["page"])):
            ended = command(*start.words)
        if start.capped:
            noted(folder, ended)
    return ended


def noted(folder: Path, ended: Ended) -> None:
    """Writes down what a start came to that might not spend more."""
    (folder / CAPPED).write_text(json.dumps({"code": ended.code, "requests": paid_requests(folder)}))


def with_workers(draw: Draw, folder: Path) -> Ended:
    """Carries out a draw with commands and workers that are processes."""
    ended, running = Ended(0, "", ""), list[subprocess.Popen[bytes]]()
    for start in starts(draw, folder):
        if start.disturbed == "unless it ended" and ended.code != STOPPED:
            continue
        program = [sys.executable, "-m", "edit_eval", *map(str, start.words)]
        environment = {**os.environ, "EDIT_EVAL_LANG": "en"}
        with (folder / "out").open("w+") as out, (folder / "err").open("w+") as err:
            process = subprocess.Popen(program, stdout=out, stderr=err, env=environment, start_new_session=True)
            running.append(process)
            if start.beside:
                continue
            if start.disturbed in ("kill", "interrupt"):
                _when_asked(start.after, folder / "asked.jsonl", process)
                process.send_signal(signal.SIGKILL if start.disturbed == "kill" else signal.SIGINT)
            while running:
                running.pop().wait()
            ended = Ended(process.returncode, (folder / "out").read_text("utf-8"), (folder / "err").read_text("utf-8"))
        if start.capped:
            noted(folder, ended)
    return ended


def _when_asked(after: int, log: Path, process: subprocess.Popen[bytes]) -> None:
    """Waits until the models were asked so often, or the process has ended."""
    while process.poll() is None and len(log.read_bytes().splitlines()) <= after:
        time.sleep(0.01)
