"""Questions in batches of their makers: every ending that there is, and some that nobody lists."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from PIL import Image

from batch_providers import BatchProviders
from edit_eval.edit_models.contract import Submitted
from edit_eval.errors import ModelError, RequestError
from edit_eval.judges.contract import DeferredQuestion, JudgeRequest
from edit_eval.plugins.endpoints.in_worker import batches
from edit_eval.plugins.endpoints.in_worker.batch_interfaces import BATCH_INTERFACES
from edit_eval.plugins.endpoints.in_worker.chat_endpoint import ChatEndpoint
from edit_eval.plugins.endpoints.in_worker.closed_judges import MAKERS
from edit_eval.records import Reply, Status
from late_imports import needs

needs("aiohttp")

MODELS = {"openai": "gpt-6-luna", "gemini": "gemini-3.8-flash", "anthropic": "claude-opus-5-5"}
MAKER = pytest.mark.parametrize("api", MODELS)
SECONDS = 0.08


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, maker in MAKERS.items():
        monkeypatch.setenv(maker.key, f"key-of-{name}")


@pytest.fixture
def providers() -> Iterator[BatchProviders]:
    with BatchProviders() as running:
        yield running


@dataclass
class Asked:
    """A judge with what it has been asked, what was written down of that, and what came."""

    judge: ChatEndpoint
    notes: dict[str, list[Submitted]] = field(default_factory=dict)
    answers: dict[str, list[Any]] = field(default_factory=dict)
    lost: dict[str, int] = field(default_factory=dict)
    written: bool = True

    def ask(self, key: str, words: str = "", submitted: Submitted | None = None) -> None:
        """Asks a question of this key; `words` decide its ending."""
        pictures = {"source": Image.new("RGB", (8, 8)), "edit": Image.new("RGB", (8, 8), (1, 2, 3))}
        request = JudgeRequest(user=f"Score {key}. {words}", pictures=pictures, form="score", key=key)

        def note(submitted: Submitted) -> threading.Event:
            self.notes.setdefault(key, []).append(submitted)
            event = threading.Event()
            if self.written:
                event.set()
            return event

        def answer(reply: Any, lost: int) -> None:
            self.lost[key] = lost
            self.answers.setdefault(key, []).append(reply)

        asked = {"request": request, "submitted": submitted, "note": note, "answer": answer}
        self.judge.defer(DeferredQuestion(**asked, on_step=lambda step, steps: None))

    def wait(self, count: int, seconds: float = 30.0) -> dict[str, Any]:
        """The one answer to each question, once there are so many."""
        end = time.monotonic() + seconds
        while len(self.answers) < count and time.monotonic() < end:
            time.sleep(0.01)
        assert len(self.answers) == count, (self.answers, self.notes)
        time.sleep(3 * SECONDS)
        assert all(len(of) == 1 for of in self.answers.values()), "answered twice"
        return {key: of[0] for key, of in self.answers.items()}


def asking(providers: BatchProviders, api: Any, **more: Any) -> Asked:
    parameters = {"retries": 0, "batch_interface": True, "batch_seconds": SECONDS, **more}
    judge = ChatEndpoint(
        ChatEndpoint.Parameters(api=api, model=MODELS[api], base_url=providers.address(api), **parameters)
    )
    judge.load(["cpu"])
    return Asked(judge)


def test_each_maker_has_a_row_with_a_source() -> None:
    assert set(BATCH_INTERFACES) == set(MAKERS)
    assert all(row.source and row.share == 0.5 for row in BATCH_INTERFACES.values())


@MAKER
def test_answers_come_back_at_half_the_price_whatever_their_order(api: str, providers: BatchProviders) -> None:
    providers.plans += ["shuffled"]
    asked = asking(providers, api)
    before = len(providers.bill)
    for key, words in {"a": "", "b": "REFUSE", "c": "LIMIT", "d": ""}.items():
        asked.ask(key, words)
    replies = asked.wait(4)
    asked.judge.close()
    (made,) = providers.made
    assert [name.rpartition("-")[2] for name, _ in made.questions] == ["a", "b", "c", "d"]
    assert {key: reply.ended for key, reply in replies.items()} == {
        "a": Status.OK,
        "b": Status.REFUSED,
        "c": Status.CUT_OFF,
        "d": Status.OK,
    }
    assert replies["a"].text == "Score: 7"
    assert replies["a"].tokens[0] == 1500
    assert {name for name, _ in providers.bill[before:]} == {"batch"}
    first, last = asked.notes["a"]
    assert (first["id"], last["id"], first["token"]) == ("", made.id, last["token"])
    assert made.token in ("", first["token"])
    assert not any(asked.lost.values())


ENDINGS: list[tuple[str, str | None, int, str]] = [
    ("expired", "unasked", 0, "ab"),
    ("cancelled", "unasked", 0, "ab"),
    ("missing", "unanswered", 1, "bcd"),
    ("half", "unanswered", 1, "bcd"),
    ("errors", "other", 0, "bcd"),
    ("overloaded", "unasked", 0, "bcd"),
    ("strange_end", None, 1, "bcd"),
    ("failed", "batch", 0, ""),
    ("failed_line", "unasked", 0, ""),
    ("full", "batch", 0, ""),
    ("strange_state", "batch", 0, ""),
    ("gone", None, 1, ""),
    ("unauthorized", "key", 0, ""),
    ("refused", "batch", 0, ""),
]
"""What becomes of a batch of four; what is said of those without an answer; how often each may have been paid for
nothing; which have an answer."""
SAID_BY = {"failed": ("openai", "gemini"), "failed_line": ("openai",), "full": ("openai",)}


@pytest.mark.parametrize(
    ("api", "plan", "says", "lost", "good"),
    [(api, *row) for api in MODELS for row in ENDINGS if api in SAID_BY.get(row[0], MODELS)],
)
def test_what_is_no_answer_is_none_and_says_why(
    api: str, plan: str, says: str | None, lost: int, good: str, providers: BatchProviders
) -> None:
    """Where a part of a batch was answered, that part counts."""
    providers.plans += [plan]
    asked = asking(providers, api)
    for key in "abcd":
        asked.ask(key)
    replies = asked.wait(4)
    asked.judge.close()
    assert {key for key, reply in replies.items() if isinstance(reply, Reply)} == set(good)
    for key, reply in replies.items():
        if key in good:
            assert reply.text == "Score: 7"
            continue
        assert isinstance(reply, ModelError)
        if says is None:
            assert not isinstance(reply, RequestError), "nothing says that it may be asked again"
        elif plan == "failed_line" and key == "b":
            assert (reply.says, reply.canary) == ("other", "answered")  # type: ignore[attr-defined]
        else:
            assert isinstance(reply, RequestError)
            assert reply.says == says, reply
            assert reply.bought is (plan in ("strange_state", "unauthorized"))
        assert asked.lost[key] == lost


@MAKER
def test_results_twice_or_of_strangers_change_nothing(api: str, providers: BatchProviders) -> None:
    providers.plans += ["duplicates", "strangers"]
    asked = asking(providers, api)
    asked.ask("a")
    asked.wait(1)
    asked.ask("b")
    replies = asked.wait(2)
    asked.judge.close()
    assert {reply.text for reply in replies.values()} == {"Score: 7"}
    assert len(providers.made) == 2


@MAKER
def test_a_server_that_is_down_is_waited_for(api: str, providers: BatchProviders) -> None:
    providers.away = 3
    asked = asking(providers, api)
    asked.ask("a")
    assert asked.wait(1)["a"].text == "Score: 7"
    asked.judge.close()
    assert providers.looks > 3
    assert len(providers.made) == 1


@MAKER
def test_a_batch_that_nobody_was_told_of_is_found_again(api: str, providers: BatchProviders) -> None:
    providers.plans += ["lost", "succeeded"]
    asked = asking(providers, api)
    asked.ask("a")
    assert asked.wait(1)["a"].text == "Score: 7"
    asked.judge.close()
    assert len(providers.made) == 1, "bought twice"


@MAKER
def test_a_busy_server_is_asked_again(api: str, providers: BatchProviders) -> None:
    providers.plans += ["busy", "succeeded"]
    asked = asking(providers, api)
    asked.ask("a")
    assert asked.wait(1)["a"].text == "Score: 7"
    asked.judge.close()
    assert len(providers.made) == 1


@MAKER
@pytest.mark.parametrize("told", [True, False])
def test_what_an_earlier_process_bought_is_fetched(api: str, told: bool, providers: BatchProviders) -> None:
    """Whether its id was written down, or only that it was about to be bought."""
    providers.held.clear()
    first = asking(providers, api)
    for key in "abc":
        first.ask(key)
    while len(providers.made) < 1 or len(first.notes["c"]) < 2:
        time.sleep(0.01)
    first.judge.close()
    providers.held.set()
    second = asking(providers, api)
    for key in "abc":
        second.ask(key, submitted=first.notes[key][1 if told else 0])
    replies = second.wait(3)
    second.judge.close()
    assert {reply.text for reply in replies.values()} == {"Score: 7"}
    assert len(providers.made) == 1, "bought twice"
    assert not first.answers


@MAKER
def test_a_batch_whose_id_was_written_down_in_part_is_one_batch(api: str, providers: BatchProviders) -> None:
    providers.held.clear()
    first = asking(providers, api)
    for key in "abc":
        first.ask(key)
    while len(first.notes.get("c", [])) < 2:
        time.sleep(0.01)
    first.judge.close()
    second = asking(providers, api)
    second.ask("b", submitted=first.notes["b"][0])
    second.ask("a", submitted=first.notes["a"][1])
    second.ask("c", submitted=first.notes["c"][0])
    time.sleep(6 * SECONDS)
    providers.held.set()
    assert {reply.text for reply in second.wait(3).values()} == {"Score: 7"}
    second.judge.close()
    assert len(providers.made) == 1, "bought twice"
    assert not any(second.lost.values())


def test_anthropics_list_may_have_anothers_batch(providers: BatchProviders) -> None:
    """It does not say whose a batch is: its results do."""
    other, mine = asking(providers, "anthropic"), asking(providers, "anthropic")
    providers.held.clear()
    mine.ask("a")
    while len(mine.notes["a"]) < 2:
        time.sleep(0.01)
    mine.judge.close()
    other.ask("z")
    while len(other.notes["z"]) < 2:
        time.sleep(0.01)
    providers.held.set()
    again = asking(providers, "anthropic")
    again.ask("a", submitted=mine.notes["a"][0])
    assert again.wait(1)["a"].text == "Score: 7"
    assert len(providers.made) == 2
    nobody: Submitted = {**mine.notes["a"][0], "token": "ee1764537600-00000000"}
    third = asking(providers, "anthropic")
    third.ask("a", submitted=nobody)  # no batch of this token was ever made
    assert third.wait(1)["a"].text == "Score: 7"
    assert len(providers.made) == 3
    for asked in (other, again, third):
        asked.judge.close()


def test_nothing_is_bought_before_it_is_written_down(providers: BatchProviders) -> None:
    asked = asking(providers, "openai")
    asked.written = False
    asked.ask("a")
    time.sleep(8 * SECONDS)
    asked.judge.close()
    assert len(asked.notes["a"]) == 1
    assert not providers.made
    assert not asked.answers


@MAKER
def test_a_batch_is_cut_by_its_bytes(api: str, providers: BatchProviders, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MOST_BYTES", 2500)
    asked = asking(providers, api)
    for key in "abcdef":
        asked.ask(key)
    asked.wait(6)
    asked.judge.close()
    assert len(providers.made) > 1
    assert sorted(name[-1] for made in providers.made for name, _ in made.questions) == list("abcdef")


def test_a_batch_that_found_no_room_waits_for_another(providers: BatchProviders) -> None:
    providers.held.clear()
    asked = asking(providers, "openai")
    asked.ask("a")
    while not providers.made:
        time.sleep(0.01)
    providers.plans += ["full"]
    asked.ask("b")
    while len(providers.made) < 2:
        time.sleep(0.01)
    providers.made[1].failed = True
    error = asked.wait(1)["b"]
    assert (error.says, error.bought) == ("crowded", False)
    asked.answers.clear()
    asked.ask("b")
    time.sleep(8 * SECONDS)
    assert len(providers.made) == 2, "handed in while there is no room"
    providers.held.set()
    assert {reply.text for reply in asked.wait(2).values()} == {"Score: 7"}
    asked.judge.close()
    assert len(providers.made) == 3


def test_only_makers_have_such_an_interface() -> None:
    with pytest.raises(ValueError, match="only makers' own services"):
        ChatEndpoint.Parameters(model="m", batch_interface=True)
