"""Command lines that are carried out in this process, and a driver whose workers are: an evaluation without processes.

Engine, scheduler, store, report and verbs are the real ones. Only a worker is not a process but an object, which does a
task when it is given one.
"""

from __future__ import annotations

import contextlib
import functools
import io
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import typer.main

from edit_eval import cli, evaluation
from edit_eval.execution.contract import Event, Gpu, Machine, WorkerSpecification
from edit_eval.judges.contract import DeferredQuestion
from edit_eval.pictures import check_edit, own_copy, write_png
from edit_eval.plugins.endpoints.in_worker import client
from edit_eval.reporting import render_subprocess
from edit_eval.reporting import report as files
from edit_eval.run import Run
from edit_eval.statistics import intervals
from edit_eval.verbs import command_line
from edit_eval.workers.failures import kind_of, one_line
from edit_eval.workers.messages import Message
from edit_eval.workers.model_class import _ExactLoader, find_class, make_parameters
from edit_eval.workers.process import as_results
from edit_eval.workers.requests import open_edit_request, open_judge_requests, with_own_pictures

Disturb = Callable[[int], None]
"""Called before each task, with the number of tasks that were begun before."""


class Processors(Machine):
    """A machine without GPUs."""

    def gpus(self) -> Sequence[Gpu]:
        return ()


@dataclass
class Worker:
    """A model, and what it was given to do."""

    specification: WorkerSpecification
    model: Any = None
    orders: deque[Message] = field(default_factory=deque)


class InPlace:
    """A driver whose workers take turns in this process, an order each; its clock counts what happened."""

    def __init__(self, disturb: Disturb = lambda begun: None, machine: Machine | None = None) -> None:
        self._disturb, self._begun, self._now = disturb, 0, 0.0
        self._machine = machine or Processors()
        self._workers: dict[int, Worker] = {}
        self._events: list[Event] = []
        self._noted: defaultdict[tuple[int, int], threading.Event] = defaultdict(threading.Event)

    def machine(self) -> Machine:
        return self._machine

    def start(self, worker: int, specification: WorkerSpecification) -> None:
        self._workers[worker] = Worker(specification)
        self.submit(worker, {"do": "prepare"})

    def submit(self, worker: int, message: Message) -> None:
        if worker in self._workers:
            self._workers[worker].orders.append(message)

    def poll(self, seconds: float) -> tuple[float, Sequence[Event]]:
        """Has each worker carry out an order."""
        for number, worker in list(self._workers.items()):
            if worker.orders:
                self._carry_out(number, worker, worker.orders.popleft())
            getattr(worker.model, "look", lambda: None)()
        events, self._events = self._events, []
        self._now += 0.01 if events else seconds
        return self._now, events

    def kill(self, worker: int) -> None:
        self._died(worker, "killed")

    def close(self) -> None:
        for number in list(self._workers):
            self._died(number, "closed")

    def _say(self, number: int, event: str, **more: Any) -> None:
        self._events.append(Event(number, {"event": event, **more}))

    def _died(self, number: int, reason: str) -> None:
        if worker := self._workers.pop(number, None):
            getattr(worker.model, "close", lambda: None)()
            self._say(number, "died", reason=reason)

    def _carry_out(self, number: int, worker: Worker, order: Message) -> None:
        told = worker.specification
        if order["do"] == "prepare":
            model_class = find_class(told.class_path, list(told.import_path))
            worker.model = model_class(make_parameters(model_class, dict(told.parameters)))
            worker.model.paced = True
            self._say(number, "prepared")
        elif order["do"] == "load":
            worker.model.load([])
            self._say(number, "loaded", capacity=1, seconds=0.0, about={}, memory={})
        elif order["do"] == "run":
            self._disturb(self._begun)
            self._begun += 1
            self._run(number, worker.model, order)
        elif order["do"] == "noted":
            self._noted[number, order["task"]].set()
        else:
            self._say(number, "ended", memory={})
            self._died(number, "ended")

    def _run(self, number: int, model: Any, order: Message) -> None:
        task = order["task"]
        self._say(number, "started", task=task)
        if order.get("deferred"):
            opened = open_judge_requests(order["requests"])[0]
            if not isinstance(opened, str):
                return model.defer(self._deferred(number, task, opened, order.get("submitted")))
        try:
            results = _edited(model, order) if order["kind"] == "edit" else _judged(model, order)
        except Exception as error:
            trace = "".join(traceback.format_exception(error))
            why = {"error": one_line(error), "trace": trace, "kind": kind_of(error)}
            self._say(number, "failed", task=task, **why, **_charged(model), memory={})
        else:
            self._say(number, "done", task=task, results=results, seconds=0.01, **_charged(model), memory={})

    def _deferred(self, number: int, task: int, request: Any, submitted: Any) -> DeferredQuestion:
        def note(bought: Any) -> threading.Event:
            self._say(number, "submitted", task=task, **bought)
            return self._noted[number, task]

        def answer(reply: Any, lost: int) -> None:
            if isinstance(reply, BaseException):
                why = {"error": one_line(reply), "trace": "", "kind": kind_of(reply)}
                self._say(number, "failed", task=task, **why, memory={})
            else:
                self._say(number, "done", task=task, results=as_results([reply], 1), seconds=0.0, memory={})

        told = {"note": note, "answer": answer, "on_step": lambda step, steps: None}
        return DeferredQuestion(request=request, submitted=submitted, **told)


