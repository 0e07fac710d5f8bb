"""Two edits in one question, from the YAML to the report: the example, whose true order is known."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from documents import plain
from edit_eval import evaluate
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.best_of.worth import rater
from edit_eval.plugins.preparation.requests import plan as plan_of
from edit_eval.plugins.push.sending import Written, card
from edit_eval.plugins.status.sheet import status_document
from edit_eval.reporting.report import markdown
from edit_eval.reporting.scores import FRAMES
from edit_eval.run import Run, compare
from edit_eval.store.run_directory import RunDirectory
from faults.faulty_runs import Ears

EXAMPLES = Path(__file__).parents[1] / "examples"
ORDER = ["careful", "middling", "careless"]


def configuration(folder: Path, models: list[str], **protocol: Any) -> dict[str, Any]:
    written: dict[str, Any] = yaml.safe_load((EXAMPLES / "pairwise.yaml").read_text("utf-8"))
    for section in (written["benchmark"], *written["edit_models"].values(), written["judges"]["colour"]):
        section["class_path"] = str(EXAMPLES.parent / section["class_path"])
    written["benchmark"] |= {"folder": str(folder / "discs"), "count": 12}
    written["edit_models"] = {name: written["edit_models"][name] for name in models}
    written["judges"]["colour"]["protocol"] |= protocol
    return {**written, "execution": {"pilot": False, "progress": "none"}}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("battles")
    return evaluate(configuration(folder, ORDER), run_dir=folder / "run", report=False, spectator=Ears())


def strengths(run: Run) -> dict[str, float]:
    return {row.edit_model: row.strength for row in run.summary.battles["colour"].scores["overall"].strengths}


def test_the_order_is_found_with_intervals_and_everything_counts(made: Run) -> None:
    by_model = strengths(made)
    assert sorted(by_model, key=by_model.__getitem__, reverse=True) == ORDER
    assert made.has_required_coverage
    of = made.summary.battles["colour"].scores["overall"]
    assert (of.battles, of.samples, of.missing) == (36, 12, {})
    assert sum(of.outcomes.values()) == 36
    assert made.summary.coverage.scored == 36
    assert plain(status_document(made.results))["battles"] == {"total": 36, "ok": 36}
    _, rows_of = FRAMES["battles"]
    came = Counter(row["outcome"] for _, row in rows_of(made.results))
    assert came == {name: count for name, count in of.outcomes.items() if count}


def test_the_report_has_strengths_and_who_won_against_whom(made: Run) -> None:
    for language in ("en", "zh"):
        written = markdown(made.results, made.summary, language)
        rows = [line for line in written.splitlines() if line.startswith("| careful |")]
        assert len(rows) == 1, "won against lost"
        assert len([line for line in written.splitlines() if line.startswith("| 1 | careful |")]) == 1, "strengths"


def test_a_card_has_strengths(made: Run) -> None:
    text = card("me/run", made.results, made.summary, Written(), licence="", images=False, sources=False)
    assert text.count("| careful |") >= 1
    assert "|  |" not in text
    assert "compared by colour" in text


def test_other_names_in_another_order_ask_nothing_anew(made: Run, tmp_path: Path) -> None:
    folder = made.path.parent
    written = configuration(folder, ORDER[::-1])
    written["edit_models"] = {f"new_{name}": setting for name, setting in written["edit_models"].items()}
    again = evaluate(written, run_dir=tmp_path / "run", reuse_from=[made.path], report=False, spectator=Ears())
    assert asked(again) == 0
    assert strengths(again) == pytest.approx(
        {f"new_{name}": strength for name, strength in strengths(made).items()}, abs=1e-9
    )


def test_rounds_are_added_while_models_cannot_be_told_apart(made: Run, tmp_path: Path) -> None:
    written = configuration(made.path.parent, ORDER, pairs="extended", rounds=3)
    written["edit_models"] |= {
        f"{name}_too": {**setting, "params": {**setting["params"], "skill": setting["params"]["skill"] - 0.01}}
        for name, setting in written["edit_models"].items()
    }
    written["benchmark"]["count"] = 6
    heard = Ears()
    run = evaluate(written, run_dir=tmp_path / "run", spectator=heard, report=False)
    assert any("round 2 of 3 at most" in note for note in heard.notes), "two of each are alike"
    of = run.summary.battles["colour"].scores["overall"]
    assert plain(of.looks) == {"rounds": 3, "of": 3, "level": pytest.approx(1 - 0.05 / 3)}
    assert of.battles == run.summary.coverage.scored == sum(of.outcomes.values()) > 36 + 6
    assert asked(run) == 2 * of.battles
    assert "98.33%" in markdown(run.results, run.summary, "en")
    again = evaluate(written, run_dir=tmp_path / "run", report=False, spectator=Ears())
    assert asked(again) == asked(run)
    plan = plan_of(written, from_run=run.path)
    assert any(
        f"{of.battles} battles, so {asked(run)} answers, if all 3 rounds are asked" in note for note in plan.notes
    )
    with pytest.raises(ConfigurationError, match="`extended` takes 4 edit models or more"):
        evaluate(configuration(made.path.parent, ORDER, pairs="extended", rounds=2), run_dir=tmp_path / "few")


def asked(run: Run) -> int:
    """How many of its replies were given in it."""
    return sum("reused_from" not in line for line in RunDirectory(run.path).read("replies"))


def test_what_two_edits_cannot_be(made: Run, tmp_path: Path) -> None:
    folder = made.path.parent
    with pytest.raises(ConfigurationError, match="compares the edits of two models, and there is one"):
        evaluate(configuration(folder, ["careful"]), run_dir=tmp_path / "one", spectator=Ears())
    assert not list(tmp_path.iterdir()), "before anything was written"
    with pytest.raises(ConfigurationError, match="no judge of it scores single edits"):
        compare(made)


def test_comparing_a_run_hears_every_judge_that_its_report_hears(made: Run, tmp_path: Path) -> None:
    written = configuration(made.path.parent, ORDER)
    judge = {name: value for name, value in written["judges"]["colour"].items() if name != "protocol"}
    written["judges"] = {"alone": {**judge, "protocol": {"answer": "score", "general": True}}, **written["judges"]}
    run = evaluate(written, run_dir=tmp_path / "run", reuse_from=[made.path], report=False, spectator=Ears())
    comparison = compare(run)
    assert comparison.verdict is not None
    assert [opinion.judge for opinion in comparison.verdict.opinions] == ["alone", "colour"]
    assert comparison.verdict == run.summary.verdict
    of_score = compare(run, score="score").verdict
    assert of_score is not None
    assert [opinion.judge for opinion in of_score.opinions] == ["alone"], "it has no such score"
    two = compare([run, run])
    assert two.verdict is not None
    assert [opinion.judge for opinion in two.verdict.opinions] == ["alone"]
    assert any("judge colour compares two edits and is left out" in note for note in two.notes)


def test_an_edits_share_of_its_battles_is_what_it_can_be_chosen_by(made: Run) -> None:
    judge = rater(made.results, "colour")
    assert (judge.given, judge.scale.span) == ("voted", 1.0)
    shares = {model: [value for item, value in judge.values.items() if item.edit_model == model] for model in ORDER}
    assert {model: len(some) for model, some in shares.items()} == dict.fromkeys(ORDER, 12)
    means = [sum(some) / len(some) for some in shares.values()]
    assert means == sorted(means, reverse=True)
    with pytest.raises(ConfigurationError, match="no score 'none'"):
        rater(made.results, "colour/none")
