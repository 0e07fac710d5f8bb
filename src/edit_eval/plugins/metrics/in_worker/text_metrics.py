"""`text_metrics`: how well the writing in a picture matches the wanted text, as read by an OCR engine.

| value                   | what it is                                                                               |
|-------------------------|------------------------------------------------------------------------------------------|
| `character_error`       | the fewest characters to insert, delete and replace to get the wanted text from some     |
|                         | part of what was read, divided by the length of the wanted text: 0 (there) to 1 (absent) |
| `text_is_there`         | 1 if that part is exactly the wanted text, else 0                                        |
| `character_error_whole` | the same for all that was read, the usual character error rate: other writing counts as  |
|                         | wrong, so it has no upper bound                                                          |

The wanted text is the sample's fact `target_text` (in a `table`, the column `target_text`). Lines are read from top to
bottom and joined. Spaces are ignored (an OCR engine guesses them, and Chinese has none), Unicode's compatible forms are
equal (`：` and `:`), case matters unless `ignore_case`.

The engine is RapidOCR (Apache-2.0) with onnxruntime on the CPU; its models of PaddleOCR, which read English and
Chinese, are in its wheel: nothing is downloaded. Its misreadings of legible text count against the edit. With 25 drawn
texts per size, some crossed by thin lines, the mean `character_error` was 0.01 and 0.03 (64 and 32 pixels), 0.05 to
0.09 (16 and 20) and 0.41 (12) in English, 0.00 to 0.07 and 0.21 (12) in Chinese: look at some edits before you trust a
small difference.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from edit_eval.errors import LoadError, ModelError
from edit_eval.judges.contract import JudgeRequest, MeasuredValue
from edit_eval.pretrained.loading import library_versions
from edit_eval.records import Reply

ERROR: MeasuredValue = {"lowest": 0.0, "highest": 1.0, "higher_is_better": False, "needs": ["edit", "target_text"]}


class TextMetrics:
    """Measures how far the writing in an edit is from the wanted text, by an OCR engine that comes with its models."""

    @dataclass
    class Parameters:
        ignore_case: bool = False
        """Take capital and small letters for the same."""
        longest_side: int = 1536
        """Pixels of the longer side to which a larger picture is scaled before writing is looked for."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self._engine: Any = None

    @staticmethod
    def measures(parameters: Parameters) -> dict[str, MeasuredValue]:
        """Returns scale and needs of every value; the first is the headline."""
        return {
            "character_error": ERROR,
            "text_is_there": {**ERROR, "higher_is_better": True},
            "character_error_whole": {**ERROR, "highest": None},
        }

    def prepare(self) -> None:
        """Imports the libraries. Raises `LoadError` if they are missing."""
        try:
            import onnxruntime  # noqa: F401
            import rapidocr  # noqa: F401
        except ImportError as error:
            raise LoadError(f"{error}; `pip install 'edit-eval[ocr]'` brings it") from error

    def load(self, devices: Sequence[str]) -> None:
        """Loads the engine's own models on the CPU, ignoring `devices`."""
        self.prepare()
        from rapidocr import RapidOCR

        self._engine = RapidOCR(
            params={
                "Global.log_level": "critical",
                "Global.use_cls": False,  # upside-down lines are not searched for
                "Global.max_side_len": self.parameters.longest_side,
                "Det.limit_type": "max",
                "Det.limit_side_len": self.parameters.longest_side,
            }
        )

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Reply]:
        """Returns the values of each request; the text says what was read. Raises `ModelError` without an edit."""
        return [self._measure_text(request) for request in requests]

    def about(self) -> dict[str, str]:
        """Returns versions; they determine the models."""
        return library_versions("rapidocr", "onnxruntime", "opencv-python-headless", "numpy", "pillow")

    def _measure_text(self, request: JudgeRequest) -> Reply:
        import numpy

        if "edit" not in request.pictures:
            raise ModelError("text_metrics reads the edit; it was not given the picture `edit`")
        pixels = numpy.asarray(request.pictures["edit"].convert("RGB"))[:, :, ::-1]  # the engine's channels are BGR
        lines = self._engine(numpy.ascontiguousarray(pixels)).txts or ()
        wanted, read = (self._plain(text) for text in (request.user, "".join(lines)))
        said = f"read: {' / '.join(lines)}" if lines else "no writing was found"
        if not wanted:
            return Reply(text=f"the wanted text has no characters; {said}")
        error = distance(wanted, read, anywhere=True) / len(wanted)
        values = {
            "character_error": error,
            "text_is_there": float(error == 0),
            "character_error_whole": distance(wanted, read) / len(wanted),
        }
        return Reply(text=said, values=values)

    def _plain(self, text: str) -> str:
        joined = "".join(unicodedata.normalize("NFKC", text).split())
        return joined.casefold() if self.parameters.ignore_case else joined


def distance(wanted: str, read: str, *, anywhere: bool = False) -> int:
    """Returns the characters to insert, delete or replace to turn `read` into `wanted` (Levenshtein).

    With `anywhere`: to turn some part of `read`, perhaps an empty one, into it (Sellers).
    """
    row = [0] * (len(read) + 1) if anywhere else list(range(len(read) + 1))
    for place, letter in enumerate(wanted, 1):
        before, row = row, [place]
        for number, other in enumerate(read, 1):
            row.append(min(before[number] + 1, row[-1] + 1, before[number - 1] + (letter != other)))
    return min(row) if anywhere else row[-1]
