"""What docs/closed-models.md tells a reader to type is typed, against stubs of the providers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from closed_providers import Providers
from documented_blocks import DOCS, blocks
from edit_eval.plugins.closed_models.in_worker.providers import PROVIDERS
from late_imports import needs

needs("aiohttp")


@pytest.mark.docs
def test_the_five_commands(tmp_path: Path) -> None:
    (typed,) = [block for block in blocks(DOCS / "closed-models.md") if block.language == "sh"]
    lines = typed.text.splitlines()
    assert len(lines) == 5
    for index in range(3):
        for folder in ("photos", "ours"):
            (tmp_path / folder).mkdir(exist_ok=True)
            Image.new("RGB", (60, 40), (40 * index, 90, len(folder))).save(tmp_path / folder / f"p{index}.png")
        (tmp_path / "photos" / f"p{index}.txt").write_text(f"make it {index}")
    keys = {provider.key: f"key-of-{name}" for name, provider in PROVIDERS.items()}
    environment = {**os.environ, **keys, "EDIT_EVAL_LANG": "en", "COLUMNS": "200"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    printed = []
    with Providers() as providers:
        environment |= {f"{name}_BASE_URL".upper(): providers.address(name) for name in ("gemini", "openai")}
        for line in lines:
            done = subprocess.run(
                ["bash", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=900
            )
            assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
            printed.append(done.stdout + done.stderr)
        _, doctor, plan, first, whole = printed
        assert "leaves this machine" in doctor
        assert "Google" in doctor
        assert "cost: about" in plan
        assert "cost: about" in first
        assert "3 of 3 edits" in whole or "9 of 9" in whole, whole
        assert providers.spent() <= 12
