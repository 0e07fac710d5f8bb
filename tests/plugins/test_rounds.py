"""Edit, look, edit again: the example, whose edit model gains by a critique what was planted."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image

from documents import plain
from edit_eval import evaluate
from edit_eval.config.components import describe
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.page.gallery import gallery
from edit_eval.plugins.page.page import page
from edit_eval.plugins.page.shown_pictures import PageFiles
from edit_eval.records import Status
from edit_eval.reporting.report import markdown
from edit_eval.run import Run
from edit_eval.store.run_directory import RunDirectory
from faults.faulty_runs import Ears
from small_matrix import give_reply, matrix_of

EXAMPLES = Path(__file__).parents[2] / "examples"
ROUNDING = 0.03
"""A disc's colour has whole numbers."""


def written(folder: Path, **more: Any) -> dict[str, Any]:
    """The example, with fewer samples."""
    configuration: dict[str, Any] = yaml.safe_load((EXAMPLES / "rounds.yaml").read_text("utf-8"))
    for section in (
        configuration["benchmark"],
        *configuration["edit_models"].values(),
        *configuration["judges"].values(),
        configuration["rewrite"]["rewriter"],
    ):
        section["class_path"] = str(EXAMPLES.parent / section["class_path"])
    configuration["benchmark"] |= {"folder": str(folder / "discs"), "count": 8}
    return {**configuration, "execution": {"pilot": False, "progress": "none"}, **more}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("rounds")
    return evaluate(written(folder), run_dir=folder / "run", report=False, spectator=Ears())


def rounds_of(run: Run) -> list[dict[str, Any]]:
    [document] = plain(run.summary.analyses["rounds"])
    return document["results"]


def by_column(run: Run, column: str) -> dict[tuple[str, int], float]:
    return {
        (judgement.sample_id, judgement.edit_seed): judgement.scores["score"]
        for judgement in run.results.judgements
        if judgement.edit_model == column
    }


@pytest.mark.check
def test_a_critique_gains_what_was_planted_and_not_more(made: Run) -> None:
    results = made.results
    assert made.has_required_coverage
    assert results.judges == ("colour",), "the critic and the rewriter are in no number"
    assert {entry.judge for entry in made.summary.results} == {"colour"}
    edits = {(edit.edit_model, edit.sample_id, edit.edit_seed): edit for edit in results.edits}
    for first in ("retoucher", "retoucher+rewriter"):
        columns = [first, f"{first}@2", f"{first}@3"]
        one, two, three = (by_column(made, column) for column in columns)
        for which, score in one.items():
            for before, after, column in ((score, two[which], columns[1]), (two[which], three[which], columns[2])):
                edit = edits[column, *which]
                if edit.made_in:
                    assert (after, edit.seconds) == (before, 0.0)
                else:
                    assert 10 - after == pytest.approx((10 - before) / 2, abs=ROUNDING)
        assert edits[columns[1], "disc-1", 0].pixels != edits[first, "disc-1", 0].pixels
    plain, rewritten = by_column(made, "retoucher"), by_column(made, "retoucher+rewriter")
    for which, score in plain.items():  # of what is wrong, 0.6 become 0.4
        assert 10 - rewritten[which] == pytest.approx((10 - score) * 0.4 / 0.6, abs=ROUNDING)
    assert edits["retoucher+rewriter", "disc-1", 0].instruction.endswith("evenly, and leave the ground as it is.")
    assert not edits["retoucher", "disc-1", 0].instruction


def test_every_sample_is_in_every_round_beside_the_best_of_as_many_edits(made: Run) -> None:
    plain, _ = rounds_of(made)
    of = plain["rounds"]
    assert [(row["scored"], row["total"], row["edits"] + row["kept"]) for row in of] == [(24, 24, 24)] * 3
    assert of[0]["kept"] == 0 < of[2]["kept"]
    first = by_column(made, "retoucher")
    for row in of[1:]:
        later = by_column(made, row["edit_model"])
        assert row["change"] == pytest.approx(sum(later[which] - first[which] for which in first) / 24)
        assert row["change_ci95"][0] <= row["change"] <= row["change_ci95"][1]
    best = plain["best_by_critic"]
    assert best["own_change"] > best["change"], "the critic sees more gain than there is"
    assert plain["best_of"]["size"] == 3
    assert plain["best_of"]["own_change"] > plain["best_of"]["change"]
    assert of[2]["change"] > plain["best_of"]["change"], "the critiques are worth something"
    for language, words in (("en", "the best by critic"), ("zh", "critic 选出的最佳")):
        assert words in markdown(made.results, made.summary, language)


def test_the_page_has_each_rounds_edit_and_what_was_said_of_it(made: Run, tmp_path: Path) -> None:
    drawn = "".join(page(made.results, made.summary, tmp_path, language="en"))
    assert 'id="rounds"' in drawn
    assert 'data-chart="rounds"' in drawn
    document = gallery(made.results, made.summary, PageFiles(tmp_path, made.path))
    assert document["refinements"]["retoucher+rewriter@2"]["before"] == "retoucher+rewriter"
    edits = {(edit["model"], edit["edit_seed"]): edit for edit in document["samples"][1]["edits"]}
    first, second = edits["retoucher", 0], edits["retoucher@2", 0]
    assert first["critique"]["words"] == "The disc is not green enough."
    assert first["critique"]["words"] in second["instruction"]
    assert [judgement["judge"] for judgement in first["judgements"]] == ["colour"]


