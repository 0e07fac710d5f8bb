"""Columns whose edits have equal pixels: a judge is told nothing that is in no key, and so judges them alike."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from edit_eval import evaluate
from edit_eval.errors import ConfigurationError
from edit_eval.judges.contract import READABLE, JudgeRequest
from faults.faulty_runs import Ears, lines
from small_benchmark import write_benchmark

ECHO = """
import json
import os
from dataclasses import asdict


class Echo:
    def __init__(self, parameters): ...
    def load(self, devices): ...

    def judge(self, requests):
        return [self.said(one) for one in requests]

    def said(self, request):
        told = {name: value for name, value in vars(request).items() if name not in ("pictures", "system", "user")}
        return json.dumps(told).encode().hex() + "\\nScore: 5"


class Curious(Echo):
    reads = ("edit_model", "category")


class Moody(Echo):
    def said(self, request):
        return f"Score: {os.urandom(1)[0] / 25.5:.3f}"


class Confused(Echo):
    reads = ("edit_modle",)
"""


def columns(folder: Path, judges: dict[str, str], models: str = "ab", **evaluation: int) -> dict[str, Any]:
    """A configuration of columns whose edits are equal, each the source of three samples."""
    write_benchmark(folder, 3)
    (folder / "echo.py").write_text(ECHO)
    protocol = {"answer": "reason_then_score"}
    return {
        "benchmark": {"type": "five_dimensions", "data_path": str(folder / "benchmark.json"), "language": "en"},
        "edit_models": {name: {"type": "copy_source"} for name in models},
        "judges": {
            name: {"class_path": f"{folder}/echo.py:{judge}", "protocol": protocol} for name, judge in judges.items()
        },
        "evaluation": {"controls": 0, **evaluation},
    }


def echoed(folder: Path, judge: str) -> list[dict[str, Any]]:
    """What a judge was told about two columns of three equal edits, asked twice in two readings."""
    what = columns(folder, {"echo": judge}, repeats=2, readings=2)
    evaluate(what, run_dir=folder / judge, report=False, spectator=Ears())
    told = [bytes.fromhex(line["text"].partition("\n")[0]) for line in lines(folder / judge, "replies")]
    return list(map(json.loads, told))


def test_a_judge_is_told_nothing_that_is_in_no_key(tmp_path: Path) -> None:
    told = echoed(tmp_path, "Echo")
    assert len({one["key"] for one in told}) == len(told) == 3 * 2 * 2
    blank = {field.name: field.default for field in fields(JudgeRequest)}
    assert all(one[name] == blank[name] for one in told for name in READABLE)
    assert {one["seed"] for one in told} == {0, 1, 1_000_000, 1_000_001}


def test_what_its_class_reads_it_is_told_and_it_stands_in_the_key(tmp_path: Path) -> None:
    told = echoed(tmp_path, "Curious")
    assert {one["edit_model"] for one in told} == {"a", "b"}
    assert {one["category"] for one in told} == {"physical", "environmental", "social"}
    assert len({one["key"] for one in told}) == len(told) == 2 * 3 * 2 * 2
    assert {one["sample_id"] for one in told} == {""}


def test_a_class_cannot_read_what_there_is_not(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"echo: its class `reads` 'edit_modle', which is none of instruction"):
        echoed(tmp_path, "Confused")


def test_equal_questions_are_asked_once_in_one_start_and_in_two(tmp_path: Path) -> None:
    """Whatever the judge says: it never says the same twice."""
    judges = {"moody": "Moody", "twin": "Moody"}
    both = columns(tmp_path, judges, repeats=2)
    at_once = evaluate(both, run_dir=tmp_path / "one", report=False, spectator=Ears())
    evaluate(columns(tmp_path, judges, "a", repeats=2), run_dir=tmp_path / "two", report=False, spectator=Ears())
    one_by_one = evaluate(both, run_dir=tmp_path / "two", report=False, spectator=Ears())
    for run in (at_once, one_by_one):
        assert len({line["key"] for line in lines(run.path, "replies")}) == len(lines(run.path, "replies")) == 3 * 2
        said = {(j.edit_model, j.judge): {} for j in run.results.judgements}
        for judgement in run.results.judgements:
            said[judgement.edit_model, judgement.judge][judgement.sample_id, judgement.repeat] = judgement.score
        assert len(said) == 4
        assert all(scores == said["a", "moody"] for scores in said.values())
        asked = [judgement for judgement in run.results.judgements if judgement.n_asked]
        assert {(judgement.edit_model, judgement.judge) for judgement in asked} == {("a", "moody")}
        assert len(asked) == 3 * 2
        assert sum(judgement.seconds for judgement in run.results.judgements) == pytest.approx(
            sum(line["seconds"] for line in lines(run.path, "replies")), abs=1e-3
        )
