"""Whole runs over a judge that is asked in batches: half the price, killed, resumed, and bought once."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from PIL import Image

from batch_providers import BatchProviders
from edit_eval import evaluate
from edit_eval.errors import Stopped
from edit_eval.records import Results, Spent, Status
from edit_eval.store.run_directory import RunDirectory
from edit_eval.store.timeline import read_timeline
from faults.faulty_runs import kill, workers_of
from late_imports import needs

needs("aiohttp")

SAMPLES = 8
JUDGES = {"openai": "gpt-6-luna", "gemini": "gemini-3.8-flash", "anthropic": "claude-opus-5-5"}


NAMES = {"openai": "OpenAI", "gemini": "Google", "anthropic": "Anthropic"}
PILOT = 3


def written(folder: Path, providers: BatchProviders, api: str, more: Any = None, **execution: Any) -> Path:
    """An evaluation of edits that are there, by a maker's judge with `more` parameters."""
    rows = ["id,image,instruction,category"]
    for index in range(SAMPLES):
        for place in ("photos", "ours"):
            (folder / place).mkdir(exist_ok=True)
            Image.new("RGB", (60, 40), (30 * index, 90, len(place) * 20)).save(folder / place / f"p{index}.png")
        rows.append(f"p{index},photos/p{index}.png,make it number {index},add")
    (folder / "table.csv").write_text("\n".join(rows))
    judge = {"api": api, "model": JUDGES[api], "base_url": providers.address(api), "device_ids": "cpu:1"}
    judge |= {"batch_interface": True, "batch_seconds": 0.2, "retries": 1, **(more or {})}
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


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for api in JUDGES:
        monkeypatch.setenv(f"{api.upper()}_API_KEY", f"key-of-{api}")


@pytest.fixture
def providers() -> Iterator[BatchProviders]:
    with BatchProviders() as running:
        yield running


def run(folder: Path, file: Path) -> Results:
    return evaluate(file, run_dir=folder / "run", report=False).results


def command(folder: Path, *words: object) -> subprocess.Popen[str]:
    environment = {**os.environ, "EDIT_EVAL_LANG": "en"}
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
    return {of.batch: of.questions for of in read_timeline(opened(folder)).waiting}


def await_batches(process: subprocess.Popen[str], folder: Path, questions: int) -> None:
    while process.poll() is None and sum(count for batch, count in waiting(folder).items() if batch) < questions:
        time.sleep(0.05)
    assert process.poll() is None, ended(process)


def spent(folder: Path) -> Spent:
    (bill,) = read_timeline(opened(folder)).spent
    return bill


def scored(folder: Path) -> Counter[str]:
    return Counter(line["status"] for line in opened(folder).read("replies"))


def bought(providers: BatchProviders) -> Counter[str]:
    """How often each sample was asked about, in batches and at once."""
    at_once = [json.dumps(of.body) for of in providers.asked if of.body and re.search("chat|messages$|:gen", of.path)]
    texts = [*providers.named(), *(re.sub(r"[\w+/]{99,}", "", text) for text in at_once)]
    return Counter(name for text in texts for name in re.findall(r"make it number \d", text)[:1])


ONCE = {f"make it number {n}": 1 for n in range(SAMPLES)}
CHECKED = pytest.mark.check


