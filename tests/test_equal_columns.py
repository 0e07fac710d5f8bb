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


class Confused(Echo):
    reads = ("edit_modle",)
"""


def echoed(folder: Path, judge: str) -> list[dict[str, Any]]:
    """What a judge was told about two columns of three equal edits, asked twice in two readings."""
    write_benchmark(folder, 3)
    (folder / "echo.py").write_text(ECHO)
    what = {
        "benchmark": {"type": "five_dimensions", "data_path": str(folder / "benchmark.json"), "language": "en"},
        "edit_models": {name: {"type": "copy_source"} for name in "ab"},
        "judges": {"echo": {"class_path": f"{folder}/echo.py:{judge}", "protocol": {"answer": "reason_then_score"}}},
        "evaluation": {"controls": 0, "repeats": 2, "readings": 2},
    }
    evaluate(what, run_dir=folder / judge, report=False, spectator=Ears())
    told = [bytes.fromhex(line["text"].partition("\n")[0]) for line in lines(folder / judge, "replies")]
    return list(map(json.loads, told))


def test_a_judge_is_told_nothing_that_is_in_no_key(tmp_path: Path) -> None:
    told = echoed(tmp_path, "Echo")
    by_key: dict[str, list[dict[str, Any]]] = {}
    for one in told:
        by_key.setdefault(one["key"], []).append(one)
    assert len(by_key) == 3 * 2 * 2
    assert all(one == same[0] for same in by_key.values() for one in same)
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
