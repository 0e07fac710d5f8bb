"""Several runs by one rater: what is ranked together, what is refused, and every way in which it is drawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from documents import plain
from edit_eval import ConfigurationError, Run, analyse, evaluate
from edit_eval.reporting.document_files import write_document
from edit_eval.reporting.language import translate
from edit_eval.text import Text
from faults.faulty_runs import Ears

EXAMPLES = Path(__file__).parents[3] / "examples"


def made(folder: Path, name: str, models: list[str], count: int = 8, weaker: float = 0, **protocol: Any) -> Run:
    written: dict[str, Any] = yaml.safe_load((EXAMPLES / "pairwise.yaml").read_text("utf-8"))
    for section in (written["benchmark"], *written["edit_models"].values(), written["judges"]["colour"]):
        section["class_path"] = str(EXAMPLES.parent / section["class_path"])
    written["benchmark"] |= {"folder": str(folder / f"discs{count}"), "count": count}
    written["edit_models"] = {model: written["edit_models"][model] for model in models}
    written["judges"]["colour"]["protocol"] |= {"pairs": "all", **protocol}
    for model in written["edit_models"].values():
        model["params"]["skill"] -= weaker
    alone = {"type": "testing", "params": {"device_ids": "cpu:1"}, "protocol": {"type": "rubric", "general": True}}
    written["judges"]["alone"] = alone
    written["execution"] = {"pilot": False, "progress": "none"}
    return evaluate(written, run_dir=folder / name, report=False, spectator=Ears())


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    folder = tmp_path_factory.mktemp("leaderboard")
    return [made(folder, "one", ["careful", "middling"]), made(folder, "two", ["careful", "careless"])]


def test_models_of_two_runs_are_linked_by_the_one_that_both_have(runs: list[Run], tmp_path: Path) -> None:
    board = analyse("leaderboard", *runs)
    document = plain(board.document)
    assert [row["name"] for row in document["columns"]] == ["careful", "middling", "careless"]
    assert all(row["scored"] == row["total"] == document["samples"] == 8 for row in document["columns"])
    of = document["battles"]["colour"]
    strengths = {row["edit_model"]: row["strength"] for row in of["scores"]["overall"]["strengths"]}
    assert sorted(strengths, key=strengths.__getitem__, reverse=True) == ["careful", "middling", "careless"]
    assert of["coverage"] == {"scored": 16, "total": 16, "asked_again": 0, "by_status": {"ok": 16}}
    for language, title in (("en", "Leaderboard"), ("zh", translate(Text("Leaderboard"), "zh"))):
        place = tmp_path / language
        write_document("leaderboard", board.document, place, records=None, language=language, force=False)
        page = (place / "index.html").read_text("utf-8")
        assert title in page
        assert "careless" in page
        assert json.loads((place / "leaderboard.json").read_text("utf-8")) == document
        front, card = (place / "README.md").read_text("utf-8").removeprefix("---\n").split("\n---\n")
        assert "leaderboard" in yaml.safe_load(front)["tags"]
        assert any("careless" in line and line.startswith("|") for line in card.splitlines())
    assert "careless" in board._repr_html_()
    with pytest.raises(ConfigurationError, match="already exists"):
        write_document("leaderboard", board.document, tmp_path / "en", records=None, language="en", force=False)
    with pytest.raises(ConfigurationError, match="or a file that ends in"):
        write_document("leaderboard", board.document, tmp_path / "x.pdf", records=None, language="en", force=False)


def test_what_may_not_be_compared_is_refused_in_a_line(runs: list[Run], tmp_path: Path) -> None:
    fewer = made(tmp_path, "fewer", ["careful", "careless"], count=6)
    with pytest.raises(ConfigurationError, match="have other samples"):
        analyse("leaderboard", runs[0], fewer)
    folder = runs[0].path.parent
    strangers = made(folder, "strangers", ["middling", "careless"], weaker=0.1)
    with pytest.raises(ConfigurationError, match="never met"):
        analyse("leaderboard", runs[0], strangers)
    other = made(folder, "other", ["careful", "careless"], ties=False)
    board = analyse("leaderboard", runs[0], other)
    assert not board.battles, "asked otherwise: ranked by the judge that is the same alone"
    assert any("left out" in note for note in board.notes)