@pytest.mark.parametrize(
    ("api", "on_later"),
    [("gemini", True), pytest.param("openai", True, marks=CHECKED), pytest.param("anthropic", False, marks=CHECKED)],
)
def test_a_killed_run_is_resumed_at_the_cost_of_one(
    api: str, on_later: bool, tmp_path: Path, providers: BatchProviders
) -> None:
    """Also if what was bought in a batch is fetched by a start that would ask at once."""
    providers.held.clear()
    file = written(tmp_path, providers, api, max_cost=5)
    assert ", in batches" in " ".join(ended(command(tmp_path, "plan", file)).split())
    first = command(tmp_path, "run", file, "--run-dir", "run")
    await_batches(first, tmp_path, SAMPLES - PILOT)
    status = json.loads(ended(command(tmp_path, "status", "run", "--json")))
    assert [(of["provider"], of["questions"]) for of in status["waiting"]] == [(NAMES[api], SAMPLES - PILOT)]
    assert f"asked: 5 questions in {providers.made[0].id} at {NAMES[api]}" in " ".join(
        ended(command(tmp_path, "status", "run")).split()
    )
    os.kill(first.pid, signal.SIGKILL)
    said = first.communicate()[0]
    assert "answered within a day" in said
    assert spent(tmp_path).feared > 0
    providers.held.set()
    switch = ("--set", f"judges.asked.params.batch_interface={str(on_later).lower()}")
    said = ended(command(tmp_path, "run", file, "--run-dir", "run", *switch))
    assert f"not fetched yet: {SAMPLES - PILOT}" in said
    assert bought(providers) == ONCE
    assert len(providers.made) == 1
    assert scored(tmp_path) == {"ok": SAMPLES}
    assert not waiting(tmp_path)
    assert spent(tmp_path).feared == 0
    assert spent(tmp_path).usd >= sum(usd for _, usd in providers.bill) - 1e-9
    switch = ("--set", f"judges.asked.params.batch_interface={str(not on_later).lower()}")
    ended(command(tmp_path, "run", file, "--run-dir", "run", *switch))
    assert bought(providers) == ONCE, "switching it asks again"


def test_a_worker_that_is_killed_fetches_what_it_had_bought(tmp_path: Path, providers: BatchProviders) -> None:
    providers.held.clear()
    process = command(tmp_path, "run", written(tmp_path, providers, "openai"), "--run-dir", "run")
    await_batches(process, tmp_path, SAMPLES - PILOT)
    for worker in workers_of(tmp_path / "run", "judge"):
        kill(worker)
    while "died" not in {line["event"] for line in opened(tmp_path).read("events")}:
        time.sleep(0.05)
    providers.held.set()
    ended(process)
    assert bought(providers) == ONCE
    assert scored(tmp_path) == {"ok": SAMPLES}


def test_an_interrupted_run_does_not_wait_for_its_batches(tmp_path: Path, providers: BatchProviders) -> None:
    providers.held.clear()
    file = written(tmp_path, providers, "openai")
    process = command(tmp_path, "run", file, "--run-dir", "run")
    await_batches(process, tmp_path, SAMPLES - PILOT)
    process.send_signal(signal.SIGINT)
    ended(process, 130)
    assert sum(waiting(tmp_path).values()) == SAMPLES - PILOT
    providers.held.set()
    run(tmp_path, file)
    assert bought(providers) == ONCE


def test_a_batch_outlasts_every_limit_of_time(tmp_path: Path, providers: BatchProviders) -> None:
    providers.held.clear()
    more = {"timeout": 1.5, "deadline": 1.0, "attempt_timeout": 1.0, "batch_size": 4}
    file = written(tmp_path, providers, "gemini", more)
    threading.Timer(6.0, providers.held.set).start()
    results = run(tmp_path, file)
    assert {judgement.status for judgement in results.judgements} == {Status.OK}
    assert bought(providers) == ONCE
    assert not results.telemetry.device_failures
    took = [activity for activity in results.telemetry.activities if activity.kind == "judging"]
    assert max(activity.end - activity.begin for activity in took) < 3, "a batch takes no device's time"


def test_what_was_not_come_to_is_asked_once_more_and_costs_nothing(tmp_path: Path, providers: BatchProviders) -> None:
    providers.plans += ["expired", "missing"]
    results = run(tmp_path, written(tmp_path, providers, "openai"))
    assert {judgement.status for judgement in results.judgements} == {Status.OK}
    assert len(providers.made) == 3
    counted = bought(providers)
    assert sorted(counted.values()) == [1] * (SAMPLES - 2) + [2, 3]
    assert results.telemetry.spent[0].usd >= sum(usd for _, usd in providers.bill) - 1e-9


