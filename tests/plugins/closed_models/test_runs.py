"""Whole runs over closed models and a local one: killed, resumed, and held to what they may cost."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import yaml
from PIL import Image

from closed_providers import JUDGE, Providers
from drawn_pages import read_file
from edit_eval.plugins.closed_models.in_worker.providers import PROVIDERS
from edit_eval.store.run_directory import RunDirectory
from edit_eval.store.timeline import read_timeline
from late_imports import needs

needs("aiohttp")

MODELS = {
    "nano": ("gemini", "gemini/gemini-3-pro-image"),
    "gpt": ("openai", "openai/gpt-image-2"),
    "flux": ("bfl", "bfl/flux-2-pro"),
    "router": ("openrouter", "openrouter/google/gemini-3-pro-image"),
}
SAMPLES = 6


def written(folder: Path, providers: Providers, *names: str, **execution: Any) -> Path:
    """An evaluation of pictures, with these models, a local one, and a judge that is paid, too."""
    rows = ["id,image,instruction,category"]
    for index in range(SAMPLES):
        for place in ("photos", "ours"):
            (folder / place).mkdir(exist_ok=True)
            Image.new("RGB", (60, 40), (30 * index, 90, len(place) * 20)).save(folder / place / f"p{index}.png")
        rows.append(f"p{index},photos/p{index}.png,make it {index},add")
    (folder / "table.csv").write_text("\n".join(rows))
    models: dict[str, Any] = {"ours": {"type": "image_folder", "params": {"folder": "ours"}}}
    for name in names:
        provider, model = MODELS[name]
        params = {"model": model, "base_url": providers.address(provider), "concurrency": 3, "device_ids": "cpu:1"}
        models[name] = {"type": "api", "params": params}
    judge = {"model": "gpt", "base_url": providers.address("openai"), "price": list(JUDGE), "device_ids": "cpu:1"}
    judge |= {"thinking": "off"}
    configuration = {
        "benchmark": {"type": "table", "data_path": "table.csv"},
        "edit_models": models,
        "judges": {"asked": {"type": "chat_endpoint", "params": judge}},
        "execution": {"progress": "plain", **execution},
    }
    file = folder / "eval.yaml"
    file.write_text(yaml.safe_dump(configuration))
    return file


def command(folder: Path, *words: object, config: Path | None = None) -> subprocess.Popen[str]:
    keys = {provider.key: f"key-of-{name}" for name, provider in PROVIDERS.items()}
    own = {"XDG_CONFIG_HOME": str(config.parents[1])} if config else {}
    environment = {**os.environ, **keys, **own, "EDIT_EVAL_LANG": "en"}
    asked = [sys.executable, "-m", "edit_eval", *map(str, words)]
    return subprocess.Popen(
        asked, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def ended(process: subprocess.Popen[str]) -> str:
    said, _ = process.communicate(timeout=900)
    return said


def instructions(providers: Providers, provider: str) -> Counter[str]:
    """How often each edit was asked of one."""
    counts: Counter[str] = Counter()
    for request in providers.edits(provider):
        if "chat" in request.path and provider == "openai":
            continue
        body = {**request.body, "files": []} if "files" in request.body else request.body
        said = json.dumps(body)
        asked_for = [words for words in (f"make it {n}" for n in range(SAMPLES)) if words in said]
        counts.update(asked_for[:1])  # none of a request that was cut off by the kill: that is no order
    return counts


def spent(folder: Path) -> dict[str, Any]:
    return {bill.model: bill for bill in read_timeline(RunDirectory.open_existing(folder / "run")).spent}


def made(folder: Path) -> set[tuple[str, str]]:
    """Edits that a run has, as (edit model, sample)."""
    if not (folder / "run" / "edits").exists():
        return set()
    return {
        (line["edit_model"], line["sample_id"])
        for line in RunDirectory.open_existing(folder / "run").read("edits")
        if line["status"] == "ok"
    }


def test_four_providers_and_a_local_model_are_killed_resumed_and_paid_once(tmp_path: Path) -> None:
    with Providers(seconds=0.3) as providers:
        file = written(tmp_path, providers, *MODELS, pilot=False)
        first = command(tmp_path, "run", file, "--run-dir", "run")
        while len(made(tmp_path)) < 9 and first.poll() is None:
            time.sleep(0.05)
        os.kill(first.pid, signal.SIGKILL)
        ended(first)
        before = made(tmp_path)
        assert before
        asked = {name: instructions(providers, provider) for name, (provider, _) in MODELS.items()}
        providers.seconds = 0.0
        resumed = command(tmp_path, "run", file, "--run-dir", "run")
        said = ended(resumed)
        assert resumed.returncode == 0, said
        assert len(made(tmp_path)) == SAMPLES * (len(MODELS) + 1)
        for name, (provider, _) in MODELS.items():
            after = instructions(providers, provider) - asked[name]
            paid_again = [words for words in after if (name, f"p{words.split()[-1]}") in before]
            assert not paid_again, (name, paid_again)
        counted = spent(tmp_path)
        assert sum(bill.usd + bill.feared for bill in counted.values()) >= providers.spent() - 1e-9
        assert counted["edit:router"].told
        assert not counted["edit:nano"].told
        for journal in (tmp_path / "run").rglob("*"):
            if journal.is_file() and journal.suffix in (".jsonl", ".json", ".yaml", ".log", ".html", ".md"):
                assert b"key-of-" not in read_file(journal), journal
        status = command(tmp_path, "status", "run", "--json")
        document = json.loads(ended(status))
        assert {bill["model"] for bill in document["spent"]} == {*(f"edit:{name}" for name in MODELS), "judge:asked"}


def test_edits_in_masks_are_killed_resumed_and_paid_once(tmp_path: Path) -> None:
    """OpenAI's `mask` is transparent where the picture may change; another editor is asked for the whole picture."""
    with Providers(seconds=0.3) as providers:
        file = written(tmp_path, providers, "gpt", "nano", pilot=False)
        lines = (tmp_path / "table.csv").read_text().splitlines()
        for index in range(SAMPLES):
            mask = Image.new("L", (60, 40))
            mask.paste(255, (10 * index, 0, 10 * index + 10, 40))
            mask.save(tmp_path / f"mask{index}.png")
            lines[index + 1] += f",mask{index}.png"
        (tmp_path / "table.csv").write_text("\n".join([f"{lines[0]},mask", *lines[1:]]))
        first = command(tmp_path, "run", file, "--run-dir", "run")
        while len([model for model, _ in made(tmp_path) if model == "gpt"]) < 3 and first.poll() is None:
            time.sleep(0.02)
        os.kill(first.pid, signal.SIGKILL)
        ended(first)
        before, asked = made(tmp_path), instructions(providers, "openai")
        providers.seconds = 0.0
        resumed = command(tmp_path, "run", file, "--run-dir", "run")
        said = ended(resumed)
        assert resumed.returncode == 0, said
        assert "nano: it takes no mask, and is given none of the samples' 6" in " ".join(said.split())
        after = instructions(providers, "openai") - asked
        assert not [words for words in after if ("gpt", f"p{words.split()[-1]}") in before], "paid again"
        # What was under way at the kill may have reached the provider behind it, so requests are told apart by sample.
        assert len(after) <= SAMPLES - len({sample for model, sample in before if model == "gpt"})
        sent = {}
        for request in providers.edits("openai"):
            if "files" in request.body:
                files = dict(request.body["files"])
                with Image.open(io.BytesIO(files["mask"])) as mask:
                    assert (mask.format, mask.mode, mask.size) == ("PNG", "RGBA", (60, 40))
                    transparent = mask.getchannel("A").point(lambda value: 255 - value).getbbox()
                sent[request.body["prompt"]] = transparent
        assert sent == {f"make it {n}": (10 * n, 0, 10 * n + 10, 40) for n in range(SAMPLES)}
        assert all("mask" not in json.dumps(request.body) for request in providers.edits("gemini"))
        records = RunDirectory.open_existing(tmp_path / "run")
        assert len({line["key"] for line in records.read("edits") if line["edit_model"] == "gpt"}) == SAMPLES


