"""A source to edit."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sources") / "source.png"
    Image.new("RGB", (40, 30), (10, 120, 60)).save(path)
    return path
