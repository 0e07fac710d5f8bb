"""Models of a user's own, as text: the file lies in a case's folder, and its digest is part of keys."""

KILLS = '''
"""An edit model that ends the engine once, in the middle."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path


class Ends:
    @dataclass
    class Parameters:
        sample: str = ""
        signal: str = "SIGKILL"

    def __init__(self, parameters):
        self.parameters = parameters

    def load(self, devices):
        pass

    def edit(self, request, on_step):
        mark = Path("ended")
        if request.sample_id == self.parameters.sample and not mark.exists():
            mark.touch()
            os.kill(os.getppid(), getattr(signal, self.parameters.signal))
            signal.pause()
        return request.source.point(lambda level: 255 - level)
'''

COMPARES = '''
"""A judge that is told nothing: what it says follows from the pictures that it sees, in their order."""

from hashlib import sha256


class Compares:
    def __init__(self, parameters):
        pass

    def load(self, devices):
        pass

    def judge(self, requests):
        return [self.said(one.pictures) for one in requests]

    def said(self, pictures):
        number = sha256(pictures["A"].tobytes() + pictures["B"].tobytes()).digest()[0]
        label = "Image B" if number < 6 else "A" if number < 125 else "B" if number < 220 else "C"
        return f'{{"better": "{label}"}}'
'''

OWN = '''
"""A benchmark, an edit model, a judge and a protocol of two questions, the second of which has the first's reply."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from PIL import Image

from edit_eval.protocols.contract import Missing, Question, Score
from edit_eval.records import Picture, Reading, Reply, Sample, Scale, Status

TEN = Scale(lowest=0.0, highest=10.0)


class Squares:
    """Six squares."""

    @dataclass
    class Parameters:
        folder: str = "squares"

    def __init__(self, parameters):
        self.parameters = parameters

    def samples(self):
        folder = Path(self.parameters.folder)
        folder.mkdir(exist_ok=True)
        for number in range(6):
            path = folder / f"{number}.png"
            if not path.exists():
                Image.new("RGB", (16, 16), (40 * number, 10, 90)).save(path)
            yield Sample(
                id=f"square-{number}",
                index=number,
                category=("warm", "cold")[number % 2],
                pictures={"source": Picture(path=str(path.resolve()), digest=sha256(path.read_bytes()).hexdigest())},
                instruction=f"Lighten square {number}.",
                facts={"checks": [{"ask": f"Is it {number}?"}, {"ask": "Is it night?", "expect": "no"}]},
            )


class Lightens:
    """Makes it lighter."""

    @dataclass
    class Parameters:
        amount: int = 30

    def __init__(self, parameters):
        self.parameters = parameters

    def load(self, devices):
        pass

    def edit(self, request, on_step):
        return request.source.point(lambda level: min(255, level + self.parameters.amount))


class Counts:
    """Answers with a digit of the sample's id."""

    reads = ("sample_id", "question")

    def __init__(self, parameters):
        pass

    def load(self, devices):
        pass

    def judge(self, requests):
        said = {"followed": "{}.5", "kept": "{}"}
        digits = ["no" if one.sample_id == "square-4" else one.sample_id[-1] for one in requests]
        return [Reply(text=said[one.question].format(digit)) for one, digit in zip(requests, digits)]


class TwoQuestions:
    """How well it was followed, and what else changed."""

    scores = {
        "both": Score(scale=TEN),
        "followed": Score(scale=TEN, needs=("followed",)),
        "kept": Score(scale=TEN, needs=("kept",)),
    }
    headline = "both"

    def __init__(self, parameters):
        pass

    def questions(self, sample):
        return [
            Question(name="followed", gives=("followed",), user=f"Was it followed: {sample.instruction}?"),
            Question(name="kept", gives=("kept",), user="You said {followed}. Is the rest kept?", after=("followed",)),
        ]

    def read(self, question, reply):
        try:
            return Reading(values={question.name: float(reply.text)})
        except ValueError:
            return Reading(status=Status.UNPARSEABLE, reason="no number")
'''
