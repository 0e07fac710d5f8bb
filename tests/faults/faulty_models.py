"""Edit models and judges that misbehave as strangers' plug-ins do. Loaded by their path, as a user's own are."""

from __future__ import annotations

import ctypes
import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from PIL import Image

IN_A_WORKER = any("edit_eval.workers.process" in argument for argument in (*sys.orig_argv, *sys.argv))


class OutOfMemoryError(RuntimeError):
    """As torch calls its own."""


def segfault() -> None:
    """Dies as a broken extension does."""
    ctypes.string_at(0)


def tinted(image: Any, seed: int) -> Any:
    """What the testing model makes."""
    colour = tuple(random.Random(seed).randbytes(3))
    return Image.blend(image.convert("RGB"), Image.new("RGB", image.size, colour), 0.4)


@dataclass
class Notes:
    """Where a model leaves word for the test, and for its next process."""

    folder: str = ""

    def count(self, name: str) -> int:
        """How often it was here before, in whatever process."""
        path = Path(self.folder, name)
        with path.open("ab", buffering=0) as file:
            file.write(f"{os.getpid()}\n".encode())
            end = file.tell()  # where its own line ends: two that come at once have each another
        return path.read_bytes()[:end].count(b"\n") - 1


class Plain:
    """Does what the testing model does; the base of the others."""

    @dataclass
    class Parameters(Notes):
        """What goes wrong, and where."""

        does: dict[str, str] = field(default_factory=dict)
        """Sample id -> what the model does about it."""
        times: int = 1
        seconds: float = 0.0

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

    def load(self, devices: Any) -> None:
        """Loads nothing."""

    def edit(self, request: Any, on_step: Any) -> Any:
        """Edits after its misdeed, if it still can."""
        if self.parameters.folder:
            self.parameters.count("begun")
        time.sleep(self.parameters.seconds)
        on_step(1, 1)
        self.request = request
        deed = self.parameters.does.get(request.sample_id, "")
        made = getattr(self, f"_{deed}")(request.source) if deed else None
        return tinted(request.source, request.seed) if made is None else made


class Unlike(Plain):
    """Says that it computes with another kernel than the replica beside it, and waits for that one."""

    def load(self, devices: Any) -> None:
        """The first of all finds nothing there yet."""
        try:
            Path(self.parameters.folder, "one").touch(exist_ok=False)
            self.kernel = "one"
        except FileExistsError:
            self.kernel = "other"
            Path(self.parameters.folder, "other").touch()

    def edit(self, request: Any, on_step: Any) -> Any:
        """Edits once both are loaded."""
        while not Path(self.parameters.folder, "other").exists():
            time.sleep(0.01)
        return super().edit(request, on_step)

    def about(self) -> dict[str, str]:
        """Its kernel."""
        return {"kernel": self.kernel}


class Rude(Plain):
    """A plug-in without manners."""

    def _prints(self, image: Any) -> None:
        print("x" * 10_000_000, flush=True)
        sys.stderr.write("y" * 1_000_000 + "\n")
        os.write(1, b'{"event": "done", "task": 0, "results": [], "seconds": 0}\n')

    def _reads(self, image: Any) -> None:
        assert sys.stdin.read() == ""

    def _closes(self, image: Any) -> None:
        sys.stdout.close()
        os.close(2)

    def _exits(self, image: Any) -> None:
        sys.exit(0)

    def _quits(self, image: Any) -> None:
        os._exit(0)

    def _interrupts(self, image: Any) -> None:
        raise KeyboardInterrupt

    def _segfaults(self, image: Any) -> None:
        segfault()

    def _stops(self, image: Any) -> None:
        os.kill(os.getpid(), signal.SIGSTOP)

    def _holds(self, image: Any) -> None:
        ctypes.PyDLL(None).sleep(1000)  # no other thread of the process runs meanwhile

    def _leaves(self, image: Any) -> None:
        subprocess.Popen(["sleep", "1000"])
        os.kill(os.getpid(), signal.SIGKILL)

    def _starts(self, image: Any) -> None:
        subprocess.Popen(["sleep", "1000"])

    def _nests(self, image: Any) -> None:
        subprocess.Popen(["sleep", "1000"])
        self._holds(image)

    def _forges(self, image: Any) -> None:
        os.write(int(sys.argv[-1]), b'{"event": "done", "task": 999, "results": [], "seconds": 0, "memory": {}}\n')
        time.sleep(1000)

    def _forks(self, image: Any) -> None:
        os.fork()  # both go on

    def _tells(self, image: Any) -> None:
        raise RuntimeError(f"401: {os.environ['HF_TOKEN']} is not valid for {os.environ['OPENAI_API_KEY']}")

    def _fills(self, image: Any) -> None:
        import errno

        raise OSError(errno.ENOSPC, "No space left on device", "/tmp/scratch")


