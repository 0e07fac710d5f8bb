"""Runs and the passports of their judges: what is said, what is kept, and whether the judge is still the same."""

from __future__ import annotations

import io
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from PIL import Image
from rich.console import Console

from documents import plain
from edit_eval import cli, evaluate
from edit_eval.config.loading import load_configuration
from edit_eval.errors import ConfigurationError
from edit_eval.pictures import pixel_digest
from edit_eval.plugins.audit import passports
from edit_eval.plugins.audit.anchors import judge_anchors
from edit_eval.plugins.audit.drift import JudgedTwice
from edit_eval.plugins.audit.measure import Anchor, Measure
from edit_eval.plugins.audit.passports import ExaminedScale, Examinee, Passport
from edit_eval.plugins.scenes.in_worker.ladder import Ladder
from edit_eval.plugins.scenes.in_worker.rungs import RECIPE_KEY, Recipe, draw_recipe
from edit_eval.reporting.results_sheet import print_summary
from edit_eval.run import Run
from edit_eval.store.comparable import compare_runs
from edit_eval.store.examined import usual_folder
from small_benchmark import configuration

DRAWN = {"type": "ladder", "language": "en", "seed": 5, "scenes": 1, "size": 128}


def asked(folder: Path, **more: Any) -> dict[str, Any]:
    return configuration(folder, **{"benchmark": {"language": "en"}, **more})


def anchors_of(folder: Path, count: int = 6) -> tuple[Anchor, ...]:
    """The first edits of the ladder, as an audit would have seen them, each with the score 5."""
    ladder = Ladder(Ladder.Parameters(**{k: v for k, v in DRAWN.items() if k != "type"}, cache_dir=str(folder)))
    anchors = []
    for sample in ladder.samples():
        if len(anchors) == count:
            break
        with Image.open(sample.pictures["source_2"].path) as picture:
            pixels = pixel_digest(draw_recipe(Recipe.from_json(picture.info[RECIPE_KEY])))
        anchors.append(Anchor(sample.id, "", "", sample.category, pixels, 5.0))
    return tuple(anchors)


def examined(run: Run, folder: Path, **changes: Any) -> Passport:
    """A passport for the run's judge, written to `folder`."""
    judge = run.experiment.judges[0]
    made = Passport(
        **structs.asdict(Examinee.from_judge(judge, changes.pop("language", run.language))),
        name=judge.name,
        form=("score",),
        pictures=("source", "edit"),
        headline="score",
        scale=ExaminedScale(lowest=0.0, highest=10.0, higher_is_better=True),
        date="2026-11-21",
        version="0",
        benchmark=DRAWN,
        verdict="passed",
        measures={"words": Measure(value=0.2, ci95=(0.1, 0.3), floor=0.03, bound="at_most", passed=False)},
        categories={},
        smallest_difference=0.5,
        retest_sd=0.2,
        anchors=(),
        repeated=tuple(JudgedTwice(f"r{n}", "", 5.0, 5.0 + (n % 3 - 1) / 5) for n in range(30)),
    )
    made = structs.replace(made, **changes)
    passports.write(made, folder)
    return made


def printed(run: Run, language: str = "en") -> str:
    file = io.StringIO()
    print_summary(run.summary, Console(file=file, width=200, color_system=None), language=language)
    return file.getvalue()


@pytest.fixture
def made(tmp_path: Path) -> Run:
    return evaluate(asked(tmp_path), run_dir=tmp_path / "run", examinations=tmp_path / "mine", report=False)


def test_a_judge_without_a_passport_is_not_audited(made: Run) -> None:
    assert plain(made.summary.judges) == {
        "testing": {
            "line": "not audited",
            "ended": "not_audited",
            "retest_sd": None,
            "details": {"language": "en", "passport": None, "anchors": None},
        }
    }
    assert "Judge testing: not audited\n" in printed(made)
    assert "评审 testing：未经检验\n" in printed(made, "zh")
    assert compare_runs([made, made]).notes[-1] == "judge testing: not audited"


def test_a_finished_run_takes_a_passport_that_came_later_and_keeps_it(made: Run, tmp_path: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in made.path.glob("[er]*s/*.jsonl")}
    examined(made, tmp_path / "mine")
    again = evaluate(asked(tmp_path), run_dir=tmp_path / "run", examinations=tmp_path / "mine")
    shutil.rmtree(tmp_path / "mine")
    line = "audited 2026-11-21: passed (words)"
    for run in (again, Run(again.path)):
        assert run.summary.judges["testing"].line == line
        assert f"Judge testing: {line}\n" in printed(run)
    assert {path: path.stat().st_mtime_ns for path in made.path.glob("[er]*s/*.jsonl")} == before
    assert line in again.page.read_text("utf-8")
    assert line in (again.path / "report" / "report.md").read_text("utf-8")
    drawn_at = again.page.stat().st_mtime_ns
    evaluate(asked(tmp_path), run_dir=tmp_path / "run", examinations=tmp_path / "nowhere")
    assert again.page.stat().st_mtime_ns == drawn_at


