"""Samples that pass no filter are edited because others follow them, and count nowhere."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from documents import plain
from edit_eval import evaluate
from edit_eval.reporting.status import status_document
from edit_eval.run import Run
from edit_eval.store.run_directory import RunDirectory
from faults.faulty_runs import Ears
from test_kept_edits import part


def written(folder: Path, categories: list[str]) -> dict[str, Any]:
    rows = ["id,source,instruction,category,follows"]
    for chain in range(3):
        Image.new("RGB", (32, 32), (10, 60 * chain, 90)).save(folder / f"c{chain}.png")
        rows.append(f"c{chain}t1,c{chain}.png,paint it,colour,")
        rows.append(f"c{chain}t2,,add a dog,add,c{chain}t1")
        rows.append(f"c{chain}t3,,add a cat,add,c{chain}t2")
    (folder / "turns.csv").write_text("\n".join(rows) + "\n", "utf-8")
    table = {"type": "table", "data_path": str(folder / "turns.csv"), "categories": categories}
    arena = part("Judge", name="arena") | {"protocol": {"type": "pairwise"}}
    return {
        "benchmark": table,
        "edit_models": {"good": part("Editor", quality=5.2), "poor": part("Editor", quality=3.9)},
        "judges": {"colour": part("Judge", name="colour"), "arena": arena},
        "evaluation": {"controls": 2},
        "execution": {"pilot": False, "progress": "none"},
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("beside")
    return evaluate(written(folder, ["add"]), run_dir=folder / "run", report=False, spectator=Ears())


def test_what_is_beside_the_filters_is_made_and_counted_nowhere(made: Run) -> None:
    assert made.reached
    directory = RunDirectory(made.path)
    assert Counter(line["sample_id"][-2:] for line in directory.read("edits")) == {"t1": 6, "t2": 6, "t3": 6}
    assert {line["sample"][-2:] for line in directory.read("replies")} == {"t2", "t3"}, "no judge is asked about it"
    for subjects in (made.results.judgements, made.results.edits):
        assert {subject.sample_id[-2:] for subject in subjects} == {"t2", "t3"}
    assert made.summary.coverage.total == 12
    assert [counts.total for counts in made.summary.edits] == [6, 6]
    assert {name for result in made.summary.results for name in result.scores["score"].categories} == {"add"}
    status = plain(status_document(made.results))
    assert (status["samples"], status["edits"]["total"], status["judgements"]["total"]) == (6, 12, 12)
    assert not made.results.battles, "of samples that follow another none, and none of others"
    [turns] = plain(made.summary.analyses["turns"])
    assert [[(step["turn"], step["change"]) for step in result["turns"]] for result in turns["results"]] == [
        [(2, None), (3, None)]
    ] * 2, "nothing is known of the first turn"


def test_it_is_read_back_and_counts_once_it_passes(made: Run, tmp_path: Path) -> None:
    assert Run(made.path).summary.results == made.summary.results
    folder = made.path.parent
    whole = evaluate(
        written(folder, []), run_dir=tmp_path / "run", reuse_from=[made.path], report=False, spectator=Ears()
    )
    assert whole.summary.battles["arena"].coverage.total == 3
    assert [result.coverage.total for result in whole.summary.results] == [9, 9]
    [turns] = plain(whole.summary.analyses["turns"])
    assert [[step["turn"] for step in result["turns"]] for result in turns["results"]] == [[1, 2, 3]] * 2
    copied = sum("reused_from" in line for line in RunDirectory(whole.path).read("edits"))
    assert copied == 18, "keys are the same"
