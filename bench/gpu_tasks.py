"""The tasks of bench/gpu.py: pictures, edits and batches to judge, as the engine sends them to a worker."""

from __future__ import annotations

import json
import random
from functools import cached_property
from pathlib import Path
from typing import Any

from PIL import Image

from edit_eval.pictures import open_picture, write_png
from gpu_models import text_of, tiny_tokenizer

INSTRUCTION_TOKENS = 30
RUBRIC_TOKENS = 800  # the packaged rubrics have 720 to 840 with Qwen's tokenizer
QUESTION_TOKENS = 60
PICTURES = 8


class Tasks:
    """Tasks on eight pictures of `side` x `side` pixels, which are written into `folder`."""

    def __init__(self, folder: Path, side: int, rubric_tokens: int = RUBRIC_TOKENS) -> None:
        self._folder, self._rubric_tokens = folder, rubric_tokens
        self._pictures: list[tuple[str, str]] = []
        for number in range(PICTURES):  # smooth coloured noise
            small = Image.frombytes("RGB", (16, 16), random.Random(number).randbytes(3 * 256))
            path = folder / f"source-{number}.png"
            write_png(small.resize((side, side), Image.Resampling.BICUBIC), path)
            self._pictures.append((str(path), write_png(open_picture(path), path).pixels))

    @cached_property
    def _tokenizer(self) -> Any:
        return tiny_tokenizer()

    @cached_property
    def _rubric(self) -> str:
        return text_of(self._rubric_tokens, self._tokenizer)

    def edits(self, name: str, count: int) -> list[dict[str, Any]]:
        """Returns the edits, the same for every worker; the first is a warm-up."""
        return [
            {
                "task": f"{name}-{number}",
                "kind": "edit",
                "pictures": [{"name": "source", "path": self._pictures[number % PICTURES][0], "digest": ""}],
                # Lengths differ between samples, as in a benchmark.
                "instruction": text_of(INSTRUCTION_TOKENS + number, self._tokenizer),
                "seed": number,
                "sample": str(number),
                "output": str(self._folder / f"{name}-{number}.png"),
            }
            for number in range(count)
        ]

    def batch(self, rows: int, name: str, settings: dict[str, Any] | None = None, number: int = 0) -> dict[str, Any]:
        """Returns a batch of one category: the same rubric, questions of different lengths, a source and an edit each.

        Each `number` gives a different total length, as in a benchmark's batches.
        """
        requests = []
        for row in range(rows):
            (source, _), (edit, pixels) = (self._pictures[(row + shift) % PICTURES] for shift in (0, 1))
            pictures = [
                {"name": "source", "path": source, "digest": "", "steps": []},
                {"name": "edit", "path": edit, "pixels": pixels, "steps": []},
            ]
            requests.append(
                {
                    "system": self._rubric,
                    "user": text_of(QUESTION_TOKENS + number - row % 8, self._tokenizer),
                    "form": "score",
                    "question": "score",
                    "seed": 0,
                    "sample": str(row),
                    "edit_model": json.dumps(settings or {}),  # see RandomQwen3VL
                    "edit_seed": 0,
                    "repeat": 0,
                    "reading": 0,
                    "instruction": "",
                    "category": "physical",
                    "pictures": pictures,
                }
            )
        return {"task": name, "kind": "judge", "requests": requests}
