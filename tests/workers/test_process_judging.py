"""A worker that judges: batches, what does not fit into memory, and what is no answer."""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, Queue
from types import SimpleNamespace

import pytest
from PIL import Image

from edit_eval.workers import process
from edit_eval.workers.messages import Message
from edit_eval.workers.process import KEPT
from workers.started_worker import ODD_MODELS, StartedWorker, request


@pytest.fixture(scope="module")
def edits(source: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("edits")
    paths = [folder / f"{number}.png" for number in range(5)]
    for number, path in enumerate(paths):
        Image.new("RGB", (40, 30), (number, 9, 9)).save(path)
    return paths


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartedWorker]:
    with StartedWorker(tmp_path_factory.mktemp("judge")) as worker:
        worker.load(f"{ODD_MODELS}:Judge")
        yield worker


def judged(worker: StartedWorker, *requests: Message) -> Message:
    worker.judge(1, *requests)
    return worker.hear("done", "failed")


def test_a_batch_is_answered_in_its_order_and_what_was_damaged_is_named(
    judge: StartedWorker, source: Path, edits: list[Path], tmp_path: Path
) -> None:
    requests = [request(source, path) for path in edits]
    requests[1] = request(source, edits[1], pixels="0" * 64)
    requests[3] = request(source, tmp_path / "gone.png")
    results = judged(judge, *requests)["results"]
    assert [r.get("text") for r in results] == [f"3 with {n} of painter" if n in (0, 2, 4) else None for n in range(5)]
    assert "1.png: the pixels differ from those reported" in results[1]["damaged"]
    assert "gone.png" in results[3]["damaged"]


def test_a_batch_of_damaged_pictures_asks_nobody(judge: StartedWorker, source: Path, edits: list[Path]) -> None:
    done = judged(judge, request(source, edits[0], pixels="0" * 64, user="return: 1 / 0"))
    assert list(done["results"][0]) == ["damaged"]


@pytest.mark.parametrize(("room", "sizes"), [(5, None), (3, [3, 3, 3, 2, 2]), (2, [2, 2, 1, 2, 2]), (1, [1] * 5)])
def test_a_batch_without_memory_is_halved_until_it_fits_and_says_so(
    judge: StartedWorker, source: Path, edits: list[Path], room: int, sizes: list[int] | None
) -> None:
    done = judged(judge, *(request(source, path, user=f"there is room for: {room}") for path in edits))
    assert [r.get("halved_to") for r in done["results"]] == (sizes or [None] * 5)
    assert [r["text"] for r in done["results"]] == [f"{n} with {i} of painter" for i, n in enumerate(sizes or [5] * 5)]


def test_a_judge_tells_its_steps(source: Path, edits: list[Path], tmp_path: Path) -> None:
    with StartedWorker(tmp_path) as worker:
        worker.load(f"{ODD_MODELS}:TellingJudge")
        worker.judge(1, request(source, edits[0]))
        steps = [worker.hear("step")["step"] for _ in range(2)]
        assert steps == [1, 3], "those between come too soon after each other"
        assert worker.hear("done")["results"][0]["text"]


def test_a_download_that_moves_is_a_sign_of_life(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "LOOK_AT_DOWNLOADS_EVERY", 0.01)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    file = tmp_path / "models--of--somebody" / "blobs" / "0123.incomplete"
    file.parent.mkdir(parents=True)
    worker, said = process.Worker(process.NO_PIPE, process.NO_PIPE), Queue[Message]()
    monkeypatch.setattr(worker, "send", lambda **message: said.put(message))
    looking = threading.Thread(target=worker._report_downloads)
    looking.start()
    try:
        while said.empty():
            with file.open("ab") as coming:
                coming.write(b"x")
        assert said.get() == {"event": "moving"}
        time.sleep(0.1)
        while not said.empty():
            said.get()
        with pytest.raises(Empty):
            said.get(timeout=0.2)
    finally:
        worker._is_loaded.set()
        looking.join()


@pytest.fixture(scope="module")
def ahead(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartedWorker]:
    with StartedWorker(tmp_path_factory.mktemp("ahead")) as worker:
        worker.load(f"{ODD_MODELS}:AheadJudge")
        yield worker


def test_the_next_batchs_inputs_are_made_while_this_one_is_judged(
    ahead: StartedWorker, source: Path, edits: list[Path]
) -> None:
    ahead.judge(1, *(request(source, path, user="wait for the next") for path in edits[:2]))
    ahead.judge(2, request(source, edits[2]))
    for task, of in ((1, 2), (2, 1)):
        done = ahead.hear("done", "failed")
        assert done["task"] == task, done
        assert [r["text"].split(" with ")[0] for r in done["results"]] == [str(of)] * of
        assert all(r["text"].endswith(", with inputs") for r in done["results"])


def test_a_part_of_a_batch_makes_its_own_inputs(ahead: StartedWorker, source: Path, edits: list[Path]) -> None:
    whole = [request(source, path, user="there is room for: 2") for path in edits[:2]]
    assert all(r["text"].endswith(", with inputs") for r in judged(ahead, *whole)["results"])
    damaged = judged(ahead, *whole, request(source, edits[2], pixels="0" * 64))["results"]
    assert all(r["text"].endswith(", with inputs") for r in damaged[:2])
    assert "damaged" in damaged[2]
    halved = judged(ahead, *(request(source, path, user="there is room for: 2") for path in edits[:4]))["results"]
    assert [(r["halved_to"], r["text"].rpartition(", ")[2]) for r in halved] == [(2, "without inputs")] * 4


