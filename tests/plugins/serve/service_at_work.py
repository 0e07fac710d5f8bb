"""A service in this process, over real HTTP on loopback, with a judge that sees how red an edit is."""

from __future__ import annotations

import base64
import io
import json
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

from edit_eval.config.schema import Configuration
from edit_eval.plugins.serve.service import Service

JUDGE = '''
import os, time
from pathlib import Path

class Redness:
    """As much of the scale as the edit is red; what the instruction says may go wrong, does."""
    reads = ("instruction",)
    def __init__(self, parameters): pass
    def load(self, devices):
        while Path(__file__).with_name("hold").exists():
            time.sleep(0.01)
    def judge(self, requests):
        answers = []
        for request in requests:
            words = request.instruction.split()
            if words[0] == "crash" and not Path(words[1]).exists():
                Path(words[1]).touch()
                os.kill(os.getpid(), 9)
            if words[0] == "stumble":
                Path(words[1]).open("a").write("x")
                if len(Path(words[1]).read_text()) < 3:
                    raise RuntimeError("stumbles on purpose")
            if words[0] == "slow":
                time.sleep(float(words[1]))
            while words[0] == "wait" and not Path(words[1]).exists():
                time.sleep(0.01)
            if words[0] == "fail":
                raise RuntimeError("fails on purpose")
            picture = list(request.pictures.values())[-1]
            red = picture.resize((1, 1)).getpixel((0, 0))[0]
            answers.append("I would rather not." if words[0] == "mumble" else f"Score: {red / 25.5:.3f}")
        return answers

class Even:
    """The same for every edit."""
    def __init__(self, parameters): pass
    def load(self, devices): pass
    def judge(self, requests):
        return ["Score: 5.000"] * len(requests)
'''


def encoded(red: int, kind: str = "JPEG", size: int = 32, **how: Any) -> bytes:
    """A picture that is so red, 0 to 255."""
    data = io.BytesIO()
    Image.new("RGB", (size, size), (red, 0, 0)).save(data, kind, **how)
    return data.getvalue()


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def pair(red: int, instruction: str = "make it red", source: int = 0, **more: Any) -> dict[str, Any]:
    """A pair as the native door takes it."""
    return {"source": text(encoded(source)), "instruction": instruction, "edit": text(encoded(red)), **more}


class Heard(NamedTuple):
    """What came back."""

    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def document(self) -> Any:
        return json.loads(self.body)


class Served(NamedTuple):
    """A service at work."""

    service: Service
    port: int

    def post(self, path: str, body: bytes, headers: dict[str, str] | None = None, timeout: float = 60) -> Heard:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data=body, headers=headers or {})
        return _heard(request, timeout)

    def get(self, path: str, headers: dict[str, str] | None = None) -> Heard:
        return _heard(urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers=headers or {}), 60)

    def score(self, *pairs: dict[str, Any]) -> Any:
        """The results of these pairs."""
        heard = self.post("/v1/score", json.dumps({"pairs": pairs}).encode())
        assert heard.status == 200, heard
        return heard.document["results"]


def _heard(request: urllib.request.Request, timeout: float) -> Heard:
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return Heard(answer.status, answer.read(), dict(answer.headers))
    except urllib.error.HTTPError as error:
        return Heard(error.code, error.read(), dict(error.headers))


def configured(folder: Path, batch_size: int = 4, devices: int = 1, second: bool = False) -> Configuration:
    """The judge above, or both, in a configuration."""
    (folder / "redness.py").write_text(JUDGE)
    judge = {
        "class_path": f"{folder}/redness.py:Redness",
        "params": {"device_ids": f"cpu:{devices}", "batch_size": batch_size},
        "protocol": {"type": "rubric", "retries": 1},
    }
    even = {"class_path": f"{folder}/redness.py:Even", "params": {"device_ids": "cpu:1"}}
    judges = {"redness": judge, **({"even": even} if second else {})}
    written = {"benchmark": "scenes", "diffusion_model": {"type": "scene_editor"}, "judges": judges}
    (folder / "judge.yaml").write_text(json.dumps(written))
    from edit_eval.plugins.serve.server import configuration_for  # with FastAPI, which takes most of a second

    return configuration_for(str(folder / "judge.yaml"))


Serve = Callable[..., Served]
