"""`edit-eval audit` from its command line to its passport: what it asks, that it goes on, whom it refuses."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from documents import plain
from edit_eval.asking import load_samples, make_experiment
from edit_eval.benchmarks.contract import AUDIT
from edit_eval.config.loading import load_configuration
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.audit import passports
from edit_eval.plugins.audit.trial import Audit, audit, redraw_audit
from edit_eval.protocols.asked import make_judges
from stumbling_blocks import stumbling_blocks


def configuration(**changes: Any) -> dict[str, Any]:
    return {
        "benchmark": {"type": "five_dimensions", "data_path": "/nowhere/at/all.json"},  # an audit does not read it
        "edit_models": {"mine": {"type": "scene_editor", "params": {"steps": 999, "device_ids": "cpu:1"}}},
        "judges": {"judge": {"type": "scene_judge", "params": {"device_ids": "cpu:2"}}},
        "execution": {"progress": "none"},
        **changes,
    }


def examine(folder: Path, run: str = "run", **changes: Any) -> Audit:
    options = {key: changes.pop(key) for key in ("seed", "judge", "scenes") if key in changes}
    return audit(
        configuration(**changes),
        run_dir=folder / run,
        folder=folder / "passports",
        size=128,
        before=lambda questions, cost: TOLD.update({run: (questions, cost)}),
        **{"scenes": 1, **options},
    )


TOLD: dict[str, tuple[int, float | None]] = {}
"""By run, what was said of it before it began."""


def test_how_much_it_asks_is_said_before_it_begins(made: Audit) -> None:
    answers = sum(len(reading) for row in made.run.results.judgements for reading in row.readings)
    assert TOLD["run"] == (answers, None)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    return examine(tmp_path_factory.mktemp("audit"))


@pytest.mark.check
def test_its_edit_models_and_its_benchmark_are_left_alone(made: Audit) -> None:
    results = made.run.results
    assert results.edit_models == ("rungs",)
    assert {sample.category for sample in results.samples} == {
        "physical",
        "environmental",
        "social",
        "causal",
        "referential",
    }
    assert made.run.summary.coverage.scored == len(results.samples)
    assert not results.controls


def test_few_scenes_show_little_and_nothing_wrong_is_said(made: Audit) -> None:
    assert made.passport.verdict == "limited"
    missed = {name for name, measure in made.passport.measures.items() if measure.is_missed}
    assert missed <= {"jpeg"}, "in so small pictures JPEG blocks can be seen"
    assert made.findings.measures["order"].value == 1.0


def test_who_is_asked_about_one_edit_at_a_time_is_not_asked_again_for_its_batches(made: Audit) -> None:
    measure = made.passport.measures["batch"]
    assert (measure.value, measure.floor, measure.passed, measure.n) == (None, None, None, 0)
    assert measure.reason == "it is asked about one edit at a time"
    assert measure.reason in made.page.read_text("utf-8")
    assert not any(sample.alone for sample in made.run.results.samples)


def test_the_passport_is_where_a_run_of_this_judge_looks(made: Audit) -> None:
    judge = make_judges(load_configuration(configuration(), data_may_be_missing=True))[0]
    passport = passports.read(made.file.parent, judge, "en")
    assert passport == made.passport
    assert passport.form == ("score",)
    assert passport.pictures == ("source", "edit")
    assert {anchor.pixels for anchor in passport.anchors} <= {edit.pixels for edit in made.run.results.edits}
    assert passports.read_file(made.run.path / "report" / "passport.json") == passport


def test_its_benchmark_draws_the_anchors_again(made: Audit) -> None:
    """What whoever looks for drift does: the passport's own section, and the anchors' ids."""
    wanted = [anchor.sample for anchor in made.passport.anchors]
    again = load_configuration(
        {
            "benchmark": dict(made.passport.benchmark),
            "edit_models": {"rungs": {"type": "scene_rungs"}},
            "judges": {"judge": {"type": "scene_judge"}},
        },
        sample_ids=wanted,
    )
    samples = make_experiment(again, load_samples(again)).samples
    assert {sample.id for sample in samples} == set(wanted)
    before = {sample.id: sample for sample in made.run.results.samples}
    assert all(sample.pictures == before[sample.id].pictures for sample in samples)


def test_views_are_asked_as_they_say(made: Audit) -> None:
    samples = {sample.id: sample for sample in made.run.results.samples}
    views = {sample.facts[AUDIT]["view"]: sample for sample in samples.values()}
    assert set(views) >= {"", "again", "exchanged", "language", "instruction", "source", "words_en", "words_zh"}
    judge = made.run.experiment.judges[0]
    plain = samples["physical-00.right"]
    for view in ("again", "exchanged", "language", "instruction", "source"):
        other = next(sample for sample in samples.values() if sample.id == f"physical-00.right.{view}")
        first, second = (judge.protocol.questions(sample)[0] for sample in (plain, other))
        shown = [view_.picture for view_ in second.shows]
        assert shown == (["edit", "source"] if view == "exchanged" else ["source", "edit"])
        assert (first.system != second.system) == (view == "language"), view
        assert first.user != second.user or view == "source"
        assert (other.pictures["source"] != plain.pictures["source"]) == (view == "source")
    assert "原图" in judge.protocol.questions(views["language"])[0].system


def test_the_page_has_everything_and_asks_nobody(made: Audit) -> None:
    page = made.page.read_text("utf-8")
    assert "<script" not in page
    assert page.count("data:image/jpeg;base64,") >= 40
    assert 'src="http' not in page
    assert made.passport.subject.wording in page


def test_the_page_is_in_the_language_of_its_reader(made: Audit, monkeypatch: pytest.MonkeyPatch) -> None:
    before = made.page.read_text("utf-8")
    monkeypatch.setenv("EDIT_EVAL_LANG", "zh")
    redraw_audit(made.run)
    assert '<html lang="zh' in made.page.read_text("utf-8")
    monkeypatch.undo()
    redraw_audit(made.run)
    assert made.page.read_text("utf-8") == before


@pytest.mark.check
def test_axe_finds_nothing_in_the_page(made: Audit, browser: Any) -> None:
    tab = browser.new_page(color_scheme="light")
    tab.goto(made.page.as_uri())
    faults = stumbling_blocks(tab)
    tab.emulate_media(color_scheme="dark")
    assert not (faults := [*faults, *stumbling_blocks(tab)]), "\n".join(faults)
    tab.close()


def test_its_report_is_its_page_again_from_the_records(made: Audit) -> None:
    page = made.page.read_bytes()
    made.page.unlink()
    command = [sys.executable, "-m", "edit_eval", "report", str(made.run.path)]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert made.page.read_bytes() == page
    assert not (made.run.path / "report" / "index.html").exists()
    assert json.loads(done.stdout)["measures"] == plain(made.document)["measures"]


def test_the_same_again_asks_nobody_and_keeps_its_date(made: Audit, monkeypatch: pytest.MonkeyPatch) -> None:
    before = sorted((made.run.path / "replies").iterdir())
    again = examine(made.run.path.parent)
    assert sorted((made.run.path / "replies").iterdir()) == before
    assert again.passport == made.passport


@pytest.mark.check
def test_on_two_workers_and_on_one_killed_and_resumed_it_is_the_same(made: Audit, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps(configuration()), "utf-8")
    folders = ["--run-dir", str(tmp_path / "run"), "--passports", str(tmp_path / "passports")]
    options = ["--scenes", "1", "--size", "128", "--devices", "cpu:1", "--json"]
    command = [sys.executable, "-m", "edit_eval", "audit", str(config), *options, *folders]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    replies = tmp_path / "run" / "replies"
    for _ in range(1200):
        if replies.is_dir() and sum(path.stat().st_size for path in replies.iterdir()) > 20_000:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 3, done.stderr
    said = json.loads(done.stdout)
    assert len(list(replies.iterdir())) == 2, "it was killed before its end, and went on"
    known = plain(made.document)
    for key in ("verdict", "measures", "categories", "anchors", "judge", "protocol", "wording", "language"):
        assert said[key] == known[key], key


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"judges": {"a": {"type": "scene_judge"}, "b": {"type": "scene_judge"}}}, "which judge"),
        ({"judge": "zebra"}, "no such judge; it has: judge"),
        ({"protocol": {"type": "checklist"}}, "cannot be examined with the protocol `checklist`"),
    ],
)
def test_whom_it_refuses(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        examine(tmp_path, **changes)
    assert not (tmp_path / "run").exists()


@pytest.mark.check
def test_a_judge_that_compares_is_examined_by_pairs_and_stands_beside_itself_asked_about_single_edits(
    made: Audit, tmp_path: Path
) -> None:
    judge = {"type": "scene_judge", "params": {"device_ids": "cpu:2"}, "protocol": {"type": "pairwise"}}
    by_pairs = audit(
        configuration(judges={"judge": judge}), run_dir=tmp_path / "run", folder=made.file.parent, size=128, scenes=1
    )
    assert by_pairs.run.results.edit_models == ("rungs", "worse")
    assert not by_pairs.run.results.judgements
    measures = by_pairs.passport.measures
    assert measures["contradictions"].value == 0
    assert measures["order"].value > 0.9
    assert measures["same_again"].value == measures["same_in_language"].value == measures["instruction"].value == 1
    assert [way.compares for way in by_pairs.ways] == [True, False]
    assert by_pairs.page.stat().st_size > 10_000
