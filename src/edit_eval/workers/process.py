"""A worker: one operating-system process that holds one loaded model and does one task after the other.

The interpreter of the model's environment starts it with two pipes and nothing else of ours but the layers from
`workers` down. While the device computes, one thread opens the next task's pictures and makes a judge's inputs of
them, and another encodes, writes and syncs the last result; pictures never travel through the pipe. The worker ends
when its pipe does; see also `bind_to_engine`.

Tasks are described in `edit_eval.workers.requests`. Their results:

of a task to edit    one result: `pixels`, `width`, `height`, `file_bytes`, `flags`
of a task to judge   one result a request, in order: `text` (with `values`, `normalised`, `ended`, `final` and
                     `length` as in `as_results`, and `halved_to` if the batch did not fit into
                     memory), or `damaged` (an edit's file is no longer what it was)
"""

from __future__ import annotations

import contextlib
import ctypes
import inspect
import io
import math
import os
import queue
import re
import signal
import sys
import threading
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from numbers import Real
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from edit_eval.errors import ModelError, RequestError
from edit_eval.judges.contract import AnswerForm, DeferredQuestion
from edit_eval.pictures import OWN_SIZE, check_edit, formats, own_copy, write_png
from edit_eval.pretrained.folders import find_downloads
from edit_eval.privacy import secrets_of
from edit_eval.records import Reply, Status
from edit_eval.small_copies import CopyLimits, keep_small_copy
from edit_eval.workers.failures import describe_missing_import, kind_of, one_line
from edit_eval.workers.messages import Message, MessageStream, encode, write_all
from edit_eval.workers.model_class import find_class, make_parameters, refuse_changed
from edit_eval.workers.requests import open_edit_request, open_judge_requests, with_own_pictures

if TYPE_CHECKING:
    from edit_eval.edit_models.contract import EditRequest, OnStep, Submitted
    from edit_eval.judges.contract import JudgeRequest


_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