def test_a_report_takes_a_passport_that_came_after_the_run_and_says_where_from(
    made: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    examined(made, usual_folder())
    for told in (True, False):
        monkeypatch.setattr(sys, "argv", ["edit-eval", "report", str(made.path), "--full"])
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert not end.value.code
        said = capsys.readouterr()
        assert "Judge testing: audited 2026-11-21: passed (words)" in said.out
        assert (f"kept in {usual_folder()}" in " ".join(said.err.split())) is told
    assert "audited 2026-11-21" in made.page.read_text("utf-8")


def test_where_a_passport_cannot_be_taken_a_report_has_its_numbers_all_the_same(
    made: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As on a disk that is full or read-only: that is no fault of the examiner's, and a report says it itself."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    examined(made, usual_folder())
    (made.path / "passports").write_text("no folder")
    monkeypatch.setattr(sys, "argv", ["edit-eval", "report", str(made.path)])
    with pytest.raises(SystemExit) as end:
        cli.main()
    said = capsys.readouterr()
    assert not end.value.code, said.err
    assert "note: an audit that was made since the run could not be kept in it" in " ".join(said.err.split())
    assert "scored." in said.out


def test_of_another_language_the_line_says_for_which_it_is_missing(made: Run, tmp_path: Path) -> None:
    examined(made, made.path / "passports", language="zh", measures={})
    run = Run(made.path)
    assert run.summary.judges["testing"].line == "audited 2026-11-21: passed; not audited for English"
    assert "Judge testing: audited 2026-11-21: passed; not audited for English\n" in printed(run)
    assert "评审 testing：2026-11-21 检验：通过；英文未经检验\n" in printed(run, "zh")
    assert run.summary.judges["testing"].ended == "other_language"
    with pytest.raises(ConfigurationError, match="no judge of this run has a passport in the run's language"):
        judge_anchors(load_configuration(asked(tmp_path)), run)


def test_compare_says_of_each_run_what_it_knows_of_the_judge(made: Run, tmp_path: Path) -> None:
    copy = Run(Path(shutil.copytree(made.path, tmp_path / "copy")))
    examined(made, copy.path / "passports", measures={})
    notes = compare_runs([made, copy]).notes
    assert [*notes[-2:]] == ["judge testing, in run: not audited", "judge testing, in copy: audited 2026-11-21: passed"]
    known = [Run(run.path, copy.path / "passports") for run in (made, copy)]
    assert compare_runs(known).notes[-1] == "judge testing: audited 2026-11-21: passed"


def test_what_is_no_passport_is_none(made: Run, tmp_path: Path) -> None:
    passport = examined(made, made.path / "passports")
    (made.path / "passports" / f"{passport.subject.key}.json").write_text("{}")
    assert Run(made.path).summary.judges["testing"].ended == "not_audited"


# -- anchors --


@pytest.fixture
def anchored(made: Run, tmp_path: Path) -> Run:
    """The run with a passport of six anchors; the judge gives 5 to everything, as it did then."""
    examined(made, made.path / "passports", measures={}, anchors=anchors_of(tmp_path / "ladder"))
    return Run(made.path)


def passport_of(run: Run) -> Any:
    """What is known of the judge, of which the core knows an examiner alone."""
    examination: Any = run.judge_examinations["testing"]
    return examination.passport


def rescored(run: Run, scores: float, **changes: Any) -> None:
    """As if the anchors had been given other scores when the judge was examined."""
    passport = passport_of(run)
    anchors = tuple(structs.replace(anchor, score=scores) for anchor in passport.anchors)
    passports.write(structs.replace(passport, anchors=anchors, **changes), run.path / "passports")


def ends(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """The exit code of a command."""
    monkeypatch.setattr(sys, "argv", ["edit-eval", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


@pytest.mark.check
def test_anchors_are_judged_again_in_a_run_of_their_own(
    anchored: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.json").write_text(json.dumps(asked(tmp_path)))
    before = anchored.summary.results
    monkeypatch.setattr(Run, "write_report", lambda run: None)  # drawn elsewhere
    command = ["run", tmp_path / "c.json", "--run-dir", anchored.path, "--passports", tmp_path, "--anchors"]
    assert ends(monkeypatch, *command) == 0
    assert "6 of 6 anchor edits, judged again on" in " ".join(capsys.readouterr().out.split())
    run = Run(anchored.path)
    judged_again = run.summary.judges["testing"].details.anchors
    assert (judged_again.total, judged_again.drift.n, judged_again.drift.mean) == (6, 6, 0.0)
    assert not judged_again.drift.drifted
    assert run.summary.results == before
    inner = Run(run.path / "anchors" / "0" / "0000")
    anchors = passport_of(run).anchors
    assert {sample.id for sample in inner.results.samples} == {anchor.sample for anchor in anchors}
    assert compare_runs([run, Run(run.path)]).notes[-1] == "judge testing: audited 2026-11-21: passed"


def test_a_drift_is_said_and_compare_ends_with_3(
    anchored: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old = Run(Path(shutil.copytree(anchored.path, tmp_path / "old")))
    for run in (old, anchored):
        rescored(run, 5.6)  # three times its noise of 0.2
    asking = load_configuration(asked(tmp_path))
    monkeypatch.setattr(Run, "write_report", lambda run: None)  # drawn elsewhere
    judge_anchors(asking, Run(anchored.path))
    judge_anchors(asking, Run(anchored.path))
    run = Run(anchored.path)
    assert sorted(path.name for path in (run.path / "anchors" / "0").iterdir()) == ["0000", "0001"], "asked anew"
    drift = run.summary.judges["testing"].details.anchors.drift
    assert drift.drifted
    assert drift.mean == pytest.approx(-0.6)
    assert "testing has drifted since it was examined" in printed(run)
    assert "testing 自检验以来已漂移" in printed(run, "zh")

    assert ends(monkeypatch, "compare", old.path, run.path) == 3
    assert "judge testing has drifted between old and run" in capsys.readouterr().err
    assert ends(monkeypatch, "compare", old.path, run.path, "--allow-drift") == 0
    assert ends(monkeypatch, "compare", run.path, run.path) == 0, "both have been judged by what the judge is now"
    capsys.readouterr()
    assert ends(monkeypatch, "compare", old.path, run.path, "--json") == 3
    assert any("has drifted" in note for note in json.loads(capsys.readouterr().out)["notes"])


def test_two_audits_of_the_same_scenes_tell_a_drift_too(anchored: Run, tmp_path: Path) -> None:
    old = Run(Path(shutil.copytree(anchored.path, tmp_path / "old")))
    assert list(compare_runs([old, anchored]).notes) == ["judge testing: audited 2026-11-21: passed"]
    rescored(old, 5.6)
    runs = [Run(old.path), anchored]
    assert "judge testing has drifted between old and run" in compare_runs(runs).notes[-1]
    examined(old, old.path / "passports", measures={}, anchors=anchors_of(tmp_path / "ladder"), benchmark={"seed": 6})
    assert list(compare_runs([Run(old.path), anchored]).notes) == ["judge testing: audited 2026-11-21: passed"]


def test_anchors_that_this_version_draws_otherwise_say_nothing(anchored: Run, tmp_path: Path) -> None:
    passport = passport_of(anchored)
    other = structs.replace(
        passport, anchors=tuple(structs.replace(anchor, pixels="0" * 64) for anchor in passport.anchors)
    )
    passports.write(other, anchored.path / "passports")
    with pytest.raises(ConfigurationError, match="draws different pictures from the one that examined the judge"):
        judge_anchors(load_configuration(asked(tmp_path)), Run(anchored.path))


def test_a_passport_without_repeated_answers_accuses_nobody(
    anchored: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of an earlier version: its anchors cannot be held against the judge's own noise."""
    old = Run(Path(shutil.copytree(anchored.path, tmp_path / "old")))
    for run in (old, anchored):
        rescored(run, 9.0, repeated=())
    monkeypatch.setattr(Run, "write_report", lambda run: None)  # drawn elsewhere
    judge_anchors(load_configuration(asked(tmp_path)), Run(anchored.path))
    run = Run(anchored.path)
    anchors = run.summary.judges["testing"].details.anchors
    assert (anchors.repeated, anchors.drift) == (0, None)
    assert "not tested" in printed(run)
    assert "audit it again" in printed(run)
    assert ends(monkeypatch, "compare", old.path, run.path) == 0
    assert "whether it has drifted between old and run is not tested" in compare_runs([Run(old.path), run]).notes[-1]
