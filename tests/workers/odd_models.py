"""Models as other people write them; workers load them from this file by its path."""

import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from PIL import Image, ImageDraw

from edit_eval.errors import LoadError, ModelError
from edit_eval.pictures import open_picture
from edit_eval.records import Reply, Status
from edit_eval.workers import requests as opening


class Painter:
    """Does what the instruction says, one word."""

    def __init__(self, parameters):
        self.calls = 0

    def load(self, devices):
        print("loading on", devices)

    def about(self):
        return {"weights": 3, "revision": "abc"}

    def edit(self, request, on_step):
        self.calls += 1
        self.request = request
        return getattr(self, request.instruction.replace(" ", "_"))(request.source, request.seed, on_step)

    def paint_it_red(self, image, seed, on_step):
        for step in range(3):
            on_step(step + 1, 3)
        return Image.new("RGB", image.size, (200, seed, 0))

    def paint_on_the_source(self, image, seed, on_step):
        ImageDraw.Draw(image).rectangle((0, 0, 4, 4), fill=(255, 0, 0))
        return image

    def return_the_source(self, image, seed, on_step):
        return image

    def tell_the_source(self, image, seed, on_step):
        assert "sample_id" not in image.info
        return Image.new("RGB", (1, 1), (self.request.sample_id == f"sample-{seed}", image.mode == "RGB", 1))

    def return_nothing(self, image, seed, on_step): ...

    def return_an_array(self, image, seed, on_step):
        import array

        return array.array("B", image.tobytes())

    def return_another_size(self, image, seed, on_step):
        return Image.new("RGBA", (image.width * 2, image.height), (9, 9, 9, 255))

    def return_black(self, image, seed, on_step):
        return Image.new("RGB", image.size)

    def take_odd_steps(self, image, seed, on_step):
        from decimal import Decimal  # as little an int to JSON as numpy's and torch's numbers

        on_step(Decimal(2), Decimal(2))
        return Image.new("RGB", image.size, "blue")

    def run_out_of_memory_once(self, image, seed, on_step):
        if self.calls % 2:
            ImageDraw.Draw(image).rectangle((0, 0, 99, 99), fill="black")
            raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB")
        return self.paint_on_the_source(image, seed, on_step)

    def run_out_of_memory(self, image, seed, on_step):
        raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB")

    def raise_an_exception(self, image, seed, on_step):
        raise ValueError("two lines\n  of text")

    def say_why(self, image, seed, on_step):
        raise ModelError("the server withheld the edit: content_filter")

    def lose_the_server(self, image, seed, on_step):
        raise LoadError("the server is gone")

    def exit(self, image, seed, on_step):
        sys.exit("I give up")

    def be_interrupted(self, image, seed, on_step):
        raise KeyboardInterrupt

    def be_noisy(self, image, seed, on_step):
        print("a line on stdout 安 \ud800")
        print("a line on stderr", file=sys.stderr)
        logging.getLogger("model").warning("a warning from a logger")
        os.write(1, b"a line from C\n")
        subprocess.run([sys.executable, "-c", "print('a line from a child')"], check=True)
        print("stdin has", repr(sys.stdin.read()))
        print("half a line", end="")
        return self.paint_it_red(image, seed, on_step)

    def close_stdout(self, image, seed, on_step):
        sys.stdout.close()
        sys.stderr.close()
        return self.paint_it_red(image, seed, on_step)

    def replace_stdout(self, image, seed, on_step):
        sys.stdout = None
        return self.paint_it_red(image, seed, on_step)

    def leave_a_thread(self, image, seed, on_step):
        threading.Thread(target=time.sleep, args=(1e6,)).start()
        return self.paint_it_red(image, seed, on_step)

    def leave_a_child(self, image, seed, on_step):
        child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,), daemon=True)
        child.start()
        return Image.new("RGB", (child.pid // 256 + 1, child.pid % 256 + 1), "red")

    def _fork(self):
        """Both sides go on from here; this one when the other has ended, or is gone astray."""
        child = os.fork()
        deadline = time.monotonic() + 20
        while child and os.waitpid(child, os.WNOHANG)[0] == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        return not child

    def fork_and_return(self, image, seed, on_step):
        self._fork()
        return self.paint_it_red(image, seed, lambda *step: None)

    def fork_and_raise(self, image, seed, on_step):
        if self._fork():
            raise RuntimeError("in the child")
        return self.paint_it_red(image, seed, lambda *step: None)

    def fork_and_exit(self, image, seed, on_step):
        if self._fork():
            sys.exit(0)
        return self.paint_it_red(image, seed, lambda *step: None)

    def stay_at_one_step(self, image, seed, on_step):
        for _ in range(5):
            on_step(1, 4)
            time.sleep(0.15)
        on_step(2, 4)
        return Image.new("RGB", image.size, "blue")


class Thrifty(Painter):
    """Has one canvas for all its edits, and returns it."""

    canvas = Image.new("RGB", (600, 400))

    def edit(self, request, on_step):
        self.canvas.paste("white", (0, 0, 600, 400))
        time.sleep(0.01)
        self.canvas.paste((request.seed + 1,) * 3, (0, 0, 600, 400))
        return self.canvas


class PaintingJudge:
    """Says what colour the edit has, paints on it, and has no room for two."""

    def __init__(self, parameters): ...

    def load(self, devices): ...

    def judge(self, requests):
        answers = [str(r.pictures["edit"].getpixel((0, 0))) for r in requests]
        for r in requests:
            r.pictures["edit"].paste("black", (0, 0, 9, 9))
        if len(requests) > 1:
            raise RuntimeError("CUDA out of memory. Tried to allocate 9.00 GiB")
        return answers


class Parent(Painter):
    """Starts a program, or a process like itself, or one whose own child is what remains."""

    def _begin(self, what):
        if what == "a program":
            return subprocess.Popen(["sleep", "1000"])
        sleep = (time.sleep, (1000,)) if what == "a fork" else (subprocess.run, (["sleep", "1000"],))
        child = multiprocessing.get_context("fork").Process(target=sleep[0], args=sleep[1])
        child.start()
        return child

    def _start(self, what, on_step):
        self._begin(what)
        on_step(1, 2)
        time.sleep(1000)

    def start_a_program(self, image, seed, on_step):
        self._start("a program", on_step)

    def start_a_fork(self, image, seed, on_step):
        self._start("a fork", on_step)

    def start_a_fork_of_a_program(self, image, seed, on_step):
        self._start("a fork of a program", on_step)

    def _terminate(self, child):
        child.terminate()
        ended = child.wait(20) if isinstance(child, subprocess.Popen) else child.join(20) or child.exitcode
        if ended != -signal.SIGTERM:
            raise RuntimeError(f"it ended with {ended}")

    def terminate_a_program(self, image, seed, on_step):
        self._terminate(self._begin("a program"))
        return self.paint_it_red(image, seed, on_step)

    def terminate_a_fork(self, image, seed, on_step):
        self._terminate(self._begin("a fork"))
        return self.paint_it_red(image, seed, on_step)


opened = []
looked = threading.Condition()


def open_and_tell(path, **how):
    picture = open_picture(path, **how)
    with looked:
        opened.append(os.path.basename(path))
        looked.notify_all()
    return picture


setattr(opening, "open_picture", open_and_tell)  # noqa: B010


class Watcher(Painter):
    """Computes until it has seen what it waits for happen beside it."""

    def wait_for_the_next_picture(self, image, seed, on_step):
        with looked:
            if not looked.wait_for(lambda: "next.png" in opened, 20):
                raise RuntimeError(f"only {opened} were opened while the device computed")
        return self.paint_it_red(image, seed, on_step)

    def wait_for_the_last_result(self, image, seed, on_step):
        for _ in range(2000):
            if Path(image.info["last result"]).exists():
                return self.paint_it_red(image, seed, on_step)
            time.sleep(0.01)
        raise RuntimeError("the last result was not written while the device computed")


class Parallel(Painter):
    capacity = 3
    meeting = threading.Barrier(3, timeout=20)

    def meet(self, image, seed, on_step):
        self.meeting.wait()
        return self.paint_it_red(image, seed, on_step)


class Judge:
    """Says how many it was asked at once; a prompt tells it to behave otherwise."""

    def __init__(self, parameters): ...

    def load(self, devices, offload="nothing was said"):
        self.offload = offload

    def about(self):
        return {"offload": self.offload}

    def judge(self, requests):
        what, _, how = requests[0].user.partition(": ")
        if what == "there is room for" and len(requests) > int(how):
            raise RuntimeError("CUDA out of memory. Tried to allocate 9.00 GiB")
        if what == "return":
            return eval(how, {"Reply": Reply, "Status": Status})
        if what == "repeat the system prompt":
            return [r.system for r in requests]
        return [f"{len(requests)} with {r.sample_id} of {r.edit_model}" for r in requests]


class TellingJudge(Judge):
    """Tells its steps."""

    def judge(self, requests, on_step):
        for step in (1, 2, 3):
            on_step(step, 3)
        return super().judge(requests)


class AheadJudge(Judge):
    """Makes its inputs beforehand; judges no batch before those of the next one are made, if one is announced."""

    def __init__(self, parameters):
        self.made = threading.Semaphore(0)

    def make_inputs(self, requests):
        if requests[0].user == "no inputs":
            raise RuntimeError("nothing can be made of this")
        self.made.release()
        return [(r.sample_id, threading.get_ident()) for r in requests]

    def judge(self, requests, inputs=None):
        if requests[0].user == "wait for the next":
            for _ in range(2):
                assert self.made.acquire(timeout=50), "the next batch's inputs were not made meanwhile"
        answers = super().judge(requests)
        if inputs is None:
            return [f"{answer}, without inputs" for answer in answers]
        assert [name for name, _ in inputs] == [r.sample_id for r in requests]
        assert all(thread != threading.get_ident() for _, thread in inputs), "the device waited for them"
        return [f"{answer}, with inputs" for answer in answers]


class OwnInputsJudge(Judge):
    """Has a method of that name for itself."""

    def make_inputs(self, requests):
        return list(requests)

    def judge(self, requests):
        return super().judge(self.make_inputs(requests))


class Unloadable(Judge):
    def load(self, devices):
        raise LoadError("no weights in /nowhere; give `model_name`")


class Slow(Painter):
    def load(self, devices):
        time.sleep(1e6)


class Stubborn(Painter):
    """Holds the interpreter for itself, as a long call into C does."""

    def wait_in_c(self, image, seed, on_step):
        import ctypes

        on_step(1, 2)
        ctypes.PyDLL(None).sleep(1000)


class Closing(Painter):
    """Is closed, and cannot be."""

    def load(self, devices, server):
        print("loading with", server)

    def close(self):
        print("closing")
        raise RuntimeError("no reason to stay")