def test_max_cost_holds_and_the_same_command_with_more_goes_on(tmp_path: Path) -> None:
    limit = 0.95
    with Providers() as providers:
        file = written(tmp_path, providers, "flux", "router", max_cost=limit)
        held = command(tmp_path, "run", file, "--run-dir", "run")
        said = ended(held)
        assert held.returncode == 4, said
        assert "max_cost" in said
        assert 0 < providers.spent() <= limit
        there = made(tmp_path)
        more = command(tmp_path, "run", file, "--run-dir", "run", "--set", "execution.max_cost=20")
        said = ended(more)
        assert more.returncode == 0, said
        assert there < made(tmp_path)
        assert sum(instructions(providers, "bfl").values()) == SAMPLES
        assert sum(bill.usd for bill in spent(tmp_path).values()) >= providers.spent() - 1e-9


def test_what_max_cost_cannot_hold_is_refused(tmp_path: Path) -> None:
    with Providers() as providers:
        file = written(tmp_path, providers, "flux", max_cost=1)
        text = file.read_text().replace("bfl/flux-2-pro", "bfl/flux-9")
        file.write_text(text)
        refused = command(tmp_path, "run", file, "--run-dir", "run")
        assert "no price of flux is known" in ended(refused)
        assert refused.returncode == 2
        assert not providers.bill


