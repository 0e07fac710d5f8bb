"""A cluster without Ray, whose machines answer at once; some of them lie.

Behind the driver is one process in place of the gateway, which does no work: `imagined_cluster.py MACHINES GPUS
[LIE,...] IN OUT`. Machines that lie come after the honest ones, one for each lie, and each with one GPU. The honest
ones begin to answer tasks when every lie has been told.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from typing import Any

from edit_eval.execution.machine.environments import layers_digest
from edit_eval.plugins.ray.agent import GATEWAY, Frames, frame_bytes
from edit_eval.plugins.ray.driver import RayDriver
from edit_eval.workers.messages import Message, MessageStream, encode, write_all

FORGED = "Score: 10.000"
GPU = {"name": "", "title": "", "uuid": "", "memory": None, "free": None, "utilisation": None, "capability": None}
ABOUT: dict[str, Any] = {"python": "", "platform": "", "processors": 1, "libraries": {}}
AT_ONCE = {
    "hello_of_too_many": {"gpus": [GPU] * 1000},
    "hello_without_gpus": {"gpus": []},
    "hello_of_a_number": {"gpus": 7},
    "hello_out_of_time": {"time": 10**400},
    "hello_of_odd_libraries": {"about": {**ABOUT, "libraries": [1]}},
}
"""How they describe themselves."""
LOST = {"silent_at_first": True, "silent": True, "without_us": False}
"""Which the gateway loses before they have said a word, and whether they may come back; the first one does."""
LATER: dict[str, bytes] = {
    "not_json": b"\xff\xfe{oh\n",
    "a_list": b"[1, 2]\n",
    "brackets": b"[" * 100_000 + b"\n",
    "without_end": b"ENDLESS",
    "of_a_list": encode({"of": [1], "say": {"event": "ended", "memory": {}}}),
    "of_nobody": encode({"of": 10**6, "say": {"event": "died", "reason": "no more"}}),
    "says_nothing": b'{"of":WORKER,"say":null}\n',
    "odd_event": b'{"of":WORKER,"say":{"event":["done"]}}\n',
    "endless_number": b'{"of":WORKER,"say":{"event":"loaded","capacity":1,"seconds":NaN,"about":{},"memory":{}}}\n',
    "loaded_twice": b'{"of":WORKER,"say":{"event":"loaded","capacity":1,"seconds":0,"about":{},"memory":{}}}\n',
    "hello_twice": encode({"event": "hello", "gpus": [GPU], "about": ABOUT, "layers": "", "time": 0, "memory": None}),
    "meters": encode({"event": "meters", "meters": {"": [1]}}),
    "wants_a_number": encode({"event": "want", "names": 3}),
    "unknown": encode({"event": "give me work"}),
    "task_of_another": b'{"of":WORKER,"say":DONE}\n',
    "worker_of_another": b'{"of":OTHER,"say":DONE}\n',
}
"""What they say once they have a task. WORKER is theirs, OTHER that of another machine; DONE is of the other's task.

