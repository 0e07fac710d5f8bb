"""Keys come from the environment and go nowhere else: planted ones are looked for in every byte that a run leaves."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from drawn_pages import read_file
from edit_eval import evaluate
from edit_eval.errors import ConfigurationError, LoadError, ModelError
from edit_eval.execution.drivers.local import last_line
from edit_eval.plugins.endpoints.in_worker.chat_endpoint import ChatEndpoint
from edit_eval.pretrained.loading import load_errors
from edit_eval.privacy import secrets_of
from edit_eval.workers.failures import one_line
from faults.faulty_runs import faulty, settings
from judge_server import Asked, JudgeServer, Reply
from small_benchmark import sample_id

KEYS = {
    "OPENAI_API_KEY": "sk-CANARY-openai-71fd",
    "HF_TOKEN": "hf_CANARY-hub-9c02",
    "MY_SERVERS_PASSWORD": "CANARY-'quoted\"-pass\\word",
}


def with_their(text: bytes) -> list[str]:
    """The keys that stand in a text, whole or as JSON or HTML would have them."""
    names = []
    for name, value in KEYS.items():
        forms = {value, json.dumps(value)[1:-1], value.replace('"', "&quot;").replace("'", "&#39;")}
        names += [name for form in forms if form.encode() in text]
    return names


class CommandLines(threading.Thread):
    """Collects the command lines of all processes while it runs."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.seen: set[bytes] = set()
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.15):
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    self.seen.add((process / "cmdline").read_bytes())
                except OSError:
                    continue


@pytest.mark.usefixtures("cold_workers")  # what they were started with is looked at
def test_planted_keys_are_found_nowhere(tmp_path: Path) -> None:
    """An endpoint that repeats the key in its errors and answers, and a model that puts keys into its exceptions."""

    def indiscreet(asked: Asked) -> Reply:
        key = asked.headers["authorization"]
        assert key == f"Bearer {KEYS['OPENAI_API_KEY']}"
        if "turn it into 3" in asked.text:
            return Reply.error(400, f"no quota left for {key}")
        return Reply(f"Score: 5.000\nYou came with {key} and {KEYS['HF_TOKEN']}")

    with JudgeServer(indiscreet) as server:
        what = settings(tmp_path, **faulty("Rude", does={sample_id(1): "tells"}))
        params = {"device_ids": "cpu:1", "model": "judge", "base_url": server.base_url, "concurrency": 2}
        what["reward_model"] = {"type": "chat_endpoint", "params": params}
        what["evaluation"] = {"answer": "reason_then_score"}
        path = tmp_path / "config.yaml"
        path.write_text(json.dumps(what))
        command = [sys.executable, "-m", "edit_eval", "run", str(path), "--run-dir", str(tmp_path / "run"), "--debug"]
        environment = {**os.environ, **KEYS, "OPENAI_LOG": "debug"}
        watch = CommandLines()
        watch.start()
        done = subprocess.run(command, capture_output=True, env=environment, timeout=120)
        watch.over.set()
        watch.join()
    assert done.returncode == 3, done.stderr.decode()
    assert server.judged
    assert not with_their(done.stdout + done.stderr)
    assert any(b"edit_eval.workers.process" in line for line in watch.seen)
    assert not with_their(b"\n".join(watch.seen))
    files = [p for p in (tmp_path / "run").rglob("*") if p.is_file()]
    assert {"edits", "replies", "events", "config", "logs", "report"} <= {p.parent.name for p in files}
    for file in files:
        assert not with_their(read_file(file)), file
    kept = b"".join(p.read_bytes() for p in files)
    recorded = json.loads((tmp_path / "run" / "environment" / "0001.json").read_text())
    assert recorded["command"] == f"edit-eval run {path} --run-dir {tmp_path / 'run'} --debug"
    assert b"<OPENAI_API_KEY>" in kept, "the words around them are kept"
    assert b"401: <HF_TOKEN> is not valid for <OPENAI_API_KEY>" in kept


def raised(context: Any, text: str) -> str:
    with pytest.raises(ModelError) as said, context:
        raise RuntimeError(text)
    return str(said.value)


