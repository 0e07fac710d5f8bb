"""What the gateway doubts of Ray's answers before the engine hears of it. It needs Ray's package, and no cluster."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ray")

import ray

from edit_eval.plugins.ray import gateway as ray_gateway
from edit_eval.plugins.ray.agent import GATEWAY, HEAR_BYTES, HEAR_SECONDS, Frames
from edit_eval.plugins.ray.gateway import RETURNS, SILENT_SECONDS, STEADY_SECONDS, TICK_SECONDS, Gateway, Peer
from edit_eval.workers.messages import MessageStream

pytestmark = pytest.mark.cluster


class Made(Gateway):
    """A gateway with one machine, and what it has asked and said."""

    def __init__(self) -> None:
        super().__init__(-1, -1, "")
        self.asked = 0
        agent = SimpleNamespace(hear=SimpleNamespace(remote=self._hears), tell=SimpleNamespace(remote=Future))
        self.peer = self._peers[1] = Peer(1, "node", "name", 2, agent, heard=time.monotonic())

    def _hears(self) -> SimpleNamespace:
        self.asked += 1
        return SimpleNamespace(future=Future)

    def said(self) -> list[tuple[int, Any]]:
        frames = list(Frames().feed(bytes(self._unsent)))
        return [(n, next(iter(MessageStream().feed(data))) if n == GATEWAY else data) for n, data in frames]


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Iterator[Made]:
    monkeypatch.setattr(ray, "kill", lambda agent: None)
    made = Made()
    yield made
    made._carriers.shutdown()
    os.close(made._bell)
    os.close(made._ring)


def answered(result: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(result) if isinstance(result, Exception) else future.set_result(result)
    return future


@pytest.mark.parametrize(
    "answer",
    [None, "text", bytearray(b"{}\n"), [b"{}\n"], b"x" * (HEAR_BYTES + 1), type("Bytes", (bytes,), {})(b"{}\n")],
)
def test_an_answer_that_no_agent_gives_is_the_end_of_its_machine(gateway: Made, answer: Any) -> None:
    gateway._handle_answer(gateway.peer, answered(answer))
    gateway._handle_answer(gateway.peer, answered(b"{}\n"))  # which it sent before it was told
    ((number, lost),) = gateway.said()
    assert (number, lost["event"], lost["number"]) == (GATEWAY, "lost", 1)
    assert gateway.asked == 0


def test_an_answer_in_order_is_passed_on_unread_and_the_next_is_asked_for(gateway: Made) -> None:
    for said in (b"\xff\n", b""):
        gateway._handle_answer(gateway.peer, answered(said))
    assert gateway.said() == [(1, b"\xff\n")]
    assert gateway.asked == 2


@pytest.mark.parametrize("call", ["_handle_answer", "_handle_delivery"])
def test_a_call_that_fails_is_the_end_of_its_machine(gateway: Made, call: str) -> None:
    getattr(gateway, call)(gateway.peer, answered(RuntimeError("no\nmore")))
    ((_, lost),) = gateway.said()
    assert lost["reason"] == "RuntimeError: no more"


def test_silence_is_noticed_within_three_seconds_and_not_where_everything_stood_still(gateway: Made) -> None:
    assert HEAR_SECONDS < SILENT_SECONDS / 2, "a late answer is no silence"
    assert SILENT_SECONDS + TICK_SECONDS < 3
    gateway._looked -= 60  # the gateway itself was stopped
    gateway.peer.heard -= 60
    gateway._check_peers()
    assert gateway.said() == []
    gateway.peer.heard = time.monotonic() - SILENT_SECONDS - 0.1
    gateway._check_peers()
    assert [message["event"] for _, message in gateway.said()] == ["lost"]


def node(name: str) -> dict[str, Any]:
    return {"NodeID": name, "NodeManagerHostname": "host", "Alive": True, "Resources": {"GPU": 2}}


@pytest.fixture
def looking(gateway: Made, monkeypatch: pytest.MonkeyPatch) -> Made:
    """A gateway that can begin agents of which no actor comes."""
    agent = SimpleNamespace(hear=SimpleNamespace(remote=gateway._hears))
    maker = SimpleNamespace(options=lambda **more: SimpleNamespace(remote=lambda *about: agent))
    monkeypatch.setattr(ray, "remote", lambda what: maker)
    monkeypatch.setattr(ray_gateway, "free_gpus", lambda machine: 2)
    monkeypatch.setattr(ray_gateway, "LOOK_EVERY", 0.0)
    gateway._peers.clear()
    return gateway


def test_a_machine_whose_agent_ended_of_itself_has_another_one_under_the_same_name(looking: Made) -> None:
    names, told = [], []
    for _ in range(RETURNS):
        (peer,) = looking._begin_agents([node("a" * 56)])
        names.append(peer.name)
        looking._add_peers([peer], 2.0)
        looking._handle_answer(peer, answered(b""))
        assert looking._begin_agents([node("a" * 56)]) == [], "one is enough"
        looking._handle_answer(peer, answered(RuntimeError("The actor is dead because its owner has not asked it")))
        told.append(looking.said()[-1][1]["returns"])
    assert names == ["host"] * RETURNS
    assert told == [True] * (RETURNS - 1) + [False]
    assert looking._begin_agents([node("a" * 56)]) == [], "it has had its chances"
    (other,) = looking._begin_agents([node("b" * 56)])
    assert other.name == "host-bbbbbb"


def test_who_was_heard_for_a_minute_has_all_chances_again(looking: Made) -> None:
    for _ in range(2 * RETURNS):
        (peer,) = looking._begin_agents([node("a" * 56)])
        looking._add_peers([peer], 2.0)
        peer.begun, peer.heard = 0.0, STEADY_SECONDS + 1
        looking._handle_failure(peer, RuntimeError("gone"))


def test_one_without_edit_eval_has_no_second_chance(looking: Made) -> None:
    (peer,) = looking._begin_agents([node("a" * 56)])
    looking._add_peers([peer], 2.0)
    looking._handle_delivery(peer, answered(RuntimeError("ModuleNotFoundError: No module named 'edit_eval'")))
    assert looking.said()[-1][1]["returns"] is False
    assert looking._begin_agents([node("a" * 56)]) == []


@pytest.mark.parametrize(
    ("stored", "data", "kept"),
    [
        (9, b"p" * 9, True),
        (None, b"p" * 9, True),
        (9, b"p" * 8, False),
        (9, bytearray(9), False),
        (9, None, False),
        (1 << 40, b"p" * 9, False),
    ],
)
def test_a_picture_is_kept_when_it_has_the_size_that_was_said(
    gateway: Made, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stored: int | None, data: Any, kept: bool
) -> None:
    fetched: list[Any] = []
    monkeypatch.setattr(ray, "wait", lambda some, **more: (some, []))
    monkeypatch.setattr(ray, "get", lambda reference, **more: (fetched.append(reference), data)[1])
    monkeypatch.setattr(ray_gateway, "get_object_locations", lambda some: {some[0]: {"object_size": stored}})
    gateway._fetch(1, 5, "picture", 7, str(tmp_path / "edit.png"), 9)
    gateway._to_do.get_nowait()()
    ((_, taken),) = gateway.said()
    assert (taken["worker"], taken["task"], bool(taken["error"]), taken["disk"]) == (5, 7, not kept, False)
    assert (tmp_path / "edit.png").exists() is kept
    assert bool(fetched) is (stored != 1 << 40), "what is too large is not fetched"


def test_a_picture_that_comes_when_its_machine_was_lost_is_not_written_over_anothers(
    gateway: Made, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(ray, "wait", lambda some, **more: (some, []))
    monkeypatch.setattr(ray, "get", lambda reference, **more: b"p" * 9)
    monkeypatch.setattr(ray_gateway, "get_object_locations", lambda some: {some[0]: {"object_size": 9}})
    (tmp_path / "edit.png").write_bytes(b"another's")
    del gateway._peers[1]
    gateway._fetch(1, 5, "picture", 7, str(tmp_path / "edit.png"), 9)
    assert (tmp_path / "edit.png").read_bytes() == b"another's"
    assert gateway._to_do.empty()
