"""A worker in a process of its own, with models that behave as other people's models do."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from edit_eval.pictures import open_picture, pixel_digest
from edit_eval.workers.messages import Message
from edit_eval.workers.process import memory
from workers.started_worker import ODD_MODELS, StartedWorker, request


@pytest.fixture(scope="module")
def painter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartedWorker]:
    """One worker for all tests after which it is as it was."""
    with StartedWorker(tmp_path_factory.mktemp("painter")) as worker:
        worker.load(f"{ODD_MODELS}:Painter")
        yield worker


def edited(worker: StartedWorker, source: Path, output: Path, instruction: str, task: int = 7) -> Message:
    worker.edit(task, source, output, instruction=instruction)
    return worker.hear("done", "failed")


def test_memory_is_that_of_this_process() -> None:
    assert 5e6 < memory()["host"] < 1e12


# -- an edit --


def test_an_edit_is_written_and_reported(painter: StartedWorker, source: Path, tmp_path: Path) -> None:
    output = tmp_path / "folder" / "edit.png"
    painter.edit(7, source, output)
    assert painter.next() == {"event": "started", "task": 7}
    assert painter.next() == {"event": "step", "task": 7, "step": 1, "steps": 3}
    assert painter.next() == {"event": "step", "task": 7, "step": 3, "steps": 3}, "a flood of steps is thinned out"
    done = painter.hear("done")
    assert done["task"] == 7
    assert 0 <= done["seconds"] < 60
    assert done["memory"]["host"] > 0
    picture = open_picture(output)
    about = {"width": 40, "height": 30, "file_bytes": output.stat().st_size, "flags": []}
    about["file_digest"] = hashlib.sha256(output.read_bytes()).hexdigest()
    assert done["results"] == [{"pixels": pixel_digest(picture), **about}]
    assert picture.getpixel((0, 0)) == (200, 7, 0)
    assert [p.name for p in output.parent.iterdir()] == ["edit.png"]


@pytest.mark.parametrize(
    ("instruction", "flags"),
    [
        ("paint on the source", []),
        ("return the source", ["identical_to_source"]),
        ("return another size", ["other_aspect_ratio"]),
        ("run out of memory once", []),
    ],
)
def test_what_is_worth_knowing_of_an_edit(
    painter: StartedWorker, source: Path, tmp_path: Path, instruction: str, flags: list[str]
) -> None:
    done = edited(painter, source, tmp_path / "edit.png", instruction)
    assert done["event"] == "done"
    assert done["results"][0]["flags"] == flags


def test_a_second_attempt_begins_with_the_source_as_it_was(
    painter: StartedWorker, source: Path, tmp_path: Path
) -> None:
    once = edited(painter, source, tmp_path / "once.png", "run out of memory once")
    assert once["results"] == edited(painter, source, tmp_path / "twice.png", "paint on the source")["results"]


def test_a_model_is_told_whose_picture_it_is(painter: StartedWorker, source: Path, tmp_path: Path) -> None:
    edited(painter, source, tmp_path / "edit.png", "tell the source", task=9)
    assert open_picture(tmp_path / "edit.png").getpixel((0, 0)) == (1, 1, 1)


def test_numbers_of_steps_may_be_of_any_kind(painter: StartedWorker, source: Path, tmp_path: Path) -> None:
    assert edited(painter, source, tmp_path / "edit.png", "take odd steps")["event"] == "done"


@pytest.mark.parametrize(
    ("instruction", "kind", "words"),
    [
        ("return nothing", "model", "returned NoneType, not one PIL.Image.Image"),
        ("return an array", "model", "returned array.array, not one PIL.Image.Image"),
        ("return black", "model", "black image"),
        ("raise an exception", "model", "ValueError: two lines of text"),
        ("say why", "model", "the server withheld the edit: content_filter"),
        ("lose the server", "device", "the server is gone"),
        ("run out of memory", "out_of_memory", "CUDA out of memory"),
        ("exit", "exception", "SystemExit: I give up"),
        ("be interrupted", "exception", "KeyboardInterrupt"),
        ("do what it cannot", "exception", "AttributeError"),
    ],
)
def test_a_failure_has_its_reason_and_the_worker_goes_on(
    painter: StartedWorker, source: Path, tmp_path: Path, instruction: str, kind: str, words: str
) -> None:
    failed = edited(painter, source, tmp_path / "edit.png", instruction)
    assert (failed["event"], failed["task"], failed["kind"]) == ("failed", 7, kind)
    assert words in failed["error"]
    assert "\n" not in failed["error"]
    assert failed["trace"].startswith("Traceback")
    assert list(tmp_path.iterdir()) == []
    assert edited(painter, source, tmp_path / "edit.png", "paint it red")["event"] == "done"


@pytest.mark.parametrize(
    ("damage", "kind"),
    [("gone", "unreadable"), ("another", "unreadable"), ("cut off", "model"), ("no picture", "model")],
)
def test_a_source_that_cannot_be_opened_fails_its_own_task(
    painter: StartedWorker, source: Path, tmp_path: Path, damage: str, kind: str
) -> None:
    """A file that is not there, or not the one that it was, says nothing of the picture."""
    bad = tmp_path / "bad.png"
    if damage != "gone":
        bad.write_bytes(source.read_bytes()[:-20] if damage == "cut off" else b"GIF, honestly")
    painter.edit(1, bad, tmp_path / "1.png", digest="0" * 64 if damage == "another" else "")
    painter.edit(2, source, tmp_path / "2.png")
    failed = painter.hear("done", "failed")
    assert (failed["event"], failed["task"], failed["kind"]) == ("failed", 1, kind)
    assert "bad.png" in failed["error"]
    assert painter.hear("done", "failed")["task"] == 2


# -- what models do besides --


def test_a_model_that_uses_its_memory_again_spoils_no_edit(source: Path, tmp_path: Path) -> None:
    """It clears its canvas at the start of `edit`, while the edit before is being written."""
    with StartedWorker(tmp_path) as worker:
        worker.load(f"{ODD_MODELS}:Thrifty")
        for task in range(20):
            worker.edit(task, source, tmp_path / f"{task}.png")
        for task in range(20):
            assert worker.hear("done", "failed")["task"] == task
    colours = [open_picture(tmp_path / f"{task}.png").getpixel((0, 0)) for task in range(20)]
    assert colours == [(task + 1,) * 3 for task in range(20)]


def test_a_judge_that_paints_on_its_pictures_is_shown_them_anew(source: Path, tmp_path: Path) -> None:
    with StartedWorker(tmp_path) as worker:
        worker.load(f"{ODD_MODELS}:PaintingJudge")
        worker.judge(1, request(source, source), request(source, source))
        assert [r["text"] for r in worker.hear("done", "failed")["results"]] == ["(10, 120, 60)"] * 2


@pytest.mark.parametrize("instruction", ["fork and return", "fork and raise", "fork and exit"])
def test_a_fork_of_the_model_s_says_nothing_in_the_worker_s_name(
    source: Path, tmp_path: Path, instruction: str
) -> None:
    with StartedWorker(tmp_path) as worker:
        worker.load(f"{ODD_MODELS}:Painter")
        for task in (1, 2):
            worker.edit(task, source, tmp_path / f"{task}.png", instruction=instruction)
        worker.tell("stop")
        heard = []
        while (message := worker.next()) is not None:  # at the end the fork is gone: it would hold the pipe open
            heard.append((message["event"], message.get("task")))
    assert sorted(heard[:-1]) == [("done", 1), ("done", 2), ("started", 1), ("started", 2)]
    assert heard[-1] == ("ended", None)


def test_the_same_step_again_is_no_sign_of_life(painter: StartedWorker, source: Path, tmp_path: Path) -> None:
    painter.edit(1, source, tmp_path / "edit.png", instruction="stay at one step")
    heard = []
    while (message := painter.next()) is not None and message["event"] != "done":
        heard.append((message["event"], message.get("step")))
    assert heard == [("started", None), ("step", 1), ("step", 2)]


def test_what_a_model_says_goes_to_its_log(source: Path, tmp_path: Path) -> None:
    quiet = {"PYTHONUNBUFFERED": "", "PYTHONIOENCODING": "", "LC_ALL": "C"}  # as most people's shells have it
    with StartedWorker(tmp_path, quiet) as worker:
        worker.load(f"{ODD_MODELS}:Painter")
        assert edited(worker, source, tmp_path / "edit.png", "be noisy")["event"] == "done"
        said = worker.log.read_text("utf-8")
        for line in (
            "loading on ['cpu']",
            "a line on stdout 安 \\ud800",
            "a line on stderr",
            "a warning from a logger",
            "a line from C",
            "a line from a child",
            "stdin has ''",
        ):
            assert line in said, "at once, for somebody who looks why it takes so long"
        worker.tell("stop")
        assert worker.hear("ended")["memory"]["host"] > 0
        assert worker.process.wait(60) == 0
        assert worker.log.read_text("utf-8").endswith("half a line")


@pytest.mark.parametrize("instruction", ["close stdout", "replace stdout", "leave a thread", "leave a child"])
def test_nothing_that_a_model_leaves_behind_keeps_its_worker(source: Path, tmp_path: Path, instruction: str) -> None:
    with StartedWorker(tmp_path) as worker:
        worker.load(f"{ODD_MODELS}:Painter")
        done = edited(worker, source, tmp_path / "edit.png", instruction)
        assert done["event"] == "done"
        assert edited(worker, source, tmp_path / "edit.png", "paint it red")["event"] == "done"
        worker.tell("stop")
        worker.hear("ended")
        assert worker.process.wait(60) == 0
        if instruction == "leave a child":
            width, height = done["results"][0]["width"], done["results"][0]["height"]
            os.kill(256 * (width - 1) + height - 1, signal.SIGKILL)  # its driver's affair, which is not here


def test_pictures_are_opened_and_written_while_the_device_computes(source: Path, tmp_path: Path) -> None:
    """Seen by events: each edit computes until what belongs beside it has happened."""
    following = tmp_path / "next.png"
    from PIL.PngImagePlugin import PngInfo

    texts = PngInfo()
    texts.add_text("last result", str(tmp_path / "1.png"))
    Image.open(source).save(following, pnginfo=texts)
    with StartedWorker(tmp_path) as worker:
        worker.load(f"{ODD_MODELS}:Watcher")
        worker.edit(1, source, tmp_path / "1.png", instruction="wait for the next picture")
        worker.edit(2, following, tmp_path / "2.png", instruction="wait for the last result")
        heard = [worker.hear("done", "failed") for _ in range(2)]
        assert [(m["event"], m["task"]) for m in heard] == [("done", 1), ("done", 2)], heard


def test_a_model_that_takes_several_tasks_gets_them_at_once(source: Path, tmp_path: Path) -> None:
    with StartedWorker(tmp_path) as worker:
        assert worker.load(f"{ODD_MODELS}:Parallel")["capacity"] == 3
        for task in range(7):
            worker.edit(task, source, tmp_path / f"{task}.png", instruction="meet" if task < 6 else "paint it red")
        worker.tell("stop")
        heard = [worker.hear("done", "failed") for _ in range(7)]
        assert sorted(m["task"] for m in heard) == list(range(7))
        assert {m["event"] for m in heard} == {"done"}, heard
        worker.hear("ended")


# -- its life --


def test_what_is_loaded_says_what_it_is(tmp_path: Path) -> None:
    with StartedWorker(tmp_path) as worker:
        loaded = worker.load(f"{ODD_MODELS}:Painter")
        assert loaded["capacity"] == 1
        assert loaded["about"]["weights"] == "3"
        assert loaded["about"]["revision"] == "abc"
        assert loaded["about"]["python"] == sys.version.split()[0]
        assert loaded["seconds"] >= 0


def test_offload_reaches_the_model_that_knows_it(tmp_path: Path) -> None:
    with StartedWorker(tmp_path) as worker:
        worker.prepare(f"{ODD_MODELS}:Judge")
        worker.hear("prepared")
        worker.tell("load", offload="group")
        assert worker.hear("loaded")["about"]["offload"] == "group"


@pytest.mark.parametrize(
    ("class_name", "parameters", "words", "prepared"),
    [
        ("Nobody", {}, "AttributeError: module 'edit_eval_user_odd_models' has no attribute 'Nobody'", False),
        ("Unloadable", {}, "no weights in /nowhere; give `model_name`", True),
    ],
)
def test_what_cannot_be_loaded_says_why_and_ends(
    tmp_path: Path, class_name: str, parameters: dict[str, Any], words: str, prepared: bool
) -> None:
    with StartedWorker(tmp_path) as worker:
        worker.prepare(f"{ODD_MODELS}:{class_name}", parameters)
        if prepared:
            worker.hear("prepared")
            worker.tell("load", offload="none")
        broken = worker.hear("broken")
        assert broken["error"] == words
        assert "Traceback" in broken["trace"]
        assert worker.next() is None
        assert worker.process.wait(60) == 1


def test_parameters_that_a_class_does_not_know_are_named(tmp_path: Path) -> None:
    with StartedWorker(tmp_path) as worker:
        worker.prepare("edit_eval.plugins.rehearse.in_worker.fake_models:FakeJudge", {"default_anser": "8"})
        assert worker.hear("broken")["error"] == "FakeJudge has no parameter `default_anser`"


@pytest.mark.parametrize("moment", ["before it is prepared", "before it is loaded", "with work in hand"])
def test_stop_ends_it_after_what_is_under_way(source: Path, tmp_path: Path, moment: str) -> None:
    with StartedWorker(tmp_path) as worker:
        if moment == "before it is loaded":
            worker.prepare(f"{ODD_MODELS}:Painter")
            worker.hear("prepared")
        elif moment == "with work in hand":
            worker.load(f"{ODD_MODELS}:Painter")
            for task in range(3):
                worker.edit(task, source, tmp_path / f"{task}.png")
        worker.tell("stop")
        if moment == "with work in hand":
            assert [worker.hear("done")["task"] for _ in range(3)] == [0, 1, 2]
        worker.hear("ended")
        assert worker.next() is None
        assert worker.process.wait(60) == 0


def test_it_ends_with_its_pipe_even_while_it_loads(tmp_path: Path) -> None:
    with StartedWorker(tmp_path) as worker:
        worker.prepare(f"{ODD_MODELS}:Slow")
        worker.hear("prepared")
        worker.tell("load", offload="none")
        worker.hang_up()
        assert worker.process.wait(60) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for it")
@pytest.mark.usefixtures("cold_workers")
def test_it_dies_with_the_one_who_started_it_even_inside_a_call_into_c(source: Path, tmp_path: Path) -> None:
    """The thread that reads the pipe never gets its turn there."""
    started: list[StartedWorker] = []
    begun, over = threading.Event(), threading.Event()

    def engine() -> None:  # the death of the thread that started it counts as that of the parent
        started.append(StartedWorker(tmp_path))
        begun.set()
        over.wait(60)

    thread = threading.Thread(target=engine)
    thread.start()
    begun.wait(60)
    with started[0] as worker:
        worker.load(f"{ODD_MODELS}:Stubborn")
        worker.edit(1, source, tmp_path / "1.png", instruction="wait in c")
        while (message := worker.next()) is not None and message["event"] != "step":
            pass
        over.set()  # its pipe is still open: nothing else can tell it
        thread.join()
        assert worker.process.wait(60) == -signal.SIGKILL


def test_a_control_c_is_not_its_affair(painter: StartedWorker, source: Path, tmp_path: Path) -> None:
    painter.process.send_signal(signal.SIGINT)
    assert edited(painter, source, tmp_path / "edit.png", "paint it red")["event"] == "done"