CUTS: dict[str, tuple[int, Callable[[str, Path], str]]] = {
    "a worker's message": (500, lambda text, _: one_line(RuntimeError(text))),
    "a model that cannot be loaded": (400, lambda text, _: raised(load_errors("m"), text)),
    "a log's last line": (300, lambda text, folder: last_line(written(folder / "log", text))),
    "the tail of a long log": (0, lambda text, folder: last_line(written(folder / "log", text + "." * 65_526))),
}


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", CUTS)
def test_no_part_of_a_key_is_left_where_a_text_is_cut(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key is replaced while it is whole; afterwards nobody would know its half."""
    key = KEYS["OPENAI_API_KEY"]
    monkeypatch.setenv("OPENAI_API_KEY", key)
    length, said = CUTS[name]
    for part in range(1, len(key)):
        text = said("." * max(0, length - part) + key, tmp_path)
        assert not any(key[i : i + 4] in text for i in range(len(key) - 3)), (part, text)


def test_nor_where_a_server_says_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    key = KEYS["OPENAI_API_KEY"]
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with JudgeServer() as server:
        judge = ChatEndpoint(ChatEndpoint.Parameters(model="m", base_url=server.base_url, retries=0))
        for part in range(1, len(key), 6):
            for text in ("." * (300 - part) + key, "<p>" + "." * (300 - part) + base64_of(f"user:{key}")):
                server.canary = Reply.error(400, text)
                with pytest.raises(LoadError) as failed:
                    judge.load(["cpu"])
                assert not any(key[i : i + 4] in str(failed.value) for i in range(len(key) - 3))
                assert base64_of(f"user:{key}")[8:20] not in str(failed.value)


def base64_of(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_a_run_is_as_private_as_the_umask_asks(tmp_path: Path) -> None:
    """Nothing is opened wider than the user's other files, and nothing is kept from a group that may read and write."""
    before = os.umask(0o007)
    try:
        made = evaluate(settings(tmp_path), run_dir=tmp_path / "run")
    finally:
        os.umask(before)
    kept = [made.path, *made.path.rglob("*"), *(tmp_path / "cache").rglob("*")]
    assert {p.suffix for p in kept} >= {".jsonl", ".png", ".log", ".html", ".yaml"}
    assert {oct(p.stat().st_mode & 0o777) for p in kept if p.is_file()} == {"0o660"}
    assert {oct(p.stat().st_mode & 0o777) for p in kept if p.is_dir()} == {"0o770"}


@pytest.mark.parametrize(
    "params",
    [
        {"api_key": "sk-CANARY"},
        {"api_key_env": "sk-CANARY"},
        {"base_url": "http://user:CANARY@127.0.0.1/v1"},
        {"call": {"extra_headers": {"Authorization": "CANARY"}}},
        {"call": {"extra_body": {"token": "CANARY"}}},
    ],
)
def test_a_key_in_the_configuration_is_refused_and_not_repeated(tmp_path: Path, params: dict[str, Any]) -> None:
    what = settings(tmp_path)
    what["reward_model"] = {"type": "chat_endpoint", "params": {"model": "judge", "device_ids": "cpu:1", **params}}
    with pytest.raises(ConfigurationError) as refused:
        evaluate(what, run_dir=tmp_path / "run", report=False)
    assert "CANARY" not in str(refused.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("key", ["api_key", "call.extra_headers.Authorization", "call"])
def test_a_key_that_a_later_override_takes_back_is_refused_all_the_same(tmp_path: Path, key: str) -> None:
    """The command line is recorded as it was typed."""
    value = "{extra_body: {token: sk-CANARY}}" if key == "call" else "sk-CANARY"
    overrides = [f"reward_model.params.{key}={value}", "reward_model.params={device_ids: cpu}"]
    with pytest.raises(ConfigurationError, match=r"^--set reward_model\.params\..*: do not put secrets") as refused:
        evaluate(settings(tmp_path), run_dir=tmp_path / "run", report=False, overrides=overrides)
    assert "CANARY" not in str(refused.value)
    assert not (tmp_path / "run").exists()


def test_which_variables_are_secrets() -> None:
    variables = {
        "OPENAI_API_KEY": "a" * 8,
        "APIKEY": "b" * 8,
        "HF_TOKEN": "c" * 8,
        "AWS_ACCESS_KEY_ID": "d" * 8,
        "AWS_SECRET_ACCESS_KEY": "e" * 8,
        "DB_PASSWORD": "f" * 8,
        "SHORT_TOKEN": "short",
        "TOKENIZERS_PARALLELISM": "falsefalse",
        "MAX_TOKENS": "12345678",
        "MONKEY_BUSINESS": "bananas banana",
        "PATH": "/usr/bin:/bin",
    }
    shown = secrets_of(variables).hide_in_text(" ".join(variables.values())).split()
    assert shown[:6] == [f"<{name}>" for name in list(variables)[:6]]
    assert shown[6:] == " ".join(list(variables.values())[6:]).split()
