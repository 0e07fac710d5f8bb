"""Edit model and judge ask servers, both from `cpu:1`: neither takes the place, so neither waits for the other one."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from edit_eval import evaluate
from edit_eval.records import Status
from faults.faulty_runs import Ears, settings
from image_server import AskedEdit, ImageServer, Reply
from judge_server import Asked, JudgeServer
from late_imports import needs
from small_benchmark import write_benchmark

needs("aiohttp")

COUNT, LAST = 12, 4
PATIENCE = 60.0
"""Seconds after which a server gives up waiting for what the other one is to be asked meanwhile."""


class Meeting:
    """The last edits are answered once the judge has been asked, and it answers once they have been asked for."""

    def __init__(self) -> None:
        self._edits, self._lock = 0, threading.Lock()
        self._last_began, self._judging = threading.Event(), threading.Event()
        self.in_vain: list[str] = []

    def edit(self, asked: AskedEdit) -> Reply:
        with self._lock:
            self._edits += 1
            is_last = self._edits > COUNT - LAST
        if is_last:
            self._last_began.set()
            self._wait(self._judging, "an edit waited for the judge")
        return Reply()

    def judge(self, asked: Asked) -> Reply:
        self._judging.set()
        self._wait(self._last_began, "the judge waited for an edit")
        return Reply("Score: 5")

    def _wait(self, event: threading.Event, what: str) -> None:
        if not event.wait(PATIENCE):
            self.in_vain.append(what)


@pytest.mark.parametrize("execution", [{}, {"schedule": "batch_sync", "pilot": True}, {"placement": "together"}])
def test_two_clients_on_one_device_work_at_once_and_are_loaded_once(tmp_path: Path, execution: dict[str, Any]) -> None:
    write_benchmark(tmp_path, COUNT)
    meeting, ears = Meeting(), Ears()
    with ImageServer(meeting.edit) as editor, JudgeServer(meeting.judge) as judge:
        what = settings(tmp_path, execution=execution)
        for role, kind, server in (
            ("diffusion_model", "image_endpoint", editor),
            ("reward_model", "chat_endpoint", judge),
        ):
            model = "editor" if server is editor else "judge"
            params = {"device_ids": "cpu:1", "model": model, "base_url": server.base_url, "concurrency": 2}
            what[role] = {"type": kind, "params": params}
        made = evaluate(what, run_dir=tmp_path / "run", report=False, spectator=ears)
    assert {judgement.status for judgement in made.results.judgements} == {Status.OK}
    assert not meeting.in_vain
    activities = made.results.telemetry.activities
    assert Counter(a.role for a in activities if a.kind == "loading") == {"edit": 1, "judge": 1}
    work = [a for a in activities if a.kind in ("editing", "judging")]
    assert len({a.device for a in work}) == 1
    for gone in (a for a in activities if a.kind == "unloading"):
        assert gone.begin >= max(a.end for a in work if a.role == gone.role)
    assert not any("own devices" in note for note in ears.notes)
