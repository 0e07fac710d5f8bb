"""docs/gate.md is typed against two local servers of one small network, of which one has its weights in eight bits."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from documented_blocks import DOCS, follow
from image_server import AskedEdit, ImageServer

PORTS = ("8001", "8002")
"""Of the page's servers: of the reference, and of the quantised one."""


class Network(ImageServer):
    """Edits by a network of two layers, of which the seed, the instruction and the guidance move the hidden one."""

    def __init__(self, *, eight_bits: bool = False) -> None:
        super().__init__()
        chance = np.random.default_rng(7)
        self.weights = [chance.normal(0, 1, shape) for shape in ((3, 24), (24, 3))]
        if eight_bits:
            self.weights = [np.round(w / (s := np.abs(w).max() / 127)) * s for w in self.weights]
        self.draw = self.edit

    def edit(self, asked: AskedEdit) -> Image.Image:
        source = Image.open(io.BytesIO(asked.files[0][1])).convert("RGB").resize(asked.size)
        pixels = np.asarray(source) / 255
        moved = np.random.default_rng([asked.seed, len(asked.fields["prompt"])]).normal(0, 0.3, 24)
        guidance = float(asked.fields.get("true_cfg_scale", 1)) if asked.fields.get("negative_prompt") else 1.0
        pushed = (guidance - 1) * (0.1 + 0.01 * len(asked.fields.get("negative_prompt", ""))) * np.ones(24)
        across = np.linspace(-1, 1, source.width)[None, :, None]  # no curve of tones would undo it
        hidden = np.tanh(pixels @ self.weights[0] + moved + pushed * across)
        made = 1 / (1 + np.exp(-hidden @ self.weights[1] / 5))
        return Image.fromarray(np.round(255 * (0.5 * pixels + 0.5 * made)).astype(np.uint8))


@pytest.fixture
def servers() -> Iterator[list[Network]]:
    with Network() as reference, Network(eight_bits=True) as quantised:
        yield [reference, quantised]


@pytest.mark.docs
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_guide_is_typed_against_two_servers(language: str, tmp_path: Path, servers: list[Any]) -> None:
    page = DOCS / "gate.md" if language == "en" else DOCS / "zh/gate.md"
    text = page.read_text("utf-8")
    for port, server in zip(PORTS, servers, strict=True):
        assert f"127.0.0.1:{port}/v1" in text
        text = text.replace(f"http://127.0.0.1:{port}/v1", server.base_url)
    (tmp_path / "gate.md").write_text(text, "utf-8")
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "EDIT_EVAL_LANG": language,
        "COLUMNS": "80",
    }
    (tmp_path / "work").mkdir()
    follow(tmp_path / "gate.md", tmp_path / "work", environment)
