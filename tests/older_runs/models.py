"""Models of the runs that an older edit-eval made (`test_older_runs.py`). This text is in their keys: leave it."""

import hashlib
import json
import os
from dataclasses import dataclass

from PIL import Image


@dataclass
class Named:
    name: str


def share(*parts):
    return int(hashlib.sha256(repr(parts).encode()).hexdigest()[:8], 16) / 16**8


def code(picture):
    return hashlib.sha256(picture.convert("RGB").tobytes()).hexdigest()[:12]


def note(*what):
    with open(os.environ["OLDER_RUNS_LOG"], "a", encoding="utf-8") as file:
        file.write(json.dumps(what) + "\n")


class Editor:
    Parameters = Named

    def __init__(self, parameters):
        self.name = parameters.name

    def load(self, devices):
        pass

    def edit(self, request, on_step):
        note("edit", self.name, request.sample_id)
        if share(self.name, request.sample_id, request.seed) < 0.08:
            raise RuntimeError("it failed on purpose")
        drawn = hashlib.sha256(repr((self.name, request.instruction, request.seed)).encode() + request.source.tobytes())
        return Image.frombytes("RGB", (4, 2), (drawn.digest() * 2)[:24])


class Judge:
    Parameters = Named

    def __init__(self, parameters):
        self.name = parameters.name

    def load(self, devices):
        pass

    def judge(self, requests):
        return [self.said(one) for one in requests]

    def said(self, request):
        seen = {name: code(picture) for name, picture in request.pictures.items()}
        note("judge", self.name, request.edit_model, request.sample_id)
        drawn = share(self.name, sorted(seen.items()), request.question, request.repeat, request.reading)
        if request.form == "json":
            better = ("A", "B", "tie")[int(3 * share(self.name, sorted(seen.values())))]
            fields = json.loads(request.schema)["properties"]
            return json.dumps({name: better if name == "better" else "so" for name in fields})
        if not seen:
            return f"carefully: {request.instruction}"
        if drawn < 0.06 and self.name != "critic":
            return "hm"
        return f"A little more of {drawn:.2f}.\nScore: {10 * drawn:.3f}"
