"""Any edit model or judge, rehearsed in its worker: loaded as ever, filled where it is a stand-in, measured, disturbed.

It takes the place of the model's own class when a worker is started (`driver.py`). Everything that the worker asks for
is the model's own; what is seen goes, a line each, into a file of the rehearsal's.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import wraps
from itertools import chain, pairwise
from typing import Any, TypedDict

from edit_eval.json_values import Unchecked

SPARED = 256 << 20
"""Bytes that a process which takes a card's memory leaves: its own context grows a little."""
HELD_SECONDS = 10.0
"""How long a neighbour stays."""

# Takes all memory of its GPU but some, says so, and ends by itself; with the worker's group, if that ends before.
NEIGHBOUR = f"""import os, threading, torch
threading.Timer({HELD_SECONDS}, lambda: os._exit(0)).start()
free, _ = torch.cuda.mem_get_info(0)
held = torch.empty(max(0, free - {SPARED}), dtype=torch.uint8, device="cuda:0")
print(held.numel(), flush=True)
threading.Event().wait()
"""


class Mark(TypedDict, total=False):
    """A line of the file: something that was seen, with what belongs to it."""

    what: str
    """`loaded`, `edit`, `judge`, `too large`, `planted`, `neighbour`."""
    model: str
    """Its key."""
    process: int
    host: int | None
    """The most memory of the host until then, in bytes."""
    seconds: float
    weights: dict[str, int]
    """Bytes by the kind of device."""
    allocated: int
    """Bytes that torch holds on the GPUs."""
    peak: int
    sample: str
    about: str
    """What a planted fault has hit: a sample, or the key of a question."""
    steps: int
    step: float | None
    """Seconds."""
    nth: int
    """The how manieth edit of the process it is."""
    batch: int
    answers: dict[str, str]
    """The digest of each, by its key."""
    neighbours: bool
    """True for a batch filled up with longer questions."""
    fault: str
    device: str
    held: int
    """Bytes that a neighbour has taken."""


