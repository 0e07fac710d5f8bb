"""A package that brings a benchmark, its protocol, a judge and a measure. `pyproject.toml` names them."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from PIL import Image, ImageChops, ImageStat

from edit_eval.protocols.contract import Question, Score
from edit_eval.records import Picture, Reading, Reply, Sample, Scale, Status


class Squares:
    """Grey squares to be made darker or lighter, drawn on my laptop."""

    about: ClassVar = {"source": "drawn", "licence": "CC0-1.0"}
    protocol = "my_protocol"

    @dataclass
    class Parameters:
        folder: str
        """Where the squares are drawn."""

    def __init__(self, parameters: Parameters) -> None:
        self.folder = Path(parameters.folder)

    def samples(self) -> Iterator[Sample]:
        self.folder.mkdir(parents=True, exist_ok=True)
        for index, word in enumerate(("darker", "lighter") * 3):
            path = self.folder / f"{index}.png"
            Image.new("RGB", (64, 64), (60 + 20 * index,) * 3).save(path)
            picture = Picture(path=str(path), digest=hashlib.sha256(path.read_bytes()).hexdigest())
            yield Sample(
                id=f"square-{index}",
                index=index,
                category=word,
                pictures={"source": picture},
                instruction=f"Make it {word}.",
            )


class Percent:
    """One number from 0 to 100."""

    scores: ClassVar = {"followed": Score(scale=Scale(lowest=0, highest=100), needs=("followed",))}
    headline = "followed"

    def __init__(self, parameters: Any) -> None: ...

    def questions(self, sample: Sample) -> list[Question]:
        return [Question(name="followed", gives=("followed",), user=f"{sample.instruction} Followed? 0 to 100.")]

    def read(self, question: Question, reply: Reply) -> Reading:
        if not reply.text.isdigit() or int(reply.text) > 100:
            return Reading(status=Status.UNPARSEABLE, reason="the answer is not a number from 0 to 100")
        return Reading(values={"followed": float(reply.text)})


class Brightness:
    """Compares the brightness of the source and the edit."""

    def __init__(self, parameters: Any) -> None: ...

    def load(self, devices: Sequence[str]) -> None: ...

    def judge(self, requests: Sequence[Any]) -> list[str]:
        return [str(self._percent(**request.pictures, lighter="lighter" in request.user)) for request in requests]

    def _percent(self, source: Image.Image, edit: Image.Image, *, lighter: bool) -> int:
        before, after = (ImageStat.Stat(picture.convert("L")).mean[0] for picture in (source, edit))
        return 100 if (after > before and lighter) or (after < before and not lighter) else 0


class Change:
    """Measures how much was changed: the mean difference from the source, in levels of 255."""

    def __init__(self, parameters: Any) -> None: ...

    @staticmethod
    def measures(parameters: Any) -> dict[str, dict[str, Any]]:
        """Each value with its scale, and the pictures that it needs; the first is the headline."""
        scale = {"lowest": 0, "highest": 255, "higher_is_better": False}
        return {"change": {**scale, "needs": ["source", "edit"]}}

    def load(self, devices: Sequence[str]) -> None: ...

    def judge(self, requests: Sequence[Any]) -> list[Reply]:
        return [Reply(values={"change": self._mean(**request.pictures)}) for request in requests]

    def _mean(self, source: Image.Image, edit: Image.Image) -> float:
        difference = ImageChops.difference(source.convert("L"), edit.convert("L").resize(source.size))
        return float(ImageStat.Stat(difference).mean[0])