def test_the_same_command_does_nothing_again_and_another_critique_makes_its_edit_again(
    made: Run, tmp_path: Path
) -> None:
    folder = made.path.parent
    before = Counter(line["status"] for line in RunDirectory(made.path).read("edits"))
    again = evaluate(written(folder), run_dir=made.path, report=False, spectator=Ears())
    assert Counter(line["status"] for line in RunDirectory(made.path).read("edits")) == before
    assert rounds_of(again) == rounds_of(made)
    matrix = matrix_of(made)
    number = next(n for n, edit in enumerate(matrix.edits) if edit.edit_model == "retoucher@3" and edit.image)
    critique = matrix.critiques.critique_of(number)
    assert critique is not None
    (cell,) = matrix.cells.cells_of(critique)
    (said,) = matrix.replies(cell)
    matrix.forget_replies(cell)
    assert matrix.critiques.apply_critique(number) == [], "nothing is known until it is asked again"
    give_reply(matrix, cell, said)
    matrix.critiques.apply_critique(number)
    assert matrix.edits[number].status is Status.OK, "it says the same"
    matrix.forget_replies(cell)
    give_reply(matrix, cell, type(said)(text="Too dark.\nScore: 2.000"))
    matrix.critiques.apply_critique(number)
    assert (matrix.edits[number].status, matrix.edits[number].image) == (Status.PENDING, "")
    assert "Too dark." in matrix.edits[number].instruction
    matrix.forget_replies(cell)
    give_reply(matrix, cell, type(said)(text="it died", ended=Status.JUDGE_ERROR, final=True))
    assert matrix.critiques.apply_critique(number) == [number]
    assert matrix.edits[number].status is Status.EDIT_FAILED
    assert "critic gave no critique" in matrix.edits[number].reason


def test_pictures_that_are_lost_are_made_again_by_the_critiques_that_there_are(made: Run, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(made.path, folder)
    shutil.rmtree(folder / "images")
    replies = len(list(RunDirectory(folder).read("replies")))
    again = evaluate(written(made.path.parent), run_dir=folder, report=False, spectator=Ears())
    assert [edit.pixels for edit in again.results.edits] == [edit.pixels for edit in made.results.edits]
    assert rounds_of(again) == rounds_of(made)
    assert len(list(RunDirectory(folder).read("replies"))) == replies, "nobody was asked again"


def test_rounds_are_held_against_the_first_source_and_the_round_before(tmp_path: Path) -> None:
    configuration = written(tmp_path)
    del configuration["rewrite"]
    configuration["benchmark"]["count"] = 3
    configuration["rounds"] |= {"max": 2, "stop": None}
    configuration["evaluation"] = {"controls": 0}
    for against in ("first", "last"):
        configuration["judges"][against] = {
            "type": "picture_metrics",
            "params": {"device_ids": "cpu:1"},
            "protocol": {"against": against},
        }
    run = evaluate(configuration, run_dir=tmp_path / "run", report=False, spectator=Ears())
    edits = {(edit.edit_model, edit.sample_id): run.path / edit.image for edit in run.results.edits}
    scores = {
        (judgement.judge, judgement.edit_model, judgement.sample_id): judgement.score
        for judgement in run.results.judgements
    }
    for sample in run.results.samples:
        source, first, second = (
            np.asarray(Image.open(path).convert("RGB"), dtype=float) / 255
            for path in (sample.pictures["source"].path, edits["retoucher", sample.id], edits["retoucher@2", sample.id])
        )
        for judge, model, before, edit in (
            ("first", "retoucher", source, first),
            ("last", "retoucher", source, first),
            ("first", "retoucher@2", source, second),
            ("last", "retoucher@2", first, second),
        ):
            assert scores[judge, model, sample.id] == pytest.approx(np.abs(before - edit).mean(), abs=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"judges": ("critic",)}, "would be the only judge of the result"),
        ({"judges": ("critic", "critic", "colour")}, "under another name"),
        ({"rounds": {"critic": "colour"}}, "bare numbers"),
        ({"rounds": {"critic": "rewriter"}}, "not asked about one edit"),
        ({"rounds": {"critic": "crtic"}}, "did you mean `critic`"),
        ({"rounds": {"critic": "critic", "template": "Again."}}, "{critique}"),
        ({"rounds": {"critic": "critic", "form": "last"}}, "from"),
        ({"rewrite": {"critic": {"type": "testing"}}}, "a judge is called critic"),
        ({"rewrite": {"other": {"type": "testing", "protocol": {"type": "rubric"}}}}, "written under `rewrite`"),
        ({"rewrite": "other"}, "must be a mapping"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    configuration = written(tmp_path)
    if kept := change.pop("judges", None):
        configuration["judges"] = {
            f"{name}{'_' * (name in kept[:n])}": configuration["judges"][name] for n, name in enumerate(kept)
        }
    configuration |= change
    with pytest.raises(ConfigurationError, match=message.replace("{", r"\{")):
        evaluate(configuration, run_dir=tmp_path / "run", report=False, spectator=Ears())


def test_its_keys_are_described_and_its_judges_are_none_of_them() -> None:
    described = {
        (component.kind, component.name): component for name in ("rounds", "rewrite") for component in describe(name)
    }
    keys = {parameter.name: parameter for parameter in described["columns", "rounds"].parameters}
    assert [*keys] == ["critic", "max", "from", "stop", "template"]
    assert keys["critic"].is_required
    assert (keys["stop"].type, keys["stop"].default) == ("float | None", "None")
    assert all(parameter.doc for parameter in keys.values())
    assert described["columns", "rewrite"].parameters == (), "below it stand judges, by the user's names"