class Rehearsed:
    """The model, as its worker sees it."""

    def __init__(self, values: Unchecked) -> None:
        """Takes `class_path`, `path` and `parameters` of the model, `model` (its key), `fill`, `marks` (the file), and
        `faults` (a folder for those that are done, and the names of those to plant)."""
        from edit_eval.workers.model_class import find_class, make_parameters

        own = find_class(values["class_path"], values["path"])
        self._own = own(make_parameters(own, values["parameters"]))
        self._values = values
        self._devices: Sequence[str] = ()
        self._edits = 0
        self._judged = False
        self._occupied = 0.0  # until when a neighbour is there
        for name, watched in (("load", self._load), ("edit", self._edit), ("judge", self._judge)):
            if hasattr(self._own, name):  # with the signature of the model's own, by which a worker passes arguments
                setattr(self, name, _with_signature(getattr(self._own, name), watched))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._own, name)

    def _mark(self, what: str, **details: Any) -> None:
        line = {"what": what, "model": self._values["model"], "process": os.getpid(), "host": _host_peak(), **details}
        with open(self._values["marks"], "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    # -- what is measured --

    def _load(self, devices: Sequence[str], *given: Any, **named: Any) -> None:
        self._devices = devices
        begin = time.monotonic()
        self._own.load(devices, *given, **named)
        seconds = time.monotonic() - begin
        networks = networks_of(self._own)
        if self._values["fill"]:
            from edit_eval.plugins.rehearse.in_worker.stand_in import fill

            for network in networks:
                fill(network)
        on = [device for device in devices if device.startswith("cuda")]
        self._mark("loaded", seconds=seconds, weights=weight_bytes(networks), **measure_memory(on))
        forget_peak(on)

    def _edit(self, request: Any, on_step: Callable[[int, int], None]) -> Any:
        begin, steps = time.monotonic(), list[float]()
        self._edits += 1

        def step(number: int, count: int) -> None:
            wait_for(self._cards)  # a step has ended when the card is done, not when the card was told
            steps.append(time.monotonic() - begin)
            on_step(number, count)
            if number == 1 or number == count:
                self._plant_in_edit(request.sample_id)

        made = self._own.edit(request, step)
        seconds = time.monotonic() - begin
        if not steps:
            self._plant_in_edit(request.sample_id)
        gaps = [after - before for before, after in pairwise(steps)]
        self._mark(
            "edit",
            sample=request.sample_id,
            seconds=seconds,
            steps=len(steps),
            step=statistics.median(gaps) if gaps else None,
            nth=self._edits,
            **measure_memory(self._cards),
        )
        return made

    def _judge(self, requests: Sequence[Any], **named: Any) -> Any:
        begin = time.monotonic()
        with_ballast = len(requests) > 1 and self._plant_fault("memory", requests[0].key, batch=len(requests))
        if with_ballast:
            named = {}  # as the worker halves it: inputs were made for the whole batch
        replies = self._out_of_memory(requests) if with_ballast else self._own.judge(requests, **named)
        seconds = time.monotonic() - begin
        answers = answers_of(requests, replies)
        self._mark("judge", seconds=seconds, batch=len(requests), answers=answers, **measure_memory(self._cards))
        if not self._judged:
            self._judged = True
            self._judge_beside_neighbours(requests)
        return [readable(request) for request in requests] if self._values["fill"] else replies

    def _judge_beside_neighbours(self, requests: Sequence[Any]) -> None:
        """Asks once more as many at once as a run will, where a few samples make no such batch: time, memory, answers.

        Neighbours are the same question, each a little longer. A batch without room is halved, as a worker does. A
        server is not asked: there a batch is nothing of ours.
        """
        from edit_eval.workers.failures import kind_of

        size = self._values.get("batch", 1)
        if hasattr(self._own, "examine"):
            return
        while size > len(requests):
            more = size - len(requests)
            company = [*requests, *(neighbour(requests[n % len(requests)], n + 1) for n in range(more))]
            begin = time.monotonic()
            try:
                replies = self._own.judge(company)
            except BaseException as error:
                if kind_of(error) != "out_of_memory":
                    raise
                self._mark("too large", batch=size)
                size = (size + 1) // 2
                if _torch_has_cards():
                    sys.modules["torch"].cuda.empty_cache()
                continue
            self._mark(
                "judge",
                neighbours=True,
                seconds=time.monotonic() - begin,
                batch=size,
                answers=answers_of(requests, replies[: len(requests)]),
                **measure_memory(self._cards),
            )
            return

    @property
    def _cards(self) -> list[str]:
        return [device for device in self._devices if device.startswith("cuda")]

    # -- what is planted --

    def _plant_fault(self, fault: str, about: str, **more: Any) -> bool:
        """True if this fault is to happen here: once in the whole rehearsal, and to what none has hit yet, a sample's
        edit or a question by its key.

        It is then marked.
        """
        faults = self._values.get("faults") or {}
        if fault not in faults.get("names", ()):
            return False
        folder = faults["folder"]
        hit = hashlib.sha256(about.encode("utf-8", "surrogatepass")).hexdigest()
        if os.path.exists(os.path.join(folder, hit)) or not _first_to_make(os.path.join(folder, fault)):
            return False
        _first_to_make(os.path.join(folder, hit))
        self._mark("planted", fault=fault, about=about, device="+".join(faults["place"]), **more)
        return True

    def _plant_in_edit(self, sample: str) -> None:
        """Plants at most one fault in an edit, the next that is due."""
        if self._plant_fault("killed", sample):
            os.kill(os.getpid(), signal.SIGKILL)
        elif self._plant_fault("silent", sample):
            time.sleep(1e9)
        elif time.monotonic() < self._occupied or self._plant_fault("neighbour", sample):
            self._occupy_device()

    def _occupy_device(self) -> None:
        """Has another process take the card for a while, and asks for memory beside it.

        Raises what a card without memory raises. Where torch knows no card, its lack is pretended.
        """
        begins = time.monotonic() >= self._occupied
        if begins:
            self._occupied = time.monotonic() + HELD_SECONDS
        if not self._cards or not _torch_has_cards():
            raise MemoryError("CUDA out of memory: a neighbour holds the card (planted by the rehearsal)")
        import torch

        if begins:
            torch.cuda.empty_cache()
            program = [sys.executable, "-c", NEIGHBOUR]
            there = subprocess.Popen(program, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            assert there.stdout is not None
            self._mark("neighbour", held=int(there.stdout.readline().strip() or 0))
        torch.empty(2 * SPARED, dtype=torch.uint8, device=self._cards[0])

    def _out_of_memory(self, requests: Sequence[Any]) -> Any:
        """Answers while nearly all memory of the card is taken, which a batch does not fit beside."""
        if not self._cards or not _torch_has_cards():
            raise MemoryError("CUDA out of memory in a batch (planted by the rehearsal)")
        import torch

        torch.cuda.empty_cache()
        free, _ = torch.cuda.mem_get_info(self._cards[0])
        ballast = torch.empty(max(0, free - SPARED), dtype=torch.uint8, device=self._cards[0])
        try:
            return self._own.judge(requests)
        finally:
            del ballast
            torch.cuda.empty_cache()


def _with_signature(own: Callable[..., Any], watched: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(own)
    def through(*given: Any, **named: Any) -> Any:
        return watched(*given, **named)

    return through


def _first_to_make(path: str) -> bool:
    """Makes a file; False if another process has."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def _torch_has_cards() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.cuda.is_available())


# -- answers of random weights --


def digest_of(reply: Any) -> str:
    """Returns a digest of what a judge has said, text and values."""
    said = [str(getattr(reply, "text", reply)), dict(getattr(reply, "values", {}) or {})]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def answers_of(requests: Sequence[Any], replies: Sequence[Any]) -> dict[str, str]:
    """Returns the digest of each reply by its key."""
    return {request.key: digest_of(reply) for request, reply in zip(requests, replies, strict=True)}


def neighbour(request: Any, longer: int) -> Any:
    """Returns the same request with pictures of its own and a text that is `longer` by so many words."""
    pictures = {name: picture.copy() for name, picture in request.pictures.items()}
    return replace(request, user=request.user + " and" * longer, pictures=pictures)


def readable(request: Any) -> Any:
    """Returns an answer in the form that was asked for: random words would end the run, as they should.

    It takes the place of what the model wrote, up to its limit, in the time that this takes.
    """
    from edit_eval.plugins.rehearse.in_worker.fake_models import middle_answer
    from edit_eval.records import Reply

    return Reply(text=middle_answer(request), values=dict.fromkeys(request.labels, 1 / max(1, len(request.labels))))


# -- memory, as torch counts it --


def networks_of(model: Any) -> list[Any]:
    """Returns the networks of torch that a model holds, itself or as the parts of a pipeline."""
    torch = sys.modules.get("torch")
    if torch is None:
        return []
    held = list(vars(model).values())
    parts = [part for value in held for part in (getattr(value, "components", None) or {}).values()] if held else []
    modules = [value for value in (*held, *parts) if isinstance(value, torch.nn.Module)]
    return list({id(module): module for module in modules}.values())


def weight_bytes(networks: Sequence[Any]) -> dict[str, int]:
    """Returns the bytes of all weights by the kind of device that they lie on; each storage counts once."""
    sizes: dict[str, int] = {}
    seen: set[tuple[str, int]] = set()
    for network in networks:
        for tensor in chain.from_iterable(map(_with_scales, chain(network.parameters(), network.buffers()))):
            if tensor.is_meta:
                continue
            storage = tensor.untyped_storage()
            at = (str(tensor.device), storage.data_ptr())
            if at not in seen:
                seen.add(at)
                sizes[tensor.device.type] = sizes.get(tensor.device.type, 0) + storage.nbytes()
    return sizes


def _with_scales(tensor: Any) -> Iterator[Any]:
    """Yields a weight, and where bitsandbytes has quantised it, the scales that it keeps beside it."""
    yield tensor
    waiting = [getattr(tensor, "quant_state", None), getattr(tensor, "SCB", None)]
    while waiting:
        scales = waiting.pop()
        if hasattr(scales, "untyped_storage"):
            yield scales
        elif scales is not None:
            waiting += [getattr(scales, name, None) for name in ("absmax", "code", "offset", "state2")]


def _host_peak() -> int | None:
    """Returns the most memory of the host that this process has taken, in bytes, as its worker reports it.

    Not `ru_maxrss`, which a process has from the one that started it: the engine's memory would be every worker's.
    """
    from edit_eval.workers.process import memory

    return memory().get("host_peak")


def measure_memory(cards: Sequence[str]) -> dict[str, int]:
    """Returns the bytes that torch holds on these GPUs, and the most it has held; nothing without GPUs."""
    torch = sys.modules.get("torch")
    if torch is None or not cards or not torch.cuda.is_available():
        return {}
    return {
        "allocated": sum(torch.cuda.memory_allocated(card) for card in cards),
        "peak": sum(torch.cuda.max_memory_reserved(card) for card in cards),
    }


def wait_for(cards: Sequence[str]) -> None:
    """Waits until these GPUs have done all that they were told."""
    torch: Any = sys.modules.get("torch")
    for card in cards if _torch_has_cards() else ():
        torch.cuda.synchronize(card)


def forget_peak(cards: Sequence[str]) -> None:
    """Begins a new stage: peaks count from here."""
    torch: Any = sys.modules.get("torch")
    for card in cards if _torch_has_cards() else ():
        torch.cuda.reset_peak_memory_stats(card)