ENDLESS is a line of 64 MB."""
DONE: dict[str, dict[str, Any]] = {
    "no_results": {"results": []},
    "results_of_numbers": {"results": [1]},
    "absurd_size": {"results": [{"pixels": "p", "width": 8, "height": 8, "file_bytes": 1 << 50, "flags": []}]},
    "absurd_values": {"results": [{"text": FORGED, "values": {"score": 10**400}}]},
}
"""How they have done their own task."""


class ImaginedCluster(RayDriver):
    """A Ray driver without Ray."""

    def __init__(self, machines: int, gpus: int, lies: Sequence[str] = ()) -> None:
        super().__init__()
        self._arguments = [str(machines), str(gpus), ",".join(lies)]

    def _command(self) -> list[str]:
        return [sys.executable, __file__, *self._arguments]


def answer(order: Message) -> list[Message]:
    """What a worker says to an order."""
    if order["do"] == "load":
        return [{"event": "loaded", "capacity": 1, "seconds": 0.0, "about": {}, "memory": {}}]
    if order["do"] == "stop":
        return [{"event": "died", "reason": "ended"}]
    edited = {"pixels": f"{order['task']:064x}", "width": 8, "height": 8, "file_bytes": 99, "flags": []}
    results = [edited] if order["kind"] == "edit" else [{"text": "Score: 5"} for _ in order["requests"]]
    done = {"event": "done", "task": order["task"], "results": results, "seconds": 0.0, "memory": {}}
    return [{"event": "started", "task": order["task"]}, done]


class Imagined:
    """The process in place of the gateway."""

    def __init__(self, machines: int, gpus: int, lies: Sequence[str], out: int) -> None:
        self._lies = {machines + 1 + place: lie for place, lie in enumerate(lies)}
        self._machines = dict.fromkeys(range(1, machines + 1), gpus) | dict.fromkeys(self._lies, 1)
        self._lines = {number: MessageStream() for number in (GATEWAY, *self._machines)}
        self._left = set(self._lies)
        """Who has still to lie."""
        self._held: list[tuple[int, int, Message]] = []
        self._out = out

    def say(self, number: int, data: bytes) -> None:
        """By the megabyte, as agents answer."""
        for begin in range(0, len(data), 1 << 20):
            write_all(self._out, frame_bytes(number, data[begin : begin + (1 << 20)]))

    def hear(self, number: int, data: bytes) -> None:
        said = bytearray()
        for message in self._lines[number].feed(data):
            if number == GATEWAY:
                getattr(self, f"_{message.pop('do')}")(**message)
            elif "start" in message:
                said += encode({"of": message["start"], "say": {"event": "prepared"}})
            elif "run" in message:
                said += encode({"event": "shared", "shared": number not in self._lies})
            elif "kill" in message:
                said += encode({"of": message["kill"], "say": {"event": "died", "reason": "killed"}})
            elif "send" in message:
                said += self._ordered(number, message["to"], message["send"])
        if said:
            self.say(number, bytes(said))
        if not self._left and self._held:
            held, self._held = self._held, []
            for to, worker, order in held:
                self.say(to, b"".join(encode({"of": worker, "say": message}) for message in answer(order)))

    def _start(self, gpus: int | None, variables: dict[str, str]) -> None:
        told = [{"number": n, "name": f"machine {n}", "gpus": count} for n, count in self._machines.items()]
        self.say(GATEWAY, encode({"event": "ready", "guarded": True}))
        self.say(GATEWAY, encode({"event": "machines", "machines": told, "gpus": sum(self._machines.values())}))
        for number, name in self._lies.items():
            if name in LOST:
                lost = {"number": number, "reason": name.replace("_", " "), "returns": LOST[name]}
                self.say(GATEWAY, encode({"event": "lost", **lost}))
                del self._machines[number]
                self._left.discard(number)
            if name == "silent_at_first":
                again = {"number": 100 + number, "name": f"machine {number}", "gpus": 1}
                self._machines[100 + number], self._lines[100 + number] = 1, MessageStream()
                self.say(GATEWAY, encode({"event": "machines", "machines": [again], "gpus": len(self._machines)}))
        for number, count in self._machines.items():
            lie = AT_ONCE.get(self._lies.get(number, ""))
            hello: dict[str, Any] = {"gpus": [{**GPU, "name": f"cuda:{n}"} for n in range(count)], "about": ABOUT}
            hello |= {"layers": layers_digest(), "time": time.time(), "memory": None}
            self.say(number, encode({"event": "hello", **hello, **(lie or {})}))
            if lie is not None:
                self._left.discard(number)

    def _leave(self, number: int) -> None: ...

    def _take(self, number: int, worker: int, task: int, to: str, size: int) -> None:
        with open(to, "wb") as file:
            file.write(b"." * size)
        self.say(GATEWAY, encode({"event": "taken", "worker": worker, "task": task, "error": "", "disk": False}))

    def _ordered(self, number: int, worker: int, order: Message) -> bytes:
        if order["do"] == "run" and self._left and number not in self._lies:
            self._held.append((number, worker, order))
            return b""
        honest = b"".join(encode({"of": worker, "say": message}) for message in answer(order))
        if order["do"] != "run" or number not in self._left:
            return honest
        lie = self._lies[number]
        kind = "edit" if lie == "absurd_size" else "judge" if lie == "absurd_values" else order["kind"]
        other = next((held for held in self._held), None)
        if kind != order["kind"] or other is None:
            return honest
        self._left.discard(number)
        if lie in DONE:
            done = {"event": "done", "task": order["task"], "seconds": 0.0, "memory": {}, **DONE[lie]}
            return encode({"of": worker, "say": done})
        if lie == "writes_elsewhere":  # believed, for it is its own task; where it goes, others decide
            started, done = answer(order)
            victim = os.environ["VICTIM"]
            more = {"made": ["/etc/hostname", victim], "output": victim, "path": victim, "image": victim}
            done["results"] = [{**result, **more, "pixels": "../../victim"} for result in done["results"]]
            return b"".join(encode({"of": worker, "say": message}) for message in (started, {**done, **more}))
        _, theirs, task = other
        (_, done) = answer(task)
        forged = {**done, "results": [{**result, "text": FORGED} for result in done["results"]]}
        text = LATER[lie].replace(b"ENDLESS", b"x" * ((1 << 26) + 1)) if b"ENDLESS" in LATER[lie] else LATER[lie]
        text = text.replace(b"WORKER", b"%d" % worker).replace(b"OTHER", b"%d" % theirs)
        return text.replace(b"DONE", encode(forged).strip())


def main(machines: str, gpus: str, lies: str, pipe_in: str, pipe_out: str) -> None:
    """Answers until the engine is gone."""
    cluster = Imagined(int(machines), int(gpus), lies.split(",") if lies else (), int(pipe_out))
    frames = Frames()
    while data := os.read(int(pipe_in), 1 << 20):
        for number, some in frames.feed(data):
            cluster.hear(number, some)


if __name__ == "__main__":
    main(*sys.argv[1:])