def _charged(model: Any) -> Message:
    charged = getattr(model, "collect_costs", dict)()
    return {"charged": charged} if charged else {}


def _edited(model: Any, order: Message) -> list[Message]:
    request = open_edit_request(order)
    made = own_copy(model.edit(with_own_pictures(request), lambda step, steps: None))
    flags, file = check_edit(made, request.source), write_png(made, order["output"])
    size = {"width": file.width, "height": file.height, "file_bytes": file.bytes}
    return [{"pixels": file.pixels, **size, "flags": list(flags)}]


def _judged(model: Any, order: Message) -> list[Message]:
    opened = open_judge_requests(order["requests"])
    there = [request for request in opened if not isinstance(request, str)]
    said = iter(as_results(model.judge([with_own_pictures(request) for request in there]), len(there)))
    return [{"damaged": request} if isinstance(request, str) else next(said) for request in opened]


# -- commands --


class Ended(NamedTuple):
    """What a command came to."""

    code: int
    out: str
    err: str


@functools.cache
def compiled(data: bytes, path: str) -> Any:
    return compile(data, path, "exec", dont_inherit=True)


COMPILED = staticmethod(compiled)
"""A model's class is imported for each of its workers, from the same source."""


@contextlib.contextmanager
def without_processes(
    disturb: Disturb = lambda begun: None, *, page: bool = False, driver: InPlace | None = None
) -> Iterator[None]:
    """Within its block runs have workers in this process, and draw their reports there: with the page, which takes
    longer than all else, or without."""

    pages = contextlib.nullcontext() if page else mock.patch.object(files, "page_display", return_value=None)
    with (
        mock.patch.object(evaluation, "driver_of", return_value=driver or InPlace(disturb)),
        mock.patch.object(render_subprocess, "_can_fork", return_value=True),
        mock.patch.object(render_subprocess, "_run_fork", lambda draw: (draw(), "")),
        pages,
        mock.patch.object(_ExactLoader, "source_to_code", COMPILED),
        mock.patch.object(client, "FIRST_PAUSE", 0.001),
    ):
        yield


@contextlib.contextmanager
def opened_once() -> Iterator[None]:
    """Within its block all who open a run share what was read of it: for readers of a run that nobody changes."""
    read, begin = dict[Path, dict[str, Any]](), Run.__init__

    def share(self: Run, path: str | Path, *more: Any) -> None:
        begin(self, path, *more)
        object.__setattr__(self, "__dict__", read.setdefault(self.path, vars(self)))

    with mock.patch.object(Run, "__init__", share):
        yield


FEW = 40


@contextlib.contextmanager
def drawn_seldom() -> Iterator[None]:
    """Within its block intervals without a formula are of few draws, where half of a small run's time goes."""
    draws = intervals.cluster_draws

    def seldom(clusters: Any, resamples: int = FEW, *, seed: int = 0) -> Any:
        return draws(clusters, min(FEW, resamples), seed=seed)

    with mock.patch.object(intervals, "cluster_draws", seldom):
        yield


PARSED = functools.cache(typer.main.get_command)
"""The parser of a command line: the same for each, and dear."""


def command(*words: str | Path, language: str = "en") -> Ended:
    """Carries out `edit-eval WORDS` in this process. What it should not raise is a traceback in `err`."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with (
        mock.patch.object(sys, "argv", ["edit-eval", *map(str, words)]),
        mock.patch.object(typer.main, "get_command", PARSED),
        mock.patch.object(command_line, "translate_help", return_value=None),  # it is put on a parser once
        mock.patch.dict(os.environ, {"EDIT_EVAL_LANG": language}),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            cli.main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            traceback.print_exc()
            code = 70
    return Ended(code, out.getvalue(), err.getvalue())


def interrupted(after: int) -> Disturb:
    """Presses Ctrl-C before the task with that number."""
    return lambda begun: signal.raise_signal(signal.SIGINT) if begun == after else None


FORKS = multiprocessing.get_context("forkserver")
"""A process that has imported all this and has no threads, which would not survive a fork."""
FORKS.set_forkserver_preload([__name__])


def killed(after: int, *words: str | Path) -> int:
    """Carries out a command in a process of its own, which is killed (`kill -9`) before that task; how it ended."""
    child = FORKS.Process(target=_until_killed, args=(after, list(map(str, words)), dict(os.environ)))
    child.start()
    child.join()
    assert child.exitcode is not None
    return child.exitcode


def _until_killed(after: int, words: list[str], environment: dict[str, str]) -> None:
    def kill(begun: int) -> None:
        if begun == after:
            os.kill(os.getpid(), signal.SIGKILL)

    os.environ.update(environment)
    with without_processes(kill):
        os._exit(command(*words).code)
