"""A benchmark whose every word was written by somebody who means harm. Loaded by its path."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from PIL import Image

from edit_eval.records import Picture, Sample

SCRIPT = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
EVIL = f"{SCRIPT}\"'`{{{{7*7}}}}\u2028\x1b]0;hacked\x07<!--"
IDS = (
    "../../escaped",
    "../" * 30 + "tmp/escaped",
    "/etc/passwd",
    "C:\\Windows\\escaped",
    "..",
    ".",
    ".hidden",
    "-rf",
    "nul\0byte",
    "line\nbreak",
    "汉" * 300,
    "a" * 5000,
    "caf\u00e9",
    "cafe\u0301",
    "CAFE\u0301",
    "con",
    "",
    " ",
    f"evil {EVIL}",
    ".tmp-1-aaaa",
    "%2e%2e%2fescaped",
)


class Hostile:
    """One sample for each hostile id."""

    @dataclass
    class Parameters:
        """Where its pictures lie."""

        __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

        folder: str

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

    def samples(self) -> Iterable[Sample]:
        """All of them."""
        for index, name in enumerate(IDS):
            path = Path(self.parameters.folder, f"source{index}.png")
            Image.frombytes("RGB", (20, 10), random.Random(index).randbytes(600)).save(path)
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            yield Sample(
                id=name,
                index=index,
                category="physical",
                pictures={"source": Picture(path=str(path), digest=digest)},
                instruction=f"{index} {EVIL}",
                description=EVIL,
                difficulty=EVIL,
                tags=(EVIL, "javascript:window.hacked=1"),
                instructions={"en": EVIL, "zh": EVIL},
                rationale=EVIL,
            )
