"""An edit that a critic keeps is the edit of the round before, for every reader of a run."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from documents import plain
from edit_eval import evaluate
from edit_eval.errors import ConfigurationError, RunDirectoryError
from edit_eval.plugins.gate.gating import gate
from edit_eval.plugins.push.card import card
from edit_eval.records import Judgement, Status
from edit_eval.reporting.status import status_document
from edit_eval.run import Run, analyse, compare
from edit_eval.statistics.battles import fought
from edit_eval.statistics.summary import summarise
from edit_eval.store.run_directory import RunDirectory
from faults.faulty_runs import Ears

STOP = 5.5
PARTS = Path(__file__).with_name("planted_rounds.py")
SAMPLES = [f"s{number}" for number in range(8)]


def part(kind: str, **params: Any) -> dict[str, Any]:
    """A planted editor or judge of a configuration."""
    return {"class_path": f"{PARTS}:{kind}", "params": {"device_ids": "cpu:1", **params}}


def written(folder: Path, pairs: str = "all", **more: Any) -> dict[str, Any]:
    rows = ["id,source,instruction,category"]
    for number, name in enumerate(SAMPLES):
        Image.new("RGB", (32, 32), (10, 20 * number, 90)).save(folder / f"{name}.png")
        rows.append(f"{name},{name}.png,change {number},c{number % 2}")
    (folder / "table.csv").write_text("\n".join(rows) + "\n", "utf-8")
    return {
        "benchmark": {"type": "table", "data_path": str(folder / "table.csv")},
        "edit_models": {"good": part("Editor", quality=5.2), "poor": part("Editor", quality=3.9)},
        "judges": {
            "critic": part("Judge", name="critic") | {"protocol": {"answer": "reason_then_score"}},
            "colour": part("Judge", name="colour"),
            "arena": part("Judge", name="arena", silent=["s7"]) | {"protocol": {"type": "pairwise", "pairs": pairs}},
            "change": {
                "type": "picture_metrics",
                "params": {"device_ids": "cpu:1"},
                "protocol": {"type": "numbers", "against": "last"},
            },
        },
        "rounds": {"critic": "critic", "max": 3, "from": "last", "stop": STOP},
        "evaluation": {"controls": 0, "edit_seeds": 2, "min_coverage": 0.5},
        "execution": {"pilot": False, "progress": "none"},
        **more,
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("kept")
    return evaluate(written(folder), run_dir=folder / "run", report=False, spectator=Ears())


Where = tuple[str, str, int]
"""Column, sample, edit seed."""


def kept(run: Run) -> dict[Where, str]:
    """For each kept edit the column whose edit it is."""
    every = {(edit.edit_model, edit.sample_id, edit.edit_seed): edit for edit in run.results.edits}
    return {where: edit.made_in for where, edit in every.items() if edit.made_in}


def replies(run: Run, judge: str) -> list[dict[str, Any]]:
    return [line for line in RunDirectory(run.path).read("replies") if line["judge"] == judge]


def test_a_kept_edit_is_the_edit_before_at_no_cost(made: Run) -> None:
    refers = kept(made)
    assert {model for model, _, _ in refers} >= {"good@2", "good@3"}
    edits = {(edit.edit_model, edit.sample_id, edit.edit_seed): edit for edit in made.results.edits}
    scores = {
        (judgement.edit_model, judgement.sample_id, judgement.edit_seed, judgement.judge): judgement
        for judgement in made.results.judgements
    }
    for (model, sample, seed), before in refers.items():
        edit, was = edits[model, sample, seed], edits[before, sample, seed]
        assert (edit.pixels, edit.status, edit.seconds, was.made_in) == (was.pixels, Status.OK, 0.0, "")
        judged = scores[model, sample, seed, "colour"]
        assert judged.scores == scores[before, sample, seed, "colour"].scores
        assert (judged.made_in, judged.asked, judged.seconds) == (before, 0, 0.0)
    made_edits = Counter(line["status"] for line in RunDirectory(made.path).read("edits"))
    assert made_edits == {"ok": len(edits) - len(refers)}
    assert len(replies(made, "colour")) == len(edits) - len(refers)
    tried = {counts.edit_model: counts.total for counts in made.summary.edits}
    assert tried == {model: 16 - sum(other == model for other, _, _ in refers) for model in made.results.edit_models}
    assert plain(made.summary.analyses["agreement"])[0]["judges"]["colour"]["asked"] == len(edits) - len(refers)
    assert plain(status_document(made.results))["edits"]["total"] == len(edits) - len(refers)


def test_battles_of_a_kept_edit_are_those_of_the_edit_that_it_is(made: Run) -> None:
    refers = kept(made)
    battles = {
        (battle.edit_model, battle.other, battle.sample_id, battle.edit_seed): battle for battle in made.results.battles
    }
    columns = made.results.edit_models
    asked = 0
    for sample, seed in product(SAMPLES, range(2)):
        for place, first in enumerate(columns):
            for second in columns[place + 1 :]:
                shown = [refers.get((column, sample, seed), column) for column in (first, second)]
                battle = battles.get((first, second, sample, seed))
                if shown[0] == shown[1]:
                    assert battle is None, "an edit does not meet itself"
                    continue
                assert battle is not None
                its = battles[shown[0], shown[1], sample, seed]
                assert (fought(battle, "overall"), battle.status) == (fought(its, "overall"), its.status)
                assert battle.made_in == ("" if battle is its else " : ".join(shown))
                asked += battle is its
    assert len([line for line in replies(made, "arena") if line["ask"] == 0]) == 2 * asked
    arena = made.summary.battles["arena"]
    unread = sum(battle.sample_id == "s7" for battle in battles.values())
    assert arena.coverage.by_status == {"ok": len(battles) - unread, "unparseable": unread}
    assert analyse("leaderboard", made).battles["arena"].coverage.total == len(battles)


def test_nothing_changes_in_a_round_that_keeps_the_edit(made: Run) -> None:
    refers = kept(made)
    changes = {
        (judgement.edit_model, judgement.sample_id, judgement.edit_seed): judgement.scores["l1"]
        for judgement in made.results.judgements
        if judgement.judge == "change"
    }
    assert all(changes[where] == 0.0 for where in refers)
    assert all(changes[where] > 0.0 for where in changes.keys() - refers.keys() if where[0] != "poor")
    once = {(sample, seed, model.partition("@")[0]) for model, sample, seed in refers}
    assert len(replies(made, "change")) == len(changes) - len(refers) + len(once), "asked once about keeping"


def test_a_critic_chooses_by_what_it_said_of_the_edit_that_is_kept(made: Run) -> None:
    words: dict[Where, float] = {}
    for line in replies(made, "critic"):
        match = re.search(r"Score: ([0-9.]+)", line["text"])
        assert match
        words[line["edit_model"], line["sample"], line["edit_seed"]] = float(match[1])
    refers = kept(made)
    document = plain(made.analysis("best-of", select="critic", report="colour").document)
    for row in document["models"]:
        model, best = row["edit_model"], []
        for sample in SAMPLES:
            of = [refers.get((model, sample, seed), model) for seed in range(2)]
            said = [words[column, sample, seed] for seed, column in enumerate(of)]
            seen = [score(made, model, sample, seed).scores["score"] for seed in range(2)]
            best.append(seen[said.index(max(said))])
        assert row["sizes"][-1]["mean"] == pytest.approx(statistics.fmean(best)), model


def score(run: Run, model: str, sample: str, seed: int) -> Judgement:
    return next(
        judgement
        for judgement in run.results.judgements
        if (judgement.judge, judgement.edit_model, judgement.sample_id, judgement.edit_seed)
        == ("colour", model, sample, seed)
    )


@pytest.mark.parametrize("pairs", [pytest.param("all", marks=pytest.mark.check), "cycles"])
def test_the_same_command_asks_nothing_again(made: Run, tmp_path: Path, pairs: str) -> None:
    """Also not what could not be read, about battles whose edits are known by the critic's replies alone."""
    configuration = written(tmp_path, pairs)
    configuration["evaluation"]["repeats"] = repeats = 2 if pairs == "cycles" else 1
    first = evaluate(configuration, run_dir=tmp_path / "run", report=False, spectator=Ears())
    count = len(list(RunDirectory(first.path).read("replies")))
    again = evaluate(configuration, run_dir=tmp_path / "run", report=False, spectator=Ears())
    assert len(list(RunDirectory(again.path).read("replies"))) == count
    assert again.summary.battles == first.summary.battles
    assert plain(again.summary.analyses["rounds"]) == plain(first.summary.analyses["rounds"])
    battles = first.summary.battles["arena"].coverage
    assert "skipped" not in battles.by_status
    assert first.table.is_complete
    assert {line["repeat"] for line in replies(first, "critic")} == {0}, "one answer is told"
    assert {line["repeat"] for line in replies(first, "colour")} == {*range(repeats)}


def test_one_model_is_held_against_one_that_is_told_the_same(tmp_path: Path) -> None:
    configuration = written(tmp_path)
    with pytest.raises(ConfigurationError, match="leave out `rounds` and `rewrite`"):
        gate(configuration, configuration, margin=0.3, folder=tmp_path / "gate")


def test_a_folder_of_runs_is_named_as_one(made: Run) -> None:
    with pytest.raises(RunDirectoryError, match=r"is a folder of runs: name each run, as .*run"):
        compare(made.path.parent)


def test_a_card_has_strengths(made: Run) -> None:
    battles = replace(made.results, judges=(), judgements=())
    text = card("me/run", battles, summarise(battles), licence="", images=False, sources=False)
    assert text.count("| good@3 |") >= 1
    assert "|  |" not in text
    assert "compared by arena" in text
