"""A run whose edit model is a server that does all that servers do: each sample ends as what it is; no key leaks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from drawn_pages import read_file
from edit_eval import evaluate
from edit_eval.errors import Stopped
from edit_eval.records import Status
from edit_eval.run import Run
from faults.faulty_runs import Ears, lines, settings
from image_server import AskedEdit, ImageServer, Reply, at, black, drawn, encoded, finished, picture, refused
from late_imports import needs
from small_benchmark import sample_id, write_benchmark

needs("aiohttp")

KEY = "sk-CANARY-edits-4f1b09d2"
TRUNCATED = picture(encoded(drawn((64, 64), 1))[:-20])
COUNT = 21

ONCE: dict[int, Reply] = {
    0: Reply.error(429, retry_after=0.2),
    1: Reply.error(500),
    2: Reply(manner="nothing"),
    3: Reply(manner="half"),
    4: Reply.html(502),
    5: TRUNCATED,
    6: finished("NO_IMAGE"),
    7: Reply(manner="hang"),
}
ALWAYS: dict[int, Reply] = {
    8: Reply.error(500, f"came with {KEY}"),
    9: Reply(status=302, headers={"Location": "http://elsewhere.example/v1/images/edits"}, body=b""),
    10: TRUNCATED,
    11: Reply.error(400, f"no such size for {KEY}"),
    12: at(f"http://elsewhere.example/{KEY}.png"),
    13: refused(["violence"], f"rejected, {KEY}"),
    14: finished("IMAGE_SAFETY"),
    15: black(),
    16: picture(drawn((32, 16), 1), "WEBP"),
    17: picture(drawn((64, 128), 2)),
    18: at("/files/18.png"),
}
FAILED = {8: "500", 9: "redirects to http://elsewhere", 10: "truncated", 11: "no such size", 12: "allowed_hosts"}
REFUSED = {13: r"refused (moderation_blocked): rejected, <OPENAI_API_KEY>", 14: "IMAGE_SAFETY", 15: "flagged"}


def number_of(asked: AskedEdit) -> int:
    match = re.search(r"turn it into (\d+)", asked.fields["prompt"])
    assert match
    return int(match[1])


def edited_by(server: ImageServer, folder: Path, **params: Any) -> dict[str, Any]:
    what = settings(folder)
    given = {"device_ids": "cpu:1", "model": "editor", "base_url": server.base_url, "retries": 1, "concurrency": 6}
    what["diffusion_model"] = {"type": "image_endpoint", "params": {**given, **params}}
    return what


def run(what: dict[str, Any], folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    path = folder / "config.yaml"
    path.write_text(json.dumps(what))
    command = [sys.executable, "-m", "edit_eval", "run", str(path), "--run-dir", str(folder / "run"), *flags]
    environment = {**os.environ, "OPENAI_API_KEY": KEY, "OPENAI_LOG": "debug"}
    environment.pop("OPENAI_BASE_URL", None)
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=240)


def test_each_sample_ends_as_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_benchmark(tmp_path, COUNT)
    times: Counter[int] = Counter()

    def answer(asked: AskedEdit) -> Reply:
        number = number_of(asked)
        times[number] += 1
        if times[number] == 1 and number in ONCE:
            return ONCE[number]
        return ALWAYS.get(number, Reply())

    with ImageServer(answer) as server:
        server.files["/files/18.png"] = encoded(drawn((32, 16), 3))
        what = edited_by(server, tmp_path, attempt_timeout=8.0)
        done = run(what, tmp_path, "--debug")
        assert done.returncode == 3, done.stderr
        made = Run(tmp_path / "run")
        edits = {edit.sample_id: edit for edit in made.results.edits}
        by_number = {number: edits[sample_id(number)] for number in range(COUNT)}
        expected = {n: Status.EDIT_FAILED if n in FAILED else Status.EDIT_REFUSED for n in (*FAILED, *REFUSED)}
        assert {n: edit.status for n, edit in by_number.items()} == {
            n: expected.get(n, Status.OK) for n in range(COUNT)
        }
        for number, words in {**FAILED, **REFUSED}.items():
            assert words in by_number[number].reason
        assert by_number[17].flags == ("other_aspect_ratio",), "a picture of another size is taken as it is"
        assert (by_number[17].width, by_number[17].height) == (64, 128)
        assert [times[n] for n in (9, 11, 12)] == [1, 1, 1], "what will not get better is asked for once"
        assert {asked.fields["size"] for asked in server.edited} == {"32x16"}

        assert made.summary.coverage.by_status == {"ok": 13, "edit_failed": 5, "edit_refused": 3}
        (counted,) = made.summary.edits
        assert (counted.total, counted.edit_refused.count, counted.edit_failed.count) == (21, 3, 5)
        assert counted.edit_refused.rate == pytest.approx(3 / 21)
        low, high = counted.edit_refused.ci95
        assert low < 3 / 21 < high
        said = "image_endpoint refused 3 of 21 edits: 14% (3–36%)."
        report = (tmp_path / "run" / "report" / "report.md").read_text()
        assert said in done.stdout
        assert said in report.replace("\\", "")
        assert "edit refused" in report
        page = (tmp_path / "run" / "report" / "index.html").read_text()
        assert "refused 3 of 21 edits" in page
        shown = subprocess.run(
            [sys.executable, "-m", "edit_eval", "status", str(tmp_path / "run")], capture_output=True, text=True
        ).stdout
        assert re.search(r"refused +skipped", shown)
        assert "--retry edit_failed" in shown
        assert "edit_failed,edit_refused" not in shown, "nobody is told to ask for a refusal again"

        files = [p for p in (tmp_path / "run").rglob("*") if p.is_file()]
        assert {"edits", "replies", "events", "config", "environment", "logs", "report"} <= {
            p.parent.name for p in files
        }
        for file in files:
            assert KEY.encode() not in read_file(file), file
        assert KEY not in done.stdout + done.stderr
        models: Any = made.results.provenance.environment["models"]
        (about,) = (a for m, a in models.items() if m.startswith("edit:"))
        assert (about["same_seed"], about["other_seed"]) == ("the same picture", "another picture")

        before = dict(times)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        evaluate(what, run_dir=tmp_path / "run", report=False)
        assert times == before, "neither a failure nor a refusal is asked for again"
        evaluate(what, run_dir=tmp_path / "run", report=False, retry=["edit_refused"])
        assert {n for n in range(COUNT) if times[n] > before[n]} == set(REFUSED)


def test_a_server_that_is_gone_costs_no_sample_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its `/health` is 200 all the time. First it is soon well, and the worker is replaced; then it stays away."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    write_benchmark(tmp_path, 12)
    died = Reply.error(503, "the engine has died")
    ears = Ears()

    with ImageServer() as server:
        port = server.port
        server.draw = lambda asked: drawn(asked.size, 5)
        well = server.canary

        def sick_once(asked: AskedEdit) -> Reply:
            server.canary = well
            return died

        def answer(asked: AskedEdit) -> Reply:
            if len(server.edited) == 3:
                server.canary = sick_once
                return died
            if len(server.edited) > 6:
                server.answer = server.canary = Reply(manner="nothing")
                return Reply(manner="nothing")
            return Reply()

        server.answer = answer
        what = edited_by(server, tmp_path, concurrency=1, retries=0)
        with pytest.raises(Stopped, match="cannot be reached, or dropped the connection") as stopped:
            evaluate(what, run_dir=tmp_path / "run", report=False, spectator=ears)
    assert stopped.value.exit_code == 4
    assert any("is replaced" in note for note in ears.notes)
    assert any("another seed gives the same picture" in note for note in ears.notes)
    status = Counter(edit.status for edit in Run(tmp_path / "run").results.edits)
    assert set(status) == {Status.OK, Status.PENDING}, "no sample pays for the server"
    assert status[Status.OK] >= 4
    with ImageServer(port=port) as server:
        made = evaluate(what, run_dir=tmp_path / "run", report=False)
        assert len(server.edited) == status[Status.PENDING]
    assert made.summary.coverage.by_status == {"ok": 12}
    notes = "\n".join(made.summary.notes)
    assert "another seed gives the same picture there" in notes, "the report says so, too"
    assert "other_seed the same picture -> another picture" in notes


def test_when_a_server_goes_one_of_those_under_way_is_tried_again_and_the_others_are_as_if_never_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    write_benchmark(tmp_path, 9)
    together, sick = threading.Barrier(4), iter([Reply.error(503)] * 4)

    with ImageServer() as server:

        def answer(asked: AskedEdit) -> Reply:
            if server.edited.index(asked) >= 4:
                return Reply()
            if together.wait(60) == 0:
                server.canary = lambda asked: next(sick, Reply())
            together.wait(60)
            return Reply.error(400, "no engine")

        server.answer = answer
        what = edited_by(server, tmp_path, concurrency=4, retries=9)
        made = evaluate(what, run_dir=tmp_path / "run", report=False)
    assert made.summary.coverage.by_status == {"ok": 9}
    (attempt,) = (line for line in lines(made.path, "edits") if line["status"] == "pending")
    assert "no engine" in attempt["reason"]


def test_a_class_of_ones_own_refuses_with_its_words(tmp_path: Path) -> None:
    """No replica is retired for it, however often, and what follows a refused edit is not made."""
    write_benchmark(tmp_path, 12)
    (tmp_path / "careful.py").write_text(
        "from edit_eval.errors import Refused\n\n\nclass Careful:\n"
        "    def __init__(self, parameters): pass\n    def load(self, devices): pass\n"
        "    def edit(self, request, on_step):\n"
        "        if request.seed:\n            raise Refused('not this one')\n        return request.source\n"
    )
    what = settings(tmp_path)
    what["diffusion_model"] = {"class_path": f"{tmp_path}/careful.py:Careful", "params": {"device_ids": "cpu:2"}}
    made = evaluate(what, run_dir=tmp_path / "run", report=False)
    assert Counter(edit.status for edit in made.results.edits) == {Status.OK: 1, Status.EDIT_REFUSED: 11}
    assert {edit.reason for edit in made.results.edits} == {"", "not this one"}
    assert {
        judgement.outcome("score") for judgement in made.results.judgements if judgement.status is not Status.OK
    } == {(Status.EDIT_REFUSED, "not this one")}
    assert not [event for event in lines(made.path, "events") if event["event"] in ("retired", "died")]
    assert len(lines(made.path, "edits")) == 12, "each was asked for once"
