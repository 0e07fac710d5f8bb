"""`init` knows closed models by name, and says what the first run costs."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from PIL import Image

from command_lines import Command, caller
from edit_eval.plugins.preparation import requests as preparation

command = pytest.fixture(caller)

PICTURES = 20


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.setattr(preparation, "examine", lambda *arguments, **named: [])
    for index in range(PICTURES):
        for folder in ("photos", "ours"):
            (tmp_path / folder).mkdir(exist_ok=True)
            Image.new("RGB", (60, 40), (10 * index, 90, len(folder))).save(tmp_path / folder / f"p{index}.png")
        (tmp_path / "photos" / f"p{index}.txt").write_text(f"make it {index}")
    return tmp_path


@pytest.mark.check
def test_a_first_try_is_proposed_with_its_price(command: Command, here: Path) -> None:
    wanted = ["--edits", "nano=gemini/gemini-3-pro-image", "--judge", "gemini/gemini-3.8-flash"]
    made = command("init", "closed.yaml", "--pictures", "photos", *wanted)
    assert made.code == 0, made
    assert "Now type:\n  edit-eval run closed.yaml --limit 2\n" in made.out
    first, whole = 2 * 0.134, PICTURES * 0.134
    assert "its key goes into $GEMINI_API_KEY" in (here / "closed.yaml").read_text()
    as_json = command("init", "closed.yaml", "--pictures", "photos", *wanted, "--force", "--json").document
    assert as_json["next"] == "edit-eval run closed.yaml --limit 2"
    told = as_json["cost_usd"]
    assert first <= told["first"] <= 1.5 * first  # the rest are questions
    assert whole <= told["whole"] <= 1.5 * whole
    assert f"about {told['first']:,.2f} USD" in made.out
    assert f"about {told['whole']:,.2f} USD" in made.out


def test_nothing_is_said_of_prices_where_nothing_is_paid(command: Command, here: Path) -> None:
    made = command("init", "--pictures", "photos", "--edits", "ours", "--judge", "m@http://127.0.0.1:9/v1")
    assert made.code == 0, made
    assert made.out.endswith("Now type:\n  edit-eval run evaluation.yaml\n")
    assert "USD" not in made.out