class Mixed(Plain):
    """Bad samples, and some that fail once and never again."""

    def _crashes(self, image: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def _fails(self, image: Any) -> None:
        raise RuntimeError("on purpose")

    def _refuses(self, image: Any) -> None:
        raise ValueError("height and width have to be divisible by 16")

    def _mishears(self, image: Any) -> None:
        json.loads('{"half": ')

    def _hangs(self, image: Any) -> None:
        time.sleep(1e6)

    def _flakes(self, image: Any) -> None:
        if self.parameters.count(f"flaked-{self.request.sample_id}") == 0:
            os.kill(os.getpid(), signal.SIGKILL)


class Patient(Plain):
    """Edits only when it is let: as soon as there is a file `go` in the folder."""

    def edit(self, request: Any, on_step: Any) -> Any:
        """Says that it has begun, and waits."""
        self.parameters.count("begun")
        while not Path(self.parameters.folder, "go").exists():
            time.sleep(0.01)
        return tinted(request.source, request.seed)


class Moody(Plain):
    """Fails for some samples, as long as there is no file `go` in the folder."""

    def _fails(self, image: Any) -> None:
        if not Path(self.parameters.folder, "go").exists():
            raise RuntimeError("not yet")


class Whimsical(Plain):
    """Draws something else each time."""

    def _changes(self, image: Any) -> Any:
        return tinted(image, self.parameters.count("changed"))


class Painter(Plain):
    """Returns what is no edit."""

    def _nan(self, image: Any) -> Any:
        return Image.new("F", image.size, float("nan"))

    def _infinite(self, image: Any) -> Any:
        made = Image.new("F", image.size, 0.5)
        made.putpixel((0, 0), float("inf"))
        return made

    def _black(self, image: Any) -> Any:
        return Image.new("RGB", image.size)

    def _array(self, image: Any) -> Any:
        return [[0.0, float("nan")]]

    def _list(self, image: Any) -> Any:
        return [image]

    def _none(self, image: Any) -> Any:
        return False

    def _empty(self, image: Any) -> Any:
        return Image.new("RGB", (0, 5))

    def _bomb(self, image: Any) -> Any:
        return Image.new("1", (20_000, 20_000), 1)

    def _truncated(self, image: Any) -> Any:
        path = Path(self.parameters.folder, "truncated.jpg")
        image.resize((200, 200)).save(path)
        path.write_bytes(path.read_bytes()[:2000])
        return Image.open(path)

    def _unchanged(self, image: Any) -> Any:
        return image.copy()

    def _wide(self, image: Any) -> Any:
        return image.resize((image.width * 2, image.height))

    def _small(self, image: Any) -> Any:
        return image.resize((image.width // 2, image.height // 2))

    def _transparent(self, image: Any) -> Any:
        return image.convert("RGBA")


class Memory(Plain):
    """Runs out of memory, or breaks its device, the first `times` times that it meets a sample."""

    def _out(self, image: Any) -> None:
        if self.parameters.count("out") < self.parameters.times:
            raise OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

    def _assert(self, image: Any) -> None:
        if self.parameters.count("assert") < self.parameters.times:
            raise RuntimeError("CUDA error: device-side assert triggered")


class ShortOfMemory(Plain):
    """Edit model and judge without memory on some GPUs, and over the sample that it `does` not on any."""

    reads = ("sample_id",)

    @dataclass
    class Parameters(Plain.Parameters):
        """Where."""

        short: list[str] = field(default_factory=list)
        """Numbers of GPUs."""

    parameters: Parameters

    def load(self, devices: Any) -> None:
        """Each process knows its GPU."""
        self.is_short = os.environ["CUDA_VISIBLE_DEVICES"] in self.parameters.short

    def _try(self, sample: str) -> None:
        """Whoever has memory is not done with everything before the other has tried its part."""
        if self.is_short or sample in self.parameters.does:
            self.parameters.count("out")
            raise OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        turn, out = self.parameters.count("in"), Path(self.parameters.folder, "out")
        until = time.monotonic() + 60.0
        while self.parameters.short and (len(out.read_text().split()) if out.exists() else 0) < min(turn // 4, 5):
            assert time.monotonic() < until
            time.sleep(0.01)

    def edit(self, request: Any, on_step: Any) -> Any:
        """Edits where there is memory."""
        self._try(request.sample_id)
        return tinted(request.source, request.seed)

    def judge(self, requests: Any) -> list[str]:
        """Scores where there is memory."""
        self._try(requests[0].sample_id)
        return ["Score: 5" for _ in requests]


class ForgetfulJudge(Plain):
    """Runs out of memory over a request alone, the first `times` times."""

    def judge(self, requests: Any) -> list[str]:
        """One score a request."""
        if len(requests) == 1 and self.parameters.count("out") < self.parameters.times:
            raise OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return ["Score: 5" for _ in requests]


class NarrowJudge(Plain):
    """Has room for two requests at once; answers with the length of the batch that it was given."""

    def judge(self, requests: Any) -> list[str]:
        """One score a request."""
        if len(requests) > 2:
            raise OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return [f"Score: {len(requests)}" for _ in requests]


class Looker(Plain):
    """Scores what it sees, and sees something else in each repeat; at times it has to look again."""

    def judge(self, requests: Any) -> list[str]:
        """One answer a request."""
        time.sleep(self.parameters.seconds * len(requests))
        return [self._said(request) for request in requests]

    def _said(self, request: Any) -> str:
        seen = [picture.tobytes() for picture in request.pictures.values()]
        drawn = Random(repr((seen, request.seed))).random()
        if request.schema:
            return json.dumps(dict.fromkeys(json.loads(request.schema)["properties"], "A" if drawn < 0.5 else "B"))
        return "hm" if drawn < 0.2 else f"Better, please.\nScore: {10 * drawn:.3f}"


class Critic(Plain):
    """Scores every edit; controls as well, but for its misdeeds: `does` says by their kind what happens over them."""

    reads = ("edit_model",)

    def judge(self, requests: Any) -> list[str]:
        """One score a request."""
        for kind in (request.edit_model.removeprefix("control:") for request in requests):
            deed = self.parameters.does.get(kind, "")
            if deed and (not self.parameters.folder or self.parameters.count(deed) < self.parameters.times):
                getattr(self, f"_{deed}")()
        return ["Score: 5" for _ in requests]

    def _crashes(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def _fails(self) -> None:
        raise ZeroDivisionError("the pictures do not differ")

    def _waits(self) -> None:
        while not Path(self.parameters.folder, "go").exists():
            time.sleep(0.01)


class SegfaultsWhenLoading(Plain):
    """Cannot be loaded."""

    def load(self, devices: Any) -> None:
        """Dies."""
        segfault()


class ExitsWhenMade(Plain):
    """Cannot be made."""

    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters)
        if IN_A_WORKER:
            sys.exit("I want a licence")


class LoadsSecond(Plain):
    """Cannot be loaded on the device that comes first."""

    def load(self, devices: Any) -> None:
        """Fails once in all processes."""
        if self.parameters.count("loads") == 0:
            raise RuntimeError("CUDA error: no kernel image is available for execution on the device")


class HangsWhenLoading(Plain):
    """Loads for ever."""

    def load(self, devices: Any) -> None:
        """Never returns."""
        if self.parameters.folder:
            self.parameters.count("loads")
        time.sleep(1e6)


class Wanderer(Plain):
    """Goes to another folder whenever it is called."""

    def load(self, devices: Any) -> None:
        """Goes to the root."""
        os.chdir("/usr")

    def edit(self, request: Any, on_step: Any) -> Any:
        """Edits from somewhere else."""
        os.chdir("/tmp")
        return tinted(request.source, request.seed)

    def judge(self, requests: Any) -> list[str]:
        """Judges from somewhere else."""
        os.chdir("/tmp")
        return ["Score: 5.5" for _ in requests]