def test_what_expires_twice_is_left_for_another_start(tmp_path: Path, providers: BatchProviders) -> None:
    providers.plans += ["expired", "expired", "succeeded"]
    file = written(tmp_path, providers, "anthropic")
    with pytest.raises(Stopped, match=r"left for another start: batch msgbatch_1 at Anthropic did not come to"):
        run(tmp_path, file)
    assert not waiting(tmp_path)
    assert {judgement.status for judgement in run(tmp_path, file).judgements} == {Status.OK}


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ("strange_state", "is 'BATCH_STATE_DREAMING', which is not known; it is looked after by the next start"),
        ("unauthorized", "answered 401 Unauthorized: Incorrect API key provided"),
    ],
)
def test_what_cannot_be_understood_stays_bought(
    plan: str, words: str, tmp_path: Path, providers: BatchProviders
) -> None:
    providers.plans += [plan]
    file = written(tmp_path, providers, "openai", max_cost=5)
    with pytest.raises(Stopped) as stopped:
        run(tmp_path, file)
    assert words in str(stopped.value)
    assert sum(waiting(tmp_path).values()) == SAMPLES - PILOT
    feared = spent(tmp_path).feared
    assert feared > 0
    providers.made[0].plan = "succeeded"
    assert {judgement.status for judgement in run(tmp_path, file).judgements} == {Status.OK}
    assert bought(providers) == ONCE
    assert spent(tmp_path).feared == 0


def test_a_batch_that_nobody_knows_any_more_is_not_bought_again_unasked(
    tmp_path: Path, providers: BatchProviders
) -> None:
    providers.plans += ["gone"]
    file = written(tmp_path, providers, "openai")
    results = run(tmp_path, file)
    lost = [judgement for judgement in results.judgements if judgement.status is Status.JUDGE_ERROR]
    assert len(lost) == SAMPLES - PILOT
    assert "OpenAI knows no batch batch_0" in lost[0].reason
    run(tmp_path, file)
    assert bought(providers) == ONCE
    assert not waiting(tmp_path)


def test_one_questions_failure_is_its_own(tmp_path: Path, providers: BatchProviders) -> None:
    providers.plans += ["errors"]
    results = run(tmp_path, written(tmp_path, providers, "gemini"))
    failed = [judgement for judgement in results.judgements if judgement.status is not Status.OK]
    assert [judgement.status for judgement in failed] == [Status.JUDGE_ERROR]
    assert "this picture is too small" in failed[0].reason


def test_a_batch_counts_in_max_cost_when_it_is_handed_in(tmp_path: Path, providers: BatchProviders) -> None:
    """Nothing is handed in that could exceed the limit; what turns out cheaper makes room for more."""
    providers.held.clear()
    file = written(tmp_path, providers, "gemini", max_cost=0.105)
    process = command(tmp_path, "run", file, "--run-dir", "run")
    await_batches(process, tmp_path, 1)
    time.sleep(1.5)
    held = sum(waiting(tmp_path).values())
    assert 0 < held < SAMPLES - PILOT
    assert spent(tmp_path).usd + spent(tmp_path).feared <= 0.105
    providers.held.set()
    ended(process)
    assert bought(providers) == ONCE
    assert len(providers.made) > 1
    assert sum(usd for _, usd in providers.bill) <= spent(tmp_path).usd + 1e-9


def test_nothing_is_handed_in_before_the_pilot_has_shown_that_the_judge_works(
    tmp_path: Path, providers: BatchProviders
) -> None:
    file = written(tmp_path, providers, "openai")
    text = (tmp_path / "table.csv").read_text()
    (tmp_path / "table.csv").write_text(re.sub("make it", "LIMIT make it", text))
    with pytest.raises(Stopped, match="pilot: none of the first 3 answers by asked is a score"):
        run(tmp_path, file)
    assert not providers.made
