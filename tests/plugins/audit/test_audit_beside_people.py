"""`edit-eval audit --people`: what people said of edits that the judge has scored, too, belongs to its verdict."""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edit_eval.errors import ConfigurationError
from edit_eval.plugins.audit import passports
from edit_eval.plugins.audit.trial import Audit, audit
from edit_eval.run import Run, evaluate

MEASURES = ("as_one_person", "pairs_ordered")
JUDGE = {"type": "scene_judge", "params": {"device_ids": "cpu:1"}}

pytestmark = pytest.mark.check


def configuration(**judges: dict[str, Any]) -> dict[str, Any]:
    return {
        "benchmark": {"type": "scenes", "count": 30, "size": 128},
        "edit_models": {
            "editor": {"type": "scene_editor", "params": {"device_ids": "cpu:1"}},
            "idle": {"type": "copy_source", "params": {"device_ids": "cpu:1"}},
        },
        "judges": judges,
        "evaluation": {"controls": 0},
        "execution": {"progress": "none"},
    }


class Case:
    """A run, people who have scored its edits, and an audit of its judge."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run = evaluate(configuration(mine=JUDGE), run_dir=folder / "judged", report=False)
        self.alike = self.people("alike.csv", lambda score: score)
        self.contrary = self.people("contrary.csv", lambda score: 10.0 - score)

    def people(self, name: str, mind: Callable[[float], float], raters: int = 3) -> Path:
        """Of one mind, each with a little noise of their own."""
        chance, path = random.Random(name), self.folder / name
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("sample_id", "edit_model", "rater", "score"))
            for judgement in self.run.results.judgements:
                for rater in range(raters):
                    said = mind(judgement.scores["score"]) + chance.gauss(0, 1)
                    writer.writerow((judgement.sample_id, judgement.edit_model, rater, round(said, 3)))
        return path

    def recorded(self, name: str, **section: Any) -> Run:
        """Its replies as a file has them, given to the questions of the same protocol."""
        path = self.folder / f"{name}.jsonl"
        rows = [
            {
                "sample": judgement.sample_id,
                "edit_model": judgement.edit_model,
                "question": "score",
                "text": f"{judgement.score:.3f}",
            }
            for judgement in self.run.results.judgements
        ]
        path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
        judge = {"type": "recorded", "params": {"device_ids": "cpu:1", "path": str(path)}, **section}
        return evaluate(
            configuration(theirs=judge), run_dir=self.folder / name, reuse_from=[self.run.path], report=False
        )

    def audit(self, people: Path | None, judged: Path | None, **changes: Any) -> Audit:
        """A small one, which asks nobody after the first time."""
        return audit(
            {**configuration(mine=JUDGE), **changes},
            scenes=1,
            size=128,
            run_dir=self.folder / "audit",
            folder=self.folder / "passports",
            people=people,
            judged=judged,
        )


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case(tmp_path_factory.mktemp("beside-people"))


def test_its_own_scores_are_held_against_people(case: Case) -> None:
    made = case.audit(case.alike, case.run.path)
    for name in MEASURES:
        assert made.passport.measures[name].passed, name
    assert made.passport.measures["as_one_person"].n == 60
    assert made.passport.measures["pairs_ordered"].n == 1
    assert (made.passport.people.judge, made.passport.people.recorded) == ("mine", False)
    assert passports.read_file(made.file) == made.passport
    page = made.page.read_text("utf-8")
    assert "its own scores, as mine in judged" in page
    assert "60 edits of 30 source images" in page
    assert "1 pairs of edit models" in page


def test_people_who_see_it_the_other_way_round_are_in_its_verdict(case: Case) -> None:
    made = case.audit(case.contrary, case.run.path)
    assert {*MEASURES} <= {*made.passport.failures}
    assert all(made.passport.measures[name].is_missed for name in MEASURES)
    page = made.page.read_text("utf-8")
    assert "It does not put edit models into the order that people give them." in page


def test_recorded_replies_to_the_same_questions_count_and_are_called_so(case: Case) -> None:
    judged = case.recorded("recorded")
    made = case.audit(case.alike, judged.path)
    assert made.passport.people.recorded is True
    assert "recorded replies, as theirs in recorded" in made.page.read_text("utf-8")
    own = case.audit(case.alike, case.run.path)
    for name in MEASURES:
        assert made.passport.measures[name].value == pytest.approx(own.passport.measures[name].value, abs=1e-3)


def test_with_one_person_nothing_is_asked_of_how_people_agree(case: Case) -> None:
    made = case.audit(case.people("one.csv", lambda score: score, raters=1), case.run.path)
    measure = made.passport.measures["as_one_person"]
    assert (measure.value, measure.floor, measure.passed) == (None, None, None)
    assert "agreement between two people is not shown" in measure.reason
    assert made.passport.measures["pairs_ordered"].passed


def test_whom_it_refuses(case: Case) -> None:
    other = case.recorded("other-wording", protocol={"type": "rubric", "answer": "reason_then_score"})
    for people, judged, words in (
        (case.alike, None, "--judged RUN"),
        (None, case.run.path, "--people FILE"),
        (case.alike, other.path, r"theirs has another judge, parameters\); judge those edits"),
        (case.alike, case.folder / "nowhere", "nowhere"),
    ):
        with pytest.raises(Exception, match=words) as refused:
            case.audit(people, judged)
        assert len(str(refused.value).splitlines()) == 1
    with pytest.raises(ConfigurationError, match="mine has another wording, language"):
        case.audit(case.alike, case.run.path, benchmark={"type": "scenes", "language": "zh"})
    vie = case.folder / "vie.csv"
    vie.write_text("sample_id,edit_model,score,score_name\nscene-000-physical,editor,1,PQ\n", "utf-8")
    with pytest.raises(ConfigurationError, match="about score; they are about PQ"):
        case.audit(vie, case.run.path)


def test_from_the_command_line(case: Case) -> None:
    config = case.folder / "config.json"
    config.write_text(json.dumps(configuration(mine=JUDGE)), "utf-8")
    options = ["--scenes", "1", "--size", "128", "--run-dir", "audit", "--passports", "passports", "--json"]
    beside = ["--people", "contrary.csv", "--judged", "judged"]
    command = [sys.executable, "-m", "edit_eval", "audit", "config.json", *options, *beside]
    done = subprocess.run(command, capture_output=True, text=True, cwd=case.folder)
    assert done.returncode == 3, done.stderr
    said = json.loads(done.stdout)
    assert said["measures"]["pairs_ordered"]["floor"] == 0.8
    assert said["measures"]["pairs_ordered"]["passed"] is False
    assert said["people"]["run"] == "judged"
    done = subprocess.run([*command[:3], "report", "audit", "--full"], capture_output=True, text=True, cwd=case.folder)
    assert done.returncode == 0, done.stderr
    assert "Beside people: its own scores, as mine in judged" in done.stdout