def bind_to_engine() -> None:
    """Ties this process to the one that started it. Call it first, while there is only one thread.

    A worker whose engine has ended would notice the end of its pipe, but not while its model is deaf in C code, or
    while it is suspended. So Linux is asked to kill it. A killed process cannot clean up, and its children (the readers
    of a data loader, a server) would stay and keep their GPU; so a second process, which does nothing else, waits for
    the worker's end and then kills the rest of its process group.

    SIGINT and SIGTERM are left to the engine from here on: a terminal, Slurm and systemd send them to every process at
    once, and tasks under way should finish. The model's own children handle them as usual.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _leave_sigterm_to_the_engine()
    if os.getpgrp() == os.getpid():  # its group is its own, not a shell's
        _start_watchdog()
    _when_the_parent_dies(signal.SIGKILL)


def _leave_sigterm_to_the_engine() -> None:
    """Makes SIGTERM do nothing here. If it were ignored, so would it be in every program that the model starts."""

    def nothing(number: int, frame: FrameType | None) -> None: ...

    def as_ever() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        unblock_sigterm()

    def unblock_sigterm() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})

    def hold_back() -> None:  # a signal sent to a fork before it is set up would be lost
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

    signal.signal(signal.SIGTERM, nothing)
    os.register_at_fork(before=hold_back, after_in_parent=unblock_sigterm, after_in_child=as_ever)


def _when_the_parent_dies(number: int) -> bool:
    """Asks Linux to send this process a signal when its parent dies. True if it will."""
    try:
        return bool(ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number) == 0)
    except (OSError, AttributeError):
        return False  # not Linux: the end of the pipe must do


def _start_watchdog() -> None:
    """Starts the process that waits for the end of this one and then kills its group, itself included."""
    worker = os.getpid()
    if os.fork():
        return
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        os.closerange(0, 1024)  # it keeps no pipe and no log open
        if _when_the_parent_dies(signal.SIGTERM):
            while os.getppid() == worker:
                signal.sigwait({signal.SIGTERM})
            os.killpg(worker, signal.SIGKILL)
    finally:
        os._exit(0)


LONGEST_REPLY = 500_000
"""Characters; no real answer, with all its thoughts, is longer, but a model that does not stop may be."""
KEPT = 10_000
"""Characters kept from the beginning of a longer one: enough to see what went wrong."""
MOST_VALUES = 1000
LONGEST_NAME = 200  # characters of a value's name


def as_results(replies: Any, count: int) -> list[Message]:
    """Returns one result a reply, in order: `text`, and those other fields of a `Reply` that a judge has filled.

    If only the beginning is kept, `length` is the whole text's. Raises `ModelError` if `replies` are not `count` texts
    or `Reply`s, or have values that are no finite numbers.
    """
    if not isinstance(replies, (list, tuple)):  # a text is a sequence, too: of characters that may be digits
        raise ModelError(f"the judge returned {type(replies).__name__}, not a list with one text per request")
    if len(replies) != count:
        raise ModelError(f"the judge gave {len(replies)} answers to {count} requests")
    return [_result(reply) for reply in replies]


def _result(said: object) -> Message:
    reply = said if isinstance(said, Reply) else Reply(text=said)  # type: ignore[arg-type]
    text = reply.text
    if not isinstance(text, str):
        raise ModelError(f"an answer of the judge is {type(text).__name__}, not text")
    if len(text) > LONGEST_REPLY:
        return {"text": text[:KEPT], "ended": str(Status.CUT_OFF), "length": len(text)}
    result: Message = {"text": text}
    if reply.values:
        result["values"] = _values(reply.values)
        if reply.normalised:
            result["normalised"] = True
    if reply.ended is not Status.OK:
        result["ended"] = str(reply.ended)
    if any(reply.tokens):
        result["tokens"] = list(reply.tokens)
    return {**result, "final": True} if reply.final else result


def _values(values: Mapping[Any, Any]) -> dict[str, float]:
    if not isinstance(values, Mapping):
        raise ModelError(f"the values of an answer of the judge are {type(values).__name__}, not numbers by name")
    if len(values) > MOST_VALUES:
        raise ModelError(f"an answer of the judge has {len(values)} values; at most {MOST_VALUES} are kept")
    return {_name(name): _number(name, value) for name, value in values.items()}


def _name(name: object) -> str:
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
        raise ModelError(
            f"a value of the judge is named {repr(name)[:60]}, not by a text of 1 to {LONGEST_NAME} characters"
        )
    return name


def _number(name: str, value: object) -> float:
    if not isinstance(value, Real) or isinstance(value, bool):
        raise ModelError(f"the judge's value `{name}` is {type(value).__name__}, not a number")
    try:
        number = float(value)
    except OverflowError:  # an integer or a fraction
        number = math.inf
    if not math.isfinite(number):
        raise ModelError(f"the judge's value `{name}` is {number}; leave out undefined values")
    return number


NO_PIPE = -1
_RESIDENT = re.compile(rb"^Vm(RSS|HWM):\s*(\d+) kB$", re.M)
LOOK_AT_DOWNLOADS_EVERY = 5.0  # seconds
STEP_MESSAGES_EVERY = 0.1  # seconds; a fast model's steps would otherwise flood the engine


def main(arguments: list[str]) -> None:
    """Runs a worker on the two pipe descriptors given as `arguments` (in, out)."""
    bind_to_engine()
    for stream in (sys.stdout, sys.stderr):  # the log: each line at once, and no character in it is an error
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True, errors="backslashreplace")
    Worker(int(arguments[0]), int(arguments[1])).run()


def memory() -> dict[str, int]:
    """Returns the bytes that this process holds, now and at most: on the host, and on its devices if torch knows."""
    figures: dict[str, int] = {}
    try:
        with open("/proc/self/status", "rb", buffering=0) as status:
            sizes = dict(_RESIDENT.findall(status.read(1 << 14)))
        figures = {name: int(sizes[key]) * 1024 for name, key in (("host", b"RSS"), ("host_peak", b"HWM"))}
    except (OSError, KeyError):
        pass
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        count = torch.cuda.device_count()
        figures["device"] = sum(torch.cuda.memory_reserved(i) for i in range(count))
        figures["device_peak"] = sum(torch.cuda.max_memory_reserved(i) for i in range(count))
    return figures


def room() -> dict[str, int]:
    """Returns total and free bytes of its devices, if torch knows; empty after a fault that leaves one unusable."""
    try:
        torch = sys.modules["torch"]
        if not torch.cuda.is_initialized():
            return {}
        free, total = map(sum, zip(*map(torch.cuda.mem_get_info, range(torch.cuda.device_count())), strict=True))
        return {"device_total": total, "device_free": free}
    except Exception:
        return {}


class Worker:
    """The worker's loop. `run` returns only by ending the process."""

    def __init__(self, pipe_in: int, pipe_out: int) -> None:
        self._in, self._out = pipe_in, pipe_out
        self._send_lock = threading.Lock()
        self._orders: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._opened: queue.SimpleQueue[tuple[Message, Any] | None] = queue.SimpleQueue()
        self._finished: queue.SimpleQueue[tuple[Message, Any, Any, float] | None] = queue.SimpleQueue()
        self._tasks: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._model: Any = None
        self._capacity = 1
        self._forms: list[AnswerForm] = []
        self._is_loaded = threading.Event()
        self._noted: defaultdict[int, threading.Event] = defaultdict(threading.Event)  # by task: of what it deferred

        os.register_at_fork(after_in_child=self._let_go)

    def _let_go(self) -> None:
        """Runs in a process that the model forks: closes the pipe, so that only the worker speaks through it."""
        held, self._in, self._out = {self._in, self._out} - {NO_PIPE}, NO_PIPE, NO_PIPE
        for descriptor in held:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._send_lock = threading.Lock()  # another thread may have held it

    def send(self, **message: Any) -> None:
        """Sends the engine a message. Without an engine, ends the process."""
        if message["event"] not in ("started", "step", "moving"):  # frequent, and without text
            message = secrets_of(os.environ).hide_in_value(message)
        data = encode(message)
        try:
            with self._send_lock:
                write_all(self._out, data)
        except OSError:
            os._exit(1)

    def run(self) -> None:
        """Prepares, loads, works, then ends the process."""
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._report_downloads, daemon=True).start()
        try:
            self._prepare(self._next_order("prepare"))
            self._load(self._next_order("load"))
            self._is_loaded.set()
        except BaseException as error:
            trace, kind = traceback.format_exc(), kind_of(error)
            figures = {**memory(), **room()} if kind == "out_of_memory" else {}
            self.send(
                event="broken",
                error=one_line(error),
                trace=trace,
                kind=kind,
                memory=figures,
                **describe_missing_import(error),
            )
            _exit(1)
        threading.Thread(target=self._open_pictures, daemon=True).start()
        writer = threading.Thread(target=self._write_results, daemon=True)
        writer.start()
        others = [threading.Thread(target=self._compute, daemon=True) for _ in range(self._capacity - 1)]
        for thread in others:
            thread.start()
        self._compute()
        for thread in others:
            thread.join()
        self._finished.put(None)
        writer.join()
        self._end()

    def _end(self) -> NoReturn:
        with contextlib.suppress(Exception):  # all that it has started is killed anyway
            getattr(self._model, "close", lambda: None)()
        self.send(event="ended", memory=memory())
        _exit(0)

    # -- the pipe --

    def _read(self) -> None:
        lines = MessageStream()
        while True:
            try:
                data = os.read(self._in, 1 << 16)
            except OSError:
                data = b""
            if not data:
                os._exit(0)
            for message in lines.feed(data):
                if message["do"] == "run":
                    self._tasks.put(message)
                elif message["do"] == "noted":
                    self._noted[message["task"]].set()
                elif message["do"] == "stop":
                    self._tasks.put(None)
                    self._orders.put(None)
                else:
                    self._orders.put(message)

    def _next_order(self, expected: str) -> Message:
        order = self._orders.get()
        if order is None:
            self._end()
        assert order["do"] == expected, order
        return order

    # -- the model --

    def _prepare(self, order: Message) -> None:
        model_class = find_class(order["class_path"], order["path"])
        parameters = make_parameters(model_class, order["parameters"])
        refuse_changed(order["revision"], order["class_path"], model_class, parameters)
        self._model = model_class(parameters)
        self._devices = order["devices"]
        self._server = order.get("server", {})
        self._forms = [AnswerForm(form, tuple(labels), schema) for form, labels, schema in order.get("forms", ())]
        if hasattr(self._model, "prepare"):
            self._model.prepare()
        formats()  # these imports would otherwise come with the first picture
        self.send(event="prepared")

    def _load(self, order: Message) -> None:
        begin = time.monotonic()
        taken = inspect.signature(self._model.load).parameters
        more = {"offload": order.get("offload", "none"), "forms": self._forms}
        if "server" in taken:
            from edit_eval.endpoints.serving import ServerEnvironment  # no other model waits for its imports

            class WatchedEnvironment(ServerEnvironment):
                moves = staticmethod(partial(find_downloads, os.environ))

            more["server"] = WatchedEnvironment(**self._server)
        self._model.load(self._devices, **{name: value for name, value in more.items() if name in taken})
        about: dict[str, object] = getattr(self._model, "about", dict)()
        self._capacity = max(1, int(getattr(self._model, "capacity", 1)))
        self.send(
            event="loaded",
            capacity=self._capacity,
            seconds=time.monotonic() - begin,
            about={"python": sys.version.split()[0], **{str(k): str(v) for k, v in about.items()}},
            memory=memory(),
        )

    def _report_downloads(self) -> None:
        """Gives a sign of life while files from the Hub come in, for this process or for one that it waits for."""
        before = find_downloads(os.environ)
        while not self._is_loaded.wait(LOOK_AT_DOWNLOADS_EVERY):
            if (now := find_downloads(os.environ)) != before:
                before = now
                self.send(event="moving")

    # -- the three threads --

    def _open_pictures(self) -> None:
        while (task := self._tasks.get()) is not None:
            try:
                asked: Any = self._open(task)
            except BaseException as error:
                asked = error
            self._opened.put((task, asked))
        self._opened.put(None)

    def _open(self, task: Message) -> Any:
        if task["kind"] == "edit":
            return open_edit_request(task)
        opened = open_judge_requests(task["requests"], decode=not getattr(self._model, "sends_files", False))
        return opened, self._inputs([request for request in opened if not isinstance(request, str)])

    def _inputs(self, requests: list[Any]) -> Any:
        """Returns the inputs that the judge can prepare for a batch; None if it cannot."""
        make_inputs = getattr(self._model, "make_inputs", None)
        # A judge that takes no `inputs` has a method of that name for its own use.
        if make_inputs is None or not requests or "inputs" not in inspect.signature(self._model.judge).parameters:
            return None
        try:
            return make_inputs(requests)
        except Exception:
            return None  # `judge` will raise it again, charged to the task

    def _compute(self) -> None:
        computed: tuple[Message, Any, Any, float] | None = None
        while True:
            # A result is handed to the writing thread once the device is at work again: both need the interpreter.
            if computed is not None and self._opened.empty():
                self._finished.put(computed)
                computed = None
            item = self._opened.get()
            if item is None:
                break
            task, asked = item
            self.send(event="started", task=task["task"])
            begin = time.monotonic()
            if computed is not None:
                self._finished.put(computed)
                computed = None
            try:
                if isinstance(asked, BaseException):
                    raise asked
                on_step = self._make_step_reporter(task["task"])
                if task.get("deferred") and not isinstance(asked[0][0], str):
                    self._defer(task, asked[0][0], on_step)
                    continue
                done = self._edit(task, asked, on_step) if task["kind"] == "edit" else self._judge(asked, on_step)
                if self._out == NO_PIPE:  # a fork of the model's that returned from there, too
                    os._exit(0)
            except BaseException as error:
                self._report_failure({**task, **self._take_charges()}, error)
                continue
            task = {**task, **self._take_charges()}
            computed = (task, asked, done, time.monotonic() - begin)
        if computed is not None:
            self._finished.put(computed)
        self._opened.put(None)  # for the next of several computing threads

    def _defer(self, task: Message, request: JudgeRequest, on_step: OnStep) -> None:
        """Hands a question to the judge, whose answer comes later."""

        def note(submitted: Submitted) -> threading.Event:
            self.send(event="submitted", task=task["task"], **submitted)
            return self._noted[task["task"]]

        def answer(reply: str | Reply | BaseException, lost: int) -> None:
            self._noted.pop(task["task"], None)
            ended = {**task, "charged": {"lost": lost + self._take_charges().get("charged", {}).get("lost", 0)}}
            try:
                if isinstance(reply, BaseException):
                    raise reply
                results = as_results([reply], 1)
            except BaseException as error:
                return self._report_failure(ended, error)
            charged = ended["charged"]
            self.send(event="done", task=task["task"], results=results, seconds=0.0, memory=memory(), charged=charged)

        submitted = task.get("submitted")
        self._model.defer(
            DeferredQuestion(request=request, submitted=submitted, note=note, answer=answer, on_step=on_step)
        )

    def _report_failure(self, task: Message, error: BaseException, kind: str = "") -> None:
        _free_memory(error)
        trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        self.send(
            event="failed",
            task=task["task"],
            error=one_line(error),
            trace=trace,
            kind=kind or kind_of(error),
            **({"facts": error.facts} if isinstance(error, RequestError) else {}),
            **({"charged": task["charged"]} if "charged" in task else {}),
            spent=bool(getattr(self._model, "spent", False)),
            memory={**memory(), **room()},
        )

    def _take_charges(self) -> Message:
        """Returns what the model has been charged for since this thread last asked, if it counts that."""
        charged: Message = getattr(self._model, "collect_costs", dict)()
        return {"charged": charged} if charged else {}

    def _make_step_reporter(self, number: int) -> OnStep:
        """Returns what a model tells its steps to: signs of life, and progress."""
        sent, place = 0.0, (0, 0)

        def on_step(step: int, steps: int) -> None:
            nonlocal sent, place
            now, at = time.monotonic(), (int(step), int(steps))
            # A repeated step is no sign of life: a thread may report it beside an edit that hangs.
            if at != place and (now - sent >= STEP_MESSAGES_EVERY or step == steps):
                sent, place = now, at
                self.send(event="step", task=number, step=at[0], steps=at[1])

        return on_step

    def _edit(self, task: Message, request: EditRequest, on_step: OnStep) -> Any:
        def on_submitted(submitted: Submitted) -> None:
            self.send(event="submitted", task=task["task"], **submitted)

        request = replace(request, on_submitted=on_submitted)
        # Copies, for a model that paints on them: a second attempt and `identical_to_source` need the originals.
        looks = getattr(self._model, "only_looks", False)
        made = self._with_room(lambda: self._model.edit(request if looks else with_own_pictures(request), on_step))
        return own_copy(made)  # now: the next edit may reuse the memory while this one is written

    def _judge(self, asked: tuple[list[Any], Any], on_step: OnStep) -> list[Message]:
        """Answers a batch; one that does not fit into memory is halved until it does, which the results say.

        The inputs beside the batch were prepared from the whole of it.
        """
        opened, inputs = asked
        told = {"on_step": on_step} if "on_step" in inspect.signature(self._model.judge).parameters else {}
        answer = partial(self._model.judge, **told)
        results: list[Message] = [{"damaged": o} if isinstance(o, str) else {} for o in opened]
        places = [i for i, o in enumerate(opened) if not isinstance(o, str)]
        batches = [places] if places else []
        while batches:
            batch = batches.pop(0)
            if inputs is not None and batch == places:
                judge = partial(answer, [opened[i] for i in batch], inputs=inputs)
            elif getattr(self._model, "only_looks", False):
                judge = partial(answer, [opened[i] for i in batch])
            else:  # copies, in case it paints on them: another attempt needs the originals
                judge = partial(lambda some: answer([with_own_pictures(r) for r in some]), [opened[i] for i in batch])
            try:
                replies = judge() if len(batch) > 1 else self._with_room(judge)
            except BaseException as error:
                if kind_of(error) != "out_of_memory" or len(batch) == 1 or getattr(self._model, "spent", False):
                    raise
                _free_memory(error)
                middle = (len(batch) + 1) // 2
                batches[:0] = [batch[:middle], batch[middle:]]
                continue
            for place, result in zip(batch, as_results(replies, len(batch)), strict=True):
                results[place] = result
                if len(batch) < len(places):
                    results[place]["halved_to"] = len(batch)
        return results

    def _with_room(self, compute: Callable[[], Any]) -> Any:
        """Computes; if memory runs out, frees all it can and tries once more, unless the model can do nothing more."""
        try:
            return compute()
        except BaseException as error:
            if kind_of(error) != "out_of_memory" or getattr(self._model, "spent", False):
                raise
            _free_memory(error)
        return compute()

    def _write_results(self) -> None:
        while (item := self._finished.get()) is not None:
            task, asked, done, seconds = item
            try:
                results = [self._write_edit(task, asked.source, done)] if task["kind"] == "edit" else done
            except OSError as error:  # the result could not be written: not the task's fault
                self._report_failure(task, error, kind="disk")
                continue
            except BaseException as error:
                self._report_failure(task, error)
                continue
            charged: Message = {"charged": task["charged"]} if "charged" in task else {}
            self.send(event="done", task=task["task"], results=results, seconds=seconds, memory=memory(), **charged)

    def _write_edit(self, task: Message, source: Any, edited: Any) -> Message:
        flags = check_edit(edited, source)
        file = write_png(edited, task["output"])
        if wanted := task.get("small_copies"):
            folder, size = wanted["folder"], CopyLimits(wanted["side"], wanted["file_bytes"])
            keep_small_copy(edited, folder, file.pixels, size)
            digest = next((picture.get("digest") for picture in task["pictures"] if picture["name"] == "source"), "")
            if digest:
                keep_small_copy(source, folder, digest, size)
        return {
            "pixels": file.pixels,
            "width": file.width,
            "height": file.height,
            "file_bytes": file.bytes,
            "file_digest": file.digest,
            "flags": list(flags),
            **({"own_size": list(edited.info[OWN_SIZE])} if OWN_SIZE in edited.info else {}),
        }


def _exit(code: int) -> NoReturn:
    """Ends the process at once: a framework's clean-up only delays the device's next user."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass  # the model closed or replaced it
    os._exit(code)


def _free_memory(error: BaseException) -> None:
    """Releases what a failed attempt held: the frames of its traceback, and torch's cache."""
    traceback.clear_frames(error.__traceback__)
    torch = sys.modules.get("torch")
    if torch is not None and kind_of(error) == "out_of_memory" and torch.cuda.is_available():
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main(sys.argv[1:])
