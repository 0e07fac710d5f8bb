"""`doctor` asks a judge's server about an example: what it says of the answer, and that a dead one stops."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edit_eval.config.identity import Identity
from edit_eval.config.recorded import ProtocolSection
from edit_eval.execution.findings import Finding
from edit_eval.plugins.preparation import requests as preparation
from edit_eval.plugins.preparation.probing import server_finding
from edit_eval.protocols.asked import AskedJudge, make_protocol
from edit_eval.protocols.contract import Question
from image_server import ImageServer, Reply
from judge_server import JudgeServer
from level_of_edit import LevelOfEdit
from played_servers import KINDS, PlayedServer
from small_matrix import small_sample

KEY = "sk-CANARY-4f1b09d2"


def configuration(folder: Path, judge: dict[str, Any]) -> Path:
    path = folder / "config.json"
    what = {
        "benchmark": {"type": "scenes", "count": 2, "size": 128, "cache_dir": str(folder / "cache")},
        "diffusion_model": {"type": "copy_source", "params": {"device_ids": "cpu:1"}},
        "reward_model": judge,
    }
    path.write_text(json.dumps(what))
    return path


def server(url: str) -> dict[str, Any]:
    return {"type": "chat_endpoint", "params": {"device_ids": "cpu:1", "model": "m", "base_url": url}}


def asked(form: str) -> tuple[AskedJudge, Question]:
    """A judge with the packaged rubrics, and its question about a sample."""
    section = ProtocolSection(
        type="rubric", class_path="edit_eval.protocols.rubric:Rubric", parameters={"answer": form}, retries=2
    )
    made, texts = make_protocol(section, Path())
    (question,) = made.questions(small_sample(0))
    return AskedJudge(Identity("j", "testing", ""), section, texts, made), question


def said(findings: list[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.area == "servers"]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


class TestThroughDoctor:
    """By the very client of a run, in the interpreter of the judge."""

    def test_one_question_with_pictures_and_the_rubric(self, tmp_path: Path) -> None:
        pytest.importorskip("openai")
        with PlayedServer(KINDS["vllm"], answer=f"Score: 7.500\nYour key is {KEY}") as up:
            findings = preparation.examine(configuration(tmp_path, server(up.base_url)))
        (asked,) = up.judged
        assert [image[:8] for image in asked.images] == [b"\x89PNG\r\n\x1a\n"] * 2
        assert asked.images[0] != asked.images[1], "the example, and what it is to become"
        assert "strict and fair judge" in asked.text
        assert asked.headers["authorization"] == f"Bearer {KEY}"
        finding, able = said(findings)
        assert f"{up.base_url} answered in " in finding.text
        assert able.text == (
            "judge chat_endpoint: its server enforces a schema (response_format); gives probabilities "
            "(logprobs, systemone); takes a switch for thinking (chat_template_kwargs), which its model may not heed"
        )
        assert "Your key is <OPENAI_API_KEY>" in finding.text

    def test_a_dead_server_stops_with_its_address_and_nothing_else(self, tmp_path: Path) -> None:
        pytest.importorskip("openai")
        with JudgeServer() as gone:
            url = gone.base_url
        command = [sys.executable, "-m", "edit_eval", "doctor", str(configuration(tmp_path, server(url))), "--json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240)
        assert done.returncode == 3, done.stderr
        (stopping,) = [finding for finding in json.loads(done.stdout) if finding["stops"]]
        assert stopping["area"] == "servers"
        assert "cannot be reached" in stopping["text"]
        assert url in stopping["text"]
        assert KEY not in done.stdout + done.stderr

    @pytest.mark.parametrize(
        ("answer", "params", "level", "text"),
        [
            (Reply(), {}, "ok", r"answered in .* with a picture of 512 x 384 pixels$"),
            (Reply(), {"probe": False}, "ok", r"no edit was requested \(probe: false\)$"),
            (Reply.error(404, f"{KEY} has no such model"), {}, "problem", r"<OPENAI_API_KEY> has .*\(it has editor\)"),
        ],
    )
    def test_an_edit_model_behind_a_server_makes_one_edit(
        self, tmp_path: Path, answer: Reply, params: dict[str, Any], level: str, text: str
    ) -> None:
        pytest.importorskip("openai")
        with ImageServer(answer) as up:
            path = configuration(tmp_path, {"type": "testing", "params": {"device_ids": "cpu:1"}})
            what = json.loads(path.read_text())
            given = {"device_ids": "cpu:1", "model": "editor", "base_url": up.base_url, **params}
            what["diffusion_model"] = {"type": "image_endpoint", "params": given}
            path.write_text(json.dumps(what))
            findings = preparation.examine(path)
        assert len(up.asked) == (not params)
        (finding,) = said(findings)
        assert finding.level == level
        assert finding.text.startswith("edit model image_endpoint: ")
        assert re.search(text, finding.text)

    @pytest.mark.parametrize(
        ("body", "level", "text"),
        [
            ("return request.form + ' of ' + request.category", "warning", "answered in .* without a score"),
            ("raise OSError('nobody at http://h')", "problem", "OSError: nobody at http://h"),
            ("raise SystemExit('gone')", "problem", "SystemExit: gone"),
        ],
    )
    def test_any_class_may_have_such_a_question(self, tmp_path: Path, body: str, level: str, text: str) -> None:
        (tmp_path / "mine.py").write_text(
            "class Judge:\n    def __init__(self, parameters): pass\n    def load(self, devices): raise ValueError\n"
            f"    def judge(self, requests): return []\n    def examine(self, request): {body}\n"
        )
        path = configuration(tmp_path, {"class_path": "mine:Judge", "params": {"device_ids": "cpu:1"}})
        findings = preparation.examine(path)
        (finding,) = said(findings)
        assert finding.level == level
        assert re.search(text, finding.text)

    def test_who_has_none_is_not_asked(self, tmp_path: Path) -> None:
        judge = {"type": "testing", "params": {"device_ids": "cpu:1", "fail_to_load": "never"}}
        findings = preparation.examine(configuration(tmp_path, judge))
        assert not said(findings)
        assert not any(finding.stops for finding in findings)


@pytest.mark.parametrize(
    ("examined", "form", "level", "text", "advice"),
    [
        ({"text": "Score: 7.500"}, "score", "ok", "http://h answered in 2.0 s: `Score: 7.500`", ""),
        ({"text": "I like it."}, "score", "warning", "without a score", "protocol: {answer: reason_then_score}"),
        ({"text": "I like it."}, "reason_then_score", "warning", "without a score", "see which model answers there"),
        ({"text": "Score: 7", "ended": "cut_off"}, "score", "warning", "was cut off: `Score: 7`", "raise max_tokens"),
        ({"text": "<think>Hm", "ended": "cut_off"}, "score", "warning", "was cut off", "write `thinking: off`"),
        ({"text": "Score: 7.000\n" + "x" * 100}, "reason_then_score", "warning", "without a score", "see which"),
        ({"error": "down (http://h)"}, "score", "problem", "judge j: down (http://h)", "a run would get no scores"),
    ],
)
def test_what_an_answer_means(examined: dict[str, Any], form: str, level: str, text: str, advice: str) -> None:
    answered = {"ended": "ok", "seconds": 2.0, "about": {"server": "http://h"}}
    finding = server_finding("judge j", {**answered, **examined}, *asked(form))
    assert finding.level == level
    assert text in finding.text
    assert advice in finding.advice
    assert "\n" not in finding.text


def test_probabilities_are_shown_the_likeliest_first() -> None:
    question = LevelOfEdit(LevelOfEdit.Parameters()).questions(small_sample(0))[0]
    judge = replace(asked("score")[0], protocol=LevelOfEdit(LevelOfEdit.Parameters()))
    examined = {"text": "A", "ended": "ok", "seconds": 0.1, "about": {}, "values": {"A": 0.25, "B": 0.5, "C": 0.125}}
    finding = server_finding("judge j", examined, judge, question)
    assert (finding.level, finding.text) == (
        "ok",
        "judge j: its server answered in 0.1 s: `B` 50.0%, `A` 25.0%, `C` 12.5%",
    )
    finding = server_finding("judge j", {**examined, "values": {"A": 0.1, "B": 0.1, "C": 0.1}}, judge, question)
    assert finding.level == "warning"
    assert "the judge would rather say something else" in finding.text


def test_a_reply_that_is_no_answer_at_all_is_shown_in_one_line() -> None:
    examined = {"text": "", "ended": "ok", "seconds": 0.1, "about": {}}
    finding = server_finding("judge j", examined, *asked("score"))
    assert finding.text == "judge j: its server answered in 0.1 s without a score (the answer is empty)"
