"""`--junit FILE`: what the gate found, in the form that GitLab and GitHub's actions read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from command_lines import Command
from edit_eval import evaluate
from edit_eval.plugins.junit.option import write_junit
from edit_eval.run import Run, compare
from small_benchmark import sample_id, write_benchmark

COUNT = 12


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A candidate that is much worse by one judge, and the same by the other."""
    folder = tmp_path_factory.mktemp("junit")
    cpu = {"device_ids": "cpu:1"}
    worth = {"released": 8, "candidate": 2}
    answers = {
        f"{model}/{sample_id(n)}": f"Score: {score + n / 10:.3f}"
        for model, score in worth.items()
        for n in range(COUNT)
    }
    alike = dict.fromkeys(answers, "Score: 5.000")
    settings: dict[str, Any] = {
        "benchmark": {"data_path": str(write_benchmark(folder, COUNT)), "cache_dir": str(folder / "cache")},
        "edit_models": {name: {"type": "testing", "params": cpu} for name in worth},
        "judges": {
            "strict": {"type": "testing", "params": {**cpu, "answers": answers}},
            "kind": {"type": "testing", "params": {**cpu, "answers": alike}},
        },
        "execution": {"pilot": False},
    }
    return evaluate(settings, run_dir=folder / "night", report=False)


def test_a_judge_is_a_test_and_its_reason_a_failure(run: Run, tmp_path: Path, command: Command) -> None:
    ended = command("compare", run.path, "--fail-if-worse", "--junit", tmp_path / "gate.xml")
    assert ended.code == 3, ended.out
    suite = ElementTree.parse(tmp_path / "gate.xml").getroot()[0]
    cases = {case.attrib["classname"]: case for case in suite}
    assert set(cases) == {"strict", "kind"}
    assert {case.attrib["name"] for case in suite} == {"candidate is no worse than released"}
    failure = cases["strict"].find("failure")
    assert failure is not None
    assert "scores worse" in failure.attrib["message"]
    assert failure.attrib["message"] in " ".join(ended.err.split())
    failed = sum(case.find("failure") is not None for case in suite)
    counts = {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": 2, "failures": failed, "errors": 0, "skipped": 0}


def test_names_of_others_are_text(run: Run) -> None:
    comparison = compare([run])
    name = "a\x1b[31m<b>&\x00\u202e\ud800\uffff"
    hostile = [replace(candidate, name=name, judge=name) for candidate in comparison.gate.candidates]
    hostile_gate = replace(comparison, gate=replace(comparison.gate, candidates=hostile))
    root = ElementTree.fromstring(write_junit(hostile_gate, ["judge x has moved <since>"]))
    names = [case.attrib["name"] for case in root[0]]
    assert names[-1] == "judge x has moved <since>"
    assert all(name.startswith("a<b>&") for name in names[:-1])
    assert root.attrib["failures"] == root[0].attrib["failures"]


def test_without_the_flag_nothing_is_written(run: Run, tmp_path: Path, command: Command) -> None:
    command("compare", run.path)
    assert not list(tmp_path.iterdir())