def test_a_model_past_its_end_is_refused_only_where_it_would_be_asked(tmp_path: Path) -> None:
    mine = tmp_path / "config" / "edit-eval" / "closed.yaml"
    mine.parent.mkdir(parents=True)
    with Providers() as providers:
        file = written(tmp_path, providers, "flux")
        assert "in all, without retries" in ended(command(tmp_path, "run", file, "--run-dir", "run", config=mine))
        mine.write_text(f"editors: [{{model: bfl/flux-2-pro, ends: {date.today() - timedelta(1)}, seen: 2026-11-30}}]")
        orders = len(providers.edits("bfl"))
        finished = command(tmp_path, "run", file, "--run-dir", "run", config=mine)
        assert (ended(finished) != "", finished.returncode) == (True, 0)
        refused = command(tmp_path, "run", file, "--run-dir", "another", config=mine)
        words = f"edit model flux: it was switched off on {date.today() - timedelta(1)}; take another model"
        assert words in ended(refused)
        assert refused.returncode == 2
        doctor = command(tmp_path, "doctor", file, config=mine)
        assert words.partition(";")[0] in ended(doctor)
        assert doctor.returncode == 3
        mine.write_text(f"editors: [{{model: bfl/flux-2-pro, ends: {date.today() + timedelta(9)}, seen: 2026-11-30}}]")
        warned = command(tmp_path, "run", file, "--run-dir", "another", config=mine)
        assert f"flux: it is switched off on {date.today() + timedelta(9)}" in ended(warned)
        assert warned.returncode == 0
        assert len(providers.edits("bfl")) > orders


def test_a_task_that_was_submitted_is_fetched_by_the_next_start_after_a_kill(tmp_path: Path) -> None:
    with Providers() as providers:
        providers.held.clear()
        file = written(tmp_path, providers, "flux", pilot=False)
        first = command(tmp_path, "run", file, "--run-dir", "run")
        while first.poll() is None and len(submitted(tmp_path)) < 3:
            time.sleep(0.05)
        os.kill(first.pid, signal.SIGKILL)
        ended(first)
        bought = submitted(tmp_path)
        assert len(bought) >= 3
        providers.held.set()
        resumed = command(tmp_path, "run", file, "--run-dir", "run")
        said = ended(resumed)
        assert resumed.returncode == 0, said
        assert f"not fetched yet: {len(bought)}" in said
        assert instructions(providers, "bfl") == {f"make it {n}": 1 for n in range(SAMPLES)}
        assert not submitted(tmp_path), "nothing is to be fetched any more"


def submitted(folder: Path) -> set[str]:
    """The ids of what was bought in a run and is not fetched."""
    if not (folder / "run" / "events").exists():
        return set()
    timeline = read_timeline(RunDirectory.open_existing(folder / "run"))
    return {of["id"] for of in timeline.submitted.values() if of["id"]}
