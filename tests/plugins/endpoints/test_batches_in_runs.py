"""Whole runs over a judge that is asked in batches: half the price, killed, resumed, and bought once."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from PIL import Image

from batch_providers import BatchProviders
from edit_eval.records import Spent
from edit_eval.store.run_directory import RunDirectory
from late_imports import needs

needs("aiohttp")

SAMPLES = 8
JUDGES = {"openai": "gpt-6-luna", "gemini": "gemini-3.8-flash", "anthropic": "claude-opus-5-5"}


def written(folder: Path, providers: BatchProviders, api: str, *, batches: bool = True, **execution: Any) -> Path:
    """An evaluation of edits that are there, by a maker's judge."""
    rows = ["id,image,instruction,category"]
    for index in range(SAMPLES):
        for place in ("photos", "ours"):
            (folder / place).mkdir(exist_ok=True)
            Image.new("RGB", (60, 40), (30 * index, 90, len(place) * 20)).save(folder / place / f"p{index}.png")
        rows.append(f"p{index},photos/p{index}.png,make it number {index},add")
    (folder / "table.csv").write_text("\n".join(rows))
    judge = {"api": api, "model": JUDGES[api], "base_url": providers.address(api), "device_ids": "cpu:1"}
    judge |= {"batch_interface": batches, "batch_seconds": 0.3, "retries": 1}
    configuration = {
        "benchmark": {"type": "table", "data_path": "table.csv"},
        "edit_models": {"ours": {"type": "image_folder", "params": {"folder": "ours"}}},
        "judges": {"asked": {"type": "chat_endpoint", "params": judge}},
        "evaluation": {"controls": 0},
        "execution": {"progress": "plain", **execution},
    }
    file = folder / "eval.yaml"
    file.write_text(yaml.safe_dump(configuration))
    return file


def command(folder: Path, *words: object) -> subprocess.Popen[str]:
    keys = {f"{api.upper()}_API_KEY": f"key-of-{api}" for api in JUDGES}
    environment = {**os.environ, **keys, "EDIT_EVAL_LANG": "en"}
    asked = [sys.executable, "-m", "edit_eval", *map(str, words)]
    return subprocess.Popen(
        asked, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def ended(process: subprocess.Popen[str], code: int = 0) -> str:
    said, _ = process.communicate(timeout=300)
    assert process.returncode == code, said
    return said


def opened(folder: Path) -> RunDirectory:
    return RunDirectory.open_existing(folder / "run")


def waiting(folder: Path) -> dict[str, int]:
    """By its id, how many questions wait in each batch."""
    if not (folder / "run" / "events").exists():
        return {}
    return {of.batch: of.questions for of in opened(folder).timeline().waiting}


def await_batches(process: subprocess.Popen[str], folder: Path, questions: int) -> None:
    while process.poll() is None and sum(count for batch, count in waiting(folder).items() if batch) < questions:
        time.sleep(0.05)
    assert process.poll() is None, ended(process)


def spent(folder: Path) -> Spent:
    (bill,) = opened(folder).timeline().spent
    return bill


def scored(folder: Path) -> Counter[str]:
    return Counter(line["status"] for line in opened(folder).read("replies"))


def bought(providers: BatchProviders) -> Counter[str]:
    """How often each sample was asked about, in batches and at once."""
    at_once = [json.dumps(of.body) for of in providers.asked if of.body and re.search("chat|messages$|:gen", of.path)]
    texts = [*providers.named(), *(re.sub(r"[\w+/]{99,}", "", text) for text in at_once)]
    return Counter(name for text in texts for name in re.findall(r"make it number \d", text)[:1])


@pytest.mark.parametrize("api", ["gemini", *(pytest.param(api, marks=pytest.mark.check) for api in ("openai", "anthropic"))])
def test_a_killed_run_is_resumed_at_the_cost_of_one(api: str, tmp_path: Path) -> None:
    with BatchProviders() as providers:
        providers.held.clear()
        file = written(tmp_path, providers, api, max_cost=5)
        planned = ended(command(tmp_path, "plan", file))
        assert "in batches" in planned
        first = command(tmp_path, "run", file, "--run-dir", "run")
        await_batches(first, tmp_path, SAMPLES - 3)
        pilot = len([1 for of in providers.asked if of.body])
        status = json.loads(ended(command(tmp_path, "status", "run", "--json")))
        assert [(of["provider"], of["questions"]) for of in status["waiting"]] == [(providers_name(api), SAMPLES - 3)]
        assert "waiting" in ended(command(tmp_path, "status", "run"))
        os.kill(first.pid, signal.SIGKILL)
        first.communicate()
        assert spent(tmp_path).feared > 0
        providers.held.set()
        said = ended(command(tmp_path, "run", file, "--run-dir", "run"))
        assert f"not fetched yet: {SAMPLES - 3}" in said
        assert bought(providers) == {f"make it number {n}": 1 for n in range(SAMPLES)}
        assert len(providers.made) == 1
        assert pilot > 3
        assert scored(tmp_path) == {"ok": SAMPLES}
        assert not waiting(tmp_path)
        assert spent(tmp_path).feared == 0
        assert spent(tmp_path).usd >= sum(usd for _, usd in providers.bill) - 1e-9
        again = ended(command(tmp_path, "run", file, "--run-dir", "run", "--set", "judges.asked.params.batch_interface=false"))
        assert "nothing" in again or "complete" in again or again
        assert len(providers.made) == 1
        assert bought(providers) == {f"make it number {n}": 1 for n in range(SAMPLES)}


def providers_name(api: str) -> str:
    return {"openai": "OpenAI", "gemini": "Google", "anthropic": "Anthropic"}[api]
