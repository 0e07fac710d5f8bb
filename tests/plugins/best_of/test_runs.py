"""Best of N as a user meets it: a run with several edits of each sample, its report, the verb and its files."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from command_lines import Command
from documents import plain
from edit_eval import evaluate
from edit_eval.plugins.page.page import page
from edit_eval.reporting.report import markdown
from edit_eval.run import Run
from faults.faulty_runs import Ears

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The example, with fewer edits."""
    folder = tmp_path_factory.mktemp("best")
    written = yaml.safe_load((EXAMPLES / "best_of.yaml").read_text("utf-8"))
    for section in (written["benchmark"], *written["edit_models"].values(), *written["judges"].values()):
        section["class_path"] = str(EXAMPLES.parent / section["class_path"])
    written["benchmark"] |= {"folder": str(folder / "discs"), "count": 8}
    written["evaluation"] |= {"edit_seeds": 4}
    written["execution"] = {"pilot": False, "progress": "none"}
    return evaluate(written, run_dir=folder / "run", report=False, spectator=Ears())


def test_a_report_has_what_choosing_is_worth_by_each_judge(made: Run, tmp_path: Path) -> None:
    every = plain(made.summary.analyses["best-of"])
    assert [(document["select"]["name"], document["report"]["name"]) for document in every] == [
        ("hasty", "colour"),
        ("colour", "hasty"),
    ]
    of_hasty = every[0]["models"][1]  # careless, whose edits differ most
    assert [size["size"] for size in of_hasty["sizes"]] == [1, 2, 4]
    assert of_hasty["sizes"][-1]["own_gain"] > of_hasty["sizes"][-1]["gain"]
    assert 0 < of_hasty["reliability_ci95"][1] < 1
    assert every[1]["models"][0]["no_inflation"] == "identical"
    assert of_hasty["sizes"][-1]["readings"] == 8, "two repeats of four edits"
    assert "Chosen by hasty, reported by colour" in markdown(made.results, made.summary, "en")
    drawn = "".join(page(made.results, made.summary, tmp_path, language="zh"))
    assert 'id="best-of"' in drawn
    assert 'data-chart="best-of"' in drawn
    assert "由 hasty 挑选，由 colour 报告" in drawn
    again = made.analysis("best-of", select="hasty", report="colour")
    assert plain(again.document) == every[0]
    assert "best of 4" in again._repr_html_()


@pytest.mark.check
def test_the_verb_prints_writes_and_refuses(made: Run, command: Command, tmp_path: Path) -> None:
    asked = ["best-of", made.path, "--select", "hasty", "--report"]
    outcome = command(*asked, "colour", "--sizes", "2,4", "--to", tmp_path / "curve.svg", "--json")
    assert outcome.code == 0
    assert [size["size"] for size in outcome.document["models"][0]["sizes"]] == [1, 2, 4]
    assert (tmp_path / "curve.svg").read_text("utf-8").startswith("<svg")
    assert "careless" in command(*asked, "colour", "--to", tmp_path / "all.csv").out
    assert (tmp_path / "all.csv").read_text("utf-8").count("\n") == 7
    for more, message in (
        (["hasty"], "cannot both choose and report"),
        (["colour", "--sizes", "1,8"], "from 1 to 4"),
        (["colour", "--sizes", "many"], "whole numbers"),
        (["colour", "--to", tmp_path / "curve.png"], "a file that ends in .svg, .csv, "),
        (["colour", "--to", tmp_path / "curve.svg"], "already exists"),
    ):
        refused = command(*asked, *more)
        assert (refused.code, len(refused.err.splitlines())) == (2, 1)
        assert message in refused.err