def test_inputs_that_cannot_be_made_are_left_to_the_judge(
    ahead: StartedWorker, source: Path, edits: list[Path]
) -> None:
    (result,) = judged(ahead, request(source, edits[0], user="no inputs"))["results"]
    assert result["text"].endswith(", without inputs")


def test_a_judge_that_takes_no_inputs_may_make_them_for_itself(source: Path, edits: list[Path], tmp_path: Path) -> None:
    with StartedWorker(tmp_path) as worker:
        worker.load(f"{ODD_MODELS}:OwnInputsJudge")
        (result,) = judged(worker, request(source, edits[0]))["results"]
    assert result["text"] == "1 with 0 of painter"


def test_one_that_does_not_fit_alone_fails(judge: StartedWorker, source: Path, edits: list[Path]) -> None:
    failed = judged(judge, *(request(source, path, user="there is room for: 0") for path in edits))
    assert (failed["event"], failed["kind"]) == ("failed", "out_of_memory")


@pytest.mark.parametrize(
    ("returns", "words"),
    [
        ("['8']", "the judge gave 1 answers to 2 requests"),
        ("['8', '8', '8']", "the judge gave 3 answers to 2 requests"),
        ("'78'", "the judge returned str, not a list"),
        ("None", "the judge returned NoneType, not a list"),
        ("dict(a='8', b='8')", "the judge returned dict, not a list"),
        ("['8', None]", "an answer of the judge is NoneType, not text"),
        ("['8', 8.0]", "an answer of the judge is float, not text"),
        ("[Reply(text='8'), Reply(text=8)]", "an answer of the judge is int, not text"),
        (
            "[Reply(text='8'), Reply(text='8', ended=Status.PENDING)]",
            "a reply ends ok, cut_off, refused or judge_error, not pending",
        ),
    ],
)
def test_what_is_no_answer_is_never_taken_for_one(
    judge: StartedWorker, source: Path, edits: list[Path], returns: str, words: str
) -> None:
    failed = judged(judge, *(request(source, path, user=f"return: {returns}") for path in edits[:2]))
    assert (failed["event"], failed["kind"]) == ("failed", "model")
    assert words in failed["error"]


def test_how_an_answer_ended_is_passed_on(judge: StartedWorker, source: Path, edits: list[Path]) -> None:
    returns = "return: [Reply(text='8'), Reply(text='1', ended=Status.CUT_OFF), Reply(ended=Status.REFUSED), '9']"
    results = judged(judge, *(request(source, path, user=returns) for path in edits[:4]))["results"]
    assert results == [
        {"text": "8"},
        {"text": "1", "ended": "cut_off"},
        {"text": "", "ended": "refused"},
        {"text": "9"},
    ]


def test_of_a_judge_that_did_not_stop_the_beginning_is_kept(
    judge: StartedWorker, source: Path, edits: list[Path]
) -> None:
    (result,) = judged(judge, request(source, edits[0], user="return: ['7.5' + 50_000_000 * 'x']"))["results"]
    assert (result["ended"], result["length"]) == ("cut_off", 50_000_003)
    assert result["text"] == "7.5" + (KEPT - 3) * "x"


def test_a_megabyte_in_each_direction_stops_neither(judge: StartedWorker, source: Path, edits: list[Path]) -> None:
    """Nobody listens until all is said: a pipe holds 64 kB."""
    prompts = [f"{task}" + "好" * 350_000 for task in range(4)]
    for task, prompt in enumerate(prompts):
        judge.judge(task, request(source, edits[0], system=prompt, user="repeat the system prompt"))
    for task, prompt in enumerate(prompts):
        done = judge.hear("done", "failed")
        assert done["task"] == task
        assert done["results"] == [{"text": prompt}]


@pytest.mark.parametrize("calls", [1, 2])
def test_memory_is_freed_before_the_second_attempt(monkeypatch: pytest.MonkeyPatch, calls: int) -> None:
    """Torch keeps what the first one had: without emptying its cache the second would find no more room.

    And the cache holds nothing to be freed as long as the trace of what failed holds on to the tensors.
    """
    done: list[str] = []

    class Tensor: ...

    tensors: weakref.WeakSet[Tensor] = weakref.WeakSet()

    class Device:
        is_available = staticmethod(lambda: True)
        empty_cache = staticmethod(lambda: done.append(f"freed, with {len(tensors)} still held"))

    def compute() -> str:
        done.append("tried")
        held = Tensor()
        tensors.add(held)
        if done.count("tried") <= calls:
            raise RuntimeError(f"CUDA out of memory. {held}")
        return "made"

    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=Device))
    worker = process.Worker(process.NO_PIPE, process.NO_PIPE)
    if calls == 1:
        assert worker._with_room(compute) == "made"
    else:
        with pytest.raises(RuntimeError, match="out of memory"):
            worker._with_room(compute)
    assert done == ["tried", "freed, with 0 still held", "tried"]
